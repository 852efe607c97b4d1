// SPDX-License-Identifier: Apache-2.0
//
// WgmmaSums: 64 rows of sums in the registers of a warpgroup, which wgmma adds to while the threads do something
// else. Starting a multiplication gives a linear handle, and only its end gives the numbers: what is in flight
// cannot be read, and a multiplication that nobody waits for does not build.
//
//   WgmmaSumsOf<ATile, BTile> sums;                               // 64 x N
//   auto pending = sums.multiply(a.operand(), b.operand());       // all of K that the tiles have
//   pending.add(more_a.operand(), more_b.operand());
//   pending.wait_all_but<1>();                                    // a and b may be overwritten
//   auto& values = std::move(pending).wait();
//   for (std::uint32_t i = 0; i < values.count; ++i) store(values.row(i), values.col(i), values[i]);
//
// All 128 threads of the warpgroup do the same.
#pragma once

#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>
#include <heddle/isa/warp.h>
#include <heddle/isa/wgmma.h>
#include <heddle/linear.h>
#include <heddle/tile/operand.h>

#include <utility>

namespace heddle::inline HEDDLE_TARGET {

// What multiplies these two.
template <class A, class B>
HEDDLE_HOST_DEVICE constexpr WgmmaShape wgmma_shape() {
  return {.n = B::rows, .a = A::type, .b = B::type, .a_major = A::major, .b_major = B::major};
}

// The numbers of one thread, and where they are in the 64 x n sums of its warpgroup.
template <WgmmaShape shape>
class WgmmaValues {
 public:
  static constexpr std::uint32_t count = shape.d_registers();

  HEDDLE_DEVICE float& operator[](std::uint32_t i) { return values_[i]; }
  HEDDLE_DEVICE float operator[](std::uint32_t i) const { return values_[i]; }

  // Each thread has two rows, 8 apart. PTX: Register Fragments for wgmma.mma_async.
  HEDDLE_DEVICE static std::uint32_t row(std::uint32_t i) {
    return isa::warp_idx() % 4 * 16 + isa::laneid() / 4 + i / 2 % 2 * 8;
  }
  HEDDLE_DEVICE static std::uint32_t col(std::uint32_t i) { return i / 4 * 8 + isa::laneid() % 4 * 2 + i % 2; }

 private:
  template <WgmmaShape>
  friend class WgmmaSums;
  template <WgmmaShape>
  friend class WgmmaPending;

  WgmmaAccumulators<shape> values_;
};

// Multiplications that have been started. The sums belong to the tensor cores, and so do the tiles that they
// read.
template <WgmmaShape shape>
class HEDDLE_LINEAR WgmmaPending {
 public:
  WgmmaPending(WgmmaPending&&) noexcept = default;
  HEDDLE_ONLY_WHEN_ENDED WgmmaPending& operator=(WgmmaPending&&) noexcept = default;
  HEDDLE_ONLY_WHEN_ENDED HEDDLE_DEVICE ~WgmmaPending() {}

  // Starts another product, which is added to the sums: a group of its own.
  template <class A, class B>
  HEDDLE_USES HEDDLE_DEVICE void add(const A& a, const B& b, CallSite site = HEDDLE_HERE) const& {
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

  // Waits for all of them and gives the sums back.
  HEDDLE_ENDS HEDDLE_DEVICE WgmmaValues<shape>& wait(CallSite site = HEDDLE_HERE) && {
    obligation_.fulfil(site);
    isa::wgmma_wait_group<0>(site);
    isa::wgmma_fence_operands(values_->values_);
    return *values_;
  }

 private:
  template <WgmmaShape>
  friend class WgmmaSums;

  HEDDLE_DEVICE WgmmaPending(WgmmaValues<shape>& values, CallSite site)
      : obligation_("wgmma", 0, site), values_(&values) {}

  template <bool adds, class A, class B>
  HEDDLE_DEVICE static void multiply_group(WgmmaValues<shape>& values, const A& a, const B& b, CallSite site) {
    static_assert(A::rows == kWgmmaM,
                  "a warpgroup multiplies 64 rows of A: cut the tile with slice<64, ...>(warpgroup)");
    static_assert(A::k == B::k, "the operands differ in K: give both the same");
    static_assert(wgmma_shape<A, B>() == shape,
                  "these operands make other sums: WgmmaSumsOf their tiles is what they multiply to");
    static_assert(A::k % shape.k() == 0, "K is a multiple of what one wgmma multiplies, 32 bytes");
    // Before each group: without it ptxas puts in its own, and runs the wgmmas one at a time (C7520).
    isa::wgmma_fence(site);
    HEDDLE_UNROLL
    for (std::uint32_t k = 0; k < A::k; k += shape.k()) {
      isa::wgmma_mma_async<shape>(values.values_, a.wgmma_descriptor(k), b.wgmma_descriptor(k), adds || k != 0,
                                  site);
    }
    isa::wgmma_commit_group(site);
  }

  Obligation obligation_;
  WgmmaValues<shape>* values_;
};

// Not copyable: registers that are in flight cannot move.
template <WgmmaShape shape>
class WgmmaSums {
  static_assert(shape.d == AccumulatorType::kF32, "sums are floats");

 public:
  WgmmaSums() = default;
  WgmmaSums(const WgmmaSums&) = delete;
  WgmmaSums& operator=(const WgmmaSums&) = delete;

  // Starts A * B, or adds it to what the sums are.
  template <class A, class B>
  [[nodiscard]] HEDDLE_DEVICE WgmmaPending<shape> multiply(const A& a, const B& b, CallSite site = HEDDLE_HERE) {
    return start<false>(a, b, site);
  }
  template <class A, class B>
  [[nodiscard]] HEDDLE_DEVICE WgmmaPending<shape> multiply_add(const A& a, const B& b,
                                                               CallSite site = HEDDLE_HERE) {
    return start<true>(a, b, site);
  }

 private:
  template <bool adds, class A, class B>
  HEDDLE_DEVICE WgmmaPending<shape> start(const A& a, const B& b, CallSite site) {
    isa::wgmma_fence_operands(values_.values_);
    WgmmaPending<shape>::template multiply_group<adds>(values_, a, b, site);
    return WgmmaPending<shape>(values_, site);
  }

  WgmmaValues<shape> values_;
};

// The sums of a warpgroup's 64 rows of A with a tile of B, as they lie in shared memory.
template <class ATile, class BTile, Major a_major = Major::kK, Major b_major = Major::kK>
using WgmmaSumsOf = WgmmaSums<wgmma_shape<TileOperand<ATile, a_major>, TileOperand<BTile, b_major>>()>;

}  // namespace heddle::inline HEDDLE_TARGET
