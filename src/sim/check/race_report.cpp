// SPDX-License-Identifier: Apache-2.0
#include "sim/check/race_report.h"

#include "sim/machine/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace heddle::sim::check {

using machine::kSharedBase;
using machine::Machine;
using machine::place;

namespace {

// "a bulk load", "an st.shared"
std::string some(const std::string& what) {
  const bool is_spoken_as_vowel = what.starts_with("st.") || what.starts_with("ld.") || what.starts_with("atom");
  return (is_spoken_as_vowel ? "an " : "a ") + what;
}

// "st.shared", "strong ld.shared", "atom.shared"
std::string verb_of(const Access& access, const char* space) {
  if (!access.is_strong) return fmt::format("{}.{}", access.is_write ? "st" : "ld", space);
  // By a cache operator, or a plain load that an atom.cas checks.
  if (access.is_hint && access.scope == MemoryScope::kSys)
    return fmt::format("{}.{}.{}", access.is_write ? "st" : "ld", space, access.is_write ? "wt" : "cv");
  if (access.is_hint) return fmt::format("ld.{}", space);
  if (access.is_write && access.is_read) return fmt::format("atom.{}", space);
  return fmt::format("strong {}.{}", access.is_write ? "st" : "ld", space);
}

const char* scope_name(MemoryScope scope) {
  constexpr const char* kNames[] = {".cta", ".cluster", ".gpu", ".sys"};
  return kNames[static_cast<std::size_t>(scope)];
}

constexpr const char* kNoMmaWait =
    "likely: wgmma_commit_group() and a wgmma_wait_group that covers it are missing before the operands are "
    "handed on";
constexpr const char* kNoCommit =
    "likely: the operands are handed on without a tcgen05_commit() to the barrier that is waited for";
constexpr const char* kCtaScope =
    "the readers are in another CTA than the issuer, and no arrival of theirs reaches it at cluster scope: "
    "(mbarrier_arrive_cluster, mbarrier_try_wait_parity_cluster)";

}  // namespace

std::uint16_t Sites::find(CallSite site, std::size_t key) {
  const auto known = std::find_if(sites_.begin(), sites_.end(), [&](const CallSite& other) {
    return other.file == site.file && other.line == site.line;
  });
  auto number = static_cast<std::size_t>(known - sites_.begin());
  if (known == sites_.end()) {
    // A kernel with more places than fit keeps the first of them; later ones are reported as unknown.
    if (sites_.size() > UINT16_MAX) return 0;
    number = sites_.size();
    sites_.push_back(site);
  }
  recent_[key] = static_cast<std::uint16_t>(number);
  return recent_[key];
}

const ThreadOrder& RaceReport::thread_of(const Side& side, const ClusterOrder& cluster) const {
  if (side.access.by == By::kCopy) return *order_.copy(side.access.lanes).issuer;
  if (side.access.by == By::kMma) {
    const IssuedMma::Part& part = order_.mma(side.access.lanes).parts[side.lane];
    return part.warp->cta->threads[part.warp->first_thread + part.lane];
  }
  if (side.access.by == By::kAsyncCopy) {
    const auto is_its = [&](const WarpOrder* warp) { return warp->async_copies == side.access.who; };
    const WarpOrder& warp = **std::find_if(cluster.warps.begin(), cluster.warps.end(), is_its);
    return warp.cta->threads[warp.first_thread + side.lane];
  }
  if (side.access.by == By::kAlloc) {
    const WarpOrder& warp = *cluster.warps[side.access.lanes / 32];
    return warp.cta->threads[warp.first_thread + side.access.lanes % 32];
  }
  const WarpOrder& warp = *cluster.warps[side.access.who];
  return warp.cta->threads[warp.first_thread + side.lane];
}

const char* RaceReport::no_mma_wait(const Side& mma) const {
  return order_.mma(mma.access.lanes).is_tcgen05 ? kNoCommit : kNoMmaWait;
}

bool RaceReport::has_one_cta() const { return machine_.has_one_cta(); }

const BarrierOrder* RaceReport::barrier_of(const Side& copy, const CtaOrder& cta) const {
  for (const auto& [address, time] : cta.cluster->barrier_times) {
    if (time.component == copy.access.who) return &order_.barrier(time.barrier);
  }
  return nullptr;
}

