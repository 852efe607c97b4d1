// SPDX-License-Identifier: Apache-2.0
//
// One page with everything in it. The spans go there as columns of numbers, which a browser reads fast.
#include "sim/trace/json.h"
#include "sim/trace/page.h"
#include "sim/trace/timeline.h"

#include <fmt/format.h>

#include <utility>

namespace heddle::sim::trace {

namespace {

// A number that is not there is -1.
std::int64_t or_none(std::uint32_t number) { return number == kNoIndex ? -1 : std::int64_t{number}; }

template <class... T>
void add(std::string& out, fmt::format_string<T...> format, T&&... values) {
  out += fmt::format(format, std::forward<T>(values)...);
}

template <class Value>
void add_column(std::string& out, const Launch& launch, std::string_view name, bool is_last, Value&& value) {
  out += fmt::format("\"{}\":[", name);
  for (std::size_t s = 0; s < launch.spans.size(); ++s) {
    out += fmt::format("{}{}", s == 0 ? "" : ",", value(launch.spans[s]));
  }
  out += is_last ? "]" : "],\n";
}

void add_launch(std::string& out, const Launch& launch) {
  add(out,
      "{{\"kernel\":{},\"schedule\":{},\"finding\":{},\"cut\":{},\"cycles\":{},\"predicted\":{},\"copies\":{},"
      "\"mmas\":{},\n",
      quoted(launch.kernel), quoted(launch.schedule), quoted(launch.finding), quoted(launch.cut), launch.end,
      quoted(prediction_of(launch)), launch.copies, launch.mmas);
  out += "\"lanes\":[";
  for (std::size_t l = 0; l < launch.lanes.size(); ++l) {
    const Lane& lane = launch.lanes[l];
    add(out, "{}[{},{},{},{},{}]", l == 0 ? "" : ",", static_cast<int>(lane.kind), lane.cta, lane.group,
        lane.label, lane.is_involved ? 1 : 0);
  }
  out += "],\n\"critical\":[";
  for (std::size_t c = 0; c < launch.critical.size(); ++c)
    add(out, "{}{}", c == 0 ? "" : ",", launch.critical[c]);
  out += "],\n\"shares\":[";
  for (std::size_t s = 0; s < launch.shares.size(); ++s) {
    const Share& share = launch.shares[s];
    add(out, "{}[{},{},{},{},{:.6f}]", s == 0 ? "" : ",", share.role, share.what, share.is_wait ? 1 : 0,
        share.time, share.percent);
  }
  out += "],\n\"spans\":{";
  add_column(out, launch, "begin", false, [](const Span& span) { return span.begin; });
  add_column(out, launch, "length", false, [](const Span& span) { return span.end - span.begin; });
  add_column(out, launch, "lane", false, [](const Span& span) { return span.lane; });
  add_column(out, launch, "kind", false, [](const Span& span) { return static_cast<int>(span.kind); });
  add_column(out, launch, "label", false, [](const Span& span) { return span.label; });
  add_column(out, launch, "place", false, [](const Span& span) { return span.place; });
  add_column(out, launch, "cause", false, [](const Span& span) { return or_none(span.cause); });
  add_column(out, launch, "use", false, [](const Span& span) { return or_none(span.use); });
  add_column(out, launch, "tile", false, [](const Span& span) { return or_none(span.tile); });
  add_column(out, launch, "step", false, [](const Span& span) { return or_none(span.step); });
  add_column(out, launch, "count", false, [](const Span& span) { return span.count; });
  add_column(out, launch, "bytes", false, [](const Span& span) { return span.bytes; });
  add_column(out, launch, "open", true, [](const Span& span) { return span.is_open ? 1 : 0; });
  out += "}}";
}

std::string data_of(const Timeline& timeline) {
  std::string out = fmt::format("{{\"remark\":{},\"texts\":[", quoted(timeline.remark()));
  for (std::size_t t = 0; t < timeline.texts.all().size(); ++t) {
    if (t != 0) out += ',';
    out += quoted(timeline.texts.all()[t]);
  }
  const Launch* first = main_launch(timeline);
  out += fmt::format("],\n\"main\":{},\"launches\":[", first == nullptr ? 0 : first - timeline.launches.data());
  for (std::size_t l = 0; l < timeline.launches.size(); ++l) {
    if (l != 0) out += ",\n";
    add_launch(out, timeline.launches[l]);
  }
  return out + "]}";
}

// What replaces a mark is not looked at again.
std::string filled(std::string_view page,
                   std::initializer_list<std::pair<std::string_view, std::string_view>> parts) {
  std::string result;
  for (const auto& [mark, part] : parts) {
    const std::size_t at = page.find(mark);
    result += page.substr(0, at);
    result += part;
    page.remove_prefix(at + mark.size());
  }
  return result += page;
}

}  // namespace

std::string to_html(const Timeline& timeline) {
  return filled(kPageHtml, {{"@CSS@", kPageCss}, {"@DATA@", data_of(timeline)}, {"@JS@", kPageJs}});
}

}  // namespace heddle::sim::trace
