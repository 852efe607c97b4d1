// SPDX-License-Identifier: Apache-2.0
//
// mma.sp against a dense product. Where elements and metadata lie is written down here as tables of the manual's
// figures, for the shapes that have one, not as the simulated SM finds it.
#include "../support/ptx_run.h"

#include <heddle/tile/element.h>

#include <bit>
#include <functional>

namespace heddle::test {
namespace {

struct Case {
  std::string instruction;
  std::uint32_t k, bits, chunk;  // elements of K for which four bits of metadata speak
  std::function<std::uint64_t(int)> encode, encode_sum;
};

std::uint64_t half(int value) { return fp16::from_float(static_cast<float>(value)).bits; }
std::uint64_t brain(int value) { return bf16::from_float(static_cast<float>(value)).bits; }
std::uint64_t single(int value) { return std::bit_cast<std::uint32_t>(static_cast<float>(value)); }
std::uint64_t whole(int value) { return static_cast<std::uint32_t>(value); }

std::string list(std::uint32_t first, std::uint32_t count) {
  std::string text = "{";
  for (std::uint32_t r = 0; r < count; ++r) text += (r == 0 ? "%r" : ", %r") + std::to_string(first + r);
  return text + "}";
}

void check(const Case& one, std::uint32_t selector) {
  const std::uint32_t per = 32 / one.bits;
  const std::uint32_t registers = one.k / (4 * per);
  std::uint32_t seed = 7;
  const auto next = [&](std::uint32_t below) {
    seed = seed * 1664525 + 1013904223;
    return (seed >> 16) % below;
  };
  // A as a dense matrix, its elements that are kept, and the metadata by row and chunk.
  const std::uint32_t chunks = one.k / one.chunk;
  const std::uint32_t unit = one.bits == 4 ? 2 : 1;
  std::vector<int> dense(16 * one.k, 0), right(one.k * 8);
  std::vector<std::vector<int>> kept(16);
  std::vector<std::uint32_t> nibbles(16 * chunks);
  constexpr std::uint32_t kPairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
  for (std::uint32_t row = 0; row < 16; ++row) {
    for (std::uint32_t c = 0; c < chunks; ++c) {
      if (one.bits == 32) {
        const std::uint32_t at = next(2);
        nibbles[row * chunks + c] = at == 0 ? 0b0100 : 0b1110;
        kept[row].push_back(dense[row * one.k + 2 * c + at] = static_cast<int>(next(7)) + 1);
        continue;
      }
      const auto& pair = kPairs[next(6)];
      nibbles[row * chunks + c] = pair[0] | pair[1] << 2;
      for (const std::uint32_t index : pair) {
        for (std::uint32_t u = 0; u < unit; ++u) {
          kept[row].push_back(dense[row * one.k + c * one.chunk + index * unit + u] =
                                  static_cast<int>(next(7)) + 1);
        }
      }
    }
  }
  for (int& value : right) value = static_cast<int>(next(7));
  // A lane's registers of A, B and C, then its metadata.
  std::vector<std::uint32_t> in;
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const std::uint32_t group = lane / 4, part = lane % 4;
    for (std::uint32_t r = 0; r < registers; ++r) {
      std::uint32_t packed = 0;
      for (std::uint32_t e = 0; e < per; ++e) {
        const int value = kept[group + 8 * (r % 2)][per * part + 4 * per * (r / 2) + e];
        packed |= static_cast<std::uint32_t>(one.encode(value)) << e * one.bits % 32;
      }
      in.push_back(packed);
    }
    for (std::uint32_t r = 0; r < registers; ++r) {
      std::uint32_t packed = 0;
      for (std::uint32_t e = 0; e < per; ++e) {
        packed |= static_cast<std::uint32_t>(one.encode(right[(per * part + 4 * per * r + e) * 8 + group]))
                  << e * one.bits % 32;
      }
      in.push_back(packed);
    }
    for (int e = 0; e < 4; ++e) in.push_back(static_cast<std::uint32_t>(one.encode_sum(e)));
    // Lanes that the selector does not name hold something else.
    std::uint32_t word = 0x5a5a5a5a;
    const bool is_wide = one.bits >= 16;
    const std::uint32_t words = chunks / 4;  // of the four lanes of a group
    if (part / words == selector) {
      word = 0;
      const std::uint32_t which = part % words;
      for (std::uint32_t n = 0; n < 8; ++n) {
        const std::uint32_t row = is_wide ? group + 8 * (n / 4) : group + 8 * (which % 2);
        const std::uint32_t chunk = is_wide ? 4 * which + n % 4 : 8 * (which / 2) + n;
        word |= nibbles[row * chunks + chunk] << 4 * n;
      }
    }
    in.push_back(word);
  }
  const std::uint32_t inputs = 2 * registers + 5;
  std::string body =
      "mov.u32 %r30, %tid.x; ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [in];\n"
      "mad.wide.u32 %rd1, %r30, " +
      std::to_string(4 * inputs) + ", %rd1; mad.wide.u32 %rd0, %r30, 16, %rd0;\n";
  for (std::uint32_t r = 0; r < inputs; ++r) {
    body += "ld.global.b32 %r" + std::to_string(r) + ", [%rd1+" + std::to_string(4 * r) + "];\n";
  }
  const std::string sums = list(2 * registers, 4);
  body += one.instruction + " " + sums + ", " + list(0, registers) + ", " + list(registers, registers) + ", " +
          sums + ", %r" + std::to_string(inputs - 1) + ", " + std::to_string(selector) +
          ";\nst.global.v4.b32 [%rd0], " + sums + ";\nret;";
  std::vector<std::uint32_t> out(128);
  const sim::Report report = run_ptx(ptx_module(body), out, in);
  ASSERT_TRUE(report.ok()) << report.text() << body;
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    for (std::uint32_t e = 0; e < 4; ++e) {
      const std::uint32_t row = lane / 4 + 8 * (e / 2), column = 2 * (lane % 4) + e % 2;
      int sum = static_cast<int>(e);
      for (std::uint32_t k = 0; k < one.k; ++k) sum += dense[row * one.k + k] * right[k * 8 + column];
      ASSERT_EQ(out[4 * lane + e], one.encode_sum(sum)) << one.instruction << " " << row << ", " << column;
    }
  }
}

