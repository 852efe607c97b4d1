// SPDX-License-Identifier: Apache-2.0
//
// 04_attention.cu with more keys, apart from the others: see CMakeLists.txt.
#include "attention.h"
#include "longer_run_attention.h"

int run_longer_attention_example() {
  return heddle::run_longer_attention<heddle::attention::Attention>(heddle::Arch::kSm90);
}
