// SPDX-License-Identifier: Apache-2.0
//
// PTX: stmatrix, ldmatrix.
#include "sim/machine/matrix_unit.h"

#include "sim/machine/mbarrier_unit.h"
#include "sim/machine/warp_unit.h"

#include <heddle/isa/warp.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace heddle::sim::machine {

namespace {

constexpr std::uint32_t kRowBytes = 16;

// Which bits of which register hold an element: `row` counts the rows that lanes have the addresses of.
// PTX: ldmatrix, stmatrix.
struct Place {
  std::uint32_t lane;
  std::uint32_t index;  // of the register
  std::uint32_t shift;
};

Place place_of(MatrixShape shape, std::uint32_t row, std::uint32_t column) {
  switch (shape) {
    case MatrixShape::k8x8: return {row % 8 * 4 + column / 2, row / 8, 16 * (column % 2)};
    case MatrixShape::k8x8Transposed: return {column * 4 + row % 8 / 2, row / 8, 16 * (row % 2)};
    case MatrixShape::k16x16Bytes:
      return {column % 8 * 4 + row % 16 / 4, 2 * (row / 16) + column / 8, 8 * (row % 4)};
    case MatrixShape::k16x8Bytes:
      return {column % 8 * 4 + row % 8 / 2, row / 8, 8 * (2 * (column / 8) + row % 2)};
  }
  return {};
}

bool has_bytes(MatrixShape shape) {
  return shape == MatrixShape::k16x16Bytes || shape == MatrixShape::k16x8Bytes;
}

const char* suffix_of(MatrixShape shape) {
  constexpr const char* kSuffixes[] = {"", ".trans", ".m16n16.trans.b8", ".m16n8.trans.b8"};
  return kSuffixes[static_cast<int>(shape)];
}

// Calls body(place, element, its bytes) for each element of a row.
template <class Body>
void for_each_element(MatrixShape shape, std::uint32_t row, std::byte* memory, Body&& body) {
  const std::uint32_t bytes = has_bytes(shape) ? 1 : 2;
  for (std::uint32_t column = 0; column < kRowBytes / bytes; ++column) {
    body(place_of(shape, row, column), memory + column * bytes, bytes);
  }
}

// The lanes that have parts of a row, whose own lane only gives the address.
event::RowParts parts_of(MatrixShape shape, std::uint32_t row) {
  event::RowParts parts{.lanes = 0, .bytes = has_bytes(shape) ? 1u : shape == MatrixShape::k8x8 ? 4u : 2u};
  for (std::uint32_t column = 0; column < 8; ++column) parts.lanes |= 1u << place_of(shape, row, column).lane;
  return parts;
}

}  // namespace

bool MatrixUnit::meet(Thread& thread, WarpOp op, const MatrixOperands& operands, CallSite site) {
  const char* instruction = name_of(op);
  if (thread.lane() < 8 * operands.count) {
    if (operands.row >> kRankShift != thread.cta->rank) {
      core_.fault(&thread, site, FaultCode::kBadRank,
                  fmt::format("{} in the shared memory of rank {}; a CTA uses its own (rank {})", instruction,
                              operands.row >> kRankShift, thread.cta->rank));
    }
    core_.shared_bytes(thread, operands.row, kRowBytes, site, instruction);
    mbarriers_.check_none_in(thread, *thread.cta, operands.row & kOffsetMask, kRowBytes, site, instruction,
                             op == WarpOp::kStmatrix);
  }
  thread.matrix = &operands;
  if (!warps_.meet(thread, op, isa::kFullMask, 0, 0, site)) return false;
  for (std::uint32_t l = 0; l < 32; ++l) {
    const MatrixOperands& other = *thread.cta->threads[thread.warp() * 32 + l].matrix;
    if (other.count == operands.count && other.shape == operands.shape) continue;
    core_.fault(
        &thread, site, FaultCode::kDivergence,
        fmt::format("{} differs within a warp: .x{}{} in lane {}, .x{}{} in lane {}", instruction, operands.count,
                    suffix_of(operands.shape), thread.lane(), other.count, suffix_of(other.shape), l));
  }
  return true;
}

bool MatrixUnit::stmatrix(Thread& thread, const MatrixOperands& operands, CallSite site) {
  if (!meet(thread, WarpOp::kStmatrix, operands, site)) return false;
  Thread* lanes = thread.cta->threads + std::size_t{thread.warp()} * 32;
  for (std::uint32_t r = 0; r < 8 * operands.count; ++r) {
    const MatrixOperands& to = *lanes[r].matrix;
    std::array<std::byte, kRowBytes> row = {};
    for_each_element(operands.shape, r, row.data(),
                     [&](const Place& from, std::byte* element, std::uint32_t bytes) {
                       const std::uint32_t value = lanes[from.lane].matrix->registers[from.index] >> from.shift;
                       std::memcpy(element, &value, bytes);
                     });
    std::byte* target = thread.cta->shared + (to.row & kOffsetMask);
    const bool is_same = std::memcmp(target, row.data(), kRowBytes) == 0;
    std::memcpy(target, row.data(), kRowBytes);
    core_.emit(event::SharedWrite{.cta = thread.cta->linear,
                                  .thread = lanes[r].tid,
                                  .address = to.row,
                                  .bytes = kRowBytes,
                                  .keeps_value = is_same,
                                  .parts = parts_of(operands.shape, r),
                                  .site = site});
  }
  core_.changed();
  return true;
}

bool MatrixUnit::ldmatrix(Thread& thread, const MatrixOperands& operands, CallSite site) {
  if (!meet(thread, WarpOp::kLdmatrix, operands, site)) return false;
  Thread* lanes = thread.cta->threads + std::size_t{thread.warp()} * 32;
  for (std::uint32_t l = 0; l < 32; ++l) std::fill_n(lanes[l].matrix->registers, operands.count, 0);
  for (std::uint32_t r = 0; r < 8 * operands.count; ++r) {
    const MatrixOperands& from = *lanes[r].matrix;
    std::byte* row = thread.cta->shared + (from.row & kOffsetMask);
    for_each_element(operands.shape, r, row, [&](const Place& to, const std::byte* element, std::uint32_t bytes) {
      std::uint32_t value = 0;
      std::memcpy(&value, element, bytes);
      lanes[to.lane].matrix->registers[to.index] |= value << to.shift;
    });
    core_.emit(event::SharedRead{.cta = thread.cta->linear,
                                 .thread = lanes[r].tid,
                                 .address = from.row,
                                 .bytes = kRowBytes,
                                 .parts = parts_of(operands.shape, r),
                                 .site = site});
  }
  return true;
}

}  // namespace heddle::sim::machine
