// SPDX-License-Identifier: Apache-2.0
//
// The instruction functions of isa/ for the simulated SM: host pointers become addresses, and what blocks
// suspends the fiber.
#include "sim/frontend/executor.h"

#include <heddle/host/tensor_map_encode.h>
#include <heddle/isa/address.h>
#include <heddle/isa/annotate.h>
#include <heddle/isa/atomic.h>
#include <heddle/isa/clc.h>
#include <heddle/isa/cluster.h>
#include <heddle/isa/fault.h>
#include <heddle/isa/fence.h>
#include <heddle/isa/mbarrier.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/tensor_map_check.h>
#include <heddle/isa/tma.h>
#include <heddle/isa/warp.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>

namespace heddle::inline HEDDLE_TARGET::isa {

using sim::EventScope;
using sim::FenceKind;
using sim::frontend::Executor;
using sim::frontend::instruct;
using sim::machine::Fault;
using sim::machine::Machine;
using sim::machine::SharedAddress;
using sim::machine::Thread;
using sim::machine::WarpOp;

namespace {

const Thread& self() { return Executor::current().thread(); }

}  // namespace

// Special registers.

std::uint32_t tid_x() { return self().tid; }
std::uint32_t ntid_x() { return Executor::current().machine().threads_per_cta(); }
Dim3 ctaid() { return self().cta->id; }
Dim3 nctaid() { return Executor::current().machine().grid(); }
std::uint32_t laneid() { return self().lane(); }
std::uint32_t smid() { return self().cta->slot; }
std::uint32_t cluster_ctarank() { return self().cta->rank; }
std::uint32_t cluster_nctarank() { return static_cast<std::uint32_t>(self().cta->cluster->ctas.size()); }
Dim3 cluster_ctaid() { return self().cta->id_in_cluster; }
Dim3 clusterid() { return self().cta->cluster_id; }

std::uint32_t shared_address(const void* shared) {
  return instruct(false, {}, [&](Executor& e, Machine&, Thread&) { return e.address_of(shared, {}); });
}

void* mapa_address(void* shared, std::uint32_t rank, CallSite site) {
  return instruct(false, site, [&](Executor& e, Machine& m, Thread& t) {
    return e.pointer_to(m.mapa(t, e.address_of(shared, site), rank, site));
  });
}

// Cluster launch control.

void clusterlaunchcontrol_try_cancel(Bytes16* response, MbarPtr bar, CallSite site) {
  instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    m.clc.try_cancel(t, e.address_of(response, site), e.address_of(bar, site), false, site);
  });
}

void clusterlaunchcontrol_try_cancel_multicast(Bytes16* response, MbarPtr bar, CallSite site) {
  instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    m.clc.try_cancel(t, e.address_of(response, site), e.address_of(bar, site), true, site);
  });
}

bool clusterlaunchcontrol_query_cancel_is_canceled(Bytes16 response, CallSite site) {
  return instruct(false, site,
                  [&](Executor&, Machine& m, Thread& t) { return m.clc.is_canceled(t, response, site); });
}

Dim3 clusterlaunchcontrol_query_cancel_get_first_ctaid(Bytes16 response, CallSite site) {
  return instruct(false, site,
                  [&](Executor&, Machine& m, Thread& t) { return m.clc.first_ctaid(t, response, site); });
}

// mbarrier.

namespace {

// Of a barrier that the instruction takes from the own CTA only; the _cluster forms take any.
SharedAddress own_barrier(Executor& e, const Machine& m, const Thread& t, MbarPtr bar, const char* instruction,
                          CallSite site) {
  const SharedAddress address = e.address_of(bar, site);
  const std::uint32_t rank = address >> sim::machine::kRankShift;
  if (rank != t.cta->rank) {
    m.fault(&t, site, sim::FaultCode::kBadRank,
            fmt::format(
                "{} on a barrier of rank {}; this form takes a barrier of the own CTA (rank {}), the _cluster "
                "form any",
                instruction, rank, t.cta->rank));
  }
  return address;
}

}  // namespace

void mbarrier_init(MbarPtr bar, std::uint32_t count, CallSite site) {
  instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    m.mbarriers.init(t, e.address_of(bar, site), count, site);
  });
}

