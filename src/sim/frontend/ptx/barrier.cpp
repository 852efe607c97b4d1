// SPDX-License-Identifier: Apache-2.0
//
// PTX: bar, barrier, barrier.cluster, fence, membar, mbarrier.
#include "sim/frontend/ptx/decode.h"
#include "sim/frontend/ptx/interpreter.h"
#include "sim/frontend/ptx/waits.h"

#include <fmt/format.h>

#include <bit>

#include <algorithm>
#include <utility>
#include <vector>

namespace heddle::sim::ptx {

namespace {

using machine::SharedAddress;

// Runs `body` for each lane; none of them can block.
template <class F>
std::uint32_t each(std::uint32_t mask, F&& body) {
  for_lanes(mask, body);
  return mask;
}

// Barriers of threads.

// flags of barriers.
constexpr std::uint32_t kReleasesCluster = 1;
constexpr std::uint32_t kAligned = 8;

void check_aligned(Warp& warp, const Instruction& i, std::uint32_t mask, std::uint32_t id, const char* name) {
  if ((i.flags & kAligned) == 0 || mask == warp.exist) return;
  warp.machine->warps.check_aligned(warp.thread(static_cast<std::uint32_t>(std::countr_zero(mask))), mask, id,
                                    name, i.site);
}

// One lane arrives at the cluster barrier, or waits for it.
void note_cluster_step(Warp& warp, const Instruction& i, std::uint32_t lane, Warp::ClusterSteps& steps,
                       const char* name, const char* deed) {
  const std::uint64_t round = warp.thread(lane).cluster_arrivals;
  steps[lane] = {&i, round};
  if ((i.flags & kAligned) == 0) return;
  for (std::uint32_t other = 0; other < 32; ++other) {
    const Warp::ClusterStep& step = steps[other];
    if ((warp.exist >> other & 1) == 0 || step.by == nullptr || step.by == &i || step.round != round) continue;
    warp.machine->fault(
        &warp.thread(lane), i.site, FaultCode::kDivergence,
        fmt::format("{} is executed by lanes of one warp at different places; a warp executes it as a whole",
                    name),
        {fmt::format("{:<62} {}", fmt::format("lane {}: {}", other, deed), machine::place(step.by->site))});
  }
}

// Without a count, it is for all threads that have not exited.
bool sync_lane(Warp& warp, const Instruction& i, std::uint32_t lane) {
  const auto id = static_cast<std::uint32_t>(warp.rows[i.a][lane]);
  if (i.b == kNone) return warp.machine->named_barriers.sync_all(warp.thread(lane), id, i.site);
  return warp.machine->named_barriers.sync(warp.thread(lane), id,
                                           static_cast<std::uint32_t>(warp.rows[i.b][lane]), i.site);
}

std::uint32_t bar_sync(Warp& warp, const Instruction& i, std::uint32_t mask) {
  std::uint32_t arriving = 0;
  return meet(
      warp, mask,
      [&](std::uint32_t l) {
        // Those who come back to it have arrived before.
        if (arriving == 0) {
          const auto id = static_cast<std::uint32_t>(warp.rows[i.a][l]);
          check_aligned(warp, i, mask, id, "bar.sync");
        }
        arriving |= 1u << l;
        sync_lane(warp, i, l);
      },
      [](std::uint32_t) { return true; });
}

std::uint32_t bar_arrive(Warp& warp, const Instruction& i, std::uint32_t mask) {
  return each(mask, [&](std::uint32_t l) {
    warp.machine->named_barriers.arrive(warp.thread(l), static_cast<std::uint32_t>(warp.rows[i.a][l]),
                                        static_cast<std::uint32_t>(warp.rows[i.b][l]), i.site);
  });
}

// flags: the reduction; 4: the predicate is negated.
std::uint32_t bar_red(Warp& warp, const Instruction& i, std::uint32_t mask) {
  return meet(
      warp, mask,
      [&](std::uint32_t l) {
        const auto id = static_cast<std::uint32_t>(warp.rows[i.a][l]);
        const std::uint32_t threads = i.b == kNone ? 0 : static_cast<std::uint32_t>(warp.rows[i.b][l]);
        warp.machine->named_barriers.red(warp.thread(l), id, threads,
                                         static_cast<machine::NamedReduction>(i.flags & 3),
                                         ((warp.rows[i.c][l] & 1) != 0) != ((i.flags & 4) != 0), i.site);
      },
      [&](std::uint32_t l) {
        warp.rows[i.d][l] = warp.thread(l).result;
        return true;
      });
}

std::uint32_t cluster_arrive(Warp& warp, const Instruction& i, std::uint32_t mask) {
  return each(mask, [&](std::uint32_t l) {
    warp.machine->cluster_barrier.arrive(warp.thread(l), (i.flags & kReleasesCluster) != 0, i.site);
    note_cluster_step(warp, i, l, warp.cluster_arrived, "barrier.cluster.arrive.aligned", "arrived");
  });
}

std::uint32_t cluster_wait(Warp& warp, const Instruction& i, std::uint32_t mask) {
  std::uint32_t done = 0;
  for_lanes(mask, [&](std::uint32_t l) {
    note_cluster_step(warp, i, l, warp.cluster_waited, "barrier.cluster.wait.aligned", "waited");
    if (warp.machine->cluster_barrier.wait(warp.thread(l), i.site)) done |= 1u << l;
  });
  return done;
}

// Fences. flags: the kind.
std::uint32_t fence(Warp& warp, const Instruction& i, std::uint32_t mask) {
  return each(mask, [&](std::uint32_t l) {
    warp.machine->memory.fence(warp.thread(l), static_cast<FenceKind>(i.flags), i.site);
  });
}

// more: of tensor maps; flags: of memory at the same scope.
std::uint32_t tensor_map_fence(Warp& warp, const Instruction& i, std::uint32_t mask) {
  return each(mask, [&](std::uint32_t l) {
    warp.machine->memory.fence(warp.thread(l), static_cast<FenceKind>(i.flags), i.site);
    warp.machine->memory.fence(warp.thread(l), static_cast<FenceKind>(i.more[0]), i.site);
  });
}

std::uint32_t no_fence(Warp&, const Instruction&, std::uint32_t mask) { return mask; }

// mbarrier. flags: 1: the address is generic; 2: cluster scope; 4: .noComplete; 8: parity; 16: .relaxed; 32: the
// barrier must be the own CTA's; 64: a wait whose scope is left out; 128: one whose answer nobody looks at.
constexpr std::uint32_t kGenericAddress = 1;
constexpr std::uint32_t kClusterScope = 2;
constexpr std::uint32_t kNoComplete = 4;
constexpr std::uint32_t kParity = 8;
constexpr std::uint32_t kRelaxed = 16;
constexpr std::uint32_t kOwnCta = 32;
constexpr std::uint32_t kNoScope = 64;
constexpr std::uint32_t kUnanswered = 128;

SharedAddress barrier_of(Warp& warp, const Instruction& i, std::uint32_t lane) {
  const SharedAddress address =
      shared_address(warp, lane, warp.rows[i.a][lane] + i.value, (i.flags & kGenericAddress) != 0, i);
  const machine::Thread& thread = warp.thread(lane);
  if ((i.flags & kOwnCta) != 0 && address >> machine::kRankShift != thread.cta->rank) {
    warp.machine->fault(
        &thread, i.site, FaultCode::kBadRank,
        fmt::format("an mbarrier instruction on a barrier of rank {}; this form takes a barrier of the "
                    "own CTA (rank {}), the one with .shared::cluster any",
                    address >> machine::kRankShift, thread.cta->rank));
  }
  return address;
}

EventScope scope_of(const Instruction& i) {
  if ((i.flags & kRelaxed) != 0) return EventScope::kRelaxed;
  if ((i.flags & kNoScope) != 0) return EventScope::kUnsaid;
  return (i.flags & kClusterScope) != 0 ? EventScope::kCluster : EventScope::kCta;
}

std::uint32_t word_of(const Warp& warp, std::uint32_t row, std::uint32_t lane) {
  return static_cast<std::uint32_t>(warp.rows[row][lane]);
}

std::uint32_t mbarrier_init(Warp& warp, const Instruction& i, std::uint32_t mask) {
  return each(mask, [&](std::uint32_t l) {
    warp.machine->mbarriers.init(warp.thread(l), barrier_of(warp, i, l), word_of(warp, i.b, l), i.site);
  });
}

std::uint32_t mbarrier_inval(Warp& warp, const Instruction& i, std::uint32_t mask) {
  return each(mask, [&](std::uint32_t l) {
    warp.machine->mbarriers.inval(warp.thread(l), barrier_of(warp, i, l), i.site);
  });
}

std::uint32_t mbarrier_arrive(Warp& warp, const Instruction& i, std::uint32_t mask) {
  return each(mask, [&](std::uint32_t l) {
    const SharedAddress barrier = barrier_of(warp, i, l);
    const std::uint32_t count = word_of(warp, i.b, l);
    const std::uint64_t state =
        (i.flags & kNoComplete) != 0
            ? warp.machine->mbarriers.arrive_no_complete(warp.thread(l), barrier, count, i.site)
            : warp.machine->mbarriers.arrive(warp.thread(l), barrier, count, scope_of(i), i.site);
    if (i.d != kNone) warp.rows[i.d][l] = state;
  });
}

std::uint32_t mbarrier_arrive_drop(Warp& warp, const Instruction& i, std::uint32_t mask) {
  return each(mask, [&](std::uint32_t l) {
    const SharedAddress barrier = barrier_of(warp, i, l);
    const std::uint32_t count = word_of(warp, i.b, l);
    const std::uint64_t state =
        (i.flags & kNoComplete) != 0
            ? warp.machine->mbarriers.drop_no_complete(warp.thread(l), barrier, count, i.site)
            : warp.machine->mbarriers.arrive_drop(warp.thread(l), barrier, count, scope_of(i), i.site);
    if (i.d != kNone) warp.rows[i.d][l] = state;
  });
}

std::uint32_t mbarrier_arrive_expect(Warp& warp, const Instruction& i, std::uint32_t mask) {
  return each(mask, [&](std::uint32_t l) {
    const std::uint64_t state = warp.machine->mbarriers.arrive_expect_tx(
        warp.thread(l), barrier_of(warp, i, l), word_of(warp, i.b, l), scope_of(i), i.site);
    if (i.d != kNone) warp.rows[i.d][l] = state;
  });
}

// PTX: the expectation comes before the arrival, and the drop with it.
std::uint32_t mbarrier_drop_expect(Warp& warp, const Instruction& i, std::uint32_t mask) {
  return each(mask, [&](std::uint32_t l) {
    const SharedAddress barrier = barrier_of(warp, i, l);
    warp.machine->mbarriers.expect_tx(warp.thread(l), barrier, word_of(warp, i.b, l), i.site);
    const std::uint64_t state =
        warp.machine->mbarriers.arrive_drop(warp.thread(l), barrier, 1, scope_of(i), i.site);
    if (i.d != kNone) warp.rows[i.d][l] = state;
  });
}

std::uint32_t mbarrier_expect(Warp& warp, const Instruction& i, std::uint32_t mask) {
  return each(mask, [&](std::uint32_t l) {
    warp.machine->mbarriers.expect_tx(warp.thread(l), barrier_of(warp, i, l), word_of(warp, i.b, l), i.site);
  });
}

std::uint32_t mbarrier_complete(Warp& warp, const Instruction& i, std::uint32_t mask) {
  return each(mask, [&](std::uint32_t l) {
    warp.machine->mbarriers.complete_tx(warp.thread(l), barrier_of(warp, i, l), word_of(warp, i.b, l), i.site);
  });
}

bool is_over(Warp& warp, const Instruction& i, std::uint32_t l) {
  const SharedAddress barrier = barrier_of(warp, i, l);
  if ((i.flags & kUnanswered) != 0) {  // it may come back at any time, so that nothing is told of it
    return (i.flags & kParity) != 0
               ? warp.machine->mbarriers.parity_is_over(warp.thread(l), barrier, word_of(warp, i.b, l), i.site)
               : warp.machine->mbarriers.is_over(warp.thread(l), barrier, warp.rows[i.b][l], i.site);
  }
  if ((i.flags & kParity) != 0) {
    return warp.machine->mbarriers.test_wait_parity(warp.thread(l), barrier, word_of(warp, i.b, l), scope_of(i),
                                                    i.site);
  }
  return warp.machine->mbarriers.test_wait(warp.thread(l), barrier, warp.rows[i.b][l], scope_of(i), i.site);
}

// A test that fails may be repeated for ever; others get a turn, so that it can succeed the next time.
std::uint32_t mbarrier_test_wait(Warp& warp, const Instruction& i, std::uint32_t mask) {
  return each(mask, [&](std::uint32_t l) {
    const bool over = is_over(warp, i, l);
    warp.rows[i.d][l] = put(over);
    warp.gives_way |= !over;
  });
}

std::uint32_t mbarrier_try_wait(Warp& warp, const Instruction& i, std::uint32_t mask) {
  std::uint32_t done = 0;
  // Whether hardware ends the wait early, it does so for lanes that wait together.
  bool asked = false;
  bool early = false;
  for_lanes(mask, [&](std::uint32_t l) {
    const bool over = is_over(warp, i, l);
    if (!over && warp.step[l] == 0) {
      if (!asked) early = warp.interpreter->strategy().wakes_early();
      asked = true;
      if (!early) {
        const SharedAddress barrier = barrier_of(warp, i, l);
        if ((i.flags & kParity) != 0) {
          warp.machine->mbarriers.suspend_parity(warp.thread(l), barrier, word_of(warp, i.b, l), i.site);
        } else {
          warp.machine->mbarriers.suspend(warp.thread(l), barrier, warp.rows[i.b][l], i.site);
        }
        warp.step[l] = 1;
        return;
      }
      warp.gives_way = true;
    }
    warp.rows[i.d][l] = put(over);
    warp.step[l] = 0;
    done |= 1u << l;
  });
  return done;
}

void pending_count(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) { warp.rows[i.d][l] = warp.rows[i.a][l] & 0xfffff; });
}

