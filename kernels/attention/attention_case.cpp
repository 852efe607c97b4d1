// SPDX-License-Identifier: Apache-2.0
#include "attention_case.h"

#include "attention_decode_plan.h"
#include "attention_plan.h"
#include "attention_reference.h"

#include <heddle/tile/element.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace heddle::reference {

namespace {

constexpr std::uint16_t kNan = 0x7fff;  // of bf16 and of fp16

std::uint16_t bits_of(float number, AttentionElement type) {
  return type == AttentionElement::kBf16 ? bf16::from_float(number).bits : fp16::from_float(number).bits;
}
double number_of(std::uint16_t bits, AttentionElement type) {
  return type == AttentionElement::kBf16 ? double{bf16{bits}.to_float()} : double{fp16{bits}.to_float()};
}

std::size_t to_size(std::int64_t number) { return static_cast<std::size_t>(number); }

std::int64_t or_else(std::int64_t number, std::int64_t usual) { return number == 0 ? usual : number; }

// Of `batches` tensors [heads, rows, dim], rows from each batch's length on.
void poison(std::vector<std::uint16_t>& tensor, const std::vector<std::int32_t>& lengths, std::size_t heads,
            std::size_t rows, std::size_t dim) {
  for (std::size_t batch = 0; batch < lengths.size(); ++batch) {
    const auto length = static_cast<std::size_t>(lengths[batch]);
    for (std::size_t head = 0; head < heads; ++head) {
      std::fill_n(&tensor[((batch * heads + head) * rows + length) * dim], (rows - length) * dim, kNan);
    }
  }
}

}  // namespace

AttentionProblem AttentionCase::plain_problem() const {
  AttentionProblem plain = problem;
  plain.k_strides = plain.v_strides = {};
  return plain;
}

AttentionDecodeProblem AttentionCase::decode_problem() const {
  // What is larger is refused with the problem.
  const auto up_to_most = [](std::int64_t number) {
    return std::clamp<std::int64_t>(number, 0, std::int64_t{1} << 31);
  };
  const std::int64_t size = up_to_most(page_size);
  const std::int64_t pages =
      size == 0 ? 0 : (up_to_most(problem.keys) + size - 1) / size * up_to_most(problem.batches);
  return {.attention = problem, .page_size = page_size, .pages = pages};
}

void AttentionCase::make_lengths() {
  std::mt19937_64 engine(seed);
  const auto up_to = [&](std::int64_t most) {
    return is_ragged ? static_cast<std::int32_t>(engine() % static_cast<std::uint64_t>(most + 1))
                     : static_cast<std::int32_t>(most);
  };
  if (is_decode) {
    lengths.resize(to_size(problem.batches));
    for (std::int32_t& length : lengths) length = up_to(problem.keys);
    return;
  }
  if (!is_ragged) return;
  query_offsets.assign(1, 0);
  key_offsets.assign(1, 0);
  for (std::int64_t batch = 0; batch < problem.batches; ++batch) {
    query_offsets.push_back(query_offsets.back() + up_to(problem.queries));
    key_offsets.push_back(key_offsets.back() + up_to(problem.keys));
  }
  // Rows after the last batch belong to nobody.
  problem.query_rows = std::max<std::int64_t>(query_offsets.back() + 1, problem.queries);
  problem.key_rows = std::max<std::int64_t>(key_offsets.back() + 1, problem.keys);
}

// A page after another in random order, NaNs where no batch has keys.
void AttentionCase::make_pages() {
  const AttentionDecodeProblem decode = decode_problem();
  const auto heads = to_size(or_else(problem.key_heads, problem.heads));
  const auto keys = to_size(problem.keys);
  const auto page = to_size(page_size);
  const auto of_batch = to_size(decode.pages / problem.batches);
  page_table.resize(to_size(decode.pages));
  std::iota(page_table.begin(), page_table.end(), 0);
  std::shuffle(page_table.begin(), page_table.end(), std::mt19937_64(seed));
  const auto scatter = [&](const std::vector<std::uint16_t>& from, std::size_t dim) {
    std::vector<std::uint16_t> pages(to_size(decode.pages) * heads * page * dim, kNan);
    for (std::size_t row = 0; row < to_size(problem.batches) * heads * keys; ++row) {
      const std::size_t batch = row / (heads * keys);
      const std::size_t key = row % keys;
      const auto at = static_cast<std::size_t>(page_table[batch * of_batch + key / page]);
      std::copy_n(&from[row * dim], dim, &pages[((at * heads + row / keys % heads) * page + key % page) * dim]);
    }
    return pages;
  };
  k = scatter(plain_k_, to_size(problem.head_dim));
  v = scatter(plain_v_, to_size(or_else(problem.value_dim, problem.head_dim)));
}

void AttentionCase::prepare() {
  // What is refused is refused before there are tensors.
  if (is_decode) {
    plan_attention_decode(decode_problem());
  } else {
    plan_attention(problem);
  }
  make_lengths();
  const AttentionPlan plan = plan_attention(plain_problem());
  std::mt19937_64 engine(seed);
  std::normal_distribution<float> normal;
  const auto fill = [&](std::vector<std::uint16_t>& tensor, std::size_t bytes) {
    tensor.resize(bytes / 2);
    for (std::uint16_t& one : tensor) one = bits_of(normal(engine), problem.type);
  };
  fill(q, plan.q.bytes);
  fill(k, plan.k.bytes);
  fill(v, plan.v.bytes);
  o.resize(plan.o.bytes / 2);
  lse.resize(plan.lse_bytes / sizeof(float));
  sinks.resize(has_sinks ? plan.q.heads : 0);
  for (float& sink : sinks) sink = 2 * normal(engine);
  if (is_decode) {
    poison(k, lengths, plan.k.heads, plan.k.rows, plan.k.dim);
    poison(v, lengths, plan.v.heads, plan.v.rows, plan.v.dim);
    plain_k_ = k;
    plain_v_ = v;
    if (page_size != 0) make_pages();
  }
}

