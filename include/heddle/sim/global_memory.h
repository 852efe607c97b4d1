// SPDX-License-Identifier: Apache-2.0
//
// The global memory of a simulated GPU: named allocations of the host program. A kernel that reaches
// outside of them is stopped with a report that names the nearest one.
//
//   sim::GlobalMemory memory;
//   memory.add("A", a.data(), a.size());
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace heddle::sim {

class GlobalMemory {
 public:
  struct Region {
    std::string name;
    std::uint64_t address;
    std::uint64_t bytes;
    std::byte* host;
    bool writable;
  };

  // The region's global address is its host address. Throws InputError for a null pointer, or if it
  // overlaps a region that was added before. An empty region is allowed and holds nothing.
  void add(std::string name, void* host, std::size_t bytes);
  void add_read_only(std::string name, const void* host, std::size_t bytes);

  // The region that holds all of [address, address + bytes), or null.
  const Region* find(std::uint64_t address, std::uint64_t bytes) const;

  // "A + 128", or where the nearest region lies.
  std::string describe(std::uint64_t address) const;

 private:
  void insert(Region region);

  std::vector<Region> regions_;  // by address
  mutable std::size_t last_hit_ = 0;
};

}  // namespace heddle::sim
