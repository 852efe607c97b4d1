// SPDX-License-Identifier: Apache-2.0
//
// Which device a host function runs kernels on, as users name it: "cuda:N" is a GPU, "sim:sm90" and "sim:sm100"
// are the simulated SM of Hopper and of Blackwell.
//
//   const DeviceId device = parse_device("sim:sm100", gpus);
//   device.name();  // "sim:sm100"
#pragma once

#include <heddle/host/error.h>
#include <heddle/host/gpu_list.h>
#include <heddle/isa/arch.h>
#include <heddle/isa/target.h>

#include <string>
#include <string_view>

namespace heddle {

struct DeviceId {
  Target target = Target::kSim;
  Arch arch = Arch::kSm90;
  int ordinal = 0;  // of a GPU

  bool is_gpu() const { return target == Target::kCuda; }
  std::string name() const {
    return is_gpu() ? "cuda:" + std::to_string(ordinal) : "sim:" + std::string(limits_of(arch).name);
  }
  bool operator==(const DeviceId&) const = default;
};

// Throws InputError for a name that is none, and for a GPU that is not in the list or that heddle has no kernels
// for. "auto" is the first GPU of the list that it has kernels for, otherwise the simulated SM of `fallback`.
inline DeviceId parse_device(std::string_view name, const GpuList& gpus, Arch fallback = Arch::kSm90);

namespace detail {

// Code for sm_90a and sm_100a runs on exactly those.
inline bool has_kernels(const GpuDescription& gpu) {
  return gpu.minor == 0 && (gpu.major == 9 || gpu.major == 10);
}

inline DeviceId id_of(const GpuDescription& gpu) {
  return {.target = Target::kCuda, .arch = gpu.major == 9 ? Arch::kSm90 : Arch::kSm100, .ordinal = gpu.ordinal};
}

// -1: not the digits of a GPU's number.
inline int number_of(std::string_view digits) {
  if (digits.empty() || digits.size() > 4) return -1;
  int number = 0;
  for (const char digit : digits) {
    if (digit < '0' || digit > '9') return -1;
    number = 10 * number + (digit - '0');
  }
  return number;
}

}  // namespace detail

inline DeviceId parse_device(std::string_view name, const GpuList& gpus, Arch fallback) {
  if (name == "sim:sm90") return {.arch = Arch::kSm90};
  if (name == "sim:sm100") return {.arch = Arch::kSm100};
  if (name == "auto") {
    for (const GpuDescription& gpu : gpus.gpus) {
      if (detail::has_kernels(gpu)) return detail::id_of(gpu);
    }
    return {.arch = fallback};
  }
  const std::string quoted = "device '" + std::string(name) + "': ";
  constexpr std::string_view kPrefix = "cuda:";
  int ordinal = -1;
  if (name.starts_with(kPrefix)) {
    ordinal = detail::number_of(name.substr(kPrefix.size()));
  }
  if (ordinal < 0) throw InputError(quoted + "expected auto, cuda:N, sim:sm90 or sim:sm100");
  if (gpus.gpus.empty()) throw InputError(quoted + gpus.why + "; sim:sm90 and sim:sm100 need no GPU");
  for (const GpuDescription& gpu : gpus.gpus) {
    if (gpu.ordinal != ordinal) continue;
    if (detail::has_kernels(gpu)) return detail::id_of(gpu);
    throw InputError(quoted + gpu.name + " has compute capability " + std::to_string(gpu.major) + "." +
                     std::to_string(gpu.minor) + "; heddle's kernels need 9.0 (Hopper) or 10.0 (Blackwell)");
  }
  throw InputError(quoted + "this machine has " + std::to_string(gpus.gpus.size()) +
                   (gpus.gpus.size() == 1 ? " GPU" : " GPUs") +
                   ", so cuda:0 to cuda:" + std::to_string(gpus.gpus.size() - 1));
}

}  // namespace heddle
