// SPDX-License-Identifier: Apache-2.0
//
// What the checks say of PTX: the same as of kernels in C++, with the line of the PTX and of the source.
#include "../support/ptx_run.h"

#include <heddle/host/error.h>

#include <algorithm>

namespace heddle::test {
namespace {

sim::Report report_of(const std::string& body, const std::string& before = "", PtxRun run = {}) {
  std::vector<std::uint32_t> out(64, 0);
  return run_ptx(ptx_module(body, before), out, {0}, run);
}

bool says(const sim::Report& report, const std::string& part) {
  return report.text().find(part) != std::string::npos;
}

const char* const kShared = ".extern .shared .align 16 .b8 dyn[];";

TEST(PtxReport, NamesTheLineOfTheSource) {
  const sim::Report report = report_of(
      ".loc 1 40 0\nld.param.u64 %rd1, [out];\n.loc 1 41 3\n.loc 2 7 5, function_name $L__info_string0, "
      "inlined_at 1 41 3\n"
      "st.global.u32 [%rd1+256], 1;\nret;",
      ".file 1 \"/home/me/saxpy.cu\"\n.file 2 \"/opt/cuda/include/vector.h\"\n");
  ASSERT_TRUE(report.has("global_out_of_bounds")) << report.text();
  EXPECT_TRUE(says(report, "st.global of 4 bytes at 0 bytes behind the end of out")) << report.text();
  EXPECT_TRUE(says(report, "saxpy.cu:41, test.ptx:14")) << report.text();
}

TEST(PtxReport, NamesTheCallersOfAHelperThatWasInlined) {
  const sim::Report report = report_of(
      "ld.param.u64 %rd1, [out];\n.loc 1 41 3\n.loc 2 7 5, function_name $L__info_string0, inlined_at 1 41 3\n"
      "st.global.u32 [%rd1+256], 1;\nret;",
      ".file 1 \"/home/me/saxpy.cu\"\n.file 2 \"/home/me/helper.h\"\n");
  EXPECT_TRUE(says(report, "helper.h:7, saxpy.cu:41, test.ptx:")) << report.text();
}

// What the wait for a store's source lacks is told as it is.
TEST(PtxReport, TellsACommitFromAWaitThatIsMissing) {
  const auto store_twice = [](const std::string& between) {
    return report_of(
        "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; @%p1 ret; mov.u32 %r2, dyn;\n"
        "st.shared.v4.u32 [%r2], {%r1,%r1,%r1,%r1}; fence.proxy.async.shared::cta;\n"
        "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 16;\n" +
            between + "st.shared.u32 [%r2], 5; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret;",
        kShared, {.shared_bytes = 16});
  };
  EXPECT_TRUE(store_twice("cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;\n").ok());
  const sim::Report weak = store_twice("cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 1;\n");
  EXPECT_TRUE(weak.has("write_while_read") && says(weak, "likely: no wait between the two covers the copy;"))
      << weak.text();
  const sim::Report none = store_twice("cp.async.bulk.wait_group.read 0;\n");
  EXPECT_TRUE(none.has("write_while_read")) << none.text();
}

// A macro makes several places of one line.
TEST(PtxReport, NamesALineOnce) {
  const sim::Report report = report_of(
      "ld.param.u64 %rd1, [out];\n.loc 1 41 3\n.loc 1 41 9, function_name $L__info_string0, inlined_at 1 41 3\n"
      ".loc 2 7 5, function_name $L__info_string0, inlined_at 1 41 9\nst.global.u32 [%rd1+256], 1;\nret;",
      ".file 1 \"/home/me/saxpy.cu\"\n.file 2 \"/home/me/helper.h\"\n");
  EXPECT_TRUE(says(report, " helper.h:7, saxpy.cu:41, test.ptx:")) << report.text();
}

// LLVM counts on within inline assembly; the line is that of the statement, and counts again behind it.
TEST(PtxReport, NamesTheStatementOfInlineAssembly) {
  const std::string files = ".file 1 \"/home/me/saxpy.py\"\n";
  const std::string start =
      "ld.param.u64 %rd1, [out];\n.loc 1 41 3\n// begin inline asm\n.loc 1 41 3\nmov.u32 %r1, 0;\n";
  const std::string store = "st.global.u32 [%rd1+256], 1;\n";
  EXPECT_TRUE(
      says(report_of(start + ".loc 1 43 3\n" + store + "// end inline asm\nret;", files), "saxpy.py:41, "));
  EXPECT_TRUE(
      says(report_of(start + "// end inline asm\n.loc 1 43 3\n" + store + "ret;", files), "saxpy.py:43, "));
}

TEST(PtxReport, NamesTheLineOfThePtxAlone) {
  const sim::Report report = report_of("ld.param.u64 %rd1, [in];\nst.global.u32 [%rd1], 1;\nret;");
  ASSERT_TRUE(report.has("global_read_only")) << report.text();
  EXPECT_TRUE(says(report, "  test.ptx:9")) << report.text();
}

TEST(PtxReport, ExplainsADeadlockOfBarriers) {
  const std::string body =
      "mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0;\n@%p1 bra WAIT;\nmbarrier.init.shared::cta.b64 [dyn], 2;\n"
      "fence.mbarrier_init.release.cluster;\nWAIT: bar.sync 0;\n@%p1 bra SPIN;\n"
      "mbarrier.arrive.shared::cta.b64 %rd1, [dyn];\nSPIN:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 %p2, [dyn], 0;\n@!%p2 bra SPIN;\nret;";
  for (const char* schedule : {"rr", "1", "9"}) {
    const sim::Report report =
        report_of(body, kShared, {.shared_bytes = 16, .schedule = sim::Schedule::parse(schedule)});
    ASSERT_TRUE(report.has("deadlock")) << report.text();
    EXPECT_TRUE(says(report, "arrivals 1 of 2")) << report.text();
    EXPECT_TRUE(says(report, "test.ptx:16")) << report.text();
  }
  // The twin: a count of one.
  const std::string mended = [&] {
    std::string text = body;
    text.replace(text.find("[dyn], 2"), 8, "[dyn], 1");
    return text;
  }();
  EXPECT_TRUE(report_of(mended, kShared, {.shared_bytes = 16}).ok());
}

TEST(PtxReport, KnowsAWaitForTheClockFromAHang) {
  // Ten milliseconds at the rate of a card. A poll with such a limit hangs: it is told long before its own end.
  const auto with = [&](const std::string& look) {
    return report_of("mov.u64 %rd1, %clock64;\nSPIN: " + look +
                         "\nmov.u64 %rd2, %clock64; sub.u64 %rd3, %rd2, %rd1;\n"
                         "setp.lt.u64 %p1, %rd3, 20000000; @%p1 bra SPIN;\nret;",
                     kShared, {.threads = 1, .shared_bytes = 16, .max_steps = 10'000'000});
  };
  EXPECT_TRUE(with("").ok()) << with("").text();
  EXPECT_TRUE(with("nanosleep.u32 100;").ok()) << with("nanosleep.u32 100;").text();
  const sim::Report report = with("ld.volatile.shared.u32 %r1, [dyn];");
  EXPECT_TRUE(report.has("deadlock")) << report.text();
}

TEST(PtxReport, FindsARaceInSharedMemory) {
  const std::string body =
      "mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0;\n@!%p1 st.shared.u32 [dyn], 5;\n%s\nld.shared.u32 %r2, "
      "[dyn];\nret;";
  const auto with = [&](const std::string& sync) {
    std::string text = body;
    text.replace(text.find("%s"), 2, sync);
    return report_of(text, kShared, {.threads = 64, .shared_bytes = 16});
  };
  const sim::Report report = with("bar.warp.sync -1;");
  ASSERT_TRUE(report.has("race")) << report.text();
  EXPECT_TRUE(says(report, "test.ptx:9") && says(report, "test.ptx:11")) << report.text();
  EXPECT_TRUE(with("bar.sync 0;").ok());
}

TEST(PtxReport, FindsAMissingProxyFence) {
  const std::string body =
      "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; mov.u32 %r3, dyn; add.u32 %r3, %r3, "
      "%r2;\n"
      "st.shared.u32 [%r3], %r1;\n%f\nbar.sync 0;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 ret;\n"
      "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [dyn], 128;\ncp.async.bulk.commit_group;\n"
      "cp.async.bulk.wait_group 0;\nret;";
  const auto with = [&](const std::string& fence) {
    std::string text = body;
    text.replace(text.find("%f"), 2, fence);
    return report_of(text, kShared, {.shared_bytes = 128});
  };
  const sim::Report report = with("");
  ASSERT_TRUE(report.has("missing_proxy_fence")) << report.text();
  EXPECT_TRUE(with("fence.proxy.async.shared::cta;").ok());
}

TEST(PtxReport, StopsAKernelThatNeverEnds) {
  const sim::Report report = report_of("LOOP: add.u32 %r1, %r1, 1;\nbra LOOP;", "", {.max_steps = 1'000'000});
  ASSERT_FALSE(report.ok());
  EXPECT_TRUE(says(report, "test.ptx:")) << report.text();
}

// A block stores its tile with a bulk copy and exits at once; the next one on the same SM writes over the tile.
TEST(PtxReport, AnAcceptedMistakeIsToldAndTheRunGoesOn) {
  const std::string text = ptx_module(
      "ld.param.u64 %rd1, [out]; mov.u32 %r2, %ctaid.x; mul.wide.u32 %rd2, %r2, 128; add.s64 %rd3, %rd1, %rd2;\n"
      "mov.u32 %r3, %tid.x; mov.u32 %r4, dyn; mad.lo.u32 %r5, %r3, 4, %r4; mad.lo.u32 %r6, %r2, 100, %r3;\n"
      "st.shared.u32 [%r5], %r6; fence.proxy.async.shared::cta; bar.sync 0; setp.ne.u32 %p1, %r3, 0; @%p1 ret;\n"
      "cp.async.bulk.global.shared::cta.bulk_group [%rd3], [%r4], 128; cp.async.bulk.commit_group; ret;",
      ".extern .shared .align 16 .b8 dyn[];");
  std::vector<std::uint32_t> out(32 * 6);
  PtxRun run{.grid = {6, 1, 1}, .shared_bytes = 128};
  const sim::Report granted = run_ptx(text, out, {0}, run);
  ASSERT_TRUE(granted.ok());
  ASSERT_EQ(granted.formal.size(), 1u);
  EXPECT_EQ(granted.formal[0].code, "exit_in_flight");
  EXPECT_TRUE(granted.accepted.empty());
  run.accepted = {"exit_in_flight"};
  for (const char* schedule : {"rr", "1", "2", "3"}) {
    run.schedule = sim::Schedule::parse(schedule);
    std::fill(out.begin(), out.end(), 0);
    const sim::Report report = run_ptx(text, out, {0}, run);
    ASSERT_TRUE(report.ok()) << report.text();
    ASSERT_EQ(report.accepted.size(), 1u);
    EXPECT_EQ(report.accepted[0].code, "exit_in_flight");
    for (std::uint32_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], i / 32 * 100 + i % 32) << schedule;
  }
  run.accepted = {"deadlock"};
  EXPECT_THROW(run_ptx(text, out, {0}, run), InputError);
}

// Block 0 arrives on a barrier of block 1, which waits for it. The manual's scope is .cta where none is given.
TEST(PtxReport, ArrivalsAndWaitsOfAPeerWithoutAScopeAreFormal) {
  const std::string body =
      "mov.u32 %r1, %tid.x; mov.u32 %r2, %cluster_ctarank; setp.ne.u32 %p1, %r1, 0; @%p1 bra MEET;\n"
      "mbarrier.init.shared::cta.b64 [dyn], 1; fence.mbarrier_init.release.cluster;\n"
      "MEET: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; @%p1 bra END;\n"
      "setp.eq.u32 %p2, %r2, 1; @%p2 bra WAIT; mov.u32 %r3, dyn; mapa.shared::cluster.u32 %r4, %r3, 1;\n"
      "mbarrier.arrive%s.shared::cluster.b64 _, [%r4]; bra END;\n"
      "WAIT: mbarrier.try_wait.parity%s.shared::cta.b64 %p3, [dyn], 0; @!%p3 bra WAIT;\n"
      "END: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; ret;";
  const auto with = [&](const std::string& arrive, const std::string& wait) {
    std::string text = body;
    text.replace(text.find("%s"), 2, arrive);
    text.replace(text.find("%s"), 2, wait);
    return report_of(text, kShared, {.grid = {2, 1, 1}, .cluster = {2, 1, 1}, .shared_bytes = 16});
  };
  for (const auto& [arrive, wait] : {std::pair("", ".acquire.cluster"), std::pair(".release.cluster", "")}) {
    const sim::Report narrow = with(arrive, wait);
    ASSERT_TRUE(narrow.ok()) << narrow.text();
    ASSERT_EQ(narrow.formal.size(), 1u) << narrow.remarks();
    EXPECT_EQ(narrow.formal[0].code, "narrow_scope");
  }
  const sim::Report wide = with(".release.cluster", ".acquire.cluster");
  EXPECT_TRUE(wide.ok() && wide.formal.empty()) << wide.text() << wide.remarks();
}

TEST(PtxReport, AnAcceptedRaceDoesNotHideAnother) {
  const std::string text = ptx_module(
      "mov.u32 %r2, dyn; mov.u32 %r3, %tid.x; st.shared.u32 [%r2], %r3; ld.param.u64 %rd1, [out];\n"
      "st.global.u32 [%rd1+400], %r3; ret;",
      ".extern .shared .align 16 .b8 dyn[];");
  std::vector<std::uint32_t> out(8);
  const sim::Report report = run_ptx(text, out, {0}, {.threads = 64, .shared_bytes = 16, .accepted = {"race"}});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.diagnoses[0].code, "global_out_of_bounds") << report.text();
  ASSERT_EQ(report.accepted.size(), 1u);
  EXPECT_EQ(report.accepted[0].code, "race");
}

