// SPDX-License-Identifier: Apache-2.0
//
// The file of tuned choices: what it says is taken, and what breaks its rules is refused with the line. And what
// is found at the first use of a shape, with times that the tests make up.
#include "matmul/host/matmul_tune_file.h"
#include "matmul/host/matmul_first_use.h"

#include <heddle/host/error.h>

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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
    std::filesystem::remove(path_ + ".lock");
  }

  std::string text() const {
    std::stringstream all;
    all << std::ifstream(path_).rdbuf();
    return all.str();
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

// Rows that the copy engine cannot read where they are cost a copy, and rows that it cannot store another kernel.
TEST_F(MatmulTuneFile, ALineHoldsForRowsThatBeginAsItsOwn) {
  const MatmulProblem packed{.m = 300, .n = 304, .k = 640, .config = "64x64x64_13_1x1_single@n5"};
  MatmulProblem padded = packed;
  padded.b_pitch = 648;
  padded.out_pitch = 312;
  padded.config = "256x192x64_3_1x2_coop@n5";
  add_to_matmul_tune_file(path_, {{kCard, padded}, {kCard, packed}});
  EXPECT_NE(text().find("; nk; 256x192x64_3_1x2_coop@n5; rows 640,648,312\n"), std::string::npos) << text();
  EXPECT_NE(text().find("; nk; 64x64x64_13_1x1_single@n5\n"), std::string::npos) << text();
  matmul_use_tune_file(path_);
  const auto chosen = [](MatmulProblem problem) {
    problem.config.clear();
    return choice(problem);
  };
  EXPECT_EQ(chosen(packed), packed.config);
  EXPECT_EQ(chosen(padded), padded.config);
  MatmulProblem in_full = packed;
  in_full.a_pitch = 640;
  EXPECT_EQ(chosen(in_full), packed.config) << "a pitch that says what is so anyway";
  padded.b_pitch = 712;
  EXPECT_EQ(chosen(padded), padded.config) << "on 16 bytes too";
  padded.b_pitch = 704;
  EXPECT_EQ(chosen(padded), packed.config) << "on 128, as those that follow one another";
  padded.out_pitch = 320;
  EXPECT_NE(chosen(padded), packed.config);
  EXPECT_NE(chosen(padded), padded.config);
  EXPECT_EQ(
      refusal("NVIDIA H200; 300,304,640; bf16; bf16; nk; 64x64x64_13_1x1_single@n5; rows 640,639,304\n"),
      "line 1: rows of A, B and the output 'rows 640,639,304'; 'rows 640,640,304' would pass, and each up to "
      "2147483647");
  EXPECT_EQ(refusal("NVIDIA H200; 300,304,640; bf16; bf16; kn; 128x256x64_4_2x1_coop_kn@n5; rows 640,304\n"),
            "line 1: rows of A, B and the output 'rows 640,304'; 'rows 640,304,304' would pass, and each up to "
            "2147483647");
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

// A matmul takes them, so tuning may find them.
TEST_F(MatmulTuneFile, TheLargestRowsAreRead) {
  constexpr std::int64_t kMost = 2147483647;
  const MatmulProblem problem{
      .m = 2, .n = 8, .k = 16, .a_pitch = kMost, .b_pitch = kMost, .config = "64x64x64_13_1x1_single@m1"};
  add_to_matmul_tune_file(path_, {{kCard, problem}});
  const std::vector<MatmulTuned> lines = read_matmul_tune_file(path_);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].problem.a_pitch, kMost);
  EXPECT_EQ(lines[0].problem.b_pitch, kMost);
  EXPECT_NE(refusal("x; 2,8,16; bf16; bf16; nk; 64x64x64_13_1x1_single@m1; rows 2147483648,16,8\n"), "");
}

TEST_F(MatmulTuneFile, BadLinesAreRefusedWithLineValueAndRule) {
  EXPECT_EQ(refusal("\nNVIDIA H200; 1,2,3\n"),
            "line 2: it has 2 fields; 'GPU; M,N,K; input; output; layout of B; configuration' has 6, and 'rows' "
            "may follow");
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

TEST_F(MatmulTuneFile, AFileWithoutAnEndIsRefused) {
  try {
    (void)read_matmul_tune_file("/dev/zero");
    FAIL() << "was read";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "matmul: tune file '/dev/zero' cannot be read: it is no ordinary file");
  }
}