std::uint32_t space_flags(std::string_view space) { return space.empty() ? kGenericAddress : 0; }

// PTX: without .shared::cluster, an address that is not in the own CTA's shared memory is undefined behaviour.
std::uint32_t own_flags(std::string_view space) { return space == ".shared::cluster" ? 0 : kOwnCta; }

// PTX: mbarrier.arrive, mbarrier.try_wait: without a scope they are .cta. The machine tells of an arrival on a
// peer's barrier, and the check of a wait for what a peer has released.
std::uint32_t scope_flags(std::string_view scope) { return scope == ".cluster" ? kClusterScope : 0; }

std::uint32_t order_flags(std::string_view order) { return order == ".relaxed" ? kRelaxed : 0; }

std::uint32_t arrive_flags(std::string_view order, std::string_view scope, std::string_view space) {
  return space_flags(space) | own_flags(space) | scope_flags(scope) | order_flags(order);
}

// [address], operand
void decode_on_barrier(Build& b, MachineHandler handler, std::uint32_t flags) {
  b.want(2);
  b.address(0);
  b.out().b = b.source(1);
  b.out().flags = flags;
  b.machine(handler);
}

// state, [address], operand; the state may be left out.
void decode_arrive(Build& b, MachineHandler handler, std::uint32_t flags) {
  std::size_t at = 0;
  if (b.operand(0).kind != OperandKind::kAddress) {
    const Operand& state = b.operand(at++);
    if (state.kind != OperandKind::kSink) {
      if ((flags & kOwnCta) == 0) b.fail("no state comes back with .shared::cluster; '_' is wanted");
      b.out().d = b.target(state);
    }
  }
  b.want(at + 1, at + 2);
  b.address(at++);
  b.out().b = at < b.operands() ? b.source(at) : b.immediate(1);
  b.out().flags = flags;
  b.machine(handler);
}

