// SPDX-License-Identifier: Apache-2.0
//
// Finds accesses that conflict and are not ordered, whatever the schedule made of them in this run: races in
// shared and global memory, missing fences between the generic and the async proxy, barriers used before
// their initialisation is visible, and reads of shared memory that nobody has written.
//
// Model: what copies do to global memory is not compared with anything: threads that read or write the same
// bytes in one launch are found only among themselves.
// Model: strong accesses of different sizes are told as formal: chips keep the order of a word for all sizes.
#pragma once

#include "sim/check/lane_batch.h"
#include "sim/check/lifetime.h"
#include "sim/check/order.h"
#include "sim/check/race_report.h"
#include "sim/check/shadow.h"
#include "sim/check/signals.h"
#include "sim/check/spare_loads.h"
#include "sim/check/tmem_race.h"
#include "sim/machine/address.h"

#include <heddle/sim/event.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <unordered_map>
#include <vector>

namespace heddle::sim::machine {
class Machine;
}

namespace heddle::sim::check {

class RaceChecker final : public Observer {
 public:
  RaceChecker(const machine::Machine& machine, machine::Findings& findings)
      : sink_(findings),
        report_(machine, order_, sites_),
        tmem_(order_, report_, sink_),
        lifetime_(order_, report_, sink_) {}

  // What it does not look at itself goes to the order.
  EventMask wants() const override { return watched_by<RaceChecker>() | watched_by<Order>(); }
  void on_event(const Event& event) override;
  void on(const event::CtaStart& event);
  void on(const event::CtaExit& event);
  void on(const event::BarrierInit& event);
  void on(const event::BarrierInval& event);
  void on(const event::BarrierArrive& event);
  void on(const event::BarrierExpect& event);
  void on(const event::BarrierComplete& event);
  void on(const event::BarrierPhase& event);
  void on(const event::BarrierBlock& event);
  void on(const event::BarrierPass& event);
  void on(const event::SharedRead& event);
  void on(const event::SharedWrite& event);
  void on(const event::GlobalRead& event);
  void on(const event::GlobalWrite& event);
  void on(const event::SharedStrong& event);
  void on(const event::GlobalStrong& event);
  void on(const event::CopyIssue& event);
  void on(const event::CopyReadShared& event);
  void on(const event::CopyWriteShared& event);
  void on(const event::CopyReadGlobal& event);
  void on(const event::CopyWriteGlobal& event);
  void on(const event::CopyReadMap& event);
  void on(const event::AsyncIssue& event);
  void on(const event::AsyncArrive& event);
  void on(const event::MmaReadShared& event);
  void on(const event::MmaTouchTmem& event);
  void on(const event::TmemAlloc& event);
  void on(const event::TmemDealloc& event);
  void on(const event::TmemMove& event);

  // The mistake that the run stops for. Nothing is looked at after it.
  const std::optional<Finding>& finding() const { return sink_.stop(); }

  Order& order() { return order_; }

  // The run will not go on: reads of what nobody had written are judged as they stand.
  void finish();

  // For a front end that follows values: a thread that reads what nobody has written makes no mistake until it
  // uses it.
  void judge_uses() {
    judges_uses_ = true;
    tmem_.judge_uses();
  }
  // For one that knows what a program does with what it loads.
  void follow_loads(std::function<LoadUses(CallSite load)> uses) { spare_loads_.follow(std::move(uses)); }
  // Bytes of a CTA's shared memory that hold nothing: bit b for the byte at offset + b.
  std::uint32_t unwritten(std::uint32_t cta, std::uint32_t offset, std::uint32_t bytes);
  // These were written with what is not defined: they hold nothing again.
  // `bits` of the 8 bytes at most that begin there.
  void unwrite(std::uint32_t cta, std::uint32_t offset, std::uint64_t bits);
  std::uint64_t unwritten_bits(std::uint32_t cta, std::uint32_t offset, std::uint32_t bytes);
  // Somebody uses what was read there. `use` says who, how and where.
  void use_unwritten(std::uint32_t cta, std::uint32_t offset, const std::string& use);
  // The same for tensor memory, and for the results of tensor cores.
  const Spoil* spoil_of(std::uint64_t operation) const { return tmem_.spoil_of(operation); }
  const UndefinedCells* undefined_load(std::uint64_t transfer) const { return tmem_.undefined_load(transfer); }
  void use_undefined_load(std::uint64_t transfer, std::uint32_t lane, std::uint32_t column,
                          const std::string& use);

