// SPDX-License-Identifier: Apache-2.0
//
// What `heddle exec` asks of the simulated card. It reaches the program's process through the environment.
#pragma once

#include <heddle/isa/arch.h>
#include <heddle/sim/schedule.h>

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::runtime {

struct Options {
  Arch arch = Arch::kSm90;
  std::uint32_t sms = 16;                         // the largest cluster fits
  sim::ReplayToken replay = {};                   // the schedule, and the launch if it is for one alone
  std::string program;                            // as the token names it
  std::uint32_t schedules = 0;                    // more of them that each launch is repeated under, and compared
  std::uint64_t seed = 1;                         // of the first of them
  std::uint32_t depth = 0;                        // they are those of PCT with this depth; 0: random
  std::uint64_t exhaust = 0;                      // search each launch, up to so many executions; 0: do not
  std::uint64_t budget = std::uint64_t{1} << 40;  // instructions of a launch
  bool check_races = true;
  bool strict = false;  // formal findings end a launch
  // Mistakes that do not end a launch, as sim::AcceptRule has them: those that were asked for one by one, and
  // those of suppression files, which need not match anything.
  std::vector<std::string> accepted;
  std::vector<std::string> suppressed;
  bool stats = false;       // print what was executed when the program ends
  bool says_calls = false;  // that a program looks up and that are not there
  std::string again;        // the command that shows a run again, {} in it for the token
  std::string json;         // the file that findings go to, a line each; empty: none
  std::string trace;        // the file that the launches are drawn in; empty: none
  std::uint64_t trace_events = 500'000;

  std::uint32_t sm() const { return arch == Arch::kSm90 ? 90 : 100; }
};

inline constexpr const char* kArchVariable = "HEDDLE_EXEC_ARCH";
inline constexpr const char* kSmsVariable = "HEDDLE_EXEC_SMS";
inline constexpr const char* kScheduleVariable = "HEDDLE_EXEC_SCHEDULE";
inline constexpr const char* kProgramVariable = "HEDDLE_EXEC_PROGRAM";
inline constexpr const char* kSchedulesVariable = "HEDDLE_EXEC_SCHEDULES";
inline constexpr const char* kSeedVariable = "HEDDLE_EXEC_SEED";
inline constexpr const char* kPctVariable = "HEDDLE_EXEC_PCT";
inline constexpr const char* kExhaustVariable = "HEDDLE_EXEC_EXHAUST";
inline constexpr const char* kBudgetVariable = "HEDDLE_EXEC_BUDGET";
inline constexpr const char* kRacesVariable = "HEDDLE_EXEC_RACES";
inline constexpr const char* kStrictVariable = "HEDDLE_EXEC_STRICT";
inline constexpr const char* kAcceptVariable = "HEDDLE_EXEC_ACCEPT";
inline constexpr const char* kSuppressVariable = "HEDDLE_EXEC_SUPPRESS";
inline constexpr const char* kStatsVariable = "HEDDLE_EXEC_STATS";
inline constexpr const char* kCallsVariable = "HEDDLE_EXEC_CALLS";
inline constexpr const char* kAgainVariable = "HEDDLE_EXEC_AGAIN";
inline constexpr const char* kJsonVariable = "HEDDLE_EXEC_JSON";
inline constexpr const char* kTraceVariable = "HEDDLE_EXEC_TRACE";
inline constexpr const char* kTraceEventsVariable = "HEDDLE_EXEC_TRACE_EVENTS";

// Read once. A value that makes no sense ends the program with status 2 and says which.
const Options& options();

}  // namespace heddle::runtime