void mbarrier_inval(MbarPtr bar, CallSite site) {
  instruct(true, site,
           [&](Executor& e, Machine& m, Thread& t) { m.mbarriers.inval(t, e.address_of(bar, site), site); });
}

MbarrierState mbarrier_arrive(MbarPtr bar, std::uint32_t count, CallSite site) {
  return instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    return m.mbarriers.arrive(t, own_barrier(e, m, t, bar, "mbarrier.arrive", site), count, EventScope::kCta,
                              site);
  });
}

void mbarrier_arrive_cluster(MbarPtr bar, std::uint32_t count, CallSite site) {
  instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    m.mbarriers.arrive(t, e.address_of(bar, site), count, EventScope::kCluster, site);
  });
}

void mbarrier_arrive_cluster_relaxed(MbarPtr bar, CallSite site) {
  instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    m.mbarriers.arrive(t, e.address_of(bar, site), 1, EventScope::kRelaxed, site);
  });
}

MbarrierState mbarrier_arrive_no_complete(MbarPtr bar, std::uint32_t count, CallSite site) {
  return instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    return m.mbarriers.arrive_no_complete(t, e.address_of(bar, site), count, site);
  });
}

MbarrierState mbarrier_arrive_drop(MbarPtr bar, std::uint32_t count, CallSite site) {
  return instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    return m.mbarriers.arrive_drop(t, own_barrier(e, m, t, bar, "mbarrier.arrive_drop", site), count,
                                   EventScope::kCta, site);
  });
}

MbarrierState mbarrier_arrive_expect_tx(MbarPtr bar, std::uint32_t tx_bytes, CallSite site) {
  return instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    return m.mbarriers.arrive_expect_tx(t, own_barrier(e, m, t, bar, "mbarrier.arrive.expect_tx", site), tx_bytes,
                                        EventScope::kCta, site);
  });
}

void mbarrier_arrive_expect_tx_cluster(MbarPtr bar, std::uint32_t tx_bytes, CallSite site) {
  instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    m.mbarriers.arrive_expect_tx(t, e.address_of(bar, site), tx_bytes, EventScope::kCluster, site);
  });
}

void mbarrier_expect_tx(MbarPtr bar, std::uint32_t tx_bytes, CallSite site) {
  instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    m.mbarriers.expect_tx(t, own_barrier(e, m, t, bar, "mbarrier.expect_tx", site), tx_bytes, site);
  });
}

void mbarrier_expect_tx_cluster(MbarPtr bar, std::uint32_t tx_bytes, CallSite site) {
  instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    m.mbarriers.expect_tx(t, e.address_of(bar, site), tx_bytes, site);
  });
}

void mbarrier_complete_tx_cluster(MbarPtr bar, std::uint32_t tx_bytes, CallSite site) {
  instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    m.mbarriers.complete_tx(t, e.address_of(bar, site), tx_bytes, site);
  });
}

std::uint32_t mbarrier_pending_count(MbarrierState state) { return static_cast<std::uint32_t>(state & 0xfffff); }

namespace {

// A test that fails may be repeated for ever; give way, so that it can succeed the next time.
bool poll(Executor& e, bool over) {
  if (!over) e.give_way();
  return over;
}

bool wait_parity(MbarPtr bar, std::uint32_t parity, EventScope scope, CallSite site) {
  return instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    const SharedAddress address = e.address_of(bar, site);
    if (m.mbarriers.test_wait_parity(t, address, parity, scope, site)) return true;
    if (e.wakes_early()) return poll(e, false);
    m.mbarriers.suspend_parity(t, address, parity, site);
    e.suspend();
    // By the time the thread runs again a fast ring may have ended the next phase too: ask once more.
    return m.mbarriers.test_wait_parity(t, address, parity, scope, site);
  });
}

}  // namespace

bool mbarrier_test_wait(MbarPtr bar, MbarrierState state, CallSite site) {
  return instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    return poll(e, m.mbarriers.test_wait(t, e.address_of(bar, site), state, EventScope::kUnsaid, site));
  });
}

