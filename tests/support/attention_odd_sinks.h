// SPDX-License-Identifier: Apache-2.0
//
// Sinks that are no scores, for forward and for decoding attention.
#pragma once

#include <heddle/host/run_options.h>

#include <gtest/gtest.h>

#include <cmath>

namespace heddle::test {

// A sink that is no number makes its head's outputs and logarithms none, those of queries without a key too, and
// one that is infinite takes all weight. Of one batch and three heads.
template <class Case>
void expect_odd_sinks(Case c) {
  c.sinks = {std::nanf(""), HUGE_VALF, 0.5f};
  const RunOutcome outcome = c.run();
  ASSERT_TRUE(outcome.ok()) << outcome.report;
  const std::size_t numbers = c.o.size() / 3;
  for (std::size_t i = 0; i < numbers; ++i) {
    ASSERT_TRUE(std::isnan(c.value(c.o[i]))) << i;
    ASSERT_EQ(c.value(c.o[numbers + i]), 0.0) << i;
    ASSERT_TRUE(std::isfinite(c.value(c.o[2 * numbers + i]))) << i;
  }
  const std::size_t rows = c.lse.size() / 3;
  for (std::size_t i = 0; i < rows; ++i) {
    ASSERT_TRUE(std::isnan(c.lse[i])) << i;
    ASSERT_EQ(c.lse[rows + i], HUGE_VALF) << i;
    ASSERT_TRUE(std::isfinite(c.lse[2 * rows + i])) << i;
  }
}

}  // namespace heddle::test
