// SPDX-License-Identifier: Apache-2.0
//
// PTX: cp.async.bulk, cp.async.bulk.tensor, cp.reduce.async.bulk, cp.reduce.async.bulk.tensor and their groups,
// st.async, red.async, prefetch.tensormap.
#include "sim/frontend/ptx/decode.h"
#include "sim/frontend/ptx/interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>

namespace heddle::sim::ptx {

namespace {

using machine::SharedAddress;

// An address operand: a row and an offset. Instruction has room for one; the others are kept in `more`, as a row
// and the two halves of an offset.
std::uint64_t address_at(const Warp& warp, const Instruction& i, std::size_t which, std::uint32_t lane) {
  const std::uint64_t offset = i.more[3 * which + 1] | std::uint64_t{i.more[3 * which + 2]} << 32;
  return warp.rows[i.more[3 * which]][lane] + offset;
}

void add_address(Build& b, const Operand& operand) {
  std::uint64_t offset = 0;
  const std::uint32_t row = b.address_row(operand, offset);
  b.out().more.push_back(row);
  b.out().more.push_back(static_cast<std::uint32_t>(offset));
  b.out().more.push_back(static_cast<std::uint32_t>(offset >> 32));
}

SharedAddress shared_at(const Warp& warp, const Instruction& i, std::size_t which, std::uint32_t lane) {
  return static_cast<SharedAddress>(address_at(warp, i, which, lane));
}

// A tensor map, and where it lies if in global memory.
struct MapAt {
  TensorMap map;
  std::uint64_t global = 0;

  machine::MapOperand operand() const { return {map, global}; }
};

// The address of a tensor map is generic: it lies in global memory, in constant memory or among the parameters.
MapAt map_at(Warp& warp, const Instruction& i, std::size_t which, std::uint32_t lane) {
  const std::uint64_t address = address_at(warp, i, which, lane);
  const machine::Thread& thread = warp.thread(lane);
  if (address % 64 != 0) {
    warp.machine->fault(
        &thread, i.site, FaultCode::kBadTensorMap,
        fmt::format("a copy with a tensor map at {:#x}; it must be aligned to 64 bytes", address));
  }
  const std::byte* bytes = nullptr;
  if ((address & kWindowMask) == kParamWindow) {
    const std::uint64_t offset = address & ~kWindowMask;
    if (offset + sizeof(TensorMap) <= warp.interpreter->param_bytes())
      bytes = warp.interpreter->params() + offset;
  } else if (const GlobalMemory::Region* region = warp.machine->global().find(address, sizeof(TensorMap))) {
    bytes = region->host + (address - region->address);
  }
  if (bytes == nullptr) {
    warp.machine->fault(&thread, i.site, FaultCode::kBadTensorMap,
                        fmt::format("a copy with a tensor map at {:#x}, where there are not {} bytes of it: {}",
                                    address, sizeof(TensorMap), warp.machine->global().describe(address)));
  }
  MapAt found;
  std::memcpy(&found.map, bytes, sizeof(found.map));
  if ((address & kWindowMask) != kParamWindow) found.global = address;
  return found;
}

// flags of tensor loads and stores: 1 or 2: cta_group; 4: four rows; 8: pixels, and from kOffsetShift on how many
// of the coordinates are offsets of the filter.
constexpr std::uint32_t kFourRows = 4;
constexpr std::uint32_t kPixels = 8;
constexpr std::uint32_t kOffsetShift = 4;
machine::TileMode mode_of(const Instruction& i) {
  return (i.flags & kFourRows) != 0 ? machine::TileMode::kFourRows
         : (i.flags & kPixels) != 0 ? machine::TileMode::kPixels
                                    : machine::TileMode::kTile;
}

std::array<std::int32_t, 8> coords_of(const Warp& warp, const Instruction& i, std::uint32_t lane) {
  std::array<std::int32_t, 8> coords = {};
  const std::size_t first_offset =
      i.rows.size() - (mode_of(i) == machine::TileMode::kPixels ? i.flags >> kOffsetShift : 0);
  for (std::size_t c = 0; c < i.rows.size(); ++c) {
    const std::uint64_t word = warp.rows[i.rows[c]][lane];
    coords[c] = c < first_offset ? static_cast<std::int32_t>(word) : static_cast<std::uint16_t>(word);
  }
  return coords;
}

int rank_of(const Instruction& i) { return static_cast<int>(i.rows.size()); }

std::uint32_t tensor_load(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    const SharedAddress to = shared_at(warp, i, 0, l);
    const auto targets = i.b == kNone ? static_cast<std::uint16_t>(1u << (to >> machine::kRankShift))
                                      : static_cast<std::uint16_t>(warp.rows[i.b][l]);
    warp.machine->tma.tensor_load(warp.thread(l), static_cast<int>(i.flags & 3), to,
                                  map_at(warp, i, 1, l).operand(), coords_of(warp, i, l).data(), rank_of(i),
                                  shared_at(warp, i, 2, l), targets, i.site, mode_of(i));
  });
  return mask;
}

