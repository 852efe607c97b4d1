// SPDX-License-Identifier: Apache-2.0
//
// PTX: mma.sp: A has half of its elements, and metadata says which: of every four (16- and 8-bit types) two, of
// every two (tf32) one, of every four pairs (4-bit types) two pairs. Four bits stand for such a chunk: two
// indices of two bits each, the lower first; for tf32 0b0100 is the first element and 0b1110 the second.
//
// Fragments are those of mma.sync, A's for half of K. The four bits of the chunks lie one after another in the
// metadata of one row, whose words come from lanes of the row's group (measured on an H200):
//
//   16 and 32 bits  a word has 4 chunks of row `group` in its lower half and 4 of row group + 8 in its upper
//   half;
//                   lane 4 * group + f where K has 4 chunks, 4 * group + 2 * f + chunk / 4 where it has 8
//   8 and 4 bits    a word has 8 chunks of one row: lane 4 * group + 2 * f + row / 8 + 2 * (chunk / 8)
//
// with the selector f, the last operand.
#include "sim/frontend/ptx/decode.h"
#include "sim/frontend/ptx/dense_multiply.h"
#include "sim/frontend/ptx/interpreter.h"
#include "sim/frontend/ptx/product_flow.h"

#include <heddle/isa/warp.h>

#include <fmt/format.h>

#include <charconv>
#include <string>
#include <vector>

namespace heddle::sim::ptx {

namespace {

constexpr std::uint32_t kM = 16;
constexpr std::uint32_t kN = 8;

// flags: K, and the flags of DenseMultiply above it. more: the types of D, A, B and C. rows: the registers of D,
// A, B and C, one after the other, then the metadata. value: the selector.
constexpr std::uint32_t kDepthMask = 0xff;
constexpr std::uint32_t kFlagShift = 8;

struct Sparse {
  DenseMultiply how;
  std::uint32_t bits, per_register, d_registers, registers;  // the last: of A and of B, each
  std::uint32_t chunk;                                       // elements of K that four bits speak of

