// SPDX-License-Identifier: Apache-2.0
//
// Decoded PTX: what the interpreter runs. Every operand of an instruction is a row: one 64-bit word for each
// lane of a warp. Registers are rows, and so are immediates, special registers and addresses of variables,
// which a frame fills in once when it is made. A word's bits above its type's width mean nothing.
#pragma once

#include "sim/frontend/ptx/ast.h"
#include "sim/frontend/ptx/flow.h"

#include <heddle/isa/target.h>
#include <heddle/isa/wgmma.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace heddle::sim::ptx {

struct Warp;
struct Instruction;
struct Function;

using Row = std::array<std::uint64_t, 32>;

// Does an instruction in the lanes of the mask.
using Handler = void (*)(Warp& warp, const Instruction& instruction, std::uint32_t mask);

// The same for one that goes through the machine. Returns the lanes that are done; the others wait at it, and
// come back with it when the machine has woken them.
using MachineHandler = std::uint32_t (*)(Warp& warp, const Instruction& instruction, std::uint32_t mask);

enum class Control : std::uint8_t { kScalar, kMachine, kBranch, kBranchIndexed, kCall, kReturn, kExit };

// Generic addresses. Global memory has the addresses of the host; each other space has a window above them.
inline constexpr std::uint64_t kWindowMask = std::uint64_t{0xff} << 56;
inline constexpr std::uint64_t kSharedWindow = std::uint64_t{1} << 56;
inline constexpr std::uint64_t kLocalWindow = std::uint64_t{2} << 56;
inline constexpr std::uint64_t kParamWindow = std::uint64_t{3} << 56;
inline constexpr std::uint64_t kCodeWindow = std::uint64_t{4} << 56;

struct Instruction {
  Handler run = nullptr;
  MachineHandler machine = nullptr;
  Control control = Control::kScalar;
  bool is_visible = false;  // other threads can tell when it happens
  bool guard_negated = false;
  bool is_copy = false;             // of one register to another
  bool fills_later = false;         // its registers, some time after it was issued
  bool takes_accumulators = false;  // as its results: wgmma
  bool feeds_wgmma = false;         // it writes a register that a wgmma takes, or whose copy one takes
  bool gives_way = false;           // its warp's turn ends behind it
  bool compares = false;            // atom.cas: b is what it expects to find
  std::uint32_t guard = kNone;
  std::uint32_t d = kNone, d2 = kNone;                       // rows that it writes
  std::uint32_t a = kNone, b = kNone, c = kNone, e = kNone;  // rows that it reads
  std::uint32_t target = kNone;                              // branch: an instruction; call: a function
  std::uint32_t flags = 0;                                   // as the handler wants them
  std::uint64_t value = 0;                                   // offset of an address, or an immediate
  std::vector<std::uint32_t> rows;                           // of vectors, tuples and label lists
  std::vector<std::uint32_t> more;                           // of a second one
  std::uint32_t line = 0;                                    // in the PTX
  CallSite site = {};
};

enum class ConstantKind : std::uint8_t { kImmediate, kSpecial, kShared, kLocal, kParam, kModule };

enum class Special : std::uint8_t {
  kTidX,
  kTidY,
  kTidZ,
  kNtidX,
  kNtidY,
  kNtidZ,
  kCtaidX,
  kCtaidY,
  kCtaidZ,
  kNctaidX,
  kNctaidY,
  kNctaidZ,
  kLaneid,
  kWarpid,
  kNwarpid,
  kSmid,
  kNsmid,
  kGridid,
  kClusteridX,
  kClusteridY,
  kClusteridZ,
  kNclusteridX,
  kNclusteridY,
  kNclusteridZ,
  kClusterCtaidX,
  kClusterCtaidY,
  kClusterCtaidZ,
  kClusterNctaidX,
  kClusterNctaidY,
  kClusterNctaidZ,
  kClusterCtarank,
  kClusterNctarank,
  kIsExplicitCluster,
  kLanemaskEq,
  kLanemaskLt,
  kLanemaskLe,
  kLanemaskGt,
  kLanemaskGe,
  kDynamicSmemSize,
  kTotalSmemSize,
  kAggrSmemSize,
  kReservedSmemBegin,
  kReservedSmemEnd,
  kWarpSize,
  kClock,
  kGlobalTimer,
  kEnvreg1,
  kEnvreg2
};

struct Constant {
  ConstantKind kind;
  std::uint64_t value;  // immediate; number of a special register; variable of the function or module; offset
  std::uint32_t row;
};

struct Function {
  std::string name;
  const FunctionText* text = nullptr;
  std::vector<Instruction> code;  // the last one is an exit or a return
  std::vector<Flow> flows;        // by instruction
  std::vector<Constant> constants;
  std::uint32_t row_count = 0;
  std::map<std::uint32_t, std::uint32_t> wide_rows;  // the upper halves of 128-bit registers
  std::uint32_t carry_row = kNone;
  std::uint64_t local_bytes = 0;                // with its parameters, if it is not an entry
  std::uint64_t local_end = 0;                  // of what it has declared
  std::vector<std::uint64_t> local_offsets;     // by variable of the function
  std::vector<std::uint32_t> module_variables;  // that it names
  std::vector<std::uint32_t> shared_variables;  // of its own
  std::vector<std::uint32_t> callees;
  std::uint32_t most_registers = 0;  // that one of its setmaxnreg.inc asks for
  std::size_t branch_labels = 0;     // of all its uses of .branchtargets
  bool calls_indirectly = false;
  std::string unsupported;  // why it cannot run: the first instruction that is not there. Empty if it can
};

}  // namespace heddle::sim::ptx
