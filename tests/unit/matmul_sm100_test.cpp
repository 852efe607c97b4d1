// SPDX-License-Identifier: Apache-2.0
//
// The Blackwell matmul in the simulated SM: every configuration and pair of types, ragged and empty problems, few
// and many SMs, under several schedules, without a report; and what the host refuses.
#include "../support/matmul_sm100_reference.h"

#include <heddle/host/error.h>

#include <gtest/gtest.h>

namespace heddle {
namespace {

using test::Data;
using test::MatmulSm100Case;

using test::few_sms;
using test::kInputs;
using test::kOutputs;
using test::runs_right;
using test::some_tiles;

TEST(MatmulSm100, SizesMixedAreExactOnIntegers) {
  constexpr std::int64_t kSizes[] = {1, 7, 64, 128, 200, 256, 384, 520};
  const std::vector<std::string> configs = matmul_sm100_configs();
  std::uint64_t turn = 0;
  for (const std::uint32_t shift : {0u, 3u, 6u}) {
    for (std::uint32_t i = 0; i < 8; ++i, ++turn) {
      MatmulSm100Case matmul{.problem = {.m = kSizes[i],
                                         .n = kSizes[(i * 3 + shift) % 8],
                                         .k = kSizes[(i * 5 + 2 * shift + 1) % 8],
                                         .input = kInputs[turn % 5],
                                         .output = kOutputs[turn % 3],
                                         .config = configs[turn / 2 % configs.size()]},
                             .seed = turn + 1,
                             .more = static_cast<std::int64_t>(turn % 2)};
      EXPECT_TRUE(runs_right(matmul, 8, turn));
    }
  }
}

class MatmulSm100OfConfig : public ::testing::TestWithParam<std::string> {};

// Types take turns, so that each kernel has twenty schedules.
TEST_P(MatmulSm100OfConfig, IsExactUnderRandomSchedules) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    MatmulSm100Case matmul = some_tiles(GetParam(), seed);
    ASSERT_TRUE(runs_right(matmul, few_sms(GetParam(), seed), seed));
  }
}

TEST_P(MatmulSm100OfConfig, KeepsTheErrorBoundOnRandomData) {
  for (std::uint64_t turn = 0; turn < 15; ++turn) {
    MatmulSm100Case matmul = some_tiles(GetParam(), turn);
    matmul.data = Data::kRandom;
    EXPECT_TRUE(runs_right(matmul, 8, turn));
  }
}

INSTANTIATE_TEST_SUITE_P(All, MatmulSm100OfConfig, ::testing::ValuesIn(matmul_sm100_configs()),
                         [](const auto& config) { return config.param; });

TEST(MatmulSm100, KOfOneStageAndOfMany) {
  for (const std::string& config : matmul_sm100_configs()) {
    for (const std::int64_t k : {8, 64, 72, 1000}) {
      EXPECT_TRUE(runs_right({.m = 64, .n = 40, .k = k, .config = config}, 8, static_cast<std::uint64_t>(k)));
    }
  }
}

TEST(MatmulSm100, MoreAndFewerTilesThanSms) {
  EXPECT_TRUE(runs_right({.m = 384, .n = 200, .k = 72, .config = "1sm_128x64_1x1"}, 1, 1));
  EXPECT_TRUE(runs_right({.m = 384, .n = 200, .k = 72, .config = "1sm_128x64_1x1"}, 64, 2));
  EXPECT_TRUE(runs_right({.m = 384, .n = 200, .k = 72, .config = "1sm_128x32_2x2_static"}, 4, 3));
  EXPECT_TRUE(runs_right({.m = 384, .n = 200, .k = 72, .config = "1sm_128x32_2x2_static"}, 64, 4));
  EXPECT_TRUE(runs_right({.m = 1000, .n = 520, .k = 72, .config = "2sm_256x256_2x1"}, 2, 5));
  EXPECT_TRUE(runs_right({.m = 1000, .n = 520, .k = 72, .config = "2sm_256x256_2x1"}, 64, 6));
  EXPECT_TRUE(runs_right({.m = 1000, .n = 264, .k = 72, .config = "2sm_256x64_4x2"}, 8, 7));
  EXPECT_TRUE(runs_right({.m = 1000, .n = 264, .k = 72, .config = "2sm_256x64_4x2"}, 64, 8));
}

