// SPDX-License-Identifier: Apache-2.0
#include "matmul_reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

namespace heddle::reference {

namespace {

constexpr std::size_t kValues = 1024;

// Encoded numbers to draw from.
std::vector<std::uint32_t> values_of(MatmulElement type, MatmulData data) {
  std::vector<std::uint32_t> values(data == MatmulData::kIntegers ? 7 : kValues);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<double>(i);
    values[i] = stored_bits(type, data == MatmulData::kIntegers ? at - 3.0 : (at - 511.5) / 256.0);
  }
  return values;
}

void fill(Matrices& matrices, MatmulData data, std::mt19937_64& random) {
  const std::vector<std::uint32_t> values = values_of(matrices.type, data);
  const std::size_t size = element_bytes_of(matrices.type);
  for (std::int64_t b = 0; b < matrices.batches; ++b) {
    for (std::int64_t r = 0; r < matrices.rows; ++r) {
      for (std::int64_t c = 0; c < matrices.cols; ++c) {
        std::memcpy(&matrices.bytes[matrices.offset(b, r, c)], &values[random() % values.size()], size);
      }
    }
  }
}

// The numbers of an operand's matrix with K along the rows.
std::vector<double> rows_of(const Matrices& operand, OperandLayout layout, std::int64_t batch, std::int64_t outer,
                            std::int64_t k) {
  std::vector<double> values(static_cast<std::size_t>(outer * k));
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < k; ++i) {
      values[static_cast<std::size_t>(o * k + i)] =
          layout == OperandLayout::kKMajor ? operand.get(batch, o, i) : operand.get(batch, i, o);
    }
  }
  return values;
}

double activated(Activation activation, double x) {
  switch (activation) {
    case Activation::kRelu: return x > 0 ? x : 0;
    case Activation::kGelu: return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    case Activation::kSilu: return x / (1 + std::exp(-x));
    default: return x;
  }
}

}  // namespace

Matrices::Matrices(MatmulElement t, std::int64_t r, std::int64_t c, std::int64_t b, std::int64_t more,
                   bool is_packed)
    : type(t), rows(r), cols(c), batches(b) {
  const std::int64_t step = 16 / element_bytes_of(type);
  pitch = (is_packed ? cols : (cols + step - 1) / step * step) + more * step;
  bytes.assign(static_cast<std::size_t>(pitch * rows * batches * element_bytes_of(type)), kPoison);
}

std::size_t Matrices::offset(std::int64_t batch, std::int64_t row, std::int64_t col) const {
  return static_cast<std::size_t>(((batch * rows + row) * pitch + col) * element_bytes_of(type));
}

double Matrices::get(std::int64_t batch, std::int64_t row, std::int64_t col) const {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &bytes[offset(batch, row, col)], element_bytes_of(type));
  return stored_value(type, bits);
}

void Matrices::set(std::int64_t batch, std::int64_t row, std::int64_t col, double value) {
  const std::uint32_t bits = stored_bits(type, value);
  std::memcpy(&bytes[offset(batch, row, col)], &bits, element_bytes_of(type));
}

bool Matrices::is_padding_whole() const {
  for (std::int64_t b = 0; b < batches; ++b) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(offset(b, r, cols));
      const auto last = bytes.begin() + static_cast<std::ptrdiff_t>(offset(b, r, pitch));
      if (std::any_of(first, last, [](unsigned char byte) { return byte != kPoison; })) return false;
    }
  }
  return true;
}

void MatmulCase::prepare() {
  MatmulProblem& p = problem;
  std::mt19937_64 random(seed);
  const bool is_a_k_major = p.a_layout == OperandLayout::kKMajor;
  const bool is_b_k_major = p.b_layout == OperandLayout::kKMajor;
  a = Matrices(p.a_type, is_a_k_major ? p.m : p.k, is_a_k_major ? p.k : p.m, p.batches, more, is_packed);
  b = Matrices(p.b_type, is_b_k_major ? p.n : p.k, is_b_k_major ? p.k : p.n, p.batches, more, is_packed);
  out = Matrices(p.out_type, p.m, p.n, p.batches, more, is_packed);
  p.a_pitch = a.pitch;
  p.b_pitch = b.pitch;
  p.out_pitch = out.pitch;
  fill(a, data, random);
  fill(b, data, random);
  if (has_bias) {
    bias = Matrices(p.out_type, 1, p.n, 1, 0);
    fill(bias, data, random);
  }
  if (has_residual) {
    residual = Matrices(p.out_type, p.m, p.n, p.batches, more, is_packed);
    p.residual_pitch = residual.pitch;
    fill(residual, data, random);
  }
  if (p.beta != 0) fill(out, data, random);
  out_before = p.beta != 0 ? out : Matrices();
}

void MatmulCase::reset_output() {
  if (problem.beta != 0) {
    out = out_before;
  } else {
    std::fill(out.bytes.begin(), out.bytes.end(), Matrices::kPoison);
  }
}

MatmulTensors MatmulCase::tensors() {
  return {.a = a.bytes.data(),
          .b = b.bytes.data(),
          .out = out.bytes.data(),
          .bias = has_bias ? bias.bytes.data() : nullptr,
          .residual = has_residual ? residual.bytes.data() : nullptr};
}

bool MatmulCase::is_exact() const {
  return data == MatmulData::kIntegers && problem.activation != Activation::kGelu &&
         problem.activation != Activation::kSilu;
}