bool RaceReport::has_waited(const Side& reader, const Side& copy, const CtaOrder& cta) const {
  const BarrierOrder* barrier = barrier_of(copy, cta);
  if (barrier == nullptr || reader.access.is_async()) return false;
  const ThreadOrder& by = thread_of(reader, *cta.cluster);
  if (barrier->cta != by.warp->cta || barrier->place >= by.turns.size()) return false;
  return by.turns[barrier->place].phase != 0 || by.turns[barrier->place].is_early;
}

Access RaceReport::fill_in_flight(const CtaOrder& cta, std::uint32_t offset, std::uint16_t bytes) const {
  const std::uint32_t first = offset / kGranule * kGranule + static_cast<std::uint32_t>(std::countr_zero(bytes));
  const auto fill = [&](std::uint64_t id, std::uint32_t barrier, std::uint32_t rank) {
    const auto time = cta.cluster->barrier_times.find(barrier | rank << machine::kRankShift);
    return Access{.lanes = static_cast<std::uint32_t>(id),
                  .who = time == cta.cluster->barrier_times.end() ? 0 : time->second.component,
                  .bytes = bytes,
                  .by = By::kCopy,
                  .is_write = true};
  };
  for (const std::unique_ptr<machine::Copy>& copy : machine_.tma.copies()) {
    if (copy->pieces.empty() || copy->pieces.front().target == nullptr) continue;
    const machine::Cta& target = *copy->pieces.front().target->cluster->ctas[cta.rank];
    if (target.linear != cta.linear || machine_.tma.filling(target, first) != copy.get()) continue;
    return fill(copy->id, copy->barrier, copy->pair ? (cta.rank & ~1u) | *copy->pair : cta.rank);
  }
  for (const std::unique_ptr<machine::ClcRequest>& request : machine_.clc.requests()) {
    const bool is_there = first >= request->response && first < request->response + isa::kClcResponseBytes;
    const bool is_target = std::any_of(request->targets.begin(), request->targets.end(),
                                       [&](const machine::Cta* target) { return target->linear == cta.linear; });
    if (is_there && is_target) return fill(request->id, request->barrier, cta.rank);
  }
  return {};
}

std::string RaceReport::block(std::uint32_t linear) const {
  const isa::Dim3 grid = machine_.grid();
  if (grid.y == 1 && grid.z == 1) return fmt::format("block {}", linear);
  return fmt::format("block ({},{},{})", linear % grid.x, linear / grid.x % grid.y, linear / grid.x / grid.y);
}

std::string RaceReport::name_of(const ThreadOrder& thread) const {
  const std::string where = machine_.has_one_cta() ? std::string() : block(thread.warp->cta->linear) + ", ";
  const std::string role = *thread.role == '\0' ? std::string() : std::string(thread.role) + ", ";
  return fmt::format("{}{}warp {}, lane {}", where, role, thread.warp->first_thread / 32, thread.lane);
}

std::string RaceReport::name_of(const BarrierOrder& barrier) const {
  return machine_.describe(machine_.mbarriers.all()[barrier.id]);
}

std::string RaceReport::bytes_at(const CtaOrder& cta, std::uint32_t offset, std::uint16_t bytes) const {
  const std::uint32_t base = offset / kGranule * kGranule - kSharedBase;
  const auto first = static_cast<std::uint32_t>(std::countr_zero(bytes));
  const auto last = static_cast<std::uint32_t>(std::bit_width(bytes)) - 1;
  const std::string which = first == last ? fmt::format("byte {}", base + first)
                                          : fmt::format("bytes {} to {}", base + first, base + last);
  return fmt::format("{} of the shared memory{}", which,
                     machine_.has_one_cta() ? std::string() : " of " + block(cta.linear));
}

// The stage that the copy fills, by the name of its barrier.
std::string RaceReport::stage_of(const Side& copy, const CtaOrder& cta, std::uint32_t offset) const {
  if (const BarrierOrder* barrier = barrier_of(copy, cta); barrier != nullptr) {
    const machine::Barrier& state = machine_.mbarriers.all()[barrier->id];
    const machine::BarrierName name = machine_.name_of(*state.cta, state.offset);
    if (*name.pipeline != '\0') {
      return fmt::format("{}[{}]{}", name.pipeline, name.stage,
                         machine_.has_one_cta() ? std::string() : " of " + block(cta.linear));
    }
  }
  return bytes_at(cta, offset, copy.access.bytes);
}

