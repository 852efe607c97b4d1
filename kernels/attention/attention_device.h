// SPDX-License-Identifier: Apache-2.0
//
// What the launches of attention have in common: tensor maps, the numbers of scores, and tensors of host memory
// on the device.
#pragma once

#include "attention_plan.h"
#include "attention_scores.h"
#include "attention_steps.h"

#include <heddle/host/device.h>
#include <heddle/host/error.h>
#include <heddle/host/gpu_list.h>
#include <heddle/host/tensor_map.h>
#include <heddle/tile/layout.h>

#include <algorithm>
#include <string>

namespace heddle::inline HEDDLE_TARGET {

// A template, for nvcc's sake: see heddle/host/tile_map.h.
template <class Tile>
isa::TensorMap map_of(const void* address, const AttentionTensorPlan& tensor) {
  using T = typename Tile::value_type;
  constexpr Layout layout = Tile::layout;
  constexpr TmaBox box = layout.box();
  return make_tensor_map({.type = tensor_type<T>,
                          .rank = 4,
                          .address = address,
                          .dims = {tensor.dim, tensor.rows, tensor.heads, tensor.batches},
                          .strides = {tensor.row_stride * sizeof(T), tensor.head_stride * sizeof(T),
                                      tensor.batch_stride * sizeof(T)},
                          .box = {box.dims[0], box.dims[1], 1, 1},
                          .swizzle = layout.swizzle});
}

// Of scores, for powers of two; a cap has its own (capped_scores).
inline float score_factor(const AttentionProblem& problem, const AttentionPlan& plan) {
  return (problem.soft_cap == 0 ? plan.scale : 1.0f) * 1.4426950408889634f;
}
inline CappedScores::Params capped_scores(const AttentionProblem& problem, const AttentionPlan& plan) {
  const float cap = problem.soft_cap;
  return {.cap = cap, .factor = cap == 0 ? 0 : plan.scale / cap * 2 * 1.4426950408889634f};
}

// Of how many heads the tiles are dealt out in pairs under a causal mask: all but those whose tiles make a round
// and a half, which is what keeps CTAs within two percent of one another.
inline std::uint64_t paired_heads(std::uint64_t heads, std::uint64_t tiles, std::uint64_t ctas) {
  const std::uint64_t at_the_end = std::min(heads, (3 * ctas / 2 + tiles - 1) / tiles);
  return (heads - at_the_end) / 2 * 2;
}

// For a kernel with tiles of so many queries; `is_causal` is the kernel's: without a mask, every query of it sees
// every key.
inline AttentionSteps::Extents extents_of(const AttentionProblem& problem, const AttentionTensors& tensors,
                                          const AttentionPlan& plan, std::uint64_t tile_queries,
                                          std::uint64_t ctas, bool is_causal) {
  const auto number = [](auto value) { return static_cast<std::int32_t>(value); };
  const bool sees_all = is_causal && !problem.is_causal;
  const auto queries = static_cast<std::uint64_t>(problem.queries);
  const std::uint64_t all_heads = plan.q.heads * static_cast<std::uint64_t>(problem.batches);
  const std::uint64_t tiles = (queries + tile_queries - 1) / tile_queries;
  const std::uint64_t paired = is_causal ? paired_heads(all_heads, tiles, ctas) : 0;
  return {.queries = number(problem.queries),
          .keys = number(problem.keys),
          .heads = number(problem.heads),
          .batches = number(problem.batches),
          .offset = sees_all ? number(problem.keys) : number(problem.keys) - number(problem.queries),
          .window = problem.window == 0 ? 1 << 30 : number(problem.window),
          .tiles = number(tiles),
          .paired = number(paired),
          .group = is_causal ? number(all_heads - paired) : 1,
          .query_offsets = tensors.query_offsets,
          .key_offsets = tensors.key_offsets,
          .query_rows = number(plan.q.rows),
          .key_rows = number(plan.k.rows),
          .sees_all = sees_all};
}
// How many tiles, or pairs of them, are dealt out.
inline std::uint32_t portions_of(const AttentionSteps::Extents& extents) {
  return static_cast<std::uint32_t>((extents.heads * extents.batches - extents.paired / 2) * extents.tiles);
}

// Throws an InputError for a GPU of another architecture.
inline void check_gpu(int ordinal, int major = 9) {
  if constexpr (kIsSimulated) return;
  static const GpuList list = find_gpus();
  for (const GpuDescription& gpu : list.gpus) {
    if (gpu.ordinal != ordinal) continue;
    if (gpu.major == major) return;
    throw InputError("attention: GPU " + std::to_string(ordinal) + " (" + gpu.name + ") has compute capability " +
                     std::to_string(gpu.major) + "." + std::to_string(gpu.minor) + "; this kernel is for " +
                     std::to_string(major) + ".0");
  }
  throw DriverError("attention: there is no GPU " + std::to_string(ordinal), 0);
}

// The current GPU, which the stream must belong to.
inline int checked_gpu_of(void* stream, int major = 9) {
  const int ordinal = current_device();
  check_gpu(ordinal, major);
  const int stream_device = device_of_stream(stream);
  if (stream_device != ordinal) {
    throw InputError("attention: the stream belongs to GPU " + std::to_string(stream_device) + ", and GPU " +
                     std::to_string(ordinal) + " is the current one");
  }
  return ordinal;
}

// The tensors, copied from host memory.
class AttentionOnDevice {
 public:
  AttentionOnDevice(Device& device, const AttentionTensors& host, const AttentionPlan& plan)
      : q_(device, "q", plan.q.bytes),
        k_(device, "k", plan.k.bytes),
        v_(device, "v", plan.v.bytes),
        o_(device, "o", plan.o.bytes),
        lse_(device, "lse", host.lse == nullptr ? 0 : plan.lse_bytes),
        sinks_(device, "sinks", host.sinks == nullptr ? 0 : plan.sinks_bytes),
        query_offsets_(device, "query_offsets", plan.offsets_bytes),
        key_offsets_(device, "key_offsets", plan.offsets_bytes) {
    q_.upload(host.q);
    k_.upload(host.k);
    v_.upload(host.v);
    o_.upload(host.o);      // for what lies between its rows
    lse_.upload(host.lse);  // for rows that no batch has
    sinks_.upload(host.sinks);
    query_offsets_.upload(host.query_offsets);
    key_offsets_.upload(host.key_offsets);
  }

  AttentionTensors tensors() const {
    return {.q = q_.data(),
            .k = k_.data(),
            .v = v_.data(),
            .o = o_.data(),
            .lse = static_cast<float*>(lse_.data()),
            .sinks = static_cast<const float*>(sinks_.data()),
            .query_offsets = static_cast<const std::int32_t*>(query_offsets_.data()),
            .key_offsets = static_cast<const std::int32_t*>(key_offsets_.data())};
  }
  void download(const AttentionTensors& host) const {
    o_.download(host.o);
    lse_.download(host.lse);
  }

 private:
  DeviceBuffer q_;
  DeviceBuffer k_;
  DeviceBuffer v_;
  DeviceBuffer o_;
  DeviceBuffer lse_;
  DeviceBuffer sinks_;
  DeviceBuffer query_offsets_;
  DeviceBuffer key_offsets_;
};

}  // namespace heddle::inline HEDDLE_TARGET