 private:
  // A read of bytes that nobody had written by then. Which mistake that is shows later: if a write follows
  // that is not ordered after it, the two race; if a copy does that is, and the reader had waited for its
  // barrier, the stage was read too early; otherwise the bytes had nothing in them.
  struct UnwrittenRead {
    std::uint32_t offset;
    std::uint16_t bytes;
    Side by;
    bool is_used = true;
    std::string use = {};             // who uses it and how, if that is not the read itself
    std::optional<Access> fill = {};  // the copy that was known to be on its way, or has filled the bytes since
    bool is_settled = false;          // something was written there since, and `fill` says all
    std::optional<Side> made = {};    // the store of values that meant nothing, if there was one
  };
  struct Memory {
    Shadow shadow;
    std::vector<UnwrittenRead> unwritten;
    std::unordered_map<std::uint32_t, std::uint8_t> parts;  // by offset: bits of a byte that was written in part
  };

  Memory& memory_of(const CtaOrder& cta) { return *memories_[cta.linear]; }
  // The CTA of the thread, which mostly is the one of the last event, too.
  struct Home {
    std::uint32_t linear = ~std::uint32_t{0};
    CtaOrder* cta = nullptr;
    Memory* memory = nullptr;
  };
  const Home& home_of(std::uint32_t cta) {
    if (home_.linear != cta) home_ = {cta, &order_.cta(cta), memories_[cta].get()};
    return home_;
  }
  // Where an access of the thread goes; nowhere if the run stops for it.
  template <class Kind>
  std::optional<Home> target_of(const Kind& event) {
    const Home& home = home_of(event.cta);
    const std::uint32_t rank = event.address >> machine::kRankShift;
    if (rank == home.cta->rank) return home;
    return peer_of(home.cta->threads[event.thread], rank, std::is_same_v<Kind, event::SharedRead>, event.site);
  }
  std::optional<Home> peer_of(const ThreadOrder& by, std::uint32_t rank, bool reads, CallSite site);
  void flush();
  bool judge_together(const LaneBatch::Group& group);
  void judge_alone(const LaneAccess& one);
  bool is_crowded(const ThreadOrder& thread, std::uint64_t global, std::uint32_t bytes);
  // Where an access goes: in the shared memory of a CTA, or in global memory.
  struct Spot {
    Shadow& shadow;
    Granule& granule;
    std::uint32_t offset;
    const CtaOrder* cta = nullptr;  // of shared memory
    Memory* memory = nullptr;       // likewise
    std::uint64_t global = 0;
    const CopyLines* copies = nullptr;  // in global memory, if there were some

