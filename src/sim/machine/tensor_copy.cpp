// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/tensor_copy.h"

#include <heddle/tile/swizzle.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

#include "sim/machine/tensor_reduce.h"

namespace heddle::sim::machine {
namespace {

constexpr std::uint32_t kChunkBytes = 16;  // what a swizzle moves, and a store clips, as a whole
constexpr std::uint32_t kSharedAlignment = 128;
constexpr std::uint32_t kPaddedStep = 128;
constexpr std::uint32_t kMaxRowBytes = 2048;  // 256 elements of 8 bytes

using RowBuffer = std::array<std::byte, kMaxRowBytes>;

// Model: 0x7FF7 in every 16 bits, for 16- and 32-bit types as an H200 fills them.
// Unverified: the same pattern for 64-bit floats.
constexpr RowBuffer filled_row(OobFill fill) {
  RowBuffer row{};
  if (fill == OobFill::kNan) {
    for (std::size_t i = 0; i < row.size(); i += 2) {
      row[i] = std::byte{0xF7};
      row[i + 1] = std::byte{0x7F};
    }
  }
  return row;
}

// What a load through a map of tf32 does to floats on their way, as an H200 does it: the nearest number of tf32,
// the even one of two, and one NaN for all. Maps with flushing load as those without.
void round_to_tf32(std::byte* row, std::uint32_t bytes) {
  constexpr std::uint32_t kInfinity = 0x7f800000, kMagnitude = 0x7fffffff, kKept = 0xffffe000, kHalf = 0xfff;
  for (std::uint32_t at = 0; at < bytes; at += sizeof(std::uint32_t)) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, row + at, sizeof(bits));
    const bool is_nan = (bits & kMagnitude) > kInfinity;
    bits = is_nan ? kMagnitude & kKept : (bits + kHalf + (bits >> 13 & 1)) & kKept;
    std::memcpy(row + at, &bits, sizeof(bits));
  }
}

constexpr RowBuffer kZeroRow = filled_row(OobFill::kZeros);
constexpr RowBuffer kNanRow = filled_row(OobFill::kNan);

// A swizzled row lies inside one 128-byte line, so one pattern holds for all of its 16-byte pieces. The
// widest swizzled row is by far the most frequent one, and is unrolled.
template <class Move>
void for_each_chunk(std::uint32_t bytes, const Move& move) {
  if (bytes == swizzle_line_bytes) {
    for (std::uint32_t at = 0; at < swizzle_line_bytes; at += kChunkBytes) move(at);
  } else {
    for (std::uint32_t at = 0; at < bytes; at += kChunkBytes) move(at);
  }
}

void scatter(std::byte* shared, std::uint32_t address, std::uint32_t pattern, const std::byte* row,
             std::uint32_t bytes) {
  if (bytes > swizzle_line_bytes) {
    std::memcpy(shared + address, row, bytes);
    return;
  }
  for_each_chunk(
      bytes, [=](std::uint32_t at) { std::memcpy(shared + ((address + at) ^ pattern), row + at, kChunkBytes); });
}

// Each `unit` bytes of the row to the start of 16 of their own.
// Model: what follows them is set to zero; on hardware nobody can say what it is.
void spread(std::byte* row, std::uint32_t bytes, std::uint32_t unit) {
  for (std::uint32_t u = bytes / unit; u-- > 0;) {
    std::array<std::byte, kChunkBytes> padded = {};
    std::memcpy(padded.data(), row + u * unit, unit);
    std::memcpy(row + u * kChunkBytes, padded.data(), kChunkBytes);
  }
}

void gather(std::byte* row, const std::byte* shared, std::uint32_t address, std::uint32_t pattern,
            std::uint32_t bytes) {
  if (bytes > swizzle_line_bytes) {
    std::memcpy(row, shared + address, bytes);
    return;
  }
  for_each_chunk(
      bytes, [=](std::uint32_t at) { std::memcpy(row + at, shared + ((address + at) ^ pattern), kChunkBytes); });
}

}  // namespace

