// SPDX-License-Identifier: Apache-2.0
#include <heddle/host/error.h>
#include <heddle/sim/global_memory.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace heddle::sim {

void GlobalMemory::add(std::string name, void* host, std::size_t bytes) {
  insert({std::move(name), reinterpret_cast<std::uint64_t>(host), bytes, static_cast<std::byte*>(host), true});
}

void GlobalMemory::add_read_only(std::string name, const void* host, std::size_t bytes) {
  // Stores are refused by `writable`, so the constness is kept though the pointer type cannot say it.
  auto* mutable_host = const_cast<std::byte*>(static_cast<const std::byte*>(host));
  insert({std::move(name), reinterpret_cast<std::uint64_t>(host), bytes, mutable_host, false});
}

void GlobalMemory::insert(Region region) {
  if (region.bytes == 0) return;
  if (region.host == nullptr) {
    throw InputError(fmt::format("global memory: '{}' is a null pointer with {} bytes", region.name, region.bytes));
  }
  const auto next = std::upper_bound(regions_.begin(), regions_.end(), region.address,
                                     [](std::uint64_t address, const Region& r) { return address < r.address; });
  const bool overlaps_next = next != regions_.end() && next->address < region.address + region.bytes;
  const bool overlaps_previous =
      next != regions_.begin() && std::prev(next)->address + std::prev(next)->bytes > region.address;
  if (overlaps_next || overlaps_previous) {
    throw InputError(fmt::format("global memory: '{}' overlaps '{}'", region.name,
                                 overlaps_next ? next->name : std::prev(next)->name));
  }
  regions_.insert(next, std::move(region));
}

const GlobalMemory::Region* GlobalMemory::find(std::uint64_t address, std::uint64_t bytes) const {
  const auto holds = [&](const Region& r) {
    return address >= r.address && bytes <= r.bytes && address - r.address <= r.bytes - bytes;
  };
  if (last_hit_ < regions_.size() && holds(regions_[last_hit_])) return &regions_[last_hit_];
  const auto next = std::upper_bound(regions_.begin(), regions_.end(), address,
                                     [](std::uint64_t a, const Region& r) { return a < r.address; });
  if (next == regions_.begin() || !holds(*std::prev(next))) return nullptr;
  last_hit_ = static_cast<std::size_t>(std::prev(next) - regions_.begin());
  return &regions_[last_hit_];
}

std::string GlobalMemory::describe(std::uint64_t address) const {
  if (regions_.empty()) return "an address, but the launch was given no global memory";
  const auto next = std::upper_bound(regions_.begin(), regions_.end(), address,
                                     [](std::uint64_t a, const Region& r) { return a < r.address; });
  // Nothing is allocated there: a pointer that was not set, or a member of what it should point to.
  constexpr std::uint64_t kNearNull = 65536;
  if (next == regions_.begin() && address < kNearNull) return fmt::format("null + {}", address);
  if (next == regions_.begin()) {
    return fmt::format("{} bytes before {}", regions_.front().address - address, regions_.front().name);
  }
  const Region& region = *std::prev(next);
  const std::uint64_t offset = address - region.address;
  if (offset < region.bytes) return fmt::format("{} + {} (of {} bytes)", region.name, offset, region.bytes);
  return fmt::format("{} bytes behind the end of {}", offset - region.bytes, region.name);
}

}  // namespace heddle::sim
