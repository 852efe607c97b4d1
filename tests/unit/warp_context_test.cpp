// SPDX-License-Identifier: Apache-2.0
//
// The contexts of MMA and epilogue warps: how tensor memory comes to the epilogue and is freed.
#include <heddle/isa/warp.h>
#include <heddle/kernel/barriers.h>
#include <heddle/kernel/context.h>
#include <heddle/kernel/roles.h>
#include <heddle/kernel/warp_context.h>
#include <heddle/sim/event.h>

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "../support/tiny_kernel.h"

namespace heddle {
namespace {

using test::is_silent;
using test::some_schedules;

using Epilogue = Role<"epilogue", 4>;
using Mma = Role<"mma", 1>;
using Roles = WarpRoles<Epilogue, Mma>;

template <std::uint32_t cta_group>
constexpr ClusterConfig kCluster{.cluster = {cta_group, 1}, .cta_group = cta_group};
template <std::uint32_t cta_group>
constexpr WarpContextConfig kConfig{.output = {.num_stages = 2, .stage_stride_cols = 48, .cta_group = cta_group}};

struct Shared {
  OutputPipelineStorage<2> output;
  TmemDeallocStorage tmem;
};

// Runs mma and epilogue, each by all threads of its warps, with the barriers of both set up.
template <std::uint32_t cta_group, class MmaBody, class EpilogueBody>
sim::Report run(const sim::Schedule& schedule, const MmaBody& mma, const EpilogueBody& epilogue,
                sim::Observer* observer = nullptr) {
  using Counts = ArrivalCounts<kCluster<cta_group>, Roles>;
  using Context = WarpContext<kConfig<cta_group>>;
  return test::run_kernel<Shared>(
      {.threads = Roles::kThreads,
       .grid = {2 * cta_group},
       .cluster = {cta_group},
       .schedule = schedule,
       .arch = Arch::kSm100,
       .observers = observer == nullptr ? std::vector<sim::Observer*>{} : std::vector<sim::Observer*>{observer}},
      [&](Shared& shared) {
        const KernelScope<kCluster<cta_group>> scope([&] {
          Context::Output::init_barriers(shared.output.barriers.ptr(), Counts::output_full, Counts::output_empty);
          shared.tmem.init(Counts::tmem_dealloc);
        });
        if (Roles::enter<Mma>()) {
          mma.template operator()<Context>(shared);
        } else if (Roles::enter<Epilogue>()) {
          epilogue.template operator()<Context>(shared);
        }
      });
}

constexpr auto mma_scope = []<class Context>(Shared& shared) {
  const typename Context::MmaContext context(shared.tmem, shared.output);
};
constexpr auto epilogue_scope = []<class Context>(Shared& shared) {
  typename Context::EpilogueContext context(shared.tmem, shared.output);
};

TEST(WarpContext, AllocatesTheNextPowerOfTwo) {
  EXPECT_EQ(kConfig<1>.allocated_cols(), 128u);
  EXPECT_EQ((WarpContextConfig{.output = {.num_stages = 1, .stage_stride_cols = 8}}.allocated_cols()), 32u);
  EXPECT_EQ((WarpContextConfig{.output = {.num_stages = 2, .stage_stride_cols = 256}}.allocated_cols()), 512u);
  EXPECT_EQ(
      (WarpContextConfig{.output = {.num_stages = 1, .stage_stride_cols = 8}, .tmem_cols = 256}.allocated_cols()),
      256u);
}

template <std::uint32_t cta_group>
void hands_over_and_frees() {
  for (const sim::Schedule& schedule : some_schedules()) {
    std::uint32_t wrong = 0;
    const auto report = run<cta_group>(
        schedule,
        [&]<class Context>(Shared& shared) {
          auto handle = Context::MmaHandle::create(shared.tmem, shared.output);
          wrong += handle.tmem().cols() != 128;
          std::move(handle).release();
        },
        [&]<class Context>(Shared& shared) {
          auto handle = Context::EpilogueHandle::create(shared.tmem, shared.output);
          // Cells that it has written itself, to see that they are its own.
          std::uint32_t word[1] = {isa::tid_x()};
          const std::uint32_t mine = handle.tmem().address().of_warp(isa::warp_idx()).bits();
          isa::tcgen05_st_32x32b(mine, word);
          isa::tcgen05_wait_st();
          std::uint32_t back[1] = {};
          isa::tcgen05_ld_32x32b(back, mine);
          isa::tcgen05_wait_ld();
          wrong += back[0] != isa::tid_x();
          std::move(handle).release();
        });
    EXPECT_TRUE(is_silent(report));
    EXPECT_EQ(wrong, 0u);
    EXPECT_TRUE(is_silent(run<cta_group>(schedule, mma_scope, epilogue_scope)));
  }
}

TEST(WarpContext, HandsTensorMemoryOverAndFreesIt) { hands_over_and_frees<1>(); }
TEST(WarpContext, HandsTensorMemoryOfAPairOverAndFreesIt) { hands_over_and_frees<2>(); }

// Which fence each thread made last before it told of the hand-over or acted on it.
class Fences final : public sim::Watcher<Fences> {
 public:
  void on(const sim::event::Fence& event) { last_[{event.cta, event.thread}] = event.kind; }
  void on(const sim::event::BarrierArrive& event) {
    arrivals += last_[{event.cta, event.thread}] == sim::FenceKind::kTcgen05Before;
  }
  // What was fenced before the wait says nothing of what comes after it.
  void on(const sim::event::BarrierPass& event) { last_.erase({event.cta, event.thread}); }
  void on(const sim::event::TmemDealloc& event) {
    const auto last = last_.find({event.cta, event.thread});
    frees += last != last_.end() && last->second == sim::FenceKind::kTcgen05After;
  }
  std::uint32_t arrivals = 0;
  std::uint32_t frees = 0;