TEST(MatmulSm100, BatchesOfMatrices) {
  for (const std::string& config : matmul_sm100_configs()) {
    EXPECT_TRUE(runs_right({.m = 136, .n = 72, .k = 72, .batches = 3, .config = config}, 8, 3));
  }
}

TEST(MatmulSm100, EpilogueActivatesAndAdds) {
  for (const Activation activation :
       {Activation::kNone, Activation::kRelu, Activation::kGelu, Activation::kSilu}) {
    for (const MatmulElement output : kOutputs) {
      for (const std::int64_t splits : {1, 2}) {
        MatmulSm100Case matmul{.problem = {.m = 72,
                                           .n = 72,
                                           .k = 136,
                                           .batches = splits,
                                           .output = output,
                                           .alpha = 0.125f,
                                           .activation = activation,
                                           .splits = splits},
                               .data = Data::kRandom,
                               .more = 1,
                               .has_bias = true,
                               .has_residual = true};
        EXPECT_TRUE(runs_right(matmul, 4, 5));
      }
    }
  }
}

TEST(MatmulSm100, SplitsOfKAddUp) {
  for (const std::string& config : matmul_sm100_configs()) {
    for (const std::int64_t splits : {3, 9}) {
      MatmulSm100Case matmul{
          .problem = {.m = 72, .n = 71, .k = 328, .batches = 2, .splits = splits, .config = config},
          .more = 1,
          .has_residual = splits == 3};
      EXPECT_TRUE(runs_right(matmul, 8, static_cast<std::uint64_t>(splits)));
    }
  }
}

TEST(MatmulSm100, EmptyProblemsWriteNothingOrZeros) {
  EXPECT_TRUE(runs_right({.m = 0, .n = 64, .k = 64}));
  EXPECT_TRUE(runs_right({.m = 64, .n = 0, .k = 64}));
  EXPECT_TRUE(runs_right({.m = 64, .n = 64, .k = 64, .batches = 0}));
  for (const std::string& config : matmul_sm100_configs()) {
    EXPECT_TRUE(runs_right({.m = 200, .n = 72, .k = 0, .config = config}));
  }
}

TEST(MatmulSm100, RowsThatEndInsideOf16BytesLeaveTheRestAlone) {
  for (const MatmulElement output : kOutputs) {
    for (const std::int64_t n : {1, 7, 61, 131}) {
      MatmulSm100Case matmul{.problem = {.m = 130, .n = n, .k = 64, .output = output}, .more = 1};
      EXPECT_TRUE(runs_right(matmul, 8, 1));
    }
  }
}

// What a call is refused with. The output is as it was.
std::string refusal(const MatmulSm100Problem& problem, MatmulTensors tensors,
                    const std::vector<unsigned char>& out) {
  const std::vector<unsigned char> before = out;
  try {
    matmul_sm100<Target::kSim>(problem, tensors, {});
  } catch (const InputError& error) {
    EXPECT_EQ(out, before);
    return error.what();
  }
  return "not refused";
}

class MatmulSm100Refuses : public ::testing::Test {
 protected:
  MatmulSm100Refuses() { matmul.prepare(); }

  std::string refusal_of(const MatmulSm100Problem& problem) {
    return refusal(problem, matmul.tensors(), matmul.out.bytes);
  }
  std::string refusal_of(const MatmulTensors& tensors) {
    return refusal(matmul.problem, tensors, matmul.out.bytes);
  }

  MatmulSm100Case matmul{.problem = {.m = 64, .n = 64, .k = 64}};
};

