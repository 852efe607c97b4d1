// SPDX-License-Identifier: Apache-2.0
//
// The checks that decoding attention goes through, and the sizes that come of them.
#pragma once

#include "attention_decode.h"
#include "attention_plan.h"

namespace heddle {

struct AttentionDecodePlan {
  AttentionPlan attention;         // k and v as they lie: where there are pages, these are the batches
  std::int64_t keys = 0;           // of a batch, at most
  std::int64_t rows = 0;           // of a tile of queries
  std::uint64_t q_row_stride = 0;  // between them
  std::int64_t table_stride = 0;   // pages of a batch
  std::size_t lengths_bytes = 0;
  std::size_t table_bytes = 0;
  // In the workspace, one after the other.
  std::size_t sums_bytes = 0;
  std::size_t parts_bytes = 0;

  std::size_t workspace_bytes() const { return sums_bytes + parts_bytes; }
};

// A launch has no more CTAs, so that the workspace is as large for every GPU.
inline constexpr std::uint32_t kMaxDecodeCtas = 256;
inline constexpr std::uint32_t kDecodeWorkersPerCta = 2;

AttentionDecodePlan plan_attention_decode(const AttentionDecodeProblem& problem);

// As check_attention_tensors. Tensors in host memory can be read: lengths and pages are checked too.
void check_attention_decode_tensors(const AttentionDecodeProblem& problem, const AttentionDecodePlan& plan,
                                    const AttentionDecodeTensors& tensors, bool copied);

}  // namespace heddle
