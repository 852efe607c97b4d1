// SPDX-License-Identifier: Apache-2.0
//
// mma.sync of f64 and of narrow integers against matrices that are multiplied one element at a time. Where an
// element lies is written down here as the manual's figures have it, not as the simulated SM finds it.
#include "../support/ptx_run.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

namespace heddle::test {
namespace {

struct Case {
  const char* instruction;
  std::uint32_t m, k, bits;
  bool signed_a, signed_b, saturates;
  std::function<std::int64_t(std::int64_t, std::int64_t)> product;
};

std::uint32_t words(const Case& one) { return one.bits == 64 ? 2 : 1; }
std::uint32_t per_register(const Case& one) { return one.bits == 64 ? 1 : 32 / one.bits; }

std::string vector(const std::string& name, std::uint32_t first, std::uint32_t count) {
  std::string text = "{";
  for (std::uint32_t r = 0; r < count; ++r) text += (r == 0 ? "" : ", ") + name + std::to_string(first + r);
  return text + "}";
}

// Each lane loads the registers of A, B and C from `in`, lane after lane, and stores D's to `out`.
std::string module_of(const Case& one) {
  const bool is_wide = one.bits == 64;
  const std::string name = is_wide ? "%x" : "%r";
  const std::uint32_t d = one.m / 4;
  const std::uint32_t b = one.k / (4 * per_register(one));
  const std::uint32_t a = b * one.m / 8;
  const std::uint32_t bytes = 4 * words(one);
  const std::uint32_t inputs = a + b + d;
  std::string body = is_wide ? ".reg .f64 %x<40>;\n" : "";
  const std::string type = is_wide ? ".f64 " : ".b32 ";
  body +=
      "mov.u32 %r30, %tid.x; ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [in];\n"
      "mul.wide.u32 %rd2, %r30, " +
      std::to_string(inputs * bytes) +
      "; add.u64 %rd1, %rd1, %rd2;\n"
      "mul.wide.u32 %rd2, %r30, " +
      std::to_string(d * bytes) + "; add.u64 %rd0, %rd0, %rd2;\n";
  for (std::uint32_t r = 0; r < inputs; ++r) {
    body += "ld.global" + type + name + std::to_string(r) + ", [%rd1+" + std::to_string(r * bytes) + "];\n";
  }
  const std::uint32_t c = a + b;
  body += std::string(one.instruction) + " " + vector(name, c, d) + ", " + vector(name, 0, a) + ", " +
          vector(name, a, b) + ", " + vector(name, c, d) + ";\n";
  for (std::uint32_t r = 0; r < d; ++r) {
    body +=
        "st.global" + type + "[%rd0+" + std::to_string(r * bytes) + "], " + name + std::to_string(c + r) + ";\n";
  }
  return ptx_module(body + "ret;");
}

std::int64_t extended(std::uint64_t value, std::uint32_t bits, bool is_signed) {
  return is_signed && (value >> (bits - 1) & 1) != 0
             ? static_cast<std::int64_t>(value) - (std::int64_t{1} << bits)
             : static_cast<std::int64_t>(value);
}

class PtxMmaExact : public testing::Test {
 protected:
  // Fills the matrices, runs, and hands the results over element by element: C, then D.
  void run(const Case& one, const std::function<std::uint64_t()>& random_element,
           const std::function<std::uint64_t()>& random_c) {
    const std::uint32_t e = per_register(one);
    b_.assign(std::size_t{one.k} * 8, 0);
    a_.assign(std::size_t{one.m} * one.k, 0);
    c_.assign(std::size_t{one.m} * 8, 0);
    for (std::uint64_t& x : a_) x = random_element();
    for (std::uint64_t& x : b_) x = random_element();
    for (std::uint64_t& x : c_) x = random_c();
    const std::uint32_t b_registers = one.k / (4 * e);
    const std::uint32_t a_registers = b_registers * one.m / 8;
    const std::uint32_t d_registers = one.m / 4;
    std::vector<std::uint32_t> in;
    const auto push = [&](std::uint64_t value) {
      in.push_back(static_cast<std::uint32_t>(value));
      if (one.bits == 64) in.push_back(static_cast<std::uint32_t>(value >> 32));
    };
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      const std::uint32_t group = lane / 4;
      const std::uint32_t part = lane % 4;
      for (std::uint32_t r = 0; r < a_registers; ++r) {
        const bool is_lower = one.m == 16 && r % 2 == 1;
        const std::uint32_t block = one.m == 16 ? r / 2 : r;
        std::uint64_t packed = 0;
        for (std::uint32_t i = 0; i < e; ++i) {
          packed |= a_[(group + (is_lower ? 8 : 0)) * one.k + block * 4 * e + part * e + i] << i * one.bits % 64;
        }
        push(packed);
      }
      for (std::uint32_t r = 0; r < b_registers; ++r) {
        std::uint64_t packed = 0;
        for (std::uint32_t i = 0; i < e; ++i)
          packed |= b_[(r * 4 * e + part * e + i) * 8 + group] << i * one.bits % 64;
        push(packed);
      }
      for (std::uint32_t r = 0; r < d_registers; ++r) push(c_[(group + (r >= 2 ? 8 : 0)) * 8 + 2 * part + r % 2]);
    }
    std::vector<std::uint32_t> out(32 * d_registers * words(one));
    const sim::Report report = run_ptx(module_of(one), out, in);
    ASSERT_TRUE(report.ok()) << one.instruction << report.text();
    d_.assign(c_.size(), 0);
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      for (std::uint32_t r = 0; r < d_registers; ++r) {
        const std::size_t at = (lane * d_registers + r) * words(one);
        const std::uint64_t value = one.bits == 64 ? out[at] | std::uint64_t{out[at + 1]} << 32 : out[at];
        d_[(lane / 4 + (r >= 2 ? 8 : 0)) * 8 + 2 * (lane % 4) + r % 2] = value;
      }
    }
  }

