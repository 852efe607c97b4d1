// SPDX-License-Identifier: Apache-2.0
//
// The museum's figures in docs/promises.md, from the catalogue. museum_test holds the catalogue's marks to be
// true.
#include "../docs/generated_table.h"
#include "table.h"

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

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

// How many of the exhibits that ran on the card each tool showed, and heddle.
std::string contrast(const std::string& path) {
  std::ifstream file(path);
  std::map<std::string, std::map<std::string, std::size_t>> outcomes;  // by tool, then outcome, of wrong ones
  std::set<std::string> ran, seen_by_tool, shown_by_tool;
  std::size_t twins = 0, right_twins = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream cells(line);
    std::string tool, name, which, outcome;
    std::getline(cells, tool, '\t');
    std::getline(cells, name, '\t');
    std::getline(cells, which, '\t');
    std::getline(cells, outcome, '\t');
    if (tool == "summary") continue;
    if (which == "mended") {
      ++twins;
      right_twins += outcome == "right";
      continue;
    }
    ++outcomes[tool][outcome];
    ran.insert(name);
    if (tool != "plain") seen_by_tool.insert(name);
    if (tool != "plain" && outcome == "found") shown_by_tool.insert(name);
  }
  if (ran.empty()) return "";
  std::size_t reported = 0;
  for (const Exhibit& e : kExhibits) reported += ran.contains(e.name) && *e.missed == 0;
  std::string text = "\nThe same kernels on an H200, each in a process of its own (`museum_gpu`), " +
                     std::to_string(ran.size()) + " bugs; of the mended twins " + std::to_string(right_twins) +
                     " of " + std::to_string(twins) +
                     " ran right:\n\n| who looked | bugs | what it showed |\n| --- | --- | --- |\n";
  for (const auto& [tool, counts] : outcomes) {
    std::size_t all = 0;
    for (const auto& [outcome, count] : counts) all += count;
    text += "| " + (tool == "plain" ? std::string("a plain run, 50 times") : "compute-sanitizer, " + tool) +
            " | " + std::to_string(all) + " |";
    for (const auto& [outcome, count] : counts) text += " " + std::to_string(count) + " " + outcome + ",";
    text.back() = ' ';
    text += "|\n";
  }
  text += "| compute-sanitizer's tools together | " + std::to_string(seen_by_tool.size()) + " | " +
          std::to_string(shown_by_tool.size()) + " found |\n";
  return text + "| heddle, without a card | " + std::to_string(ran.size()) + " | " + std::to_string(reported) +
         " reported |\n";
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
  text += contrast(HEDDLE_MUSEUM_CARD);
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
