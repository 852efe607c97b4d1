// SPDX-License-Identifier: Apache-2.0
//
// PTX: shfl.sync, vote.sync, match.sync, redux.sync, activemask, elect.sync, bar.warp.sync, stmatrix, ldmatrix,
// setmaxnreg. The lanes meet in the machine; what they exchange, they exchange here.
#include "sim/frontend/ptx/arithmetic.h"
#include "sim/frontend/ptx/decode.h"
#include "sim/frontend/ptx/interpreter.h"

#include <heddle/isa/warp.h>

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <utility>

namespace heddle::sim::ptx {

namespace {

using machine::WarpOp;

// PTX: the .sync instructions of a warp wait for lanes with the same mask and the same qualifiers, wherever they
// stand.
void check_alike(Warp& warp, const Instruction& i, std::uint32_t lane, std::uint32_t came) {
  for_lanes(came, [&](std::uint32_t k) {
    const Instruction& other = *warp.exchange[k];
    if (other.flags == i.flags) return;
    warp.machine->fault(
        &warp.thread(lane), i.site, FaultCode::kDivergence,
        fmt::format("lanes {:#010x} of the warp meet at instructions with different qualifiers; all of "
                    "them execute the same",
                    came),
        {fmt::format("{:<62} {}", fmt::format("lane {}", k), machine::place(other.site))});
  });
}

// What the lane that gives nothing is to whoever asked it.
Undefined nothing_from(Warp& warp, std::uint32_t lane, std::uint32_t from) {
  return {0xffffffffu, note_origin(warp, {.kind = Origin::Kind::kLane,
                                          .tid = warp.thread(lane).tid,
                                          .offset = from,
                                          .instruction = warp.exchange[lane]})};
}

// Every result depends on what all lanes have given.
Undefined all_given(const Warp& warp, std::uint32_t came) {
  Undefined all;
  for_lanes(came, [&](std::uint32_t k) {
    if (warp.given_undefined[k].bits != 0) all = {~std::uint64_t{0}, warp.given_undefined[k].origin};
  });
  return all;
}

// Each lane's bit depends on what that lane has given.
Undefined each_given(const Warp& warp, std::uint32_t came) {
  Undefined all;
  for_lanes(came, [&](std::uint32_t k) {
    if (warp.given_undefined[k].bits != 0)
      all = {all.bits | std::uint64_t{1} << k, warp.given_undefined[k].origin};
  });
  return all;
}

// An exchange: each lane hands over two words, and once all of them have come, the first to go on works out what
// each of them gets. `result` gets a lane, and those that have come; `undefined` says what of it means nothing.
template <class Result, class Doubt>
std::uint32_t exchange(Warp& warp, const Instruction& i, std::uint32_t mask, WarpOp op, std::uint32_t members_row,
                       std::uint32_t operand_row, Result&& result, Doubt&& undefined) {
  return meet(
      warp, mask,
      [&](std::uint32_t l) {
        warp.given[l] = warp.rows[i.a][l];
        warp.operand[l] = warp.rows[operand_row][l];
        warp.given_undefined[l] = {};
        warp.operand_undefined[l] = {};
        if (warp.undefined_rows != 0) {
          warp.given_undefined[l] = undefined_of(*warp.frame, i.a, l);
          warp.operand_undefined[l] = undefined_of(*warp.frame, operand_row, l);
        }
        warp.open |= 1u << l;
        warp.members[l] = static_cast<std::uint32_t>(warp.rows[members_row][l]);
        warp.exchange[l] = &i;
        warp.machine->warps.meet(warp.thread(l), op, warp.members[l], 0, 0, i.site);
      },
      [&](std::uint32_t l) {
        if ((warp.open >> l & 1) != 0) {
          const std::uint32_t came = warp.members[l] & warp.open;
          warp.open &= ~came;
          check_alike(warp, i, l, came);
          for_lanes(came, [&](std::uint32_t k) { warp.received[k] = result(k, came); });
          warp.doubtful &= ~came;
          if (warp.undefined_rows != 0 || came != 0xffffffffu) [[unlikely]] {
            warp.doubtful |= came;
            for_lanes(came, [&](std::uint32_t k) { warp.received_undefined[k] = undefined(k, came); });
          }
        }
        if (i.d != kNone) warp.rows[i.d][l] = warp.received[l];
        if (i.d2 != kNone) warp.rows[i.d2][l] = warp.received[l] >> 32 & 1;
        if (warp.undefined_rows != 0 || (warp.doubtful >> l & 1) != 0) [[unlikely]] {
          const Undefined doubt = (warp.doubtful >> l & 1) != 0 ? warp.received_undefined[l] : Undefined{};
          if (i.d != kNone) set_undefined(warp, *warp.frame, i.d, l, doubt);
          if (i.d2 != kNone) set_undefined(warp, *warp.frame, i.d2, l, {doubt.bits >> 32, doubt.origin});
        }
        return true;
      });
}

enum ShflMode : std::uint32_t { kIdx, kUp, kDown, kBfly };

struct ShflSource {
  std::uint32_t lane;
  bool is_in_range;  // otherwise it is the own one
};

// PTX: shfl.sync. The clamp and segment masks come packed in one word.
ShflSource shfl_source(const Warp& warp, std::uint32_t mode, std::uint32_t l) {
  const std::uint32_t clamp = warp.clamp[l] & 31;
  const std::uint32_t segment = warp.clamp[l] >> 8 & 31;
  const auto b = static_cast<std::uint32_t>(warp.operand[l]) & 31;
  const std::uint32_t last = (l & segment) | (clamp & ~segment);
  std::uint32_t from = 0;
  bool in_range = false;
  switch (mode) {
    case kUp:
      from = l - b;
      in_range = static_cast<std::int32_t>(from) >= static_cast<std::int32_t>(last);
      break;
    case kDown:
      from = l + b;
      in_range = from <= last;
      break;
    case kBfly:
      from = l ^ b;
      in_range = from <= last;
      break;
    default:
      from = (l & segment) | (b & ~segment);
      in_range = from <= last;
      break;
  }
  return {in_range ? from : l, in_range};
}

// Kernels read lanes that have exited, or that are not in the mask, and drop what they got.
std::uint32_t shfl(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    if (warp.step[l] == 0) warp.clamp[l] = static_cast<std::uint32_t>(warp.rows[i.c][l]);
  });
  return exchange(
      warp, i, mask, WarpOp::kShfl, i.e, i.b,
      [&](std::uint32_t l, std::uint32_t came) {
        const ShflSource from = shfl_source(warp, i.flags, l);
        const bool is_here = (came >> from.lane & 1) != 0;
        const std::uint64_t value = is_here ? warp.given[from.lane] & 0xffffffffu : machine::kNoValue;
        return value | std::uint64_t{from.is_in_range} << 32;
      },
      [&](std::uint32_t l, std::uint32_t came) {
        const ShflSource from = shfl_source(warp, i.flags, l);
        if ((came >> from.lane & 1) == 0) return nothing_from(warp, l, from.lane);
        if (warp.operand_undefined[l].bits != 0)
          return Undefined{~std::uint64_t{0}, warp.operand_undefined[l].origin};
        return Undefined{warp.given_undefined[from.lane].bits & 0xffffffffu,
                         warp.given_undefined[from.lane].origin};
      });
}

