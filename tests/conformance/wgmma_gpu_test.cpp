// SPDX-License-Identifier: Apache-2.0
//
// wgmma on a GPU and in the simulated SM, bits compared: shapes, types, majors and swizzles, on integers, on
// normal data, and on data that reaches every corner of the formats. Without a GPU of compute capability 9.0 it
// is skipped (status 77).
#include "wgmma_gpu_test.h"

#include "../unit/wgmma_tiles.h"

#include <heddle/tile/element.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <random>
#include <string>

namespace {

using namespace heddle;
using wgmma_test::Prepared;
using wgmma_test::Problem;

constexpr int kSkipped = 77;

constexpr const char* kTypeNames[] = {"f16", "bf16", "tf32", "e4m3", "e5m2"};
constexpr const char* kDataNames[] = {"integers", "normal", "all exponents", "subnormals", "any bits"};
enum Data { kIntegers, kNormal, kAllExponents, kSubnormals, kAnyBits };

using Random = std::mt19937_64;

float normal(Random& random) { return std::normal_distribution<float>()(random); }

// `smallest` is the exponent of the smallest normal number.
float draw(Data data, int smallest, Random& random) {
  switch (data) {
    case kIntegers: return static_cast<float>(static_cast<int>(random() % 9) - 4);
    case kNormal: return normal(random);
    case kAllExponents:
      return std::ldexp(normal(random),
                        static_cast<int>(random() % static_cast<unsigned>(2 - smallest)) + smallest);
    default: return std::ldexp(normal(random), random() % 2 == 0 ? smallest : -1);
  }
}

std::uint32_t draw_element(Data data, OperandType type, Random& random) {
  const std::uint32_t any = static_cast<std::uint32_t>(random());
  switch (type) {
    case OperandType::kF16:
      return data == kAnyBits ? any & 0xFFFF : fp16::from_float(draw(data, -14, random)).bits;
    case OperandType::kBf16:
      return data == kAnyBits ? any & 0xFFFF : bf16::from_float(draw(data, -126, random)).bits;
    // The low bits, which do not count, are set.
    case OperandType::kTf32:
      return data == kAnyBits ? any : tf32::from_float(draw(data, -126, random)).bits | (any & 0x1FFF);
    case OperandType::kE4m3: return data == kAnyBits ? any & 0xFF : e4m3::from_float(draw(data, -6, random)).bits;
    default: return data == kAnyBits ? any & 0xFF : e5m2::from_float(draw(data, -14, random)).bits;
  }
}

std::uint32_t draw_accumulators(Data data, AccumulatorType type, Random& random) {
  if (type == AccumulatorType::kF16) {
    const std::uint32_t low = draw_element(data, OperandType::kF16, random);
    return low | draw_element(data, OperandType::kF16, random) << 16;
  }
  return data == kAnyBits ? static_cast<std::uint32_t>(random())
                          : std::bit_cast<std::uint32_t>(draw(data, -126, random));
}

struct Tally {
  std::uint64_t equal = 0;
  std::uint64_t different = 0;
  std::uint64_t failed = 0;  // runs
};

std::string describe(const WgmmaCase& one, const Problem& problem) {
  constexpr const char* kSwizzleNames[] = {"none", "32B", "64B", "128B"};
  return fmt::format("n{} {}.{}.{} {} majors {}{} swizzles {} {} steps {}{}", one.n, one.d == 0 ? "f16" : "f32",
                     kTypeNames[one.a], kTypeNames[one.b], one.a_in_registers ? "RS" : "SS",
                     one.a_major == 0 ? "K" : "M", one.b_major == 0 ? "K" : "N",
                     kSwizzleNames[static_cast<int>(problem.a_swizzle)],
                     kSwizzleNames[static_cast<int>(problem.b_swizzle)], problem.steps,
                     one.negate_a || one.negate_b ? " negated" : "");
}

// As many K steps as a row of the layout holds.
std::uint32_t steps_in(std::uint8_t major, Swizzle swizzle) {
  return major == 0 && swizzle != Swizzle::kNone ? span_bytes(swizzle) / 32 : 3;
}

template <Target other>
void compare(std::size_t case_idx, Data data, Swizzle a_swizzle, Swizzle b_swizzle, Random& random,
             Tally& tally) {
  const WgmmaCase& one = kWgmmaCases.all[case_idx];
  Problem problem{.shape = {.n = one.n,
                            .a = static_cast<OperandType>(one.a),
                            .b = static_cast<OperandType>(one.b),
                            .d = static_cast<AccumulatorType>(one.d),
                            .a_major = static_cast<Major>(one.a_major),
                            .b_major = static_cast<Major>(one.b_major)},
                  .a_in_registers = one.a_in_registers,
                  .a_swizzle = a_swizzle,
                  .b_swizzle = b_swizzle,
                  .steps = std::min(steps_in(one.a_major, a_swizzle), steps_in(one.b_major, b_swizzle)),
                  .gap = random() % 2 == 0 ? 0u : 1024u};
  problem.a.resize(64 * problem.depth());
  problem.b.resize(one.n * problem.depth());
  for (std::uint32_t& bits : problem.a) bits = draw_element(data, problem.shape.a, random);
  for (std::uint32_t& bits : problem.b) bits = draw_element(data, problem.shape.b, random);
  const std::size_t d_words = kWarpgroupThreads * problem.shape.d_registers();
  if (random() % 2 == 0) {
    problem.d_in.resize(d_words);
    for (std::uint32_t& word : problem.d_in) word = draw_accumulators(data, problem.shape.d, random);
  }
  Prepared prepared = prepare(problem);
  const wgmma_test::TileParams params = params_of(prepared, problem.steps);
  const WgmmaRun run{.case_idx = case_idx,
                     .image = std::move(prepared.image),
                     .a_descriptor = params.a_descriptor,
                     .b_descriptor = params.b_descriptor,
                     .a_step_bytes = params.a_step_bytes,
                     .b_step_bytes = params.b_step_bytes,
                     .steps = problem.steps,
                     .fragments = std::move(prepared.fragments),
                     .d_in = problem.d_in,
                     .d_words = d_words};
  std::vector<std::uint32_t> on_gpu, on_sim;
  const RunOutcome gpu = run_wgmma<other>(run, on_gpu);
  const RunOutcome sim = run_wgmma<Target::kSim>(run, on_sim);
  if (!gpu.ok() || !sim.ok()) {
    fmt::print("FAILED {}: {}\n{}{}", kDataNames[data], describe(one, problem), gpu.report, sim.report);
    ++tally.failed;
    if (!gpu.ok()) std::exit(1);  // a GPU that has faulted answers nothing any more
    return;
  }
  const std::uint32_t per_word = one.d == 0 ? 2 : 1;
  std::uint64_t different = 0;
  std::string first;
  for (std::size_t i = 0; i < d_words * per_word; ++i) {
    const std::uint32_t shift = one.d == 0 ? 16 * static_cast<std::uint32_t>(i % 2) : 0;
    const std::uint32_t mask = one.d == 0 ? 0xFFFF : 0xFFFF'FFFF;
    const std::uint32_t theirs = on_gpu[i / per_word] >> shift & mask;
    const std::uint32_t ours = on_sim[i / per_word] >> shift & mask;
    if (theirs == ours) continue;
    if (different++ == 0) {
      const std::size_t elements = problem.shape.n / 2;
      const wgmma_test::Place at = wgmma_test::place_of(static_cast<std::uint32_t>(i / elements),
                                                        static_cast<std::uint32_t>(i % elements));
      first = fmt::format("row {}, column {}: GPU {:#x}, simulated {:#x}", at.row, at.column, theirs, ours);
    }
  }
  tally.equal += d_words * per_word - different;
  tally.different += different;
  if (different != 0) {
    fmt::print("DIFFERENT {}: {}: {} of {}; first at {}\n", kDataNames[data], describe(one, problem), different,
               d_words * per_word, first);
  }
}

template <Target other>
int compare_all() {
  constexpr Swizzle kSwizzles[] = {Swizzle::kNone, Swizzle::k32B, Swizzle::k64B, Swizzle::k128B};
  Random random(20250306);
  Tally by_data[std::size(kDataNames)];
  Tally by_type[std::size(kTypeNames)];
  for (std::size_t i = 0; i < kWgmmaCases.count; ++i) {
    const WgmmaCase& one = kWgmmaCases.all[i];
    for (int data = 0; data < static_cast<int>(std::size(kDataNames)); ++data) {
      Tally tally;
      for (const Swizzle a_swizzle : kSwizzles) {
        for (const Swizzle b_swizzle : kSwizzles) {
          // Layouts are told apart by integers; other data need only one.
          if (data == kIntegers ? one.n > 136 && a_swizzle != b_swizzle
                                : a_swizzle != Swizzle::k128B || b_swizzle != Swizzle::k128B) {
            continue;
          }
          compare<other>(i, static_cast<Data>(data), a_swizzle, b_swizzle, random, tally);
        }
      }
      for (Tally* sum : {&by_data[data], &by_type[one.a]}) {
        sum->equal += tally.equal;
        sum->different += tally.different;
        sum->failed += tally.failed;
      }
    }
  }
  std::uint64_t wrong = 0;
  const auto print = [](const char* name, const Tally& tally) {
    fmt::print("{:<14} {:>10} equal {:>8} different {:>4} runs failed\n", name, tally.equal, tally.different,
               tally.failed);
  };
  fmt::print("{} shapes, seed 20250306\n", kWgmmaCases.count);
  for (std::size_t t = 0; t < std::size(kTypeNames); ++t) print(kTypeNames[t], by_type[t]);
  for (std::size_t t = 0; t < std::size(kDataNames); ++t) {
    print(kDataNames[t], by_data[t]);
    wrong += by_data[t].different + by_data[t].failed;
  }
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main() {
  const GpuList list = wgmma_gpus<Target::kCuda>();
  const auto gpu = std::find_if(list.gpus.begin(), list.gpus.end(),
                                [](const GpuDescription& g) { return g.major == 9 && g.minor == 0; });
  if (gpu == list.gpus.end()) {
    fmt::print("skipped: {}\n", list.gpus.empty() ? list.why : "no GPU of compute capability 9.0");
    return kSkipped;
  }
  if (gpu->ordinal != 0) {
    fmt::print("skipped: GPU 0 is not of compute capability 9.0\n");
    return kSkipped;
  }
  fmt::print("{} against the simulated SM\n", gpu->name);
  return compare_all<Target::kCuda>();
}
