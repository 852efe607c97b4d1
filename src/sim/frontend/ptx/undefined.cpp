// SPDX-License-Identifier: Apache-2.0
#include "sim/frontend/ptx/undefined.h"

#include "sim/frontend/ptx/interpreter.h"
#include "sim/machine/written_bytes.h"

#include <algorithm>
#include <bit>

namespace heddle::sim::ptx {

namespace {

constexpr std::uint64_t kAllBits = ~std::uint64_t{0};

constexpr std::uint64_t low_bits(std::uint32_t count) {
  return count >= 64 ? kAllBits : (std::uint64_t{1} << count) - 1;
}

// The bits that a row has. Halves of 128-bit registers, and rows without a name, have 64.
std::uint64_t width_of(const Frame& frame, std::uint32_t row) {
  const std::vector<std::uint16_t>& bits = frame.function->text->register_bits;
  return row < bits.size() ? low_bits(bits[row]) : kAllBits;
}

std::uint32_t lanes_of(const Frame& frame, std::uint32_t row) {
  if (row >= frame.undefined.size() || frame.undefined[row] == nullptr) return 0;
  return frame.undefined[row]->lanes;
}

// Parts that are undefined as a whole if one of their bits is.
std::uint64_t spread(std::uint64_t bits, std::uint32_t part) {
  std::uint64_t result = 0;
  for (std::uint32_t at = 0; at < 64; at += part) {
    const std::uint64_t ones = low_bits(part) << at;
    if ((bits & ones) != 0) result |= ones;
  }
  return result;
}

// How many bytes there are up to the last of a mask.
std::uint32_t length_of(std::uint32_t bytes) { return static_cast<std::uint32_t>(std::bit_width(bytes)); }

std::uint64_t logic(std::uint8_t table, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  std::uint64_t result = 0;
  for (unsigned term = 0; term < 8; ++term) {
    if ((table >> term & 1) == 0) continue;
    result |= ((term & 4) != 0 ? a : ~a) & ((term & 2) != 0 ? b : ~b) & ((term & 1) != 0 ? c : ~c);
  }
  return result;
}

// A bit of the result is undefined if other values of undefined bits would change it.
std::uint64_t undefined_logic(std::uint8_t table, const std::array<std::uint64_t, 3>& value,
                              const std::array<std::uint64_t, 3>& undefined) {
  const std::uint64_t now = logic(table, value[0], value[1], value[2]);
  std::uint64_t result = 0;
  for (unsigned flips = 1; flips < 8; ++flips) {
    std::array<std::uint64_t, 3> other = value;
    for (unsigned s = 0; s < 3; ++s) {
      if ((flips >> s & 1) != 0) other[s] ^= undefined[s];
    }
    result |= now ^ logic(table, other[0], other[1], other[2]);
  }
  return result;
}

// A number of so many bits, whose sign is repeated above them.
std::uint64_t extended(std::uint64_t bits, std::uint32_t from) {
  const std::uint64_t kept = bits & low_bits(from);
  return from != 0 && (kept >> (from - 1) & 1) != 0 ? kept | ~low_bits(from) : kept;
}

// Two looks at one word that nobody has written, of which one is what a compare-and-swap took: whether they
// differ says only whether somebody came in between.
bool is_another_look(const Warp& warp, const Undefined& a, const Undefined& b) {
  constexpr std::uint64_t kWord = 8;
  if (a.bits == 0 || b.bits == 0) return false;
  const Origin& first = warp.origins[a.origin];
  const Origin& second = warp.origins[b.origin];
  return first.kind == Origin::Kind::kGlobal && second.kind == first.kind &&
         first.global / kWord == second.global / kWord &&
         (first.instruction->compares || second.instruction->compares);
}

// What the instruction passes on in one lane to its only result.
std::uint64_t passed_on(const Warp& warp, const Instruction& i, const Flow& flow, std::uint32_t l) {
  const Frame& frame = *warp.frame;
  const auto bits = [&](std::uint32_t row) { return row == kNone ? 0 : undefined_of(frame, row, l).bits; };
  const auto value = [&](std::uint32_t row) { return row == kNone ? 0 : warp.rows[row][l]; };
  const std::uint64_t any = [&] {
    std::uint64_t all = 0;
    for (const std::uint32_t row : flow.reads) all |= bits(row);
    return all;
  }();
  switch (flow.kind) {
    case FlowKind::kCopy: return bits(i.a);
    case FlowKind::kTruncate: return bits(i.a) & low_bits(flow.table);
    case FlowKind::kExtendSign: return extended(bits(i.a), flow.table);
    case FlowKind::kField: {
      if ((bits(i.b) | bits(i.c)) != 0) return kAllBits;
      const std::uint64_t position = value(i.b) & 0xff;
      const std::uint64_t field = position > 63 ? 0 : bits(i.a) >> position & low_bits(value(i.c) & 0xff);
      return flow.table == 0 ? field : extended(field, static_cast<std::uint32_t>(value(i.c) & 0xff));
    }
    case FlowKind::kSelect:
      if (bits(i.c) != 0) return kAllBits;
      return (value(i.c) != 0) != (i.flags != 0) ? bits(i.a) : bits(i.b);
    case FlowKind::kLogic:
      return undefined_logic(flow.table, {value(i.a), value(i.b), value(i.c)}, {bits(i.a), bits(i.b), bits(i.c)});
    case FlowKind::kShiftLeft:
    case FlowKind::kShiftRight: {
      if (bits(i.b) != 0) return kAllBits;
      const auto amount = static_cast<std::uint32_t>(value(i.b));
      if (amount >= 64) return 0;
      return flow.kind == FlowKind::kShiftLeft ? bits(i.a) << amount : bits(i.a) >> amount;
    }
    case FlowKind::kShiftSigned: {
      const std::uint64_t width = width_of(frame, i.a);
      const bool has_sign = (bits(i.a) & width & ~(width >> 1)) != 0;
      if (bits(i.b) != 0 || has_sign) return any == 0 ? 0 : kAllBits;
      const auto amount = static_cast<std::uint32_t>(value(i.b));
      return amount >= 64 ? 0 : bits(i.a) >> amount;
    }
    case FlowKind::kEqual: {
      const Undefined a = undefined_of(frame, i.a, l);
      const Undefined b = undefined_of(frame, i.b, l);
      const std::uint64_t differ = (value(i.a) ^ value(i.b)) & ~(a.bits | b.bits) & low_bits(flow.table);
      if (((a.bits | b.bits) & low_bits(flow.table)) == 0) return any == 0 ? 0 : kAllBits;
      return differ != 0 || is_another_look(warp, a, b) ? 0 : kAllBits;
    }
    case FlowKind::kPermute: {
      if (bits(i.c) != 0) return kAllBits;
      const std::uint64_t both = (bits(i.b) & 0xffffffffu) << 32 | (bits(i.a) & 0xffffffffu);
      std::uint64_t result = 0;
      for (std::uint32_t byte = 0; byte < 4; ++byte) {
        const auto from = static_cast<std::uint32_t>(value(i.c) >> 4 * byte & 15);
        const std::uint64_t taken = both >> 8 * (from & 7) & 0xff;
        const bool is_sign = (from & 8) != 0;
        result |= (is_sign ? ((taken & 0x80) != 0 ? 0xff : 0) : taken) << 8 * byte;
      }
      return result;
    }
    case FlowKind::kPack: {
      std::uint64_t result = 0;
      for (std::uint32_t e = 0; e < i.rows.size(); ++e)
        result |= (bits(i.rows[e]) & low_bits(i.flags)) << e * i.flags;
      return result;
    }
    case FlowKind::kHalves: return spread(any, 16);
    case FlowKind::kWords: return spread(any, 32);
    case FlowKind::kJoinHalves: return (bits(i.a) != 0 ? 0xffff0000u : 0u) | (bits(i.b) != 0 ? 0xffffu : 0u);
    default: return any == 0 ? 0 : kAllBits;
  }
}

// The origin of the first operand that is undefined.
std::uint16_t origin_in(const Frame& frame, const std::vector<std::uint32_t>& rows, std::uint32_t lane) {
  for (const std::uint32_t row : rows) {
    if (const Undefined found = undefined_of(frame, row, lane); found.bits != 0) return found.origin;
  }
  return 0;
}

std::uint16_t passed_origin(const Warp& warp, const Instruction& i, const Flow& flow, std::uint32_t lane) {
  if (flow.kind == FlowKind::kSelect && undefined_of(*warp.frame, i.c, lane).bits == 0) {
    const bool first = (warp.rows[i.c][lane] != 0) != (i.flags != 0);
    return undefined_of(*warp.frame, first ? i.a : i.b, lane).origin;
  }
  return origin_in(*warp.frame, flow.reads, lane);
}

void check_uses(Warp& warp, const Instruction& i, const Flow& flow, std::uint32_t mask) {
  const auto check = [&](const std::vector<std::uint32_t>& rows, const char* how) {
    for (const std::uint32_t row : rows) {
      const std::uint32_t lanes = lanes_of(*warp.frame, row) & mask;
      if (lanes == 0) continue;
      const auto lane = static_cast<std::uint32_t>(std::countr_zero(lanes));
      return use_undefined(warp, lane, i, undefined_of(*warp.frame, row, lane).origin, how);
    }
  };
  check(flow.addresses, "is part of an address");
  if (flow.kind == FlowKind::kControl) check(flow.reads, "is an operand of an instruction that others can see");
}

}  // namespace

Undefined undefined_of(const Frame& frame, std::uint32_t row, std::uint32_t lane) {
  if ((lanes_of(frame, row) >> lane & 1) == 0) return {};
  const UndefinedRow& found = *frame.undefined[row];
  return {found.bits[lane], found.origin[lane]};
}

void set_undefined(Warp& warp, Frame& frame, std::uint32_t row, std::uint32_t lane, const Undefined& value) {
  const std::uint64_t bits = value.bits & width_of(frame, row);
  if (bits == 0) return set_defined(warp, frame, row, 1u << lane);
  if (frame.undefined.size() < frame.rows.size()) frame.undefined.resize(frame.rows.size());
  std::unique_ptr<UndefinedRow>& made = frame.undefined[row];
  if (made == nullptr) made = std::make_unique<UndefinedRow>();
  if (made->lanes == 0) ++warp.undefined_rows;
  made->lanes |= 1u << lane;
  made->bits[lane] = bits;
  made->origin[lane] = value.origin;
}

void set_defined(Warp& warp, Frame& frame, std::uint32_t row, std::uint32_t lanes) {
  if ((lanes_of(frame, row) & lanes) == 0) return;
  UndefinedRow& found = *frame.undefined[row];
  found.lanes &= ~lanes;
  if (found.lanes == 0) --warp.undefined_rows;
}

void forget_frame(Warp& warp, Frame& frame) {
  for (const std::unique_ptr<UndefinedRow>& row : frame.undefined) {
    if (row != nullptr && row->lanes != 0) --warp.undefined_rows;
  }
  frame.undefined.clear();
}

std::uint16_t note_origin(Warp& warp, const Origin& origin) {
  std::vector<Origin>& known = warp.origins;
  constexpr std::size_t kMost = 0xffff;
  // Loads in a loop bring the same again and again; the newest are looked through.
  const std::size_t first = known.size() > 64 ? known.size() - 64 : 0;
  for (std::size_t at = known.size(); at > first; --at) {
    if (known[at - 1] == origin) return static_cast<std::uint16_t>(at - 1);
  }
  if (known.size() > kMost) return static_cast<std::uint16_t>(kMost);
  known.push_back(origin);
  return static_cast<std::uint16_t>(known.size() - 1);
}

void follow(Warp& warp, const Instruction& i, const Flow& flow, std::uint32_t mask) {
  Frame& frame = *warp.frame;
  check_uses(warp, i, flow, mask);
  const std::uint32_t doubtful = i.guard == kNone ? 0 : lanes_of(frame, i.guard) & warp.active;
  if (doubtful != 0 && flow.has_effect) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(doubtful));
    use_undefined(warp, lane, i, undefined_of(frame, i.guard, lane).origin,
                  i.control == Control::kBranch ? "decides a branch" : "decides whether this is executed");
  }
  // What blocks passes on its results when it is done; loads never do.
  if (i.control != Control::kScalar && flow.kind != FlowKind::kLoad) return;
  if (flow.kind == FlowKind::kStore || flow.kind == FlowKind::kHandled) return;
  std::uint32_t lanes = 0;
  if (flow.kind != FlowKind::kLoad) {
    for (const std::uint32_t row : flow.reads) lanes |= lanes_of(frame, row);
  }
  lanes &= mask;
  if (flow.kind == FlowKind::kUnpack) {
    for_lanes(lanes, [&](std::uint32_t l) {
      const Undefined from = undefined_of(frame, i.a, l);
      for (std::uint32_t e = 0; e < i.rows.size(); ++e) {
        set_undefined(warp, frame, i.rows[e], l, {from.bits >> e * i.flags & low_bits(i.flags), from.origin});
      }
    });
  } else {
    for_lanes(lanes, [&](std::uint32_t l) {
      const Undefined made{passed_on(warp, i, flow, l), passed_origin(warp, i, flow, l)};
      for (const std::uint32_t row : flow.writes) set_undefined(warp, frame, row, l, made);
    });
  }
  for (const std::uint32_t row : flow.writes) set_defined(warp, frame, row, mask & ~lanes);
  // Whether these lanes have a new value is not known.
  for_lanes(doubtful, [&](std::uint32_t l) {
    const std::uint16_t origin = undefined_of(frame, i.guard, l).origin;
    for (const std::uint32_t row : flow.writes) set_undefined(warp, frame, row, l, {kAllBits, origin});
  });
}

