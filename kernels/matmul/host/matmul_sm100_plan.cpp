// SPDX-License-Identifier: Apache-2.0
#include "matmul_checks.h"
#include "matmul_sm100_configs.h"
#include "matmul_sm100_host.h"

#include <fmt/format.h>

#include <cstdint>

namespace heddle {

using namespace matmul_checks;

namespace {

bool is_fp8(MatmulElement type) { return type == MatmulElement::kE4m3 || type == MatmulElement::kE5m2; }

bool has_types(MatmulElement a, MatmulElement b) {
  return (a == b && a != MatmulElement::kFp32) || (is_fp8(a) && is_fp8(b));
}

bool are_k_major(const MatmulProblem& p) {
  return p.a_layout == OperandLayout::kKMajor && p.b_layout == OperandLayout::kKMajor;
}

constexpr MatmulRules kRules{.arch = "sm100",
                             .max_extent = kMaxExtent - 1,
                             .has_empty_k = true,
                             .has_batches = true,
                             .max_splits = 1024,
                             .has_beta = true,
                             .has_mn_major_a = true,
                             .has_mn_major_b = true,
                             .has_any_rows = false,
                             .has_types = has_types,
                             .types = "two of bf16, fp16 or tf32, or e4m3 and e5m2 in any mix"};

}  // namespace

std::vector<std::string> matmul_sm100_configs() {
  std::vector<std::string> names;
  for (const MatmulSm100Named& named : kMatmulSm100Configs) names.emplace_back(named.name);
  return names;
}

// Two SMs where a problem has tiles for many of them, and tiles of 64 rows where it has no more.
std::string matmul_sm100_choice(const MatmulProblem& problem, bool is_fused) {
  const bool is_large = problem.m > 128 && problem.n > 128;
  if (is_fused && problem.splits == 1) {
    return is_large || !are_k_major(problem) ? "2sm_256x128_2x1_fused" : "1sm_128x64_1x1_fused";
  }
  if (is_large) return "2sm_256x256_2x1";
  return problem.m <= 64 && are_k_major(problem) ? "1sm_64x64_1x1" : "1sm_128x64_1x1";
}

MatmulPlan plan_matmul_sm100(const MatmulProblem& p, const MatmulTensors& tensors, bool, std::uint64_t,
                             std::string_view) {
  MatmulPlan plan{check_matmul(p, tensors, kRules), {}};
  std::uint32_t& config = plan.choice.instance;
  plan.choice.splits = static_cast<std::uint32_t>(p.splits);
  if (p.splits > 1) {
    plan.partial_rows = static_cast<std::uint32_t>(p.m);
    plan.partial_pitch = static_cast<std::uint64_t>(p.n + 3) / 4 * 4;
    plan.partial_bytes = checked_bytes(
        "the workspace of a split K", p.m, static_cast<std::int64_t>(plan.partial_pitch), plan.partial_pitch,
        plan.partial_pitch * static_cast<std::uint64_t>(p.m), p.batches * p.splits, 4);
  }
  const std::string name = p.config.empty() ? matmul_sm100_choice(p, plan.is_fused) : p.config;
  std::string known;
  for (config = 0; config < kMatmulSm100ConfigCount; ++config) {
    if (name == kMatmulSm100Configs[config].name) break;
    known += fmt::format("{}{}", config == 0 ? "" : ", ", kMatmulSm100Configs[config].name);
  }
  require(config < kMatmulSm100ConfigCount,
          fmt::format("no configuration is called '{}'; there are {}", name, known));
  require(
      !plan.is_fused || p.splits > 1 || kMatmulSm100Configs[config].is_fused,
      fmt::format(
          "configuration '{}' stores the sums as they are; alpha, beta, activation, bias and residual take one "
          "whose name ends in '_fused'",
          name));
  std::string with_layouts;
  for (const MatmulSm100Named& named : kMatmulSm100Configs) {
    if (named.has_layouts) with_layouts += fmt::format("{}{}", with_layouts.empty() ? "" : ", ", named.name);
  }
  require(are_k_major(p) || kMatmulSm100Configs[config].has_layouts,
          fmt::format("configuration '{}' takes A as [M, K] and B as [N, K]; {} take other layouts", name,
                      with_layouts));
  return plan;
}

}  // namespace heddle
