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
}

std::uint32_t WrittenBytes::unwritten(std::uint64_t offset, std::uint32_t count) const {
  if (is_whole_.load(std::memory_order_relaxed)) return 0;
  const std::uint64_t shift = offset % kBits;
  std::uint64_t written = word_at(offset / kBits) >> shift;
  if (shift + count > kBits) written |= word_at(offset / kBits + 1) << (kBits - shift);
  return static_cast<std::uint32_t>(~written & bits(count));
}

}  // namespace heddle::sim
