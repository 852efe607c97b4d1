// SPDX-License-Identifier: Apache-2.0
#include "runtime/copy_layouts.h"

#include "runtime/copy.h"
#include "runtime/message.h"

#include <algorithm>
#include <cstdint>

namespace heddle::runtime {

namespace {

enum : int { kHostMemory = 1, kDeviceMemory = 2, kArrayMemory = 3, kUnifiedMemory = 4 };

Error refuse_arrays() {
  say("a copy in three dimensions: CUDA arrays are not there");
  return Error::kNotSupported;
}

PitchedPointer pointer_of(const DriverCopy3D::Side& side) {
  return {side.memory_type == kHostMemory ? side.host : side.device, side.pitch, side.pitch, side.height};
}

std::size_t rows_of(const Box& box) { return box.pitch == 0 ? 0 : box.slice / box.pitch; }

DriverCopy3D::Side side_of(const Box& box) {
  DriverCopy3D::Side side = {};
  side.memory_type = kUnifiedMemory;
  side.device = box.begin;
  side.pitch = box.pitch;
  side.height = rows_of(box);
  return side;
}

}  // namespace

bool box_at(const PitchedPointer& pointer, const Position& position, Box& box) {
  std::size_t offset = 0;
  std::size_t row = 0;
  if (!multiply(pointer.pitch, pointer.height, box.slice) || !multiply(position.z, box.slice, offset) ||
      !multiply(position.y, pointer.pitch, row) || !add(offset, row, offset) ||
      !add(offset, position.x, offset)) {
    return false;
  }
  std::size_t begin = 0;
  if (!add(reinterpret_cast<std::uintptr_t>(pointer.begin), offset, begin)) return false;
  box.begin = reinterpret_cast<void*>(begin);
  box.pitch = pointer.pitch;
  return true;
}

Error work_of(const Copy3D& copy, CopyWork& work) {
  if (copy.from_array != nullptr || copy.to_array != nullptr) return refuse_arrays();
  const bool has_boxes =
      box_at(copy.to, copy.to_position, work.to) && box_at(copy.from, copy.from_position, work.from);
  work.extent = copy.extent;
  work.kind = copy.kind;
  return has_boxes ? Error::kSuccess : Error::kInvalidValue;
}

Error work_of(const DriverCopy3D& copy, CopyWork& work) {
  for (const DriverCopy3D::Side* side : {&copy.from, &copy.to}) {
    if (side->memory_type == kArrayMemory) return refuse_arrays();
    if (side->memory_type < kHostMemory || side->memory_type > kUnifiedMemory) return Error::kInvalidValue;
  }
  const bool has_boxes = box_at(pointer_of(copy.to), copy.to.position, work.to) &&
                         box_at(pointer_of(copy.from), copy.from.position, work.from);
  work.extent = copy.extent;
  const auto is_on_card = [](const DriverCopy3D::Side& side) { return side.memory_type == kDeviceMemory; };
  work.kind = is_on_card(copy.to) ? (is_on_card(copy.from) ? kDeviceToDevice : kDefault)
                                  : (is_on_card(copy.from) ? kDeviceToHost : kDefault);
  if (is_on_card(copy.to) && copy.from.memory_type == kHostMemory) work.kind = kHostToDevice;
  return has_boxes ? Error::kSuccess : Error::kInvalidValue;
}

Copy3D copy_3d_of(const CopyWork& work) {
  Copy3D copy = {};
  copy.to = {work.to.begin, work.to.pitch, work.to.pitch, rows_of(work.to)};
  copy.from = {work.from.begin, work.from.pitch, work.from.pitch, rows_of(work.from)};
  copy.extent = work.extent;
  copy.kind = work.kind;
  return copy;
}

DriverCopy3D driver_copy_3d_of(const CopyWork& work) {
  return {.from = side_of(work.from), .to = side_of(work.to), .extent = work.extent};
}

}  // namespace heddle::runtime
