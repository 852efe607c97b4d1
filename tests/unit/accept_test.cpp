// SPDX-License-Identifier: Apache-2.0
#include "../support/ptx_run.h"

#include <heddle/host/error.h>
#include <heddle/sim/accept.h>

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace heddle::test {
namespace {

using sim::AcceptRule;
using sim::FaultCode;

std::string refusal(const std::string& text) {
  try {
    (void)AcceptRule::parse(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "none";
}

TEST(AcceptRule, ReadsCodeFileAndLine) {
  EXPECT_EQ(AcceptRule::parse("race"), (AcceptRule{FaultCode::kRace, "", 0}));
  EXPECT_EQ(AcceptRule::parse("race@copy.cu"), (AcceptRule{FaultCode::kRace, "copy.cu", 0}));
  EXPECT_EQ(AcceptRule::parse("race@a/copy.cu:87"), (AcceptRule{FaultCode::kRace, "a/copy.cu", 87}));
  for (const char* text : {"race", "race@copy.cu", "race@a/copy.cu:87"}) {
    EXPECT_EQ(AcceptRule::parse(text).text(), text);
  }
}

TEST(AcceptRule, RefusesWhatItDoesNotKnow) {
  EXPECT_TRUE(refusal("no_such_code").starts_with("there is no mistake 'no_such_code' to accept; exit_in_flight"))
      << refusal("no_such_code");
  EXPECT_TRUE(refusal("deadlock").starts_with("the mistake 'deadlock' ends a launch whatever is accepted"));
  EXPECT_NE(refusal("race@").find("no file behind the @"), std::string::npos);
  EXPECT_NE(refusal("race@:3").find("no file behind the @"), std::string::npos);
  for (const char* text : {"race@copy.cu:", "race@copy.cu:0", "race@copy.cu:3x", "race@copy.cu:99999999999"}) {
    EXPECT_NE(refusal(text).find("is no line"), std::string::npos) << text;
  }
}

TEST(AcceptRule, RefusesPlacesThatCannotBe) {
  const std::pair<const char*, const char*> kCases[] = {{"race@kernels/", "'kernels/' names a folder"},
                                                        {"race@kernels/:3", "'kernels/' names a folder"},
                                                        {"race@copy.cu:87:5", "'copy.cu:87' has two numbers"},
                                                        {"race@[ab.cu", "'[ab.cu' has a [ without a ]"},
                                                        {"race@a.cu\nrace", "goes over several lines"}};
  for (const auto& [text, why] : kCases) {
    EXPECT_NE(refusal(text).find(why), std::string::npos) << text << ": " << refusal(text);
  }
  for (const char* text : {"race@kernels/*", "race@[ab].cu:3", "race@c:/copy.cu:87"}) {
    EXPECT_EQ(refusal(text), "none");
  }
}

TEST(AcceptRule, RefusesALineThatItsFileDoesNotHave) {
  const std::string path = ::testing::TempDir() + "heddle_three_lines.cu";
  std::ofstream(path) << "one\ntwo\nthree";
  EXPECT_EQ(AcceptRule::check("race@" + path + ":3").line, 3u);
  try {
    (void)AcceptRule::check("race@" + path + ":4");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("heddle_three_lines.cu has 3 lines"), std::string::npos)
        << error.what();
  }
  std::remove(path.c_str());
  EXPECT_EQ(AcceptRule::check("race@no_such_file.cu:99999").line, 99999u);
}

TEST(AcceptRule, MatchesANameOrTheEndOfAPath) {
  const CallSite site{"/home/me/cute/copy.h", 87};
  for (const char* text :
       {"race@copy.h", "race@cute/copy.h:87", "race@/home/me/cute/copy.h", "race@*.h", "race@cute/*"}) {
    EXPECT_TRUE(AcceptRule::parse(text).matches(site)) << text;
  }
  for (const char* text : {"race@py.h", "race@copy.h:88", "race@e/copy.h", "race@copy.hpp", "race@copy"}) {
    EXPECT_FALSE(AcceptRule::parse(text).matches(site)) << text;
  }
}

// As the PTX front end has it.
TEST(AcceptRule, MatchesEachPlaceThatALineWasInlinedThrough) {
  const CallSite site{"/home/me/copy.h:7, /home/me/saxpy.cu:41, saxpy.ptx", 120};
  EXPECT_EQ(sim::place_text(site), "copy.h:7, saxpy.cu:41, saxpy.ptx:120");
  for (const char* text : {"race@copy.h:7", "race@saxpy.cu:41", "race@saxpy.ptx:120", "race@me/saxpy.cu"}) {
    EXPECT_TRUE(AcceptRule::parse(text).matches(site)) << text;
  }
  for (const char* text : {"race@copy.h:41", "race@saxpy.cu:120", "race@axpy.cu"}) {
    EXPECT_FALSE(AcceptRule::parse(text).matches(site)) << text;
  }
}

struct SuppressionFile {
  explicit SuppressionFile(const std::string& text) : path(::testing::TempDir() + "heddle_suppressions") {
    std::ofstream(path) << text;
  }
  ~SuppressionFile() { std::remove(path.c_str()); }
  std::string path;
};

TEST(Suppressions, AreLinesOfCodeAndPattern) {
  const SuppressionFile file("# known\nrace:copy.cu:87\n\n  missing_proxy_fence : cutlass/*  # theirs\n");
  EXPECT_EQ(sim::read_suppressions(file.path),
            (std::vector<std::string>{"race@copy.cu:87", "missing_proxy_fence@cutlass/*"}));
}

TEST(Suppressions, NameTheLineThatIsWrong) {
  const SuppressionFile file("race:a.cu\nraces:b.cu\n");
  try {
    (void)sim::read_suppressions(file.path);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with(file.path + ":2: there is no mistake 'races'"))
        << error.what();
  }
  const SuppressionFile short_one("race\n");
  EXPECT_THROW((void)sim::read_suppressions(short_one.path), InputError);
  EXPECT_THROW((void)sim::read_suppressions("/no/such/file"), InputError);
  EXPECT_THROW((void)sim::read_suppressions("/"), InputError);
  EXPECT_THROW((void)sim::read_suppressions("/dev/zero"), InputError);  // it has no end
  const SuppressionFile long_one(std::string(100'000, 'x'));
  try {
    (void)sim::read_suppressions(long_one.path);
    FAIL() << "a line of x is no suppression";
  } catch (const InputError& error) {
    EXPECT_LT(std::string(error.what()).size(), 1000u);
  }
}

// Two warps write one word at line 1 and another at line 2.
TEST(Accept, OnePlaceDoesNotSpeakForAnother) {
  const std::string body = "mov.u32 %r2, dyn; mov.u32 %r3, %tid.x;\nst.shared.u32 [%r2], %r3;\n";
  const std::string before = ".extern .shared .align 16 .b8 dyn[];";
  const std::string once = ptx_module(body + "ret;", before);
  const std::string twice = ptx_module(body + "st.shared.u32 [%r2+4], %r3; ret;", before);
  std::vector<std::uint32_t> out(1);
  PtxRun run{.threads = 64, .shared_bytes = 16};
  const sim::Report refused = run_ptx(once, out, {0}, run);
  ASSERT_EQ(refused.diagnoses.at(0).code, "race");
  const std::string place = refused.diagnoses[0].places.at(0);
  run.accepted = {"race@" + place};
  const sim::Report accepted = run_ptx(once, out, {0}, run);
  EXPECT_TRUE(accepted.ok()) << accepted.text();
  ASSERT_EQ(accepted.accepted.size(), 1u);
  EXPECT_EQ(accepted.accepted[0].accepted_by, "race@" + place);
  const sim::Report other = run_ptx(twice, out, {0}, run);
  ASSERT_EQ(other.diagnoses.at(0).code, "race");
  EXPECT_NE(other.diagnoses[0].places.at(0), place);
  run.accepted = {"race@other.cu"};
  EXPECT_FALSE(run_ptx(once, out, {0}, run).ok());
}

}  // namespace
}  // namespace heddle::test
