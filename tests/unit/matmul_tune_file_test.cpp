// SPDX-License-Identifier: Apache-2.0
//
// The file of tuned choices: what it says is taken, and what breaks its rules is refused with the line.
#include "matmul/host/matmul_tune_file.h"

#include <heddle/host/error.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace heddle {
namespace {

constexpr const char* kCard = "NVIDIA H200";

class MatmulTuneFile : public testing::Test {
 protected:
  void SetUp() override {
    path_ = (std::filesystem::path(testing::TempDir()) /
             (std::string("heddle_") + testing::UnitTest::GetInstance()->current_test_info()->name() + ".txt"))
                .string();
    std::filesystem::remove(path_);
  }
  void TearDown() override {
    matmul_use_tune_file("");
    std::filesystem::remove(path_);
  }

  void write(const std::string& text) const { std::ofstream(path_) << text; }

  // What reading the text is refused with, without the name of the file.
  std::string refusal(const std::string& text) const {
    write(text);
    try {
      (void)read_matmul_tune_file(path_);
    } catch (const InputError& error) {
      const std::string message = error.what();
      const std::string before = "matmul: tune file '" + path_ + "', ";
      EXPECT_TRUE(message.starts_with(before)) << message;
      return message.substr(before.size());
    }
    return "";
  }

  static std::string choice(const MatmulProblem& problem, const std::string& gpu = kCard,
                            std::uint64_t workspace = 0) {
    return matmul_sm90_choice(problem, false, false, workspace, gpu);
  }

  std::string path_;
};

TEST_F(MatmulTuneFile, ChoicesOfTheFileAreTaken) {
  write("# a comment\n\n NVIDIA H200 ; 300,304,640; bf16; fp32; nk; 64x64x64_13_1x1_single@n5\r\n");
  matmul_use_tune_file(path_);
  const MatmulProblem problem{.m = 300, .n = 304, .k = 640, .out_type = MatmulElement::kFp32};
  EXPECT_EQ(choice(problem), "64x64x64_13_1x1_single@n5");
}

TEST_F(MatmulTuneFile, OtherProblemsAndOtherCardsAreNotConcerned) {
  write("NVIDIA H200; 300,304,640; bf16; fp32; nk; 256x192x64_3_1x2_coop@n5\n");
  const MatmulProblem problem{.m = 300, .n = 304, .k = 640, .out_type = MatmulElement::kFp32};
  const MatmulProblem other{.m = 300, .n = 304, .k = 640};
  const std::string before = choice(problem, "NVIDIA H100");
  const std::string before_other = choice(other);
  matmul_use_tune_file(path_);
  EXPECT_EQ(choice(problem), "256x192x64_3_1x2_coop@n5");
  EXPECT_EQ(choice(problem, "NVIDIA H100"), before);
  EXPECT_EQ(choice(other), before_other);
}

TEST_F(MatmulTuneFile, TheLastLineForAProblemCounts) {
  write(
      "NVIDIA H200; 300,304,640; bf16; bf16; nk; 64x64x64_13_1x1_single@n5\n"
      "NVIDIA H200; 300,304,640; bf16; bf16; nk; 64x64x64_13_1x1_single@m2\n");
  matmul_use_tune_file(path_);
  EXPECT_EQ(choice({.m = 300, .n = 304, .k = 640}), "64x64x64_13_1x1_single@m2");
}

TEST_F(MatmulTuneFile, PartsOfKNeedTheirWorkspace) {
  write(
      "NVIDIA H200; 300,304,640; bf16; bf16; nk; 64x64x128_6_2x1_single@m1/2\n"
      "NVIDIA H200; 300,304,704; bf16; bf16; nk; 64x64x64_13_1x1_single@m1/2\n");
  matmul_use_tune_file(path_);
  const MatmulProblem problem{.m = 300, .n = 304, .k = 640};
  const std::uint64_t needed = 2 * 304 * 304 * 4;  // parts, rows in sixteens, columns, bytes
  EXPECT_EQ(choice(problem, kCard, needed), "64x64x128_6_2x1_single@m1/2");
  EXPECT_NE(choice(problem, kCard, needed - 1), "64x64x128_6_2x1_single@m1/2");
  EXPECT_EQ(choice({.m = 300, .n = 304, .k = 704}, kCard, 0), "64x64x64_13_1x1_single@m1/2")
      << "clusters need none";
}

TEST_F(MatmulTuneFile, WhatIsWrittenIsRead) {
  const MatmulProblem problem{.m = 7,
                              .n = 8,
                              .k = 16,
                              .a_type = MatmulElement::kFp16,
                              .b_type = MatmulElement::kFp16,
                              .out_type = MatmulElement::kFp32,
                              .b_layout = OperandLayout::kMnMajor,
                              .config = "128x256x64_4_2x1_coop_kn@m8"};
  add_to_matmul_tune_file(path_, {{kCard, problem}});
  add_to_matmul_tune_file(path_, {{"another card", problem}});
  const std::vector<MatmulTuned> lines = read_matmul_tune_file(path_);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].gpu, kCard);
  EXPECT_EQ(lines[1].gpu, "another card");
  EXPECT_EQ(lines[1].problem.m, 7);
  EXPECT_EQ(lines[1].problem.n, 8);
  EXPECT_EQ(lines[1].problem.k, 16);
  EXPECT_EQ(lines[1].problem.a_type, MatmulElement::kFp16);
  EXPECT_EQ(lines[1].problem.out_type, MatmulElement::kFp32);
  EXPECT_EQ(lines[1].problem.b_layout, OperandLayout::kMnMajor);
  EXPECT_EQ(lines[1].problem.config, problem.config);
}

