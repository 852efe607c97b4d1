// SPDX-License-Identifier: Apache-2.0
//
// The mistakes that a backend can have in it, and what each must be called. Where several codes stand, the one
// that is reported first depends on the schedule: who trips over the mistake first. Whoever does not wait, or is
// let on too early, leaves somebody a phase that may pass unseen.
#pragma once

#include <heddle/sim/report.h>
#include <heddle/testing/mutant.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "schedule_share.h"
#include "tiny_kernel.h"

namespace heddle::test {

struct ExpectedCodes {
  std::string_view mistake;
  std::vector<std::string_view> codes;
  bool concerns_bytes = false;  // and so only rings that copies fill
};

inline const ExpectedCodes kExpectedCodes[] = {
    {"drop_release", {"deadlock"}},
    {"drop_arrive", {"deadlock"}},
    {"short_expect", {"deadlock"}, true},
    {"long_expect", {"deadlock"}, true},
    {"wrong_phase", {"deadlock"}},
    {"large_count", {"deadlock"}},
    {"small_count", {"lost_phase", "write_while_read", "over_arrival", "deadlock"}},
    {"swap_consumer", {"deadlock"}},
    {"swap_producer", {"lost_phase", "write_while_read", "read_before_full", "deadlock"}},
    {"double_release", {"lost_phase", "write_while_read", "over_arrival", "deadlock"}},
    {"no_consumer_wait", {"lost_phase", "read_before_full", "uninitialised_read"}},
    {"no_producer_wait", {"lost_phase", "write_while_read", "over_arrival", "read_before_full", "deadlock"}},
};

// What fills a ring. Copies count bytes; accumulators are read by whole warps, so that a barrier which misses
// some lanes' arrivals can still cover every reader: there a doubled release is found under some schedules only.
enum class Filling { kCopies, kMmas };

// Calls run.operator()<Backend>(schedule), which returns a report, for each mistake and some schedules.
template <PipelineBackend Backend, class Run>
void expect_every_mistake_reported(const Run& run, Filling filling = Filling::kCopies) {
  for (const ExpectedCodes& expected : kExpectedCodes) {
    if (expected.concerns_bytes && filling == Filling::kMmas) continue;
    const bool is_always_found = filling == Filling::kCopies || expected.mistake != "double_release";
    std::size_t found = 0;
    const std::vector<sim::Schedule> schedules = some_schedules(25);
    for (const sim::Schedule& schedule : schedules) {
      sim::Report report;
      ASSERT_TRUE(with_mistake<Backend>(
          expected.mistake, [&]<class Mutant>() { report = run.template operator()<Mutant>(schedule); }));
      if (report.ok()) continue;
      ++found;
      const std::string_view code = name_of(report.diagnoses[0].code);
      EXPECT_NE(std::find(expected.codes.begin(), expected.codes.end(), code), expected.codes.end())
          << expected.mistake << " is called " << code << "\n"
          << report.text();
    }
    EXPECT_GE(found, is_always_found ? schedules.size() : is_whole() ? 1 : 0) << expected.mistake;
  }
}

}  // namespace heddle::test
