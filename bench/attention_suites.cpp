// SPDX-License-Identifier: Apache-2.0
#include "attention_suites.h"

#include "attention/attention_decode_sm90_host.h"
#include "attention/attention_plan.h"
#include "attention/attention_sm90_host.h"
#include "device_bytes.h"
#include "matmul_bench_kernels.h"
#include "matmul_session.h"

#include <heddle/tile/element.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace heddle::bench {

namespace {

struct Case {
  std::string name;
  AttentionProblem problem;
  bool is_decode = false;
};

std::uint64_t key_heads_of(const AttentionProblem& p) {
  return static_cast<std::uint64_t>(p.key_heads == 0 ? p.heads : p.key_heads);
}

// Tensors that are used in turn, and one output.
class Tensors {
 public:
  explicit Tensors(const Case& of)
      : problem_(of.problem),
        plan_(plan_attention(of.problem)),
        set_bytes_(plan_.q.bytes + plan_.k.bytes + plan_.v.bytes),
        sets_(std::clamp<std::size_t>((std::size_t{400} << 20) / set_bytes_ + 1, 1, 16)),
        inputs_(sets_ * set_bytes_),
        out_(plan_.o.bytes),
        workspace_(of.is_decode ? attention_decode_workspace({.attention = of.problem}) : 1) {
    fill_normal(inputs_.as<void>(), sets_ * set_bytes_ / sizeof(bf16), 1, nullptr);
    check(cudaDeviceSynchronize(), "filling the tensors");
  }

  std::size_t sets() const { return sets_; }
  double cache_bytes() const { return static_cast<double>(plan_.k.bytes + plan_.v.bytes); }
  AttentionTensors of(std::size_t set) const {
    char* const first = inputs_.as<char>() + set * set_bytes_;
    return {
        .q = first, .k = first + plan_.q.bytes, .v = first + plan_.q.bytes + plan_.k.bytes, .o = out_.as<void>()};
  }
  void* workspace() const { return workspace_.as<void>(); }
  void poison() const { check(cudaMemset(out_.as<void>(), 0xFF, plan_.o.bytes), "cudaMemset"); }

  // Of the first, a middle and the last query of the last head of the last batch, against double.
  double largest_error(std::size_t set) const {
    const AttentionTensors at = of(set);
    const std::uint64_t keys = plan_.k.rows;
    const std::uint64_t key_head = plan_.k.batches * key_heads_of(problem_) - 1;
    const auto k = downloaded(static_cast<const bf16*>(at.k) + key_head * keys * plan_.k.dim, keys * plan_.k.dim);
    const auto v = downloaded(static_cast<const bf16*>(at.v) + key_head * keys * plan_.v.dim, keys * plan_.v.dim);
    const std::uint64_t last = plan_.q.batches * plan_.q.heads * plan_.q.rows - 1;
    double largest = 0;
    for (const std::uint64_t back : {plan_.q.rows - 1, plan_.q.rows / 2, std::uint64_t{0}}) {
      const auto q = downloaded(static_cast<const bf16*>(at.q) + (last - back) * plan_.q.dim, plan_.q.dim);
      const auto o = downloaded(out_.as<bf16>() + (last - back) * plan_.o.dim, plan_.o.dim);
      const std::vector<double> wanted = output(q, k, v, back);
      for (std::size_t d = 0; d < o.size(); ++d) {
        const double error = std::fabs(double{o[d].to_float()} - wanted[d]);
        if (std::isnan(error)) return error;
        largest = std::max(largest, error);
      }
    }
    return largest;
  }

 private:
  // Of the query that is followed by `back` others.
  std::vector<double> output(const std::vector<bf16>& q, const std::vector<bf16>& k, const std::vector<bf16>& v,
                             std::uint64_t back) const {
    const std::uint64_t end = problem_.is_causal ? plan_.k.rows - back : plan_.k.rows;
    const auto window = static_cast<std::uint64_t>(problem_.window);
    std::vector<double> sums(plan_.v.dim);
    double weights = 0;
    for (std::uint64_t key = window == 0 || window > end ? 0 : end - window; key < end; ++key) {
      double score = 0;
      for (std::uint64_t d = 0; d < plan_.q.dim; ++d) {
        score += double{q[d].to_float()} * double{k[key * plan_.k.dim + d].to_float()};
      }
      score *= double{plan_.scale};
      const double cap = double{problem_.soft_cap};
      const double weight = std::exp(cap == 0 ? score : cap * std::tanh(score / cap));
      weights += weight;
      for (std::uint64_t d = 0; d < sums.size(); ++d) {
        sums[d] += weight * double{v[key * plan_.v.dim + d].to_float()};
      }
    }
    for (double& sum : sums) sum /= weights;
    return sums;
  }

