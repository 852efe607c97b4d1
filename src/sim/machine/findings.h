// SPDX-License-Identifier: Apache-2.0
//
// What was found in a launch and did not stop it: formal findings, and those that the launch accepts. Machine and
// checkers ask here whether they go on; if so, they go on as if what they found had been right.
#pragma once

#include "sim/machine/fault.h"

#include <heddle/sim/accept.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace heddle::sim {
struct LaunchOptions;
}

namespace heddle::sim::machine {

class Findings {
 public:
  // Told once for its places, and counted.
  struct Told {
    Fault fault;
    std::string accepted_by;  // the rule, as the launch gives it; empty: it is formal
    std::uint64_t times;
  };

  explicit Findings(const LaunchOptions& options);

  // Whether the run goes on. The fault is told then, unless it has been for these places.
  bool allows(const Fault& fault);
  // The same without words: true if it has been told for these places, and is counted once more.
  bool has_told(FaultCode code, Verdict verdict, const Places& places);

  const std::vector<Told>& told() const { return told_; }

 private:
  struct Key {
    FaultCode code;
    Verdict verdict;
    std::string_view files[2];  // by their text: equal literals of two objects need not be one
    std::uint32_t lines[2];

    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };

  static Key key_of(FaultCode code, Verdict verdict, const Places& places);
  const AcceptRule* find_rule(const Fault& fault) const;

  bool is_strict_;
  std::vector<AcceptRule> accepted_;
  std::vector<Told> told_;
  std::unordered_map<Key, std::size_t, Hash> index_;
};

}  // namespace heddle::sim::machine