std::string RaceReport::deed(const Side& side) const {
  const Access& access = side.access;
  if (access.by == By::kMma) return order_.mma(access.lanes).name;
  if (access.by == By::kCopy) {
    const IssuedCopy& copy = order_.copy(access.lanes);
    return fmt::format("{} of {} bytes", machine::name_of(copy.kind), copy.bytes);
  }
  if (access.by == By::kAlloc) return "tcgen05.alloc";
  const int bytes = access.width != 0 ? int{access.width} : std::popcount(access.bytes);
  if (access.by == By::kAsyncCopy) return fmt::format("cp.async of {} bytes", bytes);
  return fmt::format("{} of {} {}", verb_of(access, "shared"), bytes, bytes == 1 ? "byte" : "bytes");
}

std::string RaceReport::line(const ThreadOrder& thread, const std::string& what, CallSite site) const {
  return fmt::format("{:<62} {}", fmt::format("{}: {}", name_of(thread), what), place(site));
}

std::string RaceReport::line(const Side& side, const ClusterOrder& cluster) const {
  return line(thread_of(side, cluster), deed(side), site_of(side));
}

bool RaceReport::knows_issue(const View& view, const Side& side, const ClusterOrder& cluster) const {
  if (side.access.by == By::kCopy) {
    const IssuedCopy& copy = order_.copy(side.access.lanes);
    return view.knows(*copy.issuer->warp, copy.issuer->lane, copy.issued);
  }
  if (side.access.by == By::kAsyncCopy) {
    const ThreadOrder& by = thread_of(side, cluster);
    return view.knows(*by.warp, by.lane, by.async_copies[side.access.epoch - 1]);
  }
  for (const IssuedMma::Part& part : order_.mma(side.access.lanes).parts) {
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      if (view.knows(*part.warp, lane, part.issued)) return true;
    }
  }
  return false;
}

// What the side knew.
View RaceReport::view_of(const Side& side, const ClusterOrder& cluster) const {
  if (side.access.by == By::kCopy) return View::of(order_.copy(side.access.lanes));
  if (side.access.by == By::kMma) return View::of(order_.mma(side.access.lanes).parts[side.lane]);
  return View::of(thread_of(side, cluster));
}

// Which mistake a conflict shows. A copy that fills a stage and a read of it: if the reader has never taken
// the stage, or only by a wait for a phase that it had taken before, it reads too early. Otherwise it has the
// last fill, and the next one comes too early.
RaceReport::Mistake RaceReport::judge(const Side& before, const Side& now, const CtaOrder& cta,
                                      const Granule& granule) const {
  const Side& write = now.access.is_write ? now : before;
  const Side& other = &write == &now ? before : now;
  const ThreadOrder& by = thread_of(other, *cta.cluster);
  if (write.access.by == By::kAsyncCopy) {
    return other.access.is_write || !knows_issue(view_of(other, *cta.cluster), write, *cta.cluster)
               ? Mistake::kRace
               : Mistake::kReadBeforeFull;
  }
  if (write.access.by == By::kAlloc) return Mistake::kRace;
  if (!write.access.is_async()) {
    if (!other.access.is_async() || other.access.is_write) return Mistake::kRace;
    // The source of a copy, or an operand. Who knows of its use and writes all the same has not waited for it.
    if (other.access.by == By::kMma) {
      for (const IssuedMma::Part& part : order_.mma(other.access.lanes).parts) {
        if (part.warp->index != write.access.who) continue;
        return write.access.epoch > part.issued ? Mistake::kSourceOverwritten : Mistake::kRace;
      }
    }
    return knows_issue(View::of(thread_of(write, *cta.cluster)), other, *cta.cluster)
               ? Mistake::kSourceOverwritten
               : Mistake::kRace;
  }
  const IssuedCopy& filling = order_.copy(write.access.lanes);
  if (other.access.is_write) {
    return other.access.by == By::kCopy && other.access.who == write.access.who ? Mistake::kOverwritten
                                                                                : Mistake::kRace;
  }
  if (other.access.by == By::kCopy) {
    const IssuedCopy& draining = order_.copy(other.access.lanes);
    if (View::of(filling).knows(*by.warp, by.lane, draining.issued)) return Mistake::kOverwritten;
    const bool is_early = View::of(draining).knows(*filling.issuer->warp, filling.issuer->lane, filling.issued);
    return is_early ? Mistake::kReadBeforeFull : Mistake::kRace;
  }
  // Whoever issues a copy after a multiplication that reads the bytes has not waited for it.
  if (other.access.by == By::kMma && knows_issue(View::of(filling), other, *cta.cluster)) {
    return Mistake::kOverwritten;
  }
  const Component fills = write.access.who;
  // The thread of a tcgen05 operation goes on, and may have waited since.
  const bool is_left_behind = other.access.by == By::kMma && order_.mma(other.access.lanes).is_tcgen05;
  const Clock& known = is_left_behind ? order_.mma(other.access.lanes).parts[other.lane].known : by.known;
  if (known[fills] == 0) {
    const bool read_something_else =
        &other == &before && (granule.write.bytes & other.access.bytes) != 0 && granule.write.who != fills;
    return read_something_else ? Mistake::kOverwritten : Mistake::kReadBeforeFull;
  }
  const BarrierOrder* barrier = barrier_of(write, cta);
  const bool is_stale = barrier != nullptr && barrier->cta == by.warp->cta && barrier->place < by.turns.size() &&
                        by.turns[barrier->place].is_stale;
  return is_stale ? Mistake::kReadBeforeFull : Mistake::kOverwritten;
}

