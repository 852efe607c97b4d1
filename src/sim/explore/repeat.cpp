// SPDX-License-Identifier: Apache-2.0
#include "sim/explore/repeat.h"

#include "sim/check/deadlock.h"
#include "sim/explore/cores.h"
#include "sim/explore/replica.h"

#include <heddle/host/error.h>
#include <heddle/sim/accept.h>

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace heddle::sim::explore {

namespace {

// What writes each of some bytes: floating-point additions alone, and how many, or anything else.
class Writers final : public Watcher<Writers> {
 public:
  explicit Writers(const std::vector<std::uint64_t>& addresses)
      : addresses_(addresses), sums(addresses.size()), is_other(addresses.size()) {}

  void on(const event::CopyIssue& event) {
    if (event.kind == CopyKind::kReduce) reductions_.insert(event.copy);
  }
  void on(const event::GlobalWrite& event) { write(event.global, event.bytes, false); }
  void on(const event::GlobalStrong& event) {
    if (event.strong.writes) write(event.global, event.bytes, event.strong.adds_floats);
  }
  // Of the reductions that copies do, only sums of floats depend on their order.
  void on(const event::CopyWriteGlobal& event) {
    write(event.global, event.bytes, reductions_.contains(event.copy));
  }

 private:
  void write(std::uint64_t address, std::uint32_t bytes, bool is_sum) {
    for (auto at = std::lower_bound(addresses_.begin(), addresses_.end(), address);
         at != addresses_.end() && *at - address < bytes; ++at) {
      const auto index = static_cast<std::size_t>(at - addresses_.begin());
      if (is_sum) {
        ++sums[index];
      } else {
        is_other[index] = true;
      }
    }
  }

  const std::vector<std::uint64_t>& addresses_;
  std::unordered_set<std::uint64_t> reductions_;

 public:
  std::vector<std::uint32_t> sums;
  std::vector<bool> is_other;
};

// Who wrote a byte last.
class LastWriter final : public Watcher<LastWriter> {
 public:
  explicit LastWriter(std::uint64_t address) : address_(address) {}

  void on(const event::GlobalWrite& event) {
    if (is_here(event)) write(event.site, thread(event, "st.global"));
  }
  void on(const event::GlobalStrong& event) {
    if (event.strong.writes && is_here(event)) write(event.site, thread(event, event.instruction));
  }
  void on(const event::CopyWriteGlobal& event) {
    if (is_here(event)) write(event.site, fmt::format("a copy of block {}", event.cta));
  }

  std::string line(const std::string& schedule) const {
    if (!site) return fmt::format("  {}: nobody writes it\n", schedule);
    return fmt::format("  {:<62} {}\n", fmt::format("{}: {}", schedule, who_), place_text(*site));
  }

  std::optional<CallSite> site;

 private:
  template <class Kind>
  static std::string thread(const Kind& event, const char* instruction) {
    return fmt::format("block {}, warp {}, lane {}: {}", event.cta, event.thread / 32, event.thread % 32,
                       instruction);
  }
  template <class Kind>
  bool is_here(const Kind& event) const {
    return address_ - event.global < event.bytes;
  }
  void write(CallSite at, std::string who) {
    site = at;
    who_ = std::move(who);
  }

  std::string who_;
  std::uint64_t address_;
};

std::uint64_t available_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string name; file >> name;) {
    std::uint64_t number = 0;
    if (name == "MemAvailable:" && file >> number) return number * 1024;
    std::getline(file, name);
  }
  return ~std::uint64_t{0};  // not known
}

// The report of one run among many.
struct Found {
  Report report;
  std::uint64_t switches = 0;
  std::uint64_t number = 0;
  Schedule schedule = {};

  bool is_shorter_than(const std::optional<Found>& other) const {
    return !other || std::pair(switches, number) < std::pair(other->switches, other->number);
  }
};

class Repeater {
 public:
  Repeater(const LaunchOptions& options, const RunOnce& run_once)
      : options_(options), run_once_(run_once), live_(writable_regions(*options.memory)) {}

  Report repeat(const Repetition& how) {
    const std::uint32_t workers = check_memory(std::min(how.workers == 0 ? cores() : how.workers, how.schedules));
    Report report = run_first();
    if (!report.ok()) return report;
    std::vector<std::unique_ptr<Replica>> replicas(workers);
    const std::uint64_t steps = std::max<std::uint64_t>(report.stats.steps, 1);
    on_cores(workers, how.schedules, [&](std::uint32_t worker, std::uint64_t number) {
      if (!replicas[worker]) replicas[worker] = std::make_unique<Replica>(before_->memory());
      run_again(*replicas[worker], schedule_of(how, number, steps), number);
    });
    return summary(std::move(report), fmt::format("{} other schedules", how.schedules));
  }

