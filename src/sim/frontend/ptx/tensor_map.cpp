// SPDX-License-Identifier: Apache-2.0
//
// PTX: tensormap.replace, tensormap.cp_fenceproxy: tensor maps that a kernel makes or changes by itself. The map
// is taken apart, one field of it changes, and it is put together again. 128 bytes of zeros are a map of which no
// field was set yet; whether all of them fit together is asked when the map is used.
#include "sim/frontend/ptx/decode.h"
#include "sim/frontend/ptx/interpreter.h"
#include "sim/machine/hardware_tensor_map.h"

#include <heddle/host/tensor_map_encode.h>
#include <heddle/isa/warp.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>

namespace heddle::sim::ptx {

namespace {

enum class Field : std::uint32_t {
  kGlobalAddress,
  kRank,
  kBoxDim,
  kGlobalDim,
  kGlobalStride,
  kElementStride,
  kElemtype,
  kInterleaveLayout,
  kSwizzleMode,
  kSwizzleAtomicity,
  kFillMode
};
constexpr std::string_view kFields[] = {
    ".global_address", ".rank",     ".box_dim",           ".global_dim",   ".global_stride",
    ".element_stride", ".elemtype", ".interleave_layout", ".swizzle_mode", ".swizzle_atomicity",
    ".fill_mode"};

// flags
constexpr std::uint32_t kSpaceMask = 7;
constexpr std::uint32_t kFieldShift = 3;
constexpr std::uint32_t kOrdinalShift = 8;

void read_map(Warp& warp, std::uint32_t lane, Space space, std::uint64_t address, TensorMap& map,
              const Instruction& i) {
  auto* bytes = reinterpret_cast<std::byte*>(&map);
  for (std::uint32_t at = 0; at < sizeof(map); at += 16)
    load_bytes(warp, lane, space, address + at, bytes + at, 16, i);
}

void write_map(Warp& warp, std::uint32_t lane, Space space, std::uint64_t address, const TensorMap& map,
               const Instruction& i) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&map);
  for (std::uint32_t at = 0; at < sizeof(map); at += 16)
    store_bytes(warp, lane, space, address + at, bytes + at, 16, i);
}

// PTX numbers the element types in another order than the driver.
bool set_type(TensorMapSpec& spec, std::uint64_t value) {
  constexpr TensorType kTypes[] = {
      TensorType::kU8,      TensorType::kU16,          TensorType::kU32,           TensorType::kI32,
      TensorType::kU64,     TensorType::kI64,          TensorType::kF16,           TensorType::kF32,
      TensorType::kF32Ftz,  TensorType::kF64,          TensorType::kBF16,          TensorType::kTF32,
      TensorType::kTF32Ftz, TensorType::kU4x16Align8B, TensorType::kU4x16Align16B, TensorType::kU6x16Align16B};
  if (value >= std::size(kTypes)) return false;
  spec.type = kTypes[value];
  return true;
}

// False: the field has no such value.
bool set_field(TensorMapSpec& spec, Field field, std::uint32_t ordinal, std::uint64_t value) {
  const auto word = static_cast<std::uint32_t>(value);
  switch (field) {
    case Field::kGlobalAddress: spec.address = reinterpret_cast<const void*>(value); return true;
    case Field::kRank: spec.rank = word + 1; return word < 5;  // the manual counts from zero here
    case Field::kBoxDim: spec.box[ordinal] = word; return true;
    case Field::kGlobalDim: spec.dims[ordinal] = word; return true;
    case Field::kGlobalStride: spec.strides[ordinal] = value; return true;
    case Field::kElementStride: spec.element_strides[ordinal] = word; return true;
    case Field::kElemtype: return set_type(spec, value);
    case Field::kInterleaveLayout: spec.interleave = static_cast<Interleave>(value); return value <= 2;
    case Field::kSwizzleMode: spec.swizzle = static_cast<Swizzle>(value); return value <= 3;
    case Field::kSwizzleAtomicity:
      if (value == 1 && spec.swizzle == Swizzle::k128B) spec.swizzle = Swizzle::k128BAtom32B;
      return value == 0 || spec.swizzle == Swizzle::k128BAtom32B;
    case Field::kFillMode: spec.fill = static_cast<OobFill>(value); return value <= 1;
  }
  return false;
}

// What 128 bytes of zeros are in the hardware's format, which keeps these numbers less 1: programs leave out to
// set what they have so already.
TensorMapSpec zeros() {
  TensorMapSpec spec;
  spec.rank = 1;
  std::fill(std::begin(spec.dims), std::end(spec.dims), 1);
  std::fill(std::begin(spec.box), std::end(spec.box), 1);
  return spec;
}

