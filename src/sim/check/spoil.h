// SPDX-License-Identifier: Apache-2.0
//
// Operations of a tensor core that read what nobody had written. For a front end that follows values they are no
// mistake yet: what they make of it holds nothing either, and whoever uses that makes the mistake.
#pragma once

#include "sim/machine/tcgen05_made.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace heddle::sim::check {

// Cells that a load found as they were allocated, or spoiled.
struct UndefinedCells {
  struct Cells {
    std::uint32_t column;
    std::uint32_t group;  // of 16 lanes
    std::uint16_t lanes;
    std::uint64_t spoiler;  // the operation that left them so; 0: none
  };
  std::uint32_t cta = 0;
  std::vector<Cells> cells;

  const Cells* find(std::uint32_t lane, std::uint32_t column) const {
    for (const Cells& some : cells) {
      if (some.column == column && some.group == lane / 16 && (some.lanes >> lane % 16 & 1) != 0) return &some;
    }
    return nullptr;
  }
};

// What such an operation read: bytes of shared memory, and cells of tensor memory. CTAs are linear indices.
class Spoil : public machine::TmemNothing {
 public:
  void add_bytes(std::uint32_t cta, std::uint32_t granule, std::uint16_t bytes) {
    bytes_.push_back({cta, granule, bytes});
  }
  void add_cells(std::uint32_t cta, const UndefinedCells::Cells& cells) { cells_[cta].cells.push_back(cells); }

  std::uint32_t find_byte(std::uint32_t cta, std::uint32_t begin, std::uint32_t count) const override {
    std::uint32_t first = machine::kNoByte;
    for (const Bytes& some : bytes_) {
      if (some.cta != cta) continue;
      for (std::uint32_t b = 0; b < 16; ++b) {
        const std::uint32_t at = some.granule + b;
        if ((some.bytes >> b & 1) != 0 && at >= begin && at < begin + count && at < first) first = at;
      }
    }
    return first;
  }
  bool has_cell(std::uint32_t cta, std::uint32_t lane, std::uint32_t column) const override {
    return find_cell(cta, lane, column) != nullptr;
  }
  const UndefinedCells::Cells* find_cell(std::uint32_t cta, std::uint32_t lane, std::uint32_t column) const {
    const auto found = cells_.find(cta);
    return found == cells_.end() ? nullptr : found->second.find(lane, column);
  }
  const machine::TmemMade* find_made(std::uint32_t cta) const {
    const auto found = made.find(cta);
    return found == made.end() ? nullptr : &found->second;
  }

  // What it made of that, for each CTA whose tensor memory it wrote.
  std::unordered_map<std::uint32_t, machine::TmemMade> made;

 private:
  struct Bytes {
    std::uint32_t cta;
    std::uint32_t granule;  // 16 bytes from here on
    std::uint16_t bytes;
  };
  std::vector<Bytes> bytes_;
  std::unordered_map<std::uint32_t, UndefinedCells> cells_;
};

using Spoils = std::unordered_map<std::uint64_t, Spoil>;  // by operation

}  // namespace heddle::sim::check
