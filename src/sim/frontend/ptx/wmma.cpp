// SPDX-License-Identifier: Apache-2.0
//
// PTX: wmma.load, wmma.store, wmma.mma. A warp holds matrices of M x K, K x N and M x N in its registers. Which
// lane has which element is not specified; here it is what an H200 does. With E elements in a register,
// group = lane / 4 and part = lane % 4, a register of A holds E elements of one row and one of B as many of one
// column:
//
//   line (row of A, column of B)  group + 8 * block
//   k                             E * part + 4 * E * step, and the E - 1 that follow
//   C and D, element e            row group + 8 * (e / 2 % 2), column 2 * part + e % 2 + 8 * (e / 4)
//
// Where M is 8 and N is 32, rows and columns of C and D change places.
#include "sim/frontend/ptx/arithmetic.h"
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

struct Shape {
  std::uint32_t m = 0, n = 0, k = 0;
};

Shape shape_of(std::string_view name) {  // .m16n16k16
  Shape shape;
  const char* at = name.data() + 2;
  const char* const end = name.data() + name.size();
  for (std::uint32_t* side : {&shape.m, &shape.n, &shape.k}) at = std::from_chars(at, end, *side).ptr + 1;
  return shape;
}

enum class Matrix : std::uint8_t { kA, kB, kC };

// One matrix in the registers of a warp.
struct Fragment {
  Matrix matrix = Matrix::kA;
  Number number = Number::kF16;
  Shape shape;

  std::uint32_t rows() const { return matrix == Matrix::kB ? shape.k : shape.m; }
  std::uint32_t columns() const { return matrix == Matrix::kA ? shape.k : shape.n; }
  std::uint32_t bits() const { return bits_of(number); }
  std::uint32_t per_register() const { return bits() >= 32 ? 1 : 32 / bits(); }
  // Registers that hold something else than those before them. PTX: A and B of f16 have 8, whatever the shape;
  // the later ones repeat the first.
  std::uint32_t distinct() const { return rows() * columns() / 32 / per_register(); }
  std::uint32_t registers() const { return matrix != Matrix::kC && number == Number::kF16 ? 8 : distinct(); }
};

struct Place {
  std::uint32_t row, column;
};

Place place_of(const Fragment& f, std::uint32_t lane, std::uint32_t reg, std::uint32_t element) {
  const std::uint32_t group = lane / 4;
  const std::uint32_t part = lane % 4;
  const std::uint32_t e = f.per_register();
  if (f.matrix == Matrix::kC) {
    const std::uint32_t index = reg * e + element;
    const std::uint32_t line = group + 8 * (index / 2 % 2);
    const std::uint32_t other = 2 * part + index % 2;
    if (f.shape.m == 8 && f.shape.n == 32) return {other, line + 16 * (index / 4)};
    if (f.shape.m == 8) return {group, other};  // 8 x 8
    if (f.shape.n == 8) return {line + 16 * (index / 4), other};
    return {line, other + 8 * (index / 4)};
  }
  const std::uint32_t r = reg % f.distinct();
  const std::uint32_t lines = f.matrix == Matrix::kA ? f.shape.m : f.shape.n;
  const std::uint32_t steps = f.shape.k / (4 * e);
  // As in mma: two blocks of lines for each step along k where the operand stands for A, else a block after the
  // other.
  const bool is_left = (f.matrix == Matrix::kA) != (f.shape.m == 8 && f.shape.n == 32);
  const std::uint32_t pair = is_left && lines >= 16 ? 2 : 1;
  const std::uint32_t block = r / (pair * steps) * pair + r % pair;
  const std::uint32_t k = e * part + 4 * e * (r / pair % steps) + element;
  const std::uint32_t line = group + 8 * block;
  return f.matrix == Matrix::kA ? Place{line, k} : Place{k, line};
}

// flags.
constexpr std::uint32_t kMatrixShift = 0;  // 2 bits
constexpr std::uint32_t kNumberShift = 2;  // 4 bits
constexpr std::uint32_t kSpaceShift = 6;   // 3 bits
constexpr std::uint32_t kColumnMajor = 1u << 9;
constexpr std::uint32_t kStore = 1u << 10;
constexpr std::uint32_t kMShift = 12;  // in eights, 3 bits
constexpr std::uint32_t kNShift = 15;  // likewise
constexpr std::uint32_t kKShift = 18;  // 8 bits

