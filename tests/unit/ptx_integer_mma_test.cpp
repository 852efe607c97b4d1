// SPDX-License-Identifier: Apache-2.0
//
// wgmma and tcgen05.mma of 8-bit integers, against products of whole matrices.
#include "../support/ptx_run.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>

namespace heddle::test {
namespace {

constexpr std::uint32_t kK = 32;

struct Operands {
  std::uint32_t m, n;
  std::vector<std::uint8_t> a, b;  // rows of 32

  Operands(std::uint32_t rows, std::uint32_t columns, std::uint32_t seed) : m(rows), n(columns) {
    std::mt19937 random(seed);
    a.resize(m * kK);
    b.resize(n * kK);
    for (std::uint8_t& x : a) x = static_cast<std::uint8_t>(random());
    for (std::uint8_t& x : b) x = static_cast<std::uint8_t>(random());
  }

  // As the descriptors below say: pieces of 8 rows x 16 bytes, two of them side by side, A and then B.
  std::vector<std::uint32_t> image() const {
    std::vector<std::uint8_t> bytes;
    for (const auto& [matrix, rows] : {std::pair{&a, m}, std::pair{&b, n}}) {
      for (std::uint32_t block = 0; block < rows / 8; ++block) {
        for (std::uint32_t half = 0; half < 2; ++half) {
          for (std::uint32_t row = 0; row < 8; ++row) {
            const auto first = matrix->begin() + (block * 8 + row) * kK + half * 16;
            bytes.insert(bytes.end(), first, first + 16);
          }
        }
      }
    }
    std::vector<std::uint32_t> words(bytes.size() / 4);
    std::memcpy(words.data(), bytes.data(), bytes.size());
    return words;
  }

