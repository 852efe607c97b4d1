// SPDX-License-Identifier: Apache-2.0
//
// PTX: Texture Instructions, Surface Instructions: tex, tld4, txq, suld.b, sust.b, suq, by handles. Texels are
// loaded like global memory that no thread of the kernel may write (ld.global.nc).
// Model: there are no mipmaps, so that a level and gradients change nothing.
#include "sim/frontend/ptx/arithmetic.h"
#include "sim/frontend/ptx/decode.h"
#include "sim/frontend/ptx/interpreter.h"
#include "sim/frontend/ptx/undefined.h"

#include <heddle/sim/texture.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>
#include <string>

namespace heddle::sim::ptx {

namespace {

using Beyond = Texture::Beyond;
using Index = std::array<std::int64_t, 3>;

// flags
constexpr std::uint32_t kDimsMask = 3;
constexpr std::uint32_t kLayered = 4;
constexpr std::uint32_t kCube = 8;
constexpr std::uint32_t kFloatCoords = 16;
constexpr std::uint32_t kFloatResult = 32;
constexpr std::uint32_t kGathers = 64;     // tld4
constexpr std::uint32_t kWhichShift = 24;  // tld4: the channel; txq, suq: the dimension
constexpr std::uint32_t kModeShift = 8;    // suld, sust: 0 .trap, 1 .clamp, 2 .zero
constexpr std::uint32_t kBytesShift = 12;  // suld, sust: of a register
constexpr std::uint32_t kCountShift = 20;  // suld, sust: how many registers; the coordinates follow in rows

enum class OutOfRange : std::uint32_t { kTrap, kClamp, kZero };

const Texture& texture_at(Warp& warp, const Instruction& i, std::uint32_t lane, bool is_surface) {
  const std::uint64_t handle = warp.rows[i.a][lane] + i.value;
  const TextureTable* table = warp.interpreter->launch().textures;
  const auto found = table == nullptr ? TextureTable::const_iterator{} : table->find(handle);
  if (table == nullptr || found == table->end() || found->second.is_surface != is_surface) {
    warp.machine->fault(
        &warp.thread(lane), i.site, FaultCode::kGlobalOutOfBounds,
        fmt::format("{} of the handle {:#x}, which is no {} object", is_surface ? "suld or sust" : "tex", handle,
                    is_surface ? "surface" : "texture"));
  }
  return found->second;
}

// Where along a dimension of n texels index i lies; -1: on the border.
std::int64_t place(Beyond beyond, std::int64_t i, std::int64_t n) {
  if (i >= 0 && i < n) return i;
  switch (beyond) {
    case Beyond::kWrap: return (i % n + n) % n;
    case Beyond::kMirror: {
      const std::int64_t at = (i % (2 * n) + 2 * n) % (2 * n);
      return at < n ? at : 2 * n - 1 - at;
    }
    case Beyond::kClamp: return std::clamp<std::int64_t>(i, 0, n - 1);
    default: return -1;
  }
}

// PTX and CUDA's guide: only coordinates from 0 to 1 wrap or mirror; others clamp.
Beyond beyond_of(const Texture& texture, std::uint32_t dim) {
  const Beyond beyond = texture.beyond[dim];
  const bool repeats = beyond == Beyond::kWrap || beyond == Beyond::kMirror;
  return repeats && !texture.has_unit_coords ? Beyond::kClamp : beyond;
}

float channel_value(const Texture& texture, const std::byte* at) {
  const std::uint32_t bits = 8 * texture.channel_bytes;
  std::uint64_t raw = 0;
  std::memcpy(&raw, at, texture.channel_bytes);
  if (texture.channel == Texture::Channel::kFloat) {
    return bits == 16 ? static_cast<float>(widen<HalfFormat>(raw))
                      : std::bit_cast<float>(static_cast<std::uint32_t>(raw));
  }
  const bool has_sign = texture.channel == Texture::Channel::kSigned;
  const auto number = static_cast<double>(has_sign ? static_cast<std::int64_t>(raw << (64 - bits)) >> (64 - bits)
                                                   : static_cast<std::int64_t>(raw));
  const double most = std::ldexp(1.0, static_cast<int>(has_sign ? bits - 1 : bits)) - 1;
  return static_cast<float>(std::max(number / most, -1.0));
}

// All of it, where a byte is.
Undefined undefined_texel(Warp& warp, std::uint32_t lane, std::uint64_t address, std::uint32_t bytes,
                          const Instruction& i) {
  const std::uint32_t unwritten = unwritten_in_global(warp, address, bytes);
  if (unwritten == 0) return {};
  return {~std::uint64_t{0}, undefined_global_word(warp, lane, address, unwritten, i).origin};
}

// All, where one of the coordinates is.
Undefined undefined_among(const Warp& warp, std::span<const std::uint32_t> coords, std::uint32_t lane) {
  for (const std::uint32_t row : coords) {
    if (const Undefined coord = undefined_of(*warp.frame, row, lane); coord.bits != 0)
      return {~std::uint64_t{0}, coord.origin};
  }
  return {};
}

struct Texel {
  Undefined undefined = {};  // of any of its bytes
  std::array<float, 4> numbers = {};
  std::array<std::uint32_t, 4> words = {};  // integers, extended by their sign
};

Texel fetch(Warp& warp, const Instruction& i, std::uint32_t lane, const Texture& texture, const Index& index,
            std::uint64_t layer) {
  Texel texel;
  std::array<std::int64_t, 3> at = {};
  for (std::uint32_t d = 0; d < 3; ++d) {
    at[d] = place(beyond_of(texture, d), index[d], texture.size[d]);
    if (at[d] >= 0) continue;
    texel.numbers = texture.border;
    for (std::uint32_t c = 0; c < 4; ++c) texel.words[c] = std::bit_cast<std::uint32_t>(texture.border[c]);
    return texel;
  }
  std::array<std::byte, 16> bytes = {};
  const std::uint64_t slice = layer + static_cast<std::uint64_t>(at[2]);
  const std::uint64_t address = texture.address + slice * texture.slice_bytes +
                                static_cast<std::uint64_t>(at[1]) * texture.row_bytes +
                                static_cast<std::uint64_t>(at[0]) * texture.texel_bytes();
  load_bytes(warp, lane, Space::kGlobal, address, bytes.data(), texture.texel_bytes(), i, nullptr, false);
  texel.undefined = undefined_texel(warp, lane, address, texture.texel_bytes(), i);
  const std::uint32_t bits = 8 * texture.channel_bytes;
  for (std::uint32_t c = 0; c < texture.channels; ++c) {
    const std::byte* from = &bytes[std::size_t{c} * texture.channel_bytes];
    texel.numbers[c] = channel_value(texture, from);
    std::uint32_t raw = 0;
    std::memcpy(&raw, from, texture.channel_bytes);
    const bool has_sign = texture.channel == Texture::Channel::kSigned;
    texel.words[c] =
        has_sign ? static_cast<std::uint32_t>(static_cast<std::int32_t>(raw << (32 - bits)) >> (32 - bits)) : raw;
  }
  return texel;
}

// CUDA's guide: Cubemap Textures: the face, and the coordinates on it from 0 to 1.
struct OnFace {
  std::uint32_t face;
  float s, t;
};
OnFace on_face(float x, float y, float z) {
  const float ax = std::abs(x), ay = std::abs(y), az = std::abs(z);
  const auto at = [](std::uint32_t face, float m, float s, float t) {
    return OnFace{face, (s / m + 1) / 2, (t / m + 1) / 2};
  };
  if (ax >= ay && ax >= az) return x >= 0 ? at(0, ax, -z, -y) : at(1, ax, z, -y);
  if (ay >= az) return y >= 0 ? at(2, ay, x, z) : at(3, ay, x, -z);
  return z >= 0 ? at(4, az, x, -y) : at(5, az, -x, -y);
}

// CUDA's guide: Linear Filtering: weights have eight bits behind the point.
// Model: an H200 gives the same (512 places, four ways to go beyond an edge), but not where coordinates go from 0
// to 1: there its weights are some 256ths off.
struct Between {
  std::int64_t first;
  float weight;  // of the next one
};
Between between(float x) {
  const float from = x - 0.5f;
  const float first = std::floor(from);
  return {static_cast<std::int64_t>(first), std::nearbyint((from - first) * 256) / 256};
}

// The indices at which a footprint begins, and the weights of the texels after it.
struct Footprint {
  Index first = {};
  std::array<float, 3> weight = {};
  std::uint64_t layer = 0;
};

Footprint footprint_of(const Warp& warp, const Instruction& i, std::uint32_t lane, const Texture& texture,
                       bool is_pair) {
  const std::uint32_t dims = i.flags & kDimsMask;
  const auto word = [&](std::size_t c) { return static_cast<std::uint32_t>(warp.rows[i.more[c]][lane]); };
  std::size_t next = 0;
  Footprint result;
  if ((i.flags & kLayered) != 0) {
    const std::uint32_t layers = (i.flags & kCube) != 0 ? texture.layers / 6 : texture.layers;
    result.layer = std::min(word(next++), std::max(layers, 1u) - 1);
  }
  std::array<float, 3> coords = {};
  bool is_unit = texture.has_unit_coords;
  if ((i.flags & kFloatCoords) == 0) {
    for (std::uint32_t d = 0; d < dims; ++d) result.first[d] = static_cast<std::int32_t>(word(next + d));
    return result;
  }
  for (std::uint32_t d = 0; d < ((i.flags & kCube) != 0 ? 3 : dims); ++d)
    coords[d] = std::bit_cast<float>(word(next + d));
  if ((i.flags & kCube) != 0) {
    const OnFace at = on_face(coords[0], coords[1], coords[2]);
    result.layer = 6 * result.layer + at.face;
    coords = {at.s, at.t, 0};
    is_unit = true;
  }
  for (std::uint32_t d = 0; d < dims; ++d) {
    const float x = is_unit ? coords[d] * static_cast<float>(texture.size[d]) : coords[d];
    // What is no number, or far away, has an index all the same.
    const float near = std::isnan(x) ? 0 : std::clamp(x, -1e9f, 1e9f);
    if (is_pair) {
      const Between pair = between(near);
      result.first[d] = pair.first;
      result.weight[d] = pair.weight;
    } else {
      result.first[d] = static_cast<std::int64_t>(std::floor(near));
    }
  }
  return result;
}

// `undefined` becomes that of some texel, where one has it.
std::array<std::uint32_t, 4> sample(Warp& warp, const Instruction& i, std::uint32_t lane, Undefined& undefined) {
  const Texture& texture = texture_at(warp, i, lane, false);
  if ((i.flags & kCube) != 0 && texture.layers < 6) {
    warp.machine->fault(&warp.thread(lane), i.site, FaultCode::kGlobalOutOfBounds,
                        fmt::format("a cube of a texture with {} of the six faces", texture.layers));
  }
  const std::uint32_t dims = i.flags & kDimsMask;
  const bool gives_float = (i.flags & kFloatResult) != 0;
  const bool gathers = (i.flags & kGathers) != 0;
  const bool blends = texture.is_filtered && gives_float && (i.flags & kFloatCoords) != 0;
  const Footprint at = footprint_of(warp, i, lane, texture, blends || gathers);
  std::array<std::uint32_t, 4> result = {};
  const auto one = [&](std::uint32_t corner) {
    Index index = at.first;
    for (std::uint32_t d = 0; d < dims; ++d) index[d] += corner >> d & 1;
    const Texel texel = fetch(warp, i, lane, texture, index, at.layer);
    if (texel.undefined.bits != 0) undefined = texel.undefined;
    return texel;
  };
  const bool is_number = texture.channel == Texture::Channel::kFloat || texture.gives_fractions;
  const auto bits_of = [&](const Texel& texel, std::uint32_t c) {
    return gives_float && is_number ? std::bit_cast<std::uint32_t>(texel.numbers[c]) : texel.words[c];
  };
  if (gathers) {
    // PTX: tld4: (0, 1), (1, 1), (1, 0), (0, 0) of the footprint.
    constexpr std::uint32_t kCorners[] = {2, 3, 1, 0};
    for (std::uint32_t r = 0; r < 4; ++r) result[r] = bits_of(one(kCorners[r]), i.flags >> kWhichShift);
    return result;
  }
  if (!blends) {
    const Texel texel = one(0);
    for (std::uint32_t c = 0; c < 4; ++c) result[c] = bits_of(texel, c);
    return result;
  }
  std::array<float, 4> sum = {};
  for (std::uint32_t corner = 0; corner < 1u << dims; ++corner) {
    float weight = 1;
    for (std::uint32_t d = 0; d < dims; ++d) weight *= (corner >> d & 1) != 0 ? at.weight[d] : 1 - at.weight[d];
    if (weight == 0) continue;
    const Texel texel = one(corner);
    for (std::uint32_t c = 0; c < 4; ++c) sum[c] += weight * texel.numbers[c];
  }
  for (std::uint32_t c = 0; c < 4; ++c) result[c] = std::bit_cast<std::uint32_t>(sum[c]);
  return result;
}

std::uint32_t sample_lanes(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    Undefined undefined = undefined_among(warp, i.more, l);
    const std::array<std::uint32_t, 4> result = sample(warp, i, l, undefined);
    for (std::size_t r = 0; r < i.rows.size(); ++r) {
      warp.rows[i.rows[r]][l] = result[r];
      set_undefined(warp, *warp.frame, i.rows[r], l, undefined);
    }
  });
  return mask;
}

