// SPDX-License-Identifier: Apache-2.0
//
// Runs the kernel of blackwell_attention.h.
#include "blackwell_attention.h"
#include "run_attention.h"

int main() { return heddle::run_attention<heddle::blackwell_attention::Attention>(heddle::Arch::kSm100); }
