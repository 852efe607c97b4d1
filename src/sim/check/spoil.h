// SPDX-License-Identifier: Apache-2.0
//
// Operations of a tensor core that read what nobody had written. For a front end that follows values they are no
// mistake yet: what they write holds nothing either, and whoever uses that makes the mistake.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace heddle::sim::check {

// What such an operation read first: bytes of shared memory, or a cell of tensor memory.
struct Spoil {
  bool is_shared = false;
  std::uint32_t cta = 0;     // linear index
  std::uint32_t offset = 0;  // shared memory, and all such bytes: where 16 of them begin, and which of these
  std::vector<std::pair<std::uint32_t, std::uint16_t>> bytes = {};
  std::uint32_t column = 0;  // tensor memory, as all below
  std::uint32_t lane = 0;
  const char* operand = "";
  bool is_accumulator = false;  // cells that it adds to: those alone hold nothing afterwards

  // The first of these bytes of shared memory that had not been written, or ~0.
  std::uint32_t find(std::uint32_t begin, std::uint32_t count) const {
    std::uint32_t first = ~std::uint32_t{0};
    for (const auto& [at, some] : bytes) {
      for (std::uint32_t b = 0; b < 16; ++b) {
        if ((some >> b & 1) != 0 && at + b >= begin && at + b < begin + count && at + b < first) first = at + b;
      }
    }
    return first;
  }
};

using Spoils = std::unordered_map<std::uint64_t, Spoil>;  // by operation

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

}  // namespace heddle::sim::check
