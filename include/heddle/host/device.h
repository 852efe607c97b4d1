// SPDX-License-Identifier: Apache-2.0
//
// The device that a host program talks to: its memory, and launches on it. The same program text runs a
// kernel on a GPU or in the simulated SM, depending on the compiler that made it.
//
//   Device device(options);
//   DeviceBuffer input(device, "input", bytes);
//   input.upload(data);
//   RunOutcome outcome = device.launch<Copy>({.grid = {4}}, params);
#pragma once

#include <heddle/host/error.h>
#include <heddle/host/launch.h>
#include <heddle/host/run_options.h>
#include <heddle/isa/entry.h>
#include <heddle/isa/target.h>

#include <cstddef>
#include <cstring>
#include <string>

#if HEDDLE_ON_CUDA
#include <cuda_runtime_api.h>
#else
#include <heddle/sim/entry.h>

#include <new>
#endif

namespace heddle::inline HEDDLE_TARGET {

#if HEDDLE_ON_CUDA

namespace detail {

inline void check_cuda(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  throw DriverError(std::string(what) + ": " + cudaGetErrorString(error), static_cast<int>(error));
}

}  // namespace detail

// The GPU that this thread's calls of the CUDA runtime go to.
inline int current_device() {
  int ordinal = 0;
  detail::check_cuda(cudaGetDevice(&ordinal), "cudaGetDevice");
  return ordinal;
}

// The GPU that a stream (a cudaStream_t) belongs to. A stream that is being captured may not be asked; the
// current GPU is answered for it.
inline int device_of_stream(void* stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (cudaStreamIsCapturing(static_cast<cudaStream_t>(stream), &status) != cudaSuccess) (void)cudaGetLastError();
  if (status != cudaStreamCaptureStatusNone) return current_device();
  int ordinal = 0;
  detail::check_cuda(cudaStreamGetDevice(static_cast<cudaStream_t>(stream), &ordinal), "cudaStreamGetDevice");
  return ordinal;
}

class Device {
 public:
  // Throws DriverError if there is no such GPU.
  explicit Device(const RunOptions& options) : options_(options) {
    detail::check_cuda(cudaSetDevice(options.ordinal), "cudaSetDevice");
  }

  template <Kernel K>
  RunOutcome launch(const LaunchShape& shape, const typename K::Params& params) {
    cudaError_t error = heddle::HEDDLE_TARGET::launch<K>(shape, params);
    if (error == cudaSuccess) error = cudaDeviceSynchronize();
    RunOutcome outcome;
    if (error != cudaSuccess) outcome.report = options_.kernel + ": " + cudaGetErrorString(error) + "\n";
    return outcome;
  }

  // Starts the kernel in a stream (a cudaStream_t) and does not wait for it.
  template <Kernel K>
  RunOutcome enqueue(const LaunchShape& shape, const typename K::Params& params, void* stream) {
    const cudaError_t error = heddle::HEDDLE_TARGET::launch<K>(shape, params, static_cast<cudaStream_t>(stream));
    RunOutcome outcome;
    if (error != cudaSuccess) outcome.report = options_.kernel + ": " + cudaGetErrorString(error) + "\n";
    return outcome;
  }

  // Waits for what `work` enqueues in the default stream, and times it.
  template <class Work>
  RunOutcome finish(const Work& work) {
    cudaEvent_t begin = nullptr;
    cudaEvent_t end = nullptr;
    detail::check_cuda(cudaEventCreate(&begin), "cudaEventCreate");
    detail::check_cuda(cudaEventCreate(&end), "cudaEventCreate");
    cudaEventRecord(begin);
    RunOutcome outcome = work();
    cudaEventRecord(end);
    const cudaError_t error = cudaDeviceSynchronize();
    if (outcome.ok() && error != cudaSuccess) {
      outcome.report = options_.kernel + ": " + cudaGetErrorString(error) + "\n";
    }
    float ms = 0;
    if (outcome.ok() && cudaEventElapsedTime(&ms, begin, end) == cudaSuccess) {
      outcome.kernel_ms = static_cast<double>(ms);
    }
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    return outcome;
  }

