// SPDX-License-Identifier: Apache-2.0
//
// Where checkers put what they find. After a finding that is formal or accepted they record the access as if it
// had been right; after any other nothing is looked at any more.
#pragma once

#include "sim/machine/findings.h"

#include <optional>
#include <utility>

namespace heddle::sim::check {

using Finding = machine::Fault;
using machine::Places;

class FindingSink {
 public:
  explicit FindingSink(machine::Findings& findings) : findings_(findings) {}

  // Whether the run stops for it. `words` makes the Finding, and is called the first time only for the same
  // places.
  template <class Words>
  bool stops(FaultCode code, Verdict verdict, const Places& places, const Words& words) {
    if (stop_) return true;
    if (findings_.has_told(code, verdict, places)) return false;
    Finding finding = words();
    finding.code = code;
    finding.verdict = verdict;
    finding.places = places;
    if (findings_.allows(finding)) return false;
    stop_ = std::move(finding);
    return true;
  }
  template <class Words>
  bool stops(FaultCode code, const Places& places, const Words& words) {
    return stops(code, rule_of(code).verdict, places, words);
  }

  bool stops(Finding finding) {
    const Places places = finding.places;
    return stops(finding.code, finding.level(), places, [&] { return std::move(finding); });
  }

  // Counts it if it was told before: then nothing stops for it.
  bool has_told(FaultCode code, Verdict verdict, const Places& places) {
    return !stop_ && findings_.has_told(code, verdict, places);
  }

  // What the run stops for.
  const std::optional<Finding>& stop() const { return stop_; }

 private:
  machine::Findings& findings_;
  std::optional<Finding> stop_;
};

}  // namespace heddle::sim::check