std::uint32_t tensor_store(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    warp.machine->tma.tensor_store(warp.thread(l), map_at(warp, i, 0, l).operand(), coords_of(warp, i, l).data(),
                                   rank_of(i), shared_at(warp, i, 1, l), i.site, mode_of(i));
  });
  return mask;
}

std::uint32_t tensor_reduce(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    warp.machine->tma.tensor_reduce(warp.thread(l), static_cast<isa::ReduceOp>(i.flags),
                                    map_at(warp, i, 0, l).operand(), coords_of(warp, i, l).data(), rank_of(i),
                                    shared_at(warp, i, 1, l), i.site);
  });
  return mask;
}

std::uint32_t tensor_prefetch(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    const int coords = rank_of(i) - static_cast<int>(i.flags >> kOffsetShift);
    warp.machine->tma.tensor_prefetch(warp.thread(l), map_at(warp, i, 0, l).operand(),
                                      coords_of(warp, i, l).data(), coords, i.site);
  });
  return mask;
}

// Of the operands of a gather, too, it is looked at alone.
std::uint32_t prefetch_map(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) { map_at(warp, i, 0, l); });
  return mask;
}

std::uint32_t bulk_load(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    warp.machine->tma.bulk_load(warp.thread(l), shared_at(warp, i, 0, l), address_at(warp, i, 1, l),
                                static_cast<std::uint32_t>(warp.rows[i.c][l]), shared_at(warp, i, 2, l), i.site,
                                i.b == kNone ? std::uint16_t{0} : static_cast<std::uint16_t>(warp.rows[i.b][l]));
  });
  return mask;
}

std::uint32_t bulk_store(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    warp.machine->tma.bulk_store(warp.thread(l), address_at(warp, i, 0, l), shared_at(warp, i, 1, l),
                                 static_cast<std::uint32_t>(warp.rows[i.c][l]), i.site);
  });
  return mask;
}

// flags of reductions: the operation, and the type.
constexpr std::uint32_t kTypeShift = 4;
machine::Reduction reduction_of(const Instruction& i) {
  return machine::find_flat_reduction(static_cast<isa::ReduceOp>(i.flags & 15),
                                      static_cast<TensorType>(i.flags >> kTypeShift));
}

std::uint32_t bulk_reduce(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    warp.machine->tma.bulk_reduce(warp.thread(l), reduction_of(i), address_at(warp, i, 0, l),
                                  shared_at(warp, i, 1, l), static_cast<std::uint32_t>(warp.rows[i.c][l]),
                                  i.site);
  });
  return mask;
}

std::uint32_t bulk_reduce_to_peer(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    warp.machine->tma.bulk_to_peer(warp.thread(l), shared_at(warp, i, 0, l), shared_at(warp, i, 1, l),
                                   static_cast<std::uint32_t>(warp.rows[i.c][l]), shared_at(warp, i, 2, l),
                                   i.site, reduction_of(i));
  });
  return mask;
}

// rows: the registers of the value, flags: as above, and the bytes of one of them above.
constexpr std::uint32_t kBytesShift = 12;
constexpr std::uint32_t kIsReduction = 1u << 20;

std::uint32_t store_async(Warp& warp, const Instruction& i, std::uint32_t mask) {
  const std::uint32_t bytes = i.flags >> kBytesShift & 15;
  Instruction reduced;
  reduced.flags = i.flags & ((1u << kBytesShift) - 1);
  const machine::Reduction reduction = (i.flags & kIsReduction) != 0 ? reduction_of(reduced) : nullptr;
  for_lanes(mask, [&](std::uint32_t l) {
    std::array<std::byte, 32> value;
    for (std::size_t r = 0; r < i.rows.size(); ++r)
      std::memcpy(&value[r * bytes], &warp.rows[i.rows[r]][l], bytes);
    warp.machine->tma.store_async(warp.thread(l), shared_at(warp, i, 0, l), value.data(),
                                  bytes * static_cast<std::uint32_t>(i.rows.size()), shared_at(warp, i, 1, l),
                                  reduction, i.site);
  });
  return mask;
}

