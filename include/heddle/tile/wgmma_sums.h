// SPDX-License-Identifier: Apache-2.0
//
// WgmmaSums: 64 rows of sums, or several times as many, in the registers of a warpgroup, which wgmma adds to
// while the threads do something else. Starting a multiplication gives a linear handle, and only its end gives
// the numbers: what is in flight cannot be read, and a multiplication that nobody waits for does not build.
//
//   WgmmaSums<WgmmaShape{.n = 128}> sums;                         // 64 x 128, of bf16
//   auto pending = sums.multiply(a.operand(), b.operand());       // all of K that the tiles have
//   pending.add(more_a.operand(), more_b.operand());
//   pending.wait_all_but<1>();                                    // a and b may be overwritten
//   auto& values = std::move(pending).wait();
//   for (std::uint32_t i = 0; i < values.count; ++i) store(values.row(i), values.col(i), values[i]);
//
// What a thread has of the sums lies in two rows. Whole rows are the business of four neighbouring lanes:
//
//   const RowPair largest = row_max(values);                      // of each of the two rows, in all four lanes
//   for (std::uint32_t i = 0; i < values.count; ++i) values[i] -= largest[values.row_of_pair(i)];
//   const auto p = to_operand<bf16>(values);
//   auto next = more_sums.multiply(p, v.operand<Major::kMN>());
//
// All 128 threads of the warpgroup do the same.
#pragma once

#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>
#include <heddle/isa/warp.h>
#include <heddle/isa/wgmma.h>
#include <heddle/linear.h>
#include <heddle/tile/convert.h>
#include <heddle/tile/operand.h>

#include <type_traits>
#include <utility>

namespace heddle::inline HEDDLE_TARGET {

// What multiplies these two.
template <class A, class B>
HEDDLE_HOST_DEVICE constexpr WgmmaShape wgmma_shape() {
  return {.n = B::rows, .a = A::type, .b = B::type, .a_major = A::major, .b_major = B::major};
}

// The numbers of one thread, and where they are in the sums of its warpgroup: `row_blocks` times 64 rows, n
// columns.
template <WgmmaShape shape, std::uint32_t row_blocks = 1>
class WgmmaValues {
  static constexpr std::uint32_t block_count = shape.d_registers();

 public:
  static constexpr std::uint32_t count = row_blocks * block_count;

  HEDDLE_DEVICE float& operator[](std::uint32_t i) { return values_[i / block_count][i % block_count]; }
  HEDDLE_DEVICE float operator[](std::uint32_t i) const { return values_[i / block_count][i % block_count]; }

  // Those of 64 rows.
  HEDDLE_DEVICE WgmmaAccumulators<shape>& block(std::uint32_t i) { return values_[i]; }
  HEDDLE_DEVICE const WgmmaAccumulators<shape>& block(std::uint32_t i) const { return values_[i]; }

  // Which of its two rows a number of this thread is in.
  HEDDLE_HOST_DEVICE static constexpr std::uint32_t row_of_pair(std::uint32_t i) { return i / 2 % 2; }

  // The rows of a thread are 8 apart. PTX: Register Fragments for wgmma.mma_async.
  HEDDLE_DEVICE static std::uint32_t row(std::uint32_t i) {
    return i / block_count * kWgmmaM + isa::tid_x() / isa::kWarpThreads % 4 * 16 + isa::laneid() / 4 +
           row_of_pair(i) * 8;
  }
  HEDDLE_DEVICE static std::uint32_t col(std::uint32_t i) {
    return i % block_count / 4 * 8 + isa::laneid() % 4 * 2 + i % 2;
  }

 private:
  template <WgmmaShape, std::uint32_t>
  friend class WgmmaSums;
  template <WgmmaShape, std::uint32_t>
  friend class WgmmaPending;

  // The compiler must see that the numbers change, or do not, from here on.
  HEDDLE_DEVICE void fence() {
    HEDDLE_UNROLL
    for (std::uint32_t block = 0; block < row_blocks; ++block) isa::wgmma_fence_operands(values_[block]);
  }

  WgmmaAccumulators<shape> values_[row_blocks];
};

// A number for each of the two rows that a thread has a part of.
struct RowPair {
  float of_row[2];

