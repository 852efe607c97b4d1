// SPDX-License-Identifier: Apache-2.0
//
// How much shared memory a kernel asks for, and how much its architecture has. A kernel's shared memory is
// one plain struct; a kernel checks it where it is defined, and a struct that is too large does not compile:
// the error states the bytes asked for, the limit, the padding, and each member by name with its bytes.
// memory_map lists the same at run time, with offsets.
//
//   struct Shared {
//     InputPipelineStorage<4, Payload> input;
//     OutputPipelineStorage<2> output;
//   };
//   static_assert(check_shared_memory<Shared, Arch::kSm90>());
//
//   for (const MemoryRange& range : memory_map<Shared>()) print(range.name, range.offset, range.bytes);
#pragma once

#include <heddle/isa/arch.h>
#include <heddle/isa/target.h>

#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace heddle::inline HEDDLE_TARGET {

// True, or a compile error that names the numbers: see SharedMemoryBudget.
template <class Smem, Arch arch>
constexpr bool check_shared_memory();

// A member of a kernel's shared memory, or the padding after one (its name is then "(padding)").
struct MemoryRange {
  std::string_view name;
  std::string_view type;
  std::size_t offset;
  std::size_t bytes;
  std::size_t alignment;
};

// The members and the gaps between them in the order of their offsets, at most 2 x 16; the bytes of all
// ranges add up to sizeof(Smem).
class MemoryMap {
 public:
  static constexpr std::size_t kMaxRanges = 32;

  std::size_t size() const { return size_; }
  const MemoryRange* begin() const { return ranges_; }
  const MemoryRange* end() const { return ranges_ + size_; }
  const MemoryRange& operator[](std::size_t idx) const { return ranges_[idx]; }

  // Appends a member, and before it the gap that its alignment left.
  void add_member(const MemoryRange& member) {
    pad_to(member.offset);
    ranges_[size_++] = member;
    end_ = member.offset + member.bytes;
  }

  void pad_to(std::size_t offset) {
    if (offset > end_) ranges_[size_++] = {"(padding)", "", end_, offset - end_, 1};
    end_ = offset;
  }

 private:
  MemoryRange ranges_[kMaxRanges] = {};
  std::size_t size_ = 0;
  std::size_t end_ = 0;
};

template <class Smem>
MemoryMap memory_map();

// The text of a type as the compiler writes it.
template <class T>
constexpr std::string_view type_text();

// These four appear in the compile error, where they read as a table.
template <std::size_t bytes>
struct BytesAskedFor {};
template <std::size_t bytes>
struct BytesAvailable {};
template <std::size_t bytes>
struct BytesOfPadding {};
template <auto member, std::size_t bytes>
struct MemberTakes {};

template <bool fits, class... Numbers>
struct SharedMemoryBudget {
  static_assert(fits,
                "the kernel's shared memory is larger than the architecture allows. SharedMemoryBudget lists "
                "the bytes asked for, the bytes available, the padding, and the bytes that each member takes: "
                "lower the stage count or the tile shape of the largest");
  static constexpr bool kIsChecked = true;
};

namespace detail {

// A place whose subobjects have addresses that are known at compile time. Nothing in it is ever read.
template <class Smem>
union SharedImage {
  char nothing;
  Smem smem;

