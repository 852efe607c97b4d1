// SPDX-License-Identifier: Apache-2.0
//
// Are tensor maps refused as the driver refuses them? Asks check() and cuTensorMapEncodeTiled about the same
// maps: first both sides of every limit, then 100,000 random maps close to the limits. Prints how often the
// two agree and one example of each kind of disagreement. Needs a driver and a device, but launches nothing.
//
//   tensor_map_driver_test [maps [seed]]        exit status 0: agreement, 1: disagreement, 77: skipped
#include <heddle/host/tensor_map_encode.h>
#include <heddle/isa/tensor_map.h>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace heddle;
using Rule = TensorMapRule;

// What host/tensor_map_encode.h says of the driver without its header.
using isa::detail::DriverCode;
static_assert(static_cast<int>(DriverCode::kSuccess) == CUDA_SUCCESS);
static_assert(static_cast<int>(DriverCode::kInvalidValue) == CUDA_ERROR_INVALID_VALUE);
static_assert(static_cast<int>(DriverCode::kNotInitialized) == CUDA_ERROR_NOT_INITIALIZED);
static_assert(static_cast<int>(DriverCode::kDeinitialized) == CUDA_ERROR_DEINITIALIZED);
static_assert(static_cast<int>(DriverCode::kInvalidContext) == CUDA_ERROR_INVALID_CONTEXT);
static_assert(static_cast<int>(DriverCode::kNotSupported) == CUDA_ERROR_NOT_SUPPORTED);
static_assert(sizeof(CUtensorMap) == sizeof(TensorMap) && sizeof(CUtensorMapDataType) == sizeof(int) &&
              sizeof(cuuint64_t) == sizeof(std::uint64_t) && sizeof(cuuint32_t) == sizeof(std::uint32_t));

const char* name(Rule rule) {
  constexpr const char* names[] = {"none",
                                   "type",
                                   "type needs sm_100",
                                   "rank",
                                   "interleave",
                                   "interleave rank",
                                   "swizzle",
                                   "swizzle needs sm_100",
                                   "packed interleave",
                                   "packed swizzle",
                                   "L2 promotion",
                                   "fill",
                                   "fill type",
                                   "null address",
                                   "address alignment",
                                   "dim",
                                   "dim multiple",
                                   "stride range",
                                   "stride alignment",
                                   "box",
                                   "packed box",
                                   "inner box multiple",
                                   "inner box swizzle",
                                   "element stride",
                                   "box bytes"};
  static_assert(sizeof(names) / sizeof(names[0]) == static_cast<std::size_t>(Rule::kBoxBytes) + 1);
  return names[static_cast<int>(rule)];
}

std::string text(const TensorMapSpec& spec) {
  char line[160];
  std::snprintf(line, sizeof(line), "type %d, rank %u, address %p, interleave %d, swizzle %d, l2 %d, fill %d;",
                static_cast<int>(spec.type), spec.rank, spec.address, static_cast<int>(spec.interleave),
                static_cast<int>(spec.swizzle), static_cast<int>(spec.l2_promotion), static_cast<int>(spec.fill));
  std::string result = line;
  for (std::uint32_t d = 0; d < spec.rank && d < 5; ++d) {
    std::snprintf(line, sizeof(line), " [%u] dim %" PRIu64 " box %u by %u", d, spec.dims[d], spec.box[d],
                  spec.element_strides[d]);
    result += line;
    if (d > 0) {
      std::snprintf(line, sizeof(line), " stride %" PRIu64, spec.strides[d - 1]);
      result += line;
    }
  }
  return result;
}

// What both sides said, summed up. A kind of disagreement is the rule that check() names, or, where it names
// none, the modes that the driver refused together.
class Tally {
 public:
  explicit Tally(std::uint32_t sm) : sm_(sm) {}

  void ask(const TensorMapSpec& spec, const std::string& label) {
    TensorMap map{};
    const TensorMapFault fault = check(spec, sm_);
    const isa::TensorMapRefusal refusal = isa::tensor_map_encode_tiled(map, spec);
    ++asked_;
    if (!fault && !refusal) ++both_accept_;
    if (fault && refusal) ++refused_[fault.rule];
    if (fault && !refusal) {
      // A null address is refused on purpose, whatever the driver thinks of it.
      if (fault.rule == Rule::kNullAddress) ++stricter_;
      else note(std::string("only check() refuses: ") + name(fault.rule), spec, label);
    }
    if (!fault && refusal) {
      char kind[128];
      std::snprintf(kind, sizeof(kind), "only the driver refuses (%s): type %d, interleave %d, swizzle %d",
                    refusal.name, static_cast<int>(spec.type), static_cast<int>(spec.interleave),
                    static_cast<int>(spec.swizzle));
      note(kind, spec, label);
    }
  }

