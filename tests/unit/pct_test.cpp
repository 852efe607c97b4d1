// SPDX-License-Identifier: Apache-2.0
//
// Schedules of random priorities: what they find, and how often.
#include <heddle/isa/fence.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/warp.h>
#include <heddle/sim/global_memory.h>
#include <heddle/sim/schedule.h>

#include <gtest/gtest.h>

#include <array>

#include "../support/tiny_kernel.h"

namespace heddle::test {
namespace {

// Others may come before it: of weak stores alone the schedule knows nothing.
void store(std::uint32_t* to, std::uint32_t value, CallSite site = CallSite::here()) {
  isa::fence_acq_rel_cta(site);
  isa::st_global(to, value, site);
}

constexpr std::uint64_t kSeeds = 300;

TEST(Pct, EveryWarpIsFirstAboutAsOften) {
  constexpr std::uint32_t kWarps = 4;
  std::array<std::uint32_t, kWarps> firsts = {};
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    std::uint32_t order = 0;
    EXPECT_TRUE(is_silent(run_kernel<NoShared>(
        {.threads = 32 * kWarps, .schedule = sim::Schedule::pct(1, 100, seed)}, [&](NoShared&) {
          isa::syncwarp();
          if (isa::laneid() == 0 && order++ == 0) ++firsts[isa::tid_x() / 32];
        })));
  }
  for (const std::uint32_t count : firsts) {
    EXPECT_GT(count, kSeeds / kWarps / 2);
    EXPECT_LT(count, kSeeds / kWarps * 2);
  }
}

struct Flag {
  std::uint32_t word = 0;
  std::uint32_t seen = 0;
  std::uint32_t other = 0;
};

// One warp sets a word and clears it again; the other sees it only if it runs between: one change of priorities.
bool sees_the_word(const sim::Schedule& schedule, std::uint64_t& steps) {
  Flag flag;
  sim::GlobalMemory memory;
  memory.add("flag", &flag, sizeof(flag));
  const sim::Report report = run_kernel<NoShared>(
      {.threads = 64, .memory = &memory, .schedule = schedule, .check_races = false}, [&](NoShared&) {
        if (isa::laneid() != 0) return;
        if (isa::warp_idx() == 0) {
          store(&flag.word, 1u);
          for (int turn = 0; turn < 10; ++turn) store(&flag.other, 1u);
          store(&flag.word, 0u);
        } else {
          store(&flag.seen, isa::ld_global(&flag.word));
        }
      });
  EXPECT_TRUE(is_silent(report));
  steps = report.stats.steps;
  return flag.seen != 0;
}

TEST(Pct, MeetsAMistakeOfItsDepthAtLeastAsOftenAsItsBoundSays) {
  std::uint64_t steps = 0;
  EXPECT_FALSE(sees_the_word(sim::Schedule::round_robin(), steps));
  std::uint64_t ignored = 0;
  std::uint32_t met = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    EXPECT_FALSE(sees_the_word(sim::Schedule::pct(1, steps, seed), ignored)) << "seed " << seed;
    met += sees_the_word(sim::Schedule::pct(2, steps, seed), ignored);
  }
  EXPECT_GE(met, kSeeds * sim::pct_bound(3, steps, 2));
  EXPECT_GE(met, 1u);
}

TEST(Pct, APollingWarpLetsOthersGo) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    std::uint32_t word = 0;
    sim::GlobalMemory memory;
    memory.add("word", &word, sizeof(word));
    EXPECT_TRUE(is_silent(run_kernel<NoShared>(
        {.threads = 64, .memory = &memory, .schedule = sim::Schedule::pct(2, 1000, seed), .check_races = false},
        [&](NoShared&) {
          if (isa::laneid() != 0) return;
          if (isa::warp_idx() == 0) {
            while (isa::ld_global(&word) == 0) {
            }
          } else {
            store(&word, 1u);
          }
        })));
  }
}

}  // namespace
}  // namespace heddle::test