enum VoteMode : std::uint32_t { kAll, kAny, kUni, kBallot };

// flags: the mode, and 4 if the predicate is negated.
std::uint32_t vote(Warp& warp, const Instruction& i, std::uint32_t mask) {
  const std::uint64_t flip = i.flags >> 2 & 1;
  return exchange(
      warp, i, mask, WarpOp::kVote, i.b, i.a,
      [&](std::uint32_t, std::uint32_t members) {
        std::uint32_t ballot = 0;
        for_lanes(members, [&](std::uint32_t k) {
          if ((warp.given[k] != 0 ? 1u : 0u) != flip) ballot |= 1u << k;
        });
        switch (i.flags & 3) {
          case kAll: return std::uint64_t{ballot == members};
          case kAny: return std::uint64_t{ballot != 0};
          case kUni: return std::uint64_t{ballot == members || ballot == 0};
          default: return std::uint64_t{ballot};
        }
      },
      [&](std::uint32_t, std::uint32_t came) {
        return (i.flags & 3) == kBallot ? each_given(warp, came) : all_given(warp, came);
      });
}

// flags: 1: all lanes must have the same value; 2: 64 bits.
std::uint32_t match(Warp& warp, const Instruction& i, std::uint32_t mask) {
  const std::uint64_t ones = (i.flags & 2) != 0 ? ~std::uint64_t{0} : 0xffffffffu;
  return exchange(
      warp, i, mask, WarpOp::kMatch, i.b, i.a,
      [&](std::uint32_t l, std::uint32_t members) {
        std::uint32_t same = 0;
        for_lanes(members, [&](std::uint32_t k) {
          if (((warp.given[k] ^ warp.given[l]) & ones) == 0) same |= 1u << k;
        });
        if ((i.flags & 1) == 0) return std::uint64_t{same};
        return same == members ? std::uint64_t{same} | std::uint64_t{1} << 32 : std::uint64_t{0};
      },
      [&](std::uint32_t, std::uint32_t came) { return all_given(warp, came); });
}

