// SPDX-License-Identifier: Apache-2.0
//
// A plan of tensor memory, and two matmuls through it as in attention: S = Q K^T, rounded to P in the columns of
// S, and O = P V.
#include "../support/tiny_kernel.h"

#include <heddle/isa/fence.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/tcgen05.h>
#include <heddle/pipeline/pipeline.h>
#include <heddle/pipeline/tensor_core_backend.h>
#include <heddle/sim/global_memory.h>
#include <heddle/tile/scale_factors.h>
#include <heddle/tile/smem_array.h>
#include <heddle/tile/tcgen05_mma.h>
#include <heddle/tile/tmem_plan.h>

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace heddle {
namespace {

using test::is_silent;

constexpr std::uint32_t kKeys = 64;
constexpr std::uint32_t kDim = 32;
using S = TmemTensor<float, AccumulatorShape{.m = 128, .n = kKeys}>;
using O = TmemTensor<float, AccumulatorShape{.m = 128, .n = kDim}>;
using P = PackedTmem<bf16, kKeys>;
using Plan = TmemPlan<TmemRegion<"s", S, 2>,
                      TmemRegion<"scales", TmemScales<ScaleFactorShape{.rows = 256, .scales_per_row = 8}>, 3>,
                      TmemOverlay<"p", "s", P, 16>, TmemRegion<"o", O>>;

TEST(TmemPlan, LaysRegionsSideBySide) {
  static_assert(Plan::first_col<"s">() == 0 && Plan::num_stages<"s">() == 2);
  static_assert(Plan::first_col<"scales">() == 128);
  static_assert(TmemScales<ScaleFactorShape{.rows = 256, .scales_per_row = 8}>::cols() == 16);
  static_assert(Plan::first_col<"o">() == 128 + 3 * 16);
  static_assert(Plan::kCols == 128 + 48 + 32 && Plan::kAllocCols == 256);
  const Plan plan(TmemAddress(0x40));
  EXPECT_EQ(plan.region<"s">(1).address(), TmemAddress(0x40 + 64));
  EXPECT_EQ(plan.region<"o">().address(), TmemAddress(0x40 + 176));
  EXPECT_EQ(plan.region<"scales">(2).address().bits(), 0x40u + 128 + 32);
}

TEST(TmemPlan, PutsAnOverlayIntoEveryStageOfTheOther) {
  static_assert(Plan::first_col<"p">() == 16 && Plan::num_stages<"p">() == 2);
  static_assert(P::cols() == kKeys / 2);
  const Plan plan(TmemAddress(0));
  EXPECT_EQ(plan.region<"p">(0).address(), TmemAddress(16));
  EXPECT_EQ(plan.region<"p">(1).address(), TmemAddress(64 + 16));
}

// 2 accumulators of 128 columns; 4 input stages of K = 128: MXFP8 has 4 scales for each row.
TEST(TmemScales, ComeBehindTheAccumulators) {
  using Accumulator = TmemTensor<float, AccumulatorShape{.m = 256, .n = 128, .cta_group = 2}>;
  using Scaled = TmemPlan<TmemRegion<"d", Accumulator, 2>,
                          TmemRegion<"sfa", TmemScales<ScaleFactorShape{.rows = 128, .scales_per_row = 4}>, 4>,
                          TmemRegion<"sfb", TmemScales<ScaleFactorShape{.rows = 128, .scales_per_row = 4}>, 4>>;
  static_assert(Scaled::first_col<"sfa">() == 256 && Scaled::first_col<"sfb">() == 272 && Scaled::kCols == 288);
  static_assert(Scaled::kAllocCols == 512);
  const Scaled plan(TmemAddress(32));
  EXPECT_EQ(plan.region<"d">(1).address().column(), 32u + 128);
  EXPECT_EQ(plan.region<"sfa">(3).address().column(), 32u + 256 + 12);
}

TEST(TmemOperand, StepsAlongKByHalfAsManyColumns) {
  const auto operand = P(TmemAddress(10)).operand();
  EXPECT_EQ(operand.taddr(), 10u);
  EXPECT_EQ(operand.taddr(16), 18u);
  static_assert(decltype(operand)::rows == 128 && decltype(operand)::k == kKeys);
}

using QTiles = SMemTileArray2D<bf16, TileShape{128, kDim}, 1, Swizzle::k64B>;
using KTiles = SMemTileArray2D<bf16, TileShape{kKeys, kDim}, 1, Swizzle::k64B>;  // N rows
using VTiles = SMemTileArray2D<bf16, TileShape{kKeys, kDim}, 1, Swizzle::k64B>;  // K rows

struct Shared {
  QTiles q;
  KTiles k;
  VTiles v;
  SharedMemBarrier done[2];
  std::uint32_t base;
};

int q_at(std::uint32_t row, std::uint32_t d) { return static_cast<int>((row * 7 + d * 3 + row * d) % 5) - 2; }
int k_at(std::uint32_t key, std::uint32_t d) { return static_cast<int>((key * 5 + d * 11 + key * d) % 5) - 2; }
int v_at(std::uint32_t key, std::uint32_t d) {
  return static_cast<int>((key * 3 + d * 13 + key * key * d) % 5) - 2;
}

// What the threads forget.
enum class Without { kNothing, kWaitForStores };

// Both products in stage `stage` of the plan; O goes out.
sim::Report attend(std::vector<float>& out, std::uint32_t stage, Without without, const sim::Schedule& schedule) {
  sim::GlobalMemory memory;
  memory.add("o", out.data(), 4 * out.size());
  return test::run_kernel<Shared>(
      {.threads = 128, .memory = &memory, .schedule = schedule, .arch = Arch::kSm100}, [&](Shared& shared) {
        const auto as_bf16 = [](int value) { return bf16::from_float(static_cast<float>(value)); };
        for (std::uint32_t i = isa::tid_x(); i < 128 * kDim; i += 128) {
          shared.q[0].store(as_bf16(q_at(i / kDim, i % kDim)), i / kDim, i % kDim);
        }
        for (std::uint32_t i = isa::tid_x(); i < kKeys * kDim; i += 128) {
          shared.k[0].store(as_bf16(k_at(i / kDim, i % kDim)), i / kDim, i % kDim);
          shared.v[0].store(as_bf16(v_at(i / kDim, i % kDim)), i / kDim, i % kDim);
        }
        isa::fence_proxy_async_shared_cta();
        if (isa::tid_x() == 0) {
          for (SharedMemBarrier& done : shared.done) test::init_barrier(&done, 1);
        }
        TmemAllocation<1> tmem;
        if (isa::warp_idx() == 0) tmem = TmemAllocation<1>::allocate(&shared.base, Plan::kAllocCols);
        isa::syncthreads();
        const Plan plan(TmemAllocation<1>::from_shared(&shared.base, Plan::kAllocCols).address());
        const bool issues = isa::warp_idx() == 0 && isa::elect_sync();
        if (issues) {
          tcgen05_mma(plan.region<"s">(stage), shared.q[0].operand(), shared.k[0].operand(), false);
          isa::tcgen05_commit<1>(&shared.done[0]);
        }
        test::wait_parity(&shared.done[0], 0);
        isa::tcgen05_fence_after_thread_sync();
        TmemFragment<float, kKeys> s;
        plan.region<"s">(stage).load(s, 0);
        isa::tcgen05_wait_ld();
        // In two halves, and read back: the pairs are where they should be.
        for (std::uint32_t half = 0; half < kKeys; half += kKeys / 2) {
          float values[kKeys / 2];
          for (std::uint32_t i = 0; i < kKeys / 2; ++i) values[i] = s[half + i];
          plan.region<"p">(stage).store(values, half);
        }
        if (without != Without::kWaitForStores) isa::tcgen05_wait_st();
        if (without == Without::kNothing) {
          std::uint32_t pairs[kKeys / 2];
          plan.region<"p">(stage).load(pairs, 0);
          isa::tcgen05_wait_ld();
          for (std::uint32_t i = 0; i < kKeys; ++i) {
            EXPECT_EQ(element_of<bf16>(pairs[i / 2], i % 2), s[i]);
          }
        }
        isa::tcgen05_fence_before_thread_sync();
        isa::syncthreads();
        if (issues) {
          isa::tcgen05_fence_after_thread_sync();
          tcgen05_mma(plan.region<"o">(), plan.region<"p">(stage).operand(), shared.v[0].operand<Major::kMN>(),
                      false);
          isa::tcgen05_commit<1>(&shared.done[1]);
        }
        test::wait_parity(&shared.done[1], 0);
        isa::tcgen05_fence_after_thread_sync();
        TmemFragment<float, kDim> o;
        plan.region<"o">().load(o, 0);
        isa::tcgen05_wait_ld();
        for (std::uint32_t i = 0; i < kDim; ++i) isa::st_global(&out[isa::tid_x() * kDim + i], o[i]);
        isa::tcgen05_fence_before_thread_sync();
        isa::syncthreads();
        if (isa::warp_idx() == 0) tmem.deallocate();
      });
}

float expected(std::uint32_t row, std::uint32_t d) {
  int sum = 0;
  for (std::uint32_t key = 0; key < kKeys; ++key) {
    int score = 0;
    for (std::uint32_t i = 0; i < kDim; ++i) score += q_at(row, i) * k_at(key, i);
    sum += score * v_at(key, d);
  }
  return static_cast<float>(sum);
}

TEST(TmemPlan, CarriesScoresAndOutputsOfAttention) {
  for (const sim::Schedule& schedule : test::some_schedules()) {
    for (const std::uint32_t stage : {0u, 1u}) {
      std::vector<float> out(128 * kDim, -1.0f);
      ASSERT_TRUE(is_silent(attend(out, stage, Without::kNothing, schedule)));
      for (std::uint32_t i = 0; i < out.size(); ++i) {
        ASSERT_EQ(out[i], expected(i / kDim, i % kDim)) << "row " << i / kDim << ", column " << i % kDim;
      }
    }
  }
}

TEST(TmemPlan, PackedRowsThatAreNotWaitedForAreReported) {
  std::vector<float> out(128 * kDim);
  const sim::Report report = attend(out, 0, Without::kWaitForStores, {});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.diagnoses[0].code, "missing_tmem_wait") << report.text();
}

// Scores that are asked for until they are there, as a pipeline from the tensor cores hands them over: what
// succeeded orders the loads, too.
struct PolledShared {
  QTiles q;
  KTiles k;
  SharedMemBarrier scores[2];
  std::uint32_t base;
};

template <class Backend>
sim::Report poll_scores(const sim::Schedule& schedule) {
  const auto body = [](PolledShared& shared) {
    for (std::uint32_t i = isa::tid_x(); i < 128 * kDim; i += 128) {
      shared.q[0].store(bf16::from_float(1.0f), i / kDim, i % kDim);
      if (i < kKeys * kDim) shared.k[0].store(bf16::from_float(2.0f), i / kDim, i % kDim);
    }
    isa::fence_proxy_async_shared_cta();
    ProducerConsumerPipeline<1, Backend> scores(shared.scores, "scores");
    if (isa::tid_x() == 0) {
      scores.init_mbars(1, 128);
      isa::fence_mbarrier_init();
    }
    TmemAllocation<1> tmem;
    if (isa::warp_idx() == 0) tmem = TmemAllocation<1>::allocate(&shared.base, Plan::kAllocCols);
    isa::syncthreads();
    const Plan plan(TmemAllocation<1>::from_shared(&shared.base, Plan::kAllocCols).address());
    for (std::uint32_t turn = 0; turn < 2; ++turn) {
      if (isa::warp_idx() == 0 && isa::elect_sync()) {
        // The second time the readers of the first must have released it.
        ConsumerReady ready = scores.try_wait_consumer();
        while (!ready) ready = scores.try_wait_consumer();
        auto s = scores.acquire_producer(ready);
        tcgen05_mma(plan.region<"s">(), shared.q[0].operand(), shared.k[0].operand(), turn != 0);
        std::move(s).release();
      }
      ProducerReady ready = scores.try_wait_producer();
      while (!ready) ready = scores.try_wait_producer();
      auto s = scores.acquire_consumer(ready);
      TmemFragment<float, 8> some;
      plan.region<"s">().load(some, 8);
      isa::tcgen05_wait_ld();
      EXPECT_EQ(some[3], static_cast<float>((turn + 1) * 2 * kDim));
      std::move(s).release();
    }
    isa::tcgen05_fence_before_thread_sync();
    isa::syncthreads();
    if (isa::warp_idx() == 0) tmem.deallocate();
  };
  // A missing fence of tcgen05 is formal.
  const sim::LaunchOptions options{
      .schedule = schedule, .arch = Arch::kSm100, .kernel = "polled scores", .strict = true};
  const sim::KernelEntry entry{
      .threads = 128,
      .shared_bytes = sizeof(PolledShared),
      .shared_alignment = alignof(PolledShared),
      .run = [](const void* params, void* shared) {
        (*static_cast<const decltype(body)*>(params))(*static_cast<PolledShared*>(shared));
      }};
  return sim::launch_entry(options, {.grid = {1}}, entry, &body);
}

// Waits without the fence that tensor memory needs, which a test that succeeds must have as well.
class UnfencedTests : public MmaOutputBackend<1> {
 public:
  using MmaOutputBackend<1>::MmaOutputBackend;
  bool test_full(std::uint32_t stage, std::uint32_t phase, CallSite site) const {
    return MbarrierBackend<1>::test_full(stage, phase, site);
  }
};

TEST(MmaOutputBackend, ATestThatSucceedsOrdersLoadsFromTensorMemory) {
  for (const sim::Schedule& schedule : test::some_schedules()) {
    EXPECT_TRUE(is_silent(poll_scores<MmaOutputBackend<1>>(schedule)));
    const sim::Report report = poll_scores<UnfencedTests>(schedule);
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.diagnoses[0].code, "missing_tcgen05_fence") << report.text();
  }
}

}  // namespace
}  // namespace heddle
