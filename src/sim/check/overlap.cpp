// SPDX-License-Identifier: Apache-2.0
#include "sim/check/overlap.h"

#include "sim/machine/machine.h"

#include <heddle/sim/accept.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace heddle::sim::check {

namespace {

constexpr std::uint32_t kNoThread = ~std::uint32_t{0};
constexpr std::uint64_t kCopy = ~std::uint64_t{0};  // in the place of a thread

std::uint64_t number_of(std::uint32_t cta, std::uint32_t thread) { return std::uint64_t{cta} << 10 | thread; }

const char* why_unordered(const History::Work& work) {
  if (work.relation == History::Relation::kBehind) {
    return "the launch between the two has let the second begin with griddepcontrol.launch_dependents, and has "
           "not "
           "waited for the first with griddepcontrol.wait, so that it may be over before the first is";
  }
  return work.relation == History::Relation::kBeside
             ? "nothing orders the two: they are in different streams, with no event, dependency of a graph or "
               "wait "
               "of the host between"
             : "the first has let dependent launches begin with griddepcontrol.launch_dependents, and the second "
               "has not waited for it with griddepcontrol.wait (cudaGridDependencySynchronize) by then";
}

// What a copy or fill of the host does, its name says.
std::string deed(const History::Work& work, History::Way way) {
  return work.ranges.empty() ? fmt::format("{} of {}", name_of(way), work.name) : work.name;
}

}  // namespace

Overlap::Overlap(const machine::Machine& machine, Order& order, machine::Findings& findings, History& history,
                 std::string kernel)
    : machine_(machine), order_(order), sink_(findings), history_(history) {
  work_.name = std::move(kernel);
  for (const History::Work& work : history.works) {
    if (work.relation != History::Relation::kBefore) unordered_.push_back({&work, {}, {}});
  }
}

void Overlap::on(const event::GlobalRead& event) {
  access({event.global, event.bytes, event.cta, event.thread, event.site}, History::kRead, order_.thread(event));
}

void Overlap::on(const event::GlobalWrite& event) {
  access({event.global, event.bytes, event.cta, event.thread, event.site}, History::kWrite, order_.thread(event));
}

void Overlap::on(const event::CopyReadGlobal& event) {
  access({event.global, event.bytes, event.cta, kNoThread, event.site}, History::kRead, order_.copy(event.copy));
}

// Reductions may be made at the same time, as atomics may.
void Overlap::on(const event::CopyWriteGlobal& event) {
  const IssuedCopy& copy = order_.copy(event.copy);
  access({event.global, event.bytes, event.cta, kNoThread, event.site},
         copy.kind == CopyKind::kReduce ? History::kStrongWrite : History::kWrite, copy);
}

// A strong read of what the work has written by a strong write: a flag that hands over what came before it.
// Model: whether the write was a release and the read an acquire is for launches that run at once; here one that
// has seen the flag counts as ordered.
void Overlap::on(const event::GlobalStrong& event) {
  if (sink_.stop()) return;
  const ThreadOrder& thread = order_.thread(event);
  for (Before& before : unordered_) {
    if (!event.strong.reads) break;
    const auto granule = before.work->granules.find(event.global / History::kGranule);
    if (granule == before.work->granules.end() || granule->second[History::kStrongWrite].bytes == 0) continue;
    mark(before, thread, number_of(event.cta, event.thread));
  }
  access({event.global, event.bytes, event.cta, event.thread, event.site},
         event.strong.writes ? History::kStrongWrite : History::kStrongRead, thread);
}

void Overlap::on(const event::Fence& event) {
  if (sink_.stop()) return;
  if (event.kind == FenceKind::kLaunchDependents) work_.launches_dependents = true;
  if (event.kind != FenceKind::kGridWait) return;
  work_.has_waited = true;
  for (Before& before : unordered_) {
    if (before.work->relation == History::Relation::kUntilWait) {
      mark(before, order_.thread(event), number_of(event.cta, event.thread));
    }
  }
}

void Overlap::mark(Before& before, const ThreadOrder& thread, std::uint64_t number) {
  before.marks[thread.warp->cluster].push_back({thread.warp->component(thread.lane), thread.warp->now});
  before.passed.insert(number);
}

bool Overlap::knows(Before& before, const View& view, std::uint64_t thread) {
  if (before.passed.contains(thread)) return true;
  const auto knows_one = [&](std::uint64_t cluster, const std::vector<Mark>& marks) {
    return std::any_of(marks.begin(), marks.end(),
                       [&](const Mark& one) { return view.knows(cluster, one.component, one.epoch); });
  };
  const auto own = before.marks.find(view.cluster);
  bool is_known = own != before.marks.end() && knows_one(own->first, own->second);
  // Of other clusters a thread knows by flags in global memory.
  for (auto other = before.marks.begin(); other != before.marks.end() && !is_known; ++other) {
    is_known = other != own && knows_one(other->first, other->second);
  }
  if (is_known && thread != kCopy) before.passed.insert(thread);
  return is_known;
}

template <class By>
void Overlap::access(const Access& access, History::Way way, const By& by) {
  if (sink_.stop()) return;
  const std::uint32_t place = place_of(access.site);
  work_.touch(access.global, access.bytes, way, place, access.cta, access.thread);
  for (Before& before : unordered_) {
    const std::optional<History::Conflict> conflict =
        History::find(*before.work, {access.global, access.bytes, way});
    if (!conflict) continue;
    if (knows(before, View::of(by), access.thread == kNoThread ? kCopy : number_of(access.cta, access.thread)))
      continue;
    const History::Work& work = *before.work;
    const auto words = [&] {
      Finding finding;
      finding.headline =
          fmt::format("{} and {} of {} touch {}, and the two may overlap", deed(work, conflict->way),
                      name_of(way), work_.name, machine_.global().describe(conflict->address));
      const bool is_near = conflict->touched.latest == 0;
      finding.details = {line(work.name, conflict->touched.cta, conflict->touched.thread, conflict->way,
                              work.places.empty() ? "" : work.places[conflict->touched.place], is_near),
                         line(work_.name, access.cta, access.thread, way, place_text(access.site)),
                         why_unordered(work)};
      return finding;
    };
    if (sink_.stops(FaultCode::kGlobalRace, {access.site}, words)) return;
  }
}

std::uint32_t Overlap::place_of(CallSite site) {
  const std::uint64_t key = reinterpret_cast<std::uintptr_t>(site.file) * 0x9e3779b97f4a7c15u ^ site.line;
  const auto [found, is_new] = place_ids_.try_emplace(key, static_cast<std::uint32_t>(sites_.size()));
  if (is_new) sites_.push_back(site);
  return found->second;
}

std::string Overlap::line(const std::string& kernel, std::uint32_t cta, std::uint32_t thread, History::Way way,
                          const std::string& place, bool is_near) const {
  std::string who = fmt::format("{}: ", kernel);
  if (place.empty()) return who + (way == History::kWrite ? "writes" : "reads");
  const char* where = is_near ? ", in the same 16 bytes" : "";
  who += thread == kNoThread ? fmt::format("a copy of block {}{}", cta, where)
                             : fmt::format("block {}, warp {}, lane {}{}: {}", cta, thread / 32, thread % 32,
                                           where, name_of(way));
  return fmt::format("{:<62} {}", who, place);
}

void Overlap::finish() {
  for (const CallSite site : sites_) work_.places.push_back(place_text(site));
  history_.works.push_back(std::move(work_));
}

}  // namespace heddle::sim::check
