// SPDX-License-Identifier: Apache-2.0
//
// Which keys a worker of decoding attention reads. The keys of every head of every batch are tiles in one row,
// batch after batch and head after head; each worker has an equal part of them, so that all end together however
// the lengths differ. A piece is what a worker has of one head. Where a head is in several pieces, each worker
// writes what it found to a place of its own, and the last of them joins these.
#pragma once

#include <heddle/isa/memory.h>
#include <heddle/isa/target.h>

namespace heddle::inline HEDDLE_TARGET {

struct AttentionPieces {
  struct Extents {
    std::int32_t batches;
    std::int32_t key_heads;
    std::int32_t keys;            // of each batch, at most
    std::int32_t queries;         // the last ones
    std::int32_t window;          // a query sees so many keys at most
    const std::int32_t* lengths;  // keys of each batch, or null: all of them
  };

  struct Piece {
    std::int32_t batch;
    std::int32_t head;  // of keys
    std::int32_t length;
    std::int32_t first_key;  // of the first tile
    std::int32_t tiles;
    std::int32_t first_worker;  // that has a piece of this head
    std::int32_t last_worker;
    bool is_second;  // of the first worker: it has a piece of another head before

    HEDDLE_DEVICE bool is_whole() const { return first_worker == last_worker; }

    // Where a worker puts its piece: it has at most two pieces of heads that others have a part of, and all but
    // the first worker of a head begin with theirs.
    HEDDLE_DEVICE std::int32_t slot(std::int32_t worker) const {
      return 2 * worker + (worker == first_worker && is_second ? 1 : 0);
    }
  };

  // Every role of a worker walks the same pieces.
  template <std::uint32_t keys>
  class Of {
   public:
    HEDDLE_DEVICE Of(const Extents& extents, std::uint32_t worker, std::uint32_t workers) : extents_(extents) {
      if (extents.lengths == nullptr) {
        all_tiles_ = std::int64_t{extents.batches} * extents.key_heads * tiles_of(extents.keys);
      } else {
        for (std::int32_t batch = 0; batch < extents.batches; ++batch) {
          all_tiles_ += std::int64_t{extents.key_heads} * tiles_of(length_of(batch));
        }
      }
      workers_ = all_tiles_ < workers ? all_tiles_ : workers;
      if (worker >= workers_) return;
      at_ = begin_of(worker);
      end_ = begin_of(worker + 1);
      if (extents.lengths == nullptr) {
        const std::int64_t of_batch = std::int64_t{extents.key_heads} * tiles_of(extents.keys);
        batch_ = static_cast<std::int32_t>(at_ / of_batch);
        batch_begin_ = batch_ * of_batch;
      }
    }

    HEDDLE_DEVICE bool next(Piece& piece) {
      if (at_ >= end_) return false;
      std::int32_t length = length_of(batch_);
      while (at_ >= batch_begin_ + std::int64_t{extents_.key_heads} * tiles_of(length)) {
        batch_begin_ += std::int64_t{extents_.key_heads} * tiles_of(length);
        length = length_of(++batch_);
      }
      const std::int32_t tiles = tiles_of(length);
      const auto in_batch = static_cast<std::int32_t>(at_ - batch_begin_);
      const std::int32_t tile = in_batch % tiles;
      const std::int64_t head_begin = at_ - tile;
      const std::int32_t first_worker = owner(head_begin);
      const std::int64_t left = end_ - at_;
      const std::int32_t count = tiles - tile < left ? tiles - tile : static_cast<std::int32_t>(left);
      piece = {.batch = batch_,
               .head = in_batch / tiles,
               .length = length,
               .first_key = (first_tile(length) + tile) * static_cast<std::int32_t>(keys),
               .tiles = count,
               .first_worker = first_worker,
               .last_worker = owner(head_begin + tiles - 1),
               .is_second = begin_of(first_worker) < head_begin};
      at_ += count;
      return true;
    }

   private:
    // What is not a length is none: no more than there are keys, no less than zero.
    HEDDLE_DEVICE std::int32_t length_of(std::int32_t batch) const {
      if (extents_.lengths == nullptr) return extents_.keys;
      const std::int32_t length = isa::ld_global(&extents_.lengths[batch]);
      return length < 0 ? 0 : length < extents_.keys ? length : extents_.keys;
    }
    HEDDLE_DEVICE std::int32_t first_tile(std::int32_t length) const {
      const std::int32_t first = length - extents_.queries + 1 - extents_.window;
      return first <= 0 ? 0 : first / static_cast<std::int32_t>(keys);
    }
    // At least one, so that a head without keys has an output too.
    HEDDLE_DEVICE std::int32_t tiles_of(std::int32_t length) const {
      const std::int32_t end = (length + static_cast<std::int32_t>(keys) - 1) / static_cast<std::int32_t>(keys);
      const std::int32_t tiles = end - first_tile(length);
      return tiles < 1 ? 1 : tiles;
    }
    HEDDLE_DEVICE std::int64_t begin_of(std::int64_t worker) const { return worker * all_tiles_ / workers_; }
    HEDDLE_DEVICE std::int32_t owner(std::int64_t tile) const {
      return static_cast<std::int32_t>(((tile + 1) * workers_ - 1) / all_tiles_);
    }

    const Extents& extents_;
    std::int64_t all_tiles_ = 0;
    std::int64_t workers_ = 0;
    std::int64_t at_ = 0;
    std::int64_t end_ = 0;
    std::int32_t batch_ = 0;
    std::int64_t batch_begin_ = 0;
  };
};

}  // namespace heddle::inline HEDDLE_TARGET
