// SPDX-License-Identifier: Apache-2.0
#include "matmul_grouped.h"

#include <heddle/host/error.h>

#include <fmt/format.h>

#include <numeric>

namespace heddle::tool {

namespace {

GroupScaling scaling_of(const std::string& name) {
  for (const GroupScaling one :
       {GroupScaling::kNone, GroupScaling::kTensors, GroupScaling::kRows, GroupScaling::kBlocks}) {
    if (name == name_of(one)) return one;
  }
  throw InputError(fmt::format("--scales is '{}'; there are none, tensors, rows and blocks", name));
}

}  // namespace

std::vector<std::int32_t> group_numbers_of(const MatmulOptions& o) {
  std::vector<std::int32_t> numbers;
  const auto groups = static_cast<std::int64_t>(o.group_rows.size());
  std::int64_t end = 0;
  for (const std::int64_t rows : o.group_rows) {
    if (rows < 0) throw InputError(fmt::format("--group-rows has {}; 0 and more would pass", rows));
    end += rows;
    if (o.places && rows > o.m / groups) {
      throw InputError(
          fmt::format("--group-rows has {}, and with --places each of {} groups has {} of --m {} rows", rows,
                      groups, o.m / groups, o.m));
    }
    if (end > o.m) {
      throw InputError(fmt::format("--group-rows adds up to {} and more, and --m is {}", end, o.m));
    }
    numbers.push_back(static_cast<std::int32_t>(o.places ? rows : end));
  }
  return numbers;
}

GroupRows group_rows_of(const MatmulOptions& o) {
  return o.group_rows.empty() ? GroupRows::kAll : o.places ? GroupRows::kCounts : GroupRows::kEnds;
}

std::vector<std::string> Grouped::configs(const DeviceId& device) const {
  return matmul_grouped_configs(matmul.problem, device);
}

std::string Grouped::choice(const DeviceId& device) const {
  return matmul_grouped_choice(matmul.problem, device);
}

RunOutcome Grouped::run(const DeviceId& device, const RunOptions& options) {
  return matmul_grouped(matmul.problem, matmul.tensors(), device, options);
}

double Grouped::host_bytes() const {
  const MatmulGroupedProblem& p = matmul.problem;
  const auto area = [](std::int64_t rows, std::int64_t cols) {
    return static_cast<double>(rows) * static_cast<double>(cols);
  };
  return area(p.m, p.k) * element_bytes_of(p.a_type) +
         static_cast<double>(p.groups) * area(p.n, p.k) * element_bytes_of(p.b_type) +
         area(p.m, p.n) * element_bytes_of(p.out_type) + 8 * area(p.n, p.k);
}

std::string Grouped::types() const {
  const MatmulGroupedProblem& p = matmul.problem;
  std::string text = fmt::format("{} times {} to {}", name_of(p.a_type), name_of(p.b_type), name_of(p.out_type));
  if (p.scaling != GroupScaling::kNone) text += fmt::format(", scales of {}", name_of(p.scaling));
  if (p.rows != GroupRows::kAll) text += fmt::format(", {} groups", p.groups);
  return text;
}

bool is_grouped(const MatmulOptions& options) {
  return !options.scales.empty() || (!options.group_rows.empty() && options.scaled.empty());
}

Grouped grouped_of(const MatmulOptions& o, MatmulElement a_type, MatmulElement b_type, MatmulElement out_type) {
  const MatmulOptions plain;
  const auto only = [](bool is_default, const char* option) {
    if (!is_default) throw InputError(fmt::format("{} does not go with --group-rows or --scales", option));
  };
  if (!o.scaled.empty())
    throw InputError("--scaled does not go with --scales: its formats say what scales they have");
  only(o.batches == plain.batches, "--batches");
  only(o.splits == plain.splits, "--splits");
  only(o.a_layout == plain.a_layout && o.b_layout == plain.b_layout, "--a-layout or --b-layout");
  only(o.alpha == plain.alpha && o.beta == plain.beta && o.activation == plain.activation,
       "--alpha, --beta or --activation");
  only(o.bias == plain.bias && o.residual == plain.residual, "--bias or --residual");
  only(!o.packed, "--packed");
  only(o.traced == nullptr, "a trace of a GPU");
  Grouped grouped;
  MatmulGroupedProblem& p = grouped.matmul.problem;
  p.m = o.m;
  p.n = o.n;
  p.k = o.k;
  p.rows = group_rows_of(o);
  p.groups = o.group_rows.empty() ? 1 : static_cast<std::int64_t>(o.group_rows.size());
  p.a_type = a_type;
  p.b_type = b_type;
  p.out_type = out_type;
  p.scaling = scaling_of(o.scales.empty() ? "none" : o.scales);
  p.is_exact = o.exact;
  p.config = o.config;
  const std::int64_t step = 16 / element_bytes_of(a_type);
  if (p.k >= 0 && p.k < std::int64_t{1} << 40) p.a_pitch = p.b_pitch = (p.k + step - 1) / step * step;
  grouped.matmul.numbers = group_numbers_of(o);
  return grouped;
}

}  // namespace heddle::tool
