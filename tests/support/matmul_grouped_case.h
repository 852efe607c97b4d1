// SPDX-License-Identifier: Apache-2.0
//
// Grouped matmuls with data, and what their outputs must be: sums in double over numbers decoded from their bits,
// the groups found as the problem's page says, one row at a time. Integers with scales that are powers of two
// give exact sums.
#pragma once

#include "matmul/host/matmul_grouped_plan.h"
#include "matmul/reference/matmul_reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace heddle::test {

struct MatmulGroupedCase {
  using Matrices = reference::Matrices;

  MatmulGroupedProblem problem;
  std::vector<std::int32_t> numbers;  // of rows
  bool is_random = false;             // otherwise integers
  Matrices a, b, out;
  std::vector<float> a_scales;
  std::vector<float> b_scales;

  MatmulGroupedCase(const MatmulGroupedProblem& p, std::vector<std::int32_t> group_rows, std::uint64_t seed = 1,
                    bool random = false)
      : problem(p), numbers(std::move(group_rows)), is_random(random) {
    problem.groups = p.rows == GroupRows::kAll ? 1 : static_cast<std::int64_t>(numbers.size());
    a = Matrices(p.a_type, p.m, p.k, 1, 0);
    b = Matrices(p.b_type, p.n, p.k, problem.groups, 0);
    out = Matrices(p.out_type, p.m, p.n, 1, 1);
    problem.a_pitch = a.pitch;
    problem.b_pitch = b.pitch;
    problem.out_pitch = out.pitch;
    problem.b_group_stride = b.pitch * p.n;
    std::mt19937_64 engine(seed);
    fill(a, engine);
    fill(b, engine);
    make_scales(engine);
  }

  MatmulGroupedTensors tensors() {
    return {.a = a.bytes.data(),
            .b = b.bytes.data(),
            .group_rows = numbers.data(),
            .out = out.bytes.data(),
            .a_scales = a_scales.data(),
            .b_scales = b_scales.data()};
  }

  RunOutcome run(const std::string& schedule = "rr", std::uint32_t sms = 4) {
    return matmul_grouped_sm90<Target::kSim>(problem, tensors(),
                                             {.kernel = "matmul", .schedule = schedule, .sms = sms});
  }

  // The group of each row, or -1.
  std::vector<std::int64_t> group_of_rows() const {
    std::vector<std::int64_t> groups(static_cast<std::size_t>(problem.m),
                                     problem.rows == GroupRows::kAll ? 0 : -1);
    if (problem.rows == GroupRows::kAll) return groups;
    std::int64_t row = 0;
    for (std::int64_t g = 0; g < problem.groups; ++g) {
      const std::int64_t given = numbers[static_cast<std::size_t>(g)];
      if (problem.rows == GroupRows::kEnds) {
        for (; row < std::min(given, problem.m); ++row) groups[static_cast<std::size_t>(row)] = g;
      } else {
        const std::int64_t place = problem.m / problem.groups;
        for (std::int64_t i = 0; i < std::min(given, place); ++i) {
          groups[static_cast<std::size_t>(g * place + i)] = g;
        }
      }
    }
    return groups;
  }

  testing::AssertionResult is_right() const {
    const std::vector<std::int64_t> groups = group_of_rows();
    const std::vector<double> of_a = decoded(a);
    const std::vector<double> of_b = decoded(b);
    reference::MatmulVerdict verdict;
    for (std::int64_t m = 0; m < problem.m; ++m) {
      const std::int64_t g = groups[static_cast<std::size_t>(m)];
      if (g < 0) {
        if (!is_untouched(m))
          return testing::AssertionFailure() << "row " << m << " is in no group and was written";
        continue;
      }
      for (std::int64_t n = 0; n < problem.n; ++n) {
        const Wanted wanted =
            element(g, m, n, of_a.data() + m * problem.k, of_b.data() + (g * problem.n + n) * problem.k);
        reference::compare_element(verdict, out, 0, m, n, wanted.sum, wanted.bound, !is_random);
      }
    }
    if (!verdict.ok()) return testing::AssertionFailure() << verdict.wrong;
    if (!out.is_padding_whole()) return testing::AssertionFailure() << reference::kWroteBetweenRows;
    return testing::AssertionSuccess();
  }

 private:
  struct Wanted {
    double sum;
    double bound;
  };

