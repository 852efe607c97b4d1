// SPDX-License-Identifier: Apache-2.0
//
// Which keys each worker of decoding attention has: all of them, once, in equal parts; or whole heads.
#include "attention/attention_pieces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace heddle {
namespace {

constexpr std::int32_t kKeys = 64;

struct Share {
  std::int32_t tiles = 0;
  std::int32_t pieces = 0;
};

// What each worker has, after a look at whether every tile of every head is somebody's, and one's alone.
std::vector<Share> shares_of(const AttentionPieces::Extents& extents, std::uint32_t workers) {
  const std::int32_t heads = extents.batches * extents.key_heads;
  const std::int32_t first = std::max(0, extents.keys - extents.queries + 1 - extents.window) / kKeys;
  const std::int32_t tiles = (extents.keys + kKeys - 1) / kKeys - first;
  std::vector<std::int32_t> seen(static_cast<std::size_t>(heads * tiles));
  std::vector<Share> shares(workers);
  for (std::uint32_t worker = 0; worker < workers; ++worker) {
    AttentionPieces::Of<kKeys> pieces(extents, worker, workers);
    for (AttentionPieces::Piece piece; pieces.next(piece);) {
      const auto number = static_cast<std::int32_t>(worker);
      EXPECT_LE(piece.first_worker, number);
      EXPECT_GE(piece.last_worker, number);
      for (std::int32_t i = 0; i < piece.tiles; ++i) {
        const std::int32_t head = piece.batch * extents.key_heads + piece.head;
        ++seen.at(static_cast<std::size_t>(head * tiles + piece.first_key / kKeys - first + i));
      }
      shares[worker].tiles += piece.tiles;
      ++shares[worker].pieces;
    }
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<std::ptrdiff_t>(seen.size()));
  return shares;
}

TEST(AttentionPieces, AreAllKeysInEqualPartsOrWholeHeads) {
  for (const std::int32_t heads : {1, 3, 7, 16, 25}) {
    for (const std::int32_t keys : {1, 64, 65, 500, 1000}) {
      for (const std::int32_t window : {1 << 30, 100}) {
        for (const std::uint32_t workers : {1u, 4u, 7u, 40u}) {
          SCOPED_TRACE(testing::Message() << heads << " heads of " << keys << " keys, window " << window << ", "
                                          << workers << " workers");
          AttentionPieces::Extents extents{
              .batches = heads, .key_heads = 2, .keys = keys, .queries = 1, .window = window, .lengths = nullptr};
          const std::vector<Share> parts = shares_of(extents, workers);
          EXPECT_LE(parts.front().tiles - parts.back().tiles, 1);
          extents.has_whole_heads = true;
          const std::vector<Share> whole = shares_of(extents, workers);
          std::int32_t pieces = 0;
          for (const Share& share : whole) pieces += share.pieces;
          EXPECT_EQ(pieces, 2 * heads);  // so each is one
          EXPECT_LE(whole.front().pieces - whole.back().pieces, 1);
        }
      }
    }
  }
}

}  // namespace
}  // namespace heddle
