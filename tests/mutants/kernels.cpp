// SPDX-License-Identifier: Apache-2.0
#include "kernels.h"

#include "matmul/host/matmul_families.h"
#include "matmul/host/matmul_sm100_host.h"
#include "matmul/host/matmul_sm100_scaled_host.h"
#include "matmul/reference/matmul_reference.h"
#include "matmul/reference/matmul_scaled_reference.h"
#include "tile_copy/tile_copy_host.h"

#include <cstdio>
#include <vector>

namespace heddle::test {

namespace {

// Several tiles for each of two CTAs that get the same copies.
int run_tile_copy(std::uint32_t rows) {
  const TileCopyProblem problem{.rank = 2,
                                .element_bytes = 2,
                                .dims = {128, rows},
                                .box = {64, 32},
                                .swizzle_bytes = 128,
                                .stages = 2,
                                .consumer_warps = 2,
                                .cluster = 2,
                                .ctas = 2};
  std::vector<unsigned char> source(plan_tile_copy(problem).tensor_bytes);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<unsigned char>(i * 7 + i / 256);
  const TileCopyResult result = tile_copy<Target::kSim>(problem, {.kernel = "tile_copy"}, source);
  std::fputs(result.outcome.report.c_str(), stdout);
  if (!result.outcome.ok()) return 1;
  for (const auto& output : result.outputs) {
    if (output != source) return 1;
  }
  return 0;
}

template <class Case, class Run>
int run_matmul(Case matmul, std::uint32_t sms, const Run& run) {
  matmul.prepare();
  const RunOutcome outcome = run(matmul.problem, matmul.tensors(), RunOptions{.kernel = "matmul", .sms = sms});
  std::fputs(outcome.report.c_str(), stdout);
  return outcome.ok() && matmul.verify().ok() ? 0 : 1;
}

// A cluster of two with multicast, two warpgroups that multiply, a ring that goes round, more than one tile.
int run_matmul_sm90(std::uint32_t m, std::uint32_t k) {
  return run_matmul(
      reference::MatmulCase{.problem = {.m = m, .n = 24, .k = k, .config = "128x24x64_3_2x1_coop_fused"}}, 2,
      [](const auto&... args) { return matmul_sm90<Target::kSim>(args...); });
}

// A pair of SMs, whose tiles cluster launch control hands out.
int run_matmul_sm100(std::uint32_t n, std::uint32_t k) {
  return run_matmul(reference::MatmulCase{.problem = {.m = 300, .n = n, .k = k, .config = "2sm_256x256_2x1"}}, 2,
                    [](const auto&... args) { return matmul_sm100<Target::kSim>(args...); });
}

int run_blockwise_fp8(std::uint32_t m, std::uint32_t n, std::uint32_t k) {
  return run_matmul(reference::MatmulScaledCase{.problem = {.m = m,
                                                            .n = n,
                                                            .k = k,
                                                            .format = ScaledFormat::kBlockwiseE4m3,
                                                            .config = "1sm_128x64_2x2"}},
                    4, [](const auto&... args) { return matmul_scaled_sm100<Target::kSim>(args...); });
}

const MutantKernel kKernels[] = {
    {"pipeline example", "01_pipeline", "", run_pipeline_example, nullptr},
    {"Hopper tiles example", "03_hopper_tiles", "", run_hopper_tiles_example, run_longer_hopper_tiles_example},
    {"attention example", "04_attention", "", run_attention_example, run_longer_attention_example},
    {"tile copy", "tile_copy", "Lj2ELj16384", [] { return run_tile_copy(160); },
     [] { return run_tile_copy(640); }},
    {"Hopper matmul", "matmul_sm90_instance", "", [] { return run_matmul_sm90(300, 300); },
     [] { return run_matmul_sm90(1400, 900); }},
    {"Blackwell matmul", "matmul_sm100_instance", "", [] { return run_matmul_sm100(300, 200); },
     [] { return run_matmul_sm100(1300, 200); }, true},
    {"blockwise FP8 matmul", "blockwise_fp8_instance", "", [] { return run_blockwise_fp8(136, 328, 384); },
     [] { return run_blockwise_fp8(136, 1000, 512); }, true},
};

}  // namespace

std::span<const MutantKernel> mutant_kernels() { return kKernels; }

}  // namespace heddle::test
