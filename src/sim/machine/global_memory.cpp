// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/written_bytes.h"

#include <heddle/host/error.h>
#include <heddle/sim/global_memory.h>

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace heddle::sim {

namespace {

// A program that allocates and frees for days should not be remembered in full.
constexpr std::size_t kMaxGone = 65536;

bool holds(const GlobalMemory::Region& region, std::uint64_t address, std::uint64_t bytes) {
  return address >= region.address && bytes <= region.bytes && address - region.address <= region.bytes - bytes;
}

}  // namespace

GlobalMemory::GlobalMemory(const GlobalMemory& other)
    : below_(other.below_),
      has_unwritten_(other.has_unwritten_),
      regions_(other.regions_),
      gone_(other.gone_),
      gone_order_(other.gone_order_) {}

GlobalMemory& GlobalMemory::operator=(const GlobalMemory& other) {
  if (this == &other) return *this;
  last_hit_.store(nullptr, std::memory_order_relaxed);
  below_ = other.below_;
  has_unwritten_ = other.has_unwritten_;
  regions_ = other.regions_;
  gone_ = other.gone_;
  gone_order_ = other.gone_order_;
  return *this;
}

void GlobalMemory::add(std::string name, void* host, std::size_t bytes) {
  add_at(reinterpret_cast<std::uint64_t>(host), std::move(name), host, bytes);
}

void GlobalMemory::add_read_only(std::string name, const void* host, std::size_t bytes) {
  // Stores are refused by `writable`, so the constness is kept though the pointer type cannot say it.
  add_at(reinterpret_cast<std::uint64_t>(host), std::move(name), const_cast<void*>(host), bytes, false);
}

void GlobalMemory::add_at(std::uint64_t address, std::string name, void* host, std::size_t bytes, bool writable) {
  insert({std::move(name), address, bytes, static_cast<std::byte*>(host), writable});
}

void GlobalMemory::add_unwritten(std::uint64_t address, std::string name, void* host, std::size_t bytes) {
  insert({std::move(name), address, bytes, static_cast<std::byte*>(host), true,
          std::make_shared<WrittenBytes>(bytes)});
  has_unwritten_ = true;
}

void GlobalMemory::note_written(WrittenBytes& written, std::uint64_t offset, std::uint64_t bytes) {
  written.write(offset, bytes);
}

std::uint32_t GlobalMemory::unwritten(const WrittenBytes& written, std::uint64_t offset, std::uint32_t bytes) {
  return written.unwritten(offset, bytes);
}

void GlobalMemory::insert(Region region) {
  if (region.bytes == 0) return;
  if (region.host == nullptr) {
    throw InputError(
        fmt::format("global memory: '{}' is a null pointer with {} bytes", region.name, region.bytes));
  }
  if (region.bytes - 1 > ~region.address) {
    throw InputError(fmt::format("global memory: '{}' has {} bytes at {:#x}, which go past the last address",
                                 region.name, region.bytes, region.address));
  }
  if (const Region* other = overlapping(region.address, region.bytes); other != nullptr) {
    throw InputError(fmt::format("global memory: '{}' overlaps '{}'", region.name, other->name));
  }
  // What was there before is not what a kernel reaches now.
  auto old = gone_.upper_bound(region.address);
  if (old != gone_.begin() && region.address - std::prev(old)->first < std::prev(old)->second.bytes) --old;
  while (old != gone_.end() && (old->first <= region.address || old->first - region.address < region.bytes)) {
    old = gone_.erase(old);
  }
  const std::uint64_t address = region.address;
  regions_.emplace_hint(regions_.end(), address, std::move(region));
}

bool GlobalMemory::remove(std::uint64_t address, std::string_view how) {
  const auto found = regions_.find(address);
  if (found == regions_.end()) return false;
  last_hit_.store(nullptr, std::memory_order_relaxed);
  while (gone_order_.size() >= kMaxGone) {
    gone_.erase(gone_order_.front());
    gone_order_.pop_front();
  }
  gone_order_.push_back(address);
  gone_[address] = {fmt::format("{}, which was {}", found->second.name, how), found->second.bytes};
  regions_.erase(found);
  return true;
}

const GlobalMemory::Region* GlobalMemory::hit(std::uint64_t address, std::uint64_t bytes) const {
  if (const Region* last = last_hit_.load(std::memory_order_relaxed);
      last != nullptr && holds(*last, address, bytes)) {
    return last;
  }
  const auto next = regions_.upper_bound(address);
  if (next == regions_.begin() || !holds(std::prev(next)->second, address, bytes)) return nullptr;
  const Region* found = &std::prev(next)->second;
  last_hit_.store(found, std::memory_order_relaxed);
  return found;
}

const GlobalMemory::Region* GlobalMemory::find(std::uint64_t address, std::uint64_t bytes) const {
  // Most accesses follow one to the same region, in whatever layer it is.
  for (const GlobalMemory* layer = this; layer != nullptr; layer = layer->below_) {
    const Region* last = layer->last_hit_.load(std::memory_order_relaxed);
    if (last != nullptr && holds(*last, address, bytes)) return last;
  }
  for (const GlobalMemory* layer = this; layer != nullptr; layer = layer->below_) {
    if (const Region* found = layer->hit(address, bytes); found != nullptr) return found;
  }
  return nullptr;
}

const GlobalMemory::Region* GlobalMemory::at_or_before(std::uint64_t address) const {
  const Region* best = nullptr;
  for (const GlobalMemory* layer = this; layer != nullptr; layer = layer->below_) {
    const auto next = layer->regions_.upper_bound(address);
    if (next == layer->regions_.begin()) continue;
    const Region& one = std::prev(next)->second;
    if (best == nullptr || one.address > best->address) best = &one;
  }
  return best;
}

const GlobalMemory::Region* GlobalMemory::after(std::uint64_t address) const {
  const Region* best = nullptr;
  for (const GlobalMemory* layer = this; layer != nullptr; layer = layer->below_) {
    const auto next = layer->regions_.upper_bound(address);
    if (next != layer->regions_.end() && (best == nullptr || next->second.address < best->address)) {
      best = &next->second;
    }
  }
  return best;
}

const GlobalMemory::Region* GlobalMemory::overlapping(std::uint64_t address, std::uint64_t bytes) const {
  const Region* next = after(address);
  if (next != nullptr && next->address - address < bytes) return next;
  const Region* previous = at_or_before(address);
  return previous != nullptr && address - previous->address < previous->bytes ? previous : nullptr;
}

std::string GlobalMemory::describe(std::uint64_t address) const {
  const Region* before = at_or_before(address);
  if (before != nullptr && address - before->address < before->bytes) {
    return fmt::format("{} + {} (of {} bytes)", before->name, address - before->address, before->bytes);
  }
  for (const GlobalMemory* layer = this; layer != nullptr; layer = layer->below_) {
    const auto next = layer->gone_.upper_bound(address);
    if (next == layer->gone_.begin()) continue;
    const auto& [begin, gone] = *std::prev(next);
    if (address - begin < gone.bytes) return fmt::format("byte {} of {}", address - begin, gone.name);
  }
  // Nothing is allocated there: a pointer that was not set, or a member of what it should point to.
  constexpr std::uint64_t kNearNull = 65536;
  const Region* next = after(address);
  if (before == nullptr && address < kNearNull) return fmt::format("null + {}", address);
  if (before == nullptr && next == nullptr) return "an address, but the launch was given no global memory";
  if (before == nullptr) return fmt::format("{} bytes before {}", next->address - address, next->name);
  return fmt::format("{} bytes behind the end of {}", address - before->address - before->bytes, before->name);
}

}  // namespace heddle::sim
