// SPDX-License-Identifier: Apache-2.0
//
// Mistakes planted in PTX, to see that a checker, or a test, notices them: every instruction that hands data
// over, counts, waits, fences or frees, changed as people get it wrong, one at a time. Works on what nvcc, Triton
// or CUTLASS makes of any kernel.
//
//   for (const sim::PtxMutant& mutant : sim::ptx_mutants(text)) {
//     const sim::PtxModule module = sim::PtxModule::load(mutant.apply(text), "kernel.ptx");
//     if (run(module).ok()) std::cerr << mutant.name() << " is not noticed\n";
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::sim {

// A way to get an instruction wrong.
struct PtxMutation {
  std::string_view name;     // such as "drop_arrive"
  std::string_view family;   // hand-off, phase, counts, visibility, asynchrony or lifetime
  std::string_view meaning;  // what the program does then
};

std::span<const PtxMutation> ptx_mutations();

// One way at one place.
struct PtxMutant {
  std::string_view mutation;  // its name
  std::string_view family;
  std::string place;             // "copy.cu:87", of the kernel's own source where nvcc was given -lineinfo
  std::uint32_t number = 1;      // among those of the same mutation and place
  std::size_t line = 0;          // of the PTX, from 1 on
  std::string instruction = {};  // as it was

  // "drop_arrive@copy.cu:87", "drop_arrive@copy.cu:87#2"
  std::string name() const;
  std::string apply(std::string_view text) const;

  std::size_t begin = 0;  // what is replaced
  std::size_t end = 0;
  std::string by = {};
  std::size_t also_at = 0;  // where something is put in besides, before `begin`; 0: nowhere
  std::string also = {};
  // In place of the mistake: a run that ends well with it would be the same with the mistake. Empty where nothing
  // shows that.
  std::string probe = {};
};

// Where the waits of an entry for the cluster barrier begin.
std::vector<std::size_t> cluster_waits_in(std::string_view text, std::string_view entry = {});

// The text, with a trap for each thread that does something after it has come to the wait that begins at `wait`,
// other than to compute, to wait on mbarriers, to meet the cluster at one of the `last` waits, and to exit. Where
// no thread traps, no access depends on the wait: it only holds its thread back, and so the exit of its CTA.
// Empty if it is no wait.
std::string with_traps_after(std::string_view text, std::string_view entry, std::size_t wait,
                             std::span<const std::size_t> last = {});

// All of them, in the order of the text. `entry`: only those in entries whose name contains it.
std::vector<PtxMutant> ptx_mutants(std::string_view text, std::string_view entry = {});

}  // namespace heddle::sim
