// SPDX-License-Identifier: Apache-2.0
//
// wmma: matrices in memory, loaded, multiplied, stored, against a product made one element at a time. Which lane
// holds what does not matter here; conformance_ptx compares that with a GPU.
#include "../support/ptx_run.h"

#include <heddle/tile/element.h>

#include <bit>
#include <cmath>
#include <functional>

namespace heddle::test {
namespace {

struct Case {
  const char *shape, *type, *sum;
  std::uint32_t m, n, k, bits, sum_bits;
  std::uint32_t a, b, c;                         // registers
  std::function<std::uint64_t(int)> encode;      // a small number as an element
  std::function<std::uint64_t(int)> encode_sum;  // and as one of C and D
  std::string multiply = "";
  std::function<int(int, int)> product = [](int x, int y) { return x * y; };
};

std::uint64_t half(int value) { return fp16::from_float(static_cast<float>(value)).bits; }
std::uint64_t brain(int value) { return bf16::from_float(static_cast<float>(value)).bits; }
std::uint64_t single(int value) { return std::bit_cast<std::uint32_t>(static_cast<float>(value)); }
std::uint64_t whole(int value) { return static_cast<std::uint32_t>(value); }
std::uint64_t twice(int value) { return std::bit_cast<std::uint64_t>(static_cast<double>(value)); }

std::string list(const std::string& name, std::uint32_t count) {
  std::string text = "{";
  for (std::uint32_t r = 0; r < count; ++r) text += (r == 0 ? "" : ", ") + name + std::to_string(r);
  return text + "}";
}

// A matrix of bits in memory, lines `stride` elements apart.
struct Matrix {
  std::uint32_t rows, columns, bits;
  bool is_column_major;
  std::vector<std::uint32_t> words = std::vector<std::uint32_t>(2048);

