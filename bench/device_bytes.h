// SPDX-License-Identifier: Apache-2.0
//
// Memory of the GPU for as long as an object lives.
#pragma once

#include "matmul_session.h"

#include <cstdint>
#include <vector>

namespace heddle::bench {

class DeviceBytes {
 public:
  explicit DeviceBytes(std::uint64_t bytes) { check(cudaMalloc(&data_, bytes), "cudaMalloc"); }
  ~DeviceBytes() { cudaFree(data_); }
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;

  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
};

template <class T>
std::vector<T> downloaded(const T* from, std::size_t count) {
  std::vector<T> host(count);
  check(cudaMemcpy(host.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
  return host;
}

}  // namespace heddle::bench
