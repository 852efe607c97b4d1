// SPDX-License-Identifier: Apache-2.0
#include "matmul_scaled_reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace heddle::reference {

std::int64_t MatmulScaledCase::scales_per_row() const {
  const std::int64_t vector = scale_vector_of(problem.format);
  return (problem.k + vector - 1) / vector;
}

std::int64_t MatmulScaledCase::b_scale_rows() const {
  return is_blockwise(problem.format) ? (problem.n + 127) / 128 : problem.groups * problem.n;
}

FloatFormat MatmulScaledCase::element(bool is_a) const {
  constexpr FloatFormat kE4m3{4, 3, false};
  constexpr FloatFormat kE5m2{5, 2, true};
  switch (problem.format) {
    case ScaledFormat::kMxfp8E4m3:
    case ScaledFormat::kBlockwiseE4m3: return kE4m3;
    case ScaledFormat::kMxfp8E5m2:
    case ScaledFormat::kBlockwiseE5m2: return kE5m2;
    case ScaledFormat::kMxfp8E4m3E5m2: return is_a ? kE4m3 : kE5m2;
    case ScaledFormat::kMxfp8E5m2E4m3: return is_a ? kE5m2 : kE4m3;
    default: return {2, 1, false, false};
  }
}

void MatmulScaledCase::prepare() {
  MatmulScaledProblem& p = problem;
  std::mt19937_64 random(seed);
  if (p.rows != GroupRows::kAll) p.groups = static_cast<std::int64_t>(numbers.size());
  const std::int64_t step = 128 / bits_of_element(p.format);
  p.a_pitch = ((p.k + step - 1) / step + more) * step;
  p.b_pitch = p.a_pitch;
  out = Matrices(p.out_type, p.m, p.n, 1, more);
  p.out_pitch = out.pitch;
  a = operand(element(true), p.m, random);
  b = operand(element(false), p.groups * p.n, random);
  a_scales = scales(p.m, random);
  b_scales = scales(b_scale_rows(), random);
}

void MatmulScaledCase::reset_output() { std::fill(out.bytes.begin(), out.bytes.end(), Matrices::kPoison); }

MatmulScaledTensors MatmulScaledCase::tensors() {
  return {.a = a.data(),
          .b = b.data(),
          .a_scales = {a_scales.data(), problem.m, scales_per_row()},
          .b_scales = {b_scales.data(), b_scale_rows(), scales_per_row()},
          .out = out.bytes.data(),
          .group_rows = numbers.data()};
}

double MatmulScaledCase::value(const std::vector<unsigned char>& operand,
                               const std::vector<unsigned char>& scale_bytes, std::int64_t row, std::int64_t k,
                               std::int64_t rows_per_scale) const {
  const std::int64_t bits = bits_of_element(problem.format);
  const std::int64_t bit = (row * problem.a_pitch + k) * bits;
  const std::uint32_t byte = operand[static_cast<std::size_t>(bit / 8)];
  const std::uint32_t code = bits == 8 ? byte : byte >> bit % 8 & 15;
  const std::int64_t at = row / rows_per_scale * scales_per_row() + k / scale_vector_of(problem.format);
  return decode(element(&operand == &a), code) * scale(scale_bytes, static_cast<std::size_t>(at));
}

MatmulVerdict MatmulScaledCase::verify(double most,
                                       const std::function<void(std::int64_t, std::int64_t)>& progress) const {
  const MatmulScaledProblem& p = problem;
  MatmulVerdict verdict;
  const double macs_per_row = static_cast<double>(p.n) * static_cast<double>(p.k);
  const auto step =
      static_cast<std::int64_t>(std::max(1.0, std::ceil(static_cast<double>(p.m) * macs_per_row / most)));
  std::vector<double> row(static_cast<std::size_t>(p.k));
  std::vector<double> columns(static_cast<std::size_t>(p.n * p.k));
  const std::vector<std::int64_t> groups = group_of_rows(p.rows, p.m, numbers);
  std::int64_t decoded = -1;  // the group whose B is in the columns
  for (std::int64_t m = 0; m < p.m; m += step) {
    const std::int64_t g = groups[static_cast<std::size_t>(m)];
    if (g < 0) {
      const auto first = out.bytes.begin() + static_cast<std::ptrdiff_t>(out.offset(0, m, 0));
      const bool is_untouched =
          std::all_of(first, first + static_cast<std::ptrdiff_t>(p.n) * element_bytes_of(p.out_type),
                      [](unsigned char byte) { return byte == Matrices::kPoison; });
      if (!is_untouched && verdict.ok()) verdict.wrong = fmt::format("row {} is in no group and was written", m);
      continue;
    }
    for (std::int64_t n = 0; g != decoded && n < p.n; ++n) {
      for (std::int64_t k = 0; k < p.k; ++k) {
        columns[static_cast<std::size_t>(n * p.k + k)] =
            value(b, b_scales, g * p.n + n, k, is_blockwise(p.format) ? 128 : 1);
      }
    }
    decoded = g;
    for (std::int64_t k = 0; k < p.k; ++k) row[static_cast<std::size_t>(k)] = value(a, a_scales, m, k, 1);
    for (std::int64_t n = 0; n < p.n; ++n) {
      const TermSum sum = sum_of_products(row, columns.data() + n * p.k);
      const double alpha = static_cast<double>(p.alpha);
      const double wanted = alpha * sum.value;
      const double magnitude = std::fabs(alpha) * sum.magnitude;
      compare_element(verdict, out, 0, m, n, wanted, error_bound(wanted, magnitude),
                      data == MatmulData::kIntegers);
    }
    if (progress) progress(m + 1, p.m);
  }
  if (verdict.ok() && !out.is_padding_whole()) verdict.wrong = kWroteBetweenRows;
  return verdict;
}

