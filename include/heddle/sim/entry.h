// SPDX-License-Identifier: Apache-2.0
//
// A kernel as the simulated SM takes it, and the run that Device asks for. Kernels are compiled with this and no
// more of the simulated SM, so that its options and reports can grow without compiling them anew.
#pragma once

#include <heddle/host/run_options.h>
#include <heddle/isa/entry.h>
#include <heddle/sim/global_memory.h>

#include <cstddef>
#include <cstdint>
#include <typeinfo>

namespace heddle::sim {

// How much a kernel needs, and what each thread runs.
struct KernelEntry {
  std::uint32_t threads;
  std::size_t shared_bytes;
  std::size_t shared_alignment;
  void (*run)(const void* params, void* shared);
  std::uint32_t registers = 0;    // of each thread at the start; 0: not known
  std::uint32_t max_threads = 0;  // 0: what a CTA can have
  const char* type = "";          // the kernel's, as typeid names it
};

namespace detail {

// What a kernel states as its kRegisters, for kernels that use setmaxnreg.
template <Kernel K>
constexpr std::uint32_t registers_of() {
  if constexpr (requires { K::kRegisters; }) {
    return K::kRegisters;
  } else {
    return 0;
  }
}

}  // namespace detail

template <Kernel K>
KernelEntry entry_of(const LaunchShape& shape) {
  return {.threads = shape.threads == 0 ? K::kThreads : shape.threads,
          .shared_bytes = sizeof(typename K::Shared),
          .shared_alignment = alignof(typename K::Shared),
          .run =
              [](const void* p, void* shared) {
                K::run(*static_cast<const typename K::Params*>(p), *static_cast<typename K::Shared*>(shared));
              },
          .registers = detail::registers_of<K>(),
          .max_threads = K::kThreads,
          .type = typeid(K).name()};
}

// Throws InputError for options that make no sense, such as a schedule that is none.
void check_run(const RunOptions& options);

// Throws InputError as check_run, and for a launch that no GPU of the architecture would take; nothing is written
// then.
RunOutcome run_entry(const RunOptions& options, const GlobalMemory& memory, const LaunchShape& shape,
                     const KernelEntry& entry, const void* params);

}  // namespace heddle::sim
