// SPDX-License-Identifier: Apache-2.0
//
// The checks that attention of e4m3 goes through, and the sizes that come of them.
#pragma once

#include "attention_fp8.h"
#include "attention_plan.h"

namespace heddle {

// Strides are in elements, of one byte but for o. The type of V's tensor: {keys, head_dim, key heads, batches}.
AttentionPlan plan_attention_fp8(const AttentionProblem& problem);

// As check_attention_tensors.
void check_attention_fp8_tensors(const AttentionPlan& plan, const AttentionFp8Tensors& tensors, bool copied);

}  // namespace heddle
