// SPDX-License-Identifier: Apache-2.0
//
// PTX: TensorCore 5th Generation Family Instructions.
#include "sim/frontend/ptx/decode.h"
#include "sim/frontend/ptx/interpreter.h"

#include <heddle/isa/tcgen05.h>
#include <heddle/isa/tmem.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>

namespace heddle::sim::ptx {

namespace {

// flags: cta_group in the low bits.
constexpr std::uint32_t kGroupMask = 3;
constexpr std::uint32_t kShapeShift = 2;
constexpr std::uint32_t kKindShift = 2;

int group_of(const Instruction& i) { return (i.flags & kGroupMask) == 2 ? 2 : 1; }

std::uint32_t group_flag(std::string_view modifier) { return modifier == ".cta_group::2" ? 2 : 1; }

std::uint32_t alloc(Warp& warp, const Instruction& i, std::uint32_t mask) {
  return meet(
      warp, mask,
      [&](std::uint32_t l) {
        warp.tmem[l] = {.cta_group = group_of(i),
                        .cols = static_cast<std::uint32_t>(warp.rows[i.b][l]),
                        .slot = static_cast<std::uint32_t>(warp.rows[i.a][l] + i.value)};
        warp.machine->tmem.alloc(warp.thread(l), warp.tmem[l], i.site);
      },
      [&](std::uint32_t l) { return warp.machine->tmem.request_wait(warp.thread(l), i.site); });
}

std::uint32_t dealloc(Warp& warp, const Instruction& i, std::uint32_t mask) {
  return meet(
      warp, mask,
      [&](std::uint32_t l) {
        warp.tmem[l] = {.cta_group = group_of(i),
                        .cols = static_cast<std::uint32_t>(warp.rows[i.b][l]),
                        .taddr = static_cast<std::uint32_t>(warp.rows[i.a][l])};
        warp.machine->tmem.dealloc(warp.thread(l), warp.tmem[l], i.site);
      },
      [&](std::uint32_t l) { return warp.machine->tmem.request_wait(warp.thread(l), i.site); });
}

std::uint32_t relinquish(Warp& warp, const Instruction& i, std::uint32_t mask) {
  return meet(
      warp, mask,
      [&](std::uint32_t l) {
        warp.tmem[l] = {.cta_group = group_of(i)};
        warp.machine->tmem.relinquish_alloc_permit(warp.thread(l), warp.tmem[l], i.site);
      },
      [](std::uint32_t) { return true; });
}

// flags of loads and stores, beside the shape.
constexpr std::uint32_t kHalves = 1u << 31;

machine::TmemOperands transfer_of(Warp& warp, const Instruction& i, std::uint32_t lane, std::uint32_t* words) {
  const auto count = static_cast<std::uint32_t>(i.rows.size());
  return {.taddr = static_cast<std::uint32_t>(warp.rows[i.a][lane] + i.value),
          .shape = static_cast<TmemShape>((i.flags & ~kHalves) >> kShapeShift),
          .count = count,
          .offset = i.target == kNone ? 0 : i.target,
          .has_halves = (i.flags & kHalves) != 0,
          .registers = words + lane * count};
}

// The registers are filled some time before the wait for them; see Accumulators.
std::uint32_t load(Warp& warp, const Instruction& i, std::uint32_t mask) {
  const std::size_t count = i.rows.size();
  Accumulators* set = nullptr;
  for (const std::unique_ptr<Accumulators>& known : warp.accumulators) {
    // The first lanes of the warp have come before these.
    if (known->is_tmem_load && known->in_flight && known->frame == warp.frame && known->rows == i.rows) {
      set = known.get();
    }
  }
  if (set == nullptr) {
    for (const std::unique_ptr<Accumulators>& known : warp.accumulators) {
      if (known->is_tmem_load && !known->in_flight && known->words.size() == 32 * count) set = known.get();
    }
    if (set == nullptr) set = warp.accumulators.emplace_back(std::make_unique<Accumulators>()).get();
    set->is_tmem_load = true;
    set->in_flight = true;
    set->frame = warp.frame;
    set->rows = i.rows;
    set->words.resize(32 * count);
    set->instruction = &i;
    for (const std::uint32_t row : i.rows) mark_in_flight(*warp.frame, row, kResult);
    ++warp.accumulators_in_flight;
  }
  return meet(
      warp, mask,
      [&](std::uint32_t l) {
        warp.tmem[l] = transfer_of(warp, i, l, set->words.data());
        if (!warp.machine->tmem.ld(warp.thread(l), warp.tmem[l], i.site)) return;
        const machine::TmemTransfer& issued = *warp.thread(l).cta->tmem.transfers.back();
        set->operations = {issued.id};
        set->taddr = issued.taddr;
        set->shape = issued.shape;
        set->has_halves = issued.has_halves;
      },
      [&](std::uint32_t l) {
        for (std::size_t e = 0; e < count; ++e) warp.rows[i.rows[e]][l] = set->words[l * count + e];
        for (std::size_t e = 0; e < count && warp.undefined_rows != 0; ++e) {
          set_defined(warp, *warp.frame, i.rows[e], 1u << l);
        }
        return true;
      });
}

std::uint32_t store(Warp& warp, const Instruction& i, std::uint32_t mask) {
  const std::size_t count = i.rows.size();
  warp.tmem_words.resize(std::max<std::size_t>(warp.tmem_words.size(), std::size_t{32} * 128));
  return meet(
      warp, mask,
      [&](std::uint32_t l) {
        for (std::size_t e = 0; e < count; ++e) {
          warp.tmem_words[l * count + e] = static_cast<std::uint32_t>(warp.rows[i.rows[e]][l]);
        }
        warp.tmem[l] = transfer_of(warp, i, l, warp.tmem_words.data());
        warp.machine->tmem.st(warp.thread(l), warp.tmem[l], i.site);
      },
      [](std::uint32_t) { return true; });
}

// flags: 1: for stores.
std::uint32_t wait(Warp& warp, const Instruction& i, std::uint32_t mask) {
  const bool for_stores = i.flags != 0;
  const std::uint32_t done = meet(
      warp, mask, [&](std::uint32_t l) { warp.machine->tmem.wait_arrive(warp.thread(l), for_stores, i.site); },
      [&](std::uint32_t l) { return warp.machine->tmem.wait(warp.thread(l), for_stores, i.site); });
  if (done == 0 || for_stores) return done;
  for (const std::unique_ptr<Accumulators>& set : warp.accumulators) {
    if (set->is_tmem_load && set->in_flight) take_back(warp, *set);
  }
  return done;
}

std::uint32_t fence(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    warp.machine->tcgen05.fence(warp.thread(l), static_cast<FenceKind>(i.flags), i.site);
  });
  return mask;
}

