// SPDX-License-Identifier: Apache-2.0
//
// What is found and does not stop a launch: formal findings, and those that the launch accepts.
#include "../support/ptx_run.h"

#include "sim/machine/findings.h"

#include <heddle/host/error.h>
#include <heddle/sim/launch.h>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace heddle::test {
namespace {

using sim::FaultCode;
using sim::Verdict;
using sim::machine::Fault;
using sim::machine::Findings;

Fault fault_at(std::uint32_t first, std::uint32_t second, std::optional<Verdict> verdict = {}) {
  return {.code = FaultCode::kMissingProxyFence,
          .headline = "a copy reads what was written",
          .places = {{"a.cu", first}, {"a.cu", second}},
          .verdict = verdict};
}

TEST(Findings, WrongOnesStopTheLaunchAndAreNotTold) {
  const sim::LaunchOptions options;
  Findings findings(options);
  EXPECT_FALSE(findings.allows(fault_at(1, 2)));
  EXPECT_TRUE(findings.told().empty());
}

TEST(Findings, FormalOnesAreToldOnceForEachPairOfPlacesAndCounted) {
  const sim::LaunchOptions options;
  Findings findings(options);
  EXPECT_TRUE(findings.allows(fault_at(1, 2, Verdict::kFormal)));
  EXPECT_TRUE(findings.allows(fault_at(1, 2, Verdict::kFormal)));
  EXPECT_TRUE(findings.has_told(FaultCode::kMissingProxyFence, Verdict::kFormal, {{"a.cu", 1}, {"a.cu", 2}}));
  EXPECT_TRUE(findings.allows(fault_at(1, 3, Verdict::kFormal)));
  ASSERT_EQ(findings.told().size(), 2u);
  EXPECT_EQ(findings.told()[0].times, 3u);
  EXPECT_EQ(findings.told()[1].times, 1u);
}

TEST(Findings, TheSameCodeIsFormalInOneSituationAndWrongInAnother) {
  const sim::LaunchOptions options;
  Findings findings(options);
  EXPECT_TRUE(findings.allows(fault_at(1, 2, Verdict::kFormal)));
  EXPECT_FALSE(findings.has_told(FaultCode::kMissingProxyFence, Verdict::kWrong, {{"a.cu", 1}, {"a.cu", 2}}));
  EXPECT_FALSE(findings.allows(fault_at(1, 2)));
}

TEST(Findings, StrictLaunchesStopForFormalOnes) {
  const sim::LaunchOptions options{.strict = true};
  Findings findings(options);
  EXPECT_FALSE(findings.allows(fault_at(1, 2, Verdict::kFormal)));
  const sim::LaunchOptions accepting{.strict = true, .accepted = {"missing_proxy_fence"}};
  Findings accepts(accepting);
  EXPECT_TRUE(accepts.allows(fault_at(1, 2, Verdict::kFormal)));
}

TEST(Findings, NothingIsAcceptedThatTheMachineCannotGoOnAfter) {
  const sim::LaunchOptions options{.accepted = {"misaligned"}};
  EXPECT_THROW(Findings{options}, InputError);
  const sim::LaunchOptions none;
  EXPECT_FALSE(Findings(none).allows({.code = FaultCode::kMisaligned}));
}

TEST(FaultCode, NamesAreFoundAgain) {
  for (const sim::FaultRule& rule : sim::kFaultRules) EXPECT_EQ(sim::find_fault_code(rule.name), rule.code);
  EXPECT_FALSE(sim::find_fault_code("no_such_code"));
  EXPECT_TRUE(FaultCode::kRace == "race");
}

const char* kShared = ".extern .shared .align 128 .b8 dyn[];";

// Thread 0 stores 128 bytes that all have written, without a fence between the proxies; then the bytes are
// written and stored again, and read.
std::string unfenced_store(const std::string& end) {
  return ptx_module(
      "ld.param.u64 %rd1, [out]; mov.u32 %r3, %tid.x; mov.u32 %r4, dyn; mad.lo.u32 %r5, %r3, 4, %r4;\n"
      "setp.ne.u32 %p1, %r3, 0;\n"
      "st.shared.u32 [%r5], %r3; bar.sync 0;\n"
      "@!%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r4], 128;\n"
      "@!%p1 cp.async.bulk.commit_group; @!%p1 cp.async.bulk.wait_group 0; bar.sync 0;\n" +
          end,
      kShared);
}

TEST(Findings, AfterAnAcceptedOneTheRestOfTheCopyIsRecorded) {
  std::vector<std::uint32_t> out(32);
  const std::string text = unfenced_store("ret;");
  EXPECT_EQ(run_ptx(text, out, {0}, {.threads = 32, .shared_bytes = 128}).diagnoses.at(0).code,
            "missing_proxy_fence");
  const sim::Report report =
      run_ptx(text, out, {0}, {.threads = 32, .shared_bytes = 128, .accepted = {"missing_proxy_fence"}});
  EXPECT_TRUE(report.ok()) << report.text();
  ASSERT_EQ(report.accepted.size(), 1u);
  EXPECT_EQ(report.accepted[0].times, 8u);  // 16 bytes at a time
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], i);
}

