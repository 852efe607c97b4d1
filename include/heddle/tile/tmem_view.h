// SPDX-License-Identifier: Apache-2.0
//
// Tensor memory as kernels see it: addresses, and what one allocation has. Who allocates, who reads and when it is
// freed is the business of kernel/warp_context.h.
//
//   const auto tmem = TmemAllocation<1>::allocate(shared.tmem.address_ptr(), 256);   // one whole warp
//   const TmemAddress mine = tmem.address().offset_cols(stage * 128).offset_lanes(32 * (warp % 4));
#pragma once

#include <heddle/isa/memory.h>
#include <heddle/isa/target.h>
#include <heddle/isa/tmem.h>
#include <heddle/isa/warp.h>

namespace heddle::inline HEDDLE_TARGET {

// The lane in the upper 16 bits, the column in the lower.
class TmemAddress {
 public:
  HEDDLE_HOST_DEVICE constexpr explicit TmemAddress(std::uint32_t raw) : raw_(raw) {}

  HEDDLE_HOST_DEVICE constexpr std::uint32_t raw() const { return raw_; }
  HEDDLE_HOST_DEVICE constexpr std::uint32_t lane() const { return raw_ >> 16; }
  HEDDLE_HOST_DEVICE constexpr std::uint32_t col() const { return raw_ & 0xffff; }
  HEDDLE_HOST_DEVICE constexpr TmemAddress offset_cols(std::uint32_t cols) const { return TmemAddress(raw_ + cols); }
  HEDDLE_HOST_DEVICE constexpr TmemAddress offset_lanes(std::uint32_t lanes) const {
    return TmemAddress(raw_ + (lanes << 16));
  }

  friend constexpr bool operator==(const TmemAddress&, const TmemAddress&) = default;

 private:
  std::uint32_t raw_;
};

// The columns of one tcgen05_alloc: a description, which may be copied. With cta_group 2 both CTAs of a pair have
// the same columns, and one warp of each makes these calls.
template <std::uint32_t cta_group>
class TmemAllocation {
  static constexpr int kGroup = static_cast<int>(cta_group);

 public:
  // By a whole warp. The address goes to `smem_address`, for the others.
  HEDDLE_DEVICE static TmemAllocation allocate(std::uint32_t* smem_address, std::uint32_t cols,
                                               CallSite site = CallSite::here()) {
    isa::tcgen05_alloc<kGroup>(smem_address, cols, site);
    isa::syncwarp(isa::kFullMask, site);
    return from_shared(smem_address, cols, site);
  }
  // What allocate has left there, for threads that have met the allocating warp since.
  HEDDLE_DEVICE static TmemAllocation from_shared(const std::uint32_t* smem_address, std::uint32_t cols,
                                                  CallSite site = CallSite::here()) {
    return TmemAllocation(TmemAddress(isa::ld_shared(smem_address, site)), cols);
  }

  HEDDLE_DEVICE TmemAddress address() const { return address_; }
  HEDDLE_DEVICE std::uint32_t num_cols() const { return cols_; }

  // By a whole warp: this CTA allocates no more.
  HEDDLE_DEVICE void relinquish(CallSite site = CallSite::here()) const {
    isa::tcgen05_relinquish_alloc_permit<kGroup>(site);
  }
  // By a whole warp, when everyone is done with the columns.
  HEDDLE_DEVICE void deallocate(CallSite site = CallSite::here()) const {
    isa::tcgen05_dealloc<kGroup>(address_.raw(), cols_, site);
  }

 private:
  HEDDLE_DEVICE TmemAllocation(TmemAddress address, std::uint32_t cols) : address_(address), cols_(cols) {}

  TmemAddress address_;
  std::uint32_t cols_;
};

}  // namespace heddle::inline HEDDLE_TARGET
