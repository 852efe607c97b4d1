// SPDX-License-Identifier: Apache-2.0
//
// What the hosts of all matmuls do on a device: asking whether it can run the kernels, and copying tensors to it.
#pragma once

#include "device_answers.h"
#include "matmul_extents.h"

#include <heddle/host/device.h>
#include <heddle/host/error.h>
#include <heddle/host/gpu_list.h>

#include <new>
#include <string>
#include <string_view>

namespace heddle::inline HEDDLE_TARGET {

// Those that were there when the program first asked.
inline const GpuList& all_gpus() {
  static const GpuList list = find_gpus();
  return list;
}

// Throws where a GPU is none or of another architecture than the kernels are for.
inline void check_gpu(int ordinal, int major) {
  if constexpr (!kIsSimulated) check_matmul_gpu(all_gpus(), ordinal, major);
}

// Throws for a stream of another GPU than the current one.
inline void check_stream(void* stream) { check_matmul_stream(device_of_stream(stream), current_device()); }

// Empty in the simulated SM, and where there is no such GPU.
inline std::string_view gpu_name(int ordinal) {
  for (const GpuDescription& gpu : all_gpus().gpus) {
    if (gpu.ordinal == ordinal) return gpu.name;
  }
  return {};
}

inline std::string_view current_gpu_name() { return all_gpus().gpus.empty() ? "" : gpu_name(current_device()); }

// How many clusters of a kernel run at once on the device; 0: none does, or it cannot be found out. A GPU is
// asked once.
template <Kernel K>
std::uint32_t resident_clusters(const Device& device, std::uint32_t cluster) {
  const auto ask = [&] { return device.resident_clusters<K>(cluster); };
  if constexpr (kIsSimulated) return ask();
  static AnswerOfEachDevice answers;
  return answers.get(device.ordinal(), ask);
}

inline RunOutcome cannot_run(std::uint32_t cluster) {
  RunOutcome outcome;
  outcome.report = "matmul: the GPU says that it can run no cluster of " + std::to_string(cluster) +
                   " CTAs of this kernel; it is shared, broken, or not the one that the kernel is for\n";
  return outcome;
}

// Calls enqueue(device) for tensors that are on the current GPU, in a stream of it.
template <class Enqueue>
void enqueue_on_current_gpu(const MatmulProblem& problem, const MatmulTensors& tensors, int major, void* stream,
                            const Enqueue& enqueue) {
  if constexpr (kIsSimulated) {
    throw InputError("matmul: the simulated SM has no stream; give host memory and a device");
  } else {
    const int ordinal = current_device();
    check_gpu(ordinal, major);
    check_stream(stream);
    check_alignment(problem, tensors);
    Device device({.kernel = "matmul", .ordinal = ordinal});
    const RunOutcome outcome = enqueue(device);
    if (!outcome.ok()) throw DriverError(outcome.report, 0);
  }
}

// The tensors of a matmul, copied from host memory, and the workspace that its kernels ask for.
class MatmulOnDevice {
 public:
  // Throws where the device has no room: InputError for the simulated SM, DriverError for a GPU.
  MatmulOnDevice(Device& device, const MatmulTensors& host, const MatmulExtents& extents,
                 std::size_t workspace_bytes = 0) try
      : a_(device, "a", extents.a_bytes),
        b_(device, "b", extents.b_bytes),
        out_(device, "out", extents.out_bytes),
        bias_(device, "bias", extents.bias_bytes),
        residual_(device, "residual", extents.residual_bytes),
        workspace_(device, "workspace", workspace_bytes) {
    a_.upload(host.a);
    b_.upload(host.b);
    out_.upload(host.out);  // for beta, and for what pads its rows
    bias_.upload(host.bias);
    residual_.upload(host.residual);
  } catch (const std::bad_alloc&) {
    throw InputError("matmul: the tensors take " +
                     std::to_string(extents.a_bytes + extents.b_bytes + extents.out_bytes + extents.bias_bytes +
                                    extents.residual_bytes + workspace_bytes) +
                     " bytes on the device, which has no room for them");
  }

  MatmulTensors tensors() const {
    return {.a = a_.data(),
            .b = b_.data(),
            .out = out_.data(),
            .bias = bias_.data(),
            .residual = residual_.data(),
            .workspace = workspace_.data(),
            .workspace_bytes = workspace_.bytes()};
  }

  void download(const MatmulTensors& host) const { out_.download(host.out); }

 private:
  DeviceBuffer a_;
  DeviceBuffer b_;
  DeviceBuffer out_;
  DeviceBuffer bias_;
  DeviceBuffer residual_;
  DeviceBuffer workspace_;
};

}  // namespace heddle::inline HEDDLE_TARGET
