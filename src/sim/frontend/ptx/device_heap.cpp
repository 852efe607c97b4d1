// SPDX-License-Identifier: Apache-2.0
#include <heddle/sim/device_heap.h>

#include <sys/mman.h>

#include <algorithm>
#include <utility>

namespace heddle::sim {

namespace {

constexpr std::uint64_t kAlignment = 16;
constexpr std::size_t kAddresses = std::size_t{1} << 36;
// What a kernel gets from a card is not zero either.
constexpr std::byte kPoison{0xcd};

}  // namespace

DeviceHeap::DeviceHeap(const DeviceHeap& other)
    : limit_(other.limit_),
      used_(other.used_),
      addresses_(other.addresses_),
      next_(other.next_),
      blocks_(other.blocks_) {}

// Model: what an earlier launch has left of a block without writing it counts as written.
void DeviceHeap::add_to(GlobalMemory& memory) const {
  for (const auto& [address, block] : blocks_) {
    memory.add_at(address, block.name, const_cast<std::byte*>(block.bytes.data()), block.bytes.size());
  }
}

bool DeviceHeap::reserve() {
  if (addresses_ != nullptr) return true;
  void* range = mmap(nullptr, kAddresses, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) return false;
  addresses_.reset(range, [](void* begin) { munmap(begin, kAddresses); });
  next_ = reinterpret_cast<std::uint64_t>(range);
  return true;
}

std::uint64_t DeviceHeap::allocate(std::uint64_t bytes, std::string name, GlobalMemory& memory) {
  if (!reserve()) return 0;
  bytes = std::max<std::uint64_t>(bytes, 1);
  const std::uint64_t end = reinterpret_cast<std::uint64_t>(addresses_.get()) + kAddresses;
  if (bytes > limit_ || used_ > limit_ - bytes || bytes + 2 * kAlignment > end - next_) return 0;
  const std::uint64_t address = next_;
  Block made{.name = std::move(name), .bytes = std::vector<std::byte>(bytes, kPoison)};
  const auto place = blocks_.emplace(address, std::move(made)).first;
  Block& block = place->second;
  try {
    memory.add_unwritten(address, block.name, block.bytes.data(), bytes);
  } catch (...) {
    blocks_.erase(place);  // nobody has its address
    throw;
  }
  used_ += bytes;
  // A gap, so that the end of one block is not the beginning of the next.
  next_ += (bytes + 2 * kAlignment - 1) / kAlignment * kAlignment;
  return address;
}

bool DeviceHeap::release(std::uint64_t address, GlobalMemory& memory) {
  const auto found = blocks_.find(address);
  if (found == blocks_.end()) return false;
  memory.remove(address);
  used_ -= found->second.bytes.size();
  blocks_.erase(found);
  return true;
}

}  // namespace heddle::sim
