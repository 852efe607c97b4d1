// SPDX-License-Identifier: Apache-2.0
//
// Every bug of the museum is reported under the first schedule, with its code; its twin and all legal programs
// are silent under every schedule tried, and write the same under each. What the table marks as missed must be
// missed: a mark that is no longer true fails here.
#include "runner.h"

#include <gtest/gtest.h>

namespace heddle::museum {
namespace {

Museum& museum() {
  static Museum instance(HEDDLE_MUSEUM);
  return instance;
}

// The first report under the schedules tried, or "" if there was none.
std::string first_alarm(const std::string& kernel, const char* file, const Shape& shape) {
  Matrix first;
  for (std::uint64_t i = 0; i < schedules(11); ++i) {
    const Outcome outcome = museum().run(kernel, file, shape, schedule_of(i));
    if (!outcome.report.ok()) return outcome.report.text();
    if (i == 0) first = outcome.out;
    EXPECT_EQ(outcome.out.words, first.words)
        << kernel << " writes something else under schedule " << schedule_of(i).name();
  }
  return "";
}

void expect_silent(const std::string& kernel, const char* file, const Shape& shape, const char* alarmed) {
  const std::string alarm = first_alarm(kernel, file, shape);
  if (*alarmed == 0) EXPECT_EQ(alarm, "") << kernel;
  else EXPECT_NE(alarm, "") << kernel << " is silent now: take its mark '" << alarmed << "' away";
}

class Bug : public ::testing::TestWithParam<Exhibit> {};

TEST_P(Bug, IsReportedAndItsTwinIsNot) {
  const Exhibit& e = GetParam();
  const Outcome wrong = museum().run(std::string(e.name) + "_wrong", e.file, e.shape);
  if (*e.missed == 0) EXPECT_EQ(wrong.code(), e.code) << wrong.report.text();
  else EXPECT_NE(wrong.code(), e.code) << "found now: take its mark '" << e.missed << "' away";
  expect_silent(std::string(e.name) + "_mended", e.file, e.shape, e.alarmed);
}

class LegalProgram : public ::testing::TestWithParam<Legal> {};

TEST_P(LegalProgram, IsSilent) {
  const Legal& l = GetParam();
  expect_silent(l.name, l.file, l.shape, l.alarmed);
}

const auto name_of = [](const auto& info) { return std::string(info.param.name); };

INSTANTIATE_TEST_SUITE_P(Museum, Bug, ::testing::ValuesIn(kExhibits), name_of);
INSTANTIATE_TEST_SUITE_P(Museum, LegalProgram, ::testing::ValuesIn(kLegal), name_of);

TEST(Museum, HasNoNameTwice) {
  std::map<std::string, int> seen;
  for (const Exhibit& e : kExhibits) ++seen[e.name];
  for (const Legal& l : kLegal) ++seen[l.name];
  for (const auto& [name, times] : seen) EXPECT_EQ(times, 1) << name;
}

}  // namespace

void PrintTo(const Exhibit& e, std::ostream* to) { *to << e.name; }
void PrintTo(const Legal& l, std::ostream* to) { *to << l.name; }

}  // namespace heddle::museum
