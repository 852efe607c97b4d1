// SPDX-License-Identifier: Apache-2.0
//
// Runs the kernel of blackwell_attention.h: two heads, with as many queries and keys as tiles do not divide.
#include <heddle/host/tile_map.h>
#include <heddle/isa/device.h>
#include <heddle/isa/gpu_list.h>

#include <cmath>
#include <cstdio>
#include <vector>

#include "blackwell_attention.h"

using namespace heddle;
using namespace heddle::blackwell_attention;

constexpr std::uint32_t kHeads = 2;
constexpr std::uint32_t kRows = 150;  // of Q
constexpr std::uint32_t kKeyRows = 170;

// Whether there is a GPU that can run it; the simulated SM always can.
static bool has_device() {
  if (kIsSimulated) return true;
  for (const GpuDescription& gpu : find_gpus().gpus) {
    if (gpu.ordinal == 0 && gpu.major == 10) return true;
  }
  return false;
}

static std::vector<bf16> numbers(std::uint32_t rows, std::uint32_t step) {
  std::vector<bf16> made(rows * kDim);
  for (std::uint32_t i = 0; i < made.size(); ++i) {
    made[i] = bf16::from_float(static_cast<float>((i + 1) * step * 2654435761u >> 8 & 3) - 1.5f);
  }
  return made;
}

// A template, for nvcc's sake: see heddle/host/tile_map.h.
template <class K>
static typename K::Params params_of(DeviceBuffer& q, DeviceBuffer& k, DeviceBuffer& v, DeviceBuffer& o) {
  const auto heads = [](DeviceBuffer& buffer, std::uint32_t rows) {
    return TiledMatrix{.address = buffer.data(), .rows = rows, .cols = kDim, .batches = kHeads};
  };
  return {.q = tensor_map_for<typename K::Queries>(heads(q, kRows)),
          .k = tensor_map_for<typename K::Keys>(heads(k, kKeyRows)),
          .v = tensor_map_for<typename K::Keys>(heads(v, kKeyRows)),
          .o = static_cast<float*>(o.data()),
          .queries = kRows,
          .keys = kKeyRows,
          .scale = 0.125f};
}

int main() {
  if (!has_device()) {
    std::printf("skipped: it needs a GPU of compute capability 10.0\n");
    return 77;
  }
  const std::vector<bf16> q = numbers(kHeads * kRows, 3);
  const std::vector<bf16> k = numbers(kHeads * kKeyRows, 5);
  const std::vector<bf16> v = numbers(kHeads * kKeyRows, 7);
  Device device({.kernel = "attention", .arch = Arch::kSm100});
  DeviceBuffer q_buffer(device, "q", q.size() * sizeof(bf16));
  DeviceBuffer k_buffer(device, "k", k.size() * sizeof(bf16));
  DeviceBuffer v_buffer(device, "v", v.size() * sizeof(bf16));
  DeviceBuffer o_buffer(device, "o", q.size() * sizeof(float));
  q_buffer.upload(q.data());
  k_buffer.upload(k.data());
  v_buffer.upload(v.data());
  o_buffer.fill(0xEE);
  const Attention::Params params = params_of<Attention>(q_buffer, k_buffer, v_buffer, o_buffer);
  const RunOutcome outcome =
      device.launch<Attention>({.grid = {(kRows + kQueries - 1) / kQueries, kHeads}}, params);
  std::vector<float> o(q.size());
  o_buffer.download(o.data());

  double worst = 0;
  for (std::uint32_t row = 0; row < kHeads * kRows; ++row) {
    const std::uint32_t first_key = row / kRows * kKeyRows;
    std::vector<double> expected(kDim);
    double sum = 0;
    for (std::uint32_t key = first_key; key < first_key + kKeyRows; ++key) {
      float score = 0;
      for (std::uint32_t d = 0; d < kDim; ++d)
        score += q[row * kDim + d].to_float() * k[key * kDim + d].to_float();
      const double weight = std::exp(0.125 * static_cast<double>(score));
      sum += weight;
      for (std::uint32_t d = 0; d < kDim; ++d) {
        expected[d] += weight * static_cast<double>(v[key * kDim + d].to_float());
      }
    }
    for (std::uint32_t d = 0; d < kDim; ++d) {
      worst = std::fmax(worst, std::fabs(expected[d] / sum - static_cast<double>(o[row * kDim + d])));
    }
  }
  // Weights are rounded to bf16, by at most 2^-9, and rows of V are at most 1.5.
  const bool is_right = worst <= 1.5 / 512 * 17 / 16;
  std::printf("%sthe largest error is %.5f: O is %s\n", outcome.report.c_str(), worst,
              is_right ? "right" : "wrong");
  return outcome.ok() && is_right ? 0 : 1;
}