double MatmulScaledCase::error_bound(double sum, double magnitude) const {
  const double of_floats = static_cast<double>(scales_per_row() + 3) * std::ldexp(1.0, -23) * magnitude;
  return bound_of_sum(problem.k, 256.0 / bits_of_element(problem.format), magnitude) + of_floats +
         bound_of_rounding(problem.out_type, sum, magnitude);
}

std::string MatmulScaledCase::describe() const {
  const MatmulScaledProblem& p = problem;
  return fmt::format("{}x{}x{} {} to {} config {} seed {}", p.m, p.n, p.k, name_of(p.format), name_of(p.out_type),
                     p.config.empty() ? "chosen" : p.config, seed);
}

double MatmulScaledCase::scale(const std::vector<unsigned char>& bytes, std::size_t index) const {
  if (is_blockwise(problem.format)) {
    float value;
    std::memcpy(&value, &bytes[4 * index], 4);
    return static_cast<double>(value);
  }
  if (problem.format == ScaledFormat::kNvfp4) return decode({4, 3, false}, bytes[index]);
  return std::ldexp(1.0, bytes[index] - 127);
}

// Small integers, or numbers of any code that is finite and not large.
std::vector<unsigned char> MatmulScaledCase::operand(FloatFormat f, std::int64_t rows,
                                                     std::mt19937_64& random) const {
  const std::int64_t bits = bits_of_element(problem.format);
  std::vector<unsigned char> bytes(static_cast<std::size_t>(rows * problem.a_pitch * bits / 8),
                                   Matrices::kPoison);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t k = 0; k < problem.k; ++k) {
      const double value = data == MatmulData::kIntegers
                               ? static_cast<double>(random() % 7) - 3.0
                               : (static_cast<double>(random() % 4096) - 2048.0) / 400.0;
      const std::uint32_t code = encode(f, rounded(f, value));
      const std::int64_t bit = (r * problem.a_pitch + k) * bits;
      auto& byte = bytes[static_cast<std::size_t>(bit / 8)];
      byte = static_cast<unsigned char>(bits == 8 ? code : (byte & (0xf0 >> bit % 8)) | code << bit % 8);
    }
  }
  return bytes;
}

// A half, one or two; or anything from an eighth to eight.
std::vector<unsigned char> MatmulScaledCase::scales(std::int64_t rows, std::mt19937_64& random) const {
  const auto count = static_cast<std::size_t>(rows * scales_per_row());
  std::vector<unsigned char> bytes(count * (is_blockwise(problem.format) ? 4 : 1));
  for (std::size_t i = 0; i < count; ++i) {
    const int exponent =
        data == MatmulData::kIntegers ? static_cast<int>(random() % 3) - 1 : static_cast<int>(random() % 7) - 3;
    if (is_blockwise(problem.format)) {
      const double fraction = data == MatmulData::kIntegers ? 0.0 : static_cast<double>(random() % 1000) / 1000.0;
      const auto value = static_cast<float>(std::ldexp(1.0 + fraction, exponent));
      std::memcpy(&bytes[4 * i], &value, 4);
    } else if (problem.format == ScaledFormat::kNvfp4) {
      const auto fraction = static_cast<int>(data == MatmulData::kIntegers ? random() % 2 * 4 : random() % 8);
      bytes[i] = static_cast<unsigned char>((exponent + 7) << 3 | fraction);
    } else {
      bytes[i] = static_cast<unsigned char>(exponent + 127);
    }
  }
  return bytes;
}

}  // namespace heddle::reference
