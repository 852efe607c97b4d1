// SPDX-License-Identifier: Apache-2.0
//
// What the copy engine does with bytes: one box of a tensor between global and shared memory. No threads, no
// barriers, no time; whoever uses this decides when which rows move and who is told. A box moves row by row
// (a row is dimension 0 of the box), and any split of the rows into calls gives the same result.
//
//   const BoxCopy copy(map, coords, destination);
//   if (const CopyFault fault = copy.load_fault(shared.size())) return report(fault);
//   copy.load_rows(0, copy.rows(), global, shared);
//   barrier.complete_tx(copy.bytes());
//
// PTX: cp.async.bulk.tensor, cp.reduce.async.bulk.tensor.
#pragma once

#include "sim/machine/im2col.h"

#include <heddle/isa/tensor_map.h>
#include <heddle/isa/tma.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace heddle::sim::machine {

// Global memory as the engine sees it. Asking for a range is not an access to all of it: the engine asks for
// the hull of a box first, and only when that is refused for each row.
class GlobalReader {
 public:
  virtual ~GlobalReader() = default;
  // Where the bytes are, null when some of them may not be read.
  virtual const std::byte* readable(std::uint64_t address, std::uint64_t bytes) const = 0;
};

class GlobalWriter {
 public:
  virtual ~GlobalWriter() = default;
  // Where the bytes are, null when some of them may not be written.
  virtual std::byte* writable(std::uint64_t address, std::uint64_t bytes) = 0;
};

enum class CopyFaultKind : std::uint8_t {
  kNone,
  kRankMismatch,           // value: coordinates given, limit: rank of the map
  kSharedMisaligned,       // value: shared address, limit: 128
  kCoordinateMisaligned,   // dimension 0; value: coordinate, limit: elements it must be a multiple of
  kNegativeCoordinate,     // of a store or reduction; value: coordinate
  kSharedOutOfBounds,      // value: first address past the box, limit: bytes of shared memory
  kGlobalOutOfBounds,      // value: first address of the row, limit: its bytes
  kUnsupportedInterleave,  // value: Interleave
  kUnsupportedType,        // value: bits of the padded numbers
  kUnsupportedReduction,   // value: TensorType, limit: ReduceOp
  kRowsRank,               // four rows; value: rank of the map, limit: 2
  kRowsBox,                // four rows; value: rows of the map's box, limit: 1
};

// What stops a copy. Returned, never thrown: the machine makes the diagnosis from it.
struct CopyFault {
  CopyFaultKind kind = CopyFaultKind::kNone;
  int dimension = -1;  // -1: not about one dimension
  std::int64_t value = 0;
  std::uint64_t limit = 0;

  explicit operator bool() const { return kind != CopyFaultKind::kNone; }
};

struct SharedRange {
  std::uint32_t address = 0;
  std::uint32_t bytes = 0;
};

struct GlobalRange {
  std::uint64_t address = 0;
  std::uint32_t bytes = 0;
};

// The box of a map at some coordinates (innermost first), and its place in shared memory. `shared_address`
// counts from the start of the CTA's shared memory, without a CTA rank; the swizzle depends on it. `shared`
// in the functions below is that memory from address 0 on. The map must have passed check().
class BoxCopy {
 public:
  BoxCopy(const TensorMapSpec& map, std::span<const std::int32_t> coords, std::uint32_t shared_address);

  // Four rows of a tensor of rank 2 that need not be neighbours: coords has the column and the four rows.
  // PTX: Tensor copy: tile::gather4 and tile::scatter4 modes.
  static BoxCopy of_four_rows(const TensorMapSpec& map, std::span<const std::int32_t> coords,
                              std::uint32_t shared_address);

  // Pixels of a map for convolutions: coords has the first pixel, and behind it the filter's offsets.
  // PTX: Tensor copy: im2col mode.
  static BoxCopy of_pixels(const TensorMapSpec& map, const Im2col& pixels, std::span<const std::int32_t> coords,
                           std::uint32_t shared_address);

  // What complete_tx tells the barrier for the whole box: what is out of bounds counts.
  std::uint64_t bytes() const { return rows_ * row_bytes_; }
  std::uint64_t rows() const { return rows_; }
  std::uint32_t row_bytes() const { return row_bytes_; }
  // What a row takes up in shared memory: more, where 16 numbers below a byte are padded to 16 bytes.
  std::uint32_t shared_row_bytes() const { return row_bytes_ / unit_bytes_ * 16; }
  // Bytes of shared memory from the start of one row to the next, and from the first to past the last.
  std::uint32_t row_pitch() const { return row_pitch_; }
  std::uint64_t shared_bytes() const { return rows_ * row_pitch_; }