  std::vector<std::uint64_t> a_, b_, c_, d_;  // row by row
};

TEST_F(PtxMmaExact, IntegersOfFourAndOneBitMultiplyAndCount) {
  const auto times = [](std::int64_t x, std::int64_t y) { return x * y; };
  const auto both = [](std::int64_t x, std::int64_t y) { return x & y; };
  const auto either = [](std::int64_t x, std::int64_t y) { return x ^ y; };
  const Case cases[] = {
      {"mma.sync.aligned.m8n8k16.row.col.s32.s8.u8.s32", 8, 16, 8, true, false, false, times},
      {"mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32", 8, 32, 4, true, true, false, times},
      {"mma.sync.aligned.m16n8k32.row.col.s32.u4.s4.s32", 16, 32, 4, false, true, false, times},
      {"mma.sync.aligned.m16n8k64.row.col.satfinite.s32.u4.u4.s32", 16, 64, 4, false, false, true, times},
      {"mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc", 8, 128, 1, false, false, false, either},
      {"mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.and.popc", 16, 128, 1, false, false, false, both},
      {"mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc", 16, 256, 1, false, false, false, either},
  };
  std::mt19937_64 random(3);
  for (const Case& one : cases) {
    // Near the end of the numbers, so that sums overflow: some wrap, or stay at the largest.
    run(
        one, [&] { return random() & ((std::uint64_t{1} << one.bits) - 1); },
        [&] { return std::uint64_t{0x7fffffff - static_cast<std::uint32_t>(random() % 400)}; });
    bool has_overflow = false;
    for (std::uint32_t row = 0; row < one.m; ++row) {
      for (std::uint32_t column = 0; column < 8; ++column) {
        std::int64_t sum = static_cast<std::int32_t>(c_[row * 8 + column]);
        for (std::uint32_t k = 0; k < one.k; ++k) {
          sum += one.product(extended(a_[row * one.k + k], one.bits, one.signed_a),
                             extended(b_[k * 8 + column], one.bits, one.signed_b));
        }
        has_overflow |= sum > std::numeric_limits<std::int32_t>::max();
        if (one.saturates) sum = std::min<std::int64_t>(sum, std::numeric_limits<std::int32_t>::max());
        EXPECT_EQ(d_[row * 8 + column], static_cast<std::uint32_t>(sum))
            << one.instruction << row << "," << column;
      }
    }
    EXPECT_TRUE(has_overflow || !one.saturates) << one.instruction;
  }
}

TEST_F(PtxMmaExact, DoublesMultiplyInEveryShape) {
  const Case cases[] = {
      {"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", 8, 4, 64, true, true, false, {}},
      {"mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64", 16, 4, 64, true, true, false, {}},
      {"mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64", 16, 8, 64, true, true, false, {}},
      {"mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64", 16, 16, 64, true, true, false, {}},
  };
  std::mt19937_64 random(4);
  // Whole numbers: exact in any order, which is not promised.
  const auto whole = [&] { return std::bit_cast<std::uint64_t>(static_cast<double>(random() % 2001) - 1000.0); };
  for (const Case& one : cases) {
    run(one, whole, whole);
    for (std::uint32_t row = 0; row < one.m; ++row) {
      for (std::uint32_t column = 0; column < 8; ++column) {
        double sum = std::bit_cast<double>(c_[row * 8 + column]);
        for (std::uint32_t k = 0; k < one.k; ++k) {
          sum += std::bit_cast<double>(a_[row * one.k + k]) * std::bit_cast<double>(b_[k * 8 + column]);
        }
        EXPECT_EQ(std::bit_cast<double>(d_[row * 8 + column]), sum) << one.instruction << row << "," << column;
      }
    }
  }
}

}  // namespace
}  // namespace heddle::test