bool mbarrier_test_wait_parity(MbarPtr bar, std::uint32_t parity, CallSite site) {
  return instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    return poll(e, m.mbarriers.test_wait_parity(t, e.address_of(bar, site), parity, EventScope::kUnsaid, site));
  });
}

bool mbarrier_try_wait(MbarPtr bar, MbarrierState state, CallSite site) {
  return instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    const SharedAddress address = e.address_of(bar, site);
    if (m.mbarriers.test_wait(t, address, state, EventScope::kUnsaid, site)) return true;
    if (e.wakes_early()) return poll(e, false);
    m.mbarriers.suspend(t, address, state, site);
    e.suspend();
    return m.mbarriers.test_wait(t, address, state, EventScope::kUnsaid, site);
  });
}

bool mbarrier_try_wait_parity(MbarPtr bar, std::uint32_t parity, CallSite site) {
  return wait_parity(bar, parity, EventScope::kUnsaid, site);
}

bool mbarrier_try_wait_parity_hint(MbarPtr bar, std::uint32_t parity, std::uint32_t /*suspend_ns*/,
                                   CallSite site) {
  return wait_parity(bar, parity, EventScope::kUnsaid, site);
}

bool mbarrier_try_wait_parity_cluster(MbarPtr bar, std::uint32_t parity, CallSite site) {
  return wait_parity(bar, parity, EventScope::kCluster, site);
}

bool mbarrier_try_wait_parity_cluster_relaxed(MbarPtr bar, std::uint32_t parity, CallSite site) {
  return wait_parity(bar, parity, EventScope::kRelaxed, site);
}

// Fences.

namespace {

void fence(FenceKind kind, CallSite site) {
  instruct(true, site, [&](Executor&, Machine& m, Thread& t) { m.memory.fence(t, kind, site); });
}

}  // namespace

void fence_mbarrier_init(CallSite site) { fence(FenceKind::kMbarrierInit, site); }
void fence_proxy_async(CallSite site) { fence(FenceKind::kProxyAsync, site); }
void fence_proxy_async_shared_cta(CallSite site) { fence(FenceKind::kProxyAsyncSharedCta, site); }
void fence_proxy_async_global(CallSite site) { fence(FenceKind::kProxyAsyncGlobal, site); }
void fence_acq_rel_cta(CallSite site) { fence(FenceKind::kAcqRelCta, site); }
void fence_acq_rel_cluster(CallSite site) { fence(FenceKind::kAcqRelCluster, site); }
void fence_acq_rel_gpu(CallSite site) { fence(FenceKind::kAcqRelGpu, site); }

// Barriers of threads.

void bar_sync(std::uint32_t id, std::uint32_t threads, CallSite site) {
  instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    if (!m.named_barriers.sync(t, id, threads, site)) e.suspend();
  });
}

void bar_arrive(std::uint32_t id, std::uint32_t threads, CallSite site) {
  instruct(true, site, [&](Executor&, Machine& m, Thread& t) { m.named_barriers.arrive(t, id, threads, site); });
}

void syncthreads(CallSite site) {
  instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    if (!m.named_barriers.sync_all(t, 0, site)) e.suspend();
  });
}

void barrier_cluster_arrive(CallSite site) {
  instruct(true, site, [&](Executor&, Machine& m, Thread& t) { m.cluster_barrier.arrive(t, true, site); });
}

void barrier_cluster_arrive_relaxed(CallSite site) {
  instruct(true, site, [&](Executor&, Machine& m, Thread& t) { m.cluster_barrier.arrive(t, false, site); });
}

void barrier_cluster_wait(CallSite site) {
  instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    while (!m.cluster_barrier.wait(t, site)) e.suspend();
  });
}

// Warps.

namespace {

std::uint32_t meet(WarpOp op, std::uint32_t mask, std::uint32_t value, std::uint32_t operand, CallSite site) {
  return instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    if (!m.warps.meet(t, op, mask, value, operand, site)) e.suspend();
    return t.result;
  });
}

}  // namespace

bool elect_sync(std::uint32_t mask, CallSite site) { return meet(WarpOp::kElect, mask, 0, 0, site) == laneid(); }
void syncwarp(std::uint32_t mask, CallSite site) { meet(WarpOp::kSync, mask, 0, 0, site); }

