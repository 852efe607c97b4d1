// SPDX-License-Identifier: Apache-2.0
//
// Adds the parts of K of a tile up, where the CTAs of a cluster have one each in their registers. The sums are
// cut into shares of 64 columns, and the shares are dealt out: every CTA sends its sums of a share to the one
// that finishes it, into the memory of stages that nobody fills any more. That one adds them to its own, in the
// order of K: the order of sums is always the same.
#pragma once

#include <heddle/isa/cluster_memory.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>

#include <utility>

namespace heddle::inline HEDDLE_TARGET {

// `threads` have the sums of one tile: `row_blocks` times 64 rows for each warpgroup, and `cols` columns.
template <std::uint32_t cols, std::uint32_t row_blocks, std::uint32_t threads>
class PartsOfSums {
 public:
  static constexpr std::uint32_t kShareCols = 64;
  static constexpr std::uint32_t kSharesOfBlock = (cols + kShareCols - 1) / kShareCols;
  static constexpr std::uint32_t kShares = row_blocks * kSharesOfBlock;

  // `memory` is that of the stages; `part` is also the rank of this CTA.
  HEDDLE_DEVICE PartsOfSums(void* memory, std::uint32_t parts, std::uint32_t part)
      : slots_(static_cast<isa::Bytes16*>(memory) + isa::tid_x() % threads), parts_(parts), part_(part) {}

  // Whether this CTA finishes and stores the share.
  HEDDLE_DEVICE bool has(std::uint32_t share) const { return parts_ == 1 || owner_of(share) == part_; }

  // By all threads that have sums, in every CTA of the cluster; the others have left or will leave.
  // Orders: what wgmma read in any CTA's stages, before the shares that overwrite them; these, before they are
  // added.
  template <class Values>
  HEDDLE_DEVICE void join(Values& values) const {
    join_shares(values, std::make_integer_sequence<std::uint32_t, kShares>());
  }

 private:
  static constexpr std::uint32_t kWordsOfShare = kShareCols / 2;
  static constexpr std::uint32_t kSlotWords =
      kWordsOfShare / 4 * threads;  // what one CTA sends of a share, in 16s

  // Their numbers are template arguments, because registers can only be indexed by constants.
  template <class Values, std::uint32_t... share>
  HEDDLE_DEVICE void join_shares(Values& values, std::integer_sequence<std::uint32_t, share...>) const {
    isa::cluster_sync();
    (send<share>(values), ...);
    isa::cluster_sync();
    (add<share>(values), ...);
  }

  HEDDLE_HOST_DEVICE static constexpr std::uint32_t first_of(std::uint32_t share) {
    return share % kSharesOfBlock * kWordsOfShare;
  }
  HEDDLE_HOST_DEVICE static constexpr std::uint32_t words_of(std::uint32_t share) {
    const std::uint32_t left = cols / 2 - first_of(share);
    return left < kWordsOfShare ? left : kWordsOfShare;
  }

  HEDDLE_DEVICE std::uint32_t owner_of(std::uint32_t share) const { return share % parts_; }

  template <std::uint32_t share, class Values>
  HEDDLE_DEVICE void send(Values& values) const {
    if (has(share)) return;
    auto& sums = values.block(share / kSharesOfBlock);
    const std::uint32_t owner = owner_of(share);
    const std::uint32_t slot = share / parts_ * (parts_ - 1) + (part_ < owner ? part_ : part_ - 1);
    isa::Bytes16* const to = isa::mapa(slots_ + slot * kSlotWords, owner);
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < words_of(share); i += 4) {
      isa::Bytes16 four;
      HEDDLE_UNROLL
      for (std::uint32_t w = 0; w < 4; ++w) {
        four.word[w] = __builtin_bit_cast(std::uint32_t, sums[first_of(share) + i + w]);
      }
      isa::st_shared_cluster(to + i / 4 * threads, four);
    }
  }

  template <std::uint32_t share, class Values>
  HEDDLE_DEVICE void add(Values& values) const {
    if (!has(share)) return;
    auto& sums = values.block(share / kSharesOfBlock);
    const isa::Bytes16* from = slots_ + share / parts_ * (parts_ - 1) * kSlotWords;
    HEDDLE_NO_UNROLL
    for (std::uint32_t sender = 0; sender + 1 < parts_; ++sender, from += kSlotWords) {
      HEDDLE_UNROLL
      for (std::uint32_t i = 0; i < words_of(share); i += 4) {
        const isa::Bytes16 four = isa::ld_shared(from + i / 4 * threads);
        HEDDLE_UNROLL
        for (std::uint32_t w = 0; w < 4; ++w) {
          sums[first_of(share) + i + w] += __builtin_bit_cast(float, four.word[w]);
        }
      }
    }
  }

  isa::Bytes16* slots_;
  std::uint32_t parts_;
  std::uint32_t part_;
};

}  // namespace heddle::inline HEDDLE_TARGET
