// SPDX-License-Identifier: Apache-2.0
//
// How a matmul is run, on every architecture and both targets: which instance, in which order of tiles, and in
// how many parts of K.
#pragma once

#include "matmul_extents.h"

#include <cstdint>

namespace heddle {

struct MatmulChoice {
  std::uint32_t instance = 0;  // index in the table of the architecture
  std::uint32_t group = 8;     // clusters' tiles across a band
  bool bands_along_m = true;
  std::uint32_t splits = 1;  // parts of K
};

// Everything that follows from a problem.
struct MatmulPlan : MatmulExtents {
  MatmulChoice choice;
  bool has_order = false;          // the choice says in which order tiles are visited, not the configuration
  bool is_joined = false;          // clusters add the parts of K up, and nothing of them is stored
  std::uint32_t partial_rows = 0;  // of each part of K in the workspace
  std::uint64_t partial_pitch = 0;
  std::uint64_t partial_bytes = 0;  // 0: nothing of a part is stored

  // Parts of K that another kernel adds up.
  std::uint32_t stored_parts() const { return is_joined ? 1 : choice.splits; }
};

}  // namespace heddle