  HEDDLE_HOST_DEVICE constexpr float& operator[](std::uint32_t row) { return of_row[row]; }
  HEDDLE_HOST_DEVICE constexpr float operator[](std::uint32_t row) const { return of_row[row]; }
};

namespace detail {

// Joins the numbers of each row: those of a thread, and then of the four lanes that share the row.
template <WgmmaShape shape, class Join>
HEDDLE_DEVICE RowPair reduce_rows(const WgmmaValues<shape>& values, const Join& join, CallSite site) {
  RowPair joined{{values[0], values[2]}};
  HEDDLE_UNROLL
  for (std::uint32_t i = 0; i < values.count; ++i) {
    if (i != 0 && i != 2) joined[values.row_of_pair(i)] = join(joined[values.row_of_pair(i)], values[i]);
  }
  HEDDLE_UNROLL
  for (std::uint32_t row = 0; row < 2; ++row) {
    HEDDLE_UNROLL
    for (std::uint32_t lanes = 1; lanes <= 2; lanes *= 2) {
      const std::uint32_t other =
          isa::shfl_sync_bfly(__builtin_bit_cast(std::uint32_t, joined[row]), lanes, isa::kFullMask, site);
      joined[row] = join(joined[row], __builtin_bit_cast(float, other));
    }
  }
  return joined;
}

}  // namespace detail

// The largest number and the sum of each row.
template <WgmmaShape shape>
HEDDLE_DEVICE RowPair row_max(const WgmmaValues<shape>& values, CallSite site = CallSite::here()) {
  return detail::reduce_rows(
      values, [](float a, float b) { return __builtin_fmaxf(a, b); }, site);
}
template <WgmmaShape shape>
HEDDLE_DEVICE RowPair row_sum(const WgmmaValues<shape>& values, CallSite site = CallSite::here()) {
  return detail::reduce_rows(
      values, [](float a, float b) { return a + b; }, site);
}

// 64 rows of an operand A in the registers of a warpgroup, as to_operand makes it, and to_byte_operand of
// byte_operand.h.
template <Element T, std::uint32_t operand_k>
class RegisterOperand {
  static constexpr std::uint32_t kStep = 32 / sizeof(T);  // of K, that one wgmma multiplies
  static_assert(operand_k % kStep == 0, "K goes in steps of 32 bytes: make N of the sums a multiple of them");

 public:
  using value_type = T;
  static constexpr Major major = Major::kK;
  static constexpr std::uint32_t rows = kWgmmaM;
  static constexpr std::uint32_t k = operand_k;
  static constexpr OperandType type = operand_type<T>();

  // From `first_k` on, as wgmma takes it.
  HEDDLE_DEVICE const WgmmaFragment& fragment(std::uint32_t first_k) const { return fragments_[first_k / kStep]; }
  HEDDLE_DEVICE WgmmaFragment& fragment(std::uint32_t first_k) { return fragments_[first_k / kStep]; }

 private:
  WgmmaFragment fragments_[operand_k / kStep];
};

// The sums, rounded to T, as A of the next multiplication: their columns become K. Each thread has already what
// it needs. PTX: Register Fragments for wgmma.mma_async.
template <Element T, WgmmaShape shape>
HEDDLE_DEVICE RegisterOperand<T, shape.n> to_operand(const WgmmaValues<shape>& values) {
  static_assert(std::is_same_v<T, bf16> || std::is_same_v<T, fp16>, "operands in registers are bf16 or fp16");
  RegisterOperand<T, shape.n> operand;
  HEDDLE_UNROLL
  for (std::uint32_t i = 0; i < values.count; i += 2) {
    operand.fragment(i / 8 * 16)[i / 2 % 4] = pack_pair<T>(values[i], values[i + 1]);
  }
  return operand;
}

namespace detail {

template <class A>
concept InRegisters = requires(const A& a) {
  a.fragment(0);
};

// `A` is what a forwarding reference has deduced.
template <class A>
HEDDLE_HOST_DEVICE constexpr void check_is_kept() {
  static_assert(
      std::is_lvalue_reference_v<A> || !InRegisters<std::remove_cvref_t<A>>,
      "the tensor cores read this operand's registers until the product has been waited for: give it a name");
}

}  // namespace detail

// Multiplications that have been started. The sums belong to the tensor cores, and so do the tiles that they
// read.
template <WgmmaShape shape, std::uint32_t row_blocks = 1>
class HEDDLE_LINEAR WgmmaPending {
 public:
  WgmmaPending(WgmmaPending&&) noexcept = default;
  HEDDLE_ONLY_WHEN_ENDED WgmmaPending& operator=(WgmmaPending&&) noexcept = default;
  HEDDLE_ONLY_WHEN_ENDED HEDDLE_DEVICE ~WgmmaPending() {}

  // Starts another product, which is added to the sums: a group of its own.
  template <class A, class B>
  HEDDLE_USES HEDDLE_DEVICE void add(A&& a, const B& b, CallSite site = HEDDLE_HERE) const& {
    detail::check_is_kept<A>();
    obligation_.require(site);
    multiply_group<true>(*values_, a, b, site);
  }

  // Waits until at most the newest `groups` products are under way.
  // Orders: the older ones' reads of tiles, ahead of what this warpgroup does next: a release of their stages.
  template <std::uint32_t groups>
  HEDDLE_USES HEDDLE_DEVICE void wait_all_but(CallSite site = HEDDLE_HERE) const& {
    obligation_.require(site);
    isa::wgmma_wait_group<groups>(site);
  }

