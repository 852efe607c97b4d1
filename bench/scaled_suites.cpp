// SPDX-License-Identifier: Apache-2.0
#include "scaled_suites.h"

#include "device_bytes.h"
#include "matmul/host/matmul_grouped_plan.h"
#include "matmul/host/quantise_plan.h"
#include "matmul_bench_kernels.h"
#include "matmul_session.h"

#include <heddle/tile/element.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace heddle::bench {

namespace {

struct Case {
  std::string name;
  MatmulGroupedProblem problem;
  std::vector<std::int32_t> group_rows;  // empty: one group of all rows
};

std::int64_t blocks_of(std::int64_t extent) { return (extent + 127) / 128; }

// Operands that are used in turn, with their scales, and one output.
class Operands {
 public:
  explicit Operands(const Case& of)
      : problem_(of.problem),
        is_fp8_(of.problem.a_type == MatmulElement::kE4m3),
        a_bytes_(static_cast<std::uint64_t>(problem_.m * problem_.k * (is_fp8_ ? 1 : 2))),
        b_bytes_(static_cast<std::uint64_t>(problem_.groups * problem_.n * problem_.k * (is_fp8_ ? 1 : 2))),
        sets_(static_cast<std::size_t>((std::uint64_t{330} << 20) / (a_bytes_ + b_bytes_)) + 2),
        a_(sets_ * a_bytes_),
        b_(sets_ * b_bytes_),
        a_scales_(sizeof(float) * static_cast<std::uint64_t>(blocks_of(problem_.k) * (problem_.m + 3))),
        b_scales_(sizeof(float) * static_cast<std::uint64_t>(problem_.groups * blocks_of(problem_.k) *
                                                             std::max(problem_.n, std::int64_t{128}))),
        ends_(sizeof(std::int32_t) * (of.group_rows.size() + 1)),
        out_(static_cast<std::uint64_t>(2 * problem_.m * problem_.n)) {
    std::vector<std::int32_t> ends(of.group_rows.size());
    std::partial_sum(of.group_rows.begin(), of.group_rows.end(), ends.begin());
    check(cudaMemcpy(ends_.as<void>(), ends.data(), ends.size() * sizeof(std::int32_t), cudaMemcpyHostToDevice),
          "cudaMemcpy");
    rows_ =
        of.group_rows.empty() ? std::vector<std::int32_t>{static_cast<std::int32_t>(problem_.m)} : of.group_rows;
    for (std::size_t set = 0; set < sets_; ++set) {
      fill(a_.as<char>() + set * a_bytes_, problem_.m, QuantiseBlocks::kRows, a_scales_.as<float>(), 2 * set);
      fill(b_.as<char>() + set * b_bytes_, problem_.groups * problem_.n, QuantiseBlocks::kSquares,
           b_scales_.as<float>(), 2 * set + 1);
    }
    if (is_fp8_ && problem_.scaling != GroupScaling::kBlocks) set_to_ones();
    check(cudaDeviceSynchronize(), "filling the matrices");
  }

  std::size_t sets() const { return sets_; }
  double bytes() const {
    return static_cast<double>(a_bytes_ + b_bytes_) + 2.0 * static_cast<double>(problem_.m * problem_.n);
  }
  const char* a(std::size_t set) const { return a_.as<char>() + set * a_bytes_; }
  const char* b(std::size_t set) const { return b_.as<char>() + set * b_bytes_; }
  float* a_scales() const { return a_scales_.as<float>(); }
  float* b_scales() const { return b_scales_.as<float>(); }
  void* out() const { return out_.as<void>(); }
  MatmulGroupedTensors tensors(std::size_t set) const {
    return {.a = a(set),
            .b = b(set),
            .group_rows = problem_.rows == GroupRows::kAll ? nullptr : ends_.as<std::int32_t>(),
            .out = out(),
            .a_scales = a_scales(),
            .b_scales = b_scales()};
  }

