// SPDX-License-Identifier: Apache-2.0
//
// Rows of an operand that come into L2 while the kernel ahead in the stream still runs. A kernel whose launch
// overlaps with that one is set up by then and waits, and memory has time. Nothing can become wrong by it: where
// the kernel ahead writes such a row later, the cache has what it wrote.
//
//   params.early = {.address = a, .pitch = row_bytes, .rows = m, .row_bytes = row_bytes};   // on the host
//   scope.wait_for_kernel_ahead([&] { fetch_rows_early<kThreads, kTileM>(params.early, row, byte, 4); });
#pragma once

#include <heddle/isa/memory.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>

#include <cstdint>

namespace heddle::inline HEDDLE_TARGET {

inline constexpr std::uint32_t kLineBytes = 128;  // of L2, that one instruction asks for

// A matrix in global memory, in bytes.
struct EarlyRows {
  const char* address = nullptr;
  std::uint64_t pitch = 0;  // from one row to the next
  std::uint32_t rows = 0;
  std::uint32_t row_bytes = 0;

  // Where number `i` lies of the lines that begin at `row` and `byte`: one of each of `count` rows, before any
  // row's next. Null where the matrix has ended.
  HEDDLE_HOST_DEVICE const char* line(std::uint32_t row, std::uint32_t byte, std::uint32_t count,
                                      std::uint32_t i) const {
    const std::uint32_t of_row = row + i % count;
    const std::uint32_t of_byte = byte + i / count * kLineBytes;
    return of_row < rows && of_byte < row_bytes ? address + of_row * pitch + of_byte : nullptr;
  }
};

// By the first `threads` threads of the CTA: of `count` rows from `row` on, so many lines each from `byte` on.
template <std::uint32_t threads, std::uint32_t count>
HEDDLE_DEVICE void fetch_rows_early(const EarlyRows& matrix, std::uint32_t row, std::uint32_t byte,
                                    std::uint32_t lines, CallSite site = CallSite::here()) {
  for (std::uint32_t i = isa::tid_x(); i < count * lines; i += threads) {
    const char* const line = matrix.line(row, byte, count, i);
    if (line != nullptr) isa::prefetch_global_l2(line, site);
  }
}

}  // namespace heddle::inline HEDDLE_TARGET