void AttentionCase::reset_output() {
  std::fill(o.begin(), o.end(), kNan);
  std::fill(lse.begin(), lse.end(), std::nanf(""));
}

AttentionTensors AttentionCase::tensors() {
  const auto or_null = [](auto& numbers) { return numbers.empty() ? nullptr : numbers.data(); };
  return {.q = q.data(),
          .k = k.data(),
          .v = v.data(),
          .o = o.data(),
          .lse = lse.data(),
          .sinks = or_null(sinks),
          .query_offsets = or_null(query_offsets),
          .key_offsets = or_null(key_offsets)};
}

AttentionDecodeTensors AttentionCase::decode_tensors() {
  return {.attention = tensors(),
          .lengths = lengths.data(),
          .page_table = page_table.empty() ? nullptr : page_table.data()};
}

double AttentionCase::macs() const {
  return static_cast<double>(problem.batches) * static_cast<double>(problem.heads) *
         static_cast<double>(problem.queries) * static_cast<double>(problem.keys) *
         static_cast<double>(problem.head_dim + or_else(problem.value_dim, problem.head_dim));
}

double AttentionCase::host_bytes() const {
  const AttentionPlan plan = plan_attention(plain_problem());
  const auto cache_bytes = [](const AttentionPlan& one) {
    return static_cast<double>(one.k.bytes + one.v.bytes);
  };
  // A cache lies in whole pages, and a plain copy beside it.
  const double cache =
      is_decode ? cache_bytes(plan_attention_decode(decode_problem()).attention) : cache_bytes(plan);
  const double inputs = static_cast<double>(plan.q.bytes) + cache_bytes(plan) + cache;
  // The output in two bytes, and in double with its bounds.
  return inputs + 9 * static_cast<double>(plan.o.bytes) + 5 * static_cast<double>(plan.lse_bytes);
}

AttentionVerdict AttentionCase::verify(double most_macs) {
  const AttentionProblem plain = plain_problem();
  const AttentionPlan plan = plan_attention(plain);
  const auto every = static_cast<std::int64_t>(std::max(1.0, std::ceil(macs() / most_macs)));
  AttentionVerdict verdict;
  // `first`: where the outputs begin in those of the case.
  const auto compare = [&](const AttentionOutput& expected, std::size_t first) {
    const std::size_t dim = plan.o.dim;
    for (std::size_t row = 0; row < expected.lse.size(); ++row) {
      if (std::isnan(expected.lse[row])) {
        // Of no batch, or left out.
        const bool is_kept = std::all_of(&o[(first + row) * dim], &o[(first + row) * dim] + dim,
                                         [](std::uint16_t bits) { return bits == kNan; });
        if (every == 1 && !is_kept && verdict.ok()) {
          verdict.wrong = fmt::format("row {} belongs to no batch, and was written", first + row);
        }
        continue;
      }
      const double of_lse = double{lse[first + row]};
      const bool is_same = of_lse == expected.lse[row];
      const double lse_error = is_same ? 0 : std::abs(of_lse - expected.lse[row]);
      if (!(lse_error <= expected.lse_bound[row]) && verdict.ok()) {
        verdict.wrong = fmt::format("lse of row {} is {:.7g}; {:.7g} in double, and {:.2g} away at most",
                                    first + row, of_lse, expected.lse[row], expected.lse_bound[row]);
      }
      verdict.lse_error = std::max(verdict.lse_error, lse_error);
      for (std::size_t d = 0; d < dim; ++d) {
        const double actual = number_of(o[(first + row) * dim + d], problem.type);
        const double error = std::abs(actual - expected.o[row * dim + d]);
        const double bound = expected.o_bound[row * dim + d];
        if (!(error <= bound) && verdict.ok()) {
          verdict.wrong = fmt::format("o[{}][{}] is {:.6g}; {:.6g} in double, and {:.2g} away at most",
                                      first + row, d, actual, expected.o[row * dim + d], bound);
        }
        if (verdict.checked++ == 0 || error * verdict.bound > verdict.error * bound) {
          verdict.error = error;
          verdict.bound = bound;
        }
      }
    }
  };
  if (!is_decode) {
    compare(attention(problem, tensors(), every), 0);
    return verdict;
  }
  // Each batch alone, with as many keys as it has; one without any as a query that sees none.
  for (std::size_t batch = 0; batch < lengths.size(); ++batch) {
    AttentionProblem one = plain;
    one.batches = 1;
    one.keys = std::max(lengths[batch], 1);
    one.k_strides = {.head = static_cast<std::int64_t>(plan.k.head_stride)};
    one.v_strides = {.head = static_cast<std::int64_t>(plan.v.head_stride)};
    AttentionTensors of_one = tensors();
    of_one.q = &q[batch * plan.q.batch_stride];
    of_one.k = &plain_k_[batch * plan.k.batch_stride];
    of_one.v = &plain_v_[batch * plan.v.batch_stride];
    std::vector<std::int32_t> of_queries = {0, static_cast<std::int32_t>(one.queries)};
    std::vector<std::int32_t> of_keys = {0, lengths[batch]};
    one.query_rows = one.queries;
    one.key_rows = one.keys;
    of_one.query_offsets = of_queries.data();
    of_one.key_offsets = of_keys.data();
    compare(attention(one, of_one, every), batch * plan.q.heads * plan.q.rows);
  }
  return verdict;
}

}  // namespace heddle::reference
