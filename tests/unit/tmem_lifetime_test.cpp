// SPDX-License-Identifier: Apache-2.0
//
// When tensor memory may be freed, and what becomes of the word that an allocation writes.
#include "../support/tiny_kernel.h"
#include "race_kernels.h"

#include <heddle/isa/cluster.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/tcgen05.h>
#include <heddle/isa/tmem.h>
#include <heddle/isa/warp.h>

namespace heddle {
namespace {

using test::is_silent;
using test::run_kernel;
using test::some_schedules;
using test::TinyLaunch;

struct Base {
  std::uint32_t base;
};

enum class Meet : std::uint8_t { kRelaxed, kOthersExit, kNothing, kArriveOnly };

// Two warps store to their lanes, and the first frees them all.
void free_after(Base& shared, Meet meet) {
  if (isa::warp_idx() == 0) isa::tcgen05_alloc<1>(&shared.base, 32);
  isa::syncthreads();
  const std::uint32_t base = isa::ld_shared(&shared.base);
  const std::uint32_t value[1] = {1};
  isa::tcgen05_st_32x32b(base + (32 * isa::warp_idx() << 16), value);
  isa::tcgen05_wait_st();
  const bool frees = isa::warp_idx() == 0;
  if (meet == Meet::kOthersExit && !frees) return;
  if (meet == Meet::kRelaxed) isa::barrier_cluster_arrive_relaxed();
  if (meet == Meet::kOthersExit || meet == Meet::kArriveOnly) isa::barrier_cluster_arrive();
  if (meet != Meet::kNothing && meet != Meet::kArriveOnly) isa::barrier_cluster_wait();
  if (frees) isa::tcgen05_dealloc<1>(base, 32);
  if (meet == Meet::kArriveOnly) isa::barrier_cluster_wait();
}

TEST(TmemLifetime, EndsAfterAnyBarrierThatShowsThatOthersAreDone) {
  for (const sim::Schedule& schedule : some_schedules()) {
    const TinyLaunch launch{.threads = 64, .schedule = schedule, .arch = Arch::kSm100};
    const auto report = [&](Meet meet) {
      return run_kernel<Base>(launch, [meet](Base& shared) { free_after(shared, meet); });
    };
    EXPECT_TRUE(is_silent(report(Meet::kRelaxed)));
    EXPECT_TRUE(is_silent(report(Meet::kOthersExit)));
    EXPECT_FALSE(report(Meet::kNothing).ok());
    EXPECT_FALSE(report(Meet::kArriveOnly).ok());
  }
}

}  // namespace
}  // namespace heddle

namespace heddle::race_test {
namespace {

// The word that an allocation writes becomes part of a tile that a copy fills.
struct WordInTile {
  struct Params {
    const std::uint32_t* source;
    bool stores;  // a thread has written to the word as well
    bool syncs = true;
  };
  struct Shared {
    alignas(128) std::uint32_t tile[32];
    SharedMemBarrier full;
  };
  static constexpr std::uint32_t kThreads = 64;

  static void run(const Params& p, Shared& s) {
    if (isa::tid_x() == 0) {
      isa::mbarrier_init(&s.full, 1);
      isa::fence_mbarrier_init();
    }
    if (isa::warp_idx() == 0) isa::tcgen05_alloc<1>(&s.tile[0], 32);
    if (p.stores && isa::tid_x() == 0) isa::st_shared(&s.tile[0], 0u);
    if (p.syncs) isa::syncthreads();
    if (isa::tid_x() == 32) {
      isa::mbarrier_arrive_expect_tx(&s.full, sizeof(s.tile));
      isa::cp_async_bulk_load(s.tile, p.source, sizeof(s.tile), &s.full);
    }
    wait(&s.full, 0);
    isa::syncthreads();
    if (isa::warp_idx() == 0) isa::tcgen05_dealloc<1>(0, 32);
  }
};

std::string code_of(Host& host, const WordInTile::Params& params, const sim::Schedule& schedule) {
  const sim::LaunchOptions options{.memory = &host.memory, .schedule = schedule, .arch = Arch::kSm100};
  const std::string text = sim::launch<WordInTile>(options, {.grid = {1}}, params).text();
  return text.empty() ? "silent" : text.substr(1, text.find(']') - 1);
}

TEST(TmemLifetime, TheWordOfAnAllocationNeedsNoProxyFence) {
  Host host;
  for (const char* schedule : {"rr", "1", "2", "3", "4", "5"}) {
    EXPECT_EQ(code_of(host, {host.source.data(), false}, sim::Schedule::parse(schedule)), "silent");
    EXPECT_EQ(code_of(host, {host.source.data(), true}, sim::Schedule::parse(schedule)), "missing_proxy_fence");
  }
}

struct Reads {
  struct Params {};
  struct Shared {
    std::uint32_t word;
  };
  static constexpr std::uint32_t kThreads = 64;
  static void run(const Params&, Shared& s) {
    if (isa::warp_idx() == 0) isa::tcgen05_alloc<1>(&s.word, 32);
    if (isa::warp_idx() == 1) isa::ld_shared(&s.word);
    isa::syncthreads();
    if (isa::warp_idx() == 0) isa::tcgen05_dealloc<1>(0, 32);
  }
};

TEST(TmemLifetime, TheWordOfAnAllocationIsNamed) {
  Host host;
  const sim::LaunchOptions options{.memory = &host.memory, .arch = Arch::kSm100};
  const std::string text = sim::launch<Reads>(options, {.grid = {1}}, {}).text();
  EXPECT_EQ(
      text.find("[race] a tcgen05.alloc and an ld.shared of 4 bytes touch bytes 0 to 3 of the shared memory, and "
                "nothing orders them"),
      0u)
      << text;
}

}  // namespace
}  // namespace heddle::race_test
