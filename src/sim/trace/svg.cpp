// SPDX-License-Identifier: Apache-2.0
//
// A still of one CTA for documents: the launch that a finding ended, or else the longest, and in it the CTA that
// the finding names, or else the first. It follows the reader's choice of light or dark.
#include "sim/trace/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

namespace heddle::sim::trace {

namespace {

constexpr double kWidth = 1200;
constexpr double kGutter = 150;
constexpr double kTop = 52;
constexpr double kLegend = 30;

constexpr const char* kStyle = R"(<style>
text{font:11px system-ui,"Segoe UI",Roboto,sans-serif;fill:#1c2430}
.back{fill:#fff}.soft{fill:#65707f}.bad{fill:#b3261e;font-weight:600}.grid{stroke:#d9dde3;stroke-width:.5}
.title{font-size:14px;font-weight:600}.in{font-size:10px;fill:#fff;pointer-events:none}.dark{fill:#1c2430}
.work{fill:#8a99ad}.hold{fill:#2f74d0}.wait{fill:#f9dfa9}.waitline{fill:#f2b84b}.copy{fill:#1d9a74}
.multiply{fill:#9a4fb0}.fill{fill:#7fcbb0}.full{fill:#e8e27a}.read{fill:#8fb4ea}.phase{fill:#b9c1cc}
@media(prefers-color-scheme:dark){
text{fill:#e4e8ee}.back{fill:#11151c}.soft{fill:#93a0b0}.bad{fill:#ff8a80}.grid{stroke:#2e3744}.dark{fill:#e4e8ee}
.work{fill:#66758a}.hold{fill:#4c8fe8}.wait{fill:#3d2f16}.waitline{fill:#b8791a}.copy{fill:#23a67e}
.multiply{fill:#b06cc6}.fill{fill:#2f7d66}.full{fill:#a79f2c}.read{fill:#3f67a3}.phase{fill:#4a5563}}
</style>
)";

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '&') {
      result += "&amp;";
    } else if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else if (static_cast<unsigned char>(c) >= 0x20) {
      result += c;
    }
  }
  return result;
}

double height_of(LaneKind kind) {
  switch (kind) {
    case LaneKind::kWarp: return 17;
    case LaneKind::kStage: return 12;
    default: return 9;
  }
}

class Still {
 public:
  Still(const Timeline& timeline, const Launch& launch) : timeline_(timeline), launch_(launch) {
    cta_ = launch.lanes.empty() ? 0 : launch.lanes.front().cta;
    for (const Lane& lane : launch.lanes) {
      if (!lane.is_involved) continue;
      cta_ = lane.cta;
      break;
    }
    end_ = static_cast<double>(std::max<Time>(launch.end, 1));
  }

  std::string draw() {
    y_ = kTop;
    std::uint32_t group = kNoIndex;
    std::size_t span = 0;
    for (std::uint32_t l = 0; l < launch_.lanes.size(); ++l) {
      std::size_t last = span;
      while (last < launch_.spans.size() && launch_.spans[last].lane == l) ++last;
      if (launch_.lanes[l].cta == cta_) draw_lane(launch_.lanes[l], span, last, group);
      span = last;
    }
    const double bottom = y_ + 6;
    std::string head = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1:.0f}\" width=\"{0}\" "
        "height=\"{1:.0f}\">\n",
        kWidth, bottom + kLegend);
    head += kStyle;
    head += "<rect class=\"back\" width=\"100%\" height=\"100%\"/>\n";
    std::string title = fmt::format("{}, CTA {}", launch_.kernel, cta_);
    if (!launch_.finding.empty()) title += ": " + launch_.finding.substr(0, launch_.finding.find('\n'));
    head += fmt::format("<text class=\"title\" x=\"12\" y=\"21\">{}</text>\n", escaped(title));
    head += axis(bottom);
    return head + out_ + legend(bottom) + "</svg>\n";
  }

 private:
  double x_of(Time time) const { return kGutter + static_cast<double>(time) / end_ * (kWidth - kGutter - 12); }

  std::string axis(double bottom) const {
    const double rough = std::max(end_ / 10, 1.0);
    const double power = std::pow(10.0, std::floor(std::log10(rough)));
    double step = power;
    for (const double factor : {2.0, 5.0, 10.0}) {
      if (step < rough) step = factor * power;
    }
    std::string text;
    for (double t = 0; t <= end_; t += step) {
      const double x = x_of(static_cast<Time>(t));
      text += fmt::format(
          "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2:.0f}\"/>"
          "<text class=\"soft\" x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4:.0f}{5}</text>\n",
          x, kTop - 6, bottom, kTop - 10, t, t == 0 ? " cycles" : "");
    }
    return text;
  }

  void draw_lane(const Lane& lane, std::size_t first, std::size_t last, std::uint32_t& group) {
    const bool is_new = lane.group != group;
    group = lane.group;
    if (is_new) y_ += 5;
    const double height = height_of(lane.kind);
    const double baseline = y_ + std::min(height, 13.0) - 2;
    const char* soft = lane.is_involved ? "bad" : "soft";
    if (is_new && lane.kind != LaneKind::kStage) {
      add("<text class=\"{}\" x=\"12\" y=\"{:.0f}\">{}</text>\n", lane.is_involved ? "bad" : "name", baseline,
          escaped(timeline_.texts[lane.group]));
    }
    if (lane.kind == LaneKind::kWarp || lane.kind == LaneKind::kStage) {
      add("<text class=\"{}\" x=\"{}\" y=\"{:.0f}\" text-anchor=\"end\">{}</text>\n", soft, kGutter - 8, baseline,
          escaped(timeline_.texts[lane.label]));
    }
    double drawn = 0;  // what lies within a third of a pixel is not seen
    for (std::size_t s = first; s < last; ++s) {
      const Span& span = launch_.spans[s];
      const double x = x_of(span.begin);
      const double width = x_of(span.end) - x;
      if (x + width < drawn + 0.33) continue;
      drawn = x + width;
      add("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"{:.0f}\"/>\n",
          name_of(span.kind), x, y_, std::max(width - (width > 3 ? 0.6 : 0), 0.4), height);
      if (span.kind == SpanKind::kWait) {
        add("<rect class=\"waitline\" x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"3\"/>\n", x,
            y_ + height - 3, std::max(width - 0.6, 0.4));
      }
      draw_label(span, x, width, height);
    }
    y_ += height + 1;
  }

  void draw_label(const Span& span, double x, double width, double height) {
    if (height < 11) return;
    std::string label = timeline_.texts[span.label];
    if (span.use != kNoIndex) label += fmt::format(" #{}", span.use);
    constexpr double kLetter = 5.6;
    if (static_cast<double>(label.size()) * kLetter + 6 > width) return;
    const bool is_pale = span.kind != SpanKind::kWork && span.kind != SpanKind::kHold;
    add("<text class=\"in{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", is_pale ? " dark" : "", x + 3,
        y_ + height / 2 + 3.5, escaped(label));
  }

  std::string legend(double bottom) const {
    constexpr std::pair<SpanKind, const char*> kEntries[] = {{SpanKind::kWork, "works"},
                                                             {SpanKind::kHold, "works, holding a stage"},
                                                             {SpanKind::kWait, "waits"},
                                                             {SpanKind::kCopy, "copy in flight"},
                                                             {SpanKind::kMultiply, "multiplications in flight"},
                                                             {SpanKind::kFill, "stage: being filled"},
                                                             {SpanKind::kReady, "full, not taken"},
                                                             {SpanKind::kRead, "in use"}};
    std::string text;
    double x = kGutter;
    for (const auto& [kind, meaning] : kEntries) {
      text += fmt::format(
          "<rect class=\"{}\" x=\"{:.0f}\" y=\"{:.0f}\" width=\"11\" height=\"11\"/><text class=\"soft\" "
          "x=\"{:.0f}\" "
          "y=\"{:.0f}\">{}</text>\n",
          kind == SpanKind::kWait ? "waitline" : name_of(kind), x, bottom + 9, x + 16, bottom + 19, meaning);
      x += 30 + 6.0 * static_cast<double>(std::string_view(meaning).size());
    }
    return text;
  }

  template <class... T>
  void add(fmt::format_string<T...> format, T&&... values) {
    out_ += fmt::format(format, std::forward<T>(values)...);
  }

  const Timeline& timeline_;
  const Launch& launch_;
  std::uint32_t cta_ = 0;
  double end_ = 1;
  double y_ = 0;
  std::string out_;
};

}  // namespace

std::string to_svg(const Timeline& timeline) {
  const Launch* launch = main_launch(timeline);
  if (launch == nullptr) {
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 400 40\">"
           "<text x=\"12\" y=\"24\">No launch was recorded</text></svg>\n";
  }
  return Still(timeline, *launch).draw();
}

}  // namespace heddle::sim::trace
