// SPDX-License-Identifier: Apache-2.0
//
// TmemPlan: what lies where in one allocation of tensor memory. A kernel lists its regions once, each with a
// name, what one stage of it is and how many stages there are. Columns follow from the list: regions lie side by
// side, but for those that are said to lie in another one's columns. A list that does not fit does not compile.
//
//   using S = TmemTensor<float, AccumulatorShape{.m = 128, .n = 128}>;      // inside a template
//   using P = PackedTmem<bf16, 128>;                                        // 128 rows, two numbers to a column
//   using Plan = TmemPlan<TmemRegion<"s", S, 2>, TmemRegion<"o", O>, TmemOverlay<"p", "s", P>>;
//
//   const auto tmem = TmemAllocation<1>::allocate(&shared.tmem_base, Plan::kAllocCols);
//   const Plan plan(tmem.address());
//   tcgen05_mma(plan.region<"s">(stage), q, k, false);                      // tile/tcgen05_mma.h
//   plan.region<"p">(stage).store(values, 0);                               // values of this thread's row
//   tcgen05_mma(plan.region<"o">(), plan.region<"p">(stage).operand(), v, true);
#pragma once

#include <heddle/isa/instruction_descriptor.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>
#include <heddle/isa/tmem.h>
#include <heddle/isa/warp.h>
#include <heddle/kernel/roles.h>
#include <heddle/tile/convert.h>
#include <heddle/tile/element.h>
#include <heddle/tile/tmem_view.h>

#include <string_view>

namespace heddle::inline HEDDLE_TARGET {

// An operand A in tensor memory: 128 rows, one to a lane, K along the columns.
template <Element T, std::uint32_t operand_k>
class TmemOperand {
 public:
  using value_type = T;
  static constexpr Major major = Major::kK;
  static constexpr std::uint32_t rows = kTmemLanes;
  static constexpr std::uint32_t k = operand_k;
  static constexpr OperandType type = operand_type<T>();

  HEDDLE_HOST_DEVICE explicit constexpr TmemOperand(TmemAddress address) : address_(address) {}

  // From `first_k` on, as tcgen05.mma takes it.
  HEDDLE_HOST_DEVICE constexpr std::uint32_t taddr(std::uint32_t first_k = 0) const {
    return address_.plus_cols(first_k / (4 / element_bytes<T>)).bits();
  }

 private:
  TmemAddress address_;
};

// 128 rows of `row_k` numbers of 16 bits, two to a column, the first in the lower half: as an MMA reads A from
// tensor memory. Each warp has its quarter of the rows, each thread a row.
template <Element T, std::uint32_t row_k>
class PackedTmem {
  static_assert(OutputElement<T> && sizeof(T) == 2, "packed numbers are bf16 or fp16, two to a column");
  static_assert(row_k > 0 && row_k % 16 == 0, "an MMA reads 16 of K at a time: give a multiple of it");

 public:
  using value_type = T;

  HEDDLE_HOST_DEVICE explicit constexpr PackedTmem(TmemAddress address) : address_(address) {}

  HEDDLE_HOST_DEVICE constexpr TmemAddress address() const { return address_; }
  HEDDLE_HOST_DEVICE static constexpr std::uint32_t cols() { return row_k / 2; }

  // Starts to store `count` neighbours of this thread's row, rounded, from number `first` on (even). The warp
  // executes it together; tcgen05_wait_st follows before anyone else hears of them.
  template <std::uint32_t count>
  HEDDLE_DEVICE void store(const float (&values)[count], std::uint32_t first,
                           CallSite site = CallSite::here()) const {
    static_assert(count % 2 == 0 && count <= row_k, "a row holds pairs, and no more than its K of numbers");
    std::uint32_t words[count / 2];
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < count / 2; ++i) words[i] = pack_pair<T>(values[2 * i], values[2 * i + 1]);
    isa::tcgen05_st_32x32b(own_lanes(first), words, site);
  }

  // Starts to load as many words of two numbers each; tcgen05_wait_ld follows before they are read, by
  // element_of<T>(words[i / 2], i % 2).
  template <std::uint32_t words>
  HEDDLE_DEVICE void load(std::uint32_t (&pairs)[words], std::uint32_t first,
                          CallSite site = CallSite::here()) const {
    static_assert(2 * words <= row_k, "more numbers than a row has");
    isa::tcgen05_ld_32x32b(pairs, own_lanes(first), site);
  }

  HEDDLE_HOST_DEVICE constexpr TmemOperand<T, row_k> operand() const { return TmemOperand<T, row_k>(address_); }

 private:
  HEDDLE_DEVICE std::uint32_t own_lanes(std::uint32_t first) const {
    return address_.plus_cols(first / 2).of_warp(isa::warp_idx()).bits();
  }

  TmemAddress address_;
};

// A region of a plan: `count` stages of a view, which is made from an address and has a number of cols().
template <RoleName name, class ViewOfStage, std::uint32_t count = 1>
struct TmemRegion {
  static_assert(count > 0, "a region has a stage: make its count 1 or more");

  using View = ViewOfStage;
  static constexpr std::uint32_t stages = count;
  static constexpr std::uint32_t first_col = 0;
  static constexpr bool is_overlay = false;
  static constexpr std::string_view region_name() { return name.view(); }
  static constexpr std::string_view over() { return name.view(); }
};

