// SPDX-License-Identifier: Apache-2.0
//
// Matmuls with data, and what their outputs must be: decoded bit by bit from the formats' definitions and summed
// in double, with nothing of the library but the problem's types. Integer data give exact sums, so that the
// comparison needs no tolerance; other data come with the bound that the tensor cores' arithmetic keeps.
#pragma once

#include "matmul_sm100_host.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace heddle::test {

// A binary floating-point format with a sign, so many bits of exponent and of fraction.
struct FloatFormat {
  int exponent_bits;
  int fraction_bits;
  bool has_infinity;
  bool has_nan = true;  // without infinity: all ones

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
};

inline FloatFormat format_of(MatmulElement type) {
  switch (type) {
    case MatmulElement::kBf16:
      return {8, 7, true};
    case MatmulElement::kFp16:
      return {5, 10, true};
    case MatmulElement::kFp32:
      return {8, 23, true};
    case MatmulElement::kTf32:
      return {8, 10, true};
    case MatmulElement::kE4m3:
      return {4, 3, false};
    case MatmulElement::kE5m2:
      return {5, 2, true};
  }
  return {0, 0, false};
}

inline double decode(FloatFormat f, std::uint32_t bits) {
  const std::uint32_t fraction = bits & ((1u << f.fraction_bits) - 1);
  const auto exponent = static_cast<int>(bits >> f.fraction_bits & ((1u << f.exponent_bits) - 1));
  const double sign = bits >> (f.exponent_bits + f.fraction_bits) & 1 ? -1.0 : 1.0;
  const bool is_top = exponent == (1 << f.exponent_bits) - 1;
  if (f.has_infinity && is_top) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  if (!f.has_infinity && f.has_nan && is_top && fraction == (1u << f.fraction_bits) - 1) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double significand =
      std::ldexp(static_cast<double>(fraction), -f.fraction_bits) + (exponent == 0 ? 0.0 : 1.0);
  return sign * std::ldexp(significand, (exponent == 0 ? 1 : exponent) - f.bias());
}

// The nearest number of the format, ties to even; for numbers inside its range.
inline double rounded(FloatFormat f, double value) {
  if (value == 0.0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), 1 - f.bias());
  const double unit = std::ldexp(1.0, exponent - f.fraction_bits);
  return std::nearbyint(value / unit) * unit;  // the default rounding of the host: to nearest even
}

// The bits of a number that the format holds exactly.
inline std::uint32_t encode(FloatFormat f, double value) {
  const std::uint32_t sign = std::signbit(value) ? 1u << (f.exponent_bits + f.fraction_bits) : 0;
  const double magnitude = std::fabs(value);
  if (magnitude == 0.0) return sign;
  const int exponent = std::max(std::ilogb(magnitude), 1 - f.bias());
  const auto scaled = static_cast<std::uint32_t>(std::ldexp(magnitude, f.fraction_bits - exponent));
  const bool is_normal = scaled >> f.fraction_bits != 0;
  const std::uint32_t code = is_normal ? static_cast<std::uint32_t>(exponent + f.bias()) : 0;
  return sign | code << f.fraction_bits | (scaled & ((1u << f.fraction_bits) - 1));
}

inline std::uint32_t stored_bits(MatmulElement type, double value) {
  const FloatFormat f = format_of(type);
  const std::uint32_t bits = encode(f, rounded(f, value));
  return type == MatmulElement::kTf32 ? bits << 13 : bits;
}

inline double stored_value(MatmulElement type, std::uint32_t bits) {
  return decode(format_of(type), type == MatmulElement::kTf32 ? bits >> 13 : bits);
}

// A matrix, or several, in memory: rows padded to 16 bytes and then by `more` times 16 bytes of poison.
struct Matrices {
  static constexpr unsigned char kPoison = 0xEE;

  MatmulElement type = MatmulElement::kBf16;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t batches = 1;
  std::int64_t pitch = 0;
  std::vector<unsigned char> bytes;

  Matrices() = default;
  Matrices(MatmulElement t, std::int64_t r, std::int64_t c, std::int64_t b, std::int64_t more)
      : type(t), rows(r), cols(c), batches(b) {
    const std::int64_t step = 16 / element_bytes_of(type);
    pitch = ((cols + step - 1) / step + more) * step;
    bytes.assign(static_cast<std::size_t>(pitch * rows * batches * element_bytes_of(type)), kPoison);
  }