TEST(PtxReport, AHangNamesTheWordThatIsPolledAndWhoHasExited) {
  const std::string text = ptx_module(
      "ld.param.u64 %rd1, [out]; mov.u32 %r2, %tid.x; setp.ge.u32 %p1, %r2, 32; @%p1 ret;\n"
      "LOOP: ld.volatile.global.u32 %r1, [%rd1+4];\nsetp.eq.u32 %p1, %r1, 0; @%p1 bra LOOP;\nret;");
  std::vector<std::uint32_t> out(2);
  const sim::Report report = run_ptx(text, out, {0}, {.threads = 64});
  ASSERT_TRUE(report.has("deadlock")) << report.text();
  const std::size_t polls = report.text().find("  warp 0: polls out + 4 ");
  ASSERT_NE(polls, std::string::npos) << report.text();
  EXPECT_NE(report.text().find("test.ptx:", polls), std::string::npos) << report.text();
  EXPECT_NE(report.text().find("  exited: warp 1\n"), std::string::npos) << report.text();
  out[1] = 1;
  EXPECT_TRUE(run_ptx(text, out, {0}, {.threads = 64}).ok());
}

// The first block waits for the second, which has no SM.
TEST(PtxReport, AHangNamesCtasThatHaveNotStarted) {
  const std::string text = ptx_module(
      "ld.param.u64 %rd1, [out]; mov.u32 %r2, %ctaid.x; setp.eq.u32 %p1, %r2, 4; @%p1 bra SET;\n"
      "LOOP: ld.volatile.global.u32 %r1, [%rd1];\nsetp.eq.u32 %p1, %r1, 0; @%p1 bra LOOP; ret;\n"
      "SET: st.volatile.global.u32 [%rd1], %r2; ret;");
  std::vector<std::uint32_t> out(1);
  const sim::Report report = run_ptx(text, out, {0}, {.threads = 1, .grid = {5, 1, 1}});
  ASSERT_TRUE(report.has("deadlock")) << report.text();
  EXPECT_NE(report.text().find("  1 of 5 CTAs have not started; each waits for an SM\n"), std::string::npos)
      << report.text();
  out[0] = 1;
  EXPECT_TRUE(run_ptx(text, out, {0}, {.threads = 1, .grid = {5, 1, 1}}).ok());
}

