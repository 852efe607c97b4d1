// SPDX-License-Identifier: Apache-2.0
//
// Scalar PTX instructions on a GPU and in the simulated SM, bits compared: each form of ptx_forms.h is a kernel
// of its own, which the driver compiles, applied to special and random operands. Approximate forms are not
// judged: how far they differ is printed. Without a GPU of
// compute capability 9.0 it is skipped (status 77).
//
//   conformance_ptx [operand sets for each form, 4096 unless told]
#include "../support/ptx_forms.h"

#include <heddle/sim/ptx.h>

#include <cuda.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace {

using namespace heddle;
using test::OperandRange;
using test::ScalarForm;

constexpr int kSkipped = 77;
constexpr std::uint32_t kBlock = 128;

using Operands = std::vector<std::array<std::uint64_t, 4>>;

// The driver is opened at run time, so that the program can say that there is none.
class Driver {
 public:
  bool is_there() const { return library_ != nullptr; }

 private:
  template <class F>
  F find(const char* name) const {
    return library_ == nullptr ? nullptr : reinterpret_cast<F>(dlsym(library_, name));
  }

  void* library_ = dlopen("libcuda.so.1", RTLD_NOW);

 public:
  decltype(&::cuInit) init = find<decltype(&::cuInit)>("cuInit");
  decltype(&::cuDeviceGetCount) device_count = find<decltype(&::cuDeviceGetCount)>("cuDeviceGetCount");
  decltype(&::cuDeviceGet) device_get = find<decltype(&::cuDeviceGet)>("cuDeviceGet");
  decltype(&::cuDeviceGetAttribute) attribute = find<decltype(&::cuDeviceGetAttribute)>("cuDeviceGetAttribute");
  decltype(&::cuDevicePrimaryCtxRetain) retain =
      find<decltype(&::cuDevicePrimaryCtxRetain)>("cuDevicePrimaryCtxRetain");
  decltype(&::cuCtxSetCurrent) set_current = find<decltype(&::cuCtxSetCurrent)>("cuCtxSetCurrent");
  decltype(&::cuCtxSynchronize) synchronize = find<decltype(&::cuCtxSynchronize)>("cuCtxSynchronize");
  decltype(&::cuMemAlloc_v2) allocate = find<decltype(&::cuMemAlloc_v2)>("cuMemAlloc_v2");
  decltype(&::cuMemcpyHtoD_v2) upload = find<decltype(&::cuMemcpyHtoD_v2)>("cuMemcpyHtoD_v2");
  decltype(&::cuMemcpyDtoH_v2) download = find<decltype(&::cuMemcpyDtoH_v2)>("cuMemcpyDtoH_v2");
  decltype(&::cuModuleLoadData) load = find<decltype(&::cuModuleLoadData)>("cuModuleLoadData");
  decltype(&::cuModuleGetFunction) function = find<decltype(&::cuModuleGetFunction)>("cuModuleGetFunction");
  decltype(&::cuModuleUnload) unload = find<decltype(&::cuModuleUnload)>("cuModuleUnload");
  decltype(&::cuLaunchKernel) launch = find<decltype(&::cuLaunchKernel)>("cuLaunchKernel");
  decltype(&::cuGetErrorString) error_string = find<decltype(&::cuGetErrorString)>("cuGetErrorString");
};

const Driver& driver() {
  static const Driver opened;
  return opened;
}

[[noreturn]] void stop(const std::string& what) {
  fmt::print("{}\n", what);
  std::exit(1);
}

void check(CUresult result, const std::string& what) {
  if (result == CUDA_SUCCESS) return;
  const char* text = nullptr;
  driver().error_string(result, &text);
  stop(fmt::format("{}: {}", what, text == nullptr ? "an unknown error" : text));
}

std::uint32_t blocks_of(const Operands& operands) {
  return static_cast<std::uint32_t>((operands.size() + kBlock - 1) / kBlock);
}

// Device memory for the operands and results of one form after the other.
class Gpu {
 public:
  explicit Gpu(std::size_t sets) {
    CUdevice device = 0;
    check(driver().device_get(&device, 0), "cuDeviceGet");
    check(driver().retain(&context_, device), "cuDevicePrimaryCtxRetain");
    check(driver().set_current(context_), "cuCtxSetCurrent");
    check(driver().allocate(&in_, 32 * sets), "cuMemAlloc");
    check(driver().allocate(&out_, 8 * sets), "cuMemAlloc");
  }

