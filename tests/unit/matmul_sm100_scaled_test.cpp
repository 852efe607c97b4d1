// SPDX-License-Identifier: Apache-2.0
//
// The Blackwell matmuls with scales in the simulated SM: MXFP8, MXFP4, NVFP4 and blockwise FP8, every
// configuration, ragged and empty problems, under several schedules, without a report; and what the host refuses.
#include "../support/matmul_scaled_reference.h"

#include <heddle/host/error.h>

#include <gtest/gtest.h>

namespace heddle {
namespace {

using test::Data;
using test::kOutputs;
using test::MatmulScaledCase;
using test::runs_right;
using test::some_scaled_tiles;

class MatmulScaled : public ::testing::TestWithParam<ScaledFormat> {};

TEST_P(MatmulScaled, IsExactUnderTwentySchedulesInEachConfiguration) {
  for (const std::string& config : matmul_scaled_configs(GetParam())) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      MatmulScaledCase matmul = some_scaled_tiles(GetParam(), config, seed);
      ASSERT_TRUE(runs_right(matmul, test::few_sms(config, seed), seed));
    }
  }
}

TEST_P(MatmulScaled, KeepsTheErrorBoundOnRandomData) {
  for (const std::string& config : matmul_scaled_configs(GetParam())) {
    for (std::uint64_t turn = 0; turn < 3; ++turn) {
      MatmulScaledCase matmul = some_scaled_tiles(GetParam(), config, turn);
      matmul.data = Data::kRandom;
      EXPECT_TRUE(runs_right(matmul, 8, turn));
    }
  }
}

TEST_P(MatmulScaled, SizesMixedAreExactOnIntegers) {
  constexpr std::int64_t kSizes[] = {1, 7, 64, 128, 200, 256, 384, 520};
  const std::vector<std::string> configs = matmul_scaled_configs(GetParam());
  for (std::uint64_t i = 0; i < 8; ++i) {
    const std::int64_t k = kSizes[(i * 5 + 1) % 8];
    MatmulScaledCase matmul{.problem = {.m = kSizes[i],
                                        .n = kSizes[(i * 3) % 8],
                                        .k = bits_of_element(GetParam()) == 4 ? (k + 1) / 2 * 2 : k,
                                        .format = GetParam(),
                                        .output = kOutputs[i % 3],
                                        .config = configs[i % configs.size()]},
                            .seed = i + 1,
                            .more = static_cast<std::int64_t>(i % 2)};
    EXPECT_TRUE(runs_right(matmul, 8, i));
  }
}

TEST_P(MatmulScaled, MoreAndFewerTilesThanSms) {
  for (const std::uint32_t sms : {8u, 64u}) {
    for (const std::string& config : matmul_scaled_configs(GetParam())) {
      MatmulScaledCase matmul{.problem = {.m = 392,
                                          .n = 264,
                                          .k = 32,
                                          .format = GetParam(),
                                          .output = MatmulElement::kFp32,
                                          .config = config}};
      EXPECT_TRUE(runs_right(matmul, sms, sms));
    }
  }
}

TEST_P(MatmulScaled, EmptyProblemsWriteNothingOrZeros) {
  for (const std::string& config : matmul_scaled_configs(GetParam())) {
    MatmulScaledCase no_k{.problem = {.m = 136, .n = 72, .k = 0, .format = GetParam(), .config = config}};
    EXPECT_TRUE(runs_right(no_k, 8, 1));
    MatmulScaledCase no_m{.problem = {.m = 0, .n = 72, .k = 64, .format = GetParam(), .config = config}};
    EXPECT_TRUE(runs_right(no_m, 8, 1));
  }
}

INSTANTIATE_TEST_SUITE_P(All, MatmulScaled, ::testing::ValuesIn(test::kScaledFormats),
                         [](const auto& format) { return std::string(name_of(format.param)); });

