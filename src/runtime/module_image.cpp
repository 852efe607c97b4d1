// SPDX-License-Identifier: Apache-2.0
#include "runtime/module_image.h"

#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <iterator>

namespace heddle::runtime {

namespace {

constexpr std::uint32_t kWrapperMagic = 0x4662'43B1;
constexpr std::size_t kWrapperImage = 8;

}  // namespace

Error load_image(State& card, void** result, const void* image) {
  if (result == nullptr || image == nullptr) return Error::kInvalidValue;
  std::uint32_t magic = 0;
  std::memcpy(&magic, image, sizeof(magic));
  if (magic == kWrapperMagic) {
    std::memcpy(&image, static_cast<const std::byte*>(image) + kWrapperImage, sizeof(image));
  }
  Module* module = card.modules.add_copy(image);
  if (const Error error = module->load(card.memory); error != Error::kSuccess) {
    card.modules.remove(module, card.memory);
    return error;
  }
  *result = module;
  return Error::kSuccess;
}

Error load_image_file(State& card, void** result, const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    say(fmt::format("there is no file '{}' to load a module from", path));
    return Error::kFileNotFound;
  }
  const std::string image(std::istreambuf_iterator<char>(file), {});
  return load_image(card, result, image.c_str());
}

Error find_in_module(State& card, Module& module, void** result, const char* name) {
  if (result == nullptr || name == nullptr) return Error::kInvalidValue;
  Kernel* kernel = module.kernel(name);
  if (kernel == nullptr) return Error::kSymbolNotFound;
  card.modules.add_kernel(&module, kernel, name);
  *result = kernel;
  return Error::kSuccess;
}

}  // namespace heddle::runtime