std::uint32_t commit(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    const auto barrier = static_cast<machine::SharedAddress>(warp.rows[i.a][l] + i.value);
    if (i.b == kNone) {
      warp.machine->tcgen05.commit(warp.thread(l), group_of(i), barrier, i.site);
    } else {
      warp.machine->tcgen05.commit_multicast(warp.thread(l), group_of(i), barrier,
                                             static_cast<std::uint16_t>(warp.rows[i.b][l]), i.site);
    }
  });
  return mask;
}

std::uint32_t copy(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    warp.machine->tcgen05.cp(warp.thread(l),
                             {.shape = static_cast<TmemCopyShape>(i.flags >> kShapeShift),
                              .cta_group = group_of(i),
                              .taddr = static_cast<std::uint32_t>(warp.rows[i.a][l] + i.value),
                              .descriptor = warp.rows[i.b][l]},
                             i.site);
  });
  return mask;
}

void decode_copy(Build& b, std::string_view group, TmemCopyShape shape) {
  b.want(2);
  b.address(0);
  b.out().b = b.source(1);
  b.out().flags = group_flag(group) | static_cast<std::uint32_t>(shape) << kShapeShift;
  b.machine(copy);
}

// flags of tcgen05.mma beside the group and the kind.
constexpr std::uint32_t kScaleShift = 6;  // scales of a row that it reads
constexpr std::uint32_t kTmemA = 1u << 10;
constexpr std::uint32_t kSparse = 1u << 11;
constexpr std::uint32_t kStationary = 1u << 12;
constexpr std::uint32_t kDScaleShift = 13;  // 4 bits

