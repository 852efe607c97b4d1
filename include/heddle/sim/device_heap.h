// SPDX-License-Identifier: Apache-2.0
//
// What malloc and free take from in kernels. Memory lives until it is freed, from one launch to the next, so all
// launches of a program share a heap. Addresses are never used twice: a report about what was freed is about that
// and nothing else.
//
//   DeviceHeap heap(8 << 20);
//   launch.heap = &heap;  // of a PtxLaunch
#pragma once

#include <heddle/sim/global_memory.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace heddle::sim {

class DeviceHeap {
 public:
  static constexpr std::size_t kDefaultBytes = std::size_t{8} << 20;  // as CUDA's

  explicit DeviceHeap(std::size_t bytes = kDefaultBytes) : limit_(bytes) {}
  // Blocks have the same addresses and bytes of their own: for launches that are tried, as under other schedules.
  DeviceHeap(const DeviceHeap& other);
  DeviceHeap& operator=(const DeviceHeap&) = delete;

  void set_limit(std::size_t bytes) { limit_ = bytes; }

  // Takes its addresses, so that copies made from here on give out the same ones. False if there are none.
  bool reserve();
  // Makes the blocks part of `memory`.
  void add_to(GlobalMemory& memory) const;
  // The address of a new block, which becomes part of `memory`, or 0 if there is no room. `name` is for reports.
  std::uint64_t allocate(std::uint64_t bytes, std::string name, GlobalMemory& memory);
  // False if no block begins there.
  bool release(std::uint64_t address, GlobalMemory& memory);
  void clear() { blocks_.clear(), used_ = 0; }

 private:
  struct Block {
    std::string name;
    std::vector<std::byte> bytes;
  };

  std::size_t limit_;
  std::size_t used_ = 0;
  std::shared_ptr<void> addresses_;  // a range that nobody else has; nothing is there
  std::uint64_t next_ = 0;           // of the addresses
  std::map<std::uint64_t, Block> blocks_;
};

}  // namespace heddle::sim
