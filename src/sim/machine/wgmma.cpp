// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/wgmma.h"

#include <algorithm>
#include <cstring>

namespace heddle::sim::machine {

namespace {

constexpr std::uint32_t kChunkBytes = 16;  // what is contiguous in every layout

// Calls body(row, k, address) for the first element of each chunk.
template <class Body>
void for_each_chunk(const SmemDescriptor& fields, Major major, OperandType type, std::uint32_t rows,
                    std::uint32_t row_bytes, Body&& body) {
  const std::uint32_t chunk = kChunkBytes / stored_bytes(type);
  const std::uint32_t depth = row_bytes / stored_bytes(type);
  const std::uint32_t row_step = major == Major::kK ? 1 : chunk;
  const std::uint32_t k_step = major == Major::kK ? chunk : 1;
  for (std::uint32_t row = 0; row < rows; row += row_step) {
    for (std::uint32_t k = 0; k < depth; k += k_step) {
      body(row, k, operand_address(fields, major, 8 * stored_bytes(type), row, k));
    }
  }
}

}  // namespace

bool is_same_instruction(const WgmmaOperands& left, const WgmmaOperands& right) {
  return left.shape == right.shape && left.a_in_registers == right.a_in_registers &&
         left.scale_d == right.scale_d && left.saturates == right.saturates &&
         left.is_sparse == right.is_sparse && left.selector == right.selector &&
         left.a_descriptor == right.a_descriptor && left.b_descriptor == right.b_descriptor;
}

bool WgmmaAccumulator::has_registers_of(const WgmmaAccumulator& other) const {
  return registers == other.registers && n == other.n && type == other.type;
}

bool WgmmaAccumulator::overlaps(const WgmmaAccumulator& other) const {
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    if (registers[lane] < other.registers[lane] + 4 * other.words() &&
        other.registers[lane] < registers[lane] + 4 * words()) {
      return true;
    }
  }
  return false;
}

void WgmmaAccumulator::take_registers() {
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    for_each_element(type, words(), lane,
                     [&](std::uint32_t row, std::uint32_t column, std::uint32_t word, std::uint32_t half) {
                       std::uint32_t value = 0;
                       std::memcpy(&value, registers[lane] + 4 * word, 4);
                       values[row * n + column] =
                           type == AccumulatorType::kF16 ? value >> 16 * half & 0xFFFF : value;
                     });
  }
}

void WgmmaAccumulator::poison_registers() const {
  for (std::byte* lane_registers : registers) {
    for (std::uint32_t word = 0; word < words(); ++word) {
      std::memcpy(lane_registers + 4 * word, &kInFlightPattern, 4);
    }
  }
}

void WgmmaAccumulator::give_registers() const {
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    std::uint32_t value = 0;
    for_each_element(type, words(), lane,
                     [&](std::uint32_t row, std::uint32_t column, std::uint32_t word, std::uint32_t half) {
                       value = half == 0 ? values[row * n + column] : value | values[row * n + column] << 16;
                       std::memcpy(registers[lane] + 4 * word, &value, 4);
                     });
  }
}

bool WgmmaAccumulator::equals_registers() const {
  WgmmaAccumulator now = *this;
  now.take_registers();
  return now.values == values;
}

std::vector<std::byte> read_operand(const std::byte* shared, const SmemDescriptor& fields, Major major,
                                    OperandType type, std::uint32_t rows, std::uint32_t row_bytes) {
  const std::uint32_t bytes = stored_bytes(type);
  std::vector<std::byte> operand(std::size_t{rows} * row_bytes);
  const auto read = [&](std::uint32_t row, std::uint32_t k, std::uint32_t address) {
    if (major == Major::kK) {
      std::memcpy(&operand[std::size_t{row} * row_bytes + k * bytes], shared + address, kChunkBytes);
      return;
    }
    for (std::uint32_t i = 0; i < kChunkBytes / bytes; ++i) {
      std::memcpy(&operand[std::size_t{row + i} * row_bytes + k * bytes], shared + address + i * bytes, bytes);
    }
  };
  for_each_chunk(fields, major, type, rows, row_bytes, read);
  return operand;
}

SharedRange operand_extent(const SmemDescriptor& fields, Major major, OperandType type, std::uint32_t rows,
                           std::uint32_t row_bytes) {
  std::uint32_t first = ~0u;
  std::uint32_t last = 0;
  for_each_chunk(fields, major, type, rows, row_bytes, [&](std::uint32_t, std::uint32_t, std::uint32_t address) {
    first = std::min(first, address);
    last = std::max(last, address);
  });
  return {first, last + kChunkBytes - first};
}

std::vector<SharedRange> operand_ranges(const SmemDescriptor& fields, Major major, OperandType type,
                                        std::uint32_t rows, std::uint32_t row_bytes) {
  std::vector<std::uint32_t> chunks;
  for_each_chunk(fields, major, type, rows, row_bytes,
                 [&](std::uint32_t, std::uint32_t, std::uint32_t address) { chunks.push_back(address); });
  std::sort(chunks.begin(), chunks.end());
  std::vector<SharedRange> ranges;
  for (const std::uint32_t address : chunks) {
    if (!ranges.empty() && address <= ranges.back().address + ranges.back().bytes) {
      ranges.back().bytes = address + kChunkBytes - ranges.back().address;
    } else {
      ranges.push_back({address, kChunkBytes});
    }
  }
  return ranges;
}

std::vector<std::uint32_t> find_in_rows(const SmemDescriptor& fields, Major major, OperandType type,
                                        std::uint32_t rows, std::uint32_t row_bytes, const FindBytes& find) {
  const std::uint32_t bytes = stored_bytes(type);
  std::vector<std::uint32_t> found(rows, kNoByte);
  for_each_chunk(fields, major, type, rows, row_bytes,
                 [&](std::uint32_t row, std::uint32_t, std::uint32_t address) {
                   const std::uint32_t parts = major == Major::kK ? 1 : kChunkBytes / bytes;
                   for (std::uint32_t i = 0; i < parts; ++i) {
                     std::uint32_t& first = found[row + i];
                     if (first == kNoByte) first = find(address + i * bytes, kChunkBytes / parts);
                   }
                 });
  return found;
}

void place_fragment(OperandType type, std::uint32_t lane, const std::array<std::uint32_t, 4>& registers,
                    std::byte* rows) {
  // Whatever the type, register r holds four neighbouring bytes of a row: of row l / 4, or of the one eight
  // below; of the first half of K, or of the second.
  static_assert(kWgmmaRowBytes == 2 * kChunkBytes);
  const std::uint32_t bytes = stored_bytes(type);
  for (std::uint32_t r = 0; r < 4; ++r) {
    const std::uint32_t row = lane / 4 + 8 * (r % 2);
    const std::uint32_t k = 4 / bytes * (lane % 4) + kChunkBytes / bytes * (r / 2);
    std::memcpy(rows + std::size_t{row} * kWgmmaRowBytes + k * bytes, &registers[r], 4);
  }
}

}  // namespace heddle::sim::machine