  long print(const char* title) const {
    long both_refuse = 0;
    for (const auto& [rule, count] : refused_) both_refuse += count;
    long disagree = 0;
    for (const auto& [kind, entry] : disagreements_) disagree += entry.count;
    std::printf(
        "%s: %ld maps, both accept %ld, both refuse %ld, null address accepted by the driver alone %ld, "
        "disagree %ld\n",
        title, asked_, both_accept_, both_refuse, stricter_, disagree);
    for (const auto& [rule, count] : refused_) std::printf("  refused by both, %s: %ld\n", name(rule), count);
    for (const auto& [kind, entry] : disagreements_) {
      std::printf("  DISAGREE %ld times, %s\n    for instance%s%s: %s\n", entry.count, kind.c_str(),
                  entry.label.empty() ? "" : " ", entry.label.c_str(), entry.example.c_str());
    }
    return disagree;
  }

 private:
  struct Disagreement {
    long count = 0;
    std::string label;
    std::string example;
  };

  void note(const std::string& kind, const TensorMapSpec& spec, const std::string& label) {
    Disagreement& entry = disagreements_[kind];
    if (entry.count++ == 0) entry.label = label, entry.example = text(spec);
  }

  std::uint32_t sm_;
  long asked_ = 0;
  long both_accept_ = 0;
  long stricter_ = 0;
  std::map<Rule, long> refused_;
  std::map<std::string, Disagreement> disagreements_;
};

// A map of rank 5 in which every field can be bent.
TensorMapSpec good(const void* address) {
  return {.type = TensorType::kBF16,
          .rank = 5,
          .address = address,
          .dims = {640, 48, 7, 5, 3},
          .strides = {1280, 61440, 430080, 2150400},
          .box = {16, 16, 2, 2, 1},
          .swizzle = Swizzle::k32B};
}

void ask_limits(Tally& tally, const char* address) {
  const TensorMapSpec base = good(address);
  const auto ask = [&](const std::string& label, auto&& bend) {
    TensorMapSpec spec = base;
    bend(spec);
    tally.ask(spec, label);
  };
  for (int type = 0; type < 17; ++type) {
    ask("type", [&](TensorMapSpec& s) { s.type = static_cast<TensorType>(type), s.box[0] = 8; });
    ask("type, 128 elements", [&](TensorMapSpec& s) {
      s.type = static_cast<TensorType>(type), s.box[0] = 128, s.swizzle = Swizzle::kNone;
    });
    ask("NaN fill by type", [&](TensorMapSpec& s) {
      s.type = static_cast<TensorType>(type), s.fill = OobFill::kNan, s.box[0] = 128, s.swizzle = Swizzle::kNone;
    });
  }
  for (std::uint32_t rank = 0; rank < 7; ++rank) {
    for (int interleave = 0; interleave < 4; ++interleave) {
      ask("rank and interleave",
          [&](TensorMapSpec& s) { s.rank = rank, s.interleave = static_cast<Interleave>(interleave); });
    }
  }
  for (int interleave = 0; interleave < 3; ++interleave) {
    for (int swizzle = 0; swizzle < 8; ++swizzle) {
      for (const std::uint32_t box : {1u, 4u, 8u, 16u, 24u, 32u, 40u, 64u, 72u, 256u}) {
        ask("interleave, swizzle and inner box", [&](TensorMapSpec& s) {
          s.interleave = static_cast<Interleave>(interleave), s.swizzle = static_cast<Swizzle>(swizzle);
          s.box[0] = box;
        });
      }
    }
    for (const std::uint64_t stride : {0ull, 8ull, 16ull, 32ull, 1288ull, 1296ull, 1312ull}) {
      ask("stride and interleave",
          [&](TensorMapSpec& s) { s.interleave = static_cast<Interleave>(interleave), s.strides[0] = stride; });
    }
    for (const int offset : {1, 8, 16, 32, 64}) {
      ask("address and interleave", [&](TensorMapSpec& s) {
        s.interleave = static_cast<Interleave>(interleave), s.address = address + offset;
      });
    }
  }
  for (int value = 0; value < 6; ++value) {
    ask("L2 promotion", [&](TensorMapSpec& s) { s.l2_promotion = static_cast<L2Promotion>(value); });
    ask("fill", [&](TensorMapSpec& s) { s.fill = static_cast<OobFill>(value); });
  }
  ask("null address", [](TensorMapSpec& s) { s.address = nullptr; });
  for (std::uint32_t d = 0; d < 5; ++d) {
    for (const std::uint64_t dim : {0ull, 1ull, (1ull << 32) - 1, 1ull << 32, (1ull << 32) + 1, 1ull << 40}) {
      ask("dim", [&](TensorMapSpec& s) { s.dims[d] = dim; });
    }
    for (const std::uint32_t box : {0u, 1u, 8u, 255u, 256u, 257u, 264u, 512u}) {
      ask("box", [&](TensorMapSpec& s) { s.box[d] = box, s.swizzle = Swizzle::kNone; });
    }
    for (const std::uint32_t stride : {0u, 1u, 7u, 8u, 9u, 16u}) {
      ask("element stride " + std::to_string(d), [&](TensorMapSpec& s) { s.element_strides[d] = stride; });
    }
    if (d == 0) continue;
    for (const std::uint64_t stride :
         {(1ull << 40) - 32, (1ull << 40) - 16, (1ull << 40) - 8, 1ull << 40, (1ull << 40) + 16}) {
      ask("stride", [&](TensorMapSpec& s) { s.strides[d - 1] = stride; });
    }
  }
}

