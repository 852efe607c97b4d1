// SPDX-License-Identifier: Apache-2.0
#include "attention_reference.h"

#include "attention_plan.h"

#include <heddle/tile/element.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace heddle::reference {

namespace {

double number_at(const void* tensor, AttentionElement type, std::uint64_t at) {
  const std::uint16_t bits = static_cast<const std::uint16_t*>(tensor)[at];
  return type == AttentionElement::kBf16 ? double{bf16{bits}.to_float()} : double{fp16{bits}.to_float()};
}

std::uint64_t place(const AttentionTensorPlan& tensor, std::uint64_t batch, std::uint64_t head,
                    std::uint64_t row) {
  return batch * tensor.batch_stride + head * tensor.head_stride + row * tensor.row_stride;
}

}  // namespace

AttentionOutput attention(const AttentionProblem& problem, const AttentionTensors& tensors) {
  const AttentionPlan plan = plan_attention(problem);
  const std::uint64_t dim = plan.q.dim;
  const std::uint64_t value_dim = plan.v.dim;
  const std::uint64_t sharing = plan.q.heads / plan.k.heads;
  AttentionOutput out;
  out.o.assign(plan.q.batches * plan.q.heads * plan.q.rows * value_dim, 0);
  out.lse.assign(plan.q.batches * plan.q.heads * plan.q.rows, -std::numeric_limits<double>::infinity());
  std::vector<double> scores;
  for (std::uint64_t row = 0; row < out.lse.size(); ++row) {
    const std::uint64_t query = row % plan.q.rows;
    const std::uint64_t head = row / plan.q.rows % plan.q.heads;
    const std::uint64_t batch = row / plan.q.rows / plan.q.heads;
    const std::int64_t last = static_cast<std::int64_t>(query) + problem.keys - problem.queries;
    const auto seen = static_cast<std::uint64_t>(
        problem.is_causal ? std::clamp<std::int64_t>(last + 1, 0, problem.keys) : problem.keys);
    const std::int64_t lowest = problem.window == 0 ? 0 : std::max<std::int64_t>(last + 1 - problem.window, 0);
    const auto first = static_cast<std::uint64_t>(lowest);
    const double sink =
        tensors.sinks == nullptr ? -std::numeric_limits<double>::infinity() : double{tensors.sinks[head]};
    out.lse[row] = sink;
    if (seen <= first) continue;
    scores.assign(seen, -std::numeric_limits<double>::infinity());
    const std::uint64_t q = place(plan.q, batch, head, query);
    for (std::uint64_t key = first; key < seen; ++key) {
      const std::uint64_t k = place(plan.k, batch, head / sharing, key);
      scores[key] = 0;
      for (std::uint64_t d = 0; d < dim; ++d) {
        scores[key] += number_at(tensors.q, problem.type, q + d) * number_at(tensors.k, problem.type, k + d);
      }
      scores[key] *= double{plan.scale};
      const double cap = double{problem.soft_cap};
      if (cap != 0) scores[key] = cap * std::tanh(scores[key] / cap);
    }
    const double largest = std::max(sink, *std::max_element(scores.begin(), scores.end()));
    double sum = std::exp(sink - largest);
    for (std::uint64_t key = first; key < seen; ++key) {
      const double weight = std::exp(scores[key] - largest);
      sum += weight;
      const std::uint64_t v = place(plan.v, batch, head / sharing, key);
      for (std::uint64_t d = 0; d < value_dim; ++d) {
        out.o[row * value_dim + d] += weight * number_at(tensors.v, problem.type, v + d);
      }
    }
    for (std::uint64_t d = 0; d < value_dim; ++d) out.o[row * value_dim + d] /= sum;
    out.lse[row] = largest + std::log(sum);
  }
  return out;
}

}  // namespace heddle::reference
