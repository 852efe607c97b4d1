// SPDX-License-Identifier: Apache-2.0
//
// Global memory that nobody has written, as cudaMalloc gives it: reading it is no mistake, using the value is.
#include "../support/ptx_run.h"

#include <string>
#include <vector>

namespace heddle::test {
namespace {

// `in` is memory that nobody has written but for its first `written` bytes. %rd1: the thread's word of `out`;
// %rd2: its word of `in`; %rd3: `in`; %r5: a tile of shared memory that holds 7 in each word.
sim::Report run(const std::string& body, std::uint64_t written = 0) {
  const std::string text = ptx_module(
      "ld.param.u64 %rd1, [out]; ld.param.u64 %rd3, [in]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd4, %r1, 4;\n"
      "add.u64 %rd1, %rd1, %rd4; add.u64 %rd2, %rd3, %rd4; mov.u32 %r5, dyn; shl.b32 %r6, %r1, 2;\n"
      "add.u32 %r6, %r5, %r6; st.shared.u32 [%r6], 7; fence.proxy.async.shared::cta; bar.sync 0;\n"
      "setp.ne.u32 %p1, %r1, 0;\n" +
          body + "ret;",
      ".extern .shared .align 128 .b8 dyn[];");
  const sim::PtxModule module = sim::PtxModule::load(text, "test.ptx");
  std::vector<std::uint32_t> out(1024, 0), in(1024, 0);
  const auto address = reinterpret_cast<std::uint64_t>(in.data());
  sim::GlobalMemory memory;
  memory.add("out", out.data(), 4 * out.size());
  memory.add_unwritten(address, "in", in.data(), 4 * in.size());
  if (written != 0) sim::GlobalMemory::note_written(*memory.find(address, written), address, written);
  sim::PtxArguments arguments;
  arguments.add(out.data());
  arguments.add(in.data());
  return module.launch("k", {.memory = &memory, .kernel = "k"},
                       {.grid = {},
                        .block = {32, 1, 1},
                        .cluster = {0, 0, 0},
                        .dynamic_shared_bytes = 1024,
                        .registers = 0,
                        .print = {}},
                       arguments);
}

void expect_silent(const std::string& body, std::uint64_t written = 0) {
  const sim::Report report = run(body, written);
  EXPECT_TRUE(report.ok()) << body << "\n" << report.text();
}

void expect_used(const std::string& body, const std::string& how, std::uint64_t written = 0) {
  const sim::Report report = run(body, written);
  ASSERT_TRUE(report.has("uninitialised_read")) << body << "\n" << report.text();
  EXPECT_NE(report.text().find(how), std::string::npos) << report.text();
}

const std::string kLoad = "ld.global.u32 %r4, [%rd2];\n";
const std::string kUse = "st.global.u32 [%rd1], %r4;\n";

TEST(PtxUnwrittenGlobal, UsingItIsAMistakeAndReadingItIsNot) {
  expect_silent(kLoad);
  expect_silent(kLoad + "and.b32 %r4, %r4, 0; " + kUse);
  expect_used(kLoad + kUse, "[uninitialised_read] a value is stored to global memory that was read from in + 0");
  expect_used(kLoad + "setp.eq.u32 %p2, %r4, 0; @%p2 bra OVER;\nOVER: ", "decides a branch");
  expect_used("ld.relaxed.gpu.global.u32 %r4, [%rd2];\n" + kUse, "in + 0");
  expect_used("ld.u32 %r4, [%rd2];\n" + kUse, "in + 0");
}

TEST(PtxUnwrittenGlobal, WhoeverWritesItMakesItMeanSomething) {
  expect_silent("st.global.u32 [%rd2], 3;\n" + kLoad + kUse);
  expect_silent("st.relaxed.gpu.global.u32 [%rd2], 3;\n" + kLoad + kUse);
  expect_used("st.global.u16 [%rd2], 3;\n" + kLoad + kUse, "in + 2");
  expect_silent(kLoad + kUse, 4096);
  expect_silent(kLoad + kUse, 128);
  expect_used(kLoad + kUse, "in + 124", 124);
  const std::string store =
      "@!%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd3], [%r5], 128; @!%p1 cp.async.bulk.commit_group;\n"
      "@!%p1 cp.async.bulk.wait_group 0;\nbar.sync 0;\n";
  expect_silent(store + kLoad + kUse);
  expect_used(store + "ld.global.u32 %r4, [%rd2+128];\n" + kUse, "in + 128");
}

// Moving it on is not using it, however many copies have brought the pieces of 16 bytes.
TEST(PtxUnwrittenGlobal, CopiesMayBringItAndTakeItAway) {
  const std::string bring =
      "@!%p1 cp.async.ca.shared.global [%r5], [%rd3], 8;\n"
      "@!%p1 cp.async.ca.shared.global [%r5+8], [%rd3+8], 8;\ncp.async.wait_all;\nbar.sync 0;\n";
  expect_silent(bring +
                "fence.proxy.async.shared::cta; bar.sync 0;\n"
                "@!%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r5], 16;\n"
                "@!%p1 cp.async.bulk.commit_group;\n@!%p1 cp.async.bulk.wait_group 0;\n");
  const std::string word = "ld.shared.u32 %r4, [%r5+4];\n";
  expect_used(bring + word + kUse, "lane 0: cp.async of 8 bytes");
  expect_silent(bring + "@!%p1 st.shared.u32 [%r5+4], 3; bar.sync 0;\n" + word + kUse);
}

// Numbers of 4 bits, and single ones, are put into words that hold more of them.
TEST(PtxUnwrittenGlobal, AWordMayBeWrittenPieceByPiece) {
  const std::string low =
      kLoad + "and.b32 %r4, %r4, 0xfffffff0; or.b32 %r4, %r4, 5; st.global.u32 [%rd2], %r4;\n";
  const std::string rest = kLoad + "and.b32 %r4, %r4, 15; or.b32 %r4, %r4, 0x70; st.global.u32 [%rd2], %r4;\n";
  expect_silent(low + kLoad + "and.b32 %r4, %r4, 15; " + kUse);
  expect_used(low + kLoad + "and.b32 %r4, %r4, 31; " + kUse, "in + 0");
  expect_silent(low + rest + kLoad + kUse);
  expect_used(low + kLoad + "st.global.u32 [%rd2+2048], %r4;\n", "in + 0");
  expect_silent(low + "ld.global.u8 %r7, [%rd2]; and.b32 %r4, %r7, 15; " + kUse);
  expect_used(low + "ld.global.u8 %r4, [%rd2]; " + kUse, "in + 0");
  expect_silent("red.global.or.b32 [%rd2], 6;\n" + kLoad + "and.b32 %r4, %r4, 6; " + kUse);
  expect_used("red.global.or.b32 [%rd2], 6;\n" + kLoad + "and.b32 %r4, %r4, 7; " + kUse, "in + 0");
  expect_silent("red.global.and.b32 [%rd2], 6;\n" + kLoad + "and.b32 %r4, %r4, 9; " + kUse);
}

// As CUTLASS and others put them where neighbours come from other threads: all lanes share a word.
TEST(PtxUnwrittenGlobal, AWordMayBeSwappedPieceByPiece) {
  const std::string put =
      "and.b32 %r7, %r1, 7; shl.b32 %r7, %r7, 2; mov.u32 %r8, 15; shl.b32 %r8, %r8, %r7; not.b32 %r8, %r8;\n"
      "mov.u32 %r9, 5; shl.b32 %r9, %r9, %r7; setp.gt.u32 %p2, %r1, LAST; @%p2 bra DONE;\n"
      "ld.relaxed.gpu.global.u32 %r4, [%rd3];\n"
      "AGAIN: mov.u32 %r10, %r4; and.b32 %r11, %r10, %r8; or.b32 %r11, %r11, %r9;\n"
      "atom.global.cas.b32 %r4, [%rd3], %r10, %r11; setp.ne.s32 %p2, %r4, %r10; @%p2 bra AGAIN;\n"
      "DONE: bar.sync 0; ld.global.u32 %r4, [%rd3];\n";
  const auto with_last = [&](const std::string& lane) {
    std::string text = put;
    return text.replace(text.find("LAST"), 4, lane);
  };
  expect_silent(with_last("7") + kUse);
  // What is put there is what was there by chance.
  std::string zeros = with_last("7");
  expect_silent(zeros.replace(zeros.find("mov.u32 %r9, 5"), 14, "mov.u32 %r9, 0") + kUse);
  expect_silent(with_last("6") + "and.b32 %r4, %r4, 0xfffffff; " + kUse);
  expect_used(with_last("6") + kUse, "in + ");
  // What a comparison says of the bits that nobody wrote is nobody's to use.
  expect_used(
      "ld.global.u32 %r4, [%rd2]; ld.global.u32 %r10, [%rd2]; setp.ne.s32 %p2, %r4, %r10; @%p2 bra O;\nO: ",
      "decides a branch");
  expect_used(
      "atom.global.cas.b32 %r4, [%rd2+4], %r1, 1; ld.global.u32 %r10, [%rd2+64];\n"
      "setp.ne.s32 %p2, %r4, %r10; @%p2 bra O;\nO: ",
      "decides a branch");
  expect_used("ld.global.u32 %r4, [%rd2+128]; atom.global.cas.b32 %r10, [%rd2], %r1, %r4;\n",
              "goes to global memory");
}

TEST(PtxUnwrittenGlobal, WhatIsBuiltOnItIsNoBetter) {
  expect_used("atom.global.add.u32 %r4, [%rd2], 1;\n" + kUse, "in + 0");
  expect_used("red.global.add.u32 [%rd2], 1; bar.sync 0;\n" + kLoad + kUse, "in + 0");
  expect_silent("red.global.add.u32 [%rd2], 1;\n");
  expect_silent("atom.global.exch.b32 %r7, [%rd2], 1;\n" + kLoad + kUse);
  const std::string reduce =
      "@!%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd3], [%r5], 128;\n"
      "@!%p1 cp.async.bulk.commit_group;\n@!%p1 cp.async.bulk.wait_group 0;\nbar.sync 0;\n";
  expect_used(reduce + kLoad + kUse, "in + 0");
  expect_silent(reduce + kLoad + kUse, 4096);
}

}  // namespace
}  // namespace heddle::test
