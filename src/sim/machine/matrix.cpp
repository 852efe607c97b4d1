// SPDX-License-Identifier: Apache-2.0
//
// PTX: stmatrix, ldmatrix.
#include "sim/machine/matrix_unit.h"

#include "sim/machine/mbarrier_unit.h"
#include "sim/machine/warp_unit.h"

#include <heddle/isa/warp.h>

#include <fmt/format.h>

#include <cstring>

namespace heddle::sim::machine {

namespace {

constexpr std::uint32_t kRowBytes = 16;

// Which register holds element (row, column) of a matrix: of lane l, the lower or the upper half.
struct Place {
  std::uint32_t lane;
  std::uint32_t half;
};

Place place_of(std::uint32_t row, std::uint32_t column, bool transposed) {
  if (transposed) std::swap(row, column);
  return {row * 4 + column / 2, column % 2};
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
    if (other.count == operands.count && other.transposed == operands.transposed) continue;
    core_.fault(&thread, site, FaultCode::kDivergence,
                fmt::format("{} differs within a warp: .x{}{} in lane {}, .x{}{} in lane {}", instruction,
                            operands.count, operands.transposed ? ".trans" : "", thread.lane(), other.count,
                            other.transposed ? ".trans" : "", l));
  }
  return true;
}

bool MatrixUnit::stmatrix(Thread& thread, const MatrixOperands& operands, CallSite site) {
  if (!meet(thread, WarpOp::kStmatrix, operands, site)) return false;
  Thread* lanes = thread.cta->threads + std::size_t{thread.warp()} * 32;
  for (std::uint32_t r = 0; r < 8 * operands.count; ++r) {
    const MatrixOperands& to = *lanes[r].matrix;
    std::array<std::uint16_t, 8> row = {};
    for (std::uint32_t column = 0; column < 8; ++column) {
      const Place from = place_of(r % 8, column, operands.transposed);
      row[column] = static_cast<std::uint16_t>(lanes[from.lane].matrix->registers[r / 8] >> 16 * from.half);
    }
    std::byte* target = thread.cta->shared + (to.row & kOffsetMask);
    const bool is_same = std::memcmp(target, row.data(), kRowBytes) == 0;
    std::memcpy(target, row.data(), kRowBytes);
    core_.emit(event::SharedWrite{.cta = thread.cta->linear,
                                  .thread = lanes[r].tid,
                                  .address = to.row,
                                  .bytes = kRowBytes,
                                  .keeps_value = is_same,
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
    std::array<std::uint16_t, 8> row = {};
    std::memcpy(row.data(), thread.cta->shared + (from.row & kOffsetMask), kRowBytes);
    for (std::uint32_t column = 0; column < 8; ++column) {
      const Place to = place_of(r % 8, column, operands.transposed);
      lanes[to.lane].matrix->registers[r / 8] |= std::uint32_t{row[column]} << 16 * to.half;
    }
    core_.emit(event::SharedRead{.cta = thread.cta->linear,
                                 .thread = lanes[r].tid,
                                 .address = from.row,
                                 .bytes = kRowBytes,
                                 .site = site});
  }
  return true;
}

}  // namespace heddle::sim::machine
