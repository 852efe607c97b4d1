// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the copy engine compare it with: boxes made at random, and a reference that goes element
// by element and byte by byte. It shares no arithmetic with the engine: neither swizzles nor clipping.
#pragma once

#include <heddle/isa/tensor_map.h>
#include <heddle/tile/element.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <ostream>
#include <random>
#include <utility>
#include <vector>

#include "sim/machine/tensor_copy.h"

namespace heddle::sim::machine {

using Bytes = std::vector<std::byte>;

// Not a host address: the engine must go through the interface for every byte.
inline constexpr std::uint64_t kBase = 0x7200'0000'0000;
inline constexpr std::uint64_t kMargin = 256;  // bytes around the tensor that nothing may touch

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return pick(1, 100) <= percent; }
  template <class T, std::size_t n>
  T of(const T (&values)[n]) {
    return values[pick(0, n - 1)];
  }
  Bytes bytes(std::size_t count) {
    Bytes result(count);
    for (std::size_t i = 0; i < count; i += 8) {
      const std::uint64_t word = engine_();
      std::memcpy(result.data() + i, &word, std::min<std::size_t>(8, count - i));
    }
    return result;
  }

 private:
  std::mt19937_64 engine_;
};

// Which bytes may be touched, one char each.
using Flags = std::vector<char>;

// Global memory from kBase on, of which only some bytes may be touched.
class Memory : public GlobalReader, public GlobalWriter {
 public:
  explicit Memory(Bytes bytes) : content(std::move(bytes)), is_open(content.size(), true) {}

  const std::byte* readable(std::uint64_t address, std::uint64_t bytes) const override {
    return find(address, bytes);
  }
  std::byte* writable(std::uint64_t address, std::uint64_t bytes) override {
    return const_cast<std::byte*>(find(address, bytes));
  }

  Bytes content;
  Flags is_open;

 private:
  const std::byte* find(std::uint64_t address, std::uint64_t bytes) const {
    if (address < kBase || bytes > content.size() || address - kBase > content.size() - bytes) return nullptr;
    const std::uint64_t at = address - kBase;
    if (bytes > 0 && std::memchr(is_open.data() + at, false, bytes) != nullptr) return nullptr;
    return content.data() + at;
  }
};

inline std::uint32_t size_of(TensorType type) {
  switch (type) {
    case TensorType::kU8: return 1;
    case TensorType::kU16:
    case TensorType::kF16:
    case TensorType::kBF16: return 2;
    case TensorType::kU64:
    case TensorType::kI64:
    case TensorType::kF64: return 8;
    default: return 4;
  }
}

// The table of the manual, line by line.
inline std::uint32_t swizzled_by_hand(Swizzle swizzle, std::uint32_t linear) {
  switch (swizzle) {
    case Swizzle::kNone: return linear;
    case Swizzle::k32B: return linear ^ (((linear >> 7) & 1) << 4);
    case Swizzle::k64B: return linear ^ (((linear >> 7) & 3) << 4);
    case Swizzle::k128B: return linear ^ (((linear >> 7) & 7) << 4);
    case Swizzle::k128BAtom32B: return linear ^ (((linear >> 7) & 3) << 5);
  }
  return linear;
}

inline std::uint32_t pitch_by_hand(const TensorMapSpec& map) {
  switch (map.swizzle) {
    case Swizzle::kNone: return map.box[0] * size_of(map.type);
    case Swizzle::k32B: return 32;
    case Swizzle::k64B: return 64;
    default: return 128;
  }
}

// One copy: a map, coordinates and a place in shared memory.
struct Case {
  TensorMapSpec map;
  std::vector<std::int32_t> coords;
  std::uint32_t shared_address = 0;
  std::uint64_t memory_bytes = 0;  // of the tensor with its margins
  std::uint32_t shared_size = 0;

  BoxCopy copy() const { return {map, coords, shared_address}; }
};