  Report search(Actors actors, const SearchLimits& limits, SearchedLaunch& searched) {
    check_memory(1);
    Report report = run_first();
    searched.steps = report.stats.steps;
    searched.is_too_long = report.ok() && report.stats.steps > limits.steps;
    if (!report.ok() || searched.is_too_long) return report;
    const Replica replica(before_->memory());
    Pages pages;
    std::uint64_t number = 0;
    searched.counts = exhaust(
        options_of(replica, options_.schedule), actors, limits.executions,
        [&](const LaunchOptions& options) {
          restore(replica.regions(), before_->regions(), pages);
          WrittenPages written;
          Report one = launch(options, written);
          pages = std::move(written.pages);
          pages.insert(first_.pages.begin(), first_.pages.end());
          return one;
        },
        [&](const Report& one, const Schedule& schedule) { account(replica, schedule, pages, one, number++); });
    if (searched.counts.shortest) stop_->report = *searched.counts.shortest;
    return summary(std::move(report), fmt::format("{} executions", searched.counts.executions));
  }

 private:
  using Places = std::pair<FaultCode, std::vector<std::string>>;

  static Places places_of(const Diagnosis& one) { return {one.code, one.places}; }

  // How many of these workers there is memory for: each has a copy, beside the one that all begin from.
  std::uint32_t check_memory(std::uint32_t wanted) const {
    std::uint64_t bytes = 0;
    for (const RegionBytes& region : live_) bytes += region.bytes;
    const std::uint64_t available = available_bytes();
    if (bytes == 0 || bytes * (std::uint64_t{wanted} + 1) <= available) return wanted;
    if (available / bytes >= 2) return static_cast<std::uint32_t>(available / bytes - 1);
    throw InputError(
        fmt::format("many schedules of {}: they need two copies of the {} bytes that it can write to, "
                    "and {} bytes of memory are free; without --schedules or --exhaust it needs none",
                    options_.kernel, bytes, available));
  }

  Report run_first() {
    before_.emplace(*options_.memory);
    Report report = launch(options_, first_, true);
    if (report.ok()) remember(report);
    return report;
  }

  Report launch(LaunchOptions options, Observer& observer, bool is_first = false) const {
    options.observers.push_back(&observer);
    return run_once_(options, is_first);
  }

  LaunchOptions options_of(const Replica& replica, const Schedule& schedule) const {
    LaunchOptions options = options_;
    options.schedule = schedule;
    options.memory = &replica.memory();
    // Both are of the first run.
    options.history = nullptr;
    options.trace = nullptr;
    return options;
  }

  void run_again(const Replica& replica, const Schedule& schedule, std::uint64_t number) {
    WrittenPages written;
    const Report report = launch(options_of(replica, schedule), written);
    Pages& pages = written.pages;
    if (pages != first_.pages) pages.insert(first_.pages.begin(), first_.pages.end());
    account(replica, schedule, pages, report, number);
    restore(replica.regions(), before_->regions(), pages);
  }

  // Judges a run that has written to no other pages of the replica than these.
  void account(const Replica& replica, const Schedule& schedule, const Pages& pages, const Report& report,
               std::uint64_t number) {
    Found found{report, report.stats.thread_switches, number, schedule};
    if (!report.ok()) {
      const std::lock_guard lock(mutex_);
      ++stopped_;
      if (found.is_shorter_than(stop_)) stop_ = std::move(found);
      return;
    }
    const std::vector<std::uint64_t> differing = differences(replica.regions(), live_, pages);
    if (!differing.empty()) judge(replica, pages, differing, std::move(found));
    const std::lock_guard lock(mutex_);
    remember(report);
  }

  // What a run has told and did not stop for.
  void remember(const Report& report) {
    for (const auto* list : {&report.formal, &report.accepted}) {
      for (const Diagnosis& one : *list) told_.emplace(places_of(one), std::pair(one, list == &report.accepted));
    }
  }

