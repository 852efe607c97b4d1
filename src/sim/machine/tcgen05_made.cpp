// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/tcgen05_made.h"

#include "sim/machine/sparse_operand.h"
#include "sim/machine/tcgen05.h"

#include <utility>

namespace heddle::sim::machine {

namespace {

constexpr std::uint32_t kLanes = 128;
constexpr std::uint32_t kScaleRows = 32;  // in a column of scales

// PTX: Matrix fragments in Tensor Memory, Scale Factor layouts.
class Products {
 public:
  Products(const TmemMaking& making, std::uint32_t cta, const TmemNothing& nothing)
      : operands_(making.operation->operands),
        fields_(fields_of(operands_)),
        layout_(layout_of(operands_, fields_)),
        ctas_(making.ctas),
        cta_(cta),
        nothing_(nothing),
        made_(tmem_column(operands_.d), layout_.cols(), layout_.parts == 1 ? kLanes : layout_.rows) {}

  TmemMade make() {
    if (operands_.a_in_tmem) {
      for (std::uint32_t row = 0; row < layout_.rows; ++row) add_tmem_row(row);
    } else {
      const auto rows =
          in_shared(cta_, operands_.a_descriptor, fields_.a_major, fields_.a_type, layout_.rows, kWgmmaRowBytes);
      for (std::uint32_t row = 0; row < layout_.rows; ++row) {
        if (rows[row] != kNoByte) add_row(row, {TmemSource::Kind::kShared, cta_, rows[row]});
      }
    }
    if (operands_.is_sparse) add_metadata();
    // Each CTA of a pair has its part of B's columns, and both multiply with all of them.
    const auto group = static_cast<std::uint32_t>(operands_.cta_group);
    const std::uint32_t held = fields_.n / group;
    for (std::uint32_t i = 0; i < group; ++i) {
      const auto columns = in_shared(ctas_[i], operands_.b_descriptor, fields_.b_major, fields_.b_type, held,
                                     operands_.b_row_bytes());
      for (std::uint32_t n = 0; n < held; ++n) {
        if (columns[n] != kNoByte) add_column(i * held + n, {TmemSource::Kind::kShared, ctas_[i], columns[n]});
      }
    }
    if (operands_.scale_vec != 0) {
      for (std::uint32_t row = 0; row < layout_.rows; ++row) {
        if (const TmemSource scale = scale_of(operands_.sfa, row, "scales of A")) add_row(row, scale);
      }
      for (std::uint32_t n = 0; n < fields_.n; ++n) {
        if (const TmemSource scale = scale_of(operands_.sfb, n, "scales of B")) add_column(n, scale);
      }
    }
    return std::move(made_);
  }

 private:
  std::uint32_t lane_of(std::uint32_t row, std::uint32_t part) const {
    return tmem_lane(operands_.d) + layout_.lane_of(row) + layout_.rows * part;
  }

  void add_row(std::uint32_t row, const TmemSource& source) {
    for (std::uint32_t part = 0; part < layout_.parts; ++part) made_.add_lane(lane_of(row, part), source);
  }

  void add_column(std::uint32_t n, const TmemSource& source) {
    made_.add_column(n / layout_.cols(), n % layout_.cols(), source);
  }

  std::vector<std::uint32_t> in_shared(std::uint32_t cta, std::uint64_t descriptor, Major major, OperandType type,
                                       std::uint32_t rows, std::uint32_t row_bytes) const {
    return find_in_rows(
        decode_tcgen05_descriptor(descriptor).fields, major, type, rows, row_bytes,
        [&](std::uint32_t at, std::uint32_t bytes) { return nothing_.find_byte(cta, at, bytes); });
  }

  TmemSource cell(std::uint32_t lane, std::uint32_t column, const char* operand) const {
    if (!nothing_.has_cell(cta_, lane, column)) return {};
    return {TmemSource::Kind::kTmem, cta_, 0, column, lane, operand};
  }

  // The lanes of each part have their own copy of A.
  void add_tmem_row(std::uint32_t row) {
    for (std::uint32_t part = 0; part < layout_.parts; ++part) {
      const std::uint32_t lane = lane_of(row, part);
      for (std::uint32_t i = 0; i < kTmemACols; ++i) {
        if (const TmemSource source = cell(lane, tmem_column(operands_.a) + i, "A")) {
          made_.add_lane(lane, source);
        }
      }
    }
  }

