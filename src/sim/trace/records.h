// SPDX-License-Identifier: Apache-2.0
//
// What is known of a launch before it is drawn: who waited for what, who held which stage and what was in flight.
// A recorder makes it from the events of the simulated SM, traced.cpp from what a kernel has left on a GPU.
#pragma once

#include "sim/machine/machine.h"
#include "sim/trace/timeline.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace heddle::sim::trace {

// Who did something, and when.
struct Cause {
  enum class Kind : std::uint8_t { kNone, kWarp, kAsync };
  Kind kind = Kind::kNone;
  std::uint32_t index = 0;  // of the warp or the operation
  Time time = 0;
};

// What a thread waits for.
struct Awaited {
  enum class Kind : std::uint8_t {
    kBarrier,  // id: the barrier
    kNamed,    // id: which
    kCluster,
    kStores,
    kStoreSources,
    kWgmma,
    kAsyncCopies,
    kTmemLoads,
    kTmemStores,
    kFlag,  // memory that another thread writes
    kRegisters,
    kTmemColumns,
    kWarp,
    kKernelAhead
  };
  Kind kind = Kind::kBarrier;
  std::uint32_t id = 0;
  std::uint64_t phase = 0;

  friend bool operator==(const Awaited&, const Awaited&) = default;
};

// A tile of the output, as a kernel has named it; of none there is no m.
struct Tile {
  std::uint32_t m = kNoIndex;
  std::uint32_t n = kNoIndex;
  std::uint32_t number = 0;  // of the note among those of its lane, from 1
};

struct TileNote {
  Time time = 0;
  Tile tile = {};
};

struct WaitRecord {
  Awaited on;
  Time begin = 0;
  Time end = 0;
  Cause cause = {};
  CallSite site = {};
  bool is_open = false;
  Tile tile = {};
};

// A stage of a pipeline in the hands of a warp.
struct HoldRecord {
  std::uint32_t barrier = 0;  // whose phase gave it: full for a consumer, empty for a producer
  std::uint64_t phase = 0;
  Time begin = 0;
  Time end = 0;            // 0: not released
  std::uint32_t tile = 0;  // its number
};

struct WarpRecord {
  std::uint32_t cta = 0;  // index of the record
  std::uint32_t warp = 0;
  const char* role = "";
  bool issues_copies = false;
  bool issues_mmas = false;
  Time begin = 0;
  std::uint32_t live = 0;  // lanes
  std::array<Time, 32> now{};
  std::array<std::uint32_t, 32> steps{};
  std::array<std::vector<WaitRecord>, 32> waits;  // by lane
  std::uint32_t leader = 0;                       // the lane that has done most so far: it stands for the warp
  std::array<std::vector<TileNote>, 32> tiles;    // likewise
  std::vector<HoldRecord> holds;
  std::vector<std::uint32_t> open_holds;  // indices of the above, at most one for a barrier

  Tile tile_of(std::uint32_t lane) const { return tiles[lane].empty() ? Tile{} : tiles[lane].back().tile; }
  // From `time` on the lane works for that tile, or for none; false: it did already.
  bool begin_tile(std::uint32_t lane, Time time, std::uint32_t m, std::uint32_t n) {
    const Tile before = tile_of(lane);
    if (before.m == m && before.n == n) return false;
    const auto number = static_cast<std::uint32_t>(tiles[lane].size() + 1);
    tiles[lane].push_back({time, {m, n, number}});
    return true;
  }
};

struct AsyncRecord {
  enum class Kind : std::uint8_t { kLoad, kStore, kReduce, kToPeer, kClusterRequest, kMultiply };
  Kind kind = Kind::kLoad;
  std::uint32_t warp = 0;  // that issued it
  Time issued = 0;
  Time done = 0;
  std::uint32_t count = 0;
  std::uint32_t finished = 0;
  std::uint64_t bytes = 0;
  std::uint32_t barrier = kNoIndex;  // that is told
  std::uint64_t phase = 0;
  const char* text = "";
  CallSite site = {};
  Tile tile = {};
};

struct PhaseRecord {
  Time end = 0;
  Time first_pass = 0;
  std::uint32_t passed_by = kNoIndex;  // the warp
  bool is_over = false;
  Cause cause = {};
};

struct BarrierRecord {
  std::uint32_t cta = 0;
  std::uint32_t offset = 0;
  std::string name = {};  // "full of input[2]"
  machine::BarrierName parts = {};
  std::vector<PhaseRecord> phases = {};  // from the one before phase 0 on, which is over from the start
  // Of the phase that is under way.
  Time latest = 0;
  Cause latest_cause = {};
};

struct CtaRecord {
  std::uint32_t linear = 0;
  std::uint32_t rank = 0;
  std::uint32_t cluster = 0;
  std::uint32_t first_warp = 0;  // index of the record
  std::uint32_t warps = 0;
  struct Round {
    Time latest = 0;
    Cause cause = {};
    bool is_over = false;
  };
  std::array<Round, 16> named;
};

struct Records {
  std::string kernel;
  const Timing* timing = nullptr;
  std::uint32_t sms = 0;
  isa::Dim3 grid = {};
  std::vector<CtaRecord> ctas;
  std::vector<WarpRecord> warps;
  std::vector<AsyncRecord> operations;
  std::vector<BarrierRecord> barriers;
};

}  // namespace heddle::sim::trace
