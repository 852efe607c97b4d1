// SPDX-License-Identifier: Apache-2.0
//
// Modules that a program loads itself, rather than having them registered by nvcc's code.
#pragma once

#include "runtime/state.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace heddle::runtime {

// What nvcc's code passes for each translation unit.
struct FatWrapper {
  static constexpr std::uint32_t kMagic = 0x4662'43B1;

  std::uint32_t magic;
  std::uint32_t version;  // 1, or 2 for relocatable device code that was linked
  const void* image;
  const void* const* prelinked;  // of version 2: an image for each translation unit, and null

  bool is_linked() const { return magic == kMagic && version != 1; }
  std::vector<const void*> units() const;  // of version 2
};

// PTX, a fat binary, or the structure of nvcc that points to one; it is copied. Loaded at once: the module, or
// the error.
Error load_image(State& card, void** module, const void* image);

// The bytes of an image in memory whose length nobody knows: what its header says, or up to the zero at its end,
// and never more than the program has there.
std::span<const std::byte> image_at(const void* begin);

// The same, from a file.
Error load_image_file(State& card, void** module, const char* path);

// The kernel of this name, with a handle that launches take.
Error find_in_module(State& card, Module& module, void** kernel, const char* name);

// The PTX of an image (PTX itself, or a fat binary) that suits the card best; says why there is none, unless
// others may make up for it.
Error choose_ptx(std::span<const std::byte> bytes, std::string& text, bool is_one_of_several = false);

// The whole of a regular file; nothing if it cannot be read, which it says.
std::optional<std::vector<std::byte>> read_file(const char* path);

}  // namespace heddle::runtime