// Goes through the rows in order, and keeps the global address at which the row starts. Rows that differ in
// dimension 1 only follow one another; what they need is kept apart, and the other dimensions are touched
// once in so many rows.
class BoxCopy::Walk {
 public:
  Walk(const BoxCopy& box, std::uint64_t row) : box_(box) {
    if (!box.pixels_.empty()) {
      index_ = static_cast<std::uint32_t>(row);
      enter_pixel();
      return;
    }
    if (box.has_four_rows_) {
      dim_ = box.map_.dims[1];
      index_ = static_cast<std::uint32_t>(row);
      enter_listed_row();
      return;
    }
    index_ = static_cast<std::uint32_t>(row % box.counts_[1]);
    row /= box.counts_[1];
    for (std::uint32_t d = 2; d < box.map_.rank; ++d) {
      outer_index_[d] = static_cast<std::uint32_t>(row % box.counts_[d]);
      row /= box.counts_[d];
    }
    if (box.map_.rank > 1) {
      dim_ = box.map_.dims[1];
      coord_step_ = box.map_.element_strides[1];
      address_step_ = box.map_.strides[0] * coord_step_;
    }
    enter_run();
  }

  // A negative coordinate is a large unsigned one, so one comparison asks for both ends.
  bool is_inside() const { return outer_is_inside_ && coord_ < dim_; }

  // Modulo 2^64 for rows outside the tensor.
  std::uint64_t address() const { return address_; }

  void next() {
    if (!box_.pixels_.empty()) {
      if (++index_ < box_.pixels_.size()) enter_pixel();
      return;
    }
    if (box_.has_four_rows_) {
      if (++index_ < 4) enter_listed_row();
      return;
    }
    coord_ += coord_step_;
    address_ += address_step_;
    if (++index_ < box_.counts_[1]) return;
    index_ = 0;
    for (std::uint32_t d = 2; d < box_.map_.rank; ++d) {
      if (++outer_index_[d] < box_.counts_[d]) break;
      outer_index_[d] = 0;
    }
    enter_run();
  }

 private:
  void enter_pixel() {
    const Pixel& pixel = box_.pixels_[index_];
    address_ = pixel.address;
    outer_is_inside_ = pixel.is_inside;
  }

  void enter_listed_row() {
    coord_ = static_cast<std::uint64_t>(box_.four_rows_[index_]);
    address_ = box_.base_ + static_cast<std::uint64_t>(box_.coords_[0]) * box_.element_bytes() +
               coord_ * box_.map_.strides[0];
  }

  // Computes everything from the indices.
  void enter_run() {
    outer_is_inside_ = true;
    coord_ = static_cast<std::uint64_t>(box_.coords_[1]) + index_ * coord_step_;
    address_ = box_.base_ + static_cast<std::uint64_t>(box_.coords_[0]) * box_.element_bytes();
    if (box_.map_.rank > 1) address_ += coord_ * box_.map_.strides[0];
    for (std::uint32_t d = 2; d < box_.map_.rank; ++d) {
      const auto coord = static_cast<std::uint64_t>(box_.coords_[d] +
                                                    std::int64_t{outer_index_[d]} * box_.map_.element_strides[d]);
      if (coord >= box_.map_.dims[d]) outer_is_inside_ = false;
      address_ += coord * box_.map_.strides[d - 1];
    }
  }

  const BoxCopy& box_;
  std::uint64_t address_ = 0;
  std::uint64_t address_step_ = 0;
  // Of dimension 1; a tensor of rank 1 has one row in it.
  std::uint64_t coord_ = 0;
  std::uint64_t coord_step_ = 0;
  std::uint64_t dim_ = 1;
  std::uint32_t index_ = 0;
  bool outer_is_inside_ = true;
  std::uint32_t outer_index_[5] = {};
};

namespace {

// Packed elements below a byte are copied as the bytes that hold them.
TensorMapSpec in_bytes(TensorMapSpec map) {
  if (!is_sub_byte(map.type)) return map;
  const std::uint32_t bits = bits_per_element(map.type);
  map.type = TensorType::kU8;
  map.dims[0] = map.dims[0] * bits / 8;
  map.box[0] = map.box[0] * bits / 8;
  return map;
}

}  // namespace