  constexpr SharedImage() : nothing{} {}
};

template <class Smem>
inline constinit SharedImage<Smem> shared_image{};

inline constexpr std::size_t kTooManyMembers = 17;

// A pair of braces initialises exactly one member, also where that is an array: the longest list of them
// that the struct accepts counts its members.
template <class S>
constexpr std::size_t member_count() {
  static_assert(std::is_aggregate_v<S>,
                "a kernel's shared memory must be a plain struct: public members, no base, no constructor");
  // clang-format off
  if constexpr (requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return kTooManyMembers;
  else if constexpr (requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return 16;
  else if constexpr (requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return 15;
  else if constexpr (requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return 14;
  else if constexpr (requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return 13;
  else if constexpr (requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return 12;
  else if constexpr (requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return 11;
  else if constexpr (requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return 10;
  else if constexpr (requires { S{{}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return 9;
  else if constexpr (requires { S{{}, {}, {}, {}, {}, {}, {}, {}}; }) return 8;
  else if constexpr (requires { S{{}, {}, {}, {}, {}, {}, {}}; }) return 7;
  else if constexpr (requires { S{{}, {}, {}, {}, {}, {}}; }) return 6;
  else if constexpr (requires { S{{}, {}, {}, {}, {}}; }) return 5;
  else if constexpr (requires { S{{}, {}, {}, {}}; }) return 4;
  else if constexpr (requires { S{{}, {}, {}}; }) return 3;
  else if constexpr (requires { S{{}, {}}; }) return 2;
  else if constexpr (requires { S{{}}; }) return 1;
  else return 0;
  // clang-format on
}

// Pointers to the members of the image, in order.
template <class S>
constexpr auto member_addresses() {
  constexpr std::size_t n = member_count<S>();
  static_assert(n != kTooManyMembers,
                "a kernel's shared memory has more than 16 members: group some of them into a struct");
  [[maybe_unused]] auto& s = shared_image<S>.smem;
  // clang-format off
  if constexpr (n == 0) { return std::tuple{}; }
  else if constexpr (n == 1) { auto& [a] = s; return std::tuple{&a}; }
  else if constexpr (n == 2) { auto& [a, b] = s; return std::tuple{&a, &b}; }
  else if constexpr (n == 3) { auto& [a, b, c] = s; return std::tuple{&a, &b, &c}; }
  else if constexpr (n == 4) { auto& [a, b, c, d] = s; return std::tuple{&a, &b, &c, &d}; }
  else if constexpr (n == 5) { auto& [a, b, c, d, e] = s; return std::tuple{&a, &b, &c, &d, &e}; }
  else if constexpr (n == 6) { auto& [a, b, c, d, e, f] = s; return std::tuple{&a, &b, &c, &d, &e, &f}; }
  else if constexpr (n == 7) { auto& [a, b, c, d, e, f, g] = s; return std::tuple{&a, &b, &c, &d, &e, &f, &g}; }
  else if constexpr (n == 8) {
    auto& [a, b, c, d, e, f, g, h] = s;
    return std::tuple{&a, &b, &c, &d, &e, &f, &g, &h};
  } else if constexpr (n == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = s;
    return std::tuple{&a, &b, &c, &d, &e, &f, &g, &h, &i};
  } else if constexpr (n == 10) {
    auto& [a, b, c, d, e, f, g, h, i, j] = s;
    return std::tuple{&a, &b, &c, &d, &e, &f, &g, &h, &i, &j};
  } else if constexpr (n == 11) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = s;
    return std::tuple{&a, &b, &c, &d, &e, &f, &g, &h, &i, &j, &k};
  } else if constexpr (n == 12) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l] = s;
    return std::tuple{&a, &b, &c, &d, &e, &f, &g, &h, &i, &j, &k, &l};
  } else if constexpr (n == 13) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = s;
    return std::tuple{&a, &b, &c, &d, &e, &f, &g, &h, &i, &j, &k, &l, &m};
  } else if constexpr (n == 14) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o] = s;
    return std::tuple{&a, &b, &c, &d, &e, &f, &g, &h, &i, &j, &k, &l, &m, &o};
  } else if constexpr (n == 15) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o, p] = s;
    return std::tuple{&a, &b, &c, &d, &e, &f, &g, &h, &i, &j, &k, &l, &m, &o, &p};
  } else if constexpr (n == 16) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q] = s;
    return std::tuple{&a, &b, &c, &d, &e, &f, &g, &h, &i, &j, &k, &l, &m, &o, &p, &q};
  }
  // clang-format on
}

// A member as a template argument; the compiler writes it with the member's name.
template <class T>
struct At {
  T* member;
};

template <class Smem, std::size_t idx>
inline constexpr auto member_at =
    At<std::remove_pointer_t<std::tuple_element_t<idx, decltype(member_addresses<Smem>())>>>{
        std::get<idx>(member_addresses<Smem>())};

template <class Smem, std::size_t idx>
using MemberType = std::remove_pointer_t<decltype(member_at<Smem, idx>.member)>;

template <class Smem>
constexpr std::size_t padding_bytes() {
  return []<std::size_t... i>(std::index_sequence<i...>) {
    return sizeof(Smem) - (std::size_t{0} + ... + sizeof(MemberType<Smem, i>));
  }
  (std::make_index_sequence<member_count<Smem>()>{});
}

template <class Smem, Arch arch, class Indices>
struct BudgetOf;

template <class Smem, Arch arch, std::size_t... i>
struct BudgetOf<Smem, arch, std::index_sequence<i...>> {
  using type = SharedMemoryBudget<sizeof(Smem) <= max_shared_bytes(arch), BytesAskedFor<sizeof(Smem)>,
                                  BytesAvailable<max_shared_bytes(arch)>, BytesOfPadding<padding_bytes<Smem>()>,
                                  MemberTakes<member_at<Smem, i>, sizeof(MemberType<Smem, i>)>...>;
};

// Not std::string_view: g++ would add what that stands for to the text.
template <class T>
constexpr const char* function_text_with_type() {
  return __PRETTY_FUNCTION__;
}

template <auto member>
constexpr const char* function_text_with_member() {
  return __PRETTY_FUNCTION__;
}

constexpr bool is_identifier_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// The text ends in the member's name and closing brackets.
template <auto member>
constexpr std::string_view member_name() {
  std::string_view text = function_text_with_member<member>();
  while (!text.empty() && !is_identifier_char(text.back())) text.remove_suffix(1);
  std::size_t first = text.size();
  while (first > 0 && is_identifier_char(text[first - 1])) --first;
  return text.substr(first);
}

}  // namespace detail

template <class Smem, Arch arch>
constexpr bool check_shared_memory() {
  using Indices = std::make_index_sequence<detail::member_count<Smem>()>;
  return detail::BudgetOf<Smem, arch, Indices>::type::kIsChecked;
}

template <class T>
constexpr std::string_view type_text() {
  // The text ends in "T = int]", or in "T=int]". What comes before is not the same for every type: clang leaves
  // the inline namespace out where the header was precompiled.
  constexpr std::string_view text = detail::function_text_with_type<T>();
  constexpr std::size_t spaced = text.find("T = ");
  constexpr std::size_t first = spaced != std::string_view::npos ? spaced + 4 : text.find("T=") + 2;
  return text.substr(first, text.size() - first - 1);
}

template <class Smem>
MemoryMap memory_map() {
  MemoryMap map;
  const auto* base = reinterpret_cast<const unsigned char*>(&detail::shared_image<Smem>.smem);
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    (map.add_member({
         .name = detail::member_name<detail::member_at<Smem, i>>(),
         .type = type_text<detail::MemberType<Smem, i>>(),
         .offset = static_cast<std::size_t>(
             reinterpret_cast<const unsigned char*>(detail::member_at<Smem, i>.member) - base),
         .bytes = sizeof(detail::MemberType<Smem, i>),
         .alignment = alignof(detail::MemberType<Smem, i>),
     }),
     ...);
  }
  (std::make_index_sequence<detail::member_count<Smem>()>{});
  map.pad_to(sizeof(Smem));
  return map;
}

}  // namespace heddle::inline HEDDLE_TARGET
