// SPDX-License-Identifier: Apache-2.0
//
// The Hopper matmul on a GPU, exact on integers: random shapes with ragged edges, all types, both layouts of B,
// alpha, beta, bias, activation and residual, every configuration. Outputs and paddings are poisoned, and paddings
// must stay so. Without a GPU it is skipped (status 77).
//
//   conformance_matmul [shapes] [largest extent]
#include "matmul_families.h"
#include "matmul_reference.h"
#include "matmul_sm90_plan.h"

#include <fmt/format.h>

#include <cstdlib>
#include <random>

namespace {

using heddle::Activation;
using heddle::OperandLayout;
using heddle::MatmulProblem;
using heddle::MatmulElement;
using heddle::Target;
using heddle::reference::MatmulCase;

constexpr int kSkipped = 77;

struct Tally {
  std::uint64_t problems = 0;
  std::uint64_t elements = 0;
  std::uint64_t wrong = 0;
};

void compare(MatmulCase one, Tally& tally) {
  one.prepare();
  const heddle::RunOutcome outcome =
      heddle::matmul_sm90<Target::kCuda>(one.problem, one.tensors(), {.kernel = "matmul"});
  ++tally.problems;
  if (!outcome.ok()) {
    fmt::print("FAILED {}\n{}", one.describe(), outcome.report);
    std::exit(1);  // a GPU that has faulted answers nothing any more
  }
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

void compare_random(std::uint32_t count, std::uint32_t largest, Tally& tally) {
  std::mt19937_64 random(11);
  for (std::uint32_t i = 0; i < count; ++i) {
    MatmulProblem p = random_problem(random, largest);
    const bool has_bias = random() % 4 == 0;
    const bool has_residual = random() % 4 == 0;
    const bool is_fused = has_bias || has_residual || p.alpha != 1 || p.beta != 0 || p.activation != Activation::kNone;
    const std::vector<std::string> configs = heddle::matmul_sm90_configs(p, is_fused, false);
    if (i % 4 != 0) p.config = configs[random() % configs.size()];
    compare({.problem = p,
             .seed = i,
             .more = static_cast<std::int64_t>(random() % 3),
             .has_bias = has_bias,
             .has_residual = has_residual},
            tally);
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
        compare({.problem = p, .seed = 3}, tally);
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const heddle::GpuList list = heddle::matmul_gpus<Target::kCuda>();
  if (list.gpus.empty() || list.gpus[0].major != 9) {
    fmt::print("skipped: {}\n", list.gpus.empty() ? list.why : list.gpus[0].name + " is not of compute capability 9.0");
    return kSkipped;
  }
  const std::uint32_t count = argc > 1 ? static_cast<std::uint32_t>(std::atoi(argv[1])) : 600;
  const std::uint32_t largest = argc > 2 ? static_cast<std::uint32_t>(std::atoi(argv[2])) : 400;
  fmt::print("{}, seed 11\n", list.gpus[0].name);
  Tally random;
  compare_random(count, largest, random);
  fmt::print("random shapes: {} problems, {} elements, {} problems wrong\n", random.problems, random.elements, random.wrong);
  Tally configurations;
  if (argc <= 1) {
    compare_configurations(configurations);
    fmt::print("configurations: {} problems, {} elements, {} problems wrong\n", configurations.problems,
               configurations.elements, configurations.wrong);
  }
  return random.wrong + configurations.wrong == 0 ? 0 : 1;
}
