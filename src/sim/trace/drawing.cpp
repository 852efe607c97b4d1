// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/drawing.h"
#include "sim/trace/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

namespace heddle::sim::trace {

namespace {

using machine::BarrierName;
using machine::WaitKind;

// Reads words and numbers from the start of a text.
struct Reader {
  std::string_view rest;

  bool takes(std::string_view text) {
    if (!rest.starts_with(text)) return false;
    rest.remove_prefix(text.size());
    return true;
  }

  std::optional<std::uint64_t> number() {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc{}) return std::nullopt;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    return value;
  }
};

// A load goes into a stage where the barrier that it tells is that of one.
std::string copy_label(const AsyncRecord& operation, const BarrierRecord* told) {
  const bool has_stage = told != nullptr && told->parts.role == isa::BarrierRole::kFull;
  const std::string whom = told == nullptr ? "" : ", tells " + told->name;
  switch (operation.kind) {
    case AsyncRecord::Kind::kLoad:
      return has_stage ? fmt::format("load {}[{}]", told->parts.pipeline, told->parts.stage) : "load" + whom;
    case AsyncRecord::Kind::kStore: return "store";
    case AsyncRecord::Kind::kReduce: return "reduce";
    case AsyncRecord::Kind::kToPeer: return "copy to a peer" + whom;
    case AsyncRecord::Kind::kClusterRequest: return "request for a cluster";
    case AsyncRecord::Kind::kMultiply: break;
  }
  return operation.text;
}

bool is_multiplication(const AsyncRecord& operation) { return operation.kind == AsyncRecord::Kind::kMultiply; }

Awaited awaited_by(const machine::Thread& thread) {
  const machine::Wait& wait = thread.wait;
  switch (wait.kind) {
    case WaitKind::kMbarrier: return {Awaited::Kind::kBarrier, wait.barrier->id, wait.phase};
    case WaitKind::kNamedBarrier: return {Awaited::Kind::kNamed, wait.id, 0};
    case WaitKind::kClusterBarrier: return {Awaited::Kind::kCluster, 0, 0};
    case WaitKind::kBulkGroup:
      return {wait.read_only ? Awaited::Kind::kStoreSources : Awaited::Kind::kStores, 0, 0};
    case WaitKind::kWgmmaGroup: return {Awaited::Kind::kWgmma, 0, 0};
    case WaitKind::kRegisters: return {Awaited::Kind::kRegisters, 0, 0};
    case WaitKind::kTmemColumns:
    case WaitKind::kTmemPeer: return {Awaited::Kind::kTmemColumns, 0, 0};
    case WaitKind::kTmemLoads: return {Awaited::Kind::kTmemLoads, 0, 0};
    case WaitKind::kTmemStores: return {Awaited::Kind::kTmemStores, 0, 0};
    case WaitKind::kWarp:
    case WaitKind::kNone: break;
  }
  return {Awaited::Kind::kWarp, 0, 0};
}

// "full of input[2]" without the stage: what waits are added up by.
std::string ring_of(const BarrierName& name) { return fmt::format("{}", name.pipeline); }

}  // namespace

// Threads that are blocked still wait. A warp waits for what its leader waits for, unless that is the warp
// itself: then for what the first of the other lanes does.
void Recorder::end_waits() {
  Time end = 0;
  for (const WarpRecord& warp : records_.warps) end = std::max(end, std::ranges::max(warp.now));
  for (const AsyncRecord& operation : records_.operations) {
    if (operation.finished == operation.count) end = std::max(end, operation.done);
  }
  const Time open_end = end + 1 + end / 16;  // a wait that began last is to be seen, too
  struct Blocked {
    std::optional<WaitRecord> best;
    bool runs = false;
  };
  std::map<std::uint32_t, Blocked> blocked;  // by warp
  for (const machine::Thread* thread : machine_.resident_threads()) {
    if (cta_index_.size() <= thread->cta->linear || cta_index_[thread->cta->linear] == kNoIndex) continue;
    const std::uint32_t index = records_.ctas[cta_index_[thread->cta->linear]].first_warp + thread->warp();
    Blocked& of_warp = blocked[index];
    of_warp.runs = of_warp.runs || thread->state != machine::ThreadState::kBlocked;
    if (of_warp.runs) continue;
    const Awaited on = awaited_by(*thread);
    const bool is_of_warp = on.kind == Awaited::Kind::kWarp;
    const bool is_leader = thread->lane() == records_.warps[index].leader;
    const bool has_better = of_warp.best && of_warp.best->on.kind != Awaited::Kind::kWarp;
    if (of_warp.best && (is_of_warp || (has_better && !is_leader))) continue;
    of_warp.best = WaitRecord{on,   records_.warps[index].now[thread->lane()],    open_end, {}, thread->wait.site,
                              true, records_.warps[index].tile_of(thread->lane())};
    if (on.kind == Awaited::Kind::kBarrier && records_.barriers[on.id].name.empty()) {
      name(records_.barriers[on.id], *thread->wait.barrier);
    }
  }
  for (auto& [index, of_warp] : blocked) {
    WarpRecord& warp = records_.warps[index];
    if (of_warp.runs || !of_warp.best) continue;
    // Another lane may have come there while the leader still did something.
    of_warp.best->begin = std::max(of_warp.best->begin, warp.now[warp.leader]);
    keep(warp, warp.leader, *of_warp.best);
  }
}