 private:
  std::map<std::pair<std::uint32_t, std::uint32_t>, sim::FenceKind> last_;
};

// The simulated SM asks for no fences around tcgen05.dealloc, so they are looked for: before each arrival of the
// epilogue, and between the wait and the end of tensor memory.
TEST(WarpContext, FencesStandOnBothSidesOfTheEnd) {
  Fences of_one;
  EXPECT_TRUE(is_silent(run<1>({}, mma_scope, epilogue_scope, &of_one)));
  EXPECT_EQ(of_one.arrivals, 2u * 128) << "two CTAs";
  EXPECT_EQ(of_one.frees, 2u);
  Fences of_pair;
  EXPECT_TRUE(is_silent(run<2>({}, mma_scope, epilogue_scope, &of_pair)));
  EXPECT_EQ(of_pair.arrivals, 4u * 2 * 128) << "four CTAs, each thread tells its own and its peer";
  EXPECT_EQ(of_pair.frees, 4u);
}

TEST(WarpContext, FreeingBeforeTheEpilogueIsDoneIsReported) {
  for (const bool waits : {true, false}) {
    const auto report = run<1>(
        {},
        [&]<class Context>(Shared& shared) {
          if (waits) return mma_scope.operator()<Context>(shared);
          const auto tmem = Context::Tmem::allocate(shared.tmem.address_ptr(), 128);
          isa::bar_arrive(1, Context::handshake_threads);
          tmem.deallocate();
        },
        [&]<class Context>(Shared& shared) {
          typename Context::EpilogueContext context(shared.tmem, shared.output);
          std::uint32_t word[1] = {7};
          isa::tcgen05_st_32x32b(context.tmem().address().of_warp(isa::warp_idx()).bits(), word);
          isa::tcgen05_wait_st();
        });
    EXPECT_EQ(report.ok(), waits) << report.text();
    if (!waits && !report.ok()) {
      EXPECT_EQ(report.diagnoses[0].code, "tmem_out_of_bounds") << report.text();
    }
  }
}

TEST(WarpContext, EpilogueWarpThatDoesNotReleaseKeepsTheMmaWarpWaiting) {
  const auto report = run<1>({}, mma_scope, [&]<class Context>(Shared& shared) {
    if (isa::warp_idx() != 2) return epilogue_scope.operator()<Context>(shared);
    isa::bar_sync(1, Context::handshake_threads);
  });
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.text().find("mma, warp 4: waits for tmem dealloc[0], phase 0"), std::string::npos)
      << report.text();
  EXPECT_NE(report.text().find("arrivals 96 of 128"), std::string::npos) << report.text();
}

TEST(WarpContext, HandOverOfTheAddressHasItsNameInReports) {
  const auto nobody = []<class Context>(Shared&) {};
  const auto without_mma = run<1>({}, nobody, epilogue_scope);
  EXPECT_NE(without_mma.text().find("waits on named barrier 1 (tmem address)"), std::string::npos)
      << without_mma.text();
  const auto without_epilogue = run<1>({}, mma_scope, nobody);
  EXPECT_NE(without_epilogue.text().find("named barrier 1 (tmem address) of block 0: 32 of 160 threads are here"),
            std::string::npos)
      << without_epilogue.text();
}

// The compiler's own analysis does not follow members, so this builds and the simulated SM has the word.
TEST(WarpContext, DroppedHandleIsReported) {
  const auto report = run<1>(
      {},
      []<class Context>(Shared& shared) {
        struct Forgetful {
          typename Context::MmaHandle handle;
        };
        Forgetful keeps{Context::MmaHandle::create(shared.tmem, shared.output)};
        static_cast<void>(keeps);
      },
      epilogue_scope);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.diagnoses[0].code, "stage_dropped") << report.text();
  EXPECT_NE(report.text().find("tensor memory"), std::string::npos) << report.text();
}

}  // namespace
}  // namespace heddle
