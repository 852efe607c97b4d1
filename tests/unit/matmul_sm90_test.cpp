// SPDX-License-Identifier: Apache-2.0
//
// The Hopper matmul in the simulated SM: exact on integers, at ragged edges, in every form, under many
// schedules, with no report.
#include "../support/matmul_reference.h"

#include <heddle/host/error.h>
#include <heddle/sim/schedule.h>

#include <gtest/gtest.h>

#include <algorithm>

namespace heddle {
namespace {

using test::MatmulCase;

std::string schedule_of(std::uint64_t seed) { return seed == 0 ? "rr" : sim::Schedule::random(seed).name(); }

// Where the output differs first, padding included; empty if nowhere.
std::string first_difference(const MatmulCase& one, const std::vector<unsigned char>& expected) {
  const MatmulType type = one.problem.output;
  for (std::uint64_t i = 0; i < expected.size() / test::bytes_of(type); ++i) {
    const double is = test::read(type, one.data.out, i);
    const double must_be = test::read(type, expected, i);
    const std::size_t at = i * test::bytes_of(type);
    if (std::memcmp(&one.data.out[at], &expected[at], test::bytes_of(type)) != 0) {
      return "row " + std::to_string(i / one.problem.out_pitch) + ", column " + std::to_string(i % one.problem.out_pitch) +
             ": " + std::to_string(is) + ", must be " + std::to_string(must_be);
    }
  }
  return "";
}

void expect_exact(MatmulCase one, const std::string& schedule, std::uint32_t sms = 4) {
  const std::vector<unsigned char> expected = one.expected();
  const RunOutcome outcome =
      matmul<Target::kSim>(one.problem, one.data, {.kernel = "matmul", .schedule = schedule, .sms = sms});
  ASSERT_TRUE(outcome.ok()) << one.describe() << " schedule " << schedule << "\n" << outcome.report;
  EXPECT_EQ(first_difference(one, expected), "") << one.describe() << " schedule " << schedule;
}

const std::vector<std::string>& small_configs() {
  static const std::vector<std::string> names = {"128x24x64_3_2x1_coop_fused", "64x40x64_2_1x2_pingpong_fused",
                                                 "64x80x64_3_2x2_pingpong_fused", "64x16x128_2_1x1_single_fused"};
  return names;
}

TEST(MatmulSm90, EveryFormIsExactAtRaggedEdges) {
  for (const std::string& config : small_configs()) {
    for (const MatmulType output : {MatmulType::kBf16, MatmulType::kFp16, MatmulType::kFp32}) {
      const MatmulProblem problem{.m = 150, .n = 92, .k = 200, .output = output, .config = config};
      expect_exact(MatmulCase(problem, false, false, 1, 5), "rr");
    }
  }
}

TEST(MatmulSm90, TilesOfManyRoundsAreExact) {
  for (const std::string& config : small_configs()) {
    const MatmulProblem problem{.m = 300, .n = 170, .k = 130, .input = MatmulType::kFp16, .config = config + "@n2"};
    expect_exact(MatmulCase(problem, false, false, 0, 6), schedule_of(17));
  }
}

TEST(MatmulSm90, EveryChoiceOfTheLibraryCanBeRun) {
  for (const std::uint32_t m : {1u, 16u, 100u, 512u, 4096u, 8192u}) {
    for (const std::uint32_t n : {8u, 512u, 1000u, 14336u}) {
      for (const std::uint32_t k : {8u, 1024u, 16384u}) {
        const MatmulProblem problem{.m = m, .n = n, .k = k};
        const std::string choice = matmul_choice(problem, false, false);
        const std::vector<std::string> all = matmul_configs(problem, false, false);
        EXPECT_NE(std::find(all.begin(), all.end(), choice.substr(0, choice.find('@'))), all.end()) << choice;
      }
    }
  }
}

TEST(MatmulSm90, OneElementIsExact) {
  for (const std::string& config : small_configs()) {
    expect_exact(MatmulCase({.m = 1, .n = 1, .k = 1, .config = config}, true, true, 0, 7), "rr");
  }
}

TEST(MatmulSm90, BOfBothLayoutsIsExact) {
  const MatmulProblem problem{.m = 70, .n = 100, .k = 150, .b_layout = BLayout::kKN,
                              .config = "64x64x64_3_1x1_pingpong_kn_fused"};
  expect_exact(MatmulCase(problem, false, false, 2, 8), "rr");
}

TEST(MatmulSm90, EpilogueIsExactOnIntegers) {
  for (const std::string& config : small_configs()) {
    for (const MatmulType output : {MatmulType::kBf16, MatmulType::kFp16, MatmulType::kFp32}) {
      const MatmulProblem problem{.m = 70, .n = 51, .k = 70, .output = output, .alpha = 2, .beta = -1,
                                  .activation = Activation::kRelu, .config = config};
      expect_exact(MatmulCase(problem, true, true, 1, 9), "rr");
    }
  }
}

TEST(MatmulSm90, KInPartsIsExactInEveryFormAndUnderSchedules) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const std::string& config = small_configs()[seed % small_configs().size()];
    const std::uint32_t parts = 2 + seed % 2;  // of 5 blocks of 64, or 3 of 128: the last part is shorter
    const MatmulProblem problem{.m = 100 + static_cast<std::uint32_t>(seed), .n = 92, .k = 320,
                                .output = static_cast<MatmulType>(seed % 3),
                                .config = config + "@m2/" + std::to_string(parts)};
    expect_exact(MatmulCase(problem, false, false, 1, seed), schedule_of(seed));
  }
}

