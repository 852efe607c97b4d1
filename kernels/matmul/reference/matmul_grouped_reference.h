// SPDX-License-Identifier: Apache-2.0
//
// Grouped matmuls and those of FP8 with data, and what their outputs must be: sums in double over numbers decoded
// from their bits, the groups found as the problem's page says, one row at a time. Integers with scales that are
// powers of two give exact sums; other data come with the bound that the tensor cores' arithmetic keeps.
#pragma once

#include "matmul/api/matmul_grouped_problem.h"
#include "matmul_reference.h"

#include <cstdint>
#include <functional>
#include <random>
#include <vector>

namespace heddle::reference {

// The group of each of `m` rows, or -1.
std::vector<std::int64_t> group_of_rows(GroupRows rows, std::int64_t m, const std::vector<std::int32_t>& numbers);

struct MatmulGroupedCase {
  MatmulGroupedProblem problem;
  std::vector<std::int32_t> numbers = {};  // of rows: one for each group
  MatmulData data = MatmulData::kIntegers;
  std::uint64_t seed = 1;
  std::int64_t more = 0;  // as Matrices have it, of the output

  Matrices a = {};
  Matrices b = {};
  Matrices out = {};
  std::vector<float> a_scales = {};
  std::vector<float> b_scales = {};

  // Makes the data and completes the problem's pitches.
  void prepare();
  // The output as it was before the run.
  void reset_output();
  MatmulGroupedTensors tensors();

  // Compares elements of the output, and that nothing else was written. Where the problem has more than `most`
  // multiply-adds, only so many rows are compared, spread over all; `progress` is told how many of how many.
  MatmulVerdict verify(double most = 1e300,
                       const std::function<void(std::int64_t, std::int64_t)>& progress = {}) const;

  // The group of each row, or -1.
  std::vector<std::int64_t> group_of_rows() const;

 private:
  struct Wanted {
    double sum;
    double bound;
  };

  bool is_random() const { return data == MatmulData::kRandom; }
  bool is_fp8() const { return problem.a_type != MatmulElement::kBf16; }
  std::int64_t k_blocks() const { return (problem.k + 127) / 128; }
  std::int64_t n_blocks() const { return (problem.n + 127) / 128; }
  std::int64_t a_scales_pitch() const { return (problem.m + 3) / 4 * 4; }
  void fill(Matrices& matrices, std::mt19937_64& engine) const;
  void make_scales(std::mt19937_64& engine);
  double scale(std::int64_t g, std::int64_t m, std::int64_t n, std::int64_t k) const;
  bool is_untouched(std::int64_t m) const;
  Wanted element(std::int64_t g, std::int64_t m, std::int64_t n, const double* of_a, const double* of_b) const;
};

}  // namespace heddle::reference
