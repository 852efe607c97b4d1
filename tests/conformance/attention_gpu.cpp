// SPDX-License-Identifier: Apache-2.0
//
// Hopper's attention on a GPU against sums in double: every feature, then random problems of all of them. Outputs
// are NaNs before, and so is what lies after a batch's last key. Without a GPU it is skipped (status 77).
//
//   conformance_attention [random problems] [longest]
//
// Launches that read what the one ahead in the stream writes are compared with launches after a wait of the host.
#include "attention/attention_decode_sm90_host.h"
#include "attention/attention_sm90_host.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "../support/attention_chain.h"
#include "../support/attention_features.h"

namespace {

using heddle::AttentionElement;
using heddle::RunOutcome;
using heddle::Target;
using heddle::reference::AttentionCase;
using heddle::reference::AttentionVerdict;
using heddle::test::AttentionFeature;

constexpr int kSkipped = 77;

// Whether it is right; says so where it is not.
bool run(const AttentionFeature& feature) {
  AttentionCase one = feature.prepared();
  one.reset_output();
  const RunOutcome outcome =
      one.is_decode ? heddle::attention_decode_sm90<Target::kCuda>(one.decode_problem(), one.decode_tensors(), {})
                    : heddle::attention_sm90<Target::kCuda>(one.problem, one.tensors(), {});
  if (!outcome.ok()) {
    fmt::print("FAILED {}: {}\n", feature.name, outcome.report);
    std::exit(1);  // a GPU that has faulted answers nothing any more
  }
  const AttentionVerdict verdict = one.verify(1e12);
  if (verdict.ok()) return true;
  const heddle::AttentionProblem& p = one.problem;
  fmt::print("FAILED {}, {} batches, {} heads over {}, {} queries, {} keys, heads of {} and {}: {}\n",
             feature.name, p.batches, p.heads, p.key_heads, p.queries, p.keys, p.head_dim, p.value_dim,
             verdict.wrong);
  return false;
}

AttentionFeature random_feature(std::mt19937& engine, std::int64_t longest) {
  const auto up_to = [&](std::int64_t most) {
    return 1 + static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(most));
  };
  const auto one_in = [&](unsigned count) { return engine() % count == 0; };
  AttentionFeature feature{.name = "a random problem", .problem = {}};
  heddle::AttentionProblem& p = feature.problem;
  feature.is_decode = one_in(3);
  p.batches = up_to(3);
  p.key_heads = up_to(3);
  p.heads = p.key_heads * (one_in(2) ? 1 : up_to(8));
  p.queries = feature.is_decode ? up_to(4) : up_to(longest);
  p.keys = up_to(longest);
  p.head_dim = 8 * up_to(feature.is_decode ? 16 : 32);
  p.value_dim = one_in(3) ? 8 * up_to(feature.is_decode ? 16 : 32) : p.head_dim;
  p.type = one_in(2) ? AttentionElement::kBf16 : AttentionElement::kFp16;
  p.is_causal = one_in(2);
  if (p.is_causal && one_in(3)) p.window = up_to(longest);
  if (one_in(4)) p.soft_cap = static_cast<float>(up_to(30));
  if (feature.is_decode && one_in(2)) feature.page_size = 16 * up_to(8);
  feature.is_ragged = one_in(3);
  feature.has_sinks = one_in(4);
  return feature;
}

// A copy on the GPU.
class Copy {
 public:
  template <class T>
  explicit Copy(const std::vector<T>& host) : bytes_(host.size() * sizeof(T)) {
    check(cudaMalloc(&data_, bytes_ == 0 ? 1 : bytes_));
    check(cudaMemcpy(data_, host.data(), bytes_, cudaMemcpyHostToDevice));
  }
  ~Copy() { cudaFree(data_); }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;

  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  template <class T>
  void download(std::vector<T>& host) const {
    check(cudaMemcpy(host.data(), data_, bytes_, cudaMemcpyDeviceToHost));
  }

  static void check(cudaError_t error) {
    if (error == cudaSuccess) return;
    fmt::print("FAILED {}\n", cudaGetErrorString(error));
    std::exit(1);
  }

 private:
  std::size_t bytes_;
  void* data_ = nullptr;
};

