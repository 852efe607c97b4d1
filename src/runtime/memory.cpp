// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory.h"

#include <fmt/format.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace heddle::runtime {

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHeapAlignment = 256;
// From here on, memory comes in pages of its own, which take nothing before they are used and go back at once.
constexpr std::size_t kLarge = std::size_t{1} << 20;
// A process has some 65,000 mappings, and a guard page makes one: no more than a few of them are for these.
constexpr std::size_t kMaxGuarded = 8192;

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

// Whether it is part of what the card has.
bool counts(MemoryKind kind) { return kind == MemoryKind::kDevice || kind == MemoryKind::kManaged; }

bool is_shared_with_host(MemoryKind kind) { return kind == MemoryKind::kHost || kind == MemoryKind::kManaged; }

}  // namespace

bool are_mapped(const void* begin, std::size_t bytes) {
  const std::uintptr_t first = number(begin) / kPage * kPage;
  const std::uintptr_t end = round_up(number(begin) + bytes, kPage);
  // It writes nothing back that would not be written anyway.
  return msync(reinterpret_cast<void*>(first), end - first, MS_ASYNC) == 0 || errno != ENOMEM;
}

void ReleaseBytes::operator()(std::byte* begin) const {
  if (how == How::kUnmap) munmap(begin, mapped);
  if (how == How::kFree) std::free(begin);
}

// Zeros; null if there are none.
HostBytes Memory::take_bytes(MemoryKind kind, std::size_t bytes, std::size_t alignment) const {
  bytes = std::max<std::size_t>(bytes, 1);
  const bool has_guard = is_shared_with_host(kind) && guarded_ < kMaxGuarded;
  if ((has_guard || bytes >= kLarge) && alignment <= kPage) {
    const std::size_t usable = round_up(bytes, kPage);
    const std::size_t mapped = usable + (has_guard ? kPage : 0);
    void* made =
        mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) return nullptr;
    auto* begin = static_cast<std::byte*>(made);
    if (has_guard) mprotect(begin + usable, kPage, PROT_NONE);
    return HostBytes(begin, {ReleaseBytes::How::kUnmap, mapped});
  }
  alignment = std::max(alignment, kHeapAlignment);
  void* made = std::aligned_alloc(alignment, round_up(bytes, alignment));
  if (made == nullptr) return nullptr;
  std::memset(made, 0, bytes);
  return HostBytes(static_cast<std::byte*>(made), {ReleaseBytes::How::kFree, 0});
}

bool Memory::is_guarded(const Allocation& one) const {
  return is_shared_with_host(one.kind) && one.host.get_deleter().how == ReleaseBytes::How::kUnmap;
}

// Gives `made` its address, and makes it known. Throws std::bad_alloc, and nothing has changed then.
const Allocation& Memory::insert(Allocation made, std::string name, std::size_t alignment, bool is_writable) {
  if (made.host == nullptr) throw std::bad_alloc();
  const bool is_card = made.kind == MemoryKind::kDevice || made.kind == MemoryKind::kVariable;
  made.begin = is_card ? reinterpret_cast<std::byte*>(addresses_.take(made.bytes, alignment)) : made.host.get();
  if (made.begin == nullptr) throw std::bad_alloc();
  const std::uintptr_t address = number(made.begin);
  try {
    if (made.kind == MemoryKind::kDevice) {
      global_.add_unwritten(address, std::move(name), made.host.get(), made.bytes);
    } else {
      global_.add_at(address, std::move(name), made.host.get(), made.bytes, is_writable);
    }
    const Allocation& one = allocations_.emplace(address, std::move(made)).first->second;
    if (counts(one.kind)) used_ += one.bytes;
    if (is_guarded(one)) ++guarded_;
    return one;
  } catch (...) {
    global_.remove(address);
    if (is_card) addresses_.give_back(address);
    throw;
  }
}

Memory::Place Memory::give_back(Place gone, const char* how) {
  const Allocation& one = gone->second;
  global_.remove(gone->first, how);
  if (counts(one.kind)) used_ -= one.bytes;
  if (one.kind == MemoryKind::kManaged) advice.forget(gone->first, gone->first + one.bytes);
  if (is_guarded(one)) --guarded_;
  if (one.kind == MemoryKind::kRegistered) registered_.erase(gone->first);
  if (is_card_address(one.begin)) addresses_.give_back(gone->first);
  return allocations_.erase(gone);
}

