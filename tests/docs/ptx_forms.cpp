// SPDX-License-Identifier: Apache-2.0
//
// The table of PTX instructions in docs/ptx.md: `ptx_forms FILE` says whether it is that of the simulated SM,
// `ptx_forms --write FILE` makes it so.
#include <heddle/sim/ptx.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
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
  return text + "\n" + std::to_string(by_opcode.size()) + " instructions in " + std::to_string(count) + " forms.\n\n";
}

}  // namespace

int main(int argc, char** argv) {
  const bool writes = argc == 3 && std::string_view(argv[1]) == "--write";
  if (argc != 2 && !writes) {
    std::fputs("usage: ptx_forms [--write] FILE\n", stderr);
    return 2;
  }
  const char* path = argv[argc - 1];
  std::ifstream in(path);
  std::stringstream buffer;
  buffer << in.rdbuf();
  std::string text = buffer.str();
  const std::size_t begin = text.find(kBegin);
  const std::size_t end = text.find(kEnd);
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    std::fprintf(stderr, "%s has no place for the table: '%s'\n", path, std::string(kBegin).c_str());
    return 1;
  }
  const std::size_t from = begin + kBegin.size();
  const std::string wanted = table();
  if (writes) {
    text.replace(from, end - from, wanted);
    std::ofstream(path) << text;
    return 0;
  }
  if (text.compare(from, end - from, wanted) == 0) return 0;
  std::fprintf(stderr, "the table in %s is not that of the simulated SM; run ptx_forms --write %s\n", path, path);
  return 1;
}
