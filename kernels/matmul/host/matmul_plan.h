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
  bool is_alone = false;     // starts when the kernel ahead has ended, whatever the caller allows
};

// A copy of an operand in the workspace, for the copy engine, which reads rows that begin on 16 bytes. It costs a
// read and a write of the operand.
struct MatmulRowCopy {
  std::uint64_t rows = 0;  // 0: none is needed
  std::uint64_t cols = 0;
  std::uint64_t pitch = 0;
  std::uint64_t offset = 0;  // in bytes
};

// Everything that follows from a problem.
struct MatmulPlan : MatmulExtents {
  MatmulChoice choice;
  bool has_order = false;          // the choice says in which order tiles are visited, not the configuration
  bool is_joined = false;          // clusters add the parts of K up, and nothing of them is stored
  std::uint32_t partial_rows = 0;  // of each part of K in the workspace
  std::uint64_t partial_pitch = 0;
  std::uint64_t partial_bytes = 0;  // 0: nothing of a part is stored
  bool has_odd_output = false;      // rows that the copy engine cannot store: the sums of one part of K are, too
  MatmulRowCopy a_copy = {};
  MatmulRowCopy b_copy = {};
  std::uint64_t copied_bytes = 0;  // of these, behind the partial sums

  // Parts of K whose sums are stored.
  std::uint32_t stored_parts() const { return is_joined ? 1 : choice.splits; }
  // Whether another kernel adds them up and stores the output.
  bool adds_up() const { return stored_parts() > 1 || has_odd_output; }
  std::uint64_t workspace_bytes() const { return partial_bytes + copied_bytes; }
};

}  // namespace heddle
