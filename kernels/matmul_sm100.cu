// SPDX-License-Identifier: Apache-2.0
#include "matmul_sm100_configs.h"
#include "matmul_sm100_host.h"

#include <heddle/host/error.h>
#include <heddle/host/tensor_map.h>
#include <heddle/isa/device.h>

#include <array>
#include <utility>

namespace heddle::inline HEDDLE_TARGET {

namespace {

// Where everything is on the device.
struct Matmul {
  const MatmulSm100Problem& problem;
  const MatmulSm100Plan& plan;
  const void* a;
  const void* b;
  void* out;
};

constexpr std::uint32_t tiles_along(std::int64_t elems, std::uint32_t tile) {
  return static_cast<std::uint32_t>((elems + tile - 1) / tile);
}

// Boxes of box_rows x 128 bytes, or narrower.
template <Element T>
isa::TensorMap matrices_map(const void* address, std::int64_t rows, std::int64_t cols, std::uint64_t pitch,
                            std::uint64_t batch_stride, std::int64_t batches, std::uint32_t box_rows,
                            std::uint32_t box_cols) {
  return make_tensor_map({.type = tensor_type<T>,
                          .rank = 3,
                          .address = address,
                          .dims = {static_cast<std::uint64_t>(cols), static_cast<std::uint64_t>(rows),
                                   static_cast<std::uint64_t>(batches)},
                          .strides = {pitch * sizeof(T), batch_stride * sizeof(T)},
                          .box = {box_cols, box_rows, 1},
                          .swizzle = Swizzle::k128B,
                          .l2_promotion = L2Promotion::k256B});
}

template <std::uint32_t index, Element In, Element Out>
RunOutcome launch_config(Device& device, const Matmul& matmul) {
  constexpr MatmulSm100Config config = kMatmulSm100Configs[index].config;
  using Kernel = MatmulSm100<config, In, Out>;
  const MatmulSm100Problem& p = matmul.problem;
  const MatmulSm100Plan& plan = matmul.plan;

  typename Kernel::Params params{};
  if (p.k > 0) {  // otherwise there is nothing to copy
    params.a = matrices_map<In>(matmul.a, p.m, p.k, plan.a_pitch, plan.a_batch_stride, p.batches,
                                kSm100TileM / Kernel::kSharersOfA, Kernel::kTileK);
    params.b = matrices_map<In>(matmul.b, p.n, p.k, plan.b_pitch, plan.b_batch_stride, p.batches,
                                Kernel::Payload::BTile::rows() / Kernel::kSharersOfB, Kernel::kTileK);
  }
  params.c.map = matrices_map<Out>(matmul.out, p.m, p.n, plan.out_pitch, plan.out_batch_stride, p.batches,
                                   Kernel::Writer::rows, Kernel::Writer::chunk_cols);
  params.c.m = static_cast<std::uint32_t>(p.m);
  params.c.n = static_cast<std::uint32_t>(p.n);
  params.c.ragged_out = plan.is_ragged ? matmul.out : nullptr;
  params.c.pitch = plan.out_pitch;
  params.c.batch_stride = plan.out_batch_stride;
  params.k_blocks.all = tiles_along(p.k, Kernel::kTileK);
  params.k_blocks.share = params.k_blocks.all;
  const TileGrid grid{.tiles_m = tiles_along(p.m, kSm100TileM),
                      .tiles_n = tiles_along(p.n, config.tile_n),
                      .batches = static_cast<std::uint32_t>(p.batches)};
  if (const std::uint64_t tiles = cluster_tiles_of<Kernel::kScheduler>(grid); tiles > kMaxClusterTiles) {
    throw InputError("matmul: the output has " + std::to_string(tiles) + " tiles; a launch has at most " +
                     std::to_string(kMaxClusterTiles));
  }
  params.scheduler = make_tile_scheduler_params<Kernel::kScheduler>(grid);
  const std::uint32_t ctas = device.resident_clusters<Kernel>(config.cluster.size()) * config.cluster.size();
  return device.launch<Kernel>(Kernel::Scheduler::launch_shape(params.scheduler, ctas), params);
}

using Launch = RunOutcome (*)(Device&, const Matmul&);

template <Element In, Element Out>
RunOutcome launch_any(Device& device, const Matmul& matmul) {
  static constexpr auto launches = []<std::uint32_t... i>(std::integer_sequence<std::uint32_t, i...>) {
    return std::array<Launch, sizeof...(i)>{launch_config<i, In, Out>...};
  }
  (std::make_integer_sequence<std::uint32_t, kMatmulSm100ConfigCount>());
  return launches[matmul.plan.config](device, matmul);
}

template <Element In>
RunOutcome launch_output(Device& device, const Matmul& matmul) {
  switch (matmul.problem.output) {
    case MatmulElement::kBf16:
      return launch_any<In, bf16>(device, matmul);
    case MatmulElement::kFp16:
      return launch_any<In, fp16>(device, matmul);
    default:
      return launch_any<In, float>(device, matmul);
  }
}

}  // namespace

}  // namespace heddle::inline HEDDLE_TARGET

namespace heddle {

template <>
RunOutcome matmul_sm100<kTarget>(const MatmulSm100Problem& problem, const MatmulTensors& tensors,
                                 const RunOptions& options) {
  const MatmulSm100Plan plan = plan_matmul_sm100(problem, tensors);
  if (plan.out_bytes == 0) return {};
  RunOptions on_sm100 = options;
  on_sm100.arch = Arch::kSm100;
  Device device(on_sm100);
  DeviceBuffer a(device, "a", plan.a_bytes);
  DeviceBuffer b(device, "b", plan.b_bytes);
  DeviceBuffer out(device, "out", plan.out_bytes);
  a.upload(tensors.a);
  b.upload(tensors.b);
  out.upload(tensors.out);
  const Matmul matmul{.problem = problem, .plan = plan, .a = a.data(), .b = b.data(), .out = out.data()};
  const RunOutcome outcome = problem.input == MatmulElement::kBf16 ? launch_output<bf16>(device, matmul)
                                                                   : launch_output<fp16>(device, matmul);
  if (outcome.ok()) out.download(tensors.out);
  return outcome;
}

}  // namespace heddle