CallSite RaceReport::site_of(const Side& side) const {
  switch (side.access.by) {
    case By::kCopy: return order_.copy(side.access.lanes).site;
    case By::kMma: return order_.mma(side.access.lanes).site;
    case By::kThread:
    case By::kAsyncCopy:
    case By::kAlloc: break;
  }
  return sites_.of(side.access.site);
}

FaultCode RaceReport::code_of_conflict(const Side& before, const Side& now, const CtaOrder& cta,
                                       const Granule& granule) const {
  switch (judge(before, now, cta, granule)) {
    case Mistake::kReadBeforeFull: return FaultCode::kReadBeforeFull;
    case Mistake::kOverwritten:
    case Mistake::kSourceOverwritten: return FaultCode::kWriteWhileRead;
    case Mistake::kRace: break;
  }
  return FaultCode::kRace;
}

Finding RaceReport::conflict(const Side& before, const Side& now, const CtaOrder& cta, std::uint32_t offset,
                             const Granule& granule) const {
  const Side& write = now.access.is_write ? now : before;
  const Side& other = &write == &now ? before : now;
  const auto both = static_cast<std::uint16_t>(before.access.bytes & now.access.bytes);
  const std::string where = bytes_at(cta, offset, both);
  Finding finding;
  switch (judge(before, now, cta, granule)) {
    case Mistake::kReadBeforeFull: return read_too_early(other, write, cta, offset);
    case Mistake::kOverwritten:
      finding.code = FaultCode::kWriteWhileRead;
      finding.headline = fmt::format(
          "a {} overwrites {} {}",
          order_.copy(write.access.lanes).kind == CopyKind::kClcResponse
              ? machine::name_of(CopyKind::kClcResponse)
              : "copy",
          stage_of(write, cta, offset),
          other.access.is_write ? "before anybody was told of its last fill" : "while it may still be read");
      finding.details = {line(write, *cta.cluster), line(other, *cta.cluster),
                         likely_overwritten(write, other, cta)};
      break;
    case Mistake::kSourceOverwritten:
      finding.code = FaultCode::kWriteWhileRead;
      finding.headline = fmt::format("{} are written while a {} may still read them", where,
                                     other.access.by == By::kMma ? "multiplication" : "copy");
      finding.details = {line(write, *cta.cluster), line(other, *cta.cluster),
                         likely_source_overwritten(write, other, cta)};
      break;
    case Mistake::kRace:
      finding.code = FaultCode::kRace;
      finding.headline =
          fmt::format("{} and {} touch {}, and nothing orders them", some(deed(before)), some(deed(now)), where);
      finding.details = {line(before, *cta.cluster), line(now, *cta.cluster), why_race(before, now, cta)};
      break;
  }
  return finding;
}

Finding RaceReport::read_too_early(const Side& reader, const Side& copy, const CtaOrder& cta,
                                   std::uint32_t offset) const {
  if (copy.access.by == By::kAsyncCopy) {
    const bool is_same = &thread_of(reader, *cta.cluster) == &thread_of(copy, *cta.cluster);
    return {.code = FaultCode::kReadBeforeFull,
            .headline = fmt::format("{} are read before the cp.async that fills them is known to be complete",
                                    bytes_at(cta, offset, reader.access.bytes & copy.access.bytes)),
            .details = {
                line(reader, *cta.cluster), line(copy, *cta.cluster),
                is_same ? "likely: no cp.async.wait_group that covers it, or cp.async.wait_all, before the read"
                        : "likely: the thread that issued it does not wait for it (cp.async.wait_group, "
                          "cp.async.wait_all) before the barrier that hands the bytes over"}};
  }
  return {.code = FaultCode::kReadBeforeFull,
          .headline = fmt::format("{} is read before the copy that fills it is known to be complete",
                                  stage_of(copy, cta, offset)),
          .details = {line(reader, *cta.cluster), line(copy, *cta.cluster), likely_too_early(reader, copy, cta)}};
}

