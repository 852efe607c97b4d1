// SPDX-License-Identifier: Apache-2.0
//
// A with half of its elements, and metadata that says where in K they lie: of every four elements two, of every
// two of tf32 one, of every four pairs of fp4 two pairs. Four bits stand for such a chunk: two indices of two
// bits each, the lower first; for tf32 0b0100 is the first element and 0b1110 the second. PTX: Sparse matrix
// storage.
//
// Nothing here knows where metadata is kept. Multiplying what expand() makes is what the hardware does: a product
// with a zero takes no part in a sum's alignment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::sim::machine {

// Elements that are chosen together lie in this many bytes: 4 (tf32), 2, or 1, a pair of fp4 included.
struct SparseRows {
  std::uint32_t rows;
  std::uint32_t row_bytes;  // as stored
  std::uint32_t unit_bytes;

  std::uint32_t chunk_units() const { return unit_bytes == 4 ? 2 : 4; }
  std::uint32_t chunks() const { return 2 * row_bytes / (unit_bytes * chunk_units()); }
};

// The rows with their zeros: twice as long. `metadata` gets a row and the number of a chunk in it, and returns
// four bits.
// Model: indices that are not in order, which PTX leaves undefined, mean what they say.
template <class Metadata>
std::vector<std::byte> expand(const SparseRows& a, const std::byte* stored, Metadata&& metadata);

// Metadata as it lies in words of 32 bits: which word, and the lowest of the four bits. `column` is 0 or 1.
struct MetadataPlace {
  std::uint32_t lane;
  std::uint32_t column;
  std::uint32_t bit;
};

// Of a block of 16 rows, in the order that mma.sp, wgmma and tcgen05.mma.sp have in common for 16 and 32 bits: a
// word has 4 chunks of row r in its lower half and 4 of row r + 8 in its upper half; `lane` is r for the first
// half of K and r + 8 for the second.
inline MetadataPlace half_word_place(std::uint32_t row, std::uint32_t chunk) {
  return {.lane = row % 8 + 8 * (chunk / 4), .column = 0, .bit = 16 * (row / 8) + 4 * (chunk % 4)};
}

// For 8 and 4 bits a word has 8 chunks of one row.
inline MetadataPlace word_place(std::uint32_t row, std::uint32_t chunk) {
  return {.lane = row, .column = chunk / 8, .bit = 4 * (chunk % 8)};
}

// In tensor memory: that of 8- and 4-bit types lies in the lane of its row, that of wider ones in blocks of 16
// lanes, half of K in eight of them.
inline MetadataPlace metadata_place(std::uint32_t unit_bytes, std::uint32_t row, std::uint32_t chunk) {
  MetadataPlace place = unit_bytes == 1 ? word_place(row % 16, chunk) : half_word_place(row % 16, chunk);
  place.lane += row / 16 * 16;
  return place;
}

template <class Metadata>
std::vector<std::byte> expand(const SparseRows& a, const std::byte* stored, Metadata&& metadata) {
  std::vector<std::byte> dense(std::size_t{2} * a.rows * a.row_bytes);
  const std::uint32_t kept = a.chunk_units() / 2;
  for (std::uint32_t row = 0; row < a.rows; ++row) {
    std::byte* to = dense.data() + std::size_t{2} * row * a.row_bytes;
    const std::byte* from = stored + std::size_t{row} * a.row_bytes;
    for (std::uint32_t chunk = 0; chunk < a.chunks(); ++chunk) {
      const std::uint32_t indices = metadata(row, chunk);
      for (std::uint32_t i = 0; i < kept; ++i) {
        const std::uint32_t index = a.unit_bytes == 4 ? (indices == 0b1110 ? 1 : 0) : indices >> 2 * i & 3;
        std::byte* place = to + (chunk * a.chunk_units() + index) * a.unit_bytes;
        for (std::uint32_t byte = 0; byte < a.unit_bytes; ++byte) {
          place[byte] = from[(chunk * kept + i) * a.unit_bytes + byte];
        }
      }
    }
  }
  return dense;
}

}  // namespace heddle::sim::machine
