// SPDX-License-Identifier: Apache-2.0
//
// An epilogue of one's own: a bias for each row, and what is below zero times a slope. It sees fragments: numbers
// with their rows and columns, whichever way the hardware holds them. 05_epilogue_sm90.cu and
// 05_epilogue_sm100.cu are the matmuls of the library for Hopper and Blackwell with it, behind a bias for each
// column.
#pragma once

#include <heddle/host/device.h>
#include <heddle/host/gpu_list.h>
#include <heddle/tile/epilogue.h>

#include <cstdio>
#include <vector>

namespace heddle::inline HEDDLE_TARGET::own_epilogue {

// [epilogue]
struct LeakyWithRowBias {
  struct Params {
    const float* bias;  // one for each row
    float slope;
  };
  template <class Out, class Fragment>
  HEDDLE_DEVICE static void apply(const Params& params, Fragment& f) {
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < f.count; ++i) {
      if (!f.has(i)) continue;
      const float x = f[i] + isa::ld_global(params.bias + f.row(i));
      f[i] = x > 0.0f ? x : params.slope * x;
    }
  }
};

using Epilogue = EpilogueChain<AddBias<bf16>, LeakyWithRowBias>;
// [epilogue]

constexpr std::uint32_t kM = 200;
constexpr std::uint32_t kN = 136;
constexpr std::uint32_t kK = 192;

inline std::vector<bf16> small_numbers(std::size_t count, std::uint32_t step) {
  std::vector<bf16> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = bf16::from_float(static_cast<float>(i * step % 7) - 3.0f);
  return numbers;
}

// Whether there is a GPU that can run it; the simulated SM always can.
inline bool has_device(int major) {
  if (kIsSimulated) return true;
  for (const GpuDescription& gpu : find_gpus().gpus) {
    if (gpu.ordinal == 0 && gpu.major == major) return true;
  }
  return false;
}

// Calls run(device, a, b, out, epilogue) and compares `out`, bf16, with what it must be. The exit status.
template <class Run>
int check(Device& device, const Run& run) {
  const std::vector<bf16> a = small_numbers(kM * kK, 5);
  const std::vector<bf16> b = small_numbers(kN * kK, 3);
  const std::vector<bf16> bias = small_numbers(kN, 4);
  std::vector<float> row_bias(kM);
  for (std::uint32_t i = 0; i < kM; ++i) row_bias[i] = static_cast<float>(i % 9) - 4.0f;
  DeviceBuffer a_buffer(device, "a", a.size() * sizeof(bf16));
  DeviceBuffer b_buffer(device, "b", b.size() * sizeof(bf16));
  DeviceBuffer bias_buffer(device, "bias", bias.size() * sizeof(bf16));
  DeviceBuffer row_buffer(device, "row bias", row_bias.size() * sizeof(float));
  DeviceBuffer out_buffer(device, "out", std::size_t{kM} * kN * sizeof(bf16));
  a_buffer.upload(a.data());
  b_buffer.upload(b.data());
  bias_buffer.upload(bias.data());
  row_buffer.upload(row_bias.data());
  const Epilogue::Params epilogue =
      Epilogue::params(AddBias<bf16>::Params{static_cast<const bf16*>(bias_buffer.data())},
                       LeakyWithRowBias::Params{static_cast<const float*>(row_buffer.data()), 0.125f});
  const RunOutcome outcome =
      device.finish([&] { return run(device, a_buffer.data(), b_buffer.data(), out_buffer.data(), epilogue); });
  std::vector<bf16> out(std::size_t{kM} * kN);
  out_buffer.download(out.data());
  std::uint32_t wrong = 0;
  for (std::uint32_t i = 0; i < out.size(); ++i) {
    float x = bias[i % kN].to_float() + row_bias[i / kN];
    for (std::uint32_t k = 0; k < kK; ++k) x += a[i / kN * kK + k].to_float() * b[i % kN * kK + k].to_float();
    if (out[i].bits != bf16::from_float(x > 0.0f ? x : 0.125f * x).bits) ++wrong;
  }
  std::printf("%s%u of %u numbers are wrong\n", outcome.report.c_str(), wrong, kM * kN);
  return outcome.ok() && wrong == 0 ? 0 : 1;
}

}  // namespace heddle::inline HEDDLE_TARGET::own_epilogue