void follow_results(Warp& warp, const Flow& flow, std::uint32_t done) {
  if (flow.kind == FlowKind::kHandled || flow.kind == FlowKind::kLoad || flow.kind == FlowKind::kStore) return;
  Frame& frame = *warp.frame;
  for_lanes(done, [&](std::uint32_t l) {
    const bool is_control = flow.kind == FlowKind::kControl;
    std::uint64_t any = 0;
    for (const std::uint32_t row : flow.reads) any |= is_control ? 0 : undefined_of(frame, row, l).bits;
    const Undefined made{any == 0 ? 0 : kAllBits, any == 0 ? std::uint16_t{0} : origin_in(frame, flow.reads, l)};
    for (const std::uint32_t row : flow.writes) set_undefined(warp, frame, row, l, made);
  });
}

std::uint32_t unwritten_in_global(const Warp& warp, std::uint64_t address, std::uint32_t bytes) {
  const GlobalMemory& memory = warp.machine->global();
  if (!memory.has_unwritten() || !warp.interpreter->follows_values()) return 0;
  const GlobalMemory::Region* region = memory.find(address, bytes);
  return region == nullptr ? 0 : GlobalMemory::unwritten(*region, address, bytes);
}

Undefined undefined_global_word(Warp& warp, std::uint32_t lane, std::uint64_t address, std::uint32_t unwritten,
                                const Instruction& i) {
  const std::uint32_t bytes = length_of(unwritten);
  const GlobalMemory::Region* region = warp.machine->global().find(address, bytes);
  return {region->written->unwritten_bits(address - region->address, bytes),
          note_origin(warp, {.kind = Origin::Kind::kGlobal,
                             .tid = warp.thread(lane).tid,
                             .global = address + static_cast<std::uint32_t>(std::countr_zero(unwritten)),
                             .instruction = &i})};
}

