// SPDX-License-Identifier: Apache-2.0
//
// A warp of the GPU tells when it waits, passes, arrives and commits, by the clock of its SM. What it cannot tell
// is when bytes land: a copy is drawn until the first warp has seen its stage full, and the phase of a barrier
// ends there. A wait names the parity of a phase; which phase that was follows from how often the parity has
// changed.
#include "sim/trace/traced.h"

#include <heddle/host/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace heddle::sim::trace {

namespace {

struct Anchor {
  std::uint64_t clock = 0;
  std::uint64_t ns = 0;
};

// A row of records, unpacked.
struct Row {
  std::optional<Anchor> begin;
  std::optional<Anchor> end;
  std::uint32_t sm = 0;
  const char* role = "";
  std::vector<TraceRecord> events;  // the oldest first
};

TraceEvent event_of(const TraceRecord& record) { return static_cast<TraceEvent>(record.what & 0xff); }
std::uint32_t detail_of(const TraceRecord& record) { return record.what >> 8; }

// Something that a warp did with a barrier.
struct Touch {
  Time time = 0;
  std::uint32_t warp = 0;
  std::uint32_t parity = 0;
  std::uint32_t wait = kNoIndex;  // of the warp
  std::uint32_t bytes = 0;
  Tile tile = {};
};

class Reading {
 public:
  explicit Reading(const TracedLaunch& launch) : launch_(launch) {}

  TracedRecords take() {
    if (launch_.records.size() != launch_.row() * launch_.counts.size() ||
        launch_.counts.size() != std::size_t{launch_.ctas} * launch_.warps) {
      throw InputError(fmt::format("trace of '{}': {} records for {} CTAs of {} warps", launch_.kernel,
                                   launch_.records.size(), launch_.ctas, launch_.warps));
    }
    Records& records = out_.records;
    records.kernel = launch_.kernel;
    records.grid = {launch_.grid[0], launch_.grid[1], launch_.grid[2]};
    rows_.resize(launch_.counts.size());
    for (std::uint32_t cta = 0; cta < launch_.ctas; ++cta) {
      records.ctas.push_back({.linear = cta,
                              .cluster = cta,
                              .first_warp = cta * launch_.warps,
                              .warps = launch_.warps,
                              .named = {}});
      for (std::uint32_t w = 0; w < launch_.warps; ++w) unpack(cta, cta * launch_.warps + w);
    }
    align_clocks();
    for (std::uint32_t cta = 0; cta < launch_.ctas; ++cta) {
      passes_.clear();
      arrivals_.clear();
      for (std::uint32_t w = 0; w < launch_.warps; ++w) read_warp(cta, cta * launch_.warps + w);
      for (auto& [barrier, touches] : passes_) number_phases(barrier, touches);
      for (auto& [barrier, touches] : arrivals_) read_arrivals(barrier, touches);
      for (std::uint32_t w = 0; w < launch_.warps; ++w) end_holds(records.warps[cta * launch_.warps + w]);
    }
    return std::move(out_);
  }

 private:
  const char* keep(std::string name) { return out_.names.emplace_back(std::move(name)).c_str(); }

  void unpack(std::uint32_t cta, std::uint32_t index) {
    Row& row = rows_[index];
    const TraceRecord* const kept = launch_.records.data() + index * launch_.row();
    for (std::uint32_t i = 0; i < kTraceKept; ++i) {
      const TraceEvent event = event_of(kept[i]);
      const auto anchor = [&] {
        const bool has_time = i + 1 < kTraceKept && event_of(kept[i + 1]) == TraceEvent::kAnchor;
        return has_time ? std::optional(Anchor{kept[i].clock, kept[i + 1].clock}) : std::nullopt;
      };
      if (event == TraceEvent::kBegin) {
        row.begin = anchor();
        row.sm = kept[i].value;
      } else if (event == TraceEvent::kEnd) {
        row.end = anchor();
      } else if (event == TraceEvent::kRole) {
        row.role = keep(text_after(kept, i, detail_of(kept[i])));
      } else if (event == TraceEvent::kBarriers) {
        const std::uint32_t detail = detail_of(kept[i]);
        name_barriers(cta, kept[i].value, detail >> 2 & 0x3ff, static_cast<isa::BarrierRole>(detail & 3),
                      text_after(kept, i, detail >> 12));
      }
    }
    const std::uint32_t count = launch_.counts[index];
    const std::uint32_t first = count > launch_.capacity ? count - launch_.capacity : 0;
    out_.lost += first;
    for (std::uint32_t i = first; i < count; ++i) row.events.push_back(kept[kTraceKept + i % launch_.capacity]);
    // Threads of a warp that go different ways write in the order in which they come, not in that of their
    // clocks.
    std::ranges::stable_sort(row.events, {}, &TraceRecord::clock);
  }