TEST_F(MatmulTuneFile, APipeIsRefusedAndNotWaitedFor) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  alarm(10);  // ends a test that waits
  try {
    (void)read_matmul_tune_file(path_);
    FAIL() << "was read";
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()),
              "matmul: tune file '" + path_ + "' cannot be read: it is no ordinary file");
  }
  alarm(0);
}

TEST_F(MatmulTuneFile, AFileOfAnotherVersionOrForOtherKernelsIsRefused) {
  EXPECT_EQ(refusal("version 3; kernels 12345678\n"),
            "line 1: it is of 'version 3'; this library reads 'version 1' and 'version 2'");
  for (const char* version : {"version 1", "version 2"}) {
    const std::string others = refusal(std::string(version) + "; kernels 12345678\n");
    EXPECT_TRUE(others.starts_with("line 1: it was made for 'kernels 12345678', and this library has 'kernels "))
        << others;
    EXPECT_NE(refusal(std::string(version) + "\n"), "");
  }
  add_to_matmul_tune_file(path_ + ".own", {});
  EXPECT_EQ(read_matmul_tune_file(path_ + ".own").size(), 0u);
  std::filesystem::remove(path_ + ".own");
  std::filesystem::remove(path_ + ".own.lock");
}

TEST_F(MatmulTuneFile, WritingKeepsWhatElseIsThere) {
  write(
      "# mine\nother card; 8,8,8; bf16; bf16; nk; 64x64x64_13_1x1_single@n5\n"
      "NVIDIA H200; 8,8,8; bf16; bf16; nk; 64x64x64_13_1x1_single@n5\n");
  const MatmulProblem problem{.m = 8, .n = 8, .k = 8, .config = "64x64x64_13_1x1_single@m2:alone"};
  add_to_matmul_tune_file(path_, {{kCard, problem}});
  EXPECT_EQ(text(),
            "# mine\nother card; 8,8,8; bf16; bf16; nk; 64x64x64_13_1x1_single@n5\n"
            "NVIDIA H200; 8,8,8; bf16; bf16; nk; 64x64x64_13_1x1_single@m2:alone\n");
}

TEST_F(MatmulTuneFile, AnEmptyFileGetsItsVersion) {
  write("");
  add_to_matmul_tune_file(path_, {});
  EXPECT_EQ(text(), "version 2; kernels " + matmul_kernels_id() + "\n");
}

TEST_F(MatmulTuneFile, AFileOfTheFirstVersionIsReadAndWrittenAsTheSecond) {
  const std::string kernels = "; kernels " + matmul_kernels_id() + "\n";
  const std::string line = "NVIDIA H200; 16,8,8; bf16; bf16; nk; 64x64x64_13_1x1_single@n5\n";
  write("version 1" + kernels + line);
  ASSERT_EQ(read_matmul_tune_file(path_).size(), 1u);
  const MatmulProblem problem{.m = 8, .n = 8, .k = 8, .a_pitch = 9, .config = "64x64x64_13_1x1_single@m2"};
  add_to_matmul_tune_file(path_, {{kCard, problem}});
  EXPECT_EQ(text(), "version 2" + kernels + line +
                        "NVIDIA H200; 8,8,8; bf16; bf16; nk; 64x64x64_13_1x1_single@m2; rows 9,8,8\n");
  EXPECT_EQ(read_matmul_tune_file(path_).size(), 2u);
}

TEST_F(MatmulTuneFile, ADamagedFileIsNotWrittenTo) {
  const std::string damaged = "NVIDIA H200; 8,8,8; bf16; bf16; nk; 64x64x6";
  write(damaged);
  EXPECT_THROW(add_to_matmul_tune_file(path_, {{kCard, {.m = 8, .n = 8, .k = 8, .config = "x"}}}), InputError);
  EXPECT_EQ(text(), damaged);
}

