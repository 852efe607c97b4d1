// SPDX-License-Identifier: Apache-2.0
//
// Runs PTX, the assembly that nvcc emits, in the simulated SM: with the same machine, checks, schedules and
// reports as kernels in C++.
//
//   sim::PtxModule module = sim::PtxModule::load(text, "saxpy.ptx");
//   sim::PtxArguments arguments;
//   arguments.add(n);
//   arguments.add(x.data());
//   sim::Report report = module.launch("saxpy", {.memory = &memory}, {.grid = {4}, .block = {128}}, arguments);
//   if (!report.ok()) std::cerr << report.text();
//
// Reports name the line of the PTX, and before it the line of the source where nvcc was given -lineinfo.
// Addresses of global memory are those of the host, as in GlobalMemory.
#pragma once

#include <heddle/sim/device_heap.h>
#include <heddle/sim/launch.h>
#include <heddle/sim/texture.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace heddle::sim {

// How a kernel of a module is launched. A cluster that the kernel itself asks for need not be given.
struct PtxLaunch {
  isa::Dim3 grid = {};
  isa::Dim3 block = {};
  isa::Dim3 cluster = {0, 0, 0};  // 0: what the kernel asks for, or none
  std::size_t dynamic_shared_bytes = 0;
  std::uint32_t registers = 0;       // of each thread at the start, for setmaxnreg; 0: not known
  std::uint64_t grid_workspace = 0;  // eight bytes that cooperative groups count arrivals of a grid in
  std::function<void(std::string_view)> print = {};  // what kernels print; empty: to the standard output
  DeviceHeap* heap = nullptr;              // what malloc takes from; null: one that ends with the launch
  const TextureTable* textures = nullptr;  // that handles in parameters name; null: none
};

// The parameters of a launch, laid out as the kernel expects them: each at the next multiple of its alignment.
class PtxArguments {
 public:
  template <class T>
  void add(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>, "the parameters of a kernel are copied byte by byte");
    add_bytes(&value, sizeof(T), alignof(T));
  }
  void add_bytes(const void* value, std::size_t bytes, std::size_t alignment);

  const std::byte* data() const { return bytes_.data(); }
  std::size_t size() const { return bytes_.size(); }

 private:
  std::vector<std::byte> bytes_;
};

// What a module says about a kernel.
struct PtxEntry {
  std::string name;
  std::size_t parameter_bytes = 0;
  std::vector<std::size_t> parameter_offsets;
  std::vector<std::size_t> parameter_sizes;
  std::vector<std::string> parameter_names;
  std::vector<bool> parameter_is_float;  // .f16, .f32 or .f64, as nvcc writes what is no integer
  std::uint32_t max_threads = 0;         // 0: it does not say
  isa::Dim3 required_block = {0, 0, 0};
  isa::Dim3 required_cluster = {0, 0, 0};
  std::size_t static_shared_bytes = 0;
  std::size_t local_bytes = 0;
  std::size_t instructions = 0;
  // Why it cannot run: the first instruction, in it or in what it calls, that is not supported, with its line.
  // Empty if it can.
  std::string unsupported;
};

// A variable of a module, in global or constant memory. Its bytes live as long as the module.
struct PtxVariable {
  std::string name;
  void* address = nullptr;  // as kernels know it
  std::size_t bytes = 0;
  bool is_constant = false;
  std::size_t align = 1;
  bool is_managed = false;    // the host may touch it, by the same address
  std::byte* host = nullptr;  // where its bytes are
};

// Gives a variable of a module its address and its bytes, which are zero. Its name and the rest are known.
using PtxPlacing = std::function<void(PtxVariable& variable)>;

class PtxModule {
 public:
  // Throws InputError "name:line: ..." for text that is not PTX. An instruction that is not supported is no such
  // error: the entries that could come to it say so, and cannot be launched. `name` is what reports call it.
  // Variables lie in memory of the module's own unless `place` puts them elsewhere; then the memory that launches
  // are given must hold them.
  static PtxModule load(std::string text, std::string name = "module.ptx", const PtxPlacing& place = {});

  PtxModule(PtxModule&&) noexcept;
  PtxModule& operator=(PtxModule&&) noexcept;
  ~PtxModule();

  const std::vector<PtxEntry>& entries() const;
  const PtxEntry* find(std::string_view entry) const;  // null if there is none
  const std::vector<PtxVariable>& variables() const;
  std::string target() const;        // such as sm_90a
  bool launches_dependents() const;  // a kernel of it may let dependent launches begin before it is over

  // Throws InputError for an entry that does not exist or is not supported, parameters that do not fit, or a
  // launch that no GPU of the architecture would take; nothing is written then.
  Report launch(std::string_view entry, const LaunchOptions& options, const PtxLaunch& launch,
                const void* parameters, std::size_t parameter_bytes) const;
  Report launch(std::string_view entry, const LaunchOptions& options, const PtxLaunch& launch,
                const PtxArguments& arguments) const {
    return this->launch(entry, options, launch, arguments.data(), arguments.size());
  }

 private:
  struct State;
  explicit PtxModule(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// While it lives, sim::launch of a C++ kernel in this thread runs what nvcc made of the same kernel instead: the
// entry of `module` that isa::kernel_entry of the kernel's type was compiled to.
//
//   const sim::PtxModule module = sim::PtxModule::load(text, "copy.ptx");
//   const sim::PtxInstead instead(module);
//   sim::Report report = sim::launch<Copy>(options, shape, params);
class PtxInstead {
 public:
  explicit PtxInstead(const PtxModule& module);
  ~PtxInstead();
  PtxInstead(const PtxInstead&) = delete;
  PtxInstead& operator=(const PtxInstead&) = delete;

  std::size_t launches() const { return launches_; }

 private:
  friend Report launch_entry(const LaunchOptions& options, const LaunchShape& shape, const KernelEntry& entry,
                             const void* params);
  Report launch(const LaunchOptions& options, const LaunchShape& shape, const KernelEntry& entry,
                const void* params);

  const PtxModule* module_;
  PtxInstead* outer_;
  std::size_t launches_ = 0;
};

// The instruction forms that modules may use, as patterns: {a,b} stands for one of them, [a,b] for none or one,
// * for a number. docs/ptx.md is made from it.
std::vector<std::string> ptx_instruction_forms();

}  // namespace heddle::sim
