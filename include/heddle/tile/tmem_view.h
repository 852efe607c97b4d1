// SPDX-License-Identifier: Apache-2.0
//
// What lies where in tensor memory: an address with lane and column apart, what one allocation gave, an
// accumulator as rows and columns of D. All of these describe and none of them owns: whoever allocates also frees
// (see the MMA warp context), and the rest of the kernel copies. Regions with names are in tile/tmem_plan.h.
//
//   constexpr AccumulatorShape shape{.m = 128, .n = 256};
//   const auto tmem = TmemAllocation<1>::allocate(&shared.tmem_base, 512);        // one warp
//   const auto same = TmemAllocation<1>::from_shared(&shared.tmem_base, 512);     // others, after a barrier
//   const TmemTensor<float, shape> d(same.stage(1, shape.cols()));
//   TmemFragment<float, 32> r;
//   d.load(r, 64);                       // columns 64 to 95 of this thread's row
//   isa::tcgen05_wait_ld();
//   c(d.row(), d.column(64) + i) = r[i];
#pragma once

#include <heddle/isa/memory.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>
#include <heddle/isa/tmem.h>
#include <heddle/isa/warp.h>
#include <heddle/tile/element.h>

#include <concepts>

namespace heddle::inline HEDDLE_TARGET {

// A cell of tensor memory. Arithmetic keeps lane and column apart: neither carries into the other.
class TmemAddress {
 public:
  constexpr TmemAddress() = default;
  HEDDLE_HOST_DEVICE explicit constexpr TmemAddress(std::uint32_t bits) : bits_(bits) {}

  HEDDLE_HOST_DEVICE constexpr std::uint32_t bits() const { return bits_; }
  HEDDLE_HOST_DEVICE constexpr std::uint32_t lane() const { return bits_ >> 16; }
  HEDDLE_HOST_DEVICE constexpr std::uint32_t column() const { return bits_ & 0xFFFF; }

  HEDDLE_HOST_DEVICE constexpr TmemAddress plus_cols(std::uint32_t cols) const {
    return TmemAddress(bits_ + cols);
  }
  HEDDLE_HOST_DEVICE constexpr TmemAddress plus_lanes(std::uint32_t lanes) const {
    return TmemAddress(bits_ + (lanes << 16));
  }
  // The first of the 32 lanes that a warp reaches: the warp's index counts from the start of the CTA.
  HEDDLE_HOST_DEVICE constexpr TmemAddress of_warp(std::uint32_t warp_idx) const {
    return plus_lanes(32 * (warp_idx % 4));
  }

  friend constexpr bool operator==(TmemAddress, TmemAddress) = default;

 private:
  std::uint32_t bits_ = 0;
};

// The columns to allocate for so many: the next power of two, at least 32.
HEDDLE_HOST_DEVICE constexpr std::uint32_t tmem_alloc_cols(std::uint32_t cols) {
  std::uint32_t size = kMinTmemAllocCols;
  while (size < cols) size *= 2;
  return size;
}

// What one tcgen05.alloc gave, in this CTA or, with cta_group 2, in both CTAs of the pair.
template <int cta_group>
class TmemAllocation {
  static_assert(cta_group == 1 || cta_group == 2, "cta_group is 1, or 2 for a pair of CTAs");

 public:
  constexpr TmemAllocation() = default;
  HEDDLE_HOST_DEVICE constexpr TmemAllocation(TmemAddress address, std::uint32_t cols)
      : address_(address), cols_(cols) {}

  // Executed by one whole warp (of each CTA). The address is also left in shared memory, for the others.
  HEDDLE_DEVICE static TmemAllocation allocate(std::uint32_t* shared, std::uint32_t cols,
                                               CallSite site = CallSite::here()) {
    isa::tcgen05_alloc<cta_group>(shared, cols, site);
    isa::syncwarp(isa::kFullMask, site);
    return from_shared(shared, cols, site);
  }

  // For those who did not allocate: a barrier must have led from allocate() to here.
  HEDDLE_DEVICE static TmemAllocation from_shared(const std::uint32_t* shared, std::uint32_t cols,
                                                  CallSite site = CallSite::here()) {
    return {TmemAddress(isa::ld_shared(shared, site)), cols};
  }