// A stage that others have given back for a warp, such as one thread of a warpgroup, is not held any more.
void Recorder::end_holds() {
  std::map<std::tuple<std::uint32_t, std::string_view, std::uint32_t, isa::BarrierRole>, std::uint32_t> found;
  for (std::uint32_t b = 0; b < records_.barriers.size(); ++b) {
    const BarrierName& parts = records_.barriers[b].parts;
    found[{records_.barriers[b].cta, parts.pipeline, parts.stage, parts.role}] = b;
  }
  for (WarpRecord& warp : records_.warps) {
    for (HoldRecord& hold : warp.holds) {
      if (hold.end != 0) continue;
      const BarrierRecord& got_by = records_.barriers[hold.barrier];
      const bool is_producer = got_by.parts.role == isa::BarrierRole::kEmpty;
      const auto other = found.find({got_by.cta, got_by.parts.pipeline, got_by.parts.stage,
                                     is_producer ? isa::BarrierRole::kFull : isa::BarrierRole::kEmpty});
      if (other == found.end()) continue;
      const std::vector<PhaseRecord>& phases = records_.barriers[other->second].phases;
      const std::uint64_t index = hold.phase + (is_producer ? 2 : 1);
      if (index < phases.size() && phases[index].is_over) hold.end = std::max(hold.begin, phases[index].end);
    }
    std::ranges::stable_sort(warp.holds, {}, &HoldRecord::begin);
  }
}

void Recorder::finish(const Report& report) {
  const bool was_cut = is_cut_;
  if (!was_cut) end_waits();
  end_holds();
  const std::lock_guard lock(timeline_.mutex);
  if (room_ == 0) {
    ++timeline_.launches_left_out;
    return;
  }
  Launch launch = Drawing(records_, timeline_, report).take();
  if (was_cut) {
    launch.cut = fmt::format(
        "Recording stopped at cycle {}: a trace keeps {} spans. What came later, of this launch and of those "
        "after it, is missing.",
        launch.end, timeline_.max_spans);
    timeline_.is_cut = true;
  }
  timeline_.spans += launch.spans.size();
  timeline_.launches.push_back(std::move(launch));
}

Drawing::Drawing(const Records& records, Timeline& timeline, const Report& report)
    : records_(records), timeline_(timeline), report_(report) {}

Launch Drawing::take() {
  launch_.kernel = records_.kernel;
  launch_.schedule = report_.schedule;
  launch_.timing = records_.timing;
  launch_.sms = records_.sms;
  launch_.finding = report_.text();
  launch_.copies = report_.stats.copies;
  launch_.mmas = report_.stats.mmas;
  for (const WarpRecord& warp : records_.warps) {
    launch_.end = std::max(launch_.end, warp.now[warp.leader]);
    const std::vector<WaitRecord>& waits = warp.waits[warp.leader];
    if (!waits.empty()) launch_.end = std::max(launch_.end, waits.back().end);
  }
  for (const AsyncRecord& operation : records_.operations) launch_.end = std::max(launch_.end, operation.done);
  has_kinds_ = std::ranges::any_of(records_.warps, [](const WarpRecord& warp) {
    return *warp.role != '\0' || warp.issues_mmas || warp.issues_copies;
  });
  count_stages();
  find_first_uses();
  operations_.resize(records_.ctas.size());
  barriers_.resize(records_.ctas.size());
  for (std::uint32_t o = 0; o < records_.operations.size(); ++o) {
    operations_[records_.warps[records_.operations[o].warp].cta].push_back(o);
  }
  for (std::uint32_t b = 0; b < records_.barriers.size(); ++b) {
    if (!records_.barriers[b].name.empty()) barriers_[records_.barriers[b].cta].push_back(b);
  }
  first_span_.resize(2 * records_.warps.size());
  span_of_operation_.resize(records_.operations.size(), kNoIndex);
  std::vector<std::uint32_t> order(records_.ctas.size());
  for (std::uint32_t c = 0; c < order.size(); ++c) order[c] = c;
  std::ranges::sort(order, {}, [&](std::uint32_t c) { return records_.ctas[c].linear; });
  for (const std::uint32_t cta : order) draw_cta(cta);
  resolve_causes();
  mark_involved();
  add_up_shares(launch_, timeline_.texts);
  find_critical_path(launch_);
  return std::move(launch_);
}

