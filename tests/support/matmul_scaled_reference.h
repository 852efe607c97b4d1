// SPDX-License-Identifier: Apache-2.0
//
// Matmuls with scales, and what their outputs must be: as matmul_sm100_reference.h, from the formats' definitions
// and in double.
#pragma once

#include "matmul_sm100_reference.h"
#include "matmul_sm100_scaled_host.h"

namespace heddle::test {

struct MatmulScaledCase {
  MatmulScaledProblem problem;
  Data data = Data::kIntegers;
  std::uint64_t seed = 1;
  std::int64_t more = 0;

  std::vector<unsigned char> a = {};
  std::vector<unsigned char> b = {};
  std::vector<unsigned char> a_scales = {};
  std::vector<unsigned char> b_scales = {};
  Matrices out = {};

  std::uint32_t bits() const { return bits_of_element(problem.format); }
  std::int64_t scales_per_row() const {
    const std::int64_t vector = scale_vector_of(problem.format);
    return (problem.k + vector - 1) / vector;
  }
  std::int64_t b_scale_rows() const { return is_blockwise(problem.format) ? (problem.n + 127) / 128 : problem.n; }

  FloatFormat element() const {
    switch (problem.format) {
      case ScaledFormat::kMxfp8E4m3:
      case ScaledFormat::kBlockwiseE4m3:
        return {4, 3, false};
      case ScaledFormat::kMxfp8E5m2:
      case ScaledFormat::kBlockwiseE5m2:
        return {5, 2, true};
      default:
        return {2, 1, false, false};
    }
  }

  void prepare() {
    MatmulScaledProblem& p = problem;
    std::mt19937_64 random(seed);
    const std::int64_t step = 128 / bits();
    p.a_pitch = ((p.k + step - 1) / step + more) * step;
    p.b_pitch = p.a_pitch;
    out = Matrices(p.output, p.m, p.n, 1, more);
    p.out_pitch = out.pitch;
    a = operand(p.m, random);
    b = operand(p.n, random);
    a_scales = scales(p.m, random);
    b_scales = scales(b_scale_rows(), random);
  }

  MatmulScaledTensors tensors() {
    return {.a = a.data(),
            .b = b.data(),
            .a_scales = {a_scales.data(), problem.m, scales_per_row()},
            .b_scales = {b_scales.data(), b_scale_rows(), scales_per_row()},
            .out = out.bytes.data()};
  }

  // Number k of a row, with its scale.
  double value(const std::vector<unsigned char>& operand, const std::vector<unsigned char>& scale_bytes,
               std::int64_t row, std::int64_t k, std::int64_t rows_per_scale) const {
    const std::int64_t bit = (row * problem.a_pitch + k) * bits();
    const std::uint32_t byte = operand[static_cast<std::size_t>(bit / 8)];
    const std::uint32_t code = bits() == 8 ? byte : byte >> bit % 8 & 15;
    const std::int64_t at = row / rows_per_scale * scales_per_row() + k / scale_vector_of(problem.format);
    return decode(element(), code) * scale(scale_bytes, static_cast<std::size_t>(at));
  }

  ::testing::AssertionResult is_right() const {
    const MatmulScaledProblem& p = problem;
    const FloatFormat f = format_of(p.output);
    Matrices expected(p.output, p.m, p.n, 1, more);
    std::vector<double> a_values(static_cast<std::size_t>(p.m * p.k));
    std::vector<double> b_values(static_cast<std::size_t>(p.n * p.k));
    for (std::int64_t k = 0; k < p.k; ++k) {
      for (std::int64_t m = 0; m < p.m; ++m)
        a_values[static_cast<std::size_t>(m * p.k + k)] = value(a, a_scales, m, k, 1);
      for (std::int64_t n = 0; n < p.n; ++n) {
        b_values[static_cast<std::size_t>(n * p.k + k)] =
            value(b, b_scales, n, k, is_blockwise(p.format) ? 128 : 1);
      }
    }
    for (std::int64_t m = 0; m < p.m; ++m) {
      for (std::int64_t n = 0; n < p.n; ++n) {
        double sum = 0;
        double magnitude = 0;
        for (std::int64_t k = 0; k < p.k; ++k) {
          const double product =
              a_values[static_cast<std::size_t>(m * p.k + k)] * b_values[static_cast<std::size_t>(n * p.k + k)];
          sum += product;
          magnitude += std::fabs(product);
        }
        sum *= static_cast<double>(p.alpha);
        magnitude *= std::fabs(static_cast<double>(p.alpha));
        const double got = out.get(0, m, n);
        const double bound = data == Data::kIntegers ? 0.0 : error_bound(f, sum, magnitude);
        const double wanted = data == Data::kIntegers ? rounded(f, sum) : sum;
        if (!(std::fabs(got - wanted) <= bound)) {
          return ::testing::AssertionFailure() << describe() << ": out[" << m << "][" << n << "] is " << got
                                               << "; " << wanted << " within " << bound;
        }
        expected.set(0, m, n, got);
      }
    }
    if (expected.bytes != out.bytes) {
      return ::testing::AssertionFailure() << describe() << ": bytes between the rows of the output were written";
    }
    return ::testing::AssertionSuccess();
  }

