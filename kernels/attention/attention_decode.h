// SPDX-License-Identifier: Apache-2.0
//
// Attention of a few queries over many keys, as a language model has it for each new token: keys and values come
// from a cache, which may lie in pages. What is computed is attention_problem.h's, for each batch over as many
// keys as its length says.
//
//   const AttentionDecodeProblem problem{
//       .attention = {.batches = 64, .heads = 64, .key_heads = 8, .queries = 1, .keys = 32768}, .page_size = 64,
//       .pages = 20000};
//   cudaMalloc(&workspace, attention_decode_workspace(problem));
//   attention_decode(problem,
//                    {.attention = {.q = q, .k = k, .v = v, .o = o}, .lengths = lengths, .page_table = table,
//                     .workspace = workspace},
//                    stream);
//
// A problem that cannot be run is refused with an InputError before anything is written.
#pragma once

#include "../devices.h"
#include "attention_problem.h"

#include <heddle/host/device_id.h>
#include <heddle/host/run_options.h>

#include <cstddef>

namespace heddle {

struct AttentionDecodeProblem {
  AttentionProblem attention;  // `keys`: of a batch, at most. Heads that share keys times queries: 64 at most
  std::int64_t page_size = 0;  // keys of a page, a multiple of 16; 0: K and V are [batches, key_heads, keys, dim]
  std::int64_t pages = 0;  // K and V are [pages, key_heads, page_size, dim], with strides as the problem says;
                           // numbers of page_table from here on, or below zero, are pages of zeros
};

struct AttentionDecodeTensors {
  AttentionTensors attention;
  const std::int32_t* lengths = nullptr;     // [batches]: keys of each; null: all of them
  const std::int32_t* page_table = nullptr;  // [batches, ceil(keys / page_size)]: which pages have them
  void* workspace = nullptr;                 // on a GPU: attention_decode_workspace(problem) bytes
};

// How large the workspace is. It may hold anything; two launches that may run at the same time have one each.
std::size_t attention_decode_workspace(const AttentionDecodeProblem& problem);

// With all tensors in host memory, as attention(): lengths and pages are checked, and the workspace is not used.
RunOutcome attention_decode(const AttentionDecodeProblem& problem, const AttentionDecodeTensors& tensors,
                            const DeviceId& device, const RunOptions& options = {.kernel = "attention"});

// With all tensors in the memory of the current GPU. What lengths and page tables say there is not known before:
// a length below zero counts as none and one above `keys` as `keys`; a page that does not exist is read as zeros.
// Nothing outside of the tensors is read or written.
void attention_decode(const AttentionDecodeProblem& problem, const AttentionDecodeTensors& tensors, void* stream);

}  // namespace heddle
