// SPDX-License-Identifier: Apache-2.0
#include <heddle/isa/memory.h>
#include <heddle/isa/tma.h>
#include <heddle/isa/warp.h>
#include <heddle/kernel/barriers.h>
#include <heddle/kernel/clc_scheduler.h>
#include <heddle/kernel/roles.h>
#include <heddle/kernel/shared_memory.h>
#include <heddle/pipeline/epilogue_load.h>
#include <heddle/pipeline/payload.h>
#include <heddle/pipeline/pipeline_bundle.h>
#include <heddle/sim/event.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "../support/tiny_kernel.h"

namespace heddle::test {
namespace {

using Epilogue = Role<"epilogue", 4>;
using SchedulerRole = Role<"scheduler", 1>;
using Load = Role<"load", 1>;
using Mma = Role<"mma", 1>;
using EpilogueLoad = Role<"epilogue_load", 1>;
using Roles = WarpRoles<Epilogue, SchedulerRole, Load, Mma, EpilogueLoad>;
constexpr ClusterConfig kOne{};
using Counts = ArrivalCounts<kOne, Roles>;

template <std::uint32_t depth>
struct OrderShared {
  LoadOrderBarrierStorage<depth> order;
};

template <std::uint32_t depth>
void expect_order(std::uint32_t tiles) {
  for (const sim::Schedule& schedule : some_schedules(25)) {
    std::uint32_t arrivals = 0, waits = 0;
    EXPECT_TRUE(is_silent(
        run_kernel<OrderShared<depth>>({.threads = 64, .schedule = schedule}, [&](OrderShared<depth>& shared) {
          LoadOrderBarrier<depth> order(shared.order);
          const KernelScope<kOne> scope([&] { order.init_mbars(); });
          for (std::uint32_t tile = 0; tile < tiles; ++tile) {
            if (isa::warp_idx() == 0) {
              if (isa::laneid() == 0) ++arrivals;
              order.arrive();
              // It went on, so the other side has taken all but `depth` arrivals, or is about to say so.
              if (isa::laneid() == 0) {
                EXPECT_LE(arrivals, waits + depth + 1);
              }
            } else {
              order.wait();
              if (isa::laneid() != 0) continue;
              EXPECT_GE(arrivals, tile + 1) << "wait " << tile;
              ++waits;
            }
          }
        })));
    EXPECT_EQ(arrivals, tiles);
    EXPECT_EQ(waits, tiles);
  }
}

TEST(LoadOrderBarrier, KthWaitIsForTheKthArrival) {
  for (const std::uint32_t tiles : {0u, 1u, 2u, 3u, 8u}) {
    expect_order<1>(tiles);
    expect_order<2>(tiles);
    expect_order<3>(tiles);
  }
}

// One barrier with a parity, as it is found elsewhere: a second arrival before the first wait hides the first.
struct OneBarrier {
  SharedMemBarrier bar;
};

TEST(LoadOrderBarrier, OneBarrierWithAParityLosesAPhase) {
  int hangs = 0;
  for (const sim::Schedule& schedule : some_schedules(25)) {
    const sim::Report report =
        run_kernel<OneBarrier>({.threads = 64, .schedule = schedule}, [](OneBarrier& shared) {
          const KernelScope<kOne> scope([&] { isa::mbarrier_init(&shared.bar, 1); });
          for (std::uint32_t tile = 0; tile < 2; ++tile) {
            if (isa::tid_x() == 0) isa::mbarrier_arrive(&shared.bar);
            if (isa::tid_x() == 32) wait_parity(&shared.bar, tile & 1);
          }
        });
    hangs += report.has("deadlock") ? 1 : 0;
  }
  EXPECT_GT(hangs, 0) << "this is what LoadOrderBarrier is for";
}

// The epilogue-load warp brings tiles of C; the epilogue adds them up.
constexpr Layout kSourceLayout = row_major<std::uint32_t>(4U, 128U);
constexpr std::uint32_t kSourceBytes = 4 * 128 * 4;

struct SourceShared {
  SourceTileStorage<std::uint32_t, kSourceLayout, 2> tiles;
  EpiLoadPipelineStorage<2> source;
  LoadOrderBarrierStorage<> load_order;
};

TEST(EpiLoadPipelineStorage, EpilogueReadsTheTilesOfC) {
  constexpr std::uint32_t kTiles = 5;
  std::vector<std::uint32_t> source(kTiles * 4 * 128);
  for (std::uint32_t i = 0; i < source.size(); ++i) source[i] = i * 7;
  std::vector<std::uint32_t> expected(128);
  for (std::uint32_t i = 0; i < source.size(); ++i) expected[i % 128] += source[i];
  for (const sim::Schedule& schedule : some_schedules(12)) {
    std::vector<std::uint32_t> sums(128);
    sim::GlobalMemory memory;
    memory.add_read_only("C", source.data(), source.size() * 4);
    memory.add("sums", sums.data(), sums.size() * 4);
    EXPECT_TRUE(is_silent(run_kernel<SourceShared>(
        {.threads = Roles::kThreads, .memory = &memory, .schedule = schedule}, [&](SourceShared& shared) {
          auto ring = shared.source.pipeline("source");
          LoadOrderBarrier order(shared.load_order);
          const KernelScope<kOne> scope([&] {
            ring.init_mbars(Counts::epilogue_load_full, Counts::epilogue_load_empty);
            order.init_mbars();
          });
          if (Roles::enter<Load>()) {
            for (std::uint32_t tile = 0; tile < kTiles; ++tile) order.arrive();
          } else if (Roles::enter<EpilogueLoad>()) {
            for (std::uint32_t tile = 0; tile < kTiles; ++tile) {
              order.wait();
              auto stage = ring.acquire_producer();
              stage.expect_bytes(kSourceBytes);
              if (isa::elect_sync()) {
                isa::cp_async_bulk_load(shared.tiles.source_tiles()[stage.index()].data(),
                                        source.data() + tile * 4 * 128, kSourceBytes, stage.mbar());
              }
              std::move(stage).release_elected();
            }
          } else if (Roles::enter<Epilogue>()) {
            std::uint32_t sum = 0;
            for (std::uint32_t tile = 0; tile < kTiles; ++tile) {
              auto stage = ring.acquire_consumer();
              for (std::uint32_t row = 0; row < 4; ++row) {
                sum += shared.tiles.source_tiles()[stage.index()].load(row, Roles::thread_in_role<Epilogue>());
              }
              std::move(stage).release();
            }
            isa::st_global(&sums[Roles::thread_in_role<Epilogue>()], sum);
          }
        })));
    EXPECT_EQ(sums, expected);
  }
}

constexpr PipelineBundleConfig kFull{
    .input_stages = 4, .output_stages = 2, .clc_stages = 3, .epi_load_stages = 2};
constexpr PipelineBundleConfig kPlain{.input_stages = 3, .output_stages = 1};
using Payload = StandardTilePayload<bf16, bf16, StandardTileConfig{.a = {64, 64}, .b = {64, 64}}>;

// Which barriers were initialised, and for how many arrivals.
class Inits final : public sim::Watcher<Inits> {
 public:
  void on(const sim::event::BarrierInit& event) { ++counts[event.count]; }

