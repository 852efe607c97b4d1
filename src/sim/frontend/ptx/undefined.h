// SPDX-License-Identifier: Apache-2.0
//
// Values that mean nothing: what was read of memory that nobody had written, or of a lane that gave nothing, or
// the first CTA that a refused request names. Reading them is no mistake; whoever uses one makes it. Registers
// carry, bit by bit, what of them is undefined, instructions pass it on, and a use is reported with the
// instruction that brought the value.
//
// Uses: in an address; to decide a branch, or whether something that others see is executed; as an operand of a
// barrier, a copy or the like; in a store or an atomic operation to global memory. Shared and local memory keep
// what they are given. Model: a warp without undefined values pays for one comparison at each instruction.
#pragma once

#include "sim/frontend/ptx/flow.h"

#include <array>
#include <cstdint>

namespace heddle::sim::ptx {

struct Accumulators;
struct Frame;
struct Instruction;
struct Warp;
enum class Space : std::uint8_t;

using UndefinedBits = std::array<std::uint64_t, 32>;  // by lane

// Where a value comes from that is not defined.
struct Origin {
  enum class Kind : std::uint8_t { kShared, kTmem, kGlobal, kLane, kRefusal };

  Kind kind = Kind::kShared;
  std::uint32_t tid = 0;  // of the thread that got it
  std::uint32_t cta = 0;  // kShared: whose memory it is, as index in the grid
  // kShared: of the first byte; kTmem: the cell's lane above its column; kLane: the lane that gave nothing.
  std::uint32_t offset = 0;
  std::uint64_t load = 0;    // kTmem: the load's number in the machine
  std::uint64_t global = 0;  // kGlobal: the address of the first byte
  const Instruction* instruction = nullptr;

  bool operator==(const Origin&) const = default;
};

struct UndefinedRow {
  std::uint32_t lanes = 0;  // in which some bit is undefined
  UndefinedBits bits = {};
  std::array<std::uint16_t, 32> origin = {};  // among those of the warp
};

// Of a register, in one lane.
struct Undefined {
  std::uint64_t bits = 0;
  std::uint16_t origin = 0;
};

Undefined undefined_of(const Frame& frame, std::uint32_t row, std::uint32_t lane);
void set_undefined(Warp& warp, Frame& frame, std::uint32_t row, std::uint32_t lane, const Undefined& value);
void set_defined(Warp& warp, Frame& frame, std::uint32_t row, std::uint32_t lanes);
void forget_frame(Warp& warp, Frame& frame);  // it begins anew
std::uint16_t note_origin(Warp& warp, const Origin& origin);

// Before an instruction, while some register of the warp is undefined. Those of the machine, and what their
// handlers do themselves, pass on nothing here.
void follow(Warp& warp, const Instruction& instruction, const Flow& flow, std::uint32_t mask);
// After one of the machine, for the lanes that are done.
void follow_results(Warp& warp, const Flow& flow, std::uint32_t done);

// What the registers hold that a tensor core or a tcgen05.ld has filled.
void take_back_undefined(Warp& warp, const Accumulators& set);

// Memory. `rows` are the elements, of so many bytes each.
void load_undefined(Warp& warp, std::uint32_t lane, Space space, std::uint64_t address, std::uint32_t bytes,
                    bool is_signed, const Instruction& instruction);
void store_undefined(Warp& warp, std::uint32_t lane, Space space, std::uint64_t address, std::uint32_t bytes,
                     const Instruction& instruction);
void copy_local_undefined(Warp& warp, std::uint32_t lane, std::uint64_t to, std::uint64_t from,
                          std::uint64_t bytes);
// Which of the bytes of global memory nobody has written, and a value of them.
std::uint32_t unwritten_in_global(const Warp& warp, std::uint64_t address, std::uint32_t bytes);
Undefined undefined_global_word(Warp& warp, std::uint32_t lane, std::uint64_t address, std::uint32_t unwritten,
                                const Instruction& instruction);
// The same of shared memory.
std::uint32_t unwritten_at(Warp& warp, std::uint32_t lane, std::uint64_t address, std::uint32_t bytes);
Undefined undefined_word(Warp& warp, std::uint32_t lane, std::uint64_t address, std::uint32_t unwritten,
                         const Instruction& instruction);

// Whether bits of a value that are not defined were read of global memory where it goes to now, as when a number
// of 4 bits is put among others: what was not defined there stays so, and nothing is used.
bool comes_from(const Warp& warp, const Undefined& value, std::uint64_t address, std::uint32_t bytes);
void unwrite_global(Warp& warp, std::uint64_t address, std::uint32_t bytes, std::uint64_t bits);

// Reports a value that is not defined.
void use_undefined(Warp& warp, std::uint32_t lane, const Instruction& instruction, std::uint16_t origin,
                   const char* how);

}  // namespace heddle::sim::ptx
