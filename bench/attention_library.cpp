// SPDX-License-Identifier: Apache-2.0
//
// Attention behind a function that Python's ctypes can call: attention_bench.py measures it beside torch.
#include "attention/attention_sm90_host.h"

#include <heddle/host/error.h>

#include <exception>
#include <string>

// Tensors on the current GPU, without gaps: [batches, heads, rows, head_dim]. Null if it was started, otherwise
// why not, until the next call of this thread.
extern "C" const char* heddle_attention(const void* q, const void* k, const void* v, void* o, float* lse,
                                        int batches, int heads, int key_heads, int queries, int keys,
                                        int head_dim, int is_fp16, int is_causal, void* stream) {
  thread_local std::string error;
  try {
    heddle::enqueue_attention_sm90<heddle::Target::kCuda>(
        {.batches = batches,
         .heads = heads,
         .key_heads = key_heads,
         .queries = queries,
         .keys = keys,
         .head_dim = head_dim,
         .type = is_fp16 != 0 ? heddle::AttentionElement::kFp16 : heddle::AttentionElement::kBf16,
         .is_causal = is_causal != 0},
        {.q = q, .k = k, .v = v, .o = o, .lse = lse}, stream);
    return nullptr;
  } catch (const std::exception& refused) {
    error = refused.what();
    return error.c_str();
  }
}