std::byte* Memory::allocate(MemoryKind kind, std::size_t bytes, bool is_of_stream) {
  if (bytes > total_bytes() || (counts(kind) && bytes > free_bytes())) return nullptr;
  const char* call = kind == MemoryKind::kDevice    ? "cudaMalloc"
                     : kind == MemoryKind::kManaged ? "cudaMallocManaged"
                                                    : "cudaMallocHost";
  HostBytes host = take_bytes(kind, bytes, is_shared_with_host(kind) ? kPage : 1);
  if (host == nullptr) return nullptr;
  if (kind == MemoryKind::kDevice) std::memset(host.get(), kPoison, std::min(bytes, kMaxPoisoned));
  const Allocation& made =
      insert({.kind = kind, .is_of_stream = is_of_stream, .host = std::move(host), .bytes = bytes},
             fmt::format("allocation {} ({} of {} bytes)", ++count_, call, bytes), 1, true);
  return made.begin;
}

bool Memory::free(const void* begin, MemoryKind kind) {
  const auto found = allocations_.find(number(begin));
  if (found == allocations_.end() || found->second.owner != nullptr) return false;
  const bool is_managed = found->second.kind == MemoryKind::kManaged && kind == MemoryKind::kDevice;
  if (found->second.kind != kind && !is_managed) return false;
  give_back(found, "freed");
  return true;
}

void Memory::free_all() {
  for (auto one = allocations_.begin(); one != allocations_.end();) {
    one = one->second.owner != nullptr ? std::next(one) : give_back(one, "freed by cudaDeviceReset");
  }
}

const Allocation& Memory::add_variable(const Variable& variable) {
  const MemoryKind kind = variable.is_managed ? MemoryKind::kManaged : MemoryKind::kVariable;
  std::vector<std::uintptr_t>& owned = owned_[variable.owner];
  owned.reserve(owned.size() + 1);
  const Allocation& made = insert({.kind = kind,
                                   .host = take_bytes(kind, variable.bytes, variable.align),
                                   .bytes = variable.bytes,
                                   .owner = variable.owner},
                                  variable.name, variable.align, variable.is_writable);
  owned.push_back(number(made.begin));
  return made;
}

void Memory::remove_owned(const void* owner) {
  const auto owned = owned_.find(owner);
  if (owned == owned_.end()) return;
  for (const std::uintptr_t address : owned->second) {
    give_back(allocations_.find(address), "part of a module that was unloaded");
  }
  owned_.erase(owned);
}

bool Memory::register_host(void* begin, std::size_t bytes, bool is_writable) {
  const auto next = allocations_.lower_bound(number(begin) + bytes);
  if (next != allocations_.begin()) {
    const Allocation& before = std::prev(next)->second;
    if (number(before.begin) + before.bytes > number(begin)) return false;
  }
  const auto known = registered_.insert(number(begin)).first;
  try {
    insert({.kind = MemoryKind::kRegistered, .host = HostBytes(static_cast<std::byte*>(begin)), .bytes = bytes},
           "registered host memory", 1, is_writable);
  } catch (...) {
    registered_.erase(known);
    throw;
  }
  return true;
}

void Memory::drop_unmapped() {
  for (auto next = registered_.begin(); next != registered_.end();) {
    const auto found = allocations_.find(*next++);
    if (are_mapped(found->second.begin, found->second.bytes)) continue;
    give_back(found, "unmapped by the program");
  }
}

bool Memory::unregister_host(const void* begin) {
  const auto found = allocations_.find(number(begin));
  if (found == allocations_.end() || found->second.kind != MemoryKind::kRegistered) return false;
  give_back(found, "unregistered");
  return true;
}

const Allocation* Memory::find(const void* address) const {
  auto next = allocations_.upper_bound(number(address));
  if (next == allocations_.begin()) return nullptr;
  const Allocation& one = std::prev(next)->second;
  const std::size_t offset = number(address) - number(one.begin);
  return offset < std::max<std::size_t>(one.bytes, 1) ? &one : nullptr;
}

bool Memory::is_card_address(const void* address) const { return addresses_.contains(number(address)); }

std::string Memory::describe(const void* address) const { return global_.describe(number(address)); }

std::uint64_t Memory::clear_grid_workspace() {
  constexpr std::size_t kBytes = 16;
  if (workspace_ == nullptr) {
    workspace_ = &add_variable({.name = "workspace of the grid", .bytes = kBytes, .owner = this});
  }
  std::memset(workspace_->host.get(), 0, kBytes);
  return number(workspace_->begin);
}

std::size_t Memory::total_bytes() const {
  static const std::size_t bytes =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

std::size_t Memory::free_bytes() const { return total_bytes() - std::min(used_, total_bytes()); }

}  // namespace heddle::runtime
