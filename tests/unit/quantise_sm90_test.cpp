// SPDX-License-Identifier: Apache-2.0
//
// bf16 to e4m3 with block scales: the device in the simulated SM and the host give the same bits, which are the
// nearest to the quotients; and quantised operands multiply as they should.
#include "matmul/host/quantise_plan.h"
#include "matmul/reference/matmul_reference.h"

#include <heddle/host/error.h>
#include <heddle/tile/element.h>

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace heddle {
namespace {

struct Case {
  QuantiseProblem problem;
  std::vector<bf16> in;
  std::vector<unsigned char> out;
  std::vector<float> scales;

  explicit Case(const QuantiseProblem& p, std::uint64_t seed = 1) : problem(p) {
    const auto pitch = static_cast<std::size_t>(p.in_pitch == 0 ? p.cols : p.in_pitch);
    const auto rows = static_cast<std::size_t>(p.rows);
    in.resize(rows * pitch);
    std::mt19937_64 engine(seed);
    std::normal_distribution<float> normal;
    for (bf16& number : in) number = bf16::from_float(normal(engine) * std::exp(3.0f * normal(engine)));
    out.assign(rows * static_cast<std::size_t>(p.out_pitch == 0 ? p.cols : p.out_pitch), 0xEE);
    const std::size_t lines =
        static_cast<std::size_t>((p.blocks == QuantiseBlocks::kRows ? p.cols : p.rows) + 127) / 128;
    scales.assign(lines * static_cast<std::size_t>(p.blocks == QuantiseBlocks::kRows ? (p.rows + 3) / 4 * 4
                                                                                     : (p.cols + 127) / 128),
                  -1.0f);
  }
  QuantiseTensors tensors() { return {.in = in.data(), .out = out.data(), .scales = scales.data()}; }
};

// The nearest e4m3 to a quotient that is a float, from the definition of the format.
double nearest(float quotient) {
  return reference::rounded(reference::format_of(MatmulElement::kE4m3), static_cast<double>(quotient));
}

void expect_right(const QuantiseProblem& problem, std::uint64_t seed) {
  Case host(problem, seed);
  Case device(problem, seed);
  quantise_on_host(host.problem, host.tensors());
  const RunOutcome outcome =
      quantise_sm90<Target::kSim>(device.problem, device.tensors(), {.kernel = "quantise", .sms = 4});
  ASSERT_TRUE(outcome.ok()) << outcome.report;
  EXPECT_EQ(outcome.remarks, "");
  EXPECT_EQ(host.out, device.out);
  EXPECT_EQ(host.scales, device.scales);
  const bool has_rows = problem.blocks == QuantiseBlocks::kRows;
  const auto pitch = static_cast<std::size_t>(problem.in_pitch == 0 ? problem.cols : problem.in_pitch);
  const auto out_pitch = static_cast<std::size_t>(problem.out_pitch == 0 ? problem.cols : problem.out_pitch);
  for (std::size_t row = 0; row < static_cast<std::size_t>(problem.rows); ++row) {
    for (std::size_t col = 0; col < static_cast<std::size_t>(problem.cols); ++col) {
      const std::size_t at = has_rows
                                 ? col / 128 * static_cast<std::size_t>((problem.rows + 3) / 4 * 4) + row
                                 : row / 128 * static_cast<std::size_t>((problem.cols + 127) / 128) + col / 128;
      const float scale = host.scales[at];
      ASSERT_GT(scale, 0.0f);
      if (problem.has_powers_of_two) {
        ASSERT_EQ(std::ldexp(0.5f, std::ilogb(scale) + 1), scale);
      }
      const float quotient = host.in[row * pitch + col].to_float() / scale;
      ASSERT_LE(std::fabs(quotient), 448.01f);
      ASSERT_EQ(double{e4m3{host.out[row * out_pitch + col]}.to_float()}, nearest(quotient))
          << row << ", " << col;
    }
    for (std::size_t col = static_cast<std::size_t>(problem.cols); col < out_pitch; ++col) {
      ASSERT_EQ(host.out[row * out_pitch + col], 0xEE) << "after row " << row;
    }
  }
}

TEST(QuantiseSm90, RowsHaveTheSameBitsOnHostAndDevice) {
  expect_right({.rows = 9, .cols = 300}, 1);
  expect_right({.rows = 1, .cols = 4}, 2);
  expect_right({.rows = 6, .cols = 256, .has_powers_of_two = true, .in_pitch = 264, .out_pitch = 260}, 3);
}

TEST(QuantiseSm90, SquaresHaveTheSameBitsOnHostAndDevice) {
  expect_right({.rows = 200, .cols = 260, .blocks = QuantiseBlocks::kSquares}, 4);
  expect_right({.rows = 128, .cols = 128, .blocks = QuantiseBlocks::kSquares, .has_powers_of_two = true}, 5);
}

TEST(QuantiseSm90, TheLargestNumberBecomesTheLargestE4m3) {
  Case c({.rows = 1, .cols = 128});
  for (std::size_t i = 0; i < 128; ++i) c.in[i] = bf16::from_float(i == 5 ? -3.5f : 0.25f);
  quantise_on_host(c.problem, c.tensors());
  EXPECT_EQ(c.scales[0], 3.5f / 448.0f);
  EXPECT_EQ(e4m3{c.out[5]}.to_float(), -448.0f);
  EXPECT_EQ(e4m3{c.out[6]}.to_float(), 32.0f);
}

TEST(QuantiseSm90, ZerosHaveTheScaleOneAndNansStay) {
  Case c({.rows = 2, .cols = 128});
  for (bf16& number : c.in) number = bf16::from_float(0.0f);
  c.in[130] = bf16::from_float(std::numeric_limits<float>::quiet_NaN());
  const RunOutcome outcome = quantise_sm90<Target::kSim>(c.problem, c.tensors(), {.kernel = "quantise"});
  ASSERT_TRUE(outcome.ok()) << outcome.report;
  EXPECT_EQ(c.scales[0], 1.0f);
  EXPECT_EQ(c.scales[1], 1.0f);
  EXPECT_EQ(c.out[0], 0);
  EXPECT_TRUE(std::isnan(e4m3{c.out[130]}.to_float()));
}

// fmax of a signalling NaN is a NaN on a host and the other number on a GPU; and a division may turn its sign.
TEST(QuantiseSm90, NansOfEveryKindHaveNoPartInAScale) {
  for (const QuantiseBlocks blocks : {QuantiseBlocks::kRows, QuantiseBlocks::kSquares}) {
    Case c({.rows = 1, .cols = 128, .blocks = blocks});
    for (bf16& number : c.in) number = bf16::from_float(-3.5f);
    const std::uint16_t nans[] = {0x7f81, 0xff81, 0x7fc0, 0xffff};
    for (std::size_t i = 0; i < 4; ++i) c.in[10 + i].bits = nans[i];
    for (const bool is_on_host : {true, false}) {
      std::ranges::fill(c.out, static_cast<unsigned char>(0xA5));
      if (is_on_host) {
        quantise_on_host(c.problem, c.tensors());
      } else {
        ASSERT_TRUE(quantise_sm90<Target::kSim>(c.problem, c.tensors(), {.kernel = "quantise"}).ok());
      }
      EXPECT_EQ(c.scales[0], 3.5f / 448.0f) << is_on_host;
      EXPECT_EQ(e4m3{c.out[0]}.to_float(), -448.0f);
      for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(c.out[10 + i], 0x7f) << i << is_on_host;
    }
  }
}

struct Refusal {
  const char* name;
  std::function<void(QuantiseProblem&, QuantiseTensors&)> spoil;
  std::string message;
};

TEST(QuantiseRefusals, NameTheRuleAndWriteNothing) {
  const std::vector<Refusal> refusals = {
      {"OddCols", [](auto& p, auto&) { p.cols = 126; },
       "cols is 126; numbers are taken in fours, and 128 would pass"},
      {"NegativeRows", [](auto& p, auto&) { p.rows = -2; }, "rows is -2; 0 to 2147483647"},
      {"ShortPitch", [](auto& p, auto&) { p.out_pitch = 64; },
       "out_pitch is 64 elements, less than the 128 of a row"},
      {"OddPitch", [](auto& p, auto&) { p.in_pitch = 130; },
       "in_pitch is 130 elements; numbers are taken in fours, and 132 would pass"},
      {"NoBlocks", [](auto& p, auto&) { p.blocks = static_cast<QuantiseBlocks>(3); },
       "blocks is 3; its enumerators are 0 to 1"},
      {"NoScales", [](auto&, auto& t) { t.scales = nullptr; }, "scales is null and has 16 bytes"},
      {"OutIsIn", [](auto&, auto& t) { t.out = const_cast<void*>(t.in); }, "out overlaps in: "},
  };
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(refusal.name);
    Case c({.rows = 4, .cols = 128});
    QuantiseTensors tensors = c.tensors();
    refusal.spoil(c.problem, tensors);
    try {
      quantise_sm90<Target::kSim>(c.problem, tensors, {.kernel = "quantise"});
      ADD_FAILURE() << "it ran";
    } catch (const InputError& error) {
      EXPECT_EQ(std::string(error.what()).rfind("matmul: " + refusal.message, 0), 0u) << error.what();
    }
    for (const unsigned char byte : c.out) ASSERT_EQ(byte, 0xEE);
  }
}

}  // namespace
}  // namespace heddle
