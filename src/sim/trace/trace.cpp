// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/file.h"
#include "sim/trace/timeline.h"

#include <heddle/host/error.h>
#include <heddle/sim/trace.h>

#include <fmt/format.h>

#include <iterator>

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

Trace::Trace(std::uint64_t max_spans, const StepCosts& costs) : timeline_(std::make_unique<trace::Timeline>()) {
  timeline_->max_spans = max_spans;
  timeline_->costs = costs;
}

Trace::~Trace() = default;

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
    fmt::format_to(std::back_inserter(text), "  {:<14}{:6.1f} %  {}\n",
                   share.role == role ? "" : timeline_->texts[share.role], share.percent,
                   timeline_->texts[share.what]);
    role = share.role;
  }
  return text;
}

std::string Trace::remark() const { return timeline_->remark(); }

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
