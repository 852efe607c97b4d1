// SPDX-License-Identifier: Apache-2.0
#include "attention_plan.h"

#include <heddle/host/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace heddle {

namespace {

constexpr std::int64_t kMaxLength = std::int64_t{1} << 30;  // what positions as 32-bit numbers allow
// Of 64 queries, of all heads: CTAs look one round of tiles past the last in 32-bit numbers.
constexpr std::int64_t kMaxTiles = (std::int64_t{1} << 31) - (std::int64_t{1} << 16);
constexpr float kMaxCap = 1000;  // scores are wrong by 2^-22 of their cap, and weights by that share of them
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 40;  // strides of the copy engine end there
constexpr std::int64_t kElementBytes = 2;
constexpr std::int64_t kAlignedElements = 16 / kElementBytes;  // of the copy engine

void require(bool holds, const std::string& message) {
  if (!holds) throw InputError("attention: " + message);
}

void check_extent(const char* what, std::int64_t value, std::int64_t most) {
  require(value >= 1 && value <= most, fmt::format("{} is {}; 1 to {}", what, value, most));
}

void check_head(const char* what, std::int64_t value) {
  require(value >= 8 && value <= 256 && value % 8 == 0,
          fmt::format("{} is {}; there are kernels for multiples of 8 from 8 to 256", what, value));
}

// Of one row, head or batch the stride leads nowhere, and may be anything that the copy engine does not take.
std::int64_t checked_stride(const std::string& what, std::int64_t stride, std::int64_t least,
                            std::int64_t count) {
  constexpr auto kMost = static_cast<std::int64_t>(kMaxBytes / kElementBytes);
  const bool is_taken = stride >= least && stride < kMost && stride % kAlignedElements == 0;
  if (stride == 0 || (count == 1 && !is_taken)) return least;
  require(stride >= least,
          fmt::format("{} is {} elements; {} or more, and they would not overlap", what, stride, least));
  require(stride % kAlignedElements == 0,
          fmt::format("{} is {} elements, {} bytes; the copy engine takes multiples of 16 bytes: {} would pass",
                      what, stride, stride * kElementBytes,
                      (stride + kAlignedElements - 1) / kAlignedElements * kAlignedElements));
  require(stride < kMost, fmt::format("{} is {} elements; less than {}", what, stride, kMost));
  return stride;
}

// Rows, heads and batches of an output lie apart: each stride is at least what the shorter ones lead through.
void check_no_overlap(const char* name, const AttentionTensorPlan& tensor) {
  struct Way {
    const char* what;
    std::uint64_t stride;
    std::uint64_t count;
  };
  Way ways[] = {{"row", tensor.row_stride, tensor.rows},
                {"head", tensor.head_stride, tensor.heads},
                {"batch", tensor.batch_stride, tensor.batches}};
  std::stable_sort(std::begin(ways), std::end(ways),
                   [](const Way& a, const Way& b) { return a.stride < b.stride; });
  std::uint64_t taken = tensor.dim;
  for (const Way& way : ways) {
    if (way.count == 1) continue;
    require(way.stride >= taken,
            fmt::format("{}_strides.{} is {} elements, and what lies between takes {}: outputs would overlap; {} "
                        "would pass",
                        name, way.what, way.stride, taken, taken));
    taken += (way.count - 1) * way.stride;
  }
}

// Rows, heads and batches may be nested in any order, such as [batch, row, head, dim]: each stride is at least a
// row.
AttentionTensorPlan plan_tensor(const char* name, std::int64_t dim, std::int64_t rows, std::int64_t heads,
                                std::int64_t batches, const AttentionStrides& strides) {
  const std::int64_t row = checked_stride(fmt::format("{}_strides.row", name), strides.row, dim, rows);
  const std::int64_t dense_head = strides.head == 0 ? row * rows : dim;
  const std::int64_t head = checked_stride(fmt::format("{}_strides.head", name), strides.head, dense_head, heads);
  const std::int64_t dense_batch = strides.batch == 0 ? std::max(row * rows, head * heads) : dim;
  const std::int64_t batch =
      checked_stride(fmt::format("{}_strides.batch", name), strides.batch, dense_batch, batches);
  const double elements = static_cast<double>(row) * static_cast<double>(rows - 1) +
                          static_cast<double>(head) * static_cast<double>(heads - 1) +
                          static_cast<double>(batch) * static_cast<double>(batches - 1) +
                          static_cast<double>(dim);
  require(elements * kElementBytes <= static_cast<double>(kMaxBytes),
          fmt::format("{} takes {:.3g} bytes; at most {}", name, elements * kElementBytes, kMaxBytes));
  const auto u = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  return {.dim = u(dim),
          .rows = u(rows),
          .heads = u(heads),
          .batches = u(batches),
          .row_stride = u(row),
          .head_stride = u(head),
          .batch_stride = u(batch),
          .bytes = static_cast<std::size_t>(elements) * kElementBytes};
}

void check_address(const char* what, const void* address, std::size_t alignment, bool copied) {
  require(address != nullptr, fmt::format("{} is null", what));
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  require(copied || at % alignment == 0,
          fmt::format("{} is at 0x{:x}, {} bytes past a multiple of {}; 0x{:x} would pass", what, at,
                      at % alignment, alignment, (at + alignment - 1) / alignment * alignment));
}

void check_apart(const char* what, const void* in, std::size_t in_bytes, const char* out_name, const void* out,
                 std::size_t out_bytes) {
  const auto in_first = reinterpret_cast<std::uintptr_t>(in);
  const auto out_first = reinterpret_cast<std::uintptr_t>(out);
  require(
      in_first + in_bytes <= out_first || out_first + out_bytes <= in_first,
      fmt::format("{} overlaps {}: {} is 0x{:x} to 0x{:x}, {} is 0x{:x} to 0x{:x}; they must be apart", out_name,
                  what, out_name, out_first, out_first + out_bytes, what, in_first, in_first + in_bytes));
}

void check_rows(const char* what, std::int64_t rows, const char* of_batch, std::int64_t most) {
  check_extent(what, rows, kMaxLength);
  require(most <= rows, fmt::format("{} of the longest batch are {}, and {} is {}; {} would pass", of_batch, most,
                                    what, rows, rows));
}

// Offsets that can be read here: they rise, end with the tensor, and no batch is longer than the problem says.
void check_offsets(const char* what, const std::int32_t* offsets, std::size_t bytes, std::int64_t rows,
                   std::int64_t most) {
  for (std::size_t i = 0; i < bytes / sizeof(std::int32_t); ++i) {
    const std::int64_t least = i == 0 ? 0 : offsets[i - 1];
    const std::int64_t largest = i == 0 ? rows : std::min(rows, least + most);
    require(offsets[i] >= least && offsets[i] <= largest,
            fmt::format("{}[{}] is {}; {} to {}", what, i, offsets[i], least, largest));
  }
}

}  // namespace

