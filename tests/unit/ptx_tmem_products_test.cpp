// SPDX-License-Identifier: Apache-2.0
//
// What tcgen05.mma makes of operands and scales that nobody has written: the cells of the rows of A and of the
// columns of B that these bytes and cells belong to mean nothing, and no others. Every fault has a twin that
// keeps the cells beside.
#include "../support/ptx_run.h"

#include <heddle/isa/instruction_descriptor.h>

namespace heddle::test {
namespace {

constexpr std::uint32_t integers(std::uint32_t m, std::uint32_t n) {
  return instruction_descriptor(InstructionDescriptor{.kind = MmaKind::kI8,
                                                      .m = m,
                                                      .n = n,
                                                      .d_type = AccumulatorType::kS32,
                                                      .a_type = OperandType::kS8,
                                                      .b_type = OperandType::kS8});
}
constexpr std::uint32_t kM128N16 = integers(128, 16);
constexpr std::uint32_t kM64N16 = integers(64, 16);
constexpr std::uint32_t kM256N32 = integers(256, 32);
constexpr std::uint32_t kM128N32 = integers(128, 32);
constexpr std::uint32_t kScaledM128N64 = instruction_descriptor(BlockScaledInstructionDescriptor{
    .kind = MmaKind::kMxf8f6f4, .m = 128, .n = 64, .scale_type = ScaleType::kUe8m0});

std::string number(std::uint32_t value) { return std::to_string(value); }

// Threads with this true do what depends on it.
std::string where(const std::string& predicate, const std::string& condition, const std::string& value,
                  std::uint32_t than) {
  return "setp." + condition + ".u32 " + predicate + ", " + value + ", " + number(than) + ";\n";
}
std::string all(const std::string& predicate) { return where(predicate, "ge", "%r0", 0); }

// Thread t clears row t of A, 2 x 16 bytes, where %p5 says so; of B behind it, of `b_rows` rows, where %p6 does.
std::string clear(const std::string& a, const std::string& b, std::uint32_t b_rows) {
  return a + b + where("%p7", "lt", "%r0", b_rows) +
         "and.pred %p6, %p6, %p7; mov.u32 %r4, 0;\n"
         "shr.u32 %r2, %r0, 3; mul.lo.u32 %r2, %r2, 256; and.b32 %r3, %r0, 7; mad.lo.u32 %r2, %r3, 16, %r2;\n"
         "add.u32 %r2, %r2, %r1;\n"
         "@%p5 st.shared.v4.u32 [%r2], {%r4,%r4,%r4,%r4};\n@%p5 st.shared.v4.u32 [%r2+128], {%r4,%r4,%r4,%r4};\n"
         "@%p6 st.shared.v4.u32 [%r2+4096], {%r4,%r4,%r4,%r4};\n"
         "@%p6 st.shared.v4.u32 [%r2+4224], {%r4,%r4,%r4,%r4};\n";
}

// Thread 0 of the even CTA multiplies, into columns from %r8 on.
std::string mma(std::uint32_t group, const std::string& rest) {
  return "@%p3 tcgen05.mma.cta_group::" + number(group) + rest + ";\n";
}
std::string plain(std::uint32_t group, std::uint32_t descriptor, bool accumulates = false,
                  const std::string& a = "%rd10") {
  return std::string("setp.") + (accumulates ? "eq" : "ne") + ".u32 %p4, %r1, %r1;\n" +
         mma(group, ".kind::i8 [%r8], " + a + ", %rd11, " + number(descriptor) + ", %p4");
}

// Threads that have a warp's own lane of `column` store it where %p8 says so.
std::string keep(std::uint32_t column, const std::string& which) {
  return which + "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r20}, [%r9+" + number(column) +
         "];\ntcgen05.wait::ld.sync.aligned;\n@%p8 st.global.b32 [%rd3], %r20;\n";
}

// 128 threads in each CTA, with 128 columns of tensor memory at %r8, the warp's own lanes at %r9. %r10: the rank.
sim::Report run(std::uint32_t group, const std::string& before, const std::string& multiply,
                const std::string& after, const char* schedule) {
  const std::string g = "cta_group::" + number(group);
  const std::string meet =
      "tcgen05.fence::before_thread_sync;\nbarrier.cluster.arrive.release.aligned;\n"
      "barrier.cluster.wait.acquire.aligned;\ntcgen05.fence::after_thread_sync;\n";
  const std::string text =
      "mov.u32 %r0, %tid.x; mov.u32 %r10, %cluster_ctarank; ld.param.u64 %rd0, [out]; mov.u32 %r1, smem;\n"
      "mad.lo.u32 %r11, %r10, 128, %r0; mul.wide.u32 %rd2, %r11, 4; add.u64 %rd3, %rd0, %rd2;\n"
      "shr.u32 %r5, %r1, 4; and.b32 %r5, %r5, 0x3fff; cvt.u64.u32 %rd10, %r5;\n"
      "or.b64 %rd10, %rd10, 0x401000080000; add.u64 %rd11, %rd10, 256;\n"
      "setp.lt.u32 %p2, %r0, 32; setp.eq.u32 %p3, %r11, 0; add.u32 %r6, %r1, 8000; add.u32 %r7, %r1, 8016;\n" +
      before +
      "fence.proxy.async.shared::cta;\nsetp.eq.u32 %p4, %r0, 0;\n"
      "@%p4 mbarrier.init.shared::cta.b64 [%r7], 1;\n@%p4 fence.mbarrier_init.release.cluster;\n" +
      meet + "@%p2 tcgen05.alloc." + g + ".sync.aligned.shared::cta.b32 [%r6], 128;\n@%p2 tcgen05." +
      "relinquish_alloc_permit." + g + ".sync.aligned;\n" + meet +
      "ld.shared.b32 %r8, [%r6]; and.b32 %r9, %r0, 96; shl.b32 %r9, %r9, 16; add.u32 %r9, %r9, %r8;\n" +
      multiply + "@%p3 tcgen05.commit." + g + ".mbarrier::arrive::one.shared::cluster" +
      (group == 1 ? ".b64 [%r7];\n" : ".multicast::cluster.b64 [%r7], 3;\n") +
      "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r7], 0;\n@!%p1 bra WAIT;\n"
      "tcgen05.fence::after_thread_sync;\n" +
      after + meet + "@%p2 tcgen05.dealloc." + g + ".sync.aligned.b32 %r8, 128; ret;";
  std::vector<std::uint32_t> out(256);
  return run_ptx(ptx_module(text, ".shared .align 1024 .b8 smem[8192];\n"), out, {0},
                 {.threads = 128,
                  .grid = {group, 1, 1},
                  .cluster = {group, 1, 1},
                  .schedule = sim::Schedule::parse(schedule),
                  .arch = Arch::kSm100});
}

struct Program {
  std::uint32_t group;
  std::string before;
  std::string multiply;