std::string RaceReport::likely_too_early(const Side& reader, const Side& copy, const CtaOrder& cta) const {
  const BarrierOrder* barrier = barrier_of(copy, cta);
  const std::string full = barrier == nullptr ? "the copy's barrier" : name_of(*barrier);
  const ThreadOrder& by = thread_of(reader, *cta.cluster);
  if (barrier != nullptr && reader.access.by != By::kCopy && barrier->cta == by.warp->cta &&
      barrier->place < by.turns.size() && by.turns[barrier->place].is_stale) {
    return fmt::format("likely: it waited for phase {} of {} a second time; the parity to wait for does not flip",
                       (by.turns[barrier->place].phase - 1) & 1, full);
  }
  if (barrier == nullptr || reader.access.is_async() || barrier->cta != by.warp->cta) {
    return fmt::format("the reader has acquired nothing from {} since the copy was issued", full);
  }
  const bool has_turn = barrier->place < by.turns.size() && by.turns[barrier->place].phase != 0;
  if (!has_turn) return fmt::format("likely: no wait for {} before the read", full);
  return fmt::format("its last wait for {} ended with phase {}, before this fill was complete", full,
                     (by.turns[barrier->place].phase - 1) & 1);
}

std::string RaceReport::likely_source_overwritten(const Side& write, const Side& reader,
                                                  const CtaOrder& cta) const {
  if (reader.access.by == By::kMma) return no_mma_wait(reader);
  const IssuedCopy& copy = order_.copy(reader.access.lanes);
  if (copy.kind == CopyKind::kSharedToPeer) return "likely: no wait for the barrier that the copy completes on";
  if (&thread_of(write, *cta.cluster) == copy.issuer) {
    return copy.issuer->commits < copy.group ? "likely: no cp_async_bulk_commit_group() after the copy, without "
                                               "which no wait for groups covers it"
                                             : "likely: no wait between the two covers the copy; "
                                               "cp_async_bulk_wait_group_read<N>() leaves the N "
                                               "newest groups";
  }
  if (copy.issuer->known[copy.groups] >= copy.group) {
    return fmt::format("{} has waited for the copy, and nothing leads from that wait to the write",
                       name_of(*copy.issuer));
  }
  return "likely: the thread that issued the copy does not wait for it (cp_async_bulk_wait_group_read) before it "
         "lets others write; a wait in another thread waits for nothing";
}

std::string RaceReport::likely_overwritten(const Side& copy, const Side& reader, const CtaOrder& cta) const {
  const IssuedCopy& filling = order_.copy(copy.access.lanes);
  const View view = View::of(filling);
  const ThreadOrder& by = thread_of(reader, *cta.cluster);
  if (reader.access.by == By::kMma && knows_issue(view, reader, *cta.cluster)) return no_mma_wait(reader);
  if (!reader.access.is_async()) {
    const WarpOrder& warp = *by.warp;
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      if (lane == reader.lane || !view.knows(warp, lane, reader.access.epoch)) continue;
      return fmt::format(
          "likely: lane {} arrived for its warp before the other lanes were done; syncwarp() before "
          "an elected arrive",
          lane);
    }
    if (&cta != filling.issuer->warp->cta) return kCtaScope;
    const BarrierOrder* barrier = barrier_of(copy, cta);
    if (barrier != nullptr && barrier->place < by.turns.size()) {
      const Epoch taken = by.turns[barrier->place].released_before;
      if (view.knows(warp, reader.lane, taken + 1)) {
        return "likely: the stage is released before its last read, or read again without a wait for its next "
               "fill";
      }
    }
  }
  if (&cta != filling.issuer->warp->cta) return kCtaScope;
  return knowledge(reader, copy, cta) +
         "whoever reads the stage hands it back, and the copy is issued after that";
}