// The bytes that a surface access means; 0: outside, and nothing happens.
std::uint64_t surface_address(Warp& warp, const Instruction& i, std::uint32_t lane, const Texture& surface,
                              std::uint32_t bytes) {
  const auto mode = static_cast<OutOfRange>(i.flags >> kModeShift & 3);
  const std::size_t first = i.flags >> kCountShift;
  const auto word = [&](std::size_t c) { return static_cast<std::int32_t>(warp.rows[i.rows[first + c]][lane]); };
  std::size_t next = 0;
  std::int64_t slice = 0;
  if ((i.flags & kLayered) != 0) slice = word(next++);
  const std::uint32_t dims = i.flags & kDimsMask;
  std::int64_t x = word(next), y = dims > 1 ? word(next + 1) : 0;
  if (dims > 2) slice = word(next + 2);
  const std::int64_t width = std::int64_t{surface.size[0]} * surface.texel_bytes();
  const std::int64_t height = surface.size[1];
  const std::int64_t slices = dims > 2 ? surface.size[2] : surface.layers;
  const bool is_inside =
      x >= 0 && x + bytes <= width && y >= 0 && y < height && slice >= 0 && slice < slices && x % bytes == 0;
  if (!is_inside) {
    // Nothing says where an access that is longer than a row would go.
    if (mode == OutOfRange::kTrap || (mode == OutOfRange::kClamp && bytes > width)) {
      warp.machine->fault(
          &warp.thread(lane), i.site, FaultCode::kGlobalOutOfBounds,
          fmt::format(
              "a surface access of {} bytes at byte {} of row {}, slice {}; there are {} bytes, {} rows, {} "
              "slices",
              bytes, x, y, slice, width, height, slices));
    }
    if (mode == OutOfRange::kZero) return 0;
    x = std::clamp<std::int64_t>(x, 0, width - bytes) / bytes * bytes;
    y = std::clamp<std::int64_t>(y, 0, height - 1);
    slice = std::clamp<std::int64_t>(slice, 0, slices - 1);
  }
  return surface.address + static_cast<std::uint64_t>(slice) * surface.slice_bytes +
         static_cast<std::uint64_t>(y) * surface.row_bytes + static_cast<std::uint64_t>(x);
}

