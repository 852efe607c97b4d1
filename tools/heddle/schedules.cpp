// SPDX-License-Identifier: Apache-2.0
#include "commands.h"

#include <heddle/sim/schedule.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <charconv>
#include <cstdint>

namespace heddle::tool {

namespace {

// A count from 1 on. Nothing is kept for each schedule, so that only the counter limits them.
CLI::Validator count_up_to(std::uint32_t most) {
  return CLI::Validator(
      [most](std::string& text) -> std::string {
        std::uint64_t number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error == std::errc{} && end == text.data() + text.size() && number >= 1 && number <= most) return {};
        return fmt::format("{}; 1 to {}", text, most);
      },
      "");
}

}  // namespace

void add_schedule_options(CLI::App& command, ScheduleOptions& options) {
  constexpr std::uint32_t kMostSchedules = 0xfffffffe;
  CLI::Option* one = command.add_option(
      "--schedule,--replay", options.schedule,
      "One schedule only: rr, a seed in hexadecimal, pctDEPTH.STEPS.SEED, or the token of a report");
  CLI::Option* many = command
                          .add_option("--schedules", options.schedules,
                                      "So many random schedules after round robin, on all cores, each from the "
                                      "same memory; what is written is compared")
                          ->check(count_up_to(kMostSchedules));
  if (options.schedules != 0) many->capture_default_str();
  many->excludes(one);
  command.add_option("--seed", options.seed, "Of the first of these schedules, and of data that is made up")
      ->capture_default_str();
  command
      .add_option(
          "--pct", options.depth,
          "They have random priorities that change at DEPTH - 1 places: a mistake of this depth is met with a "
          "probability that is printed")
      ->check(count_up_to(sim::Schedule::kMaxDepth))
      ->needs(many)
      ->type_name("DEPTH");
  CLI::Option* all =
      command
          .add_flag(
              "--exhaust", options.exhaust,
              "Every order that can matter instead, of launches that are small enough; says how many there are")
          ->excludes(one)
          ->excludes(many);
  constexpr std::uint32_t kMostExecutions = 1'000'000'000;
  command.add_option("--limit", options.limit, "Executions of a launch after which --exhaust stops")
      ->check(count_up_to(kMostExecutions))
      ->needs(all)
      ->capture_default_str();
}

}  // namespace heddle::tool
