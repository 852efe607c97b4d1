// SPDX-License-Identifier: Apache-2.0
//
// The Hopper matmul on a GPU, exact on integers: random shapes with ragged edges, all types, both layouts of B,
// alpha, beta, bias, activation and residual, every configuration. Outputs and paddings are poisoned, and
// paddings must stay so. Without a GPU it is skipped (status 77).
//
//   conformance_matmul [shapes] [largest extent]
#include "matmul/host/matmul_families.h"
#include "matmul/host/matmul_sm90_plan.h"
#include "matmul/reference/matmul_reference.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

namespace {

using heddle::Activation;
using heddle::MatmulElement;
using heddle::MatmulProblem;
using heddle::OperandLayout;
using heddle::Target;
using heddle::reference::MatmulCase;

constexpr int kSkipped = 77;

struct Tally {
  std::uint64_t problems = 0;
  std::uint64_t elements = 0;
  std::uint64_t wrong = 0;
};

// A copy on the GPU; null for nothing.
class Copy {
 public:
  explicit Copy(const std::vector<unsigned char>& host) {
    if (host.empty()) return;
    check(cudaMalloc(&data_, host.size()));
    check(cudaMemcpy(data_, host.data(), host.size(), cudaMemcpyHostToDevice));
  }
  ~Copy() { cudaFree(data_); }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;

  void* data() const { return data_; }
  void download(std::vector<unsigned char>& host) const {
    check(cudaMemcpy(host.data(), data_, host.size(), cudaMemcpyDeviceToHost));
  }

  static void check(cudaError_t error) {
    if (error == cudaSuccess) return;
    fmt::print("FAILED {}\n", cudaGetErrorString(error));
    std::exit(1);  // a GPU that has faulted answers nothing any more
  }

 private:
  void* data_ = nullptr;
};

// In a stream, with a workspace of NaNs: a partial sum that nobody wrote would show.
void run_in_stream(MatmulCase& one) {
  static const Copy workspace(std::vector<unsigned char>(heddle::kMatmulWorkspaceBytes, 0xFF));
  Copy::check(cudaMemset(workspace.data(), 0xFF, heddle::kMatmulWorkspaceBytes));
  const Copy a(one.a.bytes);
  const Copy b(one.b.bytes);
  const Copy out(one.out.bytes);
  const Copy bias(one.bias.bytes);
  const Copy residual(one.residual.bytes);
  heddle::enqueue_matmul_sm90<Target::kCuda>(one.problem,
                                             {.a = a.data(),
                                              .b = b.data(),
                                              .out = out.data(),
                                              .bias = one.has_bias ? bias.data() : nullptr,
                                              .residual = one.has_residual ? residual.data() : nullptr,
                                              .workspace = workspace.data(),
                                              .workspace_bytes = heddle::kMatmulWorkspaceBytes},
                                             nullptr);
  out.download(one.out.bytes);
}

void run_from_host(MatmulCase& one) {
  const heddle::RunOutcome outcome =
      heddle::matmul_sm90<Target::kCuda>(one.problem, one.tensors(), {.kernel = "matmul"});
  if (outcome.ok()) return;
  fmt::print("FAILED {}\n{}", one.describe(), outcome.report);
  std::exit(1);
}

void compare(MatmulCase one, bool is_in_stream, Tally& tally) {
  one.prepare();
  if (is_in_stream) {
    run_in_stream(one);
  } else {
    run_from_host(one);
  }
  ++tally.problems;
  const heddle::reference::MatmulVerdict verdict = one.verify();
  tally.elements += static_cast<std::uint64_t>(verdict.checked);
  if (verdict.ok()) return;
  ++tally.wrong;
  fmt::print("WRONG {}: {}\n", one.describe(), verdict.wrong);
}

MatmulProblem random_problem(std::mt19937_64& random, std::uint32_t largest) {
  const auto below = [&](std::uint64_t bound) { return static_cast<std::uint32_t>(random() % bound); };
  MatmulProblem p;
  p.m = 1 + below(largest);
  p.n = 1 + below(largest);
  p.k = 1 + below(largest);
  p.a_type = below(2) == 0 ? MatmulElement::kBf16 : MatmulElement::kFp16;
  p.b_type = p.a_type;
  p.out_type = static_cast<MatmulElement>(below(3));
  p.b_layout = below(4) == 0 ? OperandLayout::kMnMajor : OperandLayout::kKMajor;
  if (below(2) == 0) p.n = (p.n + 7) / 8 * 8;  // where every configuration can run
  if (below(3) == 0) p.alpha = static_cast<float>(below(5)) - 2.0f;
  if (below(3) == 0) p.beta = static_cast<float>(below(5)) - 2.0f;
  if (below(4) == 0) p.activation = Activation::kRelu;
  return p;
}

// Any configuration that can have K in a few parts: the epilogue and the rows' ends are not its business then.
std::string in_parts(const MatmulProblem& p, bool is_fused, std::mt19937_64& random) {
  MatmulProblem split = p;
  split.splits = 2;
  const std::vector<std::string> configs = heddle::matmul_sm90_configs(split, is_fused, false);
  const std::string& config = configs[random() % configs.size()];
  std::uint32_t tile_k = 0;
  (void)std::sscanf(config.c_str(), "%*ux%*ux%u", &tile_k);
  const auto along = [](std::int64_t elems, std::int64_t tile) { return (elems + tile - 1) / tile; };
  const std::int64_t blocks = along(p.k, tile_k);
  const auto wanted = 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(blocks));
  split.splits = along(blocks, along(blocks, wanted));
  const std::vector<std::string> able = heddle::matmul_sm90_configs(split, is_fused, false);
  if (std::find(able.begin(), able.end(), config) == able.end()) return "";  // clusters have no room for so many
  return fmt::format("{}/{}", config, split.splits);
}