  static std::string text_after(const TraceRecord* kept, std::uint32_t at, std::uint32_t letters) {
    std::string text;
    for (std::uint32_t i = 0; i < letters; ++i) {
      const std::uint32_t record = at + 1 + i / 8;
      if (record >= kTraceKept || event_of(kept[record]) != TraceEvent::kText) break;
      text += static_cast<char>(kept[record].clock >> i % 8 * 8 & 0xff);
    }
    return text;
  }

  void name_barriers(std::uint32_t cta, std::uint32_t first, std::uint32_t count, isa::BarrierRole role,
                     const std::string& ring) {
    // One text for both sides of a ring: drawing compares where it lies.
    const auto [known, is_new] = rings_.try_emplace({cta, ring}, nullptr);
    if (is_new) known->second = keep(ring);
    const char* const side = role == isa::BarrierRole::kFull    ? "full of "
                             : role == isa::BarrierRole::kEmpty ? "empty of "
                                                                : "";
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t offset = first + i * static_cast<std::uint32_t>(sizeof(std::uint64_t));
      BarrierRecord& record = out_.records.barriers[barrier_at(cta, offset)];
      record.parts = {known->second, i, role};
      record.name = fmt::format("{}{}[{}]", side, ring, i);
    }
  }

  std::uint32_t barrier_at(std::uint32_t cta, std::uint32_t offset) {
    std::vector<BarrierRecord>& barriers = out_.records.barriers;
    const auto [known, is_new] = offsets_.try_emplace({cta, offset}, static_cast<std::uint32_t>(barriers.size()));
    if (is_new) {
      barriers.push_back({.cta = cta,
                          .offset = offset,
                          .name = fmt::format("mbarrier {:#x}", offset),
                          .phases = {PhaseRecord{.is_over = true}}});
    }
    return known->second;
  }

  // Clocks of different SMs begin anywhere; the timer of the GPU is the same for all, and coarse. Of the anchors
  // of an SM the one that was read soonest after a tick says best how far its clock is ahead.
  void align_clocks() {
    double rate = 0;
    std::uint64_t longest = 0;
    for (const Row& row : rows_) {
      if (!row.begin || !row.end || row.end->ns - row.begin->ns <= longest) continue;
      longest = row.end->ns - row.begin->ns;
      rate = static_cast<double>(row.end->clock - row.begin->clock) / static_cast<double>(longest);
    }
    std::optional<std::uint64_t> first_ns;
    for (const Row& row : rows_) {
      if (row.begin) first_ns = std::min(first_ns.value_or(row.begin->ns), row.begin->ns);
    }
    if (!first_ns) throw InputError(fmt::format("trace of '{}': no warp was recorded", launch_.kernel));
    std::map<std::uint32_t, double> ahead;  // by SM
    for (const Row& row : rows_) {
      for (const auto& anchor : {row.begin, row.end}) {
        if (!anchor) continue;
        const double now =
            static_cast<double>(anchor->clock) - rate * static_cast<double>(anchor->ns - *first_ns);
        const auto [known, is_new] = ahead.try_emplace(row.sm, now);
        if (!is_new) known->second = std::min(known->second, now);
      }
    }
    double first = std::numeric_limits<double>::max();
    for (const Row& row : rows_) {
      if (row.begin) first = std::min(first, static_cast<double>(row.begin->clock) - ahead[row.sm]);
    }
    for (const auto& [sm, clock] : ahead) zero_[sm] = clock + first;
  }

  Time time_of(const Row& row, std::uint64_t clock) const {
    const double time = static_cast<double>(clock) - zero_.at(row.sm);
    return time <= 0 ? 0 : static_cast<Time>(time);
  }

