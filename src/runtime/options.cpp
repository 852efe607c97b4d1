// SPDX-License-Identifier: Apache-2.0
#include "runtime/options.h"

#include <heddle/host/error.h>
#include <heddle/sim/accept.h>

#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string_view>

namespace heddle::runtime {

namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

template <class T>
void read_number(const char* name, T& number, T least = 1) {
  const std::string_view text = variable(name);
  if (text.empty()) return;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < least) {
    throw InputError(fmt::format("{} is '{}'; a number from {} on", name, text, least));
  }
}

Options read() {
  Options result;
  if (const std::string_view arch = variable(kArchVariable); !arch.empty()) {
    if (arch != "sm90" && arch != "sm100") {
      throw InputError(fmt::format("{} is '{}'; sm90 or sm100", kArchVariable, arch));
    }
    result.arch = arch == "sm90" ? Arch::kSm90 : Arch::kSm100;
  }
  read_number(kSmsVariable, result.sms);
  read_number(kBudgetVariable, result.budget);
  read_number(kSchedulesVariable, result.schedules);
  read_number(kSeedVariable, result.seed, std::uint64_t{0});
  read_number(kPctVariable, result.depth);
  read_number(kExhaustVariable, result.exhaust);
  result.program = variable(kProgramVariable);
  if (const std::string_view text = variable(kScheduleVariable); !text.empty()) {
    result.replay = sim::ReplayToken::parse(text, result.program);
  }
  result.check_races = variable(kRacesVariable) != "0";
  result.strict = variable(kStrictVariable) == "1";
  const auto read_rules = [](const char* name, std::vector<std::string>& rules) {
    std::istringstream lines{std::string(variable(name))};
    for (std::string line; std::getline(lines, line);) rules.push_back(sim::AcceptRule::parse(line).text());
  };
  read_rules(kAcceptVariable, result.accepted);
  read_rules(kSuppressVariable, result.suppressed);
  result.stats = variable(kStatsVariable) == "1";
  result.says_calls = variable(kCallsVariable) == "1";
  result.again = variable(kAgainVariable);
  result.json = variable(kJsonVariable);
  result.trace = variable(kTraceVariable);
  read_number(kTraceEventsVariable, result.trace_events);
  return result;
}

}  // namespace

const Options& options() {
  // Lives until the process ends, as the state does: it is asked for at exit.
  static const Options& result = *[] {
    try {
      return new Options(read());
    } catch (const InputError& error) {
      std::fprintf(stderr, "heddle exec: %s\n", error.what());
      std::_Exit(2);
    }
  }();
  return result;
}

}  // namespace heddle::runtime