void compare_random(std::uint32_t count, std::uint32_t largest, Tally& tally) {
  std::mt19937_64 random(11);
  for (std::uint32_t i = 0; i < count; ++i) {
    MatmulProblem p = random_problem(random, largest);
    const bool has_bias = random() % 4 == 0;
    const bool has_residual = random() % 4 == 0;
    const bool is_fused =
        has_bias || has_residual || p.alpha != 1 || p.beta != 0 || p.activation != Activation::kNone;
    const bool is_packed = random() % 4 == 0;  // rows that begin anywhere
    if (!is_packed) p.out_pitch = (p.n + 7) / 8 * 8;
    const std::vector<std::string> configs = heddle::matmul_sm90_configs(p, is_fused, false);
    if (i % 4 != 0) p.config = configs[random() % configs.size()];
    const std::string split = in_parts(p, is_fused, random);
    if (i % 4 == 1 && !split.empty() && !split.ends_with("/1")) {
      const std::size_t slash = split.find('/');
      const bool asks_for_parts = i % 8 == 5;  // which then are not the configuration's
      if (asks_for_parts) p.splits = std::stoll(split.substr(slash + 1));
      p.config = asks_for_parts ? split.substr(0, slash) : split;
    }
    compare({.problem = p,
             .seed = i,
             .more = static_cast<std::int64_t>(random() % 3),
             .is_packed = is_packed,
             .has_bias = has_bias,
             .has_residual = has_residual},
            true, tally);
  }
}

// Many tiles for each SM, so that stages and store tiles go round often.
void compare_configurations(Tally& tally) {
  for (const MatmulElement input : {MatmulElement::kBf16, MatmulElement::kFp16}) {
    for (const OperandLayout layout : {OperandLayout::kKMajor, OperandLayout::kMnMajor}) {
      MatmulProblem p{.m = 1000, .n = 1544, .k = 200, .a_type = input, .b_type = input, .b_layout = layout};
      for (const std::string& config : heddle::matmul_sm90_configs(p, false, false)) {
        p.config = config;
        p.out_type = input;
        compare({.problem = p, .seed = 3}, false, tally);
      }
    }
  }
}