  std::vector<std::uint64_t> run(const ScalarForm& form, const Operands& operands) {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    check(driver().load(&module, test::scalar_kernel(form).c_str()), "the driver refuses " + form.text);
    check(driver().function(&function, module, "apply"), "cuModuleGetFunction");
    check(driver().upload(in_, operands.data(), 32 * operands.size()), "cuMemcpyHtoD");
    auto count = static_cast<std::uint32_t>(operands.size());
    void* arguments[] = {&out_, &in_, &count};
    check(driver().launch(function, blocks_of(operands), 1, 1, kBlock, 1, 1, 0, nullptr, arguments, nullptr),
          "cuLaunchKernel");
    check(driver().synchronize(), form.text);
    std::vector<std::uint64_t> results(operands.size());
    check(driver().download(results.data(), out_, 8 * operands.size()), "cuMemcpyDtoH");
    check(driver().unload(module), "cuModuleUnload");
    return results;
  }

 private:
  CUcontext context_ = nullptr;
  CUdeviceptr in_ = 0;
  CUdeviceptr out_ = 0;
};

std::vector<std::uint64_t> simulate(const ScalarForm& form, const Operands& operands) {
  std::vector<std::uint64_t> out(operands.size());
  const sim::PtxModule module = sim::PtxModule::load(test::scalar_kernel(form), "form.ptx");
  sim::GlobalMemory memory;
  memory.add("out", out.data(), 8 * out.size());
  memory.add_read_only("in", operands.data(), 32 * operands.size());
  sim::PtxArguments arguments;
  arguments.add(out.data());
  arguments.add(operands.data());
  arguments.add(static_cast<std::uint32_t>(operands.size()));
  sim::PtxLaunch launch;
  launch.grid = {blocks_of(operands), 1, 1};
  launch.block = {kBlock, 1, 1};
  const sim::Report report =
      module.launch("apply", {.memory = &memory, .kernel = "apply", .check_races = false}, launch, arguments);
  if (!report.ok()) stop(report.text());
  return out;
}

// How far two floats are apart, in units of the last place of f32; huge where only one is a number.
double distance(std::uint64_t left, std::uint64_t right) {
  const auto a = std::bit_cast<float>(static_cast<std::uint32_t>(left));
  const auto b = std::bit_cast<float>(static_cast<std::uint32_t>(right));
  if (std::isnan(a) && std::isnan(b)) return 0;
  if (!std::isfinite(a) || !std::isfinite(b)) return left == right ? 0 : 1e9;
  const auto rank = [](float value) {
    const auto bits = static_cast<std::int64_t>(std::bit_cast<std::uint32_t>(std::abs(value)));
    return std::signbit(value) ? -bits : bits;
  };
  return std::abs(static_cast<double>(rank(a) - rank(b)));
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t sets = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 4096;
  int gpus = 0;
  int major = 0;
  if (!driver().is_there() || driver().init(0) != CUDA_SUCCESS || driver().device_count(&gpus) != CUDA_SUCCESS ||
      gpus == 0 || driver().attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0) != CUDA_SUCCESS ||
      major != 9) {
    fmt::print("skipped: there is no GPU of compute capability 9.0\n");
    return kSkipped;
  }
  Gpu gpu(sets);
  test::OperandSource source(20250115);
  std::size_t forms = 0;
  std::size_t differing = 0;
  std::map<std::string, double> approximate;
  for (const ScalarForm& form : test::scalar_forms()) {
    Operands operands(sets);
    for (auto& set : operands) {
      for (std::size_t s = 0; s < 4; ++s) set[s] = source.operand(form.range, s);
    }
    const std::vector<std::uint64_t> real = gpu.run(form, operands);
    const std::vector<std::uint64_t> simulated = simulate(form, operands);
    ++forms;
    std::size_t different = 0;
    for (std::size_t i = 0; i < sets; ++i) {
      if (form.is_approximate) {
        double& worst = approximate[form.text];
        worst = std::max(worst, distance(real[i], simulated[i]));
        continue;
      }
      if (real[i] == simulated[i]) continue;
      if (different++ < 3) {
        fmt::print("{:<44} of {:#x} {:#x} {:#x} {:#x}: GPU {:#x}, simulated {:#x}\n", form.text, operands[i][0],
                   operands[i][1], operands[i][2], operands[i][3], real[i], simulated[i]);
      }
    }
    if (different != 0) {
      ++differing;
      fmt::print("{:<44} {} of {} sets differ\n", form.text, different, sets);
    }
  }
  for (const auto& [text, worst] : approximate)
    fmt::print("{:<44} at most {} units in the last place\n", text, worst);
  fmt::print("{} forms, {} sets of operands each: {} forms differ, {} are approximate\n", forms, sets, differing,
             approximate.size());
  return differing == 0 ? 0 : 1;
}