// A map that keeps the rules, then up to three fields bent to values near their limits.
TensorMapSpec random_map(std::mt19937_64& engine, const char* address) {
  const auto pick = [&](std::uint64_t low, std::uint64_t high) { return low + engine() % (high - low + 1); };
  const auto small = [&](std::uint64_t low, std::uint64_t high) {
    return static_cast<std::uint32_t>(pick(low, high));
  };
  TensorMapSpec spec = good(address + 16 * pick(0, 8));
  spec.type = static_cast<TensorType>(pick(0, 12));
  spec.rank = small(1, 5);
  spec.swizzle = static_cast<Swizzle>(pick(0, 3));
  spec.l2_promotion = static_cast<L2Promotion>(pick(0, 3));
  if (is_floating(spec.type)) spec.fill = static_cast<OobFill>(pick(0, 1));
  const std::uint32_t granule = 128 / bits_per_element(spec.type);
  const std::uint32_t span =
      spec.swizzle == Swizzle::kNone ? 256 : 8 * span_bytes(spec.swizzle) / bits_per_element(spec.type);
  spec.box[0] = granule * small(1, (span < 256 ? span : 256) / granule);
  for (std::uint32_t d = 0; d < 5; ++d) {
    spec.dims[d] = pick(1, 1ull << pick(0, 32));
    if (d > 0) spec.box[d] = small(1, 256), spec.strides[d - 1] = 16 * pick(0, 1ull << pick(0, 35));
    spec.element_strides[d] = pick(0, 3) == 0 ? small(1, 8) : 1;
  }
  for (std::uint64_t bends = pick(0, 3); bends > 0; --bends) {
    const std::uint32_t d = small(0, 4);
    switch (pick(0, 12)) {
      case 0: spec.type = static_cast<TensorType>(pick(0, 16)); break;
      case 1: spec.rank = small(0, 6); break;
      case 2: spec.address = address + pick(0, 64); break;
      case 3: spec.dims[d] = pick(0, 1) != 0 ? pick(0, 2) : pick((1ull << 32) - 2, (1ull << 32) + 2); break;
      case 4:
        spec.strides[d % 4] = pick(0, 1) != 0 ? pick(0, 64) : pick((1ull << 40) - 40, (1ull << 40) + 20);
        break;
      case 5: spec.box[d] = pick(0, 1) != 0 ? small(0, 2) : small(254, 258); break;
      case 6: spec.box[0] = small(1, 264); break;
      case 7: spec.element_strides[d] = small(0, 10); break;
      case 8: spec.interleave = static_cast<Interleave>(pick(0, 3)); break;
      case 9: spec.swizzle = static_cast<Swizzle>(pick(0, 5)); break;
      case 10: spec.l2_promotion = static_cast<L2Promotion>(pick(0, 4)); break;
      case 11: spec.fill = static_cast<OobFill>(pick(0, 2)); break;
      default:
        spec.interleave = static_cast<Interleave>(pick(1, 2));
        spec.swizzle = Swizzle::k32B;
        break;
    }
  }
  return spec;
}

}  // namespace

int main(int argc, char** argv) {
  const long maps = argc > 1 ? std::atol(argv[1]) : 100'000;
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 20261115;
  void* memory = nullptr;
  if (const cudaError_t error = cudaMalloc(&memory, 1 << 20); error != cudaSuccess) {
    std::printf("skipped: no CUDA device to make tensor maps for (%s)\n", cudaGetErrorName(error));
    return 77;
  }
  const std::uint32_t sm = isa::tensor_map_sm();
  TensorMap map{};
  const isa::TensorMapRefusal refusal = isa::tensor_map_encode_tiled(map, good(memory));
  if (refusal && refusal.call != std::string("cuTensorMapEncodeTiled")) {
    std::printf("skipped: %s: %s\n", refusal.call, refusal.name);
    return 77;
  }
  int driver = 0;
  cudaDriverGetVersion(&driver);
  std::printf("driver of CUDA %d.%d, sm_%u, seed %" PRIu64 "\n", driver / 1000, driver % 1000 / 10, sm, seed);

  const char* address = static_cast<const char*>(memory);
  Tally limits(sm);
  ask_limits(limits, address);
  Tally random(sm);
  std::mt19937_64 engine(seed);
  for (long i = 0; i < maps; ++i) random.ask(random_map(engine, address), "");
  const long disagree = limits.print("both sides of every limit") + random.print("random maps");
  cudaFree(memory);
  return disagree == 0 ? 0 : 1;
}
