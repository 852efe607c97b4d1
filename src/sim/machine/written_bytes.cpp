// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/written_bytes.h"

#include <algorithm>
#include <new>

namespace heddle::sim {

namespace {

constexpr std::uint64_t kBits = 64;

std::uint64_t bits(std::uint64_t count) {
  return count >= kBits ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

}  // namespace

WrittenBytes::WrittenBytes(std::uint64_t bytes)
    : bytes_(bytes), words_(static_cast<std::uint64_t*>(std::calloc(bytes / kBits + 2, sizeof(std::uint64_t)))) {
  if (words_ == nullptr) throw std::bad_alloc();
}

void WrittenBytes::write(std::uint64_t offset, std::uint64_t bytes) {
  if (is_whole_.load(std::memory_order_relaxed)) return;
  if (offset == 0 && bytes == bytes_) return is_whole_.store(true, std::memory_order_relaxed);
  for (std::uint64_t at = offset; at < offset + bytes;) {
    const std::uint64_t count = std::min(offset + bytes - at, kBits - at % kBits);
    std::atomic_ref<std::uint64_t> word(words_[at / kBits]);
    const std::uint64_t mask = bits(count) << at % kBits;
    if ((word.load(std::memory_order_relaxed) & mask) != mask) word.fetch_or(mask, std::memory_order_relaxed);
    at += count;
  }
}

void WrittenBytes::copy(const WrittenBytes& other, std::uint64_t offset, std::uint64_t bytes) {
  is_whole_.store(other.is_whole_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  for (std::uint64_t at = offset; at < offset + bytes;) {
    const std::uint64_t count = std::min(offset + bytes - at, kBits - at % kBits);
    const std::uint64_t mask = bits(count) << at % kBits;
    const std::uint64_t word = (word_at(at / kBits) & ~mask) | (other.word_at(at / kBits) & mask);
    if (word != word_at(at / kBits)) {
      std::atomic_ref<std::uint64_t>(words_[at / kBits]).store(word, std::memory_order_relaxed);
    }
    at += count;
  }
  if (!other.has_parts_.load(std::memory_order_relaxed)) return;
  const std::scoped_lock lock(parts_mutex_, other.parts_mutex_);
  parts_ = other.parts_;
  has_parts_.store(true, std::memory_order_relaxed);
}

std::uint64_t WrittenBytes::unwritten_bits(std::uint64_t offset, std::uint32_t bytes) const {
  constexpr std::uint64_t kWhole = 0xff;
  const std::uint32_t found = unwritten(offset, bytes);
  const bool has_parts = has_parts_.load(std::memory_order_relaxed);
  std::uint64_t result = 0;
  for (std::uint32_t b = 0; b < bytes; ++b) {
    if ((found >> b & 1) == 0) continue;
    std::uint64_t part = kWhole;
    if (has_parts) {
      const std::scoped_lock lock(parts_mutex_);
      if (const auto kept = parts_.find(offset + b); kept != parts_.end()) part = kept->second;
    }
    result |= part << 8 * b;
  }
  return result;
}

void WrittenBytes::unwrite_bits(std::uint64_t offset, std::uint64_t bits) {
  // Of memory that was written as a whole at once nothing can have been unwritten since.
  if (is_whole_.load(std::memory_order_relaxed)) return;
  const std::scoped_lock lock(parts_mutex_);
  has_parts_.store(true, std::memory_order_relaxed);
  for (; bits != 0; bits >>= 8, ++offset) {
    if ((bits & 0xff) == 0) continue;
    parts_[offset] = static_cast<std::uint8_t>(bits & 0xff);
    std::atomic_ref<std::uint64_t>(words_[offset / kBits])
        .fetch_and(~(std::uint64_t{1} << offset % kBits), std::memory_order_relaxed);
  }
}

std::uint32_t WrittenBytes::unwritten(std::uint64_t offset, std::uint32_t count) const {
  if (is_whole_.load(std::memory_order_relaxed)) return 0;
  const std::uint64_t shift = offset % kBits;
  std::uint64_t written = word_at(offset / kBits) >> shift;
  if (shift + count > kBits) written |= word_at(offset / kBits + 1) << (kBits - shift);
  return static_cast<std::uint32_t>(~written & bits(count));
}

}  // namespace heddle::sim