// An element of the box: where it is in the tensor, and its first byte in linear shared memory.
struct ElementOfBox {
  bool outer_is_inside;  // in dimensions 1 up
  bool is_inside;
  std::int64_t offset_in_row;  // bytes from the start of the tensor's row
  std::uint64_t at;            // in Memory::content
  std::uint32_t linear;
};

inline void for_each_element(const Case& test, const std::function<void(const ElementOfBox&)>& visit) {
  const TensorMapSpec& map = test.map;
  const std::uint32_t size = size_of(map.type);
  std::array<std::int64_t, 5> counts = {1, 1, 1, 1, 1};
  for (std::uint32_t d = 0; d < map.rank; ++d) {
    // Dimension 0 has no stride of its own.
    counts[d] = d == 0 ? map.box[0] : (map.box[d] - 1) / map.element_strides[d] + 1;
  }
  std::uint32_t row = 0;
  for (std::int64_t i4 = 0; i4 < counts[4]; ++i4) {
    for (std::int64_t i3 = 0; i3 < counts[3]; ++i3) {
      for (std::int64_t i2 = 0; i2 < counts[2]; ++i2) {
        for (std::int64_t i1 = 0; i1 < counts[1]; ++i1, ++row) {
          for (std::int64_t i0 = 0; i0 < counts[0]; ++i0) {
            const std::int64_t index[5] = {i0, i1, i2, i3, i4};
            ElementOfBox element{true, true, 0, 0, test.shared_address + row * pitch_by_hand(map)};
            element.linear += static_cast<std::uint32_t>(i0) * size;
            std::int64_t offset = 0;
            for (std::uint32_t d = 0; d < map.rank; ++d) {
              const std::int64_t c = test.coords[d] + index[d] * (d == 0 ? 1 : map.element_strides[d]);
              const bool is_inside = c >= 0 && c < static_cast<std::int64_t>(map.dims[d]);
              element.is_inside = element.is_inside && is_inside;
              if (d > 0) element.outer_is_inside = element.outer_is_inside && is_inside;
              if (d == 0) element.offset_in_row = c * size;
              offset += c * static_cast<std::int64_t>(d == 0 ? size : map.strides[d - 1]);
            }
            element.at = kMargin + static_cast<std::uint64_t>(offset);
            visit(element);
          }
        }
      }
    }
  }
}

inline std::byte fill_by_hand(const TensorMapSpec& map, std::uint32_t byte) {
  if (map.fill == OobFill::kZeros) return std::byte{0};
  return byte % 2 == 0 ? std::byte{0xF7} : std::byte{0x7F};
}

// What a load makes of an element on its way, as an H200 does: through a map of tf32 the nearest such number.
inline std::array<std::byte, 8> as_loaded(TensorType type, const std::byte* element) {
  std::array<std::byte, 8> bytes = {};
  std::copy_n(element, size_of(type), bytes.begin());
  if (type != TensorType::kTF32 && type != TensorType::kTF32Ftz) return bytes;
  float value = 0;
  std::memcpy(&value, bytes.data(), sizeof(value));
  if (std::isinf(value)) return bytes;
  const std::uint32_t bits = std::isnan(value) ? 0x7fffe000 : tf32::from_float(value).bits;
  std::memcpy(bytes.data(), &bits, sizeof(bits));
  return bytes;
}

// Returns how many elements are outside.
inline int load_by_hand(const Case& test, const Bytes& global, Bytes& shared) {
  const std::uint32_t size = size_of(test.map.type);
  int outside = 0;
  for_each_element(test, [&](const ElementOfBox& element) {
    outside += !element.is_inside;
    std::array<std::byte, 8> inside = {};
    if (element.is_inside) inside = as_loaded(test.map.type, &global[element.at]);
    for (std::uint32_t byte = 0; byte < size; ++byte) {
      shared[swizzled_by_hand(test.map.swizzle, element.linear + byte)] =
          element.is_inside ? inside[byte] : fill_by_hand(test.map, byte);
    }
  });
  return outside;
}

