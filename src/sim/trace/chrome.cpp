// SPDX-License-Identifier: Apache-2.0
//
// The trace event format, which Perfetto and chrome://tracing read: a process for each CTA of a launch, a thread
// for each lane, a complete event for each span and a flow from each cause to the wait that it ended. A step or
// cycle is a microsecond there, since the format has no other unit.
#include "sim/trace/json.h"
#include "sim/trace/timeline.h"

#include <fmt/format.h>

#include <unordered_map>

namespace heddle::sim::trace {

namespace {

struct Writer {
  const Timeline& timeline;
  std::string out = {};
  std::uint64_t next_process = 1;
  std::uint64_t next_flow = 1;

  const std::string& text(std::uint32_t id) const { return timeline.texts[id]; }

  template <class... T>
  void event(fmt::format_string<T...> format, T&&... values) {
    out += ",\n{";
    out += fmt::format(format, std::forward<T>(values)...);
    out += '}';
  }

  void write(const Launch& launch, std::size_t number) {
    std::unordered_map<std::uint32_t, std::uint64_t> processes;  // by CTA
    std::vector<std::uint64_t> of_lane(launch.lanes.size());
    for (std::size_t l = 0; l < launch.lanes.size(); ++l) {
      const Lane& lane = launch.lanes[l];
      const auto [process, is_new] = processes.try_emplace(lane.cta, next_process);
      if (is_new) {
        const std::string name = fmt::format("launch {} {}, CTA {}", number, launch.kernel, lane.cta);
        event(R"("ph":"M","name":"process_name","pid":{},"args":{{"name":{}}})", next_process, quoted(name));
        event(R"("ph":"M","name":"process_sort_index","pid":{},"args":{{"sort_index":{}}})", next_process,
              next_process);
        ++next_process;
      }
      of_lane[l] = process->second;
      event(R"("ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}})", process->second, l + 1,
            quoted(text(lane.group) + ", " + text(lane.label)));
      event(R"("ph":"M","name":"thread_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}})",
            process->second, l + 1, l);
    }
    for (const Span& span : launch.spans) {
      const std::string name = span.kind == SpanKind::kWait ? "waits for " + text(span.label) : text(span.label);
      event(R"("ph":"X","cat":"{}","name":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}})",
            name_of(span.kind), quoted(name), of_lane[span.lane], span.lane + 1, span.begin,
            span.end - span.begin, arguments(span));
    }
    for (const Span& span : launch.spans) {
      if (span.kind != SpanKind::kWait || span.cause == kNoIndex) continue;
      const Span& cause = launch.spans[span.cause];
      const std::uint64_t flow = next_flow++;
      event(R"("ph":"s","cat":"wakes","name":"wakes","id":{},"pid":{},"tid":{},"ts":{})", flow,
            of_lane[cause.lane], cause.lane + 1, cause.begin);
      event(R"("ph":"f","bp":"e","cat":"wakes","name":"wakes","id":{},"pid":{},"tid":{},"ts":{})", flow,
            of_lane[span.lane], span.lane + 1, span.end - 1);
    }
  }

  std::string arguments(const Span& span) const {
    std::string list;
    const auto add = [&](std::string_view name, const std::string& value) {
      list += fmt::format("{}{}:{}", list.empty() ? "" : ",", quoted(name), value);
    };
    if (span.use != kNoIndex) add("use", fmt::format("{}", span.use));
    if (span.tile != kNoIndex) add("tile", quoted(text(span.tile)));
    if (span.step != kNoIndex) add("step", fmt::format("{}", span.step));
    if (span.bytes != 0) add("bytes", fmt::format("{}", span.bytes));
    if (span.kind == SpanKind::kCopy || span.kind == SpanKind::kMultiply) {
      add("count", fmt::format("{}", span.count));
    }
    if (!text(span.place).empty()) add("place", quoted(text(span.place)));
    if (span.is_open) add("open", "true");
    return list;
  }
};

}  // namespace

std::string to_json(const Timeline& timeline) {
  Writer writer{timeline};
  for (std::size_t l = 0; l < timeline.launches.size(); ++l) writer.write(timeline.launches[l], l);
  std::string launches;
  for (const Launch& launch : timeline.launches) {
    launches +=
        fmt::format(R"({}{{"kernel":{},"schedule":{},"cycles":{},"copies":{},"mmas":{},"finding":{},"cut":{}}})",
                    launches.empty() ? "" : ",", quoted(launch.kernel), quoted(launch.schedule), launch.end,
                    launch.copies, launch.mmas, quoted(launch.finding), quoted(launch.cut));
  }
  // A list of events must not begin with a comma.
  const std::string events = writer.out.empty() ? "" : writer.out.substr(1);
  return fmt::format(
      "{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"unit\":\"cycles\",\"remark\":{},"
      "\"launches\":[{}]}},\"traceEvents\":[{}\n]}}\n",
      quoted(timeline.remark()), launches, events);
}

}  // namespace heddle::sim::trace
