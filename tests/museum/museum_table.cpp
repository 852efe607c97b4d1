// SPDX-License-Identifier: Apache-2.0
//
// The museum's figures in docs/promises.md, from the catalogue. museum_test holds the catalogue's marks to be
// true.
#include "../docs/generated_table.h"
#include "table.h"

#include <map>
#include <string>
#include <vector>

namespace {

using namespace heddle::museum;

struct Count {
  std::size_t all = 0, right = 0;
  void add(bool is_right) {
    ++all;
    right += is_right;
  }
};

std::string percent(const Count& count) {
  const std::size_t tenths = (count.right * 1000 + count.all / 2) / count.all;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " %";
}

std::string text() {
  std::map<std::string, Count> found, silent;
  Count all_found, all_silent, all_legal;
  std::string missed, alarmed;
  for (const Exhibit& e : kExhibits) {
    found[e.file].add(*e.missed == 0);
    all_found.add(*e.missed == 0);
    silent[e.file].add(*e.alarmed == 0);
    all_silent.add(*e.alarmed == 0);
    if (*e.missed != 0)
      missed += "| `" + std::string(e.name) + "` | " + e.cause + " | `" + e.code + "` | " + e.missed + " |\n";
    if (*e.alarmed != 0)
      alarmed += "| `" + std::string(e.name) + "`, mended | " + e.cause + " | " + e.alarmed + " |\n";
  }
  for (const Legal& l : kLegal) {
    all_legal.add(*l.alarmed == 0);
    if (*l.alarmed != 0) alarmed += "| `" + std::string(l.name) + "` | " + l.idiom + " | " + l.alarmed + " |\n";
  }
  std::string text =
      "\n\n| theme (`tests/museum`) | bugs | reported under the first schedule | mended twins silent |\n"
      "| --- | --- | --- | --- |\n";
  for (const auto& [file, count] : found)
    text += "| " + file + " | " + std::to_string(count.all) + " | " + std::to_string(count.right) + " | " +
            std::to_string(silent[file].right) + " |\n";
  text += "| all | " + std::to_string(all_found.all) + " | " + std::to_string(all_found.right) + " (" +
          percent(all_found) + ") | " + std::to_string(all_silent.right) + " (" + percent(all_silent) + ") |\n";
  text += "\nOther legal programs: " + std::to_string(all_legal.all) + ", of which " +
          std::to_string(all_legal.right) + " are silent.\n";
  text += missed.empty()
              ? "\nNo bug is missed.\n"
              : "\nStill missed:\n\n| bug | cause | wanted | why |\n| --- | --- | --- | --- |\n" + missed;
  text += alarmed.empty()
              ? "\nNo false alarm is known.\n"
              : "\nFalse alarms:\n\n| program | what it does | what comes |\n| --- | --- | --- |\n" + alarmed;
  return text + "\n";
}

}  // namespace

int main(int argc, char** argv) {
  return heddle::test::keep_table({.program = "museum_table",
                                   .begin = "<!-- museum: made by museum_table --write -->",
                                   .end = "<!-- end of museum -->",
                                   .text = text()},
                                  argc, argv);
}