  // As MatmulSm100Case::error_bound; an instruction adds 32 products of bytes or 64 of fp4. Blockwise, each block
  // is multiplied by a rounded product of two scales and added up in float.
  double error_bound(FloatFormat f, double sum, double magnitude) const {
    const double k_step = 256.0 / bits();
    const double steps = std::ceil(static_cast<double>(problem.k) / k_step);
    const double per_step = (k_step + 1) * std::ldexp(1.0, -25) + std::ldexp(1.0, -23);
    const double of_float = static_cast<double>(scales_per_row() + 3) * std::ldexp(1.0, -23);
    return (steps * per_step + of_float) * magnitude +
           std::ldexp(std::fabs(sum) + magnitude * 1e-4, -f.fraction_bits - 1);
  }

  std::string describe() const {
    const MatmulScaledProblem& p = problem;
    return std::to_string(p.m) + "x" + std::to_string(p.n) + "x" + std::to_string(p.k) + " " + name_of(p.format) +
           " to " + name_of(p.output) + " config " + p.config + " seed " + std::to_string(seed);
  }

 private:
  double scale(const std::vector<unsigned char>& bytes, std::size_t index) const {
    if (is_blockwise(problem.format)) {
      float value;
      std::memcpy(&value, &bytes[4 * index], 4);
      return static_cast<double>(value);
    }
    if (problem.format == ScaledFormat::kNvfp4) return decode({4, 3, false}, bytes[index]);
    return std::ldexp(1.0, bytes[index] - 127);
  }

  // Small integers, or numbers of any code that is finite and not large.
  std::vector<unsigned char> operand(std::int64_t rows, std::mt19937_64& random) const {
    std::vector<unsigned char> bytes(static_cast<std::size_t>(rows * problem.a_pitch * bits() / 8),
                                     Matrices::kPoison);
    const FloatFormat f = element();
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t k = 0; k < problem.k; ++k) {
        const double value = data == Data::kIntegers ? static_cast<double>(random() % 7) - 3.0
                                                     : (static_cast<double>(random() % 4096) - 2048.0) / 400.0;
        const std::uint32_t code = encode(f, rounded(f, value));
        const std::int64_t bit = (r * problem.a_pitch + k) * bits();
        auto& byte = bytes[static_cast<std::size_t>(bit / 8)];
        byte = static_cast<unsigned char>(bits() == 8 ? code : (byte & (0xf0 >> bit % 8)) | code << bit % 8);
      }
    }
    return bytes;
  }

  // A half, one or two; or anything from an eighth to eight.
  std::vector<unsigned char> scales(std::int64_t rows, std::mt19937_64& random) const {
    const auto count = static_cast<std::size_t>(rows * scales_per_row());
    std::vector<unsigned char> bytes(count * (is_blockwise(problem.format) ? 4 : 1));
    for (std::size_t i = 0; i < count; ++i) {
      const int exponent =
          data == Data::kIntegers ? static_cast<int>(random() % 3) - 1 : static_cast<int>(random() % 7) - 3;
      if (is_blockwise(problem.format)) {
        const double fraction = data == Data::kIntegers ? 0.0 : static_cast<double>(random() % 1000) / 1000.0;
        const auto value = static_cast<float>(std::ldexp(1.0 + fraction, exponent));
        std::memcpy(&bytes[4 * i], &value, 4);
      } else if (problem.format == ScaledFormat::kNvfp4) {
        const auto fraction = static_cast<int>(data == Data::kIntegers ? random() % 2 * 4 : random() % 8);
        bytes[i] = static_cast<unsigned char>((exponent + 7) << 3 | fraction);
      } else {
        bytes[i] = static_cast<unsigned char>(exponent + 127);
      }
    }
    return bytes;
  }
};

inline constexpr ScaledFormat kScaledFormats[] = {ScaledFormat::kMxfp8E4m3,     ScaledFormat::kMxfp8E5m2,
                                                  ScaledFormat::kMxfp4,         ScaledFormat::kNvfp4,
                                                  ScaledFormat::kBlockwiseE4m3, ScaledFormat::kBlockwiseE5m2};

// Several tiles, ragged on all sides; on few SMs, the ring of every configuration goes round.
inline MatmulScaledCase some_scaled_tiles(ScaledFormat format, const std::string& config, std::uint64_t turn) {
  const std::int64_t k = config.find("2x1") != std::string::npos   ? 456
                         : config.find("4x2") != std::string::npos ? 328
                                                                   : 200;
  return {.problem = {.m = 136,
                      .n = 136,
                      .k = bits_of_element(format) == 4 ? 2 * k - 72 : k,
                      .format = format,
                      .output = kOutputs[turn % 3],
                      .config = config},
          .seed = turn + 1};
}

inline ::testing::AssertionResult runs_right(MatmulScaledCase& matmul, std::uint32_t sms,
                                             std::uint64_t schedule) {
  matmul.prepare();
  const std::string name = schedule == 0 ? "rr" : fmt::format("{:x}", schedule);
  const RunOutcome outcome =
      matmul_scaled<Target::kSim>(matmul.problem, matmul.tensors(), {.schedule = name, .sms = sms});
  if (!outcome.ok()) {
    return ::testing::AssertionFailure() << matmul.describe() << " schedule " << name << " reports\n"
                                         << outcome.report;
  }
  return matmul.is_right();
}

}  // namespace heddle::test