TEST(MatmulSm90, KInPartsHasTheWholeEpilogue) {
  for (const std::string config : {"64x16x128_2_1x1_single_fused/3", "64x112x64_9_2x1_single/5"}) {
    const MatmulProblem problem{.m = 70, .n = 51, .k = 300, .output = MatmulType::kFp16, .alpha = 2, .beta = -1,
                                .activation = Activation::kRelu, .config = config};
    expect_exact(MatmulCase(problem, true, true, 1, 9), schedule_of(3));
  }
}

TEST(MatmulSm90, ConfigurationsOfTheGpuRunInTheSimulatedSm) {
  for (const char* config : {"128x256x64_4_2x1_coop", "128x176x64_5_2x1_pingpong", "64x112x64_9_2x1_single"}) {
    const MatmulProblem problem{.m = 200, .n = 264, .k = 330, .config = config};
    expect_exact(MatmulCase(problem, false, false, 0, 10), "rr");
  }
}

TEST(MatmulSm90, EveryFormPassesUnderAHundredSchedules) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const std::string& config = small_configs()[seed % small_configs().size()];
    const MatmulProblem problem{.m = 140, .n = 90, .k = 260, .config = config};
    expect_exact(MatmulCase(problem, false, false, 0, seed), schedule_of(seed), static_cast<std::uint32_t>(4 + seed % 3 * 4));
  }
}

TEST(MatmulSm90, BadInputIsRefusedWithTheRule) {
  const auto message = [](const MatmulProblem& problem, std::size_t bytes) -> std::string {
    MatmulData data{.a = std::vector<unsigned char>(bytes), .b = std::vector<unsigned char>(bytes),
                    .out = std::vector<unsigned char>(bytes), .bias = {}, .residual = {}};
    try {
      (void)matmul<Target::kSim>(problem, data, {});
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message({.m = 0, .n = 8, .k = 8}, 1024), "matmul: m is 0; 1 to 1073741824");
  EXPECT_EQ(message({.m = 8, .n = 8, .k = 12}, 1024),
            "matmul: rows of a are 12 elements apart, 24 bytes; the copy engine takes multiples of 16 bytes. A pitch of "
            "16 would pass");
  EXPECT_EQ(message({.m = 8, .n = 8, .k = 8, .input = MatmulType::kFp32}, 1024),
            "matmul: the input is fp32; bf16 or fp16");
  EXPECT_EQ(message({.m = 64, .n = 8, .k = 16}, 1024), "matmul: a has 1024 bytes; its matrix takes 2048");
  EXPECT_EQ(message({.m = 8, .n = 8, .k = 8, .config = "64x16x128_3_1x1_single_fused"}, 1024),
            "matmul: no configuration is called '64x16x128_3_1x1_single_fused'; the nearest is "
            "'64x16x128_2_1x1_single_fused'");
  EXPECT_EQ(message({.m = 8, .n = 8, .k = 8, .config = "64x16x128_2_1x1_single_fused@x"}, 1024),
            "matmul: the order '@x' of a configuration; '@m8' and '@n8' are examples");
}

}  // namespace
}  // namespace heddle
