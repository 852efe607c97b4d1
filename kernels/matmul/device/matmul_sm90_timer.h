// SPDX-License-Identifier: Apache-2.0
//
// How long launches of a matmul take on a GPU, for tuning at the first use of a shape. The operands are copied so
// often that a copy has left the L2 cache when its turn comes again; launches follow one another in a CUDA graph,
// as those of a program do.
#pragma once

#include "matmul/host/matmul_first_use.h"

#include <heddle/host/device.h>

#if HEDDLE_ON_CUDA

#include <algorithm>
#include <memory>
#include <utility>

namespace heddle::inline HEDDLE_TARGET {

class MatmulSm90Timer {
 public:
  // Starts one multiplication with these tensors. Throws std::exception.
  using Enqueue = std::function<void(const MatmulSm90Choice&, const MatmulTensors&, cudaStream_t)>;

  // Waits for what was started in `stream`, which may write the operands. Throws DriverError where the GPU has no
  // room for the copies.
  MatmulSm90Timer(Device& device, const MatmulExtents& extents, const MatmulTensors& tensors,
                  std::uint64_t workspace_bytes, void* stream, Enqueue enqueue)
      : MatmulSm90Timer(device, extents, workspace_bytes, std::move(enqueue)) {
    const auto waiting_for = static_cast<cudaStream_t>(stream);
    detail::check_cuda(cudaStreamSynchronize(waiting_for), "cudaStreamSynchronize");
    detail::check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    detail::check_cuda(cudaEventCreate(&begin_), "cudaEventCreate");
    detail::check_cuda(cudaEventCreate(&end_), "cudaEventCreate");
    for (std::size_t set = 0; set < sets_; ++set) {
      copy(at(set, 0), tensors.a, extents.a_bytes);
      copy(at(set, a_bytes_), tensors.b, extents.b_bytes);
    }
  }
  ~MatmulSm90Timer() {
    if (end_ != nullptr) cudaEventDestroy(end_);
    if (begin_ != nullptr) cudaEventDestroy(begin_);
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }
  MatmulSm90Timer(const MatmulSm90Timer&) = delete;
  MatmulSm90Timer& operator=(const MatmulSm90Timer&) = delete;

  // Microseconds of one launch, the least of some bursts.
  double us(const MatmulSm90Choice& choice) {
    constexpr int kBursts = 3;
    const float once_ms = run(choice, 1, 2);
    const int launches = std::clamp(static_cast<int>(kBurstMs / std::max(once_ms, 1e-3f)), 2, kMostLaunches);
    return 1e3 * static_cast<double>(run(choice, launches, kBursts)) / launches;
  }

 private:
  static constexpr std::size_t kRotatedBytes = std::size_t{192} << 20;  // several times L2
  static constexpr std::size_t kMostSets = 64;
  static constexpr float kBurstMs = 0.5f;
  static constexpr int kMostLaunches = 128;

  // Its memory. Whatever throws from here on, the destructor runs.
  MatmulSm90Timer(Device& device, const MatmulExtents& extents, std::uint64_t workspace_bytes, Enqueue enqueue)
      : a_bytes_(padded(extents.a_bytes)),
        b_bytes_(padded(extents.b_bytes)),
        out_bytes_(padded(extents.out_bytes)),
        sets_(std::clamp<std::size_t>(kRotatedBytes / set_bytes(), 1, kMostSets)),
        memory_(device, "copies for tuning", sets_ * set_bytes()),
        workspace_(device, "workspace for tuning", workspace_bytes),
        enqueue_(std::move(enqueue)) {}

  static std::size_t padded(std::size_t bytes) { return (bytes + 1023) / 1024 * 1024; }
  std::size_t set_bytes() const { return a_bytes_ + b_bytes_ + out_bytes_; }
  char* at(std::size_t set, std::size_t offset) const {
    return static_cast<char*>(memory_.data()) + set * set_bytes() + offset;
  }
  void copy(void* to, const void* from, std::size_t bytes) {
    detail::check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_), "cudaMemcpy");
  }

  // Milliseconds of a graph of launches, the least of some runs after one that does not count.
  float run(const MatmulSm90Choice& choice, int launches, int runs) {
    detail::check_cuda(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal),
                       "cudaStreamBeginCapture");
    std::exception_ptr failed;
    try {
      for (int i = 0; i < launches; ++i, ++next_) {
        const std::size_t set = next_ % sets_;
        enqueue_(choice,
                 {.a = at(set, 0),
                  .b = at(set, a_bytes_),
                  .out = at(set, a_bytes_ + b_bytes_),
                  .workspace = workspace_.data(),
                  .workspace_bytes = workspace_.bytes()},
                 stream_);
      }
    } catch (...) {
      failed = std::current_exception();
    }
    cudaGraph_t graph = nullptr;
    const cudaError_t ended = cudaStreamEndCapture(stream_, &graph);
    if (failed) {
      if (graph != nullptr) cudaGraphDestroy(graph);
      std::rethrow_exception(failed);
    }
    detail::check_cuda(ended, "cudaStreamEndCapture");
    cudaGraphExec_t made = nullptr;
    const cudaError_t error = cudaGraphInstantiate(&made, graph, 0);
    cudaGraphDestroy(graph);
    detail::check_cuda(error, "cudaGraphInstantiate");
    const std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, cudaError_t (*)(cudaGraphExec_t)> owner(
        made, cudaGraphExecDestroy);
    float least = 1e9f;
    for (int i = 0; i <= runs; ++i) {
      cudaEventRecord(begin_, stream_);
      detail::check_cuda(cudaGraphLaunch(made, stream_), "cudaGraphLaunch");
      cudaEventRecord(end_, stream_);
      detail::check_cuda(cudaEventSynchronize(end_), "matmul");
      float ms = 0;
      detail::check_cuda(cudaEventElapsedTime(&ms, begin_, end_), "cudaEventElapsedTime");
      if (i > 0) least = std::min(least, ms);
    }
    return least;
  }

  std::size_t a_bytes_;
  std::size_t b_bytes_;
  std::size_t out_bytes_;
  std::size_t sets_;
  DeviceBuffer memory_;
  DeviceBuffer workspace_;
  Enqueue enqueue_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
  std::size_t next_ = 0;
};

}  // namespace heddle::inline HEDDLE_TARGET

#endif
