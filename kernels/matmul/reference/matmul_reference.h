// SPDX-License-Identifier: Apache-2.0
//
// Matmuls with data, and what their outputs must be: decoded bit by bit from the formats' definitions and summed
// in double, with nothing of the kernels. Integer data give exact sums, so that the comparison needs no
// tolerance; other data come with the bound that the tensor cores' arithmetic keeps.
//
//   MatmulCase matmul{.problem = {.m = 200, .n = 100, .k = 300}};
//   matmul.prepare();
//   heddle::matmul(matmul.problem, matmul.tensors(), DeviceId::parse("sim:sm90"));
//   const MatmulVerdict verdict = matmul.verify();  // verdict.ok()
#pragma once

#include "float_format.h"
#include "matmul/api/matmul_problem.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace heddle::reference {

enum class MatmulData { kIntegers, kRandom };

// What a comparison with the reference found. `error` and `bound` are those of the element that comes nearest to
// its bound, or breaks it.
struct MatmulVerdict {
  std::int64_t checked = 0;  // elements of the output
  double error = 0;
  double bound = 0;
  std::string wrong;  // the first element that is wrong, or what was written outside; empty: all is right

  bool ok() const { return wrong.empty(); }
};

// A matrix, or several, in memory: rows padded to 16 bytes, unless they are packed, and then by `more` times 16
// bytes of poison.
struct Matrices {
  static constexpr unsigned char kPoison = 0xEE;

  MatmulElement type = MatmulElement::kBf16;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t batches = 1;
  std::int64_t pitch = 0;
  std::vector<unsigned char> bytes;

  Matrices() = default;
  Matrices(MatmulElement t, std::int64_t r, std::int64_t c, std::int64_t b, std::int64_t more,
           bool is_packed = false);

  double get(std::int64_t batch, std::int64_t row, std::int64_t col) const;
  void set(std::int64_t batch, std::int64_t row, std::int64_t col, double value);
  std::size_t offset(std::int64_t batch, std::int64_t row, std::int64_t col) const;
  // Whether what pads the rows is still poison.
  bool is_padding_whole() const;
};

// A problem, its data, and the reference.
struct MatmulCase {
  MatmulProblem problem;
  MatmulData data = MatmulData::kIntegers;
  std::uint64_t seed = 1;
  std::int64_t more = 0;
  bool is_packed = false;  // rows begin anywhere
  bool has_bias = false;
  bool has_residual = false;

  Matrices a = {};
  Matrices b = {};
  Matrices out = {};
  Matrices bias = {};
  Matrices residual = {};
  Matrices out_before = {};  // where beta is not 0

  // Makes the data and completes the problem's pitches.
  void prepare();
  // The output as it was before the run.
  void reset_output();
  MatmulTensors tensors();

  // Compares elements of the output, and all that pads it. Where the problem has more than `most` multiply-adds,
  // only so many rows of the output are compared, spread over all of it; `progress` is told how many of how many.
  MatmulVerdict verify(double most = 1e300,
                       const std::function<void(std::int64_t, std::int64_t)>& progress = {}) const;

  std::string describe() const;
  bool is_exact() const;

  // How far an element may be from the sum in double, if it is `result` and the magnitudes of all terms add up to
  // `magnitude`.
  double error_bound(double result, double magnitude) const;
};

// What a matmul may be away from the exact sum: an instruction adds `k_step` products and the sum so far, aligned
// to the largest of them and cut off 25 bits below it, and cuts the result off to 24 bits.
double bound_of_sum(std::int64_t k, double k_step, double magnitude);
// To the nearest number of the output's type.
double bound_of_rounding(MatmulElement type, double result, double magnitude);

// Products added up, and their magnitudes.
struct TermSum {
  double value = 0;
  double magnitude = 0;
};
TermSum sum_of_products(const std::vector<double>& row, const double* column);

inline constexpr const char* kWroteBetweenRows = "bytes between the rows of the output were written";

// Adds the comparison of one element to a verdict. An exact comparison is with the rounded reference.
void compare_element(MatmulVerdict& verdict, const Matrices& out, std::int64_t batch, std::int64_t m,
                     std::int64_t n, double wanted, double bound, bool is_exact);

}  // namespace heddle::reference