enum ReduxOp : std::uint32_t { kAdd, kMin, kMax, kAnd, kOr, kXor, kMinSigned, kMaxSigned };

std::uint32_t redux(Warp& warp, const Instruction& i, std::uint32_t mask) {
  return exchange(
      warp, i, mask, WarpOp::kRedux, i.b, i.a,
      [&](std::uint32_t, std::uint32_t members) {
        bool is_first = true;
        std::uint32_t result = 0;
        for_lanes(members, [&](std::uint32_t k) {
          const auto value = static_cast<std::uint32_t>(warp.given[k]);
          const auto left = static_cast<std::int32_t>(result);
          const auto right = static_cast<std::int32_t>(value);
          if (std::exchange(is_first, false)) {
            result = value;
            return;
          }
          switch (i.flags) {
            case kAdd: result += value; break;
            case kMin: result = value < result ? value : result; break;
            case kMax: result = value > result ? value : result; break;
            case kAnd: result &= value; break;
            case kOr: result |= value; break;
            case kXor: result ^= value; break;
            case kMinSigned: result = right < left ? value : result; break;
            default: result = right > left ? value : result; break;
          }
        });
        return std::uint64_t{result};
      },
      [&](std::uint32_t, std::uint32_t came) { return all_given(warp, came); });
}

// flags: 1: the largest; 2: a NaN wins; 4: of the magnitudes.
std::uint32_t redux_float(Warp& warp, const Instruction& i, std::uint32_t mask) {
  return exchange(
      warp, i, mask, WarpOp::kRedux, i.b, i.a,
      [&](std::uint32_t, std::uint32_t members) {
        bool is_first = true;
        float result = 0;
        for_lanes(members, [&](std::uint32_t k) {
          float value = get<float>(warp.given[k]);
          if ((i.flags & 4) != 0) value = std::abs(value);
          if (std::exchange(is_first, false)) {
            result = value;
          } else if (std::isnan(result) || std::isnan(value)) {
            const bool nan_wins = (i.flags & 2) != 0;
            if (std::isnan(result) != nan_wins) result = value;
          } else if (value == result ? std::signbit(value) != std::signbit(result) &&
                                           std::signbit(value) != ((i.flags & 1) != 0)
                                     : (value > result) == ((i.flags & 1) != 0)) {
            result = value;  // of zeros of either sign, the positive one is larger
          }
        });
        return std::isnan(result) ? std::uint64_t{kCanonicalNan} : put(result);
      },
      [&](std::uint32_t, std::uint32_t came) { return all_given(warp, came); });
}

std::uint32_t warp_sync(Warp& warp, const Instruction& i, std::uint32_t mask) {
  return meet(
      warp, mask,
      [&](std::uint32_t l) {
        const auto members = static_cast<std::uint32_t>(warp.rows[i.a][l]);
        warp.machine->warps.meet(warp.thread(l), WarpOp::kSync, members, 0, 0, i.site);
      },
      [](std::uint32_t) { return true; });
}

std::uint32_t elect(Warp& warp, const Instruction& i, std::uint32_t mask) {
  return meet(
      warp, mask,
      [&](std::uint32_t l) {
        const auto members = static_cast<std::uint32_t>(warp.rows[i.a][l]);
        warp.machine->warps.meet(warp.thread(l), WarpOp::kElect, members, 0, 0, i.site);
      },
      [&](std::uint32_t l) {
        warp.rows[i.d][l] = warp.threads[l].result;
        if (i.d2 != kNone) warp.rows[i.d2][l] = put(warp.threads[l].result == l);
        return true;
      });
}