std::uint32_t unwritten_at(Warp& warp, std::uint32_t lane, std::uint64_t address, std::uint32_t bytes) {
  return warp.interpreter->unwritten(warp.thread(lane), static_cast<machine::SharedAddress>(address), bytes);
}

Undefined undefined_word(Warp& warp, std::uint32_t lane, std::uint64_t address, std::uint32_t unwritten,
                         const Instruction& i) {
  const auto shared = static_cast<machine::SharedAddress>(address);
  const machine::Thread& thread = warp.thread(lane);
  const machine::Cta& cta = *thread.cta->cluster->ctas[shared >> machine::kRankShift];
  const auto first = static_cast<std::uint32_t>(std::countr_zero(unwritten));
  return {warp.interpreter->unwritten_bits(thread, shared, length_of(unwritten)),
          note_origin(warp, {.kind = Origin::Kind::kShared,
                             .tid = thread.tid,
                             .cta = cta.linear,
                             .offset = (shared & machine::kOffsetMask) + first,
                             .instruction = &i})};
}

namespace {

// Local memory that holds undefined bytes is kept by eight of them.
std::uint64_t key_of(std::uint32_t lane, std::uint64_t address) {
  return std::uint64_t{lane} << 40 | address / 8;
}

bool is_local(Space space, std::uint64_t address) {
  return space == Space::kLocal || (space == Space::kParam && (address & kWindowMask) != kParamWindow);
}

Undefined local_undefined(const Warp& warp, std::uint32_t lane, std::uint64_t address, std::uint32_t bytes) {
  address &= 0xffffffffu;
  const auto found = warp.local_undefined.find(key_of(lane, address));
  if (found == warp.local_undefined.end()) return {};
  const std::uint64_t at = address % 8;
  return {found->second.bits >> 8 * at & low_bits(8 * bytes), found->second.origin};
}

void set_local(Warp& warp, std::uint32_t lane, std::uint64_t address, std::uint32_t bytes,
               const Undefined& value) {
  address &= 0xffffffffu;
  const std::uint64_t key = key_of(lane, address);
  const auto shift = static_cast<std::uint32_t>(8 * (address % 8));
  if (value.bits == 0 && warp.local_undefined.find(key) == warp.local_undefined.end()) return;
  Undefined& kept = warp.local_undefined[key];
  kept.bits = (kept.bits & ~(low_bits(8 * bytes) << shift)) | (value.bits & low_bits(8 * bytes)) << shift;
  if (value.bits != 0) kept.origin = value.origin;
  if (kept.bits == 0) warp.local_undefined.erase(key);
}

}  // namespace

