// SPDX-License-Identifier: Apache-2.0
//
// PTX: Kernel and Function Directives, Performance-Tuning Directives, Debugging Directives.
#include "sim/frontend/ptx/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace heddle::sim::ptx {

namespace {

constexpr std::uint64_t kMaxRegisters = 1u << 20;

}  // namespace

std::vector<Parameter> Parser::parameter_list() {
  std::vector<Parameter> list;
  expect('(', "before parameters");
  if (accept(')')) return list;
  do {
    if (peek().is(".reg")) fail("a parameter in a register; only .param is supported");
    const Space where = space();
    if (where != Space::kParam) fail("a parameter that is not in the space .param");
    const TypeText type = variable_type();
    Variable one = variable(where, type, false);
    Parameter parameter{.name = one.name, .bytes = one.bytes, .is_float = type.is_float};
    parameter.variable = static_cast<std::uint32_t>(function_->variables.size());
    names_.front().variables.emplace(keep(one.name), parameter.variable);
    function_->variables.push_back(std::move(one));
    list.push_back(std::move(parameter));
  } while (accept(','));
  expect(')', "behind parameters");
  return list;
}

// A view of text that lives as long as the module.
std::string_view Parser::keep(const std::string& name) {
  kept_.push_back(std::make_unique<std::string>(name));
  return *kept_.back();
}

void Parser::function(bool is_entry) {
  auto owned = std::make_unique<FunctionText>();
  function_ = owned.get();
  function_->is_entry = is_entry;
  function_->line = peek().line;
  names_.assign(1, {});
  function_->scopes.assign(1, {});
  scope_ = 0;
  location_ = kNone;
  last_location_.clear();
  if (!is_entry && peek().is('(')) function_->results = parameter_list();
  function_->name = std::string(expect_word("the name of a function"));
  if (peek().is('(')) function_->parameters = parameter_list();
  std::uint64_t offset = 0;
  for (Parameter& parameter : function_->parameters) {
    const std::uint64_t align = function_->variables[parameter.variable].align;
    offset = (offset + align - 1) / align * align;
    parameter.offset = offset;
    offset += parameter.bytes;
  }
  constexpr std::uint64_t kMaxParameterBytes = 32'764;
  if (offset > kMaxParameterBytes) {
    fail(fmt::format("'{}' has {} bytes of parameters; at most {}", function_->name, offset, kMaxParameterBytes));
  }
  function_->parameter_bytes = offset;
  while (!peek().is('{') && !peek().is(';')) performance_directive();
  if (!accept(';')) {
    function_->has_body = true;
    take();
    body();
  }
  const auto known = module_->function_ids.find(function_->name);
  if (known == module_->function_ids.end()) {
    module_->function_ids.emplace(function_->name, static_cast<std::uint32_t>(module_->functions.size()));
    module_->functions.push_back(std::move(owned));
  } else if (function_->has_body) {
    std::unique_ptr<FunctionText>& other = module_->functions[known->second];
    if (other->has_body) fail(fmt::format("'{}' is defined twice", function_->name));
    other = std::move(owned);
  }
}

isa::Dim3 Parser::extents() {
  isa::Dim3 dims{expect_u32("an extent"), 1, 1};
  if (accept(',')) dims.y = expect_u32("an extent");
  if (accept(',')) dims.z = expect_u32("an extent");
  return dims;
}

void Parser::performance_directive() {
  const Token& token = peek();
  const std::string_view word = expect_word("a directive or a body");
  if (word == ".maxntid") {
    const isa::Dim3 dims = extents();
    const std::uint64_t threads = std::uint64_t{dims.x} * dims.y * dims.z;
    function_->max_threads = static_cast<std::uint32_t>(std::min<std::uint64_t>(threads, 1u << 20));
  } else if (word == ".reqntid") {
    function_->required_threads = extents();
  } else if (word == ".reqnctapercluster") {
    function_->required_cluster = extents();
  } else if (word == ".maxnreg") {
    function_->max_registers = expect_u32("a number of registers");
  } else if (word == ".minnctapersm") {
    function_->min_ctas = expect_u32("a number of CTAs");
  } else if (word == ".maxclusterrank" || word == ".maxnctapersm") {
    expect_integer("a number");
  } else if (word == ".pragma") {
    skip_to_semicolon();
  } else if (word != ".explicitcluster" && word != ".noreturn" && word != ".blocksareclusters") {
    refuse(module_->name, token.line, fmt::format("the directive '{}' is not supported", word));
  }
}

void Parser::open_scope() {
  if (names_.size() > 64) fail("blocks that are nested too deeply");
  names_.emplace_back();
  function_->scopes.push_back({.parent = scope_, .labels = {}, .label_lists = {}});
  scope_ = static_cast<std::uint32_t>(function_->scopes.size() - 1);
}