// rows: the lanes that D is not written to. more: the rows and offsets of the scales' addresses, the offset of
// A's where it lies in tensor memory, the row and offset of the metadata's, and the row of the columns that are
// zero. target: 1: the predicate is negated.
std::uint32_t mma(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    if (warp.rows[i.more[7]][l] != 0) {
      warp.machine->fault(&warp.thread(l), i.site, FaultCode::kUnsupported,
                          "tcgen05.mma.ws with columns of B that are zero; their descriptor must be 0");
    }
    machine::Tcgen05Operands operands{
        .kind = static_cast<MmaKind>(i.flags >> kKindShift & 15),
        .cta_group = group_of(i),
        .d = static_cast<std::uint32_t>(warp.rows[i.d2][l] + i.value),
        .a_in_tmem = (i.flags & kTmemA) != 0,
        .a = (i.flags & kTmemA) != 0 ? static_cast<std::uint32_t>(warp.rows[i.a][l]) + i.more[4] : 0,
        .a_descriptor = (i.flags & kTmemA) != 0 ? 0 : warp.rows[i.a][l],
        .b_descriptor = warp.rows[i.b][l],
        .instruction_descriptor = static_cast<std::uint32_t>(warp.rows[i.c][l]),
        .accumulate = (warp.rows[i.e][l] != 0) != (i.target == 1),
        .scale_vec = static_cast<int>(i.flags >> kScaleShift & 15),
        .sfa = static_cast<std::uint32_t>(warp.rows[i.more[0]][l]) + i.more[1],
        .sfb = static_cast<std::uint32_t>(warp.rows[i.more[2]][l]) + i.more[3],
        .is_sparse = (i.flags & kSparse) != 0,
        .metadata = static_cast<std::uint32_t>(warp.rows[i.more[5]][l]) + i.more[6],
        .is_weight_stationary = (i.flags & kStationary) != 0,
        .d_scale = i.flags >> kDScaleShift & 15};
    for (std::size_t w = 0; w < i.rows.size(); ++w) {
      operands.kept[w] = static_cast<std::uint32_t>(warp.rows[i.rows[w]][l]);
    }
    warp.machine->tcgen05.mma(warp.thread(l), operands, i.site);
  });
  return mask;
}

MmaKind kind_of(std::string_view modifier) {
  constexpr std::string_view kKinds[] = {".kind::f16",      ".kind::tf32", ".kind::f8f6f4",  ".kind::i8",
                                         ".kind::mxf8f6f4", ".kind::mxf4", ".kind::mxf4nvf4"};
  std::uint8_t number = 0;
  while (kKinds[number] != modifier) ++number;
  return static_cast<MmaKind>(number);
}

// D, A, B, the metadata of a sparse A and the instruction descriptor, which come first; what is not there reads
// as 0. Returns how many operands these are.
std::size_t decode_mma_operands(Build& b, std::uint32_t flags) {
  Instruction& out = b.out();
  out.d2 = b.address_row(b.operand(0), out.value);
  const std::uint32_t zero = b.immediate(0);
  out.more = {zero, 0, zero, 0, 0, zero, 0, zero};
  if (b.operand(1).kind == OperandKind::kAddress) {
    std::uint64_t offset = 0;
    out.a = b.address_row(b.operand(1), offset);
    out.more[4] = static_cast<std::uint32_t>(offset);
    flags |= kTmemA;
  } else {
    out.a = b.source(1);
  }
  out.b = b.source(2);
  std::size_t at = 3;
  if ((flags & kSparse) != 0) {
    std::uint64_t offset = 0;
    out.more[5] = b.address_row(b.operand(at++), offset);
    out.more[6] = static_cast<std::uint32_t>(offset);
  }
  out.c = b.source(at++);
  out.flags = flags;
  b.machine(mma);
  return at;
}

void decode_accumulate(Build& b, std::size_t at) {
  bool negated = false;
  b.out().e = b.predicate(at, negated);
  b.out().target = negated ? 1 : 0;
}

// The predicate, before it the lanes of D that are not written, and behind it the exponent that scales D.
void decode_mma(Build& b, bool is_sparse) {
  b.want(is_sparse ? 6 : 5, is_sparse ? 8 : 7);
  const MmaKind kind = kind_of(b.mod(1));
  std::size_t at = decode_mma_operands(
      b, group_flag(b.mod(0)) | static_cast<std::uint32_t>(kind) << kKindShift | (is_sparse ? kSparse : 0u));
  Instruction& out = b.out();
  if (b.operand(at).kind == OperandKind::kVector) {
    out.rows = b.sources(b.operand(at++));
    const std::size_t wanted = 4 * static_cast<std::size_t>(group_of(out));
    if (out.rows.size() != wanted) {
      b.fail(fmt::format("{} registers for the lanes of D where {} are wanted", out.rows.size(), wanted));
    }
  }
  decode_accumulate(b, at++);
  if (at == b.operands()) return;
  if (kind != MmaKind::kF16 && kind != MmaKind::kTf32) b.fail("D can be scaled for .kind::f16 and .kind::tf32");
  const std::uint64_t exponent = b.constant(at++);
  if (exponent > 15) b.fail(fmt::format("D scaled by 2^-{}; the exponent is 0 to 15", exponent));
  out.flags |= static_cast<std::uint32_t>(exponent) << kDScaleShift;
  b.want(at);
}

