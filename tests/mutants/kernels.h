// SPDX-License-Identifier: Apache-2.0
//
// The kernels that mistakes are planted in, each with a run that knows the right result.
#pragma once

#include <span>
#include <string>

int run_pipeline_example();
int run_hopper_tiles_example();
int run_attention_example();
// The same with more turns of their rings.
int run_longer_hopper_tiles_example();
int run_longer_attention_example();

namespace heddle::test {

struct MutantKernel {
  std::string name;
  std::string ptx;        // the file that nvcc has made, without .ptx
  std::string entry;      // part of the name of the kernel in it; empty: there is one
  int (*run)();           // 0: no report, and the right result; prints what was wrong
  int (*run_longer)();    // the same, with rings that go round many times; may be null
  bool is_large = false;  // its places are hundreds, and take long
};

std::span<const MutantKernel> mutant_kernels();

}  // namespace heddle::test