void copy_local_undefined(Warp& warp, std::uint32_t lane, std::uint64_t to, std::uint64_t from,
                          std::uint64_t bytes) {
  for (std::uint64_t b = 0; b < bytes; ++b)
    set_local(warp, lane, to + b, 1, local_undefined(warp, lane, from + b, 1));
}

void load_undefined(Warp& warp, std::uint32_t lane, Space space, std::uint64_t address, std::uint32_t bytes,
                    bool is_signed, const Instruction& i) {
  space = resolve(space, address);
  const auto count = static_cast<std::uint32_t>(i.rows.size());
  const auto set = [&](std::uint32_t e, Undefined value) {
    const std::uint64_t top = std::uint64_t{0x80} << 8 * (bytes - 1);
    if (is_signed && bytes < 8 && (value.bits & top) != 0) value.bits |= ~low_bits(8 * bytes);
    set_undefined(warp, *warp.frame, i.rows[e], lane, value);
  };
  if (space == Space::kShared || space == Space::kGlobal) {
    const bool is_shared = space == Space::kShared;
    const std::uint32_t unwritten = is_shared ? unwritten_at(warp, lane, address, bytes * count)
                                              : unwritten_in_global(warp, address, bytes * count);
    if (unwritten == 0) return;
    for (std::uint32_t e = 0; e < count; ++e) {
      const std::uint32_t part = unwritten >> e * bytes & static_cast<std::uint32_t>(low_bits(bytes));
      if (part == 0) continue;
      const std::uint64_t at = address + e * bytes;
      set(e,
          is_shared ? undefined_word(warp, lane, at, part, i) : undefined_global_word(warp, lane, at, part, i));
    }
  } else if (is_local(space, address) && !warp.local_undefined.empty()) {
    for (std::uint32_t e = 0; e < count; ++e) set(e, local_undefined(warp, lane, address + e * bytes, bytes));
  }
}