  void silent(const std::string& after) const {
    for (const char* schedule : {"rr", "1", "2", "3"}) {
      const sim::Report report = run(group, before, multiply, after, schedule);
      EXPECT_TRUE(report.ok()) << before << multiply << after << report.text();
    }
  }
  void reported(const std::string& after, const std::vector<std::string>& words) const {
    for (const char* schedule : {"rr", "1", "2", "3"}) {
      const sim::Report report = run(group, before, multiply, after, schedule);
      EXPECT_TRUE(report.has("uninitialised_read")) << before << multiply << after << report.text();
      for (const std::string& part : words) {
        EXPECT_NE(report.text().find(part), std::string::npos) << part << report.text();
      }
    }
  }
};

std::string but(const std::string& predicate, std::uint32_t row) { return where(predicate, "ne", "%r0", row); }
std::string only(const std::string& predicate, std::uint32_t row) { return where(predicate, "eq", "%r0", row); }

TEST(PtxTmemProducts, WhollyWrittenOperandsAreSilent) {
  const Program whole{1, clear(all("%p5"), all("%p6"), 16), plain(1, kM128N16)};
  whole.silent(keep(0, all("%p8")) + keep(15, all("%p8")));
}

TEST(PtxTmemProducts, RowsOfAThatAreNotWritten) {
  const Program rows{1, clear(but("%p5", 101), all("%p6"), 16), plain(1, kM128N16)};
  rows.silent(keep(3, but("%p8", 101)));
  rows.reported(keep(3, only("%p8", 101)), {"reads bytes 3152 to 3167", "warp 3, lane 5"});
}

TEST(PtxTmemProducts, ColumnsOfBThatAreNotWritten) {
  const Program columns{1, clear(all("%p5"), but("%p6", 5), 16), plain(1, kM128N16)};
  columns.silent(keep(4, all("%p8")) + keep(6, all("%p8")));
  columns.reported(keep(5, only("%p8", 70)), {"reads bytes 4176 to 4191", "warp 2, lane 6"});
}

// With M 64 a row of D lies in a lane of its own order.
TEST(PtxTmemProducts, RowsThatAreSpreadOverTheLanes) {
  const Program spread{1, clear(but("%p5", 20), all("%p6"), 16), plain(1, kM64N16)};
  const std::string lanes_with_rows = "and.b32 %r12, %r0, 16; setp.eq.u32 %p8, %r12, 0;\n";
  spread.silent(keep(3, lanes_with_rows + "setp.ne.and.u32 %p8, %r0, 36, %p8;\n"));
  spread.reported(keep(3, only("%p8", 36)), {"warp 1, lane 4"});
}

// What the accumulator held stays, and each cell is told with what went into it.
TEST(PtxTmemProducts, AccumulatorsKeepWhatTheyHold) {
  const Program twice{1, clear(but("%p5", 101), but("%p6", 5), 16),
                      plain(1, kM128N16) + plain(1, kM128N16, true)};
  twice.silent(keep(4, but("%p8", 101)));
  twice.reported(keep(4, only("%p8", 101)), {"reads bytes 3152 to 3167"});
  twice.reported(keep(5, only("%p8", 100)), {"reads bytes 4176 to 4191"});
  // Of whole operands on top of that; and these in place of it.
  const std::string whole_a = "add.u64 %rd12, %rd10, 16;\n";  // rows from 8 on: of A 120, of B 8
  const Program later{1, clear(but("%p5", 3), all("%p6"), 16),
                      plain(1, kM128N16) + whole_a + plain(1, kM128N16, true, "%rd12")};
  later.silent(keep(4, but("%p8", 3)));
  later.reported(keep(4, only("%p8", 3)), {"reads bytes 48 to 63"});
  const Program afresh{1, clear(but("%p5", 3), all("%p6"), 16),
                       plain(1, kM128N16) + whole_a + plain(1, kM128N16, false, "%rd12")};
  afresh.silent(keep(4, all("%p8")));
}

TEST(PtxTmemProducts, RowsOfAInTensorMemory) {
  const std::string store =
      "mov.u32 %r4, 0; setp.lt.u32 %p9, %r0, 96;\n"
      "@%p9 tcgen05.st.sync.aligned.32x32b.x8.b32 [%r9+16], {%r4,%r4,%r4,%r4,%r4,%r4,%r4,%r4};\n"
      "tcgen05.wait::st.sync.aligned;\ntcgen05.fence::before_thread_sync;\nbar.sync 0;\n"
      "tcgen05.fence::after_thread_sync;\nadd.u32 %r13, %r8, 16;\n";
  const Program tmem{1, clear(all("%p5"), all("%p6"), 16), store + plain(1, kM128N16, false, "[%r13]")};
  tmem.silent(keep(3, where("%p8", "lt", "%r0", 96)));
  tmem.reported(keep(3, only("%p8", 97)), {"reads A from lane 97, column 16", "warp 3, lane 1"});
}

// Each CTA has half of the rows of A, and half of the columns of B for both.
TEST(PtxTmemProducts, RowsAndColumnsOfAPair) {
  const auto in_odd = [](const std::string& predicate, std::uint32_t row) {
    return "setp.eq.u32 %p9, %r11, " + number(128 + row) + "; not.pred " + predicate + ", %p9;\n";
  };
  const auto lane = [](std::uint32_t rank, std::uint32_t row) {
    return "setp.eq.u32 %p8, %r11, " + number(128 * rank + row) + ";\n";
  };
  const Program rows{2, clear(in_odd("%p5", 7), all("%p6"), 16), plain(2, kM256N32)};
  rows.silent(keep(3, in_odd("%p8", 7)) + keep(30, in_odd("%p8", 7)));
  rows.reported(keep(3, lane(1, 7)), {"lane 7"});
  const Program columns{2, clear(all("%p5"), in_odd("%p6", 5), 16), plain(2, kM256N32)};
  columns.silent(keep(5, all("%p8")) + keep(20, all("%p8")) + keep(22, all("%p8")));
  columns.reported(keep(21, lane(0, 70)), {"reads bytes 4176 to 4191"});
  columns.reported(keep(21, lane(1, 70)), {"reads bytes 4176 to 4191"});
  // With M 128 lanes from 64 on have the upper columns.
  const Program halves{2, clear(in_odd("%p5", 7), in_odd("%p6", 5), 16), plain(2, kM128N32)};
  const std::string others =
      in_odd("%p8", 7) + "setp.ne.and.u32 %p8, %r11, 199, %p8;\n" + "setp.lt.and.u32 %p8, %r0, 64, %p8;\n";
  halves.silent(keep(5, others) + keep(6, in_odd("%p8", 7) + "setp.ne.and.u32 %p8, %r11, 199, %p8;\n"));
  halves.reported(keep(5, lane(0, 70)), {"reads bytes 4176 to 4191"});
  halves.reported(keep(6, lane(1, 7)), {"lane 7"});
  halves.reported(keep(6, lane(1, 71)), {"lane 7"});
}

// A scale belongs to a row of A, or to a column of B; copies bring what was not written cell by cell.
TEST(PtxTmemProducts, ScalesThatWereNotCopied) {
  // 32 rows of 16 bytes at 6144: of A's scales, of all but one row its four words, of that one word fewer.
  const std::string scales =
      "mad.lo.u32 %r12, %r0, 16, %r1; mov.u32 %r4, 0x7f7f7f7f; mov.u32 %r13, 0; setp.lt.u32 %p7, %r0, 32;\n"
      "setp.ne.and.u32 %p9, %r0, 5, %p7;\n"
      "@%p7 st.shared.u32 [%r12+6144], %r4;\n@%p9 st.shared.u32 [%r12+6148], %r4;\n"
      "@%p7 st.shared.u32 [%r12+6152], %r4;\n@%p7 st.shared.u32 [%r12+6156], %r4;\n";
  const std::string copy =
      "add.u64 %rd12, %rd10, 384;\n"
      "mov.u64 %rd13, 0x400800080000; mov.u64 %rd14, 0x3fff; and.b64 %rd12, %rd12, %rd14;\n"
      "or.b64 %rd12, %rd12, %rd13; add.u32 %r14, %r8, 64; add.u32 %r15, %r8, 68; setp.ne.u32 %p4, %r1, %r1;\n"
      "@%p3 tcgen05.cp.cta_group::1.32x128b.warpx4 [%r14], %rd12;\n";
  const std::string multiply = mma(1, ".kind::mxf8f6f4.block_scale.scale_vec::1X [%r8], %rd10, %rd11, " +
                                          number(kScaledM128N64) + ", [%r14], [%r15], %p4");
  const std::string copy_b = "@%p3 tcgen05.cp.cta_group::1.32x128b.warpx4 [%r15], %rd12;\n";
  const std::string filled = clear(all("%p5"), all("%p6"), 64) + scales;
  // Word 1 has rows 32 to 63: row 37 of A, and column 37 of B.
  const Program of_both{1, filled, copy + copy_b + multiply};
  of_both.silent(keep(36, but("%p8", 37)) + keep(38, but("%p8", 37)));
  of_both.reported(keep(36, only("%p8", 37)), {"reads bytes 6228 to 6231", "warp 1, lane 5"});
  of_both.reported(keep(37, only("%p8", 36)), {"reads bytes 6228 to 6231", "warp 1, lane 4"});
  const Program of_none{1, filled, copy + multiply};
  of_none.reported(keep(36, only("%p8", 2)), {"scales of B from lane 4, column 69"});
}

}  // namespace
}  // namespace heddle::test
