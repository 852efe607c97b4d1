// SPDX-License-Identifier: Apache-2.0
//
// The suites `attention` and `decode` of `heddle bench`: the points of docs/results/attention_h200.md, each with
// some of its outputs compared with double. cuDNN is not beside them, since it has no C interface for attention
// that a program could load: bench/attention_bench.py and bench/attention_decode_bench.py have it, by way of
// torch.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdio>
#include <string>

namespace heddle::bench {

bool is_attention_suite(const std::string& name);

// Prints a table, and gives back its lines. Throws std::runtime_error where an output is wrong.
nlohmann::json run_attention_suite(const std::string& name, int rounds, std::FILE* table);

}  // namespace heddle::bench