  std::uint32_t stride() const { return (is_column_major ? rows : columns) + 128 / bits; }
  std::size_t bit(std::uint32_t row, std::uint32_t column) const {
    return (is_column_major ? std::size_t{column} * stride() + row : std::size_t{row} * stride() + column) * bits;
  }
  void set(std::uint32_t row, std::uint32_t column, std::uint64_t value) {
    for (std::uint32_t b = 0; b < bits; ++b) {
      const std::size_t at = bit(row, column) + b;
      words[at / 32] |= static_cast<std::uint32_t>(value >> b & 1) << at % 32;
    }
  }
  std::uint64_t get(const std::uint32_t* from, std::uint32_t row, std::uint32_t column) const {
    std::uint64_t value = 0;
    for (std::uint32_t b = 0; b < bits; ++b) {
      const std::size_t at = bit(row, column) + b;
      value |= std::uint64_t{from[at / 32] >> at % 32 & 1} << b;
    }
    return value;
  }
};

void check(const Case& one, bool a_columns, bool b_columns, bool c_columns) {
  Matrix a{one.m, one.k, one.bits, a_columns};
  Matrix b{one.k, one.n, one.bits, b_columns};
  Matrix c{one.m, one.n, one.sum_bits, c_columns};
  const bool is_bit = one.bits == 1;
  std::uint32_t seed = 1;
  const auto next = [&] {
    seed = seed * 1664525 + 1013904223;
    return is_bit ? static_cast<int>(seed >> 31) : static_cast<int>(seed >> 24) % 7;
  };
  std::vector<int> left(std::size_t{one.m} * one.k), right(std::size_t{one.k} * one.n),
      sums(std::size_t{one.m} * one.n);
  for (std::uint32_t i = 0; i < left.size(); ++i) a.set(i / one.k, i % one.k, one.encode(left[i] = next()));
  for (std::uint32_t i = 0; i < right.size(); ++i) b.set(i / one.n, i % one.n, one.encode(right[i] = next()));
  for (std::uint32_t i = 0; i < sums.size(); ++i) c.set(i / one.n, i % one.n, one.encode_sum(sums[i] = next()));
  for (std::uint32_t i = 0; i < one.m; ++i) {
    for (std::uint32_t j = 0; j < one.n; ++j) {
      for (std::uint32_t k = 0; k < one.k; ++k) {
        sums[i * one.n + j] += one.product(left[i * one.k + k], right[k * one.n + j]);
      }
    }
  }
  std::vector<std::uint32_t> in;
  for (const Matrix* matrix : {&a, &b, &c}) in.insert(in.end(), matrix->words.begin(), matrix->words.end());
  const auto layout = [](bool is_column_major) { return std::string(is_column_major ? ".col" : ".row"); };
  const std::string type = one.type;
  const std::string shape = one.shape;
  const std::string kind = one.sum_bits == 64 ? ".f64" : ".b32";
  const std::string sum = one.sum;
  const std::string types = type == ".f16" ? sum + sum : sum + type + type + sum;
  const std::string body =
      ".reg " + kind + " x<8>, y<8>, z<8>;\nld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [in];\n" +
      "wmma.load.a.sync.aligned" + layout(a_columns) + shape + ".global" + type + " " + list("x", one.a) +
      ", [%rd1], " + std::to_string(a.stride()) + ";\nwmma.load.b.sync.aligned" + layout(b_columns) + shape +
      type + " " + list("y", one.b) + ", [%rd1+8192], " + std::to_string(b.stride()) +
      ";\nwmma.load.c.sync.aligned" + layout(c_columns) + shape + ".global" + sum + " " + list("z", one.c) +
      ", [%rd1+16384], " + std::to_string(c.stride()) + ";\nwmma.mma" + one.multiply + ".sync.aligned" +
      layout(a_columns) + layout(b_columns) + shape + types + " " + list("z", one.c) + ", " + list("x", one.a) +
      ", " + list("y", one.b) + ", " + list("z", one.c) + ";\nwmma.store.d.sync.aligned" + layout(c_columns) +
      shape + ".global" + sum + " [%rd0], " + list("z", one.c) + ", " + std::to_string(c.stride()) + ";\nret;";
  std::vector<std::uint32_t> out(2048, 0);
  const sim::Report report = run_ptx(ptx_module(body), out, in);
  ASSERT_TRUE(report.ok()) << report.text() << body;
  for (std::uint32_t i = 0; i < one.m; ++i) {
    for (std::uint32_t j = 0; j < one.n; ++j) {
      ASSERT_EQ(c.get(out.data(), i, j), one.encode_sum(sums[i * one.n + j])) << body << "\n" << i << ", " << j;
    }
  }
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {".m16n16k16", ".f16", ".f32", 16, 16, 16, 16, 32, 8, 8, 8, half, single},
      {".m32n8k16", ".f16", ".f16", 32, 8, 16, 16, 16, 8, 8, 4, half, half},
      {".m8n32k16", ".f16", ".f32", 8, 32, 16, 16, 32, 8, 8, 8, half, single},
      {".m16n16k16", ".bf16", ".f32", 16, 16, 16, 16, 32, 4, 4, 8, brain, single},
      {".m32n8k16", ".bf16", ".f32", 32, 8, 16, 16, 32, 8, 2, 8, brain, single},
      {".m8n32k16", ".bf16", ".f32", 8, 32, 16, 16, 32, 2, 8, 8, brain, single},
      {".m16n16k16", ".s8", ".s32", 16, 16, 16, 8, 32, 2, 2, 8, whole, whole},
      {".m32n8k16", ".u8", ".s32", 32, 8, 16, 8, 32, 4, 1, 8, whole, whole},
      {".m8n32k16", ".s8", ".s32", 8, 32, 16, 8, 32, 1, 4, 8, whole, whole},
      {".m16n16k8", ".tf32", ".f32", 16, 16, 8, 32, 32, 4, 4, 8, single, single},
      {".m8n8k4", ".f64", ".f64", 8, 8, 4, 64, 64, 1, 1, 2, twice, twice},
  };
  return all;
}

TEST(PtxWmma, ProductsOfAllShapesAndLayoutsAreRight) {
  for (const Case& one : cases()) {
    for (std::uint32_t layouts = 0; layouts < 8; ++layouts) {
      check(one, (layouts & 1) != 0, (layouts & 2) != 0, (layouts & 4) != 0);
    }
  }
}

TEST(PtxWmma, ProductsOfNibblesAndBitsAreRight) {
  check({".m8n8k32", ".s4", ".s32", 8, 8, 32, 4, 32, 1, 1, 2, whole, whole}, false, true, false);
  check({".m8n8k128", ".b1", ".s32", 8, 8, 128, 1, 32, 1, 1, 2, whole, whole, ".xor.popc",
         [](int x, int y) { return x ^ y; }},
        false, true, true);
  check({".m8n8k128", ".b1", ".s32", 8, 8, 128, 1, 32, 1, 1, 2, whole, whole, ".and.popc",
         [](int x, int y) { return x & y; }},
        false, true, false);
}

// The twin of the next one: what a warp has written, it may load after a barrier.
constexpr const char* kSharedTile =
    ".shared .align 32 .b8 tile[1024]; .reg .b32 x<8>; ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x;\n"
    "shl.b32 %r1, %r0, 4; mov.u32 %r2, tile; add.u32 %r3, %r1, %r2; mov.b32 %r4, 0;\n";

TEST(PtxWmma, WhatNobodyWroteIsNotedWhenItIsStored) {
  const std::string load =
      "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {x0, x1, x2, x3, x4, x5, x6, x7}, [tile], 16;\n"
      "mad.wide.u32 %rd1, %r0, 4, %rd0; st.global.b32 [%rd1], x3; ret;";
  const std::string fill = "st.shared.v4.b32 [%r3], {%r4, %r4, %r4, %r4};\n";
  std::vector<std::uint32_t> out(32);
  const sim::Report good =
      run_ptx(ptx_module(std::string(kSharedTile) + fill + "bar.warp.sync -1;\n" + load), out);
  EXPECT_TRUE(good.ok()) << good.text();
  const sim::Report unwritten = run_ptx(ptx_module(std::string(kSharedTile) + load), out);
  ASSERT_FALSE(unwritten.ok());
  EXPECT_NE(unwritten.text().find("[uninitialised_read]"), std::string::npos) << unwritten.text();
  const sim::Report race = run_ptx(ptx_module(std::string(kSharedTile) + fill + load), out);
  ASSERT_FALSE(race.ok());
  EXPECT_NE(race.text().find("[race]"), std::string::npos) << race.text();
}

TEST(PtxWmma, AWrongNumberOfRegistersIsRefused) {
  std::vector<std::uint32_t> out(32);
  const std::string body =
      ".reg .b32 x<8>; ld.param.u64 %rd0, [in];\n"
      "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {x0, x1, x2, x3}, [%rd0], 16; ret;";
  EXPECT_THROW(
      {
        try {
          run_ptx(ptx_module(body), out);
        } catch (const std::exception& error) {
          EXPECT_NE(std::string(error.what()).find("4 registers where 8 are wanted"), std::string::npos)
              << error.what();
          throw;
        }
      },
      std::exception);
}

}  // namespace
}  // namespace heddle::test