std::uint32_t bulk_to_peer(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) {
    warp.machine->tma.bulk_to_peer(warp.thread(l), shared_at(warp, i, 0, l), shared_at(warp, i, 1, l),
                                   static_cast<std::uint32_t>(warp.rows[i.c][l]), shared_at(warp, i, 2, l),
                                   i.site);
  });
  return mask;
}

std::uint32_t commit_group(Warp& warp, const Instruction& i, std::uint32_t mask) {
  for_lanes(mask, [&](std::uint32_t l) { warp.machine->tma.commit_group(warp.thread(l), i.site); });
  return mask;
}

// flags: 1: sources read only.
std::uint32_t wait_group(Warp& warp, const Instruction& i, std::uint32_t mask) {
  std::uint32_t done = 0;
  for_lanes(mask, [&](std::uint32_t l) {
    if (warp.machine->tma.wait_group(warp.thread(l), static_cast<std::uint32_t>(i.value), i.flags != 0, i.site)) {
      done |= 1u << l;
    }
  });
  return done;
}

void nothing(Warp&, const Instruction&, std::uint32_t) {}

// [map, {coordinates}]
void add_map(Build& b, std::size_t index, std::string_view rank) {
  const Operand& operand = b.operand(index);
  if (operand.kind != OperandKind::kAddress || operand.list.size() != 2) {
    b.fail("a tensor map with its coordinates is wanted");
  }
  add_address(b, operand);
  b.out().rows = b.sources(operand.list[1]);
  const auto wanted = rank == ".four_rows" ? 5u : static_cast<std::size_t>(rank[1] - '0');
  if (b.out().rows.size() != wanted) {
    b.fail(fmt::format("{} coordinates where {} are wanted", b.out().rows.size(), wanted));
  }
}

// {offsets}: one for each dimension that pixels have, as 16 bits.
void add_offsets(Build& b, std::size_t index, std::string_view rank) {
  const std::vector<std::uint32_t> offsets = b.sources(b.operand(index));
  const auto wanted = static_cast<std::size_t>(rank[1] - '0') - 2;
  if (offsets.size() != wanted) b.fail(fmt::format("{} offsets where {} are wanted", offsets.size(), wanted));
  b.out().rows.insert(b.out().rows.end(), offsets.begin(), offsets.end());
  b.out().flags |= kPixels | static_cast<std::uint32_t>(wanted) << kOffsetShift;
}

void flat_copy(Build& b, MachineHandler handler, bool has_barrier) {
  b.want(has_barrier ? 4 : 3, 6);  // a mask and a cache policy may follow
  add_address(b, b.operand(0));
  add_address(b, b.operand(1));
  b.out().c = b.source(2);
  if (has_barrier) add_address(b, b.operand(3));
  b.machine(handler);
}

// The type's number as the copy engine has it, with the operation's.
std::uint32_t reduction_flags(Build& b, std::string_view op, std::string_view type) {
  constexpr std::string_view kOps[] = {".add", ".min", ".max", ".inc", ".dec", ".and", ".or", ".xor"};
  const auto number =
      static_cast<std::uint32_t>(std::find(std::begin(kOps), std::end(kOps), op) - std::begin(kOps));
  const TensorType element = type == ".f16"                     ? TensorType::kF16
                             : type == ".bf16"                  ? TensorType::kBF16
                             : type == ".f32"                   ? TensorType::kF32
                             : type == ".f64"                   ? TensorType::kF64
                             : type == ".s32"                   ? TensorType::kI32
                             : type == ".u32" || type == ".b32" ? TensorType::kU32
                             : type == ".s64" && op != ".add"   ? TensorType::kI64
                                                                : TensorType::kU64;
  if (machine::find_flat_reduction(static_cast<isa::ReduceOp>(number), element) == nullptr) {
    b.fail(fmt::format("{} of {}, which the copy engine does not have", op, type));
  }
  return number | static_cast<std::uint32_t>(element) << kTypeShift;
}

constexpr const char* kReduceOps = "{.add,.min,.max,.inc,.dec,.and,.or,.xor}";

