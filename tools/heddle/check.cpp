// SPDX-License-Identifier: Apache-2.0
#include "commands.h"
#include "device.h"
#include "tell.h"

#include "sim/explore/cores.h"
#include "sim/explore/exhaust.h"
#include "sim/explore/guided.h"
#include "sim/explore/repeat.h"

#include <heddle/host/error.h>
#include <heddle/sim/schedule.h>
#include <heddle/testing/mutant.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <random>
#include <utility>

namespace heddle::tool {

namespace {

// What one schedule came to.
struct Verdict {
  std::string text;              // empty: all is well
  bool is_wrong_output = false;  // without a report
  std::uint64_t switches = 0;
  std::uint64_t number = 0;
};

struct Tally {
  std::uint64_t runs = 0;
  std::uint64_t reports = 0;
  std::uint64_t wrong = 0;          // runs without a report, but with wrong bytes
  std::optional<Verdict> shortest;  // of those that are not well, that with the fewest switches

  void add(Verdict verdict) {
    ++runs;
    if (verdict.text.empty()) return;
    ++(verdict.is_wrong_output ? wrong : reports);
    const auto length = [](const Verdict& one) { return std::pair(one.switches, one.number); };
    if (!shortest || length(verdict) < length(*shortest)) shortest = std::move(verdict);
  }
};

void show_progress(std::uint64_t done, std::uint64_t all) {
  if (isatty(STDERR_FILENO) == 0) return;
  tell("\r{} of {} schedules{}", done, all, done == all ? "\n" : "");
}

std::string again_of(const CheckOptions& options) {
  std::string again = "heddle check tile_copy";
  if (!options.mistake.empty()) again += " --mistake " + options.mistake;
  if (options.tiles != 0) again += fmt::format(" --tiles {}", options.tiles);
  if (options.stages != 4) again += fmt::format(" --stages {}", options.stages);
  if (options.consumer_warps != 4) again += fmt::format(" --consumers {}", options.consumer_warps);
  if (options.cluster != 1) again += fmt::format(" --cluster {}", options.cluster);
  if (options.seed != 1) again += fmt::format(" --seed {}", options.seed);
  if (options.strict) again += " --strict";
  for (const std::string& rule : options.accept) again += " --accept " + rule;
  return again + " --schedule {}@tile_copy";
}

std::string mistake_list() {
  std::string text = "Plants a mistake in the kernel:";
  for (const MistakeName& known : kMistakes) text += fmt::format("\n  {}: {}", known.name, known.meaning);
  return text;
}

}  // namespace

void add_check_options(CLI::App& command, CheckOptions& options) {
  command.add_option("--device", options.device, "auto, cuda:N, sim:sm90 or sim:sm100")->capture_default_str();
  add_schedule_options(command, options);
  command.add_option("--mistake", options.mistake, mistake_list());
  command.add_option("--tiles", options.tiles, "Tiles to copy, 1 to 1000; a search needs few")
      ->check(CLI::Range(1, 1000));
  command.add_option("--stages", options.stages, "1 to 8")->capture_default_str();
  command.add_option("--consumers", options.consumer_warps, "Warps that store, 1 to 4")->capture_default_str();
  command.add_option("--cluster", options.cluster, "CTAs in a cluster, 1 or 2")->capture_default_str();
  command.add_flag("--strict", options.strict, "Formal findings count as reports");
  command.add_option("--accept", options.accept, "A mistake that does not end a run, as for exec")
      ->allow_extra_args(false)
      ->type_name("CODE");
  command.add_flag("--json", options.json, "Print JSON");
}

int check(const CheckOptions& options) {
  if (options.kernel != "tile_copy") {
    throw InputError(fmt::format("kernel '{}': there is tile_copy", options.kernel));
  }
  const DeviceId device = find_device(options.device);
  TileCopyProblem problem{
      .rank = 2,
      .element_bytes = 2,
      .dims = {options.tiles == 0 ? 200u : 64u, options.tiles == 0 ? 300u : 32 * options.tiles},
      .box = {64, 32},
      .swizzle_bytes = 128,
      .stages = options.stages,
      .consumer_warps = options.consumer_warps,
      .cluster = options.cluster,
      .ctas = options.cluster * (options.mistake.empty() && !options.exhaust ? 2 : 1),
      .mistake = options.mistake};
  std::mt19937_64 generator(options.seed);
  std::vector<unsigned char> source(plan_tile_copy(problem).tensor_bytes);
  for (unsigned char& byte : source) byte = static_cast<unsigned char>(generator());

  const std::string again = again_of(options);
  const auto run = [&](const sim::Schedule& schedule) {
    return run_tile_copy(device, problem,
                         {.kernel = "tile_copy",
                          .schedule = schedule.name(),
                          .again = again,
                          .strict = options.strict,
                          .accepted = options.accept},
                         source);
  };
  const auto judge = [&](const TileCopyResult& result, const sim::Schedule& schedule, std::uint64_t number) {
    Verdict verdict{result.outcome.report, false, result.outcome.thread_switches, number};
    for (const auto& output : result.outputs) {
      if (!result.outcome.ok() || output == source) continue;
      verdict.is_wrong_output = true;
      verdict.text = fmt::format("the output differs from the source with schedule {}\n", schedule.name());
    }
    return verdict;
  };
  const sim::Schedule first =
      sim::ReplayToken::parse(options.schedule.empty() ? "rr" : options.schedule, options.kernel).schedule;
  // A GPU has a schedule of its own.
  const std::uint32_t others =
      device.is_gpu() || !options.schedule.empty() || options.exhaust ? 0 : options.schedules;
  Tally tally;
  const TileCopyResult result = run(first);
  tally.add(judge(result, first, 0));
  std::string searched;
  if (options.exhaust && tally.shortest) searched = "the first schedule is not well: nothing was searched\n";
  if (options.exhaust && !tally.shortest) {
    if (device.is_gpu()) throw InputError("check: --exhaust needs the simulated SM; --device sim:sm90");
    Verdict last;
    const sim::explore::Exhausted all = sim::explore::walk_orders(
        {.kernel = options.kernel}, sim::Actors::kLockstep, options.limit,
        [&](const sim::LaunchOptions& watched) {
          const sim::explore::Guided guided(watched);
          last = judge(run(first), first, tally.runs);
          return sim::explore::Execution{last.text.empty(), last.switches};
        },
        [&](const sim::Schedule&) {
          tally.add(last);
          show_progress(tally.runs, options.limit + 1);
        });
    if (all.schedule) tally.shortest->text = judge(run(*all.schedule), *all.schedule, 0).text;
    searched = fmt::format(
        "search of every order of warps and copies: {} executions, {} pruned, at most {} decisions in one; {}\n",
        all.executions, all.cut, all.depth, all.is_complete ? "complete" : "not complete: --limit allows more");
  }
  const sim::explore::Repetition how{others, options.seed, options.depth, 0};
  const std::uint64_t steps = std::max<std::uint64_t>(result.outcome.steps, 1);
  std::mutex mutex;
  sim::explore::on_cores(sim::explore::cores(), others, [&](std::uint32_t, std::uint64_t number) {
    const sim::Schedule schedule = sim::explore::schedule_of(how, number, steps);
    Verdict verdict = judge(run(schedule), schedule, number + 1);
    const std::lock_guard lock(mutex);
    tally.add(std::move(verdict));
    show_progress(tally.runs, others + std::uint64_t{1});
  });
  std::string found;
  if (tally.shortest) found = tally.shortest->text;
  if (tally.reports + tally.wrong > 1) {
    found += fmt::format("  of {} schedules that are not well, this one has the fewest switches of threads, {}\n",
                         tally.reports + tally.wrong, tally.shortest->switches);
  }
  std::string bound;
  if (others != 0 && options.depth != 0) {
    const std::uint64_t actors = result.outcome.warps + 1;
    bound = fmt::format(
        "PCT: each schedule meets a mistake of depth {} with a probability of at least {:.3g} = 1/(n k^{}), for "
        "n = {} warps and copies and k = {} steps\n",
        options.depth, sim::pct_bound(actors, steps, options.depth), options.depth - 1, actors, steps);
  }
  const bool well = tally.reports == 0 && tally.wrong == 0;
  if (options.json) {
    const nlohmann::json json{
        {"kernel", options.kernel}, {"device", options.device},         {"mistake", options.mistake},
        {"schedules", tally.runs},  {"reports", tally.reports},         {"wrong_outputs", tally.wrong},
        {"first", found},           {"remarks", result.outcome.remarks}};
    fmt::print("{}\n", json.dump(2));
  } else {
    if (!result.outcome.remarks.empty()) fmt::print("{}\n", result.outcome.remarks);
    fmt::print("{}tile_copy on {}: {} schedules, {} with a report, {} with a wrong output\n{}",
               found.empty() ? "" : found + "\n", device.name(), tally.runs, tally.reports, tally.wrong,
               bound + searched);
  }
  return well ? kWell : kFailed;
}

}  // namespace heddle::tool
