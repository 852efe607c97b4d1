// SPDX-License-Identifier: Apache-2.0
//
// PTX: atom, red.
#include "sim/frontend/ptx/arithmetic.h"
#include "sim/frontend/ptx/decode.h"
#include "sim/frontend/ptx/interpreter.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace heddle::sim::ptx {

namespace {

enum class AtomOp : std::uint8_t { kAnd, kOr, kXor, kExch, kAdd, kInc, kDec, kMin, kMax, kCas };
constexpr std::string_view kOps[] = {".and", ".or",  ".xor", ".exch", ".add",
                                     ".inc", ".dec", ".min", ".max",  ".cas"};

// flags.
constexpr std::uint32_t kSpaceMask = 7;
constexpr std::uint32_t kOpShift = 3;
constexpr std::uint32_t kOpMask = 15;
constexpr std::uint32_t kStrongShift = 7;

AtomOp op_of(const Instruction& i) { return static_cast<AtomOp>(i.flags >> kOpShift & kOpMask); }

template <class T>
T combine(AtomOp op, T old, T b, T c) {
  if constexpr (std::is_floating_point_v<T>) {
    if (op == AtomOp::kAdd) return sizeof(T) == 8 ? with_nans(old + b, old, b) : canonical(old + b);
    return op == AtomOp::kCas ? (std::memcmp(&old, &b, sizeof(T)) == 0 ? c : old) : b;
  } else {
    using U = std::make_unsigned_t<T>;
    switch (op) {
      case AtomOp::kAnd: return static_cast<T>(old & b);
      case AtomOp::kOr: return static_cast<T>(old | b);
      case AtomOp::kXor: return static_cast<T>(old ^ b);
      case AtomOp::kExch: return b;
      case AtomOp::kAdd: return static_cast<T>(static_cast<U>(static_cast<U>(old) + static_cast<U>(b)));
      case AtomOp::kInc: return old >= b ? T{0} : static_cast<T>(old + 1);
      case AtomOp::kDec: return old == 0 || old > b ? b : static_cast<T>(old - 1);
      case AtomOp::kMin: return b < old ? b : old;
      case AtomOp::kMax: return old < b ? b : old;
      case AtomOp::kCas: return old == b ? c : old;
    }
    return old;
  }
}

// The rows of one element, and where it lies from the address in row a on.
struct Element {
  std::uint32_t d, b, c;
  std::uint64_t offset;
};

Element only_element(const Instruction& i) { return {i.d, i.b, i.c, i.value}; }

// What of the bytes, and of the operands, means nothing.
struct AtomicUndefined {
  AtomicUndefined(Warp& warp, const Element& e, std::uint32_t lane, Space where, std::uint64_t at,
                  std::uint32_t bytes, const Instruction& i)
      : address(at), size(bytes), space(where) {
    const std::uint32_t unwritten = space == Space::kShared   ? unwritten_at(warp, lane, address, bytes)
                                    : space == Space::kGlobal ? unwritten_in_global(warp, address, bytes)
                                                              : 0;
    if (unwritten != 0) {
      old = space == Space::kGlobal ? undefined_global_word(warp, lane, address, unwritten, i)
                                    : undefined_word(warp, lane, address, unwritten, i);
    }
    if (warp.undefined_rows == 0) return;
    operand = undefined_of(*warp.frame, e.b, lane);
    swapped = op_of(i) == AtomOp::kCas ? undefined_of(*warp.frame, e.c, lane) : Undefined{};
  }

  // What memory has then. `value` is that of the operand.
  std::uint64_t made(AtomOp op, bool has_changed, std::uint64_t value) const {
    const std::uint64_t any = old.bits == 0 && operand.bits == 0 ? 0 : ~std::uint64_t{0} >> (64 - 8 * size);
    switch (op) {
      case AtomOp::kExch: return operand.bits;
      case AtomOp::kCas:
        if (space == Space::kShared && (operand.bits & ~old.bits) != 0) return any;
        // Bits that somebody has written since they were looked at were found to be the same.
        return has_changed ? swapped.bits & old.bits : old.bits;
      case AtomOp::kAnd: return operand.bits != 0 ? any : old.bits & value;
      case AtomOp::kOr: return operand.bits != 0 ? any : old.bits & ~value;
      default: return any;
    }
  }

