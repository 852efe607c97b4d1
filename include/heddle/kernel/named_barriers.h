// SPDX-License-Identifier: Apache-2.0
//
// Which of a CTA's named barriers are for what. A kernel lists its uses once; numbers follow from the list, so no
// two uses share one, and number 0 is left to syncthreads().
//
//   using Barriers = NamedBarriers<BarrierUse<"turns", 2>, BarrierUse<"address">>;
//   WarpgroupTurns<2, Barriers::first("turns")> turns(warpgroup);      // 1 and 2
//   isa::bar_sync(Barriers::first("address"), threads);                // 3
#pragma once

#include <heddle/isa/named_barrier.h>
#include <heddle/isa/target.h>
#include <heddle/kernel/roles.h>

#include <string_view>

namespace heddle::inline HEDDLE_TARGET {

// `count` barriers in a row, under one name.
template <RoleName name, std::uint32_t count = 1>
struct BarrierUse {
  static_assert(count > 0, "a use of named barriers needs a barrier: make its count 1 or more");

  static constexpr std::uint32_t barriers = count;
  static constexpr std::string_view use_name() { return name.view(); }
};

template <class... Uses>
struct NamedBarriers {
  static constexpr std::uint32_t count = (0u + ... + Uses::barriers);
  static_assert(
      1 + count <= isa::kNamedBarriers,
      "a CTA has 15 named barriers beside that of syncthreads(): make the counts of the uses add up to 15 "
      "or less");

  // The number of the first barrier of a use. A name that is not in the list does not compile, nor does one that
  // is there twice.
  static consteval std::uint32_t first(std::string_view name) {
    std::uint32_t next = 1;
    std::uint32_t found = 0;
    std::uint32_t times = 0;
    const auto look = [&](std::string_view use, std::uint32_t barriers) {
      if (use == name) {
        found = next;
        ++times;
      }
      next += barriers;
    };
    (look(Uses::use_name(), Uses::barriers), ...);
    if (times == 0) no_use_of_named_barriers_has_this_name();
    if (times > 1) two_uses_of_named_barriers_share_this_name();
    return found;
  }

 private:
  // Reached while a constant is computed, these stop the compiler with their names.
  static void no_use_of_named_barriers_has_this_name() {}
  static void two_uses_of_named_barriers_share_this_name() {}
};

}  // namespace heddle::inline HEDDLE_TARGET