// Whether a store writes the element: past the end of a row up to the next multiple of 16 bytes.
inline bool is_stored(const Case& test, const ElementOfBox& element) {
  const auto row_bytes = static_cast<std::int64_t>(test.map.dims[0] * size_of(test.map.type));
  return element.outer_is_inside && element.offset_in_row < (row_bytes + 15) / 16 * 16;
}

inline void store_by_hand(const Case& test, const Bytes& shared, Bytes& global) {
  const std::uint32_t size = size_of(test.map.type);
  for_each_element(test, [&](const ElementOfBox& element) {
    if (!is_stored(test, element)) return;
    for (std::uint32_t byte = 0; byte < size; ++byte) {
      global[element.at + byte] = shared[swizzled_by_hand(test.map.swizzle, element.linear + byte)];
    }
  });
}

// Bytes that belong to elements of the tensor. Reading any other is a fault of the engine.
inline Flags bytes_of_tensor(const Case& test) {
  Flags belongs(test.memory_bytes);
  std::array<std::uint64_t, 5> dims = {1, 1, 1, 1, 1};
  std::array<std::uint64_t, 5> strides = {};
  for (std::uint32_t d = 0; d < test.map.rank; ++d) {
    dims[d] = test.map.dims[d];
    if (d > 0) strides[d] = test.map.strides[d - 1];
  }
  for (std::uint64_t i4 = 0; i4 < dims[4]; ++i4) {
    for (std::uint64_t i3 = 0; i3 < dims[3]; ++i3) {
      for (std::uint64_t i2 = 0; i2 < dims[2]; ++i2) {
        for (std::uint64_t i1 = 0; i1 < dims[1]; ++i1) {
          const std::uint64_t row =
              kMargin + i1 * strides[1] + i2 * strides[2] + i3 * strides[3] + i4 * strides[4];
          std::memset(belongs.data() + row, true, dims[0] * size_of(test.map.type));
        }
      }
    }
  }
  return belongs;
}

enum class Reach { kAnywhere, kNotNegative };

inline Case random_case(Random& random, TensorType type, Reach reach) {
  constexpr Swizzle swizzles[] = {Swizzle::kNone, Swizzle::k32B, Swizzle::k64B, Swizzle::k128B,
                                  Swizzle::k128BAtom32B};
  constexpr std::uint32_t destinations[] = {0, 128, 256, 640, 896};
  Case test;
  TensorMapSpec& map = test.map;
  map.type = type;
  map.rank = static_cast<std::uint32_t>(random.pick(1, 5));
  map.address = reinterpret_cast<const void*>(kBase + kMargin);
  map.swizzle = random.of(swizzles);
  if (is_floating(type) && random.chance(50)) map.fill = OobFill::kNan;
  test.shared_address = random.of(destinations);

  const std::uint32_t size = size_of(type);
  const std::uint32_t granule = 16 / size;
  map.dims[0] = static_cast<std::uint64_t>(random.pick(1, 400 / size));
  const std::uint32_t widest = map.swizzle == Swizzle::kNone ? 256 : pitch_by_hand(map) / size;
  map.box[0] = static_cast<std::uint32_t>(random.pick(1, std::min(widest, 512 / size) / granule)) * granule;
  std::int64_t rows_left = 96;
  for (std::uint32_t d = 1; d < map.rank; ++d) {
    map.dims[d] = static_cast<std::uint64_t>(random.pick(1, map.rank == 2 ? 60 : 7));
    map.element_strides[d] = random.chance(25) ? static_cast<std::uint32_t>(random.pick(2, 8)) : 1;
    const std::int64_t count = random.pick(1, std::min<std::int64_t>(rows_left, map.rank == 2 ? 64 : 6));
    rows_left /= count;
    map.box[d] = static_cast<std::uint32_t>(
        std::min<std::int64_t>(256, count * map.element_strides[d] - random.pick(0, map.element_strides[d] - 1)));
  }
  map.element_strides[0] = static_cast<std::uint32_t>(random.pick(1, 8));  // ignored

  // The outer dimensions lie around one another in any order, with gaps.
  std::vector<std::uint32_t> order(map.rank - 1);
  std::iota(order.begin(), order.end(), 1u);
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[static_cast<std::size_t>(random.pick(0, static_cast<std::int64_t>(i) - 1))]);
  }
  std::uint64_t extent = (map.dims[0] * size + 15) / 16 * 16;
  for (const std::uint32_t d : order) {
    map.strides[d - 1] = extent + static_cast<std::uint64_t>(random.chance(50) ? 0 : 16 * random.pick(1, 3));
    extent = map.strides[d - 1] * map.dims[d];
  }
  test.memory_bytes = kMargin + extent + kMargin;

  for (std::uint32_t d = 0; d < map.rank; ++d) {
    const auto dim = static_cast<std::int64_t>(map.dims[d]);
    const std::int64_t box = map.box[d];
    std::int64_t c = 0;
    if (random.chance(8)) {
      c = random.of({std::int64_t{std::numeric_limits<std::int32_t>::min()}, -box, dim,
                     std::int64_t{std::numeric_limits<std::int32_t>::max()}});
    } else {
      c = random.pick(-box / 2 - 1, dim + 1);
    }
    if (reach == Reach::kNotNegative) c = std::max<std::int64_t>(c, 0);
    if (d == 0) c = c / granule * granule;
    test.coords.push_back(static_cast<std::int32_t>(c));
  }
  test.shared_size = 896 + 16384 + static_cast<std::uint32_t>(random.pick(0, 1)) * 1024;
  const std::uint64_t needed = test.shared_address + test.copy().shared_bytes();
  if (needed > test.shared_size) test.shared_size = static_cast<std::uint32_t>(needed);
  return test;
}

