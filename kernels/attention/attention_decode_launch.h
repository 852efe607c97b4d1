// SPDX-License-Identifier: Apache-2.0
//
// What launches of decoding attention on Hopper and on Blackwell have in common.
#pragma once

#include "attention_decode_params.h"
#include "attention_decode_plan.h"
#include "attention_device.h"
#include "attention_join.h"

#include <heddle/host/device.h>
#include <heddle/host/error.h>
#include <heddle/host/run_options.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <string>

namespace heddle::inline HEDDLE_TARGET {

// Everything that a launch needs.
struct AttentionDecodeCall {
  const AttentionDecodeProblem& problem;
  const AttentionDecodeTensors& tensors;
  const AttentionDecodePlan& plan;
  void* stream;
};

template <class K>
AttentionDecodeParams decode_params(const AttentionDecodeCall& call) {
  const AttentionProblem& problem = call.problem.attention;
  const AttentionPlan& plan = call.plan.attention;
  const auto number = [](auto value) { return static_cast<std::int32_t>(value); };
  const std::uint64_t sharing = plan.q.heads / plan.k.heads;
  // The heads that share keys are rows.
  AttentionTensorPlan q = plan.q;
  q.rows = static_cast<std::uint64_t>(call.plan.rows);
  q.row_stride = call.plan.q_row_stride;
  q.heads = plan.k.heads;
  q.head_stride = sharing * plan.q.head_stride;
  auto* const workspace = static_cast<unsigned char*>(call.tensors.workspace);
  return {.q = map_of<typename K::QTiles::Tile>(call.tensors.attention.q, q),
          .k = map_of<typename K::KPage::Tile>(call.tensors.attention.k, plan.k),
          .v = map_of<typename K::VPage::Tile>(call.tensors.attention.v, plan.v),
          .extents = {.batches = number(problem.batches),
                      .key_heads = number(plan.k.heads),
                      .keys = number(call.plan.keys),
                      .queries = number(problem.queries),
                      .window = problem.window == 0 ? 1 << 30 : number(problem.window),
                      .lengths = call.tensors.lengths},
          .rows = number(call.plan.rows),
          .heads_per_key_head = number(sharing),
          .value_dim = number(plan.v.dim),
          .is_causal = problem.is_causal,
          .page_size = number(call.problem.page_size),
          .table_stride = number(call.plan.table_stride),
          .page_table = call.tensors.page_table,
          .o = call.tensors.attention.o,
          .o_row = static_cast<std::int64_t>(plan.o.row_stride),
          .o_head = static_cast<std::int64_t>(plan.o.head_stride),
          .o_batch = static_cast<std::int64_t>(plan.o.batch_stride),
          .lse = call.tensors.attention.lse,
          .sinks = call.tensors.attention.sinks,
          .factor = score_factor(problem, plan),
          .score = capped_scores(problem, plan),
          .parts = reinterpret_cast<float*>(workspace + call.plan.sums_bytes),
          .part_sums = reinterpret_cast<float*>(workspace)};
}

// Whether each head is one worker's, so that nothing is left to join: where that takes less time. Times are an
// H200's, in units of what its memory takes for a tile. A worker has a tile in 118, in copies of 16 keys in 220;
// the second kernel takes 368; and of many tiles equal parts are read a little faster, by 2 %.
inline bool keeps_heads_whole(const AttentionPieces::Extents& extents, std::uint32_t keys,
                              std::uint32_t page_rows, std::uint32_t workers) {
  if (extents.lengths != nullptr) return false;
  const double heads = static_cast<double>(extents.batches) * extents.key_heads;
  const double tiles = std::min(extents.keys, extents.window) / static_cast<double>(keys);
  const double of_worker = std::ceil(heads / workers) * tiles * (page_rows < 64 ? 220 : 118);
  return std::max(of_worker, heads * tiles * 1.02) <= heads * tiles + 368;
}

// The kernel K, of whose CTAs each has so many workers, and after it the one that joins what they found.
template <class K, Element T, std::uint32_t keys, std::uint32_t workers>
RunOutcome launch_decode(Device& device, const AttentionDecodeCall& call) {
  static_assert(workers <= kDecodeWorkersPerCta, "the workspace has a place for as many");
  const std::uint32_t resident = device.resident_clusters<K>(1);
  if (resident == 0) {
    RunOutcome outcome;
    outcome.report = "attention_decode: the GPU says that it can run no CTA of this kernel\n";
    return outcome;
  }
  const std::uint32_t ctas = std::min(resident, kMaxDecodeCtas);
  AttentionDecodeParams params = decode_params<K>(call);
  params.extents.has_whole_heads =
      keeps_heads_whole(params.extents, keys, K::KPage::Tile::layout.shape[0], ctas * workers);
  RunOutcome read = device.enqueue<K>({.grid = {ctas}, .is_dependent = call.problem.attention.is_dependent},
                                      params, call.stream);
  if (!read.ok() || params.extents.has_whole_heads) return read;
  RunOutcome joined = device.enqueue<AttentionJoin<T, keys>>({.grid = {ctas * workers}, .is_dependent = true},
                                                             params, call.stream);
  joined.remarks = read.remarks + joined.remarks;
  return joined;
}

// With tensors in host memory, by `start(device, call)`, on GPUs of that compute capability.
template <class Start>
RunOutcome run_decode(const AttentionDecodeProblem& problem, const AttentionDecodeTensors& tensors,
                      const RunOptions& options, int major, const Start& start) {
  const AttentionDecodePlan plan = plan_attention_decode(problem);
  check_attention_decode_tensors(problem, plan, tensors, true);
  check_gpu(options.ordinal, major);
  Device device(options);
  try {
    const AttentionOnDevice copies(device, tensors.attention, plan.attention);
    DeviceBuffer lengths(device, "lengths", tensors.lengths == nullptr ? 0 : plan.lengths_bytes);
    DeviceBuffer table(device, "page_table", plan.table_bytes);
    DeviceBuffer workspace(device, "workspace", plan.workspace_bytes());
    lengths.upload(tensors.lengths);
    table.upload(tensors.page_table);
    const AttentionDecodeTensors on_device{.attention = copies.tensors(),
                                           .lengths = static_cast<const std::int32_t*>(lengths.data()),
                                           .page_table = static_cast<const std::int32_t*>(table.data()),
                                           .workspace = workspace.data()};
    const RunOutcome outcome = device.finish([&] {
      return start(device, AttentionDecodeCall{problem, on_device, plan, nullptr});
    });
    if (outcome.ok()) copies.download(tensors.attention);
    return outcome;
  } catch (const std::bad_alloc&) {
    throw InputError("attention_decode: the device has no room for the tensors, of which K and V take " +
                     std::to_string(plan.attention.k.bytes + plan.attention.v.bytes) + " bytes");
  }
}

// With tensors on the current GPU, in a stream of it.
template <class Start>
void start_decode(const AttentionDecodeProblem& problem, const AttentionDecodeTensors& tensors, void* stream,
                  int major, const Start& start) {
  if constexpr (kIsSimulated) {
    throw InputError("attention_decode: the simulated SM has no stream; give host memory and a device");
  } else {
    const AttentionDecodePlan plan = plan_attention_decode(problem);
    check_attention_decode_tensors(problem, plan, tensors, false);
    Device device({.kernel = "attention", .ordinal = checked_gpu_of(stream, major)});
    const RunOutcome outcome = start(device, AttentionDecodeCall{problem, tensors, plan, stream});
    if (!outcome.ok()) throw DriverError(outcome.report, 0);
  }
}

}  // namespace heddle::inline HEDDLE_TARGET