  // No more allocations in this CTA. One whole warp.
  HEDDLE_DEVICE static void relinquish(CallSite site = CallSite::here()) {
    isa::tcgen05_relinquish_alloc_permit<cta_group>(site);
  }

  // One whole warp (of each CTA), when nobody uses the columns any more.
  HEDDLE_DEVICE void deallocate(CallSite site = CallSite::here()) const {
    isa::tcgen05_dealloc<cta_group>(address_.bits(), cols_, site);
  }

  HEDDLE_HOST_DEVICE constexpr TmemAddress address() const { return address_; }
  HEDDLE_HOST_DEVICE constexpr std::uint32_t cols() const { return cols_; }

  // The first column of a stage.
  HEDDLE_HOST_DEVICE constexpr TmemAddress stage(std::uint32_t stage_idx, std::uint32_t stage_stride_cols) const {
    return address_.plus_cols(stage_idx * stage_stride_cols);
  }

 private:
  TmemAddress address_;
  std::uint32_t cols_ = 0;
};

// D of a tcgen05.mma, and where one CTA keeps its part of it.
// PTX: Data Path Layout Organization: layouts D, F, A and B.
struct AccumulatorShape {
  std::uint32_t m = 0;  // of the instruction: 64 or 128; 128 or 256 for a pair
  std::uint32_t n = 0;
  int cta_group = 1;

  // Rows of D that this CTA has, and columns of tensor memory that they take.
  HEDDLE_HOST_DEVICE constexpr std::uint32_t rows() const { return m / static_cast<std::uint32_t>(cta_group); }
  HEDDLE_HOST_DEVICE constexpr std::uint32_t cols() const { return is_split() ? n / 2 : n; }

  // 64 rows in 16 of each 32 lanes.
  HEDDLE_HOST_DEVICE constexpr bool is_spread() const { return cta_group == 1 && m == 64; }
  // 64 rows: lanes from 64 on have the second half of the columns.
  HEDDLE_HOST_DEVICE constexpr bool is_split() const { return cta_group == 2 && m == 128; }

  HEDDLE_HOST_DEVICE constexpr bool exists() const {
    const std::uint32_t step = cta_group == 2 ? 16 : 8;
    const bool has_m = cta_group == 1 ? m == 64 || m == 128 : cta_group == 2 && (m == 128 || m == 256);
    return has_m && n >= step && n <= 256 && n % step == 0;
  }

  // The row of D that a lane has, among the rows of this CTA, and the columns of D before the first that it has.
  HEDDLE_HOST_DEVICE constexpr std::uint32_t row_of(std::uint32_t lane) const {
    if (is_spread()) return 16 * (lane / 32) + lane % 16;
    return is_split() ? lane % 64 : lane;
  }
  HEDDLE_HOST_DEVICE constexpr std::uint32_t first_column_of(std::uint32_t lane) const {
    return is_split() && lane >= 64 ? n / 2 : 0;
  }

  friend constexpr bool operator==(const AccumulatorShape&, const AccumulatorShape&) = default;
};

// Registers that a load fills: words until tcgen05_wait_ld, numbers after it. Stays in place until then.
template <class T, std::uint32_t count>
struct TmemFragment {
  static_assert(sizeof(T) == 4 || std::same_as<T, fp16>,
                "an accumulator holds floats, or fp16 in the lower halves");
  std::uint32_t words[count];

  HEDDLE_HOST_DEVICE constexpr T operator[](std::uint32_t i) const {
    if constexpr (sizeof(T) == 4) {
      return __builtin_bit_cast(T, words[i]);
    } else {
      return T{static_cast<std::uint16_t>(words[i])};
    }
  }
};

// An accumulator in tensor memory, as the four warps of an epilogue see it: each warp its quarter of the lanes,
// each thread one lane, which is one row of D.
template <class T, AccumulatorShape shape>
class TmemTensor {
  static_assert(
      shape.exists(),
      "no tcgen05.mma has this accumulator: M is 64 or 128 (128 or 256 for a pair), and N 8 to 256, a multiple "
      "of 8 (16 for a pair)");

