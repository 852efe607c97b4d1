// SPDX-License-Identifier: Apache-2.0
//
// Runs the kernel of attention.h.
#include "attention.h"
#include "run_attention.h"

int main() { return heddle::run_attention<heddle::attention::Attention>(heddle::Arch::kSm90); }
