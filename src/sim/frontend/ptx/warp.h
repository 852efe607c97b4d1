// SPDX-License-Identifier: Apache-2.0
//
// A warp of a PTX kernel: the registers and places of its lanes. Lanes that stand at the same instruction of
// the same call run together; each of them blocks and wakes on its own, as a thread of the machine.
#pragma once

#include "sim/frontend/ptx/program.h"
#include "sim/frontend/ptx/undefined.h"
#include "sim/machine/machine.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace heddle::sim::ptx {

class Interpreter;

// The instruction that made a register's value, and how many fences of its warp come before the one that it
// needs.
struct RegisterChange {
  const Instruction* by = nullptr;
  std::uint64_t fence = 0;
};

// One call of a function by some lanes of a warp.
struct Frame {
  const Function* function = nullptr;
  Frame* parent = nullptr;
  const Instruction* call = nullptr;
  std::uint32_t return_pc = 0;
  std::uint32_t depth = 0;
  std::uint32_t lanes = 0;  // that have not returned
  std::uint64_t local_base = 0;
  std::vector<Row> rows;
  std::vector<std::unique_ptr<UndefinedRow>> undefined;  // by row; empty while none is
  std::vector<std::uint8_t> in_flight;                   // by row: an InFlight; empty while none was
  std::vector<RegisterChange> changes;                   // by row, of those that a wgmma takes
};

// What a row is to an instruction that has been issued and not waited for.
enum InFlight : std::uint8_t { kResult = 1, kFragment = 2 };

// A of a wgmma from registers, as it was when it was issued.
struct Fragment {
  Frame* frame = nullptr;
  const Instruction* wgmma = nullptr;
  const Instruction* writer = nullptr;  // the last that wrote one of the registers since
  std::uint64_t number = 0;             // of the operation, as its warp counts
  std::array<std::uint32_t, 32 * 4> words = {};
};

// Registers that an instruction fills long after it was issued, as the machine wants them: those of a lane side
// by side. They are the accumulators of a wgmma, or what a tcgen05.ld reads. Until they were waited for, the rows
// of the registers hold what the machine left there.
struct Accumulators {
  // Bits of an element that a register stands for.
  struct Part {
    std::uint32_t element;
    std::uint32_t from = 0;
    std::uint32_t bits = 32;
    std::uint32_t to = 0;  // in the register

    bool operator==(const Part&) const = default;
  };
  struct Alias {
    std::uint32_t row;
    Part part;
  };

  Frame* frame = nullptr;
  std::vector<std::uint32_t> rows;
  std::vector<std::uint32_t> words;  // [lane][row]
  // Rows that were copied from these in flight, whole or in parts. Compilers of PTX write such copies freely, and
  // the assembler removes them.
  std::vector<Alias> aliases;
  std::vector<std::uint64_t> operations;         // what fills them: multiplications, or one load
  std::vector<machine::WgmmaOperands> operands;  // of the multiplications
  std::array<std::uint32_t, 2> taddr = {};       // of a load: its addresses, with their lanes
  TmemShape shape = TmemShape::k32x32b;          // likewise
  bool has_halves = false;                       // likewise: of two columns in a register
  bool in_flight = false;
  bool is_tmem_load = false;                 // they come from tensor memory
  const Instruction* instruction = nullptr;  // the last that was issued with them

  std::vector<Part> parts_of(std::uint32_t row) const;  // what of them a register holds
  bool has(std::uint32_t row) const;                    // some of it
  std::uint32_t element_of(std::uint32_t row) const;    // kNone if it is not one as a whole
};

struct Warp {
  Interpreter* interpreter = nullptr;
  machine::Machine* machine = nullptr;
  machine::Thread* threads = nullptr;  // by lane
  std::uint32_t exist = 0;
  std::array<std::uint32_t, 32> pc = {};
  std::array<Frame*, 32> frame_of = {};
  std::array<std::uint8_t, 32> step = {};  // how far a lane has come within an instruction
  // Where each lane came to the cluster barrier last, and in which round.
  struct ClusterStep {
    const Instruction* by = nullptr;
    std::uint64_t round = 0;
  };
  using ClusterSteps = std::array<ClusterStep, 32>;
  ClusterSteps cluster_arrived = {};
  ClusterSteps cluster_waited = {};

  // Of the lanes that run now.
  Frame* frame = nullptr;
  Row* rows = nullptr;
  std::uint32_t active = 0;

