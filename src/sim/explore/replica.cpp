// SPDX-License-Identifier: Apache-2.0
#include "sim/explore/replica.h"

#include "sim/machine/written_bytes.h"

#include <algorithm>
#include <cstring>

namespace heddle::sim::explore {

void WrittenPages::write(std::uint64_t address, std::uint32_t bytes) {
  if (bytes == 0) return;
  const std::uint64_t last = (address + bytes - 1) / kPage;
  for (std::uint64_t page = address / kPage; page <= last; ++page) {
    if (page != recent_) pages.insert(page);
    recent_ = page;
  }
}

std::vector<RegionBytes> writable_regions(const GlobalMemory& memory) {
  std::vector<RegionBytes> regions;
  memory.for_each([&](const GlobalMemory::Region& region) {
    if (region.writable) regions.push_back({region.address, region.bytes, region.host, region.written.get()});
  });
  std::sort(regions.begin(), regions.end(),
            [](const RegionBytes& a, const RegionBytes& b) { return a.address < b.address; });
  return regions;
}

Replica::Replica(const GlobalMemory& original) {
  original.for_each([&](const GlobalMemory::Region& region) {
    std::byte* host = region.host;
    if (region.writable) host = storage_.emplace_back(host, host + region.bytes).data();
    if (region.written == nullptr) {
      return memory_.add_at(region.address, region.name, host, region.bytes, region.writable);
    }
    memory_.add_unwritten(region.address, region.name, host, region.bytes);
    memory_.find(region.address, region.bytes)->written->copy(*region.written, 0, region.bytes);
  });
  regions_ = writable_regions(memory_);
}

void restore(const std::vector<RegionBytes>& to, const std::vector<RegionBytes>& from, const Pages& pages) {
  for (const std::uint64_t page : pages) {
    for_each_part(to, from, page,
                  [](const RegionBytes& here, const RegionBytes& there, std::uint64_t at, std::size_t count) {
                    std::memcpy(here.host + at, there.host + at, count);
                    if (here.written != nullptr) here.written->copy(*there.written, at, count);
                  });
  }
}

std::vector<std::uint64_t> differences(const std::vector<RegionBytes>& a, const std::vector<RegionBytes>& b,
                                       const Pages& pages) {
  std::vector<std::uint64_t> found;
  for (const std::uint64_t page : pages) {
    for_each_part(a, b, page,
                  [&](const RegionBytes& one, const RegionBytes& other, std::uint64_t at, std::size_t count) {
                    if (std::memcmp(one.host + at, other.host + at, count) == 0) return;
                    for (std::uint64_t i = at; i < at + count; ++i) {
                      if (one.host[i] != other.host[i]) found.push_back(one.address + i);
                    }
                  });
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::byte value_at(const std::vector<RegionBytes>& regions, std::uint64_t address) {
  std::byte value{};
  for_each_part(regions, regions, address / kPage,
                [&](const RegionBytes& region, const RegionBytes&, std::uint64_t at, std::size_t count) {
                  const std::uint64_t offset = address - region.address;
                  if (offset - at < count) value = region.host[offset];
                });
  return value;
}

}  // namespace heddle::sim::explore
