// SPDX-License-Identifier: Apache-2.0
#include "runtime/reports.h"

#include "runtime/json_lines.h"
#include "runtime/message.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <memory>

namespace heddle::runtime {

bool take_report(State& card, const std::string& name, const sim::Report& report, std::uint64_t launch) {
  for (const auto* list : {&report.formal, &report.accepted}) {
    for (const sim::Diagnosis& one : *list) {
      const bool is_formal = list == &report.formal;
      Told& told = is_formal ? card.formal : card.accepted;
      told.times += one.times;
      if (!is_formal) card.used_rules.insert(one.accepted_by);
      if (!told.places.emplace(one.code, fmt::format("{}", fmt::join(one.places, " "))).second) continue;
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
