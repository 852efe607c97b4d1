// SPDX-License-Identifier: Apache-2.0
//
// From a grouped problem to its launch, the same way on every architecture: plan, tensor maps, kernel. What
// differs is data: a MatmulGroupedArch.
#pragma once

#include "grouped_tiles.h"
#include "matmul/host/matmul_grouped_plan.h"
#include "matmul/host/matmul_on_device.h"

#include <heddle/host/device.h>
#include <heddle/host/tensor_map.h>

#include <new>
#include <string>
#include <type_traits>

namespace heddle::inline HEDDLE_TARGET {

// Everything that a launch needs. Tensors are in the memory of the device.
struct MatmulGroupedCall {
  const MatmulGroupedProblem& problem;
  const MatmulGroupedTensors& tensors;
  const MatmulGroupedPlan& plan;
  void* stream;
};

template <MatmulElement type>
using GroupedElement = std::conditional_t<type == MatmulElement::kBf16, bf16,
                                          std::conditional_t<type == MatmulElement::kE4m3, e4m3, e5m2>>;

template <Element A>
isa::TensorMap grouped_map_of_a(const MatmulGroupedCall& call, std::uint32_t box_rows) {
  return tensor_map_2d({.type = tensor_type<A>,
                        .address = call.tensors.a,
                        .rows = static_cast<std::uint64_t>(call.problem.m),
                        .cols = static_cast<std::uint64_t>(call.problem.k),
                        .row_bytes = call.plan.a_pitch * sizeof(A),
                        .box_rows = box_rows,
                        .box_cols = 128 / sizeof(A),
                        .swizzle = Swizzle::k128B,
                        .l2_promotion = L2Promotion::k256B});
}

// Three dimensions, so that a tile beyond N reads zeros and not the next group.
template <Element B>
isa::TensorMap grouped_map_of_b(const MatmulGroupedCall& call, std::uint32_t box_rows) {
  const MatmulGroupedProblem& p = call.problem;
  return make_tensor_map({.type = tensor_type<B>,
                          .rank = 3,
                          .address = call.tensors.b,
                          .dims = {static_cast<std::uint64_t>(p.k), static_cast<std::uint64_t>(p.n),
                                   static_cast<std::uint64_t>(p.groups)},
                          .strides = {call.plan.b_pitch * sizeof(B), call.plan.b_group_stride * sizeof(B)},
                          .box = {128 / sizeof(B), box_rows, 1},
                          .swizzle = Swizzle::k128B,
                          .l2_promotion = L2Promotion::k256B});
}

inline isa::TensorMap grouped_map_of_a_scales(const MatmulGroupedCall& call, std::uint32_t k_blocks,
                                              std::uint32_t tile_m) {
  return tensor_map_2d({.type = TensorType::kF32,
                        .address = call.tensors.a_scales,
                        .rows = k_blocks,
                        .cols = static_cast<std::uint64_t>(call.problem.m),
                        .row_bytes = call.plan.a_scales_pitch * sizeof(float),
                        .box_rows = 1,
                        .box_cols = tile_m,
                        .swizzle = Swizzle::kNone});
}

inline isa::TensorMap grouped_map_of_out(const MatmulGroupedCall& call, std::uint32_t box_rows,
                                         std::uint32_t box_cols) {
  const MatmulElement type = call.problem.out_type;
  return tensor_map_2d({.type = type == MatmulElement::kFp32   ? TensorType::kF32
                                : type == MatmulElement::kBf16 ? TensorType::kBF16
                                                               : TensorType::kF16,
                        .address = call.tensors.out,
                        .rows = static_cast<std::uint64_t>(call.problem.m),
                        .cols = static_cast<std::uint64_t>(call.problem.n),
                        .row_bytes = call.plan.out_pitch * (type == MatmulElement::kFp32 ? 4 : 2),
                        .box_rows = box_rows,
                        .box_cols = box_cols,
                        .swizzle = Swizzle::k128B});
}

inline GroupedTilesParams grouped_tiles_of(const MatmulGroupedCall& call, std::uint32_t cluster_cols) {
  const MatmulGroupedProblem& p = call.problem;
  const bool has_places = p.rows == GroupRows::kCounts;
  return {.group_rows = {.numbers = p.rows == GroupRows::kAll ? nullptr : call.tensors.group_rows,
                         .groups = static_cast<std::uint32_t>(p.groups),
                         .rows = static_cast<std::uint32_t>(has_places ? p.m / p.groups : p.m),
                         .has_places = has_places},
          .cluster_tiles_n = (static_cast<std::uint32_t>(p.n) + cluster_cols - 1) / cluster_cols};
}

// How many tiles there are is not known on the host: as many clusters as there is room for.
template <class Kernel>
RunOutcome launch_grouped(Device& device, const typename Kernel::Params& params, bool is_dependent,
                          void* stream) {
  constexpr ClusterShape cluster = Kernel::kCluster.cluster;
  const std::uint32_t resident = resident_clusters<Kernel>(device, cluster.size());
  if (resident == 0) return cannot_run(cluster.size());
  return device.enqueue<Kernel>({.grid = {resident * cluster.m, cluster.n, 1},
                                 .cluster = {cluster.m, cluster.n, 1},
                                 .is_dependent = is_dependent},
                                params, stream);
}

// What an architecture is to the host.
struct MatmulGroupedArch {
  Arch arch;
  int major;  // of its compute capability
  RunOutcome (*launch)(Device& device, const MatmulGroupedCall& call);
};

namespace detail {

// The tensors, copied from host memory.
class GroupedOnDevice {
 public:
  GroupedOnDevice(Device& device, const MatmulGroupedTensors& host, const MatmulGroupedPlan& plan)
      : a_(device, "a", plan.a_bytes),
        b_(device, "b", plan.b_bytes),
        group_rows_(device, "group_rows", plan.group_rows_bytes),
        a_scales_(device, "a_scales", plan.a_scales_bytes),
        b_scales_(device, "b_scales", plan.b_scales_bytes),
        out_(device, "out", plan.out_bytes) {
    a_.upload(host.a);
    b_.upload(host.b);
    group_rows_.upload(host.group_rows);
    a_scales_.upload(host.a_scales);
    b_scales_.upload(host.b_scales);
    out_.upload(host.out);  // for rows in no group, and for what pads them
  }

