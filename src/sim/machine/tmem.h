// SPDX-License-Identifier: Apache-2.0
//
// Tensor memory of a CTA: its cells, who has allocated which columns, and the loads and stores that are under
// way. A load or store moves at a time that the scheduler chooses, between its instruction and the wait for it.
// Until then the values of a load exist only here, and its registers hold a pattern. PTX: Tensor Memory, Tensor
// Memory Allocation and Management Instructions.
#pragma once

#include <heddle/isa/target.h>
#include <heddle/isa/tmem.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace heddle::sim::machine {

struct Cta;

// What registers hold between a tcgen05.ld and the wait for it: a NaN that no instruction makes.
inline constexpr std::uint32_t kTmemInFlight = 0x7FFA'5AFE;

// What a thread hands over with a warp-wide instruction on tensor memory. All but the registers is alike in the
// threads of a warp.
struct TmemOperands {
  int cta_group = 1;
  std::uint32_t cols = 0;  // to allocate or free
  std::uint32_t slot = 0;  // shared address that gets the result of an allocation
  std::uint32_t taddr = 0;
  TmemShape shape = TmemShape::k32x32b;
  std::uint32_t count = 0;   // registers
  std::uint32_t offset = 0;  // to the second address of 16x32bx2
  bool has_halves = false;   // a register has the lower halves of two columns
  std::uint32_t* registers = nullptr;

  bool is_same_instruction(const TmemOperands& other) const {
    return cta_group == other.cta_group && cols == other.cols && slot == other.slot && taddr == other.taddr &&
           shape == other.shape && count == other.count && offset == other.offset &&
           has_halves == other.has_halves;
  }
};

// A cell's place from the address on.
struct TmemCell {
  std::uint32_t lane;
  std::uint32_t column;
  std::uint32_t half;  // 1: from the second address of 16x32bx2 on
};

TmemCell cell_of(TmemShape shape, std::uint32_t thread, std::uint32_t r);

struct TmemAllocation {
  std::uint32_t column;
  std::uint32_t cols;
  CallSite site;

  bool holds(std::uint32_t first, std::uint32_t count) const {
    return first >= column && first + count <= column + cols;
  }
};

// Columns that were given back.
struct TmemFreed {
  std::uint32_t column;
  std::uint32_t cols;
  std::uint32_t warp;
  CallSite site;
};

// What a warp has asked of the allocator and not got yet.
struct TmemRequest {
  bool is_alloc;
  int cta_group;
  std::uint32_t cols;
  std::uint32_t taddr;
  std::uint32_t slot;
  std::uint32_t warp;
  CallSite site;
};

// A tcgen05.ld or tcgen05.st of one warp.
struct TmemTransfer {
  std::uint64_t id = 0;
  Cta* cta = nullptr;
  std::uint32_t warp = 0;
  bool is_store = false;
  bool is_done = false;
  bool is_delivered = false;  // a load whose registers were filled before the wait
  TmemShape shape = TmemShape::k32x32b;
  std::uint32_t count = 0;
  bool has_halves = false;
  std::array<std::uint32_t, 2> taddr = {};  // with the lanes that the warp reaches
  std::array<std::uint32_t*, 32> registers = {};
  std::vector<std::uint32_t> values;  // by thread, then register
  CallSite site = {};

  std::uint32_t cols() const { return tmem_cols_of(shape, count) * (has_halves ? 2 : 1); }
};

struct Tmem {
  std::vector<std::uint32_t> cells;  // lane by lane; none before the first allocation
  std::vector<TmemAllocation> allocations;
  std::vector<TmemFreed> freed;  // in the order in which they were
  std::vector<TmemRequest> requests;
  std::vector<std::unique_ptr<TmemTransfer>> transfers;  // not waited for, in the order of issue
  int cta_group = 0;                                     // of its first tcgen05 instruction; 0: none yet
  std::uint32_t last_cols = kTmemCols;
  std::optional<CallSite> relinquished;

  std::uint32_t* cell(std::uint32_t lane, std::uint32_t column) {
    return &cells[std::size_t{lane} * kTmemCols + column];
  }
  bool is_free(std::uint32_t first, std::uint32_t count) const;
  std::uint32_t free_cols() const;
  const TmemAllocation* allocation_of(std::uint32_t first, std::uint32_t count) const;
  void move(TmemTransfer& transfer);  // the values, between cells and the transfer
};

inline constexpr std::uint32_t tmem_lane(std::uint32_t taddr) { return taddr >> 16; }
inline constexpr std::uint32_t tmem_column(std::uint32_t taddr) { return taddr & 0xFFFF; }

}  // namespace heddle::sim::machine