std::uint32_t shfl_sync_idx(std::uint32_t value, std::uint32_t source_lane, std::uint32_t mask, CallSite site) {
  return meet(WarpOp::kShflIdx, mask, value, source_lane, site);
}

std::uint32_t shfl_sync_up(std::uint32_t value, std::uint32_t delta, std::uint32_t mask, CallSite site) {
  return meet(WarpOp::kShflUp, mask, value, delta, site);
}

std::uint32_t shfl_sync_down(std::uint32_t value, std::uint32_t delta, std::uint32_t mask, CallSite site) {
  return meet(WarpOp::kShflDown, mask, value, delta, site);
}

std::uint32_t shfl_sync_bfly(std::uint32_t value, std::uint32_t lane_mask, std::uint32_t mask, CallSite site) {
  return meet(WarpOp::kShflBfly, mask, value, lane_mask, site);
}

std::uint32_t vote_sync_ballot(bool predicate, std::uint32_t mask, CallSite site) {
  return meet(WarpOp::kBallot, mask, predicate ? 1 : 0, 0, site);
}

// Memory.

void ld_shared_bytes(void* registers, const void* shared, std::uint32_t bytes, CallSite site) {
  instruct(false, site, [&](Executor& e, Machine& m, Thread& t) {
    m.memory.ld_shared(t, e.address_of(shared, site), registers, bytes, site);
  });
}

void st_shared_bytes(void* shared, const void* registers, std::uint32_t bytes, CallSite site) {
  instruct(false, site, [&](Executor& e, Machine& m, Thread& t) {
    m.memory.st_shared(t, e.address_of(shared, site), registers, bytes, site);
  });
}

void ld_global_bytes(void* registers, const void* global, std::uint32_t bytes, CallSite site) {
  instruct(false, site, [&](Executor&, Machine& m, Thread& t) {
    m.memory.ld_global(t, reinterpret_cast<std::uint64_t>(global), registers, bytes, site);
  });
}

void st_global_bytes(void* global, const void* registers, std::uint32_t bytes, CallSite site) {
  instruct(false, site, [&](Executor&, Machine& m, Thread& t) {
    m.memory.st_global(t, reinterpret_cast<std::uint64_t>(global), registers, bytes, site);
  });
}

std::uint32_t atom_add_acq_rel_gpu(std::uint32_t* global, std::uint32_t value, CallSite site) {
  return instruct(true, site, [&](Executor&, Machine& m, Thread& t) {
    const sim::Strong how{.scope = sim::MemoryScope::kGpu,
                          .old = sim::Strong::Old::kBuiltOn,
                          .reads = true,
                          .writes = true,
                          .acquires = true,
                          .releases = true};
    std::uint32_t before = 0;
    m.memory.atom_global(t, reinterpret_cast<std::uint64_t>(global), sizeof(before), "atom.global", how, site,
                         [&](std::byte* bytes) {
                           std::memcpy(&before, bytes, sizeof(before));
                           const std::uint32_t after = before + value;
                           std::memcpy(bytes, &after, sizeof(after));
                           return true;
                         });
    return before;
  });
}

// The copy engine.

namespace {

void check_map_pointer(const Machine& m, const Thread& t, const TensorMap* map, CallSite site) {
  if (map == nullptr)
    m.fault(&t, site, sim::FaultCode::kBadTensorMap, "a copy with a null pointer instead of a tensor map");
  if (reinterpret_cast<std::uint64_t>(map) % 64 != 0) {
    m.fault(&t, site, sim::FaultCode::kBadTensorMap,
            fmt::format("a copy with a tensor map that is aligned to {} bytes; it must be aligned to 64",
                        reinterpret_cast<std::uint64_t>(map) & -reinterpret_cast<std::uint64_t>(map)));
  }
}

std::string box_text(const std::uint32_t* box, std::uint32_t rank) {
  std::string text;
  for (std::uint32_t d = 0; d < rank; ++d) text += fmt::format("{}{}", d == 0 ? "" : " x ", box[d]);
  return text;
}

// As in the enumeration.
const char* swizzle_text(Swizzle swizzle) {
  constexpr const char* kNames[] = {"kNone", "k32B", "k64B", "k128B", "k128BAtom32B"};
  const auto number = static_cast<std::size_t>(swizzle);
  return number < std::size(kNames) ? kNames[number] : "unknown";
}

// Threads can change it if the launch was given its memory.
sim::machine::MapOperand map_operand(const Machine& m, const TensorMap* map) {
  const auto address = reinterpret_cast<std::uint64_t>(map);
  return {*map, m.global().find(address, sizeof(*map)) == nullptr ? 0 : address};
}

}  // namespace

