// SPDX-License-Identifier: Apache-2.0
//
// Words that are stored with .wt or loaded with .cv: weak by the manual, strong in the machine code. What depends
// on that is formal; what would be wrong if they were strong stays wrong. And plain loads before a
// compare-and-swap.
#include "../support/ptx_run.h"

#include <algorithm>
#include <ctime>

namespace heddle::test {
namespace {

const char* const kSchedules[] = {"rr", "1", "2", "3"};

// Thread 0 of the first block writes, a thread of another warp or block polls the first word of `out` and goes
// on.
struct Flag {
  std::string before = "";  // the data
  std::string write;
  std::string poll;
  std::string after = "";
  bool is_far = false;
};

sim::Report run(const Flag& flag, const char* schedule) {
  std::vector<std::uint32_t> out(16, 0);
  const std::string body =
      "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; shl.b32 %r3, %r2, 5;\n"
      "add.u32 %r3, %r3, %r1; setp.eq.u32 %p1, %r3, 0; @%p1 bra WRITE;\n"
      "setp.ne.u32 %p2, %r3, 32; @%p2 bra END;\n"
      "READ: " +
      flag.poll + " setp.eq.u32 %p3, %r4, 0; @%p3 bra READ;\n" + flag.after + "bra END;\nWRITE: " + flag.before +
      flag.write + "\nEND: ret;";
  return run_ptx(ptx_module(body), out, {0},
                 {.threads = flag.is_far ? 32u : 64u,
                  .grid = {flag.is_far ? 2u : 1u, 1, 1},
                  .schedule = sim::Schedule::parse(schedule)});
}

const std::string kPlain = "st.global.u32 [%rd1], 1;";
const std::string kThrough = "st.global.wt.u32 [%rd1], 1;";
const std::string kVolatile = "ld.volatile.global.u32 %r4, [%rd1];";
const std::string kFresh = "ld.global.cv.u32 %r4, [%rd1];";

void expect_formal(const Flag& flag, const std::string& words) {
  for (const char* schedule : kSchedules) {
    const sim::Report report = run(flag, schedule);
    EXPECT_TRUE(report.ok()) << report.text();
    ASSERT_FALSE(report.formal.empty());
    EXPECT_EQ(report.formal[0].code, "global_race");
    EXPECT_NE(report.formal[0].text.find(words), std::string::npos) << report.formal[0].text;
  }
}

void expect_wrong(const Flag& flag) {
  for (const char* schedule : kSchedules) EXPECT_TRUE(run(flag, schedule).has("global_race")) << schedule;
}

TEST(PtxCacheOperator, AFlagIsFormal) {
  for (const bool is_far : {false, true}) {
    expect_formal({.write = kThrough, .poll = kVolatile, .is_far = is_far}, "st.global.wt");
    expect_formal({.write = kThrough, .poll = kFresh, .is_far = is_far}, "ld.global.cv");
    expect_wrong({.write = kPlain, .poll = kVolatile, .is_far = is_far});
    expect_wrong({.write = kPlain, .poll = kFresh, .is_far = is_far});
  }
}

TEST(PtxCacheOperator, FencesHandOverWhatWasWrittenBefore) {
  const std::string data = "st.global.u32 [%rd1+32], 7; ";
  const std::string fence = "fence.acq_rel.gpu;\n";
  const std::string use = "ld.global.u32 %r5, [%rd1+32]; st.global.u32 [%rd1+48], %r5;\n";
  expect_formal({data + fence, kThrough, kFresh, fence + use, true}, "a cache operator is a hint");
  expect_wrong({data, kThrough, kFresh, fence + use, true});
  expect_wrong({data + fence, kThrough, kFresh, use, true});
}

TEST(PtxCacheOperator, OrderedAccessesAreSilent) {
  for (const char* schedule : kSchedules) {
    std::vector<std::uint32_t> out(64, 0);
    const sim::Report report = run_ptx(
        ptx_module("ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, "
                   "%rd1, %rd2;\n"
                   "st.global.wt.u32 [%rd3], %r1; bar.sync 0; xor.b32 %r2, %r1, 32; mul.wide.u32 %rd2, %r2, 4;\n"
                   "add.u64 %rd4, %rd1, %rd2; ld.global.cv.u32 %r3, [%rd4]; bar.sync 0; st.global.u32 [%rd3], "
                   "%r3; ret;"),
        out, {0}, {.threads = 64, .schedule = sim::Schedule::parse(schedule)});
    EXPECT_TRUE(report.ok() && report.formal.empty()) << report.text();
    EXPECT_EQ(out[0], 32u);
  }
}

// A thread of each of two blocks adds 1 to the first word of `out`.
sim::Report count(const std::string& load, const std::string& change, const char* schedule,
                  std::vector<std::uint32_t>& out) {
  return run_ptx(ptx_module("ld.param.u64 %rd1, [out]; " + load + "\nAGAIN: add.u32 %r2, %r1, 1;\n" + change +
                            " setp.ne.u32 %p1, %r3, %r1; mov.u32 %r1, %r3; @%p1 bra AGAIN; ret;"),
                 out, {0}, {.threads = 1, .grid = {2, 1, 1}, .schedule = sim::Schedule::parse(schedule)});
}

TEST(PtxCompareAndSwap, ChecksWhatAPlainLoadGave) {
  const std::string cas = "atom.global.cas.b32 %r3, [%rd1], %r1, %r2;";
  for (const char* schedule : kSchedules) {
    for (const std::string load : {"ld.global.u32 %r1, [%rd1];", "ld.global.u32 %r4, [%rd1]; mov.u32 %r1, %r4;",
                                   "ld.global.u32 %r1, [%rd1]; ld.global.u32 %r4, [%rd1+32]; bra AGAIN;"}) {
      std::vector<std::uint32_t> out(16, 0);
      const sim::Report report = count(load, cas, schedule, out);
      EXPECT_TRUE(report.ok()) << report.text();
      EXPECT_EQ(out[0], 2u);
      ASSERT_FALSE(report.formal.empty());
      EXPECT_NE(report.formal[0].text.find("a compare-and-swap checks"), std::string::npos)
          << report.formal[0].text;
    }
    // Another word than the one that is compared, and one that nothing compares.
    std::vector<std::uint32_t> out(16, 0);
    EXPECT_TRUE(count("ld.global.u32 %r1, [%rd1];", "atom.global.cas.b32 %r3, [%rd1], 0, %r2; mov.u32 %r3, %r1;",
                      schedule, out)
                    .has("global_race"));
    EXPECT_TRUE(count("ld.global.u32 %r1, [%rd1];", "atom.global.add.u32 %r3, [%rd1], 1; mov.u32 %r3, %r1;",
                      schedule, out)
                    .has("global_race"));
  }
}

// What depends on the plain load before the compare-and-swap, or without it, is not checked by it.
TEST(PtxCompareAndSwap, DoesNotCheckWhatWasUsedBefore) {
  const std::string cas = "atom.global.cas.b32 %r3, [%rd1], %r1, %r2;";
  const std::string load = "ld.global.u32 %r1, [%rd1];";
  const std::string moved = "add.u64 %rd1, %rd1, 16; " + cas + " sub.u64 %rd1, %rd1, 16; mov.u32 %r3, %r1;";
  for (const char* schedule : kSchedules) {
    std::vector<std::uint32_t> out(16, 0);
    // Another word, after all.
    EXPECT_TRUE(count(load, moved + " atom.global.add.u32 %r4, [%rd1], 1;", schedule, out).has("global_race"));
    // Stored; compared by nobody, for the predicate is false.
    EXPECT_TRUE(count(load + " st.global.u32 [%rd1+32], %r1;", cas, schedule, out).has("global_race"));
    EXPECT_TRUE(count(load + " setp.ne.u32 %p2, %r1, %r1;",
                      "@%p2 " + cas + " atom.global.add.u32 %r4, [%rd1], 1; mov.u32 %r3, %r1;", schedule, out)
                    .has("global_race"));
    // A lock that is polled before it is taken.
    EXPECT_TRUE(count("POLL: " + load + " setp.gt.u32 %p2, %r1, 99; @%p2 bra POLL;", cas, schedule, out)
                    .has("global_race"));
    EXPECT_TRUE(count("POLL: " + load + " setp.gt.u32 %p2, %r1, 99; @%p2 bra MORE; bra AGAIN; MORE: bra POLL;",
                      cas, schedule, out)
                    .has("global_race"));
    // What it gave is the result of those who do not compare it.
    EXPECT_TRUE(count(load + " setp.lt.u32 %p2, %r1, 99; @%p2 bra AGAIN; st.global.u32 [%rd1+32], %r1; ret;", cas,
                      schedule, out)
                    .has("global_race"));
  }
}

// A maximum: who finds one as large has nothing to do.
TEST(PtxCompareAndSwap, MayBeLeftOutForWhatThePlainLoadGave) {
  const std::string cas = "atom.global.cas.b32 %r3, [%rd1], %r1, %r2;";
  const std::string least = "mov.u32 %r6, 5; ld.global.u32 %r1, [%rd1]; ";
  const std::string leave = "setp.gt.u32 %p2, %r1, 99; @%p2 bra LEFT; bra AGAIN; LEFT: ret; ";
  const std::string in_turn =
      "mov.u32 %r6, 0; EACH: ld.global.u32 %r1, [%rd1]; setp.lt.u32 %p2, %r1, 99; @%p2 bra AGAIN; NEXT: add.u32 "
      "%r6, %r6, 1; setp.lt.u32 %p3, %r6, 3; @%p3 bra EACH; ret; ";
  for (const char* schedule : kSchedules) {
    for (const std::string& load : {least + leave, in_turn}) {
      std::vector<std::uint32_t> out(16, 0);
      const sim::Report report = count(load, cas, schedule, out);
      EXPECT_TRUE(report.ok()) << report.text();
      EXPECT_EQ(out[0], 2u);
      EXPECT_FALSE(report.formal.empty());
    }
  }
}

// Nor does such a load take over what a fence would acquire.
TEST(PtxCompareAndSwap, TakesNothingOverWithAPlainLoad) {
  const auto run_with = [](const std::string& load, const char* schedule) {
    std::vector<std::uint32_t> out(16, 0);
    return run_ptx(
        ptx_module("ld.param.u64 %rd1, [out]; mov.u32 %r2, %ctaid.x; setp.eq.u32 %p1, %r2, 0; @%p1 bra WRITE;\n"
                   "READ: " +
                   load +
                   " %r4, [%rd1]; setp.ne.u32 %p2, %r4, 0; @%p2 bra SET;\n"
                   "atom.relaxed.gpu.global.cas.b32 %r6, [%rd1], %r4, %r4; bra READ;\n"
                   "SET: fence.acq_rel.gpu; ld.global.u32 %r5, [%rd1+32]; st.global.u32 [%rd1+48], %r5; ret;\n"
                   "WRITE: st.global.u32 [%rd1+32], 7; fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [%rd1], 1; "
                   "ret;"),
        out, {0}, {.threads = 1, .grid = {2, 1, 1}, .schedule = sim::Schedule::parse(schedule)});
  };
  // Round robin has the flag set before the first load. Otherwise the compare-and-swap may see it.
  EXPECT_TRUE(run_with("ld.global.u32", "rr").has("global_race"));
  for (const char* schedule : kSchedules) {
    const sim::Report report = run_with("ld.relaxed.gpu.global.u32", schedule);
    EXPECT_TRUE(report.ok()) << report.text();
  }
}

TEST(PtxCompareAndSwap, DoesNotMakeAFlagOfAPlainLoad) {
  const std::string poll = "ld.global.u32 %r4, [%rd1];";
  const std::string fence = "fence.acq_rel.gpu;\n";
  const std::string use = "ld.global.u32 %r5, [%rd1+32]; st.global.u32 [%rd1+48], %r5;\n";
  const std::string cas = "atom.global.cas.b32 %r6, [%rd1], %r4, 2;\n";
  expect_wrong({.before = "st.global.u32 [%rd1+32], 7; " + fence,
                .write = "st.relaxed.gpu.global.u32 [%rd1], 1;",
                .poll = poll,
                .after = fence + use + cas,
                .is_far = true});
}

// Each pair is told once, so that the loads cost little more than relaxed ones, which are not told.
TEST(PtxCompareAndSwap, TakesLittleLongerForManyBlocks) {
  const auto seconds = [](const std::string& load) {
    std::vector<std::uint32_t> out(16, 0);
    const std::clock_t start = std::clock();
    const sim::Report report =
        run_ptx(ptx_module("ld.param.u64 %rd1, [out]; " + load +
                           "\nAGAIN: add.u32 %r2, %r1, 1; atom.global.cas.b32 %r3, [%rd1], %r1, %r2;\n"
                           "setp.ne.u32 %p1, %r3, %r1; mov.u32 %r1, %r3; @%p1 bra AGAIN; ret;"),
                out, {0}, {.threads = 32, .grid = {200, 1, 1}});
    EXPECT_TRUE(report.ok()) << report.text();
    EXPECT_EQ(out[0], 6400u);
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  const double relaxed = seconds("ld.relaxed.gpu.global.u32 %r1, [%rd1];");
  EXPECT_LT(seconds("ld.global.u32 %r1, [%rd1];"), 60 * std::max(relaxed, 0.01));
}

}  // namespace
}  // namespace heddle::test