void active_mask(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) { warp.rows[i.d][l] = mask; });
}

// flags of stmatrix and ldmatrix: 1: a store; 2: the address is generic; the shape.
constexpr std::uint32_t kMatrixShapeShift = 2;

machine::MatrixShape matrix_shape(const Instruction& i) {
  return static_cast<machine::MatrixShape>(i.flags >> kMatrixShapeShift);
}

// Byte `b` of a lane's register r: the row, as the lane that has its address, and the byte in it.
struct MatrixPlace {
  std::uint32_t lane, byte;
};

MatrixPlace matrix_place(const Instruction& i, std::uint32_t lane, std::uint32_t r, std::uint32_t b) {
  const std::uint32_t row = lane / 4;
  const std::uint32_t column = 2 * (lane % 4) + b / 2;
  switch (matrix_shape(i)) {
    case machine::MatrixShape::k8x8: return {8 * r + row, 2 * column + b % 2};
    case machine::MatrixShape::k8x8Transposed: return {8 * r + column, 2 * row + b % 2};
    case machine::MatrixShape::k16x16Bytes: return {16 * (r / 2) + 4 * (lane % 4) + b, row + 8 * (r % 2)};
    case machine::MatrixShape::k16x8Bytes: return {8 * r + 2 * (lane % 4) + b % 2, row + 8 * (b / 2)};
  }
  return {};
}

// What a ldmatrix gave a lane of memory that nobody has written.
Undefined matrix_undefined(Warp& warp, const Instruction& i, std::uint32_t lane, std::uint32_t r) {
  Undefined all;
  for (std::uint32_t b = 0; b < 4; ++b) {
    const MatrixPlace place = matrix_place(i, lane, r, b);
    const std::uint64_t address = warp.matrix[place.lane].row + place.byte;
    const std::uint32_t unwritten = unwritten_at(warp, lane, address, 1);
    if (unwritten == 0) continue;
    const Undefined part = undefined_word(warp, lane, address, unwritten, i);
    all = {all.bits | part.bits << 8 * b, part.origin};
  }
  return all;
}

// The lanes have stored; what is undefined stays so in memory.
void unwrite_matrix(Warp& warp, const Instruction& i) {
  if (warp.undefined_rows == 0) return;
  for (std::uint32_t l = 0; l < 32; ++l) {
    for (std::uint32_t r = 0; r < i.rows.size(); ++r) {
      const std::uint64_t bits = undefined_of(*warp.frame_of[l], i.rows[r], l).bits;
      for (std::uint32_t b = 0; b < 4; ++b) {
        if ((bits >> 8 * b & 0xff) == 0) continue;
        const MatrixPlace place = matrix_place(i, l, r, b);
        warp.interpreter->unwrite(warp.thread(l), warp.matrix[place.lane].row + place.byte, bits >> 8 * b & 0xff);
      }
    }
  }
}

// The lanes' operands stay in the warp until all of them have met.
std::uint32_t move_matrix(Warp& warp, const Instruction& i, std::uint32_t mask) {
  const bool is_store = (i.flags & 1) != 0;
  const auto count = static_cast<std::uint32_t>(i.rows.size());
  return meet(
      warp, mask,
      [&](std::uint32_t l) {
        for (std::uint32_t r = 0; r < count && is_store; ++r) {
          warp.matrix_registers[l][r] = static_cast<std::uint32_t>(warp.rows[i.rows[r]][l]);
        }
        warp.matrix[l] = {
            .row = 0, .registers = warp.matrix_registers[l].data(), .count = count, .shape = matrix_shape(i)};
        if (l < 8 * count) {
          warp.matrix[l].row = shared_address(warp, l, warp.rows[i.a][l] + i.value, (i.flags & 2) != 0, i);
        }
        if (is_store) {
          if (warp.machine->matrices.stmatrix(warp.thread(l), warp.matrix[l], i.site)) unwrite_matrix(warp, i);
        } else {
          if (!warp.machine->matrices.ldmatrix(warp.thread(l), warp.matrix[l], i.site)) return;
          warp.matrix_doubtful = false;
          for (std::uint32_t row = 0; row < 8 * count; ++row) {
            warp.matrix_doubtful |= unwritten_at(warp, row, warp.matrix[row].row, 16) != 0;
          }
        }
      },
      [&](std::uint32_t l) {
        for (std::uint32_t r = 0; r < count && !is_store; ++r) {
          warp.rows[i.rows[r]][l] = warp.matrix_registers[l][r];
          if (!warp.matrix_doubtful && warp.undefined_rows == 0) continue;
          set_undefined(warp, *warp.frame, i.rows[r], l, matrix_undefined(warp, i, l, r));
        }
        return true;
      });
}

