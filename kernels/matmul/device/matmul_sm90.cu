// SPDX-License-Identifier: Apache-2.0
#include "copy_rows.h"
#include "matmul/host/matmul_families.h"
#include "matmul/host/matmul_sm90_plan.h"
#include "matmul_sm90_launch.h"
#include "matmul_sm90_timer.h"

#include <heddle/host/gpu_list.h>

#include <utility>

namespace heddle::inline HEDDLE_TARGET {

namespace {

template <std::uint32_t... group>
void add_groups(MatmulSm90Launches& launches, std::integer_sequence<std::uint32_t, group...>) {
  (add_launches<static_cast<MatmulGroup>(group)>(launches), ...);
}

const MatmulSm90Launches& all_launches() {
  static const MatmulSm90Launches all = [] {
    MatmulSm90Launches launches;
    add_groups(launches, std::make_integer_sequence<std::uint32_t, kMatmulGroupCount>());
    return launches;
  }();
  return all;
}

// Puts an operand where the copy engine can read it, in the workspace, if it cannot where it is.
RunOutcome copy_rows(Device& device, const MatmulRowCopy& copy, const MatmulCall& call, const void*& operand,
                     std::uint64_t& pitch) {
  if (copy.rows == 0) return {};
  using Copy = CopyRows<Arch::kSm90>;
  char* const to = static_cast<char*>(call.tensors.workspace) + copy.offset;
  const Copy::Params params{.from = static_cast<const std::uint16_t*>(operand),
                            .from_pitch = pitch,
                            .to = reinterpret_cast<isa::Bytes16*>(to),
                            .to_pitch = copy.pitch / 8,
                            .rows = static_cast<std::uint32_t>(copy.rows),
                            .cols = static_cast<std::uint32_t>(copy.cols)};
  operand = to;
  pitch = copy.pitch;
  const auto cols_of_ctas = static_cast<std::uint32_t>((params.to_pitch + Copy::kThreads - 1) / Copy::kThreads);
  return device.enqueue<Copy>({.grid = {std::min(params.rows, 8192u), std::min(cols_of_ctas, 64u)},
                               .is_dependent = call.problem.is_dependent},
                              params, call.stream);
}

RunOutcome launch(Device& device, const MatmulCall& call) {
  MatmulTensors tensors = call.tensors;
  MatmulPlan plan = call.plan;
  RunOutcome outcome = copy_rows(device, plan.a_copy, call, tensors.a, plan.a_pitch);
  if (outcome.ok()) outcome = copy_rows(device, plan.b_copy, call, tensors.b, plan.b_pitch);
  if (!outcome.ok()) return outcome;
  const auto& launches = call.problem.a_type == MatmulElement::kBf16 ? all_launches().bf16 : all_launches().fp16;
  return launches[plan.choice.instance](
      device, {.problem = call.problem, .tensors = tensors, .plan = plan, .stream = call.stream});
}

constexpr MatmulFamily kSm90{.arch = Arch::kSm90,
                             .major = 9,
                             .plan = plan_matmul_sm90,
                             .launch = launch,
                             .add_up = add_up_parts<Arch::kSm90>};

#if HEDDLE_ON_CUDA
// Where the environment asks for it, and nobody minds waiting.
void tune(const MatmulProblem& problem, const MatmulTensors& tensors, const MatmulSm90Needs& needs,
          void* stream) {
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  if (cudaStreamIsCapturing(static_cast<cudaStream_t>(stream), &capture) != cudaSuccess) {
    (void)cudaGetLastError();  // a launch after this one must not be blamed for it
    return;
  }
  if (capture != cudaStreamCaptureStatusNone || !is_first_use(problem, tensors, needs)) return;
  // A call that is refused is none: the next one is tuned.
  const MatmulPlan plan = plan_matmul_sm90(problem, tensors, false, needs.workspace_bytes, needs.gpu);
  if (plan.workspace_bytes() > needs.workspace_bytes) return;
  tune_first_use(problem, needs, [&]() -> MatmulTimer {
    const auto device = std::make_shared<Device>(RunOptions{.kernel = "matmul", .ordinal = current_device()});
    const auto timer = std::make_shared<MatmulSm90Timer>(
        *device, plan, tensors, needs.workspace_bytes, stream,
        [&problem, device](const MatmulSm90Choice& choice, const MatmulTensors& copies, cudaStream_t own_stream) {
          MatmulProblem tried = problem;
          tried.config = name_of(choice);
          const MatmulPlan as = plan_matmul_sm90(tried, copies, false, copies.workspace_bytes, {});
          check_workspace_of_rows(copies, as.workspace_bytes());
          const RunOutcome outcome = detail::enqueue_launches(
              kSm90, *device, {.problem = tried, .tensors = copies, .plan = as, .stream = own_stream});
          if (!outcome.ok()) throw DriverError(outcome.report, 0);
        });
    return [timer](const MatmulSm90Choice& choice) { return timer->us(choice); };
  });
  (void)cudaGetLastError();  // of what could not be timed
}
#endif

}  // namespace

}  // namespace heddle::inline HEDDLE_TARGET

namespace heddle {

template <>
void enqueue_matmul_sm90<kTarget>(const MatmulProblem& problem, const MatmulTensors& tensors, void* stream) {
#if HEDDLE_ON_CUDA
  if (matmul_tunes_first_use()) {
    tune(problem, tensors, {.workspace_bytes = workspace_bytes_of(tensors), .gpu = current_gpu_name()}, stream);
  }
#endif
  enqueue_matmul(kSm90, problem, tensors, stream);
}

template <>
RunOutcome matmul_sm90<kTarget>(const MatmulProblem& problem, const MatmulTensors& tensors,
                                const RunOptions& options) {
  return run_matmul(kSm90, problem, tensors, options);
}

template <>
GpuList matmul_gpus<kTarget>() {
  return find_gpus();
}

}  // namespace heddle
