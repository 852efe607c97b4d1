// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of the copy engine's reductions, element by element.
//
// PTX: cp.reduce.async.bulk.tensor, cp.reduce.async.bulk, red.async.
#pragma once

#include <heddle/isa/tensor_map.h>
#include <heddle/isa/tma.h>

#include <cstddef>
#include <cstdint>

namespace heddle::sim::machine {

// Combines `bytes` of elements at `source` into those at `destination`.
using Reduction = void (*)(std::byte* destination, const std::byte* source, std::uint32_t bytes);

// Null where the engine has no such operation on that type: it adds u32, i32, u64, f32, f16 and bf16, takes
// the minimum and maximum of u32, i32, u64, i64, f16 and bf16, counts u32 up and down, and combines the bits
// of 32- and 64-bit integers.
Reduction find_reduction(isa::ReduceOp op, TensorType type);

// Of copies without a tensor map, which add f64, too.
Reduction find_flat_reduction(isa::ReduceOp op, TensorType type);

}  // namespace heddle::sim::machine
