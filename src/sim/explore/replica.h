// SPDX-License-Identifier: Apache-2.0
//
// Global memory as it was at one time, and copies of it that launches may write to.
#pragma once

#include <heddle/sim/event.h>
#include <heddle/sim/global_memory.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

namespace heddle::sim::explore {

inline constexpr std::uint64_t kPage = 4096;

using Pages = std::unordered_set<std::uint64_t>;  // their numbers

// Which pages of global memory a launch has written to.
class WrittenPages final : public Watcher<WrittenPages> {
 public:
  void on(const event::GlobalWrite& event) { write(event.global, event.bytes); }
  void on(const event::GlobalStrong& event) {
    if (event.strong.writes) write(event.global, event.bytes);
  }
  void on(const event::CopyWriteGlobal& event) { write(event.global, event.bytes); }

  Pages pages;

 private:
  void write(std::uint64_t address, std::uint32_t bytes);

  std::uint64_t recent_ = ~std::uint64_t{0};
};

// Bytes of the host that stand for a region.
struct RegionBytes {
  std::uint64_t address;  // as kernels know it
  std::uint64_t bytes;
  std::byte* host;
  WrittenBytes* written = nullptr;  // which of them mean something; null: all
};

// All regions that can be written to, in the order of their addresses.
std::vector<RegionBytes> writable_regions(const GlobalMemory& memory);

class Replica {
 public:
  explicit Replica(const GlobalMemory& original);

  const GlobalMemory& memory() const { return memory_; }
  const std::vector<RegionBytes>& regions() const { return regions_; }

 private:
  std::vector<std::vector<std::byte>> storage_;
  std::vector<RegionBytes> regions_;
  GlobalMemory memory_;
};

// Calls use(region of a, region of b, offset, count) for the parts of a page that are in both lists, which have
// the same regions.
template <class Use>
void for_each_part(const std::vector<RegionBytes>& a, const std::vector<RegionBytes>& b, std::uint64_t page,
                   const Use& use) {
  std::size_t low = 0;
  for (std::size_t high = a.size(); low < high;) {
    const std::size_t middle = (low + high) / 2;
    if ((a[middle].address + a[middle].bytes - 1) / kPage < page) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  for (; low < a.size() && a[low].address / kPage <= page; ++low) {
    const std::uint64_t first = std::max(a[low].address, page * kPage);
    const std::uint64_t last = std::min(a[low].address + a[low].bytes - 1, page * kPage + (kPage - 1));
    use(a[low], b[low], first - a[low].address, static_cast<std::size_t>(last - first + 1));
  }
}

// Lets `to` hold what `from` does, in these pages, and mean as much.
void restore(const std::vector<RegionBytes>& to, const std::vector<RegionBytes>& from, const Pages& pages);

// The addresses of bytes that differ, in order.
std::vector<std::uint64_t> differences(const std::vector<RegionBytes>& a, const std::vector<RegionBytes>& b,
                                       const Pages& pages);

std::byte value_at(const std::vector<RegionBytes>& regions, std::uint64_t address);

}  // namespace heddle::sim::explore
