// SPDX-License-Identifier: Apache-2.0
//
// Finds accesses of tensor memory that conflict and are not ordered: multiplications and copies against loads and
// stores, and either against a deallocation. For tensor memory it is not enough that a barrier leads from one to
// the other: a load or store must have been waited for, and tcgen05.fence stands on both sides of the barrier.
//
// Finds reads of cells that nobody has written since their allocation. A multiplication's is reported at once; a
// load's when the cells are next written or freed in order behind it: where the write is not ordered, the load
// came before a write that it was to wait for, and that is the report. Where the front end follows values,
// neither is a mistake: what a multiplication makes of such cells holds nothing, and a load that brought such a
// value is reported if it is used, when the columns are freed.
//
// Model: conflicts are told apart by column and by 16 lanes, which is what one instruction touches as a whole but
// for tcgen05.cp.4x256b and the last scales; what is written, by cells.
// PTX: tcgen05 Memory Consistency Model Semantics.
#pragma once

#include "sim/check/finding_sink.h"
#include "sim/check/order.h"
#include "sim/check/race_report.h"
#include "sim/check/spoil.h"

#include <heddle/sim/event.h>

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace heddle::sim::check {

class TmemChecker {
 public:
  TmemChecker(Order& order, const RaceReport& report, FindingSink& sink)
      : order_(order), report_(report), sink_(sink) {}

  void on(const event::MmaTouchTmem& event);
  void on(const event::TmemMove& event);
  void on(const event::TmemAlloc& event);
  void on(const event::TmemDealloc& event);
  void forget(std::uint32_t cta) { memories_.erase(cta); }

  void judge_uses() { judges_uses_ = true; }
  // The operation has read what nobody had written.
  Spoil& spoil(std::uint64_t operation) { return spoils_[operation]; }
  const Spoil* spoil_of(std::uint64_t operation) const {
    const auto found = spoils_.find(operation);
    return found == spoils_.end() ? nullptr : &found->second;
  }
  // What a load brought that means nothing; nullptr if all of it is well.
  const UndefinedCells* undefined_load(std::uint64_t transfer) const {
    const auto found = undefined_loads_.find(transfer);
    return found == undefined_loads_.end() ? nullptr : &found->second;
  }
  // Of which it was made, and by which operation.
  struct Source {
    machine::TmemSource what;
    std::uint64_t operation = 0;
  };
  Source source_of(const UndefinedCells& brought, std::uint32_t lane, std::uint32_t column) const;
  // Somebody uses it. `use` says who, how and where.
  void use(std::uint64_t transfer, std::uint32_t lane, std::uint32_t column, const std::string& use);

 private:
  // An operation of a tensor core, or a load or store. 0: nobody.
  using Actor = std::uint64_t;

  struct Read {
    Actor actor = 0;
    bool is_early =
        false;  // of cells that nobody had filled, or whose fill the warp had read and handed on before
  };
  using Reads = std::array<Read, 3>;
  struct Granule {
    std::uint16_t written = 0;    // lanes, since the allocation
    std::uint16_t unwritten = 0;  // lanes that `unwritten_load` found as the allocation left them
    Actor unwritten_load = 0;
    std::uint64_t spoiler = 0;  // the operation that left lanes unwritten
    Actor write = 0;
    Reads reads = {};         // since that write
    Actor write_before = 0;   // the last of the fill before this one
    Reads reads_before = {};  // and who read it
  };
  struct Allocation {
    std::uint32_t column;
    std::uint32_t cols;
    const ThreadOrder* by;
    CallSite site;
  };
  // A value that a load brought out of cells that hold nothing, and that was used.
  struct Use {
    Actor load;
    std::uint32_t lane;
    std::uint32_t column;
    std::string use;
  };
  struct Memory {
    std::vector<Granule> granules;  // column by column, in each by groups of lanes
    std::vector<Allocation> allocations;
    std::vector<Use> uses;
  };

  // Who makes an access, and what it knows.
  struct View {
    const Clock* known;
    const Clock* tcgen05_known;
    const WarpOrder* warp;
    std::array<Epoch, 2> tmem_waited;
    Component queue;      // of an operation; 0: a load or store
    bool wants_no_fence;  // a deallocation
  };
  enum class Verdict : std::uint8_t { kOrdered, kNoFenceAfter, kNoFenceBefore, kNoWait, kUnordered };

  static Actor operation(std::uint64_t id) { return 2 * id; }
  static Actor transfer(std::uint64_t id) { return 2 * id + 1; }
  static bool is_transfer(Actor actor) { return actor % 2 == 1; }

  Memory& memory_of(std::uint32_t cta);
  // Cells that somebody touches, or frees, and where.
  struct Part {
    std::uint32_t cta, address, cols;
    std::uint64_t how;
    const char* operand;
    CallSite site;
    const machine::TmemMade* made = nullptr;  // what of it is made of nothing
  };
  void touch(const Part& part, Actor actor, const View& view);
  void mark_written(Granule& granule, std::uint16_t lanes, Actor actor, bool needs_old, std::uint16_t spoiled);
  bool stops_for_use(const Part& part, const Use& use);
  // And the run stops for it.
  bool is_still_used(const Granule& granule, const View& view, const Part& part, const ThreadOrder& by);
  Verdict judge(Actor before, const View& view) const;
  void record_read(Granule& granule, Actor actor, const View& view) const;
  bool has_read(const Reads& reads, const WarpOrder& warp) const;
  bool is_too_late(Actor transfer, Actor operation) const;
  std::string deed(Actor actor) const;
  CallSite site_of(Actor actor) const;
  std::string line(Actor actor) const;
  std::string where(const Part& part) const;
  Finding unwritten_read(const Part& part, Actor actor, std::uint32_t column, std::uint32_t lane,
                         const char* operand) const;
  Finding conflict(const Granule& granule, const Read& before, bool before_writes, Actor now, const Part& part,
                   Verdict verdict) const;

  Order& order_;
  const RaceReport& report_;
  FindingSink& sink_;
  std::unordered_map<std::uint32_t, Memory> memories_;  // by linear index of the CTA
  bool judges_uses_ = false;
  Spoils spoils_;
  std::unordered_map<std::uint64_t, UndefinedCells> undefined_loads_;  // by transfer
};

}  // namespace heddle::sim::check