  bool gives_way = false;  // a test has failed: others shall go on before it is repeated
  bool is_fair = false;    // its last turn ended without a lane blocking: the schedule alone says who goes next
  std::uint32_t clock_looks = 0;  // in a row, with nothing of the machine between them
  std::uint64_t first_clock_look = 0;
  std::vector<std::unique_ptr<Frame>> frames;
  std::vector<std::byte> local;    // local memory, lane after lane
  std::uint64_t local_stride = 0;  // from one lane's to the next
  std::uint64_t local_limit = 0;   // bytes of it that calls so far have needed
  std::vector<std::unique_ptr<Accumulators>> accumulators;
  std::uint32_t accumulators_in_flight = 0;
  std::uint64_t wgmma_fences = 0;    // that it has executed
  std::vector<Fragment> fragments;   // of wgmmas in flight
  std::uint32_t undefined_rows = 0;  // of all its frames
  std::vector<Origin> origins;
  std::unordered_map<std::uint64_t, Undefined> local_undefined;
  // What lanes exchange in a warp-wide instruction. They may stand at different ones of a kind, in different
  // calls.
  std::array<std::uint64_t, 32> given = {}, operand = {}, received = {};
  std::array<Undefined, 32> given_undefined = {}, operand_undefined = {}, received_undefined = {};
  std::array<std::uint32_t, 32> members = {}, clamp = {};
  std::array<const Instruction*, 32> exchange = {};
  std::uint32_t doubtful = 0;  // lanes that may receive something undefined
  std::uint32_t open = 0;      // lanes that have given something, and whose result is not yet known
  std::array<machine::WgmmaOperands, 32> wgmma = {};
  std::array<machine::MatrixOperands, 32> matrix = {};
  std::array<std::array<std::uint32_t, 4>, 32> matrix_registers = {};
  std::array<machine::TmemOperands, 32> tmem = {};
  bool matrix_doubtful = false;           // a ldmatrix has read what nobody has written
  std::vector<std::uint32_t> tmem_words;  // that a tcgen05.st hands over, lane after lane

  machine::Thread& thread(std::uint32_t lane) { return threads[lane]; }
  bool is_ready(std::uint32_t lane) const { return threads[lane].state == machine::ThreadState::kReady; }
  std::byte* local_bytes(std::uint32_t lane, std::uint64_t offset) {
    return local.data() + lane * local_stride + offset;
  }
};

template <class F>
[[gnu::always_inline]] inline void for_lanes(std::uint32_t mask, F&& body) {
  if (mask == 0xffffffffu) {
    for (std::uint32_t lane = 0; lane < 32; ++lane) body(lane);
  } else {
    for (; mask != 0; mask &= mask - 1) body(static_cast<std::uint32_t>(std::countr_zero(mask)));
  }
}

// Calls the machine for the lanes that have just come to an instruction at which lanes meet, and `finish` for
// each lane that can go on, at once or when it comes back; those for which it returns false stay.
template <class Arrive, class Finish>
std::uint32_t meet(Warp& warp, std::uint32_t mask, Arrive&& arrive, Finish&& finish) {
  for_lanes(mask, [&](std::uint32_t l) {
    if (warp.step[l] != 0) return;
    warp.step[l] = 1;
    arrive(l);
  });
  std::uint32_t done = 0;
  for_lanes(mask, [&](std::uint32_t l) {
    if (!warp.is_ready(l) || !finish(l)) return;
    warp.step[l] = 0;
    done |= 1u << l;
  });
  return done;
}

// Those that the machine has filled become registers again. In in_flight.cpp.
void take_back(Warp& warp, Accumulators& set);
void mark_in_flight(Frame& frame, std::uint32_t row, InFlight what);

// A word as a value of a type, and back.
template <class T>
T get(std::uint64_t word) {
  if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(word));
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<double>(word);
  } else {
    return static_cast<T>(word);
  }
}

template <class T>
std::uint64_t put(T value) {
  if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<std::uint32_t>(value);
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<std::uint64_t>(value);
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? 1 : 0;
  } else {
    return static_cast<std::make_unsigned_t<T>>(value);
  }
}

template <class Op, class T>
void unary(Warp& warp, const Instruction& i, std::uint32_t mask) {
  Row& d = warp.rows[i.d];
  const Row& a = warp.rows[i.a];
  for_lanes(mask, [&](std::uint32_t l) { d[l] = put(Op::of(get<T>(a[l]))); });
}

template <class Op, class T>
void binary(Warp& warp, const Instruction& i, std::uint32_t mask) {
  Row& d = warp.rows[i.d];
  const Row& a = warp.rows[i.a];
  const Row& b = warp.rows[i.b];
  for_lanes(mask, [&](std::uint32_t l) { d[l] = put(Op::of(get<T>(a[l]), get<T>(b[l]))); });
}

template <class Op, class T>
void ternary(Warp& warp, const Instruction& i, std::uint32_t mask) {
  Row& d = warp.rows[i.d];
  const Row& a = warp.rows[i.a];
  const Row& b = warp.rows[i.b];
  const Row& c = warp.rows[i.c];
  for_lanes(mask, [&](std::uint32_t l) { d[l] = put(Op::of(get<T>(a[l]), get<T>(b[l]), get<T>(c[l]))); });
}

}  // namespace heddle::sim::ptx
