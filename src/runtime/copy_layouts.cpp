// SPDX-License-Identifier: Apache-2.0
#include "runtime/copy_layouts.h"

#include "runtime/arrays.h"
#include "runtime/copy.h"
#include "runtime/state.h"

#include <algorithm>
#include <cstdint>

namespace heddle::runtime {

namespace {

enum : int { kHostMemory = 1, kDeviceMemory = 2, kArrayMemory = 3, kUnifiedMemory = 4 };

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

// Also of one row alone.
bool fits_in_row(const PitchedPointer& pointer, const Position& position, const Extent& extent) {
  const bool is_empty = extent.width == 0 || extent.height == 0 || extent.depth == 0;
  return is_empty || (position.x <= pointer.pitch && extent.width <= pointer.pitch - position.x);
}

// The box of a side that is an array, or memory.
bool side_box(const Array* array, const PitchedPointer& pointer, const Position& position, const Extent& extent,
              Box& box) {
  if (array == nullptr) return fits_in_row(pointer, position, extent) && box_at(pointer, position, box);
  std::size_t x = 0;
  return multiply(position.x, array->element_bytes, x) && array->box_at(x, position.y, position.z, extent, box);
}

bool side_box(const DriverCopy3D::Side& side, const Extent& extent, Box& box) {
  if (side.memory_type != kArrayMemory) return box_at(pointer_of(side), side.position, box);
  const Array& array = *state().arrays.find(side.array);
  return array.box_at(side.position.x, side.position.y, side.position.z, extent, box);
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
  const Arrays& arrays = state().arrays;
  const Array* to = arrays.find(copy.to_array);
  const Array* from = arrays.find(copy.from_array);
  if ((copy.to_array != nullptr && to == nullptr) || (copy.from_array != nullptr && from == nullptr)) {
    return Error::kInvalidHandle;
  }
  if ((to != nullptr && copy.to.begin != nullptr) || (from != nullptr && copy.from.begin != nullptr)) {
    return Error::kInvalidValue;
  }
  if (to != nullptr && from != nullptr && to->element_bytes != from->element_bytes) return Error::kInvalidValue;
  work.extent = copy.extent;
  work.kind = copy.kind;
  // Where an array takes part the width is in its elements, and its position, too.
  const Array* either = to != nullptr ? to : from;
  if (either != nullptr && !multiply(copy.extent.width, either->element_bytes, work.extent.width)) {
    return Error::kInvalidValue;
  }
  const bool has_boxes = side_box(to, copy.to, copy.to_position, work.extent, work.to) &&
                         side_box(from, copy.from, copy.from_position, work.extent, work.from);
  return has_boxes ? Error::kSuccess : Error::kInvalidValue;
}

Error work_of(const DriverCopy3D& copy, CopyWork& work) {
  for (const DriverCopy3D::Side* side : {&copy.from, &copy.to}) {
    if (side->memory_type == kArrayMemory && state().arrays.find(side->array) == nullptr) {
      return Error::kInvalidHandle;
    }
    if (side->memory_type < kHostMemory || side->memory_type > kUnifiedMemory) return Error::kInvalidValue;
  }
  const bool has_boxes = side_box(copy.to, copy.extent, work.to) && side_box(copy.from, copy.extent, work.from);
  work.extent = copy.extent;
  const auto is_on_card = [](const DriverCopy3D::Side& side) {
    return side.memory_type == kDeviceMemory || side.memory_type == kArrayMemory;
  };
  work.kind = is_on_card(copy.to) ? (is_on_card(copy.from) ? kDeviceToDevice : kDefault)
                                  : (is_on_card(copy.from) ? kDeviceToHost : kDefault);
  if (is_on_card(copy.to) && copy.from.memory_type == kHostMemory) work.kind = kHostToDevice;
  return has_boxes ? Error::kSuccess : Error::kInvalidValue;
}

Copy3D copy_3d_of(const CopyWork& work) {
  Copy3D copy = {};
  // A row alone needs no pitch, but it has to fit in one when the program hands this back.
  const auto pointer = [&](const Box& box) {
    const std::size_t pitch = box.pitch == 0 ? work.extent.width : box.pitch;
    return PitchedPointer{box.begin, pitch, pitch, rows_of(box)};
  };
  copy.to = pointer(work.to);
  copy.from = pointer(work.from);
  copy.extent = work.extent;
  copy.kind = work.kind;
  return copy;
}

DriverCopy3D driver_copy_3d_of(const CopyWork& work) {
  return {.from = side_of(work.from), .to = side_of(work.to), .extent = work.extent};
}

}  // namespace heddle::runtime
