// SPDX-License-Identifier: Apache-2.0
//
// Something for each CTA that runs, by its linear index. A grid has up to 2^31 of them, which begin and end about
// in order: what is kept for those that have ended is next to nothing.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace heddle::sim::check {

// `T` is a pointer; null where nothing is there.
template <class T>
class ByCta {
 public:
  // Null if there is none.
  const T& operator[](std::uint32_t cta) const { return chunks_[cta / kChunk]->items[cta % kChunk]; }

  bool has(std::uint32_t cta) const {
    const std::uint32_t chunk = cta / kChunk;
    return chunk < chunks_.size() && chunks_[chunk] != nullptr && chunks_[chunk]->items[cta % kChunk] != nullptr;
  }

  void set(std::uint32_t cta, T item) {
    const std::uint32_t chunk = cta / kChunk;
    if (chunks_.size() <= chunk) chunks_.resize(chunk + 1);
    if (chunks_[chunk] == nullptr) chunks_[chunk] = std::make_unique<Chunk>();
    T& place = chunks_[chunk]->items[cta % kChunk];
    if (place == nullptr) ++chunks_[chunk]->count;
    place = std::move(item);
  }

  void erase(std::uint32_t cta) {
    if (!has(cta)) return;
    std::unique_ptr<Chunk>& chunk = chunks_[cta / kChunk];
    chunk->items[cta % kChunk] = nullptr;
    if (--chunk->count == 0) chunk = nullptr;
  }

  // Calls use(cta) for each that is there, in order, until it says true.
  template <class Use>
  bool any(const Use& use) const {
    for (std::uint32_t chunk = 0; chunk < chunks_.size(); ++chunk) {
      for (std::uint32_t i = 0; i < kChunk && chunks_[chunk] != nullptr; ++i) {
        if (chunks_[chunk]->items[i] != nullptr && use(chunk * kChunk + i)) return true;
      }
    }
    return false;
  }

 private:
  static constexpr std::uint32_t kChunk = 1024;
  struct Chunk {
    std::array<T, kChunk> items = {};
    std::uint32_t count = 0;
  };
  std::vector<std::unique_ptr<Chunk>> chunks_;
};

}  // namespace heddle::sim::check