bool comes_from(const Warp& warp, const Undefined& value, std::uint64_t address, std::uint32_t bytes) {
  const Origin& origin = warp.origins[value.origin];
  return origin.kind == Origin::Kind::kGlobal && origin.global - address < bytes;
}

void unwrite_global(Warp& warp, std::uint64_t address, std::uint32_t bytes, std::uint64_t bits) {
  const GlobalMemory::Region* region = warp.machine->global().find(address, bytes);
  if (region == nullptr || region->written == nullptr) return;
  region->written->write(address - region->address, bytes);
  region->written->unwrite_bits(address - region->address, bits);
}

void store_undefined(Warp& warp, std::uint32_t lane, Space space, std::uint64_t address, std::uint32_t bytes,
                     const Instruction& i) {
  space = resolve(space, address);
  for (std::uint32_t e = 0; e < i.rows.size(); ++e) {
    Undefined value = undefined_of(*warp.frame, i.rows[e], lane);
    value.bits &= low_bits(8 * bytes);
    const std::uint64_t at = address + e * bytes;
    if (is_local(space, address)) {
      set_local(warp, lane, at, bytes, value);
    } else if (value.bits != 0 && space == Space::kShared) {
      warp.interpreter->unwrite(warp.thread(lane), static_cast<machine::SharedAddress>(at), value.bits);
    } else if (value.bits != 0 && comes_from(warp, value, at, bytes)) {
      unwrite_global(warp, at, bytes, value.bits);
    } else if (value.bits != 0) {
      return use_undefined(warp, lane, i, value.origin, "is stored to global memory");
    }
  }
}

void use_undefined(Warp& warp, std::uint32_t lane, const Instruction& i, std::uint16_t origin, const char* how) {
  warp.interpreter->use_undefined(warp, lane, i, warp.origins[origin], how);
}

}  // namespace heddle::sim::ptx
