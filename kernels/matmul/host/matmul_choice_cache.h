// SPDX-License-Identifier: Apache-2.0
//
// The choices that a thread has made, so that a shape that was seen before costs one look-up. Each thread has its
// own: nothing is locked.
#pragma once

#include "matmul_sm90_plan.h"

#include <array>
#include <string>
#include <unordered_map>

namespace heddle {

class MatmulChoiceCache {
 public:
  // Null where this problem was not put in. All are forgotten when `version` changes.
  const MatmulSm90Choice* find(const MatmulProblem& problem, const MatmulSm90Needs& needs,
                               std::uint64_t version) {
    if (version != version_) choices_.clear();
    version_ = version;
    const auto found = choices_.find(key_of(problem, needs));
    return found == choices_.end() ? nullptr : &found->second;
  }

  void put(const MatmulProblem& problem, const MatmulSm90Needs& needs, const MatmulSm90Choice& choice) {
    if (choices_.size() >= kMost) choices_.clear();
    choices_[key_of(problem, needs)] = choice;
  }

 private:
  static constexpr std::size_t kMost = 4096;

  // All that a choice depends on.
  struct Key {
    std::array<std::int64_t, 9> numbers;
    std::string gpu;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      std::size_t mixed = std::hash<std::string>()(key.gpu);
      for (const std::int64_t number : key.numbers) {
        mixed = (mixed ^ static_cast<std::size_t>(number)) * 0x9e3779b97f4a7c15ull;
        mixed ^= mixed >> 29;
      }
      return mixed;
    }
  };

  static Key key_of(const MatmulProblem& p, const MatmulSm90Needs& needs) {
    const std::array<std::int64_t, 3> steps = row_steps_of(p);
    std::int64_t kinds = 0;
    for (const int kind : {int(p.a_type), int(p.out_type), int(p.b_layout), int(needs.is_fused),
                           int(needs.is_simulated), int(p.is_dependent)}) {
      kinds = kinds * 64 + kind;
    }
    return {{p.m, p.n, p.k, p.splits, static_cast<std::int64_t>(needs.workspace_bytes), kinds, steps[0], steps[1],
             steps[2]},
            std::string(needs.gpu)};
  }

  std::uint64_t version_ = 0;
  std::unordered_map<Key, MatmulSm90Choice, Hash> choices_;
};

}  // namespace heddle
