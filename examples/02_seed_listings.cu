// SPDX-License-Identifier: Apache-2.0
//
// Runs the kernel of seed_listings.h: C = A * B^T on Blackwell, with a scheduler warp, a load warp, an MMA warp
// and four epilogue warps, once with one accumulator for each tile and once with one for every step of K.
#include <heddle/host/device.h>
#include <heddle/host/gpu_list.h>
#include <heddle/host/tensor_map.h>

#include <cstdio>
#include <vector>

#include "seed_listings.h"

using namespace heddle;
using namespace heddle::seed_listings;

constexpr std::uint32_t kTiles = 3;
constexpr std::uint32_t kSteps = 4;
constexpr std::uint32_t kDepth = kSteps * kK;

static isa::TensorMap tiles_of(DeviceBuffer& matrix, std::uint32_t rows, std::uint32_t box_rows) {
  return make_tensor_map({.type = TensorType::kBF16,
                          .rank = 2,
                          .address = matrix.data(),
                          .dims = {kDepth, rows},
                          .strides = {kDepth * sizeof(bf16)},
                          .box = {kK, box_rows},
                          .swizzle = Swizzle::k128B});
}

template <Form form>
static bool run(const char* name) {
  Device device({.kernel = name, .arch = Arch::kSm100});
  std::vector<bf16> a(kM * kDepth);
  std::vector<bf16> b(kTiles * kN * kDepth);
  std::vector<float> expected(kTiles * kM * kN);
  for (std::uint32_t i = 0; i < a.size(); ++i) a[i] = bf16::from_float(static_cast<float>(i * 7 % 5) - 2);
  for (std::uint32_t i = 0; i < b.size(); ++i) b[i] = bf16::from_float(static_cast<float>(i * 3 % 7) - 3);
  for (std::uint32_t i = 0; i < expected.size(); ++i) {
    const std::uint32_t n = i / (kM * kN) * kN + i % kN;
    const std::uint32_t m = i / kN % kM;
    for (std::uint32_t k = 0; k < kDepth; ++k) {
      // Where the epilogue scales each step, it takes the first number of A for a scale.
      const float scale = form == Form::kPerK ? a[k / kK * kK].to_float() : 1.0f;
      expected[i] += scale * a[m * kDepth + k].to_float() * b[n * kDepth + k].to_float();
    }
  }
  DeviceBuffer a_buffer(device, "a", a.size() * sizeof(bf16));
  DeviceBuffer b_buffer(device, "b", b.size() * sizeof(bf16));
  DeviceBuffer c_buffer(device, "c", expected.size() * sizeof(float));
  a_buffer.upload(a.data());
  b_buffer.upload(b.data());
  c_buffer.fill(0xEE);
  const typename Listings<form>::Params params{.a = tiles_of(a_buffer, kM, kM),
                                               .b = tiles_of(b_buffer, kTiles * kN, kN),
                                               .c = static_cast<float*>(c_buffer.data()),
                                               .scheduler = make_tile_scheduler_params<kScheduler>({1, kTiles}),
                                               .num_iters = kSteps};
  const RunOutcome outcome = device.launch<Listings<form>>(Listings<form>::launch_shape(params), params);
  std::vector<float> c(expected.size());
  c_buffer.download(c.data());
  std::printf("%s%s: %s\n", outcome.report.c_str(), name, c == expected ? "C is right" : "C is wrong");
  return outcome.ok() && c == expected;
}

// Whether there is a GPU that can run it; the simulated SM always can.
static bool has_device() {
  if (kIsSimulated) return true;
  for (const GpuDescription& gpu : find_gpus().gpus) {
    if (gpu.ordinal == 0 && gpu.major == 10) return true;
  }
  return false;
}

int main() {
  if (!has_device()) {
    std::printf("skipped: it needs a GPU of compute capability 10.0\n");
    return 77;
  }
  const bool is_right = run<Form::kPerTile>("an accumulator for each tile");
  return run<Form::kPerK>("an accumulator for each step of K") && is_right ? 0 : 1;
}