  int ordinal() const { return options_.ordinal; }

  // How many clusters of `cluster` CTAs run at the same time; 0: none, or the driver does not say.
  template <Kernel K>
  std::uint32_t resident_clusters(std::uint32_t cluster) const {
    return heddle::HEDDLE_TARGET::resident_clusters<K>(cluster);
  }

  // 0: the driver does not say.
  std::uint32_t sms() const {
    int count = 0;
    const bool is_known =
        cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, options_.ordinal) == cudaSuccess;
    return is_known ? static_cast<std::uint32_t>(count) : 0;
  }

 private:
  friend class DeviceBuffer;
  RunOptions options_;
};

class DeviceBuffer {
 public:
  DeviceBuffer(Device&, const std::string& name, std::size_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    const cudaError_t error = cudaMalloc(&data_, bytes);
    if (error == cudaSuccess) return;
    (void)cudaGetLastError();  // a launch after this one must not be blamed for it
    std::size_t free = 0;
    std::size_t total = 0;
    (void)cudaMemGetInfo(&free, &total);
    throw DriverError("cudaMalloc of " + name + ", " + std::to_string(bytes) +
                          " bytes: " + cudaGetErrorString(error) + "; " + std::to_string(free) + " of " +
                          std::to_string(total) + " bytes are free",
                      static_cast<int>(error));
  }
  ~DeviceBuffer() { cudaFree(data_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  void upload(const void* host) {
    if (bytes_ != 0) detail::check_cuda(cudaMemcpy(data_, host, bytes_, cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  void download(void* host) const {
    if (bytes_ != 0) detail::check_cuda(cudaMemcpy(host, data_, bytes_, cudaMemcpyDeviceToHost), "cudaMemcpy");
  }
  void fill(unsigned char value) {
    if (bytes_ != 0) detail::check_cuda(cudaMemset(data_, value, bytes_), "cudaMemset");
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_;
};

#else

inline int current_device() { return 0; }
inline int device_of_stream(void*) { return 0; }

class Device {
 public:
  // Throws InputError for options that make no sense, such as a schedule that is none.
  explicit Device(const RunOptions& options) : run_(options) { sim::check_run(options); }

  template <Kernel K>
  RunOutcome launch(const LaunchShape& shape, const typename K::Params& params) {
    return sim::run_entry(run_, memory_, shape, sim::entry_of<K>(shape), &params);
  }

  template <Kernel K>
  RunOutcome enqueue(const LaunchShape& shape, const typename K::Params& params, void* /*stream*/) {
    return launch<K>(shape, params);
  }

  template <class Work>
  RunOutcome finish(const Work& work) {
    return work();
  }

  int ordinal() const { return run_.ordinal; }

  // One CTA to an SM.
  template <Kernel K>
  std::uint32_t resident_clusters(std::uint32_t cluster) const {
    return run_.sms < cluster ? 1 : run_.sms / cluster;
  }

  std::uint32_t sms() const { return run_.sms; }

 private:
  friend class DeviceBuffer;
  sim::GlobalMemory memory_;
  RunOptions run_;
};

class DeviceBuffer {
 public:
  DeviceBuffer(Device& device, const std::string& name, std::size_t bytes)
      : data_(bytes == 0 ? nullptr : ::operator new(bytes, kAlignment)), bytes_(bytes) {
    device.memory_.add(name, data_, bytes);
  }
  ~DeviceBuffer() { ::operator delete(data_, kAlignment); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  void upload(const void* host) {
    if (bytes_ != 0) std::memcpy(data_, host, bytes_);
  }
  void download(void* host) const {
    if (bytes_ != 0) std::memcpy(host, data_, bytes_);
  }
  void fill(unsigned char value) {
    if (bytes_ != 0) std::memset(data_, value, bytes_);
  }

 private:
  // As cudaMalloc aligns.
  static constexpr std::align_val_t kAlignment{256};

  void* data_;
  std::size_t bytes_;
};

#endif

}  // namespace heddle::inline HEDDLE_TARGET
