// SPDX-License-Identifier: Apache-2.0
//
// Which queries and keys a CTA of attention works on, and in which order. A step is a tile of queries against a
// tile of keys; all steps of one tile of queries follow one another, from the first key on. Every role walks the
// same steps.
//
// Under a causal mask tiles differ in length. They are dealt out so that CTAs end together, without a counter in
// memory, and so that those which are worked on at the same time share heads, whose keys and values the L2 cache
// keeps: first pairs of a long tile and a short one, which are all of one length, two heads after two heads; at
// the end, tiles of the remaining heads from the longest to the shortest, in rounds of changing direction.
#pragma once

#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>

namespace heddle::inline HEDDLE_TARGET {

struct AttentionSteps {
  struct Extents {
    std::int32_t queries;
    std::int32_t keys;
    std::int32_t heads;
    std::int32_t batches;
    std::int32_t offset;  // causal: query i sees keys up to i + offset
    std::int32_t window;  // and of those so many; read only by kernels that have one
    std::int32_t tiles;   // of queries, of each head
    std::int32_t paired;  // heads (of all batches) whose tiles are dealt out in pairs, an even number
    std::int32_t group;   // of the others, so many are worked on together
  };

  struct Step {
    std::int32_t turn;  // number of the tile of queries among those of this CTA
    std::int32_t first_query;
    std::int32_t head;
    std::int32_t batch;
    std::int32_t first_key;
    std::int32_t tile;   // of keys, among those that these queries have
    std::int32_t tiles;  // so many they have
  };

  template <std::uint32_t queries, std::uint32_t keys, bool is_causal, bool has_window>
  class Of {
   public:
    HEDDLE_DEVICE explicit Of(const Extents& extents) : extents_(extents) {
      if constexpr (is_causal) {
        const std::int32_t rounds = pairs() / ctas();
        pairs_of_cta_ = rounds + (place(rounds) < pairs() ? 1 : 0);
      }
    }

    // Every CTA has a first step: a grid is not larger than the number of tiles of queries.
    HEDDLE_DEVICE Step first() const { return begin(0, index(0)); }

    // The step after `step`; false if there is none.
    HEDDLE_DEVICE bool next(Step& step) const {
      step.first_key += static_cast<std::int32_t>(keys);
      if (++step.tile < step.tiles) return true;
      const std::int32_t at = index(step.turn + 1);
      if (at >= all_tiles()) return false;
      step = begin(step.turn + 1, at);
      return true;
    }
    HEDDLE_DEVICE bool is_last(const Step& step) const {
      return step.tile + 1 == step.tiles && index(step.turn + 1) >= all_tiles();
    }

   private:
    HEDDLE_DEVICE static std::int32_t ctas() { return static_cast<std::int32_t>(isa::nctaid().x); }
    HEDDLE_DEVICE std::int32_t all_tiles() const { return extents_.heads * extents_.batches * extents_.tiles; }
    HEDDLE_DEVICE std::int32_t pairs() const { return extents_.paired / 2 * extents_.tiles; }

    // Which of the pairs or tiles in order this CTA has in a round.
    HEDDLE_DEVICE static std::int32_t place(std::int32_t round) {
      const auto cta = static_cast<std::int32_t>(isa::ctaid().x);
      return round * ctas() + (round % 2 == 0 ? cta : ctas() - 1 - cta);
    }

    // The number of a tile among all, pair by pair and then one by one.
    HEDDLE_DEVICE std::int32_t index(std::int32_t turn) const {
      if constexpr (!is_causal) return place(turn);
      if (turn < 2 * pairs_of_cta_) return 2 * place(turn / 2) + turn % 2;
      return place(turn - pairs_of_cta_) + pairs();
    }

    HEDDLE_DEVICE Step begin(std::int32_t turn, std::int32_t index) const {
      const bool is_paired = is_causal && index < 2 * pairs();
      const std::int32_t group_size = is_paired ? 2 : extents_.group;
      const std::int32_t from = is_paired ? 0 : 2 * pairs();
      const std::int32_t group = (index - from) / (group_size * extents_.tiles);
      const std::int32_t first_head = (is_paired ? 0 : extents_.paired) + group * group_size;
      const std::int32_t left = extents_.heads * extents_.batches - first_head;
      const std::int32_t heads = left < group_size ? left : group_size;
      std::int32_t rest = index - from - group * group_size * extents_.tiles;
      // Pair k of two heads has the k-th of their tiles from both ends.
      if (is_paired) rest = rest % 2 == 0 ? rest / 2 : 2 * extents_.tiles - 1 - rest / 2;
      const std::int32_t tile = rest / heads;
      const std::int32_t head = first_head + rest % heads;
      const std::int32_t first_query =
          (is_causal ? extents_.tiles - 1 - tile : tile) * static_cast<std::int32_t>(queries);
      const std::int32_t first_tile = first_key_tile(first_query);
      return {.turn = turn,
              .first_query = first_query,
              .head = head % extents_.heads,
              .batch = head / extents_.heads,
              .first_key = first_tile * static_cast<std::int32_t>(keys),
              .tile = 0,
              .tiles = end_key_tile(first_query, first_tile) - first_tile};
    }

    HEDDLE_DEVICE std::int32_t first_key_tile(std::int32_t first_query) const {
      if constexpr (!has_window) return 0;
      const std::int32_t first = first_query + extents_.offset - extents_.window + 1;
      const std::int32_t last_tile = (extents_.keys - 1) / static_cast<std::int32_t>(keys);
      const std::int32_t tile = first <= 0 ? 0 : first / static_cast<std::int32_t>(keys);
      return tile < last_tile ? tile : last_tile;
    }
    // At least one more than the first, so that queries without a key have an output too.
    HEDDLE_DEVICE std::int32_t end_key_tile(std::int32_t first_query, std::int32_t first_tile) const {
      const std::int32_t seen = first_query + static_cast<std::int32_t>(queries) + extents_.offset;
      const std::int32_t count = is_causal && seen < extents_.keys ? seen : extents_.keys;
      const std::int32_t end =
          count <= 0 ? 1 : (count + static_cast<std::int32_t>(keys) - 1) / static_cast<std::int32_t>(keys);
      return end > first_tile ? end : first_tile + 1;
    }

    const Extents& extents_;
    std::int32_t pairs_of_cta_ = 0;
  };
};

}  // namespace heddle::inline HEDDLE_TARGET
