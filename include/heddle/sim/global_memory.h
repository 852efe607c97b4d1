// SPDX-License-Identifier: Apache-2.0
//
// The global memory of a simulated GPU: named allocations of the host program. A kernel that reaches
// outside them is stopped with a report that names the nearest one.
//
//   sim::GlobalMemory memory;
//   memory.add("A", a.data(), a.size());
//
// Several launches may share one at the same time, as long as nobody adds to it or removes from it meanwhile. A
// look-up takes the same time whatever was added, up to the logarithm of a search.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace heddle::sim {

class WrittenBytes;

class GlobalMemory {
 public:
  struct Region {
    std::string name;
    std::uint64_t address;  // as kernels know it
    std::uint64_t bytes;
    std::byte* host;  // where the bytes are
    bool writable;
    std::shared_ptr<WrittenBytes> written = nullptr;  // which bytes mean something; null: all
  };

  GlobalMemory() = default;
  // A layer over `below`, which must outlive it and whose regions can be reached, too. Null: nothing is below.
  explicit GlobalMemory(const GlobalMemory* below) : below_(below) {}
  GlobalMemory(const GlobalMemory& other);
  GlobalMemory& operator=(const GlobalMemory& other);

  // The region's global address is its host address. Throws InputError for a null pointer, or if it
  // overlaps a region that was added before. An empty region is allowed and holds nothing.
  void add(std::string name, void* host, std::size_t bytes);
  void add_read_only(std::string name, const void* host, std::size_t bytes);
  // The same, for bytes that kernels know by an address of their own.
  void add_at(std::uint64_t address, std::string name, void* host, std::size_t bytes, bool writable = true);

  // The same, for bytes that mean nothing until somebody writes them.
  void add_unwritten(std::uint64_t address, std::string name, void* host, std::size_t bytes);

  // Whether there are such bytes at all, in any layer.
  bool has_unwritten() const { return has_unwritten_ || (below_ != nullptr && below_->has_unwritten()); }
  // Somebody writes bytes of the region; and those of the bytes, 32 at most, that nobody has written: bit b for
  // the byte at address + b.
  static void note_written(const Region& region, std::uint64_t address, std::uint64_t bytes) {
    if (region.written != nullptr) note_written(*region.written, address - region.address, bytes);
  }
  static std::uint32_t unwritten(const Region& region, std::uint64_t address, std::uint32_t bytes) {
    return region.written == nullptr ? 0 : unwritten(*region.written, address - region.address, bytes);
  }

  // Takes away the region that begins at `address`; false if there is none. A report about what was there still
  // names it and says that it was `how`: freed, unregistered.
  bool remove(std::uint64_t address, std::string_view how = "freed");

  // The region that holds all of [address, address + bytes), or null. It stays until it is removed.
  const Region* find(std::uint64_t address, std::uint64_t bytes) const;

  // Calls use(region) for each of them, in all layers.
  template <class Use>
  void for_each(const Use& use) const {
    if (below_ != nullptr) below_->for_each(use);
    for (const auto& [address, region] : regions_) use(region);
  }

  // "A + 128", or where the nearest region lies.
  std::string describe(std::uint64_t address) const;

 private:
  static void note_written(WrittenBytes& written, std::uint64_t offset, std::uint64_t bytes);
  static std::uint32_t unwritten(const WrittenBytes& written, std::uint64_t offset, std::uint32_t bytes);

  struct Gone {
    std::string name;
    std::uint64_t bytes;
  };

  void insert(Region region);
  const Region* at_or_before(std::uint64_t address) const;  // in all layers
  const Region* after(std::uint64_t address) const;
  const Region* overlapping(std::uint64_t address, std::uint64_t bytes) const;
  const Region* hit(std::uint64_t address, std::uint64_t bytes) const;  // in this layer alone

  const GlobalMemory* below_ = nullptr;
  bool has_unwritten_ = false;                             // or had
  std::map<std::uint64_t, Region> regions_;                // by address
  std::map<std::uint64_t, Gone> gone_;                     // by address: the last that were removed, for reports
  std::deque<std::uint64_t> gone_order_;                   // their addresses, the oldest first
  mutable std::atomic<const Region*> last_hit_ = nullptr;  // most accesses follow one to the same region
};

}  // namespace heddle::sim
