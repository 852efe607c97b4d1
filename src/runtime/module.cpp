// SPDX-License-Identifier: Apache-2.0
#include "runtime/module.h"

#include "runtime/fat_binary.h"
#include "runtime/message.h"
#include "runtime/module_image.h"
#include "runtime/options.h"

#include <heddle/host/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

namespace heddle::runtime {

namespace {

constexpr char kElfMagic[4] = {0x7F, 'E', 'L', 'F'};

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "nothing" : text;
}

}  // namespace

Error Module::load(Memory& memory) {
  if (is_tried_) return error_;
  is_tried_ = true;
  try {
    error_ = choose(memory);
  } catch (const InputError& error) {
    say(error.what());
    error_ = Error::kInvalidKernelImage;
  } catch (const std::bad_alloc&) {
    error_ = Error::kMemoryAllocation;
  }
  if (error_ != Error::kSuccess) {
    memory.remove_owned(this);
    return error_;
  }
  for (const Symbol& symbol : managed) {
    if (const sim::PtxVariable* found = variable(symbol.name); found != nullptr) *symbol.managed = found->address;
  }
  return error_;
}

Error Module::choose(Memory& memory) {
  if (image_ == nullptr && owned_.empty()) {
    say("the program was built with relocatable device code (-rdc=true), whose PTX is not linked here. Build "
        "it with -rdc=false");
    return Error::kNoKernelImageForDevice;
  }
  const std::span<const std::byte> bytes = owned_.empty() ? image_at(image_) : std::span(std::as_const(owned_));
  if (bytes.size() >= sizeof(kElfMagic) && std::memcmp(bytes.data(), kElfMagic, sizeof(kElfMagic)) == 0) {
    say("a module is machine code, which cannot be run; give PTX, or a fat binary that has some");
    return Error::kNoKernelImageForDevice;
  }
  if (!is_fat_binary(bytes)) {
    const auto* text = reinterpret_cast<const char*>(bytes.data());
    return decode(std::string(text, strnlen(text, bytes.size())), memory);
  }
  const std::uint32_t arch = options().sm();
  std::string best_text;
  PtxTarget best;
  std::vector<std::string> embedded;
  for (const FatImage& image : read_fat_binary(bytes)) {
    if (image.kind == FatImage::Kind::kMachineCode)
      embedded.push_back(fmt::format("machine code for sm_{}", image.arch));
    if (image.kind != FatImage::Kind::kPtx) continue;
    std::string text = unpack_ptx(image);
    const PtxTarget target = ptx_target(text);
    embedded.push_back("PTX for " + target.name());
    if (!can_run(target, arch) || (best.arch != 0 && !is_better(target, best))) continue;
    best = target;
    best_text = std::move(text);
  }
  if (best.arch == 0) {
    say(
        fmt::format("the program has no PTX that sm_{} can run. It has {}. Compile it with "
                    "-gencode arch=compute_{}a,code=compute_{}a, or choose --arch",
                    arch, list_of(embedded), arch, arch));
    return Error::kNoKernelImageForDevice;
  }
  return decode(std::move(best_text), memory);
}

Error Module::decode(std::string text, Memory& memory) {
  const auto place = [&](sim::PtxVariable& variable) {
    const bool is_known_to_host = std::any_of(managed.begin(), managed.end(),
                                              [&](const Symbol& symbol) { return symbol.name == variable.name; });
    const Allocation& made = memory.add_variable({.name = variable.name,
                                                  .bytes = variable.bytes,
                                                  .align = variable.align,
                                                  .is_writable = !variable.is_constant,
                                                  .is_managed = variable.is_managed || is_known_to_host,
                                                  .owner = this});
    variable.address = made.begin;
    variable.host = made.host.get();
  };
  try {
    ptx_ = sim::PtxModule::load(std::move(text), name_, place);
    return Error::kSuccess;
  } catch (const InputError& error) {
    say(error.what());
    return Error::kInvalidPtx;
  }
}

const sim::PtxVariable* Module::variable(std::string_view name) const {
  if (!ptx_) return nullptr;
  for (const sim::PtxVariable& one : ptx_->variables()) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

Kernel* Module::declare(const std::string& name) {
  std::unique_ptr<Kernel>& slot = kernels_[name];
  if (slot == nullptr) slot = std::make_unique<Kernel>(Kernel{.module = this, .name = name});
  return slot.get();
}

Kernel* Module::kernel(const std::string& name) {
  return ptx_ && ptx_->find(name) != nullptr ? declare(name) : nullptr;
}

Module* ModuleRegistry::add(const void* image) {
  modules_.push_back(std::make_unique<Module>(fmt::format("module {}", modules_.size() + 1), image));
  return modules_.back().get();
}

Module* ModuleRegistry::add(std::vector<std::byte> image) {
  modules_.push_back(std::make_unique<Module>(fmt::format("module {}", modules_.size() + 1), std::move(image)));
  return modules_.back().get();
}

void ModuleRegistry::remove(Module* module, Memory& memory) {
  memory.remove_owned(module);
  std::erase_if(kernels_, [&](const auto& item) { return item.second->module == module; });
  std::erase_if(symbols_, [&](const auto& item) { return item.second.module == module; });
  std::erase_if(modules_, [&](const auto& one) { return one.get() == module; });
}

bool ModuleRegistry::has(const Module* module) const {
  return std::any_of(modules_.begin(), modules_.end(), [&](const auto& one) { return one.get() == module; });
}

void ModuleRegistry::add_kernel(Module* module, const void* handle, const std::string& name) {
  Kernel* kernel = module->declare(name);
  kernels_[handle] = kernel;
  kernels_[kernel] = kernel;
}

void ModuleRegistry::add_symbol(Module* module, const void* handle, Symbol symbol) {
  symbol.module = module;
  if (symbol.managed != nullptr) module->managed.push_back(symbol);
  symbols_[handle] = std::move(symbol);
}

Kernel* ModuleRegistry::find_kernel(const void* handle) {
  const auto found = kernels_.find(handle);
  return found == kernels_.end() ? nullptr : found->second;
}

const Symbol* ModuleRegistry::find_symbol(const void* handle) const {
  const auto found = symbols_.find(handle);
  return found == symbols_.end() ? nullptr : &found->second;
}

}  // namespace heddle::runtime
