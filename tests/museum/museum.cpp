// SPDX-License-Identifier: Apache-2.0
//
// museum FOLDER [NAME]: runs all exhibits, or one, and prints what each gives. For work on the checks; the tests
// are in museum_test.
#include "runner.h"

#include <cstdio>
#include <cstring>

namespace {

using namespace heddle;

void show(museum::Museum& museum, const std::string& kernel, const char* file, const museum::Shape& shape,
          const char* expected, bool whole) {
  std::string first, text;
  std::uint64_t at = 0;
  museum::Matrix out;
  try {
    for (std::uint64_t i = 0; i < museum::schedules(11); ++i) {
      const museum::Outcome outcome = museum.run(kernel, file, shape, museum::schedule_of(i));
      first = outcome.code();
      text = outcome.report.text();
      at = i;
      if (i == 0) out = outcome.out;
      if (first.empty() && outcome.out.words != out.words) first = "(other output)";
      if (!first.empty() && !first.starts_with("formal")) break;
    }
  } catch (const std::exception& error) {
    first = "(refused)";
    text = error.what();
  }
  // What is formal does not stop a program, so it is no alarm.
  const bool right = first == expected || (*expected == 0 && first.starts_with("formal"));
  std::printf("%-5s %-50s expected %-22s got %-22s schedule %d\n", right ? "ok" : "WRONG", kernel.c_str(),
              expected, first.c_str(), static_cast<int>(at));
  if (whole || (!right && !text.empty())) std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: museum FOLDER [NAME]\n");
    return 2;
  }
  museum::Museum museum(argv[1]);
  const char* only = argc > 2 ? argv[2] : "";
  const auto wanted = [&](const char* name, const char* file) {
    return *only == 0 || std::strcmp(name, only) == 0 || std::strcmp(file, only) == 0;
  };
  const bool whole = argc > 3;
  for (const museum::Exhibit& e : museum::kExhibits) {
    if (!wanted(e.name, e.file)) continue;
    show(museum, std::string(e.name) + "_wrong", e.file, e.shape, e.code, whole);
    show(museum, std::string(e.name) + "_mended", e.file, e.shape, "", whole);
  }
  for (const museum::Legal& l : museum::kLegal)
    if (wanted(l.name, l.file)) show(museum, l.name, l.file, l.shape, "", whole);
  return 0;
}