// What the second knows of the thread of the first, which does not include the first.
std::string RaceReport::knowledge(const Side& before, const Side& now, const CtaOrder& cta) const {
  const ThreadOrder& first = thread_of(before, *cta.cluster);
  const ThreadOrder& second = thread_of(now, *cta.cluster);
  if (&first == &second) return {};
  const bool has_some = (*view_of(now, *cta.cluster).known)[first.warp->component(first.lane)] != 0;
  return has_some ? fmt::format("{} has acquired what {} did before this, and not this: ", name_of(second),
                                name_of(first))
                  : fmt::format("{} has acquired nothing from {}: ", name_of(second), name_of(first));
}

std::string RaceReport::why_race(const Side& before, const Side& now, const CtaOrder& cta) const {
  const ThreadOrder& a = thread_of(before, *cta.cluster);
  const ThreadOrder& b = thread_of(now, *cta.cluster);
  for (const Side* side : {&before, &now}) {
    if (side->access.by != By::kAsyncCopy) continue;
    return "a cp.async is over when its thread has waited for it (cp.async.wait_group, cp.async.wait_all), or a "
           "barrier that it is tracked by (cp.async.mbarrier.arrive) has been waited for";
  }
  const bool is_alloc = before.access.by == By::kAlloc || now.access.by == By::kAlloc;
  const std::string known = knowledge(before, now, cta);
  if (before.access.is_async() && now.access.is_async() && !is_alloc) {
    return known + "the second is issued after a wait for the first to complete";
  }
  if (a.warp->cta != b.warp->cta) {
    return known +
           "threads of different CTAs are ordered at cluster scope only, by a cluster barrier that releases, or "
           "mbarrier_arrive_cluster with mbarrier_try_wait_parity_cluster";
  }
  if ((before.access.is_async() || now.access.is_async()) && !is_alloc) {
    return known +
           "a barrier leads from the thread's access to the threads that issue the asynchronous one, or from its "
           "completion to the thread";
  }
  if (a.warp == b.warp) return known + "lanes of a warp are ordered by syncwarp()";
  return known + "bar_sync() orders them, or an mbarrier on which one arrives and for which the other waits";
}

// The cluster may have ended.
Departed RaceReport::who_made(const Side& side, std::uint32_t& lane) const {
  lane = side.lane;
  if (side.access.by != By::kCopy) return order_.who(side.access.cluster, side.access.who);
  const IssuedCopy& copy = order_.copy(side.access.lanes);
  lane = copy.self % 32;
  return order_.who(copy.cluster_number, copy.self / 32);
}

std::string RaceReport::global_deed(const Side& side) const {
  if (side.access.by != By::kCopy) return verb_of(side.access, "global");
  const char* copy = machine::name_of(order_.copy(side.access.lanes).kind);
  return side.access.is_map ? fmt::format("{} by the tensor map", copy) : copy;
}

std::string RaceReport::global_line(const Side& side) const {
  std::uint32_t lane = 0;
  const Departed who = who_made(side, lane);
  const std::string deed =
      fmt::format("{}{}{}warp {}, lane {}: {}", machine_.has_one_cta() ? std::string() : block(who.cta) + ", ",
                  who.role, *who.role == '\0' ? "" : ", ", who.first_thread / 32, lane, global_deed(side));
  return fmt::format("{:<62} {}", deed, place(site_of(side)));
}

Finding RaceReport::global_conflict(const Side& before, const Side& now, const View& view,
                                    std::uint64_t address) const {
  const auto both = static_cast<std::uint16_t>(before.access.bytes & now.access.bytes);
  const std::uint64_t first = address / kGranule * kGranule + static_cast<std::uint64_t>(std::countr_zero(both));
  Finding finding;
  finding.code = FaultCode::kGlobalRace;
  finding.headline = fmt::format("{} and {} touch {}, and nothing orders them", some(global_deed(before)),
                                 some(global_deed(now)), machine_.global().describe(first));
  finding.details = {global_line(before), global_line(now), why_unordered(before, now, view)};
  return finding;
}

Finding RaceReport::not_coherent(const Side& write, const Side& read, std::uint64_t address) const {
  const auto both = static_cast<std::uint16_t>(write.access.bytes & read.access.bytes);
  const std::uint64_t first = address / kGranule * kGranule + static_cast<std::uint64_t>(std::countr_zero(both));
  return {.code = FaultCode::kGlobalRace,
          .headline = fmt::format("an ld.global.nc reads {}, which was written in this launch",
                                  machine_.global().describe(first)),
          .details = {
              global_line(write), global_line(read),
              "ld.global.nc (__ldg, or a const __restrict__ pointer) may give what was there before the launch, "
              "whatever orders the two"}};
}

