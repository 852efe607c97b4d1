// SPDX-License-Identifier: Apache-2.0
//
// A record of what a warp did on the GPU, as a kernel built with HEDDLE_TRACE writes it. Each warp has a row of
// them: some that stay (its role, the names of barriers), and a ring of the newest others.
#pragma once

#include <heddle/isa/target.h>

#include <cstdint>

namespace heddle {

enum class TraceEvent : std::uint8_t {
  kNone,      // nothing was written here
  kBegin,     // value: the SM; time as kAnchor
  kEnd,       // time as kAnchor
  kAnchor,    // ns of the GPU's timer, in place of the clock; the record before it has the clock
  kRole,      // detail: letters of its name
  kBarriers,  // value: offset of the first; detail: BarrierRole, number of barriers, letters of the ring's name
  kText,      // eight letters of the name before, in place of the clock
  kPass,      // a wait is over; detail: WaitedFor and for what; value: how long it was
  kArrive,    // value: the barrier's offset; detail: how many bytes are to come
  kMultiply,  // a group of wgmma is committed
  kTile,      // what follows is for a tile of the output; value: its place along M; detail: along N
  kTileEnd    // that tile is done with
};

enum class WaitedFor : std::uint8_t {
  kBarrier,  // which: its offset, in eights; and the parity
  kNamed,    // which: its number
  kCluster,
  kStores,
  kStoreSources,
  kWgmma,  // which: groups that may still be under way
  kKernelAhead
};

struct alignas(16) TraceRecord {
  std::uint64_t clock;  // of the SM
  std::uint32_t what;   // TraceEvent in the low byte, the detail above it
  std::uint32_t value;
};

HEDDLE_HOST_DEVICE constexpr std::uint32_t pack_record(TraceEvent event, std::uint32_t detail) {
  return static_cast<std::uint32_t>(event) | detail << 8;
}
// Detail of a wait: what for in three bits, the parity in one, which one in the rest.
HEDDLE_HOST_DEVICE constexpr std::uint32_t pack_wait(WaitedFor what, std::uint32_t which,
                                                     std::uint32_t parity = 0) {
  return static_cast<std::uint32_t>(what) | parity << 3 | which << 4;
}
// Detail of barriers: the role in two bits, how many in ten, letters in the rest.
HEDDLE_HOST_DEVICE constexpr std::uint32_t pack_barriers(std::uint32_t role, std::uint32_t count,
                                                         std::uint32_t letters) {
  return role | count << 2 | letters << 12;
}

// Records that stay, at the beginning of a warp's row.
inline constexpr std::uint32_t kTraceKept = 64;
// Letters of a name; what is longer is cut.
inline constexpr std::uint32_t kTraceLetters = 32;

}  // namespace heddle
