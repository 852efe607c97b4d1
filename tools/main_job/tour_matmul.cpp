// SPDX-License-Identifier: Apache-2.0
#include "tour_matmul.h"

#include "matmul/device/matmul_sm100_params.h"
#include "matmul/host/matmul_launch.h"
#include "matmul/host/matmul_sm100_host.h"

namespace heddle::tool {

namespace {

constexpr MatmulSm100Config kConfig{.tile_n = 64, .stages = 4};
using Standard = StandardFamily<kConfig, MmaKind::kF16, OperandMajors{}>;

// The library's, whose load warp may be told to forget B.
struct Family : Standard {
  struct Operands : Standard::Operands {
    bool forgets_b = false;
  };

  template <class Context, class Tiles>
  HEDDLE_DEVICE static void load(const Operands& operands, const Loads& loads, const Context& ctx,
                                 const Tiles& tiles, const TileWork&, std::uint32_t k_block) {
    if (operands.forgets_b) return loads.load_a(ctx, tiles, k_block * kTileK);
    loads.load(ctx, tiles, k_block * kTileK);
  }
};
using Kernel = MatmulSm100Frame<Family, PlainEpilogue>;

}  // namespace

RunOutcome run_tour_matmul(reference::MatmulCase& matmul, bool forgets_b) {
  const MatmulTensors tensors = matmul.tensors();
  const MatmulPlan plan = plan_matmul_sm100(matmul.problem, tensors);
  Device device({.kernel = "matmul", .sms = 2, .arch = Arch::kSm100});
  const MatmulOnDevice on_device(device, tensors, plan);
  const MatmulTensors there = on_device.tensors();
  auto params =
      matmul_sm100_params<Kernel>(operands_of({.problem = matmul.problem, .tensors = there, .plan = plan}));
  params.operands.forgets_b = forgets_b;
  const RunOutcome outcome = device.finish([&] { return launch_matmul<Kernel>(device, params); });
  if (outcome.ok()) on_device.download(tensors);
  return outcome;
}

}  // namespace heddle::tool
