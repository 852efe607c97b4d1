// SPDX-License-Identifier: Apache-2.0
#include "c/report.h"

#include "c/error.h"

#include <heddle/host/error.h>

#include <fmt/format.h>

#include <utility>

heddle_report::heddle_report(std::string kernel_name, heddle::sim::Report what)
    : kernel(std::move(kernel_name)), report(std::move(what)) {
  for (const auto* list : {&report.diagnoses, &report.formal, &report.accepted}) {
    for (const heddle::sim::Diagnosis& diagnosis : *list) {
      Finding one{.diagnosis = &diagnosis, .places = {}, .has_stopped = list == &report.diagnoses};
      for (const std::string& place : diagnosis.places) one.places.push_back(place.c_str());
      findings.push_back(std::move(one));
    }
  }
}

HEDDLE_C_CALL size_t heddle_report_count(const heddle_report* report) { return report->findings.size(); }

HEDDLE_C_CALL int heddle_report_finding(const heddle_report* report, size_t index, heddle_finding* finding) {
  return heddle::c::guarded(1, [&] {
    if (index >= report->findings.size()) {
      throw heddle::InputError(fmt::format("finding {} of {}", index, report->findings.size()));
    }
    const heddle_report::Finding& one = report->findings[index];
    // The names are literals: they end with a zero.
    *finding = {.code = name_of(one.diagnosis->code).data(),
                .verdict = name_of(one.diagnosis->verdict).data(),
                .text = one.diagnosis->text.c_str(),
                .accepted_by = one.diagnosis->accepted_by.c_str(),
                .places = one.places.data(),
                .place_count = one.places.size(),
                .times = one.diagnosis->times,
                .has_stopped = one.has_stopped ? 1 : 0};
    return 0;
  });
}

HEDDLE_C_CALL const char* heddle_report_kernel(const heddle_report* report) { return report->kernel.c_str(); }

HEDDLE_C_CALL const char* heddle_report_schedule(const heddle_report* report) {
  return report->report.schedule.c_str();
}

HEDDLE_C_CALL uint64_t heddle_report_instructions(const heddle_report* report) {
  return report->report.stats.instructions;
}

HEDDLE_C_CALL void heddle_report_free(heddle_report* report) { delete report; }