  // Compares some elements with sums in double, after the last set was multiplied: the scales of blocks are its.
  // Gives back the largest error over the root of the sum of the products' squares.
  double largest_error() const {
    constexpr std::int64_t kRows = 16;
    constexpr std::int64_t kCols = 8;
    double largest = 0;
    const auto out = downloaded(out_.as<bf16>(), static_cast<std::size_t>(problem_.m * problem_.n));
    std::int64_t first = 0;
    for (std::size_t group = 0; group < rows_.size(); ++group) {
      for (std::int64_t i = 0; i < std::min<std::int64_t>(kRows, rows_[group]); ++i) {
        const std::int64_t row = first + i * rows_[group] / std::min<std::int64_t>(kRows, rows_[group]);
        for (std::int64_t j = 0; j < kCols; ++j) {
          const std::int64_t col = (problem_.n - 1) * j / (kCols - 1);
          const Wanted wanted = element(static_cast<std::int64_t>(group), row, col);
          const double got = out[static_cast<std::size_t>(row * problem_.n + col)].to_float();
          const double error = std::fabs(got - wanted.sum) / wanted.deviation;
          if (std::isnan(error)) return error;
          largest = std::max(largest, error);
        }
      }
      first += rows_[group];
    }
    return largest;
  }

 private:
  struct Wanted {
    double sum = 0;
    double deviation = 0;
  };

  void fill(char* to, std::int64_t rows, QuantiseBlocks blocks, float* scales, std::uint64_t seed) {
    if (!is_fp8_) return fill_normal(to, static_cast<std::uint64_t>(rows * problem_.k), seed, nullptr);
    const DeviceBytes numbers(static_cast<std::uint64_t>(2 * rows * problem_.k));
    fill_normal(numbers.as<void>(), static_cast<std::uint64_t>(rows * problem_.k), seed, nullptr);
    enqueue_quantise_sm90<Target::kCuda>({.rows = rows, .cols = problem_.k, .blocks = blocks},
                                         {.in = numbers.as<void>(), .out = to, .scales = scales}, nullptr);
    check(cudaDeviceSynchronize(), "quantising the matrices");
  }

  void set_to_ones() {
    const std::vector<float> ones(static_cast<std::size_t>(std::max(problem_.m, problem_.groups * problem_.n)),
                                  1);
    check(cudaMemcpy(a_scales(), ones.data(), static_cast<std::size_t>(problem_.m) * 4, cudaMemcpyHostToDevice),
          "cudaMemcpy");
    check(cudaMemcpy(b_scales(), ones.data(), static_cast<std::size_t>(problem_.groups * problem_.n) * 4,
                     cudaMemcpyHostToDevice),
          "cudaMemcpy");
  }

  std::vector<double> row_of(const char* from, std::int64_t row) const {
    const auto k = static_cast<std::size_t>(problem_.k);
    std::vector<double> numbers;
    if (is_fp8_) {
      for (const e4m3 x : downloaded(reinterpret_cast<const e4m3*>(from) + row * problem_.k, k))
        numbers.push_back(x.to_float());
    } else {
      for (const bf16 x : downloaded(reinterpret_cast<const bf16*>(from) + row * problem_.k, k))
        numbers.push_back(x.to_float());
    }
    return numbers;
  }

  Wanted element(std::int64_t group, std::int64_t row, std::int64_t col) const {
    const std::vector<double> of_a = row_of(a(sets_ - 1), row);
    const std::vector<double> of_b = row_of(b(sets_ - 1), group * problem_.n + col);
    const bool is_blockwise = problem_.scaling == GroupScaling::kBlocks;
    const std::int64_t pitch = (problem_.m + 3) / 4 * 4;
    Wanted wanted;
    double squares = 0;
    for (std::int64_t first = 0; first < problem_.k; first += 128) {
      const std::int64_t block = first / 128;
      const double scale =
          is_blockwise
              ? double{downloaded(a_scales() + block * pitch + row, 1)[0]} *
                    double{downloaded(
                        b_scales() + (group * blocks_of(problem_.n) + col / 128) * blocks_of(problem_.k) + block,
                        1)[0]}
              : 1.0;
      for (std::int64_t k = first; k < std::min(first + 128, problem_.k); ++k) {
        const double product = of_a[static_cast<std::size_t>(k)] * of_b[static_cast<std::size_t>(k)] * scale;
        wanted.sum += product;
        squares += product * product;
      }
    }
    wanted.deviation = std::sqrt(squares);
    return wanted;
  }