std::uint32_t Drawing::place_of(CallSite site) {
  return *site.file == '\0' ? text("") : text(machine::place(site));
}

// Kernels in PTX name no roles: what a warp issues has to do.
std::string Drawing::role_of(const WarpRecord& warp) const {
  if (*warp.role != '\0') return warp.role;
  if (warp.issues_mmas && warp.issues_copies) return "copies and multiplies";
  if (warp.issues_mmas) return "multiplies";
  if (warp.issues_copies) return "copies";
  return has_kinds_ ? "others" : "warps";
}

std::string Drawing::label_of(const Awaited& on) const {
  switch (on.kind) {
    case Awaited::Kind::kBarrier: return records_.barriers[on.id].name;
    case Awaited::Kind::kNamed:
      return on.id == 0 ? "barrier 0 of the CTA" : fmt::format("named barrier {}", on.id);
    case Awaited::Kind::kCluster: return "the cluster barrier";
    case Awaited::Kind::kStores: return "its stores";
    case Awaited::Kind::kStoreSources: return "its stores to have read";
    case Awaited::Kind::kWgmma: return "its wgmma";
    case Awaited::Kind::kAsyncCopies: return "its cp.async";
    case Awaited::Kind::kTmemLoads: return "its tcgen05.ld";
    case Awaited::Kind::kTmemStores: return "its tcgen05.st";
    case Awaited::Kind::kFlag: return "memory that others write";
    case Awaited::Kind::kRegisters: return "registers";
    case Awaited::Kind::kTmemColumns: return "columns of tensor memory";
    case Awaited::Kind::kWarp: return "the rest of its warp";
    case Awaited::Kind::kKernelAhead: return "the kernel ahead";
  }
  return "";
}

void Drawing::count_stages() {
  for (const BarrierRecord& barrier : records_.barriers) {
    if (*barrier.parts.pipeline == '\0') continue;
    std::uint32_t& stages = stages_[ring_of(barrier.parts)];
    stages = std::max(stages, barrier.parts.stage + 1);
  }
}

// A producer that waits for phase p of an empty barrier is about to fill its stage for the use after.
std::uint32_t Drawing::use_of(const Awaited& on) const {
  if (on.kind != Awaited::Kind::kBarrier) return kNoIndex;
  const BarrierName& parts = records_.barriers[on.id].parts;
  if (parts.role == isa::BarrierRole::kOther || *parts.pipeline == '\0') return kNoIndex;
  const std::uint64_t turn = on.phase + (parts.role == isa::BarrierRole::kEmpty ? 1 : 0);
  return static_cast<std::uint32_t>(turn * stages_.at(ring_of(parts)) + parts.stage);
}

void Drawing::find_first_uses() {
  for (std::uint32_t w = 0; w < records_.warps.size(); ++w) {
    for (const HoldRecord& hold : records_.warps[w].holds) {
      const std::uint32_t use = use_of({Awaited::Kind::kBarrier, hold.barrier, hold.phase});
      const auto [first, is_new] =
          first_uses_.try_emplace({w, hold.tile, records_.barriers[hold.barrier].parts.pipeline}, use);
      if (!is_new) first->second = std::min(first->second, use);
    }
  }
}