Fragment fragment_of(std::uint32_t flags) {
  return {.matrix = static_cast<Matrix>(flags >> kMatrixShift & 3),
          .number = static_cast<Number>(flags >> kNumberShift & 15),
          .shape = {8 * (flags >> kMShift & 7), 8 * (flags >> kNShift & 7), flags >> kKShift & 255}};
}

std::uint32_t fragment_flags(const Fragment& f) {
  return static_cast<std::uint32_t>(f.matrix) << kMatrixShift |
         static_cast<std::uint32_t>(f.number) << kNumberShift | f.shape.m / 8 << kMShift |
         f.shape.n / 8 << kNShift | f.shape.k << kKShift;
}

// What of a register lies together in memory: its first bit in the register, its bits and where they are.
struct Piece {
  std::uint32_t shift, bits;
  std::uint64_t address;
};

std::vector<Piece> pieces_of(const Fragment& f, const Instruction& i, std::uint32_t lane, std::uint32_t reg,
                             std::uint64_t address, std::uint64_t stride) {
  std::vector<Piece> pieces;
  for (std::uint32_t e = 0; e < f.per_register(); ++e) {
    const Place place = place_of(f, lane, reg, e);
    const std::uint64_t line = (i.flags & kColumnMajor) != 0 ? place.column : place.row;
    const std::uint64_t along = (i.flags & kColumnMajor) != 0 ? place.row : place.column;
    const std::uint64_t bit = (line * stride + along) * f.bits();
    if (!pieces.empty() && 8 * (pieces.back().address - address) + pieces.back().bits == bit) {
      pieces.back().bits += f.bits();
    } else {
      pieces.push_back({e * f.bits(), f.bits(), address + bit / 8});
    }
  }
  return pieces;
}

void load_register(Warp& warp, const Instruction& i, std::uint32_t lane, std::uint32_t row,
                   const std::vector<Piece>& pieces) {
  const auto space = static_cast<Space>(i.flags >> kSpaceShift & 7);
  std::uint64_t word = 0;
  Undefined undefined;
  for (const Piece& piece : pieces) {
    std::uint64_t part = 0;
    load_bytes(warp, lane, space, piece.address, &part, piece.bits / 8, i);
    word |= part << piece.shift;
    if (!warp.interpreter->follows_values()) continue;
    std::uint64_t address = piece.address;
    const Space where = resolve(space, address);
    const std::uint32_t bytes = piece.bits / 8;
    const std::uint32_t unwritten = where == Space::kShared   ? unwritten_at(warp, lane, address, bytes)
                                    : where == Space::kGlobal ? unwritten_in_global(warp, address, bytes)
                                                              : 0;
    if (unwritten == 0) continue;
    const Undefined here = where == Space::kShared ? undefined_word(warp, lane, address, unwritten, i)
                                                   : undefined_global_word(warp, lane, address, unwritten, i);
    undefined = {undefined.bits | here.bits << piece.shift, here.origin};
  }
  warp.rows[row][lane] = word;
  if (undefined.bits != 0 || warp.undefined_rows != 0) set_undefined(warp, *warp.frame, row, lane, undefined);
}

void store_register(Warp& warp, const Instruction& i, std::uint32_t lane, std::uint32_t row,
                    const std::vector<Piece>& pieces) {
  const auto space = static_cast<Space>(i.flags >> kSpaceShift & 7);
  const Undefined undefined = warp.undefined_rows != 0 ? undefined_of(*warp.frame, row, lane) : Undefined{};
  for (const Piece& piece : pieces) {
    const std::uint64_t part = warp.rows[row][lane] >> piece.shift;
    store_bytes(warp, lane, space, piece.address, &part, piece.bits / 8, i);
    const std::uint64_t bits = undefined.bits >> piece.shift & (~std::uint64_t{0} >> (64 - piece.bits));
    if (bits == 0) continue;
    std::uint64_t address = piece.address;
    const Space where = resolve(space, address);
    if (where == Space::kGlobal) use_undefined(warp, lane, i, undefined.origin, "goes to global memory");
    if (where != Space::kShared) continue;
    warp.interpreter->unwrite(warp.thread(lane), static_cast<machine::SharedAddress>(address), bits);
  }
}

