// SPDX-License-Identifier: Apache-2.0
#include "attention_fp8_plan.h"

#include <heddle/host/error.h>

#include <fmt/format.h>

#include <string>

namespace heddle {

namespace {

void require(bool holds, const std::string& message) {
  if (!holds) throw InputError("attention_fp8: " + message);
}

bool is_dense(const AttentionStrides& strides) {
  return strides.row == 0 && strides.head == 0 && strides.batch == 0;
}

AttentionTensorPlan dense(std::uint64_t dim, std::uint64_t row_stride, std::uint64_t rows, std::uint64_t heads,
                          std::uint64_t batches, std::size_t element_bytes) {
  const std::uint64_t head = row_stride * rows;
  return {.dim = dim,
          .rows = rows,
          .heads = heads,
          .batches = batches,
          .row_stride = row_stride,
          .head_stride = head,
          .batch_stride = head * heads,
          .bytes = head * heads * batches * element_bytes};
}

}  // namespace

std::int64_t attention_fp8_padded_keys(std::int64_t keys) { return (keys + 15) / 16 * 16; }

AttentionPlan plan_attention_fp8(const AttentionProblem& p) {
  AttentionPlan plan = plan_attention(p);
  require(p.head_dim % 16 == 0 && p.head_dim <= 128,
          fmt::format("head_dim is {}; there are kernels for multiples of 16 from 16 to 128", p.head_dim));
  require(p.value_dim == 0 || p.value_dim == p.head_dim,
          fmt::format("value_dim is {} and head_dim {}; the same would pass", p.value_dim, p.head_dim));
  require(p.type == AttentionElement::kBf16, "type is that of the output, bf16");
  require(p.window == 0 && p.soft_cap == 0,
          fmt::format("window is {} and soft_cap {}; 0 would pass: e4m3 has neither", p.window, p.soft_cap));
  require(p.query_rows == 0 && p.key_rows == 0,
          fmt::format("query_rows is {} and key_rows {}; 0 would pass: batches are of one length", p.query_rows,
                      p.key_rows));
  require(is_dense(p.q_strides) && is_dense(p.k_strides) && is_dense(p.v_strides) && is_dense(p.o_strides),
          "strides are not 0; tensors of e4m3 lie without gaps");
  const auto u = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  const std::uint64_t dim = plan.q.dim;
  plan.q = dense(dim, dim, plan.q.rows, plan.q.heads, plan.q.batches, 1);
  plan.v = dense(plan.k.rows, u(attention_fp8_padded_keys(p.keys)), dim, plan.k.heads, plan.k.batches, 1);
  plan.k = dense(dim, dim, plan.k.rows, plan.k.heads, plan.k.batches, 1);
  return plan;
}

void check_attention_fp8_tensors(const AttentionPlan& plan, const AttentionFp8Tensors& tensors, bool copied) {
  const auto check = [&](const char* name, const void* address, std::uintptr_t alignment) {
    require(address != nullptr, fmt::format("{} is null", name));
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    require(copied || at % alignment == 0,
            fmt::format("{} is at 0x{:x}; a multiple of {} would pass", name, at, alignment));
  };
  check("q", tensors.q, 16);
  check("k", tensors.k, 16);
  check("v", tensors.v, 16);
  check("o", tensors.o, 16);
  const auto apart = [&](const char* out, const void* written, std::size_t out_bytes, const char* in,
                         const void* read, std::size_t in_bytes) {
    const auto from = reinterpret_cast<std::uintptr_t>(read);
    const auto to = reinterpret_cast<std::uintptr_t>(written);
    require(from + in_bytes <= to || to + out_bytes <= from,
            fmt::format("{} overlaps {}: {} is 0x{:x} to 0x{:x}, {} is 0x{:x} to 0x{:x}; they must be apart", out,
                        in, out, to, to + out_bytes, in, from, from + in_bytes));
  };
  const auto apart_from_inputs = [&](const char* out, const void* written, std::size_t bytes) {
    apart(out, written, bytes, "q", tensors.q, plan.q.bytes);
    apart(out, written, bytes, "k", tensors.k, plan.k.bytes);
    apart(out, written, bytes, "v", tensors.v, plan.v.bytes);
  };
  apart_from_inputs("o", tensors.o, plan.o.bytes);
  if (tensors.lse != nullptr) {
    apart_from_inputs("lse", tensors.lse, plan.lse_bytes);
    apart("lse", tensors.lse, plan.lse_bytes, "o", tensors.o, plan.o.bytes);
  }
  for (const float* numbers :
       {static_cast<const float*>(tensors.lse), tensors.q_scales, tensors.k_scales, tensors.v_scales}) {
    require(reinterpret_cast<std::uintptr_t>(numbers) % sizeof(float) == 0,
            "lse or scales are not at a multiple of 4 bytes");
  }
}

}  // namespace heddle
