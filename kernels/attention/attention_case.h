// SPDX-License-Identifier: Apache-2.0
//
// A problem of attention with tensors of random numbers in host memory, and its outputs compared with double.
//
//   AttentionCase one;
//   one.problem = problem;
//   one.prepare();
//   attention(one.problem, one.tensors(), device);
//   const AttentionVerdict verdict = one.verify(1e9);
#pragma once

#include "attention_decode.h"

#include <string>
#include <vector>

namespace heddle::reference {

struct AttentionVerdict {
  std::int64_t checked = 0;  // elements of O
  double error = 0;          // the largest, measured by its bound
  double bound = 0;          // there
  double lse_error = 0;
  std::string wrong;  // the first element that is further away, or a NaN

  bool ok() const { return wrong.empty(); }
};

struct AttentionCase {
  AttentionProblem problem;
  bool is_decode = false;
  std::int64_t page_size = 0;  // of the cache when decoding; 0: no pages
  bool is_ragged = false;      // batches of random lengths up to those of the problem
  bool has_sinks = false;
  std::uint64_t seed = 1;

  // Normal numbers; values after a batch's last key are NaNs where nobody may use them. Throws as attention().
  void prepare();
  // To NaNs.
  void reset_output();
  AttentionTensors tensors();
  AttentionDecodeProblem decode_problem() const;
  AttentionDecodeTensors decode_tensors();
  // Multiply-adds of the whole problem, and bytes of its tensors and the reference.
  double macs() const;
  double host_bytes() const;
  // Of as many queries as take `most_macs`; at least one of each batch and head.
  AttentionVerdict verify(double most_macs);

  std::vector<std::uint16_t> q, k, v, o;
  std::vector<float> lse;
  std::vector<float> sinks;
  std::vector<std::int32_t> query_offsets, key_offsets;  // where batches lie one after another
  std::vector<std::int32_t> lengths;                     // of the batches of a cache
  std::vector<std::int32_t> page_table;

 private:
  void make_lengths();
  void make_pages();
  // One batch after another, as attention() has it, without a cache.
  AttentionProblem plain_problem() const;

  std::vector<std::uint16_t> plain_k_, plain_v_;  // of a cache, before it lies in pages
};

}  // namespace heddle::reference
