// SPDX-License-Identifier: Apache-2.0
#include "commands.h"
#include "device.h"

#include <heddle/host/error.h>
#include <heddle/sim/schedule.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <random>

namespace heddle::tool {

namespace {

struct Tally {
  std::uint32_t runs = 0;
  std::uint32_t reports = 0;
  std::uint32_t wrong = 0;  // runs without a report, but with wrong bytes
  std::string first;        // the first report, or what was wrong
  std::string remarks;      // of the first run
};

void show_progress(std::uint32_t done, std::uint32_t all) {
  if (isatty(STDERR_FILENO) == 0) return;
  fmt::print(stderr, "\r{} of {} schedules{}", done, all, done == all ? "\n" : "");
}

}  // namespace

int check(const CheckOptions& options) {
  if (options.kernel != "tile_copy") {
    throw InputError(fmt::format("kernel '{}': there is tile_copy", options.kernel));
  }
  const DeviceId device = find_device(options.device);
  TileCopyProblem problem{.rank = 2,
                          .element_bytes = 2,
                          .dims = {200, 300},
                          .box = {64, 32},
                          .swizzle_bytes = 128,
                          .stages = options.stages,
                          .consumer_warps = options.consumer_warps,
                          .cluster = options.cluster,
                          .ctas = options.mistake.empty() ? 2 * options.cluster : options.cluster,
                          .mistake = options.mistake};
  std::mt19937_64 generator(options.seed);
  std::vector<unsigned char> source(plan_tile_copy(problem).tensor_bytes);
  for (unsigned char& byte : source) byte = static_cast<unsigned char>(generator());

  std::vector<std::string> schedules;
  if (!options.schedule.empty()) {
    schedules.push_back(sim::Schedule::parse(options.schedule).name());
  } else {
    schedules.push_back("rr");
    for (std::uint32_t s = 0; s < options.schedules; ++s) {
      schedules.push_back(sim::Schedule::random(options.seed + s).name());
    }
  }
  if (device.is_gpu()) schedules = {"rr"};  // a GPU has a schedule of its own

  std::string again = "heddle check tile_copy";
  if (!options.mistake.empty()) again += " --mistake " + options.mistake;
  if (options.stages != 4) again += fmt::format(" --stages {}", options.stages);
  if (options.consumer_warps != 4) again += fmt::format(" --consumers {}", options.consumer_warps);
  if (options.cluster != 1) again += fmt::format(" --cluster {}", options.cluster);
  if (options.seed != 1) again += fmt::format(" --seed {}", options.seed);
  if (options.strict) again += " --strict";
  for (const std::string& rule : options.accept) again += " --accept " + rule;

  Tally tally;
  for (const std::string& schedule : schedules) {
    const TileCopyResult result = run_tile_copy(device, problem,
                                                {.kernel = "tile_copy",
                                                 .schedule = schedule,
                                                 .again = again,
                                                 .strict = options.strict,
                                                 .accepted = options.accept},
                                                source);
    if (tally.runs++ == 0) tally.remarks = result.outcome.remarks;
    if (!result.outcome.ok()) {
      if (tally.reports++ == 0) tally.first = result.outcome.report;
    } else {
      for (const auto& output : result.outputs) {
        if (output == source) continue;
        ++tally.wrong;
        if (tally.first.empty()) {
          tally.first = fmt::format("the output differs from the source with schedule {}\n", schedule);
        }
      }
    }
    show_progress(tally.runs, static_cast<std::uint32_t>(schedules.size()));
  }
  const bool well = tally.reports == 0 && tally.wrong == 0;
  if (options.json) {
    const nlohmann::json json{{"kernel", options.kernel},   {"device", options.device},
                              {"mistake", options.mistake}, {"schedules", tally.runs},
                              {"reports", tally.reports},   {"wrong_outputs", tally.wrong},
                              {"first", tally.first},       {"remarks", tally.remarks}};
    fmt::print("{}\n", json.dump(2));
  } else {
    if (!tally.remarks.empty()) fmt::print("{}\n", tally.remarks);
    fmt::print("{}tile_copy on {}: {} schedules, {} with a report, {} with a wrong output\n",
               tally.first.empty() ? "" : tally.first + "\n", device.name(), tally.runs, tally.reports,
               tally.wrong);
  }
  return well ? kWell : kFailed;
}

}  // namespace heddle::tool