  // Waits for all of them and gives the sums back. `newer` products of other sums that were started after the
  // last of these may stay under way.
  template <std::uint32_t newer = 0>
  HEDDLE_ENDS HEDDLE_DEVICE WgmmaValues<shape, row_blocks>& wait(CallSite site = HEDDLE_HERE) && {
    obligation_.fulfil(site);
    isa::wgmma_wait_group<newer>(site);
    values_->fence();
    return *values_;
  }

 private:
  template <WgmmaShape, std::uint32_t>
  friend class WgmmaSums;

  HEDDLE_DEVICE WgmmaPending(WgmmaValues<shape, row_blocks>& values, CallSite site)
      : obligation_("wgmma", 0, site), values_(&values) {}

  template <bool adds, class A, class B>
  HEDDLE_DEVICE static void multiply_group(WgmmaValues<shape, row_blocks>& values, const A& a, const B& b,
                                           CallSite site) {
    static_assert(
        A::rows == row_blocks * kWgmmaM,
        "a warpgroup multiplies 64 rows of A, or as many blocks of 64 as its sums have: cut the tile with "
        "slice<64, ...>(warpgroup)");
    static_assert(A::k == B::k, "the operands differ in K: give both the same");
    static_assert(wgmma_shape<A, B>() == shape,
                  "these operands make other sums: WgmmaSumsOf their tiles is what they multiply to");
    static_assert(A::k % shape.k() == 0, "K is a multiple of what one wgmma multiplies, 32 bytes");
    // Before each group: without it ptxas puts in its own, and runs the wgmmas one at a time (C7520).
    isa::wgmma_fence(site);
    HEDDLE_UNROLL
    for (std::uint32_t k = 0; k < A::k; k += shape.k()) {
      HEDDLE_UNROLL
      for (std::uint32_t block = 0; block < row_blocks; ++block) {
        if constexpr (detail::InRegisters<A>) {
          isa::wgmma_mma_async<shape>(values.values_[block], a.fragment(k), b.wgmma_descriptor(k), adds || k != 0,
                                      site);
        } else {
          isa::wgmma_mma_async<shape>(values.values_[block], a.wgmma_descriptor(k, block * kWgmmaM),
                                      b.wgmma_descriptor(k), adds || k != 0, site);
        }
      }
    }
    isa::wgmma_commit_group(site);
  }

  Obligation obligation_;
  WgmmaValues<shape, row_blocks>* values_;
};

// Not copyable: registers that are in flight cannot move.
template <WgmmaShape shape, std::uint32_t row_blocks = 1>
class WgmmaSums {
  static_assert(shape.d == AccumulatorType::kF32, "sums are floats");

 public:
  WgmmaSums() = default;
  WgmmaSums(const WgmmaSums&) = delete;
  WgmmaSums& operator=(const WgmmaSums&) = delete;

  // Sets all of them, while nothing is under way.
  HEDDLE_DEVICE WgmmaValues<shape, row_blocks>& fill(float value) {
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < WgmmaValues<shape, row_blocks>::count; ++i) values_[i] = value;
    return values_;
  }

  // Starts A * B, or adds it to what the sums are. A is a tile's operand or one in registers, which must stay as
  // it is until it was waited for.
  template <class A, class B>
  [[nodiscard]] HEDDLE_DEVICE WgmmaPending<shape, row_blocks> multiply(A&& a, const B& b,
                                                                       CallSite site = HEDDLE_HERE) {
    detail::check_is_kept<A>();
    return start<false>(a, b, site);
  }
  template <class A, class B>
  [[nodiscard]] HEDDLE_DEVICE WgmmaPending<shape, row_blocks> multiply_add(A&& a, const B& b,
                                                                           CallSite site = HEDDLE_HERE) {
    detail::check_is_kept<A>();
    return start<true>(a, b, site);
  }

 private:
  template <bool adds, class A, class B>
  HEDDLE_DEVICE WgmmaPending<shape, row_blocks> start(const A& a, const B& b, CallSite site) {
    values_.fence();
    WgmmaPending<shape, row_blocks>::template multiply_group<adds>(values_, a, b, site);
    return WgmmaPending<shape, row_blocks>(values_, site);
  }

  WgmmaValues<shape, row_blocks> values_;
};

// The sums of a warpgroup's 64 rows of A with a tile of B, as they lie in shared memory: for templates. Elsewhere
// nvcc writes the types of tiles out for the host's compiler, which cannot read them.
template <class ATile, class BTile, Major a_major = Major::kK, Major b_major = Major::kK>
using WgmmaSumsOf = WgmmaSums<wgmma_shape<TileOperand<ATile, a_major>, TileOperand<BTile, b_major>>()>;

}  // namespace heddle::inline HEDDLE_TARGET