  std::map<std::uint64_t, int> counts;
};

template <class Bundle, ClusterConfig cluster>
std::map<std::uint64_t, int> init_counts() {
  Inits inits;
  EXPECT_TRUE(is_silent(
      run_kernel<Bundle>({.threads = 32, .arch = Arch::kSm100, .observers = {&inits}}, [](Bundle& bundle) {
        const KernelScope<kOne> scope([&] { bundle.template init_mbars<ArrivalCounts<cluster, Roles>>(); });
      })));
  return inits.counts;
}

TEST(SmemPipelineBundle, InitialisesEveryBarrierWithItsCount) {
  // Ones: input full and empty, output full, CLC full, epilogue load full, the two of the load order.
  // 128: output empty, epilogue load empty, tensor memory. 256: CLC empty. 32: the throttle.
  const std::map<std::uint64_t, int> with_clc = {{1, 4 + 4 + 2 + 3 + 2 + 2}, {32, 6}, {128, 2 + 2 + 1}, {256, 3}};
  EXPECT_EQ((init_counts<SmemPipelineBundle<kFull>, kOne>()), with_clc);
  const std::map<std::uint64_t, int> without = {{1, 3 + 3 + 1}, {128, 1 + 1}};
  EXPECT_EQ((init_counts<SmemPipelineBundleNoClc<kPlain>, kOne>()), without);
  // In pairs: 256 threads empty an accumulator, and 480 read a response.
  constexpr ClusterConfig kPair{.cluster = {2, 1}, .cta_group = 2};
  const std::map<std::uint64_t, int> pair = {{1, 4 + 4 + 2 + 3 + 2 + 2}, {32, 6}, {128, 2}, {256, 3}, {480, 3}};
  EXPECT_EQ((init_counts<SmemPipelineBundle<kFull>, kPair>()), pair);
}

TEST(SmemPipelineBundle, HoldsThePipelinesAndNothingElse) {
  using Bundle = SmemPipelineBundle<kFull>;
  EXPECT_EQ(sizeof(Bundle::input) + sizeof(Bundle::output) + sizeof(Bundle::clc) + sizeof(Bundle::tmem) +
                sizeof(Bundle::epi_load) + sizeof(Bundle::load_order),
            8u * (2 * 4 + 2 * 2 + 4 * 3 + 2 * 2 + 2 * 1) + 16 * 3 + sizeof(TmemDeallocStorage));
  EXPECT_EQ(memory_map<Bundle>()[2].name, "clc");
  EXPECT_TRUE(
      (std::is_same_v<decltype(Bundle::clc), ClcTileScheduler<TileSchedulerConfig{}, Roles, 3>::Storage>));
  EXPECT_TRUE((std::is_empty_v<decltype(SmemPipelineBundleNoClc<kPlain>::epi_load)>));
  EXPECT_TRUE((std::is_trivially_default_constructible_v<Bundle>));
}

TEST(SmemPipelineBundle, SaysWhatItHas) {
  EXPECT_TRUE(SmemPipelineBundle<kFull>::has_clc && SmemPipelineBundle<kFull>::has_epi_load);
  EXPECT_FALSE(SmemPipelineBundleNoClc<kPlain>::has_clc || SmemPipelineBundleNoClc<kPlain>::has_epi_load);
}

TEST(SmemPipelineBundle, OwnsTheTilesOfAPayload) {
  using Bundle = SmemPipelineBundleNoClc<kPlain, Payload>;
  EXPECT_EQ(sizeof(Bundle::input.tiles), 3u * Payload::stage_bytes);
  struct Shared {
    Bundle pipelines;
  };
  static_assert(check_shared_memory<Shared, Arch::kSm100>());
}

}  // namespace
}  // namespace heddle::test