  // Before d is overwritten, which may be one of the operands.
  void pass_on(Warp& warp, const Instruction& i, const Element& e, std::uint32_t lane, bool has_changed) const {
    if (old.bits == 0 && operand.bits == 0 && swapped.bits == 0) return;
    const auto goes_out = [&](const Undefined& value) {
      return value.bits != 0 && !(op_of(i) == AtomOp::kCas && comes_from(warp, value, address, size));
    };
    for (const Undefined& value : {operand, swapped}) {
      if (space == Space::kGlobal && goes_out(value)) {
        return use_undefined(warp, lane, i, value.origin, "goes to global memory");
      }
    }
    if (old.bits != 0 && e.d != kNone) set_undefined(warp, *warp.frame, e.d, lane, old);
    const std::uint64_t bits = made(op_of(i), has_changed, warp.rows[e.b][lane]);
    if (space == Space::kGlobal) return unwrite_global(warp, address, size, bits);
    warp.interpreter->unwrite(warp.thread(lane), static_cast<machine::SharedAddress>(address), bits);
  }

  std::uint64_t address;
  std::uint32_t size;
  Space space;
  Undefined old, operand, swapped;  // swapped: what a comparison puts there
};

template <class F>
void update_all(Warp& warp, const Instruction& i, const Element& e, std::uint32_t mask, std::uint32_t bytes,
                bool adds_floats, F&& change) {
  const std::uint64_t ones = bytes == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << 8 * bytes) - 1;
  Strong strong = strong_of(i.flags >> kStrongShift, e.d != kNone, true);
  strong.old = op_of(i) == AtomOp::kExch  ? Strong::Old::kIgnored
               : op_of(i) == AtomOp::kCas ? Strong::Old::kTaken
                                          : Strong::Old::kBuiltOn;
  strong.adds_floats = adds_floats;
  for_lanes(mask, [&](std::uint32_t l) {
    std::uint64_t address = warp.rows[i.a][l] + e.offset;
    const Space space = resolve(static_cast<Space>(i.flags & kSpaceMask), address);
    std::uint64_t old = 0;
    const auto update = [&](std::byte* at) {
      std::memcpy(&old, at, bytes);
      const std::uint64_t next = change(old, warp.rows[e.b][l], warp.rows[e.c][l], space);
      std::memcpy(at, &next, bytes);
      // PTX: a comparison that fails writes nothing.
      return op_of(i) != AtomOp::kCas || ((old ^ warp.rows[e.b][l]) & ones) == 0;
    };
    machine::Thread& thread = warp.thread(l);
    const AtomicUndefined undefined(warp, e, l, space, address, bytes, i);
    if (space == Space::kShared) {
      warp.machine->memory.atom_shared(thread, static_cast<machine::SharedAddress>(address), bytes, "atom.shared",
                                       strong, i.site, update);
    } else if (space == Space::kGlobal) {
      warp.machine->memory.atom_global(thread, address, bytes, "atom.global", strong, i.site, update);
    } else {
      warp.machine->fault(&thread, i.site, FaultCode::kUnsupported,
                          "atom in memory that is neither shared nor global");
    }
    // A comparison that fails is mostly one of a loop that waits.
    const bool is_expected = ((old ^ warp.rows[e.b][l]) & ones) == 0;
    warp.gives_way |= op_of(i) == AtomOp::kCas && !is_expected;
    undefined.pass_on(warp, i, e, l, is_expected);
    if (e.d != kNone) warp.rows[e.d][l] = old;
  });
}

