// SPDX-License-Identifier: Apache-2.0
//
// PTX: atom, red.
#include "sim/frontend/ptx/arithmetic.h"
#include "sim/frontend/ptx/decode.h"
#include "sim/frontend/ptx/interpreter.h"

#include <fmt/format.h>

#include <cstring>

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

// Two halves of a word; the type stands for both.
template <class F>
struct Pair {
  static std::uint32_t add(std::uint32_t a, std::uint32_t b) {
    const auto part = [&](std::uint32_t shift) {
      return std::uint32_t{narrow<F>(sticky_fma(widen<F>(a >> shift), 1.0, widen<F>(b >> shift)), 0)};
    };
    return part(16) << 16 | part(0);
  }
};

// What of the bytes, and of the operands, means nothing.
struct AtomicUndefined {
  AtomicUndefined(Warp& warp, const Instruction& i, std::uint32_t lane, Space where, std::uint64_t at,
                  std::uint32_t bytes)
      : address(at), size(bytes), space(where) {
    if (space == Space::kShared) old = unwritten_at(warp, lane, address, bytes);
    if (space == Space::kGlobal) old = unwritten_in_global(warp, address, bytes);
    if (warp.undefined_rows != 0) operand = undefined_of(*warp.frame, i.b, lane);
  }

  void pass_on(Warp& warp, const Instruction& i, std::uint32_t lane) const {
    if (operand.bits != 0 && space == Space::kGlobal) {
      return use_undefined(warp, lane, i, operand.origin, "goes to global memory");
    }
    if (old != 0 && i.d != kNone) {
      set_undefined(warp, *warp.frame, i.d, lane,
                    space == Space::kGlobal ? undefined_global_word(warp, lane, address, old, i)
                                            : undefined_word(warp, lane, address, old, i));
    }
    if (space == Space::kGlobal) return;
    const bool is_exchange = op_of(i) == AtomOp::kExch;
    if (operand.bits == 0 && (old == 0 || is_exchange)) return;
    warp.interpreter->unwrite(warp.thread(lane), static_cast<machine::SharedAddress>(address), (1u << size) - 1);
  }

  std::uint64_t address;
  std::uint32_t size;
  Space space;
  std::uint32_t old = 0;  // bytes that nobody has written
  Undefined operand;
};

template <class F>
void update_all(Warp& warp, const Instruction& i, std::uint32_t mask, std::uint32_t bytes, bool is_float,
                F&& change) {
  const std::uint64_t ones = bytes == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << 8 * bytes) - 1;
  Strong strong = strong_of(i.flags >> kStrongShift, i.d != kNone, true);
  strong.old = op_of(i) == AtomOp::kExch  ? Strong::Old::kIgnored
               : op_of(i) == AtomOp::kCas ? Strong::Old::kTaken
                                          : Strong::Old::kBuiltOn;
  strong.adds_floats = is_float && op_of(i) == AtomOp::kAdd;
  for_lanes(mask, [&](std::uint32_t l) {
    std::uint64_t address = warp.rows[i.a][l] + i.value;
    const Space space = resolve(static_cast<Space>(i.flags & kSpaceMask), address);
    std::uint64_t old = 0;
    const auto update = [&](std::byte* at) {
      std::memcpy(&old, at, bytes);
      const std::uint64_t next = change(old, warp.rows[i.b][l], warp.rows[i.c][l], space);
      std::memcpy(at, &next, bytes);
      // PTX: a comparison that fails writes nothing.
      return op_of(i) != AtomOp::kCas || ((old ^ warp.rows[i.b][l]) & ones) == 0;
    };
    machine::Thread& thread = warp.thread(l);
    const AtomicUndefined undefined(warp, i, l, space, address, bytes);
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
    warp.gives_way |= op_of(i) == AtomOp::kCas && ((old ^ warp.rows[i.b][l]) & ones) != 0;
    if (i.d != kNone) warp.rows[i.d][l] = old;
    undefined.pass_on(warp, i, l);
  });
}

