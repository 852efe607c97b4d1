// SPDX-License-Identifier: Apache-2.0
//
// Barriers of whole warps that the lanes of one come to from different places.
#include "../support/ptx_run.h"

namespace heddle::test {
namespace {

const char* const kSchedules[] = {"rr", "1", "2", "3"};

// The lower half of a warp goes one way, the upper the other.
std::string in_branches(const std::string& barrier) {
  return "mov.u32 %r1, %laneid; setp.lt.u32 %p1, %r1, 16; @%p1 bra LOWER;\n" + barrier +
         "\nbra.uni END;\nLOWER:\n" + barrier + "\nEND: ret;";
}

sim::Report run(const std::string& body, const char* schedule, std::uint32_t ctas) {
  std::vector<std::uint32_t> out(1);
  return run_ptx(
      ptx_module(body), out, {0},
      {.threads = 64, .grid = {ctas, 1, 1}, .cluster = {ctas, 1, 1}, .schedule = sim::Schedule::parse(schedule)});
}

TEST(PtxAlignedBarrier, IsExecutedByAWarpAsAWhole) {
  const std::string cluster = "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;";
  const std::string apart = "barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;";
  for (const char* schedule : kSchedules) {
    const sim::Report report = run(in_branches(cluster), schedule, 2);
    ASSERT_TRUE(report.has("divergence")) << report.text();
    EXPECT_NE(report.text().find("is executed by lanes of one warp at different places"), std::string::npos)
        << report.text();
    EXPECT_TRUE(run(in_branches(apart), schedule, 2).ok()) << run(in_branches(apart), schedule, 2).text();
    EXPECT_TRUE(run(cluster + " ret;", schedule, 2).ok());
    for (const std::string barrier : {"bar.sync 0;", "barrier.sync.aligned 0;", "bar.sync 1, 64;"}) {
      EXPECT_TRUE(run(in_branches(barrier), schedule, 1).has("divergence")) << barrier;
      EXPECT_TRUE(run(barrier + " ret;", schedule, 1).ok()) << barrier;
    }
    EXPECT_TRUE(run(in_branches("barrier.sync 0;"), schedule, 1).ok());
  }
}

TEST(PtxAlignedBarrier, ArrivalsOfOneWarpAreOneInstruction) {
  const std::string wait = "barrier.cluster.wait.acquire.aligned; ret;";
  const auto apart = [&](const std::string& arrive) {
    return "mov.u32 %r1, %laneid; setp.eq.u32 %p1, %r1, 3; @%p1 bra ONE;\n" + arrive +
           "\nbra.uni MET;\nONE: " + arrive + "\nMET: bar.warp.sync -1;\n" + wait;
  };
  // Lanes come to one instruction at different times.
  const std::string late =
      "mov.u32 %r1, %laneid; setp.eq.u32 %p1, %r1, 3; @!%p1 bra MET; mov.u32 %r2, 7;\n"
      "MET: barrier.cluster.arrive.release.aligned;\n" +
      wait;
  for (const char* schedule : kSchedules) {
    const sim::Report report = run(apart("barrier.cluster.arrive.release.aligned;"), schedule, 2);
    ASSERT_TRUE(report.has("divergence")) << report.text();
    EXPECT_NE(report.text().find("barrier.cluster.arrive.aligned is executed"), std::string::npos)
        << report.text();
    EXPECT_TRUE(run(apart("barrier.cluster.arrive.release;"), schedule, 2).ok());
    EXPECT_TRUE(run(late, schedule, 2).ok()) << run(late, schedule, 2).text();
  }
}

// Where all have arrived nobody blocks, and those of one place have gone on when the others come.
TEST(PtxAlignedBarrier, WaitsOfOneWarpAreOneInstruction) {
  const std::string arrive = "barrier.cluster.arrive.release.aligned;\n";
  const auto apart = [&](const std::string& wait) {
    return "mov.u32 %r1, %laneid; setp.eq.u32 %p1, %r1, 3;\n" + arrive + "@%p1 bra ONE;\n" + wait +
           "\nbra.uni MET;\nONE: nanosleep.u32 40;\n" + wait + "\nMET: bar.warp.sync -1; ret;";
  };
  const std::string wait = "barrier.cluster.wait.acquire.aligned;";
  // One instruction that lanes come to at different times, and another in the next round.
  const std::string late = "mov.u32 %r1, %laneid; setp.eq.u32 %p1, %r1, 3;\n" + arrive +
                           "@!%p1 bra MET; nanosleep.u32 40;\nMET: " + wait + "\n" + arrive + wait + " ret;";
  for (const std::uint32_t ctas : {1u, 2u}) {
    for (const char* schedule : kSchedules) {
      const sim::Report report = run(apart(wait), schedule, ctas);
      ASSERT_TRUE(report.has("divergence")) << report.text();
      EXPECT_NE(report.text().find("barrier.cluster.wait.aligned is executed"), std::string::npos)
          << report.text();
      const sim::Report unaligned = run(apart("barrier.cluster.wait.acquire;"), schedule, ctas);
      EXPECT_TRUE(unaligned.ok()) << unaligned.text();
      EXPECT_TRUE(run(late, schedule, ctas).ok()) << run(late, schedule, ctas).text();
    }
  }
}

}  // namespace
}  // namespace heddle::test