void decode_wait(Build& b, MachineHandler handler, std::uint32_t flags) {
  b.want(3, 4);  // the last is a hint for how long to sleep
  b.out().d = b.target(0);
  b.address(1);
  b.out().b = b.source(2);
  b.out().flags = flags;
  b.machine(handler);
}

void decode_bar(Build& b, MachineHandler handler, bool needs_count) {
  b.want(needs_count ? 2 : 1, 2);
  b.out().a = b.source(0);
  if (b.operands() > 1) b.out().b = b.source(1);
  b.machine(handler);
}

void decode_fence(Build& b, FenceKind kind) {
  b.out().flags = static_cast<std::uint32_t>(kind);
  b.machine(fence);
}

FenceKind fence_of_scope(std::string_view scope) {
  if (scope == ".cta") return FenceKind::kAcqRelCta;
  return scope == ".cluster" ? FenceKind::kAcqRelCluster : FenceKind::kAcqRelGpu;
}

FenceKind memory_fence(std::string_view order, std::string_view scope) {
  const bool is_cta = scope == ".cta", is_cluster = scope == ".cluster";
  if (order == ".acquire") {
    return is_cta ? FenceKind::kAcquireCta : is_cluster ? FenceKind::kAcquireCluster : FenceKind::kAcquireGpu;
  }
  if (order == ".release") {
    return is_cta ? FenceKind::kReleaseCta : is_cluster ? FenceKind::kReleaseCluster : FenceKind::kReleaseGpu;
  }
  return fence_of_scope(scope);
}