// The copy's reads of all its bytes are known, so that a write that nothing orders after them is found.
TEST(Findings, AnAcceptedOneDoesNotHideALaterOne) {
  std::vector<std::uint32_t> out(32);
  const std::string text = ptx_module(
      "ld.param.u64 %rd1, [out]; mov.u32 %r3, %tid.x; mov.u32 %r4, dyn; mad.lo.u32 %r5, %r3, 4, %r4;\n"
      "setp.ne.u32 %p1, %r3, 0; st.shared.u32 [%r5], %r3; bar.sync 0;\n"
      "@!%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r4], 128; @!%p1 cp.async.bulk.commit_group;\n"
      "bar.sync 0; st.shared.u32 [%r4+124], %r3; @!%p1 cp.async.bulk.wait_group 0; bar.sync 0; ret;",
      kShared);
  PtxRun run{.threads = 32, .shared_bytes = 128, .accepted = {"missing_proxy_fence", "race"}};
  for (const char* schedule : {"rr", "1", "2", "3"}) {
    run.schedule = sim::Schedule::parse(schedule);
    EXPECT_EQ(run_ptx(text, out, {0}, run).diagnoses.at(0).code, "write_while_read") << schedule;
  }
}

TEST(Findings, AnAcceptedRaceDoesNotMakeAnUninitialisedRead) {
  std::vector<std::uint32_t> out(64);
  // Warp 1 reads what warp 0 writes, and nothing is between them.
  const std::string text = ptx_module(
      "ld.param.u64 %rd1, [out]; mov.u32 %r3, %tid.x; mov.u32 %r4, dyn; setp.ge.u32 %p1, %r3, 32;\n"
      "@%p1 bra READ; nanosleep.u32 100; st.shared.u32 [%r4], %r4; ret;\nREAD: ld.shared.u32 %r5, [%r4]; ret;",
      kShared);
  PtxRun run{.threads = 64, .shared_bytes = 16, .accepted = {"race"}};
  for (const char* schedule : {"rr", "1", "2", "3", "4", "5", "6", "7"}) {
    run.schedule = sim::Schedule::parse(schedule);
    const sim::Report report = run_ptx(text, out, {0}, run);
    EXPECT_TRUE(report.ok()) << schedule << report.text();
    EXPECT_FALSE(report.accepted.empty()) << schedule;
  }
}

// A thread that leaves with a store to tensor memory under way.
TEST(Findings, WhatTheMachineFindsCanBeAcceptedToo) {
  const std::string text = ptx_module(
      "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32; bar.sync 0; ld.shared.u32 %r2, "
      "[slot];\n"
      "mov.u32 %r3, %laneid; add.u32 %r4, %r3, 100; tcgen05.st.sync.aligned.32x32b.x2.b32 [%r2], {%r3, %r4};\n"
      "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 32; ret;\n",
      ".shared .align 4 .b32 slot;");
  std::vector<std::uint32_t> out(32);
  PtxRun run{.grid = {3, 1, 1}, .arch = Arch::kSm100};
  const sim::Report refused = run_ptx(text, out, {0}, run);
  EXPECT_EQ(refused.diagnoses.at(0).code, "missing_tmem_wait") << refused.text();
  run.accepted = {"missing_tmem_wait"};
  for (const char* schedule : {"rr", "1", "2", "3"}) {
    run.schedule = sim::Schedule::parse(schedule);
    const sim::Report report = run_ptx(text, out, {0}, run);
    EXPECT_TRUE(report.ok()) << report.text();
    EXPECT_FALSE(report.accepted.empty());
  }
}

}  // namespace
}  // namespace heddle::test
