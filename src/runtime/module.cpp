// SPDX-License-Identifier: Apache-2.0
#include "runtime/module.h"

#include "runtime/device.h"
#include "runtime/message.h"
#include "runtime/module_image.h"
#include "runtime/ptx_link.h"

#include <heddle/host/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

namespace heddle::runtime {

namespace {

// What an assembler refuses, for all kernels of the module.
Error check_shared(const sim::PtxModule& module) {
  for (const sim::PtxEntry& entry : module.entries()) {
    if (entry.static_shared_bytes <= kDefaultShared) continue;
    say(fmt::format("the kernel {} has {} bytes of static shared memory; {} are allowed, and more of dynamic",
                    readable(entry.name), entry.static_shared_bytes, kDefaultShared));
    return Error::kInvalidPtx;
  }
  return Error::kSuccess;
}

}  // namespace

Error Module::load(Memory& memory) {
  if (is_tried_) return error_;
  is_tried_ = true;
  try {
    error_ = load_text(memory);
  } catch (const InputError& error) {
    say(error.what());
    error_ = Error::kInvalidKernelImage;
  } catch (const std::bad_alloc&) {
    is_tried_ = false;  // there may be memory the next time
    ptx_.reset();
    memory.remove_owned(this);
    return Error::kMemoryAllocation;
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

Error Module::load_text(Memory& memory) {
  if (image_ == nullptr && owned_.empty() && units_.empty()) return Error::kNoKernelImageForDevice;
  if (units_.empty()) {
    std::string text;
    const Error error = choose_ptx(owned_.empty() ? image_at(image_) : std::span(std::as_const(owned_)), text);
    return error != Error::kSuccess ? error : decode(std::move(text), memory);
  }
  // nvcc adds a library of its own, whose PTX is for another card. What is missed then is missed by its name.
  std::vector<std::string> texts;
  for (const void* unit : units_) {
    std::string text;
    const Error error = choose_ptx(image_at(unit), text, true);
    if (error == Error::kSuccess) texts.push_back(std::move(text));
    if (error != Error::kSuccess && error != Error::kNoKernelImageForDevice) return error;
  }
  if (texts.empty()) {
    std::string text;
    return choose_ptx(image_at(units_.front()), text);  // says why
  }
  return decode(link_ptx(texts), memory);
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
  // Without this the driver does not take it for PTX.
  const bool is_ptx = text.find(".version") != std::string::npos;
  try {
    ptx_ = sim::PtxModule::load(std::move(text), name_, place);
    return check_shared(*ptx_);
  } catch (const InputError& error) {
    say(error.what());
    return is_ptx ? Error::kInvalidPtx : Error::kInvalidKernelImage;
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

std::string ModuleRegistry::next_name() const { return fmt::format("module {}", modules_.size() + 1); }

Module* ModuleRegistry::add(std::unique_ptr<Module> module) {
  modules_.push_back(std::move(module));
  modules_.back()->number = ++count_;
  return modules_.back().get();
}

Module* ModuleRegistry::add(const void* image) { return add(std::make_unique<Module>(next_name(), image)); }

Module* ModuleRegistry::add(std::vector<std::byte> image) {
  return add(std::make_unique<Module>(next_name(), std::move(image)));
}

Module* ModuleRegistry::add(std::vector<const void*> units) {
  return add(std::make_unique<Module>(next_name(), std::move(units)));
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