constexpr const char* kSpace = "[.shared,.shared::cta,.shared::cluster]";
constexpr const char* kScope = "[.release,.relaxed][.cta,.cluster]";

void add_mbarrier_forms(FormTable& table) {
  const std::string end = std::string(kSpace) + ".b64";
  table.add("mbarrier.init" + end, [](Build& b) { decode_on_barrier(b, mbarrier_init, space_flags(b.mod(0))); });
  table.add("mbarrier.inval" + end, [](Build& b) {
    b.want(1);
    b.address(0);
    b.out().flags = space_flags(b.mod(0));
    b.machine(mbarrier_inval);
  });
  table.add(std::string("mbarrier.arrive") + kScope + end,
            [](Build& b) { decode_arrive(b, mbarrier_arrive, arrive_flags(b.mod(0), b.mod(1), b.mod(2))); });
  table.add(std::string("mbarrier.arrive.noComplete") + kScope + end,
            [](Build& b) { decode_arrive(b, mbarrier_arrive, space_flags(b.mod(2)) | kOwnCta | kNoComplete); });
  table.add(std::string("mbarrier.arrive_drop.noComplete") + kScope + end, [](Build& b) {
    decode_arrive(b, mbarrier_arrive_drop, space_flags(b.mod(2)) | kOwnCta | kNoComplete);
  });
  table.add(std::string("mbarrier.arrive_drop") + kScope + end,
            [](Build& b) { decode_arrive(b, mbarrier_arrive_drop, arrive_flags(b.mod(0), b.mod(1), b.mod(2))); });
  table.add(std::string("mbarrier.arrive.expect_tx") + kScope + end, [](Build& b) {
    decode_arrive(b, mbarrier_arrive_expect, arrive_flags(b.mod(0), b.mod(1), b.mod(2)));
  });
  table.add(std::string("mbarrier.arrive_drop.expect_tx") + kScope + end,
            [](Build& b) { decode_arrive(b, mbarrier_drop_expect, arrive_flags(b.mod(0), b.mod(1), b.mod(2))); });
  table.add("mbarrier.expect_tx[.relaxed][.cta,.cluster]" + end,
            [](Build& b) { decode_on_barrier(b, mbarrier_expect, space_flags(b.mod(2)) | own_flags(b.mod(2))); });
  table.add("mbarrier.complete_tx[.relaxed][.cta,.cluster]" + end,
            [](Build& b) { decode_on_barrier(b, mbarrier_complete, space_flags(b.mod(2))); });
  for (const bool is_try : {false, true}) {
    table.add(std::string("mbarrier") + (is_try ? ".try_wait" : ".test_wait") +
                  "[.parity][.acquire,.relaxed][.cta,.cluster]" + end,
              [is_try](Build& b) {
                decode_wait(b, is_try ? mbarrier_try_wait : mbarrier_test_wait,
                            space_flags(b.mod(3)) | (b.has(0) ? kParity : 0u) | order_flags(b.mod(1)) |
                                (b.has(2) ? scope_flags(b.mod(2)) : kNoScope));
              });
  }
  table.add("mbarrier.pending_count.b64", [](Build& b) { b.simple(1, {}, pending_count); });
}

}  // namespace

