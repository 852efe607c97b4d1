// SPDX-License-Identifier: Apache-2.0
//
// What a kernel is, and how it is entered. A kernel is a struct with its parameters, its shared memory and
// a static function that every thread runs:
//
//   struct Copy {
//     struct Params { isa::TensorMap source, destination; };
//     struct Shared { ... };
//     static constexpr std::uint32_t kThreads = 160;
//     HEDDLE_DEVICE static void run(const Params& params, Shared& shared);
//   };
//
// On the GPU, launch<Copy>() of heddle/host/launch.h starts it; in the simulated SM, sim::launch<Copy>() of
// heddle/sim/launch.h.
#pragma once

#include <heddle/isa/cluster.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>
#include <heddle/isa/trace.h>

#include <concepts>
#include <type_traits>

namespace heddle::inline HEDDLE_TARGET {

// How many CTAs, and how many of them form a cluster. `threads` 0 stands for the kernel's kThreads. A dependent
// kernel may start before the one ahead of it in the stream has ended, and must execute griddepcontrol_wait
// (isa/grid_dependency.h); the simulated SM runs kernels one after the other.
struct LaunchShape {
  isa::Dim3 grid = {};
  isa::Dim3 cluster = {};
  std::uint32_t threads = 0;
  bool is_dependent = false;
};

template <class K>
concept Kernel = requires {
  typename K::Params;
  typename K::Shared;
  { K::kThreads } -> std::convertible_to<std::uint32_t>;
}
&&std::is_trivially_copyable_v<typename K::Params>;

#if HEDDLE_ON_CUDA

namespace isa {

inline constexpr std::uint32_t kSharedAlignment = 1024;

template <Kernel K>
__global__ void __launch_bounds__(K::kThreads, 1)
    kernel_entry(const __grid_constant__ typename K::Params params) {
  extern __shared__ __align__(1024) unsigned char dynamic_shared[];
  static_assert(alignof(typename K::Shared) <= kSharedAlignment,
                "a kernel's shared memory is aligned to 1024 bytes; its struct asks for more");
  trace_begin();
  K::run(params, *reinterpret_cast<typename K::Shared*>(dynamic_shared));
  trace_end();
}

template <Kernel K>
constexpr std::size_t dynamic_shared_bytes() {
  return sizeof(typename K::Shared) + trace_shared_bytes(K::kThreads);
}

}  // namespace isa

#endif

}  // namespace heddle::inline HEDDLE_TARGET