// rows: the registers of the value, then the coordinates.
template <bool stores>
std::uint32_t move_surface(Warp& warp, const Instruction& i, std::uint32_t mask) {
  const std::uint32_t each = i.flags >> kBytesShift & 15;
  const std::uint32_t count = i.flags >> kCountShift;
  for_lanes(mask, [&](std::uint32_t l) {
    const Texture& surface = texture_at(warp, i, l, true);
    const std::uint64_t address = surface_address(warp, i, l, surface, each * count);
    std::array<std::byte, 32> value = {};
    if constexpr (stores) {
      for (std::uint32_t r = 0; r < count; ++r)
        std::memcpy(&value[std::size_t{r} * each], &warp.rows[i.rows[r]][l], each);
      if (address != 0) store_bytes(warp, l, Space::kGlobal, address, value.data(), each * count, i);
    } else {
      Undefined undefined = undefined_among(warp, std::span(i.rows).subspan(count), l);
      if (address != 0) {
        load_bytes(warp, l, Space::kGlobal, address, value.data(), each * count, i);
        if (undefined.bits == 0) undefined = undefined_texel(warp, l, address, each * count, i);
      }
      for (std::uint32_t r = 0; r < count; ++r) {
        warp.rows[i.rows[r]][l] = 0;
        std::memcpy(&warp.rows[i.rows[r]][l], &value[std::size_t{r} * each], each);
        set_undefined(warp, *warp.frame, i.rows[r], l, undefined);
      }
    }
  });
  return mask;
}