  // Makes a report of what differs under that schedule: if it is worse than what is known, the reason why the
  // launch is wrong; else formal or accepted.
  void judge(const Replica& replica, const Pages& pages, const std::vector<std::uint64_t>& differing,
             Found found) {
    const Schedule& schedule = found.schedule;
    {
      const std::lock_guard lock(mutex_);
      ++differing_;
      if (std::includes(excused_.begin(), excused_.end(), differing.begin(), differing.end())) return;
      if (!found.is_shorter_than(difference_)) return;
    }
    const auto watch = [&](const Schedule& one, Observer& observer) {
      restore(replica.regions(), before_->regions(), pages);
      launch(options_of(replica, one), observer);
    };
    Writers first(differing);
    Writers second(differing);
    watch(options_.schedule, first);
    watch(schedule, second);
    std::size_t at = 0;
    const auto is_sum = [&](std::size_t b) {
      return !first.is_other[b] && !second.is_other[b] && first.sums[b] == second.sums[b];
    };
    while (at < differing.size() && is_sum(at)) ++at;
    const bool is_of_sums = at == differing.size();
    const std::uint64_t address = differing[is_of_sums ? 0 : at];

    LastWriter first_writer(address);
    LastWriter second_writer(address);
    watch(options_.schedule, first_writer);
    const auto first_value = std::to_integer<unsigned>(value_at(replica.regions(), address));
    watch(schedule, second_writer);
    const auto second_value = std::to_integer<unsigned>(value_at(replica.regions(), address));

    const std::string one = options_.schedule.name();
    const std::string two = schedule.name();
    Diagnosis diagnosis{.code = FaultCode::kScheduleDependence,
                        .text = fmt::format("[schedule_dependence] {}{} is {:#04x} under schedule {} and {:#04x} "
                                            "under schedule {}\n",
                                            is_of_sums ? "formal: " : "", options_.memory->describe(address),
                                            first_value, one, second_value, two),
                        .verdict = is_of_sums ? Verdict::kFormal : Verdict::kWrong};
    diagnosis.text += first_writer.line(one) + second_writer.line(two);
    diagnosis.text += fmt::format("  {}{}\n",
                                  differing.size() == 1 ? std::string("one byte differs")
                                                        : fmt::format("{} bytes differ", differing.size()),
                                  is_of_sums ? "; only floating-point additions write there, as many under both "
                                               "schedules, and their sum depends on their order"
                                             : "");
    diagnosis.text += fmt::format("  again: {}\n  and:   {}\n", check::again(options_),
                                  check::again(options_of(replica, schedule)));
    std::vector<CallSite> sites;
    for (const LastWriter* writer : {&first_writer, &second_writer}) {
      if (!writer->site) continue;
      sites.push_back(*writer->site);
      diagnosis.places.push_back(place_text(*writer->site));
    }
    std::optional<std::string> rule = accepted_by(sites);

    const std::lock_guard lock(mutex_);
    if (!rule && (!is_of_sums || options_.strict)) {
      found.report.diagnoses = {std::move(diagnosis)};
      if (found.is_shorter_than(difference_)) difference_ = std::move(found);
      return;
    }
    if (rule) diagnosis.accepted_by = *rule;
    const Places places = places_of(diagnosis);
    told_.emplace(places, std::pair(std::move(diagnosis), rule.has_value()));
    std::vector<std::uint64_t> all;
    std::set_union(excused_.begin(), excused_.end(), differing.begin(), differing.end(), std::back_inserter(all));
    excused_ = std::move(all);
  }

  // The rule that accepts a difference between what is written at these places.
  std::optional<std::string> accepted_by(const std::vector<CallSite>& sites) const {
    for (const std::string& text : options_.accepted) {
      const AcceptRule rule = AcceptRule::parse(text);
      if (rule.code != FaultCode::kScheduleDependence) continue;
      const bool matches =
          std::any_of(sites.begin(), sites.end(), [&](CallSite site) { return rule.matches(site); });
      if (!rule.has_place() || matches) return text;
    }
    return std::nullopt;
  }

  // `all`: what there was beside the first run.
  Report summary(Report report, const std::string& all) {
    report.formal.clear();
    report.accepted.clear();
    for (auto& [places, told] : told_) {
      (told.second ? report.accepted : report.formal).push_back(std::move(told.first));
    }
    const std::optional<Found>& worst = stop_ ? stop_ : difference_;
    if (!worst) return report;
    report.diagnoses = worst->report.diagnoses;
    report.schedule = worst->schedule.name();
    report.diagnoses.back().text += fmt::format(
        "  {} of {} {}; this one has the fewest switches of threads, {}\n", stop_ ? stopped_ : differing_, all,
        stop_ ? "end with a report" : "write other bytes", worst->switches);
    return report;
  }

  const LaunchOptions& options_;
  const RunOnce& run_once_;
  const std::vector<RegionBytes> live_;  // what the first run writes to
  std::optional<Replica> before_;        // never written to
  WrittenPages first_;

  std::mutex mutex_;                                   // of all below
  std::map<Places, std::pair<Diagnosis, bool>> told_;  // and whether it was accepted
  std::vector<std::uint64_t> excused_;                 // addresses whose difference is formal or accepted
  std::uint64_t stopped_ = 0;
  std::uint64_t differing_ = 0;
  std::optional<Found> stop_;
  std::optional<Found> difference_;
};

}  // namespace

Schedule schedule_of(const Repetition& how, std::uint64_t number, std::uint64_t steps) {
  const std::uint64_t seed = how.seed + number;
  return how.depth == 0 ? Schedule::random(seed)
                        : Schedule::pct(how.depth, std::max<std::uint64_t>(steps, 1), seed);
}

namespace {

// A launch that touches no global memory has none to be restored.
LaunchOptions with_memory(LaunchOptions options) {
  static const GlobalMemory no_memory;
  if (options.memory == nullptr) options.memory = &no_memory;
  return options;
}

}  // namespace

Report repeat(const LaunchOptions& options, const Repetition& how, const RunOnce& run_once) {
  if (how.schedules == 0) return run_once(options, true);
  const LaunchOptions all = with_memory(options);
  return Repeater(all, run_once).repeat(how);
}

Report search(const LaunchOptions& options, Actors actors, const SearchLimits& limits, const RunOnce& run_once,
              SearchedLaunch& searched) {
  const LaunchOptions all = with_memory(options);
  return Repeater(all, run_once).search(actors, limits, searched);
}

}  // namespace heddle::sim::explore
