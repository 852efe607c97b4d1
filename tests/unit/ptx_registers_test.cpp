// SPDX-License-Identifier: Apache-2.0
//
// setmaxnreg in PTX: the budget follows from what the entry says of its registers.
#include "../support/ptx_run.h"

namespace heddle::test {
namespace {

// The first warpgroup gives back, the others take.
sim::Report run(const std::string& directives, const std::string& dec, const std::string& inc,
                const char* schedule, std::uint32_t threads = 384) {
  std::string text = ptx_module("mov.u32 %r1, %tid.x; setp.gt.u32 %p1, %r1, 127; @%p1 bra TAKE;\n" + dec +
                                "ret;\nTAKE: setmaxnreg.inc.sync.aligned.u32 " + inc + ";\nret;");
  text.insert(text.find("\n{\n"), "\n" + directives);
  std::vector<std::uint32_t> out(4, 0);
  return run_ptx(text, out, {0}, {.threads = threads, .schedule = sim::Schedule::parse(schedule)});
}

const char* const kDec = "setmaxnreg.dec.sync.aligned.u32 40;\n";

TEST(PtxRegisters, ThePoolFollowsFromTheDirectives) {
  for (const char* schedule : {"rr", "1", "2", "3"}) {
    for (const char* directives :
         {".maxntid 384\n.minnctapersm 1", ".reqntid 384\n.minnctapersm 1", ".maxnreg 168"}) {
      const sim::Report fits = run(directives, kDec, "232", schedule);
      EXPECT_TRUE(fits.ok()) << directives << fits.text();
      const sim::Report report = run(directives, kDec, "240", schedule);
      ASSERT_TRUE(report.has("register_budget")) << directives << report.text();
      EXPECT_NE(report.text().find("40 + 240 + 240 = 520, but the CTA has 3 * 168 = 504"), std::string::npos)
          << report.text();
    }
    // Nobody knows how many there are.
    EXPECT_TRUE(run(".maxntid 384", kDec, "240", schedule).ok());
  }
}

// 256 threads with an SM to themselves may have 255 each: an increase to less than that takes from nobody.
TEST(PtxRegisters, AnEntryBeginsWithNoMoreThanItEverAsksFor) {
  for (const char* schedule : {"rr", "1", "2", "3"}) {
    for (const char* directives : {".maxntid 256\n.minnctapersm 1", ".maxnreg 255"}) {
      const sim::Report report = run(directives, kDec, "232", schedule, 256);
      EXPECT_TRUE(report.ok()) << directives << report.text();
    }
    // Nothing is free for those who take, since nobody gives back.
    EXPECT_TRUE(run(".maxnreg 128", "", "136", schedule, 256).has("register_budget"));
  }
}

TEST(PtxRegisters, AllFourWarpsOfAWarpgroupExecuteIt) {
  const std::string one_warp =
      "setp.gt.u32 %p2, %r1, 31; @%p2 bra SKIP;\n" + std::string(kDec) + "SKIP: bar.sync 1, 128;\n";
  for (const char* schedule : {"rr", "1", "2", "3"}) {
    const sim::Report report = run(".maxnreg 168", one_warp, "232", schedule);
    ASSERT_TRUE(report.has("divergence")) << report.text();
    EXPECT_NE(report.text().find("has executed 0 setmaxnreg, but its warpgroup 1"), std::string::npos)
        << report.text();
  }
}

}  // namespace
}  // namespace heddle::test
