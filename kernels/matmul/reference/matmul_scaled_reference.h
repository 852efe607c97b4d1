// SPDX-License-Identifier: Apache-2.0
//
// Matmuls with scales, their data, and what their outputs must be: as matmul_reference.h.
#pragma once

#include "matmul/api/matmul_scaled_problem.h"
#include "matmul_grouped_reference.h"
#include "matmul_reference.h"

#include <random>

namespace heddle::reference {

struct MatmulScaledCase {
  MatmulScaledProblem problem;
  MatmulData data = MatmulData::kIntegers;
  std::uint64_t seed = 1;
  std::int64_t more = 0;
  std::vector<std::int32_t> numbers = {};  // of rows: one for each group, where the problem has groups

  std::vector<unsigned char> a = {};
  std::vector<unsigned char> b = {};
  std::vector<unsigned char> a_scales = {};
  std::vector<unsigned char> b_scales = {};
  Matrices out = {};

  void prepare();
  void reset_output();
  MatmulScaledTensors tensors();
  MatmulVerdict verify(double most = 1e300,
                       const std::function<void(std::int64_t, std::int64_t)>& progress = {}) const;
  std::string describe() const;

  // As MatmulCase::error_bound. Blockwise, each block is multiplied by a rounded product of two scales and added
  // up in float.
  double error_bound(double sum, double magnitude) const;

  std::int64_t scales_per_row() const;
  std::int64_t b_scale_rows() const;

 private:
  FloatFormat element(bool is_a) const;
  double scale(const std::vector<unsigned char>& bytes, std::size_t index) const;
  // Number k of a row, with its scale.
  double value(const std::vector<unsigned char>& operand, const std::vector<unsigned char>& scale_bytes,
               std::int64_t row, std::int64_t k, std::int64_t rows_per_scale) const;
  std::vector<unsigned char> operand(FloatFormat f, std::int64_t rows, std::mt19937_64& random) const;
  std::vector<unsigned char> scales(std::int64_t rows, std::mt19937_64& random) const;
};

}  // namespace heddle::reference
