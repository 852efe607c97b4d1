// SPDX-License-Identifier: Apache-2.0
//
// PTX: Instruction Statements, Instruction Operands.
#include "sim/frontend/ptx/parser.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

namespace heddle::sim::ptx {

void Parser::instruction() {
  Statement statement;
  statement.line = peek().line;
  statement.scope = scope_;
  statement.location = location_;
  const char* begin = peek().text.data();
  if (accept('@')) {
    statement.guard_negated = accept('!');
    const std::string_view name = expect_word("a predicate");
    const std::optional<std::uint32_t> id = find_register(name);
    if (!id || function_->register_bits[*id] != 1) fail(fmt::format("'{}' is not a predicate", name));
    statement.guard = *id;
  }
  statement.mnemonic = expect_word("an instruction");
  // As for ptxas, spaces may stand before a modifier: "prmt .b32".
  const auto is_modifier = [&] { return peek().kind == TokenKind::kWord && peek().text.starts_with('.'); };
  if (is_modifier()) {
    constexpr std::size_t kMostCharacters = 1024;
    std::string joined(statement.mnemonic);
    while (is_modifier()) {
      joined += take().text;
      if (joined.size() > kMostCharacters) {
        fail(fmt::format("an instruction '{}...' of more than {} characters", joined.substr(0, 32),
                         kMostCharacters));
      }
    }
    statement.mnemonic = module_->joined.emplace_back(std::move(joined));
  }
  if (!peek().is(';')) {
    do {
      statement.operands.push_back(operand(0, false));
    } while (accept(','));
  }
  const Token& last = peek();
  expect(';', "behind an instruction");
  statement.text = std::string_view(begin, static_cast<std::size_t>(last.text.data() + 1 - begin));
  if (function_->statements.size() >= 4u << 20) fail("a function with more than 4 million instructions");
  function_->statements.push_back(std::move(statement));
}

std::optional<std::uint32_t> Parser::find_register(std::string_view name) const {
  std::size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  for (auto scope = names_.rbegin(); scope != names_.rend(); ++scope) {
    if (const auto found = scope->registers.find(name); found != scope->registers.end()) return found->second;
    if (digits == name.size()) continue;
    const auto range = scope->ranges.find(name.substr(0, digits));
    if (range == scope->ranges.end()) continue;
    std::uint32_t number = 0;
    if (std::from_chars(name.data() + digits, name.data() + name.size(), number).ec != std::errc{}) continue;
    if (number < range->second.second) return range->second.first + number;
  }
  return std::nullopt;
}

Operand Parser::operand(int depth, bool in_address) {
  if (depth > kMaxNesting) fail("operands that are nested too deeply");
  Operand result;
  if (accept('{')) return list(OperandKind::kVector, '}', depth, in_address);
  if (accept('[')) return list(OperandKind::kAddress, ']', depth, true);
  if (accept('(')) return list(OperandKind::kTuple, ')', depth, in_address);
  if (accept('!')) {
    result = operand(depth + 1, in_address);
    if (result.kind != OperandKind::kRegister) fail("'!' before something that is not a predicate");
    result.negated = !result.negated;
    return result;
  }
  const bool negative = accept('-');
  const Token& token = take();
  switch (token.kind) {
    case TokenKind::kInteger:
      result.kind = OperandKind::kInteger;
      result.value = negative ? ~token.value + 1 : token.value;
      return result;
    case TokenKind::kFloat32:
    case TokenKind::kFloat64:
      result.kind = token.kind == TokenKind::kFloat32 ? OperandKind::kFloat32 : OperandKind::kFloat64;
      result.value = token.value;
      if (negative) result.value ^= std::uint64_t{1} << (token.kind == TokenKind::kFloat32 ? 31 : 63);
      return result;
    case TokenKind::kWord: break;
    default: refuse(module_->name, token.line, fmt::format("expected an operand, found '{}'", token.text));
  }
  if (negative)
    refuse(module_->name, token.line, fmt::format("expected a number behind '-', found '{}'", token.text));
  result = name_operand(token.text);
  if (accept('|')) {
    const std::string_view name = expect_word("a predicate");
    const std::optional<std::uint32_t> id = find_register(name);
    if (name != "_" && !id) fail(fmt::format("'{}' is not a register", name));
    if (id) result.second = *id;
  }
  if (accept('+')) {
    const bool minus = accept('-');
    const std::uint64_t offset = expect_integer("an offset");
    result.value = minus ? ~offset + 1 : offset;
  } else if (peek().is('-') && in_address) {
    take();
    result.value = ~expect_integer("an offset") + 1;
  }
  return result;
}

Operand Parser::list(OperandKind kind, char end, int depth, bool in_address) {
  Operand result;
  result.kind = kind;
  if (accept(end)) return result;
  do {
    result.list.push_back(operand(depth + 1, in_address));
  } while (accept(','));
  expect(end, "behind a list of operands");
  return result;
}

// PTX: Vectors: the elements of `v` are v.x, v.y, v.z and v.w, or v.r, v.g, v.b and v.a.
std::optional<Operand> Parser::vector_operand(std::string_view name) const {
  const std::size_t dot = name.rfind('.');
  const bool is_element = dot != std::string_view::npos && dot + 2 == name.size();
  const std::size_t letter = is_element ? std::string_view("xyzwrgba").find(name.back()) : std::string_view::npos;
  const auto element = [](std::uint32_t id) {
    Operand result;
    result.kind = OperandKind::kRegister;
    result.id = id;
    return result;
  };
  for (auto scope = names_.rbegin(); scope != names_.rend(); ++scope) {
    if (const auto whole = scope->vectors.find(name); whole != scope->vectors.end()) {
      Operand result;
      result.kind = OperandKind::kVector;
      for (std::uint32_t e = 0; e < whole->second.second; ++e)
        result.list.push_back(element(whole->second.first + e));
      return result;
    }
    if (letter == std::string_view::npos) continue;
    const auto part = scope->vectors.find(name.substr(0, dot));
    if (part == scope->vectors.end() || letter % 4 >= part->second.second) continue;
    return element(part->second.first + static_cast<std::uint32_t>(letter % 4));
  }
  return std::nullopt;
}

Operand Parser::name_operand(std::string_view name) {
  Operand result;
  result.name = name;
  if (name == "_") return result;
  if (const std::optional<std::uint32_t> id = find_register(name)) {
    result.kind = OperandKind::kRegister;
    result.id = *id;
    return result;
  }
  if (std::optional<Operand> vector = vector_operand(name)) return *std::move(vector);
  // PTX: Video Instructions: parts of a register, as r.h1 or r.b3210.
  const std::size_t dot = name.rfind('.');
  if (dot != std::string_view::npos && dot + 2 < name.size()) {
    if (const std::optional<std::uint32_t> id = find_register(name.substr(0, dot))) {
      result.kind = OperandKind::kRegister;
      result.id = *id;
      result.part = name.substr(dot + 1);
      return result;
    }
  }
  for (auto scope = names_.rbegin(); scope != names_.rend(); ++scope) {
    if (const auto found = scope->variables.find(name); found != scope->variables.end()) {
      result.kind = OperandKind::kVariable;
      result.id = found->second;
      return result;
    }
  }
  if (name == kSystemScratch &&
      module_->variable_ids.emplace(name, static_cast<std::uint32_t>(module_->variables.size())).second) {
    Variable& scratch = module_->variables.emplace_back();
    scratch.name = name;
    scratch.space = Space::kShared;
    scratch.align = 16;
    scratch.bytes = kSystemScratchBytes;
  }
  if (const auto found = module_->variable_ids.find(name); found != module_->variable_ids.end()) {
    result.kind = OperandKind::kVariable;
    result.is_module = true;
    result.id = found->second;
    return result;
  }
  result.kind = name.front() == '%' || name == "WARP_SZ" ? OperandKind::kSpecial : OperandKind::kName;
  return result;
}

}  // namespace heddle::sim::ptx
