// SPDX-License-Identifier: Apache-2.0
//
// The memory that a program has taken: on the simulated card, on the host for the card to reach, or both. An
// address means the same on both sides. What a kernel reaches beyond an allocation is reported by its name.
#pragma once

#include <heddle/sim/global_memory.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace heddle::runtime {

enum class MemoryKind : std::uint8_t { kDevice, kHost, kManaged, kRegistered, kVariable };

struct Allocation {
  MemoryKind kind = MemoryKind::kDevice;
  std::byte* begin = nullptr;
  std::size_t bytes = 0;
  std::size_t mapped = 0;       // pages that belong to it; 0: they are the program's own
  std::string name = {};        // what reports call it
  const void* owner = nullptr;  // the module of a variable
};

class Memory {
 public:
  // Null if there is no room. Every byte of device memory is kPoison at first, for up to kMaxPoisoned bytes of
  // it: what a program gets from a card is not zero either.
  std::byte* allocate(MemoryKind kind, std::size_t bytes);
  bool free(const void* begin, MemoryKind kind);

  void free_all();  // but not variables of modules

  // Memory that exists already: a variable of a module, or registered pages of the host.
  void add(MemoryKind kind, void* begin, std::size_t bytes, std::string name, const void* owner);
  bool overlaps(const void* begin, std::size_t bytes) const;
  bool remove(const void* begin, MemoryKind kind);
  void remove_owned(const void* owner);

  // The allocation that `address` lies in, or null.
  const Allocation* find(const void* address) const;

  // What kernels can reach. A module adds its own variables at a launch, so those of `owner` are left out.
  sim::GlobalMemory global_memory(const void* owner) const;

  // Where the CTAs of a cooperative launch count one another; zero when it begins.
  void clear_grid_workspace();
  std::uint64_t grid_workspace() const { return reinterpret_cast<std::uint64_t>(workspace_); }

  std::size_t total_bytes() const;  // of the card
  std::size_t free_bytes() const;

 private:
  std::map<std::uintptr_t, Allocation> allocations_;  // by address
  std::uint64_t workspace_[2] = {};
  std::size_t used_ = 0;   // device and managed
  std::size_t count_ = 0;  // allocations so far
};

inline constexpr unsigned char kPoison = 0xCB;
inline constexpr std::size_t kMaxPoisoned = std::size_t{1} << 28;

}  // namespace heddle::runtime
