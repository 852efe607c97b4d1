// SPDX-License-Identifier: Apache-2.0
//
// PTX text as tokens. A word holds its dots and double colons, so a mnemonic with all its modifiers is one
// token, and so is a directive.
#pragma once

#include <heddle/host/error.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::sim::ptx {

enum class TokenKind : std::uint8_t { kEnd, kWord, kInteger, kFloat32, kFloat64, kString, kPunct };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;
  std::uint64_t value = 0;  // of an integer, or the bits of a float
  std::uint32_t line = 0;
  bool is_inline_asm = false;  // between the comments by which compilers mark it

  bool is(char punct) const { return kind == TokenKind::kPunct && text.front() == punct; }
  bool is(std::string_view word) const { return kind == TokenKind::kWord && text == word; }
};

// Throws InputError "name:line: what" for a character or a number that is not PTX.
std::vector<Token> tokenize(std::string_view text, const std::string& name);

[[noreturn]] void refuse(const std::string& name, std::uint32_t line, const std::string& what);

// PTX that is well formed, but that the simulated GPU does not have. It concerns the kernels that would run it,
// not the module.
class Unsupported : public InputError {
 public:
  using InputError::InputError;
};
[[noreturn]] void refuse_unsupported(const std::string& name, std::uint32_t line, const std::string& what);

}  // namespace heddle::sim::ptx
