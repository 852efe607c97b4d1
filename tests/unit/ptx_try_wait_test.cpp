// SPDX-License-Identifier: Apache-2.0
//
// mbarrier.try_wait may give up. A try that stands alone comes back; a loop of tries that nothing ends is a hang.
#include "../support/ptx_run.h"
#include "../support/schedule_share.h"

namespace heddle::test {
namespace {

const char* const kShared = ".extern .shared .align 16 .b8 dyn[];";
const char* const kSchedules[] = {"rr", "1", "2", "3", "7", "11"};

sim::Report run(const std::string& body, const char* schedule, std::uint32_t threads = 1) {
  std::vector<std::uint32_t> out(64, 0);
  return run_ptx(ptx_module(body, kShared), out, {0},
                 {.threads = threads, .shared_bytes = 32, .schedule = sim::Schedule::parse(schedule)});
}

// A ring of one stage: the thread looks whether the next stage is full, which it is once it has given the stage
// back.
std::string ring(const char* given_back) {
  return std::string(
             "mbarrier.init.shared::cta.b64 [dyn], 1;\n"
             "mbarrier.try_wait.parity.shared::cta.b64 %p1, [dyn], 0;\n") +
         given_back + "\nWAIT: mbarrier.try_wait.parity.shared::cta.b64 %p2, [dyn], 0;\n@!%p2 bra WAIT;\nret;";
}

TEST(PtxTryWait, ATryThatStandsAloneComesBack) {
  for (const char* schedule : kSchedules) {
    const sim::Report report = run(ring("mbarrier.arrive.shared::cta.b64 %rd1, [dyn];"), schedule);
    EXPECT_TRUE(report.ok()) << schedule << "\n" << report.text();
  }
}

TEST(PtxTryWait, ALoopOfTriesThatNothingEndsIsAHang) {
  for (const char* schedule : kSchedules) {
    const sim::Report report = run(ring(""), schedule);
    ASSERT_TRUE(report.has("deadlock")) << schedule << "\n" << report.text();
    EXPECT_NE(report.text().find("waits for the barrier at shared address 0x400, phase 0"), std::string::npos)
        << report.text();
    EXPECT_NE(report.text().find("test.ptx:11"), std::string::npos) << report.text();
  }
}

// The other warp looks at a flag in a loop, so something can always go on.
TEST(PtxTryWait, ATryComesBackWhileOthersOnlyLookAtMemory) {
  const auto body = [](const char* flag) {
    return std::string(
               "mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra MET;\n"
               "mbarrier.init.shared::cta.b64 [dyn], 1; st.volatile.shared.u32 [dyn+16], 0;\n"
               "MET: bar.sync 0; setp.gt.u32 %p1, %r1, 31; @%p1 bra LOOK; setp.ne.u32 %p2, %r1, 0; @%p2 ret;\n"
               "mbarrier.try_wait.parity.shared::cta.b64 %p3, [dyn], 0;\n") +
           flag +
           "ret;\nLOOK: ld.volatile.shared.u32 %r2, [dyn+16]; setp.eq.u32 %p4, %r2, 0; @%p4 bra LOOK; ret;";
  };
  CaseShare share(3);
  for (const char* schedule : kSchedules) {
    if (!share.takes_next()) continue;
    const sim::Report report = run(body("st.volatile.shared.u32 [dyn+16], 1;\n"), schedule, 64);
    EXPECT_TRUE(report.ok()) << schedule << "\n" << report.text();
    EXPECT_TRUE(run(body(""), schedule, 64).has("deadlock"));
  }
}

// Lanes that meet in each turn of the loop do not make it one that gets on.
TEST(PtxTryWait, AWaitLoopOfAWholeWarpIsAHangToo) {
  for (const char* schedule : kSchedules) {
    const sim::Report report = run(
        "mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra MET;\nmbarrier.init.shared::cta.b64 [dyn], 1;\n"
        "MET: bar.warp.sync -1;\nWAIT: mbarrier.try_wait.parity.shared::cta.b64 %p2, [dyn], 0; bar.warp.sync "
        "-1;\n"
        "@!%p2 bra WAIT;\nret;",
        schedule, 32);
    ASSERT_TRUE(report.has("deadlock")) << schedule << "\n" << report.text();
  }
}

// A try comes back when its time is over, and a test at once: who does not look at the answer has not waited,
// whether or not the phase was over in this run.
TEST(PtxTryWait, AnAnswerThatNobodyLooksAtOrdersNothing) {
  const auto body = [](const std::string& wait, const char* look) {
    return "mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra MET;\n"
           "mbarrier.init.shared::cta.b64 [dyn], 1;\nMET: bar.sync 0; setp.eq.u32 %p2, %r1, 32; @%p2 bra READ;\n"
           "@%p1 ret; st.shared.u32 [dyn+16], 7; mbarrier.arrive.shared::cta.b64 %rd1, [dyn]; ret;\n"
           "READ: mbarrier." +
           wait + ".parity.shared::cta.b64 %p3, [dyn], 0; selp.u32 %r2, 1, 0, %p3;\n" + look +
           "ld.shared.u32 %r3, [dyn+16]; ret;";
  };
  const char* const looks = "setp.eq.u32 %p4, %r2, 0; @%p4 bra READ;\n";
  CaseShare share(3);
  for (const char* schedule : kSchedules) {
    if (!share.takes_next()) continue;
    for (const char* wait : {"try_wait", "test_wait"}) {
      const sim::Report report = run(body(wait, ""), schedule, 64);
      EXPECT_TRUE(report.has("race")) << schedule << "\n" << report.text();
      EXPECT_TRUE(run(body(wait, looks), schedule, 64).ok()) << schedule;
    }
  }
}

}  // namespace
}  // namespace heddle::test