using ElementHandler = void (*)(Warp&, const Instruction&, const Element&, std::uint32_t);

template <class T>
void scalar_element(Warp& warp, const Instruction& i, const Element& e, std::uint32_t mask) {
  const AtomOp op = op_of(i);
  const bool adds_floats = std::is_floating_point_v<T> && op == AtomOp::kAdd;
  update_all(warp, i, e, mask, sizeof(T), adds_floats,
             [op](std::uint64_t old, std::uint64_t b, std::uint64_t c, Space space) {
               // PTX: atom.add.f32 on global memory flushes subnormal numbers; on shared memory it does not.
               if constexpr (std::is_same_v<T, float>) {
                 if (space == Space::kGlobal && op == AtomOp::kAdd) {
                   return put(flush(combine<float>(op, flush(get<float>(old)), flush(get<float>(b)), 0)));
                 }
               }
               return put(combine<T>(op, get<T>(old), get<T>(b), get<T>(c)));
             });
}

// PTX: min and max prefer a number to a NaN.
template <class F>
std::uint64_t combine_halves(AtomOp op, std::uint64_t old, std::uint64_t b) {
  const double x = widen<F>(old);
  const double y = widen<F>(b);
  if (op == AtomOp::kAdd) return narrow<F>(sticky_fma(x, 1.0, y), 0);
  if (std::isnan(x) && std::isnan(y)) return F::nan;
  const bool is_max = op == AtomOp::kMax;
  const bool takes_b = std::isnan(x)   ? true
                       : std::isnan(y) ? false
                       : x == y        ? std::signbit(x) == is_max
                                       : (x < y) == is_max;
  return (takes_b ? b : old) & 0xffff;
}

// Halves, `count` of them in a register.
template <class F, std::uint32_t count>
void half_element(Warp& warp, const Instruction& i, const Element& e, std::uint32_t mask) {
  const AtomOp op = op_of(i);
  update_all(warp, i, e, mask, 2 * count, op == AtomOp::kAdd,
             [op](std::uint64_t old, std::uint64_t b, std::uint64_t, Space) {
               std::uint64_t result = 0;
               for (std::uint32_t half = 0; half < count; ++half) {
                 result |= combine_halves<F>(op, old >> 16 * half, b >> 16 * half) << 16 * half;
               }
               return result;
             });
}

template <ElementHandler element>
std::uint32_t atom_one(Warp& warp, const Instruction& i, std::uint32_t mask) {
  element(warp, i, only_element(i), mask);
  return mask;
}

// PTX: atom and red with a vector: each element is atomic on its own. rows: the elements of b; more: those of d,
// if there is one.
template <ElementHandler element, std::uint32_t bytes>
std::uint32_t atom_vector(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for (std::uint32_t e = 0; e < i.rows.size(); ++e) {
    const std::uint32_t d = i.more.empty() ? kNone : i.more[e];
    element(warp, i, {d, i.rows[e], i.rows[e], i.value + std::uint64_t{bytes} * e}, mask);
  }
  return mask;
}

