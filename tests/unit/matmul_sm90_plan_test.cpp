// SPDX-License-Identifier: Apache-2.0
//
// What is refused before a launch, and how: no GPU is needed to say so.
#include "matmul/host/matmul_sm90_plan.h"

#include <heddle/host/error.h>

#include <gtest/gtest.h>

#include <functional>

namespace heddle {
namespace {

std::string refusal(const std::function<void()>& of) {
  try {
    of();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

// Addresses of matrices that are never touched.
void* at(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

constexpr std::uintptr_t kA = 0x100000;
constexpr std::uintptr_t kB = 0x200000;
constexpr std::uintptr_t kOut = 0x300000;
constexpr std::uintptr_t kOther = 0x400000;

MatmulProblem problem_of_16() { return {.m = 16, .n = 16, .k = 16}; }

std::string refusal_of(const MatmulTensors& tensors, const MatmulProblem& problem = problem_of_16()) {
  return refusal([&] { (void)plan_matmul_sm90(problem, tensors, false); });
}

TEST(MatmulPlan, AddressesOffSixteenBytesAreRefused) {
  const auto with = [](const MatmulTensors& tensors) {
    return refusal([&] { check_alignment(problem_of_16(), tensors); });
  };
  EXPECT_EQ(with({.a = at(kA), .b = at(kB), .out = at(kOut)}), "");
  EXPECT_EQ(with({.a = at(kA + 8), .b = at(kB), .out = at(kOut)}),
            "matmul: a is at 0x100008; addresses are multiples of 16, and 0x100000 would pass");
  EXPECT_EQ(with({.a = at(kA), .b = at(kB), .out = at(kOut), .bias = at(kOther + 2)}), "");
  EXPECT_EQ(with({.a = at(kA), .b = at(kB), .out = at(kOut), .bias = at(kOther + 1)}),
            "matmul: bias is at 0x400001; addresses are multiples of 2, and 0x400000 would pass");
}

// Whoever asked for the parts: the problem, or its configuration.
TEST(MatmulPlan, RowsOfJoinedPartsThatEndInsideOf16BytesAreRagged) {
  const MatmulTensors tensors{.a = at(kA), .b = at(kB), .out = at(kOut)};
  MatmulProblem problem{.m = 17, .n = 18, .k = 256, .out_pitch = 24, .beta = 1, .splits = 2};
  problem.config = "128x128x64_6_1x1_pingpong_fused";
  EXPECT_TRUE(plan_matmul_sm90(problem, tensors, false).is_joined);
  EXPECT_TRUE(plan_matmul_sm90(problem, tensors, false).is_ragged);
  problem.splits = 1;
  problem.config += "/2";
  EXPECT_TRUE(plan_matmul_sm90(problem, tensors, false).is_ragged);
  problem.n = 24;
  EXPECT_FALSE(plan_matmul_sm90(problem, tensors, false).is_ragged);
  problem.config = "64x128x64_8_2x1_single_fused/2";
  problem.n = 18;
  EXPECT_FALSE(plan_matmul_sm90(problem, tensors, false).is_ragged) << "another kernel stores the output";
}

TEST(MatmulPlan, PartsOfKTakeAWorkspaceOfTheirSize) {
  MatmulProblem problem{.m = 17, .n = 18, .k = 256};
  problem.out_pitch = 24;
  const MatmulTensors tensors{.a = at(kA), .b = at(kB), .out = at(kOut)};
  problem.config = "64x64x64_13_1x1_single@m1/2";
  EXPECT_EQ(plan_matmul_sm90(problem, tensors, false).partial_bytes,
            2u * 32 * 20 * 4);  // rows in 16s, columns in 4s
  problem.n = 24;
  EXPECT_EQ(plan_matmul_sm90(problem, tensors, false).partial_bytes, 0u) << "clusters add them up";
  problem.config = "64x64x128_6_2x1_single@m1/2";
  EXPECT_EQ(plan_matmul_sm90(problem, tensors, false).partial_bytes, 2u * 32 * 24 * 4) << "they share B";
  problem.n = 18;
  problem.config = "64x64x64_13_1x1_single@m1/x";
  EXPECT_EQ(refusal_of(tensors, problem), "matmul: the parts of K '/x' of a configuration; '/4' is an example");
  problem.config = "64x64x64_13_1x1_single@m1/3";
  EXPECT_EQ(refusal_of(tensors, problem),
            "matmul: K in 3 equal parts, of its 4 blocks of 64: one would be empty. 2 would pass");
  problem.config = "";
  problem.splits = 3;
  EXPECT_EQ(
      refusal_of(tensors, problem),
      "matmul: splits is 3; the parts of K are equal and multiples of 64, and one would be empty. 2 would pass");
}

TEST(MatmulPlan, RowsThatBeginAnywhereTakeAWorkspace) {
  const MatmulTensors tensors{.a = at(kA), .b = at(kB), .out = at(kOut)};
  const MatmulPlan whole = plan_matmul_sm90({.m = 16, .n = 16, .k = 24}, tensors, false);
  EXPECT_EQ(whole.workspace_bytes(), 0u);
  const MatmulPlan odd_k = plan_matmul_sm90({.m = 16, .n = 32, .k = 21}, tensors, false);
  EXPECT_EQ(odd_k.a_copy.rows, 16u);
  EXPECT_EQ(odd_k.b_copy.rows, 32u);
  EXPECT_EQ(odd_k.b_copy.pitch, 24u);
  EXPECT_EQ(odd_k.b_copy.offset, 768u);
  EXPECT_EQ(odd_k.workspace_bytes(), 768u + 32 * 24 * 2);
  EXPECT_FALSE(odd_k.adds_up());
  const MatmulPlan odd_n = plan_matmul_sm90({.m = 16, .n = 21, .k = 24}, tensors, false);
  EXPECT_EQ(odd_n.a_copy.rows + odd_n.b_copy.rows, 0u);
  EXPECT_TRUE(odd_n.adds_up()) << "another kernel stores the output";
  EXPECT_EQ(odd_n.workspace_bytes(), 16u * 24 * 4);
  EXPECT_EQ(refusal([&] { check_workspace_of_rows(tensors, odd_n.workspace_bytes()); }),
            "matmul: the workspace has 0 bytes; rows that do not begin on multiples of 16 bytes take 1536");
}

TEST(MatmulPlan, PartsOfKLeaveRoomForCopiesOfRows) {
  const MatmulProblem problem{.m = 64, .n = 256, .k = 8197};
  const MatmulTensors tensors{.a = at(kA), .b = at(0x10000000), .out = at(0x20000000)};
  MatmulProblem padded = problem;  // the same but for its rows: nothing is copied
  padded.a_pitch = padded.b_pitch = 8200;
  const std::uint64_t copies = plan_matmul_sm90(problem, tensors, false, 0).workspace_bytes();
  for (std::uint64_t more = 0; more <= 1 << 20; more += 16 << 10) {
    for (const MatmulProblem& one : {padded, problem})
      EXPECT_LE(plan_matmul_sm90(one, tensors, false, copies + more).workspace_bytes(), copies + more) << more;
  }
}

TEST(MatmulPlan, ConfigurationsOfTheOtherTargetAreRefused) {
  MatmulProblem problem = problem_of_16();
  const MatmulTensors tensors{.a = at(kA), .b = at(kB), .out = at(kOut)};
  problem.config = "64x16x128_2_1x1_single_fused";
  EXPECT_EQ(refusal_of(tensors, problem),
            "matmul: configuration '64x16x128_2_1x1_single_fused' cannot run this problem: it is for the "
            "simulated SM only");
  problem.config = "64x128x64_8_2x1_single";
  EXPECT_EQ(refusal_of(tensors, problem), "");
  EXPECT_EQ(refusal([&] { (void)plan_matmul_sm90(problem, tensors, true); }),
            "matmul: configuration '64x128x64_8_2x1_single' cannot run this problem: it is for GPUs only");
}

TEST(MatmulPlan, CardsThatCannotRunTheKernelsAreRefused) {
  const auto with = [](const GpuList& list, int ordinal) {
    return refusal([&] { check_matmul_gpu(list, ordinal, 9); });
  };
  const GpuList two{{{0, "one", 9, 0}, {1, "another", 10, 0}}, ""};
  EXPECT_EQ(with(two, 0), "");
  EXPECT_EQ(with(two, 1), "matmul: GPU 1 (another) has compute capability 10.0; these kernels are for 9.0");
  EXPECT_EQ(with(two, 2), "matmul: there is no GPU 2; 0 to 1");
  EXPECT_EQ(with({{}, "no CUDA device was found"}, 0), "matmul: there is no GPU: no CUDA device was found");
}

TEST(MatmulPlan, ADriverThatIsTooOldIsNamedWithBothVersions) {
  EXPECT_EQ(
      driver_too_old(12040, 13000),
      "the driver is for CUDA 12.4 and this program for CUDA 13.0; a driver for CUDA 13.0 or later would do");
  EXPECT_EQ(driver_too_old(0, 13000), "no NVIDIA driver is loaded; one for CUDA 13.0 or later would do");
}

TEST(MatmulPlan, AStreamOfAnotherCardIsRefused) {
  EXPECT_EQ(refusal([] { check_matmul_stream(1, 1); }), "");
  EXPECT_EQ(refusal([] { check_matmul_stream(1, 0); }),
            "matmul: the stream belongs to GPU 1, and GPU 0 is the current one; cudaSetDevice(1) would pass");
}

}  // namespace
}  // namespace heddle
