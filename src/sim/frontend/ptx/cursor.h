// SPDX-License-Identifier: Apache-2.0
//
// A place in a list of tokens, and what may come next there.
#pragma once

#include "sim/frontend/ptx/lexer.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::sim::ptx {

class Cursor {
 protected:
  void start(std::string_view text, const std::string& name);

  const Token& peek(std::size_t ahead = 0) const;
  const Token& take();
  bool accept(char punct);
  bool accept(std::string_view word);

  // These throw InputError with the line and what was found instead.
  void expect(char punct, const char* where);
  std::string_view expect_word(const char* what);
  std::uint64_t expect_integer(const char* what);
  std::uint32_t expect_u32(const char* what);
  [[noreturn]] void fail(const std::string& what) const;
  std::string seen() const;

  void skip_to_semicolon();
  void skip_line(std::uint32_t line);
  void skip_braces();

 private:
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  std::string name_;
};

}  // namespace heddle::sim::ptx