// PTX: tcgen05.mma.ws.
void decode_stationary_mma(Build& b) {
  b.want(5, 6);
  const std::size_t at =
      decode_mma_operands(b, 1 | static_cast<std::uint32_t>(kind_of(b.mod(0))) << kKindShift | kStationary);
  decode_accumulate(b, at);
  if (at + 1 != b.operands()) b.out().more[7] = b.source(at + 1);
}

void decode_scaled_mma(Build& b, bool is_sparse) {
  b.want(is_sparse ? 8 : 7);
  const MmaKind kind = kind_of(b.mod(1));
  const std::string_view size = b.mod(2);
  std::uint32_t scales = kind == MmaKind::kMxf8f6f4 ? 1 : 2;
  if (size == ".scale_vec::1X") scales = 1;
  if (size == ".scale_vec::2X") scales = 2;
  if (size == ".scale_vec::4X" || size == ".block16") scales = 4;
  const std::size_t at =
      decode_mma_operands(b, group_flag(b.mod(0)) | static_cast<std::uint32_t>(kind) << kKindShift |
                                 scales << kScaleShift | (is_sparse ? kSparse : 0u));
  for (std::size_t s = 0; s < 2; ++s) {
    std::uint64_t offset = 0;
    b.out().more[2 * s] = b.address_row(b.operand(at + s), offset);
    b.out().more[2 * s + 1] = static_cast<std::uint32_t>(offset);
  }
  decode_accumulate(b, at + 2);
}

void decode_transfer(Build& b, bool is_store) {
  constexpr std::string_view kShapes[] = {".32x32b", ".16x64b", ".16x128b", ".16x256b", ".16x32bx2"};
  Instruction& out = b.out();
  std::uint32_t shape = 0;
  while (kShapes[shape] != b.mod(0)) ++shape;
  const bool has_offset = shape == 4;
  b.want(has_offset ? 3 : 2);
  const std::size_t address = is_store ? 0 : 1;
  b.address(address);
  if (has_offset) out.target = static_cast<std::uint32_t>(b.constant(is_store ? 1 : 2));
  const Operand& registers = b.operand(is_store ? b.operands() - 1 : 0);
  out.rows = is_store ? b.sources(registers) : b.targets(registers);
  std::uint32_t repeat = 0;
  std::from_chars(b.mod(1).data() + 2, b.mod(1).data() + b.mod(1).size(), repeat);
  const std::uint32_t wanted = repeat * tmem_registers_per_repeat(static_cast<TmemShape>(shape));
  if (out.rows.size() != wanted || wanted == 0 || wanted > 128) {
    b.fail(fmt::format("{} registers where {} are wanted, at most 128", out.rows.size(), wanted));
  }
  out.flags = 1 | shape << kShapeShift | (b.has(2) ? kHalves : 0u);
  b.out().fills_later = !is_store;
  b.machine(is_store ? store : load);
}

constexpr const char* kGroup = "{.cta_group::1,.cta_group::2}";

}  // namespace

namespace {

// PTX: tcgen05.ld: what it fills may be used after tcgen05.wait::ld. Told as formal, since the chip keeps the
// order of an instruction and the registers that it needs: CUTLASS's epilogues rely on it.
void deliver_early(Warp& warp, const Instruction& i, Accumulators& set) {
  warp.machine->judge(&warp.thread(static_cast<std::uint32_t>(std::countr_zero(warp.active))), i.site,
                      {.code = FaultCode::kMissingTmemWait,
                       .headline = "a register that a tcgen05.ld fills is used before tcgen05.wait::ld",
                       .details = {fmt::format("{:<62} {}", "tcgen05.ld", machine::place(set.instruction->site)),
                                   "likely: tcgen05_wait_ld() is missing between the two"},
                       .places = {.second = set.instruction->site},
                       .verdict = Verdict::kFormal});
  warp.machine->tmem.deliver(warp.thread(0), set.words.data());
  take_back(warp, set);
}

}  // namespace

void deliver_loads(Warp& warp, const Instruction& i, const Flow& flow) {
  if (i.fills_later) return;
  for (const std::unique_ptr<Accumulators>& set : warp.accumulators) {
    if (!set->is_tmem_load || !set->in_flight || set->frame != warp.frame) continue;
    const auto is_one = [&](std::uint32_t row) { return row != kNone && set->has(row); };
    const bool is_used = is_one(i.guard) || std::any_of(flow.reads.begin(), flow.reads.end(), is_one) ||
                         std::any_of(flow.writes.begin(), flow.writes.end(), is_one);
    if (is_used) deliver_early(warp, i, *set);
  }
}