// PTX: movmatrix. A lane has elements (lane / 4, 2 * (lane % 4)) and the next of a matrix of 8 x 8, before and
// after.
std::uint32_t transpose_matrix(Warp& warp, const Instruction& i, std::uint32_t mask) {
  const auto source = [](std::uint32_t lane, std::uint32_t half) {
    const std::uint32_t row = 2 * (lane % 4) + half;
    const std::uint32_t column = lane / 4;
    return MatrixPlace{4 * row + column / 2, 16 * (column % 2)};  // lane, and the bit in its register
  };
  return exchange(
      warp, i, mask, WarpOp::kMovmatrix, i.b, i.a,
      [&](std::uint32_t l, std::uint32_t) {
        std::uint64_t result = 0;
        for (std::uint32_t half = 0; half < 2; ++half) {
          const MatrixPlace from = source(l, half);
          result |= (warp.given[from.lane] >> from.byte & 0xffff) << 16 * half;
        }
        return result;
      },
      [&](std::uint32_t l, std::uint32_t) {
        Undefined all;
        for (std::uint32_t half = 0; half < 2; ++half) {
          const MatrixPlace from = source(l, half);
          const Undefined& given = warp.given_undefined[from.lane];
          const std::uint64_t bits = given.bits >> from.byte & 0xffff;
          if (bits != 0) all = {all.bits | bits << 16 * half, given.origin};
        }
        return all;
      });
}

// flags: 1: increases.
std::uint32_t setmaxnreg(Warp& warp, const Instruction& i, std::uint32_t mask) {
  return meet(
      warp, mask,
      [&](std::uint32_t l) {
        warp.machine->registers.setmaxnreg(warp.thread(l), i.flags != 0, static_cast<std::uint32_t>(i.value),
                                           i.site);
      },
      [&](std::uint32_t l) { return warp.machine->registers.setmaxnreg_wait(warp.thread(l), i.site); });
}

void decode_matrix(Build& b, bool is_store, machine::MatrixShape shape, std::string_view count,
                   std::string_view space) {
  b.want(2);
  Instruction& out = b.out();
  b.address(is_store ? 0 : 1);
  out.rows = is_store ? b.sources(b.operand(1)) : b.targets(b.operand(0));
  const std::size_t each = shape == machine::MatrixShape::k16x16Bytes ? 2 : 1;
  const std::size_t wanted = each * (count == ".x1" ? 1 : count == ".x2" ? 2 : 4);
  if (out.rows.size() != wanted) b.fail(fmt::format("{} registers where {} are wanted", out.rows.size(), wanted));
  out.flags =
      (is_store ? 1u : 0u) | (space.empty() ? 2u : 0u) | static_cast<std::uint32_t>(shape) << kMatrixShapeShift;
  b.machine(move_matrix);
}

}  // namespace