constexpr std::uint32_t kOfSurface = 1;  // txq, suq

std::uint32_t query(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    warp.rows[i.d][l] = texture_at(warp, i, l, (i.flags & kOfSurface) != 0).size[i.flags >> kWhichShift];
  });
  return mask;
}

// [handle, {coordinates}]
std::vector<std::uint32_t> handle_and_coords(Build& b, std::size_t index, std::size_t wanted) {
  const Operand& operand = b.operand(index);
  if (operand.kind != OperandKind::kAddress || operand.list.size() != 2) {
    if (operand.kind == OperandKind::kAddress && operand.list.size() == 3) b.unsupported("a sampler of its own");
    b.fail("a texture or surface with its coordinates is wanted");
  }
  Operand handle = operand;
  handle.list.resize(1);
  b.out().a = b.address_row(handle, b.out().value);
  std::vector<std::uint32_t> coords = b.sources(operand.list[1]);
  if (coords.size() < wanted) b.fail(fmt::format("{} coordinates where {} are wanted", coords.size(), wanted));
  return coords;
}

struct Geometry {
  std::uint32_t flags;
  std::size_t coords;
};
Geometry geometry_of(std::string_view name) {
  const bool is_cube = name.ends_with("cube");
  const bool is_layered = name[1] == 'a';
  const auto dims = is_cube ? 2u : static_cast<std::uint32_t>(name[name.size() - 2] - '0');
  return {dims | (is_cube ? kCube : 0u) | (is_layered ? kLayered : 0u),
          (is_cube ? 3u : dims) + (is_layered ? 1u : 0u)};
}