BoxCopy::BoxCopy(const TensorMapSpec& map, std::span<const std::int32_t> coords, std::uint32_t shared_address)
    : map_(in_bytes(map)), base_(reinterpret_cast<std::uintptr_t>(map.address)), shared_address_(shared_address) {
  const auto fault = [this](CopyFaultKind kind, int dimension, std::int64_t value, std::uint64_t limit) {
    if (!fault_) fault_ = {kind, dimension, value, limit};
  };
  if (map.interleave != Interleave::kNone) {
    fault(CopyFaultKind::kUnsupportedInterleave, -1, static_cast<std::int64_t>(map.interleave), 0);
  }
  if (coords.size() != map.rank) {
    fault(CopyFaultKind::kRankMismatch, -1, static_cast<std::int64_t>(coords.size()), map.rank);
  }
  if (fault_) return;

  std::copy(coords.begin(), coords.end(), coords_);
  if (shared_address % kSharedAlignment != 0) {
    fault(CopyFaultKind::kSharedMisaligned, -1, shared_address, kSharedAlignment);
  }
  // Unverified: 128 numbers for the padded types, as the inner box has.
  const std::uint32_t bits = bits_per_element(map.type);
  if (is_padded(map.type)) unit_bytes_ = 2 * bits;
  const std::uint32_t granule = is_padded(map.type) ? kPaddedStep : 8 * kChunkBytes / bits;
  if (coords_[0] % static_cast<std::int32_t>(granule) != 0) {
    fault(CopyFaultKind::kCoordinateMisaligned, 0, coords_[0], granule);
  }
  if (map.type != map_.type) coords_[0] = coords_[0] * bits / 8;
  for (std::uint32_t line = 0; line < 8; ++line) {
    const std::uint32_t address = line * swizzle_line_bytes;
    patterns_[line] = swizzled(map.swizzle, address) ^ address;
  }
  measure_row();
  measure_hull();
}

BoxCopy BoxCopy::of_four_rows(const TensorMapSpec& map, std::span<const std::int32_t> coords,
                              std::uint32_t shared_address) {
  BoxCopy copy(map, coords.first(std::min<std::size_t>(coords.size(), map.rank)), shared_address);
  if (map.rank != 2) {
    copy.fault_ = {CopyFaultKind::kRowsRank, -1, map.rank, 2};
  } else if (map.box[1] != 1) {
    copy.fault_ = {CopyFaultKind::kRowsBox, 1, map.box[1], 1};
  }
  if (copy.fault_) return copy;
  copy.has_four_rows_ = true;
  std::copy(coords.begin() + 1, coords.begin() + 5, copy.four_rows_);
  copy.measure_four_rows();
  return copy;
}

BoxCopy BoxCopy::of_pixels(const TensorMapSpec& map, const Im2col& pixels, std::span<const std::int32_t> coords,
                           std::uint32_t shared_address) {
  const auto rank = std::min<std::size_t>(coords.size(), map.rank);
  BoxCopy copy(map, coords.first(rank), shared_address);
  if (copy.fault_) return copy;
  copy.walk_pixels(pixels, coords.subspan(rank));
  return copy;
}

// From the first pixel on through the box of pixels, dimension by dimension, then the next image. A pixel is read
// where the filter's offsets have it; outside of the tensor it counts as filled.
void BoxCopy::walk_pixels(const Im2col& pixels, std::span<const std::int32_t> offsets) {
  const std::uint32_t last = map_.rank - 1;
  std::int64_t at[5] = {};
  std::copy(coords_, coords_ + map_.rank, at);
  hull_ = {};
  rows_ = pixels.pixels;
  for (std::uint32_t p = 0; p < pixels.pixels; ++p) {
    Pixel pixel{base_ + static_cast<std::uint64_t>(coords_[0] * element_bytes()), inside_begin_ != inside_end_};
    for (std::uint32_t d = 1; d <= last; ++d) {
      const std::int64_t coord = at[d] + (d < last && d - 1 < offsets.size() ? offsets[d - 1] : 0);
      pixel.is_inside &= coord >= 0 && coord < static_cast<std::int64_t>(map_.dims[d]);
      pixel.address += static_cast<std::uint64_t>(coord) * map_.strides[d - 1];
    }
    if (pixel.is_inside) {
      hull_.low = hull_.is_empty ? pixel.address : std::min(hull_.low, pixel.address);
      hull_.high = hull_.is_empty ? pixel.address : std::max(hull_.high, pixel.address);
      hull_.is_empty = false;
    }
    pixels_.push_back(pixel);
    std::uint32_t d = 1;
    for (; d < last; ++d) {
      at[d] += map_.element_strides[d];
      if (at[d] < static_cast<std::int64_t>(map_.dims[d]) + pixels.upper[d - 1]) break;
      at[d] = pixels.lower[d - 1];
    }
    if (d == last) at[last] += map_.element_strides[last];
  }
}

