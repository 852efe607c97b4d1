// SPDX-License-Identifier: Apache-2.0
//
// Makes a launch of the timeline out of what is known of it: lanes, and spans in them that do not overlap.
#pragma once

#include "sim/trace/records.h"

#include <heddle/sim/report.h>

#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>

namespace heddle::sim::trace {

class Drawing {
 public:
  Drawing(const Records& records, Timeline& timeline, const Report& report);

  Launch take();

 private:
  struct StageKey;

  std::uint32_t text(const std::string& text) { return timeline_.texts.id(text); }
  std::uint32_t place_of(CallSite site);
  std::string role_of(const WarpRecord& warp) const;
  std::string label_of(const Awaited& on) const;
  std::uint32_t use_of(const Awaited& on) const;
  // Which use of its ring `use` is for the tile, in the hands of the warp.
  std::uint32_t step_of(std::uint32_t warp, const Tile& tile, std::uint32_t barrier, std::uint32_t use) const;
  std::uint32_t tile_text(const Tile& tile);
  void find_first_uses();
  std::uint32_t add_lane(LaneKind kind, std::uint32_t cta, const std::string& group, const std::string& label);
  void add_span(Span span);
  void count_stages();
  void draw_cta(std::uint32_t cta);
  void draw_warp(std::uint32_t warp);
  // The time in which the warp does not wait, cut where it gets and gives back stages.
  void draw_work(std::uint32_t warp, std::uint32_t lane, Time begin, Time end);
  void draw_operations(std::uint32_t cta);
  void draw_barriers(std::uint32_t cta);
  void draw_stage(const BarrierRecord& full, const BarrierRecord* empty);
  void resolve_causes();
  std::uint32_t span_at(const Cause& cause) const;
  void mark_involved();

  const Records& records_;
  Timeline& timeline_;
  const Report& report_;
  Launch launch_;
  bool has_kinds_ = false;                 // of warps
  std::vector<Cause> causes_;              // by span
  std::vector<std::uint32_t> first_span_;  // by warp: where its spans begin, and after the last one's
  std::vector<std::uint32_t> span_of_operation_;
  std::vector<std::vector<std::uint32_t>> operations_;     // by CTA
  std::vector<std::vector<std::uint32_t>> barriers_;       // by CTA
  std::unordered_map<std::string, std::uint32_t> stages_;  // of each ring
  // Of each ring, by warp and number of its tile.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::string_view>, std::uint32_t> first_uses_;
  std::unordered_map<const char*, std::uint32_t> places_;  // a text, for line 0 of a file
};

}  // namespace heddle::sim::trace
