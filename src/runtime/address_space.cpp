// SPDX-License-Identifier: Apache-2.0
#include "runtime/address_space.h"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>
#include <new>

namespace heddle::runtime {

namespace {

// Where no program, library, stack or sanitizer lies, so that a program's pointers are the same in every run.
constexpr std::uint64_t kUsualBegin = 0x3000'0000'0000;
constexpr std::uint64_t kLeast = std::uint64_t{1} << 20;

void* reserve(std::uint64_t begin, std::uint64_t bytes) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (begin == 0 ? 0 : MAP_FIXED_NOREPLACE);
  void* made = mmap(reinterpret_cast<void*>(begin), bytes, PROT_NONE, flags, -1, 0);
  return made == MAP_FAILED ? nullptr : made;
}

std::uint64_t round_up(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

}  // namespace

AddressSpace::AddressSpace(std::uint64_t bytes) {
  void* made = reserve(kUsualBegin, bytes);
  if (made == nullptr) made = reserve(0, bytes);
  while (made == nullptr && bytes > kLeast) {
    bytes /= 2;
    made = reserve(0, bytes);
  }
  if (made == nullptr) throw std::bad_alloc();
  begin_ = next_ = reinterpret_cast<std::uint64_t>(made);
  end_ = begin_ + bytes;
}

AddressSpace::~AddressSpace() { munmap(reinterpret_cast<void*>(begin_), end_ - begin_); }

// The first place from `from` on; 0 if there is none up to the end.
std::uint64_t AddressSpace::place(std::uint64_t from, std::uint64_t bytes, std::uint64_t alignment) const {
  std::uint64_t at = round_up(from, alignment);
  auto next = live_.upper_bound(at);
  if (next != live_.begin()) at = std::max(at, round_up(std::prev(next)->second + kGap, alignment));
  for (;; ++next) {
    const std::uint64_t limit = next == live_.end() ? end_ : next->first - std::min(next->first, kGap);
    if (at <= limit && bytes <= limit - at) return at;
    if (next == live_.end()) return 0;
    at = round_up(next->second + kGap, alignment);
  }
}

std::uint64_t AddressSpace::take(std::uint64_t bytes, std::uint64_t alignment) {
  if (bytes > end_ - begin_) return 0;
  bytes = std::max<std::uint64_t>(bytes, 1);
  alignment = std::max(alignment, kAlignment);
  std::uint64_t begin = place(next_, bytes, alignment);
  if (begin == 0) begin = place(begin_, bytes, alignment);  // the range is used up: from its beginning again
  if (begin == 0) return 0;
  live_[begin] = begin + bytes;
  next_ = begin + bytes + kGap;
  return begin;
}

void AddressSpace::give_back(std::uint64_t begin) { live_.erase(begin); }

}  // namespace heddle::runtime
