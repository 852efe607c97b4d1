// SPDX-License-Identifier: Apache-2.0
//
// Loads, stores and atomics of threads in shared and global memory, and fences.
#pragma once

#include "sim/machine/core.h"

#include <functional>

namespace heddle::sim::machine {

class MbarrierUnit;
class TmemUnit;

class MemoryUnit {
 public:
  // `tmem` is asked whether a value that is stored has been loaded yet.
  MemoryUnit(Core& core, const MbarrierUnit& mbarriers, TmemUnit& tmem)
      : core_(core), mbarriers_(mbarriers), tmem_(tmem) {}

  void ld_shared(Thread& thread, SharedAddress address, void* registers, std::uint32_t bytes, CallSite site);
  void st_shared(Thread& thread, SharedAddress address, const void* registers, std::uint32_t bytes,
                 CallSite site);
  void ld_global(Thread& thread, std::uint64_t address, void* registers, std::uint32_t bytes, CallSite site,
                 bool is_coherent = true);
  void st_global(Thread& thread, std::uint64_t address, const void* registers, std::uint32_t bytes,
                 CallSite site);
  // Accesses that others may make at the same time: atom, red, and loads and stores that are volatile or have a
  // memory order. `update` reads and writes the bytes in place, and says whether it did write.
  using Update = std::function<bool(std::byte*)>;
  void atom_shared(Thread& thread, SharedAddress address, std::uint32_t bytes, const char* instruction,
                   const Strong& how, CallSite site, const Update& update);
  void atom_global(Thread& thread, std::uint64_t address, std::uint32_t bytes, const char* instruction,
                   const Strong& how, CallSite site, const Update& update);

  void fence(Thread& thread, FenceKind kind, CallSite site);

 private:
  Core& core_;
  const MbarrierUnit& mbarriers_;
  TmemUnit& tmem_;
};

}  // namespace heddle::sim::machine
