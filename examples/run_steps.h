// SPDX-License-Identifier: Apache-2.0
//
// Runs a step of hopper_steps.h or blackwell_steps.h, and compares C with sums of integers, which are exact.
#pragma once

#include <heddle/host/device.h>
#include <heddle/host/gpu_list.h>
#include <heddle/host/tile_map.h>

#include <cstdio>
#include <vector>

namespace heddle::inline HEDDLE_TARGET::run_steps {

struct Extents {
  std::uint32_t m;
  std::uint32_t n;
  std::uint32_t k;
};

// Whether there is a GPU that can run it; the simulated SM always can.
inline bool has_device(int major) {
  if (kIsSimulated) return true;
  for (const GpuDescription& gpu : find_gpus().gpus) {
    if (gpu.ordinal == 0 && gpu.major == major) return true;
  }
  return false;
}

inline std::vector<bf16> numbers(std::uint32_t count, std::uint32_t step, std::uint32_t range) {
  std::vector<bf16> all(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    all[i] = bf16::from_float(static_cast<float>(i * step % range) - static_cast<float>(range / 2));
  }
  return all;
}

// `make_params(a, b, c)` gives the kernel's, `shape_of(device, params)` its launch. 0: C is right.
template <class Kernel, class MakeParams, class ShapeOf>
int run(const char* name, Arch arch, const Extents& e, const MakeParams& make_params, const ShapeOf& shape_of) {
  const std::vector<bf16> a = numbers(e.m * e.k, 7, 5);
  const std::vector<bf16> b = numbers(e.n * e.k, 3, 7);
  std::vector<float> expected(e.m * e.n);
  for (std::uint32_t i = 0; i < expected.size(); ++i) {
    for (std::uint32_t k = 0; k < e.k; ++k) {
      expected[i] += a[i / e.n * e.k + k].to_float() * b[i % e.n * e.k + k].to_float();
    }
  }
  Device device({.kernel = name, .arch = arch});
  DeviceBuffer on_a(device, "a", a.size() * sizeof(bf16));
  DeviceBuffer on_b(device, "b", b.size() * sizeof(bf16));
  DeviceBuffer on_c(device, "c", expected.size() * sizeof(float));
  on_a.upload(a.data());
  on_b.upload(b.data());
  on_c.fill(0xEE);
  const typename Kernel::Params params =
      make_params(TiledMatrix{.address = on_a.data(), .rows = e.m, .cols = e.k},
                  TiledMatrix{.address = on_b.data(), .rows = e.n, .cols = e.k},
                  TiledMatrix{.address = on_c.data(), .rows = e.m, .cols = e.n});
  const RunOutcome outcome = device.launch<Kernel>(shape_of(device, params), params);
  std::vector<float> c(expected.size());
  on_c.download(c.data());
  std::printf("%s%s: %s\n", outcome.report.c_str(), name, c == expected ? "C is right" : "C is wrong");
  return outcome.ok() && c == expected ? 0 : 1;
}

}  // namespace heddle::inline HEDDLE_TARGET::run_steps