TEST(PtxReport, TheBudgetsReportSaysWhereEachWarpIs) {
  const sim::Report report = report_of(
      "mov.u32 %r2, %tid.x; setp.lt.u32 %p1, %r2, 32; @%p1 bra LOOP;\nbar.sync 1, 64;\nret;\n"
      "LOOP: add.u32 %r1, %r1, 1;\nbra LOOP;",
      "", {.threads = 64, .max_steps = 20'000'000});
  ASSERT_EQ(report.diagnoses.size(), 1u);
  const std::string& text = report.diagnoses[0].text;
  EXPECT_EQ(report.diagnoses[0].code, "budget") << text;
  const std::size_t waits = text.find("warp 1: waits on named barrier 1");
  ASSERT_NE(waits, std::string::npos) << text;
  EXPECT_NE(text.find("test.ptx:", waits), std::string::npos) << text;
  const std::size_t runs = text.find("warp 0: ");
  ASSERT_NE(runs, std::string::npos) << text;
  EXPECT_LT(text.find("test.ptx:", runs), text.find('\n', runs)) << text;
}

TEST(PtxReport, NamesTrapsAssertionsAndBadAddresses) {
  EXPECT_TRUE(report_of("trap;").has("trap"));
  EXPECT_TRUE(report_of("mov.u32 %r1, 4; ld.local.u32 %r2, [%r1+100]; ret;", "").has("local_out_of_bounds"));
  const std::string depot = ".local .align 16 .b8 depot[24]; mov.u32 %r1, depot; ";
  EXPECT_TRUE(report_of(depot + "st.local.u32 [%r1+20], %r1; ret;").ok());
  EXPECT_TRUE(report_of(depot + "st.local.u32 [%r1+24], %r1; ret;").has("local_out_of_bounds"));
  EXPECT_TRUE(report_of("ld.shared.u32 %r2, [2000]; ret;").has("shared_out_of_bounds"));
  EXPECT_TRUE(report_of("mov.u64 %rd1, 64; mbarrier.init.b64 [%rd1], 1; ret;").has("not_shared"));
  const sim::Report report = report_of(
      "mov.u64 %rd1, what; mov.u64 %rd2, file;\n{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; "
      ".param .b64 e;\n"
      "st.param.b64 [a], %rd1; st.param.b64 [b], %rd2; st.param.b32 [c], 12; st.param.b64 [d], %rd2; "
      "st.param.b64 [e], 1;\n"
      "call.uni __assertfail, (a, b, c, d, e); } ret;",
      ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);\n"
      ".global .align 1 .b8 what[] = \"x > 0\"; .global .align 1 .b8 file[] = \"a.cu\";");
  ASSERT_TRUE(report.has("assert")) << report.text();
  EXPECT_TRUE(says(report, "[assert] assertion `x > 0' failed") && says(report, "a.cu:12")) << report.text();
}

TEST(PtxReport, StopsARecursionThatDoesNotEnd) {
  const std::string forever =
      ".visible .func f(.param .b32 n);\n.visible .func f(.param .b32 n) { .reg .b32 %r<2>; ld.param.b32 %r1, "
      "[n];\n"
      "{ .param .b32 p; st.param.b32 [p], %r1; call f, (p); } ret; }\n";
  const sim::Report report = report_of("{ .param .b32 p; st.param.b32 [p], 1; call f, (p); } ret;", forever);
  EXPECT_TRUE(report.has("stack_overflow")) << report.text();
}

TEST(PtxReport, RefusesDivergentMatrixInstructions) {
  const sim::Report report = report_of(
      "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 16; @%p1 bra A;\nbar.warp.sync -1; ret;\n"
      "A: shfl.sync.idx.b32 %r2, %r1, 0, 31, -1; ret;");
  EXPECT_TRUE(report.has("divergence")) << report.text();
}

}  // namespace
}  // namespace heddle::test
