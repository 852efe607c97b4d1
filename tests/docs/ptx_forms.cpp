// SPDX-License-Identifier: Apache-2.0
//
// The table of PTX instructions in docs/ptx.md: `ptx_forms FILE` says whether it is that of the simulated SM,
// `ptx_forms --write FILE` makes it so.
#include "generated_table.h"

#include <heddle/sim/ptx.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::string_view kBegin = "<!-- forms: made by ptx_forms --write -->\n";
constexpr std::string_view kEnd = "<!-- end of forms -->\n";

std::string table() {
  std::map<std::string, std::vector<std::string>> by_opcode;
  for (const std::string& form : heddle::sim::ptx_instruction_forms()) {
    by_opcode[form.substr(0, form.find_first_of(".{["))].push_back(form);
  }
  std::string text = "\n| instruction | forms |\n| --- | --- |\n";
  std::size_t count = 0;
  for (const auto& [opcode, forms] : by_opcode) {
    text += "| `" + opcode + "` | ";
    for (std::size_t f = 0; f < forms.size(); ++f) text += (f == 0 ? "`" : "<br>`") + forms[f] + "`";
    text += " |\n";
    count += forms.size();
  }
  return text + "\n" + std::to_string(by_opcode.size()) + " instructions in " + std::to_string(count) +
         " forms.\n\n";
}

}  // namespace

int main(int argc, char** argv) {
  return heddle::test::keep_table({.program = "ptx_forms", .begin = kBegin, .end = kEnd, .text = table()}, argc,
                                  argv);
}
