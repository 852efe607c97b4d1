// SPDX-License-Identifier: Apache-2.0
//
// What both versions of the kernels share, so that they differ only in how a stage is handed over.
#pragma once

#include <heddle/isa/memory.h>
#include <heddle/isa/tma.h>
#include <heddle/pipeline/pipeline.h>

#include <utility>

using namespace heddle;

inline constexpr std::uint32_t kStages = 4;
inline constexpr std::uint32_t kTileFloats = 1024;
inline constexpr std::uint32_t kTileBytes = kTileFloats * sizeof(float);

struct Tile {
  alignas(128) float value[kTileFloats];
};

// Two tiles go into a stage, as A and B do in a matmul.
struct Shared {
  Tile a[kStages];
  Tile b[kStages];
  SharedMemBarrier barriers[2 * kStages];
};

struct Args {
  const float* a;
  const float* b;
  float* out;
  std::uint32_t turns;
};

HEDDLE_DEVICE void load(Shared& shared, const Args& args, std::uint32_t turn, std::uint32_t stage, MbarPtr bar) {
  isa::cp_async_bulk_load(&shared.a[stage], args.a + turn * kTileFloats, kTileBytes, bar);
  isa::cp_async_bulk_load(&shared.b[stage], args.b + turn * kTileFloats, kTileBytes, bar);
}

HEDDLE_DEVICE float multiply(const Shared& shared, std::uint32_t stage, std::uint32_t thread) {
  return isa::ld_shared(&shared.a[stage].value[thread]) * isa::ld_shared(&shared.b[stage].value[thread]);
}
