// SPDX-License-Identifier: Apache-2.0
#include "attention_sm100.h"

#include "attention_device.h"
#include "attention_plan.h"
#include "attention_sm100_host.h"

#include <heddle/host/error.h>
#include <heddle/isa/device.h>

#include <algorithm>
#include <new>
#include <string>

namespace heddle::inline HEDDLE_TARGET {

namespace {

template <Element T>
RunOutcome launch(Device& device, const AttentionProblem& problem, const AttentionTensors& tensors,
                  const AttentionPlan& plan) {
  constexpr AttentionSm100Config config{.is_causal = true, .has_window = true};
  using K = AttentionSm100<T, config>;
  const std::uint32_t resident = device.resident_clusters<K>(1);
  if (resident == 0) {
    RunOutcome outcome;
    outcome.report = "attention: the GPU says that it can run no CTA of this kernel\n";
    return outcome;
  }
  const AttentionSm100Params params{
      .q = map_of<typename K::QTiles::Tile>(tensors.q, plan.q),
      .k = map_of<typename K::KTiles::Tile>(tensors.k, plan.k),
      .v = map_of<typename K::VTiles::Tile>(tensors.v, plan.v),
      .o = map_of<typename K::OTiles::Tile>(tensors.o, plan.o),
      .extents = extents_of(problem, tensors, plan, K::kTiles * K::kRows, resident, config.is_causal),
      .heads_per_key_head = static_cast<std::uint32_t>(plan.q.heads / plan.k.heads),
      .lse = tensors.lse,
      .sinks = tensors.sinks,
      .factor = score_factor(problem, plan),
      .score = capped_scores(problem, plan)};
  const std::uint32_t ctas = std::min(portions_of(params.extents), resident);
  return device.enqueue<K>({.grid = {ctas}, .is_dependent = problem.is_dependent}, params, nullptr);
}

// What Hopper's kernels can do and this one cannot.
void check_problem(const AttentionPlan& plan) {
  if (plan.q.dim > 128 || plan.v.dim > 128) {
    throw InputError("attention: head_dim is " + std::to_string(plan.q.dim) + " and value_dim " +
                     std::to_string(plan.v.dim) +
                     "; on sm100 there are kernels for multiples of 8 from 8 to 128");
  }
  if (plan.offsets_bytes != 0) {
    throw InputError(
        "attention: batches that lie one after another have kernels on sm90 alone; query_rows and "
        "key_rows of 0 would pass");
  }
}

}  // namespace

}  // namespace heddle::inline HEDDLE_TARGET

namespace heddle {

template <>
RunOutcome attention_sm100<kTarget>(const AttentionProblem& problem, const AttentionTensors& tensors,
                                    const RunOptions& options) {
  const AttentionPlan plan = plan_attention(problem);
  check_problem(plan);
  check_attention_tensors(problem, plan, tensors, true);
  check_gpu(options.ordinal, 10);
  Device device(options);
  try {
    const AttentionOnDevice copies(device, tensors, plan);
    const AttentionTensors on_device = copies.tensors();
    const RunOutcome outcome = device.finish([&] {
      return problem.type == AttentionElement::kBf16 ? launch<bf16>(device, problem, on_device, plan)
                                                     : launch<fp16>(device, problem, on_device, plan);
    });
    if (outcome.ok()) copies.download(tensors);
    return outcome;
  } catch (const std::bad_alloc&) {
    throw InputError("attention: the device has no room for the tensors, which take " +
                     std::to_string(plan.q.bytes + plan.k.bytes + plan.v.bytes + plan.o.bytes + plan.lse_bytes) +
                     " bytes");
  }
}

}  // namespace heddle