TEST_F(MatmulTuneFile, BadLinesAreRefusedWithLineValueAndRule) {
  EXPECT_EQ(refusal("\nNVIDIA H200; 1,2,3\n"),
            "line 2: it has 2 fields; 'GPU; M,N,K; input; output; layout of B; configuration' has 6");
  EXPECT_EQ(refusal("x; 8,8; bf16; bf16; nk; 64x64x64_13_1x1_single"),
            "line 1: shape '8,8'; M,N,K with each 1 to 1073741824, as in 4096,4096,4096");
  EXPECT_EQ(refusal("x; 8,0,8; bf16; bf16; nk; 64x64x64_13_1x1_single"),
            "line 1: shape '8,0,8'; M,N,K with each 1 to 1073741824, as in 4096,4096,4096");
  EXPECT_EQ(refusal("x; 8,8,8; fp32; bf16; nk; 64x64x64_13_1x1_single"),
            "line 1: type of the inputs 'fp32'; known are bf16, fp16");
  EXPECT_EQ(refusal("x; 8,8,8; bf16; fp8; nk; 64x64x64_13_1x1_single"),
            "line 1: type of the output 'fp8'; known are bf16, fp16, fp32");
  EXPECT_EQ(refusal("x; 8,8,8; bf16; bf16; tn; 64x64x64_13_1x1_single"),
            "line 1: layout of B 'tn'; known are nk, kn");
  EXPECT_EQ(refusal("; 8,8,8; bf16; bf16; nk; 64x64x64_13_1x1_single"),
            "line 1: the GPU has no name; 'NVIDIA H200' is one");
  EXPECT_EQ(refusal("# fine\nx; 8,8,8; bf16; bf16; nk; 64x64x64_12_1x1_single@m1"),
            "line 2: matmul: no configuration is called '64x64x64_12_1x1_single'; the nearest is "
            "'64x64x64_13_1x1_single'");
  EXPECT_EQ(refusal("x; 8,8,8; bf16; bf16; nk; 64x64x64_13_1x1_single@m1/3"),
            "line 1: matmul: K in 3 equal parts, of its 1 blocks of 64: one would be empty. 1 would pass");
  EXPECT_EQ(refusal("x; 8,8,8; bf16; bf16; kn; 64x64x64_13_1x1_single"),
            "line 1: matmul: configuration '64x64x64_13_1x1_single' cannot run this problem: it has the other "
            "layout of B");
}

TEST_F(MatmulTuneFile, AFileThatIsNotThereIsRefused) {
  try {
    matmul_use_tune_file(path_);
    FAIL() << "was read";
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()),
              "matmul: tune file '" + path_ + "' cannot be read: No such file or directory");
  }
}

}  // namespace
}  // namespace heddle
