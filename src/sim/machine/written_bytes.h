// SPDX-License-Identifier: Apache-2.0
//
// Which bytes of an allocation somebody has written, a bit for each, and of bytes that were written in part, as
// those with numbers of 4 bits are, which bits. Several launches may ask and tell at the same time. What was
// never touched takes no memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace heddle::sim {

class WrittenBytes {
 public:
  explicit WrittenBytes(std::uint64_t bytes);

  void write(std::uint64_t offset, std::uint64_t bytes);

  // Lets these bytes be written or not as `other`, of the same size, has them. All that was written since the two
  // were alike must be copied before anybody asks.
  void copy(const WrittenBytes& other, std::uint64_t offset, std::uint64_t bytes);

  // Bit b for the byte at offset + b, of 32 at most.
  std::uint32_t unwritten(std::uint64_t offset, std::uint32_t bytes) const;

  // The same for 8 bytes at most, bit by bit.
  std::uint64_t unwritten_bits(std::uint64_t offset, std::uint32_t bytes) const;
  // These bits are as if nobody had written them, the others of their bytes as if somebody had.
  void unwrite_bits(std::uint64_t offset, std::uint64_t bits);

 private:
  struct Free {
    void operator()(std::uint64_t* words) const { std::free(words); }
  };

  std::uint64_t word_at(std::uint64_t index) const {
    return std::atomic_ref<std::uint64_t>(words_[index]).load(std::memory_order_relaxed);
  }

  std::uint64_t bytes_;
  std::atomic<bool> is_whole_ = false;
  std::atomic<bool> has_parts_ = false;
  mutable std::mutex parts_mutex_;
  std::unordered_map<std::uint64_t, std::uint8_t> parts_;  // the unwritten bits of bytes that count as unwritten
  std::unique_ptr<std::uint64_t[], Free> words_;  // zeros that the system brings in when they are touched
};

}  // namespace heddle::sim
