// SPDX-License-Identifier: Apache-2.0
#include "matmul_grouped_reference.h"

#include <algorithm>
#include <cmath>

namespace heddle::reference {

namespace {

std::vector<double> row_of(const Matrices& matrices, std::int64_t batch, std::int64_t row) {
  std::vector<double> numbers(static_cast<std::size_t>(matrices.cols));
  for (std::int64_t col = 0; col < matrices.cols; ++col) {
    numbers[static_cast<std::size_t>(col)] = matrices.get(batch, row, col);
  }
  return numbers;
}

std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }

}  // namespace

void MatmulGroupedCase::prepare() {
  problem.groups = problem.rows == GroupRows::kAll ? 1 : static_cast<std::int64_t>(numbers.size());
  a = Matrices(problem.a_type, problem.m, problem.k, 1, 0);
  b = Matrices(problem.b_type, problem.n, problem.k, problem.groups, 0);
  out = Matrices(problem.out_type, problem.m, problem.n, 1, more);
  problem.a_pitch = a.pitch;
  problem.b_pitch = b.pitch;
  problem.out_pitch = out.pitch;
  problem.b_group_stride = b.pitch * problem.n;
  std::mt19937_64 engine(seed);
  fill(a, engine);
  fill(b, engine);
  make_scales(engine);
}

void MatmulGroupedCase::reset_output() { std::fill(out.bytes.begin(), out.bytes.end(), Matrices::kPoison); }

MatmulGroupedTensors MatmulGroupedCase::tensors() {
  return {.a = a.bytes.data(),
          .b = b.bytes.data(),
          .group_rows = numbers.data(),
          .out = out.bytes.data(),
          .a_scales = a_scales.data(),
          .b_scales = b_scales.data()};
}

std::vector<std::int64_t> group_of_rows(GroupRows rows, std::int64_t m,
                                        const std::vector<std::int32_t>& numbers) {
  std::vector<std::int64_t> groups(size(m), rows == GroupRows::kAll ? 0 : -1);
  if (rows == GroupRows::kAll) return groups;
  const auto count = static_cast<std::int64_t>(numbers.size());
  std::int64_t row = 0;
  for (std::int64_t g = 0; g < count; ++g) {
    const std::int64_t given = numbers[size(g)];
    if (rows == GroupRows::kEnds) {
      for (; row < std::min(given, m); ++row) groups[size(row)] = g;
    } else {
      const std::int64_t place = m / count;
      for (std::int64_t i = 0; i < std::min(given, place); ++i) groups[size(g * place + i)] = g;
    }
  }
  return groups;
}

std::vector<std::int64_t> MatmulGroupedCase::group_of_rows() const {
  return reference::group_of_rows(problem.rows, problem.m, numbers);
}

MatmulVerdict MatmulGroupedCase::verify(double most,
                                        const std::function<void(std::int64_t, std::int64_t)>& progress) const {
  MatmulVerdict verdict;
  const std::vector<std::int64_t> groups = group_of_rows();
  const double row_macs = static_cast<double>(problem.n) * static_cast<double>(problem.k);
  const auto step = static_cast<std::int64_t>(
      std::max(1.0, std::ceil(static_cast<double>(problem.m) * row_macs / std::max(most, 1.0))));
  std::int64_t decoded = -1;  // the group whose B is in of_b
  std::vector<double> of_b;
  for (std::int64_t m = 0; m < problem.m; ++m) {
    const std::int64_t g = groups[size(m)];
    if (g < 0) {
      if (!is_untouched(m) && verdict.wrong.empty()) {
        verdict.wrong = "row " + std::to_string(m) + " is in no group and was written";
      }
      continue;
    }
    if (m % step != 0) continue;
    if (g != decoded) {
      of_b.clear();
      for (std::int64_t n = 0; n < problem.n; ++n) {
        const std::vector<double> row = row_of(b, g, n);
        of_b.insert(of_b.end(), row.begin(), row.end());
      }
      decoded = g;
    }
    const std::vector<double> of_a = row_of(a, 0, m);
    for (std::int64_t n = 0; n < problem.n; ++n) {
      const Wanted wanted = element(g, m, n, of_a.data(), of_b.data() + n * problem.k);
      compare_element(verdict, out, 0, m, n, wanted.sum, wanted.bound, !is_random());
    }
    if (progress) progress(m / step + 1, (problem.m + step - 1) / step);
  }
  if (verdict.ok() && !out.is_padding_whole()) verdict.wrong = kWroteBetweenRows;
  return verdict;
}

