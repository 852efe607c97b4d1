// SPDX-License-Identifier: Apache-2.0
//
// The example as a function, apart from the others.
#define main run_pipeline_example
#include "../../examples/01_pipeline.cu"
#undef main