MatmulVerdict MatmulCase::verify(double most,
                                 const std::function<void(std::int64_t, std::int64_t)>& progress) const {
  const MatmulProblem& p = problem;
  MatmulVerdict verdict;
  const double macs_per_row = static_cast<double>(p.n) * static_cast<double>(p.k);
  const auto all_rows = static_cast<double>(p.m * p.batches);
  const auto step = static_cast<std::int64_t>(std::max(1.0, std::ceil(all_rows * macs_per_row / most)));
  for (std::int64_t batch = 0; batch < p.batches; ++batch) {
    const std::vector<double> columns = rows_of(b, p.b_layout, batch, p.n, p.k);
    std::vector<double> row(static_cast<std::size_t>(p.k));
    for (std::int64_t m = batch % step; m < p.m; m += step) {
      for (std::int64_t k = 0; k < p.k; ++k) {
        row[static_cast<std::size_t>(k)] =
            p.a_layout == OperandLayout::kKMajor ? a.get(batch, m, k) : a.get(batch, k, m);
      }
      for (std::int64_t n = 0; n < p.n; ++n) {
        const TermSum sum = sum_of_products(row, columns.data() + n * p.k);
        double wanted = static_cast<double>(p.alpha) * sum.value;
        double magnitude = std::fabs(static_cast<double>(p.alpha)) * sum.magnitude;
        const auto add = [&](double term) {
          wanted += term;
          magnitude += std::fabs(term);
        };
        if (p.beta != 0) add(static_cast<double>(p.beta) * out_before.get(batch, m, n));
        if (has_bias) add(bias.get(0, 0, n));
        wanted = activated(p.activation, wanted);
        if (has_residual) add(residual.get(batch, m, n));
        compare_element(verdict, out, batch, m, n, wanted, error_bound(wanted, magnitude), is_exact());
      }
      if (progress) progress(batch * p.m + m + 1, p.batches * p.m);
    }
  }
  if (verdict.ok() && !out.is_padding_whole()) verdict.wrong = kWroteBetweenRows;
  return verdict;
}

// Adding up splits, bias and residual rounds to float, and an activation passes an error on, at most 1.13 times.
double MatmulCase::error_bound(double result, double magnitude) const {
  const double k_step = 32.0 / std::max(element_bytes_of(problem.a_type), element_bytes_of(problem.b_type));
  const double of_floats = static_cast<double>(problem.splits + 8) * std::ldexp(1.0, -24) * magnitude;
  return 1.13 * (bound_of_sum(problem.k, k_step, magnitude) + of_floats) +
         bound_of_rounding(problem.out_type, result, magnitude);
}

std::string MatmulCase::describe() const {
  const MatmulProblem& p = problem;
  const auto layout = [](OperandLayout l) { return l == OperandLayout::kKMajor ? "" : " mn-major"; };
  constexpr const char* kActivations[] = {"", " relu", " gelu", " silu"};
  return fmt::format("{}x{}x{}{} {}{} times {}{} to {}{}{}{}{}{}{} config {} seed {}", p.m, p.n, p.k,
                     p.batches == 1 ? "" : fmt::format(" batches {}", p.batches), name_of(p.a_type),
                     layout(p.a_layout), name_of(p.b_type), layout(p.b_layout), name_of(p.out_type),
                     p.splits == 1 ? "" : fmt::format(" splits {}", p.splits),
                     p.alpha == 1 ? "" : fmt::format(" alpha {}", p.alpha),
                     p.beta == 0 ? "" : fmt::format(" beta {}", p.beta), has_bias ? " bias" : "",
                     kActivations[static_cast<int>(p.activation)], has_residual ? " residual" : "",
                     p.config.empty() ? "chosen" : p.config, seed);
}

// In four parts, which need not wait for one another.
TermSum sum_of_products(const std::vector<double>& row, const double* column) {
  double sums[4] = {};
  double magnitudes[4] = {};
  const auto add = [&](std::size_t part, std::size_t k) {
    const double product = row[k] * column[k];
    sums[part] += product;
    magnitudes[part] += std::fabs(product);
  };
  std::size_t k = 0;
  for (; k + 4 <= row.size(); k += 4) {
    for (std::size_t part = 0; part < 4; ++part) add(part, k + part);
  }
  for (; k < row.size(); ++k) add(0, k);
  return {(sums[0] + sums[1]) + (sums[2] + sums[3]),
          (magnitudes[0] + magnitudes[1]) + (magnitudes[2] + magnitudes[3])};
}

double bound_of_sum(std::int64_t k, double k_step, double magnitude) {
  const double steps = std::ceil(static_cast<double>(k) / k_step);
  return steps * ((k_step + 1) * std::ldexp(1.0, -25) + std::ldexp(1.0, -23)) * magnitude;
}

double bound_of_rounding(MatmulElement type, double result, double magnitude) {
  return std::ldexp(std::fabs(result) + magnitude * 1e-4, -format_of(type).fraction_bits - 1);
}

void compare_element(MatmulVerdict& verdict, const Matrices& out, std::int64_t batch, std::int64_t m,
                     std::int64_t n, double wanted, double bound, bool is_exact) {
  ++verdict.checked;
  const double got = out.get(batch, m, n);
  const double reference = is_exact ? rounded(format_of(out.type), wanted) : wanted;
  const double allowed = is_exact ? 0.0 : bound;
  const double error = std::fabs(got - reference);
  const bool is_right = error <= allowed;  // not so where the output is no number
  if (!is_right && verdict.wrong.empty()) {
    verdict.wrong = fmt::format("out[{}][{}][{}] is {}; {} within {}", batch, m, n, got, reference, allowed);
    verdict.error = error;
    verdict.bound = allowed;
  } else if (verdict.wrong.empty() && (verdict.checked == 1 || error * verdict.bound > verdict.error * allowed)) {
    verdict.error = error;
    verdict.bound = allowed;
  }
}

}  // namespace heddle::reference