AttentionPlan plan_attention(const AttentionProblem& p) {
  require(p.type <= AttentionElement::kFp16,
          fmt::format("type is {}; its enumerators are 0 to {}", static_cast<unsigned>(p.type),
                      static_cast<unsigned>(AttentionElement::kFp16)));
  check_extent("batches", p.batches, kMaxLength);
  check_extent("heads", p.heads, kMaxLength);
  check_extent("queries", p.queries, kMaxLength);
  check_extent("keys", p.keys, kMaxLength);
  const std::int64_t value_dim = p.value_dim == 0 ? p.head_dim : p.value_dim;
  check_head("head_dim", p.head_dim);
  check_head("value_dim", value_dim);
  const std::int64_t key_heads = p.key_heads == 0 ? p.heads : p.key_heads;
  check_extent("key_heads", key_heads, kMaxLength);
  require(p.heads % key_heads == 0,
          fmt::format("{} heads share {} key heads; the number of heads must be a multiple of that of key heads",
                      p.heads, key_heads));
  const double tiles =
      static_cast<double>((p.queries + 63) / 64) * static_cast<double>(p.heads) * static_cast<double>(p.batches);
  require(tiles <= static_cast<double>(kMaxTiles),
          fmt::format("{} queries of {} heads of {} batches make {:.3g} tiles of 64; at most {}", p.queries,
                      p.heads, p.batches, tiles, kMaxTiles));
  require(p.scale == 0 || (p.scale >= 1e-6f && p.scale <= 1e6f),
          fmt::format("scale is {}; 1e-6 to 1e6, or 0 for 1 / sqrt(head_dim)", p.scale));
  require(p.window >= 0 && p.window <= kMaxLength,
          fmt::format("window is {}; 1 to {}, or 0 for all keys", p.window, kMaxLength));
  require(p.window == 0 || p.is_causal,
          fmt::format("window is {} without a causal mask; is_causal would pass", p.window));
  require(p.soft_cap == 0 || (p.soft_cap >= 1e-3f && p.soft_cap <= kMaxCap),
          fmt::format("soft_cap is {}; 1e-3 to {}, or 0 for none", p.soft_cap, kMaxCap));
  const bool has_rows = p.query_rows != 0 || p.key_rows != 0;
  if (has_rows) {
    check_rows("query_rows", p.query_rows, "queries", p.queries);
    check_rows("key_rows", p.key_rows, "keys", p.keys);
  }
  const std::int64_t batches = has_rows ? 1 : p.batches;
  const std::int64_t query_rows = has_rows ? p.query_rows : p.queries;
  const std::int64_t key_rows = has_rows ? p.key_rows : p.keys;
  AttentionPlan plan;
  plan.q = plan_tensor("q", p.head_dim, query_rows, p.heads, batches, p.q_strides);
  plan.k = plan_tensor("k", p.head_dim, key_rows, key_heads, batches, p.k_strides);
  plan.v = plan_tensor("v", value_dim, key_rows, key_heads, batches, p.v_strides);
  plan.o = plan_tensor("o", value_dim, query_rows, p.heads, batches, p.o_strides);
  check_no_overlap("o", plan.o);
  plan.offsets_bytes = has_rows ? static_cast<std::size_t>(p.batches + 1) * sizeof(std::int32_t) : 0;
  plan.lse_bytes = static_cast<std::size_t>(batches * p.heads * query_rows) * sizeof(float);
  plan.sinks_bytes = static_cast<std::size_t>(p.heads) * sizeof(float);
  plan.scale = p.scale == 0 ? 1 / std::sqrt(static_cast<float>(p.head_dim)) : p.scale;
  return plan;
}