const std::string kName = "mma.sp::ordered_metadata.sync.aligned.";

TEST(PtxMmaSparse, FloatsAreTakenWhereTheMetadataSays) {
  for (std::uint32_t selector = 0; selector < 4; ++selector) {
    check({kName + "m16n8k16.row.col.f32.f16.f16.f32", 16, 16, 4, half, single}, selector);
    check({"mma.sp.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 8, 32, 2, single, single}, selector);
  }
  for (std::uint32_t selector = 0; selector < 2; ++selector) {
    check({kName + "m16n8k32.row.col.f32.bf16.bf16.f32", 32, 16, 4, brain, single}, selector);
    check({kName + "m16n8k16.row.col.f32.tf32.tf32.f32", 16, 32, 2, single, single}, selector);
  }
}

TEST(PtxMmaSparse, IntegersAreTakenWhereTheMetadataSays) {
  for (std::uint32_t selector = 0; selector < 2; ++selector) {
    check({kName + "m16n8k32.row.col.s32.s8.u8.s32", 32, 8, 4, whole, whole}, selector);
    check({kName + "m16n8k64.row.col.s32.u4.u4.s32", 64, 4, 8, whole, whole}, selector);
  }
  check({kName + "m16n8k64.row.col.satfinite.s32.u8.s8.s32", 64, 8, 4, whole, whole}, 0);
  check({kName + "m16n8k128.row.col.s32.u4.u4.s32", 128, 4, 8, whole, whole}, 0);
}

TEST(PtxMmaSparse, ASelectorBeyondTheLanesIsRefused) {
  std::vector<std::uint32_t> out(32);
  const std::string body = kName +
                           "m16n8k32.row.col.f32.f16.f16.f32 {%r0, %r1, %r2, %r3}, {%r4, %r5, %r6, %r7}, "
                           "{%r8, %r9, %r10, %r11}, {%r0, %r1, %r2, %r3}, %r12, 2; ret;";
  try {
    run_ptx(ptx_module(body), out);
    FAIL();
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("the sparsity selector 2 where it must be below 2"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace heddle::test
