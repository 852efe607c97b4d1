// SPDX-License-Identifier: Apache-2.0
#include "sim/explore/exhaust.h"
#include "sim/explore/repeat.h"
#include "sim/explore/replica.h"

#include <heddle/host/error.h>
#include <heddle/sim/explore.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace heddle::sim {

namespace {

using explore::Execution;
using explore::Pages;
using explore::WrittenPages;

// One run after the other in the memory of the launch itself, where its owner looks at the result.
class Explorer {
 public:
  using Launch = std::function<Report(const LaunchOptions&)>;

  Explorer(const LaunchOptions& options, const Launch& launch, const std::function<bool()>& verify)
      : launch_(launch),
        verify_(verify),
        live_(explore::writable_regions(*options.memory)),
        before_(*options.memory) {}

  Execution run(LaunchOptions options) {
    explore::restore(live_, before_.regions(), pages_);
    WrittenPages written;
    options.observers.push_back(&written);
    report_ = launch_(options);
    pages_ = std::move(written.pages);
    is_right_ = !report_.ok() || verify_();
    return {report_.ok() && is_right_, report_.stats.thread_switches};
  }

  // Counts the last run, of this schedule.
  void count(const Schedule& schedule) {
    ++result.runs;
    if (report_.ok() && is_right_) return;
    ++(report_.ok() ? result.wrong : result.reports);
    if (!result.schedule.empty() && report_.stats.thread_switches >= result.shortest.stats.thread_switches)
      return;
    result.schedule = schedule.name();
    result.shortest = report_;
  }

  const Report& last() const { return report_; }

  Exploration result;

 private:
  const Launch& launch_;
  const std::function<bool()>& verify_;
  const std::vector<explore::RegionBytes> live_;
  const explore::Replica before_;
  Pages pages_;  // that the last run has written to
  Report report_;
  bool is_right_ = true;
};

}  // namespace

std::string Exploration::text() const {
  std::string text = shortest.text();
  if (!ok() && shortest.ok()) text = fmt::format("the result is wrong under schedule {}\n", schedule);
  text += fmt::format("{} runs, {} with a report, {} with a wrong result", runs, reports, wrong);
  if (pruned != 0 || is_complete) {
    text += fmt::format("; {} pruned, {}", pruned, is_complete ? "complete" : "not complete");
  }
  return text + "\n";
}

Exploration explore_entry(const LaunchOptions& options, const LaunchShape& shape, const KernelEntry& entry,
                          const void* params, const ExploreOptions& how, const std::function<bool()>& verify) {
  if (how.exhaust && how.limit == 0) throw InputError("exploration: a limit of 0 executions; 1 or more");
  if (how.depth > Schedule::kMaxDepth) {
    throw InputError(fmt::format("exploration: a depth of {}; 1 to {}, or 0 for random schedules", how.depth,
                                 Schedule::kMaxDepth));
  }
  static const GlobalMemory no_memory;
  LaunchOptions all = options;
  if (all.memory == nullptr) all.memory = &no_memory;
  const Explorer::Launch launch = [&](const LaunchOptions& one) {
    return launch_entry(one, shape, entry, params);
  };
  Explorer explorer(all, launch, verify);
  explorer.run(all);
  explorer.count(all.schedule);
  Exploration& result = explorer.result;
  result.steps = std::max<std::uint64_t>(explorer.last().stats.steps, 1);
  result.actors = explorer.last().stats.ctas * ((entry.threads + 31) / 32) + 1;
  if (how.exhaust && result.ok()) {
    const explore::Exhausted searched = explore::walk_orders(
        all, Actors::kThreads, how.limit, [&](const LaunchOptions& one) { return explorer.run(one); },
        [&](const Schedule& schedule) { explorer.count(schedule); });
    result.pruned = searched.cut;
    result.is_complete = searched.is_complete;
    if (searched.schedule) {
      // Again, by its schedule, so that the report names it.
      all.schedule = *searched.schedule;
      explorer.run(all);
      result.shortest = explorer.last();
    }
  }
  const explore::Repetition many{how.exhaust ? 0 : how.schedules, how.seed, how.depth, 0};
  for (std::uint64_t number = 0; number < many.schedules; ++number) {
    all.schedule = explore::schedule_of(many, number, result.steps);
    explorer.run(all);
    explorer.count(all.schedule);
  }
  return std::move(result);
}

}  // namespace heddle::sim
