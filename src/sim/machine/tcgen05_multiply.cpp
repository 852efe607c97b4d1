// SPDX-License-Identifier: Apache-2.0
//
// What tcgen05.mma and tcgen05.cp do with bytes and cells, when their turn in the queue has come.
// PTX: Data Path Layout Organization, Matrix fragments in Tensor Memory, Scale Factor layouts.
// Unverified: no sm_100 part has run any of it.
#include "sim/machine/tcgen05_unit.h"

#include "sim/machine/scaled_core.h"
#include "sim/machine/sparse_operand.h"
#include "sim/machine/tcgen05_made.h"
#include "sim/machine/tmem_unit.h"

#include "sim/machine/wgmma.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace heddle::sim::machine {

namespace {

constexpr std::uint32_t kRowBytes = 32;  // of A: the K of one instruction, or half of it where A is sparse

// The even CTA of a pair has the first half of everything.
std::vector<Cta*> ctas_of(const Tcgen05Queue& queue, int cta_group) {
  if (cta_group == 1) return {queue.cta};
  const std::uint32_t even = queue.cta->rank & ~1u;
  return {queue.cta->cluster->ctas[even], queue.cta->cluster->ctas[even + 1]};
}

// The rows of A that one CTA has, from the lanes of one part of D's columns.
std::vector<std::byte> read_tmem_rows(Tmem& tmem, std::uint32_t taddr, const Tcgen05Layout& layout,
                                      std::uint32_t part) {
  std::vector<std::byte> rows(std::size_t{layout.rows} * kRowBytes);
  for (std::uint32_t row = 0; row < layout.rows; ++row) {
    const std::uint32_t lane = tmem_lane(taddr) + layout.lane_of(row) + layout.rows * part;
    std::memcpy(&rows[std::size_t{row} * kRowBytes], tmem.cell(lane, tmem_column(taddr)), kRowBytes);
  }
  return rows;
}

// A with its zeros.
std::vector<std::byte> expand_rows(Tmem& tmem, const Tcgen05Operands& operands, const Tcgen05Fields& fields,
                                   std::uint32_t rows, const std::vector<std::byte>& stored) {
  const std::uint32_t bytes = stored_bytes(fields.a_type);
  const auto metadata = [&](std::uint32_t row, std::uint32_t chunk) {
    const MetadataPlace place = metadata_place(bytes, row, chunk);
    const std::uint32_t column = tmem_column(operands.metadata) + fields.sparsity_selector + place.column;
    return *tmem.cell(place.lane, column) >> place.bit & 15;
  };
  return expand({rows, kRowBytes, bytes}, stored.data(), metadata);
}

// PTX: tcgen05.mma, scale-input-d.
void scale_down(AccumulatorType type, std::uint32_t exponent, std::vector<std::uint32_t>& d) {
  for (std::uint32_t& word : d) {
    if (type == AccumulatorType::kF16) {
      const float value = fp16{static_cast<std::uint16_t>(word)}.to_float();
      word = fp16::from_float(std::ldexp(value, -static_cast<int>(exponent))).bits;
    } else {
      word = std::bit_cast<std::uint32_t>(std::ldexp(std::bit_cast<float>(word), -static_cast<int>(exponent)));
    }
  }
}

}  // namespace

void Tcgen05Unit::tell_operand(const Cta& cta, const Tcgen05Operation& operation,
                               const std::vector<SharedRange>& ranges) {
  for (const SharedRange& range : ranges) {
    core_.emit(event::MmaReadShared{.cta = cta.linear,
                                    .operation = operation.id,
                                    .address = range.address | cta.rank << kRankShift,
                                    .bytes = range.bytes,
                                    .site = operation.site});
  }
}