void replace(Warp& warp, const Instruction& i, std::uint32_t mask) {
  const auto space = static_cast<Space>(i.flags & kSpaceMask);
  const auto field = static_cast<Field>(i.flags >> kFieldShift & 31);
  for_lanes(mask, [&](std::uint32_t l) {
    const std::uint64_t address = warp.rows[i.a][l] + i.value;
    TensorMap map;
    read_map(warp, l, space, address, map, i);
    isa::DecodedTensorMap decoded = machine::decode_tensor_map(map);
    const bool is_empty =
        std::all_of(std::begin(map.opaque), std::end(map.opaque), [](std::uint64_t word) { return word == 0; });
    if (decoded.state != isa::TensorMapState::kFine && !is_empty) {
      warp.machine->fault(
          &warp.thread(l), i.site, FaultCode::kBadTensorMap,
          fmt::format("tensormap.replace at {:#x}, where there is neither a tensor map nor {} bytes of "
                      "zeros",
                      address, sizeof(map)));
    }
    TensorMapSpec spec = decoded.state == isa::TensorMapState::kFine ? decoded.spec : zeros();
    const std::uint64_t value = warp.rows[i.b][l];
    if (!set_field(spec, field, i.flags >> kOrdinalShift & 7, value)) {
      warp.machine->fault(&warp.thread(l), i.site, FaultCode::kUnsupported,
                          fmt::format("tensormap.replace{} with {}, which is no value of that field here",
                                      kFields[static_cast<std::size_t>(field)], value));
    }
    isa::tensor_map_encode_tiled(map, spec);
    write_map(warp, l, space, address, map, i);
  });
}

// The warp copies the map once, and what it did before is ordered before whoever acquires it.
std::uint32_t copy_and_fence(Warp& warp, const Instruction& i, std::uint32_t mask) {
  return meet(
      warp, mask,
      [&](std::uint32_t l) {
        if (!warp.machine->warps.meet(warp.thread(l), machine::WarpOp::kSync, isa::kFullMask, 0, 0, i.site))
          return;
        TensorMap map;
        read_map(warp, l, Space::kShared, warp.rows[i.b][l] + i.more[0], map, i);
        write_map(warp, l, Space::kGlobal, warp.rows[i.a][l] + i.value, map, i);
        warp.machine->memory.fence(warp.thread(l), static_cast<FenceKind>(i.flags), i.site);
        warp.machine->memory.fence(warp.thread(l), FenceKind::kTensorMapRelease, i.site);
        warp.machine->warps.did_for_warp(warp.thread(l), i.site);
      },
      [](std::uint32_t) { return true; });
}

void decode_replace(Build& b, std::string_view name, std::string_view space, std::string_view type,
                    bool has_ordinal) {
  b.want(has_ordinal ? 3 : 2);
  Instruction& out = b.out();
  b.address(0);
  const auto field =
      static_cast<std::uint32_t>(std::find(std::begin(kFields), std::end(kFields), name) - std::begin(kFields));
  std::uint64_t ordinal = 0;
  if (has_ordinal) {
    ordinal = b.constant(1);
    const std::uint64_t count = name == ".global_stride" ? 4 : 5;
    if (ordinal >= count) b.fail(fmt::format("dimension {}; {} has 0 to {}", ordinal, name, count - 1));
  }
  const bool is_wide = name == ".global_address" || name == ".global_stride";
  if (is_wide != (type == ".b64")) b.fail(fmt::format("{} of a value of type {}", name, type));
  out.b = b.source(has_ordinal ? 2 : 1);
  const Space where = space.empty() ? Space::kGeneric : space == ".global" ? Space::kGlobal : Space::kShared;
  out.flags = static_cast<std::uint32_t>(where) | field << kFieldShift |
              static_cast<std::uint32_t>(ordinal) << kOrdinalShift;
  b.scalar(replace);
}

}  // namespace

void add_tensor_map_forms(FormTable& table) {
  const std::string space = "[.global,.shared::cta].b1024{.b32,.b64}";
  table.add(
      "tensormap.replace.tile{.global_address,.rank,.elemtype,.interleave_layout,.swizzle_mode,"
      ".swizzle_atomicity,.fill_mode}" +
          space,
      [](Build& b) { decode_replace(b, b.mod(0), b.mod(1), b.mod(2), false); });
  table.add("tensormap.replace.tile{.box_dim,.global_dim,.global_stride,.element_stride}" + space,
            [](Build& b) { decode_replace(b, b.mod(0), b.mod(1), b.mod(2), true); });
  table.add(
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release{.cta,.cluster,.gpu,.sys}.sync."
      "aligned",
      [](Build& b) {
        b.want(3);
        if (b.constant(2) != sizeof(TensorMap)) b.fail("a tensor map has 128 bytes");
        Instruction& out = b.out();
        b.address(0);
        std::uint64_t offset = 0;
        out.b = b.address_row(b.operand(1), offset);
        out.more = {static_cast<std::uint32_t>(offset)};
        const std::string_view scope = b.mod(0);
        out.flags = static_cast<std::uint32_t>(scope == ".cta"       ? FenceKind::kAcqRelCta
                                               : scope == ".cluster" ? FenceKind::kAcqRelCluster
                                                                     : FenceKind::kAcqRelGpu);
        b.machine(copy_and_fence);
      });
}

}  // namespace heddle::sim::ptx
