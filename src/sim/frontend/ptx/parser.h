// SPDX-License-Identifier: Apache-2.0
//
// From PTX text to a ModuleText: one method for each thing that the grammar has. Modules and their directives are
// in parser.cpp, variables, functions and instructions each in a file of their own.
#pragma once

#include "sim/frontend/ptx/ast.h"
#include "sim/frontend/ptx/cursor.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace heddle::sim::ptx {

// How deep lists may be nested, in operands and in initial values.
inline constexpr int kMaxNesting = 4;

// Bits of a type that a variable or register can have; 1 for a predicate, 0 if it is not one.
std::uint32_t bits_of(std::string_view type);

class Parser : private Cursor {
 public:
  Parser(std::string text, std::string name);

  std::unique_ptr<ModuleText> run();

 private:
  // What a block has declared.
  struct Names {
    std::map<std::string_view, std::uint32_t> registers, variables;
    std::map<std::string_view, std::pair<std::uint32_t, std::uint32_t>> ranges;   // first, count
    std::map<std::string_view, std::pair<std::uint32_t, std::uint32_t>> vectors;  // likewise, of .v2 and .v4
  };
  struct TypeText {
    std::uint32_t align = 0;
    std::uint32_t bytes = 0;
    bool is_managed = false;
    bool is_float = false;
  };

  // Modules.
  void module_item();
  void version();
  void declaration();

  // Variables.
  static bool is_space(std::string_view word);
  Space space();
  TypeText variable_type();
  Variable variable(Space where, const TypeText& type, bool is_extern);
  std::vector<Variable> variables(bool is_extern);
  void initialiser(Variable& variable, int depth);

  // Functions.
  std::vector<Parameter> parameter_list();
  std::string_view keep(const std::string& name);
  void function(bool is_entry);
  isa::Dim3 extents();
  void performance_directive();
  void open_scope();
  void body();
  void label();
  void body_directive();
  void registers();
  void location();

  // Instructions.
  void instruction();
  std::optional<std::uint32_t> find_register(std::string_view name) const;
  Operand operand(int depth, bool in_address);
  Operand list(OperandKind kind, char end, int depth, bool in_address);
  std::optional<Operand> vector_operand(std::string_view name) const;
  Operand name_operand(std::string_view name);

  std::unique_ptr<ModuleText> module_;
  std::vector<std::unique_ptr<std::string>> kept_;
  FunctionText* function_ = nullptr;
  std::vector<Names> names_;  // of the blocks around here, the innermost last
  std::uint32_t scope_ = 0;
  std::uint32_t location_ = kNone;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> last_location_;
};

}  // namespace heddle::sim::ptx
