// SPDX-License-Identifier: Apache-2.0
//
// Multiplies one tile with wgmma, on the GPU or in the simulated SM, depending on the compiler.
#include "wgmma_gpu_test.h"

#include "../unit/wgmma_tiles.h"

#include <heddle/host/device.h>
#include <heddle/host/error.h>

#include <array>
#include <utility>

namespace heddle::inline HEDDLE_TARGET {

namespace {

using wgmma_test::MultiplyTile;
using wgmma_test::TileParams;

constexpr WgmmaShape shape_of(const WgmmaCase& one) {
  return {.n = one.n,
          .a = static_cast<OperandType>(one.a),
          .b = static_cast<OperandType>(one.b),
          .d = static_cast<AccumulatorType>(one.d),
          .a_major = static_cast<Major>(one.a_major),
          .b_major = static_cast<Major>(one.b_major),
          .negate_a = one.negate_a,
          .negate_b = one.negate_b};
}

using Launch = RunOutcome (*)(Device&, const TileParams&);

template <std::size_t case_idx>
RunOutcome launch_case(Device& device, const TileParams& params) {
  constexpr WgmmaCase one = kWgmmaCases.all[case_idx];
  return device.launch<MultiplyTile<shape_of(one), one.a_in_registers>>({}, params);
}

template <std::size_t... i>
constexpr std::array<Launch, sizeof...(i)> make_launches(std::index_sequence<i...>) {
  return {launch_case<i>...};
}

}  // namespace

}  // namespace heddle::inline HEDDLE_TARGET

namespace heddle {

template <>
RunOutcome run_wgmma<kTarget>(const WgmmaRun& run, std::vector<std::uint32_t>& d) {
  static const auto launches = make_launches(std::make_index_sequence<kWgmmaCases.count>());
  Device device({.kernel = "wgmma"});
  DeviceBuffer image(device, "image", run.image.size());
  DeviceBuffer fragments(device, "fragments", 4 * run.fragments.size());
  DeviceBuffer d_in(device, "d_in", 4 * run.d_in.size());
  DeviceBuffer d_out(device, "d_out", 4 * run.d_words);
  image.upload(run.image.data());
  fragments.upload(run.fragments.data());
  d_in.upload(run.d_in.data());
  d_out.fill(0xEE);
  const TileParams params{.image = static_cast<const isa::Bytes16*>(image.data()),
                          .image_bytes = static_cast<std::uint32_t>(run.image.size()),
                          .a_descriptor = run.a_descriptor,
                          .b_descriptor = run.b_descriptor,
                          .a_step_bytes = run.a_step_bytes,
                          .b_step_bytes = run.b_step_bytes,
                          .steps = run.steps,
                          .fragments = static_cast<const std::uint32_t*>(fragments.data()),
                          .d_in = static_cast<const std::uint32_t*>(d_in.data()),
                          .d_out = static_cast<std::uint32_t*>(d_out.data())};
  const RunOutcome outcome = launches[run.case_idx](device, params);
  if (!outcome.ok()) return outcome;
  d.resize(run.d_words);
  d_out.download(d.data());
  return outcome;
}

template <>
GpuList wgmma_gpus<kTarget>() {
  return find_gpus();
}

}  // namespace heddle
