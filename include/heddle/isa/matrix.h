// SPDX-License-Identifier: Apache-2.0
//
// stmatrix and ldmatrix: a warp moves one, two or four 8 x 8 matrices of 16-bit elements between registers and
// shared memory. A matrix lies in memory as eight rows of 16 bytes, anywhere: lane i gives the address of row
// i % 8 of matrix i / 8 (of the lanes beyond the last matrix the address is ignored, and may be null). In
// registers, r[m] of lane l holds row l / 4, columns 2 * (l % 4) and 2 * (l % 4) + 1 of matrix m, the lower
// column in the lower half. The `_trans` forms see rows and columns of the registers exchanged.
//
// A warp's accumulators of a wgmma, packed to 16 bits, are matrices in this order:
//
//   // Columns c to c + 15 of the 16 rows of this warp, from registers c / 2 to c / 2 + 7.
//   stmatrix_x4(row_of(lane % 16, c / 8 + lane / 16), {pair(0, 1), pair(2, 3), pair(4, 5), pair(6, 7)});
//
// All 32 lanes execute it together. Accesses go through the generic proxy: a fence_proxy_async_shared_cta
// stands between stmatrix and a TMA store of what it wrote.
#pragma once

#include <heddle/isa/target.h>

namespace heddle::inline HEDDLE_TARGET::isa {

#if HEDDLE_ON_CUDA

namespace detail {

HEDDLE_DEVICE std::uint32_t matrix_row(const void* row) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
}

}  // namespace detail

HEDDLE_DEVICE void stmatrix_x1(void* row, const std::uint32_t (&r)[1], CallSite = CallSite::here()) {
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared::cta.b16 [%0], {%1};" ::"r"(detail::matrix_row(row)),
               "r"(r[0])
               : "memory");
}

HEDDLE_DEVICE void stmatrix_x2(void* row, const std::uint32_t (&r)[2], CallSite = CallSite::here()) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared::cta.b16 [%0], {%1, %2};" ::"r"(detail::matrix_row(row)),
               "r"(r[0]), "r"(r[1])
               : "memory");
}

HEDDLE_DEVICE void stmatrix_x4(void* row, const std::uint32_t (&r)[4], CallSite = CallSite::here()) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(detail::matrix_row(row)),
      "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
      : "memory");
}

HEDDLE_DEVICE void stmatrix_x1_trans(void* row, const std::uint32_t (&r)[1], CallSite = CallSite::here()) {
  asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared::cta.b16 [%0], {%1};" ::"r"(detail::matrix_row(row)),
               "r"(r[0])
               : "memory");
}

HEDDLE_DEVICE void stmatrix_x2_trans(void* row, const std::uint32_t (&r)[2], CallSite = CallSite::here()) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x2.trans.shared::cta.b16 [%0], {%1, %2};" ::"r"(detail::matrix_row(row)),
      "r"(r[0]), "r"(r[1])
      : "memory");
}

HEDDLE_DEVICE void stmatrix_x4_trans(void* row, const std::uint32_t (&r)[4], CallSite = CallSite::here()) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                   detail::matrix_row(row)),
               "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
               : "memory");
}

HEDDLE_DEVICE void ldmatrix_x1(std::uint32_t (&r)[1], const void* row, CallSite = CallSite::here()) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared::cta.b16 {%0}, [%1];"
               : "=r"(r[0])
               : "r"(detail::matrix_row(row))
               : "memory");
}

HEDDLE_DEVICE void ldmatrix_x2(std::uint32_t (&r)[2], const void* row, CallSite = CallSite::here()) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared::cta.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(detail::matrix_row(row))
               : "memory");
}

HEDDLE_DEVICE void ldmatrix_x4(std::uint32_t (&r)[4], const void* row, CallSite = CallSite::here()) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared::cta.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(detail::matrix_row(row))
               : "memory");
}

HEDDLE_DEVICE void ldmatrix_x1_trans(std::uint32_t (&r)[1], const void* row, CallSite = CallSite::here()) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared::cta.b16 {%0}, [%1];"
               : "=r"(r[0])
               : "r"(detail::matrix_row(row))
               : "memory");
}

HEDDLE_DEVICE void ldmatrix_x2_trans(std::uint32_t (&r)[2], const void* row, CallSite = CallSite::here()) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared::cta.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(detail::matrix_row(row))
               : "memory");
}

HEDDLE_DEVICE void ldmatrix_x4_trans(std::uint32_t (&r)[4], const void* row, CallSite = CallSite::here()) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(detail::matrix_row(row))
               : "memory");
}

#else

void stmatrix_x1(void* row, const std::uint32_t (&r)[1], CallSite site = CallSite::here());
void stmatrix_x2(void* row, const std::uint32_t (&r)[2], CallSite site = CallSite::here());
void stmatrix_x4(void* row, const std::uint32_t (&r)[4], CallSite site = CallSite::here());
void stmatrix_x1_trans(void* row, const std::uint32_t (&r)[1], CallSite site = CallSite::here());
void stmatrix_x2_trans(void* row, const std::uint32_t (&r)[2], CallSite site = CallSite::here());
void stmatrix_x4_trans(void* row, const std::uint32_t (&r)[4], CallSite site = CallSite::here());
void ldmatrix_x1(std::uint32_t (&r)[1], const void* row, CallSite site = CallSite::here());
void ldmatrix_x2(std::uint32_t (&r)[2], const void* row, CallSite site = CallSite::here());
void ldmatrix_x4(std::uint32_t (&r)[4], const void* row, CallSite site = CallSite::here());
void ldmatrix_x1_trans(std::uint32_t (&r)[1], const void* row, CallSite site = CallSite::here());
void ldmatrix_x2_trans(std::uint32_t (&r)[2], const void* row, CallSite site = CallSite::here());
void ldmatrix_x4_trans(std::uint32_t (&r)[4], const void* row, CallSite site = CallSite::here());

#endif

}  // namespace heddle::inline HEDDLE_TARGET::isa
