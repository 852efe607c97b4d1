// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace heddle::sim::trace {

const char* name_of(SpanKind kind) {
  constexpr const char* kNames[kSpanKinds] = {"work", "hold", "wait", "copy", "multiply",
                                              "fill", "full", "read", "phase"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::uint32_t Texts::id(const std::string& text) {
  const auto [known, is_new] = ids_.try_emplace(text, static_cast<std::uint32_t>(texts_.size()));
  if (is_new) texts_.push_back(text);
  return known->second;
}

std::string Timeline::remark() const {
  std::string text;
  for (const Launch& launch : launches) {
    if (!launch.cut.empty()) text = fmt::format("{}: {}", launch.kernel, launch.cut);
  }
  if (launches_left_out != 0) {
    if (!text.empty()) text += ' ';
    text +=
        fmt::format("Launches that are not in the trace: {}; it keeps {} spans.", launches_left_out, max_spans);
  }
  return text;
}

std::string prediction_of(const Launch& launch) {
  if (launch.timing == nullptr || !launch.finding.empty() || !launch.cut.empty()) return "";
  return fmt::format("{:.2f} us on {} of the {} SMs of {}", launch.timing->us(static_cast<double>(launch.end)),
                     std::min(launch.sms, launch.timing->sms), launch.timing->sms,
                     launch.timing->is_measured
                         ? fmt::format("an {}", launch.timing->card)
                         : fmt::format("a {}, which no card confirmed", launch.timing->card));
}

const Launch* main_launch(const Timeline& timeline) {
  const Launch* best = nullptr;
  for (const Launch& launch : timeline.launches) {
    if (!launch.finding.empty()) return &launch;
    if (best == nullptr || launch.end > best->end) best = &launch;
  }
  return best;
}

namespace {

bool is_of_warp(const Launch& launch, const Span& span) {
  return launch.lanes[span.lane].kind == LaneKind::kWarp;
}

// "full of input[2]" adds up with the other stages of the ring.
std::string without_stage(const std::string& label) { return label.substr(0, label.find('[')); }

}  // namespace

// A span of work follows from the one before it in its lane, a wait from what ended it, and what is in flight
// from the warp that issued it.
void find_critical_path(Launch& launch) {
  std::uint32_t at = kNoIndex;
  for (std::uint32_t s = 0; s < launch.spans.size(); ++s) {
    if (is_of_warp(launch, launch.spans[s]) && (at == kNoIndex || launch.spans[s].end > launch.spans[at].end))
      at = s;
  }
  // Each step goes back in time or to another lane; one for each span is enough for any chain.
  for (std::size_t steps = 0; at != kNoIndex && steps < launch.spans.size(); ++steps) {
    launch.critical.push_back(at);
    const Span& span = launch.spans[at];
    const bool is_in_flight = !is_of_warp(launch, span);
    if ((span.kind == SpanKind::kWait || is_in_flight) && span.cause != kNoIndex) {
      at = span.cause;
    } else if (!is_in_flight && at > 0 && launch.spans[at - 1].lane == span.lane) {
      --at;
    } else {
      at = kNoIndex;
    }
  }
  std::ranges::reverse(launch.critical);
}

void add_up_shares(Launch& launch, Texts& texts) {
  struct Role {
    std::uint32_t order = 0;
    Time all = 0;
    std::map<std::pair<bool, std::string>, Time> parts;
  };
  std::map<std::uint32_t, Role> roles;
  std::uint32_t order = 0;
  for (const Span& span : launch.spans) {
    if (!is_of_warp(launch, span)) continue;
    Role& role = roles[launch.lanes[span.lane].group];
    if (role.all == 0) role.order = order++;
    const bool is_wait = span.kind == SpanKind::kWait;
    const std::string what = is_wait                        ? "waits for " + without_stage(texts[span.label])
                             : span.kind == SpanKind::kHold ? "works, holding " + without_stage(texts[span.label])
                                                            : "works";
    role.all += span.end - span.begin;
    role.parts[{is_wait, what}] += span.end - span.begin;
  }
  std::vector<std::pair<std::uint32_t, const Role*>> sorted;
  for (const auto& [name, role] : roles) sorted.emplace_back(name, &role);
  std::ranges::sort(sorted, {}, [](const auto& role) { return role.second->order; });
  for (const auto& [name, role] : sorted) {
    const std::size_t first = launch.shares.size();
    for (const auto& [part, time] : role->parts) {
      launch.shares.push_back({.role = name,
                               .what = texts.id(part.second),
                               .is_wait = part.first,
                               .time = time,
                               .percent = 100.0 * static_cast<double>(time) / static_cast<double>(role->all)});
    }
    std::stable_sort(
        launch.shares.begin() + static_cast<std::ptrdiff_t>(first), launch.shares.end(),
        [](const Share& a, const Share& b) { return a.is_wait != b.is_wait ? !a.is_wait : a.time > b.time; });
  }
}

}  // namespace heddle::sim::trace
