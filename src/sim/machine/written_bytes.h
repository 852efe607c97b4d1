// SPDX-License-Identifier: Apache-2.0
//
// Which bytes of an allocation somebody has written, a bit for each. Several launches may ask and tell at the
// same time. What was never touched takes no memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

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

 private:
  struct Free {
    void operator()(std::uint64_t* words) const { std::free(words); }
  };

  std::uint64_t word_at(std::uint64_t index) const {
    return std::atomic_ref<std::uint64_t>(words_[index]).load(std::memory_order_relaxed);
  }

  std::uint64_t bytes_;
  std::atomic<bool> is_whole_ = false;
  std::unique_ptr<std::uint64_t[], Free> words_;  // zeros that the system brings in when they are touched
};

}  // namespace heddle::sim