TEST_F(MatmulTuneFile, ProcessesThatWriteAtOnceLoseNothing) {
  constexpr int kProcesses = 4;
  constexpr int kLines = 20;
  for (int process = 0; process < kProcesses; ++process) {
    if (fork() != 0) continue;
    for (int line = 0; line < kLines; ++line) {
      add_to_matmul_tune_file(
          path_,
          {{kCard, {.m = process + 1, .n = 8 * line + 8, .k = 64, .config = "64x64x64_13_1x1_single@m1"}}});
    }
    _exit(0);
  }
  for (int process = 0; process < kProcesses; ++process) {
    int status = 0;
    wait(&status);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(read_matmul_tune_file(path_).size(), std::size_t{kProcesses * kLines});
}

// In a process of its own, which reads the environment anew.
using MatmulTuneEnvironment = MatmulTuneFile;

[[noreturn]] void choose_and_exit() {
  const MatmulProblem problem{.m = 300, .n = 304, .k = 640};
  const std::string first = matmul_sm90_choice(problem, false, false, 0, kCard);
  const std::string again = matmul_sm90_choice({.m = 300, .n = 304, .k = 648}, false, false, 0, kCard);
  std::_Exit(first.empty() || again.empty() ? 1 : 0);
}

TEST_F(MatmulTuneEnvironment, ADamagedFileIsReportedOnceAndDoneWithout) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  write("NVIDIA H200; 300,304,640; bf16; bf16; nk; 64x64x6");
  setenv("HEDDLE_TUNE_FILE", path_.c_str(), 1);
  EXPECT_EXIT(choose_and_exit(), testing::ExitedWithCode(0),
              "^heddle: matmul: tune file '.*', line 1: .*'64x64x6'.*; going on without it\n$");
  unsetenv("HEDDLE_TUNE_FILE");
}

[[noreturn]] void print_path_and_exit() {
  std::fprintf(stderr, "%s\n", matmul_tune_path().c_str());
  std::_Exit(0);
}

TEST_F(MatmulTuneEnvironment, TheDefaultFileIsNamedAfterItsVersionAndTheKernels) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  setenv("HEDDLE_TUNE", "1", 1);
  setenv("XDG_CACHE_HOME", "/cache", 1);
  EXPECT_EXIT(print_path_and_exit(), testing::ExitedWithCode(0),
              "^/cache/heddle/matmul-2-" + matmul_kernels_id() + "\\.tune\n$");
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HEDDLE_TUNE");
}

class MatmulFirstUse : public MatmulTuneFile {
 protected:
  void SetUp() override {
    MatmulTuneFile::SetUp();
    add_to_matmul_tune_file(path_, {});
    matmul_use_tune_file(path_);
  }

  static MatmulSm90Needs needs() { return {.workspace_bytes = kMatmulWorkspaceBytes, .gpu = kCard}; }
};

TEST_F(MatmulFirstUse, TheFastestIsKeptForThisProcessAndTheFile) {
  const MatmulProblem problem{.m = 520, .n = 1040, .k = 2048};
  const std::string before = choice(problem, kCard, kMatmulWorkspaceBytes);
  ASSERT_TRUE(is_first_use(problem, {}, needs()));
  std::vector<std::string> timed;
  const auto likely = likely_matmul_sm90(problem, needs(), 1.25, 12);
  ASSERT_GT(likely.size(), 2u);
  EXPECT_EQ(name_of(likely[0]), before);
  const std::string slow = name_of(likely[2]);
  tune_first_use(problem, needs(), [&]() -> MatmulTimer {
    return [&](const MatmulSm90Choice& one) {
      timed.push_back(name_of(one));
      return timed.back() == slow ? 5.0 : 6.0;
    };
  });
  EXPECT_EQ(timed.size(), likely.size() + 1) << "and the winner in the other order of tiles";
  EXPECT_EQ(choice(problem, kCard, kMatmulWorkspaceBytes), slow);
  EXPECT_FALSE(is_first_use(problem, {}, needs()));
  const std::vector<MatmulTuned> kept = read_matmul_tune_file(path_);
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].problem.config, slow);
  tune_first_use(problem, needs(), [&]() -> MatmulTimer { throw InputError("timed a second time"); });
}

// The last row of each of a batch, or the last of a sequence: m = 1, and another pitch with each length.
TEST_F(MatmulFirstUse, LengthsOfASequenceAreTunedOnce) {
  int count = 0;
  for (const std::int64_t length : {1, 2, 3, 5, 64}) {
    for (const std::int64_t m : {1, 4}) {
      const MatmulProblem problem{.m = m, .n = 1040, .k = 2112, .a_pitch = 2112 * length};
      tune_first_use(problem, needs(), [&]() -> MatmulTimer {
        ++count;
        return [](const MatmulSm90Choice&) { return 5.0; };
      });
      EXPECT_FALSE(is_first_use(problem, {}, needs()));
    }
  }
  EXPECT_EQ(count, 2);
  EXPECT_EQ(read_matmul_tune_file(path_).size(), 2u);
  EXPECT_TRUE(is_first_use({.m = 4, .n = 1040, .k = 2112, .a_pitch = 2120}, {}, needs())) << "off 128 bytes";
  EXPECT_FALSE(is_first_use({.m = 1, .n = 1040, .k = 2112, .a_pitch = 2120}, {}, needs())) << "one row";
  EXPECT_TRUE(is_first_use({.m = 1, .n = 1040, .k = 2112, .a_pitch = 2113}, {}, needs())) << "off 16";
}