void Tcgen05Unit::touch_tmem(const Tcgen05Queue& queue, const Cta& cta, const Tcgen05Operation& operation,
                             std::uint32_t taddr, std::uint32_t cols, std::uint64_t how, const char* operand) {
  const char* name = operation.kind == Tcgen05Operation::Kind::kCopy ? "tcgen05.cp" : "tcgen05.mma";
  tmem_.check_not_freed(queue.cta->threads[queue.tid], true, cta, tmem_column(taddr), cols, name, operation.site);
  if (!core_.wants<event::MmaTouchTmem>()) return;
  const std::vector<Cta*> ctas = ctas_of(queue, operation.operands.cta_group);
  const TmemMaking making{&operation, {ctas.front()->linear, ctas.back()->linear}};
  core_.emit(event::MmaTouchTmem{.cta = cta.linear,
                                 .operation = operation.id,
                                 .address = taddr,
                                 .cols = cols,
                                 .how = how,
                                 .operand = operand,
                                 .making = &making,
                                 .site = operation.site});
}

// Scales of 32 rows fill a column, in each quarter of the lanes; the last rows may fill a part of one.
void Tcgen05Unit::touch_scales(const Tcgen05Queue& queue, const Cta& cta, const Tcgen05Operation& operation,
                               char side, std::uint32_t rows) {
  const char* operand = side == 'A' ? "scales of A" : "scales of B";
  const std::uint32_t taddr = side == 'A' ? operation.operands.sfa : operation.operands.sfb;
  const std::uint32_t whole = rows / 32;
  if (whole != 0)
    touch_tmem(queue, cta, operation, taddr, whole, TmemTouch::kLanes | TmemTouch::kNeedsOld, operand);
  for (std::uint32_t half = 0; half < 2; ++half) {
    if (rows % 32 <= 16 * half) break;
    const std::uint64_t lanes = (std::uint64_t{1} << std::min(rows % 32 - 16 * half, 16u)) - 1;
    touch_tmem(queue, cta, operation, taddr + whole, 1,
               std::uint64_t{0x55} << half | TmemTouch::kNeedsOld | lanes << TmemTouch::kLaneShift, operand);
  }
}

// Four scales for each row, one for each 16 numbers, or one for all if the kind has one.
std::vector<Scale> Tcgen05Unit::read_scales(const Tcgen05Queue& queue, Cta& cta,
                                            const Tcgen05Operation& operation, char side, std::uint32_t rows) {
  const Tcgen05Operands& operands = operation.operands;
  const Tcgen05Fields fields = fields_of(operands);
  const std::uint32_t taddr = side == 'A' ? operands.sfa : operands.sfb;
  const std::uint32_t id = side == 'A' ? fields.sfa_id : fields.sfb_id;
  const auto vec = static_cast<std::uint32_t>(operands.scale_vec);
  const std::uint32_t groups = is_packed_fp4(operands.kind) ? Fp4Operand::kGroups : 1;
  std::vector<Scale> scales;
  for (std::uint32_t row = 0; row < rows; ++row) {
    const std::uint32_t column = tmem_column(taddr) + row / 32;
    const std::uint32_t word = *cta.tmem.cell(row % 32, column);
    for (std::uint32_t group = 0; group < groups; ++group) {
      const std::uint32_t byte = id + group * vec / groups;
      for (std::uint32_t quarter = 1; quarter < 4; ++quarter) {
        const std::uint32_t copy = *cta.tmem.cell(32 * quarter + row % 32, column);
        if ((copy >> 8 * byte & 0xFF) == (word >> 8 * byte & 0xFF)) continue;
        core_.fault(
            &queue.cta->threads[queue.tid], operation.site, FaultCode::kScaleCopies,
            fmt::format(
                "{}: the scale of row {} of {} is {:#04x} in lane {} and {:#04x} in lane {} of column {}; each "
                "quarter of the lanes has a copy of all scales",
                text_of(operands), row, side, word >> 8 * byte & 0xFF, row % 32, copy >> 8 * byte & 0xFF,
                32 * quarter + row % 32, column),
            {"likely: the scales were not copied with tcgen05_cp_32x128b_warpx4"});
      }
      scales.push_back(scale_of(fields.scale_type, static_cast<std::uint8_t>(word >> 8 * byte)));
    }
  }
  return scales;
}