// The outputs of a case whose numbers stay on the GPU, where nobody looks at them before.
std::vector<std::uint16_t> on_gpu(AttentionCase& one) {
  one.reset_output();
  const Copy q(one.q), k(one.k), v(one.v), o(one.o);
  const Copy lengths(one.lengths), table(one.page_table), queries(one.query_offsets), keys(one.key_offsets);
  heddle::AttentionTensors tensors{.q = q.as<void>(), .k = k.as<void>(), .v = v.as<void>(), .o = o.as<void>()};
  if (one.is_decode) {
    const heddle::AttentionDecodeProblem problem = one.decode_problem();
    const Copy workspace(std::vector<unsigned char>(heddle::attention_decode_workspace(problem)));
    heddle::enqueue_attention_decode_sm90<Target::kCuda>(problem,
                                                         {.attention = tensors,
                                                          .lengths = lengths.as<std::int32_t>(),
                                                          .page_table = table.as<std::int32_t>(),
                                                          .workspace = workspace.as<void>()},
                                                         nullptr);
    Copy::check(cudaDeviceSynchronize());
  } else {
    tensors.query_offsets = queries.as<std::int32_t>();
    tensors.key_offsets = keys.as<std::int32_t>();
    heddle::enqueue_attention_sm90<Target::kCuda>(one.problem, tensors, nullptr);
    Copy::check(cudaDeviceSynchronize());
  }
  o.download(one.o);
  return one.o;
}

// A page that does not exist is read as zeros, and a length is cut off.
bool pages_outside() {
  const AttentionFeature feature{.name = "pages",
                                 .problem = {.batches = 3, .heads = 4, .key_heads = 2, .queries = 1, .keys = 200},
                                 .is_decode = true,
                                 .page_size = 64};
  AttentionCase zeros = feature.prepared();
  AttentionCase outside = feature.prepared();
  const std::size_t of_page = zeros.k.size() / zeros.page_table.size();
  const std::int32_t wild[] = {1000000, -7, static_cast<std::int32_t>(zeros.page_table.size()), -2147483647 - 1};
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t entry = 2 * i;  // of the first two batches
    const auto page = static_cast<std::size_t>(zeros.page_table[entry]);
    std::fill_n(&zeros.k[page * of_page], of_page, std::uint16_t{0});
    std::fill_n(&zeros.v[page * of_page], of_page, std::uint16_t{0});
    outside.page_table[entry] = wild[i];
  }
  zeros.lengths = {200, 200, 0};
  outside.lengths = {2147483647, 200, -5};
  return on_gpu(zeros) == on_gpu(outside);
}

// Batches that exceed the tensor are cut off, and what is no range of rows has none.
bool offsets_outside() {
  const AttentionFeature feature{
      .name = "rows", .problem = {.batches = 3, .heads = 2, .queries = 90, .keys = 120}, .is_ragged = true};
  AttentionCase inside = feature.prepared();  // with more rows than are used here
  inside.problem.query_rows = inside.problem.queries = 60;
  inside.problem.key_rows = inside.problem.keys = 100;
  inside.query_offsets = {0, 20, 60, 60};
  inside.key_offsets = {0, 50, 100, 100};
  AttentionCase outside = inside;
  outside.query_offsets = {-9, 20, 1000000, 30};
  outside.key_offsets = {-2147483647, 50, 2147483647, 10};
  return on_gpu(inside) == on_gpu(outside);
}

}  // namespace

int main(int argc, char** argv) {
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
    fmt::print("skipped: there is no GPU\n");
    return kSkipped;
  }
  const int count = argc > 1 ? std::atoi(argv[1]) : 200;
  const std::int64_t longest = std::max(argc > 2 ? std::atoi(argv[2]) : 400, 1);
  int wrong = 0;
  for (const AttentionFeature& feature : heddle::test::kAttentionFeatures) wrong += run(feature) ? 0 : 1;
  std::mt19937 engine(1);
  for (int i = 0; i < count; ++i) wrong += run(random_feature(engine, longest)) ? 0 : 1;
  if (!pages_outside()) wrong += (fmt::print("FAILED: pages outside of the cache\n"), 1);
  if (!offsets_outside()) wrong += (fmt::print("FAILED: rows outside of the tensors\n"), 1);
  // So many keys that the launch ahead still runs when the next one begins, for about 0.1 ms.
  wrong += heddle::test::wrong_in_attention_chain(
      65536,
      [](const heddle::AttentionProblem& problem, const heddle::AttentionTensors& tensors) {
        heddle::enqueue_attention_sm90<Target::kCuda>(problem, tensors, nullptr);
      },
      [](const heddle::AttentionDecodeProblem& problem, const heddle::AttentionDecodeTensors& tensors) {
        heddle::enqueue_attention_decode_sm90<Target::kCuda>(problem, tensors, nullptr);
      });
  fmt::print("{} features and {} random problems, {} wrong\n", std::size(heddle::test::kAttentionFeatures), count,
             wrong);
  return wrong == 0 ? 0 : 1;
}
