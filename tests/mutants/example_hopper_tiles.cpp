// SPDX-License-Identifier: Apache-2.0
//
// The example as a function, apart from the others.
#define main run_hopper_tiles_example
#include "../../examples/03_hopper_tiles.cu"
#undef main
