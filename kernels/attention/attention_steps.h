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
//
// Batches may lie one after another in rows of one tensor, with offsets that only the device knows. Every batch
// is then dealt out as if it were as long as the longest may be, and tiles without queries are passed over.
#pragma once

#include <heddle/isa/memory.h>
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
    // Where batches lie one after another in rows of one tensor, read only by kernels that know of it: batch i
    // has the rows from offset i to offset i + 1.
    const std::int32_t* query_offsets;  // or null
    const std::int32_t* key_offsets;
    std::int32_t query_rows;
    std::int32_t key_rows;
    bool sees_all;  // no causal mask
  };

  // The rows of a batch.
  struct Sequence {
    std::int32_t first_query;
    std::int32_t first_key;
    std::int32_t queries;
    std::int32_t keys;
    std::int32_t offset;
  };

  struct Step {
    std::int32_t turn;  // number of the tile of queries among those of this CTA
    std::int32_t first_query;
    std::int32_t head;
    std::int32_t batch;
    std::int32_t first_key;
    std::int32_t tile;       // of keys, among those that these queries have
    std::int32_t tiles;      // so many they have
    std::int32_t next_turn;  // that has queries, -1: none; of kernels that know of offsets
  };

  struct Options {
    std::uint32_t queries;  // of a tile
    std::uint32_t keys;
    bool is_causal;
    bool has_window;
    bool has_offsets;
    std::uint32_t streams;
  };

  template <Options options>
  class Of {
    static constexpr auto queries = static_cast<std::int32_t>(options.queries);
    static constexpr auto keys = static_cast<std::int32_t>(options.keys);
    static constexpr bool is_causal = options.is_causal;
    static constexpr std::uint32_t streams = options.streams;

   public:
    HEDDLE_DEVICE explicit Of(const Extents& extents, std::uint32_t stream = 0)
        : extents_(extents), stream_(static_cast<std::int32_t>(stream)) {
      if constexpr (is_causal) {
        const std::int32_t rounds = pairs() / ctas();
        pairs_of_cta_ = rounds + (place(rounds) < pairs() ? 1 : 0);
      }
    }

    // A stream of the last CTA may have no step, and where batches have no queries, so may others.
    HEDDLE_DEVICE bool is_empty() const {
      if constexpr (options.has_offsets) return turn_from(0) < 0;
      return streams > 1 && index(0) >= all_tiles();
    }
    HEDDLE_DEVICE Step first() const {
      const std::int32_t turn = options.has_offsets ? turn_from(0) : 0;
      return begin(turn, index(turn));
    }

    // The step after `step`; false if there is none.
    HEDDLE_DEVICE bool next(Step& step) const { return next_keys(step) || next_queries(step); }
    // The next of the same queries; where there is none, next_queries follows.
    HEDDLE_DEVICE bool next_keys(Step& step) const {
      step.first_key += keys;
      return ++step.tile < step.tiles;
    }
    HEDDLE_DEVICE bool next_queries(Step& step) const {
      if constexpr (options.has_offsets) {
        if (step.next_turn < 0) return false;
        step = begin(step.next_turn, index(step.next_turn));
        return true;
      }
      const std::int32_t at = index(step.turn + 1);
      if (at >= all_tiles()) return false;
      step = begin(step.turn + 1, at);
      return true;
    }
    HEDDLE_DEVICE bool is_last(const Step& step) const {
      if constexpr (options.has_offsets) return step.tile + 1 == step.tiles && step.next_turn < 0;
      return step.tile + 1 == step.tiles && index(step.turn + 1) >= all_tiles();
    }

    HEDDLE_DEVICE Sequence sequence(const Step& step) const {
      // Read again each time: registers are dearer than a word of the L1 cache.
      if constexpr (options.has_offsets) return sequence_of(step.batch);
      return whole();
    }

    // Where a step's queries and keys begin in the tensors, and in which of the batches of these.
    HEDDLE_DEVICE std::int32_t query_row(const Step& step) const {
      return sequence(step).first_query + step.first_query;
    }
    HEDDLE_DEVICE std::int32_t key_row(const Step& step) const {
      return sequence(step).first_key + step.first_key;
    }
    HEDDLE_DEVICE std::int32_t tensor(const Step& step) const {
      return options.has_offsets && extents_.query_offsets != nullptr ? 0 : step.batch;
    }
    // Where a head's first query is among numbers of queries.
    HEDDLE_DEVICE std::uint64_t lse_row(const Step& step) const {
      if constexpr (options.has_offsets) {
        if (extents_.query_offsets != nullptr) {
          return static_cast<std::uint64_t>(step.head) * static_cast<std::uint64_t>(extents_.query_rows) +
                 static_cast<std::uint64_t>(sequence(step).first_query);
        }
      }
      const auto head = static_cast<std::uint64_t>(step.batch * extents_.heads + step.head);
      return head * static_cast<std::uint64_t>(extents_.queries);
    }

   private:
    HEDDLE_DEVICE Sequence whole() const {
      return {.first_query = 0,
              .first_key = 0,
              .queries = extents_.queries,
              .keys = extents_.keys,
              .offset = extents_.offset};
    }

    // What is no range of rows is none, and the part of it that exists otherwise: a wrong offset never leads out
    // of the tensors.
    HEDDLE_DEVICE static std::int32_t clamp(std::int32_t value, std::int32_t least, std::int32_t most) {
      return value < least ? least : value < most ? value : most;
    }
    HEDDLE_DEVICE Sequence sequence_of(std::int32_t batch) const {
      if (extents_.query_offsets == nullptr) return whole();
      const auto rows = [&](const std::int32_t* offsets, std::int32_t all, std::int32_t most,
                            std::int32_t& first) {
        first = clamp(isa::ld_global(&offsets[batch]), 0, all);
        const std::int32_t end = clamp(isa::ld_global(&offsets[batch + 1]), first, all);
        return end - first < most ? end - first : most;
      };
      Sequence sequence;
      sequence.queries =
          rows(extents_.query_offsets, extents_.query_rows, extents_.queries, sequence.first_query);
      sequence.keys = rows(extents_.key_offsets, extents_.key_rows, extents_.keys, sequence.first_key);
      sequence.offset = extents_.sees_all ? sequence.keys : sequence.keys - sequence.queries;
      return sequence;
    }

    // The next turn with queries, from this one on; -1 if there is none.
    HEDDLE_DEVICE std::int32_t turn_from(std::int32_t turn) const {
      for (;; ++turn) {
        const std::int32_t at = index(turn);
        if (at >= all_tiles()) return -1;
        const Place tile = place_of(at);
        if (tile.first_query < sequence_of(tile.batch).queries) return turn;
      }
    }

    // Each stream of a CTA works as if it were one; every CTA has a tile before any has two.
    HEDDLE_DEVICE std::int32_t cta() const {
      const auto cta = static_cast<std::int32_t>(isa::ctaid().x);
      if constexpr (streams == 1) return cta;
      return cta + stream_ * static_cast<std::int32_t>(isa::nctaid().x);
    }
    HEDDLE_DEVICE static std::int32_t ctas() { return static_cast<std::int32_t>(isa::nctaid().x * streams); }
    HEDDLE_DEVICE std::int32_t all_tiles() const { return extents_.heads * extents_.batches * extents_.tiles; }
    HEDDLE_DEVICE std::int32_t pairs() const { return extents_.paired / 2 * extents_.tiles; }

    // Which of the pairs or tiles in order this CTA has in a round.
    HEDDLE_DEVICE std::int32_t place(std::int32_t round) const {
      const std::int32_t worker = cta();
      return round * ctas() + (round % 2 == 0 ? worker : ctas() - 1 - worker);
    }

    // The number of a tile among all, pair by pair and then one by one.
    HEDDLE_DEVICE std::int32_t index(std::int32_t turn) const {
      if constexpr (!is_causal) return place(turn);
      if (turn < 2 * pairs_of_cta_) return 2 * place(turn / 2) + turn % 2;
      return place(turn - pairs_of_cta_) + pairs();
    }

    struct Place {
      std::int32_t first_query;
      std::int32_t head;
      std::int32_t batch;
    };
    HEDDLE_DEVICE Place place_of(std::int32_t index) const {
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
      return {.first_query = (is_causal ? extents_.tiles - 1 - tile : tile) * queries,
              .head = head % extents_.heads,
              .batch = head / extents_.heads};
    }

    HEDDLE_DEVICE Step begin(std::int32_t turn, std::int32_t index) const {
      const Place at = place_of(index);
      Step step;
      step.batch = at.batch;
      if constexpr (options.has_offsets) step.next_turn = turn_from(turn + 1);
      const Sequence of_batch = sequence(step);
      const std::int32_t first_tile = first_key_tile(of_batch, at.first_query);
      step.turn = turn;
      step.first_query = at.first_query;
      step.head = at.head;
      step.first_key = first_tile * keys;
      step.tile = 0;
      step.tiles = end_key_tile(of_batch, at.first_query, first_tile) - first_tile;
      return step;
    }

    HEDDLE_DEVICE std::int32_t first_key_tile(const Sequence& of_batch, std::int32_t first_query) const {
      if constexpr (!options.has_window) return 0;
      const std::int32_t first = first_query + of_batch.offset - extents_.window + 1;
      const std::int32_t last_tile = of_batch.keys <= 0 ? 0 : (of_batch.keys - 1) / keys;
      const std::int32_t tile = first <= 0 ? 0 : first / keys;
      return tile < last_tile ? tile : last_tile;
    }
    // At least one more than the first, so that queries without a key have an output too.
    HEDDLE_DEVICE static std::int32_t end_key_tile(const Sequence& of_batch, std::int32_t first_query,
                                                   std::int32_t first_tile) {
      const std::int32_t seen = first_query + queries + of_batch.offset;
      const std::int32_t count = is_causal && seen < of_batch.keys ? seen : of_batch.keys;
      const std::int32_t end = count <= 0 ? 1 : (count + keys - 1) / keys;
      return end > first_tile ? end : first_tile + 1;
    }

    const Extents& extents_;
    std::int32_t stream_;
    std::int32_t pairs_of_cta_ = 0;
  };
};

}  // namespace heddle::inline HEDDLE_TARGET
