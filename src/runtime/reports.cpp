// SPDX-License-Identifier: Apache-2.0
#include "runtime/reports.h"

#include "runtime/json_lines.h"
#include "runtime/message.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <memory>

namespace heddle::runtime {

namespace {

// What two findings of one kind are told apart by. A copy has no place in a source file: its name stands for it,
// and between two of them the line that names both.
std::string where(const sim::Diagnosis& finding, const std::string& name) {
  if (finding.places.empty()) return finding.text.substr(0, finding.text.find('\n'));
  const std::string places = fmt::format("{}", fmt::join(finding.places, " "));
  return finding.places.size() == 1 ? places + " " + name : places;
}

}  // namespace

bool take_report(State& card, const std::string& name, const sim::Report& report, std::uint64_t launch) {
  for (const auto* list : {&report.formal, &report.accepted}) {
    for (const sim::Diagnosis& one : *list) {
      const bool is_formal = list == &report.formal;
      Told& told = is_formal ? card.formal : card.accepted;
      told.times += one.times;
      if (!is_formal) card.used_rules.insert(one.accepted_by);
      if (!told.places.emplace(one.code, where(one, name)).second) continue;
      write_finding(one, false, launch, name);
      if (!card.keeps_reports()) say_finding((is_formal ? "" : "accepted: ") + one.text);
    }
  }
  for (const sim::Diagnosis& one : report.diagnoses) write_finding(one, true, launch, name);
  if (card.keeps_reports() && !(report.ok() && report.formal.empty() && report.accepted.empty())) {
    card.reports.push_back(std::make_unique<heddle_report>(name, report));
  }
  if (report.ok()) return true;
  show_printed(card);
  std::fflush(stdout);
  if (!card.keeps_reports()) std::fputs(report.text().c_str(), stderr);
  return false;
}

}  // namespace heddle::runtime