 public:
  static constexpr AccumulatorShape kShape = shape;

  HEDDLE_HOST_DEVICE explicit constexpr TmemTensor(TmemAddress address) : address_(address) {}

  HEDDLE_HOST_DEVICE constexpr TmemAddress address() const { return address_; }
  HEDDLE_HOST_DEVICE static constexpr std::uint32_t rows() { return shape.rows(); }
  HEDDLE_HOST_DEVICE static constexpr std::uint32_t cols() { return shape.cols(); }

  // Starts to load `count` columns of this thread's row, from `first_col` of the tensor memory that the
  // accumulator takes on. The warp executes it together; tcgen05_wait_ld follows before the fragment is read.
  template <std::uint32_t count>
  HEDDLE_DEVICE void load(TmemFragment<T, count>& fragment, std::uint32_t first_col,
                          CallSite site = CallSite::here()) const {
    static_assert(count <= shape.cols(), "more columns than the accumulator has");
    isa::tcgen05_ld_32x32b(fragment.words, own_lanes(first_col), site);
  }

  // Starts to store them.
  template <std::uint32_t count>
  HEDDLE_DEVICE void store(const TmemFragment<T, count>& fragment, std::uint32_t first_col,
                           CallSite site = CallSite::here()) const {
    static_assert(count <= shape.cols(), "more columns than the accumulator has");
    isa::tcgen05_st_32x32b(own_lanes(first_col), fragment.words, site);
  }

  // Which row of D, among those of this CTA, and which column of D the thread finds at `first_col`. Of a spread
  // accumulator half of the threads have none.
  HEDDLE_DEVICE std::uint32_t row() const { return shape.row_of(lane()); }
  HEDDLE_DEVICE std::uint32_t column(std::uint32_t first_col) const {
    return shape.first_column_of(lane()) + first_col;
  }
  HEDDLE_DEVICE bool has_row() const { return !shape.is_spread() || lane() % 32 / 16 == address_.lane() / 16; }

 private:
  // All 32 lanes of the warp, whichever half of them a spread accumulator has.
  HEDDLE_DEVICE std::uint32_t own_lanes(std::uint32_t first_col) const {
    return TmemAddress(address_.column() + first_col).of_warp(isa::warp_idx()).bits();
  }
  HEDDLE_DEVICE static std::uint32_t lane() { return 32 * (isa::warp_idx() % 4) + isa::laneid(); }

  TmemAddress address_;
};

// These appear in compile errors, where their numbers can be read.
template <std::uint32_t asked_for, std::uint32_t available>
struct TmemColumns {
  static_assert(
      asked_for <= available,
      "more tensor-memory columns than a CTA has: TmemColumns<asked for, available>. Lower the number of "
      "stages, or N");
  static constexpr bool kFits = asked_for <= available;
};

template <std::uint32_t stage_stride_cols, std::uint32_t stage_cols>
struct TmemStageStride {
  static_assert(
      stage_stride_cols >= stage_cols,
      "the stages overlap: TmemStageStride<columns from one stage to the next, columns that a stage takes>. The "
      "stride must be at least what a stage takes");
  static constexpr bool kFits = stage_stride_cols >= stage_cols;
};

// True, or a compile error with the numbers: stages of accumulators must not overlap and must fit in the columns
// that `used_cols` others leave.
template <std::uint32_t num_stages, std::uint32_t stage_stride_cols, std::uint32_t stage_cols,
          std::uint32_t used_cols = 0>
constexpr bool check_tmem_stages() {
  static_assert(num_stages > 0, "an accumulator has at least one stage");
  if constexpr (!TmemStageStride<stage_stride_cols, stage_cols>::kFits) {
    return false;
  } else {
    return TmemColumns<used_cols + (num_stages - 1) * stage_stride_cols + stage_cols, kTmemCols>::kFits;
  }
}

}  // namespace heddle::inline HEDDLE_TARGET
