// SPDX-License-Identifier: Apache-2.0
//
// The registers of a wgmma belong to it until it was waited for: its accumulators, and A where it comes from
// registers.
#include "../support/ptx_run.h"

namespace heddle::test {
namespace {

const char* const kSchedules[] = {"rr", "1", "2", "3"};
const std::string kCommit = "wgmma.commit_group.sync.aligned;\n";
const std::string kWait = "wgmma.wait_group.sync.aligned 0;\n";
const std::string kStore = "st.global.f32 [%rd1], %f1;\n";

std::string wgmma(const std::string& d, const std::string& a = "%rd5", const char* more = ", 0, 0") {
  return "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {" + d + "}, " + a + ", %rd6, 1, 1, 1" + more +
         ";\n";
}
const std::string kMma = wgmma("%f1, %f2, %f3, %f4");
const std::string kMmaOfRegisters = wgmma("%f1, %f2, %f3, %f4", "{%r10, %r11, %r12, %r13}", ", 0");

// Operands of zeros; %rd5 and %rd6 describe them.
sim::Report run(const std::string& body, const char* schedule, std::vector<std::uint32_t>* results = nullptr) {
  std::vector<std::uint32_t> own(128, 1);
  std::vector<std::uint32_t>& out = results == nullptr ? own : *results;
  const std::string text = ptx_module(
      "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;\n"
      "mov.u32 %r2, dyn; mad.lo.u32 %r3, %r1, 16, %r2; mov.u32 %r4, 0; st.shared.v4.u32 [%r3], "
      "{%r4,%r4,%r4,%r4};\n"
      "st.shared.v4.u32 [%r3+2048], {%r4,%r4,%r4,%r4}; fence.proxy.async.shared::cta; bar.sync 0;\n"
      "and.b32 %r5, %r2, 0x3ffff; shr.u32 %r5, %r5, 4; cvt.u64.u32 %rd4, %r5; or.b64 %rd5, %rd4, 0x1000080000;\n"
      "add.u64 %rd6, %rd5, 128; mov.f32 %f1, 0f00000000; mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.f32 %f4, %f1;\n"
      "mov.u32 %r10, 0; mov.u32 %r11, 0; mov.u32 %r12, 0; mov.u32 %r13, 0; wgmma.fence.sync.aligned;\n" +
          body + "ret;",
      ".extern .shared .align 128 .b8 dyn[];");
  return run_ptx(text, out, {0},
                 {.threads = 128, .shared_bytes = 4096, .schedule = sim::Schedule::parse(schedule)});
}

void expect_silent(const std::string& body) {
  for (const char* schedule : kSchedules) {
    const sim::Report report = run(body, schedule);
    EXPECT_TRUE(report.ok()) << body << report.text();
  }
}

void expect_in_flight(const std::string& body, const std::string& what) {
  for (const char* schedule : kSchedules) {
    const sim::Report report = run(body, schedule);
    ASSERT_TRUE(report.has("accumulator_in_flight")) << body << report.text();
    EXPECT_NE(report.text().find(what), std::string::npos) << report.text();
    EXPECT_NE(report.text().find("wgmma.mma_async"), std::string::npos) << report.text();
  }
}

TEST(PtxInFlight, AccumulatorsAreReadAfterTheWait) {
  expect_silent(kMma + kCommit + kWait + kStore);
  expect_in_flight(kMma + kCommit + kStore + kWait, "an instruction reads an accumulator");
  expect_in_flight(kMma + kCommit + "add.f32 %f9, %f1, %f1;\n" + kWait, "an instruction reads an accumulator");
  expect_in_flight(kMma + kCommit + "setp.gt.f32 %p1, %f2, 0f00000000;\n" + kWait, "an instruction reads");
  // A wait for an older group does not cover it.
  expect_in_flight(kMma + kCommit + "wgmma.wait_group.sync.aligned 1;\n" + kStore + kWait,
                   "an instruction reads");
}

TEST(PtxInFlight, AccumulatorsAreWrittenAfterTheWait) {
  expect_silent(kMma + kCommit + kWait + "mov.f32 %f1, 0f3f800000;\n" + kStore);
  expect_in_flight(kMma + kCommit + "mov.f32 %f1, 0f3f800000;\n" + kWait,
                   "an instruction overwrites an accumulator");
  expect_in_flight(kMma + kCommit + "mov.f32 %f1, %f9;\n" + kWait, "mov overwrites an accumulator");
  expect_in_flight(kMma + kCommit + "cvt.rn.f32.u32 %f3, %r1;\n" + kWait,
                   "an instruction overwrites an accumulator");
}

// As compilers write them: the wait, or the next wgmma, has registers of its own, copied before it.
TEST(PtxInFlight, CopiesFollow) {
  const std::string copies = "mov.f32 %f11, %f1; mov.f32 %f12, %f2; mov.f32 %f13, %f3; mov.f32 %f14, %f4;\n";
  const std::string back = "mov.f32 %f1, %f11; mov.f32 %f2, %f12; mov.f32 %f3, %f13; mov.f32 %f4, %f14;\n";
  const std::string store = "st.global.f32 [%rd1], %f11;\n";
  const std::string next = wgmma("%f11, %f12, %f13, %f14");
  expect_silent(kMma + kCommit + copies + kWait + store);
  expect_silent(kMma + copies + next + kCommit + kWait + store);
  expect_silent(kMma + copies + next + back + kMma + kCommit + kWait + kStore);
  // A copy that is overwritten is nobody's.
  expect_silent(kMma + kCommit + copies + "mov.f32 %f11, 0f3f800000;\n" + store + kWait);
  expect_in_flight(kMma + kCommit + copies + store + kWait, "an instruction reads an accumulator");
}

// Two numbers to a register: compilers take them apart before the wait, and put them together where they like.
TEST(PtxInFlight, HalvesFollow) {
  const std::string mma =
      "mov.u32 %r20, 0x3c004000; mov.u32 %r21, 0x42004400;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%r20, %r21}, %rd5, %rd6, 1, 1, 1, 0, 0;\n" +
      kCommit;
  const std::string apart = "mov.b32 {%h1, %h2}, %r20; mov.b32 {%h3, %h4}, %r21;\n";
  const std::string store = "st.global.u32 [%rd1], %r22;\n";
  const auto expect = [&](const std::string& body, std::uint32_t value) {
    for (const char* schedule : kSchedules) {
      std::vector<std::uint32_t> out(128, 1);
      const sim::Report report = run(body, schedule, &out);
      EXPECT_TRUE(report.ok()) << body << report.text();
      EXPECT_EQ(out, std::vector<std::uint32_t>(128, value)) << body;
    }
  };
  expect(mma + apart + kWait + "mov.b32 %r22, {%h1, %h4};\n" + store, 0x42004000);
  expect(mma + apart + "mov.b32 %r22, {%h2, %h1};\n" + kWait + store, 0x40003c00);
  // Whole again, they are accumulators like before.
  expect(mma + apart + "mov.b32 %r22, {%h1, %h2}; mov.b32 %r23, {%h3, %h4};\n" +
             "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%r22, %r23}, %rd5, %rd6, 1, 1, 1, 0, 0;\n" +
             kCommit + kWait + store,
         0x3c004000);
  // A half that is overwritten is nobody's; the other one still follows.
  expect(mma + apart + "mov.b32 %r22, {%h1, %h2}; mov.u16 %h1, 7;\n" + kWait + store, 0x3c004000);
  expect_in_flight(mma + apart + "cvt.u32.u16 %r22, %h3;\n" + kWait + store,
                   "an instruction reads an accumulator");
  expect_in_flight(mma + apart + "mov.b32 %r20, {%h2, %h1};\n" + kWait, "mov overwrites an accumulator");
  expect_silent(mma + apart + "mov.b32 %r20, {%h1, %h2};\n" + kWait);
}

TEST(PtxInFlight, AnotherShapeTakesNoneOfThem) {
  const std::string wide =
      "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8}, %rd5, %rd6, 1, 1, "
      "1, 0, 0;\n";
  expect_silent(kMma + kCommit + kWait + "wgmma.fence.sync.aligned;\n" + wide + kCommit + kWait);
  expect_in_flight(kMma + wide + kCommit + kWait, "wgmma.mma_async takes some of the accumulators");
}

TEST(PtxInFlight, FragmentsAreChangedAfterTheWait) {
  expect_silent(kMmaOfRegisters + kCommit + kWait + "mov.u32 %r11, 7;\n" + kStore);
  expect_silent(kMmaOfRegisters + kCommit + "mov.u32 %r11, 0;\n" + kWait + kStore);  // the same value
  expect_silent(kMmaOfRegisters + kCommit + "mov.u32 %r14, 7;\n" + kWait + kStore);
  expect_in_flight(kMmaOfRegisters + kCommit + "mov.u32 %r11, 7;\n" + kWait + kStore,
                   "a register of A is changed");
  expect_in_flight(kMmaOfRegisters + kCommit + "mov.u32 %r12, %r1;\n" + kWait + kStore,
                   "a register of A is changed");
}

const std::string kFence = "wgmma.fence.sync.aligned;\n";
const std::string kEnd = kCommit + kWait + kStore;

void expect_missing_fence(const std::string& body, const std::string& what) {
  for (const char* schedule : kSchedules) {
    const sim::Report report = run(body, schedule);
    ASSERT_TRUE(report.has("missing_wgmma_fence")) << body << report.text();
    EXPECT_NE(report.text().find(what), std::string::npos) << report.text();
  }
}

TEST(PtxInFlight, ChangedAccumulatorsAreFenced) {
  const std::string adds = "wgmma.mma_async adds to an accumulator that was written since the last wgmma.fence";
  const std::string change = "mul.f32 %f3, %f3, %f9;\n";
  const std::string first = kMma + kCommit + kWait;
  expect_silent(first + change + kFence + kMma + kEnd);
  expect_missing_fence(first + change + kMma + kEnd, adds);
  // Under another name: moves carry the change along.
  const std::string named = "mov.f32 %f11, %f1; mov.f32 %f12, %f2; mov.f32 %f13, %f3; mov.f32 %f14, %f4;\n";
  const std::string next = wgmma("%f11, %f12, %f13, %f14");
  expect_missing_fence(first + change + named + next + kEnd, adds);
  expect_silent(first + change + kFence + named + next + kEnd);
  expect_silent(first + named + change + next + kEnd);  // of a register that the second does not take
  // A fence before the change is none.
  expect_missing_fence(first + kFence + change + kMma + kEnd, adds);
  expect_missing_fence(first + "ld.global.f32 %f4, [%rd1];\n" + kMma + kEnd, adds);
}

TEST(PtxInFlight, WhatNobodyChangedNeedsNoFence) {
  expect_silent(kMma + kMma + kCommit + kWait + kMma + kEnd);
  // Read, and used for something else.
  expect_silent(kMma + kCommit + kWait + "mul.f32 %f9, %f1, %f2;\n" + kMma + kEnd);
  // Constants stand where compilers put them.
  expect_silent("mov.f32 %f1, 0f3f800000;\n" + kMma + kEnd);
  // Not added to.
  const std::string over =
      "setp.ne.u32 %p1, %r4, 0;\nwgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1, %f2, %f3, %f4}, %rd5, "
      "%rd6, %p1, 1, 1, 0, 0;\n";
  expect_silent("mul.f32 %f1, %f9, %f9;\n" + over + kEnd);
}

TEST(PtxInFlight, FragmentsAreFenced) {
  const std::string change = "add.u32 %r12, %r1, %r1;\n";
  expect_silent(change + kFence + kMmaOfRegisters + kEnd);
  expect_missing_fence(change + kMmaOfRegisters + kEnd, "wgmma.mma_async takes a register of A");
  expect_silent("mov.u32 %r12, 7;\n" + kMmaOfRegisters + kEnd);
  expect_silent("add.u32 %r14, %r1, %r1;\n" + kMmaOfRegisters + kEnd);
}

}  // namespace
}  // namespace heddle::test