template <class T>
std::uint32_t atom(Warp& warp, const Instruction& i, std::uint32_t mask) {
  const AtomOp op = op_of(i);
  constexpr bool kIsFloat = std::is_floating_point_v<T>;
  const auto change = [op](std::uint64_t old, std::uint64_t b, std::uint64_t c, Space space) {
    // PTX: atom.add.f32 on global memory flushes subnormal numbers; on shared memory it does not.
    if constexpr (std::is_same_v<T, float>) {
      if (space == Space::kGlobal && op == AtomOp::kAdd) {
        return put(flush(combine<float>(op, flush(get<float>(old)), flush(get<float>(b)), 0)));
      }
    }
    return put(combine<T>(op, get<T>(old), get<T>(b), get<T>(c)));
  };
  update_all(warp, i, mask, sizeof(T), kIsFloat, change);
  return mask;
}

template <class F>
std::uint32_t atom_add_pair(Warp& warp, const Instruction& i, std::uint32_t mask) {
  update_all(warp, i, mask, 4, true, [](std::uint64_t old, std::uint64_t b, std::uint64_t, Space) {
    return std::uint64_t{Pair<F>::add(static_cast<std::uint32_t>(old), static_cast<std::uint32_t>(b))};
  });
  return mask;
}

template <class F>
std::uint32_t atom_add_half(Warp& warp, const Instruction& i, std::uint32_t mask) {
  update_all(warp, i, mask, 2, true, [](std::uint64_t old, std::uint64_t b, std::uint64_t, Space) {
    return std::uint64_t{narrow<F>(sticky_fma(widen<F>(old), 1.0, widen<F>(b)), 0)};
  });
  return mask;
}

// A vector of f32 is that many additions, each atomic on its own. Only red.
std::uint32_t red_vector(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for (std::uint32_t e = 0; e < i.rows.size(); ++e) {
    Instruction one = i;
    one.b = i.rows[e];
    one.value = i.value + 4 * e;
    atom<float>(warp, one, mask);
  }
  return mask;
}

MachineHandler handler_of(std::string_view type) {
  if (type == ".b16" || type == ".u16") return atom<std::uint16_t>;
  if (type == ".u32" || type == ".b32") return atom<std::uint32_t>;
  if (type == ".s32") return atom<std::int32_t>;
  if (type == ".u64" || type == ".b64") return atom<std::uint64_t>;
  if (type == ".s64") return atom<std::int64_t>;
  if (type == ".f32") return atom<float>;
  if (type == ".f64") return atom<double>;
  if (type == ".f16") return atom_add_half<HalfFormat>;
  if (type == ".bf16") return atom_add_half<BrainFormat>;
  return type == ".f16x2" ? atom_add_pair<HalfFormat> : atom_add_pair<BrainFormat>;
}

std::uint32_t flags_of(Build& b, std::string_view space, std::string_view op, std::string_view type) {
  // The order and the scope come first in every form.
  const std::uint32_t strong = strong_flags(b.mod(0), b.mod(1));
  std::uint32_t number = 0;
  while (kOps[number] != op) ++number;
  const bool is_float = type[1] == 'f' || type.starts_with(".bf");
  if (is_float && op != ".add") b.fail(fmt::format("{} of floats; only .add is supported", op));
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
  out.flags = flags_of(b, space, op, type);
  b.machine(handler_of(type));
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
  table.add("red[.relaxed,.release][.cta,.cluster,.gpu,.sys].global.add[.L2::cache_hint]{.v2,.v4}.f32",
            [](Build& b) {
              b.want(2, 3);
              b.address(0);
              b.out().rows = b.sources(b.operand(1), ".f32");
              b.out().c = b.out().a;
              b.out().flags = flags_of(b, ".global", ".add", ".f32");
              b.machine(red_vector);
            });
}

}  // namespace heddle::sim::ptx