  void read_warp(std::uint32_t cta, std::uint32_t index) {
    const Row& row = rows_[index];
    WarpRecord& warp = out_.records.warps.emplace_back();
    warp.cta = cta;
    warp.warp = index - cta * launch_.warps;
    warp.role = row.role;
    if (!row.begin) return;
    warp.begin = time_of(row, row.begin->clock);
    Time last = warp.begin;
    Time passed = warp.begin;           // the last wait
    std::vector<std::uint32_t> groups;  // of wgmma, that are under way
    for (const TraceRecord& record : row.events) {
      const Time now = std::max(last, time_of(row, record.clock));
      last = now;
      switch (event_of(record)) {
        case TraceEvent::kPass: {
          const Time begin = now - std::min<Time>(record.value, now);
          pass(cta, index, record, std::max(begin, passed), now, groups);
          passed = now;
          break;
        }
        case TraceEvent::kArrive:
          arrivals_[barrier_at(cta, record.value)].push_back(
              {.time = now, .warp = index, .bytes = detail_of(record), .tile = warp.tile_of(0)});
          break;
        case TraceEvent::kMultiply:
          warp.issues_mmas = true;
          if (warp.warp % 4 != 0) break;  // one warp tells for its warpgroup
          groups.push_back(static_cast<std::uint32_t>(out_.records.operations.size()));
          ++out_.multiplications;
          out_.records.operations.push_back({.kind = AsyncRecord::Kind::kMultiply,
                                             .warp = index,
                                             .issued = now,
                                             .done = now,
                                             .count = 1,
                                             .text = "wgmma",
                                             .tile = warp.tile_of(0)});
          break;
        case TraceEvent::kTile: warp.begin_tile(0, now, record.value, detail_of(record)); break;
        case TraceEvent::kTileEnd: warp.begin_tile(0, now, kNoIndex, kNoIndex); break;
        default: break;
      }
    }
    if (row.end) last = std::max(last, time_of(row, row.end->clock));
    warp.now[0] = last;
  }

  Awaited awaited(std::uint32_t cta, std::uint32_t detail) {
    const std::uint32_t which = detail >> 4;
    switch (static_cast<WaitedFor>(detail & 7)) {
      case WaitedFor::kBarrier: return {.kind = Awaited::Kind::kBarrier, .id = barrier_at(cta, 8 * which)};
      case WaitedFor::kNamed: return {.kind = Awaited::Kind::kNamed, .id = which};
      case WaitedFor::kCluster: return {.kind = Awaited::Kind::kCluster};
      case WaitedFor::kStores: return {.kind = Awaited::Kind::kStores};
      case WaitedFor::kStoreSources: return {.kind = Awaited::Kind::kStoreSources};
      case WaitedFor::kWgmma: return {.kind = Awaited::Kind::kWgmma};
      case WaitedFor::kKernelAhead: return {.kind = Awaited::Kind::kKernelAhead};
    }
    throw InputError(fmt::format("trace of '{}': a wait of kind {}", launch_.kernel, detail & 7));
  }

  void pass(std::uint32_t cta, std::uint32_t index, const TraceRecord& record, Time begin, Time end,
            std::vector<std::uint32_t>& groups) {
    WarpRecord& warp = out_.records.warps[index];
    const Awaited on = awaited(cta, detail_of(record));
    std::uint32_t wait = kNoIndex;
    if (end > begin) {
      wait = static_cast<std::uint32_t>(warp.waits[0].size());
      warp.waits[0].push_back({.on = on, .begin = begin, .end = end, .tile = warp.tile_of(0)});
    }
    if (on.kind == Awaited::Kind::kBarrier) {
      passes_[on.id].push_back({.time = end,
                                .warp = index,
                                .parity = detail_of(record) >> 3 & 1,
                                .wait = wait,
                                .tile = warp.tile_of(0)});
    } else if (on.kind == Awaited::Kind::kWgmma) {
      while (groups.size() > detail_of(record) >> 4) {
        AsyncRecord& operation = out_.records.operations[groups.front()];
        operation.done = std::max(end, operation.issued + 1);
        operation.finished = 1;
        if (wait != kNoIndex) warp.waits[0][wait].cause = {Cause::Kind::kAsync, groups.front(), end};
        groups.erase(groups.begin());
      }
    }
  }