  std::size_t offset(std::int64_t batch, std::int64_t row, std::int64_t col) const {
    return static_cast<std::size_t>(((batch * rows + row) * pitch + col) * element_bytes_of(type));
  }
  double get(std::int64_t batch, std::int64_t row, std::int64_t col) const {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &bytes[offset(batch, row, col)], element_bytes_of(type));
    return stored_value(type, bits);
  }
  void set(std::int64_t batch, std::int64_t row, std::int64_t col, double value) {
    const std::uint32_t bits = stored_bits(type, value);
    std::memcpy(&bytes[offset(batch, row, col)], &bits, element_bytes_of(type));
  }
  template <class Value>
  void fill(const Value& value) {
    for (std::int64_t b = 0; b < batches; ++b) {
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t c = 0; c < cols; ++c) set(b, r, c, value());
      }
    }
  }
};

enum class Data { kIntegers, kRandom };

struct MatmulSm100Case {
  MatmulSm100Problem problem;
  Data data = Data::kIntegers;
  std::uint64_t seed = 1;
  std::int64_t more = 0;
  bool has_bias = false;
  bool has_residual = false;

  Matrices a = {};
  Matrices b = {};
  Matrices out = {};
  Matrices bias = {};
  Matrices residual = {};

  // Makes the data and completes the problem's pitches.
  void prepare() {
    MatmulSm100Problem& p = problem;
    std::mt19937_64 random(seed);
    a = Matrices(p.input, p.m, p.k, p.batches, more);
    b = Matrices(p.input, p.n, p.k, p.batches, more);
    out = Matrices(p.output, p.m, p.n, p.batches, more);
    p.a_pitch = a.pitch;
    p.b_pitch = b.pitch;
    p.out_pitch = out.pitch;
    const auto value = [&]() -> double {
      if (data == Data::kIntegers) return static_cast<double>(random() % 7) - 3.0;
      return (static_cast<double>(random() % 65536) - 32768.0) / 16384.0;
    };
    a.fill(value);
    b.fill(value);
    if (has_bias) {
      bias = Matrices(p.output, 1, p.n, 1, 0);
      bias.fill(value);
    }
    if (has_residual) {
      residual = Matrices(p.output, p.m, p.n, p.batches, more);
      p.residual_pitch = residual.pitch;
      residual.fill(value);
    }
  }

  MatmulTensors tensors() {
    return {.a = a.bytes.data(),
            .b = b.bytes.data(),
            .out = out.bytes.data(),
            .bias = has_bias ? bias.bytes.data() : nullptr,
            .residual = has_residual ? residual.bytes.data() : nullptr};
  }

  // Every element of the output is what it must be, and nothing else was written.
  ::testing::AssertionResult is_right() const {
    const MatmulSm100Problem& p = problem;
    const FloatFormat f = format_of(p.output);
    Matrices expected(p.output, p.m, p.n, p.batches, more);
    std::vector<double> row(static_cast<std::size_t>(p.k));
    std::vector<double> b_values(static_cast<std::size_t>(p.n * p.k));
    for (std::int64_t batch = 0; batch < p.batches; ++batch) {
      for (std::int64_t n = 0; n < p.n; ++n) {
        for (std::int64_t k = 0; k < p.k; ++k)
          b_values[static_cast<std::size_t>(n * p.k + k)] = b.get(batch, n, k);
      }
      for (std::int64_t m = 0; m < p.m; ++m) {
        for (std::int64_t k = 0; k < p.k; ++k) row[static_cast<std::size_t>(k)] = a.get(batch, m, k);
        for (std::int64_t n = 0; n < p.n; ++n) {
          double sum = 0;
          double magnitude = 0;
          const double* column = b_values.data() + n * p.k;
          for (std::size_t k = 0; k < row.size(); ++k) {
            sum += row[k] * column[k];
            magnitude += std::fabs(row[k] * column[k]);
          }
          double wanted = static_cast<double>(p.alpha) * sum;
          magnitude *= std::fabs(static_cast<double>(p.alpha));
          if (has_bias) wanted += bias.get(0, 0, n);
          wanted = activated(p.activation, wanted);
          if (has_residual) wanted += residual.get(batch, m, n);
          const double got = out.get(batch, m, n);
          const double bound = data == Data::kIntegers ? 0.0 : error_bound(f, wanted, magnitude + 4);
          if (data == Data::kIntegers) wanted = rounded(f, wanted);
          if (!(std::fabs(got - wanted) <= bound)) {
            return ::testing::AssertionFailure() << describe() << ": out[" << batch << "][" << m << "][" << n
                                                 << "] is " << got << "; " << wanted << " within " << bound;
          }
          expected.set(batch, m, n, got);
        }
      }
    }
    if (expected.bytes != out.bytes) {
      return ::testing::AssertionFailure() << describe() << ": bytes between the rows of the output were written";
    }
    return ::testing::AssertionSuccess();
  }

