// SPDX-License-Identifier: Apache-2.0
#include "runtime/host_work.h"

#include "runtime/options.h"
#include "runtime/reports.h"

#include <heddle/sim/accept.h>
#include <heddle/sim/fault_code.h>
#include <heddle/sim/history.h>

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace heddle::runtime {

namespace {

using sim::History;

// The rule that accepts a conflict there, or nothing.
std::string accepted_by(const std::string& place) {
  for (const auto* rules : {&options().accepted, &options().suppressed}) {
    for (const std::string& text : *rules) {
      const sim::AcceptRule rule = sim::AcceptRule::parse(text);
      if (rule.code != sim::FaultCode::kGlobalRace) continue;
      if (rule.has_place() && place.find(rule.file) == std::string::npos) continue;
      return text;
    }
  }
  return "";
}

std::string report_of(const State& card, const History::Conflict& found, History::Way way) {
  const History::Work& work = *found.work;
  const bool has_place = !work.places.empty();
  const std::string before =
      has_place ? fmt::format("{}: block {}, {}", work.name, found.touched.cta, name_of(found.way))
                : fmt::format("{}: {}", work.name, found.way == History::kWrite ? "writes" : "reads");
  std::string again = options().again;
  if (const std::size_t slot = again.find("{}"); slot != std::string::npos) again.replace(slot, 2, "rr");
  return fmt::format(
      "[global_race] {} and {} touch {}, and nothing orders them\n  {:<62} {}\n  {}: {}\n  they are in different "
      "streams, with no event, dependency of a graph or wait of the host between\n  again: {}\n",
      work.name, card.call, card.memory.describe(reinterpret_cast<const void*>(found.address)), before,
      has_place ? work.places[found.touched.place] : "", card.call, way == History::kWrite ? "writes" : "reads",
      again);
}

}  // namespace

Error order_host_work(State& card, const Box& written, const Box& read, const Extent& extent) {
  StreamOrder& order = card.streams.order;
  const void* stream = card.stream.value_or(nullptr);
  History& history = order.begin(stream, false);
  Error error = Error::kSuccess;
  if (options().check_races && order.can_overlap(false)) {
    History::Work work{.name = card.call};
    for (const auto& [box, way] : {std::pair(&written, History::kWrite), std::pair(&read, History::kRead)}) {
      if (box->begin == nullptr || extent.width == 0) continue;
      const History::Range range{.first = reinterpret_cast<std::uint64_t>(box->begin),
                                 .bytes = extent.width,
                                 .way = way,
                                 .pitch = box->pitch,
                                 .rows = extent.height,
                                 .slice = box->slice,
                                 .slices = extent.depth};
      work.ranges.push_back(range);
      for (const History::Work& before : history.works) {
        if (before.relation == History::Relation::kBefore || error != Error::kSuccess) continue;
        // It waits for what the launch before it has let begin, as all but launches do.
        if (before.relation == History::Relation::kUntilWait) continue;
        const std::optional<History::Conflict> found = History::find(before, range);
        if (!found) continue;
        const std::string place = before.places.empty() ? "" : before.places[found->touched.place];
        const std::string rule = accepted_by(place);
        sim::Report report;
        (rule.empty() ? report.diagnoses : report.accepted)
            .push_back({.code = sim::FaultCode::kGlobalRace,
                        .text = report_of(card, *found, way),
                        .places = std::vector<std::string>(place.empty() ? 0 : 1, place),
                        .accepted_by = rule});
        if (!take_report(card, card.call, report)) error = card.failed = Error::kLaunchFailure;
      }
    }
    history.works.push_back(std::move(work));
  }
  order.end();
  if (!card.stream) order.host_waits(stream);
  return error;
}

Error order_allocation(State& card, const void* begin) {
  const Allocation* one = card.stream ? card.memory.find(begin) : nullptr;
  return one == nullptr ? Error::kSuccess
                        : order_host_work(card, {.begin = one->begin}, {}, {.width = one->bytes});
}

Error order_release(State& card, const void* begin) {
  if (card.stream) return order_allocation(card, begin);
  const Allocation* one = card.memory.find(begin);
  if (one != nullptr && one->is_of_stream)
    return order_host_work(card, {.begin = one->begin}, {}, {.width = one->bytes});
  card.streams.order.host_waits_for_all();
  return Error::kSuccess;
}

}  // namespace heddle::runtime
