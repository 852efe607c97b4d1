// SPDX-License-Identifier: Apache-2.0
//
// Device code of a program: its fat binaries, the kernels and variables that the host code has handles for, and
// the PTX that is chosen among what is embedded. Nothing is loaded before a kernel or a variable is asked for.
#pragma once

#include "runtime/error_code.h"
#include "runtime/memory.h"

#include <heddle/sim/ptx.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace heddle::runtime {

class Module;

struct Kernel {
  Module* module = nullptr;
  std::string name;                                    // mangled
  std::optional<std::size_t> max_dynamic_shared = {};  // as cudaFuncSetAttribute set it
  bool allows_nonportable_cluster = false;
  int carveout = -1;
  bool must_set_cluster = false;
};

// What the host calls a variable, and where it is. Known once the module is loaded.
struct Symbol {
  Module* module = nullptr;
  std::string name;
  std::size_t bytes = 0;
  void** managed = nullptr;  // where the host code keeps the address of a managed variable
};

class Module {
 public:
  // `image` is a fat binary or PTX that ends with a zero, and stays where it is. How long it is says its own
  // header, as far as the program has such bytes. Null: one that cannot be used.
  Module(std::string name, const void* image) : name_(std::move(name)), image_(image) {}
  // Relocatable device code: the image of each translation unit.
  Module(std::string name, std::vector<const void*> units) : name_(std::move(name)), units_(std::move(units)) {}
  // An image of its own. PTX need not end with a zero.
  Module(std::string name, std::vector<std::byte> image) : name_(std::move(name)), owned_(std::move(image)) {}

  // Chooses and decodes the PTX, once; says on the standard error why it cannot.
  Error load(Memory& memory);

  const sim::PtxModule* ptx() const { return ptx_ ? &*ptx_ : nullptr; }
  const sim::PtxEntry* entry(const Kernel& kernel) const { return ptx_ ? ptx_->find(kernel.name) : nullptr; }
  const sim::PtxVariable* variable(std::string_view name) const;

  // The kernel of this name; made when first asked for. Null if the module has none (it must be loaded).
  Kernel* kernel(const std::string& name);
  Kernel* declare(const std::string& name);

  std::uint64_t number = 0;     // never given again, as an address may be
  std::vector<Symbol> managed;  // of the module, to be told their address

 private:
  Error load_text(Memory& memory);
  Error decode(std::string text, Memory& memory);

  std::string name_;
  std::vector<std::byte> owned_;
  const void* image_ = nullptr;
  std::vector<const void*> units_;
  bool is_tried_ = false;
  Error error_ = Error::kSuccess;
  std::optional<sim::PtxModule> ptx_;
  std::map<std::string, std::unique_ptr<Kernel>> kernels_;
};

// Everything that was registered, by the host's handles.
class ModuleRegistry {
 public:
  Module* add(const void* image);
  Module* add(std::vector<std::byte> image);
  Module* add(std::vector<const void*> units);
  void remove(Module* module, Memory& memory);
  bool has(const Module* module) const;
  bool has(const Module* module, std::uint64_t number) const { return has(module) && module->number == number; }

  void add_kernel(Module* module, const void* handle, const std::string& name);
  void add_symbol(Module* module, const void* handle, Symbol symbol);

  // By the host function, or by the handle that __cudaGetKernel gave. Null if there is none.
  Kernel* find_kernel(const void* handle);
  const Symbol* find_symbol(const void* handle) const;

 private:
  Module* add(std::unique_ptr<Module> module);
  std::string next_name() const;

  std::vector<std::unique_ptr<Module>> modules_;
  std::uint64_t count_ = 0;  // so far
  std::unordered_map<const void*, Kernel*> kernels_;
  std::unordered_map<const void*, Symbol> symbols_;
};

}  // namespace heddle::runtime
