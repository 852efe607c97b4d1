// SPDX-License-Identifier: Apache-2.0
//
// Kernels of this repository as nvcc compiles them, in the simulated SM: the results are those of the same
// kernels as C++, under several schedules, and there is nothing to report.
#include "matmul/host/matmul_families.h"
#include "matmul/host/matmul_sm100_scaled_host.h"
#include "matmul/reference/matmul_reference.h"
#include "module_file.h"
#include "tile_copy/tile_copy_host.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#define main run_pipeline_example
#include "../../examples/01_pipeline.cu"
#undef main

int run_seed_listings_example();

namespace heddle {
namespace {

using test::load;
using test::text_of;

const char* const kArchs[] = {"sm_90a", "sm_100a"};

TEST(PtxKernels, ThePipelineExampleSumsItsTiles) {
  for (const char* arch : kArchs) {
    const sim::PtxModule module = load("01_pipeline", arch);
    EXPECT_EQ(module.target(), arch);
    const sim::PtxInstead instead(module);
    EXPECT_EQ(run_pipeline_example(), 0) << arch;
    EXPECT_EQ(instead.launches(), 1u);
  }
}

// The program as nvcc made it, with one number changed.
TEST(PtxKernels, AChangedByteCountIsExplainedByItsBarrierAndLines) {
  std::string text = text_of("01_pipeline", "sm_90a");
  const std::size_t arrive = text.find("mbarrier.arrive.expect_tx");
  ASSERT_NE(arrive, std::string::npos);
  const std::string number = ", 4096;";
  const std::size_t at = text.rfind(number, arrive);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, number.size(), ", 8192;");
  const sim::PtxModule module = sim::PtxModule::load(text, "01_pipeline.ptx");
  const sim::PtxInstead instead(module);
  testing::internal::CaptureStdout();
  EXPECT_EQ(run_pipeline_example(), 1);
  const std::string printed = testing::internal::GetCapturedStdout();
  EXPECT_NE(printed.find("[deadlock]"), std::string::npos) << printed;
  EXPECT_NE(printed.find("bytes 4096 of 8192"), std::string::npos) << printed;
  EXPECT_NE(printed.find("01_pipeline.cu:"), std::string::npos) << printed;
  EXPECT_NE(printed.find("01_pipeline.ptx:"), std::string::npos) << printed;
}

TEST(PtxKernels, TheSeedListingsRunOnBlackwell) {
  const sim::PtxModule module = load("02_seed_listings", "sm_100a");
  const sim::PtxInstead instead(module);
  EXPECT_EQ(run_seed_listings_example(), 0);
  EXPECT_EQ(instead.launches(), 2u);
}

TEST(PtxKernels, TileCopyGivesWhatTheCppKernelGives) {
  const TileCopyProblem problems[] = {
      {.rank = 2, .element_bytes = 2, .dims = {250, 130}, .box = {64, 32}, .swizzle_bytes = 128, .ctas = 4},
      {.rank = 3, .element_bytes = 4, .dims = {40, 30, 5}, .box = {32, 8, 2}, .swizzle_bytes = 0, .ctas = 2},
      {.rank = 2,
       .element_bytes = 1,
       .dims = {512, 64},
       .box = {64, 64},
       .swizzle_bytes = 64,
       .cluster = 2,
       .ctas = 2},
  };
  for (const char* arch : kArchs) {
    const sim::PtxModule module = load("tile_copy", arch);
    for (const TileCopyProblem& problem : problems) {
      std::vector<unsigned char> source(plan_tile_copy(problem).tensor_bytes);
      for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<unsigned char>(i * 7 + i / 256);
      for (const char* schedule : {"rr", "1", "2b", "7f3a91c4"}) {
        const RunOptions options{.schedule = schedule, .arch = arch == kArchs[0] ? Arch::kSm90 : Arch::kSm100};
        const TileCopyResult expected = tile_copy<Target::kSim>(problem, options, source);
        const sim::PtxInstead instead(module);
        const TileCopyResult result = tile_copy<Target::kSim>(problem, options, source);
        ASSERT_TRUE(expected.outcome.ok()) << expected.outcome.report;
        ASSERT_TRUE(result.outcome.ok()) << arch << " " << schedule << "\n" << result.outcome.report;
        EXPECT_EQ(result.outputs, expected.outputs) << arch << " " << schedule;
        EXPECT_EQ(result.outcome.copies, expected.outcome.copies);
        EXPECT_EQ(instead.launches(), 1u);
      }
    }
  }
}

TEST(PtxKernels, MatmulGivesWhatTheCppKernelGives) {
  const sim::PtxModule module = load("matmul_instances", "sm_90a");
  for (const char* config :
       {"128x24x64_3_2x1_coop_fused", "64x40x64_2_1x2_pingpong_fused", "64x16x128_2_1x1_single_fused"}) {
    for (const char* schedule : {"rr", "3", "5eed"}) {
      const MatmulProblem problem{
          .m = 150, .n = 92, .k = 200, .out_type = MatmulElement::kFp32, .config = config};
      reference::MatmulCase one{.problem = problem, .seed = 5, .more = 1, .has_bias = true};
      one.prepare();
      reference::MatmulCase other = one;
      const RunOptions options{.kernel = "matmul", .schedule = schedule};
      const RunOutcome expected = matmul_sm90<Target::kSim>(one.problem, one.tensors(), options);
      ASSERT_TRUE(expected.ok()) << expected.report;
      const sim::PtxInstead instead(module);
      const RunOutcome outcome = matmul_sm90<Target::kSim>(other.problem, other.tensors(), options);
      ASSERT_TRUE(outcome.ok()) << config << " " << schedule << "\n" << outcome.report;
      EXPECT_TRUE(other.out.bytes == one.out.bytes) << config << " " << schedule;
      EXPECT_EQ(instead.launches(), 1u);
    }
  }
}

TEST(PtxKernels, BlockScaledMatmulGivesWhatTheCppKernelGives) {
  const sim::PtxModule module = load("matmul_sm100_block_scaled", "sm_100a");
  constexpr std::int64_t kSize = 256;
  for (const ScaledFormat format : {ScaledFormat::kMxfp8E4m3, ScaledFormat::kMxfp4, ScaledFormat::kNvfp4}) {
    const std::int64_t scales = kSize / scale_vector_of(format);
    const auto bytes = static_cast<std::size_t>(kSize * kSize * bits_of_element(format) / 8);
    std::vector<unsigned char> a(bytes), b(bytes);
    std::vector<unsigned char> a_scales(static_cast<std::size_t>(kSize * scales)), b_scales(a_scales.size());
    for (std::size_t i = 0; i < bytes; ++i) {
      a[i] = static_cast<unsigned char>((i * 37 + i / 91) & 0x33);
      b[i] = static_cast<unsigned char>((i * 53 + i / 17) & 0x33);
    }
    const unsigned char one = format == ScaledFormat::kNvfp4 ? 0x38 : 127;
    for (std::size_t i = 0; i < a_scales.size(); ++i) {
      a_scales[i] = static_cast<unsigned char>(one + i % 3);
      b_scales[i] = static_cast<unsigned char>(one - i % 2);
    }
    const MatmulScaledProblem problem{.m = kSize, .n = kSize, .k = kSize, .format = format};
    for (const char* schedule : {"rr", "3"}) {
      std::vector<unsigned char> expected(kSize * kSize * 2, 0xEE);
      std::vector<unsigned char> result = expected;
      const auto run = [&](std::vector<unsigned char>& out) {
        return matmul_scaled_sm100<Target::kSim>(
            problem,
            {.a = a.data(),
             .b = b.data(),
             .a_scales = {a_scales.data(), kSize, scales},
             .b_scales = {b_scales.data(), kSize, scales},
             .out = out.data()},
            {.kernel = "matmul", .schedule = schedule, .arch = Arch::kSm100});
      };
      const RunOutcome outcome = run(expected);
      ASSERT_TRUE(outcome.ok()) << outcome.report;
      const sim::PtxInstead instead(module);
      const RunOutcome as_ptx = run(result);
      ASSERT_TRUE(as_ptx.ok()) << name_of(format) << " " << schedule << "\n" << as_ptx.report;
      EXPECT_TRUE(result == expected) << name_of(format) << " " << schedule;
      EXPECT_EQ(instead.launches(), 1u);
    }
  }
}

}  // namespace
}  // namespace heddle
