// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/findings.h"

#include <heddle/sim/launch.h>

#include <algorithm>
#include <functional>

namespace heddle::sim::machine {

Findings::Findings(const LaunchOptions& options) : options_(options) {}

std::size_t Findings::Hash::operator()(const Key& key) const {
  std::size_t hash = static_cast<std::size_t>(key.code) << 8 | static_cast<std::size_t>(key.verdict);
  for (int i = 0; i < 2; ++i) {
    hash = hash * 31 + std::hash<const void*>()(key.files[i]);
    hash = hash * 31 + key.lines[i];
  }
  return hash;
}

Findings::Key Findings::key_of(FaultCode code, Verdict verdict, const Places& places) {
  return {code, verdict, {places.first.file, places.second.file}, {places.first.line, places.second.line}};
}

bool Findings::has_told(FaultCode code, Verdict verdict, const Places& places) {
  if (told_.empty()) return false;
  const auto known = index_.find(key_of(code, verdict, places));
  if (known == index_.end()) return false;
  ++told_[known->second].times;
  return true;
}

bool Findings::is_accepted(const Fault& fault) const {
  if (!rule_of(fault.code).is_acceptable) return false;
  const std::vector<std::string>& codes = options_.accepted;
  return std::find(codes.begin(), codes.end(), name_of(fault.code)) != codes.end();
}

bool Findings::allows(const Fault& fault) {
  const Verdict verdict = fault.level();
  if (has_told(fault.code, verdict, fault.places)) return true;
  const bool accepted = is_accepted(fault);
  if (!accepted && (verdict != Verdict::kFormal || options_.strict)) return false;
  index_.emplace(key_of(fault.code, verdict, fault.places), told_.size());
  told_.push_back({fault, accepted, 1});
  return true;
}

}  // namespace heddle::sim::machine
