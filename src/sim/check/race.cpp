// SPDX-License-Identifier: Apache-2.0
#include "sim/check/race.h"

#include "sim/machine/machine.h"

#include <algorithm>
#include <bit>

namespace heddle::sim::check {

using machine::kOffsetMask;
using machine::kRankShift;

namespace {

std::uint16_t mask_in_granule(std::uint32_t begin, std::uint32_t end) {
  return static_cast<std::uint16_t>(((1u << (end - begin)) - 1) << begin % kGranule);
}

}  // namespace

void RaceChecker::on_event(const Event& event) {
  if (sink_.stop()) return;
  // A cp.async reads global memory first: those of the other lanes follow it.
  if (!batch_.is_empty() && !std::holds_alternative<event::GlobalRead>(event) &&
      !std::holds_alternative<event::GlobalWrite>(event) && !std::holds_alternative<event::AsyncIssue>(event)) {
    flush();
    if (sink_.stop()) return;
  }
  if (order_.has_apart() && !Order::may_stay_apart(event)) order_.settle();
  std::visit(
      [this]<class Kind>(const Kind& kind) {
        if constexpr (detail::Watches<RaceChecker, Kind>) {
          on(kind);
        } else if constexpr (detail::Watches<Order, Kind>) {
          order_.on(kind);
        }
      },
      event);
}

void RaceChecker::on(const event::SharedStrong& event) {
  if (const std::optional<Home> target = target_of(event)) {
    strong_access(order_.thread(event), event.bytes, event.strong, event.site,
                  spot_of(*target, event.address & kOffsetMask));
  }
}

void RaceChecker::on(const event::GlobalStrong& event) {
  strong_access(order_.thread(event), event.bytes, event.strong, event.site, spot_of(event.global));
}

void RaceChecker::on(const event::MmaTouchTmem& event) { tmem_.on(event); }

void RaceChecker::on(const event::TmemMove& event) { tmem_.on(event); }

void RaceChecker::on(const event::TmemAlloc& event) {
  if (event.cta_group == 2 && lifetime_.stops_for_pair(order_.thread(event), true, event.site)) return;
  tmem_.on(event);
}

void RaceChecker::on(const event::TmemDealloc& event) {
  if (event.cta_group == 2 && lifetime_.stops_for_pair(order_.thread(event), false, event.site)) return;
  tmem_.on(event);
}

void RaceChecker::on(const event::BarrierInit& event) {
  const Home& home = home_of(event.cta);
  const ThreadOrder& thread = home.cta->threads[event.thread];
  const std::uint32_t offset = event.address & kOffsetMask;
  write_shared(home, offset, thread,
               Access::of(thread, offset, sizeof(SharedMemBarrier), true, sites_.number(event.site)));
  order_.on(event);
}

void RaceChecker::on(const event::BarrierPass& event) {
  if (event.scope == EventScope::kUnsaid && stops_for_scope(event)) return;
  use_barrier(event.barrier, order_.thread(event), event.site);
  if (lifetime_.stops_for_parity(event)) return;
  lifetime_.on(event);
  order_.on(event);
}

void RaceChecker::on(const event::BarrierArrive& event) {
  use_barrier(event.barrier, order_.thread(event), event.site);
  lifetime_.on(event);
  order_.on(event);
}

void RaceChecker::on(const event::BarrierExpect& event) {
  use_barrier(event.barrier, order_.thread(event), event.site);
  lifetime_.on(event);
}

void RaceChecker::on(const event::BarrierBlock& event) {
  use_barrier(event.barrier, order_.thread(event), event.site);
  lifetime_.on(event);
}

void RaceChecker::on(const event::AsyncArrive& event) {
  use_barrier(event.barrier, order_.thread(event), event.site);
  lifetime_.on(event);
  order_.on(event);
}

void RaceChecker::on(const event::CopyIssue& event) {
  order_.on(event);
  lifetime_.on(event);
}

void RaceChecker::on(const event::BarrierInval& event) {
  use_barrier(event.barrier, order_.thread(event), event.site);
  lifetime_.stops_for_inval(event);
}

void RaceChecker::on(const event::BarrierPhase& event) {
  order_.on(event);
  lifetime_.stops_for_phase(event);
}

void RaceChecker::on(const event::BarrierComplete& event) {
  if (event.copy != 0) return complete_on_barrier(event);
  lifetime_.complete_by_hand(event);
  use_barrier(event.barrier, order_.thread(event), event.site);
}

std::optional<RaceChecker::Home> RaceChecker::peer_of(const ThreadOrder& by, std::uint32_t rank, bool reads,
                                                      CallSite site) {
  CtaOrder& peer = *by.warp->cta->cluster->ctas[rank];
  if (lifetime_.stops_for_peer(by, peer, reads ? "ld.shared" : "st.shared", site)) return std::nullopt;
  return Home{peer.linear, &peer, memories_[peer.linear].get()};
}

void RaceChecker::on(const event::CtaStart& event) {
  order_.on(event);
  memories_.set(event.cta, std::unique_ptr<Memory>(new Memory{Shadow(event.shared_bytes), {}, {}}));
}

void RaceChecker::on(const event::CtaExit& event) {
  const CtaOrder& cta = order_.cta(event.cta);
  if (stops_for_reads(event.cta)) return;
  if (lifetime_.stops_for_exit(cta)) return;
  memories_.erase(event.cta);
  spare_loads_.forget(event.cta);
  tmem_.forget(event.cta);
  home_ = {};
  order_.on(event);
}

// PTX: ldmatrix, stmatrix: the address of a row is one lane's, the bytes are those of four or eight lanes.
template <class Kind, class Each>
void RaceChecker::move_row(const Kind& event, const Home& target, bool is_write, const Each& each) {
  const std::uint32_t offset = event.address & kOffsetMask;
  const std::uint32_t lanes = event.parts.lanes;
  const ThreadOrder* threads = home_.cta->threads.data() + event.thread / 32 * 32;
  const ThreadOrder& first = threads[std::countr_zero(lanes)];
  Shadow& shadow = target.memory->shadow;
  Granule& granule = shadow.at(offset);
  const auto whole = mask_in_granule(offset, offset + event.bytes);
  bool is_known = event.parts.bytes == 4 && granule.strong == 0 && (whole & ~granule.read_unwritten) == whole &&
                  (is_write || (whole & ~granule.written) == 0);
  for (std::uint32_t left = lanes & (lanes - 1); is_known && left != 0; left &= left - 1)
    is_known = threads[std::countr_zero(left)].known.is_same(first.known);
  // What one of them knows by itself alone is for each to be judged.
  const View view = View::of(first).without_self();
  is_known = is_known && !shadow.find(granule, whole, !is_write, [&](const Access& before) {
    return before.unknown_to(view, whole).has_value();
  });
  if (is_known) {
    Access access = Access::of(first, offset, 4, is_write, sites_.number(event.site));
    access.lanes = lanes;
    access.bytes = whole;
    is_write ? shadow.record_write(granule, access) : shadow.record_read(granule, access, view);
    return;
  }
  std::uint32_t left = lanes;
  for (std::uint32_t at = 0; at < event.bytes && !sink_.stop(); at += event.parts.bytes) {
    each(threads[std::countr_zero(left)], offset + at, event.parts.bytes);
    left &= left - 1;
    if (left == 0) left = lanes;
  }
}

void RaceChecker::on(const event::SharedRead& event) {
  if (has_polls_) order_.thread(event).is_polling = false;
  const std::optional<Home> target = target_of(event);
  if (!target) return;
  if (event.parts.lanes != 0) {
    return move_row(event, *target, false,
                    [&](const ThreadOrder& thread, std::uint32_t offset, std::uint32_t bytes) {
                      read_shared(*target, offset, bytes, thread, event.site);
                    });
  }
  read_shared(*target, event.address & kOffsetMask, event.bytes, home_.cta->threads[event.thread], event.site);
}

void RaceChecker::read_shared(const Home& target, std::uint32_t offset, std::uint32_t bytes,
                              const ThreadOrder& thread, CallSite site) {
  const CtaOrder& cta = *target.cta;
  Memory& memory = *target.memory;
  Granule& granule = memory.shadow.at(offset);
  const Access access = Access::of(thread, offset, bytes, false, sites_.number(site));
  const bool is_fresh = (access.bytes & ~granule.written & ~granule.read_unwritten) != 0;
  if (!is_fresh && memory.shadow.has_read(granule, access)) return;
  const View view = View::of(thread);
  const bool stops = memory.shadow.find(granule, access.bytes, true, [&](const Access& write) {
    const std::optional<std::uint32_t> lane = write.unknown_to(view, access.bytes);
    return lane && stops_for_conflict({write, *lane}, {access, thread.lane}, cta, offset, granule,
                                      is_heard(write, thread, access.bytes));
  });
  if (stops || stops_for_strong(spot_of(target, offset), {access, thread.lane}, view)) return;
  if ((access.bytes & ~granule.written) != 0) {
    note_unwritten(cta, granule, offset, access.bytes, {access, thread.lane});
  }
  memory.shadow.record_read(granule, access, view);
}

void RaceChecker::on(const event::SharedWrite& event) {
  if (has_polls_) order_.thread(event).is_polling = false;
  const std::optional<Home> target = target_of(event);
  if (!target) return;
  const std::uint16_t site = sites_.number(event.site);
  if (stops_for_use(home_.cta->threads[event.thread], site)) return;
  const auto write = [&](const ThreadOrder& thread, std::uint32_t offset, std::uint32_t bytes) {
    Access access = Access::of(thread, offset, bytes, true, site);
    access.keeps_value = event.keeps_value;
    access.rounds_value = event.rounds_value;
    if (event.is_alloc) {
      access.by = By::kAlloc;
      access.lanes = access.who = thread.warp->component(thread.lane);
      access.width = 0;
    }
    write_shared(*target, offset, thread, access);
  };
  if (event.parts.lanes != 0) return move_row(event, *target, true, write);
  write(home_.cta->threads[event.thread], event.address & kOffsetMask, event.bytes);
}

void RaceChecker::write_shared(const Home& target, std::uint32_t offset, const ThreadOrder& thread,
                               const Access& access) {
  const CtaOrder& cta = *target.cta;
  Memory& memory = *target.memory;
  Granule& granule = memory.shadow.at(offset);
  const View view = View::of(thread);
  const Side now{access, thread.lane};
  const Spot spot = spot_of(target, offset);
  bool is_beside = false;
  const bool stops = memory.shadow.find(granule, access.bytes, false, [&](const Access& before) {
    const std::optional<std::uint32_t> lane = before.unknown_to(view, access.bytes);
    if (!lane) return false;
    // A load is over when its lane has exchanged registers with all others: a warp's loads and stores of shared
    // memory are carried out in its order.
    const bool is_over = !before.is_write && !before.is_strong && before.by == By::kThread &&
                         !access.is_async() && before.cluster == access.cluster && before.who == access.who &&
                         before.epoch <= thread.warp->exchanged;
    const bool is_formal = is_over || is_heard(before, thread, access.bytes);
    if (stops_for(spot, {before, *lane}, now, view, is_beside, is_formal)) return true;
    if (!before.is_write) forget_unwritten(memory, granule, offset, before.bytes & access.bytes);
    return false;
  });
  if (stops || stops_for_strong(spot, now, view)) return;
  if ((granule.read_unwritten & access.bytes) != 0) settle_unwritten(cta, offset / kGranule);
  is_beside ? memory.shadow.record_write_beside(granule, access) : memory.shadow.record_write(granule, access);
}

// A write of the thread from here until its wait: as nobody knows it before, whatever comes between is in
// conflict.
void RaceChecker::on(const event::AsyncIssue& event) {
  order_.on(event);
  const std::optional<Home> target = target_of(event);
  if (!target) return;
  const ThreadOrder& thread = home_.cta->threads[event.thread];
  const std::uint32_t offset = event.address & kOffsetMask;
  Access access = Access::of(thread, offset, event.bytes, true, sites_.number(event.site));
  access.by = By::kAsyncCopy;
  access.epoch = static_cast<Epoch>(event.number);
  access.who = thread.warp->async_copies;
  write_shared(*target, offset, thread, access);
  if (event.brings_unwritten) unwrite_copied(*target->memory, offset, access.bytes);
}

// PTX: st.async, red.async: writes of the generic proxy, though a barrier tells when they are done.
bool RaceChecker::is_async_store(const Access& access) const {
  return access.by == By::kCopy && order_.copy(access.lanes).kind == CopyKind::kStoreAsync;
}

// PTX: red.async: a relaxed operation of cluster scope, which needs no order with others of its kind nor with the
// atomic operations of threads at that scope or a wider one. Nor do cp.reduce.async.bulk among themselves.
bool RaceChecker::are_both_reductions(const Access& one, const Access& other) const {
  const auto is_bulk = [&](const Access& access) { return access.by == By::kCopy && !is_async_store(access); };
  if (is_bulk(one) != is_bulk(other)) return false;
  const auto is_one = [&](const Access& access) {
    if (access.by == By::kCopy) return order_.copy(access.lanes).is_async_reduction;
    return access.is_strong && access.is_read && access.is_write && access.scope >= MemoryScope::kCluster;
  };
  return one.is_write && other.is_write && is_one(one) && is_one(other);
}

// PTX: Memory Consistency Model: Causality order: proxy-preserved base causality order.
bool RaceChecker::is_unfenced(Fenced kind, const Access& before, std::uint16_t bytes, const View& view,
                              std::uint32_t& lane) const {
  if (before.by == By::kAsyncCopy) {
    for (std::uint32_t left = before.lanes_at(bytes); left != 0; left &= left - 1) {
      lane = static_cast<std::uint32_t>(std::countr_zero(left));
      if (view.known->fenced(kind, before.who + lane) < before.epoch) return true;
    }
    return false;
  }
  if (is_async_store(before)) {
    lane = 0;
    return view.known->fenced(kind, before.who) < before.epoch;
  }
  if (before.is_async()) return false;
  for (std::uint32_t left = before.lanes_at(bytes); left != 0; left &= left - 1) {
    lane = static_cast<std::uint32_t>(std::countr_zero(left));
    if (!view.knows_fenced(kind, before.cluster, 32 * before.who + lane, before.epoch)) return true;
  }
  return false;
}

void RaceChecker::on(const event::CopyReadShared& event) {
  copy_in_shared({event.address, event.bytes}, event.copy, event.barrier, false);
}

void RaceChecker::on(const event::CopyWriteShared& event) {
  const SharedPart part{event.address, event.bytes, event.brings_unwritten};
  if (!copy_in_shared(part, event.copy, event.barrier, true) || event.row_pitch == 0) return;
  const std::uint32_t begin = event.address & kOffsetMask;
  fill_gaps(memory_of(*order_.copy(event.copy).cluster->ctas[event.address >> kRankShift]), begin,
            begin + event.bytes, event.row_pitch);
}

bool RaceChecker::copy_in_shared(const SharedPart& part, std::uint64_t id, std::uint32_t barrier, bool is_write) {
  const IssuedCopy& copy = order_.copy(id);
  Access access{.lanes = static_cast<std::uint32_t>(id),
                .cluster = static_cast<std::uint32_t>(copy.cluster_number),
                .by = By::kCopy,
                .is_write = is_write};
  if (copy.kind == CopyKind::kStore || copy.kind == CopyKind::kReduce) {
    access.epoch = copy.group;
    access.who = copy.issuer->groups;
  } else {
    const ClusterOrder::BarrierTime& time = *order_.barrier(barrier).time;
    access.epoch = time.reached + 1;
    access.who = time.component;
  }
  const View view = View::of(copy);
  return async_in_shared(part, access, *copy.cluster, {&view, 1});
}

void RaceChecker::on(const event::MmaReadShared& event) {
  const IssuedMma& mma = order_.mma(event.operation);
  const Access access{.epoch = mma.number,
                      .lanes = static_cast<std::uint32_t>(event.operation),
                      .who = mma.component,
                      .cluster = static_cast<std::uint32_t>(mma.cluster->number),
                      .by = By::kMma};
  std::vector<View> views;
  for (const IssuedMma::Part& part : mma.parts) views.push_back(View::of(part));
  async_in_shared({event.address, event.bytes}, access, *mma.cluster, views);
}

// PTX: generic writes need fence.proxy.async before the async proxy reads or overwrites the bytes, and generic
// reads before it overwrites them; what the async proxy wrote needs none once its completion has been waited for.
// That reads are over is granted by every chip where the bytes are handed back, so that the second is formal.
bool RaceChecker::async_in_shared(const SharedPart& part, Access access, const ClusterOrder& cluster,
                                  std::span<const View> views) {
  const CtaOrder& cta = *cluster.ctas[part.address >> kRankShift];
  Memory& memory = memory_of(cta);
  const std::uint32_t begin = part.address & kOffsetMask;
  const std::uint32_t end = begin + part.bytes;
  const bool is_of_async_proxy = !is_async_store(access);
  const bool is_reduction = access.by == By::kCopy && order_.copy(access.lanes).is_async_reduction;
  std::uint16_t told =
      0;  // the place of a read that this copy overwrites without a fence: once for each is enough
  for (std::uint32_t at = begin; at < end; at = at / kGranule * kGranule + kGranule) {
    Granule& granule = memory.shadow.at(at);
    access.bytes = mask_in_granule(at, std::min(end, at / kGranule * kGranule + kGranule));
    bool is_beside = false;
    const auto judge = [&](const Access& before) {
      if (before.by == access.by && before.lanes == access.lanes) return false;
      if (is_reduction && are_both_reductions(before, access)) {
        is_beside = true;
        return false;
      }
      // The word of an allocation beside bytes that nobody has written: what is multiplied there means nothing,
      // whichever of the two comes first, and whoever uses the product is told.
      if (before.by == By::kAlloc && access.by == By::kMma && judges_uses_ &&
          (access.bytes & ~granule.written) != 0) {
        return false;
      }
      for (std::uint32_t v = 0; v < views.size(); ++v) {
        const Side now{access, v};
        if (const std::optional<std::uint32_t> lane = before.unknown_to(views[v], access.bytes)) {
          // A thread that has read its bytes and met the others at a relaxed barrier is through with them.
          // So is the allocator with the word that it wrote for them.
          const bool is_over = before.by == By::kAlloc
                                   ? views[v].known->met(before.who) >= before.epoch
                                   : !before.is_write && before.by == By::kThread &&
                                         views[v].has_met(*cluster.warps[before.who], *lane, before.epoch);
          if (stops_for_conflict({before, *lane}, now, cta, at, granule, is_over)) return true;
          if (!before.is_write) forget_unwritten(memory, granule, at, before.bytes & access.bytes);
        } else if (std::uint32_t by = 0; is_of_async_proxy && (before.is_write || before.site != told) &&
                                         is_unfenced(Fenced::kShared, before, access.bytes, views[v], by)) {
          const Side first{before, by};
          if (!before.is_write) told = before.site;
          const bool stops_for_fence =
              sink_.stops(FaultCode::kMissingProxyFence, before.is_write ? Verdict::kWrong : Verdict::kFormal,
                          {report_.site_of(first), report_.site_of(now)},
                          [&] { return report_.missing_proxy_fence(first, now, cta, at); });
          if (stops_for_fence) return true;
        }
      }
      return false;
    };
    // What a thread has stored under a copy in flight is the cause, and not who reads it from there.
    const Access& stored = granule.write;
    const bool is_stored_under = access.is_write && stored.by == By::kThread &&
                                 (stored.bytes & access.bytes) != 0 &&
                                 stored.unknown_to(views.front(), access.bytes).has_value();
    if (is_stored_under && judge(stored)) return false;
    const auto judge_rest = [&](const Access& before) {
      return !(is_stored_under && &before == &stored) && judge(before);
    };
    if (memory.shadow.find(granule, access.bytes, !access.is_write, judge_rest)) return false;
    if (const StrongAccesses* strong = memory.shadow.strong(granule); strong != nullptr) {
      const auto is_wrong = [&](const Access& before) {
        return (before.bytes & access.bytes) != 0 && (before.is_write || access.is_write) && judge(before);
      };
      if (std::any_of(strong->accesses.begin(), strong->accesses.end(), is_wrong)) return false;
    }
    if (access.is_write) {
      if ((granule.read_unwritten & access.bytes) != 0) settle_unwritten(cta, at / kGranule, &access);
      is_beside ? memory.shadow.record_write_beside(granule, access)
                : memory.shadow.record_write(granule, access);
      if (part.brings_unwritten) unwrite_copied(memory, at, access.bytes);
    } else {
      const auto fresh = static_cast<std::uint16_t>(access.bytes & ~granule.written & ~granule.brought);
      if (fresh != 0) {
        note_unwritten(cta, granule, at, fresh, {access, 0});
        if (access.by == By::kMma && judges_uses_) {
          tmem_.spoil(access.lanes).add_bytes(cta.linear, at / kGranule * kGranule, fresh);
        }
      }
      memory.shadow.record_read(granule, access, views.front());
    }
  }
  return true;
}

// Model: what lies between the rows of a box counts as written once the rows have landed, though with what is
// not known. A kernel that moves whole tiles about reads it, and does no harm.
void RaceChecker::fill_gaps(Memory& memory, std::uint32_t begin, std::uint32_t end, std::uint32_t row) {
  const std::uint32_t last = (end + row - 1) / row * row;
  for (std::uint32_t at = begin / row * row; at < last; at += kGranule) memory.shadow.at(at).written = 0xffff;
}

// Model: whole rows of a tile may be padding that nobody wrote, so that tensor cores and further copies take such
// bytes as they come: what they make of other rows is right. Threads that use them are told.
void RaceChecker::unwrite_copied(Memory& memory, std::uint32_t offset, std::uint16_t bytes) {
  if (!judges_uses_) return;
  Granule& granule = memory.shadow.at(offset);
  for (std::uint32_t b = 0; b < kGranule && !memory.parts.empty(); ++b) {
    if ((bytes >> b & 1) != 0) memory.parts.erase(offset / kGranule * kGranule + b);
  }
  granule.written &= static_cast<std::uint16_t>(~bytes);
  granule.brought |= bytes;
}

void RaceChecker::note_unwritten(const CtaOrder& cta, Granule& granule, std::uint32_t offset, std::uint16_t bytes,
                                 const Side& by) {
  Memory& memory = memory_of(cta);
  const bool is_used = !judges_uses_ || (by.access.by != By::kThread && by.access.by != By::kMma);
  auto fresh = static_cast<std::uint16_t>(bytes & ~granule.written);
  if (fresh == 0 || (!is_used && (fresh & ~granule.read_unwritten) == 0)) return;
  for (const UnwrittenRead& read : memory.unwritten) {
    const bool counts = read.offset / kGranule == offset / kGranule && (read.is_used || !is_used);
    if (counts) fresh &= static_cast<std::uint16_t>(~read.bytes);
  }
  if (fresh == 0) return;
  granule.read_unwritten |= fresh;
  UnwrittenRead& read = memory.unwritten.emplace_back(
      UnwrittenRead{.offset = offset, .bytes = fresh, .by = by, .is_used = is_used});
  if ((fresh & ~granule.brought) == 0) {
    memory.shadow.find(granule, fresh, true, [&](const Access& write) {
      if (write.by == By::kCopy || write.by == By::kAsyncCopy) read.made = Side{write, 0};
      return read.made.has_value();
    });
  } else if (granule.write.by == By::kThread && (granule.write.bytes & fresh) != 0) {
    const std::uint32_t lanes = granule.write.lanes_at(fresh);
    read.made = Side{granule.write, static_cast<std::uint32_t>(std::countr_zero(lanes))};
  }
  const Access fill = report_.fill_in_flight(cta, offset, fresh);
  if (fill.bytes != 0 && report_.knows_issue(by, {fill, 0}, *cta.cluster)) read.fill = fill;
}

void RaceChecker::forget_unwritten(Memory& memory, Granule& granule, std::uint32_t offset, std::uint16_t bytes) {
  granule.read_unwritten &= static_cast<std::uint16_t>(~bytes);
  std::erase_if(memory.unwritten, [&](UnwrittenRead& read) {
    if (read.offset / kGranule == offset / kGranule) read.bytes &= static_cast<std::uint16_t>(~bytes);
    return read.bytes == 0;
  });
}

// Which fill a read was to wait for: one that came later, or one that is still on its way.
Access RaceChecker::fill_for(const CtaOrder& cta, const UnwrittenRead& read, const Access* write) {
  if (read.fill) return *read.fill;
  if (write == nullptr) return report_.fill_in_flight(cta, read.offset, read.bytes);
  const bool is_fill = write->by == By::kCopy && report_.has_waited(read.by, {*write, 0}, cta);
  return is_fill ? *write : Access{};
}

bool RaceChecker::stops_for_read(const CtaOrder& cta, const UnwrittenRead& read, const Access& fill) {
  const CallSite site = report_.site_of(read.by);
  const auto with_use = [&](Finding finding) {
    if (!read.use.empty()) finding.details.push_back(read.use);
    return finding;
  };
  if (fill.bytes == 0) {
    return sink_.stops(FaultCode::kUninitialisedRead, {site}, [&] {
      return with_use(report_.unwritten(read.by, cta, read.offset, read.bytes, read.made));
    });
  }
  return sink_.stops(FaultCode::kReadBeforeFull, {site, report_.site_of({fill, 0})}, [&] {
    return with_use(report_.read_too_early(read.by, {fill, 0}, cta, read.offset));
  });
}

void RaceChecker::settle_unwritten(const CtaOrder& cta, std::uint32_t granule, const Access* write) {
  Memory& memory = memory_of(cta);
  std::vector<UnwrittenRead> settled;
  for (UnwrittenRead& read : memory.unwritten) {
    if (read.offset / kGranule != granule) continue;
    if (!read.is_settled) {
      const Access fill = fill_for(cta, read, write);
      if (fill.bytes != 0) read.fill = fill;
      read.is_settled = read.is_used || fill.bytes != 0;
    }
    settled.push_back(read);
  }
  forget_unwritten(memory, memory.shadow.at(granule * kGranule), granule * kGranule, 0xffff);
  memory.unwritten.insert(memory.unwritten.end(), settled.begin(), settled.end());
}

bool RaceChecker::stops_for_reads(std::uint32_t linear) {
  const CtaOrder& cta = order_.cta(linear);
  for (const UnwrittenRead& read : memories_[linear]->unwritten) {
    if (!read.is_used) continue;
    const Access fill = read.is_settled ? read.fill.value_or(Access{}) : fill_for(cta, read, nullptr);
    if (stops_for_read(cta, read, fill)) return true;
  }
  return false;
}

std::uint32_t RaceChecker::unwritten(std::uint32_t cta, std::uint32_t offset, std::uint32_t bytes) {
  if (!memories_.has(cta)) return 0;
  Shadow& shadow = memories_[cta]->shadow;
  std::uint32_t found =
      ~std::uint32_t{shadow.at(offset).written} >> offset % kGranule & 0xffffu >> offset % kGranule;
  if (offset % kGranule + bytes > kGranule) {
    const std::uint32_t first = kGranule - offset % kGranule;
    found |= (~std::uint32_t{shadow.at(offset + first).written} & 0xffffu) << first;
  }
  return found & ((1u << (bytes < 32 ? bytes : 31)) - 1);
}

std::uint64_t RaceChecker::unwritten_bits(std::uint32_t cta, std::uint32_t offset, std::uint32_t bytes) {
  constexpr std::uint64_t kWhole = 0xff;
  const std::uint32_t found = unwritten(cta, offset, bytes);
  std::uint64_t result = 0;
  for (std::uint32_t b = 0; b < bytes; ++b) {
    if ((found >> b & 1) == 0) continue;
    const auto part = memories_[cta]->parts.find(offset + b);
    result |= (part == memories_[cta]->parts.end() ? kWhole : part->second) << 8 * b;
  }
  return result;
}

void RaceChecker::unwrite(std::uint32_t cta, std::uint32_t offset, std::uint64_t bits) {
  for (; bits != 0; bits >>= 8, ++offset) {
    if ((bits & 0xff) == 0) continue;
    Granule& granule = memories_[cta]->shadow.at(offset);
    const auto others = static_cast<std::uint16_t>(~(1u << offset % kGranule));
    granule.written &= others;
    granule.brought &= others;
    memories_[cta]->parts[offset] = static_cast<std::uint8_t>(bits & 0xff);
  }
}

void RaceChecker::use_unwritten(std::uint32_t cta, std::uint32_t offset, const std::string& use) {
  if (sink_.stop() || !memories_.has(cta)) return;
  const std::uint32_t bit = 1u << offset % kGranule;
  std::vector<UnwrittenRead>& reads = memories_[cta]->unwritten;
  for (std::size_t r = 0; r < reads.size(); ++r) {
    UnwrittenRead& read = reads[r];
    if (read.offset / kGranule != offset / kGranule || (read.bytes & bit) == 0 || read.is_used) continue;
    read.is_used = true;
    read.use = use;
    if (!read.fill) continue;
    // It was a matter of time.
    const UnwrittenRead late = read;
    reads.erase(reads.begin() + static_cast<std::ptrdiff_t>(r--));
    if (stops_for_read(order_.cta(cta), late, *late.fill)) return;
  }
}

void RaceChecker::use_undefined_load(std::uint64_t transfer, std::uint32_t lane, std::uint32_t column,
                                     const std::string& use) {
  const machine::TmemSource source = tmem_.source_of(*tmem_.undefined_load(transfer), lane, column).what;
  if (source.kind == machine::TmemSource::Kind::kShared) return use_unwritten(source.cta, source.offset, use);
  tmem_.use(transfer, lane, column, use);
}

bool RaceChecker::stops_for_conflict(const Side& before, const Side& now, const CtaOrder& cta,
                                     std::uint32_t offset, const Granule& granule, bool is_formal) {
  return sink_.stops(report_.code_of_conflict(before, now, cta, granule),
                     is_formal ? Verdict::kFormal : Verdict::kWrong,
                     {report_.site_of(before), report_.site_of(now)},
                     [&] { return report_.conflict(before, now, cta, offset, granule); });
}

bool RaceChecker::stops_for_uses() {
  return memories_.any([&](std::uint32_t cta) { return stops_for_reads(cta); });
}

void RaceChecker::finish() {
  flush();
  order_.settle();
  stops_for_uses();
}

// Orders: an initialisation must be known to whoever uses the barrier. fence.mbarrier_init makes it known to
// those who meet the thread at a relaxed cluster barrier, too.
void RaceChecker::use_barrier(std::uint32_t id, const ThreadOrder& user, CallSite site) {
  const BarrierOrder& barrier = order_.barrier(id);
  const ThreadOrder& init = *barrier.initialiser;
  if (&user == &init) return;
  const View view = View::of(user);
  if (view.knows(*init.warp, init.lane, barrier.initialised)) return;
  if (view.knows_init_fence(*init.warp, init.lane, barrier.initialised)) return;
  const bool met_relaxed = view.has_met(*init.warp, init.lane, barrier.initialised);
  sink_.stops(met_relaxed ? FaultCode::kMissingInitFence : FaultCode::kInitNotVisible, {barrier.site, site},
              [&] { return report_.init_not_visible(barrier, user, site, met_relaxed); });
}

// PTX: mbarrier.try_wait: without a scope it is .cta, which does not take in threads of another CTA.
bool RaceChecker::stops_for_scope(const event::BarrierPass& event) {
  const BarrierOrder& barrier = order_.barrier(event.barrier);
  if (barrier.passed_remote.is_null()) return false;
  return sink_.stops(FaultCode::kNarrowScope, {barrier.remote_site, event.site},
                     [&] { return report_.narrow_wait(barrier, event); });
}

// PTX: mbarrier.init must be visible to the copy engine: fence.mbarrier_init, or fence.proxy.async, as older
// code has it, before the synchronisation that leads to the copy.
void RaceChecker::complete_on_barrier(const event::BarrierComplete& event) {
  BarrierOrder& barrier = order_.barrier(event.barrier);
  const IssuedCopy& copy = order_.copy(event.copy);
  lifetime_.complete_on_barrier(event);
  // Who has waited for the copy knows how far its thread had come, though that has arrived nowhere.
  if (!lifetime_.has_arrived(barrier, *copy.issuer)) order_.meet_issuer(copy, barrier);
  const WarpOrder& warp = *barrier.initialiser->warp;
  const std::uint32_t lane = barrier.initialiser->lane;
  const View view = View::of(copy);
  if (view.knows_init_fence(warp, lane, barrier.initialised)) return;
  const bool is_known = view.knows(warp, lane, barrier.initialised);
  if (view.knows_fenced(Fenced::kShared, warp, lane, barrier.initialised)) return;
  const bool is_ordered = is_known || view.has_met(warp, lane, barrier.initialised);
  sink_.stops(is_ordered ? FaultCode::kMissingInitFence : FaultCode::kInitNotVisible, {barrier.site, event.site},
              [&] { return report_.init_not_fenced(barrier, copy, event.site, is_ordered); });
}

}  // namespace heddle::sim::check
