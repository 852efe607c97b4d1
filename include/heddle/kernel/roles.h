// SPDX-License-Identifier: Apache-2.0
//
// Warp roles: which warps of a CTA do what. Roles are declared once, in the order of their warps; how many
// threads a kernel has, where a role begins, and which role a warp has, follow from it. A role may state its
// first warp; roles that overlap, or leave a warp without a role, do not compile.
//
//   using Epilogue = Role<"epilogue", 4>;
//   using Load = Role<"load", 1>;
//   using Mma = Role<"mma", 1>;
//   using Roles = WarpRoles<Epilogue, Load, Mma>;
//   static constexpr std::uint32_t kThreads = Roles::kThreads;    // 192
//
//   if (Roles::enter<Load>()) load(...);
//   else if (Roles::enter<Mma>()) multiply(...);
//   else if (Roles::enter<Epilogue>()) store(...);
#pragma once

#include <heddle/isa/annotate.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>
#include <heddle/isa/warp.h>

#include <string_view>
#include <type_traits>

namespace heddle::inline HEDDLE_TARGET {

// The text of a role's name, as a template argument.
template <std::size_t size>
struct RoleName {
  char text[size];

  consteval RoleName(const char (&name)[size]) {
    for (std::size_t i = 0; i < size; ++i) text[i] = name[i];
  }
  constexpr std::string_view view() const { return {text, size - 1}; }
};

inline constexpr std::uint32_t kNextWarp = ~0u;

// `first` is the role's first warp; by default the one after the role before it.
template <RoleName name, std::uint32_t warp_count, std::uint32_t first = kNextWarp>
struct Role {
  static_assert(warp_count > 0, "a role needs a warp: give it 1 or more");

  static constexpr std::uint32_t warps = warp_count;
  static constexpr std::uint32_t threads = warp_count * isa::kWarpThreads;
  static constexpr std::uint32_t stated_first_warp = first;
  static constexpr auto role_name = name;
};

namespace detail {

template <bool is_free, bool is_next, class R, std::uint32_t begins_at, std::uint32_t previous_ends_at>
struct RolePlace {
  static_assert(is_free,
                "two roles share a warp: RolePlace lists the role, the warp at which it begins and the warp at "
                "which the role before it ends. Let it begin there, or leave its first warp out");
  static_assert(is_next,
                "a warp has no role: RolePlace lists the role, the warp at which it begins and the warp at which "
                "the role before it ends. Let it begin there, or leave its first warp out");
  static constexpr bool kIsChecked = true;
};

template <class R, std::uint32_t end>
constexpr std::uint32_t begin_of() {
  constexpr std::uint32_t begin = R::stated_first_warp == kNextWarp ? end : R::stated_first_warp;
  static_assert(RolePlace<(begin >= end), (begin <= end), R, begin, end>::kIsChecked);
  return begin;
}

// Roles in order, each placed after those before it.
template <std::uint32_t end, class... Roles>
struct Places;

template <std::uint32_t end>
struct Places<end> {
  static constexpr std::uint32_t kWarps = end;
  template <class R>
  static constexpr std::uint32_t find() {
    return kNextWarp;
  }
};

template <std::uint32_t end, class First, class... Rest>
struct Places<end, First, Rest...> {
  static constexpr std::uint32_t kBegin = begin_of<First, end>();
  using Behind = Places<kBegin + First::warps, Rest...>;
  static constexpr std::uint32_t kWarps = Behind::kWarps;

  template <class R>
  static constexpr std::uint32_t find() {
    if constexpr (std::is_same_v<R, First>) {
      return kBegin;
    } else {
      return Behind::template find<R>();
    }
  }
};

constexpr bool all_differ(const std::string_view* names, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (names[i] == names[j]) return false;
    }
  }
  return true;
}

template <class... Roles>
constexpr bool names_differ() {
  constexpr std::string_view names[] = {Roles::role_name.view()...};
  return all_differ(names, sizeof...(Roles));
}

}  // namespace detail

template <class... Roles>
class WarpRoles {
  static_assert(sizeof...(Roles) > 0, "a kernel needs a role: list at least one");
  static_assert(detail::names_differ<Roles...>(),
                "two roles have the same name: reports could not tell them apart");
  using Places = detail::Places<0, Roles...>;

  template <class R>
  static constexpr std::uint32_t find_first_warp() {
    static_assert((std::is_same_v<R, Roles> || ...),
                  "this role is not among those of the kernel: list it in WarpRoles");
    return Places::template find<R>();
  }

 public:
  static constexpr std::uint32_t kWarps = Places::kWarps;
  static constexpr std::uint32_t kThreads = kWarps * isa::kWarpThreads;
  static_assert(kThreads <= 1024, "a CTA has at most 1024 threads, 32 warps: the roles ask for more");

  template <class R>
  static constexpr bool has = (std::is_same_v<R, Roles> || ...);

  template <class R>
  static constexpr std::uint32_t first_warp = find_first_warp<R>();
  template <class R>
  static constexpr std::uint32_t first_thread = first_warp<R>* isa::kWarpThreads;

  // Whether the role is made of whole warpgroups, as wgmma and setmaxnreg want them.
  template <class R>
  static constexpr bool is_warpgroups = first_warp<R> % 4 == 0 && R::warps % 4 == 0;

  // Threads of the role with that name; 0 if there is none.
  static constexpr std::uint32_t threads_named(std::string_view name) {
    return ((Roles::role_name.view() == name ? Roles::threads : 0u) + ...);
  }

  // Whether the calling warp has the role.
  template <class R>
  HEDDLE_DEVICE static bool is() {
    return warp_in_role<R>() < R::warps;  // warps before the first wrap round to large numbers
  }

  // As is(), and from here on reports call the thread by its role.
  template <class R>
  HEDDLE_DEVICE static bool enter() {
    const bool has_role = is<R>();
    // Only there has a name a text, which is not an object that device code could reach.
    if constexpr (kIsSimulated) {
      if (has_role) isa::annotate_role(R::role_name.text);
    } else if constexpr (kIsTraced) {
      constexpr auto name = R::role_name;
      if (has_role) isa::trace_role(name.text);
    }
    return has_role;
  }

  // Counted from the first of the role.
  template <class R>
  HEDDLE_DEVICE static std::uint32_t warp_in_role() {
    return isa::warp_idx() - first_warp<R>;
  }
  template <class R>
  HEDDLE_DEVICE static std::uint32_t thread_in_role() {
    return isa::tid_x() - first_thread<R>;
  }
};

}  // namespace heddle::inline HEDDLE_TARGET