  explicit Sparse(const Instruction& i)
      : how{kM,
            kN,
            i.flags & kDepthMask,
            static_cast<Number>(i.more[0]),
            static_cast<Number>(i.more[1]),
            static_cast<Number>(i.more[2]),
            static_cast<Number>(i.more[3]),
            i.flags >> kFlagShift},
        bits(bits_of(how.a)),
        per_register(32 / bits),
        d_registers(how.d == Number::kF16 ? 2 : 4),
        registers(how.k / (4 * per_register)),
        chunk(bits == 32  ? 2
              : bits == 4 ? 8
                          : 4) {}
};

std::uint64_t& word(Warp& warp, const Instruction& i, std::uint32_t row, std::uint32_t lane) {
  return warp.frame_of[lane]->rows[i.rows[row]][lane];
}

struct MetadataBits {
  std::uint32_t lane;
  std::uint32_t bit;  // the lowest of four
};

// Where the four bits of a row's chunk are.
MetadataBits metadata_bits(const Instruction& i, const Sparse& s, std::uint32_t row, std::uint32_t at) {
  const auto selector = static_cast<std::uint32_t>(i.value);
  const std::uint32_t group = row % 8;
  const std::uint32_t chunks = s.how.k / s.chunk;
  if (s.bits >= 16) {
    return {4 * group + (chunks == 4 ? selector : 2 * selector + at / 4), 16 * (row / 8) + 4 * (at % 4)};
  }
  return {4 * group + 2 * selector + row / 8 + 2 * (at / 8), 4 * (at % 8)};
}

std::uint32_t metadata(Warp& warp, const Instruction& i, const Sparse& s, std::uint32_t row, std::uint32_t at) {
  const MetadataBits bits = metadata_bits(i, s, row, at);
  const auto last = static_cast<std::uint32_t>(i.rows.size()) - 1;
  return static_cast<std::uint32_t>(word(warp, i, last, bits.lane) >> bits.bit & 15);
}

// Where in K the element `index` of the compressed row lies.
std::uint32_t place_in_k(std::uint32_t indices, const Sparse& s, std::uint32_t index) {
  const std::uint32_t half = s.chunk / 2;
  const std::uint32_t base = index / half * s.chunk;
  const std::uint32_t within = index % half;
  if (s.bits == 32) return base + (indices == 0b1110 ? 1 : 0);
  const std::uint32_t unit = s.bits == 4 ? 2 : 1;  // elements that an index moves together
  return base + (indices >> 2 * (within / unit) & 3) * unit + within % unit;
}

void follow_multiply(Warp& warp, const Instruction& i, const Sparse& s) {
  ProductFlow flow(kM, kN);
  const auto look = [&](std::uint32_t row, std::uint32_t l, Undefined& at) {
    if (const Undefined word = undefined_of(*warp.frame_of[l], i.rows[row], l); word.bits != 0) at = word;
  };
  const bool is_half = s.how.d == Number::kF16;
  const std::uint32_t b_first = s.d_registers + s.registers;
  const auto metadata_row = static_cast<std::uint32_t>(i.rows.size()) - 1;
  for (std::uint32_t l = 0; l < 32; ++l) {
    const std::uint32_t group = l / 4;
    for (std::uint32_t r = 0; r < s.registers; ++r) {
      look(s.d_registers + r, l, flow.rows[group + 8 * (r % 2)]);
      look(b_first + r, l, flow.columns[group]);
    }
    for (std::uint32_t e = 0; e < 4; ++e) {
      const Undefined c =
          undefined_of(*warp.frame_of[l], i.rows[b_first + s.registers + (is_half ? e / 2 : e)], l);
      const std::uint64_t bits = is_half ? c.bits >> 16 * (e % 2) & 0xffff : c.bits;
      flow.c(group + 8 * (e / 2), 2 * (l % 4) + e % 2) = {bits, c.origin};
    }
  }
  for (std::uint32_t row = 0; row < kM; ++row) {
    for (std::uint32_t at = 0; at < s.how.k / s.chunk; ++at) {
      const MetadataBits place = metadata_bits(i, s, row, at);
      const Undefined word = undefined_of(*warp.frame_of[place.lane], i.rows[metadata_row], place.lane);
      if ((word.bits >> place.bit & 15) != 0) flow.rows[row] = word;
    }
  }
  for (std::uint32_t l = 0; l < 32; ++l) {
    for (std::uint32_t r = 0; r < s.d_registers; ++r) {
      Undefined d;
      for (std::uint32_t e = is_half ? 2 * r : r; e <= (is_half ? 2 * r + 1 : r); ++e) {
        const Undefined& one = flow.of(l / 4 + 8 * (e / 2), 2 * (l % 4) + e % 2);
        const std::uint64_t bits = is_half ? std::uint64_t{0xffff} << 16 * (e % 2) : 0xffffffffu;
        if (one.bits != 0) d = {d.bits | bits, one.origin};
      }
      set_undefined(warp, *warp.frame_of[l], i.rows[r], l, d);
    }
  }
}

void multiply(Warp& warp, const Instruction& i) {
  const Sparse s(i);
  if (warp.undefined_rows != 0) follow_multiply(warp, i, s);
  const std::uint64_t ones = ~std::uint64_t{0} >> (64 - s.bits);
  const std::uint32_t b_first = s.d_registers + s.registers;
  std::vector<std::uint64_t> a(std::size_t{kM} * s.how.k), b(std::size_t{kN} * s.how.k), d(std::size_t{kM} * kN);
  const auto place = [](std::uint32_t lane, std::uint32_t element) {
    return (lane / 4 + 8 * (element / 2)) * kN + 2 * (lane % 4) + element % 2;
  };
  const bool is_half = s.how.d == Number::kF16;
  for (std::uint32_t l = 0; l < 32; ++l) {
    const std::uint32_t group = l / 4;
    const std::uint32_t first = s.per_register * (l % 4);
    for (std::uint32_t r = 0; r < s.registers; ++r) {
      const std::uint32_t row = group + 8 * (r % 2);
      for (std::uint32_t e = 0; e < s.per_register; ++e) {
        const std::uint32_t index = first + 4 * s.per_register * (r / 2) + e;
        const std::uint32_t indices = metadata(warp, i, s, row, index / (s.chunk / 2));
        a[row * s.how.k + place_in_k(indices, s, index)] =
            word(warp, i, s.d_registers + r, l) >> e * s.bits & ones;
        b[group * s.how.k + first + 4 * s.per_register * r + e] =
            word(warp, i, b_first + r, l) >> e * s.bits & ones;
      }
    }
    for (std::uint32_t e = 0; e < 4; ++e) {
      const std::uint64_t c = word(warp, i, b_first + s.registers + (is_half ? e / 2 : e), l);
      d[place(l, e)] = is_half ? c >> 16 * (e % 2) & 0xffff : c & 0xffffffffu;
    }
  }
  multiply_dense(s.how, a, b, d);
  for (std::uint32_t l = 0; l < 32; ++l) {
    for (std::uint32_t r = 0; r < s.d_registers; ++r) {
      word(warp, i, r, l) = is_half ? d[place(l, 2 * r)] | d[place(l, 2 * r + 1)] << 16 : d[place(l, r)];
    }
  }
}

std::uint32_t mma_sparse(Warp& warp, const Instruction& i, std::uint32_t mask) {
  return meet(
      warp, mask,
      [&](std::uint32_t l) {
        if (warp.machine->warps.meet(warp.thread(l), machine::WarpOp::kMma, isa::kFullMask, 0, 0, i.site)) {
          multiply(warp, i);
        }
      },
      [](std::uint32_t) { return true; });
}

void decode(Build& b, std::string_view shape, std::string_view d, std::string_view a, std::string_view right,
            bool saturates) {
  b.want(6);
  Instruction& out = b.out();
  std::uint32_t depth = 0;
  std::from_chars(shape.data() + 7, shape.data() + shape.size(), depth);
  out.flags = depth | (saturates ? DenseMultiply::kSaturate << kFlagShift : 0u);
  for (const std::string_view type : {d, a, right, d}) {
    out.more.push_back(static_cast<std::uint32_t>(number_of(type)));
  }
  const Sparse s(out);
  const std::size_t wanted[] = {s.d_registers, s.registers, s.registers, s.d_registers, 1};
  for (std::size_t index = 0; index < std::size(wanted); ++index) {
    const std::vector<std::uint32_t> rows = index == 0 ? b.targets(b.operand(0)) : b.sources(b.operand(index));
    if (rows.size() != wanted[index]) {
      b.fail(fmt::format("{} registers where {} are wanted", rows.size(), wanted[index]));
    }
    out.rows.insert(out.rows.end(), rows.begin(), rows.end());
  }
  // PTX: Sparsity Selector.
  const std::uint64_t words = s.how.k / s.chunk / 4;  // of a group of lanes: 1, 2 or 4
  out.value = b.constant(5);
  if (out.value >= 4 / words) {
    b.fail(fmt::format("the sparsity selector {} where it must be below {}", out.value, 4 / words));
  }
  b.machine(mma_sparse);
}

}  // namespace

// Model: indices that are not in order, which PTX leaves undefined, mean what they say.
void add_sparse_mma_forms(FormTable& table) {
  for (const std::string variant : {".sp", ".sp::ordered_metadata"}) {
    const std::string name = "mma" + variant + ".sync.aligned";
    const auto floats = [](Build& b) { decode(b, b.mod(0), b.mod(1), b.mod(2), b.mod(3), false); };
    table.add(name + "{.m16n8k16,.m16n8k32}.row.col{.f32}{.f16}{.f16}.f32", floats);
    table.add(name + "{.m16n8k16,.m16n8k32}.row.col{.f16}{.f16}{.f16}.f16", floats);
    table.add(name + "{.m16n8k16,.m16n8k32}.row.col{.f32}{.bf16}{.bf16}.f32", floats);
    table.add(name + "{.m16n8k8,.m16n8k16}.row.col{.f32}{.tf32}{.tf32}.f32", floats);
    table.add(name + "{.m16n8k64}.row.col{.f32}{.e4m3,.e5m2}{.e4m3,.e5m2}.f32", floats);
    table.add(name + ".kind::f8f6f4{.m16n8k64}.row.col{.f32}{.e4m3,.e5m2}{.e4m3,.e5m2}.f32", floats);
    const auto integers = [](Build& b) { decode(b, b.mod(0), ".s32", b.mod(2), b.mod(3), b.has(1)); };
    table.add(name + "{.m16n8k32,.m16n8k64}.row.col[.satfinite].s32{.s8,.u8}{.s8,.u8}.s32", integers);
    table.add(name + "{.m16n8k64,.m16n8k128}.row.col[.satfinite].s32{.s4,.u4}{.s4,.u4}.s32", integers);
  }
}

}  // namespace heddle::sim::ptx