void check_tensor_map(const TensorMap* map, const TileCopy& copy, CallSite site) {
  instruct(false, site, [&](Executor&, Machine& m, Thread& t) {
    check_map_pointer(m, t, map, site);
    const DecodedTensorMap decoded = tensor_map_decode(*map);
    if (decoded.state != TensorMapState::kFine) return;  // the copy says so
    const TensorMapSpec& spec = decoded.spec;
    std::uint32_t wanted[5] = {1, 1, 1, 1, 1};
    std::copy_n(copy.box, copy.rank, wanted);
    if (copy.has_edge && spec.rank > 1) wanted[1] = std::min(wanted[1], spec.box[1]);
    const auto refuse = [&](const std::string& what) {
      m.fault(&t, site, sim::FaultCode::kBadTensorMap, what + "; make it with tensor_map_for<Tile>");
    };
    if (spec.rank < copy.rank || !std::equal(spec.box, spec.box + spec.rank, wanted)) {
      refuse(fmt::format("a tile whose copies are boxes of {}, and a tensor map with boxes of {}",
                         box_text(copy.box, copy.rank), box_text(spec.box, spec.rank)));
    }
    if (bits_per_element(spec.type) != 8 * copy.element_bytes) {
      refuse(fmt::format("a tile with elements of {} bits, and a tensor map with elements of {}",
                         8 * copy.element_bytes, bits_per_element(spec.type)));
    }
    if (spec.swizzle != copy.swizzle) {
      refuse(fmt::format("a tile with swizzle {}, and a tensor map with swizzle {}", swizzle_text(copy.swizzle),
                         swizzle_text(spec.swizzle)));
    }
  });
}

void tensor_load(int cta_group, void* destination, const TensorMap* map, const std::int32_t* coords, int rank,
                 MbarPtr bar, CallSite site) {
  instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    check_map_pointer(m, t, map, site);
    const SharedAddress to = e.address_of(destination, site);
    const auto target = static_cast<std::uint16_t>(1u << (to >> sim::machine::kRankShift));
    m.tma.tensor_load(t, cta_group, to, map_operand(m, map), coords, rank, e.address_of(bar, site), target, site);
  });
}

void tensor_load_multicast(int cta_group, void* destination, const TensorMap* map, const std::int32_t* coords,
                           int rank, MbarPtr bar, std::uint16_t mask, CallSite site) {
  instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    check_map_pointer(m, t, map, site);
    m.tma.tensor_load(t, cta_group, e.address_of(destination, site), map_operand(m, map), coords, rank,
                      e.address_of(bar, site), mask, site);
  });
}

void tensor_store(const TensorMap* map, const std::int32_t* coords, int rank, const void* source, CallSite site) {
  instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    check_map_pointer(m, t, map, site);
    m.tma.tensor_store(t, map_operand(m, map), coords, rank, e.address_of(source, site), site);
  });
}

void tensor_reduce(ReduceOp op, const TensorMap* map, const std::int32_t* coords, int rank, const void* source,
                   CallSite site) {
  instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    check_map_pointer(m, t, map, site);
    m.tma.tensor_reduce(t, op, map_operand(m, map), coords, rank, e.address_of(source, site), site);
  });
}

void tensor_prefetch(const TensorMap* map, const std::int32_t* coords, int rank, CallSite site) {
  instruct(true, site, [&](Executor&, Machine& m, Thread& t) {
    check_map_pointer(m, t, map, site);
    m.tma.tensor_prefetch(t, map_operand(m, map), coords, rank, site);
  });
}