void check_attention_tensors(const AttentionProblem& problem, const AttentionPlan& plan,
                             const AttentionTensors& tensors, bool copied) {
  check_address("q", tensors.q, 16, copied);
  check_address("k", tensors.k, 16, copied);
  check_address("v", tensors.v, 16, copied);
  check_address("o", tensors.o, 16, copied);
  if (tensors.sinks != nullptr) check_address("sinks", tensors.sinks, sizeof(float), copied);
  if (tensors.lse != nullptr) check_address("lse", tensors.lse, sizeof(float), copied);
  if (plan.offsets_bytes != 0) {
    check_address("query_offsets", tensors.query_offsets, sizeof(std::int32_t), copied);
    check_address("key_offsets", tensors.key_offsets, sizeof(std::int32_t), copied);
  } else {
    require(tensors.query_offsets == nullptr && tensors.key_offsets == nullptr,
            "offsets without query_rows and key_rows; null would pass");
  }
  const auto apart_from_inputs = [&](const char* name, const void* out, std::size_t bytes) {
    check_apart("q", tensors.q, plan.q.bytes, name, out, bytes);
    check_apart("k", tensors.k, plan.k.bytes, name, out, bytes);
    check_apart("v", tensors.v, plan.v.bytes, name, out, bytes);
    if (tensors.sinks != nullptr) check_apart("sinks", tensors.sinks, plan.sinks_bytes, name, out, bytes);
  };
  apart_from_inputs("o", tensors.o, plan.o.bytes);
  if (plan.offsets_bytes != 0 && copied) {
    check_offsets("query_offsets", tensors.query_offsets, plan.offsets_bytes, problem.query_rows,
                  problem.queries);
    check_offsets("key_offsets", tensors.key_offsets, plan.offsets_bytes, problem.key_rows, problem.keys);
  }
  if (tensors.lse == nullptr) return;
  apart_from_inputs("lse", tensors.lse, plan.lse_bytes);
  check_apart("o", tensors.o, plan.o.bytes, "lse", tensors.lse, plan.lse_bytes);
}

}  // namespace heddle