// The lowest and the highest of the rows that are inside.
void BoxCopy::measure_four_rows() {
  rows_ = 4;
  hull_ = {};
  if (inside_begin_ == inside_end_) return;
  const std::uint64_t first = base_ + static_cast<std::uint64_t>(coords_[0]) * element_bytes();
  for (const std::int64_t row : four_rows_) {
    if (row < 0 || row >= static_cast<std::int64_t>(map_.dims[1])) continue;
    std::uint64_t offset = 0;
    std::uint64_t end = 0;
    hull_.overflows |= __builtin_mul_overflow(static_cast<std::uint64_t>(row), map_.strides[0], &offset);
    hull_.overflows |= __builtin_add_overflow(
        base_ + static_cast<std::uint64_t>(coords_[0] * element_bytes()) + store_end_, offset, &end);
    hull_.low = hull_.is_empty ? first + offset : std::min(hull_.low, first + offset);
    hull_.high = hull_.is_empty ? first + offset : std::max(hull_.high, first + offset);
    hull_.is_empty = false;
  }
}

// The pitch of a swizzled row is the span, also where the inner box is narrower.
// Unverified: the bytes that are signalled when an element stride is not 1; here those that are copied.
void BoxCopy::measure_row() {
  // The stride of dimension 0 is ignored, as the layout is not interleaved.
  counts_[0] = map_.box[0];
  rows_ = 1;
  for (std::uint32_t d = 1; d < map_.rank; ++d) {
    counts_[d] = (map_.box[d] + map_.element_strides[d] - 1) / map_.element_strides[d];
    rows_ *= counts_[d];
  }
  row_bytes_ = counts_[0] * element_bytes();
  row_pitch_ = map_.swizzle == Swizzle::kNone ? shared_row_bytes() : span_bytes(map_.swizzle);

  const std::int64_t size = element_bytes();
  const std::int64_t begin = std::max<std::int64_t>(0, -coords_[0] * size);
  const std::int64_t left =
      std::max<std::int64_t>(0, (static_cast<std::int64_t>(map_.dims[0]) - coords_[0]) * size);
  const std::int64_t end = std::min<std::int64_t>(left, row_bytes_);
  if (begin >= end) return;
  inside_begin_ = static_cast<std::uint32_t>(begin);
  inside_end_ = static_cast<std::uint32_t>(end);
  // A store clips whole 16 bytes: up to 15 bytes past the end of the row are written, as an H200 does it.
  store_end_ = (inside_end_ + kChunkBytes - 1) / kChunkBytes * kChunkBytes;
}

void BoxCopy::measure_hull() {
  if (inside_begin_ == inside_end_) return;
  hull_.low = base_ + static_cast<std::uint64_t>(coords_[0]) * element_bytes();
  hull_.high = hull_.low;
  std::uint64_t last = base_;  // without the wrap-around that a negative first coordinate brings in
  for (std::uint32_t d = 1; d < map_.rank; ++d) {
    const std::int64_t coord = coords_[d];
    const std::int64_t step = map_.element_strides[d];
    const std::int64_t dim = static_cast<std::int64_t>(map_.dims[d]);
    if (coord >= dim) return;
    const std::int64_t first_index = coord < 0 ? (-coord + step - 1) / step : 0;
    const std::int64_t last_index = std::min<std::int64_t>(counts_[d] - 1, (dim - 1 - coord) / step);
    if (first_index > last_index) return;
    const std::uint64_t stride = map_.strides[d - 1];
    const auto last_coord = static_cast<std::uint64_t>(coord + last_index * step);
    std::uint64_t offset = 0;
    hull_.overflows |= __builtin_mul_overflow(last_coord, stride, &offset);
    hull_.overflows |= __builtin_add_overflow(last, offset, &last);
    hull_.low += static_cast<std::uint64_t>(coord + first_index * step) * stride;
    hull_.high += last_coord * stride;
  }
  const auto end_of_row = static_cast<std::uint64_t>(coords_[0] * element_bytes() + store_end_);
  hull_.overflows |= __builtin_add_overflow(last, end_of_row, &last);
  hull_.is_empty = false;
}

CopyFault BoxCopy::outside(std::uint64_t address, std::uint64_t bytes) const {
  return {CopyFaultKind::kGlobalOutOfBounds, -1, static_cast<std::int64_t>(address), bytes};
}