// What the text of an exception must hold for a refusal to count.
template <class Call>
bool is_refused(const char* what, const std::string& with, const Call& call) {
  try {
    call();
  } catch (const std::exception& error) {
    if (std::string(error.what()).find(with) != std::string::npos) return true;
    fmt::print("WRONG {}: refused with '{}', not with '{}'\n", what, error.what(), with);
    return false;
  }
  fmt::print("WRONG {}: not refused\n", what);
  return false;
}

// Bad input is refused with what is wrong, and the next problem runs as if nothing had happened.
bool refuses_bad_input(Tally& after) {
  MatmulCase one{.problem = {.m = 256, .n = 256, .k = 256}, .seed = 4};
  std::size_t free = 0;
  std::size_t total = 0;
  void* memory = nullptr;
  (void)cudaMemGetInfo(&free, &total);
  std::size_t taken = free - (std::size_t{1} << 20);
  while (cudaMalloc(&memory, taken) != cudaSuccess) taken -= std::size_t{1} << 20;
  (void)cudaGetLastError();
  bool all = is_refused("a full card", "cudaMalloc of", [&] {
    MatmulCase large{.problem = {.m = 4096, .n = 64, .k = 4096}};
    large.prepare();
    (void)heddle::matmul_sm90<Target::kCuda>(large.problem, large.tensors(), {.kernel = "matmul"});
  });
  cudaFree(memory);
  compare(one, false, after);
  (void)cudaMalloc(&memory, std::size_t{4} << 20);
  char* const at = static_cast<char*>(memory);
  const MatmulProblem problem{.m = 256, .n = 256, .k = 256};
  const auto run = [&](const void* a, void* out, cudaStream_t stream) {
    heddle::enqueue_matmul_sm90<Target::kCuda>(problem, {.a = a, .b = at + (1 << 20), .out = out}, stream);
  };
  all &= is_refused("an odd address", "addresses are multiples of 16",
                    [&] { run(at + 8, at + (2 << 20), nullptr); });
  all &= is_refused("an overlap", "out overlaps a", [&] { run(at, at + 1024, nullptr); });
  all &= is_refused("another GPU", "there is no GPU 99", [&] {
    one.prepare();
    (void)heddle::matmul_sm90<Target::kCuda>(one.problem, one.tensors(), {.kernel = "matmul", .ordinal = 99});
  });
  cudaStream_t stream = nullptr;
  (void)cudaStreamCreate(&stream);
  run(at, at + (2 << 20), stream);
  all &= cudaStreamSynchronize(stream) == cudaSuccess;
  cudaStreamDestroy(stream);
  cudaFree(memory);
  compare(one, true, after);
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  const heddle::GpuList list = heddle::matmul_gpus<Target::kCuda>();
  if (list.gpus.empty() || list.gpus[0].major != 9) {
    fmt::print("skipped: {}\n",
               list.gpus.empty() ? list.why : list.gpus[0].name + " is not of compute capability 9.0");
    return kSkipped;
  }
  const std::uint32_t count = argc > 1 ? static_cast<std::uint32_t>(std::atoi(argv[1])) : 600;
  const std::uint32_t largest = argc > 2 ? static_cast<std::uint32_t>(std::atoi(argv[2])) : 400;
  fmt::print("{}, seed 11\n", list.gpus[0].name);
  Tally random;
  compare_random(count, largest, random);
  fmt::print("random shapes: {} problems, {} elements, {} problems wrong\n", random.problems, random.elements,
             random.wrong);
  Tally configurations;
  if (argc <= 1) {
    compare_configurations(configurations);
    fmt::print("configurations: {} problems, {} elements, {} problems wrong\n", configurations.problems,
               configurations.elements, configurations.wrong);
  }
  Tally after;
  bool refuses = true;
  if (argc <= 1) {
    refuses = refuses_bad_input(after);
    fmt::print("bad input: {}, {} problems after it, {} wrong\n", refuses ? "refused" : "NOT refused",
               after.problems, after.wrong);
  }
  return refuses && random.wrong + configurations.wrong + after.wrong == 0 ? 0 : 1;
}