TEST_F(MatmulFirstUse, TheChoiceOfTheLibraryIsTimedToo) {
  const MatmulProblem problem{.m = 16, .n = 4096, .k = 14336};  // of the table, in an order of its own
  const std::string own = choice(problem, kCard, kMatmulWorkspaceBytes);
  const std::size_t likely = likely_matmul_sm90(problem, needs(), 1.25, 12).size();
  std::vector<std::string> timed;
  tune_first_use(problem, needs(), [&]() -> MatmulTimer {
    return [&](const MatmulSm90Choice& one) {
      timed.push_back(name_of(one));
      return timed.back() == own ? 5.0 : 6.0;
    };
  });
  EXPECT_EQ(timed.size(), likely + 2) << "and the winner in the other order of tiles";
  EXPECT_EQ(choice(problem, kCard, kMatmulWorkspaceBytes), own);
  ASSERT_EQ(read_matmul_tune_file(path_).size(), 1u);
  EXPECT_EQ(read_matmul_tune_file(path_)[0].problem.config, own);
}

TEST_F(MatmulFirstUse, OtherThreadsGoOnMeanwhile) {
  const MatmulProblem problem{.m = 544, .n = 1040, .k = 2048};
  const MatmulProblem other{.m = 552, .n = 1040, .k = 2048};
  bool is_first = true;
  bool is_timed = false;
  testing::internal::CaptureStderr();
  tune_first_use(problem, needs(), [&]() -> MatmulTimer {
    std::thread([&] {
      is_first = is_first_use(other, {}, needs());
      tune_first_use(other, needs(), [&]() -> MatmulTimer {
        is_timed = true;
        throw InputError("no room");
      });
    }).join();
    throw InputError("no room");
  });
  testing::internal::GetCapturedStderr();
  EXPECT_FALSE(is_first);
  EXPECT_FALSE(is_timed);
  EXPECT_TRUE(is_first_use(other, {}, needs())) << "at its next call";
}

TEST_F(MatmulFirstUse, WhatAnotherFileDoesNotKnowIsAFirstUse) {
  const MatmulProblem problem{.m = 560, .n = 1040, .k = 2048, .config = "64x64x64_13_1x1_single@m2"};
  MatmulProblem unnamed = problem;
  unnamed.config.clear();
  keep_tuned_matmul_choice({kCard, problem});
  EXPECT_FALSE(is_first_use(unnamed, {}, needs()));
  EXPECT_FALSE(is_first_use(unnamed, {}, needs())) << "nor when it is asked again";
  matmul_use_tune_file("");
  EXPECT_TRUE(is_first_use(unnamed, {}, needs()));
}

TEST_F(MatmulFirstUse, WhereNothingCanBeTimedTheChoiceStays) {
  const MatmulProblem problem{.m = 528, .n = 1040, .k = 2048};
  const std::string before = choice(problem, kCard, kMatmulWorkspaceBytes);
  testing::internal::CaptureStderr();
  tune_first_use(problem, needs(), [&]() -> MatmulTimer { throw InputError("no room"); });
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "heddle: matmul 528,1040,2048 was not tuned: no room\n");
  EXPECT_EQ(choice(problem, kCard, kMatmulWorkspaceBytes), before);
  EXPECT_FALSE(is_first_use(problem, {}, needs())) << "it is not tried again";
}

TEST_F(MatmulFirstUse, OnlyPlainProblemsAreTuned) {
  const float bias = 0;
  EXPECT_TRUE(is_first_use({.m = 536, .n = 1040, .k = 2048}, {}, needs()));
  EXPECT_FALSE(is_first_use({.m = 536, .n = 1040, .k = 2048}, {.bias = &bias}, needs()));
  EXPECT_FALSE(is_first_use({.m = 536, .n = 1040, .k = 2048, .splits = 2}, {}, needs()));
  EXPECT_FALSE(is_first_use({.m = 536, .n = 1040, .k = 2048, .config = "64x64x64_13_1x1_single"}, {}, needs()));
  EXPECT_FALSE(is_first_use({.m = 0, .n = 1040, .k = 2048}, {}, needs()));
  EXPECT_FALSE(matmul_tunes_first_use()) << "unless the environment says so";
}

}  // namespace
}  // namespace heddle