void Tcgen05Unit::run_cp(const Tcgen05Queue& queue, const Tcgen05Operation& operation) {
  const Tcgen05Copy& copy = operation.copy;
  const std::vector<SharedRange> ranges = copy_ranges(copy);
  std::uint64_t groups = 0;
  std::uint64_t lanes = 0;
  for (std::uint32_t row = 0; row < copy.rows(); ++row) {
    for (const std::uint32_t lane : copy.lanes_of(row)) {
      groups |= std::uint64_t{1} << lane / 16;
      lanes |= std::uint64_t{1} << lane % 16;
    }
  }
  for (Cta* cta : ctas_of(queue, copy.cta_group)) {
    if (core_.wants<event::MmaReadShared>()) tell_operand(*cta, operation, ranges);
    touch_tmem(queue, *cta, operation, copy.taddr, copy.cols(),
               groups | TmemTouch::kWrites | lanes << TmemTouch::kLaneShift, "");
    const std::uint32_t pieces = copy.row_bytes() / 16;
    for (std::uint32_t i = 0; i < ranges.size(); ++i) {
      for (const std::uint32_t lane : copy.lanes_of(i / pieces)) {
        std::memcpy(cta->tmem.cell(lane, tmem_column(copy.taddr) + 4 * (i % pieces)),
                    cta->shared + ranges[i].address, ranges[i].bytes);
      }
    }
  }
}