  // The shared memory that rows [first, first + count) stand for: what a load writes, and what a store or a
  // reduction sends. Without what lies between narrow rows, and what a store clips.
  std::vector<SharedRange> load_ranges(std::uint64_t first, std::uint64_t count) const;
  std::vector<SharedRange> store_ranges(std::uint64_t first, std::uint64_t count) const;

  // The global memory that these rows stand for: what a load reads, and what a store or a reduction writes.
  std::vector<GlobalRange> load_sources(std::uint64_t first, std::uint64_t count) const {
    return global_rows(first, count, inside_begin_, inside_end_);
  }
  std::vector<GlobalRange> store_targets(std::uint64_t first, std::uint64_t count) const {
    return global_rows(first, count, 0, store_end_);
  }

  // What can be known before anything moves. Global bounds show up in the functions that move rows.
  CopyFault load_fault(std::uint64_t shared_size) const;
  CopyFault store_fault(std::uint64_t shared_size) const;
  CopyFault reduce_fault(isa::ReduceOp op, std::uint64_t shared_size) const;

  // Moves rows [first, first + count). On a fault the rows before the faulty one have moved.
  CopyFault load_rows(std::uint64_t first, std::uint64_t count, const GlobalReader& global,
                      std::span<std::byte> shared) const;
  CopyFault store_rows(std::uint64_t first, std::uint64_t count, std::span<const std::byte> shared,
                       GlobalWriter& global) const;
  CopyFault reduce_rows(isa::ReduceOp op, std::uint64_t first, std::uint64_t count,
                        std::span<const std::byte> shared, GlobalWriter& global) const;

 private:
  // The lowest and the highest global address at which a row inside the tensor starts.
  struct Hull {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    bool is_empty = true;    // no row is inside
    bool overflows = false;  // the highest row ends beyond 64 bits
  };
  class Walk;
  struct Pixel {
    std::uint64_t address = 0;  // of its first channel in the copy
    bool is_inside = false;
  };

  bool is_spread() const { return unit_bytes_ != 16; }
  std::uint32_t element_bytes() const { return bits_per_element(map_.type) / 8; }
  void measure_row();
  void measure_hull();
  void measure_four_rows();
  void walk_pixels(const Im2col& pixels, std::span<const std::int32_t> offsets);
  std::uint32_t swizzle_of(std::uint32_t address) const { return patterns_[address / swizzle_line_bytes % 8]; }
  CopyFault outside(std::uint64_t address, std::uint64_t bytes) const;
  void add_row(std::vector<SharedRange>& ranges, std::uint32_t address, std::uint32_t bytes) const;
  std::vector<GlobalRange> global_rows(std::uint64_t first, std::uint64_t count, std::uint32_t begin,
                                       std::uint32_t end) const;
  template <class Send>
  CopyFault send_rows(std::uint64_t first, std::uint64_t count, GlobalWriter& global, const Send& send) const;

  TensorMapSpec map_;
  CopyFault fault_;
  std::int64_t coords_[5] = {};
  std::int64_t four_rows_[4] = {};  // what has these has no dimension 1
  bool has_four_rows_ = false;
  std::vector<Pixel> pixels_;                  // a row each; what has these has no other dimensions
  std::uint32_t counts_[5] = {1, 1, 1, 1, 1};  // elements copied along each dimension
  std::uint64_t base_ = 0;                     // global address of the tensor
  std::uint32_t unit_bytes_ = 16;              // of global memory, which 16 bytes of shared memory are for
  std::uint32_t row_bytes_ = 0;
  std::uint32_t row_pitch_ = 0;
  std::uint64_t rows_ = 0;
  std::uint32_t shared_address_ = 0;
  std::uint32_t patterns_[8] = {};  // what the swizzle does to addresses of a 128-byte line, by its number
  // The part of a row that lies inside the tensor, in bytes of the row, and how far a store writes.
  std::uint32_t inside_begin_ = 0;
  std::uint32_t inside_end_ = 0;
  std::uint32_t store_end_ = 0;
  Hull hull_;
};

}  // namespace heddle::sim::machine
