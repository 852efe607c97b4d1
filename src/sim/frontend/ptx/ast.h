// SPDX-License-Identifier: Apache-2.0
//
// A PTX module as it was written, with every register, variable and label resolved: what the parser makes and
// the decoder reads.
#pragma once

#include <heddle/isa/sreg.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::sim::ptx {

enum class Space : std::uint8_t { kGeneric, kGlobal, kConst, kShared, kLocal, kParam };

inline constexpr std::uint32_t kNone = 0xffffffff;

struct Variable {
  std::string name;
  Space space = Space::kGlobal;
  std::uint32_t align = 1;
  std::uint32_t element_bytes = 1;
  std::uint64_t bytes = 0;  // 0: of unknown length, as dynamic shared memory is
  bool is_extern = false;
  bool is_managed = false;
  std::vector<std::uint8_t> initial;  // shorter than bytes: zeros follow
  struct Pointer {
    std::uint64_t at;
    std::string name;
    std::uint64_t offset;
    bool is_generic;
  };
  std::vector<Pointer> pointers;  // addresses of others within the initial value
  std::uint32_t line = 0;
};

enum class OperandKind : std::uint8_t {
  kRegister,  // id
  kSpecial,   // name: %tid.x
  kInteger,   // value
  kFloat32,
  kFloat64,
  kVariable,  // id: of the function's own variables, or of the module's
  kName,      // not a register or variable: a label, a function, or unknown
  kAddress,   // list: what is in the brackets; the first element has the offset
  kVector,    // list
  kTuple,     // list, in parentheses
  kSink       // _
};

struct Operand {
  OperandKind kind = OperandKind::kSink;
  bool negated = false;    // !p
  bool is_module = false;  // a module's variable
  std::uint32_t id = kNone;
  std::uint32_t second = kNone;  // register p of d|p
  std::uint64_t value = 0;       // also the offset in an address
  std::string_view name;
  std::string_view part;  // h1 of r.h1, of a video instruction
  std::vector<Operand> list;
};

// What the system keeps for cooperative groups of several warps in each CTA's shared memory, zeros at first: a
// special register has its address. Here it is a variable of that name, which the kernels that read the register
// have.
inline constexpr std::string_view kSystemScratch = "%reserved_smem_offset_1";
inline constexpr std::uint64_t kSystemScratchBytes = 288;

struct Location {
  std::uint32_t file = 0;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint32_t outer = kNone;  // index of the location that this one is inlined at
};

struct Statement {
  std::uint32_t line = 0;
  std::uint32_t guard = kNone;
  bool guard_negated = false;
  std::string_view mnemonic;
  std::vector<Operand> operands;
  std::uint32_t scope = 0;
  std::uint32_t location = kNone;
  std::string_view text;
};

struct Scope {
  std::uint32_t parent = kNone;
  std::map<std::string_view, std::uint32_t> labels;                       // to statements
  std::map<std::string_view, std::vector<std::string_view>> label_lists;  // .branchtargets
};

struct Parameter {
  std::string name;
  std::uint32_t variable = kNone;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  bool is_float = false;
};

struct FunctionText {
  std::string name;
  bool is_entry = false;
  bool has_body = false;
  std::uint32_t line = 0;
  std::vector<Parameter> results, parameters;
  std::uint64_t parameter_bytes = 0;
  std::uint32_t max_threads = 0;             // .maxntid
  isa::Dim3 required_threads{0, 0, 0};       // .reqntid
  isa::Dim3 required_cluster{0, 0, 0};       // .reqnctapercluster
  std::uint32_t max_registers = 0;           // .maxnreg
  std::uint32_t min_ctas = 0;                // .minnctapersm
  std::vector<std::uint16_t> register_bits;  // by register id; 1: a predicate
  std::vector<Variable> variables;
  std::vector<Scope> scopes;
  std::vector<Statement> statements;
  std::vector<Location> locations;
};

struct ModuleText {
  std::string name;
  std::string text;
  std::uint32_t version_major = 0, version_minor = 0;
  std::string target;
  std::vector<Variable> variables;
  std::map<std::string, std::uint32_t, std::less<>> variable_ids;
  std::vector<std::unique_ptr<FunctionText>> functions;
  std::map<std::string, std::uint32_t, std::less<>> function_ids;
  std::map<std::uint32_t, std::string> files;
  std::deque<std::string> joined;  // mnemonics that were written with spaces
};

// Throws InputError "name:line: what" for text that is not PTX.
std::unique_ptr<ModuleText> parse(std::string text, std::string name);

}  // namespace heddle::sim::ptx