CopyFault BoxCopy::load_fault(std::uint64_t shared_size) const {
  if (fault_) return fault_;
  const std::uint64_t end = shared_address_ + shared_bytes();
  if (end > shared_size) {
    return {CopyFaultKind::kSharedOutOfBounds, -1, static_cast<std::int64_t>(end), shared_size};
  }
  if (hull_.overflows) return outside(base_, ~std::uint64_t{0});
  return {};
}

// PTX: the padded types are for loads alone.
CopyFault BoxCopy::store_fault(std::uint64_t shared_size) const {
  if (fault_) return fault_;
  if (is_spread()) return {CopyFaultKind::kUnsupportedType, -1, 8 * unit_bytes_ / 16, 0};
  for (std::uint32_t d = 0; d < map_.rank; ++d) {
    if (coords_[d] < 0) return {CopyFaultKind::kNegativeCoordinate, static_cast<int>(d), coords_[d], 0};
  }
  for (const std::int64_t row : four_rows_) {
    if (row < 0) return {CopyFaultKind::kNegativeCoordinate, 1, row, 0};
  }
  return load_fault(shared_size);
}

CopyFault BoxCopy::reduce_fault(isa::ReduceOp op, std::uint64_t shared_size) const {
  if (find_reduction(op, map_.type) == nullptr) {
    return {CopyFaultKind::kUnsupportedReduction, -1, static_cast<std::int64_t>(map_.type),
            static_cast<std::uint64_t>(op)};
  }
  return store_fault(shared_size);
}

CopyFault BoxCopy::load_rows(std::uint64_t first, std::uint64_t count, const GlobalReader& global,
                             std::span<std::byte> shared) const {
  if (const CopyFault fault = load_fault(shared.size())) return fault;
  assert(first + count <= rows_);
  const std::byte* fill = (map_.fill == OobFill::kNan ? kNanRow : kZeroRow).data();
  const std::uint32_t inside_bytes = inside_end_ - inside_begin_;
  const std::uint64_t low = hull_.low + inside_begin_;
  const std::byte* hull = hull_.is_empty ? nullptr : global.readable(low, hull_.high - hull_.low + inside_bytes);
  // Copies of members, which a store through std::byte* might change for all the compiler knows.
  const std::uint32_t row_bytes = row_bytes_;
  const std::uint32_t pitch = row_pitch_;
  const std::uint32_t inside_begin = inside_begin_;
  const bool is_rounded = map_.type == TensorType::kTF32 || map_.type == TensorType::kTF32Ftz;
  auto address = static_cast<std::uint32_t>(shared_address_ + first * pitch);
  Walk walk(*this, first);
  for (std::uint64_t row = 0; row < count; ++row, walk.next(), address += pitch) {
    const std::uint32_t pattern = swizzle_of(address);
    if (inside_bytes == 0 || !walk.is_inside()) {
      scatter(shared.data(), address, pattern, fill, shared_row_bytes());
      continue;
    }
    const std::uint64_t source_address = walk.address() + inside_begin;
    const std::byte* source =
        hull != nullptr ? hull + (source_address - low) : global.readable(source_address, inside_bytes);
    if (source == nullptr) return outside(source_address, inside_bytes);
    if (inside_bytes == row_bytes && !is_spread() && !is_rounded) {
      scatter(shared.data(), address, pattern, source, row_bytes);
    } else {
      RowBuffer mixed;
      std::memcpy(mixed.data(), fill, row_bytes);
      std::memcpy(mixed.data() + inside_begin, source, inside_bytes);
      if (is_rounded) round_to_tf32(mixed.data() + inside_begin, inside_bytes);
      if (is_spread()) spread(mixed.data(), row_bytes, unit_bytes_);
      scatter(shared.data(), address, pattern, mixed.data(), shared_row_bytes());
    }
  }
  return {};
}

// The first `bytes` of the row at `address`, joined to the range before where the two meet. The swizzle moves
// 16-byte chunks within the row's span, so that a row as wide as the span stays where it is.
void BoxCopy::add_row(std::vector<SharedRange>& ranges, std::uint32_t address, std::uint32_t bytes) const {
  const std::uint32_t pattern = bytes == row_pitch_ ? 0 : swizzle_of(address);
  const std::uint32_t step = pattern == 0 ? bytes : kChunkBytes;
  for (std::uint32_t at = 0; at < bytes; at += step) {
    const std::uint32_t from = (address + at) ^ pattern;
    const std::uint32_t size = std::min(step, bytes - at);
    if (!ranges.empty() && ranges.back().address + ranges.back().bytes == from) {
      ranges.back().bytes += size;
    } else {
      ranges.push_back({from, size});
    }
  }
}

