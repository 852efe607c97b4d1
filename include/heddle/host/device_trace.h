// SPDX-License-Identifier: Apache-2.0
//
// Takes the records of kernels that were built with HEDDLE_TRACE: while a DeviceTrace lives, each launch() of one
// leaves what its warps did in memory of its own, which is used again once it was taken. For programs that nvcc
// compiles; a graph cannot be captured meanwhile, because a launch asks for memory.
//
//   DeviceTrace trace("copy");
//   launch<Copy>({.grid = {4}}, params);
//   write_traced_launches("copy.trace", trace.take());
#pragma once

#include <heddle/host/error.h>
#include <heddle/host/traced_launch.h>
#include <heddle/isa/target.h>

#if HEDDLE_ON_CUDA

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace heddle {

class DeviceTrace {
 public:
  struct Memory {
    TraceRecord* records;
    std::uint32_t* counts;
    std::uint32_t capacity;
    std::uint32_t ctas;
  };

  // Each warp keeps the newest `capacity` records, in whole eights; CTAs after the first `max_ctas` keep none.
  explicit DeviceTrace(std::string kernel, std::uint32_t capacity = 2048, std::uint32_t max_ctas = 264)
      : kernel_(std::move(kernel)), capacity_((capacity + 7) / 8 * 8), max_ctas_(max_ctas), outer_(slot()) {
    slot() = this;
  }
  ~DeviceTrace() {
    slot() = outer_;
    for (const Kept& kept : kept_) release(kept);
    for (const Kept& kept : spare_) release(kept);
  }
  DeviceTrace(const DeviceTrace&) = delete;
  DeviceTrace& operator=(const DeviceTrace&) = delete;

  // Of this thread; null: none.
  static DeviceTrace* current() { return slot(); }

  // Memory for a launch. Throws DriverError if there is none.
  Memory add(const std::array<std::uint32_t, 3>& grid, std::uint32_t warps) {
    Kept kept{.launch = {.kernel = kernel_,
                         .grid = {grid[0], grid[1], grid[2]},
                         .warps = warps,
                         .ctas = std::min(grid[0] * grid[1] * grid[2], max_ctas_),
                         .capacity = capacity_}};
    kept.rows = std::size_t{kept.launch.ctas} * warps;
    const auto spare =
        std::find_if(spare_.begin(), spare_.end(), [&](const Kept& one) { return one.rows == kept.rows; });
    if (spare != spare_.end()) {
      kept.counts = spare->counts;
      kept.records = spare->records;
      spare_.erase(spare);
    } else {
      kept.counts = static_cast<std::uint32_t*>(allocated(kept.counts_bytes()));
      kept.records = static_cast<TraceRecord*>(allocated(kept.records_bytes()));
      clear(kept);
    }
    kept_.push_back(std::move(kept));
    return {kept_.back().records, kept_.back().counts, capacity_, kept_.back().launch.ctas};
  }

  // What was recorded since the last call. Waits for the GPU.
  std::vector<TracedLaunch> take() {
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    std::vector<TracedLaunch> launches;
    for (Kept& kept : kept_) {
      TracedLaunch& launch = kept.launch;
      launch.counts.resize(kept.rows);
      launch.records.resize(kept.rows * launch.row());
      check(cudaMemcpy(launch.counts.data(), kept.counts, kept.counts_bytes(), cudaMemcpyDeviceToHost),
            "cudaMemcpy of a trace");
      check(cudaMemcpy(launch.records.data(), kept.records, kept.records_bytes(), cudaMemcpyDeviceToHost),
            "cudaMemcpy of a trace");
      clear(kept);
      launches.push_back(std::move(launch));
      spare_.push_back(std::move(kept));
    }
    kept_.clear();
    return launches;
  }

 private:
  struct Kept {
    TracedLaunch launch;
    std::size_t rows = 0;
    TraceRecord* records = nullptr;
    std::uint32_t* counts = nullptr;

    std::size_t counts_bytes() const { return rows * sizeof(std::uint32_t); }
    std::size_t records_bytes() const { return rows * launch.row() * sizeof(TraceRecord); }
  };

  static DeviceTrace*& slot() {
    thread_local DeviceTrace* current = nullptr;
    return current;
  }
  static void check(cudaError_t error, const char* what) {
    if (error == cudaSuccess) return;
    throw DriverError(std::string(what) + ": " + cudaGetErrorString(error), static_cast<int>(error));
  }
  static void* allocated(std::size_t bytes) {
    void* data = nullptr;
    check(cudaMalloc(&data, bytes), "cudaMalloc of a trace");
    return data;
  }
  static void clear(const Kept& kept) {
    check(cudaMemset(kept.counts, 0, kept.counts_bytes()), "cudaMemset of a trace");
    check(cudaMemset(kept.records, 0, kept.records_bytes()), "cudaMemset of a trace");
  }
  static void release(const Kept& kept) {
    cudaFree(kept.records);
    cudaFree(kept.counts);
  }

  std::string kernel_;
  std::uint32_t capacity_;
  std::uint32_t max_ctas_;
  DeviceTrace* outer_;
  std::vector<Kept> kept_;
  std::vector<Kept> spare_;  // memory of launches that were taken, cleared
};

}  // namespace heddle

#endif
