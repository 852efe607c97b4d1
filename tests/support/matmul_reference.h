// SPDX-License-Identifier: Apache-2.0
//
// A matmul problem with data, and what its output must be: every sum in double. Integer data give exact
// outputs, so that a comparison needs no tolerance.
#pragma once

#include "matmul.h"

#include <heddle/tile/element.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace heddle::test {

inline std::size_t bytes_of(MatmulType type) { return type == MatmulType::kFp32 ? 4 : 2; }

inline double read(MatmulType type, const std::vector<unsigned char>& data, std::uint64_t index) {
  if (type == MatmulType::kFp32) {
    float value;
    std::memcpy(&value, &data[4 * index], 4);
    return static_cast<double>(value);
  }
  std::uint16_t bits;
  std::memcpy(&bits, &data[2 * index], 2);
  return static_cast<double>(type == MatmulType::kBf16 ? bf16{bits}.to_float() : fp16{bits}.to_float());
}

inline void write(MatmulType type, std::vector<unsigned char>& data, std::uint64_t index, double value) {
  const auto rounded = static_cast<float>(value);
  if (type == MatmulType::kFp32) {
    std::memcpy(&data[4 * index], &rounded, 4);
    return;
  }
  const std::uint16_t bits = type == MatmulType::kBf16 ? bf16::from_float(rounded).bits : fp16::from_float(rounded).bits;
  std::memcpy(&data[2 * index], &bits, 2);
}

inline std::uint64_t padded(std::uint64_t cols, std::size_t element_bytes) {
  const std::uint64_t step = 16 / element_bytes;
  return (cols + step - 1) / step * step;
}

inline constexpr unsigned char kPoison = 0xEE;

// A problem whose rows are padded to 16 bytes and then by `more` times 16 bytes, and integer data for it.
// Padding is poison, and so is the output where it is not read.
struct MatmulCase {
  MatmulProblem problem;
  MatmulData data;
  bool has_bias = false;
  bool has_residual = false;

  MatmulCase(const MatmulProblem& p, bool bias, bool residual, std::uint32_t more, std::uint64_t seed)
      : problem(p), has_bias(bias), has_residual(residual) {
    const std::size_t in = bytes_of(p.input);
    const std::size_t out = bytes_of(p.output);
    problem.a_pitch = padded(p.k, in) + more * (16 / in);
    const bool is_nk = p.b_layout == BLayout::kNK;
    problem.b_pitch = padded(is_nk ? p.k : p.n, in) + more * (16 / in);
    problem.out_pitch = padded(p.n, out) + more * (16 / out);
    problem.residual_pitch = problem.out_pitch;
    std::mt19937_64 random(seed);
    data.a = matrix(p.input, p.m, p.k, problem.a_pitch, 3, random);
    data.b = matrix(p.input, is_nk ? p.n : p.k, is_nk ? p.k : p.n, problem.b_pitch, 3, random);
    data.out = p.beta != 0 ? matrix(p.output, p.m, p.n, problem.out_pitch, 7, random)
                           : std::vector<unsigned char>(p.m * problem.out_pitch * out, kPoison);
    if (bias) data.bias = matrix(p.output, 1, p.n, padded(p.n, out), 7, random);
    if (residual) data.residual = matrix(p.output, p.m, p.n, problem.residual_pitch, 7, random);
  }

  // What the output must be, padding included.
  std::vector<unsigned char> expected() const {
    const MatmulProblem& p = problem;
    std::vector<unsigned char> out = data.out;
    std::vector<float> a(std::size_t{p.m} * p.k);
    std::vector<float> b(std::size_t{p.n} * p.k);
    for (std::uint32_t m = 0; m < p.m; ++m) {
      for (std::uint32_t k = 0; k < p.k; ++k) a[std::size_t{m} * p.k + k] = static_cast<float>(read(p.input, data.a, m * p.a_pitch + k));
    }
    for (std::uint32_t n = 0; n < p.n; ++n) {
      for (std::uint32_t k = 0; k < p.k; ++k) {
        b[std::size_t{n} * p.k + k] = static_cast<float>(
            read(p.input, data.b, p.b_layout == BLayout::kNK ? n * p.b_pitch + k : k * p.b_pitch + n));
      }
    }
    for (std::uint32_t m = 0; m < p.m; ++m) {
      for (std::uint32_t n = 0; n < p.n; ++n) {
        float sum = 0;  // exact: products and sums are small integers
        const float* row = a.data() + std::size_t{m} * p.k;
        const float* col = b.data() + std::size_t{n} * p.k;
        for (std::uint32_t k = 0; k < p.k; ++k) sum += row[k] * col[k];
        double value = static_cast<double>(p.alpha) * static_cast<double>(sum);
        const std::uint64_t at = m * p.out_pitch + n;
        if (p.beta != 0) value += static_cast<double>(p.beta) * read(p.output, data.out, at);
        if (has_bias) value += read(p.output, data.bias, n);
        if (p.activation == Activation::kRelu) value = value > 0 ? value : 0;
        if (has_residual) value += read(p.output, data.residual, at);
        write(p.output, out, at, value);
      }
    }
    return out;
  }

  std::string describe() const {
    const auto type = [](MatmulType t) { return t == MatmulType::kBf16 ? "bf16" : t == MatmulType::kFp16 ? "fp16" : "fp32"; };
    return std::to_string(problem.m) + "x" + std::to_string(problem.n) + "x" + std::to_string(problem.k) + " " +
           type(problem.input) + " to " + type(problem.output) + (problem.b_layout == BLayout::kNK ? " nk" : " kn") +
           " alpha " + std::to_string(problem.alpha) + " beta " + std::to_string(problem.beta) +
           (has_bias ? " bias" : "") + (has_residual ? " residual" : "") +
           (problem.activation == Activation::kRelu ? " relu" : "") + " config " + problem.config;
  }

 private:
  static std::vector<unsigned char> matrix(MatmulType type, std::uint64_t rows, std::uint64_t cols, std::uint64_t pitch,
                                           int largest, std::mt19937_64& random) {
    std::vector<unsigned char> data(rows * pitch * bytes_of(type), kPoison);
    for (std::uint64_t r = 0; r < rows; ++r) {
      for (std::uint64_t c = 0; c < cols; ++c) {
        const auto value = static_cast<int>(random() % (2 * static_cast<unsigned>(largest) + 1)) - largest;
        write(type, data, r * pitch + c, value);
      }
    }
    return data;
  }
};

}  // namespace heddle::test
