// SPDX-License-Identifier: Apache-2.0
//
// The commands of the program. Each returns its exit status: 0 well, 1 a check or comparison failed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

struct ExecOptions {
  std::string arch = "sm90";
  std::uint32_t sms = 16;
  std::string schedule;            // empty: round robin
  std::uint32_t schedules = 0;     // random ones after it, each a run of the program
  std::uint64_t seed = 1;          // of the first random schedule
  std::uint64_t budget = 0;        // instructions of a launch; 0: as many as it takes
  bool no_races = false;
  bool stats = false;
  std::vector<std::string> command;  // the program and its arguments
};
// Ends with the program's own status.
int exec(const ExecOptions& options);

}  // namespace heddle::tool
