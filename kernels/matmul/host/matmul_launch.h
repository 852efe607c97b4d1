// SPDX-License-Identifier: Apache-2.0
//
// From a problem to its launches, the same way on every architecture: plan, workspace, kernel, and where parts of
// K were stored, the kernel that adds them up. What differs is data: a MatmulFamily.
#pragma once

#include "matmul/device/split_k_reduce.h"
#include "matmul_on_device.h"
#include "matmul_operands.h"
#include "matmul_plan.h"

#include <heddle/host/device.h>

#include <algorithm>
#include <string_view>

namespace heddle::inline HEDDLE_TARGET {

// Starts a kernel: as many clusters as run at once, or as its scheduler asks for them.
template <class Kernel>
RunOutcome launch_matmul(Device& device, const typename Kernel::Params& params, bool is_dependent = false,
                         void* stream = nullptr) {
  constexpr std::uint32_t cluster = Kernel::kCluster.size();
  if constexpr (requires { params.joined; }) {
    // A cluster for each tile, which exits with it.
    if (params.joined > 1) {
      return device.enqueue<Kernel>({.grid = {params.scheduler.cluster_tiles, 1, params.joined},
                                     .cluster = {1, 1, params.joined},
                                     .is_dependent = is_dependent},
                                    params, stream);
    }
  }
  const std::uint32_t resident = resident_clusters<Kernel>(device, cluster);
  if (resident == 0) return cannot_run(cluster);
  LaunchShape shape = Kernel::Scheduler::launch_shape(params.scheduler, resident * cluster);
  shape.is_dependent = is_dependent;
  return device.enqueue<Kernel>(shape, params, stream);
}

// Everything that a launch needs. Tensors are in the memory of the device.
struct MatmulCall {
  const MatmulProblem& problem;
  const MatmulTensors& tensors;
  const MatmulPlan& plan;
  void* stream = nullptr;
};
using MatmulLaunch = RunOutcome (*)(Device& device, const MatmulCall& call);

// Where the kernel stores: the output, or the workspace of a split K.
inline MatmulOutput output_of(const MatmulCall& call) {
  const MatmulProblem& p = call.problem;
  const MatmulPlan& plan = call.plan;
  const auto batches = static_cast<std::uint64_t>(p.batches);
  if (!plan.adds_up()) {
    return {.type = p.out_type,
            .address = call.tensors.out,
            .rows = static_cast<std::uint64_t>(p.m),
            .cols = static_cast<std::uint64_t>(p.n),
            .pitch = plan.out_pitch,
            .batches = batches,
            .batch_stride = plan.out_batch_stride,
            .is_ragged = plan.is_ragged};
  }
  return {.type = MatmulElement::kFp32,
          .address = call.tensors.workspace,
          .rows = plan.partial_rows,
          .cols = plan.partial_pitch,
          .batches = batches * plan.stored_parts()};
}

inline MatmulOperands operands_of(const MatmulCall& call) {
  const MatmulProblem& p = call.problem;
  const MatmulPlan& plan = call.plan;
  const auto stored = [&](const void* address, OperandLayout layout, std::int64_t outer, std::uint64_t pitch,
                          std::uint64_t batch_stride) {
    const bool is_k_major = layout == OperandLayout::kKMajor;
    return TiledMatrix{.address = address,
                       .rows = static_cast<std::uint64_t>(is_k_major ? outer : p.k),
                       .cols = static_cast<std::uint64_t>(is_k_major ? p.k : outer),
                       .pitch = pitch,
                       .batches = static_cast<std::uint64_t>(p.batches),
                       .batch_stride = batch_stride};
  };
  return {.m = static_cast<std::uint32_t>(p.m),
          .n = static_cast<std::uint32_t>(p.n),
          .k = static_cast<std::uint32_t>(p.k),
          .a = stored(call.tensors.a, p.a_layout, p.m, plan.a_pitch, plan.a_batch_stride),
          .b = stored(call.tensors.b, p.b_layout, p.n, plan.b_pitch, plan.b_batch_stride),
          .out = output_of(call),
          .splits = plan.choice.splits,
          .is_joined = plan.is_joined,
          .group = plan.has_order ? plan.choice.group : 0,
          .raster = !plan.has_order             ? Raster::kConfigured
                    : plan.choice.bands_along_m ? Raster::kAlongM
                                                : Raster::kAlongN,
          .is_dependent = p.is_dependent && !plan.choice.is_alone};
}

inline FusedEpilogue::Params epilogue_of(const MatmulCall& call) {
  const MatmulProblem& p = call.problem;
  return {.alpha = p.alpha,
          .beta = p.beta,
          .c = p.beta != 0 ? call.tensors.out : nullptr,
          .bias = call.tensors.bias,
          .residual = call.tensors.residual,
          .c_pitch = call.plan.out_pitch,
          .residual_pitch = call.plan.residual_pitch,
          .activation = p.activation,
          .ragged_out = call.plan.is_ragged ? call.tensors.out : nullptr};
}

// The kernel behind the one that stored parts of K.
template <Arch arch>
RunOutcome add_up_parts(Device& device, const MatmulCall& call) {
  using Reduce = SplitKReduce<arch>;
  const MatmulProblem& p = call.problem;
  const MatmulPlan& plan = call.plan;
  const typename Reduce::Params params{.partial = static_cast<const float*>(call.tensors.workspace),
                                       .partial_pitch = plan.partial_pitch,
                                       .partial_rows = plan.partial_rows,
                                       .out = call.tensors.out,
                                       .output = p.out_type,
                                       .out_pitch = plan.out_pitch,
                                       .out_batch_stride = plan.out_batch_stride,
                                       .residual_batch_stride = plan.residual_batch_stride,
                                       .m = static_cast<std::uint32_t>(p.m),
                                       .n = static_cast<std::uint32_t>(p.n),
                                       .batches = static_cast<std::uint32_t>(p.batches),
                                       .splits = plan.stored_parts(),
                                       .epilogue = epilogue_of(call)};
  // The CTAs walk on where the grid ends, whose second and third extents are 16 bits.
  const isa::Dim3 grid{std::min(params.m, 4096u), std::min(params.batches, 64u),
                       std::min((params.n - 1) / Reduce::kCols + 1, 4096u)};
  return device.enqueue<Reduce>({.grid = grid, .is_dependent = p.is_dependent}, params, call.stream);
}

// What an architecture is to the host.
struct MatmulFamily {
  Arch arch;
  int major;  // of its compute capability
  // A choice of the library takes at most that much of a workspace; `gpu` is a name, empty in the simulated SM.
  MatmulPlan (*plan)(const MatmulProblem& problem, const MatmulTensors& tensors, bool is_simulated,
                     std::uint64_t workspace_bytes, std::string_view gpu);
  MatmulLaunch launch;
  MatmulLaunch add_up;
};

namespace detail {

inline RunOutcome enqueue_launches(const MatmulFamily& family, Device& device, const MatmulCall& call) {
  const RunOutcome outcome = family.launch(device, call);
  if (!outcome.ok() || !call.plan.adds_up()) return outcome;
  return family.add_up(device, call);
}

}  // namespace detail

// Tensors in host memory. A run that ends with a report has written nothing.
inline RunOutcome run_matmul(const MatmulFamily& family, const MatmulProblem& problem,
                             const MatmulTensors& tensors, RunOptions options) {
  const MatmulPlan plan =
      family.plan(problem, tensors, kIsSimulated, kMatmulWorkspaceBytes, gpu_name(options.ordinal));
  if (plan.out_bytes == 0) return {};
  check_gpu(options.ordinal, family.major);
  options.arch = family.arch;
  Device device(options);
  const MatmulOnDevice on_device(device, tensors, plan, plan.workspace_bytes());
  const MatmulTensors there = on_device.tensors();
  const RunOutcome outcome = device.finish([&] {
    return detail::enqueue_launches(family, device, {.problem = problem, .tensors = there, .plan = plan});
  });
  if (outcome.ok()) on_device.download(tensors);
  return outcome;
}

// Tensors in the memory of the current GPU, in a stream of it.
inline void enqueue_matmul(const MatmulFamily& family, const MatmulProblem& problem, const MatmulTensors& tensors,
                           void* stream) {
  const MatmulPlan plan =
      family.plan(problem, tensors, kIsSimulated, workspace_bytes_of(tensors), current_gpu_name());
  if (plan.out_bytes == 0) return;
  if (plan.stored_parts() > 1) check_workspace(tensors, plan.stored_parts(), plan.partial_bytes);
  check_workspace_of_rows(tensors, plan.workspace_bytes());
  enqueue_on_current_gpu(problem, tensors, family.major, stream, [&](Device& device) {
    return detail::enqueue_launches(family, device,
                                    {.problem = problem, .tensors = tensors, .plan = plan, .stream = stream});
  });
}

}  // namespace heddle::inline HEDDLE_TARGET
