// SPDX-License-Identifier: Apache-2.0
//
// The suites `fp8` and `moe` of `heddle bench`: e4m3 with scales of tensors, summed in the tensor cores or every
// 128 products in float, and blockwise, beside the best of cublasLt's choices with the same scales and sums; and
// grouped matmuls of bf16 and e4m3, for which cublasLt has no kernel (bench/matmul_suites.py has torch's beside
// them).
#pragma once

#include "cublaslt.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <string>

namespace heddle::bench {

bool is_scaled_suite(const std::string& name);

// Prints a table, and gives back its lines. Throws std::runtime_error where an output is wrong.
nlohmann::json run_scaled_suite(const std::string& name, const CublasLt* cublas, int rounds, std::FILE* table);

}  // namespace heddle::bench
