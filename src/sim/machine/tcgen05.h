// SPDX-License-Identifier: Apache-2.0
//
// The tensor core of an SM, or of a pair, as tcgen05 uses it. What a thread issues queues up and runs in that
// order, each step at a time that the scheduler chooses; a commit in the queue tells its barriers when it is
// reached. The queues of different threads are not ordered with each other.
// PTX: TensorCore 5th Generation Instructions.
#pragma once

#include "sim/machine/tensor_copy.h"
#include "sim/machine/tensor_core.h"
#include "sim/machine/tmem.h"

#include <heddle/isa/instruction_descriptor.h>
#include <heddle/isa/smem_descriptor.h>
#include <heddle/isa/tcgen05.h>

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace heddle::sim::machine {

struct Cta;

// What a thread hands over with a tcgen05.mma.
struct Tcgen05Operands {
  MmaKind kind = MmaKind::kF16;
  int cta_group = 1;
  std::uint32_t d = 0;  // tensor-memory address, as all below that are not descriptors
  bool a_in_tmem = false;
  std::uint32_t a = 0;
  std::uint64_t a_descriptor = 0;
  std::uint64_t b_descriptor = 0;
  std::uint32_t instruction_descriptor = 0;
  bool accumulate = false;
  int scale_vec = 0;  // scales of a row that one instruction reads; 0: the kind has none
  std::uint32_t sfa = 0;
  std::uint32_t sfb = 0;
  bool is_sparse = false;  // tcgen05.mma.sp: A has half of its elements, and K is twice as long
  std::uint32_t metadata = 0;
  bool is_weight_stationary = false;       // tcgen05.mma.ws
  std::uint32_t d_scale = 0;               // D is multiplied by 2^-d_scale before the sum is added
  std::array<std::uint32_t, 8> kept = {};  // a bit for each lane of D that is not written, CTA by CTA

  std::uint32_t b_row_bytes() const { return is_sparse ? 64 : 32; }
};

// What the instruction descriptor says, in either of its forms.
struct Tcgen05Fields {
  std::uint32_t m;
  std::uint32_t n;
  OperandType a_type;
  OperandType b_type;
  AccumulatorType d_type = AccumulatorType::kF32;
  Major a_major;
  Major b_major;
  bool negate_a;
  bool negate_b;
  bool saturates = false;  // integers
  ScaleType scale_type = ScaleType::kUe8m0;
  std::uint32_t sfa_id = 0;
  std::uint32_t sfb_id = 0;
  std::uint32_t sparsity_selector = 0;
};

Tcgen05Fields fields_of(const Tcgen05Operands& operands);

// Two elements to a byte in shared memory, and 64 of them in one instruction.
inline bool is_packed_fp4(MmaKind kind) { return kind == MmaKind::kMxf4 || kind == MmaKind::kMxf4nvf4; }

// The columns that the scales of so many rows take, for one instruction.
inline std::uint32_t scale_cols(std::uint32_t rows) { return (rows + 31) / 32; }

// What a thread hands over with a tcgen05.cp.
struct Tcgen05Copy {
  TmemCopyShape shape = TmemCopyShape::k32x128bWarpx4;
  int cta_group = 1;
  std::uint32_t taddr = 0;
  std::uint64_t descriptor = 0;

  std::uint32_t rows() const;
  std::uint32_t row_bytes() const;
  std::uint32_t cols() const { return row_bytes() / 4; }
  // The lanes that get a row.
  std::vector<std::uint32_t> lanes_of(std::uint32_t row) const;
};

const char* name_of(TmemCopyShape shape);

// What a tcgen05.cp reads, row by row in pieces of 16 bytes.
std::vector<SharedRange> copy_ranges(const Tcgen05Copy& copy);

// Columns that A takes in tensor memory: 32 bytes of a row.
inline constexpr std::uint32_t kTmemACols = 8;

// Where the part of D that one CTA keeps lies: rows in lanes, and columns from the address on.
// PTX: Data Path Layout Organization.
struct Tcgen05Layout {
  std::uint32_t rows;  // of this CTA
  std::uint32_t n;
  std::uint32_t parts;  // of the columns; each lies in the `rows` lanes behind those of the one before
  bool is_spread;       // 16 rows to each 32 lanes

  std::uint32_t cols() const { return n / parts; }
  std::uint32_t lane_of(std::uint32_t row) const { return is_spread ? row % 16 + 32 * (row / 16) : row; }
};

Tcgen05Layout layout_of(const Tcgen05Operands& operands, const Tcgen05Fields& fields);

// Where the metadata of a sparse A lies: columns from the address on, in the lanes of its rows. The selector
// names one of two columns for 16- and 32-bit types.
// Unverified: CUTLASS's layouts of metadata, which its own comparison agrees with.
std::uint32_t metadata_cols(const Tcgen05Fields& fields);

// Bit i stands for lanes 16 * i to 16 * i + 15.
std::uint32_t lane_groups(const Tcgen05Layout& layout, std::uint32_t first_lane);

struct Tcgen05Operation {
  enum class Kind : std::uint8_t { kMma, kCopy, kCommit };

  Kind kind = Kind::kMma;
  std::uint64_t id = 0;
  CallSite site = {};
  Tcgen05Operands operands = {};
  Tcgen05Copy copy = {};
  std::uint32_t barrier = 0;              // commit: the offset in each CTA
  std::vector<std::uint32_t> ranks = {};  // commit: the CTAs whose barrier is told
};

// The operations of one thread that are not done, the oldest first.
struct Tcgen05Queue {
  Cta* cta = nullptr;
  std::uint32_t tid = 0;
  std::deque<Tcgen05Operation> operations;
};

// What is wrong with the operands; no code if nothing is.
struct Tcgen05Fault {
  std::optional<FaultCode> code;
  std::string headline;
  std::string likely;
};

// The descriptors, against the rules for kind, shape, types and layouts. Says nothing of addresses.
Tcgen05Fault check(const Tcgen05Operands& operands);
Tcgen05Fault check(const Tcgen05Copy& copy);

// The kind and shape, for reports: "tcgen05.mma m128n256.f32.bf16.bf16".
std::string text_of(const Tcgen05Operands& operands);

}  // namespace heddle::sim::machine
