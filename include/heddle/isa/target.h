// SPDX-License-Identifier: Apache-2.0
//
// Which target this translation unit is for. nvcc makes a translation unit `cuda`, every other compiler
// makes it `sim`. This is the one file that asks; everything else uses the names defined here.
//
// Each target has its own inline namespace, so one program can hold the same kernel twice, run it on a
// GPU and in the simulated SM, and compare the results:
//
//   namespace heddle::inline HEDDLE_TARGET {
//   HEDDLE_DEVICE void load_tiles(...);
//   }
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__)
#define HEDDLE_ON_CUDA 1
// A GPU build with HEDDLE_TRACE set to 1 records what its warps do, for timelines. See isa/trace.h. Its names are
// its own, so one program can hold a kernel with and without.
#if !defined(HEDDLE_TRACE)
#define HEDDLE_TRACE 0
#endif
// The namespace also says for which architectures: on_cuda_900, on_cuda_900_1000. Of two objects for different
// ones the linker would keep one kernel of a name, without code for the other's.
#include <heddle/isa/target_archs.h>

#define HEDDLE_TARGET HEDDLE_ON_CUDA_OF(__CUDA_ARCH_LIST__)
#define HEDDLE_DEVICE __device__ __forceinline__
#define HEDDLE_HOST_DEVICE __host__ __device__ __forceinline__
// Before a loop whose turns index registers: nvcc must unroll it.
#define HEDDLE_UNROLL _Pragma("unroll")
#define HEDDLE_NO_UNROLL _Pragma("unroll 1")
#else
#define HEDDLE_ON_CUDA 0
#undef HEDDLE_TRACE
#define HEDDLE_TRACE 0
#define HEDDLE_TARGET on_sim
#define HEDDLE_DEVICE inline
#define HEDDLE_HOST_DEVICE inline
#define HEDDLE_UNROLL
#define HEDDLE_NO_UNROLL
#endif

// A GPU build with HEDDLE_WATCHDOG set to a number of milliseconds reports and traps in waits that last
// longer, instead of hanging the card. See isa/watchdog.h.
#if !defined(HEDDLE_WATCHDOG)
#define HEDDLE_WATCHDOG 0
#endif

namespace heddle {

// For host functions that exist once for each target in one program: template <Target> ... run(...).
enum class Target : std::uint8_t { kSim, kCuda };

}  // namespace heddle

namespace heddle::inline HEDDLE_TARGET {

inline constexpr Target kTarget = HEDDLE_ON_CUDA ? Target::kCuda : Target::kSim;
inline constexpr bool kIsSimulated = kTarget == Target::kSim;
inline constexpr bool kIsTraced = HEDDLE_TRACE != 0;

#if HEDDLE_ON_CUDA

// Where in the kernel's source something was asked for. Reports of the simulated SM are built from it;
// on the GPU it is empty and costs nothing.
struct CallSite {
  HEDDLE_HOST_DEVICE static constexpr CallSite here() { return {}; }
};

#else

struct CallSite {
  const char* file = "";
  std::uint32_t line = 0;

  static constexpr CallSite here(const char* file = __builtin_FILE(),
                                 std::uint32_t line = static_cast<std::uint32_t>(__builtin_LINE())) {
    return {file, line};
  }
};

#endif

#if HEDDLE_ON_CUDA && HEDDLE_WATCHDOG == 0 && !HEDDLE_TRACE && !defined(__CUDACC_DEBUG__)

// What a pipeline, a role or a barrier is called in reports. Empty where no report can name it.
struct Name {
  constexpr Name() = default;
  HEDDLE_HOST_DEVICE constexpr Name(const char* /*text*/) {}
};

#else

struct Name {
  const char* text = "";

  constexpr Name() = default;
  HEDDLE_HOST_DEVICE constexpr Name(const char* name) : text(name) {}
};

#endif

}  // namespace heddle::inline HEDDLE_TARGET
