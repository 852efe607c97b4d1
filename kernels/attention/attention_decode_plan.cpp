// SPDX-License-Identifier: Apache-2.0
#include "attention_decode_plan.h"

#include <heddle/host/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace heddle {

namespace {

constexpr std::int64_t kRows = 64;
constexpr std::int64_t kPageRows = 16;
constexpr std::int64_t kTileKeys = 64;
constexpr std::int64_t kMaxTiles = (std::int64_t{1} << 31) - 1;  // of all heads: attention_pieces.h

void require(bool holds, const std::string& message) {
  if (!holds) throw InputError("attention_decode: " + message);
}

std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

void check_pages(const AttentionDecodeProblem& problem) {
  if (problem.page_size == 0) {
    require(problem.pages == 0,
            fmt::format("pages is {} without a page_size; {} would pass", problem.pages, kRows));
    return;
  }
  const std::int64_t size = problem.page_size;
  require(size > 0 && size % kPageRows == 0 && size <= std::int64_t{1} << 30,
          fmt::format("page_size is {}; multiples of {}: {} would pass", size, kPageRows,
                      std::clamp(size, kPageRows, std::int64_t{1} << 30) / kPageRows * kPageRows));
  require(problem.pages >= 1 && problem.pages <= std::int64_t{1} << 30,
          fmt::format("pages is {}; 1 to {}", problem.pages, std::int64_t{1} << 30));
}

// The heads of a group and their queries are the rows of one tensor.
std::uint64_t q_row_stride(const AttentionProblem& p, const AttentionTensorPlan& q) {
  if (p.queries == 1) return q.head_stride;
  const std::uint64_t dense = q.rows * q.row_stride;
  require(
      q.heads == 1 || q.head_stride == dense,
      fmt::format("q_strides.head is {} elements; with {} queries, those of the next head follow: {} would pass",
                  q.head_stride, p.queries, dense));
  return q.row_stride;
}

void check_table(const AttentionDecodeProblem& problem, const AttentionDecodePlan& plan,
                 const AttentionDecodeTensors& tensors) {
  for (std::int64_t batch = 0; batch < problem.attention.batches; ++batch) {
    const std::int64_t length = tensors.lengths == nullptr ? plan.keys : tensors.lengths[batch];
    require(length >= 0 && length <= plan.keys,
            fmt::format("lengths[{}] is {}; 0 to {}", batch, length, plan.keys));
    if (problem.page_size == 0) continue;
    for (std::int64_t i = 0; i * problem.page_size < length; ++i) {
      const std::int32_t page = tensors.page_table[batch * plan.table_stride + i];
      require(page >= 0 && page < problem.pages,
              fmt::format("page_table[{}][{}] is {}; 0 to {}", batch, i, page, problem.pages - 1));
    }
  }
}

}  // namespace

AttentionDecodePlan plan_attention_decode(const AttentionDecodeProblem& problem) {
  const AttentionProblem& p = problem.attention;
  check_pages(problem);
  require(p.keys >= 1 && p.keys <= std::int64_t{1} << 30,
          fmt::format("keys is {}; 1 to {}", p.keys, std::int64_t{1} << 30));
  require(
      p.query_rows == 0 && p.key_rows == 0,
      fmt::format("query_rows is {} and key_rows {}; 0: batches have lengths here", p.query_rows, p.key_rows));
  AttentionProblem as_it_lies = p;
  if (problem.page_size != 0) {
    as_it_lies.keys = problem.page_size;
    as_it_lies.batches = problem.pages;
  }
  AttentionProblem queries = p;
  queries.keys = 1;
  queries.k_strides = queries.v_strides = {};
  AttentionDecodePlan plan;
  plan.attention = plan_attention(queries);
  const std::int64_t value_dim = p.value_dim == 0 ? p.head_dim : p.value_dim;
  require(p.head_dim <= 128 && value_dim <= 128,
          fmt::format("head_dim is {} and value_dim {}; there are kernels for multiples of 8 from 8 to 128",
                      p.head_dim, value_dim));
  as_it_lies.queries = 1;
  as_it_lies.q_strides = as_it_lies.o_strides = {};
  const AttentionPlan cache = plan_attention(as_it_lies);
  plan.attention.k = cache.k;
  plan.attention.v = cache.v;
  plan.keys = p.keys;
  const std::int64_t key_heads = p.key_heads == 0 ? p.heads : p.key_heads;
  const std::int64_t group = p.heads / key_heads;
  plan.rows = group * p.queries;
  require(plan.rows <= kRows, fmt::format("{} heads share keys and have {} queries each, {} rows; at most {}",
                                          group, p.queries, plan.rows, kRows));
  const double tiles = static_cast<double>(p.batches) * static_cast<double>(key_heads) *
                       static_cast<double>(p.keys / kTileKeys + 1);
  require(tiles <= static_cast<double>(kMaxTiles),
          fmt::format("{} keys of {} heads of {} batches make {:.3g} tiles of {}; at most {}", p.keys, key_heads,
                      p.batches, tiles, kTileKeys, kMaxTiles));
  plan.q_row_stride = q_row_stride(p, plan.attention.q);
  plan.table_stride = problem.page_size == 0 ? 0 : (p.keys + problem.page_size - 1) / problem.page_size;
  const auto bytes = [](std::int64_t count) { return static_cast<std::size_t>(count) * 4; };
  const std::int64_t slots = 2 * std::int64_t{kMaxDecodeCtas} * kDecodeWorkersPerCta;
  plan.lengths_bytes = bytes(p.batches);
  plan.table_bytes = bytes(p.batches * plan.table_stride);
  plan.sums_bytes = aligned(bytes(slots * plan.rows));
  plan.parts_bytes = aligned(bytes(slots * plan.rows * value_dim));
  return plan;
}

void check_attention_decode_tensors(const AttentionDecodeProblem& problem, const AttentionDecodePlan& plan,
                                    const AttentionDecodeTensors& tensors, bool copied) {
  check_attention_tensors(problem.attention, plan.attention, tensors.attention, copied);
  const auto is_aligned = [](const void* address, std::uintptr_t alignment) {
    return reinterpret_cast<std::uintptr_t>(address) % alignment == 0;
  };
  require((problem.page_size != 0) == (tensors.page_table != nullptr),
          problem.page_size != 0 ? "page_table is null" : "a page_table without a page_size; null would pass");
  require(is_aligned(tensors.page_table, 4), "page_table is not at a multiple of 4 bytes");
  require(is_aligned(tensors.lengths, 4), "lengths is not at a multiple of 4 bytes");
  if (copied) {
    check_table(problem, plan, tensors);
    return;
  }
  require(tensors.workspace != nullptr, "workspace is null");
  require(is_aligned(tensors.workspace, 256), "workspace is not at a multiple of 256 bytes");
}

std::size_t attention_decode_workspace(const AttentionDecodeProblem& problem) {
  return plan_attention_decode(problem).workspace_bytes();
}

}  // namespace heddle