  // Of an empty barrier the phase before the first, which is over from the start, is the first to be passed.
  void number_phases(std::uint32_t barrier, std::vector<Touch>& passes) {
    BarrierRecord& record = out_.records.barriers[barrier];
    std::ranges::stable_sort(passes, {}, &Touch::time);
    std::uint64_t phase = passes.front().parity == 0 ? 0 : ~std::uint64_t{0};
    std::uint32_t parity = passes.front().parity;
    for (const Touch& touch : passes) {
      if (touch.parity != parity) ++phase;
      parity = touch.parity;
      const std::uint64_t index = phase + 1;
      if (record.phases.size() <= index) record.phases.resize(index + 1);
      PhaseRecord& at = record.phases[index];
      WarpRecord& warp = out_.records.warps[touch.warp];
      if (at.passed_by == kNoIndex) {
        at.first_pass = touch.time;
        at.passed_by = touch.warp;
        if (index != 0) at.end = touch.time;
        at.is_over = true;
      }
      if (touch.wait != kNoIndex) warp.waits[0][touch.wait].on.phase = phase;
      if (record.parts.role != isa::BarrierRole::kOther)
        warp.holds.push_back({barrier, phase, touch.time, 0, touch.tile.number});
    }
  }

  // An arrival belongs to the first phase that is passed after it.
  void read_arrivals(std::uint32_t barrier, std::vector<Touch>& arrivals) {
    BarrierRecord& record = out_.records.barriers[barrier];
    std::ranges::stable_sort(arrivals, {}, &Touch::time);
    std::size_t at = 1;
    for (const Touch& touch : arrivals) {
      WarpRecord& warp = out_.records.warps[touch.warp];
      while (at < record.phases.size() && record.phases[at].first_pass < touch.time) ++at;
      const bool is_seen = at < record.phases.size();
      const Cause cause{Cause::Kind::kWarp, touch.warp, touch.time};
      if (touch.bytes != 0) {
        warp.issues_copies = true;
        ++out_.loads;
        const Time done = is_seen ? record.phases[at].first_pass : touch.time + 1;
        const auto operation = static_cast<std::uint32_t>(out_.records.operations.size());
        out_.records.operations.push_back({.kind = AsyncRecord::Kind::kLoad,
                                           .warp = touch.warp,
                                           .issued = touch.time,
                                           .done = done,
                                           .count = 1,
                                           .finished = is_seen ? 1u : 0u,
                                           .bytes = touch.bytes,
                                           .barrier = barrier,
                                           .phase = at - 1,
                                           .tile = touch.tile});
        if (is_seen) record.phases[at].cause = {Cause::Kind::kAsync, operation, done};
      } else if (is_seen) {
        record.phases[at].cause = cause;
        if (record.parts.role == isa::BarrierRole::kEmpty) record.phases[at].end = touch.time;
      }
      release(warp, record, touch.time);
    }
    const CtaRecord& cta = out_.records.ctas[record.cta];
    for (std::uint32_t w = 0; w < cta.warps; ++w) {
      for (WaitRecord& wait : out_.records.warps[cta.first_warp + w].waits[0]) {
        if (wait.on.kind == Awaited::Kind::kBarrier && wait.on.id == barrier &&
            wait.on.phase + 1 < record.phases.size()) {
          wait.cause = record.phases[wait.on.phase + 1].cause;
        }
      }
    }
  }

  // The newest hold of the other side of the stage that began before.
  void release(WarpRecord& warp, const BarrierRecord& signalled, Time now) {
    for (auto hold = warp.holds.rbegin(); hold != warp.holds.rend(); ++hold) {
      const machine::BarrierName& got_by = out_.records.barriers[hold->barrier].parts;
      if (got_by.role == signalled.parts.role || got_by.stage != signalled.parts.stage ||
          got_by.pipeline != signalled.parts.pipeline || hold->begin > now) {
        continue;
      }
      hold->end = std::max(hold->end, now);
      return;
    }
  }

  // What others gave back for the warp is held until its next pass of the same barrier.
  static void end_holds(WarpRecord& warp) {
    std::ranges::stable_sort(warp.holds, {}, &HoldRecord::begin);
    std::map<std::uint32_t, HoldRecord*> newest;
    for (HoldRecord& hold : warp.holds) {
      HoldRecord*& before = newest[hold.barrier];
      if (before != nullptr && before->end == 0) before->end = hold.begin;
      before = &hold;
    }
  }

  const TracedLaunch& launch_;
  TracedRecords out_;
  std::vector<Row> rows_;
  std::map<std::uint32_t, double> zero_;  // the clock of each SM where the launch begins
  std::map<std::pair<std::uint32_t, std::string>, const char*> rings_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> offsets_;
  std::map<std::uint32_t, std::vector<Touch>> passes_;    // by barrier of the CTA
  std::map<std::uint32_t, std::vector<Touch>> arrivals_;  // likewise
};

}  // namespace

TracedRecords read_traced(const TracedLaunch& launch) { return Reading(launch).take(); }

}  // namespace heddle::sim::trace
