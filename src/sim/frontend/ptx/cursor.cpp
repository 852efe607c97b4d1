// SPDX-License-Identifier: Apache-2.0
#include "sim/frontend/ptx/cursor.h"

#include <fmt/format.h>

#include <algorithm>

namespace heddle::sim::ptx {

void Cursor::start(std::string_view text, const std::string& name) {
  name_ = name;
  tokens_ = tokenize(text, name);
}

const Token& Cursor::peek(std::size_t ahead) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }

const Token& Cursor::take() {
  const Token& token = peek();
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

void Cursor::fail(const std::string& what) const { refuse(name_, peek().line, what); }

std::string Cursor::seen() const {
  return peek().kind == TokenKind::kEnd ? "the end of the text" : fmt::format("'{}'", peek().text);
}

bool Cursor::accept(char punct) {
  if (!peek().is(punct)) return false;
  take();
  return true;
}

bool Cursor::accept(std::string_view word) {
  if (!peek().is(word)) return false;
  take();
  return true;
}

void Cursor::expect(char punct, const char* where) {
  if (!accept(punct)) fail(fmt::format("expected '{}' {}, found {}", punct, where, seen()));
}

std::string_view Cursor::expect_word(const char* what) {
  if (peek().kind != TokenKind::kWord) fail(fmt::format("expected {}, found {}", what, seen()));
  return take().text;
}

std::uint64_t Cursor::expect_integer(const char* what) {
  if (peek().kind != TokenKind::kInteger) fail(fmt::format("expected {}, found {}", what, seen()));
  return take().value;
}

std::uint32_t Cursor::expect_u32(const char* what) {
  const std::uint64_t value = expect_integer(what);
  if (value > 0xffffffffu) fail(fmt::format("{} is too large for {}", value, what));
  return static_cast<std::uint32_t>(value);
}

void Cursor::skip_to_semicolon() {
  while (!accept(';')) {
    if (peek().kind == TokenKind::kEnd) fail("expected ';', found the end of the text");
    take();
  }
}

void Cursor::skip_line(std::uint32_t line) {
  while (peek().kind != TokenKind::kEnd && peek().line == line) take();
}

void Cursor::skip_braces() {
  expect('{', "before the section's data");
  for (int depth = 1; depth != 0;) {
    if (peek().kind == TokenKind::kEnd) fail("a section that does not end");
    if (peek().is('{')) ++depth;
    if (peek().is('}')) --depth;
    take();
  }
}

}  // namespace heddle::sim::ptx
