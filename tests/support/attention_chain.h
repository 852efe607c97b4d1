// SPDX-License-Identifier: Apache-2.0
//
// Launches of attention back to back, each of which may start while the one ahead still runs, and reads what that
// one writes: queries, keys, and numbers that decide what there is to do. All of it is poisoned before, so that a
// launch that does not wait for the one ahead has other outputs than one that began after its end. On a simulated
// GPU launches never run together, and a launch that does not wait is told as a race.
#pragma once

#include "attention/attention_decode.h"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace heddle::test {

// Memory of the GPU.
class ChainBytes {
 public:
  explicit ChainBytes(std::size_t bytes) : bytes_(bytes) {
    check(cudaMalloc(&data_, bytes));
    poison();
  }
  explicit ChainBytes(const std::vector<std::uint16_t>& numbers) : ChainBytes(2 * numbers.size()) {
    check(cudaMemcpy(data_, numbers.data(), bytes_, cudaMemcpyHostToDevice));
  }
  ~ChainBytes() { cudaFree(data_); }
  ChainBytes(const ChainBytes&) = delete;
  ChainBytes& operator=(const ChainBytes&) = delete;

  // Large numbers, as bf16, as float and as integers.
  void poison() const { check(cudaMemsetAsync(data_, 0x7f, bytes_, nullptr)); }
  std::vector<unsigned char> downloaded() const {
    std::vector<unsigned char> host(bytes_);
    check(cudaMemcpy(host.data(), data_, bytes_, cudaMemcpyDeviceToHost));
    return host;
  }
  void* data() const { return data_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

  static void check(cudaError_t error) {
    if (error == cudaSuccess) return;
    std::printf("FAILED: %s\n", cudaGetErrorString(error));
    std::exit(1);
  }

 private:
  std::size_t bytes_;
  void* data_ = nullptr;
};

// How many launches had other outputs than after a wait of the host. `forward(problem, tensors)` and
// `decode(problem, tensors)` start attention in the null stream. The launch ahead has so many keys, which decides
// how long it takes.
template <class Forward, class Decode>
int wrong_in_attention_chain(std::int64_t keys, const Forward& forward, const Decode& decode) {
  constexpr std::int64_t kDim = 64;
  constexpr std::int64_t kKeys = 100;  // of the launch after it
  const auto rows_of = [](std::int64_t rows, const auto& bits) {
    std::vector<std::uint16_t> numbers(static_cast<std::size_t>(rows * kDim));
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::uint16_t>(bits(i));
    return numbers;
  };
  const auto some = [](std::size_t i) { return 0x3f00 + i * 2654435761u / 65536 % 128; };  // 0.5 to 1
  // Two heads of one query each, with scores of -32 and 32: the first logarithm is below zero. As an integer it
  // is, too, which counts as 0; the second is as many as there may be, and so is poison.
  const ChainBytes q(rows_of(2, [](std::size_t) { return 0x4000; }));
  const ChainBytes k(rows_of(
      2 * keys, [&](std::size_t i) { return i < static_cast<std::size_t>(keys * kDim) ? 0xc000 : 0x4000; }));
  const ChainBytes v(rows_of(2 * keys, some));
  const ChainBytes own(rows_of(2 * kKeys, some));
  const ChainBytes o(2 * 2 * kDim), lse(2 * sizeof(float)), out(2 * 2 * kDim);

  AttentionProblem problem{.heads = 2, .queries = 1, .keys = kKeys, .head_dim = kDim};
  const AttentionTensors tensors{.q = q.data(), .k = own.data(), .v = own.data(), .o = out.data()};
  AttentionDecodeProblem cache{.attention = problem};
  cache.attention.heads = 1;
  cache.attention.batches = 2;
  const ChainBytes workspace(attention_decode_workspace(cache));

  const auto differs = [&](const char* what, const auto& after) {
    const auto outputs = [&](bool waits) {
      out.poison();
      o.poison();
      lse.poison();
      AttentionProblem ahead = problem;
      ahead.keys = keys;
      forward(ahead, AttentionTensors{
                         .q = q.data(), .k = k.data(), .v = v.data(), .o = o.data(), .lse = lse.as<float>()});
      if (waits) ChainBytes::check(cudaDeviceSynchronize());
      after();
      ChainBytes::check(cudaDeviceSynchronize());
      return out.downloaded();
    };
    if (outputs(false) == outputs(true)) return 0;
    std::printf("FAILED: a launch did not wait for %s of the launch ahead\n", what);
    return 1;
  };
  int wrong = differs("queries", [&] {
    AttentionTensors of = tensors;
    of.q = o.data();
    forward(problem, of);
  });
  wrong += differs("keys and values", [&] {
    AttentionProblem one = problem;
    one.keys = 1;
    AttentionTensors of = tensors;
    of.k = of.v = o.data();
    forward(one, of);
  });
  wrong += differs("offsets", [&] {
    AttentionProblem in_rows = problem;
    in_rows.query_rows = 1;
    in_rows.key_rows = kKeys;
    AttentionTensors of = tensors;
    of.query_offsets = of.key_offsets = lse.as<std::int32_t>();
    forward(in_rows, of);
  });
  wrong += differs("queries of a cache", [&] {
    AttentionDecodeTensors of{.attention = tensors, .workspace = workspace.data()};
    of.attention.q = o.data();
    decode(cache, of);
  });
  wrong += differs("lengths", [&] {
    decode(cache, AttentionDecodeTensors{
                      .attention = tensors, .lengths = lse.as<std::int32_t>(), .workspace = workspace.data()});
  });
  return wrong;
}

}  // namespace heddle::test