// A region in the columns of another one, stage by stage, from `first` of them on. Whoever writes it has read
// what the other region held.
template <RoleName name, RoleName other, class ViewOfStage, std::uint32_t first = 0>
struct TmemOverlay {
  // It takes no columns of its own.
  using View = ViewOfStage;
  static constexpr std::uint32_t stages = 0;
  static constexpr std::uint32_t first_col = first;
  static constexpr bool is_overlay = true;
  static constexpr std::string_view region_name() { return name.view(); }
  static constexpr std::string_view over() { return other.view(); }
};

namespace detail {

template <std::size_t index, class First, class... Rest>
struct RegionAt : RegionAt<index - 1, Rest...> {};
template <class First, class... Rest>
struct RegionAt<0, First, Rest...> {
  using Region = First;
};

// These appear in compile errors, where their numbers can be read.
template <std::uint32_t asked_for, std::uint32_t available>
struct TmemOverlayColumns {
  static_assert(asked_for <= available,
                "a region does not fit into the columns that it is to share: TmemOverlayColumns<asked for, "
                "available>. Make it smaller, or give it columns of its own");
};

template <std::size_t times>
struct TmemRegionsOfThisName {
  static_assert(times > 0, "the plan of tensor memory has no region of this name");
  static_assert(times < 2, "two regions of a plan of tensor memory share a name: give one of them another");
  static constexpr std::size_t kTimes = times;
};

}  // namespace detail

template <class... Regions>
class TmemPlan {
  static_assert(sizeof...(Regions) > 0, "a plan has a region");

  static constexpr std::size_t times_of(std::string_view name) {
    return (std::size_t{0} + ... + (Regions::region_name() == name ? 1 : 0));
  }
  static constexpr std::size_t index_of(std::string_view name) {
    std::size_t index = 0;
    static_cast<void>(((Regions::region_name() == name || (++index, false)) || ...));
    return index;
  }

  template <std::size_t index>
  using RegionOf = typename detail::RegionAt<index, Regions...>::Region;

  // Columns before a region, from one of its stages to the next, and how many there are.
  struct Place {
    std::uint32_t first;
    std::uint32_t stride;
    std::uint32_t stages;
  };

  template <std::size_t index>
  static constexpr Place place_at() {
    using Region = RegionOf<index>;
    if constexpr (Region::is_overlay) {
      constexpr Place under = place_at<index_of(Region::over())>();
      return {under.first + Region::first_col, under.stride, under.stages};
    } else {
      const std::uint32_t taken[] = {Regions::stages * Regions::View::cols()...};
      std::uint32_t before = 0;
      for (std::size_t i = 0; i != index; ++i) before += taken[i];
      return {before, Region::View::cols(), Region::stages};
    }
  }
  // Constants, since device code cannot call what computes them. There is an index even where there is no such
  // name, which is refused elsewhere.
  template <RoleName name>
  static constexpr bool kHas = times_of(name.view()) > 0;
  template <RoleName name>
  static constexpr std::size_t kIndex = kHas<name> ? index_of(name.view()) : 0;
  template <RoleName name>
  static constexpr Place kPlace = place_at<kIndex<name>>();

  template <class Region>
  static constexpr std::uint32_t available_cols() {
    if constexpr (!Region::is_overlay || times_of(Region::over()) == 0) {
      return kTmemCols;
    } else {
      return place_at<index_of(Region::over())>().stride;
    }
  }
  template <class Region>
  struct Checks : detail::TmemRegionsOfThisName<times_of(Region::region_name())> {
    detail::TmemRegionsOfThisName<times_of(Region::over())> is_over;
    detail::TmemOverlayColumns<Region::first_col + Region::View::cols(), available_cols<Region>()> fits;
  };

 public:
  static constexpr std::uint32_t kCols = (0u + ... + (Regions::stages * Regions::View::cols()));
  static_assert(sizeof(TmemColumns<kCols, kTmemCols>) > 0);
  static_assert(((sizeof(Checks<Regions>) > 0) && ...));
  static constexpr std::uint32_t kAllocCols = tmem_alloc_cols(kCols);

  HEDDLE_HOST_DEVICE explicit constexpr TmemPlan(TmemAddress base) : base_(base) {}

  // A stage of a region, as its view. A name that is not in the plan does not compile.
  template <RoleName name>
  HEDDLE_HOST_DEVICE constexpr auto region(std::uint32_t stage = 0) const {
    static_assert(kHas<name>, "the plan of tensor memory has no region of this name");
    constexpr Place place = kPlace<name>;
    return typename RegionOf<kIndex<name>>::View(base_.plus_cols(place.first + stage * place.stride));
  }

  // Where it begins, counted from the first column of the allocation, and how many stages it has.
  template <RoleName name>
  HEDDLE_HOST_DEVICE static constexpr std::uint32_t first_col() {
    static_assert(kHas<name>, "the plan of tensor memory has no region of this name");
    constexpr Place place = kPlace<name>;
    return place.first;
  }
  template <RoleName name>
  HEDDLE_HOST_DEVICE static constexpr std::uint32_t num_stages() {
    static_assert(kHas<name>, "the plan of tensor memory has no region of this name");
    constexpr Place place = kPlace<name>;
    return place.stages;
  }

 private:
  TmemAddress base_;
};

}  // namespace heddle::inline HEDDLE_TARGET