// Cuts the rows into runs of random length, in random order.
inline std::vector<std::pair<std::uint64_t, std::uint64_t>> random_runs(Random& random, std::uint64_t rows) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> runs;
  for (std::uint64_t row = 0; row < rows;) {
    const auto count = static_cast<std::uint64_t>(random.pick(1, static_cast<std::int64_t>(rows - row)));
    runs.emplace_back(row, count);
    row += count;
  }
  for (std::size_t i = runs.size(); i > 1; --i) {
    std::swap(runs[i - 1], runs[static_cast<std::size_t>(random.pick(0, static_cast<std::int64_t>(i) - 1))]);
  }
  return runs;
}

inline constexpr TensorType kByteTypes[] = {
    TensorType::kU8,     TensorType::kU16,  TensorType::kU32,    TensorType::kI32, TensorType::kU64,
    TensorType::kI64,    TensorType::kF16,  TensorType::kF32,    TensorType::kF64, TensorType::kBF16,
    TensorType::kF32Ftz, TensorType::kTF32, TensorType::kTF32Ftz};

inline std::ostream& operator<<(std::ostream& out, const Case& test) {
  const TensorMapSpec& map = test.map;
  out << "type " << int(map.type) << " swizzle " << int(map.swizzle) << " shared " << test.shared_address;
  for (std::uint32_t d = 0; d < map.rank; ++d) {
    out << "\n  dim " << map.dims[d] << " box " << map.box[d] << " by " << map.element_strides[d] << " at "
        << test.coords[d];
    if (d > 0) out << " stride " << map.strides[d - 1];
  }
  return out;
}

// The first byte that differs, so that a failure prints one line and not two memories.
inline ::testing::AssertionResult same(const Bytes& actual, const Bytes& expected) {
  if (actual.size() != expected.size())
    return ::testing::AssertionFailure() << actual.size() << " bytes, not " << expected.size();
  if (std::memcmp(actual.data(), expected.data(), actual.size()) == 0) return ::testing::AssertionSuccess();
  const auto [a, e] = std::mismatch(actual.begin(), actual.end(), expected.begin());
  return ::testing::AssertionFailure() << "byte " << a - actual.begin() << " is " << int(*a) << ", not "
                                       << int(*e);
}

}  // namespace heddle::sim::machine