std::uint32_t wmma_move(Warp& warp, const Instruction& i, std::uint32_t mask) {
  const Fragment f = fragment_of(i.flags);
  return meet(
      warp, mask,
      [&](std::uint32_t l) {
        warp.machine->warps.meet(warp.thread(l), machine::WarpOp::kWmma, isa::kFullMask, 0, 0, i.site);
      },
      [&](std::uint32_t l) {
        const std::uint64_t address = warp.rows[i.a][l] + i.value;
        const std::uint64_t stride = static_cast<std::uint32_t>(warp.rows[i.b][l]);
        for (std::uint32_t r = 0; r < f.registers(); ++r) {
          const std::vector<Piece> pieces = pieces_of(f, i, l, r, address, stride);
          if ((i.flags & kStore) != 0) {
            store_register(warp, i, l, i.rows[r], pieces);
          } else {
            load_register(warp, i, l, i.rows[r], pieces);
          }
        }
        return true;
      });
}

// Of wmma.mma, in `more`: the types of D, A, B and C. rows: their registers, one after the other. value: the
// flags.
struct Multiply {
  Fragment d, a, b, c;

  explicit Multiply(const Instruction& i) {
    const Shape shape = fragment_of(i.flags).shape;
    d = {Matrix::kC, static_cast<Number>(i.more[0]), shape};
    a = {Matrix::kA, static_cast<Number>(i.more[1]), shape};
    b = {Matrix::kB, static_cast<Number>(i.more[2]), shape};
    c = {Matrix::kC, static_cast<Number>(i.more[3]), shape};
  }
  std::uint32_t a_first() const { return d.registers(); }
  std::uint32_t b_first() const { return a_first() + a.registers(); }
  std::uint32_t c_first() const { return b_first() + b.registers(); }
};

std::uint64_t& word(Warp& warp, std::uint32_t row, std::uint32_t lane) {
  return warp.frame_of[lane]->rows[row][lane];
}

// Bits of the elements; those of A row by row, of B column by column, of C row by row.
std::vector<std::uint64_t> gather(Warp& warp, const Instruction& i, const Fragment& f, std::uint32_t first) {
  std::vector<std::uint64_t> elements(std::size_t{f.rows()} * f.columns());
  const std::uint64_t ones = ~std::uint64_t{0} >> (64 - f.bits());
  for (std::uint32_t l = 0; l < 32; ++l) {
    for (std::uint32_t r = 0; r < f.distinct(); ++r) {
      for (std::uint32_t e = 0; e < f.per_register(); ++e) {
        const Place p = place_of(f, l, r, e);
        const std::size_t at = f.matrix == Matrix::kB ? std::size_t{p.column} * f.rows() + p.row
                                                      : std::size_t{p.row} * f.columns() + p.column;
        elements[at] = word(warp, i.rows[first + r], l) >> e * f.bits() & ones;
      }
    }
  }
  return elements;
}

void scatter(Warp& warp, const Instruction& i, const Fragment& f, const std::vector<std::uint64_t>& elements) {
  for (std::uint32_t l = 0; l < 32; ++l) {
    for (std::uint32_t r = 0; r < f.registers(); ++r) {
      std::uint64_t packed = 0;
      for (std::uint32_t e = 0; e < f.per_register(); ++e) {
        const Place p = place_of(f, l, r, e);
        packed |= elements[std::size_t{p.row} * f.columns() + p.column] << e * f.bits();
      }
      word(warp, i.rows[r], l) = packed;
    }
  }
}