void mark_unanswered_waits(Function& function) {
  const auto waits = [](const Instruction& i) {
    return i.machine == mbarrier_try_wait || i.machine == mbarrier_test_wait;
  };
  if (std::none_of(function.code.begin(), function.code.end(), waits)) return;
  // What instructions with an effect read, and what that is made of.
  std::vector<bool> is_used(function.row_count);
  bool has_changed = true;
  const auto use = [&](std::uint32_t row) {
    if (row == kNone || is_used[row]) return;
    is_used[row] = has_changed = true;
  };
  while (std::exchange(has_changed, false)) {
    for (std::uint32_t pc = 0; pc < function.code.size(); ++pc) {
      const Flow& flow = function.flows[pc];
      const bool counts =
          flow.has_effect || flow.kind == FlowKind::kLoad || flow.kind == FlowKind::kControl ||
          flow.kind == FlowKind::kStore || flow.kind == FlowKind::kHandled ||
          std::any_of(flow.writes.begin(), flow.writes.end(), [&](auto row) { return is_used[row]; });
      if (!counts) continue;
      for (const std::uint32_t row : flow.reads) use(row);
      use(function.code[pc].guard);
    }
  }
  for (Instruction& i : function.code) {
    if (waits(i) && (i.d == kNone || !is_used[i.d])) i.flags |= kUnanswered;
  }
}