TEST_F(MatmulSm100Refuses, MisalignedLeadingDimensions) {
  EXPECT_EQ(refusal_of(MatmulSm100Problem{.m = 64, .n = 64, .k = 60}),
            "matmul: rows of a are 60 elements apart, 120 bytes; the copy engine takes multiples of 16 bytes. A "
            "pitch of "
            "64 would pass");
  EXPECT_EQ(refusal_of(MatmulSm100Problem{.m = 8, .n = 8, .k = 60, .a_pitch = 64, .b_pitch = 61}),
            "matmul: rows of b are 61 elements apart, 122 bytes; the copy engine takes multiples of 16 bytes. A "
            "pitch of "
            "64 would pass");
  EXPECT_EQ(refusal_of(MatmulSm100Problem{.m = 64, .n = 63, .k = 64, .output = MatmulElement::kFp32}),
            "matmul: rows of out are 63 elements apart, 252 bytes; the copy engine takes multiples of 16 bytes. "
            "A pitch "
            "of 64 would pass");
  EXPECT_EQ(refusal_of(MatmulSm100Problem{.m = 64, .n = 64, .k = 64, .a_pitch = 32}),
            "matmul: a_pitch is 32 elements, less than the 64 of a row");
}

TEST_F(MatmulSm100Refuses, SizesThatAreNone) {
  EXPECT_EQ(refusal_of(MatmulSm100Problem{.m = -1, .n = 64, .k = 64}), "matmul: m is -1; 0 to 2147483647");
  EXPECT_EQ(refusal_of(MatmulSm100Problem{.m = 64, .n = 64, .k = std::int64_t{1} << 40}),
            "matmul: k is 1099511627776; 0 to 2147483647");
  EXPECT_EQ(refusal_of(MatmulSm100Problem{.m = 2000000000, .n = 8, .k = 2000000000}),
            "matmul: a takes 8e+18 bytes; at most 1099511627776");
  EXPECT_EQ(refusal_of(MatmulSm100Problem{.m = 64, .n = 64, .k = 64, .batches = -2}),
            "matmul: batches is -2; 0 to 2147483647");
  EXPECT_EQ(refusal_of(MatmulSm100Problem{.m = 64, .n = 64, .k = 64, .splits = 0}),
            "matmul: splits is 0; 1 to 1024");
}

TEST_F(MatmulSm100Refuses, PairsOfTypes) {
  EXPECT_EQ(refusal_of(MatmulSm100Problem{.m = 64, .n = 64, .k = 64, .output = MatmulElement::kE4m3}),
            "matmul: bf16 to e4m3 is not a supported pair of types; the output is bf16, fp16 or fp32");
  EXPECT_EQ(refusal_of(MatmulSm100Problem{.m = 64, .n = 64, .k = 64, .input = MatmulElement::kFp32}),
            "matmul: the input is fp32; bf16, fp16, tf32, e4m3 or e5m2");
}

TEST_F(MatmulSm100Refuses, NullAndOverlappingTensors) {
  MatmulTensors tensors = matmul.tensors();
  tensors.a = nullptr;
  EXPECT_EQ(refusal_of(tensors), "matmul: a is null and has 8192 bytes");
  tensors = matmul.tensors();
  tensors.out = nullptr;
  EXPECT_EQ(refusal_of(tensors), "matmul: out is null and has 8192 bytes");
  tensors = matmul.tensors();
  tensors.out = matmul.b.bytes.data() + 16;
  EXPECT_EQ(refusal_of(tensors).substr(0, 31), "matmul: out overlaps b: out is ");
}

TEST_F(MatmulSm100Refuses, UnknownConfigurations) {
  MatmulSm100Problem problem = matmul.problem;
  problem.config = "3sm";
  EXPECT_EQ(refusal_of(problem).substr(0, 52), "matmul: no configuration is called '3sm'; there are ");
  problem.config = "1sm_128x64_1x1";
  problem.alpha = 2;
  EXPECT_EQ(refusal_of(problem),
            "matmul: configuration '1sm_128x64_1x1' stores the sums as they are; alpha, activation, bias and "
            "residual take "
            "one whose name ends in '_fused'");
}

}  // namespace
}  // namespace heddle