void decode_sample(Build& b, const Geometry& geometry, std::string_view result, std::string_view coords) {
  Instruction& out = b.out();
  out.rows = b.targets(b.operand(0));
  if (out.rows.size() != 4) b.fail("four registers are wanted");
  out.more = handle_and_coords(b, 1, geometry.coords);
  out.flags |= geometry.flags | (coords == ".f32" ? kFloatCoords : 0u) | (result == ".f32" ? kFloatResult : 0u);
  b.machine(sample_lanes, false);
}

template <bool stores>
void decode_surface(Build& b, std::string_view geometry, std::string_view vector, std::string_view type,
                    std::string_view mode) {
  b.want(2);
  Instruction& out = b.out();
  const Geometry shape = geometry_of(geometry);
  const Operand& value = b.operand(stores ? 1 : 0);
  out.rows = stores ? b.sources(value) : b.targets(value);
  const std::size_t wanted = vector == ".v2" ? 2 : vector == ".v4" ? 4 : 1;
  if (out.rows.size() != wanted) b.fail(fmt::format("{} registers where {} are wanted", out.rows.size(), wanted));
  const std::uint32_t bytes = type == ".b8" ? 1 : type == ".b16" ? 2 : type == ".b32" ? 4 : 8;
  if (bytes * wanted > 16) b.fail("more than 16 bytes");
  const std::vector<std::uint32_t> coords = handle_and_coords(b, stores ? 0 : 1, shape.coords);
  out.rows.insert(out.rows.end(), coords.begin(), coords.end());
  const OutOfRange beyond = mode == ".trap"    ? OutOfRange::kTrap
                            : mode == ".clamp" ? OutOfRange::kClamp
                                               : OutOfRange::kZero;
  out.flags = shape.flags | static_cast<std::uint32_t>(beyond) << kModeShift | bytes << kBytesShift |
              static_cast<std::uint32_t>(wanted) << kCountShift;
  b.machine(move_surface<stores>);
}