    // Of the 16 bytes, in whatever memory they are.
    std::uint64_t granule_address() const {
      const std::uint32_t begin = offset / kGranule * kGranule;
      return cta == nullptr ? global - (offset - begin)
                            : std::uint64_t{0xff} << 56 | std::uint64_t{cta->linear} << 24 | begin;
    }
  };
  Spot spot_of(const Home& target, std::uint32_t offset) {
    Shadow& shadow = target.memory->shadow;
    return {shadow, shadow.at(offset), offset, target.cta, target.memory, 0, nullptr};
  }
  Spot spot_of(std::uint64_t global);
  void strong_access(ThreadOrder& thread, std::uint32_t bytes, const Strong& how, CallSite site,
                     const Spot& spot);
  // Two accesses that nothing orders, wherever they are: true if the run stops for them. Two writes of one value
  // do no harm: `is_beside` is set.
  bool stops_for(const Spot& spot, const Side& before, const Side& now, const View& view, bool& is_beside,
                 bool is_formal = false);
  // A weak access, after it was compared with the weak ones: true if the run stops.
  bool stops_for_strong(const Spot& spot, const Side& now, const View& view);
  // A load with a memory order that counts on a strong store which nothing orders before it.
  bool stops_for_old_value(const Spot& spot, const Side& now, const StrongAccesses& strong, const View& view);
  // A load that is not coherent, of bytes that were written in this launch.
  bool stops_for_not_coherent(const Spot& spot, const Side& now);
  // Copies in global memory, against one another and against threads.
  struct GlobalPart {
    std::uint64_t copy, address;
    std::uint32_t bytes;
    std::uint32_t barrier = 0;  // of loads
    bool is_write = false;
    bool is_map = false;
  };
  void copy_in_global(const GlobalPart& part);
  void copy_in_line(std::uint64_t address, CopySpan span, const View& view);
  bool stops_for_threads(std::uint64_t address, const CopySpan& span, Shadow& threads, const View& view);
  bool stops_for_earlier_copies(std::uint64_t address, const CopySpan& span, const CopyLines& copies,
                                const View& view);
  bool stops_for_copies(const Spot& spot, const Side& now, const View& view);
  void read_shared(const Home& target, std::uint32_t offset, std::uint32_t bytes, const ThreadOrder& thread,
                   CallSite site);
  // A row of ldmatrix or stmatrix. Calls each(lane, offset, bytes) for its parts, unless all of the lanes know
  // what was there: then it is recorded at once.
  template <class Kind, class Each>
  void move_row(const Kind& event, const Home& target, bool is_write, const Each& each);
  void write_shared(const Home& target, std::uint32_t offset, const ThreadOrder& thread, const Access& access);
  struct SharedPart {
    std::uint32_t address, bytes;
    bool brings_unwritten = false;
  };
  bool copy_in_shared(const SharedPart& part, std::uint64_t copy, std::uint32_t barrier, bool is_write);
  // False if the run stops for it.
  bool async_in_shared(const SharedPart& part, Access access, const ClusterOrder& cluster,
                       std::span<const View> views);
  void use_barrier(std::uint32_t barrier, const ThreadOrder& user, CallSite site);
  bool stops_for_scope(const event::BarrierPass& event);
  void complete_on_barrier(const event::BarrierComplete& event);
  // A copy has brought what nobody had written: for a front end that follows values the bytes hold nothing.
  void unwrite_copied(Memory& memory, std::uint32_t offset, std::uint16_t bytes);
  void fill_gaps(Memory& memory, std::uint32_t begin, std::uint32_t end, std::uint32_t row);
  void note_unwritten(const CtaOrder& cta, Granule& granule, std::uint32_t offset, std::uint16_t bytes,
                      const Side& by);
  // Something is written over bytes of this granule that were read when nobody had written them. Those reads are
  // judged when the CTA exits: a conflict that comes to light until then says more.
  void settle_unwritten(const CtaOrder& cta, std::uint32_t granule, const Access* write = nullptr);
  // Those that somebody has used, as they stand: true if the run stops for one.
  bool stops_for_uses();
  bool stops_for_read(const CtaOrder& cta, const UnwrittenRead& read, const Access& fill);
  bool stops_for_reads(std::uint32_t cta);
  Access fill_for(const CtaOrder& cta, const UnwrittenRead& read, const Access* write);
  void forget_unwritten(Memory& memory, Granule& granule, std::uint32_t offset, std::uint16_t bytes);
  // Two accesses that nothing orders: true if the run stops for them.
  bool stops_for_conflict(const Side& before, const Side& now, const CtaOrder& cta, std::uint32_t offset,
                          const Granule& granule, bool is_formal = false);
  bool is_same_store(std::uint64_t first, std::uint64_t second) const;
  bool is_async_store(const Access& access) const;
  bool are_both_reductions(const Access& one, const Access& other) const;
  static bool is_own_read(const Access& before, const Access& now);
  static bool is_heard(const Access& before, const ThreadOrder& thread, std::uint16_t bytes);
  static bool is_own_load(const Access& before, const Access& now);
  bool is_spare_load(const Side& before, const Side& now, const View& view, const WarpOrder& warp,
                     std::uint64_t global);
  // Notes that a thread stores: true if the run stops, since what it has loaded comes to something.
  bool stops_for_use(const ThreadOrder& thread, std::uint16_t site);
  static bool is_same_value(const Access& before, const Access& now);
  // A generic access that reached the view, but with no fence between the proxies on the way, in whatever thread:
  // `lane` made it.
  bool is_unfenced(Fenced kind, const Access& before, std::uint16_t bytes, const View& view,
                   std::uint32_t& lane) const;

  FindingSink sink_;
  Order order_;
  Signals signals_;
  Sites sites_;
  RaceReport report_;
  TmemChecker tmem_;
  Lifetime lifetime_;
  ByCta<std::unique_ptr<Memory>> memories_;
  Home home_;
  bool judges_uses_ = false;
  bool has_polls_ = false;   // threads that load with a memory order: another access of theirs ends a poll
  bool has_crowds_ = false;  // bytes that so many have read that it is not noted any more
  GlobalShadow global_;
  SpareLoads spare_loads_;
  LaneBatch batch_;  // of the last instruction, if it was a weak access to global memory
};

}  // namespace heddle::sim::check
