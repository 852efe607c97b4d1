// SPDX-License-Identifier: Apache-2.0
//
// Runs the kernel of hopper_tiles.h: C = A * B^T for a shape that its tiles do not divide.
#include <heddle/host/device.h>
#include <heddle/host/gpu_list.h>
#include <heddle/host/tile_map.h>

#include <cstdio>
#include <vector>

#include "hopper_tiles.h"

using namespace heddle;
using namespace heddle::hopper_tiles;

constexpr std::uint32_t kRows = 200;
constexpr std::uint32_t kCols = 136;
constexpr std::uint32_t kDepth = 192;

// Whether there is a GPU that can run it; the simulated SM always can.
static bool has_device() {
  if (kIsSimulated) return true;
  for (const GpuDescription& gpu : find_gpus().gpus) {
    if (gpu.ordinal == 0 && gpu.major == 9) return true;
  }
  return false;
}

// A template, for nvcc's sake: see heddle/host/tile_map.h.
template <class K>
static typename K::Params params_of(DeviceBuffer& a, DeviceBuffer& b, DeviceBuffer& c) {
  return {.a = tensor_map_for<typename K::ATile>({.address = a.data(), .rows = kRows, .cols = kDepth}),
          .b = tensor_map_for<typename K::BTile>({.address = b.data(), .rows = kCols, .cols = kDepth}),
          .c = tensor_map_for<typename K::CTile>({.address = c.data(), .rows = kRows, .cols = kCols}),
          .k_steps = kDepth / kK,
          .scheduler = make_tile_scheduler_params<kScheduler>({(kRows + kM - 1) / kM, (kCols + kN - 1) / kN})};
}

int main() {
  if (!has_device()) {
    std::printf("skipped: it needs a GPU of compute capability 9.0\n");
    return 77;
  }
  std::vector<bf16> a(kRows * kDepth);
  std::vector<bf16> b(kCols * kDepth);
  std::vector<float> expected(kRows * kCols);
  for (std::uint32_t i = 0; i < a.size(); ++i) a[i] = bf16::from_float(static_cast<float>(i * 7 % 5) - 2);
  for (std::uint32_t i = 0; i < b.size(); ++i) b[i] = bf16::from_float(static_cast<float>(i * 3 % 7) - 3);
  for (std::uint32_t i = 0; i < expected.size(); ++i) {
    for (std::uint32_t k = 0; k < kDepth; ++k) {
      expected[i] += a[i / kCols * kDepth + k].to_float() * b[i % kCols * kDepth + k].to_float();
    }
  }

  Device device({.kernel = "hopper tiles"});
  DeviceBuffer a_buffer(device, "a", a.size() * sizeof(bf16));
  DeviceBuffer b_buffer(device, "b", b.size() * sizeof(bf16));
  DeviceBuffer c_buffer(device, "c", expected.size() * sizeof(float));
  a_buffer.upload(a.data());
  b_buffer.upload(b.data());
  c_buffer.fill(0xEE);
  const Matmul::Params params = params_of<Matmul>(a_buffer, b_buffer, c_buffer);
  const std::uint32_t ctas = device.resident_clusters<Matmul>(1);
  const RunOutcome outcome =
      device.launch<Matmul>(persistent_launch_shape<kScheduler>(params.scheduler, ctas), params);
  std::vector<float> c(expected.size());
  c_buffer.download(c.data());
  std::printf("%s%s\n", outcome.report.c_str(), c == expected ? "C is right" : "C is wrong");
  return outcome.ok() && c == expected ? 0 : 1;
}