TEST(MatmulScaledAlpha, ScalesTheWholeTensor) {
  MatmulScaledCase matmul = some_scaled_tiles(ScaledFormat::kNvfp4, "2sm_256x256_2x1", 2);
  matmul.problem.alpha = 0.25f;
  EXPECT_TRUE(runs_right(matmul, 4, 1));
}

class MatmulScaledRefuses : public ::testing::Test {
 protected:
  MatmulScaledRefuses() { matmul.prepare(); }

  std::string refusal(const MatmulScaledProblem& problem, const MatmulScaledTensors& tensors) {
    const std::vector<unsigned char> before = matmul.out.bytes;
    try {
      matmul_scaled<Target::kSim>(problem, tensors, {});
    } catch (const InputError& error) {
      EXPECT_EQ(matmul.out.bytes, before);
      return error.what();
    }
    return "not refused";
  }

  MatmulScaledCase matmul{.problem = {.m = 64, .n = 64, .k = 64, .format = ScaledFormat::kNvfp4}};
};

TEST_F(MatmulScaledRefuses, ScalesOfTheWrongShape) {
  MatmulScaledTensors tensors = matmul.tensors();
  tensors.a_scales.cols = 2;
  EXPECT_EQ(refusal(matmul.problem, tensors), "matmul: a_scales is 64 x 2; this problem takes 64 x 4");
  tensors = matmul.tensors();
  tensors.b_scales.rows = 1;
  EXPECT_EQ(refusal(matmul.problem, tensors), "matmul: b_scales is 1 x 4; this problem takes 64 x 4");
  tensors = matmul.tensors();
  tensors.a_scales.data = nullptr;
  EXPECT_EQ(refusal(matmul.problem, tensors), "matmul: a_scales is null and has 256 scales");
}

TEST_F(MatmulScaledRefuses, RowsThatTheCopyEngineCannotReach) {
  MatmulScaledProblem problem = matmul.problem;
  problem.a_pitch = 72;
  EXPECT_EQ(refusal(problem, matmul.tensors()),
            "matmul: rows of a are 72 numbers apart, 288 bits; the copy engine takes multiples of 16 bytes. A "
            "pitch of 96 "
            "would pass");
  problem = matmul.problem;
  problem.k = 63;
  EXPECT_EQ(refusal(problem, matmul.tensors()),
            "matmul: k is 63; two numbers of nvfp4 share a byte, so k is even. 64 would pass");
  problem = matmul.problem;
  problem.m = -5;
  EXPECT_EQ(refusal(problem, matmul.tensors()), "matmul: m is -5; 0 to 2147483647");
}

TEST_F(MatmulScaledRefuses, TensorsThatAreNullOrOverlap) {
  MatmulScaledTensors tensors = matmul.tensors();
  tensors.b = nullptr;
  EXPECT_EQ(refusal(matmul.problem, tensors), "matmul: b is null and has 2048 bytes");
  tensors = matmul.tensors();
  tensors.a_scales.data = matmul.out.bytes.data();
  EXPECT_EQ(refusal(matmul.problem, tensors).substr(0, 30), "matmul: out overlaps a_scales:");
}

TEST_F(MatmulScaledRefuses, WhatTheFormatDoesNotHave) {
  MatmulScaledProblem problem = matmul.problem;
  problem.output = MatmulElement::kE5m2;
  EXPECT_EQ(refusal(problem, matmul.tensors()),
            "matmul: nvfp4 to e5m2 is not a supported pair of types; the output is bf16, fp16 or fp32");
  problem = matmul.problem;
  problem.config = "none";
  EXPECT_EQ(refusal(problem, matmul.tensors()),
            "matmul: no configuration for nvfp4 is called 'none'; there are 1sm_128x128_1x1, 2sm_256x256_2x1, "
            "2sm_256x128_4x2_static");
  problem = matmul.problem;
  problem.format = ScaledFormat::kBlockwiseE4m3;
  problem.alpha = 2;
  EXPECT_EQ(refusal(problem, matmul.tensors()),
            "matmul: alpha is 2; with blockwise_e4m3 it is 1: put it into the scales");
}

}  // namespace
}  // namespace heddle