void follow_multiply(Warp& warp, const Instruction& i, const Multiply& m) {
  ProductFlow flow(m.d.rows(), m.d.columns());
  const auto ones_of = [](const Fragment& f) { return ~std::uint64_t{0} >> (64 - f.bits()); };
  const auto look = [&](const Fragment& f, std::uint32_t first, const auto& take) {
    for (std::uint32_t l = 0; l < 32; ++l) {
      for (std::uint32_t r = 0; r < f.distinct(); ++r) {
        const Undefined word = undefined_of(*warp.frame_of[l], i.rows[first + r], l);
        for (std::uint32_t e = 0; word.bits != 0 && e < f.per_register(); ++e) {
          if ((word.bits >> e * f.bits() & ones_of(f)) != 0) take(place_of(f, l, r, e)) = word;
        }
      }
    }
  };
  look(m.a, m.a_first(), [&](const Place& p) -> Undefined& { return flow.rows[p.row]; });
  look(m.b, m.b_first(), [&](const Place& p) -> Undefined& { return flow.columns[p.column]; });
  look(m.c, m.c_first(), [&](const Place& p) -> Undefined& { return flow.c(p.row, p.column); });
  for (std::uint32_t l = 0; l < 32; ++l) {
    for (std::uint32_t r = 0; r < m.d.registers(); ++r) {
      Undefined word;
      for (std::uint32_t e = 0; e < m.d.per_register(); ++e) {
        const Place p = place_of(m.d, l, r, e);
        const Undefined& one = flow.of(p.row, p.column);
        if (one.bits != 0) word = {word.bits | ones_of(m.d) << e * m.d.bits(), one.origin};
      }
      set_undefined(warp, *warp.frame_of[l], i.rows[r], l, word);
    }
  }
}

void multiply(Warp& warp, const Instruction& i) {
  const Multiply m(i);
  if (warp.undefined_rows != 0) follow_multiply(warp, i, m);
  const std::vector<std::uint64_t> a = gather(warp, i, m.a, m.a_first());
  const std::vector<std::uint64_t> b = gather(warp, i, m.b, m.b_first());
  std::vector<std::uint64_t> d = gather(warp, i, m.c, m.c_first());
  const Shape& shape = m.a.shape;
  multiply_dense({.m = shape.m,
                  .n = shape.n,
                  .k = shape.k,
                  .d = m.d.number,
                  .a = m.a.number,
                  .b = m.b.number,
                  .c = m.c.number,
                  .flags = static_cast<std::uint32_t>(i.value)},
                 a, b, d);
  scatter(warp, i, m.d, d);
}

std::uint32_t wmma_mma(Warp& warp, const Instruction& i, std::uint32_t mask) {
  return meet(
      warp, mask,
      [&](std::uint32_t l) {
        if (warp.machine->warps.meet(warp.thread(l), machine::WarpOp::kMma, isa::kFullMask, 0, 0, i.site)) {
          multiply(warp, i);
        }
      },
      [](std::uint32_t) { return true; });
}

void want_registers(const Build& b, std::size_t has, std::size_t wanted) {
  if (has != wanted) b.fail(fmt::format("{} registers where {} are wanted", has, wanted));
}

// Groups: the layout, the shape, the state space and the type.
void decode_move(Build& b, Matrix matrix, bool is_store) {
  b.want(2, 3);
  const Fragment f{matrix, number_of(b.mod(3)), shape_of(b.mod(1))};
  const bool is_column_major = b.mod(0) == ".col";
  Instruction& out = b.out();
  out.rows = is_store ? b.sources(b.operand(1)) : b.targets(b.operand(0));
  b.address(is_store ? 0 : 1);
  want_registers(b, out.rows.size(), f.registers());
  // PTX: without a stride, the lines of the matrix follow one another.
  out.b = b.operands() == 3 ? b.source(2) : b.immediate(is_column_major ? f.rows() : f.columns());
  const Space space = b.mod(2).empty()        ? Space::kGeneric
                      : b.mod(2) == ".global" ? Space::kGlobal
                                              : Space::kShared;
  out.flags = fragment_flags(f) | static_cast<std::uint32_t>(space) << kSpaceShift |
              (is_column_major ? kColumnMajor : 0u) | (is_store ? kStore : 0u);
  b.machine(wmma_move);
}

void decode_mma(Build& b, std::string_view shape, std::string_view d, std::string_view a, std::string_view right,
                std::string_view c, std::uint64_t flags) {
  b.want(4);
  Instruction& out = b.out();
  out.flags = fragment_flags({Matrix::kA, number_of(a), shape_of(shape)});
  for (const std::string_view type : {d, a, right, c}) {
    out.more.push_back(static_cast<std::uint32_t>(number_of(type)));
  }
  const Multiply m(out);
  const Fragment* const fragments[] = {&m.d, &m.a, &m.b, &m.c};
  for (std::size_t index = 0; index < 4; ++index) {
    const std::vector<std::uint32_t> rows =
        index == 0 ? b.targets(b.operand(0)) : b.sources(b.operand(index), ".f64");
    want_registers(b, rows.size(), fragments[index]->registers());
    out.rows.insert(out.rows.end(), rows.begin(), rows.end());
  }
  out.value = flags;
  b.machine(wmma_mma);
}

