// SPDX-License-Identifier: Apache-2.0
//
// PTX: State Spaces, Types and Variables.
#include "sim/frontend/ptx/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace heddle::sim::ptx {

namespace {

constexpr std::uint64_t kMaxVariableBytes = std::uint64_t{1} << 31;

}  // namespace

std::uint32_t bits_of(std::string_view type) {
  if (type == ".pred") return 1;
  if (type.size() < 3 || std::string_view("busf").find(type[1]) == std::string_view::npos) return 0;
  std::uint32_t bits = 0;
  const auto [end, error] = std::from_chars(type.data() + 2, type.data() + type.size(), bits);
  if (error != std::errc{}) return 0;
  if (end != type.data() + type.size()) return type == ".f16x2" ? 32 : 0;
  return bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128 ? bits : 0;
}

bool Parser::is_space(std::string_view word) {
  return word == ".global" || word == ".const" || word == ".shared" || word == ".local" || word == ".param";
}

Space Parser::space() {
  const std::string_view word = expect_word("a state space");
  if (word == ".global") return Space::kGlobal;
  if (word == ".const") return Space::kConst;
  if (word == ".shared") return Space::kShared;
  if (word == ".local") return Space::kLocal;
  if (word == ".param") return Space::kParam;
  fail(fmt::format("'{}' is not a state space that is supported", word));
}

Parser::TypeText Parser::variable_type() {
  TypeText type;
  std::uint32_t vector = 1;
  for (;;) {
    if (accept(".align")) {
      type.align = expect_u32("an alignment");
      if (type.align == 0 || type.align > (1u << 20) || (type.align & (type.align - 1)) != 0) {
        fail(fmt::format("an alignment of {}; it must be a power of two", type.align));
      }
    } else if (accept(".v2")) {
      vector = 2;
    } else if (accept(".v4")) {
      vector = 4;
    } else if (accept(".attribute")) {
      expect('(', "behind .attribute");
      while (!accept(')')) {
        if (peek().kind == TokenKind::kEnd) fail("an attribute that does not end");
        if (take().text == ".managed") type.is_managed = true;
      }
    } else {
      break;
    }
  }
  const std::string_view word = expect_word("a type");
  const std::uint32_t bits = bits_of(word);
  if (bits < 8) fail(fmt::format("'{}' is not the type of a variable", word));
  type.bytes = bits / 8 * vector;
  type.is_float = word.starts_with(".f") || word.starts_with(".bf");
  if (type.align == 0) type.align = type.bytes;
  // A parameter that is a pointer says where it points to.
  if (accept(".ptr")) {
    while (peek().kind == TokenKind::kWord && peek().text.front() == '.') {
      if (take().text == ".align") expect_u32("an alignment");
    }
  }
  return type;
}

Variable Parser::variable(Space where, const TypeText& type, bool is_extern) {
  Variable variable;
  variable.line = peek().line;
  variable.name = std::string(expect_word("the name of a variable"));
  variable.space = where;
  variable.align = type.align;
  variable.element_bytes = type.bytes;
  variable.is_managed = type.is_managed;
  variable.is_extern = is_extern;
  std::uint64_t count = 1;
  bool is_open = false;
  while (accept('[')) {
    if (accept(']')) {
      is_open = true;
      continue;
    }
    const std::uint64_t extent = expect_integer("the extent of an array");
    expect(']', "behind the extent of an array");
    if (extent > kMaxVariableBytes || count * extent > kMaxVariableBytes) {
      fail(fmt::format("'{}' is larger than {} bytes", variable.name, kMaxVariableBytes));
    }
    count *= extent;
  }
  variable.bytes = is_open ? 0 : count * type.bytes;
  if (variable.bytes > kMaxVariableBytes) {
    fail(fmt::format("'{}' is larger than {} bytes", variable.name, kMaxVariableBytes));
  }
  if (accept('=')) {
    initialiser(variable, 0);
    if (is_open) variable.bytes = variable.initial.size();
    if (variable.initial.size() > variable.bytes) {
      fail(fmt::format("'{}' has {} bytes, but its initial value has {}", variable.name, variable.bytes,
                       variable.initial.size()));
    }
  }
  return variable;
}

std::vector<Variable> Parser::variables(bool is_extern) {
  const Space where = space();
  const TypeText type = variable_type();
  std::vector<Variable> all;
  do {
    all.push_back(variable(where, type, is_extern));
  } while (accept(','));
  expect(';', "behind a variable");
  return all;
}

void Parser::initialiser(Variable& variable, int depth) {
  if (depth > kMaxNesting) fail("an initial value that is nested too deeply");
  if (accept('{')) {
    if (accept('}')) return;
    do {
      initialiser(variable, depth + 1);
    } while (accept(','));
    expect('}', "behind an initial value");
    return;
  }
  std::uint64_t value = 0;
  const bool negative = accept('-');
  const Token& token = take();
  switch (token.kind) {
    case TokenKind::kInteger: value = negative ? ~token.value + 1 : token.value; break;
    case TokenKind::kFloat32:
    case TokenKind::kFloat64:
      value = token.value;
      if (negative) value ^= std::uint64_t{1} << (token.kind == TokenKind::kFloat32 ? 31 : 63);
      break;
    case TokenKind::kString:
      for (char c : token.text.substr(1, token.text.size() - 2)) {
        variable.initial.push_back(static_cast<std::uint8_t>(c));
      }
      variable.initial.push_back(0);
      return;
    case TokenKind::kWord: {
      Variable::Pointer pointer{variable.initial.size(), std::string(token.text), 0, false};
      if (token.text == "generic") {
        expect('(', "behind 'generic'");
        pointer = {variable.initial.size(), std::string(expect_word("the name of a variable")), 0, true};
        expect(')', "behind the name of a variable");
      }
      if (accept('+')) pointer.offset = expect_integer("an offset");
      if (variable.element_bytes != 8) fail("an address as initial value of something that is not 64 bits wide");
      variable.pointers.push_back(std::move(pointer));
      break;
    }
    default: fail(fmt::format("expected an initial value, found '{}'", token.text));
  }
  for (std::uint32_t b = 0; b < std::min(variable.element_bytes, 8u); ++b) {
    variable.initial.push_back(static_cast<std::uint8_t>(value >> 8 * b));
  }
  for (std::uint32_t b = 8; b < variable.element_bytes; ++b) variable.initial.push_back(0);
}

}  // namespace heddle::sim::ptx
