// SPDX-License-Identifier: Apache-2.0
#include "tour_matmul.h"

#include "matmul/device/matmul_sm100_launch.h"
#include "matmul/host/matmul_on_device.h"

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
  HEDDLE_DEVICE static void load(const Operands& operands, const Context& ctx, const Tiles& tiles,
                                 const TileWork& work, std::uint32_t k_block) {
    load_a<kConfig>(tiles.a_tile(), &operands.a, ctx, work, k_block * kTileK, tiles.barrier());
    if (operands.forgets_b) return;
    load_b<kConfig>(tiles.b_tile(), &operands.b, ctx, work, k_block * kTileK, tiles.barrier());
  }
};
using Kernel = MatmulSm100Frame<Family, PlainEpilogue>;

RunOutcome enqueue(Device& device, const MatmulSm100Call& call, bool forgets_b) {
  const MatmulProblem& p = call.problem;
  const MatmulSm100Plan& plan = call.plan;
  Kernel::Params params{};
  params.operands.a = sm100::operand_map<Family::Payload::ATile>(call, call.a, p.a_type, p.m, p.k, plan.a_pitch,
                                                                 plan.a_batch_stride, 1);
  params.operands.b = sm100::operand_map<Family::Payload::BTile>(call, call.b, p.b_type, p.n, p.k, plan.b_pitch,
                                                                 plan.b_batch_stride, 1);
  params.operands.instruction =
      Family::instruction(sm100::operand_type_of(p.a_type), sm100::operand_type_of(p.b_type));
  params.operands.forgets_b = forgets_b;
  params.c = sm100::output_target<kConfig.tile_n, kConfig.tile_m>(call);
  params.k_blocks.all = sm100::tiles_along(p.k, Family::kTileK);
  params.k_blocks.share = params.k_blocks.all;
  params.scheduler = sm100::scheduler_params<Kernel>({.tiles_m = sm100::tiles_along(p.m, kConfig.tile_m),
                                                      .tiles_n = sm100::tiles_along(p.n, kConfig.tile_n),
                                                      .batches = 1,
                                                      .splits = 1});
  return sm100::launch<Kernel>(device, params);
}

}  // namespace

RunOutcome run_tour_matmul(reference::MatmulCase& matmul, bool forgets_b) {
  const MatmulTensors tensors = matmul.tensors();
  const MatmulSm100Plan plan = plan_matmul_sm100(matmul.problem, tensors);
  Device device({.kernel = "matmul", .sms = 2, .arch = Arch::kSm100});
  const MatmulOnDevice on_device(device, tensors, plan);
  const MatmulTensors there = on_device.tensors();
  const MatmulSm100Call call{.problem = matmul.problem,
                             .plan = plan,
                             .a = there.a,
                             .b = there.b,
                             .out = there.out,
                             .bias = nullptr,
                             .residual = nullptr};
  const RunOutcome outcome = device.finish([&] { return enqueue(device, call, forgets_b); });
  if (outcome.ok()) on_device.download(tensors);
  return outcome;
}

}  // namespace heddle::tool