void MatmulGroupedCase::fill(Matrices& matrices, std::mt19937_64& engine) const {
  std::normal_distribution<double> normal;
  for (std::int64_t batch = 0; batch < matrices.batches; ++batch) {
    for (std::int64_t row = 0; row < matrices.rows; ++row) {
      for (std::int64_t col = 0; col < matrices.cols; ++col) {
        const double drawn = is_random() ? rounded(format_of(matrices.type), normal(engine))
                                         : static_cast<double>(engine() % 7) - 3.0;
        matrices.set(batch, row, col, drawn);
      }
    }
  }
}

void MatmulGroupedCase::make_scales(std::mt19937_64& engine) {
  switch (problem.scaling) {
    case GroupScaling::kNone: return;
    case GroupScaling::kTensors:
      a_scales.resize(1);
      b_scales.resize(size(problem.groups));
      break;
    case GroupScaling::kRows:
      a_scales.resize(size(problem.m));
      b_scales.resize(size(problem.groups * problem.n));
      break;
    case GroupScaling::kBlocks:
      a_scales.resize(size(k_blocks() * a_scales_pitch()));
      b_scales.resize(size(problem.groups * n_blocks() * k_blocks()));
      break;
  }
  std::uniform_real_distribution<float> between(0.5f, 2.0f);
  for (std::vector<float>* scales : {&a_scales, &b_scales}) {
    for (float& scale : *scales) {
      scale = is_random() ? between(engine) : std::ldexp(1.0f, static_cast<int>(engine() % 4) - 1);
    }
  }
}

double MatmulGroupedCase::scale(std::int64_t g, std::int64_t m, std::int64_t n, std::int64_t k) const {
  const auto a_at = [&](std::int64_t at) { return double{a_scales[size(at)]}; };
  const auto b_at = [&](std::int64_t at) { return double{b_scales[size(at)]}; };
  switch (problem.scaling) {
    case GroupScaling::kTensors: return a_at(0) * b_at(g);
    case GroupScaling::kRows: return a_at(m) * b_at(g * problem.n + n);
    case GroupScaling::kBlocks:
      return a_at(k / 128 * a_scales_pitch() + m) * b_at((g * n_blocks() + n / 128) * k_blocks() + k / 128);
    default: return 1;
  }
}

bool MatmulGroupedCase::is_untouched(std::int64_t m) const {
  const auto first = out.bytes.begin() + static_cast<std::ptrdiff_t>(out.offset(0, m, 0));
  const auto end = out.bytes.begin() + static_cast<std::ptrdiff_t>(out.offset(0, m, problem.n - 1) + 1);
  return std::all_of(first, end, [](unsigned char byte) { return byte == Matrices::kPoison; });
}

// The sum, and how far an output may be from it. For FP8 an instruction adds 32 products and the sum so far,
// all aligned to the largest of them and cut off 13 bits below it, and cuts the result off to as many; where
// stages of 128 are added up in float, that sum begins anew with each.
MatmulGroupedCase::Wanted MatmulGroupedCase::element(std::int64_t g, std::int64_t m, std::int64_t n,
                                                     const double* of_a, const double* of_b) const {
  const bool is_promoted = problem.is_exact || problem.scaling == GroupScaling::kBlocks;
  double sum = 0;
  double magnitude = 0;
  double of_steps = 0;
  double so_far = 0;  // in the tensor cores
  for (std::int64_t first = 0; first < problem.k; first += 32) {
    if (is_promoted && first % 128 == 0) so_far = 0;
    const double factor = scale(g, m, n, first);
    const std::int64_t end = std::min(first + 32, problem.k);
    double largest = std::fabs(so_far);
    // Most of a test's time where nothing is optimised: kept to what must be done.
    for (std::int64_t k = first; k < end; ++k) {
      const double product = of_a[k] * of_b[k] * factor;
      const double in_size = product < 0 ? -product : product;
      sum += product;
      so_far += product;
      magnitude += in_size;
      if (in_size > largest) largest = in_size;
    }
    of_steps += 1.05 * 35 * std::ldexp(1.0, -13) * std::max(largest, std::fabs(so_far));
  }
  const double of_floats = static_cast<double>(k_blocks() + 3) * std::ldexp(1.0, -23) * magnitude;
  const double of_sum = is_fp8() ? of_steps + of_floats : bound_of_sum(problem.k, 16, magnitude);
  return {sum, of_sum + bound_of_rounding(problem.out_type, sum, magnitude)};
}

}  // namespace heddle::reference
