// SPDX-License-Identifier: Apache-2.0
//
// Runs a kernel of attention on two heads, with as many queries and keys as tiles do not divide, and compares
// what it makes with double precision.
#pragma once

#include <heddle/host/device.h>
#include <heddle/host/gpu_list.h>
#include <heddle/host/tile_map.h>

#include <cmath>
#include <cstdio>
#include <vector>

namespace heddle::inline HEDDLE_TARGET {

constexpr std::uint32_t kHeads = 2;
constexpr std::uint32_t kRows = 150;  // of Q
constexpr std::uint32_t kKeyRows = 170;

// Whether there is a GPU that can run it; the simulated SM always can.
inline bool has_gpu(int major) {
  if (kIsSimulated) return true;
  for (const GpuDescription& gpu : find_gpus().gpus) {
    if (gpu.ordinal == 0 && gpu.major == major) return true;
  }
  return false;
}

inline std::vector<bf16> numbers(std::size_t count, std::uint32_t step) {
  std::vector<bf16> made(count);
  for (std::uint32_t i = 0; i < made.size(); ++i) {
    made[i] = bf16::from_float(static_cast<float>((i + 1) * step * 2654435761u >> 8 & 3) - 1.5f);
  }
  return made;
}

// A template, for nvcc's sake: see heddle/host/tile_map.h.
template <class K>
typename K::Params params_of(DeviceBuffer& q, DeviceBuffer& k, DeviceBuffer& v, DeviceBuffer& o) {
  const auto heads = [](DeviceBuffer& buffer, std::uint32_t rows) {
    return TiledMatrix{.address = buffer.data(), .rows = rows, .cols = K::Queries::cols(), .batches = kHeads};
  };
  return {.q = tensor_map_for<typename K::Queries>(heads(q, kRows)),
          .k = tensor_map_for<typename K::Keys>(heads(k, kKeyRows)),
          .v = tensor_map_for<typename K::Values>(heads(v, kKeyRows)),
          .o = static_cast<float*>(o.data()),
          .queries = kRows,
          .keys = kKeyRows,
          .scale = 0.125f};
}

// The status of a program that runs kernel K.
template <class K>
int run_attention(Arch arch) {
  const int major = arch == Arch::kSm90 ? 9 : 10;
  if (!has_gpu(major)) {
    std::printf("skipped: it needs a GPU of compute capability %d.0\n", major);
    return 77;
  }
  constexpr std::uint32_t kDim = K::Queries::cols();
  const std::vector<bf16> q = numbers(kHeads * kRows * kDim, 3);
  const std::vector<bf16> k = numbers(kHeads * kKeyRows * kDim, 5);
  const std::vector<bf16> v = numbers(kHeads * kKeyRows * kDim, 7);
  Device device({.kernel = "attention", .arch = arch});
  DeviceBuffer q_buffer(device, "q", q.size() * sizeof(bf16));
  DeviceBuffer k_buffer(device, "k", k.size() * sizeof(bf16));
  DeviceBuffer v_buffer(device, "v", v.size() * sizeof(bf16));
  DeviceBuffer o_buffer(device, "o", q.size() * sizeof(float));
  q_buffer.upload(q.data());
  k_buffer.upload(k.data());
  v_buffer.upload(v.data());
  o_buffer.fill(0xEE);
  const typename K::Params params = params_of<K>(q_buffer, k_buffer, v_buffer, o_buffer);
  const RunOutcome outcome =
      device.launch<K>({.grid = {(kRows + K::Queries::rows() - 1) / K::Queries::rows(), kHeads}}, params);
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

}  // namespace heddle::inline HEDDLE_TARGET
