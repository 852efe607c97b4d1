// SPDX-License-Identifier: Apache-2.0
//
// Copies in global memory. A copy comes after what its issuer knew, and is over when its barrier's phase is
// (loads) or when its issuer has waited for the group without .read (stores and reductions); whatever else
// touches the bytes is ordered before the one or after the other.
#include "sim/check/race.h"

#include <algorithm>

namespace heddle::sim::check {

void RaceChecker::on(const event::CopyReadGlobal& event) {
  copy_in_global({event.copy, event.global, event.bytes, event.barrier});
}

void RaceChecker::on(const event::CopyWriteGlobal& event) {
  copy_in_global({.copy = event.copy, .address = event.global, .bytes = event.bytes, .is_write = true});
}

void RaceChecker::on(const event::CopyReadMap& event) {
  order_.on(event);
  copy_in_global({.copy = event.copy,
                  .address = event.global,
                  .bytes = event.bytes,
                  .barrier = event.barrier,
                  .is_map = true});
}

void RaceChecker::copy_in_global(const GlobalPart& part) {
  const IssuedCopy& copy = order_.copy(part.copy);
  CopySpan span{.access = {.lanes = static_cast<std::uint32_t>(part.copy),
                           .cluster = static_cast<std::uint32_t>(copy.cluster_number),
                           .by = By::kCopy,
                           .is_write = part.is_write,
                           .is_map = part.is_map},
                .is_reduction = copy.kind == CopyKind::kReduce && part.is_write};
  if (is_store(copy.kind)) {
    span.access.who = copy.completes();
    span.access.epoch = copy.group;
  } else {
    const ClusterOrder::BarrierTime& time = *order_.barrier(part.barrier).time;
    span.access.who = time.component;
    span.access.epoch = time.reached + 1;
  }
  if (span.access.is_map) {
    span.group_of = copy.groups;
    span.group = copy.group;
  }
  const View view = View::of(copy);
  const std::uint64_t end = part.address + part.bytes;
  for (std::uint64_t at = part.address; at < end && !sink_.stop();) {
    const std::uint64_t line = at / CopyLines::kLine * CopyLines::kLine;
    const std::uint64_t next = std::min(end, line + CopyLines::kLine);
    span.begin = static_cast<std::uint8_t>(at - line);
    span.end = static_cast<std::uint8_t>(next - line);
    copy_in_line(line, span, view);
    at = next;
  }
}

void RaceChecker::copy_in_line(std::uint64_t address, CopySpan span, const View& view) {
  GlobalShadow::Page& page = global_.page_of(address);
  if (page.threads != nullptr && stops_for_threads(address, span, *page.threads, view)) return;
  if (page.copies == nullptr) {
    page.copies = std::make_unique<CopyLines>(GlobalShadow::kPage);
  } else if (stops_for_earlier_copies(address, span, *page.copies, view)) {
    return;
  }
  page.copies->record(static_cast<std::uint32_t>(address % GlobalShadow::kPage), span, view);
}

// PTX: as in shared memory, a generic access needs a proxy fence before the copy; see async_in_shared. Reductions
// are relaxed operations of the scope of the GPU, and so need no order with strong accesses of that scope.
bool RaceChecker::stops_for_threads(std::uint64_t address, const CopySpan& span, Shadow& threads,
                                    const View& view) {
  std::uint16_t told = 0;  // the place of a read that this copy overwrites: once for each is enough
  bool is_beside = false;
  const Fenced kind = span.access.is_map ? Fenced::kMapAcquired : Fenced::kGlobal;
  for (std::uint32_t at = span.begin / kGranule * kGranule; at < span.end; at += kGranule) {
    const auto offset = static_cast<std::uint32_t>((address + at) % GlobalShadow::kPage);
    Granule& granule = threads.at(offset);
    const Side now{span.in(at), 0};
    const Spot spot{threads, granule, offset, nullptr, nullptr, address + at, nullptr};
    const auto judge = [&](const Access& before) {
      if (const std::optional<std::uint32_t> lane = before.unknown_to(view, now.access.bytes)) {
        if (span.is_reduction && before.is_strong && before.scope >= MemoryScope::kGpu) return false;
        return stops_for(spot, {before, *lane}, now, view, is_beside);
      }
      std::uint32_t by = 0;
      if (!before.is_write && before.site == told) return false;
      if (!is_unfenced(kind, before, now.access.bytes, view, by)) return false;
      if (!before.is_write) told = before.site;
      const Side first{before, by};
      return sink_.stops(FaultCode::kMissingProxyFence, before.is_write ? Verdict::kWrong : Verdict::kFormal,
                         {report_.site_of(first), report_.site_of(now)},
                         [&] { return report_.missing_global_fence(first, now, spot.global); });
    };
    if (threads.find(granule, now.access.bytes, !now.access.is_write, judge)) return true;
    const StrongAccesses* strong = threads.strong(granule);
    if (strong == nullptr) continue;
    for (const Access& before : strong->accesses) {
      const bool conflicts = before.is_write || now.access.is_write;
      if (conflicts && (before.bytes & now.access.bytes) != 0 && judge(before)) return true;
    }
  }
  return false;
}

// Lanes of one instruction that store the same bytes: CUTLASS's epilogues let a whole warp issue each store.
bool RaceChecker::is_same_store(std::uint64_t first, std::uint64_t second) const {
  const IssuedCopy& one = order_.copy(first);
  const IssuedCopy& other = order_.copy(second);
  constexpr std::uint64_t kLanes = 32;
  return one.kind == CopyKind::kStore && other.kind == CopyKind::kStore && one.source == other.source &&
         one.bytes == other.bytes && one.warp == other.warp && one.self != other.self &&
         one.cluster_number == other.cluster_number && std::max(first, second) - std::min(first, second) < kLanes;
}

bool RaceChecker::stops_for_earlier_copies(std::uint64_t address, const CopySpan& span, const CopyLines& copies,
                                           const View& view) {
  for (const CopySpan& old : copies.at(static_cast<std::uint32_t>(address % GlobalShadow::kPage))) {
    const std::uint32_t at = std::max(old.begin, span.begin);
    if (at >= std::min(old.end, span.end) || !(old.access.is_write || span.access.is_write)) continue;
    if (old.access.lanes == span.access.lanes || (old.is_reduction && span.is_reduction)) continue;
    if (old.is_known_to(view) || is_same_store(old.access.lanes, span.access.lanes)) continue;
    const Side before{old.in(at), 0};
    const Side now{span.in(at), 0};
    const bool stops = sink_.stops(FaultCode::kGlobalRace, {report_.site_of(before), report_.site_of(now)},
                                   [&] { return report_.global_conflict(before, now, view, address + at); });
    if (stops) return true;
  }
  return false;
}

bool RaceChecker::stops_for_copies(const Spot& spot, const Side& now, const View& view) {
  if (spot.copies == nullptr) return false;
  bool is_beside = false;
  for (const CopySpan& span : spot.copies->at(spot.offset)) {
    if (!(span.access.is_write || now.access.is_write)) continue;
    const Access before = span.in(spot.offset % CopyLines::kLine);
    if ((before.bytes & now.access.bytes) == 0 || span.is_known_to(view)) continue;
    if (span.is_reduction && now.access.is_strong && now.access.scope >= MemoryScope::kGpu) continue;
    if (stops_for(spot, {before, 0}, now, view, is_beside)) return true;
  }
  return false;
}

}  // namespace heddle::sim::check
