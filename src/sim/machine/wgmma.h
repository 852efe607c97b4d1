// SPDX-License-Identifier: Apache-2.0
//
// The tensor cores of an SM as wgmma uses them. A warpgroup's multiplications queue up and run one after the
// other, each at a time that the scheduler chooses, long after the warps have gone on. Until a warp has waited
// for them, the values of its accumulators exist only here; its registers hold NaNs.
// PTX: Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions.
#pragma once

#include "sim/machine/tensor_copy.h"
#include "sim/machine/tensor_core.h"

#include <heddle/isa/wgmma.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

namespace heddle::sim::machine {

struct Cta;

inline constexpr std::uint32_t kWarpgroupWarps = 4;

inline constexpr std::uint32_t kWgmmaRowBytes = 32;  // of A: the K of one instruction

// Rows of A, and of D, that belong to one warp.
inline constexpr std::uint32_t kWarpRows = kWgmmaM / kWarpgroupWarps;

// What accumulators hold between a wgmma and the wait for it.
inline constexpr std::uint32_t kInFlightPattern = kNanF32;

// What a thread hands over with a wgmma.mma_async.
struct WgmmaOperands {
  WgmmaShape shape;
  bool a_in_registers = false;
  bool scale_d = false;
  bool saturates = false;      // integers
  bool is_sparse = false;      // A has half of its elements, and K is twice as long
  std::uint32_t selector = 0;  // sparse: which lanes of four have the metadata
  std::uint32_t metadata = 0;  // of this thread
  std::uint64_t a_descriptor = 0;
  std::uint64_t b_descriptor = 0;
  std::array<std::uint32_t, 4> a = {};
  std::byte* d = nullptr;  // its accumulator registers, in place until they were waited for

  std::uint32_t k() const { return is_sparse ? 2 * shape.k() : shape.k(); }
  std::uint32_t b_row_bytes() const { return is_sparse ? 64 : 32; }
};

// Integers of 8 bits, which only this instruction has, not isa/wgmma.h.
inline bool is_integer(OperandType type) { return type == OperandType::kS8 || type == OperandType::kU8; }

// What is handed over is alike in all threads.
bool is_same_instruction(const WgmmaOperands& left, const WgmmaOperands& right);

// The accumulators of one warp.
struct WgmmaAccumulator {
  std::array<std::byte*, 32> registers = {};  // by lane
  std::uint32_t n = 0;
  AccumulatorType type = AccumulatorType::kF32;
  std::vector<std::uint32_t> values;  // kWarpRows x n, as multiply_add takes them
  std::uint64_t end = 0;              // the operations that add to it have lower numbers
  bool in_flight = true;              // false: given back by a wait, and not fenced since
  CallSite site = {};                 // of the last wgmma that used it, or of the wait

  std::uint32_t words() const { return type == AccumulatorType::kF16 ? n / 4 : n / 2; }
  bool has_registers_of(const WgmmaAccumulator& other) const;
  bool overlaps(const WgmmaAccumulator& other) const;
  void take_registers();  // reads them
  void poison_registers() const;
  void give_registers() const;  // writes them
  bool equals_registers() const;
};

struct WgmmaOperation {
  std::uint64_t id = 0;
  WgmmaOperands operands;  // of the thread that came first; `a` and `d` are not used
  CallSite site = {};
  std::uint32_t arrived = 0;  // warps that have issued it
  std::array<WgmmaAccumulator*, kWarpgroupWarps> d = {};
  std::vector<std::byte> a;                                       // where A comes from registers: its rows
  std::array<std::uint32_t, 32 * kWarpgroupWarps> metadata = {};  // sparse: of each thread

  bool is_complete() const { return arrived == (1u << kWarpgroupWarps) - 1; }
};

// How far a warp has come. Operations are numbered from 0 in each warpgroup.
struct WgmmaWarp {
  std::uint64_t issued = 0;
  std::uint64_t waited = 0;           // it knows that those before this number are done
  std::vector<std::uint64_t> groups;  // where each committed group ends, the oldest first
  std::deque<std::uint64_t> ids;      // of the operations from `waited` on
  std::vector<std::unique_ptr<WgmmaAccumulator>> accumulators;
  bool has_fenced = false;
  CallSite last_issue = {};

  std::uint32_t registers = 0;         // of each thread; 0: not known
  std::uint32_t wanted_registers = 0;  // by the setmaxnreg that it is in
  std::size_t register_changes = 0;
};

struct RegisterChange {
  bool increases;
  std::uint32_t count;
};

struct Warpgroup {
  Cta* cta = nullptr;
  std::uint32_t index = 0;
  std::array<WgmmaWarp, kWarpgroupWarps> warps;
  std::deque<WgmmaOperation> operations;  // not done, the oldest first
  std::uint64_t done = 0;                 // the number of operations.front()
  std::vector<RegisterChange> register_changes;

  bool can_step() const { return !operations.empty() && operations.front().is_complete(); }
};

// An operand's rows x 32 bytes, the K of one instruction, or 64 where A is sparse and this is B; read from shared
// memory through a descriptor.
std::vector<std::byte> read_operand(const std::byte* shared, const SmemDescriptor& fields, Major major,
                                    OperandType type, std::uint32_t rows, std::uint32_t row_bytes = 32);

// The range that all those bytes lie in.
SharedRange operand_extent(const SmemDescriptor& fields, Major major, OperandType type, std::uint32_t rows,
                           std::uint32_t row_bytes = 32);

// Which bytes those are, in ascending order and as few ranges as possible.
std::vector<SharedRange> operand_ranges(const SmemDescriptor& fields, Major major, OperandType type,
                                        std::uint32_t rows, std::uint32_t row_bytes = 32);

// By row of the operand, the first byte that `find` tells of those at an address, or kNoByte.
inline constexpr std::uint32_t kNoByte = ~std::uint32_t{0};
using FindBytes = std::function<std::uint32_t(std::uint32_t address, std::uint32_t bytes)>;
std::vector<std::uint32_t> find_in_rows(const SmemDescriptor& fields, Major major, OperandType type,
                                        std::uint32_t rows, std::uint32_t row_bytes, const FindBytes& find);

// Calls body(row, column, word, half) for each element of D that a lane holds.
// PTX: Register Fragments and Shared Memory Matrix Layouts, Matrix D.
template <class Body>
void for_each_element(AccumulatorType type, std::uint32_t words, std::uint32_t lane, Body&& body) {
  const std::uint32_t per_word = type == AccumulatorType::kF16 ? 2 : 1;
  for (std::uint32_t i = 0; i < words * per_word; ++i) {
    body(lane / 4 + 8 * (i / 2 % 2), 8 * (i / 4) + 2 * (lane % 4) + i % 2, i / per_word, i % per_word);
  }
}

// Writes one lane's part of a 16-row block of A, given in registers, into its rows x 32 bytes.
// PTX: Register Fragments and Shared Memory Matrix Layouts, Matrix A.
void place_fragment(OperandType type, std::uint32_t lane, const std::array<std::uint32_t, 4>& registers,
                    std::byte* rows);

}  // namespace heddle::sim::machine
