// SPDX-License-Identifier: Apache-2.0
//
// A table that a program makes and a document holds, between two lines of comment. As a program, `PROGRAM FILE`
// says whether the file has it, `PROGRAM --write FILE` makes it so.
#pragma once

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace heddle::test {

struct GeneratedTable {
  std::string_view program;
  std::string_view begin;  // the lines around it
  std::string_view end;
  std::string text;
};

// The exit status of the program.
inline int keep_table(const GeneratedTable& table, int argc, char** argv) {
  const std::string program(table.program);
  const bool writes = argc == 3 && std::string_view(argv[1]) == "--write";
  if (argc != 2 && !writes) {
    std::fprintf(stderr, "usage: %s [--write] FILE\n", program.c_str());
    return 2;
  }
  const char* path = argv[argc - 1];
  std::ifstream in(path);
  std::stringstream buffer;
  buffer << in.rdbuf();
  std::string text = buffer.str();
  const std::size_t begin = text.find(table.begin);
  const std::size_t end = text.find(table.end);
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    std::fprintf(stderr, "%s has no place for the table: '%s'\n", path, std::string(table.begin).c_str());
    return 1;
  }
  const std::size_t from = begin + table.begin.size();
  if (writes) {
    text.replace(from, end - from, table.text);
    std::ofstream(path) << text;
    return 0;
  }
  if (text.compare(from, end - from, table.text) == 0) return 0;
  std::fprintf(stderr, "the table in %s is not what it should be; run %s --write %s\n", path, program.c_str(),
               path);
  return 1;
}

}  // namespace heddle::test
