// SPDX-License-Identifier: Apache-2.0
//
// What the cells that a tcgen05.mma or tcgen05.cp writes are made of. An element of D is made of one row of A and
// one column of B, with their scales: of others it takes nothing over.
#pragma once

#include "sim/machine/wgmma.h"

#include <array>
#include <cstdint>
#include <vector>

namespace heddle::sim::machine {

struct Tcgen05Operation;

// Bytes of shared memory and cells of tensor memory that mean nothing, by the linear index of their CTA.
class TmemNothing {
 public:
  virtual ~TmemNothing() = default;
  // The first such byte of these, or kNoByte.
  virtual std::uint32_t find_byte(std::uint32_t cta, std::uint32_t begin, std::uint32_t count) const = 0;
  virtual bool has_cell(std::uint32_t cta, std::uint32_t lane, std::uint32_t column) const = 0;
};

// Something that means nothing and went into a cell.
struct TmemSource {
  enum class Kind : std::uint8_t { kNone, kShared, kTmem };

  Kind kind = Kind::kNone;
  std::uint32_t cta = 0;     // linear index
  std::uint32_t offset = 0;  // shared memory
  std::uint32_t column = 0;  // tensor memory, as all below
  std::uint32_t lane = 0;
  const char* operand = "";

  explicit operator bool() const { return kind != Kind::kNone; }
};

// By cell of one CTA's tensor memory, what of that went into it.
class TmemMade {
 public:
  TmemMade() = default;
  TmemMade(std::uint32_t first_column, std::uint32_t cols, std::uint32_t part_lanes)
      : first_(first_column), cols_(cols), part_lanes_(part_lanes) {}

  // All cells of a lane; of a column, in the lanes of one part; one cell.
  void add_lane(std::uint32_t lane, const TmemSource& source);
  void add_column(std::uint32_t part, std::uint32_t column, const TmemSource& source);
  void add_cell(std::uint32_t lane, std::uint32_t column, const TmemSource& source);

  TmemSource at(std::uint32_t lane, std::uint32_t column) const;
  bool is_by_cell() const { return !cells_.empty(); }  // and not by row and column
  // Those of the lanes from `first_lane` on whose cell has such a source.
  std::uint16_t lanes_at(std::uint32_t first_lane, std::uint32_t column) const;

 private:
  std::uint32_t first_ = 0;
  std::uint32_t cols_ = 0;
  std::uint32_t part_lanes_ = 128;
  std::vector<TmemSource> lanes_;
  std::vector<TmemSource> columns_;  // part by part
  std::vector<TmemSource> cells_;    // lane by lane
};

// An operation as it is carried out. `ctas`: the even one of a pair first; their linear indices.
struct TmemMaking {
  const Tcgen05Operation* operation;
  std::array<std::uint32_t, 2> ctas;
};

// In the tensor memory of one of those CTAs.
TmemMade made_of(const TmemMaking& making, std::uint32_t cta, const TmemNothing& nothing);

}  // namespace heddle::sim::machine