void add_flat_reductions(FormTable& table) {
  table.add(std::string("cp.reduce.async.bulk.global.shared::cta.bulk_group[.L2::cache_hint]") + kReduceOps +
                "[.noftz]{.f16,.bf16,.b32,.u32,.s32,.b64,.u64,.s64,.f32,.f64}",
            [](Build& b) {
              flat_copy(b, bulk_reduce, false);
              b.out().flags = reduction_flags(b, b.mod(1), b.mod(3));
            });
  table.add(std::string("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes") +
                kReduceOps + "{.b32,.u32,.s32,.b64,.u64,.s64}",
            [](Build& b) {
              flat_copy(b, bulk_reduce_to_peer, true);
              b.out().flags = reduction_flags(b, b.mod(0), b.mod(1));
            });
}

void decode_store_async(Build& b, std::string_view vector, std::string_view type, std::uint32_t flags) {
  b.want(3);
  Instruction& out = b.out();
  add_address(b, b.operand(0));
  add_address(b, b.operand(2));
  out.rows = b.sources(b.operand(1), type);
  const std::size_t wanted = vector == ".v2" ? 2 : vector == ".v4" ? 4 : 1;
  if (out.rows.size() != wanted) b.fail(fmt::format("{} registers where {} are wanted", out.rows.size(), wanted));
  const std::uint32_t bytes = type.ends_with("64") ? 8 : 4;
  if (bytes * wanted > 16) b.fail(fmt::format("a store of {} bytes; at most 16", bytes * wanted));
  out.flags = flags | bytes << kBytesShift;
  b.machine(store_async);
}

void add_async_stores(FormTable& table) {
  table.add(
      "st.async[.weak][.shared::cluster].mbarrier::complete_tx::bytes[.v2,.v4]"
      "{.b32,.b64,.u32,.u64,.s32,.s64,.f32,.f64}",
      [](Build& b) { decode_store_async(b, b.mod(2), b.mod(3), 0); });
  table.add(std::string("red.async[.relaxed][.cluster][.shared::cluster].mbarrier::complete_tx::bytes") +
                kReduceOps + "{.b32,.u32,.s32,.u64}",
            [](Build& b) {
              decode_store_async(b, {}, b.mod(4), reduction_flags(b, b.mod(3), b.mod(4)) | kIsReduction);
            });
}

constexpr const char* kRank = "{.1d,.2d,.3d,.4d,.5d}";
constexpr const char* kPixelRank = "{.3d,.4d,.5d}";

void add_pixel_forms(FormTable& table) {
  table.add(std::string("cp.async.bulk.tensor") + kPixelRank +
                "{.shared::cluster,.shared::cta}.global.im2col.mbarrier::complete_tx::bytes"
                "[.multicast::cluster][.cta_group::1,.cta_group::2][.L2::cache_hint]",
            [](Build& b) {
              b.want(b.has(2) ? 5 : 4, 6);
              add_address(b, b.operand(0));
              add_map(b, 1, b.mod(0));
              add_address(b, b.operand(2));
              if (b.has(2)) b.out().b = b.source(4);
              b.out().flags = b.mod(3) == ".cta_group::2" ? 2 : 1;
              add_offsets(b, 3, b.mod(0));
              b.machine(tensor_load);
            });
  table.add(std::string("cp.async.bulk.tensor") + kPixelRank +
                ".global.shared::cta.im2col_no_offs.bulk_group[.L2::cache_hint]",
            [](Build& b) {
              b.want(2, 3);
              add_map(b, 0, b.mod(0));
              add_address(b, b.operand(1));
              b.out().flags = kPixels;
              b.machine(tensor_store);
            });
  table.add(std::string("cp.async.bulk.prefetch.tensor") + kPixelRank + ".L2.global.im2col[.L2::cache_hint]",
            [](Build& b) {
              b.want(2, 3);
              add_map(b, 0, b.mod(0));
              add_offsets(b, 1, b.mod(0));
              b.machine(tensor_prefetch);
            });
}

}  // namespace