// A stage that is waited for and never had is the first, or comes after those that were had; one that the warp
// has had since an earlier tile is none of this one.
std::uint32_t Drawing::step_of(std::uint32_t warp, const Tile& tile, std::uint32_t barrier,
                               std::uint32_t use) const {
  if (tile.m == kNoIndex || use == kNoIndex) return kNoIndex;
  const auto first = first_uses_.find({warp, tile.number, records_.barriers[barrier].parts.pipeline});
  if (first == first_uses_.end()) return 0;
  return use < first->second ? kNoIndex : use - first->second;
}

std::uint32_t Drawing::tile_text(const Tile& tile) {
  return tile.m == kNoIndex ? kNoIndex : text(fmt::format("{},{}", tile.m, tile.n));
}

std::uint32_t Drawing::add_lane(LaneKind kind, std::uint32_t cta, const std::string& group,
                                const std::string& label) {
  launch_.lanes.push_back(
      {.kind = kind, .cta = records_.ctas[cta].linear, .group = text(group), .label = text(label)});
  return static_cast<std::uint32_t>(launch_.lanes.size() - 1);
}

void Drawing::add_span(Span span) {
  launch_.spans.push_back(span);
  causes_.emplace_back();
}

void Drawing::draw_cta(std::uint32_t cta) {
  const CtaRecord& record = records_.ctas[cta];
  std::vector<std::string> roles;
  for (std::uint32_t w = 0; w < record.warps; ++w) {
    const std::string role = role_of(records_.warps[record.first_warp + w]);
    if (std::ranges::find(roles, role) == roles.end()) roles.push_back(role);
  }
  for (const std::string& role : roles) {
    for (std::uint32_t w = 0; w < record.warps; ++w) {
      if (role_of(records_.warps[record.first_warp + w]) == role) draw_warp(record.first_warp + w);
    }
  }
  draw_operations(cta);
  draw_barriers(cta);
}

void Drawing::draw_warp(std::uint32_t index) {
  const WarpRecord& warp = records_.warps[index];
  const std::uint32_t lane =
      add_lane(LaneKind::kWarp, warp.cta, role_of(warp), fmt::format("warp {}", warp.warp));
  launch_.lanes[lane].warp = warp.warp;
  first_span_[2 * index] = static_cast<std::uint32_t>(launch_.spans.size());
  Time now = warp.begin;
  for (const WaitRecord& wait : warp.waits[warp.leader]) {
    draw_work(index, lane, now, wait.begin);
    const std::uint32_t use = use_of(wait.on);
    add_span({.begin = wait.begin,
              .end = wait.end,
              .lane = lane,
              .label = text(label_of(wait.on)),
              .place = place_of(wait.site),
              .use = use,
              .tile = tile_text(wait.tile),
              .step = step_of(index, wait.tile, wait.on.id, use),
              .kind = SpanKind::kWait,
              .is_open = wait.is_open});
    causes_.back() = wait.cause;
    now = wait.end;
  }
  draw_work(index, lane, now, warp.now[warp.leader]);
  first_span_[2 * index + 1] = static_cast<std::uint32_t>(launch_.spans.size());
}

void Drawing::draw_work(std::uint32_t index, std::uint32_t lane, Time begin, Time end) {
  const WarpRecord& warp = records_.warps[index];
  const std::vector<TileNote>& notes = warp.tiles[warp.leader];
  constexpr std::ptrdiff_t kMostHeld = 64;  // rings are short: what was got longer ago was given back
  while (begin < end) {
    const auto next = std::ranges::upper_bound(warp.holds, begin, {}, &HoldRecord::begin);
    Time until = next == warp.holds.end() ? end : std::min(end, next->begin);
    const auto note = std::ranges::upper_bound(notes, begin, {}, &TileNote::time);
    if (note != notes.end()) until = std::min(until, note->time);
    const Tile tile = note == notes.begin() ? Tile{} : std::prev(note)->tile;
    Span span{.begin = begin, .lane = lane, .label = text("works"), .tile = tile_text(tile)};
    // Of several stages it works on the one that it got last.
    for (auto hold = next; hold != warp.holds.begin() && next - hold < kMostHeld;) {
      --hold;
      if (hold->end != 0 && hold->end <= begin) continue;
      const BarrierName& parts = records_.barriers[hold->barrier].parts;
      span.kind = SpanKind::kHold;
      span.label = text(fmt::format("{}[{}]", parts.pipeline, parts.stage));
      span.use = use_of({Awaited::Kind::kBarrier, hold->barrier, hold->phase});
      span.step = step_of(index, tile, hold->barrier, span.use);
      if (hold->end != 0) until = std::min(until, hold->end);
      break;
    }
    span.end = until;
    add_span(span);
    begin = until;
  }
}

