// SPDX-License-Identifier: Apache-2.0
//
// Copies of boxes as CUDA's headers lay them out: the runtime's and the driver's.
#pragma once

#include "runtime/error_code.h"
#include "runtime/work.h"

#include <cstddef>

namespace heddle::runtime {

struct PitchedPointer {
  void* begin;
  std::size_t pitch;
  std::size_t width;
  std::size_t height;
};

struct Position {
  std::size_t x;
  std::size_t y;
  std::size_t z;
};

// cudaMemcpy3DParms
struct Copy3D {
  void* from_array;
  Position from_position;
  PitchedPointer from;
  void* to_array;
  Position to_position;
  PitchedPointer to;
  Extent extent;
  int kind;
};
static_assert(sizeof(Copy3D) == 160);

// CUDA_MEMCPY3D
struct DriverCopy3D {
  struct Side {
    Position position;
    std::size_t level;
    int memory_type;  // 1: host, 2: device, 3: array, 4: whatever the address says
    void* host;
    void* device;
    void* array;
    void* reserved;
    std::size_t pitch;
    std::size_t height;
  };
  Side from;
  Side to;
  Extent extent;
};
static_assert(sizeof(DriverCopy3D) == 200);

// The box that begins at `position`; false if no memory could hold it.
bool box_at(const PitchedPointer& pointer, const Position& position, Box& box);

// Of arrays, those of the card.
Error work_of(const Copy3D& copy, CopyWork& work);
Error work_of(const DriverCopy3D& copy, CopyWork& work);

// The other way.
Copy3D copy_3d_of(const CopyWork& work);
DriverCopy3D driver_copy_3d_of(const CopyWork& work);

}  // namespace heddle::runtime
