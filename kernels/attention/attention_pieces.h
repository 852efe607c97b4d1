// SPDX-License-Identifier: Apache-2.0
//
// Which keys a worker of decoding attention reads. The keys of every head of every batch are tiles in one row,
// batch after batch and head after head; each worker has an equal part of them, so that all end together however
// the lengths differ. A piece is what a worker has of one head. Where a head is in several pieces, each worker
// writes what it found to a place of its own, and a second kernel joins these; where all are of one length, parts
// may be whole heads instead. All tiles together are fewer than 2^31: divisions of longer numbers would take
// longer than a small cache.
#pragma once

#include <heddle/isa/memory.h>
#include <heddle/isa/target.h>

namespace heddle::inline HEDDLE_TARGET {

struct AttentionPieces {
  struct Extents {
    std::int32_t batches;
    std::int32_t key_heads;
    std::int32_t keys;             // of each batch, at most
    std::int32_t queries;          // the last ones
    std::int32_t window;           // a query sees so many keys at most
    const std::int32_t* lengths;   // keys of each batch, or null: all of them
    bool has_whole_heads = false;  // of one length, and each of them one worker's
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
    HEDDLE_DEVICE Of(const Extents& extents, std::uint32_t worker, std::uint32_t workers) : extents_(&extents) {
      std::int32_t all_tiles = 0;
      if (extents.lengths == nullptr) {
        all_tiles = extents.batches * tiles_of_batch(extents.keys);
      } else {
        for (std::int32_t batch = 0; batch < extents.batches; ++batch)
          all_tiles += tiles_of_batch(length_of(batch));
      }
      const auto number = static_cast<std::int32_t>(worker);
      const auto most = static_cast<std::int32_t>(workers);
      if (extents.has_whole_heads) unit_ = tiles_of(extents.keys);
      const std::int32_t units = all_tiles / unit_;
      const std::int32_t sharing = units < most ? units : most;
      if (number >= sharing) return;
      least_ = units / sharing;
      longer_ = units - least_ * sharing;
      at_ = begin_of(number);
      end_ = begin_of(number + 1);
      if (extents.lengths == nullptr) {
        batch_ = at_ / tiles_of_batch(extents.keys);
        batch_begin_ = batch_ * tiles_of_batch(extents.keys);
      }
    }

    // That of the worker's last tile; its other tiles are not walked.
    HEDDLE_DEVICE bool last(Piece& piece) {
      if (at_ >= end_) return false;
      at_ = end_ - 1;
      if (extents_->lengths == nullptr) {
        batch_ = at_ / tiles_of_batch(extents_->keys);
        batch_begin_ = batch_ * tiles_of_batch(extents_->keys);
      }
      return next(piece);
    }

    HEDDLE_DEVICE bool next(Piece& piece) {
      if (at_ >= end_) return false;
      std::int32_t length = length_of(batch_);
      while (at_ >= batch_begin_ + tiles_of_batch(length)) {
        batch_begin_ += tiles_of_batch(length);
        length = length_of(++batch_);
      }
      const std::int32_t tiles = tiles_of(length);
      const std::int32_t head = (at_ - batch_begin_) / tiles;
      const std::int32_t head_begin = batch_begin_ + head * tiles;
      const std::int32_t tile = at_ - head_begin;
      const std::int32_t first_worker = owner(head_begin);
      const std::int32_t left = end_ - at_;
      const std::int32_t count = tiles - tile < left ? tiles - tile : left;
      piece = {.batch = batch_,
               .head = head,
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
      if (extents_->lengths == nullptr) return extents_->keys;
      const std::int32_t length = isa::ld_global(&extents_->lengths[batch]);
      return length < 0 ? 0 : length < extents_->keys ? length : extents_->keys;
    }
    HEDDLE_DEVICE std::int32_t first_tile(std::int32_t length) const {
      const std::int32_t first = length - extents_->queries + 1 - extents_->window;
      return first <= 0 ? 0 : first / static_cast<std::int32_t>(keys);
    }
    // At least one, so that a head without keys has an output too.
    HEDDLE_DEVICE std::int32_t tiles_of(std::int32_t length) const {
      const std::int32_t end = (length + static_cast<std::int32_t>(keys) - 1) / static_cast<std::int32_t>(keys);
      const std::int32_t tiles = end - first_tile(length);
      return tiles < 1 ? 1 : tiles;
    }
    HEDDLE_DEVICE std::int32_t tiles_of_batch(std::int32_t length) const {
      return extents_->key_heads * tiles_of(length);
    }
    // The first workers have a unit more than the others.
    HEDDLE_DEVICE std::int32_t begin_of(std::int32_t worker) const {
      return (worker * least_ + (worker < longer_ ? worker : longer_)) * unit_;
    }
    HEDDLE_DEVICE std::int32_t owner(std::int32_t tile) const {
      const std::int32_t unit = extents_->has_whole_heads ? tile / unit_ : tile;
      const std::int32_t of_longer = longer_ * (least_ + 1);
      return unit < of_longer ? unit / (least_ + 1) : longer_ + (unit - of_longer) / least_;
    }

    const Extents* extents_;
    std::int32_t unit_ = 1;    // tiles that stay together
    std::int32_t least_ = 0;   // units of a worker
    std::int32_t longer_ = 0;  // so many workers have one more
    std::int32_t at_ = 0;
    std::int32_t end_ = 0;
    std::int32_t batch_ = 0;
    std::int32_t batch_begin_ = 0;
  };
};

}  // namespace heddle::inline HEDDLE_TARGET
