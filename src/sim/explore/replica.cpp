// SPDX-License-Identifier: Apache-2.0
#include "sim/explore/replica.h"

#include <algorithm>
#include <cstring>

namespace heddle::sim::explore {

void WrittenPages::on_event(const Event& event) {
  if (!is_global_write(event) || event.bytes == 0) return;
  const std::uint64_t last = (event.global + event.bytes - 1) / kPage;
  for (std::uint64_t page = event.global / kPage; page <= last; ++page) {
    if (page != recent_) pages.insert(page);
    recent_ = page;
  }
}

std::vector<RegionBytes> writable_regions(const GlobalMemory& memory) {
  std::vector<RegionBytes> regions;
  memory.for_each([&](const GlobalMemory::Region& region) {
    if (region.writable) regions.push_back({region.address, region.bytes, region.host});
  });
  std::sort(regions.begin(), regions.end(),
            [](const RegionBytes& a, const RegionBytes& b) { return a.address < b.address; });
  return regions;
}

Replica::Replica(const GlobalMemory& original) {
  original.for_each([&](const GlobalMemory::Region& region) {
    std::byte* host = region.host;
    if (region.writable) host = storage_.emplace_back(host, host + region.bytes).data();
    memory_.add_at(region.address, region.name, host, region.bytes, region.writable);
  });
  regions_ = writable_regions(memory_);
}

void restore(const std::vector<RegionBytes>& to, const std::vector<RegionBytes>& from, const Pages& pages) {
  for (const std::uint64_t page : pages) {
    for_each_part(to, from, page, [](std::uint64_t, std::byte* here, const std::byte* there, std::size_t count) {
      std::memcpy(here, there, count);
    });
  }
}

std::vector<std::uint64_t> differences(const std::vector<RegionBytes>& a, const std::vector<RegionBytes>& b,
                                       const Pages& pages) {
  std::vector<std::uint64_t> found;
  for (const std::uint64_t page : pages) {
    for_each_part(a, b, page,
                  [&](std::uint64_t first, const std::byte* one, const std::byte* other, std::size_t count) {
                    if (std::memcmp(one, other, count) == 0) return;
                    for (std::size_t i = 0; i < count; ++i) {
                      if (one[i] != other[i]) found.push_back(first + i);
                    }
                  });
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::byte value_at(const std::vector<RegionBytes>& regions, std::uint64_t address) {
  std::byte value{};
  for_each_part(regions, regions, address / kPage,
                [&](std::uint64_t first, const std::byte* bytes, const std::byte*, std::size_t count) {
                  if (address >= first && address - first < count) value = bytes[address - first];
                });
  return value;
}

}  // namespace heddle::sim::explore