void add_move_forms_of(FormTable& table, const std::string& shapes, const std::string& operands,
                       const std::string& accumulators) {
  const std::string middle = ".sync.aligned{.row,.col}" + shapes + "[.global,.shared,.shared::cta]";
  table.add("wmma.load.a" + middle + operands, [](Build& b) { decode_move(b, Matrix::kA, false); });
  table.add("wmma.load.b" + middle + operands, [](Build& b) { decode_move(b, Matrix::kB, false); });
  table.add("wmma.load.c" + middle + accumulators, [](Build& b) { decode_move(b, Matrix::kC, false); });
  table.add("wmma.store.d" + middle + accumulators, [](Build& b) { decode_move(b, Matrix::kC, true); });
}

}  // namespace

void add_wmma_forms(FormTable& table) {
  const std::string kShapes = "{.m16n16k16,.m8n32k16,.m32n8k16}";
  const std::string kLayouts = ".sync.aligned{.row,.col}{.row,.col}";
  add_move_forms_of(table, kShapes, "{.f16,.bf16,.s8,.u8}", "{.f16,.f32,.s32}");
  add_move_forms_of(table, "{.m16n16k8}", "{.tf32}", "{.f32}");
  add_move_forms_of(table, "{.m8n8k4}", "{.f64}", "{.f64}");
  add_move_forms_of(table, "{.m8n8k32}", "{.s4,.u4}", "{.s32}");
  add_move_forms_of(table, "{.m8n8k128}", "{.b1}", "{.s32}");
  table.add("wmma.mma" + kLayouts + kShapes + "{.f16,.f32}{.f16,.f32}",
            [](Build& b) { decode_mma(b, b.mod(2), b.mod(3), ".f16", ".f16", b.mod(4), 0); });
  table.add("wmma.mma" + kLayouts + kShapes + "{.f16,.f32}{.f16}{.f16}{.f16,.f32}",
            [](Build& b) { decode_mma(b, b.mod(2), b.mod(3), ".f16", ".f16", b.mod(6), 0); });
  table.add("wmma.mma" + kLayouts + kShapes + ".f32.bf16.bf16.f32",
            [](Build& b) { decode_mma(b, b.mod(2), ".f32", ".bf16", ".bf16", ".f32", 0); });
  table.add("wmma.mma" + kLayouts + "{.m16n16k8}.f32.tf32.tf32.f32",
            [](Build& b) { decode_mma(b, b.mod(2), ".f32", ".tf32", ".tf32", ".f32", 0); });
  table.add("wmma.mma" + kLayouts + "{.m8n8k4}[.rn,.rz,.rm,.rp].f64.f64.f64.f64",
            [](Build& b) { decode_mma(b, b.mod(2), ".f64", ".f64", ".f64", ".f64", rounding_flag(b.mod(3))); });
  table.add("wmma.mma" + kLayouts + kShapes + "[.satfinite].s32{.s8,.u8}{.s8,.u8}.s32", [](Build& b) {
    decode_mma(b, b.mod(2), ".s32", b.mod(4), b.mod(5), ".s32", b.has(3) ? DenseMultiply::kSaturate : 0u);
  });
  table.add("wmma.mma.sync.aligned.row.col{.m8n8k32}[.satfinite].s32{.s4,.u4}{.s4,.u4}.s32", [](Build& b) {
    decode_mma(b, b.mod(0), ".s32", b.mod(2), b.mod(3), ".s32", b.has(1) ? DenseMultiply::kSaturate : 0u);
  });
  table.add("wmma.mma{.xor,.and}{.popc}.sync.aligned.row.col{.m8n8k128}.s32.b1.b1.s32", [](Build& b) {
    decode_mma(b, b.mod(2), ".s32", ".b1", ".b1", ".s32", b.mod(0) == ".and" ? DenseMultiply::kAnd : 0u);
  });
}

}  // namespace heddle::sim::ptx
