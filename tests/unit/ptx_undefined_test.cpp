// SPDX-License-Identifier: Apache-2.0
//
// Reading memory that nobody has written is no mistake; using the value is.
#include "../support/ptx_run.h"

namespace heddle::test {
namespace {

const char* const kShared = ".extern .shared .align 16 .b8 dyn[];";
const char* const kSchedules[] = {"rr", "1", "2", "3"};

// %r1: the thread; %rd1: its word of `out`; %r2: its word of shared memory. Nobody writes the second half of it,
// from dyn + 512 on.
std::string kernel(const std::string& body) {
  return ptx_module(
      "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;\n"
      "mov.u32 %r2, dyn; shl.b32 %r3, %r1, 2; add.u32 %r2, %r2, %r3; st.shared.u32 [%r2], %r1; bar.sync 0;\n" +
          body,
      kShared);
}

sim::Report run(const std::string& body, const char* schedule = "rr", std::vector<std::uint32_t>* out = nullptr,
                bool check_races = true) {
  std::vector<std::uint32_t> words(64, 0);
  sim::Report report = run_ptx(kernel(body), words, {7, 8, 9},
                               {.threads = 32,
                                .shared_bytes = 1024,
                                .schedule = sim::Schedule::parse(schedule),
                                .check_races = check_races});
  if (out != nullptr) *out = words;
  return report;
}

void expect_silent(const std::string& body) {
  for (const char* schedule : kSchedules) {
    const sim::Report report = run(body, schedule);
    EXPECT_TRUE(report.ok()) << body << "\n" << report.text();
  }
}

// The report names the load and the use.
void expect_used(const std::string& body, const std::string& how, const char* code = "uninitialised_read") {
  for (const char* schedule : kSchedules) {
    const sim::Report report = run(body, schedule);
    ASSERT_TRUE(report.has(code)) << body << "\n" << report.text();
    EXPECT_NE(report.text().find(how), std::string::npos) << report.text();
  }
}

const std::string kLoad = "ld.shared.u32 %r4, [%r2+512];\n";

TEST(PtxUndefined, ALoadAloneIsNoMistake) {
  expect_silent(kLoad + "ret;");
  expect_silent(kLoad + "add.u32 %r5, %r4, 1; mul.lo.u32 %r5, %r5, %r4; ret;");
  expect_silent(kLoad + "mov.u32 %r4, 3; st.global.u32 [%rd1], %r4; ret;");
}

TEST(PtxUndefined, AStoreToGlobalMemoryIsAUse) {
  expect_used(kLoad + "st.global.u32 [%rd1], %r4; ret;", "the value is stored to global memory");
  expect_used(kLoad + "add.u32 %r5, %r4, 1; cvt.rn.f32.u32 %f1, %r5; st.global.f32 [%rd1], %f1; ret;",
              "the value is stored to global memory");
  const sim::Report report = run(kLoad + "st.global.u32 [%rd1], %r4; ret;");
  EXPECT_NE(report.text().find("test.ptx:10"), std::string::npos) << report.text();
  EXPECT_NE(report.text().find("test.ptx:11"), std::string::npos) << report.text();
  expect_used(kLoad + "red.global.add.u32 [%rd1], %r4; ret;", "the value goes to global memory");
}

TEST(PtxUndefined, AnAddressAndABranchAreUses) {
  expect_used(kLoad + "and.b32 %r5, %r4, 4; add.u32 %r6, %r2, %r5; ld.shared.u32 %r7, [%r6]; ret;",
              "the value is part of an address");
  expect_used(kLoad + "setp.eq.u32 %p1, %r4, 0; @%p1 bra E; add.u32 %r5, %r5, 1; E: ret;",
              "the value decides a branch");
  expect_used(kLoad + "setp.eq.u32 %p1, %r4, 0; @%p1 st.global.u32 [%rd1], %r1; ret;",
              "the value decides whether this is executed");
  // Only registers depend on it, and nobody looks at them.
  expect_silent(kLoad + "setp.eq.u32 %p1, %r4, 0; @%p1 add.u32 %r5, %r5, 1; ret;");
  expect_used(kLoad + "setp.eq.u32 %p1, %r4, 0; @%p1 add.u32 %r5, %r1, 1; st.global.u32 [%rd1], %r5; ret;",
              "the value is stored to global memory");
}

TEST(PtxUndefined, ASelectTakesTheChosenSideAlone) {
  expect_silent(kLoad + "setp.lt.u32 %p1, %r1, 99; selp.u32 %r5, %r1, %r4, %p1; st.global.u32 [%rd1], %r5; ret;");
  expect_used(kLoad + "setp.lt.u32 %p1, %r1, 31; selp.u32 %r5, %r1, %r4, %p1; st.global.u32 [%rd1], %r5; ret;",
              "warp 0, lane 31: the value is stored to global memory");
}

TEST(PtxUndefined, BitsThatAreDroppedDoNotCount) {
  // Half a word was written.
  const std::string half = "st.shared.u16 [%r2+512], 5; bar.sync 0; ld.shared.u32 %r4, [%r2+512];\n";
  expect_silent(half + "and.b32 %r5, %r4, 0xffff; st.global.u32 [%rd1], %r5; ret;");
  expect_silent(half + "mov.b32 {%h1, %h2}, %r4; cvt.u32.u16 %r5, %h1; st.global.u32 [%rd1], %r5; ret;");
  expect_silent(half + "shl.b32 %r5, %r4, 16; st.global.u32 [%rd1], %r5; ret;");
  expect_silent(half + "prmt.b32 %r5, %r4, %r1, 0x1454; st.global.u32 [%rd1], %r5; ret;");
  expect_silent(half + "cvt.u32.u16 %r5, %r4; st.global.u32 [%rd1], %r5; ret;");
  expect_silent(half + "bfe.u32 %r5, %r4, 4, 12; st.global.u32 [%rd1], %r5; ret;");
  expect_used(half + "bfe.u32 %r5, %r4, 4, 13; st.global.u32 [%rd1], %r5; ret;", "the value is stored");
  expect_used(half + "and.b32 %r5, %r4, 0x1ffff; st.global.u32 [%rd1], %r5; ret;", "the value is stored");
  expect_used(half + "mov.b32 {%h1, %h2}, %r4; cvt.u32.u16 %r5, %h2; st.global.u32 [%rd1], %r5; ret;",
              "the value is stored");
  expect_used(half + "prmt.b32 %r5, %r4, %r1, 0x1424; st.global.u32 [%rd1], %r5; ret;", "the value is stored");
}

TEST(PtxUndefined, SharedAndLocalMemoryKeepBits) {
  const auto put = [](const std::string& space, const std::string& at, const std::string& mask,
                      const char* bits) {
    return "ld" + space + ".u32 %r4, " + at + "; and.b32 %r4, %r4, " + mask + "; or.b32 %r4, %r4, " + bits +
           "; st" + space + ".u32 " + at + ", %r4;\n";
  };
  const auto get = [](const std::string& space, const std::string& at, const std::string& mask) {
    return "ld" + space + ".u32 %r4, " + at + "; and.b32 %r4, %r4, " + mask + "; st.global.u32 [%rd1], %r4; ret;";
  };
  for (const bool is_local : {false, true}) {
    const std::string space = is_local ? ".local" : ".shared";
    const std::string at = is_local ? "[%rd5]" : "[%r2+512]";
    std::string first = put(space, at, "0xfffffff0", "5");
    if (is_local) {
      first =
          ".local .align 8 .b8 depot[16];\nmov.u64 %rd5, depot; ld.shared.u32 %r4, [%r2+512]; st.local.u32 "
          "[%rd5], "
          "%r4;\n" +
          first;
    }
    expect_silent(first + get(space, at, "15"));
    expect_used(first + get(space, at, "16"), "the value is stored to global memory");
    expect_silent(first + put(space, at, "15", "0x60") + get(space, at, "0xffffffff"));
  }
}

TEST(PtxUndefined, AnEqualityLooksAtTheBitsThatMeanSomething) {
  const std::string half = "st.shared.u16 [%r2+512], 5; bar.sync 0; ld.shared.u32 %r4, [%r2+512];\n";
  expect_silent(half + "setp.eq.u32 %p1, %r4, 6; @%p1 bra E; add.u32 %r5, %r5, 1; E: ret;");
  expect_used(half + "setp.eq.u32 %p1, %r4, 5; @%p1 bra E; add.u32 %r5, %r5, 1; E: ret;", "decides a branch");
}

TEST(PtxUndefined, SharedAndLocalMemoryKeepIt) {
  expect_silent(kLoad + "st.shared.u32 [%r2+256], %r4; bar.sync 0; ld.shared.u32 %r5, [%r2+256]; ret;");
  expect_used(kLoad +
                  "st.shared.u32 [%r2+256], %r4; bar.sync 0; ld.shared.u32 %r5, [%r2+256];\n"
                  "st.global.u32 [%rd1], %r5; ret;",
              "the value is stored to global memory");
  const auto local = [](const char* stored) {
    return kLoad + ".local .align 8 .b8 depot[16];\nmov.u64 %rd5, depot; st.local.u32 [%rd5+4], " + stored +
           "; ld.local.u64 %rd6, [%rd5]; shr.u64 %rd6, %rd6, 32; cvt.u32.u64 %r6, %rd6; st.global.u32 [%rd1], "
           "%r6; ret;";
  };
  expect_silent(local("%r1"));
  expect_used(local("%r4"), "the value is stored to global memory");
}

// A copy hands the bytes on: the report tells the store that put them there.
TEST(PtxUndefined, ACopyOfStoredNothingIsAUse) {
  const std::string copy =
      "fence.proxy.async.shared::cta; bar.sync 0; setp.ne.u32 %p1, %r1, 0; @%p1 ret; mov.u32 %r6, dyn;\n"
      "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r6+256], 64; cp.async.bulk.commit_group;\n"
      "cp.async.bulk.wait_group 0; ret;";
  expect_silent(kLoad + "st.shared.u32 [%r2+256], %r1;\n" + copy);
  expect_used(
      kLoad + "st.shared.u32 [%r2+256], %r4;\n" + copy,
      "to which values were stored that come from memory that nobody has written\n  warp 0, lane 0: st.shared");
  expect_used(kLoad + copy, "which nobody has written\n  warp 0, lane 0: bulk store");
}

TEST(PtxUndefined, LanesHandItOn) {
  expect_silent(kLoad +
                "setp.eq.u32 %p1, %r1, 5; selp.u32 %r5, %r4, %r1, %p1;\n"
                "shfl.sync.idx.b32 %r6, %r5, 4, 31, -1; st.global.u32 [%rd1], %r6; ret;");
  expect_used(kLoad +
                  "setp.eq.u32 %p1, %r1, 4; selp.u32 %r5, %r4, %r1, %p1;\n"
                  "shfl.sync.idx.b32 %r6, %r5, 4, 31, -1; st.global.u32 [%rd1], %r6; ret;",
              "the value is stored to global memory");
  expect_used(kLoad + "redux.sync.add.u32 %r6, %r4, -1; st.global.u32 [%rd1], %r6; ret;", "the value is stored");
  expect_used(kLoad + "setp.eq.u32 %p1, %r4, 0; vote.sync.any.pred %p2, %p1, -1; @%p2 bra E; E: ret;",
              "the value decides a branch");
}

// What a shuffle took from a lane that is not in its mask.
TEST(PtxUndefined, WhatALaneOutsideOfTheMaskGivesIsUndefined) {
  const auto body = [](const char* stored) {
    return std::string(
               "setp.gt.u32 %p1, %r1, 15; @%p1 ret; shfl.sync.down.b32 %r4, %r1, 8, 31, 0xffff;\n"
               "setp.lt.u32 %p2, %r1, ") +
           stored + "; @%p2 st.global.u32 [%rd1], %r4; ret;";
  };
  expect_silent(body("8"));
  expect_used(body("9"), "a value is stored to global memory that lane 16 of a shuffle was to give",
              "divergence");
}

TEST(PtxUndefined, AMultiplicationPassesOnRowsAndColumns) {
  // A holds garbage in row 8 alone: lane 0's second register of A. D's elements 2 and 3 of lanes 0 to 3 are in
  // it.
  const auto body = [](const char* element) {
    return kLoad +
           "setp.eq.u32 %p1, %r1, 0; mov.u32 %r10, 0; selp.b32 %r11, %r4, %r10, %p1;\n"
           "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r10,%r11,%r10,%r10},\n"
           "{%r10,%r10}, {%f5,%f6,%f7,%f8};\nst.global.f32 [%rd1], " +
           std::string(element) + "; ret;";
  };
  expect_silent(body("%f1"));
  expect_silent(body("%f2"));
  expect_used(body("%f3"), "lane 0: the value is stored to global memory");
}

// Lane 0 alone has something undefined, in row 0 of A: lanes 0 to 3 hold that row of the product, and lanes 4 to
// 7 the next one.
TEST(PtxUndefined, OtherMultiplicationsPassOnRowsToo) {
  const auto body = [](const std::string& multiply, const char* lanes) {
    return "mov.u32 %r10, 0; setp.eq.u32 %p1, %r1, 0; @%p1 ld.shared.u32 %r10, [%r2+512]; mov.u32 %r11, 0;\n"
           "mov.u32 %r12, 0x44444444;\n" +
           multiply + "shr.u32 %r5, %r1, 2; setp.eq.u32 %p2, %r5, " + lanes +
           "; @%p2 st.global.f32 [%rd1], %f1; ret;";
  };
  const std::string sparse =
      "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4},\n"
      "{%r10,%r11,%r11,%r11}, {%r11,%r11,%r11,%r11}, {%f5,%f6,%f7,%f8}, %r12, 0x0;\n";
  expect_silent(body(sparse, "1"));
  expect_used(body(sparse, "0"), "the value is stored to global memory");
  const std::string wmma =
      "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%f1,%f2,%f3,%f4,%f9,%f10,%f11,%f12},\n"
      "{%r10,%r11,%r11,%r11,%r11,%r11,%r11,%r11}, {%r11,%r11,%r11,%r11,%r11,%r11,%r11,%r11},\n"
      "{%f5,%f6,%f7,%f8,%f5,%f6,%f7,%f8};\n";
  expect_silent(body(wmma, "1"));
  expect_used(body(wmma, "0"), "the value is stored to global memory");
  // Not what lane 0 itself stores, but its neighbours.
  const auto neighbour = [&](const std::string& multiply) {
    return body(multiply, "0; setp.eq.and.u32 %p2, %r1, 1, %p2");
  };
  expect_used(neighbour(sparse), "lane 1: the value is stored to global memory");
  expect_used(neighbour(wmma), "lane 1: the value is stored to global memory");
}

// Of the four lanes of a row the selector names those whose metadata counts: with 16 bits and K = 32 two of them,
// with K = 16 one, with 8 bits and K = 32 two.
TEST(PtxUndefined, MetadataOfLanesThatTheSelectorDoesNotNameIsNotLookedAt) {
  const auto body = [](const char* lane, const std::string& form, const char* a, const char* b,
                       const char* selector) {
    return "mov.u32 %r10, 0; mov.u32 %r12, 0x44444444; setp.eq.u32 %p1, %r1, " + std::string(lane) +
           "; @%p1 ld.shared.u32 %r12, [%r2+512];\nmov.b32 %r20, 0; mov.b32 %r21, 0; mov.b32 %r22, 0; mov.b32 "
           "%r23, "
           "0;\nmma.sp::ordered_metadata.sync.aligned." +
           form + " {%r24,%r25,%r26,%r27}, " + a + ", " + b + ", {%r20,%r21,%r22,%r23}, %r12, " + selector +
           ";\nadd.u32 %r24, %r24, %r26; st.global.u32 [%rd1], %r24; ret;";
  };
  const char* const two = "{%r10,%r10}";
  const char* const four = "{%r10,%r10,%r10,%r10}";
  const std::string k32 = "m16n8k32.row.col.f32.f16.f16.f32";
  const std::string k16 = "m16n8k16.row.col.f32.f16.f16.f32";
  const std::string bytes = "m16n8k32.row.col.s32.s8.s8.s32";
  const char* const used = "the value is stored to global memory";
  expect_silent(body("3", k32, four, four, "0x0"));
  expect_silent(body("1", k32, four, four, "0x1"));
  expect_used(body("1", k32, four, four, "0x0"), used);
  expect_used(body("3", k32, four, four, "0x1"), used);
  expect_silent(body("1", k16, two, two, "0x0"));
  expect_used(body("1", k16, two, two, "0x1"), used);
  expect_silent(body("2", bytes, two, two, "0x0"));
  expect_used(body("2", bytes, two, two, "0x1"), used);
}

TEST(PtxUndefined, AnAtomicOnUnwrittenMemoryLeavesItUndefined) {
  const auto body = [](const char* first) {
    return std::string(first) +
           "red.shared.add.u32 [dyn+512], 1; bar.sync 0; ld.shared.u32 %r5, [dyn+512];\n"
           "st.global.u32 [%rd1], %r5; ret;";
  };
  expect_silent(body("setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [dyn+512], 0; bar.sync 0;\n"));
  expect_used(body(""), "the value is stored to global memory");
}

// Asks, in a grid of one CTA, for a cluster to cancel: %q0 is the answer, and %r4 its first CTA.
sim::Report ask_for_a_cluster(const std::string& then, std::uint32_t* out, bool check_races = true) {
  const std::string body =
      ".reg .b128 %q0; ld.param.u64 %rd1, [out];\n"
      "mbarrier.init.shared::cta.b64 [dyn+16], 1; fence.proxy.async.shared::cta;\n"
      "mbarrier.arrive.expect_tx.shared::cta.b64 %rd5, [dyn+16], 16;\n"
      "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [dyn], [dyn+16];\n"
      "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p2, [dyn+16], 0; @!%p2 bra WAIT;\n"
      "ld.shared.b128 %q0, [dyn];\n"
      "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r4, %q0;\n";
  std::string text = ptx_module(body + then + "ret;", kShared);
  text.replace(text.find("sm_90a"), 6, "sm_100a");
  std::vector<std::uint32_t> words(4, 0);
  sim::Report report = run_ptx(
      text, words, {0}, {.threads = 1, .shared_bytes = 1024, .check_races = check_races, .arch = Arch::kSm100});
  if (out != nullptr) *out = words[0];
  return report;
}

const std::string kLook = "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p3, %q0;\n";
const std::string kQuad =
    "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r4, %r5, %r6, %r7}, %q0;\n";

TEST(PtxUndefined, TheFirstCtaOfARefusalMayBeAskedFor) {
  for (const char* use : {"selp.u32 %r5, %r4, 7, %p3; st.global.u32 [%rd1], %r5;",
                          "@%p3 st.global.u32 [%rd1], %r4; @!%p3 st.global.u32 [%rd1], 7;",
                          "st.shared.u32 [dyn+512], %r4; mov.u32 %r4, 7; st.global.u32 [%rd1], %r4;"}) {
    std::uint32_t out = 0;
    const sim::Report report = ask_for_a_cluster(kLook + use, &out);
    EXPECT_TRUE(report.ok()) << use << report.text();
    EXPECT_EQ(out, 7u) << use;
  }
  EXPECT_TRUE(ask_for_a_cluster(kQuad + "st.global.u32 [%rd1], %r7;", nullptr).ok()) << "no part of it";
}

TEST(PtxUndefined, TheFirstCtaOfARefusalIsNotUsed) {
  const std::string store = "add.u32 %r4, %r4, 1; st.global.u32 [%rd1], %r4;";
  const sim::Report unseen = ask_for_a_cluster(store, nullptr);
  EXPECT_EQ(unseen.text().find("[clc_no_cluster] clusterlaunchcontrol.query_cancel.get_first_ctaid of a request "
                               "that failed, which names no cluster"),
            0u)
      << unseen.text();
  EXPECT_NE(unseen.text().find("the value is stored to global memory"), std::string::npos) << unseen.text();
  EXPECT_NE(unseen.text().find("likely: no look at"), std::string::npos) << unseen.text();
  const sim::Report seen = ask_for_a_cluster(kLook + store, nullptr);
  EXPECT_TRUE(seen.has("clc_no_cluster")) << seen.text();
  EXPECT_EQ(seen.text().find("likely:"), std::string::npos) << seen.text();
  EXPECT_TRUE(ask_for_a_cluster(kQuad + "st.global.u32 [%rd1], %r6;", nullptr).has("clc_no_cluster"));
  EXPECT_TRUE(ask_for_a_cluster("setp.eq.u32 %p3, %r4, 0; @%p3 bra END; st.global.u32 [%rd1], 7; END: ", nullptr)
                  .has("clc_no_cluster"));
  EXPECT_TRUE(ask_for_a_cluster(store, nullptr, false).ok()) << "nobody follows values there";
}

TEST(PtxUndefined, AResponseThatNobodyWroteHasNoFirstCta) {
  const std::string ask =
      "ld.shared.b128 %q0, [dyn+512]; clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r4, %q0;\n";
  EXPECT_TRUE(ask_for_a_cluster(ask, nullptr).ok());
  EXPECT_TRUE(ask_for_a_cluster(ask + "st.global.u32 [%rd1], %r4;", nullptr).has("uninitialised_read"));
}

TEST(PtxUndefined, WithoutTheChecksNothingIsSaid) {
  EXPECT_TRUE(run(kLoad + "st.global.u32 [%rd1], %r4; ret;", "rr", nullptr, false).ok());
}

}  // namespace
}  // namespace heddle::test
