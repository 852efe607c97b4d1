// SPDX-License-Identifier: Apache-2.0
//
// The commands of the program. Each returns its exit status: 0 well, 1 a check or comparison failed.
#pragma once

#include "matmul_bench.h"

#include <cstdint>
#include <string>

namespace heddle::tool {

inline constexpr int kWell = 0;
inline constexpr int kFailed = 1;
inline constexpr int kBadUsage = 2;

// What runs when the program is called without arguments.
int main_job();

struct InfoOptions {
  bool json = false;
};
int info(const InfoOptions& options);

struct CheckOptions {
  std::string kernel = "tile_copy";
  std::string device = "sim:sm90";
  std::string schedule;            // empty: round robin and then `schedules` random ones
  std::uint32_t schedules = 100;
  std::uint64_t seed = 1;          // of the first random schedule
  std::string mistake;
  std::uint32_t stages = 4;
  std::uint32_t consumer_warps = 4;
  std::uint32_t cluster = 1;
  bool json = false;
};
int check(const CheckOptions& options);

// Throws InputError where there is no GPU, or no part of the program for one.
int bench(const bench::MatmulBenchOptions& options);

}  // namespace heddle::tool
