// SPDX-License-Identifier: Apache-2.0
//
// setmaxnreg in the simulated SM: the budget of a CTA's registers.
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/registers.h>
#include <heddle/isa/sreg.h>
#include <heddle/sim/event.h>
#include <heddle/sim/launch.h>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace heddle {
namespace {

static_assert(isa::entry_registers(384) == 168);
static_assert(isa::entry_registers(512) == 128);
static_assert(isa::entry_registers(256) == 255);
static_assert(isa::entry_registers(128) == 255);
static_assert(isa::is_register_count(24) && isa::is_register_count(256) && isa::is_register_count(168));
static_assert(!isa::is_register_count(16) && !isa::is_register_count(264) && !isa::is_register_count(100));

std::string first_line(const sim::Report& report) { return report.text().substr(0, report.text().find('\n')); }

template <class Body>
sim::Report run(std::uint32_t threads, std::uint32_t registers, const Body& body, sim::Schedule schedule = {},
                std::vector<sim::Observer*> observers = {}) {
  const sim::KernelEntry entry{.threads = threads,
                               .shared_bytes = 16,
                               .shared_alignment = 16,
                               .run = [](const void* params, void*) { (*static_cast<const Body*>(params))(); },
                               .registers = registers};
  return sim::launch_entry({.schedule = schedule, .observers = std::move(observers)}, {}, entry, &body);
}

// A copy warpgroup and two math warpgroups, as matmul kernels have them.
template <std::uint32_t producer, std::uint32_t consumer>
sim::Report three_warpgroups(std::uint32_t registers, sim::Schedule schedule = {}) {
  return run(
      384, registers,
      [] {
        if (isa::tid_x() < 128) {
          isa::setmaxnreg_dec<producer>();
        } else {
          isa::setmaxnreg_inc<consumer>();
        }
      },
      schedule);
}

TEST(Setmaxnreg, BudgetsOfRealKernelsFit) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    EXPECT_TRUE((three_warpgroups<40, 232>(168, sim::Schedule::random(seed)).ok()));
    EXPECT_TRUE((three_warpgroups<24, 240>(168, sim::Schedule::random(seed)).ok()));
    EXPECT_TRUE((three_warpgroups<24, 232>(168, sim::Schedule::random(seed)).ok()));  // leaves some unused
  }
}

TEST(Setmaxnreg, ABudgetThatCanNeverBeMetIsReported) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const sim::Report report = three_warpgroups<40, 240>(168, sim::Schedule::random(seed));
    EXPECT_EQ(
        first_line(report),
        "[register_budget] setmaxnreg.inc 240 waits for registers that nobody gives back: the warpgroups ask for "
        "40 + 240 + 240 = 520, but the CTA has 3 * 168 = 504");
  }
}

TEST(Setmaxnreg, IsNotBudgetedWhereTheKernelDoesNotStateItsRegisters) {
  EXPECT_TRUE((three_warpgroups<40, 240>(0).ok()));
}

template <std::uint32_t consumer>
struct StatesItsRegisters {
  struct Params {};
  struct Shared {
    std::uint32_t word;
  };
  static constexpr std::uint32_t kThreads = 512;
  static constexpr std::uint32_t kRegisters = isa::entry_registers(kThreads);
  static void run(const Params&, Shared&) {
    if (isa::tid_x() < 128) {
      isa::setmaxnreg_dec<32>();
    } else {
      isa::setmaxnreg_inc<consumer>();
    }
  }
};

TEST(Setmaxnreg, TakesTheBudgetFromTheKernel) {
  EXPECT_TRUE(sim::launch<StatesItsRegisters<160>>({}, {}, {}).ok());
  EXPECT_TRUE(sim::launch<StatesItsRegisters<168>>({}, {}, {}).has("register_budget"));
}

TEST(Setmaxnreg, AnIncreaseWaitsForADecreaseThatComesLater) {
  const sim::Report report = run(256, 128, [] {
    if (isa::tid_x() < 128) {
      for (int i = 0; i < 10; ++i) isa::bar_sync(1, 128);
      isa::setmaxnreg_dec<24>();
    } else {
      isa::setmaxnreg_inc<232>();
    }
  });
  EXPECT_TRUE(report.ok()) << report.text();
}