void add_barrier_forms(FormTable& table) {
  for (const std::string name : {"bar", "bar.cta", "barrier", "barrier.cta"}) {
    const bool is_aligned = name.starts_with("bar.") || name == "bar";
    table.add(name + ".sync[.aligned]", [is_aligned](Build& b) {
      decode_bar(b, bar_sync, false);
      if (is_aligned || b.has(0)) b.out().flags = kAligned;
    });
    table.add(name + ".arrive[.aligned]", [](Build& b) { decode_bar(b, bar_arrive, true); });
    table.add(name + ".red{.popc,.and,.or}[.aligned]{.u32,.pred}", [](Build& b) {
      b.want(3, 4);
      Instruction& out = b.out();
      out.d = b.target(0);
      out.a = b.source(1);
      if (b.operands() == 4) out.b = b.source(2);
      bool negated = false;
      out.c = b.predicate(b.operands() - 1, negated);
      const machine::NamedReduction reduction = b.mod(0) == ".popc"  ? machine::NamedReduction::kPopc
                                                : b.mod(0) == ".and" ? machine::NamedReduction::kAnd
                                                                     : machine::NamedReduction::kOr;
      out.flags = static_cast<std::uint32_t>(reduction) | (negated ? 4u : 0u);
      b.machine(bar_red);
    });
  }
  table.add("barrier.cluster.arrive[.release,.relaxed][.aligned]", [](Build& b) {
    b.want(0);
    b.out().flags = (b.mod(0) == ".relaxed" ? 0 : kReleasesCluster) | (b.has(1) ? kAligned : 0);
    b.machine(cluster_arrive);
  });
  table.add("barrier.cluster.wait[.acquire][.aligned]", [](Build& b) {
    b.want(0);
    b.out().flags = b.has(1) ? kAligned : 0;
    b.machine(cluster_wait);
  });
  table.add("fence.mbarrier_init.release.cluster", [](Build& b) { decode_fence(b, FenceKind::kMbarrierInit); });
  for (const std::string name : {"fence", "membar"}) {
    table.add(name + ".proxy{.async}[.global,.shared::cta,.shared::cluster]", [](Build& b) {
      decode_fence(b, b.mod(1) == ".global"        ? FenceKind::kProxyAsyncGlobal
                      : b.mod(1) == ".shared::cta" ? FenceKind::kProxyAsyncSharedCta
                                                   : FenceKind::kProxyAsync);
    });
  }
  // One half of a proxy fence each: who has read shared memory releases it to the async proxy, and who has it
  // overwritten acquires that. Model: the release is what orders the two; the other half is not asked for.
  table.add("fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster",
            [](Build& b) { decode_fence(b, FenceKind::kProxyAsyncSharedCta); });
  table.add("fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster",
            [](Build& b) { b.machine(no_fence); });
  // Model: every view of aliased memory is up to date.
  table.add("fence.proxy.alias", [](Build& b) { b.machine(no_fence); });
  table.add("membar.proxy.alias", [](Build& b) { b.machine(no_fence); });
  table.add("fence.proxy{.tensormap::generic}{.acquire,.release}{.cta,.cluster,.gpu,.sys}", [](Build& b) {
    b.out().more = {static_cast<std::uint32_t>(b.mod(1) == ".release" ? FenceKind::kTensorMapRelease
                                                                      : FenceKind::kTensorMapAcquire)};
    b.out().flags = static_cast<std::uint32_t>(fence_of_scope(b.mod(2)));
    b.machine(tensor_map_fence);
  });
  table.add("fence[.sc,.acq_rel,.acquire,.release]{.cta,.cluster,.gpu,.sys}",
            [](Build& b) { decode_fence(b, memory_fence(b.mod(0), b.mod(1))); });
  table.add("membar{.cta,.gl,.sys}", [](Build& b) { decode_fence(b, fence_of_scope(b.mod(0))); });
  // Model: a launch runs alone, so the launch before it is over and nothing waits for its trigger. What the
  // launch does before its wait is judged as if it were not.
  table.add("griddepcontrol{.launch_dependents,.wait}", [](Build& b) {
    decode_fence(b, b.mod(0) == ".wait" ? FenceKind::kGridWait : FenceKind::kLaunchDependents);
  });
  add_mbarrier_forms(table);
}

}  // namespace heddle::sim::ptx