// What overlaps goes to lanes of its own: each operation to the first that is free.
void Drawing::draw_operations(std::uint32_t cta) {
  for (const bool multiplies : {false, true}) {
    std::vector<std::uint32_t> order;
    for (const std::uint32_t o : operations_[cta]) {
      if (is_multiplication(records_.operations[o]) == multiplies) order.push_back(o);
    }
    std::ranges::stable_sort(order, {}, [&](std::uint32_t o) { return records_.operations[o].issued; });
    std::vector<std::vector<std::uint32_t>> rows;
    std::vector<Time> free;
    for (const std::uint32_t o : order) {
      const AsyncRecord& operation = records_.operations[o];
      std::size_t row = 0;
      while (row < free.size() && free[row] > operation.issued) ++row;
      if (row == free.size()) {
        free.emplace_back();
        rows.emplace_back();
      }
      free[row] = std::max(operation.done, operation.issued + 1);
      rows[row].push_back(o);
    }
    const LaneKind kind = multiplies ? LaneKind::kMultiplications : LaneKind::kCopies;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const std::uint32_t lane =
          add_lane(kind, cta, multiplies ? "multiplications" : "copies", fmt::format("in flight {}", row));
      for (const std::uint32_t o : rows[row]) {
        const AsyncRecord& operation = records_.operations[o];
        span_of_operation_[o] = static_cast<std::uint32_t>(launch_.spans.size());
        const bool has_barrier = operation.barrier < records_.barriers.size();
        const BarrierRecord* told = has_barrier ? &records_.barriers[operation.barrier] : nullptr;
        const std::uint32_t use =
            has_barrier ? use_of({Awaited::Kind::kBarrier, operation.barrier, operation.phase}) : kNoIndex;
        add_span({.begin = operation.issued,
                  .end = std::max(operation.done, operation.issued + 1),
                  .lane = lane,
                  .label = text(copy_label(operation, told)),
                  .place = place_of(operation.site),
                  .use = use,
                  .tile = tile_text(operation.tile),
                  .step = step_of(operation.warp, operation.tile, operation.barrier, use),
                  .count = operation.count,
                  .bytes = operation.bytes,
                  .kind = multiplies ? SpanKind::kMultiply : SpanKind::kCopy,
                  .is_open = operation.finished < operation.count});
        causes_.back() = {Cause::Kind::kWarp, operation.warp, operation.issued};
      }
    }
  }
}

void Drawing::draw_barriers(std::uint32_t cta) {
  std::vector<std::uint32_t> order = barriers_[cta];
  std::ranges::sort(order, {}, [&](std::uint32_t b) { return records_.barriers[b].offset; });
  for (const std::uint32_t b : order) {
    const BarrierRecord& barrier = records_.barriers[b];
    if (barrier.parts.role == isa::BarrierRole::kFull) {
      const auto partner = std::ranges::find_if(order, [&](std::uint32_t other) {
        const BarrierName& name = records_.barriers[other].parts;
        return name.role == isa::BarrierRole::kEmpty && name.stage == barrier.parts.stage &&
               name.pipeline == barrier.parts.pipeline;
      });
      draw_stage(barrier, partner == order.end() ? nullptr : &records_.barriers[*partner]);
    } else if (barrier.parts.role == isa::BarrierRole::kOther) {
      const std::uint32_t lane = add_lane(LaneKind::kBarrier, cta, "barriers", barrier.name);
      for (std::size_t p = 1; p < barrier.phases.size(); ++p) {
        const Time begin = barrier.phases[p - 1].end;
        if (!barrier.phases[p].is_over || barrier.phases[p].end <= begin) continue;
        add_span({.begin = begin,
                  .end = barrier.phases[p].end,
                  .lane = lane,
                  .label = text(fmt::format("phase {}", p - 1)),
                  .kind = SpanKind::kPhase});
        causes_.back() = barrier.phases[p].cause;
      }
    }
  }
}

