// SPDX-License-Identifier: Apache-2.0
//
// The search over all executions of a launch: it misses none, and runs few twice.
#include "sim/explore/exhaust.h"

#include <heddle/host/error.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/sreg.h>
#include <heddle/sim/global_memory.h>

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "../support/tiny_kernel.h"
#include "../support/visible_store.h"

namespace heddle::test {
namespace {

using sim::explore::Actors;
using sim::explore::Exhausted;

using Words = std::array<std::uint32_t, 8>;

struct Searched {
  Exhausted result;
  std::set<Words> outcomes;
};

// Blocks of one thread. `body` gets the words, which are zero before each execution.
template <class Body>
Searched search(std::uint32_t blocks, const Body& body, bool check_races = false, std::uint64_t most = 100'000) {
  Words words = {};
  sim::GlobalMemory memory;
  memory.add("words", words.data(), sizeof(words));
  const auto run = [&] { body(words); };
  using Run = decltype(run);
  const sim::KernelEntry entry{
      .threads = 1, .shared_bytes = 0, .shared_alignment = 1, .run = [](const void* params, void*) {
        (*static_cast<const Run*>(params))();
      }};
  Searched searched;
  searched.result = sim::explore::exhaust({.memory = &memory, .kernel = "words", .check_races = check_races},
                                          Actors::kThreads, most, [&](const sim::LaunchOptions& options) {
                                            words = {};
                                            const sim::Report report =
                                                sim::launch_entry(options, {.grid = {blocks}}, entry, &run);
                                            if (report.ok()) searched.outcomes.insert(words);
                                            return report;
                                          });
  return searched;
}

TEST(Exhaust, StepsThatShareNothingAreRunInOneOrder) {
  const Searched searched = search(3, [](Words& words) {
    for (std::uint32_t i = 0; i < 3; ++i) visible_store(&words[isa::ctaid().x], i);
  });
  EXPECT_TRUE(searched.result.is_complete);
  EXPECT_EQ(searched.result.executions, 1u);
}

TEST(Exhaust, EveryOrderOfStoresToOneWordIsRunOnce) {
  // 4! / (2! 2!) orders of two stores each, 3! of three blocks with one.
  const Searched two = search(2, [](Words& words) {
    for (std::uint32_t i = 0; i < 2; ++i) visible_store(&words[0], 1 + 2 * isa::ctaid().x + i);
  });
  EXPECT_TRUE(two.result.is_complete);
  EXPECT_EQ(two.result.executions, 6u);
  const Searched three = search(3, [](Words& words) { visible_store(&words[0], 1 + isa::ctaid().x); });
  EXPECT_EQ(three.result.executions, 6u);
  EXPECT_EQ(three.outcomes.size(), 3u);
}

TEST(Exhaust, OrdersOfTwoWordsAreIndependent) {
  // Each pair of blocks shares a word: 2 orders each.
  const Searched searched =
      search(4, [](Words& words) { visible_store(&words[isa::ctaid().x / 2], isa::ctaid().x); });
  EXPECT_TRUE(searched.result.is_complete);
  EXPECT_EQ(searched.result.executions, 4u);
  EXPECT_EQ(searched.outcomes.size(), 4u);
}

// Store, then load of the other's word: all but the outcome that no order has. The store between makes the load a
// step of its own.
TEST(Exhaust, EveryOutcomeIsSeen) {
  const Searched searched = search(2, [](Words& words) {
    const std::uint32_t me = isa::ctaid().x;
    visible_store(&words[me], 1u);
    visible_store(&words[4 + me], 7u);
    visible_store(&words[2 + me], isa::ld_global(&words[1 - me]));
  });
  EXPECT_TRUE(searched.result.is_complete);
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  for (const Words& words : searched.outcomes) seen.emplace(words[2], words[3]);
  EXPECT_EQ(seen, (std::set<std::pair<std::uint32_t, std::uint32_t>>{{0, 1}, {1, 0}, {1, 1}}));
}

TEST(Exhaust, AMistakeThatOneOrderHasIsFoundAndTheShortestKept) {
  const auto kernel = [](std::uint32_t wrong) {
    return [=](Words& words) {
      if (isa::ctaid().x == 1) return visible_store(&words[0], 5u);
      for (std::uint32_t i = 0; i < 3; ++i) visible_store(&words[0], i);
      visible_store(&words[7], 0u);
      if (isa::ld_global(&words[0]) == wrong) visible_store(words.data() + 8, 1u);
    };
  };
  const Searched wrong = search(2, kernel(5));
  EXPECT_TRUE(wrong.result.is_complete);
  EXPECT_EQ(wrong.result.executions, 5u);
  EXPECT_EQ(wrong.result.failed, 1u);
  ASSERT_TRUE(wrong.result.shortest);
  EXPECT_TRUE(wrong.result.shortest->has("global_out_of_bounds"));
  EXPECT_EQ(search(2, kernel(6)).result.failed, 0u);
}

// A token says how to come to the mistake again; what the kernel does besides does not matter.
TEST(Exhaust, TheShortestIsSeenAgainByItsSchedule) {
  Words words = {};
  sim::GlobalMemory memory;
  memory.add("words", words.data(), sizeof(words));
  const auto run = [&] {
    if (isa::ctaid().x == 1) return visible_store(&words[0], 5u);
    for (std::uint32_t i = 0; i < 3; ++i) visible_store(&words[0], i);
    visible_store(&words[7], 0u);
    if (isa::ld_global(&words[0]) == 5u) visible_store(words.data() + 8, 1u);
  };
  using Run = decltype(run);
  const sim::KernelEntry entry{
      .threads = 1, .shared_bytes = 0, .shared_alignment = 1, .run = [](const void* params, void*) {
        (*static_cast<const Run*>(params))();
      }};
  const auto launch = [&](const sim::LaunchOptions& options) {
    words = {};
    return sim::launch_entry(options, {.grid = {2}}, entry, &run);
  };
  sim::LaunchOptions options{
      .memory = &memory, .kernel = "words", .again = "words --schedule {}", .check_races = false};
  const Exhausted result = sim::explore::exhaust(options, Actors::kThreads, 100, launch);
  ASSERT_TRUE(result.shortest);
  ASSERT_TRUE(result.schedule);
  EXPECT_EQ(result.shortest->schedule, result.schedule->name());
  EXPECT_NE(result.shortest->text().find("again: words --schedule " + result.schedule->name() + "\n"),
            std::string::npos)
      << result.shortest->text();
  options.schedule = sim::Schedule::parse(result.schedule->name());
  EXPECT_EQ(launch(options).text(), result.shortest->text());
  options.schedule = sim::Schedule::parse("t");
  EXPECT_TRUE(is_silent(launch(options)));
  options.schedule = sim::Schedule::parse("t0.9");
  EXPECT_THROW(launch(options), InputError);
}

// Whoever polls gives way to those that it waits for; no order is taken for a hang.
TEST(Exhaust, PollingForAFlagIsNoHang) {
  const Searched searched = search(2, [](Words& words) {
    if (isa::ctaid().x == 1) return visible_store(&words[0], 1u);
    do {
      isa::fence_acq_rel_cta();
    } while (isa::ld_global(&words[0]) == 0);
    visible_store(&words[1], 1u);
  });
  EXPECT_EQ(searched.result.failed, 0u) << searched.result.shortest->text();
  EXPECT_TRUE(searched.result.is_complete);
  EXPECT_EQ(searched.outcomes.size(), 1u);
}

TEST(Exhaust, ASearchThatIsTooLargeSaysSo) {
  const Searched searched = search(
      3,
      [](Words& words) {
        for (std::uint32_t i = 0; i < 4; ++i) visible_store(&words[0], i);
      },
      false, 50);
  EXPECT_FALSE(searched.result.is_complete);
  EXPECT_EQ(searched.result.executions + searched.result.cut, 50u);
}

}  // namespace
}  // namespace heddle::test
