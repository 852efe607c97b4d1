// SPDX-License-Identifier: Apache-2.0
//
// Which of a CTA's named barriers are for what. A kernel lists its uses once; numbers follow from the list, so no
// two uses share one, and number 0 is left to syncthreads().
//
//   using Barriers = NamedBarriers<BarrierUse<"turns", 2>, BarrierUse<"workers", 2>>;
//   WarpgroupTurns<2, Barriers::first("turns")> turns(warpgroup);      // 1 and 2
//   Barriers::sync<"workers">(128, worker);                            // 3 or 4; reports know its name
#pragma once

#include <heddle/isa/annotate.h>
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
  static consteval std::uint32_t first(std::string_view name) { return find(name); }

  // Waits on barrier `number` of a use until `threads` threads (a multiple of 32) have arrived, or arrives there
  // without waiting. Orders: as isa::bar_sync.
  template <RoleName use>
  HEDDLE_DEVICE static void sync(std::uint32_t threads, std::uint32_t number = 0,
                                 CallSite site = CallSite::here()) {
    isa::bar_sync(annotated<use>() + number, threads, site);
  }
  template <RoleName use>
  HEDDLE_DEVICE static void arrive(std::uint32_t threads, std::uint32_t number = 0,
                                   CallSite site = CallSite::here()) {
    isa::bar_arrive(annotated<use>() + number, threads, site);
  }

 private:
  static constexpr std::uint32_t find(std::string_view name) {
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

  // Constants, since device code cannot call what computes them.
  template <RoleName use>
  static constexpr std::uint32_t kFirst = find(use.view());
  template <RoleName use>
  static constexpr std::uint32_t kCount = (0u + ... + (Uses::use_name() == use.view() ? Uses::barriers : 0u));

  // The number of the use's first barrier, whose names reports know from here on.
  template <RoleName use>
  HEDDLE_DEVICE static std::uint32_t annotated() {
    // Only there has a name a text, which is not an object that device code could reach.
    if constexpr (kIsSimulated) isa::annotate_named_barriers(kFirst<use>, kCount<use>, use.text);
    return kFirst<use>;
  }

  // Reached while a constant is computed, these stop the compiler with their names.
  static void no_use_of_named_barriers_has_this_name() {}
  static void two_uses_of_named_barriers_share_this_name() {}
};

}  // namespace heddle::inline HEDDLE_TARGET