// What is proven of two accesses that nothing orders.
std::string RaceReport::why_unordered(const Side& before, const Side& now, const View& view) const {
  if ((before.access.is_hint && now.access.is_strong) || (now.access.is_hint && before.access.is_strong)) {
    const Access& hint = before.access.is_hint ? before.access : now.access;
    return fmt::format("{}: .relaxed, or volatile, says that others watch the word",
                       hint.scope == MemoryScope::kSys ? "a cache operator is a hint, which orders nothing"
                                                       : "a compare-and-swap checks what the plain load gave");
  }
  if (before.access.is_strong && now.access.is_strong) {
    const MemoryScope narrowest = std::min(before.access.scope, now.access.scope);
    std::uint32_t of_lane = 0;
    const bool is_near = before.access.cluster == view.cluster;
    const bool is_included = narrowest >= MemoryScope::kGpu || (is_near && narrowest == MemoryScope::kCluster) ||
                             (is_near && who_made(before, of_lane).cta == who_made(now, of_lane).cta);
    if (is_included && before.access.size() != now.access.size()) {
      return fmt::format(
          "one has {} bytes and the other {}: they do not overlap completely, which strong accesses do "
          "where they need no other order",
          before.access.size(), now.access.size());
    }
    if (is_included) {
      return "strong accesses order nothing but their own word: the second may give what was there before the "
             "first, "
             "without a release and an acquire, fences or a barrier between";
    }
    return fmt::format("their scopes, {} and {}, do not include each other's thread",
                       scope_name(before.access.scope), scope_name(now.access.scope));
  }
  std::uint32_t lane = 0;
  const Departed was = who_made(before, lane);
  if (before.access.by == By::kCopy) {
    const IssuedCopy& copy = order_.copy(before.access.lanes);
    if (view.knows(copy.cluster_number, copy.self, copy.issued)) {
      return is_store(copy.kind)
                 ? "the second knows that the copy was issued, and not that it is complete: "
                   "cp.async.bulk.wait_group in its thread, without .read, is not on the way"
                 : "the second knows that the copy was issued, and not that it is complete: no wait for "
                   "its barrier is on the way";
    }
  }
  if (was.cta == who_made(now, lane).cta)
    return "bar_sync() orders threads of a CTA, and there is none on the way";
  if (before.access.cluster == view.cluster) {
    return "a cluster barrier orders threads of a cluster, and there is none on the way";
  }
  return view.known->world.of(before.access.cluster).is_null()
             ? fmt::format("the second has acquired nothing that {} released at the scope of the GPU",
                           block(was.cta))
             : fmt::format(
                   "what the second has acquired of {} at the scope of the GPU does not include the first",
                   block(was.cta));
}

Finding RaceReport::missing_global_fence(const Side& before, const Side& copy, std::uint64_t address) const {
  const auto both = static_cast<std::uint16_t>(before.access.bytes & copy.access.bytes);
  const std::uint64_t first = address / kGranule * kGranule + static_cast<std::uint64_t>(std::countr_zero(both));
  const char* fence = copy.access.is_map ? "fence.proxy.tensormap::generic" : "fence.proxy.async";
  return {
      .code = FaultCode::kMissingProxyFence,
      .headline = fmt::format("a {} {} {} after {}, without {} between the two",
                              machine::name_of(order_.copy(copy.access.lanes).kind),
                              copy.access.is_map     ? "takes its tensor map from"
                              : copy.access.is_write ? "overwrites"
                                                     : "reads",
                              machine_.global().describe(first), some(verb_of(before.access, "global")), fence),
      .details = {global_line(before), global_line(copy),
                  copy.access.is_map
                      ? "the thread that wrote the map, or one that it told, fences with .release, and the one "
                        "that issues the copy, or one before it, with .acquire on the map's 128 bytes"
                      : "it stands in the thread of the first after the access, or in a thread between the two, "
                        "or before the copy in the thread that issues it; .shared::cta says nothing of global "
                        "memory"}};
}

