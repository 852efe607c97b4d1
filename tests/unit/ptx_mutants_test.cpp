// SPDX-License-Identifier: Apache-2.0
//
// Mistakes planted in PTX: at every place that fits, nowhere else, and each is still a program.
#include <heddle/testing/ptx_mutants.h>

#include "../support/ptx_run.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace heddle::test {
namespace {

// One thread fills a word, arrives, and another reads it.
const std::string kRing = ptx_module(
    "\tld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; setp.ne.u32 %p2, %r1, 32;\n"
    "\tmov.u32 %r5, bar; mov.u32 %r6, words; @%p1 bra MADE;\n"
    "\t.loc 1 10 3\n\tmbarrier.init.shared.b64 [%r5], 1;\n"
    "MADE:\n\t.loc 1 11 3\n\tbar.sync 0;\n\t@%p1 bra FILLED;\n"
    "\tst.shared.u32 [%r6], 7;\n"
    "\t.loc 2 5 1\n\t.loc 3 77 1, function_name $L__info, inlined_at 1 12 3\n"
    "\tmbarrier.arrive.shared::cta.b64 %rd2, [%r5];\n"
    "FILLED:\n\t@%p2 bra DONE;\n"
    "WAIT:\n\t{ .reg .pred done;\n\t.loc 1 14 3\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%r5], 0;  // "
    "wait\n"
    "\tselp.b32 %r7, 1, 0, done; }\n\tsetp.eq.u32 %p3, %r7, 0; @%p3 bra WAIT;\n"
    "\tld.shared.u32 %r8, [%r6]; st.global.u32 [%rd1], %r8;\n"
    "DONE:\n\tret;",
    ".file 1 \"/src/ring.cu\"\n.file 3 \"/include/helper.h\"\n.shared .align 8 .b64 bar; .shared .align 4 .b32 "
    "words;");

sim::Report run(const std::string& text) {
  std::vector<std::uint32_t> out(64, 0);
  return run_ptx(text, out, {0}, {.threads = 64});
}

TEST(PtxMutants, EveryPlaceThatFitsIsNamedByTheSource) {
  EXPECT_TRUE(run(kRing).ok()) << run(kRing).text();
  std::vector<std::string> names;
  for (const sim::PtxMutant& mutant : sim::ptx_mutants(kRing)) names.push_back(mutant.name());
  EXPECT_EQ(names, (std::vector<std::string>{
                       "count_plus_1@ring.cu:10", "count_minus_1@ring.cu:10", "threads_for_warps@ring.cu:10",
                       "drop_init@ring.cu:10", "drop_bar_sync@ring.cu:11", "drop_arrive@ring.cu:12",
                       "double_arrive@ring.cu:12", "early_arrive@ring.cu:12", "arrive_on_next@ring.cu:12",
                       "no_wait@ring.cu:14", "wait_for_next@ring.cu:14", "wrong_phase@ring.cu:14",
                       "phase_stays_0@ring.cu:14", "phase_stays_1@ring.cu:14"}));
  EXPECT_TRUE(sim::ptx_mutants(kRing, "other").empty());
}

// A trap in its place tells whether the mistake would make a difference.
TEST(PtxMutants, AProbeTellsWhereTheRunIsTheSame) {
  int same = 0;
  for (sim::PtxMutant mutant : sim::ptx_mutants(kRing)) {
    if (mutant.probe.empty()) continue;
    mutant.by = mutant.probe;
    const sim::Report report = run(mutant.apply(kRing));
    EXPECT_EQ(report.ok(), mutant.mutation == "phase_stays_0") << mutant.name() << "\n" << report.text();
    same += report.ok() ? 1 : 0;
  }
  EXPECT_EQ(same, 1);
}

// The parity is 0 anyway.
TEST(PtxMutants, EachIsNoticedButThoseThatChangeNothing) {
  const std::set<std::string_view> equivalent = {"phase_stays_0"};
  for (const sim::PtxMutant& mutant : sim::ptx_mutants(kRing)) {
    const std::string text = mutant.apply(kRing);
    EXPECT_NE(text, kRing);
    const sim::Report report = run(text);
    EXPECT_EQ(report.ok(), equivalent.contains(mutant.mutation)) << mutant.name() << "\n" << report.text();
  }
}

// After the wait of the ring the thread reads, and a wait after that only holds it.
TEST(PtxMutants, TrapsTellAWaitThatOnlyHoldsItsThread) {
  const auto wait_in = [](const std::string& text) {
    std::size_t begin = 0;
    for (const sim::PtxMutant& mutant : sim::ptx_mutants(text)) {
      if (mutant.mutation == "no_wait") begin = mutant.begin;
    }
    return begin;
  };
  EXPECT_TRUE(run(sim::with_traps_after(kRing, "", wait_in(kRing))).has("trap"));
  std::string held = kRing;
  held.replace(
      held.find("st.global.u32 [%rd1], %r8;"), 26,
      "st.global.u32 [%rd1], %r8;\nHOLD: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r5], 0; @!%p4 bra "
      "HOLD;");
  EXPECT_TRUE(run(sim::with_traps_after(held, "", wait_in(held))).ok());
  EXPECT_TRUE(sim::with_traps_after(kRing, "", kRing.find("st.shared")).empty());
}

// A thread that meets the others at the last barrier of the cluster does nothing that matters, one that meets
// them earlier may.
TEST(PtxMutants, TheClusterBarrierIsLastOnlyWhereNothingFollowsIt) {
  const std::string both = ptx_module(
      "ld.param.u64 %rd1, [out];\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
      "ld.global.u32 %r1, [%rd1];\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\nret;");
  const std::vector<std::size_t> waits = sim::cluster_waits_in(both);
  ASSERT_EQ(waits.size(), 2u);
  EXPECT_TRUE(run(sim::with_traps_after(both, "", waits[0])).has("trap"));
  EXPECT_TRUE(run(sim::with_traps_after(both, "", waits[1])).ok());
  EXPECT_TRUE(run(sim::with_traps_after(both, "", waits[0], std::vector{waits[1]})).has("trap"));
}

TEST(PtxMutants, NamesAreKnown) {
  std::set<std::string_view> names;
  for (const sim::PtxMutation& mutation : sim::ptx_mutations()) {
    EXPECT_TRUE(names.insert(mutation.name).second) << mutation.name;
    EXPECT_FALSE(mutation.meaning.empty());
  }
  EXPECT_GE(names.size(), 40u);
}

}  // namespace
}  // namespace heddle::test
