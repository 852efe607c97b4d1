// SPDX-License-Identifier: Apache-2.0
//
// PTX: Video Instructions: integer arithmetic on bytes, halves and words that selectors pick out of the sources,
// with a sum or a merge into the third. Scalar ones have one part, SIMD ones two or four.
//
// What is there gave the manual's results on an H200. Not there is what did not, where the assembler, which makes
// other instructions of these, seems to be wrong: .min and .max as second operations, a merge into .h1, .sat of
// what is merged, of shifts to the left and of sums of unsigned words, .sat and shifts of unsigned vmad.
#include "sim/frontend/ptx/decode.h"
#include "sim/frontend/ptx/narrow_integer.h"
#include "sim/frontend/ptx/warp.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace heddle::sim::ptx {

namespace {

enum class VideoOp : std::uint8_t {
  kAdd,
  kSub,
  kAverage,
  kAbsDiff,
  kMin,
  kMax,
  kShl,
  kShr,
  kMad,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe
};

// What `more` of an instruction has. Places are bytes of the pair that a and b are, a being the lower word.
struct Video {
  VideoOp op = VideoOp::kAdd;
  bool adds_c = false;
  std::uint8_t parts = 1;
  std::uint8_t mask = 15;  // the parts that are not c's
  std::uint16_t a_at = 0;  // three bits for each part
  std::uint16_t b_at = 0;
  std::uint8_t a_bytes = 4, b_bytes = 4, d_bytes = 4;
  std::uint8_t d_at = 0;
  bool is_a_signed = false, is_b_signed = false, is_d_signed = false;
  bool saturates = false;
  bool wraps = false;      // shifts
  bool adds_one = false;   // vmad.po
  std::uint8_t scale = 0;  // vmad: bits that the sum is shifted by
  std::uint8_t unused = 0;
};
using VideoWords = std::array<std::uint32_t, sizeof(Video) / sizeof(std::uint32_t)>;

void keep(Build& b, const Video& video) {
  const auto words = std::bit_cast<VideoWords>(video);
  b.out().more.assign(words.begin(), words.end());
}

std::int64_t value_of(const Video& video, std::int64_t a, std::int64_t b) {
  switch (video.op) {
    case VideoOp::kAdd: return a + b;
    case VideoOp::kSub: return a - b;
    case VideoOp::kAverage: return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1;
    case VideoOp::kAbsDiff: return std::abs(a - b);
    case VideoOp::kMin: return std::min(a, b);
    case VideoOp::kMax: return std::max(a, b);
    case VideoOp::kShl: return a << (video.wraps ? b & 31 : std::min<std::int64_t>(b, 32));
    case VideoOp::kShr: return a >> (video.wraps ? b & 31 : std::min<std::int64_t>(b, 32));
    case VideoOp::kEq: return a == b ? 1 : 0;
    case VideoOp::kNe: return a != b ? 1 : 0;
    case VideoOp::kLt: return a < b ? 1 : 0;
    case VideoOp::kLe: return a <= b ? 1 : 0;
    case VideoOp::kGt: return a > b ? 1 : 0;
    default: return a >= b ? 1 : 0;
  }
}

std::uint64_t ones(std::uint32_t bytes) { return (std::uint64_t{1} << 8 * bytes) - 1; }

template <class Apply>
void for_video(Warp& warp, const Instruction& i, std::uint32_t mask, Apply&& apply) {
  VideoWords words;
  std::copy(i.more.begin(), i.more.end(), words.begin());
  const auto video = std::bit_cast<Video>(words);
  for_lanes(mask, [&](std::uint32_t l) {
    const std::uint64_t pair = (warp.rows[i.a][l] & ones(4)) | warp.rows[i.b][l] << 32;
    const auto a = [&](std::uint32_t part) {
      return field(pair, 8u * (video.a_at >> 3 * part & 7u), 8u * video.a_bytes, video.is_a_signed);
    };
    const auto b = [&](std::uint32_t part) {
      return field(pair, 8u * (video.b_at >> 3 * part & 7u), 8u * video.b_bytes, video.is_b_signed);
    };
    warp.rows[i.d][l] = apply(video, a, b, warp.rows[i.c][l]);
  });
}

// The result replaces a part of c, or goes on with the whole of c to the second operation.
void scalar_video(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_video(warp, i, mask, [](const Video& video, auto&& a, auto&& b, std::uint64_t c) {
    std::int64_t value = value_of(video, a(0), b(0));
    const std::uint32_t bits = 8u * video.d_bytes;
    const bool has_sign = video.is_d_signed;
    if (video.saturates) value = std::clamp(value, least(bits, has_sign), most(bits, has_sign));
    if (video.adds_c) value += field(c, 0, 32, has_sign);
    const std::uint64_t kept = ones(video.d_bytes) << 8 * video.d_at;
    return static_cast<std::uint32_t>((c & ~kept) | (static_cast<std::uint64_t>(value) << 8 * video.d_at & kept));
  });
}

// PTX: vmad: the product and c, shifted right, and cut to 32 bits.
void video_mad(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_video(warp, i, mask, [](const Video& video, auto&& a, auto&& b, std::uint64_t c) {
    const bool has_sign = video.is_a_signed || video.is_b_signed;
    // All of it fits into 64 bits, with a sign or without.
    const std::uint64_t sum = static_cast<std::uint64_t>(a(0)) * static_cast<std::uint64_t>(b(0)) +
                              static_cast<std::uint64_t>(field(c, 0, 32, has_sign)) + (video.adds_one ? 1 : 0);
    if (!has_sign) {
      const std::uint64_t value = sum >> video.scale;
      return static_cast<std::uint32_t>(video.saturates ? std::min<std::uint64_t>(value, ones(4)) : value);
    }
    std::int64_t value = static_cast<std::int64_t>(sum) >> video.scale;
    if (video.saturates) value = std::clamp(value, least(32, true), most(32, true));
    return static_cast<std::uint32_t>(value);
  });
}

// Each part of the result replaces that of c, or, with .add, is added to c.
void simd_video(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_video(warp, i, mask, [](const Video& video, auto&& a, auto&& b, std::uint64_t c) {
    const std::uint32_t bits = 32u / video.parts;
    auto sum = static_cast<std::uint32_t>(c);
    auto merged = static_cast<std::uint32_t>(c);
    for (std::uint32_t part = 0; part < video.parts; ++part) {
      if ((video.mask >> part & 1u) == 0) continue;
      std::int64_t value = value_of(video, a(part), b(part));
      const bool has_sign = video.is_d_signed;
      if (video.saturates) value = std::clamp(value, least(bits, has_sign), most(bits, has_sign));
      sum += static_cast<std::uint32_t>(value);
      const std::uint32_t place = ((1u << bits) - 1) << bits * part;
      merged = (merged & ~place) | (static_cast<std::uint32_t>(value) << bits * part & place);
    }
    return video.adds_c ? sum : merged;
  });
}

// What ".h1" or ".b3210" behind an operand says: the place of each part, the lowest first, or none.
struct Selector {
  std::uint8_t bytes = 4;
  std::vector<std::uint8_t> at;  // in bytes
};

// `parts` digits, each less than `places`.
Selector selector(Build& b, std::string_view text, std::size_t least_parts, std::size_t most_parts,
                  std::uint32_t halves) {
  if (text.empty()) return {};
  Selector result{.bytes = static_cast<std::uint8_t>(text[0] == 'h' ? 2 : 1), .at = {}};
  const std::uint32_t places = text[0] == 'h' ? halves : 2 * halves;
  bool is_known =
      (text[0] == 'h' || text[0] == 'b') && text.size() > least_parts && text.size() <= most_parts + 1;
  for (std::size_t digit = text.size(); is_known && digit-- > 1;) {
    const auto place = static_cast<std::uint32_t>(text[digit] - '0');
    is_known = place < places;
    result.at.push_back(static_cast<std::uint8_t>(result.bytes * place));
  }
  if (!is_known) b.fail("the selector '." + std::string(text) + "', which it does not take");
  return result;
}

Operand without_part(const Operand& operand) {
  Operand whole = operand;
  whole.part = {};
  return whole;
}

Video typed(VideoOp op, std::string_view d, std::string_view a, std::string_view b) {
  Video video;
  video.op = op;
  video.is_d_signed = is_signed(d);
  video.is_a_signed = is_signed(a);
  video.is_b_signed = is_signed(b);
  return video;
}

void refuse_where_cards_differ(const Build& b, const Video& video, const Selector& d, bool has_words) {
  const bool is_sum = video.op == VideoOp::kAdd || video.op == VideoOp::kAbsDiff;
  const bool is_unsigned_sum = is_sum && has_words && !video.is_d_signed && !video.is_b_signed;
  const bool is_unsigned_mad = video.op == VideoOp::kMad && !(video.is_a_signed && video.is_b_signed);
  if (d.bytes == 2 && d.at[0] == 2) b.unsupported("a merge into .h1");
  if (video.saturates && !d.at.empty()) b.unsupported(".sat of a part of d");
  if (video.saturates && is_unsigned_sum) b.unsupported(".sat of unsigned words");
  if (is_unsigned_mad && (video.saturates || video.scale != 0))
    b.unsupported(".sat, .shr7 or .shr15 of unsigned numbers");
}

// d{.part}, a{.part}, b{.part}{, c}: c is there for a second operation, or where d is a part of it.
void scalar(Build& b, Video video, Handler handler) {
  const bool has_c = b.operands() == 4;
  b.want(3, 4);
  const Selector d = selector(b, b.operand(0).part, 1, 1, 2);
  const Selector from_a = selector(b, b.operand(1).part, 1, 1, 2);
  const Selector from_b = selector(b, b.operand(2).part, 1, 1, 2);
  const bool wants_c = video.adds_c || !d.at.empty() || video.op == VideoOp::kMad;
  if (video.adds_c && !d.at.empty()) b.fail("a second operation, and a part of d");
  if (has_c != wants_c)
    b.fail(has_c ? "a fourth operand that nothing is done with" : "a fourth operand is wanted");
  refuse_where_cards_differ(b, video, d, from_a.bytes == 4 || from_b.bytes == 4);
  video.a_bytes = from_a.bytes;
  video.b_bytes = from_b.bytes;
  video.d_bytes = d.bytes;
  video.a_at = from_a.at.empty() ? std::uint16_t{0} : from_a.at[0];
  video.b_at = static_cast<std::uint16_t>(4 + (from_b.at.empty() ? 0 : from_b.at[0]));
  video.d_at = d.at.empty() ? std::uint8_t{0} : d.at[0];
  b.out().d = b.target(without_part(b.operand(0)));
  b.out().a = b.source(without_part(b.operand(1)));
  b.out().b = b.source(without_part(b.operand(2)));
  b.out().c = has_c ? b.source(3) : b.immediate(0);
  keep(b, video);
  b.scalar(handler);
}

// d{.mask}, a{.selector}, b{.selector}, c: each part of the sources is one of those that a and b have together.
void simd(Build& b, Video video, std::uint8_t parts) {
  b.want(4);
  const auto bytes = static_cast<std::uint8_t>(4 / parts);
  const auto places = [&](std::string_view text, std::uint32_t first) {
    const Selector chosen = selector(b, text, parts, parts, 4);
    if (!chosen.at.empty() && chosen.bytes != bytes) b.fail("a selector of parts of another size");
    std::uint32_t at = 0;
    for (std::uint32_t part = 0; part < parts; ++part) {
      at |= (chosen.at.empty() ? first + bytes * part : chosen.at[part]) << 3 * part;
    }
    return static_cast<std::uint16_t>(at);
  };
  const Selector kept = selector(b, b.operand(0).part, 1, parts, 2);
  if (!kept.at.empty() && kept.bytes != bytes) b.fail("a mask of parts of another size");
  video.parts = parts;
  video.a_bytes = video.b_bytes = bytes;
  video.a_at = places(b.operand(1).part, 0);
  video.b_at = places(b.operand(2).part, 4);
  if (!kept.at.empty()) video.mask = 0;
  for (const std::uint32_t at : kept.at) video.mask = static_cast<std::uint8_t>(video.mask | 1u << at / bytes);
  b.out().d = b.target(without_part(b.operand(0)));
  b.out().a = b.source(without_part(b.operand(1)));
  b.out().b = b.source(without_part(b.operand(2)));
  b.out().c = b.source(3);
  keep(b, video);
  b.scalar(simd_video);
}

VideoOp comparison(std::string_view modifier) {
  constexpr std::string_view kCompares[] = {".eq", ".ne", ".lt", ".le", ".gt", ".ge"};
  auto op = static_cast<std::uint32_t>(VideoOp::kEq);
  for (const std::string_view* at = kCompares; *at != modifier; ++at) ++op;
  return static_cast<VideoOp>(op);
}

constexpr const char* kTypes = "{.u32,.s32}{.u32,.s32}{.u32,.s32}";

void add_simd_forms(FormTable& table, const std::string& count, std::uint8_t parts) {
  constexpr const char* kNames[] = {"vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"};
  for (std::uint32_t op = 0; op < std::size(kNames); ++op) {
    table.add(kNames[op] + count + kTypes + "[.sat,.add]", [=](Build& b) {
      Video video = typed(static_cast<VideoOp>(op), b.mod(0), b.mod(1), b.mod(2));
      video.saturates = b.mod(3) == ".sat";
      video.adds_c = b.mod(3) == ".add";
      simd(b, video, parts);
    });
  }
  table.add("vset" + count + "{.u32,.s32}{.u32,.s32}{.eq,.ne,.lt,.le,.gt,.ge}[.add]", [=](Build& b) {
    Video video = typed(comparison(b.mod(2)), ".u32", b.mod(0), b.mod(1));
    video.adds_c = b.has(3);
    simd(b, video, parts);
  });
}

}  // namespace