constexpr const char* kGeometries = "{.1d,.2d,.3d,.a1d,.a2d,.cube,.acube}";
constexpr const char* kFlatGeometries = "{.1d,.2d,.3d,.a1d,.a2d}";

}  // namespace

void add_texture_forms(FormTable& table) {
  table.add(std::string("tex[.level,.grad]") + kGeometries + ".v4{.s32,.u32,.f32}{.s32,.f32}", [](Build& b) {
    b.want(2, 4);
    decode_sample(b, geometry_of(b.mod(1)), b.mod(2), b.mod(3));
  });
  table.add("tld4{.r,.g,.b,.a}{.2d,.a2d}.v4{.s32,.u32,.f32}.f32", [](Build& b) {
    b.want(2);
    b.out().flags = kGathers | static_cast<std::uint32_t>(std::string_view("rgba").find(b.mod(0)[1]))
                                   << kWhichShift;
    decode_sample(b, geometry_of(b.mod(1)), b.mod(2), ".f32");
  });
  for (const bool is_surface : {false, true}) {
    table.add(std::string(is_surface ? "suq" : "txq") + "{.width,.height,.depth}.b32", [is_surface](Build& b) {
      b.want(2);
      b.out().d = b.target(0);
      b.address(1);
      const std::uint32_t which = b.mod(0) == ".width" ? 0 : b.mod(0) == ".height" ? 1 : 2;
      b.out().flags = which << kWhichShift | (is_surface ? kOfSurface : 0u);
      b.machine(query, false);
    });
  }
  const std::string end = std::string("[.v2,.v4]{.b8,.b16,.b32,.b64}{.trap,.clamp,.zero}");
  table.add(std::string("suld.b") + kFlatGeometries + "[.ca,.cg,.cs,.cv]" + end,
            [](Build& b) { decode_surface<false>(b, b.mod(0), b.mod(2), b.mod(3), b.mod(4)); });
  table.add(std::string("sust.b") + kFlatGeometries + "[.wb,.cg,.cs,.wt]" + end,
            [](Build& b) { decode_surface<true>(b, b.mod(0), b.mod(2), b.mod(3), b.mod(4)); });
}

}  // namespace heddle::sim::ptx
