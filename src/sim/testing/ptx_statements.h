// SPDX-License-Identifier: Apache-2.0
//
// The statements of a PTX text and where they come from, as much as it takes to change one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::sim::testing {

struct Statement {
  std::string guard;  // "@%p1 "; may be empty
  std::string name;   // "mbarrier.init.shared.b64"
  std::vector<std::string> operands;
  std::size_t begin = 0;  // in the text; the semicolon is before `end`
  std::size_t end = 0;
  std::size_t line = 0;  // from 1 on
  std::string place;     // "copy.cu:87"; empty if it is not known
  bool is_label = false;
  bool is_brace = false;
  int by_brace = 0;          // 1: one is closed, read from below; -1: opened
  bool is_in_entry = false;  // of those that were asked for

  std::string text() const;
  // The same with another operand.
  Statement with(std::size_t operand, std::string text) const;
};

// All statements, labels and braces in the bodies of functions, in order.
std::vector<Statement> read_statements(std::string_view text, std::string_view entry);

}  // namespace heddle::sim::testing
