// SPDX-License-Identifier: Apache-2.0
#include "sim/frontend/ptx/lexer.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>

namespace heddle::sim::ptx {

namespace {

// A word of a damaged text can be the whole of it.
std::string bounded(const std::string& what) {
  constexpr std::size_t kMost = 400;
  if (what.size() <= kMost) return what;
  return fmt::format("{}... ({} characters in all)", what.substr(0, kMost), what.size());
}

}  // namespace

void refuse(const std::string& name, std::uint32_t line, const std::string& what) {
  throw InputError(fmt::format("{}:{}: {}", name, line, bounded(what)));
}

void refuse_unsupported(const std::string& name, std::uint32_t line, const std::string& what) {
  throw Unsupported(fmt::format("{}:{}: [unsupported] {}", name, line, bounded(what)));
}

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_name(char c) { return is_alpha(c) || is_digit(c) || c == '_' || c == '$'; }

class Lexer {
 public:
  Lexer(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    for (skip_blank(); at_ < text_.size(); skip_blank()) {
      tokens.push_back(next());
      tokens.back().is_inline_asm = is_inline_asm_;
    }
    tokens.push_back({.kind = TokenKind::kEnd, .text = {}, .value = 0, .line = line_});
    return tokens;
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void skip_blank() {
    while (at_ < text_.size()) {
      const char c = peek();
      if (c == '\n') {
        ++line_;
        ++at_;
      } else if (c == ' ' || c == '\t' || c == '\r' || (c == '\0' && at_ + 1 == text_.size())) {
        ++at_;
      } else if (c == '/' && peek(1) == '/') {
        const std::string_view rest = text_.substr(at_);
        if (rest.starts_with("// begin inline asm")) is_inline_asm_ = true;
        if (rest.starts_with("// end inline asm")) is_inline_asm_ = false;
        while (at_ < text_.size() && peek() != '\n') ++at_;
      } else if (c == '/' && peek(1) == '*') {
        const std::uint32_t begin = line_;
        for (at_ += 2; !(peek() == '*' && peek(1) == '/'); ++at_) {
          if (at_ >= text_.size()) refuse(name_, begin, "a comment that does not end");
          if (peek() == '\n') ++line_;
        }
        at_ += 2;
      } else {
        return;
      }
    }
  }

  Token next() {
    const char c = peek();
    if (is_digit(c)) return number();
    if (is_alpha(c) || c == '_' || c == '$' || c == '%' || (c == '.' && (is_name(peek(1))))) return word();
    if (c == '"') return string();
    constexpr std::string_view kPuncts = "{}[]()<>,;:+-=|!@~*/&^?";
    if (kPuncts.find(c) == std::string_view::npos) {
      refuse(name_, line_, fmt::format("the character {:#04x} is not PTX", static_cast<unsigned char>(c)));
    }
    return make(TokenKind::kPunct, at_++);
  }

  Token make(TokenKind kind, std::size_t begin, std::uint64_t value = 0) const {
    const std::size_t end = kind == TokenKind::kPunct ? begin + 1 : at_;
    return {.kind = kind, .text = text_.substr(begin, end - begin), .value = value, .line = line_};
  }

  // A mnemonic is one with its modifiers. Of directives each is a word, as in ".reg.b8 a", which ptxas takes.
  Token word() {
    const bool is_directive = peek() == '.';
    const std::size_t begin = at_++;
    for (;;) {
      if (is_name(peek())) {
        ++at_;
      } else if (!is_directive && peek() == '.' && is_name(peek(1))) {
        at_ += 2;
      } else if (peek() == ':' && peek(1) == ':' && is_name(peek(2))) {
        at_ += 3;
      } else {
        return make(TokenKind::kWord, begin);
      }
    }
  }

  Token string() {
    const std::size_t begin = at_++;
    while (peek() != '"') {
      if (at_ >= text_.size() || peek() == '\n') refuse(name_, line_, "a string that does not end");
      ++at_;
    }
    ++at_;
    return make(TokenKind::kString, begin);
  }

  Token number() {
    const std::size_t begin = at_;
    const char second = peek(1);
    if (peek() == '0' && (second == 'f' || second == 'F' || second == 'd' || second == 'D')) {
      const bool is_single = second == 'f' || second == 'F';
      at_ += 2;
      const std::uint64_t bits = digits(16, begin);
      if (at_ - begin != (is_single ? 10u : 18u)) refuse(name_, line_, bad_number(begin));
      return make(is_single ? TokenKind::kFloat32 : TokenKind::kFloat64, begin, bits);
    }
    std::size_t end = at_;
    while (is_digit(end < text_.size() ? text_[end] : '\0')) ++end;
    const char stop = end < text_.size() ? text_[end] : '\0';
    const bool has_fraction = stop == '.' && end + 1 < text_.size() && is_digit(text_[end + 1]);
    if (has_fraction || ((stop == 'e' || stop == 'E') && peek() != '0')) return decimal(begin);
    int base = 10;
    if (peek() == '0' && (second == 'x' || second == 'X')) {
      base = 16;
      at_ += 2;
    } else if (peek() == '0' && (second == 'b' || second == 'B')) {
      base = 2;
      at_ += 2;
    } else if (peek() == '0' && is_digit(second)) {
      base = 8;
      ++at_;
    }
    const std::uint64_t value = digits(base, begin);
    if (peek() == 'U') ++at_;
    if (is_name(peek())) refuse(name_, line_, bad_number(begin));
    return make(TokenKind::kInteger, begin, value);
  }

  std::uint64_t digits(int base, std::size_t begin) {
    std::size_t end = at_;
    while (end < text_.size() && is_hex(text_[end])) ++end;
    std::uint64_t value = 0;
    const auto [stop, error] = std::from_chars(text_.data() + at_, text_.data() + end, value, base);
    if (error != std::errc{}) refuse(name_, line_, bad_number(begin));
    at_ = static_cast<std::size_t>(stop - text_.data());
    return value;
  }

  Token decimal(std::size_t begin) {
    double value = 0;  // in any locale of the program
    const auto [stop, error] = std::from_chars(text_.data() + begin, text_.data() + text_.size(), value);
    at_ = static_cast<std::size_t>(stop - text_.data());
    if (error != std::errc{} || is_name(peek())) refuse(name_, line_, bad_number(begin));
    return make(TokenKind::kFloat64, begin, std::bit_cast<std::uint64_t>(value));
  }

  std::string bad_number(std::size_t begin) const {
    std::size_t end = begin;
    while (end < text_.size() && (is_name(text_[end]) || text_[end] == '.')) ++end;
    return fmt::format("'{}' is not a number", text_.substr(begin, std::min<std::size_t>(end - begin, 40)));
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
  bool is_inline_asm_ = false;
};

}  // namespace

std::vector<Token> tokenize(std::string_view text, const std::string& name) { return Lexer(text, name).run(); }

}  // namespace heddle::sim::ptx
