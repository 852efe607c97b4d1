// SPDX-License-Identifier: Apache-2.0
#include "matmul_checks.h"
#include "matmul_sm100_grouped_configs.h"
#include "matmul_sm100_scaled_configs.h"
#include "matmul_sm100_scaled_host.h"

#include <algorithm>
#include <cstring>

namespace heddle {

using namespace matmul_checks;

namespace {

std::int64_t rounded_up(std::int64_t value, std::int64_t step) { return (value + step - 1) / step; }

void check_scales(const char* what, const ScaleMatrix& scales, std::int64_t rows, std::int64_t cols) {
  require(scales.rows == rows && scales.cols == cols,
          fmt::format("{} is {} x {}; this problem takes {} x {}", what, scales.rows, scales.cols, rows, cols));
  require(rows * cols == 0 || scales.data != nullptr,
          fmt::format("{} is null and has {} scales", what, rows * cols));
}

// In bytes.
std::uint64_t checked_operand_pitch(const char* what, std::int64_t pitch, std::int64_t k, std::uint32_t bits) {
  const std::int64_t taken = pitch == 0 ? k : pitch;
  require(taken >= k, fmt::format("{}_pitch is {} numbers, less than the {} of a row", what, taken, k));
  require(taken < kMaxExtent, fmt::format("{}_pitch is {} numbers; at most {}", what, taken, kMaxExtent - 1));
  const std::int64_t step = 128 / bits;
  require(
      taken % step == 0,
      fmt::format(
          "rows of {} are {} numbers apart, {} bits; the copy engine takes multiples of 16 bytes. A pitch of {} "
          "would pass",
          what, taken, taken * bits, rounded_up(taken, step) * step));
  return static_cast<std::uint64_t>(taken) * bits / 8;
}

void check_groups(const MatmulScaledProblem& p) {
  check_extent("groups", p.groups);
  check_enumerator("rows", p.rows, GroupRows::kAll);
  if (p.rows == GroupRows::kAll) {
    require(p.groups == 1, fmt::format("groups is {}, and all rows are one group; 1 would pass", p.groups));
    return;
  }
  require(
      !is_blockwise(p.format),
      fmt::format("the format is {}, and rows are in groups; matmul_grouped takes blocks of 128, and mxfp8_e4m3 "
                  "would pass",
                  name_of(p.format)));
  // Places of rows are numbers of 32 bits, with a tile's rows added.
  check_extent("m", p.m, std::int64_t{1} << 30);
  const double tiles =
      (static_cast<double>(p.m) / 128 + static_cast<double>(p.groups)) * (static_cast<double>(p.n) / 128 + 1);
  require(tiles < double{1u << 31},
          fmt::format("{} rows of {} groups and {} columns are {:.3g} tiles; less than {}", p.m, p.groups, p.n,
                      tiles, 1u << 31));
  require(p.k > 0, "k is 0; groups take 1 and more");
  require(p.n % 8 == 0, fmt::format("n is {}; groups store their last rows 16 bytes at a time, and {} would pass",
                                    p.n, rounded_up(p.n, 8) * 8));
  require(p.rows != GroupRows::kCounts || p.groups == 0 || p.m % p.groups == 0,
          fmt::format("m is {} and there are {} groups with places of equal size; {} would pass", p.m, p.groups,
                      rounded_up(p.m, std::max<std::int64_t>(p.groups, 1)) * p.groups));
}

}  // namespace

const char* name_of(ScaledFormat format) {
  switch (format) {
    case ScaledFormat::kMxfp8E4m3: return "mxfp8_e4m3";
    case ScaledFormat::kMxfp8E5m2: return "mxfp8_e5m2";
    case ScaledFormat::kMxfp8E4m3E5m2: return "mxfp8_e4m3_e5m2";
    case ScaledFormat::kMxfp8E5m2E4m3: return "mxfp8_e5m2_e4m3";
    case ScaledFormat::kMxfp4: return "mxfp4";
    case ScaledFormat::kNvfp4: return "nvfp4";
    case ScaledFormat::kBlockwiseE4m3: return "blockwise_e4m3";
    case ScaledFormat::kBlockwiseE5m2: return "blockwise_e5m2";
  }
  return "unknown";
}

bool is_blockwise(ScaledFormat format) {
  return format == ScaledFormat::kBlockwiseE4m3 || format == ScaledFormat::kBlockwiseE5m2;
}

std::uint32_t bits_of_element(ScaledFormat format) {
  return format == ScaledFormat::kMxfp4 || format == ScaledFormat::kNvfp4 ? 4 : 8;
}

std::uint32_t scale_vector_of(ScaledFormat format) {
  return is_blockwise(format) ? 128 : format == ScaledFormat::kNvfp4 ? 16 : 32;
}

ScaleShapes scale_shapes_of(const MatmulScaledProblem& problem) {
  return {.a_rows = problem.m,
          .b_rows = is_blockwise(problem.format) ? rounded_up(problem.n, 128) : problem.groups * problem.n,
          .cols = rounded_up(problem.k, scale_vector_of(problem.format))};
}

std::vector<std::string> matmul_scaled_sm100_configs(ScaledFormat format, GroupRows rows) {
  std::vector<std::string> names;
  if (rows != GroupRows::kAll && !is_blockwise(format)) {
    for (const MatmulSm100GroupedNamed& named : kGroupedBlockScaledConfigs) names.emplace_back(named.name);
    return names;
  }
  if (is_blockwise(format)) {
    for (const MatmulScaledNamed& named : kBlockwiseConfigs) names.emplace_back(named.name);
  } else {
    for (const MatmulScaledNamed& named : kBlockScaledConfigs) names.emplace_back(named.name);
  }
  return names;
}

MatmulScaledPlan plan_matmul_scaled(const MatmulScaledProblem& p, const MatmulScaledTensors& tensors) {
  check_extent("m", p.m);
  check_extent("n", p.n);
  check_extent("k", p.k);
  check_enumerator("format", p.format, ScaledFormat::kBlockwiseE5m2);
  check_enumerator("out_type", p.out_type, MatmulElement::kE5m2);
  check_factor("alpha", p.alpha);
  check_groups(p);
  check_output_type(name_of(p.format), p.out_type);
  const std::uint32_t bits = bits_of_element(p.format);
  require(bits == 8 || p.k % 2 == 0,
          fmt::format("k is {}; two numbers of {} share a byte, so k is even. {} would pass", p.k,
                      name_of(p.format), p.k + 1));
  require(!is_blockwise(p.format) || p.alpha == 1,
          fmt::format("alpha is {}; with {} it is 1: put it into the scales", p.alpha, name_of(p.format)));
  MatmulScaledPlan plan;
  plan.a_pitch_bytes = checked_operand_pitch("a", p.a_pitch, p.k, bits);
  plan.b_pitch_bytes = checked_operand_pitch("b", p.b_pitch, p.k, bits);
  plan.row_bytes = static_cast<std::uint64_t>(p.k) * bits / 8;
  const std::uint32_t out = element_bytes_of(p.out_type);
  plan.out_pitch = checked_pitch("out", p.out_pitch, p.n, out);
  const auto row_bytes = static_cast<std::int64_t>(plan.row_bytes);
  plan.a_bytes = checked_bytes("a", p.m, row_bytes, plan.a_pitch_bytes,
                               plan.a_pitch_bytes * static_cast<std::uint64_t>(p.m), 1, 1);
  plan.b_group_bytes = plan.b_pitch_bytes * static_cast<std::uint64_t>(p.n);
  plan.b_bytes = checked_bytes("b", p.n, row_bytes, plan.b_pitch_bytes, plan.b_group_bytes, p.groups, 1);
  plan.group_rows_bytes =
      p.rows == GroupRows::kAll ? 0 : static_cast<std::size_t>(p.groups) * sizeof(std::int32_t);
  plan.out_bytes =
      checked_bytes("out", p.m, p.n, plan.out_pitch, plan.out_pitch * static_cast<std::uint64_t>(p.m), 1, out);
  if (p.groups == 0) plan.out_bytes = 0;
  const ScaleShapes shapes = scale_shapes_of(p);
  check_scales("a_scales", tensors.a_scales, shapes.a_rows, shapes.cols);
  check_scales("b_scales", tensors.b_scales, shapes.b_rows, shapes.cols);
  if (plan.out_bytes != 0) {
    check_address("a", tensors.a, plan.a_bytes);
    check_address("b", tensors.b, plan.b_bytes);
    check_address("out", tensors.out, plan.out_bytes);
    check_address("group_rows", tensors.group_rows, plan.group_rows_bytes);
    check_apart("group_rows", tensors.group_rows, plan.group_rows_bytes, tensors.out, plan.out_bytes);
    check_apart("a", tensors.a, plan.a_bytes, tensors.out, plan.out_bytes);
    check_apart("b", tensors.b, plan.b_bytes, tensors.out, plan.out_bytes);
    const std::size_t scale_bytes = is_blockwise(p.format) ? sizeof(float) : 1;
    const auto count = [](const ScaleMatrix& matrix) {
      return static_cast<std::size_t>(matrix.rows * matrix.cols);
    };
    check_apart("a_scales", tensors.a_scales.data, count(tensors.a_scales) * scale_bytes, tensors.out,
                plan.out_bytes);
    check_apart("b_scales", tensors.b_scales.data, count(tensors.b_scales) * scale_bytes, tensors.out,
                plan.out_bytes);
  }
  plan.is_ragged = p.n * out % 16 != 0;

  const std::vector<std::string> names = matmul_scaled_sm100_configs(p.format, p.rows);
  const auto found = p.config.empty() ? names.begin() : std::find(names.begin(), names.end(), p.config);
  require(found != names.end(), fmt::format("no configuration for {} is called '{}'; there are {}",
                                            name_of(p.format), p.config, fmt::join(names, ", ")));
  plan.config = static_cast<std::uint32_t>(found - names.begin());
  return plan;
}

std::vector<unsigned char> scale_blocks(const ScaleMatrix& scales) {
  const std::int64_t row_blocks = rounded_up(scales.rows, 128);
  const std::int64_t col_blocks = rounded_up(scales.cols, 4);
  std::vector<unsigned char> blocks(static_cast<std::size_t>(row_blocks * col_blocks * 512));
  const auto* from = static_cast<const unsigned char*>(scales.data);
  for (std::int64_t r = 0; r < scales.rows; ++r) {
    for (std::int64_t c = 0; c < scales.cols; ++c) {
      const std::int64_t block = r / 128 * col_blocks + c / 4;
      const std::int64_t in_block = r % 32 * 16 + r % 128 / 32 * 4 + c % 4;
      blocks[static_cast<std::size_t>(block * 512 + in_block)] = from[r * scales.cols + c];
    }
  }
  return blocks;
}

std::vector<unsigned char> padded_scales(const ScaleMatrix& scales, std::int64_t pitch) {
  std::vector<unsigned char> padded(static_cast<std::size_t>(scales.rows * pitch));
  const auto* from = static_cast<const unsigned char*>(scales.data);
  for (std::int64_t r = 0; r < scales.rows; ++r) {
    std::copy_n(from + r * scales.cols, scales.cols, padded.begin() + r * pitch);
  }
  return padded;
}

std::vector<float> transposed_scales(const ScaleMatrix& scales) {
  const std::int64_t pitch = rounded_up(scales.rows, 4) * 4;
  std::vector<float> transposed(static_cast<std::size_t>(pitch * scales.cols));
  const auto* from = static_cast<const unsigned char*>(scales.data);
  for (std::int64_t r = 0; r < scales.rows; ++r) {
    for (std::int64_t c = 0; c < scales.cols; ++c) {
      std::memcpy(&transposed[static_cast<std::size_t>(c * pitch + r)], from + (r * scales.cols + c) * 4, 4);
    }
  }
  return transposed;
}

}  // namespace heddle
