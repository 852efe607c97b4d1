// SPDX-License-Identifier: Apache-2.0
//
// PTX: cp.async.bulk, cp.async.bulk.tensor, cp.reduce.async.bulk.tensor, cp.async.bulk.commit_group,
// cp.async.bulk.wait_group.
#include "sim/machine/core.h"
#include "sim/machine/hardware_tensor_map.h"
#include "sim/machine/mbarrier_unit.h"
#include "sim/machine/tma.h"

#include <heddle/host/tensor_map.h>
#include <heddle/host/tensor_map_encode.h>

#include <fmt/format.h>

#include <bit>
#include <span>
#include <utility>

namespace heddle::sim::machine {

namespace {

constexpr const char* kLoad = "cp.async.bulk.tensor load";
constexpr const char* kStore = "cp.async.bulk.tensor store";
constexpr const char* kReduce = "cp.reduce.async.bulk.tensor";

TensorMapSpec decode(const Core& core, const Thread& thread, const TensorMap& map, CallSite site,
                     const char* instruction) {
  const isa::DecodedTensorMap decoded = decode_tensor_map(map);
  if (decoded.state != isa::TensorMapState::kFine) {
    core.fault(&thread, site, FaultCode::kBadTensorMap,
               fmt::format("{} with a tensor map that {}", instruction,
                           decoded.state == isa::TensorMapState::kNotATensorMap
                               ? "was not made by make_tensor_map"
                               : "has been overwritten or comes from another version"),
               {"likely: the map was not filled in, or its bytes were copied by something that cut them short"});
  }
  const std::uint32_t sm = core.arch() == Arch::kSm90 ? 90 : 100;
  if (const TensorMapFault mistake = check(decoded.spec, sm)) {
    core.fault(&thread, site, FaultCode::kBadTensorMap,
               fmt::format("{} with a tensor map that sm_{} does not take: {}", instruction, sm,
                           message(mistake, decoded.spec)));
  }
  return decoded.spec;
}

void refuse(const Core& core, const Thread& thread, const CopyFault& mistake, CallSite site,
            const char* instruction) {
  switch (mistake.kind) {
    case CopyFaultKind::kNone: return;
    case CopyFaultKind::kRankMismatch:
      core.fault(&thread, site, FaultCode::kBadCoordinates,
                 fmt::format("{} with {} coordinates on a tensor map of rank {}", instruction, mistake.value,
                             mistake.limit));
    case CopyFaultKind::kSharedMisaligned:
      core.fault(&thread, site, FaultCode::kMisaligned,
                 fmt::format("{} at shared address {:#x}; a tile is aligned to {} bytes", instruction,
                             mistake.value, mistake.limit));
    case CopyFaultKind::kCoordinateMisaligned:
      core.fault(
          &thread, site, FaultCode::kBadCoordinates,
          fmt::format("{} with first coordinate {}; a box starts on a multiple of 16 bytes, here {} elements",
                      instruction, mistake.value, mistake.limit));
    case CopyFaultKind::kNegativeCoordinate:
      core.fault(&thread, site, FaultCode::kBadCoordinates,
                 fmt::format("{} with coordinate {} in dimension {}; stores start at 0 or above", instruction,
                             mistake.value, mistake.dimension));
    case CopyFaultKind::kSharedOutOfBounds:
      core.fault(&thread, site, FaultCode::kSharedOutOfBounds,
                 fmt::format("{} of a box that ends at shared address {:#x}, but the CTA's shared memory ends at "
                             "{:#x}",
                             instruction, mistake.value, mistake.limit));
    case CopyFaultKind::kGlobalOutOfBounds:
      core.fault(&thread, site, FaultCode::kGlobalOutOfBounds,
                 fmt::format("{} reaches {}", instruction,
                             core.global().describe(static_cast<std::uint64_t>(mistake.value))));
    case CopyFaultKind::kUnsupportedInterleave:
      core.fault(&thread, site, FaultCode::kUnsupported, fmt::format("{} of an interleaved tensor", instruction));
    case CopyFaultKind::kUnsupportedType:
      core.fault(
          &thread, site, FaultCode::kUnsupported,
          fmt::format("{} of padded numbers of {} bits; they can be loaded alone", instruction, mistake.value));
    case CopyFaultKind::kRowsRank:
      core.fault(
          &thread, site, FaultCode::kBadTensorMap,
          fmt::format("{} of four rows with a tensor map of rank {}; it has 2", instruction, mistake.value));
    case CopyFaultKind::kRowsBox:
      core.fault(&thread, site, FaultCode::kBadTensorMap,
                 fmt::format("{} of four rows with a tensor map whose box has {} rows; it has 1", instruction,
                             mistake.value));
    case CopyFaultKind::kUnsupportedReduction:
      core.fault(
          &thread, site, FaultCode::kUnsupported,
          fmt::format("{} with operation {} on tensor type {}", instruction, mistake.limit, mistake.value));
  }
}

void check_not_reserved(const Core& core, const Thread& thread, std::uint32_t offset, CallSite site,
                        const char* instruction) {
  if (offset < kSharedBase) {
    core.fault(&thread, site, FaultCode::kSharedOutOfBounds,
               fmt::format("{} of a tile at shared address {:#x}, but the CTA's shared memory starts at {:#x}",
                           instruction, offset, kSharedBase));
  }
}

void check_own_source(const Core& core, const Thread& thread, SharedAddress source, CallSite site,
                      const char* instruction) {
  check_not_reserved(core, thread, source & kOffsetMask, site, instruction);
  if (source >> kRankShift != thread.cta->rank) {
    core.fault(&thread, site, FaultCode::kBadRank,
               fmt::format("{} from the shared memory of rank {}; a CTA stores from its own (rank {})",
                           instruction, source >> kRankShift, thread.cta->rank));
  }
}

void check_flat(const Core& core, const Thread& thread, std::uint64_t global, std::uint32_t offset,
                std::uint32_t bytes, CallSite site, const char* instruction) {
  const auto require = [&](std::uint64_t value, const char* what) {
    if (value % 16 != 0) {
      core.fault(&thread, site, FaultCode::kMisaligned,
                 fmt::format("{} with {} {:#x}; it must be a multiple of 16", instruction, what, value));
    }
  };
  require(bytes, "a size of");
  require(offset, "the shared address");
  require(global, "the other address");
  if (offset < kSharedBase || std::uint64_t{offset} + bytes > thread.cta->shared_end) {
    core.fault(&thread, site, FaultCode::kSharedOutOfBounds,
               fmt::format("{} of {} bytes at shared address {:#x}, outside of the CTA's shared memory "
                           "[{:#x}, {:#x})",
                           instruction, bytes, offset, kSharedBase, thread.cta->shared_end));
  }
}

// PTX: cp.async.bulk.tensor: .cta_group::2 takes the CTAs of a cluster two by two.
void check_pairs(const Core& core, const Thread& thread, std::uint32_t cluster_size, CallSite site,
                 const char* instruction) {
  if (core.arch() == Arch::kSm90) {
    core.fault(&thread, site, FaultCode::kUnsupported,
               fmt::format("{} with cta_group 2, which needs sm_100a; this run is of sm_90a", instruction));
  }
  if (cluster_size % 2 != 0) {
    core.fault(&thread, site, FaultCode::kBadRank,
               fmt::format("{} with cta_group 2 in a cluster of {}; CTAs pair up in clusters of an even size",
                           instruction, cluster_size));
  }
}

BoxCopy box_of(TileMode mode, const TensorMapSpec& spec, const TensorMap& map,
               std::span<const std::int32_t> coords, std::uint32_t offset) {
  if (mode == TileMode::kPixels) return BoxCopy::of_pixels(spec, *decode_im2col(map), coords, offset);
  return mode == TileMode::kFourRows ? BoxCopy::of_four_rows(spec, coords, offset)
                                     : BoxCopy(spec, coords, offset);
}

// A map of tiles does not have a box of pixels, and one of pixels has no tile.
void check_mode(const Core& core, const Thread& thread, TileMode mode, const TensorMap& map, CallSite site,
                const char* instruction) {
  const bool has_pixels = decode_im2col(map).has_value();
  if (has_pixels == (mode == TileMode::kPixels)) return;
  core.fault(
      &thread, site, FaultCode::kBadTensorMap,
      fmt::format("{} of {} with a tensor map for {}", instruction, has_pixels ? "a tile" : "pixels (im2col)",
                  has_pixels ? "pixels, which cuTensorMapEncodeIm2col made" : "tiles"));
}

void check_four_rows(const Core& core, const Thread& thread, TileMode mode, CallSite site,
                     const char* instruction) {
  if (mode == TileMode::kFourRows && core.arch() == Arch::kSm90) {
    core.fault(&thread, site, FaultCode::kUnsupported,
               fmt::format("{} of four rows, which needs sm_100a; this run is of sm_90a", instruction));
  }
}

}  // namespace

void TmaEngine::tensor_load(Thread& thread, int cta_group, SharedAddress destination, const MapOperand& map,
                            const std::int32_t* coords, int rank, SharedAddress barrier, std::uint16_t mask,
                            CallSite site, TileMode mode) {
  check_four_rows(core_, thread, mode, site, kLoad);
  const bool is_pair = cta_group == 2;
  if (is_pair) check_pairs(core_, thread, core_.cluster_size(), site, kLoad);
  const TensorMapSpec spec = decode(core_, thread, map.map, site, kLoad);
  const std::uint32_t offset = destination & kOffsetMask;
  check_not_reserved(core_, thread, offset, site, kLoad);
  auto copy = std::make_unique<Copy>();
  check_mode(core_, thread, mode, map.map, site, kLoad);
  copy->box.emplace(box_of(mode, spec, map.map, std::span(coords, static_cast<std::size_t>(rank)), offset));
  refuse(core_, thread, copy->box->load_fault(thread.cta->shared_end), site, kLoad);
  const std::uint32_t to = destination >> kRankShift;
  const std::uint32_t at = barrier >> kRankShift;
  if (is_pair ? to / 2 != at / 2 : to != at) {
    core_.fault(
        &thread, site, FaultCode::kBadRank,
        fmt::format("{} into rank {} with a barrier of rank {}; the barrier lies in the CTA that gets the tile{}",
                    kLoad, to, at, is_pair ? " or in its peer" : ""));
  }
  const std::uint32_t targets = mask;
  if (targets == 0 || targets >> core_.cluster_size() != 0) {
    core_.fault(&thread, site, FaultCode::kBadRank,
                fmt::format("{} multicast with mask {:#x}; it names CTAs of the cluster, which has {}", kLoad,
                            targets, core_.cluster_size()));
  }
  for (std::uint32_t target = 0; target < core_.cluster_size(); ++target) {
    if ((targets & 1u << target) == 0) continue;
    const std::uint32_t signalled = is_pair ? (target & ~1u) | (at & 1u) : target;
    mbarriers_.live(thread, (barrier & kOffsetMask) | signalled << kRankShift, site, kLoad);
  }
  copy->kind = CopyKind::kLoad;
  copy->issuer = &thread;
  copy->site = site;
  copy->bytes = static_cast<std::uint32_t>(copy->box->bytes());
  copy->global = reinterpret_cast<std::uint64_t>(spec.address);
  copy->map = map.global;
  copy->shared = offset;
  copy->barrier = barrier & kOffsetMask;
  if (is_pair) copy->pair = at & 1u;
  for (std::uint32_t target = 0; target < core_.cluster_size(); ++target) {
    if ((targets & 1u << target) == 0) continue;
    Cta* cta = thread.cta->cluster->ctas[target];
    const auto bytes = static_cast<std::uint32_t>(copy->box->rows() * copy->box->shared_row_bytes());
    mbarriers_.check_none_in(thread, *cta, offset, bytes, site, kLoad);
    cut(*copy, cta);
  }
  core_.changed();
  issue(std::move(copy));
}

void TmaEngine::tensor_store(Thread& thread, const MapOperand& map, const std::int32_t* coords, int rank,
                             SharedAddress source, CallSite site, TileMode mode) {
  check_four_rows(core_, thread, mode, site, kStore);
  const TensorMapSpec spec = decode(core_, thread, map.map, site, kStore);
  check_own_source(core_, thread, source, site, kStore);
  const std::span<const std::int32_t> at(coords, static_cast<std::size_t>(rank));
  const std::uint32_t offset = source & kOffsetMask;
  check_mode(core_, thread, mode, map.map, site, kStore);
  refuse(core_, thread, box_of(mode, spec, map.map, at, offset).store_fault(thread.cta->shared_end), site,
         kStore);
  issue_store(thread, CopyKind::kStore, isa::ReduceOp::kAdd, map, spec,
              box_of(mode, spec, map.map, at, offset % kSwizzleRepeat), offset, site);
}

void TmaEngine::tensor_reduce(Thread& thread, isa::ReduceOp op, const MapOperand& map, const std::int32_t* coords,
                              int rank, SharedAddress source, CallSite site) {
  const TensorMapSpec spec = decode(core_, thread, map.map, site, kReduce);
  check_mode(core_, thread, TileMode::kTile, map.map, site, kReduce);
  check_own_source(core_, thread, source, site, kReduce);
  const std::span<const std::int32_t> at(coords, static_cast<std::size_t>(rank));
  const BoxCopy box(spec, at, source & kOffsetMask);
  refuse(core_, thread, box.reduce_fault(op, thread.cta->shared_end), site, kReduce);
  const std::uint32_t offset = source & kOffsetMask;
  issue_store(thread, CopyKind::kReduce, op, map, spec, BoxCopy(spec, at, offset % kSwizzleRepeat), offset, site);
}

// The source is read into a buffer first, where it keeps its place in the swizzle pattern: `box` lies there.
void TmaEngine::issue_store(Thread& thread, CopyKind kind, isa::ReduceOp op, const MapOperand& map,
                            const TensorMapSpec& spec, BoxCopy box, std::uint32_t offset, CallSite site) {
  auto copy = std::make_unique<Copy>();
  copy->box.emplace(std::move(box));
  copy->kind = kind;
  copy->op = op;
  copy->issuer = &thread;
  copy->site = site;
  copy->bytes = static_cast<std::uint32_t>(copy->box->bytes());
  copy->global = reinterpret_cast<std::uint64_t>(spec.address);
  copy->map = map.global;
  copy->shared = offset;
  copy->group = thread.groups.add();
  core_.changed();
  issue(std::move(copy));
}

void TmaEngine::tensor_prefetch(Thread& thread, const MapOperand& map, const std::int32_t* coords, int rank,
                                CallSite site) {
  constexpr const char* kPrefetch = "cp.async.bulk.prefetch.tensor";
  const TensorMapSpec spec = decode(core_, thread, map.map, site, kPrefetch);
  // Any aligned shared address will do: a prefetch has none.
  const BoxCopy box(spec, std::span(coords, static_cast<std::size_t>(rank)), kSharedBase);
  refuse(core_, thread, box.load_fault(std::uint64_t{1} << kRankShift), site, kPrefetch);
}

void TmaEngine::bulk_load(Thread& thread, SharedAddress destination, std::uint64_t global, std::uint32_t bytes,
                          SharedAddress barrier, CallSite site, std::uint16_t mask) {
  constexpr const char* kInstruction = "cp.async.bulk load";
  const Cta& own = core_.cta_of(thread, destination, site, kInstruction);
  const std::uint32_t targets = mask == 0 ? 1u << own.rank : mask;
  if (targets >> core_.cluster_size() != 0) {
    core_.fault(&thread, site, FaultCode::kBadRank,
                fmt::format("{} multicast with mask {:#x}; it names CTAs of the cluster, which has {}",
                            kInstruction, targets, core_.cluster_size()));
  }
  check_flat(core_, thread, global, destination & kOffsetMask, bytes, site, kInstruction);
  if (destination >> kRankShift != barrier >> kRankShift) {
    core_.fault(
        &thread, site, FaultCode::kBadRank,
        fmt::format("{} into rank {} with a barrier of rank {}; the barrier lies in the CTA that gets the bytes",
                    kInstruction, destination >> kRankShift, barrier >> kRankShift));
  }
  auto copy = std::make_unique<Copy>();
  copy->kind = CopyKind::kLoad;
  copy->issuer = &thread;
  copy->site = site;
  copy->bytes = bytes;
  copy->global = global;
  copy->shared = destination & kOffsetMask;
  copy->barrier = barrier & kOffsetMask;
  for (std::uint32_t rank = 0; rank < core_.cluster_size(); ++rank) {
    if ((targets >> rank & 1) == 0) continue;
    Cta* target = thread.cta->cluster->ctas[rank];
    mbarriers_.live(thread, (barrier & kOffsetMask) | rank << kRankShift, site, kInstruction);
    mbarriers_.check_none_in(thread, *target, destination & kOffsetMask, bytes, site, kInstruction);
    cut(*copy, target);
  }
  core_.changed();
  if (bytes != 0) issue(std::move(copy));
}

void TmaEngine::bulk_store(Thread& thread, std::uint64_t global, SharedAddress source, std::uint32_t bytes,
                           CallSite site) {
  bulk_reduce(thread, nullptr, global, source, bytes, site);
}

void TmaEngine::bulk_reduce(Thread& thread, Reduction reduction, std::uint64_t global, SharedAddress source,
                            std::uint32_t bytes, CallSite site) {
  const char* kInstruction = reduction == nullptr ? "cp.async.bulk store" : "cp.reduce.async.bulk";
  check_own_source(core_, thread, source, site, kInstruction);
  check_flat(core_, thread, global, source & kOffsetMask, bytes, site, kInstruction);
  if (bytes == 0) return;
  auto copy = std::make_unique<Copy>();
  copy->kind = reduction == nullptr ? CopyKind::kStore : CopyKind::kReduce;
  copy->reduction = reduction;
  copy->issuer = &thread;
  copy->site = site;
  copy->bytes = bytes;
  copy->global = global;
  copy->shared = source & kOffsetMask;
  copy->group = thread.groups.add();
  core_.changed();
  issue(std::move(copy));
}

void TmaEngine::bulk_to_peer(Thread& thread, SharedAddress destination, SharedAddress source, std::uint32_t bytes,
                             SharedAddress barrier, CallSite site, Reduction reduction) {
  constexpr const char* kInstruction = "cp.async.bulk to a peer";
  Cta& target = core_.cta_of(thread, destination, site, kInstruction);
  check_own_source(core_, thread, source, site, kInstruction);
  check_flat(core_, thread, destination & kOffsetMask, source & kOffsetMask, bytes, site, kInstruction);
  check_peer_bytes(thread, target, destination & kOffsetMask, bytes, site, kInstruction);
  mbarriers_.live(thread, barrier, site, kInstruction);
  if (destination >> kRankShift != barrier >> kRankShift) {
    core_.fault(
        &thread, site, FaultCode::kBadRank,
        fmt::format("{} to rank {} with a barrier of rank {}; the barrier lies in the CTA that gets the bytes",
                    kInstruction, destination >> kRankShift, barrier >> kRankShift));
  }
  mbarriers_.check_none_in(thread, target, destination & kOffsetMask, bytes, site, kInstruction);
  if (bytes == 0) return;
  auto copy = std::make_unique<Copy>();
  copy->kind = CopyKind::kSharedToPeer;
  copy->reduction = reduction;
  copy->issuer = &thread;
  copy->site = site;
  copy->bytes = bytes;
  copy->global = destination & kOffsetMask;
  copy->shared = source & kOffsetMask;
  copy->barrier = barrier & kOffsetMask;
  cut(*copy, &target);
  core_.changed();
  issue(std::move(copy));
}

void TmaEngine::check_peer_bytes(const Thread& thread, const Cta& target, std::uint32_t offset,
                                 std::uint32_t bytes, CallSite site, const char* instruction) const {
  if (offset >= kSharedBase && std::uint64_t{offset} + bytes <= target.shared_end) return;
  core_.fault(
      &thread, site, FaultCode::kSharedOutOfBounds,
      fmt::format("{} of {} bytes to shared address {:#x}, outside of the peer's shared memory [{:#x}, {:#x})",
                  instruction, bytes, offset, kSharedBase, target.shared_end));
}

// PTX: st.async, red.async. The value leaves with the instruction; it lands, and its bytes are counted, at any
// time after. It is a write of the generic proxy, as Triton has it; the manual's list of the async proxy does not
// name it.
void TmaEngine::store_async(Thread& thread, SharedAddress destination, const void* value, std::uint32_t bytes,
                            SharedAddress barrier, Reduction reduction, CallSite site) {
  const char* kInstruction = reduction == nullptr ? "st.async" : "red.async";
  Cta& target = core_.cta_of(thread, destination, site, kInstruction);
  const std::uint32_t offset = destination & kOffsetMask;
  if (offset % bytes != 0) {
    core_.fault(&thread, site, FaultCode::kMisaligned,
                fmt::format("{} of {} bytes at shared address {:#x}; the address must be a multiple of {}",
                            kInstruction, bytes, offset, bytes));
  }
  check_peer_bytes(thread, target, offset, bytes, site, kInstruction);
  mbarriers_.live(thread, barrier, site, kInstruction);
  if (destination >> kRankShift != barrier >> kRankShift) {
    core_.fault(
        &thread, site, FaultCode::kBadRank,
        fmt::format("{} to rank {} with a barrier of rank {}; the barrier lies in the CTA that gets the bytes",
                    kInstruction, destination >> kRankShift, barrier >> kRankShift));
  }
  mbarriers_.check_none_in(thread, target, offset, bytes, site, kInstruction);
  auto copy = std::make_unique<Copy>();
  copy->kind = CopyKind::kStoreAsync;
  copy->reduction = reduction;
  copy->issuer = &thread;
  copy->site = site;
  copy->bytes = bytes;
  copy->global = offset;
  copy->barrier = barrier & kOffsetMask;
  copy->source_was_read = true;
  const auto* from = static_cast<const std::byte*>(value);
  copy->staged.assign(from, from + bytes);
  copy->pieces.push_back({&target, 0, bytes});  // it lands as one
  core_.changed();
  issue(std::move(copy));
}

void TmaEngine::commit_group(Thread& thread, CallSite site) {
  thread.groups.commit();
  core_.emit(event::GroupCommit{.cta = thread.cta->linear, .thread = thread.tid, .site = site});
}

bool TmaEngine::wait_group(Thread& thread, std::uint32_t pending, bool read_only, CallSite site) {
  if (!thread.groups.reached(pending, read_only)) {
    core_.block(thread, {.kind = WaitKind::kBulkGroup, .groups = pending, .read_only = read_only, .site = site});
    return false;
  }
  core_.emit(event::GroupPass{
      .cta = thread.cta->linear, .thread = thread.tid, .pending = pending, .read_only = read_only, .site = site});
  return true;
}

void TmaEngine::group_changed(Thread* issuer) {
  const Wait& wait = issuer->wait;
  if (issuer->state == ThreadState::kBlocked && wait.kind == WaitKind::kBulkGroup &&
      issuer->groups.reached(wait.groups, wait.read_only)) {
    core_.make_ready(*issuer);
  }
}

}  // namespace heddle::sim::machine