Finding RaceReport::missing_proxy_fence(const Side& write, const Side& copy, const CtaOrder& cta,
                                        std::uint32_t offset) const {
  const bool is_copy = copy.access.by == By::kCopy;
  const auto both = static_cast<std::uint16_t>(write.access.bytes & copy.access.bytes);
  Finding finding;
  finding.code = FaultCode::kMissingProxyFence;
  finding.headline = fmt::format(
      "a {} {} {} after {}, without fence.proxy.async between the two",
      is_copy ? machine::name_of(order_.copy(copy.access.lanes).kind) : order_.mma(copy.access.lanes).name,
      copy.access.is_write ? "overwrites" : "reads", bytes_at(cta, offset, both),
      write.access.by == By::kAsyncCopy ? "a cp.async"
      : write.access.is_write           ? "an st.shared"
                                        : "an ld.shared");
  finding.details = {
      line(write, *cta.cluster), line(copy, *cta.cluster),
      "likely: fence_proxy_async_shared_cta() is missing, in every thread of the first, before the barrier "
      "that hands the bytes over; or after that barrier, in the thread that goes on"};
  return finding;
}

Finding RaceReport::unwritten(const Side& read, const CtaOrder& cta, std::uint32_t offset, std::uint16_t bytes,
                              const std::optional<Side>& made) const {
  if (made) {
    return {
        .code = FaultCode::kUninitialisedRead,
        .headline = fmt::format("{} reads {}, to which values were stored that come from memory that nobody has "
                                "written",
                                some(deed(read)), bytes_at(cta, offset, bytes)),
        .details = {line(*made, *cta.cluster), line(read, *cta.cluster)}};
  }
  return {.code = FaultCode::kUninitialisedRead,
          .headline = fmt::format("{} reads {}, which nobody has written", some(deed(read)),
                                  bytes_at(cta, offset, bytes)),
          .details = {line(read, *cta.cluster), "shared memory starts with arbitrary contents"}};
}

Finding RaceReport::narrow_wait(const BarrierOrder& barrier, const event::BarrierPass& wait) const {
  return {.code = FaultCode::kNarrowScope,
          .headline = fmt::format("a wait without a scope for {}, on which a thread of {} has arrived",
                                  name_of(barrier), block(barrier.remote_by->warp->cta->linear)),
          .details = {line(*barrier.remote_by, "mbarrier.arrive", barrier.remote_site),
                      line(order_.thread(wait), "waits", wait.site),
                      "a wait without a scope is one of CTA scope; .acquire.cluster takes over what a peer has "
                      "released"}};
}

Finding RaceReport::init_not_visible(const BarrierOrder& barrier, const ThreadOrder& user, CallSite site,
                                     bool met_relaxed) const {
  const bool is_peer = user.warp->cta != barrier.cta;
  Finding finding;
  finding.code = met_relaxed ? FaultCode::kMissingInitFence : FaultCode::kInitNotVisible;
  finding.headline =
      met_relaxed
          ? fmt::format("{} is used after a relaxed cluster barrier, without fence.mbarrier_init before it",
                        name_of(barrier))
          : fmt::format("{} is used by a thread to which its initialisation is not known to be visible",
                        name_of(barrier));
  finding.details = {line(*barrier.initialiser, "mbarrier.init", barrier.site), line(user, "uses it", site)};
  if (met_relaxed) {
    finding.details.push_back("likely: fence_mbarrier_init() is missing after the initialisation");
  } else {
    finding.details.push_back(
        fmt::format("likely: {} is missing between the two",
                    is_peer ? "a cluster barrier" : "syncthreads(), or a cluster barrier,"));
  }
  return finding;
}

Finding RaceReport::init_not_fenced(const BarrierOrder& barrier, const IssuedCopy& copy, CallSite site,
                                    bool is_ordered) const {
  Finding finding;
  finding.code = is_ordered ? FaultCode::kMissingInitFence : FaultCode::kInitNotVisible;
  finding.headline =
      is_ordered
          ? fmt::format("a {} completes on {}, which was initialised without fence.mbarrier_init after it",
                        machine::name_of(copy.kind), name_of(barrier))
          : fmt::format("a {} completes on {}, whose initialisation is not known to be visible to its issuer",
                        machine::name_of(copy.kind), name_of(barrier));
  finding.details = {
      line(*barrier.initialiser, "mbarrier.init", barrier.site),
      line(*copy.issuer, fmt::format("{} of {} bytes", machine::name_of(copy.kind), copy.bytes), site),
      is_ordered ? "likely: fence_mbarrier_init() is missing after the initialisation, in the same thread"
                 : "likely: syncthreads(), or a cluster barrier for a peer's barrier, is missing between "
                   "the two"};
  return finding;
}

}  // namespace heddle::sim::check