void Tcgen05Unit::run_mma(const Tcgen05Queue& queue, const Tcgen05Operation& operation) {
  const Tcgen05Operands& operands = operation.operands;
  const Tcgen05Fields fields = fields_of(operands);
  const auto group = static_cast<std::uint32_t>(operands.cta_group);
  const Tcgen05Layout layout = layout_of(operands, fields);
  const SmemDescriptor a_fields = decode_tcgen05_descriptor(operands.a_descriptor).fields;
  const SmemDescriptor b_fields = decode_tcgen05_descriptor(operands.b_descriptor).fields;
  const std::vector<Cta*> ctas = ctas_of(queue, operands.cta_group);
  const std::uint64_t lanes = lane_groups(layout, tmem_lane(operands.d));
  std::vector<std::byte> b_rows;
  for (Cta* cta : ctas) {
    if (core_.wants<event::MmaReadShared>()) {
      if (!operands.a_in_tmem) {
        tell_operand(*cta, operation, operand_ranges(a_fields, fields.a_major, fields.a_type, layout.rows));
      }
      tell_operand(
          *cta, operation,
          operand_ranges(b_fields, fields.b_major, fields.b_type, fields.n / group, operands.b_row_bytes()));
    }
    if (operands.a_in_tmem) {
      touch_tmem(queue, *cta, operation, operands.a, kTmemACols, lanes | TmemTouch::kNeedsOld, "A");
    }
    if (operands.is_sparse) {
      touch_tmem(queue, *cta, operation, operands.metadata + fields.sparsity_selector, metadata_cols(fields),
                 TmemTouch::kLanes | TmemTouch::kNeedsOld, "the metadata of A");
    }
    if (operands.scale_vec != 0) {
      touch_scales(queue, *cta, operation, 'A', layout.rows);
      touch_scales(queue, *cta, operation, 'B', fields.n);
    }
    const std::vector<std::byte> rows = read_operand(cta->shared, b_fields, fields.b_major, fields.b_type,
                                                     fields.n / group, operands.b_row_bytes());
    b_rows.insert(b_rows.end(), rows.begin(), rows.end());
  }
  // After all that goes into it: what is made of what nobody wrote is not known either.
  for (Cta* cta : ctas) {
    touch_tmem(queue, *cta, operation, operands.d, layout.cols(),
               lanes | TmemTouch::kWrites | (operands.accumulate ? TmemTouch::kNeedsOld : 0), "its accumulator");
  }
  const bool is_fp4 = is_packed_fp4(operands.kind);
  if (!is_fp4) spread_packed(fields.b_type, b_rows);
  const std::uint32_t depth = operands.b_row_bytes() / stored_bytes(fields.b_type);
  const MmaArithmetic arithmetic = mma_arithmetic(core_.options().arch, fields.a_type);
  std::vector<std::uint32_t> d(std::size_t{layout.rows} * layout.cols());
  for (Cta* cta : ctas) {
    std::vector<Scale> a_scales;
    std::vector<Scale> b_scales;
    if (operands.scale_vec != 0) {
      a_scales = read_scales(queue, *cta, operation, 'A', layout.rows);
      b_scales = read_scales(queue, *cta, operation, 'B', fields.n);
    }
    // The lanes of each part multiply their own copy of A with their part of B's columns.
    for (std::uint32_t part = 0; part < layout.parts; ++part) {
      std::vector<std::byte> a_rows =
          operands.a_in_tmem ? read_tmem_rows(cta->tmem, operands.a, layout, part)
                             : read_operand(cta->shared, a_fields, fields.a_major, fields.a_type, layout.rows);
      if (!is_fp4) spread_packed(fields.a_type, a_rows);
      if (operands.is_sparse) a_rows = expand_rows(cta->tmem, operands, fields, layout.rows, a_rows);
      const auto for_each_row = [&](auto&& body) {
        for (std::uint32_t row = 0; row < layout.rows; ++row) {
          body(tmem_lane(operands.d) + layout.lane_of(row) + layout.rows * part,
               &d[std::size_t{row} * layout.cols()]);
        }
      };
      const std::size_t bytes = std::size_t{4} * layout.cols();
      const std::uint32_t column = tmem_column(operands.d);
      if (operands.accumulate) {
        for_each_row([&](std::uint32_t lane, std::uint32_t* values) {
          std::memcpy(values, cta->tmem.cell(lane, column), bytes);
        });
        if (operands.d_scale != 0) scale_down(fields.d_type, operands.d_scale, d);
      } else {
        std::fill(d.begin(), d.end(), 0);
      }
      const std::byte* b_part = b_rows.data() + std::size_t{part} * layout.cols() * operands.b_row_bytes();
      if (is_fp4) {
        multiply_add(Fp4Operand(layout.rows, 2 * depth, fields.negate_a, a_rows.data(), a_scales),
                     Fp4Operand(fields.n, 2 * depth, fields.negate_b, b_part, b_scales), d.data());
      } else if (operands.kind == MmaKind::kI8) {
        multiply_add(IntegerOperand{fields.a_type, layout.rows, a_rows.data()},
                     IntegerOperand{fields.b_type, layout.cols(), b_part}, depth, fields.saturates, d.data());
      } else {
        MmaOperand a(MmaOperand::Side::kA, fields.a_type, fields.negate_a, layout.rows, depth, a_rows.data());
        MmaOperand b(MmaOperand::Side::kB, fields.b_type, fields.negate_b, layout.cols(), depth, b_part);
        for (std::uint32_t row = 0; row < a_scales.size(); ++row) {
          a.scale_row(row, a_scales[row].exponent, a_scales[row].is_nan);
        }
        for (std::uint32_t row = 0; row < b_scales.size(); ++row) {
          b.scale_row(row, b_scales[row].exponent, b_scales[row].is_nan);
        }
        multiply_add(arithmetic, a, 0, layout.rows, b, fields.d_type, d.data());
      }
      // Model: lanes that are not written count as written for whoever else touches them.
      const std::uint32_t* kept = &operands.kept[cta == ctas.front() ? 0 : 4];
      for_each_row([&](std::uint32_t lane, std::uint32_t* values) {
        if ((kept[lane / 32] >> lane % 32 & 1) != 0) return;
        std::memcpy(cta->tmem.cell(lane, column), values, bytes);
      });
    }
  }
}

}  // namespace heddle::sim::machine
