// SPDX-License-Identifier: Apache-2.0
//
// The copy engine: bulk copies that were issued and run on their own. Each is cut into pieces that land one
// by one, in any order; a load tells its barrier of every piece. When a piece lands is the scheduler's
// decision, so everything that hardware allows can happen, and nothing else.
// PTX: Data Movement and Conversion Instructions: Bulk copy, Tensor copy.
#pragma once

#include "sim/machine/address.h"
#include "sim/machine/tensor_copy.h"
#include "sim/machine/tensor_reduce.h"

#include <heddle/isa/tma.h>
#include <heddle/sim/event.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace heddle::sim::machine {

class Core;
class MbarrierUnit;
struct Cta;
struct Thread;

const char* name_of(CopyKind kind);

// The bulk groups of one thread, oldest first.
class BulkGroups {
 public:
  // A copy joins the open group; the number is what read_done and finished are told.
  std::uint64_t add();
  void commit();
  void read_done(std::uint64_t group);
  void finished(std::uint64_t group);

  // Whether all but the `pending` newest committed groups have been read, or are complete.
  bool reached(std::uint32_t pending, bool read_only) const;

 private:
  struct Group {
    std::uint32_t unread = 0;
    std::uint32_t unfinished = 0;
  };

  std::vector<Group> groups_;  // the committed ones, then the open one if a copy is in it
  std::uint64_t first_ = 0;    // number of groups_[0]
  std::size_t committed_ = 0;
};

// Which rows a tensor copy takes: those of a box, or four that its coordinates name (gather4, scatter4).
enum class TileMode : std::uint8_t { kTile, kFourRows, kPixels };

// The tensor map of an instruction.
struct MapOperand {
  const TensorMap& map;
  std::uint64_t global = 0;  // where it is, if in global memory, where threads may change it
};

// Part of a copy that lands at once.
struct Piece {
  Cta* target = nullptr;  // whose shared memory is written, for loads
  std::uint64_t first = 0;
  std::uint64_t count = 0;  // rows of the box, or bytes of a flat copy
};

struct Copy {
  CopyKind kind = CopyKind::kLoad;
  std::uint64_t id = 0;
  Thread* issuer = nullptr;
  Cta* cta = nullptr;  // of the issuer
  std::uint32_t cta_linear = 0;
  CallSite site = {};
  std::uint32_t bytes = 0;     // in all, to each target
  std::optional<BoxCopy> box;  // absent: a flat copy
  isa::ReduceOp op = isa::ReduceOp::kAdd;
  Reduction reduction = nullptr;      // of a flat copy, if it is one
  std::uint64_t global = 0;           // the tensor's address, or the flat copy's
  std::uint64_t map = 0;              // where its tensor map is in global memory; 0: elsewhere
  std::uint32_t shared = 0;           // offset of the shared side
  std::uint32_t barrier = 0;          // offset of the barrier in each target
  std::optional<std::uint32_t> pair;  // cta_group::2: the rank in each target's pair that has the barrier
  std::vector<Piece> pieces;          // what has not landed
  const Cta* first_target = nullptr;  // of loads: the bytes are read once, and sent to each
  std::vector<std::byte> staged;      // what a store has read from shared memory, or st.async has brought along
  bool source_was_read = false;       // shared-memory sources only
  std::uint64_t group = 0;
};

// The swizzle pattern repeats after so many bytes, so a source that was read to a buffer keeps its place in
// the pattern if it keeps its address modulo this.
inline constexpr std::uint32_t kSwizzleRepeat = 1024;

// Cuts a copy into pieces for one target (none for stores). Flat copies are cut at 16 bytes, boxes at rows.
void cut(Copy& copy, Cta* target);

class TmaEngine {
 public:
  TmaEngine(Core& core, MbarrierUnit& mbarriers) : core_(core), mbarriers_(mbarriers) {}

