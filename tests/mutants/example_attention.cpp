// SPDX-License-Identifier: Apache-2.0
//
// The example as a function, apart from the others.
#define main run_attention_example
#include "../../examples/04_attention.cu"
#undef main
