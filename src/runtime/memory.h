// SPDX-License-Identifier: Apache-2.0
//
// The memory that a program has taken. Memory of the card has addresses of its own, which the host cannot follow;
// memory of the host that the card reaches, and managed memory, has the same address on both sides. What a kernel
// reaches beyond an allocation, or after it was freed, is reported by the allocation's name.
#pragma once

#include "runtime/address_space.h"
#include "runtime/memory_advice.h"

#include <heddle/sim/global_memory.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace heddle::runtime {

enum class MemoryKind : std::uint8_t { kDevice, kHost, kManaged, kRegistered, kVariable };

// Bytes of this process: mapped pages, or a piece of the heap, or the program's own, which are left alone.
struct ReleaseBytes {
  enum class How : std::uint8_t { kNothing, kFree, kUnmap };
  How how = How::kNothing;
  std::size_t mapped = 0;
  void operator()(std::byte* begin) const;
};
using HostBytes = std::unique_ptr<std::byte, ReleaseBytes>;

struct Allocation {
  MemoryKind kind = MemoryKind::kDevice;
  bool is_of_stream = false;   // taken in the order of one (cudaMallocAsync)
  std::byte* begin = nullptr;  // as the program knows it
  HostBytes host = {};         // where its bytes are
  std::size_t bytes = 0;
  const void* owner = nullptr;  // the module of a variable
};

class Memory {
 public:
  // Null if there is no room. Every byte of device memory is kPoison at first, for up to kMaxPoisoned bytes of
  // it: what a program gets from a card is not zero either.
  std::byte* allocate(MemoryKind kind, std::size_t bytes, bool is_of_stream = false);
  bool free(const void* begin, MemoryKind kind);

  void free_all();  // but not variables of modules

  struct Variable {
    std::string name;
    std::size_t bytes = 0;
    std::size_t align = 1;
    bool is_writable = true;  // by kernels
    bool is_managed = false;  // the host may touch it
    const void* owner = nullptr;
  };
  // All its bytes are zero. Throws std::bad_alloc if there is no room.
  const Allocation& add_variable(const Variable& variable);
  void remove_owned(const void* owner);

  // Pages of the host. False if another allocation has some of them.
  bool register_host(void* begin, std::size_t bytes, bool is_writable);
  // Those that the program has unmapped since then are not there any more: a kernel that reaches one is told so.
  void drop_unmapped();
  bool unregister_host(const void* begin);

  // The allocation that `address` lies in, or null.
  const Allocation* find(const void* address) const;
  // Whether an address is of the card alone, allocated or not: the host must not follow it.
  bool is_card_address(const void* address) const;
  // "allocation 3 (cudaMalloc of 64 bytes) + 16 (of 64 bytes)"
  std::string describe(const void* address) const;

  // What kernels can reach.
  const sim::GlobalMemory& global() const { return global_; }

  // Where the CTAs of a cooperative launch count one another; zero when it begins. Throws std::bad_alloc.
  std::uint64_t clear_grid_workspace();

  AdviceMap advice;  // about managed memory

  std::size_t total_bytes() const;  // of the card
  std::size_t free_bytes() const;

 private:
  using Place = std::map<std::uintptr_t, Allocation>::iterator;
  HostBytes take_bytes(MemoryKind kind, std::size_t bytes, std::size_t alignment) const;
  const Allocation& insert(Allocation made, std::string name, std::size_t alignment, bool is_writable);
  Place give_back(Place gone, const char* how);
  bool is_guarded(const Allocation& one) const;

  AddressSpace addresses_;
  sim::GlobalMemory global_;
  std::map<std::uintptr_t, Allocation> allocations_;                    // by address
  std::unordered_map<const void*, std::vector<std::uintptr_t>> owned_;  // the variables of each module
  std::set<std::uintptr_t> registered_;
  const Allocation* workspace_ = nullptr;
  std::size_t used_ = 0;     // device and managed
  std::size_t guarded_ = 0;  // allocations with a guard page
  std::size_t count_ = 0;    // allocations so far
};

// Whether this process has a page wherever these bytes are; not whether it may read them.
bool are_mapped(const void* begin, std::size_t bytes);

inline constexpr unsigned char kPoison = 0xCB;
inline constexpr std::size_t kMaxPoisoned = std::size_t{1} << 28;

}  // namespace heddle::runtime