  void add_metadata() {
    const std::uint32_t bytes = stored_bytes(fields_.a_type);
    const std::uint32_t first = tmem_column(operands_.metadata) + fields_.sparsity_selector;
    const SparseRows rows{layout_.rows, kWgmmaRowBytes, bytes};
    for (std::uint32_t row = 0; row < layout_.rows; ++row) {
      for (std::uint32_t chunk = 0; chunk < rows.chunks(); ++chunk) {
        const MetadataPlace place = metadata_place(bytes, row, chunk);
        const TmemSource source = cell(place.lane, first + place.column, "the metadata of A");
        if (source) add_row(row, source);
      }
    }
  }

  // Each quarter of the lanes has a copy.
  TmemSource scale_of(std::uint32_t taddr, std::uint32_t row, const char* operand) const {
    for (std::uint32_t lane = row % kScaleRows; lane < kLanes; lane += kScaleRows) {
      if (const TmemSource scale = cell(lane, tmem_column(taddr) + row / kScaleRows, operand)) return scale;
    }
    return {};
  }

  const Tcgen05Operands& operands_;
  Tcgen05Fields fields_;
  Tcgen05Layout layout_;
  std::array<std::uint32_t, 2> ctas_;
  std::uint32_t cta_;
  const TmemNothing& nothing_;
  TmemMade made_;
};

TmemMade copied(const Tcgen05Copy& copy, std::uint32_t cta, const TmemNothing& nothing) {
  TmemMade made(tmem_column(copy.taddr), copy.cols(), kLanes);
  const std::vector<SharedRange> ranges = copy_ranges(copy);
  const std::uint32_t pieces = copy.row_bytes() / 16;
  for (std::uint32_t i = 0; i < ranges.size(); ++i) {
    for (std::uint32_t word = 0; word < 4; ++word) {
      const std::uint32_t byte = nothing.find_byte(cta, ranges[i].address + 4 * word, 4);
      if (byte == kNoByte) continue;
      for (const std::uint32_t lane : copy.lanes_of(i / pieces)) {
        made.add_cell(lane, 4 * (i % pieces) + word, {TmemSource::Kind::kShared, cta, byte});
      }
    }
  }
  return made;
}

void keep_first(TmemSource& at, const TmemSource& source) {
  if (!at) at = source;
}

}  // namespace

void TmemMade::add_lane(std::uint32_t lane, const TmemSource& source) {
  lanes_.resize(kLanes);
  keep_first(lanes_[lane], source);
}

void TmemMade::add_column(std::uint32_t part, std::uint32_t column, const TmemSource& source) {
  columns_.resize(std::size_t{kLanes} / part_lanes_ * cols_);
  keep_first(columns_[std::size_t{part} * cols_ + column], source);
}

void TmemMade::add_cell(std::uint32_t lane, std::uint32_t column, const TmemSource& source) {
  cells_.resize(std::size_t{kLanes} * cols_);
  keep_first(cells_[std::size_t{lane} * cols_ + column], source);
}

TmemSource TmemMade::at(std::uint32_t lane, std::uint32_t column) const {
  if (column < first_ || column >= first_ + cols_) return {};
  const std::uint32_t i = column - first_;
  if (!cells_.empty() && cells_[std::size_t{lane} * cols_ + i]) return cells_[std::size_t{lane} * cols_ + i];
  const std::size_t at = std::size_t{lane} / part_lanes_ * cols_ + i;
  if (!columns_.empty() && columns_[at]) return columns_[at];
  return lanes_.empty() ? TmemSource{} : lanes_[lane];
}

std::uint16_t TmemMade::lanes_at(std::uint32_t first_lane, std::uint32_t column) const {
  std::uint16_t found = 0;
  for (std::uint32_t i = 0; i < 16; ++i) {
    if (at(first_lane + i, column)) found |= static_cast<std::uint16_t>(1u << i);
  }
  return found;
}

TmemMade made_of(const TmemMaking& making, std::uint32_t cta, const TmemNothing& nothing) {
  if (making.operation->kind == Tcgen05Operation::Kind::kCopy) {
    return copied(making.operation->copy, cta, nothing);
  }
  return Products(making, cta, nothing).make();
}

}  // namespace heddle::sim::machine
