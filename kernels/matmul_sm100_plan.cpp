// SPDX-License-Identifier: Apache-2.0
#include "matmul_sm100_checks.h"
#include "matmul_sm100_configs.h"
#include "matmul_sm100_host.h"

#include <fmt/format.h>

#include <cstdint>

namespace heddle {

using namespace matmul_checks;

namespace {

constexpr std::int64_t kMaxSplits = 1024;

void check_extents(const MatmulSm100Problem& p) {
  check_extent("m", p.m);
  check_extent("n", p.n);
  check_extent("k", p.k);
  check_extent("batches", p.batches);
  require(p.splits >= 1 && p.splits <= kMaxSplits, fmt::format("splits is {}; 1 to {}", p.splits, kMaxSplits));
}

void check_types(const MatmulSm100Problem& p) {
  require(p.input != MatmulElement::kFp32, "the input is fp32; bf16, fp16, tf32, e4m3 or e5m2");
  const bool is_output =
      p.output == MatmulElement::kBf16 || p.output == MatmulElement::kFp16 || p.output == MatmulElement::kFp32;
  require(is_output, fmt::format("{} to {} is not a supported pair of types; the output is bf16, fp16 or fp32",
                                 name_of(p.input), name_of(p.output)));
}

}  // namespace

std::uint32_t element_bytes_of(MatmulElement type) {
  switch (type) {
    case MatmulElement::kBf16:
    case MatmulElement::kFp16:
      return 2;
    case MatmulElement::kFp32:
    case MatmulElement::kTf32:
      return 4;
    case MatmulElement::kE4m3:
    case MatmulElement::kE5m2:
      return 1;
  }
  return 0;
}

const char* name_of(MatmulElement type) {
  switch (type) {
    case MatmulElement::kBf16:
      return "bf16";
    case MatmulElement::kFp16:
      return "fp16";
    case MatmulElement::kFp32:
      return "fp32";
    case MatmulElement::kTf32:
      return "tf32";
    case MatmulElement::kE4m3:
      return "e4m3";
    case MatmulElement::kE5m2:
      return "e5m2";
  }
  return "unknown";
}

std::vector<std::string> matmul_sm100_configs() {
  std::vector<std::string> names;
  for (const MatmulSm100Named& named : kMatmulSm100Configs) names.emplace_back(named.name);
  return names;
}

// Two SMs where a problem has tiles for many of them.
std::string matmul_sm100_choice(const MatmulSm100Problem& problem, bool is_fused) {
  const bool is_large = problem.m > 128 && problem.n > 128;
  if (is_fused && problem.splits == 1) return is_large ? "2sm_256x128_2x1_fused" : "1sm_128x64_1x1_fused";
  return is_large ? "2sm_256x256_2x1" : "1sm_128x64_1x1";
}

MatmulSm100Plan plan_matmul_sm100(const MatmulSm100Problem& p, const MatmulTensors& tensors) {
  check_extents(p);
  check_types(p);
  const std::uint32_t in = element_bytes_of(p.input);
  const std::uint32_t out = element_bytes_of(p.output);
  MatmulSm100Plan plan;
  plan.a_pitch = checked_pitch("a", p.a_pitch, p.k, in);
  plan.b_pitch = checked_pitch("b", p.b_pitch, p.k, in);
  plan.out_pitch = checked_pitch("out", p.out_pitch, p.n, out);
  plan.a_batch_stride = checked_batch_stride("a", p.a_batch_stride, plan.a_pitch, p.m, p.batches, in);
  plan.b_batch_stride = checked_batch_stride("b", p.b_batch_stride, plan.b_pitch, p.n, p.batches, in);
  plan.out_batch_stride = checked_batch_stride("out", p.out_batch_stride, plan.out_pitch, p.m, p.batches, out);
  plan.a_bytes = checked_bytes("a", p.m, p.k, plan.a_pitch, plan.a_batch_stride, p.batches, in);
  plan.b_bytes = checked_bytes("b", p.n, p.k, plan.b_pitch, plan.b_batch_stride, p.batches, in);
  plan.out_bytes = checked_bytes("out", p.m, p.n, plan.out_pitch, plan.out_batch_stride, p.batches, out);
  if (plan.out_bytes != 0) {
    check_address("a", tensors.a, plan.a_bytes);
    check_address("b", tensors.b, plan.b_bytes);
    check_address("out", tensors.out, plan.out_bytes);
    check_apart("a", tensors.a, plan.a_bytes, tensors.out, plan.out_bytes);
    check_apart("b", tensors.b, plan.b_bytes, tensors.out, plan.out_bytes);
  }
  if (tensors.bias != nullptr) plan.bias_bytes = static_cast<std::size_t>(p.n) * out;
  if (tensors.residual != nullptr) {
    plan.residual_pitch = checked_pitch("residual", p.residual_pitch, p.n, out);
    plan.residual_batch_stride =
        checked_batch_stride("residual", p.residual_batch_stride, plan.residual_pitch, p.m, p.batches, out);
    plan.residual_bytes =
        checked_bytes("residual", p.m, p.n, plan.residual_pitch, plan.residual_batch_stride, p.batches, out);
  }
  if (plan.out_bytes != 0) {
    check_apart("bias", tensors.bias, plan.bias_bytes, tensors.out, plan.out_bytes);
    check_apart("residual", tensors.residual, plan.residual_bytes, tensors.out, plan.out_bytes);
  }
  if (p.splits > 1) {
    plan.partial_pitch = static_cast<std::uint64_t>(p.n + 3) / 4 * 4;
    plan.partial_bytes = checked_bytes(
        "the workspace of a split K", p.m, static_cast<std::int64_t>(plan.partial_pitch), plan.partial_pitch,
        plan.partial_pitch * static_cast<std::uint64_t>(p.m), p.batches * p.splits, 4);
  }
  plan.is_ragged = p.splits == 1 && p.n * out % 16 != 0;

  const bool is_fused =
      p.alpha != 1 || p.activation != Activation::kNone || tensors.bias != nullptr || tensors.residual != nullptr;
  const std::string name = p.config.empty() ? matmul_sm100_choice(p, is_fused) : p.config;
  std::string known;
  for (plan.config = 0; plan.config < kMatmulSm100ConfigCount; ++plan.config) {
    if (name == kMatmulSm100Configs[plan.config].name) break;
    known += fmt::format("{}{}", plan.config == 0 ? "" : ", ", kMatmulSm100Configs[plan.config].name);
  }
  require(plan.config < kMatmulSm100ConfigCount,
          fmt::format("no configuration is called '{}'; there are {}", name, known));
  require(
      !is_fused || p.splits > 1 || kMatmulSm100Configs[plan.config].is_fused,
      fmt::format(
          "configuration '{}' stores the sums as they are; alpha, activation, bias and residual take one whose "
          "name ends in '_fused'",
          name));
  return plan;
}

}  // namespace heddle