void add_warp_forms(FormTable& table) {
  table.add("shfl.sync{.idx,.up,.down,.bfly}.b32", [](Build& b) {
    b.want(5);
    Instruction& out = b.out();
    out.d = b.target(0);
    out.d2 = b.operand(0).second;
    out.a = b.source(1);
    out.b = b.source(2);
    out.c = b.source(3);
    out.e = b.source(4);
    constexpr std::string_view kModes[] = {".idx", ".up", ".down", ".bfly"};
    while (kModes[out.flags] != b.mod(0)) ++out.flags;
    b.machine(shfl);
  });
  table.add("vote.sync{.all,.any,.uni,.ballot}{.pred,.b32}", [](Build& b) {
    b.want(3);
    Instruction& out = b.out();
    out.d = b.target(0);
    bool negated = false;
    out.a = b.predicate(1, negated);
    out.b = b.source(2);
    constexpr std::string_view kModes[] = {".all", ".any", ".uni", ".ballot"};
    while (kModes[out.flags] != b.mod(0)) ++out.flags;
    if (negated) out.flags |= 4;
    b.machine(vote);
  });
  table.add("match{.any,.all}.sync{.b32,.b64}", [](Build& b) {
    b.want(3);
    Instruction& out = b.out();
    out.d = b.target(0);
    out.d2 = b.operand(0).second;
    out.a = b.source(1);
    out.b = b.source(2);
    out.flags = (b.mod(0) == ".all" ? 1u : 0u) | (b.mod(1) == ".b64" ? 2u : 0u);
    b.machine(match);
  });
  table.add("redux.sync{.add,.min,.max,.and,.or,.xor}{.u32,.s32,.b32}", [](Build& b) {
    b.want(3);
    Instruction& out = b.out();
    out.d = b.target(0);
    out.a = b.source(1);
    out.b = b.source(2);
    constexpr std::string_view kNames[] = {".add", ".min", ".max", ".and", ".or", ".xor"};
    while (kNames[out.flags] != b.mod(0)) ++out.flags;
    if (b.mod(1) == ".s32" && out.flags == kMin) out.flags = kMinSigned;
    if (b.mod(1) == ".s32" && out.flags == kMax) out.flags = kMaxSigned;
    b.machine(redux);
  });
  table.add("redux.sync{.min,.max}[.abs][.NaN].f32", [](Build& b) {
    b.want(3);
    Instruction& out = b.out();
    out.d = b.target(0);
    out.a = b.source(1, ".f32");
    out.b = b.source(2);
    out.flags = (b.mod(0) == ".max" ? 1u : 0u) | (b.has(2) ? 2u : 0u) | (b.has(1) ? 4u : 0u);
    b.machine(redux_float);
  });
  table.add("elect.sync", [](Build& b) {
    b.want(2);
    b.out().d = b.target(0);
    b.out().d2 = b.operand(0).second;
    b.out().a = b.source(1);
    b.machine(elect);
  });
  table.add("bar.warp.sync", [](Build& b) {
    b.want(1);
    b.out().a = b.source(0);
    b.machine(warp_sync);
  });
  table.add("activemask.b32", [](Build& b) { b.simple(0, {}, active_mask); });
  const auto square = [](const Build& b) {
    return b.has(1) ? machine::MatrixShape::k8x8Transposed : machine::MatrixShape::k8x8;
  };
  table.add("stmatrix.sync.aligned.m8n8{.x1,.x2,.x4}[.trans][.shared,.shared::cta].b16",
            [square](Build& b) { decode_matrix(b, true, square(b), b.mod(0), b.mod(2)); });
  // Unverified: no sm_100 part has run these two; their layouts are those that CUTLASS gives them.
  table.add("stmatrix.sync.aligned.m16n8{.x1,.x2,.x4}.trans[.shared,.shared::cta].b8",
            [](Build& b) { decode_matrix(b, true, machine::MatrixShape::k16x8Bytes, b.mod(0), b.mod(1)); });
  table.add("ldmatrix.sync.aligned.m16n16{.x1,.x2}.trans[.shared,.shared::cta].b8",
            [](Build& b) { decode_matrix(b, false, machine::MatrixShape::k16x16Bytes, b.mod(0), b.mod(1)); });
  table.add("ldmatrix.sync.aligned.m8n8{.x1,.x2,.x4}[.trans][.shared,.shared::cta].b16",
            [square](Build& b) { decode_matrix(b, false, square(b), b.mod(0), b.mod(2)); });
  table.add("movmatrix.sync.aligned.m8n8.trans.b16", [](Build& b) {
    b.want(2);
    b.out().d = b.target(0);
    b.out().a = b.source(1);
    b.out().b = b.immediate(isa::kFullMask);
    b.machine(transpose_matrix);
  });
  table.add("setmaxnreg{.inc,.dec}.sync.aligned.u32", [](Build& b) {
    b.want(1);
    b.out().value = b.constant(0);
    const bool increases = b.mod(0) == ".inc";
    b.out().flags = increases ? 1 : 0;
    if (increases) {
      std::uint32_t& most = b.function().most_registers;
      most = std::max(most, static_cast<std::uint32_t>(b.out().value));
    }
    b.machine(setmaxnreg);
  });
}

}  // namespace heddle::sim::ptx