void add_tcgen05_forms(FormTable& table) {
  const std::string group = kGroup;
  table.add("tcgen05.alloc" + group + ".sync.aligned[.shared::cta].b32", [](Build& b) {
    b.want(2);
    b.address(0);
    b.out().b = b.source(1);
    b.out().flags = group_flag(b.mod(0));
    b.machine(alloc);
  });
  table.add("tcgen05.dealloc" + group + ".sync.aligned.b32", [](Build& b) {
    b.want(2);
    b.out().a = b.source(0);
    b.out().b = b.source(1);
    b.out().flags = group_flag(b.mod(0));
    b.machine(dealloc);
  });
  table.add("tcgen05.relinquish_alloc_permit" + group + ".sync.aligned", [](Build& b) {
    b.out().flags = group_flag(b.mod(0));
    b.machine(relinquish);
  });
  for (const bool is_store : {false, true}) {
    table.add(std::string("tcgen05") + (is_store ? ".st" : ".ld") +
                  ".sync.aligned{.32x32b,.16x64b,.16x128b,.16x256b,.16x32bx2}{.x*}" +
                  (is_store ? "[.unpack::16b]" : "[.pack::16b]") + ".b32",
              [is_store](Build& b) { decode_transfer(b, is_store); });
  }
  table.add("tcgen05{.wait::ld,.wait::st}.sync.aligned", [](Build& b) {
    b.out().flags = b.mod(0) == ".wait::st" ? 1 : 0;
    b.machine(wait);
  });
  table.add("tcgen05{.fence::before_thread_sync,.fence::after_thread_sync}", [](Build& b) {
    const FenceKind kind =
        b.mod(0) == ".fence::before_thread_sync" ? FenceKind::kTcgen05Before : FenceKind::kTcgen05After;
    b.out().flags = static_cast<std::uint32_t>(kind);
    b.machine(fence);
  });
  table.add("tcgen05.commit" + group + ".mbarrier::arrive::one[.shared::cluster][.multicast::cluster].b64",
            [](Build& b) {
              b.want(b.has(2) ? 2 : 1);
              b.address(0);
              if (b.has(2)) b.out().b = b.source(1);
              b.out().flags = group_flag(b.mod(0));
              b.machine(commit);
            });
  table.add("tcgen05.cp" + group + "{.128x256b,.128x128b,.4x256b}", [](Build& b) {
    decode_copy(b, b.mod(0),
                b.mod(1) == ".128x256b"   ? TmemCopyShape::k128x256b
                : b.mod(1) == ".128x128b" ? TmemCopyShape::k128x128b
                                          : TmemCopyShape::k4x256b);
  });
  table.add("tcgen05.cp" + group + ".64x128b{.warpx2::02_13,.warpx2::01_23}", [](Build& b) {
    decode_copy(
        b, b.mod(0),
        b.mod(1) == ".warpx2::02_13" ? TmemCopyShape::k64x128bWarpx2_02_13 : TmemCopyShape::k64x128bWarpx2_01_23);
  });
  table.add("tcgen05.cp" + group + ".32x128b.warpx4",
            [](Build& b) { decode_copy(b, b.mod(0), TmemCopyShape::k32x128bWarpx4); });
  // Model: the collector keeps nothing: A is read again where a program says that it may be used.
  const std::string collector =
      "[.collector::a::fill,.collector::a::use,.collector::a::lastuse,.collector::a::discard]";
  const std::string kinds = "{.kind::f16,.kind::tf32,.kind::f8f6f4,.kind::i8}";
  for (const bool is_sparse : {false, true}) {
    const std::string name = (is_sparse ? "tcgen05.mma.sp" : "tcgen05.mma") + group;
    table.add(name + kinds + collector, [is_sparse](Build& b) { decode_mma(b, is_sparse); });
    table.add(name +
                  "{.kind::mxf8f6f4,.kind::mxf4,.kind::mxf4nvf4}.block_scale"
                  "[.scale_vec::1X,.scale_vec::2X,.scale_vec::4X,.block16,.block32]" +
                  collector,
              [is_sparse](Build& b) { decode_scaled_mma(b, is_sparse); });
  }
  std::string collectors;
  for (int buffer = 0; buffer < 4; ++buffer) {
    for (const char* use : {"fill", "use", "lastuse", "discard"}) {
      collectors += fmt::format("{}.collector::b{}::{}", collectors.empty() ? "" : ",", buffer, use);
    }
  }
  table.add("tcgen05.mma.ws.cta_group::1" + kinds + "[" + collectors + "]", decode_stationary_mma);
}

}  // namespace heddle::sim::ptx