  MatmulGroupedTensors tensors() const {
    return {.a = a_.data(),
            .b = b_.data(),
            .group_rows = static_cast<const std::int32_t*>(group_rows_.data()),
            .out = out_.data(),
            .a_scales = static_cast<const float*>(a_scales_.data()),
            .b_scales = static_cast<const float*>(b_scales_.data())};
  }
  void download(void* host) const { out_.download(host); }

 private:
  DeviceBuffer a_;
  DeviceBuffer b_;
  DeviceBuffer group_rows_;
  DeviceBuffer a_scales_;
  DeviceBuffer b_scales_;
  DeviceBuffer out_;
};

}  // namespace detail

// Tensors in host memory. A run that ends with a report has written nothing.
inline RunOutcome run_grouped(const MatmulGroupedArch& on, const MatmulGroupedProblem& problem,
                              const MatmulGroupedTensors& tensors, RunOptions options) {
  const MatmulGroupedPlan plan = plan_matmul_grouped(problem, tensors, kIsSimulated, on.arch);
  if (plan.out_bytes == 0) return {};
  check_gpu(options.ordinal, on.major);
  options.arch = on.arch;
  Device device(options);
  try {
    const detail::GroupedOnDevice copies(device, tensors, plan);
    const MatmulGroupedTensors on_device = copies.tensors();
    const RunOutcome outcome = device.finish([&] {
      return on.launch(device, {problem, on_device, plan, nullptr});
    });
    if (outcome.ok()) copies.download(tensors.out);
    return outcome;
  } catch (const std::bad_alloc&) {
    throw InputError("matmul: the device has no room for the tensors, which take " +
                     std::to_string(plan.a_bytes + plan.b_bytes + plan.out_bytes) + " bytes");
  }
}

// Tensors in the memory of the current GPU, in a stream of it.
inline void enqueue_grouped(const MatmulGroupedArch& on, const MatmulGroupedProblem& problem,
                            const MatmulGroupedTensors& tensors, void* stream) {
  if constexpr (kIsSimulated) {
    throw InputError("matmul: the simulated SM has no stream; give host memory and a device");
  } else {
    const MatmulGroupedPlan plan = plan_matmul_grouped(problem, tensors, kIsSimulated, on.arch);
    if (plan.out_bytes == 0) return;
    const int ordinal = current_device();
    check_gpu(ordinal, on.major);
    check_stream(stream);
    check_alignment(tensors);
    Device device({.kernel = "matmul", .ordinal = ordinal});
    const RunOutcome outcome = on.launch(device, {problem, tensors, plan, stream});
    if (!outcome.ok()) throw DriverError(outcome.report, 0);
  }
}

}  // namespace heddle::inline HEDDLE_TARGET
