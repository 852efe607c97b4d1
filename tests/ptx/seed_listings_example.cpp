// SPDX-License-Identifier: Apache-2.0
//
// The example as a function, apart from the other one.
#define main run_seed_listings_example
#include "../../examples/02_seed_listings.cu"
#undef main