// A stage goes from its producer, who fills it, to whoever takes it once it is full, and back.
void Drawing::draw_stage(const BarrierRecord& full, const BarrierRecord* empty) {
  const std::string ring = full.parts.pipeline;
  const std::uint32_t lane =
      add_lane(LaneKind::kStage, full.cta, ring, fmt::format("{}[{}]", ring, full.parts.stage));
  const std::uint32_t stages = stages_.at(ring);
  const auto role = [&](std::uint32_t warp) { return role_of(records_.warps[warp]); };
  Time last = 0;
  const auto add = [&](Time begin, Time end, SpanKind kind, const std::string& label, std::size_t turn,
                       bool is_open) {
    begin = std::max(begin, last);
    if (end <= begin) return;
    last = end;
    add_span({.begin = begin,
              .end = end,
              .lane = lane,
              .label = text(label),
              .use = static_cast<std::uint32_t>(turn * stages + full.parts.stage),
              .kind = kind,
              .is_open = is_open});
  };
  for (std::size_t turn = 0;; ++turn) {
    // Of the empty barrier the phase before, of the full one this turn's: phases begin with one before the first.
    const PhaseRecord* taken = empty != nullptr && turn < empty->phases.size() ? &empty->phases[turn] : nullptr;
    const PhaseRecord* filled = turn + 1 < full.phases.size() ? &full.phases[turn + 1] : nullptr;
    const PhaseRecord* given =
        empty != nullptr && turn + 1 < empty->phases.size() ? &empty->phases[turn + 1] : nullptr;
    const bool is_filled = filled != nullptr && filled->is_over;
    // Who drains a ring takes its stages once more, and does not fill them.
    const bool is_drain = !is_filled && launch_.finding.empty();
    if (taken != nullptr && taken->passed_by != kNoIndex && !is_drain) {
      add(taken->first_pass, is_filled ? filled->end : launch_.end, SpanKind::kFill,
          fmt::format("{} fills", role(taken->passed_by)), turn, !is_filled);
    }
    if (!is_filled) return;
    const bool is_read = filled->passed_by != kNoIndex;
    add(filled->end, is_read ? filled->first_pass : launch_.end, SpanKind::kReady, "full", turn, !is_read);
    if (!is_read) return;
    const bool is_given = given != nullptr && given->is_over;
    add(filled->first_pass, is_given ? given->end : launch_.end, SpanKind::kRead,
        fmt::format("{} has it", role(filled->passed_by)), turn, !is_given);
    if (!is_given) return;
  }
}

std::uint32_t Drawing::span_at(const Cause& cause) const {
  if (cause.kind == Cause::Kind::kAsync) return span_of_operation_[cause.index];
  if (cause.kind == Cause::Kind::kNone) return kNoIndex;
  const auto begin = launch_.spans.begin() + first_span_[2 * cause.index];
  const auto end = launch_.spans.begin() + first_span_[2 * cause.index + 1];
  // What takes a step ends it.
  const auto after =
      std::lower_bound(begin, end, cause.time, [](const Span& span, Time t) { return span.begin < t; });
  return after == begin ? kNoIndex : static_cast<std::uint32_t>(after - launch_.spans.begin() - 1);
}

void Drawing::resolve_causes() {
  for (std::size_t s = 0; s < launch_.spans.size(); ++s) launch_.spans[s].cause = span_at(causes_[s]);
}

// A finding names warps as reports do: "block 2, mma, warps 4-5, 7", "load, warp 0, lane 0"; where it names no
// block, that of the last one named is meant.
void Drawing::mark_involved() {
  const std::string_view text = launch_.finding;
  const isa::Dim3 grid = records_.grid;
  std::optional<std::uint64_t> block;
  for (std::size_t at = 0; at < text.size(); ++at) {
    Reader words{text.substr(at)};
    if (words.takes("block (")) {
      const auto x = words.number();
      const auto y = words.takes(",") ? words.number() : std::nullopt;
      const auto z = words.takes(",") ? words.number() : std::nullopt;
      if (x && y && z) block = *x + grid.x * (*y + grid.y * *z);
    } else if (words.takes("block ")) {
      if (const auto number = words.number()) block = number;
    } else if (words.takes("warps ") || words.takes("warp ")) {
      for (auto first = words.number(); first; first = words.takes(", ") ? words.number() : std::nullopt) {
        const std::uint64_t last = words.takes("-") ? words.number().value_or(*first) : *first;
        for (Lane& lane : launch_.lanes) {
          if (lane.kind != LaneKind::kWarp || (block && lane.cta != *block)) continue;
          if (lane.warp >= *first && lane.warp <= last) lane.is_involved = true;
        }
      }
    }
  }
}

}  // namespace heddle::sim::trace