  AttentionProblem problem_;
  AttentionPlan plan_;
  std::size_t set_bytes_;
  std::size_t sets_;
  DeviceBytes inputs_;
  DeviceBytes out_;
  DeviceBytes workspace_;
};

// A causal mask halves the work, and a window leaves its share of it.
double flops_of(const AttentionProblem& p) {
  const auto queries = static_cast<double>(p.queries);
  const auto window = static_cast<double>(p.window);
  const double pairs = p.window != 0 ? window * queries - window * window / 2
                                     : queries * static_cast<double>(p.keys) / (p.is_causal ? 2 : 1);
  const std::int64_t dims = p.head_dim + (p.value_dim == 0 ? p.head_dim : p.value_dim);
  return 2 * static_cast<double>(p.batches * p.heads * dims) * pairs;
}

nlohmann::json measure(const Case& one, int rounds, std::FILE* table) {
  const AttentionProblem& p = one.problem;
  const Tensors tensors(one);
  const double flops = flops_of(p);
  const double guess_s = one.is_decode ? tensors.cache_bytes() / 4e12 + 5e-6 : flops / 600e12;
  Stopwatch watch({.sets = tensors.sets(), .guess_ms = guess_s * 1e3, .bytes = tensors.cache_bytes()},
                  {.table = table});
  Contender ours("heddle", [&](std::size_t set, cudaStream_t stream) {
    if (one.is_decode) {
      enqueue_attention_decode_sm90<Target::kCuda>(
          {.attention = p}, {.attention = tensors.of(set), .workspace = tensors.workspace()}, stream);
    } else {
      enqueue_attention_sm90<Target::kCuda>(p, tensors.of(set), stream);
    }
  });
  tensors.poison();
  ours.enqueue(tensors.sets() - 1, watch.stream());
  check(cudaStreamSynchronize(watch.stream()), one.name.c_str());
  ours.error = tensors.largest_error(tensors.sets() - 1);
  // Weights and outputs are rounded to 2^-9 of themselves; normal numbers are below 6.
  constexpr double kLargest = 6.0 / 512 * 2;
  if (!(ours.error < kLargest)) {
    throw std::runtime_error(fmt::format("{} is wrong: an output is {} from double", one.name, ours.error));
  }
  if (!watch.prepare(ours)) throw std::runtime_error("cannot run " + one.name);
  watch.bursts({&ours}, rounds);
  watch.finish(ours);
  const double ms = ours.median_ms();
  nlohmann::json line = {
      {"name", one.name},     {"batches", p.batches}, {"heads", p.heads},       {"key_heads", key_heads_of(p)},
      {"queries", p.queries}, {"keys", p.keys},       {"head_dim", p.head_dim}, {"is_causal", p.is_causal},
      {"us", ms * 1e3},       {"error", ours.error}};
  if (one.is_decode) {
    line["terabytes_per_s"] = tensors.cache_bytes() / ms / 1e9;
    fmt::print(table, "{:<44} {:10.1f} {:10.2f} TB/s\n", one.name, ms * 1e3,
               line["terabytes_per_s"].get<double>());
  } else {
    line["heddle_tflops"] = flops / ms / 1e9;
    fmt::print(table, "{:<44} {:10.1f} {:10.1f} TFLOP/s\n", one.name, ms * 1e3,
               line["heddle_tflops"].get<double>());
  }
  std::fflush(table);
  return line;
}

std::vector<Case> attention_cases() {
  constexpr std::int64_t kTokens = 16384;
  std::vector<Case> cases;
  const auto add = [&](const std::string& name, std::int64_t length, AttentionProblem p) {
    p.batches = kTokens / length;
    p.queries = p.keys = length;
    cases.push_back({fmt::format("{}{}, {} tokens", name, p.is_causal ? ", causal" : "", length), p});
  };
  for (const std::int64_t head_dim : {128, 64}) {
    for (const bool is_causal : {false, true}) {
      for (const std::int64_t length : {512, 1024, 2048, 4096, 8192, 16384}) {
        add(fmt::format("head {}", head_dim), length,
            {.heads = 2048 / head_dim, .head_dim = head_dim, .is_causal = is_causal});
      }
    }
  }
  for (const std::int64_t length : {2048, 16384}) {
    for (const bool is_causal : {false, true}) {
      add("head 256", length, {.heads = 8, .head_dim = 256, .is_causal = is_causal});
      add("head 192 and 128", length, {.heads = 16, .head_dim = 192, .value_dim = 128, .is_causal = is_causal});
      add("32 heads share 4", length, {.heads = 32, .key_heads = 4, .is_causal = is_causal});
    }
    add("head 96", length, {.heads = 16, .head_dim = 96});
    add("window 1024", length, {.heads = 16, .is_causal = true, .window = 1024});
    add("cap 30", length, {.heads = 16, .is_causal = true, .soft_cap = 30});
  }
  return cases;
}

std::vector<Case> decode_cases() {
  std::vector<Case> cases;
  for (const std::int64_t batches : {1, 4, 16, 64, 128}) {
    for (const std::int64_t keys : {1024, 4096, 16384, 65536}) {
      cases.push_back({fmt::format("{} batches of {} keys", batches, keys),
                       {.batches = batches, .heads = 64, .key_heads = 8, .queries = 1, .keys = keys},
                       true});
    }
  }
  return cases;
}

}  // namespace

bool is_attention_suite(const std::string& name) { return name == "attention" || name == "decode"; }

nlohmann::json run_attention_suite(const std::string& name, int rounds, std::FILE* table) {
  fmt::print(table, "{:<44} {:>10} {:>10}\n",
             name == "decode" ? "64 heads share 8 of 128, one query" : "attention", "us", "heddle");
  nlohmann::json lines = nlohmann::json::array();
  for (const Case& one : name == "decode" ? decode_cases() : attention_cases()) {
    lines.push_back(measure(one, rounds, table));
  }
  return lines;
}

}  // namespace heddle::bench
