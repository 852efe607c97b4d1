// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/findings.h"

#include <heddle/sim/launch.h>

#include <algorithm>
#include <functional>

namespace heddle::sim::machine {

Findings::Findings(const LaunchOptions& options) : is_strict_(options.strict) {
  for (const std::string& text : options.accepted) accepted_.push_back(AcceptRule::parse(text));
}

std::size_t Findings::Hash::operator()(const Key& key) const {
  std::size_t hash = static_cast<std::size_t>(key.code) << 8 | static_cast<std::size_t>(key.verdict);
  for (int i = 0; i < 2; ++i) {
    hash = hash * 31 + std::hash<std::string_view>()(key.files[i]);
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

const AcceptRule* Findings::find_rule(const Fault& fault) const {
  const auto rule = std::find_if(accepted_.begin(), accepted_.end(), [&](const AcceptRule& one) {
    return one.code == fault.code && (one.matches(fault.places.first) || one.matches(fault.places.second));
  });
  return rule == accepted_.end() ? nullptr : &*rule;
}

bool Findings::allows(const Fault& fault) {
  const Verdict verdict = fault.level();
  if (has_told(fault.code, verdict, fault.places)) return true;
  const AcceptRule* rule = find_rule(fault);
  if (rule == nullptr && (verdict != Verdict::kFormal || is_strict_)) return false;
  index_.emplace(key_of(fault.code, verdict, fault.places), told_.size());
  told_.push_back({fault, rule == nullptr ? std::string() : rule->text(), 1});
  return true;
}

}  // namespace heddle::sim::machine