  void tensor_load(Thread& thread, int cta_group, SharedAddress destination, const MapOperand& map,
                   const std::int32_t* coords, int rank, SharedAddress barrier, std::uint16_t mask, CallSite site,
                   TileMode mode = TileMode::kTile);
  void tensor_store(Thread& thread, const MapOperand& map, const std::int32_t* coords, int rank,
                    SharedAddress source, CallSite site, TileMode mode = TileMode::kTile);
  void tensor_reduce(Thread& thread, isa::ReduceOp op, const MapOperand& map, const std::int32_t* coords,
                     int rank, SharedAddress source, CallSite site);
  void tensor_prefetch(Thread& thread, const MapOperand& map, const std::int32_t* coords, int rank,
                       CallSite site);
  // `mask` names the CTAs that get the bytes, each at the same place; 0: the one of the address.
  void bulk_load(Thread& thread, SharedAddress destination, std::uint64_t global, std::uint32_t bytes,
                 SharedAddress barrier, CallSite site, std::uint16_t mask = 0);
  void bulk_store(Thread& thread, std::uint64_t global, SharedAddress source, std::uint32_t bytes, CallSite site);
  void bulk_to_peer(Thread& thread, SharedAddress destination, SharedAddress source, std::uint32_t bytes,
                    SharedAddress barrier, CallSite site, Reduction reduction = nullptr);
  void bulk_reduce(Thread& thread, Reduction reduction, std::uint64_t global, SharedAddress source,
                   std::uint32_t bytes, CallSite site);
  // st.async, and red.async if there is a reduction: a value of 4, 8 or 16 bytes on its way to a CTA of the
  // cluster.
  void store_async(Thread& thread, SharedAddress destination, const void* value, std::uint32_t bytes,
                   SharedAddress barrier, Reduction reduction, CallSite site);
  void commit_group(Thread& thread, CallSite site);
  bool wait_group(Thread& thread, std::uint32_t pending, bool read_only, CallSite site);

  std::size_t in_flight() const { return copies_.size(); }
  const std::vector<std::unique_ptr<Copy>>& copies() const { return copies_; }

  // Lets one piece of the index-th copy in flight land; `entropy` says which.
  void step(std::size_t index, std::uint64_t entropy);

  // A copy that still has to tell this barrier of the CTA, or null.
  const Copy* completing_on(const Cta& cta, std::uint32_t barrier) const;
  // A copy that still has to write to this byte of the CTA's shared memory, or null.
  const Copy* filling(const Cta& cta, std::uint32_t offset) const;

  void cta_exit(const Cta& cta);

 private:
  void issue(std::unique_ptr<Copy> copy);  // whose operands have been checked
  void issue_store(Thread& thread, CopyKind kind, isa::ReduceOp op, const MapOperand& map,
                   const TensorMapSpec& spec, BoxCopy box, std::uint32_t offset, CallSite site);
  void check_peer_bytes(const Thread& thread, const Cta& target, std::uint32_t offset, std::uint32_t bytes,
                        CallSite site, const char* instruction) const;
  void group_changed(Thread* issuer);  // a bulk group of this thread has come further
  void read_sources(const Cta& cta);   // the stores of this CTA do so now
  void land_load(Copy& copy, const Piece& piece);
  Cta& signalled_by(const Copy& copy, Cta& target) const;
  void read_source(Copy& copy);
  void land_store(Copy& copy, const Piece& piece);
  static std::vector<GlobalRange> global_ranges(const Copy& copy, const Piece& piece);
  void note_written(const Copy& copy, const Piece& piece) const;
  bool brings_unwritten(const Copy& copy, const Piece& piece) const;
  bool may_bring_unwritten(const Copy& copy, const Piece& piece) const;  // a row of it, maybe
  void land_in_peer(Copy& copy, const Piece& piece);
  void finish(std::size_t index);
  // A copy that still has to read or write this CTA's shared memory, or null. `except_stores`: not one that
  // read_sources() is enough for.
  const Copy* touching(const Cta& cta, bool except_stores = false) const;
  [[noreturn]] void global_fault(const Copy& copy, std::uint64_t address) const;

  Core& core_;
  MbarrierUnit& mbarriers_;
  std::vector<std::unique_ptr<Copy>> copies_;
};

}  // namespace heddle::sim::machine