  std::uint32_t product(std::uint32_t row, std::uint32_t column, bool signed_a, bool signed_b, std::int64_t c,
                        bool saturates) const {
    const auto value = [](std::uint8_t byte, bool is_signed) {
      return is_signed ? std::int64_t{static_cast<std::int8_t>(byte)} : std::int64_t{byte};
    };
    std::int64_t sum = c;
    for (std::uint32_t k = 0; k < kK; ++k) {
      sum += value(a[row * kK + k], signed_a) * value(b[column * kK + k], signed_b);
    }
    if (saturates) sum = std::min<std::int64_t>(sum, std::numeric_limits<std::int32_t>::max());
    return static_cast<std::uint32_t>(sum);
  }
};

// Copies `words` of `in` to shared memory, and leaves descriptors of A and B in %rd10 and %rd11, without the bits
// of an architecture. %r0: the thread, %rd0: out.
std::string fill(std::uint32_t words, std::uint32_t a_bytes) {
  return "mov.u32 %r0, %tid.x; ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [in]; mov.u32 %r1, smem;\n"
         "mov.u32 %r2, %r0;\n"
         "FILL: mul.wide.u32 %rd2, %r2, 4; add.u64 %rd3, %rd1, %rd2; ld.global.b32 %r3, [%rd3];\n"
         "mad.lo.u32 %r4, %r2, 4, %r1; st.shared.b32 [%r4], %r3; add.u32 %r2, %r2, 128;\n"
         "setp.lt.u32 %p0, %r2, " +
         std::to_string(words) +
         "; @%p0 bra FILL;\n"
         "fence.proxy.async.shared::cta; bar.sync 0;\n"
         // 128 bytes from one half of K to the other, 256 from 8 rows to the next
         "shr.u32 %r5, %r1, 4; and.b32 %r5, %r5, 0x3fff; cvt.u64.u32 %rd10, %r5; or.b64 %rd10, %rd10, "
         "0x1000080000;\n"
         "add.u64 %rd11, %rd10, " +
         std::to_string(a_bytes / 16) + ";\n";
}

const char* const kShared = ".shared .align 1024 .b8 smem[8192];\n";

void check_wgmma(const char* types, bool signed_a, bool signed_b, bool saturates) {
  const Operands operands(64, 8, 5);
  const std::string d = "{%r10, %r11, %r12, %r13}";
  const std::int64_t c = saturates ? 0x7fffff00 : 1000;
  std::string body = fill((64 + 8) * kK / 4, 64 * kK);
  for (int r = 10; r < 14; ++r) body += "mov.u32 %r" + std::to_string(r) + ", " + std::to_string(c) + ";\n";
  body +=
      "wgmma.fence.sync.aligned; setp.eq.u32 %p1, %r1, %r1;\n"
      "wgmma.mma_async.sync.aligned.m64n8k32." +
      std::string(types) + " " + d +
      ", %rd10, %rd11, %p1;\n"
      "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n"
      "mul.wide.u32 %rd2, %r0, 16; add.u64 %rd3, %rd0, %rd2; st.global.v4.b32 [%rd3], " +
      d + "; ret;";
  std::vector<std::uint32_t> out(128 * 4);
  const sim::Report report = run_ptx(ptx_module(body, kShared), out, operands.image(), {.threads = 128});
  ASSERT_TRUE(report.ok()) << report.text();
  for (std::uint32_t t = 0; t < 128; ++t) {
    for (std::uint32_t e = 0; e < 4; ++e) {
      const std::uint32_t row = 16 * (t / 32) + t % 32 / 4 + 8 * (e / 2);
      const std::uint32_t column = 2 * (t % 4) + e % 2;
      EXPECT_EQ(out[4 * t + e], operands.product(row, column, signed_a, signed_b, c, saturates)) << types;
    }
  }
}

TEST(PtxIntegerMma, WgmmaMultipliesBytesExactly) {
  check_wgmma("s32.s8.s8", true, true, false);
  check_wgmma("s32.u8.s8", false, true, false);
  check_wgmma("satfinite.s32.u8.u8", false, false, true);
}

TEST(PtxIntegerMma, WgmmaOfBytesHasItsOwnWidths) {
  std::string registers = "{";
  for (int r = 0; r < 20; ++r) registers += (r == 0 ? "%r" : ", %r") + std::to_string(10 + r);
  std::vector<std::uint32_t> out(1);
  const sim::Report report = run_ptx(ptx_module(fill(16, 64 * kK) +
                                                    "wgmma.fence.sync.aligned; setp.eq.u32 %p1, %r1, %r1;\n"
                                                    "wgmma.mma_async.sync.aligned.m64n40k32.s32.s8.s8 " +
                                                    registers + "}, %rd10, %rd11, %p1; ret;",
                                                kShared),
                                     out, std::vector<std::uint32_t>(128), {.threads = 128});
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.text().find("N = 40; N of integers is 8, 16, 24, 32"), std::string::npos) << report.text();
}

TEST(PtxIntegerMma, WgmmaOfBytesTakesAFromRegisters) {
  const Operands operands(64, 8, 7);
  std::string body = fill((64 + 8) * kK / 4, 64 * kK);
  // Row 16 * warp + lane / 4, bytes 4 * (lane % 4) of the first 16 of K; then 8 rows on, and the other 16.
  body +=
      "shr.u32 %r20, %r0, 5; mul.lo.u32 %r20, %r20, 512; and.b32 %r21, %r0, 31; mad.lo.u32 %r20, %r21, 4, %r20;\n"
      "add.u32 %r20, %r20, %r1; ld.shared.b32 %r30, [%r20]; ld.shared.b32 %r31, [%r20+256];\n"
      "ld.shared.b32 %r32, [%r20+128]; ld.shared.b32 %r33, [%r20+384];\n";
  for (int r = 10; r < 14; ++r) body += "mov.u32 %r" + std::to_string(r) + ", 0;\n";
  body +=
      "wgmma.fence.sync.aligned; setp.ne.u32 %p1, %r1, %r1;\n"
      "wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.u8 {%r10, %r11, %r12, %r13}, {%r30, %r31, %r32, %r33}, "
      "%rd11, "
      "%p1;\n"
      "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n"
      "mul.wide.u32 %rd2, %r0, 16; add.u64 %rd3, %rd0, %rd2; st.global.v4.b32 [%rd3], {%r10, %r11, %r12, %r13}; "
      "ret;";
  std::vector<std::uint32_t> out(128 * 4);
  const sim::Report report = run_ptx(ptx_module(body, kShared), out, operands.image(), {.threads = 128});
  ASSERT_TRUE(report.ok()) << report.text();
  for (std::uint32_t t = 0; t < 128; ++t) {
    for (std::uint32_t e = 0; e < 4; ++e) {
      const std::uint32_t row = 16 * (t / 32) + t % 32 / 4 + 8 * (e / 2);
      EXPECT_EQ(out[4 * t + e], operands.product(row, 2 * (t % 4) + e % 2, true, false, 0, false));
    }
  }
}

void check_tcgen05(bool signed_a, bool signed_b, const std::string& collector) {
  const Operands operands(128, 16, 6);
  // D s32, A and B, N / 8 and M / 16
  const std::uint32_t descriptor =
      2u << 4 | (signed_a ? 1u : 0u) << 7 | (signed_b ? 1u : 0u) << 10 | 2u << 17 | 8u << 24;
  std::string registers = "{";
  for (int r = 0; r < 16; ++r) registers += (r == 0 ? "%r" : ", %r") + std::to_string(20 + r);
  registers += "}";
  std::string body =
      fill((128 + 16) * kK / 4, 128 * kK) +
      "or.b64 %rd10, %rd10, 0x400000000000; or.b64 %rd11, %rd11, 0x400000000000;\n"
      "setp.lt.u32 %p2, %r0, 32; setp.eq.u32 %p3, %r0, 0; add.u32 %r6, %r1, 8000; add.u32 %r7, %r1, 8016;\n"
      "@%p2 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r6], 32;\n"
      "@%p2 tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n"
      "@%p3 mbarrier.init.shared::cta.b64 [%r7], 1;\n@%p3 fence.mbarrier_init.release.cluster;\n"
      "tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;\n"
      "ld.shared.b32 %r8, [%r6]; setp.ne.u32 %p4, %r1, %r1;\n"
      "@%p3 tcgen05.mma.cta_group::1.kind::i8" +
      collector + " [%r8], %rd10, %rd11, " + std::to_string(descriptor) +
      ", %p4;\n"
      "@%p3 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r7];\n"
      "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r7], 0;\n@!%p1 bra WAIT;\n"
      "tcgen05.fence::after_thread_sync; and.b32 %r9, %r0, 96; shl.b32 %r9, %r9, 16; add.u32 %r9, %r9, %r8;\n"
      "tcgen05.ld.sync.aligned.32x32b.x16.b32 " +
      registers +
      ", [%r9]; tcgen05.wait::ld.sync.aligned;\n"
      "mul.wide.u32 %rd2, %r0, 64; add.u64 %rd3, %rd0, %rd2;\n";
  for (int r = 0; r < 16; ++r) {
    body += "st.global.b32 [%rd3+" + std::to_string(4 * r) + "], %r" + std::to_string(20 + r) + ";\n";
  }
  body +=
      "tcgen05.fence::before_thread_sync; bar.sync 0;\n"
      "@%p2 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r8, 32; ret;";
  std::vector<std::uint32_t> out(128 * 16);
  const sim::Report report =
      run_ptx(ptx_module(body, kShared), out, operands.image(), {.threads = 128, .arch = Arch::kSm100});
  ASSERT_TRUE(report.ok()) << report.text();
  for (std::uint32_t row = 0; row < 128; ++row) {
    for (std::uint32_t column = 0; column < 16; ++column) {
      EXPECT_EQ(out[16 * row + column], operands.product(row, column, signed_a, signed_b, 0, false));
    }
  }
}

TEST(PtxIntegerMma, Tcgen05MultipliesBytesExactly) {
  check_tcgen05(true, true, "");
  check_tcgen05(false, true, ".collector::a::lastuse");
}

}  // namespace
}  // namespace heddle::test
