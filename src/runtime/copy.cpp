// SPDX-License-Identifier: Apache-2.0
#include "runtime/copy.h"

#include <fmt/format.h>

#include <cstring>

namespace heddle::runtime {

namespace {

std::size_t extent(std::size_t pitch, std::size_t width, std::size_t height) {
  return height == 0 || width == 0 ? 0 : pitch * (height - 1) + width;
}

}  // namespace

bool is_on_card(const State& card, const void* begin, std::size_t bytes) {
  if (bytes == 0) return true;
  const Allocation* found = card.memory.find(begin);
  if (found == nullptr) {
    say(fmt::format("a copy or fill of {} bytes: {} is no memory of the card", bytes, begin));
    return false;
  }
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(begin) - found->begin);
  if (bytes > found->bytes - offset) {
    say(fmt::format("a copy or fill of {} bytes at byte {} of {}: {} fit", bytes, offset, found->name,
                    found->bytes - offset));
    return false;
  }
  return true;
}

Error copy(State& card, void* to, const void* from, std::size_t bytes, int kind) {
  return copy_rows(card, {static_cast<std::byte*>(to), bytes},
                   {static_cast<std::byte*>(const_cast<void*>(from)), bytes}, bytes, 1, kind);
}

Error copy_rows(State& card, const Rows& to, const Rows& from, std::size_t width, std::size_t height, int kind) {
  show_printed(card);
  if (kind < kHostToHost || kind > kDefault) return Error::kInvalidMemcpyDirection;
  if (width == 0 || height == 0) return Error::kSuccess;
  if (height > 1 && (to.pitch < width || from.pitch < width)) return Error::kInvalidPitch;
  if (to.begin == nullptr || from.begin == nullptr) return Error::kInvalidValue;
  const std::size_t to_bytes = extent(to.pitch, width, height);
  const std::size_t from_bytes = extent(from.pitch, width, height);
  const bool to_card = kind == kHostToDevice || kind == kDeviceToDevice ||
                       (kind == kDefault && card.memory.find(to.begin) != nullptr);
  const bool from_card = kind == kDeviceToHost || kind == kDeviceToDevice ||
                         (kind == kDefault && card.memory.find(from.begin) != nullptr);
  if (to_card && !is_on_card(card, to.begin, to_bytes)) return Error::kInvalidValue;
  if (from_card && !is_on_card(card, from.begin, from_bytes)) return Error::kInvalidValue;
  for (std::size_t row = 0; row < height; ++row) {
    std::memmove(to.begin + row * to.pitch, from.begin + row * from.pitch, width);
  }
  return Error::kSuccess;
}

Error fill(State& card, void* to, std::size_t pitch, int value, std::size_t width, std::size_t height) {
  if (width == 0 || height == 0) return Error::kSuccess;
  if (height > 1 && pitch < width) return Error::kInvalidPitch;
  if (!is_on_card(card, to, extent(pitch, width, height))) return Error::kInvalidValue;
  auto* begin = static_cast<std::byte*>(to);
  for (std::size_t row = 0; row < height; ++row) std::memset(begin + row * pitch, value, width);
  return Error::kSuccess;
}

}  // namespace heddle::runtime