void add_video_forms(FormTable& table) {
  for (const auto& [name, op] : {std::pair{"vadd", VideoOp::kAdd},
                                 {"vsub", VideoOp::kSub},
                                 {"vabsdiff", VideoOp::kAbsDiff},
                                 {"vmin", VideoOp::kMin},
                                 {"vmax", VideoOp::kMax}}) {
    table.add(std::string(name) + kTypes + "[.sat][.add]", [op = op](Build& b) {
      Video video = typed(op, b.mod(0), b.mod(1), b.mod(2));
      video.saturates = b.has(3);
      video.adds_c = b.has(4);
      scalar(b, video, scalar_video);
    });
  }
  const auto shift = [&](std::string_view pattern, VideoOp op) {
    table.add(pattern, [op](Build& b) {
      Video video = typed(op, b.mod(0), b.mod(1), ".u32");
      video.wraps = b.mod(2) == ".wrap";
      video.adds_c = b.has(3);
      video.saturates = op == VideoOp::kShr && b.has(4);
      scalar(b, video, scalar_video);
    });
  };
  shift("vshl{.u32,.s32}{.u32,.s32}.u32{.clamp,.wrap}[.add]", VideoOp::kShl);
  shift("vshr{.u32,.s32}{.u32,.s32}.u32{.clamp,.wrap}[.add][.sat]", VideoOp::kShr);
  table.add("vset{.u32,.s32}{.u32,.s32}{.eq,.ne,.lt,.le,.gt,.ge}[.add]", [](Build& b) {
    Video video = typed(comparison(b.mod(2)), ".u32", b.mod(0), b.mod(1));
    video.adds_c = b.has(3);
    scalar(b, video, scalar_video);
  });
  table.add(std::string("vmad") + kTypes + "[.po][.sat][.shr7,.shr15]", [](Build& b) {
    Video video = typed(VideoOp::kMad, b.mod(0), b.mod(1), b.mod(2));
    video.adds_one = b.has(3);
    video.saturates = b.has(4);
    video.scale = static_cast<std::uint8_t>(b.mod(5) == ".shr7" ? 7 : b.mod(5) == ".shr15" ? 15 : 0);
    scalar(b, video, video_mad);
  });
  add_simd_forms(table, "2", 2);
  add_simd_forms(table, "4", 4);
}

}  // namespace heddle::sim::ptx