  static std::vector<double> decoded(const Matrices& matrices) {
    std::vector<double> numbers;
    for (std::int64_t batch = 0; batch < matrices.batches; ++batch) {
      for (std::int64_t row = 0; row < matrices.rows; ++row) {
        for (std::int64_t col = 0; col < matrices.cols; ++col) numbers.push_back(matrices.get(batch, row, col));
      }
    }
    return numbers;
  }

  bool is_fp8() const { return problem.a_type != MatmulElement::kBf16; }
  std::int64_t k_blocks() const { return (problem.k + 127) / 128; }
  std::int64_t a_scales_pitch() const { return (problem.m + 3) / 4 * 4; }

  void fill(Matrices& matrices, std::mt19937_64& engine) const {
    std::normal_distribution<double> normal;
    for (std::int64_t batch = 0; batch < matrices.batches; ++batch) {
      for (std::int64_t row = 0; row < matrices.rows; ++row) {
        for (std::int64_t col = 0; col < matrices.cols; ++col) {
          const double drawn = is_random ? reference::rounded(reference::format_of(matrices.type), normal(engine))
                                         : static_cast<double>(engine() % 7) - 3.0;
          matrices.set(batch, row, col, drawn);
        }
      }
    }
  }

  void make_scales(std::mt19937_64& engine) {
    const auto size = [](std::int64_t count) { return static_cast<std::size_t>(count); };
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
        b_scales.resize(size(problem.groups * ((problem.n + 127) / 128) * k_blocks()));
        break;
    }
    std::uniform_real_distribution<float> between(0.5f, 2.0f);
    for (std::vector<float>* scales : {&a_scales, &b_scales}) {
      for (float& scale : *scales) {
        scale = is_random ? between(engine) : std::ldexp(1.0f, static_cast<int>(engine() % 4) - 1);
      }
    }
  }

  double scale(std::int64_t g, std::int64_t m, std::int64_t n, std::int64_t k) const {
    const auto a_at = [&](std::int64_t at) { return double{a_scales[static_cast<std::size_t>(at)]}; };
    const auto b_at = [&](std::int64_t at) { return double{b_scales[static_cast<std::size_t>(at)]}; };
    switch (problem.scaling) {
      case GroupScaling::kTensors: return a_at(0) * b_at(g);
      case GroupScaling::kRows: return a_at(m) * b_at(g * problem.n + n);
      case GroupScaling::kBlocks:
        return a_at(k / 128 * a_scales_pitch() + m) *
               b_at((g * ((problem.n + 127) / 128) + n / 128) * k_blocks() + k / 128);
      default: return 1;
    }
  }

  bool is_untouched(std::int64_t m) const {
    const auto first = out.bytes.begin() + static_cast<std::ptrdiff_t>(out.offset(0, m, 0));
    const auto end = out.bytes.begin() + static_cast<std::ptrdiff_t>(out.offset(0, m, problem.n - 1) + 1);
    return std::all_of(first, end, [](unsigned char byte) { return byte == Matrices::kPoison; });
  }

  // The sum, and how far an output may be from it. For FP8 an instruction adds 32 products and the sum so far,
  // all aligned to the largest of them and cut off 13 bits below it, and cuts the result off to as many; where
  // stages of 128 are added up in float, that sum begins anew with each.
  Wanted element(std::int64_t g, std::int64_t m, std::int64_t n, const double* of_a, const double* of_b) const {
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
        const double size = product < 0 ? -product : product;
        sum += product;
        so_far += product;
        magnitude += size;
        if (size > largest) largest = size;
      }
      of_steps += 1.05 * 35 * std::ldexp(1.0, -13) * std::max(largest, std::fabs(so_far));
    }
    const double of_floats = static_cast<double>(k_blocks() + 3) * std::ldexp(1.0, -23) * magnitude;
    const double of_sum = is_fp8() ? of_steps + of_floats : reference::bound_of_sum(problem.k, 16, magnitude);
    return {sum, of_sum + reference::bound_of_rounding(problem.out_type, sum, magnitude)};
  }
};

// In the simulated SM, with neither a report nor a remark.
inline testing::AssertionResult runs_right(MatmulGroupedCase c, const std::string& schedule = "rr",
                                           std::uint32_t sms = 4) {
  const RunOutcome outcome = c.run(schedule, sms);
  if (!outcome.ok()) return testing::AssertionFailure() << outcome.report;
  if (!outcome.remarks.empty()) return testing::AssertionFailure() << outcome.remarks;
  return c.is_right();
}

}  // namespace heddle::test