void add_copy_forms(FormTable& table) {
  table.add(std::string("cp.async.bulk.tensor") + kRank +
                "{.shared::cluster,.shared::cta}.global[.tile].mbarrier::complete_tx::bytes"
                "[.multicast::cluster][.cta_group::1,.cta_group::2][.L2::cache_hint]",
            [](Build& b) {
              b.want(b.has(3) ? 4 : 3, 5);
              add_address(b, b.operand(0));
              add_map(b, 1, b.mod(0));
              add_address(b, b.operand(2));
              if (b.has(3)) b.out().b = b.source(3);
              b.out().flags = b.mod(4) == ".cta_group::2" ? 2 : 1;
              b.machine(tensor_load);
            });
  table.add(
      "cp.async.bulk.tensor.2d{.shared::cluster,.shared::cta}.global{.tile::gather4}"
      ".mbarrier::complete_tx::bytes[.multicast::cluster][.cta_group::1,.cta_group::2][.L2::cache_hint]",
      [](Build& b) {
        b.want(b.has(2) ? 4 : 3, 5);
        add_address(b, b.operand(0));
        add_map(b, 1, ".four_rows");
        add_address(b, b.operand(2));
        if (b.has(2)) b.out().b = b.source(3);
        b.out().flags = kFourRows | (b.mod(3) == ".cta_group::2" ? 2u : 1u);
        b.machine(tensor_load);
      });
  table.add("cp.async.bulk.tensor.2d.global.shared::cta{.tile::scatter4}.bulk_group[.L2::cache_hint]",
            [](Build& b) {
              b.want(2, 3);
              add_map(b, 0, ".four_rows");
              add_address(b, b.operand(1));
              b.out().flags = kFourRows;
              b.machine(tensor_store);
            });
  add_pixel_forms(table);
  add_flat_reductions(table);
  add_async_stores(table);
  table.add(
      std::string("cp.async.bulk.tensor") + kRank + ".global.shared::cta[.tile].bulk_group[.L2::cache_hint]",
      [](Build& b) {
        b.want(2, 3);
        add_map(b, 0, b.mod(0));
        add_address(b, b.operand(1));
        b.machine(tensor_store);
      });
  table.add(std::string("cp.reduce.async.bulk.tensor") + kRank +
                ".global.shared::cta{.add,.min,.max,.inc,.dec,.and,.or,.xor}[.tile].bulk_group[.L2::cache_hint]",
            [](Build& b) {
              b.want(2, 3);
              add_map(b, 0, b.mod(0));
              add_address(b, b.operand(1));
              constexpr std::string_view kOps[] = {".add", ".min", ".max", ".inc", ".dec", ".and", ".or", ".xor"};
              while (kOps[b.out().flags] != b.mod(1)) ++b.out().flags;
              b.machine(tensor_reduce);
            });
  table.add(std::string("cp.async.bulk.prefetch.tensor") + kRank + ".L2.global[.tile][.L2::cache_hint]",
            [](Build& b) {
              b.want(1, 2);
              add_map(b, 0, b.mod(0));
              b.machine(tensor_prefetch);
            });
  table.add("cp.async.bulk.prefetch.tensor.2d.L2.global{.tile::gather4}[.L2::cache_hint]", [](Build& b) {
    b.want(1, 2);
    add_map(b, 0, ".four_rows");
    b.machine(prefetch_map);
  });
  table.add("prefetch[.param,.const].tensormap", [](Build& b) {
    b.want(1);
    add_address(b, b.operand(0));
    b.machine(prefetch_map);
  });
  table.add(
      "cp.async.bulk{.shared::cluster,.shared::cta}.global.mbarrier::complete_tx::bytes[.multicast::cluster]"
      "[.L2::cache_hint]",
      [](Build& b) {
        flat_copy(b, bulk_load, true);
        if (b.has(1)) b.out().b = b.source(4);
      });
  table.add("cp.async.bulk.global.shared::cta.bulk_group[.L2::cache_hint]",
            [](Build& b) { flat_copy(b, bulk_store, false); });
  table.add("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes",
            [](Build& b) { flat_copy(b, bulk_to_peer, true); });
  table.add("cp.async.bulk.prefetch.L2.global[.L2::cache_hint]", [](Build& b) { b.scalar(nothing); });
  table.add("cp.async.bulk.commit_group", [](Build& b) {
    b.want(0);
    b.machine(commit_group);
  });
  table.add("cp.async.bulk.wait_group[.read]", [](Build& b) {
    b.want(1);
    b.out().value = b.constant(0);
    b.out().flags = b.has(0) ? 1 : 0;
    b.machine(wait_group);
  });
}

}  // namespace heddle::sim::ptx
