// SPDX-License-Identifier: Apache-2.0
#include "quantise_plan.h"

#include "matmul_checks.h"

#include "matmul/device/quantise_sm90.h"

#include <fmt/format.h>

#include <algorithm>

namespace heddle {

using namespace matmul_checks;

namespace {

constexpr std::int64_t kBlock = 128;
constexpr std::int64_t kMaxCols = 65535 * kBlock;  // what the second extent of a grid allows

std::int64_t rounded_up(std::int64_t value, std::int64_t step) { return (value + step - 1) / step * step; }

std::uint64_t pitch_of(const char* what, std::int64_t pitch, std::int64_t least) {
  const std::int64_t taken = pitch == 0 ? rounded_up(least, 4) : pitch;
  require(taken >= least, fmt::format("{}_pitch is {} elements, less than the {} of a row", what, taken, least));
  require(taken < kMaxExtent, fmt::format("{}_pitch is {} elements; at most {}", what, taken, kMaxExtent - 1));
  require(taken % 4 == 0, fmt::format("{}_pitch is {} elements; numbers are taken in fours, and {} would pass",
                                      what, taken, rounded_up(taken, 4)));
  return static_cast<std::uint64_t>(taken);
}

// The scales of a block are those of all its numbers.
struct HostBlock {
  const QuantiseProblem& problem;
  const QuantisePlan& plan;
  const QuantiseTensors& tensors;
  std::int64_t first_row;
  std::int64_t rows;
  std::int64_t first_col;
  std::int64_t cols;

  float number(std::int64_t row, std::int64_t col) const {
    const std::uint64_t at = static_cast<std::uint64_t>(row) * plan.in_pitch + static_cast<std::uint64_t>(col);
    return static_cast<const bf16*>(tensors.in)[at].to_float();
  }
  float quantise() const {
    float largest = 0;
    for (std::int64_t row = first_row; row < first_row + rows; ++row) {
      for (std::int64_t col = first_col; col < first_col + cols; ++col) {
        largest = larger_magnitude(largest, number(row, col));
      }
    }
    const float scale = quantise_scale(largest, problem.has_powers_of_two);
    for (std::int64_t row = first_row; row < first_row + rows; ++row) {
      for (std::int64_t col = first_col; col < first_col + cols; ++col) {
        const std::uint64_t at =
            static_cast<std::uint64_t>(row) * plan.out_pitch + static_cast<std::uint64_t>(col);
        static_cast<unsigned char*>(tensors.out)[at] =
            static_cast<unsigned char>(quantised(number(row, col), scale));
      }
    }
    return scale;
  }
};

}  // namespace

QuantisePlan plan_quantise(const QuantiseProblem& p, const QuantiseTensors& tensors) {
  check_extent("rows", p.rows);
  check_extent("cols", p.cols, kMaxCols);
  check_enumerator("blocks", p.blocks, QuantiseBlocks::kSquares);
  require(p.cols % 4 == 0, fmt::format("cols is {}; numbers are taken in fours, and {} would pass", p.cols,
                                       rounded_up(p.cols, 4)));
  const bool has_rows = p.blocks == QuantiseBlocks::kRows;
  const std::int64_t col_blocks = rounded_up(p.cols, kBlock) / kBlock;
  const std::int64_t lines = has_rows ? col_blocks : rounded_up(p.rows, kBlock) / kBlock;
  const std::int64_t of_line = has_rows ? p.rows : col_blocks;
  QuantisePlan plan;
  plan.in_pitch = pitch_of("in", p.in_pitch, p.cols);
  plan.out_pitch = pitch_of("out", p.out_pitch, p.cols);
  plan.scales_pitch = has_rows ? pitch_of("scales", p.scales_pitch, p.rows) : static_cast<std::uint64_t>(of_line);
  plan.col_blocks = static_cast<std::uint64_t>(col_blocks);
  const auto bytes = [](const char* what, std::int64_t rows, std::int64_t cols, std::uint64_t pitch,
                        std::uint32_t element_bytes) {
    return checked_bytes(what, rows, cols, pitch, pitch * static_cast<std::uint64_t>(rows), 1, element_bytes);
  };
  plan.in_bytes = bytes("in", p.rows, p.cols, plan.in_pitch, 2);
  plan.out_bytes = bytes("out", p.rows, p.cols, plan.out_pitch, 1);
  plan.scales_bytes = bytes("scales", lines, of_line, plan.scales_pitch, sizeof(float));
  check_address("in", tensors.in, plan.in_bytes);
  check_address("out", tensors.out, plan.out_bytes);
  check_address("scales", tensors.scales, plan.scales_bytes);
  check_apart("in", tensors.in, plan.in_bytes, tensors.out, plan.out_bytes);
  check_apart("scales", tensors.scales, plan.scales_bytes, tensors.out, plan.out_bytes);
  return plan;
}

void quantise_on_host(const QuantiseProblem& p, const QuantiseTensors& tensors) {
  const QuantisePlan plan = plan_quantise(p, tensors);
  const bool has_rows = p.blocks == QuantiseBlocks::kRows;
  const std::int64_t height = has_rows ? 1 : kBlock;
  for (std::int64_t row = 0; row < p.rows; row += height) {
    for (std::int64_t col = 0; col < p.cols; col += kBlock) {
      const HostBlock block{
          p, plan, tensors, row, std::min(height, p.rows - row), col, std::min(kBlock, p.cols - col)};
      const auto line = static_cast<std::uint64_t>(has_rows ? col / kBlock : row / kBlock);
      const auto in_line = static_cast<std::uint64_t>(has_rows ? row : col / kBlock);
      tensors.scales[line * plan.scales_pitch + in_line] = block.quantise();
    }
  }
}

}  // namespace heddle
