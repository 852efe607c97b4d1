// SPDX-License-Identifier: Apache-2.0
//
// setmaxnreg: warpgroups hand registers to one another. A CTA starts with so many for each thread; a copy
// warpgroup that needs few gives some back, and math warpgroups take them. The budget is the CTA's:
//
//   static constexpr std::uint32_t kThreads = 384;
//   static constexpr std::uint32_t kRegisters = isa::entry_registers(kThreads);   // 168
//   ...
//   if (is_producer) isa::setmaxnreg_dec<40>(); else isa::setmaxnreg_inc<232>();  // 40 + 2 * 232 = 3 * 168
//
// A kernel that states `kRegisters` has the sum checked in the simulated SM, where an increase that can never
// be met is reported; on a GPU it hangs. All four warps of a warpgroup execute the same one.
#pragma once

#include <heddle/isa/target.h>

namespace heddle::inline HEDDLE_TARGET::isa {

inline constexpr std::uint32_t kRegistersPerSm = 65'536;

// Registers of each thread when a CTA of so many threads has an SM to itself and its kernel is compiled for
// that, which is how launch() compiles it (__launch_bounds__ with one CTA per SM).
HEDDLE_HOST_DEVICE constexpr std::uint32_t entry_registers(std::uint32_t threads) {
  const std::uint32_t fitting = kRegistersPerSm / threads / 8 * 8;
  return fitting < 255 ? fitting : 255;
}

HEDDLE_HOST_DEVICE constexpr bool is_register_count(std::uint32_t count) {
  return count >= 24 && count <= 256 && count % 8 == 0;
}

#if HEDDLE_ON_CUDA

// Waits until the CTA has enough free registers, then takes them: `count` for each thread from here on. The
// new ones hold garbage.
template <std::uint32_t count>
HEDDLE_DEVICE void setmaxnreg_inc(CallSite = CallSite::here()) {
  static_assert(is_register_count(count), "setmaxnreg: 24 to 256 registers, a multiple of 8");
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}

// Gives registers back, down to `count` for each thread.
template <std::uint32_t count>
HEDDLE_DEVICE void setmaxnreg_dec(CallSite = CallSite::here()) {
  static_assert(is_register_count(count), "setmaxnreg: 24 to 256 registers, a multiple of 8");
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}

#else

namespace detail {

void setmaxnreg(bool increases, std::uint32_t count, CallSite site);

}  // namespace detail

template <std::uint32_t count>
void setmaxnreg_inc(CallSite site = CallSite::here()) {
  static_assert(is_register_count(count), "setmaxnreg: 24 to 256 registers, a multiple of 8");
  detail::setmaxnreg(true, count, site);
}

template <std::uint32_t count>
void setmaxnreg_dec(CallSite site = CallSite::here()) {
  static_assert(is_register_count(count), "setmaxnreg: 24 to 256 registers, a multiple of 8");
  detail::setmaxnreg(false, count, site);
}

#endif

}  // namespace heddle::inline HEDDLE_TARGET::isa
