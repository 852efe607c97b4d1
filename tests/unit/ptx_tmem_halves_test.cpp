// SPDX-License-Identifier: Apache-2.0
//
// tcgen05.ld.pack::16b and tcgen05.st.unpack::16b: a register has the lower halves of two neighbouring columns.
// What a lane gets is that of the plain shape, with columns of 16 bits in the place of those of 32.
#include "../support/ptx_run.h"

#include <string>
#include <vector>

namespace heddle::test {
namespace {

constexpr unsigned kColumns = 32;

std::string list(unsigned first, unsigned count) {
  std::string text;
  for (unsigned r = 0; r < count; ++r) text += (r == 0 ? "%q" : ", %q") + std::to_string(first + r);
  return "{" + text + "}";
}

// One warp, which sets %r8 to 32 columns and runs the body; %rd3 is the lane's first of 32 words of `out`.
std::vector<std::uint32_t> run(const std::string& body) {
  const std::string text =
      ".reg .b32 %q<128>; mov.u32 %r0, %tid.x; ld.param.u64 %rd0, [out]; mov.u32 %r1, smem; mul.wide.u32 %rd2, "
      "%r0, 128;\n"
      "add.u64 %rd3, %rd0, %rd2; add.u32 %r6, %r1, 64;\n"
      "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r6], 32;\n"
      "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n"
      "bar.sync 0; ld.shared.b32 %r8, [%r6];\n" +
      body + "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r8, 32; ret;";
  std::vector<std::uint32_t> out(32 * 32);
  const sim::Report report = run_ptx(ptx_module(text, ".shared .align 128 .b8 smem[128];\n"), out, {0},
                                     {.threads = 32, .schedule = {}, .arch = Arch::kSm100});
  EXPECT_TRUE(report.ok()) << report.text();
  return out;
}

// Column c of lane l has 0xABCD0000 + 64 l + c.
std::string fill() {
  std::string text = "mul.lo.u32 %r10, %r0, 64; add.u32 %r10, %r10, 0xABCD0000;\n";
  for (unsigned c = 0; c < kColumns; ++c)
    text += "add.u32 %q" + std::to_string(20 + c) + ", %r10, " + std::to_string(c) + ";\n";
  return text + "tcgen05.st.sync.aligned.32x32b.x32.b32 [%r8], " + list(20, kColumns) +
         "; tcgen05.wait::st.sync.aligned;\n";
}

std::string give(unsigned first, unsigned count) {
  std::string text;
  for (unsigned r = 0; r < count; ++r)
    text += "st.global.b32 [%rd3+" + std::to_string(4 * r) + "], %q" + std::to_string(first + r) + ";\n";
  return text;
}

// The lane and the column of 32 bits that register r of a thread has in a plain load, as the manual's figures
// show it.
std::pair<unsigned, unsigned> place(const std::string& shape, unsigned t, unsigned r) {
  if (shape == "32x32b") return {t, r};
  if (shape == "16x256b") return {t / 4 + (r % 4 >= 2 ? 8 : 0), 8 * (r / 4) + 2 * (t % 4) + r % 2};
  return {t / 4 + (r % 2 != 0 ? 8 : 0), 4 * (r / 2) + t % 4};  // 16x128b
}

TEST(PtxTmemHalves, LoadsPackTheLowerHalvesOfTwoColumns) {
  for (const auto& [shape, repeat, count] :
       {std::tuple("32x32b", "x16", 16u), std::tuple("16x128b", "x4", 8u), std::tuple("16x256b", "x2", 8u)}) {
    const std::vector<std::uint32_t> out =
        run(fill() + "tcgen05.ld.sync.aligned." + shape + "." + repeat + ".pack::16b.b32 " + list(60, count) +
            ", [%r8]; tcgen05.wait::ld.sync.aligned;\n" + give(60, count));
    for (unsigned t = 0; t < 32; ++t) {
      for (unsigned r = 0; r < count; ++r) {
        const auto at = place(shape, t, r);
        const unsigned low = 64 * at.first + 2 * at.second;
        EXPECT_EQ(out[32 * t + r], low | (low + 1) << 16) << shape << " thread " << t << " register " << r;
      }
    }
  }
}

TEST(PtxTmemHalves, StoresPutTheHalvesOfARegisterIntoTwoColumns) {
  const std::vector<std::uint32_t> out =
      run(fill() + "tcgen05.st.sync.aligned.32x32b.x4.unpack::16b.b32 [%r8], " + list(20, 4) +
          "; tcgen05.wait::st.sync.aligned;\n" + "tcgen05.ld.sync.aligned.32x32b.x16.b32 " + list(60, 16) +
          ", [%r8]; tcgen05.wait::ld.sync.aligned;\n" + give(60, 16));
  for (unsigned t = 0; t < 32; ++t) {
    for (unsigned c = 0; c < 8; ++c) {
      EXPECT_EQ(out[32 * t + c] & 0xFFFF, c % 2 == 0 ? 64 * t + c / 2 : 0xABCD) << t << " " << c;
    }
    for (unsigned c = 8; c < 16; ++c) EXPECT_EQ(out[32 * t + c], 0xABCD0000 + 64 * t + c);  // as it was
  }
}

TEST(PtxTmemHalves, TakeTwiceAsManyColumns) {
  const std::string text =
      ".reg .b32 %q<128>; mov.u32 %r1, smem; add.u32 %r6, %r1, 64; ld.param.u64 %rd0, [out];\n"
      "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r6], 32;\n"
      "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n"
      "bar.sync 0; ld.shared.b32 %r8, [%r6];\n"
      "tcgen05.ld.sync.aligned.32x32b.x32.pack::16b.b32 " +
      list(60, 32) +
      ", [%r8]; tcgen05.wait::ld.sync.aligned;\n"
      "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r8, 32; ret;";
  std::vector<std::uint32_t> out(32);
  const sim::Report report = run_ptx(ptx_module(text, ".shared .align 128 .b8 smem[128];\n"), out, {0},
                                     {.threads = 32, .schedule = {}, .arch = Arch::kSm100});
  EXPECT_FALSE(report.ok());
  EXPECT_NE(report.text().find("columns 0 to 63"), std::string::npos) << report.text();
}

}  // namespace
}  // namespace heddle::test
