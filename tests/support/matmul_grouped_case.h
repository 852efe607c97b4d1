// SPDX-License-Identifier: Apache-2.0
//
// Grouped matmuls of reference/matmul_grouped_reference.h, run in the simulated SM: Hopper's, or with
// HEDDLE_GROUPED_SM100 Blackwell's.
#pragma once

#include "matmul/host/matmul_grouped_plan.h"
#include "matmul/reference/matmul_grouped_reference.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace heddle::test {

#ifdef HEDDLE_GROUPED_SM100
inline constexpr auto kRun = matmul_grouped_sm100<Target::kSim>;
#else
inline constexpr auto kRun = matmul_grouped_sm90<Target::kSim>;
#endif

struct MatmulGroupedCase : reference::MatmulGroupedCase {
  MatmulGroupedCase(const MatmulGroupedProblem& p, std::vector<std::int32_t> group_rows,
                    std::uint64_t of_seed = 1, bool is_random = false)
      : reference::MatmulGroupedCase{
            .problem = p,
            .numbers = std::move(group_rows),
            .data = is_random ? reference::MatmulData::kRandom : reference::MatmulData::kIntegers,
            .seed = of_seed,
            .more = 1} {
    prepare();
  }

  RunOutcome run(const std::string& schedule = "rr", std::uint32_t sms = 4) {
    return kRun(problem, tensors(), {.kernel = "matmul", .schedule = schedule, .sms = sms});
  }

  testing::AssertionResult is_right() const {
    const reference::MatmulVerdict verdict = verify();
    if (!verdict.ok()) return testing::AssertionFailure() << verdict.wrong;
    return testing::AssertionSuccess();
  }
};

// In the simulated SM, with neither a report nor a remark.
inline testing::AssertionResult runs_right(MatmulGroupedCase c, const std::string& schedule = "rr",
                                           std::uint32_t sms = 4) {
  const RunOutcome outcome = c.run(schedule, sms);
  if (!outcome.ok()) return testing::AssertionFailure() << outcome.report;
  if (!outcome.remarks.empty()) return testing::AssertionFailure() << outcome.remarks;
  return c.is_right();
}

}  // namespace heddle::test
