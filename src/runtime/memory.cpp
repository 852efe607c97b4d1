// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory.h"

#include <fmt/format.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace heddle::runtime {

namespace {

constexpr std::size_t kPage = 4096;

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

}  // namespace

std::byte* Memory::allocate(MemoryKind kind, std::size_t bytes) {
  const bool is_on_card = kind != MemoryKind::kHost;
  if (bytes > total_bytes() || (is_on_card && bytes > free_bytes())) return nullptr;
  // A page that nothing can touch follows, so that no two allocations are neighbours.
  const std::size_t usable = (std::max<std::size_t>(bytes, 1) + kPage - 1) / kPage * kPage;
  void* made =
      mmap(nullptr, usable + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (made == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(made);
  mprotect(begin + usable, kPage, PROT_NONE);
  if (kind == MemoryKind::kDevice) std::memset(begin, kPoison, std::min(bytes, kMaxPoisoned));
  const char* call = kind == MemoryKind::kDevice    ? "cudaMalloc"
                     : kind == MemoryKind::kManaged ? "cudaMallocManaged"
                                                    : "cudaMallocHost";
  allocations_[number(begin)] = {.kind = kind,
                                 .begin = begin,
                                 .bytes = bytes,
                                 .mapped = usable + kPage,
                                 .name = fmt::format("allocation {} ({} of {} bytes)", ++count_, call, bytes)};
  if (is_on_card) used_ += bytes;
  return begin;
}

bool Memory::free(const void* begin, MemoryKind kind) {
  const auto found = allocations_.find(number(begin));
  if (found == allocations_.end()) return false;
  const Allocation& one = found->second;
  const bool is_managed = one.kind == MemoryKind::kManaged && kind == MemoryKind::kDevice;
  if (one.mapped == 0 || (one.kind != kind && !is_managed)) return false;
  if (one.kind != MemoryKind::kHost) used_ -= one.bytes;
  munmap(one.begin, one.mapped);
  allocations_.erase(found);
  return true;
}

void Memory::free_all() {
  for (auto one = allocations_.begin(); one != allocations_.end();) {
    if (one->second.kind == MemoryKind::kVariable) {
      ++one;
      continue;
    }
    if (one->second.mapped != 0) munmap(one->second.begin, one->second.mapped);
    one = allocations_.erase(one);
  }
  used_ = 0;
}

void Memory::add(MemoryKind kind, void* begin, std::size_t bytes, std::string name, const void* owner) {
  allocations_[number(begin)] = {.kind = kind,
                                 .begin = static_cast<std::byte*>(begin),
                                 .bytes = bytes,
                                 .mapped = 0,
                                 .name = std::move(name),
                                 .owner = owner};
}

bool Memory::overlaps(const void* begin, std::size_t bytes) const {
  const auto next = allocations_.lower_bound(number(begin) + bytes);
  if (next == allocations_.begin()) return false;
  const Allocation& before = std::prev(next)->second;
  return number(before.begin) + before.bytes > number(begin);
}

bool Memory::remove(const void* begin, MemoryKind kind) {
  const auto found = allocations_.find(number(begin));
  if (found == allocations_.end() || found->second.kind != kind) return false;
  allocations_.erase(found);
  return true;
}

void Memory::remove_owned(const void* owner) {
  std::erase_if(allocations_, [&](const auto& item) { return item.second.owner == owner; });
}

const Allocation* Memory::find(const void* address) const {
  auto next = allocations_.upper_bound(number(address));
  if (next == allocations_.begin()) return nullptr;
  const Allocation& one = std::prev(next)->second;
  const std::size_t offset = number(address) - number(one.begin);
  return offset < std::max<std::size_t>(one.bytes, 1) ? &one : nullptr;
}

sim::GlobalMemory Memory::global_memory(const void* owner) const {
  sim::GlobalMemory memory;
  for (const auto& [address, one] : allocations_) {
    if (owner != nullptr && one.owner == owner) continue;
    memory.add(one.name, one.begin, one.bytes);
  }
  return memory;
}

void Memory::clear_grid_workspace() {
  workspace_[0] = workspace_[1] = 0;
  add(MemoryKind::kVariable, workspace_, sizeof(workspace_), "workspace of the grid", nullptr);
}

std::size_t Memory::total_bytes() const {
  static const std::size_t bytes =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

std::size_t Memory::free_bytes() const { return total_bytes() - std::min(used_, total_bytes()); }

}  // namespace heddle::runtime
