// SPDX-License-Identifier: Apache-2.0
//
// PTX: wgmma.fence, wgmma.mma_async, wgmma.commit_group, wgmma.wait_group.
//
// The machine keeps accumulators where they were handed to it, the registers of a lane side by side, until they
// were waited for. Here registers are rows of lanes, so each set of accumulators has a copy in the machine's
// order, which is made when it is first used and taken back when the machine gives it back.
#include "sim/frontend/ptx/decode.h"
#include "sim/frontend/ptx/interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

namespace heddle::sim::ptx {

namespace {

// flags of wgmma.mma_async: how the shape is packed.
constexpr std::uint32_t kNShift = 0;  // 9 bits
constexpr std::uint32_t kAShift = 9;  // 4 bits each
constexpr std::uint32_t kBShift = 13;
constexpr std::uint32_t kDShift = 17;  // 2 bits
constexpr std::uint32_t kRegistersA = 1u << 19;
constexpr std::uint32_t kMnMajorA = 1u << 20;
constexpr std::uint32_t kMnMajorB = 1u << 21;
constexpr std::uint32_t kNegateA = 1u << 22;
constexpr std::uint32_t kNegateB = 1u << 23;
constexpr std::uint32_t kNegateScale = 1u << 24;
constexpr std::uint32_t kSaturate = 1u << 25;
constexpr std::uint32_t kSparse = 1u << 26;
constexpr std::uint32_t kSelectorShift = 27;  // 1 bit

WgmmaShape shape_of(std::uint32_t flags) {
  return {.n = flags >> kNShift & 511,
          .a = static_cast<OperandType>(flags >> kAShift & 15),
          .b = static_cast<OperandType>(flags >> kBShift & 15),
          .d = static_cast<AccumulatorType>(flags >> kDShift & 3),
          .a_major = (flags & kMnMajorA) != 0 ? Major::kMN : Major::kK,
          .b_major = (flags & kMnMajorB) != 0 ? Major::kMN : Major::kK,
          .negate_a = (flags & kNegateA) != 0,
          .negate_b = (flags & kNegateB) != 0};
}

Accumulators& find_accumulators(Warp& warp, const std::vector<std::uint32_t>& rows) {
  for (const std::unique_ptr<Accumulators>& set : warp.accumulators) {
    if (!set->is_tmem_load && set->frame == warp.frame && set->rows == rows) return *set;
  }
  for (const std::unique_ptr<Accumulators>& set : warp.accumulators) {
    if (!set->in_flight || set->is_tmem_load || set->frame != warp.frame) continue;
    if (set->rows.size() != rows.size()) continue;
    bool is_same = true;
    for (std::uint32_t e = 0; e < rows.size() && is_same; ++e) is_same = set->element_of(rows[e]) == e;
    if (!is_same) continue;
    // The same accumulators under new names; the old ones follow them.
    for (std::uint32_t e = 0; e < rows.size(); ++e) {
      if (set->rows[e] != rows[e]) set->aliases.push_back({set->rows[e], {e}});
    }
    set->rows = rows;
    std::erase_if(set->aliases, [&](const Accumulators::Alias& alias) {
      return set->rows[alias.part.element] == alias.row && alias.part == Accumulators::Part{alias.part.element};
    });
    return *set;
  }
  auto made = std::make_unique<Accumulators>();
  made->frame = warp.frame;
  made->rows = rows;
  made->words.resize(32 * rows.size());
  warp.accumulators.push_back(std::move(made));
  return *warp.accumulators.back();
}

machine::WgmmaWarp* machine_warp(Warp& warp) {
  machine::Thread& first = warp.threads[0];
  const std::size_t group = first.warp() / machine::kWarpgroupWarps;
  if (group >= first.cta->warpgroups.size()) return nullptr;
  return &first.cta->warpgroups[group].warps[first.warp() % machine::kWarpgroupWarps];
}

// Those that the machine has given back.
void take_back_accumulators(Warp& warp) {
  const machine::WgmmaWarp* state = machine_warp(warp);
  for (const std::unique_ptr<Accumulators>& set : warp.accumulators) {
    if (!set->in_flight || set->is_tmem_load) continue;
    const auto* words = reinterpret_cast<const std::byte*>(set->words.data());
    const bool still =
        std::any_of(state->accumulators.begin(), state->accumulators.end(),
                    [&](const auto& known) { return known->in_flight && known->registers[0] == words; });
    if (!still) take_back(warp, *set);
  }
}

// The accumulators get what the rows of A from registers, and they themselves, bring along. Until they were
// waited for nobody may look.
void follow_multiply(Warp& warp, const Instruction& i, const machine::WgmmaOperands& operands) {
  std::array<Undefined, machine::kWarpRows> rows = {};
  for (std::uint32_t l = 0; l < 32 && operands.a_in_registers; ++l) {
    for (std::uint32_t r = 0; r < 4; ++r) {
      if (const Undefined a = undefined_of(*warp.frame, i.more[r], l); a.bits != 0) rows[l / 4 + 8 * (r % 2)] = a;
    }
  }
  // All lanes have metadata of 8-bit types, and two of four, those of the selector, that of wider ones.
  const bool has_selector = machine::stored_bytes(operands.shape.a) > 1;
  for (std::uint32_t l = 0; l < 32 && operands.is_sparse; ++l) {
    if (has_selector && l % 4 / 2 != operands.selector) continue;
    const Undefined metadata = undefined_of(*warp.frame, i.e, l);
    if (metadata.bits != 0) rows[l / 4] = rows[l / 4 + 8] = metadata;
  }
  const bool is_half = operands.shape.d == AccumulatorType::kF16;
  for (std::uint32_t l = 0; l < 32; ++l) {
    for (std::uint32_t e = 0; e < i.rows.size(); ++e) {
      const Undefined& a = rows[l / 4 + 8 * ((is_half ? e : e / 2) % 2)];
      Undefined d = operands.scale_d ? undefined_of(*warp.frame, i.rows[e], l) : Undefined{};
      if (a.bits != 0) d = {0xffffffffu, a.origin};
      set_undefined(warp, *warp.frame, i.rows[e], l, d);
    }
  }
}

// Accumulators of another wgmma, of which these are a part, or which are copies of its registers.
void refuse_others_accumulators(Warp& warp, const Instruction& i, const Accumulators& own) {
  for (const std::unique_ptr<Accumulators>& set : warp.accumulators) {
    if (set.get() == &own || !set->in_flight || set->is_tmem_load || set->frame != warp.frame) continue;
    const bool overlaps =
        std::any_of(i.rows.begin(), i.rows.end(), [&](std::uint32_t row) { return set->has(row); });
    if (overlaps) refuse_touch(warp, i, *set, "wgmma.mma_async takes some of the accumulators");
  }
}

// What A was, to be compared when the multiplication was waited for.
void keep_fragment(Warp& warp, const Instruction& i) {
  Fragment& kept = warp.fragments.emplace_back();
  kept.frame = warp.frame;
  kept.wgmma = &i;
  kept.number = machine_warp(warp)->issued - 1;
  for (std::uint32_t r = 0; r < 4; ++r) {
    for (std::uint32_t l = 0; l < 32; ++l) {
      kept.words[l * 4 + r] = static_cast<std::uint32_t>(warp.rows[i.more[r]][l]);
    }
    mark_in_flight(*warp.frame, i.more[r], kFragment);
  }
}

// PTX: wgmma.mma_async. Until wgmma.wait_group, the registers of A belong to the multiplication as well.
void check_fragments(Warp& warp) {
  const std::uint64_t waited = machine_warp(warp)->waited;
  for (const Fragment& kept : warp.fragments) {
    if (kept.number >= waited || kept.writer == nullptr) continue;
    for (std::uint32_t at = 0; at < kept.words.size(); ++at) {
      const std::uint32_t lane = at / 4;
      const std::uint64_t now = kept.frame->rows[kept.wgmma->more[at % 4]][lane];
      if (static_cast<std::uint32_t>(now) == kept.words[at]) continue;
      warp.machine->fault(
          &warp.thread(lane), kept.writer->site, FaultCode::kAccumulatorInFlight,
          "a register of A is changed while the wgmma that reads it is in flight",
          {fmt::format("{:<62} {}", "wgmma.mma_async with A in registers", machine::place(kept.wgmma->site)),
           "likely: no wgmma.wait_group between the two"});
    }
  }
  std::erase_if(warp.fragments, [&](const Fragment& kept) { return kept.number < waited; });
}

std::uint32_t mma_async(Warp& warp, const Instruction& i, std::uint32_t mask) {
  Accumulators& set = find_accumulators(warp, i.rows);
  refuse_others_accumulators(warp, i, set);
  const bool adds =
      (warp.rows[i.c][static_cast<std::size_t>(std::countr_zero(mask))] != 0) != ((i.flags & kNegateScale) != 0);
  if (adds) check_fenced(warp, i, i.rows, "adds to an accumulator");
  if ((i.flags & kRegistersA) != 0) check_fenced(warp, i, i.more, "takes a register of A");
  const std::size_t count = i.rows.size();
  const auto arrive = [&](std::uint32_t l) {
    if (!set.in_flight) {
      for (std::size_t e = 0; e < count; ++e) {
        set.words[l * count + e] = static_cast<std::uint32_t>(warp.rows[i.rows[e]][l]);
      }
    }
    machine::WgmmaOperands& operands = warp.wgmma[l];
    operands = {};
    operands.shape = shape_of(i.flags);
    operands.a_in_registers = (i.flags & kRegistersA) != 0;
    operands.scale_d = (warp.rows[i.c][l] != 0) != ((i.flags & kNegateScale) != 0);
    operands.saturates = (i.flags & kSaturate) != 0;
    operands.b_descriptor = warp.rows[i.b][l];
    operands.is_sparse = (i.flags & kSparse) != 0;
    operands.selector = i.flags >> kSelectorShift & 1;
    if (operands.is_sparse) operands.metadata = static_cast<std::uint32_t>(warp.rows[i.e][l]);
    operands.d = reinterpret_cast<std::byte*>(set.words.data() + l * count);
    if (operands.a_in_registers) {
      for (std::size_t r = 0; r < 4; ++r) operands.a[r] = static_cast<std::uint32_t>(warp.rows[i.more[r]][l]);
    } else {
      operands.a_descriptor = warp.rows[i.a][l];
    }
    if (!warp.machine->wgmma.mma_async(warp.thread(l), operands, i.site)) return;
    // All lanes have met: what they had in these registers is with the machine now.
    if (!set.in_flight) ++warp.accumulators_in_flight;
    if (!set.in_flight || !operands.scale_d) {
      set.operations.clear();
      set.operands.clear();
    }
    set.operations.push_back(machine_warp(warp)->ids.back());
    set.operands.push_back(operands);
    set.in_flight = true;
    set.instruction = &i;
    for (const std::uint32_t row : i.rows) {
      warp.rows[row].fill(machine::kInFlightPattern);
      mark_in_flight(*warp.frame, row, kResult);
    }
    if (operands.a_in_registers) keep_fragment(warp, i);
    if (warp.undefined_rows != 0) follow_multiply(warp, i, operands);
  };
  return meet(warp, mask, arrive, [](std::uint32_t) { return true; });
}

// flags: 0 fence, 1 commit.
std::uint32_t fence_or_commit(Warp& warp, const Instruction& i, std::uint32_t mask) {
  if (i.flags == 0) ++warp.wgmma_fences;
  return meet(
      warp, mask,
      [&](std::uint32_t l) {
        if (i.flags == 0) {
          warp.machine->wgmma.fence(warp.thread(l), i.site);
        } else {
          warp.machine->wgmma.commit_group(warp.thread(l), i.site);
        }
      },
      [](std::uint32_t) { return true; });
}

std::uint32_t wait_group(Warp& warp, const Instruction& i, std::uint32_t mask) {
  const auto pending = static_cast<std::uint32_t>(i.value);
  const std::uint32_t done = meet(
      warp, mask, [&](std::uint32_t l) { warp.machine->wgmma.wait_arrive(warp.thread(l), pending, i.site); },
      [&](std::uint32_t l) { return warp.machine->wgmma.wait_group(warp.thread(l), pending, i.site); });
  if (done != 0 && warp.accumulators_in_flight != 0) {
    check_fragments(warp);
    take_back_accumulators(warp);
  }
  return done;
}

OperandType operand_type(std::string_view type) {
  if (type == ".f16") return OperandType::kF16;
  if (type == ".bf16") return OperandType::kBf16;
  if (type == ".tf32") return OperandType::kTf32;
  if (type == ".s8" || type == ".u8") return type == ".s8" ? OperandType::kS8 : OperandType::kU8;
  return type == ".e4m3" ? OperandType::kE4m3 : OperandType::kE5m2;
}

// The immediates that invert or transpose an operand.
bool is_set(Build& b, std::size_t index, std::uint64_t yes, std::uint64_t no) {
  const std::uint64_t value = b.constant(index);
  if (value != yes && value != no) {
    b.fail(fmt::format("operand {} is {} or {}", index + 1, static_cast<std::int64_t>(no),
                       static_cast<std::int64_t>(yes)));
  }
  return value == yes;
}

// Of wgmma.mma_async.sp: the metadata and the selector, behind B.
std::uint32_t decode_metadata(Build& b) {
  b.out().e = b.source(3);
  const std::uint64_t selector = b.constant(4);
  const bool is_wide = b.mod(2) == ".f16" || b.mod(2) == ".bf16" || b.mod(2) == ".tf32";
  if (selector > (is_wide ? 1u : 0u)) {
    b.fail(fmt::format("the sparsity selector is {}; it is 0{}", selector, is_wide ? " or 1" : ""));
  }
  return kSparse | static_cast<std::uint32_t>(selector) << kSelectorShift;
}

void decode_mma(Build& b, bool is_sparse) {
  const std::string_view shape = b.mod(0);
  const bool has_transpose = b.mod(2) == ".f16" || b.mod(2) == ".bf16";
  Instruction& out = b.out();
  out.rows = b.targets(b.operand(0));
  std::uint32_t n = 0;
  std::from_chars(shape.data() + 5, shape.data() + shape.size(), n);
  const bool is_half = b.mod(1) == ".f16";
  const bool is_integer = b.mod(1) == ".s32";
  if (n < 8 || n > 256 || n % 8 != 0) b.fail(fmt::format("N = {}; 8 to 256, a multiple of 8", n));
  if (out.rows.size() != (is_half ? n / 4 : n / 2)) {
    b.fail(fmt::format("{} accumulator registers where {} are wanted", out.rows.size(), is_half ? n / 4 : n / 2));
  }
  std::uint32_t flags = n << kNShift | static_cast<std::uint32_t>(operand_type(b.mod(2))) << kAShift |
                        static_cast<std::uint32_t>(operand_type(b.mod(3))) << kBShift |
                        static_cast<std::uint32_t>(is_integer ? AccumulatorType::kS32
                                                   : is_half  ? AccumulatorType::kF16
                                                              : AccumulatorType::kF32)
                            << kDShift;
  if (is_integer && b.has(4)) flags |= kSaturate;
  const bool from_registers = b.operand(1).kind == OperandKind::kVector;
  if (from_registers) {
    flags |= kRegistersA;
    out.more = b.sources(b.operand(1));
    if (out.more.size() != 4) b.fail("A in registers takes four of them");
  } else {
    out.a = b.source(1);
  }
  out.b = b.source(2);
  const std::size_t at = is_sparse ? 5 : 3;  // of scale-d
  b.want(at + (is_integer ? 1 : 3 + (has_transpose ? (from_registers ? 1 : 2) : 0)));
  if (is_sparse) flags |= decode_metadata(b);
  bool negated = false;
  out.c = b.predicate(at, negated);
  if (negated) flags |= kNegateScale;
  if (!is_integer && is_set(b, at + 1, ~std::uint64_t{0}, 1)) flags |= kNegateA;
  if (!is_integer && is_set(b, at + 2, ~std::uint64_t{0}, 1)) flags |= kNegateB;
  if (has_transpose && !from_registers && is_set(b, at + 3, 1, 0)) flags |= kMnMajorA;
  if (has_transpose && is_set(b, at + (from_registers ? 3 : 4), 1, 0)) flags |= kMnMajorB;
  out.flags = flags;
  out.takes_accumulators = true;
  b.machine(mma_async);
}

}  // namespace

void add_wgmma_forms(FormTable& table) {
  table.add("wgmma.fence.sync.aligned", [](Build& b) { b.machine(fence_or_commit); });
  table.add("wgmma.commit_group.sync.aligned", [](Build& b) {
    b.out().flags = 1;
    b.machine(fence_or_commit);
  });
  table.add("wgmma.wait_group.sync.aligned", [](Build& b) {
    b.want(1);
    b.out().value = b.constant(0);
    b.machine(wait_group);
  });
  for (const bool is_sparse : {false, true}) {
    const std::string name = is_sparse ? "wgmma.mma_async.sp.sync.aligned" : "wgmma.mma_async.sync.aligned";
    const auto shape = [&](std::uint32_t k) { return fmt::format("{{.m64n*k{}}}", is_sparse ? 2 * k : k); };
    const auto decode = [is_sparse](Build& b) { decode_mma(b, is_sparse); };
    table.add(name + shape(16) + "{.f32}{.bf16}{.bf16}", decode);
    table.add(name + shape(16) + "{.f16,.f32}{.f16}{.f16}", decode);
    table.add(name + shape(8) + "{.f32}{.tf32}{.tf32}", decode);
    table.add(name + shape(32) + "{.f16,.f32}{.e4m3,.e5m2}{.e4m3,.e5m2}", decode);
    table.add(name + shape(32) + "{.s32}{.s8,.u8}{.s8,.u8}[.satfinite]", decode);
  }
}

}  // namespace heddle::sim::ptx