std::vector<SharedRange> BoxCopy::load_ranges(std::uint64_t first, std::uint64_t count) const {
  const auto address = static_cast<std::uint32_t>(shared_address_ + first * row_pitch_);
  if (shared_row_bytes() == row_pitch_) return {{address, static_cast<std::uint32_t>(count) * row_pitch_}};
  std::vector<SharedRange> ranges;
  for (std::uint32_t row = 0; row < count; ++row) add_row(ranges, address + row * row_pitch_, shared_row_bytes());
  return ranges;
}

std::vector<SharedRange> BoxCopy::store_ranges(std::uint64_t first, std::uint64_t count) const {
  std::vector<SharedRange> ranges;
  if (hull_.is_empty) return ranges;
  const auto address = static_cast<std::uint32_t>(shared_address_ + first * row_pitch_);
  Walk walk(*this, first);
  for (std::uint32_t row = 0; row < count; ++row, walk.next()) {
    if (walk.is_inside()) add_row(ranges, address + row * row_pitch_, inside_end_);
  }
  return ranges;
}

// Bytes [begin, end) of each row that is inside the tensor.
std::vector<GlobalRange> BoxCopy::global_rows(std::uint64_t first, std::uint64_t count, std::uint32_t begin,
                                              std::uint32_t end) const {
  std::vector<GlobalRange> ranges;
  if (hull_.is_empty) return ranges;
  Walk walk(*this, first);
  for (std::uint64_t row = 0; row < count; ++row, walk.next()) {
    if (!walk.is_inside()) continue;
    const std::uint64_t address = walk.address() + begin;
    if (!ranges.empty() && ranges.back().address + ranges.back().bytes == address) {
      ranges.back().bytes += end - begin;
    } else {
      ranges.push_back({address, end - begin});
    }
  }
  return ranges;
}

template <class Send>
CopyFault BoxCopy::send_rows(std::uint64_t first, std::uint64_t count, GlobalWriter& global,
                             const Send& send) const {
  assert(first + count <= rows_);
  if (hull_.is_empty) return {};
  std::byte* hull = global.writable(hull_.low, hull_.high - hull_.low + store_end_);
  const std::uint64_t low = hull_.low;
  const std::uint32_t pitch = row_pitch_;
  auto address = static_cast<std::uint32_t>(shared_address_ + first * pitch);
  Walk walk(*this, first);
  for (std::uint64_t row = 0; row < count; ++row, walk.next(), address += pitch) {
    if (!walk.is_inside()) continue;
    std::byte* destination =
        hull != nullptr ? hull + (walk.address() - low) : global.writable(walk.address(), store_end_);
    if (destination == nullptr) return outside(walk.address(), store_end_);
    send(destination, address, swizzle_of(address));
  }
  return {};
}

CopyFault BoxCopy::store_rows(std::uint64_t first, std::uint64_t count, std::span<const std::byte> shared,
                              GlobalWriter& global) const {
  if (const CopyFault fault = store_fault(shared.size())) return fault;
  return send_rows(first, count, global,
                   [source = shared.data(), bytes = store_end_](std::byte* destination, std::uint32_t address,
                                                                std::uint32_t pattern) {
                     gather(destination, source, address, pattern, bytes);
                   });
}

// Unverified: that a reduction clips whole 16 bytes, as a store does.
CopyFault BoxCopy::reduce_rows(isa::ReduceOp op, std::uint64_t first, std::uint64_t count,
                               std::span<const std::byte> shared, GlobalWriter& global) const {
  if (const CopyFault fault = reduce_fault(op, shared.size())) return fault;
  const Reduction reduce = find_reduction(op, map_.type);
  return send_rows(first, count, global,
                   [&](std::byte* destination, std::uint32_t address, std::uint32_t pattern) {
                     RowBuffer row;
                     gather(row.data(), shared.data(), address, pattern, store_end_);
                     reduce(destination, row.data(), store_end_);
                   });
}

}  // namespace heddle::sim::machine
