// SPDX-License-Identifier: Apache-2.0
#include "matmul_sm90_grouped_instances.h"

#include "matmul/host/matmul_grouped_plan.h"
#include "matmul/host/matmul_on_device.h"

#include <heddle/host/tensor_map.h>
#include <heddle/isa/device.h>

#include <array>
#include <new>
#include <utility>

namespace heddle::inline HEDDLE_TARGET {

namespace {

// Everything that a launch needs.
struct Call {
  const MatmulGroupedProblem& problem;
  const MatmulGroupedTensors& tensors;
  const MatmulGroupedPlan& plan;
  void* stream;
};

template <Element A>
isa::TensorMap map_of_a(const Call& call, std::uint32_t box_rows) {
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
isa::TensorMap map_of_b(const Call& call, std::uint32_t box_rows) {
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

isa::TensorMap map_of_a_scales(const Call& call, std::uint32_t k_blocks, std::uint32_t tile_m) {
  return tensor_map_2d({.type = TensorType::kF32,
                        .address = call.tensors.a_scales,
                        .rows = k_blocks,
                        .cols = static_cast<std::uint64_t>(call.problem.m),
                        .row_bytes = call.plan.a_scales_pitch * sizeof(float),
                        .box_rows = 1,
                        .box_cols = tile_m,
                        .swizzle = Swizzle::kNone});
}

isa::TensorMap map_of_out(const Call& call, std::uint32_t box_cols) {
  const MatmulElement type = call.problem.out_type;
  return tensor_map_2d({.type = type == MatmulElement::kFp32   ? TensorType::kF32
                                : type == MatmulElement::kBf16 ? TensorType::kBF16
                                                               : TensorType::kF16,
                        .address = call.tensors.out,
                        .rows = static_cast<std::uint64_t>(call.problem.m),
                        .cols = static_cast<std::uint64_t>(call.problem.n),
                        .row_bytes = call.plan.out_pitch * (type == MatmulElement::kFp32 ? 4 : 2),
                        .box_rows = 16,
                        .box_cols = box_cols,
                        .swizzle = Swizzle::k128B});
}

GroupRowsParams group_rows_of(const Call& call) {
  const MatmulGroupedProblem& p = call.problem;
  const bool has_places = p.rows == GroupRows::kCounts;
  return {.numbers = p.rows == GroupRows::kAll ? nullptr : call.tensors.group_rows,
          .groups = static_cast<std::uint32_t>(p.groups),
          .rows = static_cast<std::uint32_t>(has_places ? p.m / p.groups : p.m),
          .has_places = has_places};
}

template <MatmulElement type>
using ElementOf = std::conditional_t<type == MatmulElement::kBf16, bf16,
                                     std::conditional_t<type == MatmulElement::kE4m3, e4m3, e5m2>>;

template <std::uint32_t instance>
RunOutcome launch_instance(Device& device, const Call& call) {
  constexpr MatmulGroupedConfig config = kMatmulGroupedInstances[instance].config;
  using A = ElementOf<kMatmulGroupedInstances[instance].a_type>;
  using B = ElementOf<kMatmulGroupedInstances[instance].b_type>;
  using Kernel = MatmulSm90Grouped<config, A, B>;
  const MatmulGroupedProblem& p = call.problem;
  const std::uint32_t panel = p.out_type == MatmulElement::kFp32 ? 32 : 64;
  const auto n = static_cast<std::uint32_t>(p.n);
  constexpr std::uint32_t cluster_cols = config.tile_n * config.cluster_n;
  MatmulGroupedParams params{};
  params.a = map_of_a<A>(call, Kernel::kRowsOfA);
  params.b = map_of_b<B>(call, Kernel::kRowsOfB);
  params.c = map_of_out(call, panel);
  params.c_tail = config.tile_n % panel == 0 ? params.c : map_of_out(call, config.tile_n % panel);
  params.tiles = {.group_rows = group_rows_of(call), .cluster_tiles_n = (n + cluster_cols - 1) / cluster_cols};
  params.k_blocks = (static_cast<std::uint32_t>(p.k) + config.tile_k - 1) / config.tile_k;
  if constexpr (Kernel::kIsBlockwise) {
    params.a_scales = map_of_a_scales(call, params.k_blocks, config.tile_m);
    params.b_scales = call.tensors.b_scales;
  } else {
    params.scales = {
        .a = call.tensors.a_scales, .b = call.tensors.b_scales, .are_of_rows = p.scaling == GroupScaling::kRows};
  }
  params.n = n;
  params.out = call.tensors.out;
  params.out_pitch = call.plan.out_pitch;
  params.output = p.out_type;
  // How many tiles there are is not known here: as many clusters as there is room for.
  const std::uint32_t resident = resident_clusters<Kernel>(device, config.cluster());
  if (resident == 0) return cannot_run(config.cluster());
  return device.enqueue<Kernel>({.grid = {resident * config.cluster_m, config.cluster_n, 1},
                                 .cluster = {config.cluster_m, config.cluster_n, 1},
                                 .is_dependent = p.is_dependent},
                                params, call.stream);
}

using Launch = RunOutcome (*)(Device& device, const Call& call);

template <std::uint32_t instance>
constexpr Launch launch_of() {
  if constexpr (is_compiled(kMatmulGroupedInstances[instance], kIsSimulated)) {
    return launch_instance<instance>;
  } else {
    return nullptr;
  }
}

template <std::uint32_t... i>
constexpr std::array<Launch, sizeof...(i)> launches(std::integer_sequence<std::uint32_t, i...>) {
  return {launch_of<i>()...};
}

RunOutcome start(Device& device, const Call& call) {
  static constexpr auto all = launches(std::make_integer_sequence<std::uint32_t, kMatmulGroupedInstanceCount>());
  return all[call.plan.instance](device, call);
}

// The tensors, copied from host memory.
class OnDevice {
 public:
  OnDevice(Device& device, const MatmulGroupedTensors& host, const MatmulGroupedPlan& plan)
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

}  // namespace

}  // namespace heddle::inline HEDDLE_TARGET

namespace heddle {

template <>
RunOutcome matmul_grouped_sm90<kTarget>(const MatmulGroupedProblem& problem, const MatmulGroupedTensors& tensors,
                                        const RunOptions& options) {
  const MatmulGroupedPlan plan = plan_matmul_grouped(problem, tensors, kIsSimulated);
  if (plan.out_bytes == 0) return {};
  check_gpu(options.ordinal, 9);
  Device device(options);
  try {
    const OnDevice copies(device, tensors, plan);
    const MatmulGroupedTensors on_device = copies.tensors();
    const RunOutcome outcome = device.finish([&] { return start(device, {problem, on_device, plan, nullptr}); });
    if (outcome.ok()) copies.download(tensors.out);
    return outcome;
  } catch (const std::bad_alloc&) {
    throw InputError("matmul: the device has no room for the tensors, which take " +
                     std::to_string(plan.a_bytes + plan.b_bytes + plan.out_bytes) + " bytes");
  }
}

template <>
void enqueue_matmul_grouped_sm90<kTarget>(const MatmulGroupedProblem& problem,
                                          const MatmulGroupedTensors& tensors, void* stream) {
  if constexpr (kIsSimulated) {
    throw InputError("matmul: the simulated SM has no stream; give host memory and a device");
  } else {
    const MatmulGroupedPlan plan = plan_matmul_grouped(problem, tensors, kIsSimulated);
    if (plan.out_bytes == 0) return;
    const int ordinal = current_device();
    check_gpu(ordinal, 9);
    check_stream(stream);
    check_alignment(tensors);
    Device device({.kernel = "matmul", .ordinal = ordinal});
    const RunOutcome outcome = start(device, {problem, tensors, plan, stream});
    if (!outcome.ok()) throw DriverError(outcome.report, 0);
  }
}

}  // namespace heddle
