// SPDX-License-Identifier: Apache-2.0
#include "runtime/copy.h"

#include "runtime/host_pages.h"
#include "runtime/host_work.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

namespace heddle::runtime {

namespace {

// The host's side of a copy is the program's own: it has to be there, and its ends to be reached. Whether all of
// it may be read is looked at from this size on, which is more often a mistake, and beside which looking takes no
// time.
constexpr std::size_t kLarge = std::size_t{1} << 30;

// From the first byte to the last one; false if that cannot be.
bool span_of(const Box& box, const Extent& extent, std::size_t& bytes) {
  std::size_t rows = 0;
  std::size_t slices = 0;
  return multiply(box.pitch, extent.height - 1, rows) && multiply(box.slice, extent.depth - 1, slices) &&
         add(rows, slices, bytes) && add(bytes, extent.width, bytes);
}

bool is_empty(const Extent& extent) { return extent.width == 0 || extent.height == 0 || extent.depth == 0; }

Error check_pitch(const Box& box, const Extent& extent) {
  if (extent.height > 1 && box.pitch < extent.width) return Error::kInvalidPitch;
  std::size_t rows = 0;
  if (!multiply(box.pitch, extent.height - 1, rows)) return Error::kInvalidValue;
  return extent.depth > 1 && (box.slice < rows || box.slice - rows < extent.width) ? Error::kInvalidPitch
                                                                                   : Error::kSuccess;
}

// Where this process reaches the bytes of a box: in an allocation, or, for the host's side, in the program's own
// memory. Null if they are not there, which it says. All bytes of the card that the host reads or writes are
// found here.
std::byte* reach(const State& card, const Box& box, const Extent& extent, bool must_be_on_card, bool is_written) {
  auto* begin = static_cast<std::byte*>(box.begin);
  std::size_t bytes = 0;
  std::size_t end = 0;
  if (begin == nullptr || !span_of(box, extent, bytes) ||
      !add(reinterpret_cast<std::uintptr_t>(begin), bytes, end)) {
    say(fmt::format("a copy or fill of {}x{}x{} bytes with a pitch of {} at {} goes past the last address",
                    extent.width, extent.height, extent.depth, box.pitch, box.begin));
    return nullptr;
  }
  const Allocation* found = card.memory.find(begin);
  const bool is_ours = found != nullptr && found->kind != MemoryKind::kRegistered;
  if (!must_be_on_card && !is_ours && !card.memory.is_card_address(begin)) {
    if (are_mapped(begin, bytes) && (bytes < kLarge || readable_bytes(begin) >= bytes) &&
        (is_written ? ends_are_writable(begin, bytes) : ends_are_readable(begin, bytes))) {
      return begin;
    }
    const std::size_t there = readable_bytes(begin);
    say(there < bytes
            ? fmt::format("a copy of {} bytes at {}: the program has {} there", bytes, box.begin, there)
            : fmt::format("a copy of {} bytes to {}, which the program may not write", bytes, box.begin));
    return nullptr;
  }
  if (found == nullptr) {
    const char* where = card.memory.is_card_address(begin) ? "lies at" : "is no memory of the card: it lies at";
    say(fmt::format("a copy or fill of {} bytes: {} {} {}", bytes, box.begin, where,
                    card.memory.describe(begin)));
    return nullptr;
  }
  const auto offset = static_cast<std::size_t>(begin - found->begin);
  if (bytes > found->bytes - offset) {
    say(fmt::format("a copy or fill of {} bytes at {}: {} fit", bytes, card.memory.describe(begin),
                    found->bytes - offset));
    return nullptr;
  }
  return found->host.get() + offset;
}

// Kernels find something there from now on.
void note_written(const State& card, const Box& to, const Extent& extent) {
  const auto begin = reinterpret_cast<std::uintptr_t>(to.begin);
  const sim::GlobalMemory::Region* region = card.memory.global().find(begin, extent.width);
  if (region == nullptr || region->written == nullptr) return;
  for (std::size_t z = 0; z < extent.depth; ++z) {
    for (std::size_t y = 0; y < extent.height; ++y)
      sim::GlobalMemory::note_written(*region, begin + z * to.slice + y * to.pitch, extent.width);
  }
}

// A call that is on no stream is on the legacy default one.
Error admit(State& card, bool& is_captured) {
  return card.captures.admit(card.stream.value_or(nullptr), is_captured);
}

// Where it goes; null where it cannot.
std::byte* reach_fill(const State& card, const Box& to, std::size_t unit, const Extent& extent) {
  const bool is_legal =
      check_pitch(to, extent) == Error::kSuccess && reinterpret_cast<std::uintptr_t>(to.begin) % unit == 0;
  return is_legal ? reach(card, to, extent, true, true) : nullptr;
}

}  // namespace

bool multiply(std::size_t a, std::size_t b, std::size_t& result) {
  return !__builtin_mul_overflow(a, b, &result);
}

bool add(std::size_t a, std::size_t b, std::size_t& result) { return !__builtin_add_overflow(a, b, &result); }

Error copy(State& card, void* to, const void* from, std::size_t bytes, int kind) {
  return copy_box(card, {.begin = to}, {.begin = const_cast<void*>(from)}, {.width = bytes}, kind);
}

Error copy_box(State& card, const Box& to, const Box& from, const Extent& extent, int kind) {
  show_printed(card);
  card.memory.drop_unmapped();
  if (is_empty(extent)) return Error::kSuccess;
  if (kind < kHostToHost || kind > kDefault) return Error::kInvalidMemcpyDirection;
  for (const Box* box : {&to, &from}) {
    if (const Error error = check_pitch(*box, extent); error != Error::kSuccess) return error;
  }
  const bool to_card = kind == kHostToDevice || kind == kDeviceToDevice;
  const bool from_card = kind == kDeviceToHost || kind == kDeviceToDevice;
  std::byte* target = reach(card, to, extent, to_card, true);
  const std::byte* source = reach(card, from, extent, from_card, false);
  if (target == nullptr || source == nullptr) return Error::kInvalidValue;
  bool is_captured = false;
  if (const Error error = admit(card, is_captured); error != Error::kSuccess) return error;
  if (is_captured) return card.captures.add(card.graphs, *card.stream, CopyWork{to, from, extent, kind});
  if (const Error error = order_host_work(card, to, from, extent); error != Error::kSuccess) return error;
  for (std::size_t z = 0; z < extent.depth; ++z) {
    for (std::size_t y = 0; y < extent.height; ++y) {
      std::memmove(target + z * to.slice + y * to.pitch, source + z * from.slice + y * from.pitch, extent.width);
    }
  }
  note_written(card, to, extent);
  return Error::kSuccess;
}

Error check_copy(const State& card, const CopyWork& work) {
  if (is_empty(work.extent)) return Error::kInvalidValue;
  for (const Box* box : {&work.to, &work.from}) {
    if (check_pitch(*box, work.extent) != Error::kSuccess) return Error::kInvalidValue;
  }
  const bool to_card = work.kind == kHostToDevice || work.kind == kDeviceToDevice;
  const bool from_card = work.kind == kDeviceToHost || work.kind == kDeviceToDevice;
  const bool is_there = reach(card, work.to, work.extent, to_card, true) != nullptr &&
                        reach(card, work.from, work.extent, from_card, false) != nullptr;
  return is_there ? Error::kSuccess : Error::kInvalidValue;
}

Error check_fill(const State& card, const FillWork& work) {
  const bool is_legal =
      !is_empty(work.extent) && reach_fill(card, work.to, work.value.size(), work.extent) != nullptr;
  return is_legal ? Error::kSuccess : Error::kInvalidValue;
}

Error fill_box(State& card, const Box& to, std::span<const std::byte> value, const Extent& extent) {
  if (is_empty(extent)) return Error::kSuccess;
  std::byte* target = reach_fill(card, to, value.size(), extent);
  if (target == nullptr) return Error::kInvalidValue;
  bool is_captured = false;
  if (const Error error = admit(card, is_captured); error != Error::kSuccess) return error;
  if (is_captured) {
    return card.captures.add(card.graphs, *card.stream, FillWork{to, {value.begin(), value.end()}, extent});
  }
  if (const Error error = order_host_work(card, to, {}, extent); error != Error::kSuccess) return error;
  for (std::size_t z = 0; z < extent.depth; ++z) {
    for (std::size_t y = 0; y < extent.height; ++y) {
      std::byte* row = target + z * to.slice + y * to.pitch;
      if (value.size() == 1) {
        std::memset(row, static_cast<int>(value[0]), extent.width);
        continue;
      }
      for (std::size_t x = 0; x < extent.width; x += value.size())
        std::memcpy(row + x, value.data(), value.size());
    }
  }
  note_written(card, to, extent);
  return Error::kSuccess;
}

Error fill(State& card, void* to, int value, std::size_t bytes) {
  const std::array byte = {static_cast<std::byte>(value)};
  return fill_box(card, {.begin = to}, byte, {.width = bytes});
}

}  // namespace heddle::runtime
