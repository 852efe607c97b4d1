// SPDX-License-Identifier: Apache-2.0
//
// From text to decoded instructions. Which instructions there are is written down once, as forms: a pattern of
// the mnemonic and a function that fills in the instruction. The pattern is the documentation, too:
//
//   add{.u32,.s32}                  one of these modifiers
//   add[.rn,.rz,.rm,.rp][.ftz].f32  none or one of these
//   wgmma{.m64n*k16}                * stands for a number
//
// As for ptxas, modifiers may stand in any order after the instruction's name (its first words: "cp.async.bulk");
// types, state spaces, layouts and cache priorities keep the pattern's order among themselves, since one word can
// stand for several of them.
//
// An instruction that no pattern fits is found when the module is loaded, and the kernels that could come to it
// are refused.
#pragma once

#include "sim/frontend/ptx/program.h"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::sim::ptx {

class Build;
using Decode = std::function<void(Build&)>;

struct Form {
  struct Element {
    std::vector<std::string> choices;  // with their dots
    bool is_optional = false;
    bool is_group = false;  // its choice is handed to the decoder
  };
  std::string pattern;
  std::vector<Element> elements;
  std::size_t name_words = 0;  // elements at the front that are the instruction's name
  Decode decode;

  // The choices of the groups, in order and empty for what was left out; false if it does not fit.
  bool matches(const std::vector<std::string_view>& parts, std::vector<std::string_view>& chosen) const;
};

class FormTable {
 public:
  void add(std::string_view pattern, Decode decode);
  const Form* find(std::string_view mnemonic, std::vector<std::string_view>& chosen) const;
  const std::vector<Form>& all() const { return forms_; }

  static const FormTable& get();

 private:
  std::vector<Form> forms_;
  std::map<std::string, std::vector<std::size_t>, std::less<>> by_opcode_;
};

// One file for each family.
void add_integer_forms(FormTable& table);
void add_packed_forms(FormTable& table);
void add_video_forms(FormTable& table);
void add_float_forms(FormTable& table);
void add_half_forms(FormTable& table);
void add_mixed_forms(FormTable& table);
void add_bit_mask_forms(FormTable& table);
void add_compare_forms(FormTable& table);
void add_convert_forms(FormTable& table);
void add_move_forms(FormTable& table);
void add_memory_forms(FormTable& table);
void add_atomic_forms(FormTable& table);
void add_control_forms(FormTable& table);
void add_warp_forms(FormTable& table);
void add_barrier_forms(FormTable& table);
void add_copy_forms(FormTable& table);
void add_async_copy_forms(FormTable& table);
void add_tensor_map_forms(FormTable& table);
void add_texture_forms(FormTable& table);
void add_clc_forms(FormTable& table);
void add_mma_forms(FormTable& table);
void add_exact_mma_forms(FormTable& table);
void add_sparse_mma_forms(FormTable& table);
void add_quad_mma_forms(FormTable& table);
void add_wmma_forms(FormTable& table);
void add_wgmma_forms(FormTable& table);
void add_tcgen05_forms(FormTable& table);

// What a decoder sees of an instruction, and where it puts the result.
class Build {
 public:
  Build(const ModuleText& module, Function& function, const Statement& statement,
        const std::vector<std::string_view>& chosen, Instruction& out, Flow& flow,
        std::map<std::tuple<ConstantKind, std::uint64_t>, std::uint32_t>& constants)
      : module_(module),
        function_(function),
        statement_(statement),
        chosen_(chosen),
        out_(out),
        flow_(flow),
        constants_(constants) {}

  std::string_view mod(std::size_t group) const { return chosen_[group]; }
  bool has(std::size_t group) const { return !chosen_[group].empty(); }
  Instruction& out() { return out_; }
  Function& function() { return function_; }
  const ModuleText& module() const { return module_; }
  const Statement& statement() const { return statement_; }
  std::size_t operands() const { return statement_.operands.size(); }
  const Operand& operand(std::size_t index) const;
  void want(std::size_t least, std::size_t most) const;  // operands
  void want(std::size_t count) const { want(count, count); }

  // Rows. `type` matters for immediates.
  std::uint32_t source(const Operand& operand, std::string_view type = {});
  std::uint32_t source(std::size_t index, std::string_view type = {}) { return source(operand(index), type); }
  std::uint32_t target(const Operand& operand);
  std::uint32_t target(std::size_t index) { return target(operand(index)); }
  std::uint32_t predicate(std::size_t index, bool& negated);
  std::uint32_t immediate(std::uint64_t value);
  std::uint32_t scratch() { return function_.row_count++; }
  std::uint32_t carry();
  std::uint64_t constant(std::size_t index) const;  // an integer that is written down
  std::uint32_t label(std::string_view name) const;
  std::vector<std::uint32_t> labels(std::string_view name) const;

  // [base + offset]: a's row and value. The number of further elements in the brackets is checked.
  void address(std::size_t index) { out_.a = address_row(operand(index), out_.value); }
  std::uint32_t address_row(const Operand& operand, std::uint64_t& offset);
  std::vector<std::uint32_t> sources(const Operand& vector, std::string_view type = {});
  std::vector<std::uint32_t> targets(const Operand& vector);

  void scalar(Handler handler) {
    out_.control = Control::kScalar;
    out_.run = handler;
  }
  void machine(MachineHandler handler, bool is_visible = true) {
    out_.control = Control::kMachine;
    out_.machine = handler;
    out_.is_visible = is_visible;
  }
  // d = op(a, b, ...), each of this type.
  void simple(std::size_t sources_wanted, std::string_view type, Handler handler);

  [[noreturn]] void fail(const std::string& what) const;
  [[noreturn]] void unsupported(const std::string& what) const;

 private:
  std::uint32_t constant_row(ConstantKind kind, std::uint64_t value);
  std::uint32_t variable_row(const Operand& operand);
  void note(std::vector<std::uint32_t>& rows, std::uint32_t row);  // with its upper half

  const ModuleText& module_;
  Function& function_;
  const Statement& statement_;
  const std::vector<std::string_view>& chosen_;
  Instruction& out_;
  Flow& flow_;
  std::map<std::tuple<ConstantKind, std::uint64_t>, std::uint32_t>& constants_;
};

// Names of files for reports live as long as `strings`.
using Strings = std::map<std::string, std::unique_ptr<std::string>>;
void decode_function(const ModuleText& module, const FunctionText& text, Function& function, Strings& strings);
// Sets feeds_wgmma. In register_fence.cpp.
void mark_wgmma_operands(Function& function);
// Plain loads whose value an atom.cas compares. In memory.cpp.
void mark_compared_loads(Function& function);
// Loads with a memory order that no loop repeats. In memory.cpp.
void mark_final_loads(Function& function);
// Whether it is a store to memory of others, and to no other: the machine tells of it. In memory.cpp.
bool stores_for_others(const Instruction& instruction);

}  // namespace heddle::sim::ptx
