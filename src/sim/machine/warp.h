// SPDX-License-Identifier: Apache-2.0
//
// Warp-wide instructions: lanes that meet, exchange registers and go on together.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <heddle/isa/target.h>

namespace heddle::sim::machine {

enum class WarpOp : std::uint8_t {
  kSync,
  kElect,
  kShflIdx,
  kShflUp,
  kShflDown,
  kShflBfly,
  kBallot,
  kShfl,  // of the front end that exchanges the registers itself, like the next three
  kVote,
  kMatch,
  kRedux,
  kStmatrix,
  kLdmatrix,
  kMma,
  kMovmatrix,
  kWmma,
  kWgmmaFence,
  kWgmmaMma,
  kWgmmaCommit,
  kWgmmaWait,
  kSetmaxnreg,
  kTmemAlloc,
  kTmemDealloc,
  kTmemRelinquish,
  kTmemLd,
  kTmemSt,
  kTmemWaitLd,
  kTmemWaitSt
};

const char* name_of(WarpOp op);

// Whether the whole warp must execute it. The others wait for the lanes of their mask that have not exited.
bool is_aligned(WarpOp op);

// What a shuffle reads of a lane that has exited. Not zero: a kernel that relies on zeros must show it.
inline constexpr std::uint32_t kNoValue = 0xA5A5A5A5;

// Lanes of one warp that wait for the rest of their mask.
struct Rendezvous {
  WarpOp op;
  std::uint32_t mask;
  std::uint32_t arrived = 0;
  CallSite site = {};  // of the lane that came first
  std::array<std::uint32_t, 32> value = {};
  std::array<std::uint32_t, 32> operand = {};

  // What lane `lane` gets once all have arrived.
  std::uint32_t result(std::uint32_t lane) const;
};

struct Warp {
  std::vector<Rendezvous> meetings;  // more than one where lanes have diverged
  std::uint32_t exist = 0;           // fewer than 32 lanes only in the last warp of a CTA
  std::uint32_t live = 0;            // lanes that exist and have not exited

  // Another meeting that waits for lanes of this one, which waits for its lanes: neither can end. Null: there is
  // none.
  const Rendezvous* crossed(const Rendezvous& meeting) const;
};

}  // namespace heddle::sim::machine
