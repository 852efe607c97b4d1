// SPDX-License-Identifier: Apache-2.0
//
// Parts of a tile that nobody fills and that are multiplied all the same, for results that nobody stores: at the
// end of a matrix. On a GPU they are what they were, and this is nothing. The simulated SM reports reads of what
// nobody has written; there they become NaNs, so that a result which depends on them shows.
#pragma once

#include <heddle/isa/fence.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>
#include <heddle/tile/tile_tensor.h>

namespace heddle::inline HEDDLE_TARGET {

namespace detail {

// Both multiples of 16. A swizzle moves bytes inside a line, so whole rows stay whole.
template <std::uint32_t threads>
HEDDLE_DEVICE void make_arbitrary([[maybe_unused]] void* from, [[maybe_unused]] std::uint32_t begin,
                                  [[maybe_unused]] std::uint32_t end, [[maybe_unused]] CallSite site) {
  if constexpr (kIsSimulated) {
    constexpr std::uint32_t nans = 0x7fff7fff;  // of every 16-bit type, and of float
    auto* const bytes = static_cast<unsigned char*>(from);
    for (std::uint32_t at = begin + isa::tid_x() * 16; at < end; at += threads * 16) {
      isa::st_shared(reinterpret_cast<isa::Bytes16*>(bytes + at), isa::Bytes16{{nans, nans, nans, nans}}, site);
    }
  }
}

}  // namespace detail

// By `threads` threads, the first of which has number 0: rows from `first` on, or panels. A barrier for them
// follows. Orders: the NaNs, before what the copy engine writes and a tensor core reads after the barrier.
template <std::uint32_t threads, Element T, Layout layout>
HEDDLE_DEVICE void leave_rows(const TileTensor<T, layout>& tile, std::uint32_t first,
                              CallSite site = CallSite::here()) {
  HEDDLE_UNROLL
  for (std::uint32_t panel = 0; panel < layout.panels(); ++panel) {
    detail::make_arbitrary<threads>(tile.panel_data(panel), first * layout.stride_bytes[0],
                                    layout.shape[0] * layout.stride_bytes[0], site);
  }
  if constexpr (kIsSimulated) isa::fence_proxy_async_shared_cta(site);
}
template <std::uint32_t threads, Element T, Layout layout>
HEDDLE_DEVICE void leave_panels(const TileTensor<T, layout>& tile, std::uint32_t first,
                                CallSite site = CallSite::here()) {
  detail::make_arbitrary<threads>(tile.data(), first * layout.panel_stride_bytes, layout.bytes(), site);
  if constexpr (kIsSimulated) isa::fence_proxy_async_shared_cta(site);
}

}  // namespace heddle::inline HEDDLE_TARGET