  // The tensor cores add the products of one instruction and the sum so far, aligned to the largest and cut off
  // 25 bits below it, and cut the result off to 24 bits; the result is rounded to the type of the output. Adding
  // up splits, bias and residual rounds to float, and an activation passes an error on, at most 1.13 times.
  double error_bound(FloatFormat f, double result, double magnitude) const {
    const double k_step = 32.0 / element_bytes_of(problem.input);
    const double steps = std::ceil(static_cast<double>(problem.k) / k_step);
    const double per_step = (k_step + 1) * std::ldexp(1.0, -25) + std::ldexp(1.0, -23);
    const double of_sum =
        (steps * per_step + static_cast<double>(problem.splits + 8) * std::ldexp(1.0, -24)) * magnitude;
    return 1.13 * of_sum + std::ldexp(std::fabs(result) + magnitude * 1e-4, -f.fraction_bits - 1);
  }

  static double activated(Activation activation, double x) {
    switch (activation) {
      case Activation::kRelu:
        return x > 0 ? x : 0;
      case Activation::kGelu:
        return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
      case Activation::kSilu:
        return x / (1 + std::exp(-x));
      default:
        return x;
    }
  }

  std::string describe() const {
    const MatmulSm100Problem& p = problem;
    return std::to_string(p.m) + "x" + std::to_string(p.n) + "x" + std::to_string(p.k) +
           (p.batches == 1 ? "" : " batches " + std::to_string(p.batches)) + " " + name_of(p.input) + " to " +
           name_of(p.output) + (p.splits == 1 ? "" : " splits " + std::to_string(p.splits)) +
           (has_bias ? " bias" : "") + (has_residual ? " residual" : "") + " config " +
           (p.config.empty() ? "chosen" : p.config) + " seed " + std::to_string(seed);
  }
};

inline constexpr MatmulElement kInputs[] = {MatmulElement::kBf16, MatmulElement::kFp16, MatmulElement::kTf32,
                                            MatmulElement::kE4m3, MatmulElement::kE5m2};
inline constexpr MatmulElement kOutputs[] = {MatmulElement::kBf16, MatmulElement::kFp16, MatmulElement::kFp32};

// Several tiles, ragged on all sides; on few SMs, the ring of every configuration goes round. Types, and what a
// fused epilogue does, take turns.
inline MatmulSm100Case some_tiles(const std::string& config, std::uint64_t turn) {
  const bool is_wide = config.find("4x2") != std::string::npos;
  const bool is_fused = config.find("fused") != std::string::npos;
  const bool has_one_tile = config.find("2x1") != std::string::npos;
  return {.problem = {.m = 136,
                      .n = is_wide ? 136 : 72,
                      .k = has_one_tile ? 328
                           : is_wide    ? 264
                                        : 200,
                      .input = kInputs[turn % 5],
                      .output = kOutputs[turn / 5 % 3],
                      .alpha = is_fused && turn % 2 == 0 ? 2.0f : 1.0f,
                      .activation = is_fused && turn % 4 < 2 ? Activation::kRelu : Activation::kNone,
                      .config = config},
          .seed = turn + 1,
          .has_bias = is_fused && turn % 3 != 0,
          .has_residual = is_fused && turn % 7 != 0};
}

// One cluster of a configuration, or two: then it has several tiles, one after the other, and its rings go round.
inline std::uint32_t few_sms(const std::string& config, std::uint64_t turn) {
  const std::uint32_t cluster = config.find("4x2") != std::string::npos   ? 8
                                : config.find("2x2") != std::string::npos ? 4
                                : config.find("2x1") != std::string::npos ? 2
                                                                          : 1;
  return cluster == 8 ? cluster : cluster << turn % 2;
}

// Runs in the simulated SM: no report, and the right output. Schedule 0 is round robin.
inline ::testing::AssertionResult runs_right(MatmulSm100Case& matmul, std::uint32_t sms, std::uint64_t schedule) {
  matmul.prepare();
  const std::string name = schedule == 0 ? "rr" : fmt::format("{:x}", schedule);
  const RunOutcome outcome =
      matmul_sm100<Target::kSim>(matmul.problem, matmul.tensors(), {.schedule = name, .sms = sms});
  if (!outcome.ok()) {
    return ::testing::AssertionFailure() << matmul.describe() << " schedule " << name << " reports\n"
                                         << outcome.report;
  }
  return matmul.is_right();
}

inline ::testing::AssertionResult runs_right(MatmulSm100Problem problem, std::uint32_t sms = 8,
                                             std::uint64_t schedule = 0) {
  MatmulSm100Case matmul{.problem = std::move(problem)};
  return runs_right(matmul, sms, schedule);
}

}  // namespace heddle::test