TEST(Setmaxnreg, TheWrongDirectionIsReported) {
  EXPECT_EQ(
      first_line(run(128, 168, [] { isa::setmaxnreg_dec<232>(); })),
      "[register_budget] setmaxnreg.dec 232 in a warp that has 168 registers for each thread; at most 168 would "
      "pass");
  EXPECT_EQ(
      first_line(run(128, 168, [] { isa::setmaxnreg_inc<40>(); })),
      "[register_budget] setmaxnreg.inc 40 in a warp that has 168 registers for each thread; at least 168 would "
      "pass");
  EXPECT_TRUE(run(128, 168, [] { isa::setmaxnreg_dec<168>(); }).ok());
}

TEST(Setmaxnreg, AWarpThatLeavesItOutIsReported) {
  const auto by_warps = [](std::uint32_t warps) {
    return run(128, 168, [&] {
      if (isa::tid_x() / 32 < warps) isa::setmaxnreg_dec<40>();
    });
  };
  EXPECT_EQ(first_line(by_warps(3)),
            "[divergence] warp 3 has executed 0 setmaxnreg, but its warpgroup 1; all four warps execute each");
  EXPECT_TRUE(by_warps(4).ok());
}

// One warp of four gives its registers back, and the others wait for the rest.
TEST(Setmaxnreg, AWarpThatLeavesItOutIsReportedThoughOthersWaitForItsRegisters) {
  const auto by_warps = [](std::uint32_t warps) {
    return run(384, 168, [&] {
      if (isa::tid_x() >= 128) {
        isa::setmaxnreg_inc<240>();
      } else if (isa::tid_x() / 32 < warps) {
        isa::setmaxnreg_dec<24>();
      }
    });
  };
  EXPECT_EQ(first_line(by_warps(1)),
            "[divergence] warp 1 has executed 0 setmaxnreg, but its warpgroup 1; all four warps execute each");
  EXPECT_TRUE(by_warps(4).ok());
}

TEST(Setmaxnreg, DifferentCountsOfWarpsAreFormal) {
  const auto counts = [](auto first) {
    return run(256, 40, [&] {
      if (isa::tid_x() < 32) {
        first();
      } else if (isa::tid_x() < 128) {
        isa::setmaxnreg_dec<32>();
      } else {
        isa::setmaxnreg_inc<48>();
      }
    });
  };
  const sim::Report apart = counts([] { isa::setmaxnreg_dec<24>(); });
  EXPECT_TRUE(apart.ok()) << apart.text();
  ASSERT_EQ(apart.formal.size(), 1u);
  EXPECT_EQ(
      apart.formal[0].text.substr(0, apart.formal[0].text.find('\n')),
      "[divergence] formal: setmaxnreg.dec 32 in warp 1, but others of its warpgroup execute setmaxnreg.dec "
      "24; all of them execute the same");
  EXPECT_TRUE(counts([] { isa::setmaxnreg_dec<32>(); }).formal.empty());
  // Each warp gives and takes its own: one that keeps all leaves too little for the others.
  const sim::Report too_many = counts([] { isa::setmaxnreg_dec<40>(); });
  EXPECT_EQ(
      first_line(too_many),
      "[register_budget] setmaxnreg.inc 48 waits for registers that nobody gives back: the warpgroups ask for "
      "40/32 + 48 = 82, but the CTA has 2 * 40 = 80");
}

TEST(Setmaxnreg, AWarpgroupThatIsNotWholeIsReported) {
  EXPECT_TRUE(run(96, 0, [] { isa::setmaxnreg_dec<40>(); }).has("divergence"));
}

TEST(Setmaxnreg, TellsObserversHowManyRegistersAWarpHas) {
  struct Recorder : sim::Watcher<Recorder> {
    void on(const sim::event::RegisterCount& event) { counts.push_back(event.registers); }
    std::vector<std::uint64_t> counts;
  } recorder;
  EXPECT_TRUE(run(128, 168, [] { isa::setmaxnreg_dec<40>(); }, {}, {&recorder}).ok());
  EXPECT_EQ(recorder.counts, std::vector<std::uint64_t>(4, 40));
}

}  // namespace
}  // namespace heddle
