// SPDX-License-Identifier: Apache-2.0
//
// Exploring a kernel of one's own: every run begins from the same memory, and its result is looked at.
#include <heddle/host/error.h>
#include <heddle/isa/sreg.h>
#include <heddle/sim/explore.h>

#include <gtest/gtest.h>

#include <array>

#include "../support/visible_store.h"

namespace heddle::test {
namespace {

using Words = std::array<std::uint32_t, 4>;

// Each block adds one to a word: all to the same one, or each to its own.
template <bool is_shared>
struct Count {
  struct Params {
    std::uint32_t* words;
  };
  struct Shared {};
  static constexpr std::uint32_t kThreads = 1;

  static void run(const Params& params, Shared& /*shared*/) {
    std::uint32_t* word = params.words + (is_shared ? 0 : isa::ctaid().x);
    isa::fence_acq_rel_cta();
    const std::uint32_t before = isa::ld_global(word);
    visible_store(word, before + 1);
  }
};

struct Counted {
  Counted() { memory.add("words", words.data(), sizeof(words)); }

  template <class K>
  sim::Exploration explore(const sim::ExploreOptions& how, bool check_races = false) {
    return sim::explore_launch<K>(
        {.memory = &memory, .schedule = sim::Schedule::parse("t"), .kernel = "count", .check_races = check_races},
        {.grid = {2}}, {words.data()}, how, [&] { return words[0] + words[1] == 2; });
  }

  Words words = {};
  sim::GlobalMemory memory;
};

TEST(Explore, AResultThatDependsOnTheOrderIsWrongUnderSomeSchedules) {
  Counted run;
  const sim::Exploration lost = run.explore<Count<true>>({.schedules = 50});
  EXPECT_FALSE(lost.ok());
  EXPECT_EQ(lost.runs, 51u);
  EXPECT_EQ(lost.reports, 0u);
  EXPECT_NE(
      lost.text().find("the result is wrong under schedule " + lost.schedule + "\n51 runs, 0 with a report, "),
      std::string::npos)
      << lost.text();
  EXPECT_TRUE((Counted{}.explore<Count<false>>({.schedules = 50}).ok()));
}

TEST(Explore, EveryOrderIsTriedAndCounted) {
  Counted run;
  const sim::Exploration lost = run.explore<Count<true>>({.exhaust = true});
  EXPECT_TRUE(lost.is_complete) << lost.text();
  EXPECT_EQ(lost.runs, 1u + 4u);  // orders of a load and a store each; that of the loads makes no difference
  EXPECT_EQ(lost.wrong, 2u);      // both load first
  EXPECT_EQ(lost.schedule.front(), 't');

  // The schedule that it names shows it.
  Counted again;
  const sim::Report report = sim::launch<Count<true>>({.memory = &again.memory,
                                                       .schedule = sim::Schedule::parse(lost.schedule),
                                                       .kernel = "count",
                                                       .check_races = false},
                                                      {.grid = {2}}, {again.words.data()});
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(again.words[0], 1u);

  Counted silent;
  const sim::Exploration kept = silent.explore<Count<false>>({.exhaust = true});
  EXPECT_TRUE(kept.ok()) << kept.text();
  EXPECT_TRUE(kept.is_complete);
  EXPECT_EQ(kept.runs, 2u);
}

TEST(Explore, ReportsComeBeforeResults) {
  Counted run;
  const sim::Exploration lost = run.explore<Count<true>>({.schedules = 3}, true);
  EXPECT_EQ(lost.reports, 4u);
  EXPECT_TRUE(lost.shortest.has("global_race")) << lost.text();
}

TEST(Explore, PrioritiesHaveWhatTheirBoundNeeds) {
  Counted run;
  const sim::Exploration result = run.explore<Count<false>>({.schedules = 5, .depth = 2});
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.actors, 3u);
  EXPECT_GE(result.steps, 4u);
}

TEST(Explore, LimitsThatMakeNoSenseAreRefused) {
  Counted run;
  EXPECT_THROW((run.explore<Count<true>>({.exhaust = true, .limit = 0})), InputError);
  EXPECT_THROW((run.explore<Count<true>>({.depth = 65})), InputError);
  EXPECT_EQ(run.words[0], 0u);
}

}  // namespace
}  // namespace heddle::test