// 128 bits: rows are the halves of b, then those of c; more are those of d.
std::uint32_t atom_wide(Warp& warp, const Instruction& i, std::uint32_t mask) {
  using Word = std::array<std::uint64_t, 2>;
  const bool is_cas = op_of(i) == AtomOp::kCas;
  Strong strong = strong_of(i.flags >> kStrongShift, true, true);
  strong.old = is_cas ? Strong::Old::kTaken : Strong::Old::kIgnored;
  for_lanes(mask, [&](std::uint32_t l) {
    std::uint64_t address = warp.rows[i.a][l] + i.value;
    const Space space = resolve(static_cast<Space>(i.flags & kSpaceMask), address);
    const Word b = {warp.rows[i.rows[0]][l], warp.rows[i.rows[1]][l]};
    const Word c = {warp.rows[i.rows[2]][l], warp.rows[i.rows[3]][l]};
    Word old = {};
    const auto update = [&](std::byte* at) {
      std::memcpy(&old, at, sizeof(old));
      if (is_cas && old != b) return false;
      std::memcpy(at, is_cas ? &c : &b, sizeof(old));
      return true;
    };
    machine::Thread& thread = warp.thread(l);
    if (space == Space::kShared) {
      warp.machine->memory.atom_shared(thread, static_cast<machine::SharedAddress>(address), sizeof(old),
                                       "atom.shared", strong, i.site, update);
    } else if (space == Space::kGlobal) {
      warp.machine->memory.atom_global(thread, address, sizeof(old), "atom.global", strong, i.site, update);
    } else {
      warp.machine->fault(&thread, i.site, FaultCode::kUnsupported,
                          "atom in memory that is neither shared nor global");
    }
    warp.gives_way |= is_cas && old != b;
    warp.rows[i.more[0]][l] = old[0];
    warp.rows[i.more[1]][l] = old[1];
  });
  return mask;
}

MachineHandler handler_of(std::string_view type) {
  if (type == ".b16" || type == ".u16") return atom_one<scalar_element<std::uint16_t>>;
  if (type == ".u32" || type == ".b32") return atom_one<scalar_element<std::uint32_t>>;
  if (type == ".s32") return atom_one<scalar_element<std::int32_t>>;
  if (type == ".u64" || type == ".b64") return atom_one<scalar_element<std::uint64_t>>;
  if (type == ".s64") return atom_one<scalar_element<std::int64_t>>;
  if (type == ".f32") return atom_one<scalar_element<float>>;
  if (type == ".f64") return atom_one<scalar_element<double>>;
  if (type == ".f16") return atom_one<half_element<HalfFormat, 1>>;
  if (type == ".bf16") return atom_one<half_element<BrainFormat, 1>>;
  return type == ".f16x2" ? atom_one<half_element<HalfFormat, 2>> : atom_one<half_element<BrainFormat, 2>>;
}

MachineHandler vector_handler_of(std::string_view type) {
  if (type == ".f32") return atom_vector<scalar_element<float>, 4>;
  if (type == ".f16") return atom_vector<half_element<HalfFormat, 1>, 2>;
  if (type == ".bf16") return atom_vector<half_element<BrainFormat, 1>, 2>;
  return type == ".f16x2" ? atom_vector<half_element<HalfFormat, 2>, 4>
                          : atom_vector<half_element<BrainFormat, 2>, 4>;
}

std::uint32_t flags_of(const Build& b, std::string_view space, std::string_view op) {
  // The order and the scope come first in every form.
  const std::uint32_t strong = strong_flags(b.mod(0), b.mod(1));
  std::uint32_t number = 0;
  while (kOps[number] != op) ++number;
  const Space where = space.empty()                  ? Space::kGeneric
                      : space.starts_with(".shared") ? Space::kShared
                                                     : Space::kGlobal;
  return static_cast<std::uint32_t>(where) | number << kOpShift | strong << kStrongShift;
}

void decode_atom(Build& b, bool returns, std::string_view space, std::string_view op, std::string_view type) {
  const std::size_t first = returns ? 1 : 0;
  b.want(first + (op == ".cas" ? 3 : 2), first + 4);  // a cache policy may follow
  Instruction& out = b.out();
  if (returns) out.d = b.target(0);
  b.address(first);
  out.b = b.source(first + 1, type);
  out.c = op == ".cas" ? b.source(first + 2, type) : out.b;
  out.compares = op == ".cas";
  const bool is_float = type[1] == 'f' || type.starts_with(".bf");
  if (is_float && op != ".add") b.fail(fmt::format("{} of {}; only .add is supported", op, type));
  out.flags = flags_of(b, space, op);
  b.machine(handler_of(type));
}