void prefetch_tensormap(const TensorMap* map, CallSite site) {
  instruct(true, site, [&](Executor&, Machine& m, Thread& t) { check_map_pointer(m, t, map, site); });
}

void cp_async_bulk_load(void* destination, const void* global, std::uint32_t bytes, MbarPtr bar, CallSite site) {
  instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    m.tma.bulk_load(t, e.address_of(destination, site), reinterpret_cast<std::uint64_t>(global), bytes,
                    e.address_of(bar, site), site);
  });
}

void cp_async_bulk_store(void* global, const void* source, std::uint32_t bytes, CallSite site) {
  instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    m.tma.bulk_store(t, reinterpret_cast<std::uint64_t>(global), e.address_of(source, site), bytes, site);
  });
}

void cp_async_bulk_cluster(void* peer_destination, const void* source, std::uint32_t bytes, MbarPtr peer_bar,
                           CallSite site) {
  instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    m.tma.bulk_to_peer(t, e.address_of(peer_destination, site), e.address_of(source, site), bytes,
                       e.address_of(peer_bar, site), site);
  });
}

void cp_async_bulk_commit_group(CallSite site) {
  instruct(true, site, [&](Executor&, Machine& m, Thread& t) { m.tma.commit_group(t, site); });
}

void bulk_wait_group(std::uint32_t pending, bool read_only, CallSite site) {
  instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    while (!m.tma.wait_group(t, pending, read_only, site)) e.suspend();
  });
}

// Names, and promises about stages.

void annotate_role(Name role) {
  instruct(false, {}, [&](Executor&, Machine& m, Thread& t) { m.annotate_role(t, role.text); });
}

void annotate_barriers(MbarPtr first, std::uint32_t count, Name pipeline, BarrierRole role) {
  instruct(false, {}, [&](Executor& e, Machine& m, Thread& t) {
    m.annotate_barriers(t, e.address_of(first, {}), count, pipeline.text, role);
  });
}

void annotate_named_barriers(std::uint32_t first, std::uint32_t count, Name use) {
  instruct(false, {},
           [&](Executor&, Machine& m, Thread& t) { m.annotate_named_barriers(t, first, count, use.text); });
}

namespace {

// What is told to observers alone counts for nothing: schedules are the same with and without it.
template <class Kind>
void tell(Kind kind) {
  Executor* const executor = Executor::current_or_null();
  if (executor == nullptr || !executor->machine().wants<Kind>()) return;
  const Thread& thread = executor->thread();
  kind.cta = thread.cta->linear;
  kind.thread = thread.tid;
  try {
    return executor->machine().emit(kind);
  } catch (...) {
    executor->keep_exception();
  }
  executor->abandon();
}

}  // namespace

void annotate_tile(std::uint32_t m, std::uint32_t n) { tell(sim::event::TileBegin{.m = m, .n = n}); }
void annotate_tile_end() { tell(sim::event::TileEnd{}); }

namespace {

// The headline is made here, so that the stack that is abandoned holds no memory.
template <class Headline>
[[noreturn]] void stop_thread(sim::FaultCode code, const Headline& headline, CallSite site) noexcept {
  Executor& executor = Executor::current();
  try {
    executor.machine().fault(&executor.thread(), site, code, headline());
  } catch (...) {
    executor.keep_exception();
  }
  executor.abandon();
}

}  // namespace

void fault_stage_dropped(Name pipeline, std::uint32_t stage, CallSite acquired) noexcept {
  const auto headline = [&] {
    return fmt::format("the handle of {}[{}], acquired here, went out of scope without release()", pipeline.text,
                       stage);
  };
  stop_thread(sim::FaultCode::kStageDropped, headline, acquired);
}

void fault_stage_used_after_release(Name pipeline, std::uint32_t stage, CallSite site) noexcept {
  const auto headline = [&] {
    return fmt::format("the handle of {}[{}] was used or released again after its release", pipeline.text, stage);
  };
  stop_thread(sim::FaultCode::kStageUsedAfterRelease, headline, site);
}

}  // namespace heddle::inline HEDDLE_TARGET::isa
