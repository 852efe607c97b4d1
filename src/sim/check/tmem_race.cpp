// SPDX-License-Identifier: Apache-2.0
#include "sim/check/tmem_race.h"

#include <heddle/isa/tmem.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>

namespace heddle::sim::check {

namespace {

constexpr std::uint32_t kLaneGroups = kTmemLanes / 16;

std::uint32_t first_lane(std::uint32_t group, std::uint32_t lanes) {
  return 16 * group + static_cast<std::uint32_t>(std::countr_zero(lanes));
}

}  // namespace

TmemChecker::Memory& TmemChecker::memory_of(std::uint32_t cta) {
  Memory& memory = memories_[cta];
  if (memory.granules.empty()) memory.granules.resize(std::size_t{kTmemCols} * kLaneGroups);
  return memory;
}

void TmemChecker::on(const event::MmaTouchTmem& event) {
  const IssuedMma& mma = order_.mma(event.operation);
  const IssuedMma::Part& part = mma.parts.front();
  const machine::TmemMade* made = nullptr;
  if (const auto by = spoils_.find(event.operation);
      by != spoils_.end() && event.making != nullptr && (event.how & TmemTouch::kWrites) != 0) {
    made = &(by->second.made[event.cta] = machine::made_of(*event.making, event.cta, by->second));
  }
  touch({event.cta, event.address, event.cols, event.how, event.operand, event.site, made},
        operation(event.operation),
        {&part.known, &part.tcgen05_known, part.warp, part.tmem_waited, mma.component, false});
}

void TmemChecker::on(const event::TmemMove& event) {
  const IssuedTransfer& by = order_.transfer(event.transfer);
  touch({event.cta, event.address, event.cols, event.how, "", event.site}, transfer(event.transfer),
        {&by.known, &by.tcgen05_known, by.warp, by.tmem_waited, 0, false});
}

void TmemChecker::on(const event::TmemAlloc& event) {
  Memory& memory = memory_of(event.cta);
  std::fill_n(memory.granules.begin() + event.address * kLaneGroups, event.cols * kLaneGroups, Granule{});
  memory.allocations.push_back({event.address, event.cols, &order_.thread(event), event.site});
}

void TmemChecker::touch(const Part& part, Actor actor, const View& view) {
  Memory& memory = memory_of(part.cta);
  std::vector<Actor> allowed;  // what conflicts with it, and was found to in a column before
  const std::uint32_t first = part.address & 0xFFFF;
  const bool is_write = (part.how & TmemTouch::kWrites) != 0;
  const bool needs_old = (part.how & TmemTouch::kNeedsOld) != 0;
  const auto some_lanes = static_cast<std::uint16_t>(part.how >> TmemTouch::kLaneShift);
  const std::uint16_t lanes = some_lanes == 0 ? 0xFFFF : some_lanes;
  for (std::uint32_t column = first; column < first + part.cols; ++column) {
    for (std::uint32_t group = 0; group < kLaneGroups; ++group) {
      if ((part.how >> group & 1) == 0) continue;
      Granule& granule = memory.granules[std::size_t{column} * kLaneGroups + group];
      const auto unwritten = static_cast<std::uint16_t>(lanes & ~granule.written);
      if (needs_old && unwritten != 0 && judges_uses_) {
        // Accumulators that held nothing hold nothing more, cell by cell.
        if (!is_write) spoil(actor / 2).add_cells(part.cta, {column, group, unwritten, granule.spoiler});
      } else if (needs_old && unwritten != 0 &&
                 sink_.stops(unwritten_read(part, actor, column, first_lane(group, unwritten), part.operand))) {
        return;
      }
      const auto stops = [&](const Read& before, bool before_writes) {
        if (before.actor == 0 || before.actor == actor) return false;
        const Verdict verdict = judge(before.actor, view);
        if (verdict == Verdict::kOrdered) return false;
        if (std::find(allowed.begin(), allowed.end(), before.actor) != allowed.end()) return false;
        if (sink_.stops(conflict(granule, before, before_writes, actor, part, verdict))) return true;
        allowed.push_back(before.actor);
        return false;
      };
      // Reads first: of a stage that is overwritten, a report names the reader rather than who filled it.
      for (const Read& read : granule.reads) {
        if (!is_write) break;
        if (stops(read, false)) return;
      }
      if (stops({granule.write}, true)) return;
      if (is_write && granule.unwritten_load != 0) {
        const Actor load = std::exchange(granule.unwritten_load, 0);
        if (std::find(allowed.begin(), allowed.end(), load) == allowed.end() &&
            sink_.stops(unwritten_read(part, load, column, first_lane(group, granule.unwritten), ""))) {
          return;
        }
      }
      if (is_transfer(actor) && !is_write && unwritten != 0 && judges_uses_) {
        UndefinedCells& brought = undefined_loads_[actor / 2];
        brought.cta = part.cta;
        brought.cells.push_back({column, group, unwritten, granule.spoiler});
      } else if (!is_write && unwritten != 0 && granule.unwritten_load == 0 && !judges_uses_) {
        granule.unwritten = unwritten;
        granule.unwritten_load = actor;
      }
      if (is_write) {
        const auto spoiled = part.made == nullptr
                                 ? 0
                                 : static_cast<std::uint16_t>(part.made->lanes_at(16 * group, column) & lanes);
        mark_written(granule, lanes, actor, needs_old, static_cast<std::uint16_t>(spoiled));
        if (!needs_old) {
          granule.write_before = granule.write;
          granule.reads_before = granule.reads;
        }
        granule.write = actor;
        granule.reads = {};
      } else {
        record_read(granule, actor, view);
      }
    }
  }
}

// What is made of nothing is nothing. An accumulator that held nothing holds nothing more of it.
void TmemChecker::mark_written(Granule& granule, std::uint16_t lanes, Actor actor, bool needs_old,
                               std::uint16_t spoiled) {
  const bool keeps_old = needs_old && judges_uses_;
  if (!keeps_old) granule.written |= lanes;
  granule.written &= static_cast<std::uint16_t>(~spoiled);
  const auto unwritten = static_cast<std::uint16_t>(lanes & ~granule.written);
  if (spoiled != 0 || (unwritten != 0 && granule.spoiler == 0)) granule.spoiler = actor / 2;
  if (granule.written == 0xFFFF) granule.spoiler = 0;
}

// A cell that an operation spoiled, though it was made of nothing but what means something, was its accumulator
// and held nothing before. What it took from a cell that another had spoiled is that one's source.
TmemChecker::Source TmemChecker::source_of(const UndefinedCells& brought, std::uint32_t lane,
                                           std::uint32_t column) const {
  const UndefinedCells::Cells* cells = brought.find(lane, column);
  std::uint32_t cta = brought.cta;
  for (std::uint64_t by = cells == nullptr ? 0 : cells->spoiler; by != 0;) {
    machine::TmemSource source{machine::TmemSource::Kind::kTmem, cta, 0, column, lane, "its accumulator"};
    const Spoil* spoil = spoil_of(by);
    const auto made = spoil == nullptr ? nullptr : spoil->find_made(cta);
    if (made != nullptr) {
      if (const machine::TmemSource taken = made->at(lane, column)) {
        source = taken;
      } else if (made->is_by_cell()) {
        return {};  // a copy beside the cell
      }
    }
    cells = spoil == nullptr ? nullptr : spoil->find_cell(source.cta, source.lane, source.column);
    const bool is_last =
        source.kind == machine::TmemSource::Kind::kShared || cells == nullptr || cells->spoiler == 0;
    if (is_last || cells->spoiler >= by) return {source, by};
    by = cells->spoiler;
    cta = source.cta;
    lane = source.lane;
    column = source.column;
  }
  return {};
}

// Which mistake it is shows until the columns are freed: what fills the cells may not have come yet.
void TmemChecker::use(std::uint64_t transfer, std::uint32_t lane, std::uint32_t column, const std::string& use) {
  const UndefinedCells* brought = undefined_load(transfer);
  if (brought == nullptr) return;
  std::vector<Use>& uses = memory_of(brought->cta).uses;
  const Actor load = TmemChecker::transfer(transfer);
  const bool is_known = std::any_of(uses.begin(), uses.end(), [&](const Use& one) { return one.load == load; });
  if (!is_known) uses.push_back({load, lane, column, use});
}

bool TmemChecker::stops_for_use(const Part& part, const Use& use) {
  const UndefinedCells& brought = *undefined_load(use.load / 2);
  const auto [source, by] = source_of(brought, use.lane, use.column);
  Finding finding = source ? unwritten_read(part, operation(by), source.column, source.lane, source.operand)
                           : unwritten_read(part, use.load, use.column, use.lane, "");
  if (source) finding.details.push_back(line(use.load));
  finding.details.push_back(use.use);
  return sink_.stops(std::move(finding));
}

// Whoever knows a reader stands for it from then on. More than three readers that do not know each other are not
// told apart: the oldest is forgotten.
void TmemChecker::record_read(Granule& granule, Actor actor, const View& view) const {
  bool is_early = granule.write == 0;
  if (is_transfer(actor)) {
    const IssuedTransfer& by = order_.transfer(actor / 2);
    for (const Read& read : granule.reads) {
      if (!is_transfer(read.actor)) continue;
      const IssuedTransfer& other = order_.transfer(read.actor / 2);
      is_early |= other.warp == by.warp && other.number <= by.handed_on;
    }
  }
  for (Read& read : granule.reads) {
    if (read.actor == 0 || read.actor == actor || judge(read.actor, view) == Verdict::kOrdered) {
      read = {actor, is_early};
      return;
    }
  }
  std::rotate(granule.reads.begin(), granule.reads.begin() + 1, granule.reads.end());
  granule.reads.back() = {actor, is_early};
}

bool TmemChecker::has_read(const Reads& reads, const WarpOrder& warp) const {
  return std::any_of(reads.begin(), reads.end(), [&](const Read& read) {
    return is_transfer(read.actor) && order_.transfer(read.actor / 2).warp == &warp;
  });
}

// A load or store that was not waited for before its cells were handed on, and that happens after the operation
// they were handed to.
bool TmemChecker::is_too_late(Actor late, Actor op) const {
  if (!is_transfer(late) || is_transfer(op)) return false;
  const IssuedTransfer& by = order_.transfer(late / 2);
  const Clock& known = order_.mma(op / 2).parts.front().known;
  return known[by.warp->tmem_issues(by.is_store ? 1 : 0)] >= by.number;
}

TmemChecker::Verdict TmemChecker::judge(Actor before, const View& view) const {
  const std::uint64_t id = before / 2;
  if (!is_transfer(before)) {
    const IssuedMma& mma = order_.mma(id);
    // PTX: what one thread issues to the tensor core is carried out in order.
    if (mma.component == view.queue || (*view.tcgen05_known)[mma.component] >= mma.number)
      return Verdict::kOrdered;
    if (view.wants_no_fence && view.known->met(mma.component) >= mma.number) return Verdict::kOrdered;
    return (*view.known)[mma.component] < mma.number ? Verdict::kUnordered : Verdict::kNoFenceAfter;
  }
  const IssuedTransfer& by = order_.transfer(id);
  const WarpOrder& warp = *by.warp;
  const std::size_t kind = by.is_store ? 1 : 0;
  if (&warp == view.warp) return view.tmem_waited[kind] >= by.number ? Verdict::kOrdered : Verdict::kNoWait;
  const Component waits = warp.tmem_waits(kind);
  const Component fences = warp.tmem_fences(kind);
  if ((*view.tcgen05_known)[fences] >= by.number) return Verdict::kOrdered;
  if (view.wants_no_fence && view.known->met(waits) >= by.number) return Verdict::kOrdered;
  if ((*view.known)[fences] >= by.number) return Verdict::kNoFenceAfter;
  if ((*view.known)[waits] >= by.number) return Verdict::kNoFenceBefore;
  if ((*view.known)[warp.tmem_issues(kind)] >= by.number) return Verdict::kNoWait;
  return Verdict::kUnordered;
}

bool TmemChecker::is_still_used(const Granule& granule, const View& view, const Part& part,
                                const ThreadOrder& by) {
  for (const Actor actor :
       {granule.reads[0].actor, granule.reads[1].actor, granule.reads[2].actor, granule.write}) {
    if (actor == 0) continue;
    const Verdict verdict = judge(actor, view);
    if (verdict == Verdict::kOrdered) continue;
    const bool is_unwaited = verdict == Verdict::kNoWait;
    const FaultCode code = is_unwaited ? FaultCode::kMissingTmemWait : FaultCode::kTmemDealloc;
    const bool stops = sink_.stops(code, {site_of(actor), part.site}, [&] {
      Finding finding;
      finding.headline = fmt::format("tcgen05.dealloc of {}, which a {} may still use", where(part), deed(actor));
      finding.details = {report_.line(by, "tcgen05.dealloc", part.site), line(actor),
                         is_unwaited
                             ? "likely: tcgen05_wait_ld() or tcgen05_wait_st() is missing behind it"
                             : "likely: the warp that frees does not wait for those who still read or multiply"};
      return finding;
    });
    if (stops) return true;
  }
  return false;
}

void TmemChecker::on(const event::TmemDealloc& event) {
  const ThreadOrder& by = order_.thread(event);
  const WarpOrder& warp = *by.warp;
  const Part part{event.cta, event.address, event.cols, 0, "", event.site};
  // PTX: tcgen05.dealloc: all accesses must be over; a relaxed barrier shows that, too.
  const Clock known = order_.known_to(warp);
  const View view{&known, &known, &warp, warp.tmem_waited, 0, true};
  Memory& memory = memory_of(event.cta);
  for (std::uint32_t i = event.address * kLaneGroups; i < (event.address + event.cols) * kLaneGroups; ++i) {
    const Granule& granule = memory.granules[i];
    if (is_still_used(granule, view, part, by)) return;
    if (granule.unwritten_load != 0 &&
        sink_.stops(unwritten_read(part, granule.unwritten_load, i / kLaneGroups,
                                   first_lane(i % kLaneGroups, granule.unwritten), ""))) {
      return;
    }
  }
  for (const Use& use : memory.uses) {
    if (event.address <= use.column && use.column < event.address + event.cols && stops_for_use(part, use))
      return;
  }
  std::fill_n(memory.granules.begin() + event.address * kLaneGroups, event.cols * kLaneGroups, Granule{});
  std::erase_if(memory.allocations, [&](const Allocation& taken) { return taken.column == event.address; });
}

std::string TmemChecker::deed(Actor actor) const {
  if (!is_transfer(actor)) return order_.mma(actor / 2).name;
  return order_.transfer(actor / 2).is_store ? "tcgen05.st" : "tcgen05.ld";
}

CallSite TmemChecker::site_of(Actor actor) const {
  return is_transfer(actor) ? order_.transfer(actor / 2).site : order_.mma(actor / 2).site;
}

std::string TmemChecker::line(Actor actor) const {
  if (is_transfer(actor)) {
    const IssuedTransfer& by = order_.transfer(actor / 2);
    return report_.line(by.warp->cta->threads[by.warp->first_thread], deed(actor), by.site);
  }
  const IssuedMma& by = order_.mma(actor / 2);
  const IssuedMma::Part& part = by.parts.front();
  return report_.line(part.warp->cta->threads[part.warp->first_thread + part.lane], deed(actor), by.site);
}

std::string TmemChecker::where(const Part& part) const {
  const std::uint32_t first = part.address & 0xFFFF;
  return fmt::format("columns {} to {} of the tensor memory{}", first, first + part.cols - 1,
                     report_.has_one_cta() ? std::string() : " of " + report_.block(part.cta));
}

Finding TmemChecker::unwritten_read(const Part& part, Actor actor, std::uint32_t column, std::uint32_t lane,
                                    const char* operand) const {
  const std::string_view what = operand;
  const std::string from = report_.has_one_cta() ? std::string() : " of " + report_.block(part.cta);
  Finding finding;
  finding.code = FaultCode::kUninitialisedRead;
  finding.places = {site_of(actor), part.site};
  finding.headline = fmt::format(
      "a {} reads {}lane {}, column {} of the tensor memory{}, which nobody has written since its allocation",
      deed(actor), what.empty() ? std::string() : fmt::format("{} from ", what), lane, column, from);
  finding.details = {line(actor)};
  const std::vector<Allocation>& allocations = memories_.at(part.cta).allocations;
  const auto taken = std::find_if(allocations.begin(), allocations.end(), [&](const Allocation& a) {
    return a.column <= column && column < a.column + a.cols;
  });
  if (taken != allocations.end()) {
    finding.details.push_back(report_.line(
        *taken->by,
        fmt::format("tcgen05.alloc of columns {} to {}", taken->column, taken->column + taken->cols - 1),
        taken->site));
  }
  finding.details.emplace_back(
      what == "its accumulator" ? "likely: the first multiplication of a tile accumulates; it must overwrite"
      : what == "A"             ? "likely: A was not stored here: 8 columns for each K step, in the lanes of D"
      : !what.empty()
          ? "likely: the scales were not copied here; tcgen05_cp_32x128b_warpx4() fills 4 columns in all lanes"
          : "likely: nothing was multiplied or stored here; a multiplication writes N columns, all lanes for M = "
            "128 and 256, lanes 0 to 15 of each 32 for M = 64");
  return finding;
}

Finding TmemChecker::conflict(const Granule& granule, const Read& earlier, bool before_writes, Actor now,
                              const Part& part, Verdict verdict) const {
  const bool now_writes = (part.how & TmemTouch::kWrites) != 0;
  Actor before = earlier.actor;
  if (verdict == Verdict::kUnordered && is_too_late(now, before)) {
    std::swap(before, now);
    verdict = Verdict::kNoWait;
  }
  const std::string both = fmt::format("a {} and a {} touch {}", deed(before), deed(now), where(part));
  Finding finding;
  finding.places = {site_of(before), site_of(now)};
  finding.details = {line(before), line(now)};
  const auto because = [&](const char* likely) { finding.details.push_back(std::string("likely: ") + likely); };
  switch (verdict) {
    case Verdict::kNoFenceAfter:
      finding.code = FaultCode::kMissingTcgen05Fence;
      finding.headline = both + " without tcgen05.fence::after_thread_sync behind the barrier between them";
      because(
          "tcgen05_fence_after_thread_sync() is missing after the wait, in the thread that issues the second");
      return finding;
    case Verdict::kNoFenceBefore:
      finding.code = FaultCode::kMissingTcgen05Fence;
      finding.headline = both + " without tcgen05.fence::before_thread_sync ahead of the barrier between them";
      because("tcgen05_fence_before_thread_sync() is missing between the wait for the first and the arrival");
      return finding;
    case Verdict::kNoWait: {
      const bool is_store = is_transfer(before) && order_.transfer(before / 2).is_store;
      finding.code = FaultCode::kMissingTmemWait;
      finding.headline =
          fmt::format("{}, and the first was not waited for with tcgen05.wait::{}", both, is_store ? "st" : "ld");
      because(is_store ? "tcgen05_wait_st() is missing before the cells are handed on"
                       : "tcgen05_wait_ld() is missing before the cells are handed on");
      return finding;
    }
    case Verdict::kUnordered:
    case Verdict::kOrdered: break;
  }
  // One of the two fills a stage and the other reads it. Whether the reader came too early, or the fill: a reader
  // that had been given the fill before this one, and has not read it yet, is overwritten.
  const Actor reader = before_writes && !now_writes ? now : !before_writes && now_writes ? before : 0;
  const Actor writer = reader == now ? before : now;
  bool is_early = earlier.is_early;
  if (reader == now && !is_transfer(reader)) {
    is_early = granule.write_before == 0;  // there was nothing else to read
  } else if (reader == now && !is_transfer(writer)) {
    const IssuedTransfer& by = order_.transfer(reader / 2);
    const Actor fill = granule.write_before;
    is_early = fill == 0 || is_transfer(fill) ||
               by.known[order_.mma(fill / 2).component] < order_.mma(fill / 2).number ||
               has_read(granule.reads_before, *by.warp);
  }
  if (reader != 0 && is_early) {
    finding.code = FaultCode::kReadBeforeFull;
    finding.headline = fmt::format("{} are read before the {} that fills them is known to be complete",
                                   where(part), deed(writer));
    if (is_transfer(writer)) {
      finding.details.emplace_back(
          "tcgen05.wait::st, tcgen05.fence::before_thread_sync and an arrival lead from the store to who waits "
          "for it");
    } else {
      because("no tcgen05_commit() to the barrier that the reader waits for, or no wait for it");
    }
  } else if (reader != 0) {
    finding.code = FaultCode::kWriteWhileRead;
    finding.headline =
        fmt::format("a {} overwrites {} while a {} may still read them", deed(writer), where(part), deed(reader));
    finding.details.emplace_back(
        "nothing that the writer has waited for comes after the read: whoever reads the cells hands them back, "
        "and the next fill is issued after that");
  } else {
    finding.code = FaultCode::kRace;
    finding.headline = both + ", and nothing orders them";
    because(
        "nothing is between the two; a commit, or a wait, a fence and an arrival, must lead from one to the "
        "other");
  }
  return finding;
}

}  // namespace heddle::sim::check