void decode_vector(Build& b, bool returns, std::string_view op, std::string_view vector, std::string_view type) {
  const std::size_t first = returns ? 1 : 0;
  b.want(first + 2, first + 3);  // a cache policy may follow
  Instruction& out = b.out();
  if (returns) out.more = b.targets(b.operand(0));
  b.address(first);
  out.rows = b.sources(b.operand(first + 1), type);
  const auto wanted = static_cast<std::size_t>(vector[2] - '0');
  if (out.rows.size() != wanted || (returns && out.more.size() != wanted)) {
    b.fail(fmt::format("{} registers where {} are wanted", out.rows.size(), wanted));
  }
  out.flags = flags_of(b, ".global", op);
  b.machine(vector_handler_of(type));
}

void decode_wide(Build& b, std::string_view space, std::string_view op) {
  b.want(op == ".cas" ? 4 : 3, 4);
  Instruction& out = b.out();
  const auto halves = [&](std::uint32_t row) {
    const auto found = b.function().wide_rows.find(row);
    if (found == b.function().wide_rows.end()) b.fail("a 128-bit register is wanted");
    return std::vector<std::uint32_t>{row, found->second};
  };
  out.more = halves(b.target(0));
  b.address(1);
  out.rows = halves(b.source(2));
  const std::vector<std::uint32_t> last = halves(b.source(op == ".cas" ? 3 : 2));
  out.rows.insert(out.rows.end(), last.begin(), last.end());
  out.flags = flags_of(b, space, op);
  b.machine(atom_wide);
}

constexpr const char* kSpace = "[.global,.shared,.shared::cta,.shared::cluster]";
constexpr const char* kTypes = "{.b16,.b32,.b64,.u16,.u32,.u64,.s32,.s64,.f32,.f64,.f16,.bf16,.f16x2,.bf16x2}";

}  // namespace

void add_atomic_forms(FormTable& table) {
  table.add(std::string("atom[.relaxed,.acquire,.release,.acq_rel][.cta,.cluster,.gpu,.sys]") + kSpace +
                "{.and,.or,.xor,.exch,.add,.inc,.dec,.min,.max,.cas}[.noftz][.L2::cache_hint]" + kTypes,
            [](Build& b) { decode_atom(b, true, b.mod(2), b.mod(3), b.mod(6)); });
  table.add(std::string("red[.relaxed,.release][.cta,.cluster,.gpu,.sys]") + kSpace +
                "{.and,.or,.xor,.add,.inc,.dec,.min,.max}[.noftz][.L2::cache_hint]" + kTypes,
            [](Build& b) { decode_atom(b, false, b.mod(2), b.mod(3), b.mod(6)); });
  for (const bool returns : {true, false}) {
    const std::string name = returns
                                 ? "atom[.relaxed,.acquire,.release,.acq_rel][.cta,.cluster,.gpu,.sys][.global]"
                                 : "red[.relaxed,.release][.cta,.cluster,.gpu,.sys][.global]";
    table.add(name + "{.add}[.L2::cache_hint]{.v2,.v4}.f32",
              [returns](Build& b) { decode_vector(b, returns, b.mod(3), b.mod(5), ".f32"); });
    table.add(name + "{.add,.min,.max}.noftz[.L2::cache_hint]{.v2,.v4,.v8}{.f16,.bf16}",
              [returns](Build& b) { decode_vector(b, returns, b.mod(3), b.mod(5), b.mod(6)); });
    table.add(name + "{.add,.min,.max}.noftz[.L2::cache_hint]{.v2,.v4}{.f16x2,.bf16x2}",
              [returns](Build& b) { decode_vector(b, returns, b.mod(3), b.mod(5), b.mod(6)); });
  }
  table.add(std::string("atom[.relaxed,.acquire,.release,.acq_rel][.cta,.cluster,.gpu,.sys]") + kSpace +
                "{.exch,.cas}[.L2::cache_hint].b128",
            [](Build& b) { decode_wide(b, b.mod(2), b.mod(3)); });
}

}  // namespace heddle::sim::ptx