  MatmulGroupedProblem problem_;
  bool is_fp8_;
  std::uint64_t a_bytes_;
  std::uint64_t b_bytes_;
  std::size_t sets_;
  DeviceBytes a_;
  DeviceBytes b_;
  DeviceBytes a_scales_;
  DeviceBytes b_scales_;
  DeviceBytes ends_;
  DeviceBytes out_;
  std::vector<std::int32_t> rows_;
};

nlohmann::json measure(const Case& one, const CublasLt* cublas, int rounds, std::FILE* table) {
  const MatmulGroupedProblem& p = one.problem;
  const Operands operands(one);
  const double flops = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  Stopwatch watch({.sets = operands.sets(),
                   .guess_ms = std::max(flops / 1000e12, operands.bytes() / 4e12) * 1e3 + 0.002,
                   .bytes = operands.bytes()},
                  {.table = table});
  Contender ours("heddle", [&](std::size_t set, cudaStream_t stream) {
    enqueue_matmul_grouped_sm90<Target::kCuda>(p, operands.tensors(set), stream);
  });
  const auto verify = [&](Contender& who) {
    check(cudaMemset(operands.out(), 0xFF, static_cast<std::size_t>(2 * p.m * p.n)), "cudaMemset");
    who.enqueue(operands.sets() - 1, watch.stream());
    check(cudaStreamSynchronize(watch.stream()), who.name.c_str());
    who.error = operands.largest_error();
    constexpr double kLargest = 0.05;  // 13 bits of a sum of thousands, and the rounding to bf16
    if (!(who.error < kLargest))
      throw std::runtime_error(fmt::format("{} of {} is wrong: error {}", who.name, one.name, who.error));
  };
  verify(ours);
  std::vector<Contender> theirs;
  CublasLt::Problem problem;
  if (cublas != nullptr && p.rows == GroupRows::kAll && p.scaling != GroupScaling::kRows) {
    problem = cublas->make_problem(static_cast<std::uint64_t>(p.m), static_cast<std::uint64_t>(p.n),
                                   static_cast<std::uint64_t>(p.k), 16,
                                   {.a_scales = operands.a_scales(),
                                    .b_scales = operands.b_scales(),
                                    .is_blockwise = p.scaling == GroupScaling::kBlocks,
                                    .is_fast = !p.is_exact && p.scaling != GroupScaling::kBlocks});
    static const DeviceBytes workspace(CublasLt::kWorkspaceBytes);
    for (std::size_t i = 0; i < problem.algorithms.size(); ++i) {
      theirs.emplace_back(cublas->name(problem, i), [&, i](std::size_t set, cudaStream_t stream) {
        cublas->run(problem, i, operands.a(set), operands.b(set), operands.out(), workspace.as<void>(), stream);
      });
    }
  }
  std::vector<Contender*> all = {&ours};
  Contender* best = nullptr;
  if (!theirs.empty()) {
    best = &theirs[fastest(watch, theirs, 2)];
    for (Contender& other : theirs) watch.finish(other);
    best->burst_ms.clear();
    verify(*best);
    all.push_back(best);
  }
  for (Contender* who : all) {
    if (!watch.prepare(*who)) throw std::runtime_error("cannot run " + who->name);
  }
  watch.bursts(all, rounds);
  for (Contender* who : all) watch.finish(*who);
  nlohmann::json line = {{"name", one.name},
                         {"m", p.m},
                         {"n", p.n},
                         {"k", p.k},
                         {"groups", p.groups},
                         {"config", config_of(plan_matmul_grouped(p, operands.tensors(0), false))},
                         {"heddle_tflops", flops / ours.median_ms() / 1e9},
                         {"error", ours.error}};
  if (best != nullptr) {
    line["cublaslt_best_tflops"] = flops / best->median_ms() / 1e9;
    line["ratio_to_best"] = best->median_ms() / ours.median_ms();
  }
  if (best != nullptr) line["best"] = best->name;
  fmt::print(table, "{:<44} {:<34} {:8.1f} {:>8} {:>7}\n", one.name, line["config"].get<std::string>(),
             line["heddle_tflops"].get<double>(),
             best == nullptr ? "" : fmt::format("{:.1f}", line["cublaslt_best_tflops"].get<double>()),
             best == nullptr ? "" : fmt::format("{:.3f}", line["ratio_to_best"].get<double>()));
  std::fflush(table);
  return line;
}

MatmulGroupedProblem problem_of(std::int64_t m, std::int64_t n, std::int64_t k, GroupScaling scaling,
                                bool is_exact = false) {
  const MatmulElement type = scaling == GroupScaling::kNone ? MatmulElement::kBf16 : MatmulElement::kE4m3;
  return {.groups = 1,
          .m = m,
          .n = n,
          .k = k,
          .rows = GroupRows::kAll,
          .a_type = type,
          .b_type = type,
          .scaling = scaling,
          .is_exact = is_exact};
}

std::vector<Case> fp8_cases() {
  constexpr std::int64_t kTensors[][3] = {
      {4096, 4096, 4096}, {8192, 8192, 8192}, {4096, 7168, 2048}, {128, 7168, 16384}};
  constexpr std::int64_t kBlocks[][3] = {{4096, 7168, 2048},  {4096, 24576, 1536}, {4096, 2112, 7168},
                                         {4096, 7168, 16384}, {128, 7168, 16384},  {64, 2112, 7168},
                                         {8192, 8192, 8192}};
  std::vector<Case> cases;
  for (const bool is_exact : {false, true}) {
    for (const auto& [m, n, k] : kTensors) {
      cases.push_back({fmt::format("{},{},{} tensors{}", m, n, k, is_exact ? ", exact" : ""),
                       problem_of(m, n, k, GroupScaling::kTensors, is_exact),
                       {}});
    }
  }
  for (const auto& [m, n, k] : kBlocks) {
    cases.push_back({fmt::format("{},{},{} blocks", m, n, k), problem_of(m, n, k, GroupScaling::kBlocks), {}});
  }
  return cases;
}

std::vector<Case> moe_cases() {
  struct Experts {
    const char* name;
    std::vector<std::int32_t> rows;
    std::int64_t n;
    std::int64_t k;
  };
  const Experts experts[] = {{"8 x 1024", std::vector<std::int32_t>(8, 1024), 14336, 4096},
                             {"8 x 1024", std::vector<std::int32_t>(8, 1024), 4096, 14336},
                             {"64 x 256", std::vector<std::int32_t>(64, 256), 2048, 7168},
                             {"128 x 64", std::vector<std::int32_t>(128, 64), 4096, 2048},
                             {"uneven", {4000, 2000, 1000, 600, 300, 200, 80, 12}, 14336, 4096}};
  std::vector<Case> cases;
  for (const GroupScaling scaling : {GroupScaling::kNone, GroupScaling::kRows, GroupScaling::kBlocks}) {
    for (const Experts& one : experts) {
      const std::int64_t m = std::accumulate(one.rows.begin(), one.rows.end(), std::int64_t{0});
      Case made{fmt::format("{},{},{} {}", one.name, one.n, one.k,
                            scaling == GroupScaling::kNone ? "bf16" : name_of(scaling)),
                problem_of(m, one.n, one.k, scaling), one.rows};
      made.problem.rows = GroupRows::kEnds;
      made.problem.groups = static_cast<std::int64_t>(one.rows.size());
      cases.push_back(made);
    }
  }
  return cases;
}

}  // namespace

bool is_scaled_suite(const std::string& name) { return name == "fp8" || name == "moe"; }

nlohmann::json run_scaled_suite(const std::string& name, const CublasLt* cublas, int rounds, std::FILE* table) {
  fmt::print(table, "{:<44} {:<34} {:>8} {:>8} {:>7}\n", "M,N,K", "configuration", "heddle", "best", "/best");
  nlohmann::json lines = nlohmann::json::array();
  for (const Case& one : name == "fp8" ? fp8_cases() : moe_cases()) {
    lines.push_back(measure(one, cublas, rounds, table));
  }
  return lines;
}

}  // namespace heddle::bench
