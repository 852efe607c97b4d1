// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/drawing.h"
#include "sim/trace/file.h"
#include "sim/trace/timeline.h"
#include "sim/trace/traced.h"

#include <heddle/host/error.h>
#include <heddle/sim/trace.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace heddle::sim {

namespace {

thread_local Trace* current_trace = nullptr;

using Format = std::string (*)(const trace::Timeline&);

Format format_of(const std::string& path) {
  const std::size_t dot = path.find_last_of("./");
  const std::string extension = dot == std::string::npos || path[dot] == '/' ? "" : path.substr(dot);
  if (extension == ".json") return trace::to_json;
  if (extension == ".html") return trace::to_html;
  if (extension == ".svg") return trace::to_svg;
  throw InputError(
      fmt::format("trace '{}': its name ends in '{}'; .html, .json or .svg say what to write", path, extension));
}

}  // namespace

Trace::Trace(std::uint64_t max_spans, std::optional<Timing> timing)
    : timeline_(std::make_unique<trace::Timeline>()) {
  timeline_->max_spans = max_spans;
  timeline_->timing = timing;
}

Trace::~Trace() = default;

void Trace::add(TracedLaunch launch) {
  const std::lock_guard lock(timeline_->mutex);
  if (timeline_->is_full()) {
    ++timeline_->launches_left_out;
    return;
  }
  // Whole CTAs, the first ones: a record makes about a span.
  const std::uint32_t ctas = launch.ctas;
  const std::uint64_t room = timeline_->max_spans - timeline_->spans;
  std::uint64_t records = 0;
  launch.ctas = 0;
  while (launch.ctas < ctas) {
    for (std::uint32_t w = 0; w < launch.warps; ++w) {
      records += std::min(launch.counts[std::size_t{launch.ctas} * launch.warps + w], launch.capacity);
    }
    if (launch.ctas != 0 && records > room) break;
    ++launch.ctas;
  }
  launch.counts.resize(std::size_t{launch.ctas} * launch.warps);
  launch.records.resize(launch.counts.size() * launch.row());
  const trace::TracedRecords read = trace::read_traced(launch);
  Report report;
  report.schedule = "of the hardware";
  report.stats.copies = read.loads;
  report.stats.mmas = read.multiplications;
  trace::Launch drawn = trace::Drawing(read.records, *timeline_, report).take();
  const std::uint64_t all = std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  if (read.lost != 0) {
    drawn.cut = fmt::format("A warp keeps {} records, and the oldest {} of them all are lost.", launch.capacity,
                            read.lost);
  }
  if (launch.ctas != all) {
    drawn.cut += fmt::format("{}Drawn are {} of {} CTAs.", drawn.cut.empty() ? "" : " ", launch.ctas, all);
  }
  timeline_->is_cut = launch.ctas != ctas;
  timeline_->spans += drawn.spans.size();
  timeline_->launches.push_back(std::move(drawn));
}

void Trace::check_path(const std::string& path) {
  format_of(path);
  trace::check_writable(path);
}

void Trace::write(const std::string& path) const {
  const Format format = format_of(path);
  trace::write_whole(path, format(*timeline_));
}

std::string Trace::shares() const {
  const trace::Launch* launch = trace::main_launch(*timeline_);
  if (launch == nullptr) return "";
  std::string text;
  std::uint32_t role = trace::kNoIndex;
  for (const trace::Share& share : launch->shares) {
    text += fmt::format("  {:<14}{:6.1f} %  {}\n", share.role == role ? "" : timeline_->texts[share.role],
                        share.percent, timeline_->texts[share.what]);
    role = share.role;
  }
  return text;
}

std::string Trace::remark() const { return timeline_->remark(); }

std::string Trace::prediction() const {
  const trace::Launch* launch = trace::main_launch(*timeline_);
  return launch == nullptr ? "" : trace::prediction_of(*launch);
}

double Trace::predicted_cycles() const {
  trace::Time most = 0;
  for (const trace::Launch& launch : timeline_->launches) most = std::max(most, launch.end);
  return static_cast<double>(most);
}

std::size_t Trace::launches() const { return timeline_->launches.size(); }

std::size_t Trace::spans() const {
  std::size_t count = 0;
  for (const trace::Launch& launch : timeline_->launches) count += launch.spans.size();
  return count;
}

Tracing::Tracing(Trace& trace) : outer_(current_trace) { current_trace = &trace; }

Tracing::~Tracing() { current_trace = outer_; }

Trace* Tracing::current() { return current_trace; }

}  // namespace heddle::sim