void Parser::body() {
  open_scope();
  for (std::size_t depth = 1; depth != 0;) {
    const Token& token = peek();
    if (token.kind == TokenKind::kEnd) fail(fmt::format("'{}' has no end", function_->name));
    if (accept('{')) {
      open_scope();
      ++depth;
    } else if (accept('}')) {
      scope_ = function_->scopes[scope_].parent;
      names_.pop_back();
      --depth;
    } else if (accept(';')) {
      continue;
    } else if (token.kind == TokenKind::kWord && token.text.front() == '.') {
      body_directive();
    } else if (token.kind == TokenKind::kWord && peek(1).is(':')) {
      label();
    } else {
      instruction();
    }
  }
}

void Parser::label() {
  const std::string_view name = take().text;
  take();
  if (accept(".branchtargets") || accept(".calltargets")) {
    std::vector<std::string_view>& list = function_->scopes[scope_].label_lists[name];
    do {
      list.push_back(expect_word("a label"));
    } while (accept(','));
    expect(';', "behind labels");
    return;
  }
  if (accept(".callprototype")) {
    skip_to_semicolon();
    return;
  }
  const auto at = static_cast<std::uint32_t>(function_->statements.size());
  if (!function_->scopes[scope_].labels.emplace(name, at).second) {
    fail(fmt::format("the label '{}' is defined twice", name));
  }
}

void Parser::body_directive() {
  const Token& token = peek();
  if (accept(".reg")) {
    registers();
  } else if (token.is(".loc")) {
    location();
  } else if (token.is(".pragma")) {
    skip_to_semicolon();
  } else if (token.is(".file") || token.is(".section")) {
    module_item();
  } else if (is_space(token.text)) {
    for (Variable& variable : variables(false)) {
      const auto id = static_cast<std::uint32_t>(function_->variables.size());
      names_.back().variables[keep(variable.name)] = id;
      function_->variables.push_back(std::move(variable));
    }
  } else {
    fail(fmt::format("the directive '{}' is not supported here", token.text));
  }
}

void Parser::registers() {
  const std::uint32_t elements = accept(".v2") ? 2 : accept(".v4") ? 4 : 1;
  const std::string_view type = expect_word("the type of a register");
  const std::uint32_t bits = bits_of(type);
  if (bits == 0) fail(fmt::format("'{}' is not the type of a register", type));
  do {
    const std::string_view name = expect_word("the name of a register");
    std::uint64_t count = elements;
    const bool is_range = elements == 1 && accept('<');
    if (is_range) {
      count = expect_integer("how many registers");
      expect('>', "behind the number of registers");
    }
    const auto first = static_cast<std::uint32_t>(function_->register_bits.size());
    if (count > kMaxRegisters || first + count > kMaxRegisters) {
      fail(fmt::format("more than {} registers in one function", kMaxRegisters));
    }
    function_->register_bits.insert(function_->register_bits.end(), count, static_cast<std::uint16_t>(bits));
    if (is_range) {
      names_.back().ranges[name] = {first, static_cast<std::uint32_t>(count)};
    } else if (elements != 1) {
      names_.back().vectors[name] = {first, elements};
    } else {
      names_.back().registers[name] = first;
    }
  } while (accept(','));
  expect(';', "behind registers");
}

// Within inline assembly LLVM counts the lines of its text, from that of the statement on: the statement's holds
// for all of them.
void Parser::location() {
  const bool is_counted_on = peek().is_inline_asm;
  const std::uint32_t line = take().line;
  Location here;
  here.file = expect_u32("the number of a file");
  here.line = expect_u32("a line");
  if (peek().kind == TokenKind::kInteger && peek().line == line) here.column = expect_u32("a column");
  while (peek().line == line && peek().kind != TokenKind::kEnd && !peek().is("inlined_at")) take();
  if (peek().line == line && accept("inlined_at")) {
    const std::uint32_t file = expect_u32("the number of a file");
    const std::uint32_t outer_line = expect_u32("a line");
    const std::uint32_t column = peek().kind == TokenKind::kInteger ? expect_u32("a column") : 0;
    // The place that this one is inlined at was named before, or stands for itself.
    const auto key = std::make_tuple(file, outer_line, column);
    const auto known = last_location_.find(key);
    if (known != last_location_.end() && known->second < function_->locations.size()) {
      here.outer = known->second;
    } else {
      function_->locations.push_back({file, outer_line, column, kNone});
      here.outer = static_cast<std::uint32_t>(function_->locations.size() - 1);
    }
  }
  skip_line(line);
  if (is_counted_on && location_ != kNone) return;
  location_ = static_cast<std::uint32_t>(function_->locations.size());
  function_->locations.push_back(here);
  last_location_[std::make_tuple(here.file, here.line, here.column)] = location_;
}

}  // namespace heddle::sim::ptx
