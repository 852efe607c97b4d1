// SPDX-License-Identifier: Apache-2.0
//
// Strong accesses: what they conflict with, and the order that they make. Each mistake has a twin that differs in
// one instruction and is silent; no verdict depends on the schedule.
#include "../support/ptx_run.h"

#include <cctype>
#include <ostream>
#include <string>

namespace heddle::test {
namespace {

const char* const kShared =
    ".shared .align 16 .b32 flag; .shared .align 16 .b32 data[64]; .shared .align 8 .b64 bar;";
const std::vector<const char*> kSchedules = {"rr", "1", "2", "3", "4", "5", "6", "7"};

struct Case {
  const char* name;
  std::string body;
  const char* code;  // "" if it is right
  PtxRun run = {};
};

// What a test is called, and what a failure prints.
std::string name_of(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.name;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}
void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

// %rd1: out; %r1: the thread; %r2: the block; %p1: not thread 0; %p2: not warp 0; %p3: not block 0; %p4: not lane
// 0.
const std::string kHead =
    "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; setp.ne.u32 %p1, %r1, 0;\n"
    "setp.gt.u32 %p2, %r1, 31; setp.ne.u32 %p3, %r2, 0; mov.u32 %r30, %laneid; setp.ne.u32 %p4, %r30, 0;\n";

void expect(const Case& test, const char* code) {
  for (const char* schedule : kSchedules) {
    PtxRun run = test.run;
    run.schedule = sim::Schedule::parse(schedule);
    run.max_steps = 1 << 20;
    std::vector<std::uint32_t> out(256, 0);
    const sim::Report report = run_ptx(ptx_module(kHead + test.body + "\nret;", kShared), out, {0}, run);
    const std::string_view wanted(code);
    if (wanted.empty() || wanted.starts_with("formal ")) {
      EXPECT_TRUE(report.ok()) << test.name << ", schedule " << schedule << "\n" << report.text();
      ASSERT_EQ(report.formal.empty(), wanted.empty()) << test.name << ", schedule " << schedule;
      if (!wanted.empty()) {
        EXPECT_EQ(name_of(report.formal.front().code), wanted.substr(7)) << test.name;
      }
    } else {
      EXPECT_TRUE(report.has(code)) << test.name << ", schedule " << schedule << "\n" << report.text();
    }
  }
}

// Both warps load 32 numbers, each a lane, and add one.
const std::string kTile =
    "mul.wide.u32 %rd2, %r30, 4;\nadd.s64 %rd3, %rd1, %rd2;\nld.global.u32 %r4, [%rd3];\nadd.u32 %r5, %r4, 1;\n";

class RaceStrong : public testing::TestWithParam<Case> {};

TEST_P(RaceStrong, IsJudgedAlikeUnderEverySchedule) { expect(GetParam(), GetParam().code); }

std::string replace(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::logic_error("no '" + from + "' in the body");
  return text.replace(at, from.size(), to);
}

// Two warps of one CTA: thread 0 sets the flag, a thread of warp 1 waits for it and reads.
const std::string kFlag =
    "@!%p1 st.relaxed.cta.shared.u32 [flag], 0; bar.sync 0; @%p2 bra READER; @%p1 bra END;\n"
    "st.shared.u32 [data], 7; fence.acq_rel.cta; st.relaxed.cta.shared.u32 [flag], 1; bra END;\n"
    "READER: @%p4 bra END;\n"
    "SPIN: ld.relaxed.cta.shared.u32 %r3, [flag]; setp.eq.u32 %p5, %r3, 0; @%p5 bra SPIN;\n"
    "fence.acq_rel.cta ; ld.shared.u32 %r4, [data]; st.global.u32 [%rd1], %r4;\n"
    "END:";

// Thread 0 sets the flag, lane 0 of warp 1 waits for it, and all of its lanes read.
const std::string kTold =
    "@!%p1 st.relaxed.cta.shared.u32 [flag], 0; bar.sync 0; @%p2 bra READER; @%p1 bra END;\n"
    "st.shared.u32 [data], 7; st.release.cta.shared.u32 [flag], 1; bra END;\n"
    "READER: @%p4 bra TOLD;\n"
    "SPIN: ld.acquire.cta.shared.u32 %r5, [flag]; setp.eq.u32 %p5, %r5, 0; @%p5 bra SPIN;\n"
    "TOLD: shfl.sync.idx.b32 %r6, %r5, 0, 31, -1; ld.shared.u32 %r4, [data];\n"
    "END:";

// Two warps and a barrier, which the reader first asks without acquiring.
const std::string kPeek =
    "@!%p1 mbarrier.init.shared.b64 [bar], 1; bar.sync 0; @%p2 bra READER; @%p1 bra END;\n"
    "st.shared.u32 [data], 7; mbarrier.arrive.shared.b64 _, [bar]; bra END;\n"
    "READER: @%p4 bra END;\n"
    "PEEK: mbarrier.test_wait.parity.relaxed.cta.shared::cta.b64 %p5, [bar], 0; @!%p5 bra PEEK;\n"
    "WAIT: mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 %p5, [bar], 0; @!%p5 bra WAIT;\n"
    "ld.shared.u32 %r4, [data]; st.global.u32 [%rd1], %r4;\n"
    "END:";

// Two blocks: block 0 hands data over to block 1 through a flag in global memory; all threads write and read.
const std::string kBlocks =
    "mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; @%p3 bra READER;\n"
    "st.global.u32 [%rd3+256], %r1; bar.sync 0; @%p1 bra END;\n"
    "fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [%rd1], 1; bra END;\n"
    "READER: @%p1 bra MEET;\n"
    "SPIN: ld.relaxed.gpu.global.u32 %r3, [%rd1]; setp.eq.u32 %p5, %r3, 0; @%p5 bra SPIN; fence.acq_rel.gpu ;\n"
    "MEET: bar.sync 1; ld.global.u32 %r4, [%rd3+256]; st.global.u32 [%rd3+512], %r4;\n"
    "END:";

// Every block adds to a sum under a lock.
const std::string kLock =
    "@%p1 bra END;\n"
    "TAKE: atom.global.cas.b32 %r3, [%rd1], 0, 1; setp.ne.u32 %p5, %r3, 0; @%p5 bra TAKE; fence.acq_rel.gpu ;\n"
    "ld.global.u32 %r4, [%rd1+4]; add.u32 %r4, %r4, 1; st.global.u32 [%rd1+4], %r4;\n"
    "fence.acq_rel.gpu; atom.global.exch.b32 %r5, [%rd1], 0;\n"
    "END:";

// The last block sums what all have left, and sets the counter back.
const std::string kLastBlock =
    "mul.wide.u32 %rd2, %r2, 4; add.s64 %rd3, %rd1, %rd2; mov.u32 %r9, %nctaid.x; sub.u32 %r9, %r9, 1;\n"
    "@%p1 bra MEET; st.global.u32 [%rd3+256], %r2; fence.acq_rel.gpu;\n"
    "atom.global.inc.u32 %r3, [%rd1], 1000; fence.acq_rel.gpu ; st.shared.u32 [flag], %r3;\n"
    "MEET: bar.sync 0; ld.shared.u32 %r3, [flag]; setp.ne.u32 %p5, %r3, %r9; @%p5 bra END;\n"
    "mul.wide.u32 %rd4, %r1, 4; add.s64 %rd5, %rd1, %rd4; setp.gt.u32 %p6, %r1, %r9; @%p6 bra END;\n"
    "ld.global.u32 %r4, [%rd5+256]; st.global.u32 [%rd5+512], %r4; @%p1 bra END; st.global.u32 [%rd1], 0;\n"
    "END:";

// All blocks meet twice at a barrier in global memory, and read what their neighbour has written.
const std::string kGridBarrier =
    "mov.u32 %r9, %nctaid.x; mul.wide.u32 %rd2, %r2, 4; add.s64 %rd3, %rd1, %rd2; mov.u32 %r10, 0; mov.u32 %r8, "
    "0;\n"
    "ROUND: add.u32 %r8, %r8, %r9; @%p1 bra MEET; st.global.u32 [%rd3+256], %r10; MEET: bar.sync 0; @%p1 bra "
    "PASS;\n"
    "fence.acq_rel.gpu; red.relaxed.gpu.global.add.u32 [%rd1], 1;\n"
    "SPIN: ld.relaxed.gpu.global.u32 %r3, [%rd1]; setp.lt.u32 %p5, %r3, %r8; @%p5 bra SPIN; fence.acq_rel.gpu ;\n"
    "PASS: bar.sync 0; add.u32 %r5, %r2, 1; rem.u32 %r5, %r5, %r9; mul.wide.u32 %rd4, %r5, 4;\n"
    "add.s64 %rd5, %rd1, %rd4; @!%p4 ld.global.u32 %r6, [%rd5+256];\n"
    "add.u32 %r8, %r8, %r9; bar.sync 0; @%p1 bra PASS2; fence.acq_rel.gpu; red.relaxed.gpu.global.add.u32 "
    "[%rd1], 1;\n"
    "SPIN2: ld.relaxed.gpu.global.u32 %r3, [%rd1]; setp.lt.u32 %p5, %r3, %r8; @%p5 bra SPIN2; fence.acq_rel.gpu  "
    ";\n"
    "PASS2: bar.sync 0; add.u32 %r10, %r10, 1; setp.lt.u32 %p6, %r10, 2; @%p6 bra ROUND;\n"
    "END:";

// A histogram of the threads' numbers in shared memory.
const std::string kHistogram =
    "mul.lo.u32 %r5, %r1, 4; rem.u32 %r6, %r5, 32; mov.u32 %r7, data; add.u32 %r8, %r7, %r5; add.u32 %r9, %r7, "
    "%r6;\n"
    "st.shared.u32 [%r8], 0; bar.sync 0; red.shared.add.u32 [%r9], 1; bar.sync 0 ; ld.shared.u32 %r4, [%r8];\n"
    "mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r4;";

// Each block takes the prefix of the one before it, adds its own, and hands on: value and state in one word, or
// apart.
const std::string kLookBack =
    "mul.wide.u32 %rd2, %r2, 8; add.s64 %rd3, %rd1, %rd2; @%p1 bra END; mov.u32 %r4, 0; @!%p3 bra FIRST;\n"
    "SPIN: ld.relaxed.gpu.global.u32 %r3, [%rd3+-8]; setp.eq.u32 %p5, %r3, 0; @%p5 bra SPIN;\n"
    "fence.acq_rel.gpu ; ld.global.u32 %r4, [%rd3+-4];\n"
    "FIRST: add.u32 %r4, %r4, %r2; st.global.u32 [%rd3+4], %r4; fence.acq_rel.gpu;\n"
    "st.relaxed.gpu.global.u32 [%rd3], 1;\n"
    "END:";

// Block 0 reads a word and tells block 1, which tells block 2, which overwrites it; nobody releases or acquires.
const std::string kChain =
    "mov.u32 %r3, 1; setp.eq.u32 %p5, %r2, 1; setp.eq.u32 %p6, %r2, 2; @%p5 bra SECOND; @%p6 bra THIRD;\n"
    "ld.global.u32 %r4, [%rd1+128]; bar.sync 0; st.relaxed.gpu.global.u32 [%rd1], 1; bra END;\n"
    "SECOND: \n"
    "SPIN: ld.relaxed.gpu.global.u32 %r3, [%rd1]; setp.eq.u32 %p7, %r3, 0; @%p7 bra SPIN;\n"
    "st.relaxed.gpu.global.u32 [%rd1+32], %r3; bra END;\n"
    "THIRD: ld.relaxed.gpu.global.u32 %r3, [%rd1+32]; setp.eq.u32 %p7, %r3, 0; @%p7 bra THIRD;\n"
    "st.global.u32 [%rd1+128], 7;\n"
    "END:";

// Thread 0 of block 0 reads a word and tells block 1, which overwrites it.
const std::string kReadThenTell =
    "@%p3 bra WRITER; @!%p1 ld.global.u32 %r4, [%rd1+128]; bar.sync 0;\n"
    "@!%p1 st.relaxed.gpu.global.u32 [%rd1], 1; bra END;\n"
    "WRITER: @%p1 bra END;\n"
    "SPIN: ld.relaxed.gpu.global.u32 %r3, [%rd1]; setp.eq.u32 %p7, %r3, 0; @%p7 bra SPIN;\n"
    "st.global.u32 [%rd1+128], 7;\n"
    "END:";

const PtxRun kTwoWarps{.threads = 64};
const PtxRun kTwoBlocks{.threads = 64, .grid = {2, 1, 1}};
const PtxRun kFiveBlocks{.threads = 64, .grid = {5, 1, 1}};
const PtxRun kThreeThreads{.threads = 1, .grid = {3, 1, 1}};
const PtxRun kFourBlocks{.threads = 64, .grid = {4, 1, 1}};

INSTANTIATE_TEST_SUITE_P(
    Flags, RaceStrong,
    testing::Values(
        Case{"fences", kFlag, "", kTwoWarps},
        Case{"release and acquire",
             replace(replace(replace(replace(kFlag, "fence.acq_rel.cta;", ""), "fence.acq_rel.cta ;", ""),
                             "st.relaxed.cta.shared.u32 [flag], 1", "st.release.cta.shared.u32 [flag], 1"),
                     "ld.relaxed", "ld.acquire"),
             "", kTwoWarps},
        Case{"volatile with fences",
             replace(replace(kFlag, "ld.relaxed.cta", "ld.volatile"), "st.relaxed.cta.shared.u32 [flag], 1",
                     "st.volatile.shared.u32 [flag], 1"),
             "", kTwoWarps},
        Case{"no fence in the writer", replace(kFlag, "fence.acq_rel.cta;", ""), "race", kTwoWarps},
        Case{"no fence in the reader", replace(kFlag, "fence.acq_rel.cta ;", ""), "race", kTwoWarps},
        Case{"a flag that is read weakly", replace(kFlag, "ld.relaxed.cta", "ld"), "race", kTwoWarps},
        Case{"a flag that is set weakly",
             replace(kFlag, "st.relaxed.cta.shared.u32 [flag], 1", "st.shared.u32 [flag], 1"), "race", kTwoWarps},
        Case{"a barrier, asked before it is waited for", kPeek, "", kTwoWarps},
        Case{"a barrier, asked and not waited for", replace(kPeek, "acquire.cta", "relaxed.cta"), "race",
             kTwoWarps},
        Case{"two blocks", kBlocks, "", kTwoBlocks},
        Case{"two blocks of a cluster, and the scope of the GPU",
             kBlocks,
             "",
             {.threads = 64, .grid = {2, 1, 1}, .cluster = {2, 1, 1}}},
        Case{"two blocks of a cluster, and its scope",
             replace(replace(replace(replace(kBlocks, "fence.acq_rel.gpu;", "fence.acq_rel.cluster;"),
                                     "fence.acq_rel.gpu ;", "fence.acq_rel.cluster ;"),
                             "st.relaxed.gpu", "st.relaxed.cluster"),
                     "ld.relaxed.gpu", "ld.relaxed.cluster"),
             "",
             {.threads = 64, .grid = {2, 1, 1}, .cluster = {2, 1, 1}}},
        Case{"the scope of the cluster between clusters",
             replace(kBlocks, "fence.acq_rel.gpu;", "fence.acq_rel.cluster;"), "global_race", kTwoBlocks},
        Case{"the scope of the CTA between blocks",
             replace(kBlocks, "fence.acq_rel.gpu ;", "fence.acq_rel.cta ;"), "global_race", kTwoBlocks},
        Case{"a flag of the scope of the CTA between blocks",
             replace(kBlocks, "st.relaxed.gpu", "st.relaxed.cta"), "global_race", kTwoBlocks},
        Case{"no barrier before the flag", replace(kBlocks, "bar.sync 0;", ""), "global_race", kTwoBlocks},
        Case{"no barrier after it", replace(kBlocks, "bar.sync 1;", ""), "global_race", kTwoBlocks},
        Case{"no fence before the flag", replace(kBlocks, "fence.acq_rel.gpu;", ""), "global_race", kTwoBlocks},
        Case{"no fence after it", replace(kBlocks, "fence.acq_rel.gpu ;", ""), "global_race", kTwoBlocks},
        Case{"membar",
             replace(replace(kBlocks, "fence.acq_rel.gpu;", "membar.gl;"), "fence.acq_rel.gpu ;", "membar.gl ;"),
             "", kTwoBlocks},
        // Every writer fences, then they meet: enough, though the one that sets the flag has no fence behind the
        // barrier.
        Case{"fences before the barrier",
             replace(replace(kBlocks, "bar.sync 0;", "membar.gl ; bar.sync 0;"), "fence.acq_rel.gpu;", ""), "",
             kTwoBlocks},
        Case{"fences before the barrier, of the CTA",
             replace(replace(kBlocks, "bar.sync 0;", "membar.cta ; bar.sync 0;"), "fence.acq_rel.gpu;", ""),
             "global_race", kTwoBlocks},
        Case{"a fence before the barrier in one writer",
             replace(replace(kBlocks, "bar.sync 0;", "@!%p1 membar.gl ; bar.sync 0;"), "fence.acq_rel.gpu;", ""),
             "global_race", kTwoBlocks},
        Case{"fences behind the barrier of the readers",
             replace(replace(kBlocks, "fence.acq_rel.gpu ;", ""), "bar.sync 1;", "bar.sync 1; membar.gl ;"), "",
             kTwoBlocks},
        Case{"fences of the CTA behind the barrier of the readers",
             replace(replace(kBlocks, "fence.acq_rel.gpu ;", ""), "bar.sync 1;", "bar.sync 1; membar.cta ;"),
             "global_race", kTwoBlocks},
        Case{"membar.cta", replace(kBlocks, "fence.acq_rel.gpu;", "membar.cta;"), "global_race", kTwoBlocks}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Atomics, RaceStrong,
    testing::Values(
        Case{"a lock", kLock, "", kFiveBlocks},
        Case{"a lock with release and acquire",
             replace(replace(replace(replace(kLock, "fence.acq_rel.gpu ;", ""), "fence.acq_rel.gpu;", ""),
                             "atom.global.cas", "atom.acquire.gpu.global.cas"),
                     "atom.global.exch", "atom.release.gpu.global.exch"),
             "", kFiveBlocks},
        Case{"a lock without a fence when it is taken", replace(kLock, "fence.acq_rel.gpu ;", ""), "global_race",
             kFiveBlocks},
        Case{"a lock without a fence when it is given back", replace(kLock, "fence.acq_rel.gpu;", ""),
             "global_race", kFiveBlocks},
        Case{"a lock that is given back weakly",
             replace(kLock, "atom.global.exch.b32 %r5, [%rd1], 0", "st.global.u32 [%rd1], 0"), "global_race",
             kFiveBlocks},
        Case{"the last block", kLastBlock, "", kFiveBlocks},
        Case{"the last of many blocks", kLastBlock, "", {.threads = 64, .grid = {60, 1, 1}}},
        Case{"the last block without the first fence", replace(kLastBlock, "fence.acq_rel.gpu;", ""),
             "global_race", kFiveBlocks},
        Case{"the last block without the second", replace(kLastBlock, "fence.acq_rel.gpu ;", ""), "global_race",
             kFiveBlocks},
        Case{"a barrier of the grid", kGridBarrier, "", kFourBlocks},
        Case{"a barrier of the grid without the first fence", replace(kGridBarrier, "fence.acq_rel.gpu;", ""),
             "global_race", kFourBlocks},
        Case{"a barrier of the grid without the second", replace(kGridBarrier, "fence.acq_rel.gpu ;", ""),
             "global_race", kFourBlocks},
        Case{"a barrier of the grid without the last", replace(kGridBarrier, "fence.acq_rel.gpu  ;", ""),
             "global_race", kFourBlocks},
        Case{"a histogram", kHistogram, "", kTwoWarps},
        Case{"a histogram that is read at once", replace(kHistogram, "bar.sync 0 ;", ""), "race", kTwoWarps},
        Case{"a histogram that is cleared too late", replace(kHistogram, "bar.sync 0;", ""), "race", kTwoWarps},
        Case{"a counter that is set back by who has seen it",
             "@%p1 bra END; atom.global.add.u32 %r3, [%rd1], 1; setp.ne.u32 %p5, %r3, 4; @%p5 bra END;\n"
             "st.global.u32 [%rd1], 0; END:",
             "", kFiveBlocks},
        Case{"a counter that is read by who has not",
             "@%p1 bra END; red.global.add.u32 [%rd1], 1; ld.global.u32 %r3, [%rd1]; END:", "global_race",
             kFiveBlocks},
        Case{"look back", kLookBack, "", kFiveBlocks},
        Case{"look back without the first fence", replace(kLookBack, "fence.acq_rel.gpu ;", ""), "global_race",
             kFiveBlocks},
        Case{"look back without the second", replace(kLookBack, "fence.acq_rel.gpu;", ""), "global_race",
             kFiveBlocks},
        // A counter that has nothing to do with it.
        Case{"two blocks write one word beside a counter",
             "red.global.add.u32 [%rd1], 1; @%p1 bra END; st.global.u32 [%rd1+4], %r2; END:", "global_race",
             kTwoBlocks},
        Case{"two blocks write words of their own beside a counter",
             "red.global.add.u32 [%rd1], 1; @%p1 bra END; mul.wide.u32 %rd2, %r2, 4; add.s64 %rd3, %rd1, %rd2;\n"
             "st.global.u32 [%rd3+4], %r2; END:",
             "", kTwoBlocks},
        // A ticket: atomics build on one another, and what the first released reaches the last through all of
        // them.
        Case{"a release that atomics hand on",
             "@%p1 bra END; @%p3 bra REST; st.global.u32 [%rd1+4], 5; fence.acq_rel.gpu;\n"
             "REST: atom.relaxed.gpu.global.add.u32 %r3, [%rd1], 1;\n"
             "SPIN: ld.acquire.gpu.global.u32 %r3, [%rd1]; setp.lt.u32 %p5, %r3, 4; @%p5 bra SPIN;\n"
             "ld.global.u32 %r4, [%rd1+4]; END:",
             "", kFourBlocks},
        Case{"a release that a store cuts off",
             "@%p1 bra END; @%p3 bra REST; st.global.u32 [%rd1+4], 5; fence.acq_rel.gpu;\n"
             "atom.relaxed.gpu.global.add.u32 %r3, [%rd1], 1; bra END;\n"
             "REST: ld.relaxed.gpu.global.u32 %r3, [%rd1]; setp.eq.u32 %p5, %r3, 0; @%p5 bra REST;\n"
             "st.relaxed.gpu.global.u32 [%rd1], 9; ld.acquire.gpu.global.u32 %r3, [%rd1]; ld.global.u32 %r4, "
             "[%rd1+4]; END:",
             "global_race", kTwoBlocks}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Signals, RaceStrong,
    testing::Values(Case{"a chain of blocks", kChain, "formal global_race", kThreeThreads},
                    Case{"a chain of blocks, one of which tells before it is told",
                         replace(replace(kChain, "st.relaxed.gpu.global.u32 [%rd1+32], %r3;", ""),
                                 "SECOND:", "SECOND: st.relaxed.gpu.global.u32 [%rd1+32], %r3;"),
                         "global_race", kThreeThreads},
                    Case{"a flag behind a read and a barrier", kReadThenTell, "formal global_race", kTwoBlocks},
                    Case{"a flag behind a read, with a fence of other lanes between",
                         replace(kReadThenTell, "bar.sync 0;", "@%p1 fence.proxy.async.global;"), "global_race",
                         kTwoBlocks}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Bytes, RaceStrong,
    testing::Values(
        Case{"a strong store initialises",
             "@%p1 bra END; st.volatile.shared.u32 [flag], 1; ld.shared.u32 %r3, [flag];\n"
             "st.global.u32 [%rd1], %r3; END:",
             ""},
        Case{"an exchange initialises",
             "@%p1 bra END; atom.shared.exch.b32 %r4, [flag], 1; ld.shared.u32 %r3, [flag];\n"
             "st.global.u32 [%rd1], %r3; END:",
             ""},
        Case{"an addition does not",
             "@%p1 bra END; red.shared.add.u32 [flag], 1; ld.shared.u32 %r3, [flag];\n"
             "st.global.u32 [%rd1], %r3; END:",
             "uninitialised_read"},
        // Stores of one value.
        Case{"lanes of one instruction, one value",
             "@%p2 bra END; st.shared.u32 [flag], 3; st.global.u32 [%rd1], 3; END:", "", kTwoWarps},
        Case{"lanes of one instruction, values of their own",
             "@%p2 bra END; st.shared.u32 [flag], %r1; END:", "race", kTwoWarps},
        Case{"lanes of one instruction, values of their own in global memory",
             "@%p2 bra END; st.global.u32 [%rd1], %r1; END:", "global_race", kTwoWarps},
        Case{"lanes of one instruction, one sum with roundings of their own",
             "@%p2 bra END; cvt.rn.f32.u32 %f1, %r1; fma.rn.f32 %f1, %f1, 0f35800000, 0f3F800000;\n"
             "st.shared.f32 [flag], %f1; END:",
             "", kTwoWarps},
        Case{"lanes of one instruction, floats of their own",
             "@%p2 bra END; cvt.rn.f32.u32 %f1, %r1; fma.rn.f32 %f1, %f1, 0f3C000000, 0f3F800000;\n"
             "st.shared.f32 [flag], %f1; END:",
             "race", kTwoWarps},
        Case{"two warps, one sum with roundings of their own",
             "@%p1 bra REST; st.shared.f32 [flag], 0f3F800000; bra END; REST: setp.ne.u32 %p5, %r1, 32; @%p5 bra "
             "END;\n"
             "st.shared.f32 [flag], 0f3F800001; END:",
             "race", kTwoWarps},
        Case{"two warps, one sum by one instruction with roundings of their own",
             "cvt.rn.f32.u32 %f1, %r1; fma.rn.f32 %f1, %f1, 0f35800000, 0f3F800000; st.shared.f32 [flag], %f1;",
             "formal race", kTwoWarps},
        Case{"two warps of many blocks, one sum by one instruction with roundings of their own",
             "cvt.rn.f32.u32 %f1, %r1; fma.rn.f32 %f1, %f1, 0f35800000, 0f3F800000; st.shared.f32 [flag], %f1;",
             "formal race",
             {.threads = 64, .grid = {32, 1, 1}}},
        // Lanes of one warp: a load, and a store over it.
        Case{"a load and a store with a shuffle of all lanes between",
             "@%p2 bra END; ld.shared.u32 %r4, [flag]; shfl.sync.idx.b32 %r5, %r4, 0, 31, -1;\n"
             "@!%p1 st.shared.u32 [flag], 3; END:",
             "formal race", kTwoWarps},
        Case{"a load and a store with nothing between",
             "@%p2 bra END; ld.shared.u32 %r4, [flag]; @!%p1 st.shared.u32 [flag], 3; END:", "race", kTwoWarps},
        Case{"a load after the shuffle",
             "@%p2 bra END; shfl.sync.idx.b32 %r5, %r1, 0, 31, -1; ld.shared.u32 %r4, [flag];\n"
             "@!%p1 st.shared.u32 [flag], 3; END:",
             "race", kTwoWarps},
        Case{"a store and a load with a shuffle of all lanes between",
             "@%p2 bra END; @!%p1 st.shared.u32 [flag], 3; shfl.sync.idx.b32 %r5, %r1, 0, 31, -1;\n"
             "ld.shared.u32 %r4, [flag]; END:",
             "race", kTwoWarps},
        // What one lane acquires, and a shuffle of all lanes tells the others.
        Case{"a shuffle after one lane has acquired", kTold, "formal race", kTwoWarps},
        Case{"nothing after one lane has acquired", replace(kTold, "shfl.sync.idx.b32 %r6, %r5, 0, 31, -1;", ""),
             "race", kTwoWarps},
        Case{"a shuffle of some lanes after one has acquired",
             replace(kTold, "shfl.sync.idx.b32 %r6, %r5, 0, 31, -1;",
                     "setp.gt.u32 %p6, %r30, 15; @!%p6 shfl.sync.idx.b32 %r6, %r5, 0, 31, 0xffff;"),
             "race", kTwoWarps},
        Case{"a shuffle before one lane acquires",
             replace(replace(kTold, "shfl.sync.idx.b32 %r6, %r5, 0, 31, -1;", ""),
                     "READER:", "READER: shfl.sync.idx.b32 %r6, %r1, 0, 31, -1;"),
             "race", kTwoWarps},
        Case{"all lanes load what one of them stores",
             "@%p2 bra END; ld.global.u32 %r4, [%rd1]; @!%p1 st.global.u32 [%rd1], 3; END:", "formal global_race",
             kTwoWarps},
        // Loads of another warp, whose values come to nothing, or to something.
        Case{"two warps load what a lane of theirs stores",
             "ld.global.u32 %r4, [%rd1]; @!%p1 st.global.u32 [%rd1], 3;", "formal global_race", kTwoWarps},
        Case{"the same in a loop",
             "mov.u32 %r5, 0; AGAIN: ld.global.u32 %r4, [%rd1]; @!%p1 st.global.u32 [%rd1], 3; add.u32 %r5, %r5, "
             "1;\n"
             "setp.lt.u32 %p5, %r5, 2; @%p5 bra AGAIN;",
             "formal global_race", kTwoWarps},
        Case{"two warps change a tile in place, and one stores it", kTile + "@!%p2 st.global.u32 [%rd3], %r5;",
             "formal global_race", kTwoWarps},
        Case{"in place, with a sum over the lanes",
             kTile + "shfl.sync.bfly.b32 %r6, %r5, 1, 31, -1;\nadd.u32 %r5, %r5, %r6;\n"
                     "@!%p2 st.global.u32 [%rd3], %r5;",
             "formal global_race", kTwoWarps},
        Case{"in place, and the other warp stores it elsewhere",
             kTile + "@!%p2 st.global.u32 [%rd3], %r5;\n@%p2 st.global.u32 [%rd3+128], %r5;", "global_race",
             kTwoWarps},
        Case{"in place, and the other warp stores a sum over the lanes elsewhere",
             kTile + "shfl.sync.bfly.b32 %r6, %r5, 1, 31, -1;\n"
                     "@!%p2 st.global.u32 [%rd3], %r5;\n@%p2 st.global.u32 [%rd3+128], %r6;",
             "global_race", kTwoWarps},
        Case{"in place, and the other warp stores it in shared memory",
             kTile + "@!%p2 st.global.u32 [%rd3], %r5;\nmov.u32 %r9, data;\n"
                     "mad.lo.u32 %r9, %r30, 4, %r9;\n@%p2 st.shared.u32 [%r9], %r5;",
             "global_race", kTwoWarps},
        Case{"in place, and the other warp adds it elsewhere",
             kTile + "@!%p2 st.global.u32 [%rd3], %r5;\n@%p2 red.global.add.u32 [%rd1+256], %r5;", "global_race",
             kTwoWarps},
        Case{"in place, and both load where it says",
             kTile + "@!%p2 st.global.u32 [%rd3], %r5;\nand.b32 %r6, %r5, 4;\ncvt.u64.u32 %rd4, %r6;\n"
                     "add.s64 %rd4, %rd1, %rd4;\nld.global.u32 %r6, [%rd4+512];",
             "global_race", kTwoWarps},
        Case{"in place, and a store that it decides",
             kTile + "@!%p2 st.global.u32 [%rd3], %r5;\nsetp.eq.u32 %p6, %r5, 12345;\n"
                     "@%p6 st.global.u32 [%rd1+512], 1;",
             "global_race", kTwoWarps},
        Case{"in place, and a branch that it decides",
             kTile + "@!%p2 st.global.u32 [%rd3], %r5;\nsetp.eq.u32 %p6, %r5, 12345;\n@%p6 bra END;\nEND:",
             "global_race", kTwoWarps},
        Case{
            "in place in the second turn, and stored by the other warp in the first",
            "mov.u32 %r8, 0;\nAGAIN:\n" + kTile +
                "setp.eq.u32 %p6, %r8, 1;\nand.pred %p7, %p6, %p2;\nnot.pred %p8, %p2;\nor.pred %p9, %p6, %p8;\n"
                "@!%p9 st.global.u32 [%rd3+128], %r5;\nand.pred %p8, %p6, %p8;\n@%p8 st.global.u32 [%rd3], %r5;\n"
                "add.u32 %r8, %r8, 1;\nsetp.lt.u32 %p5, %r8, 2;\n@%p5 bra AGAIN;",
            "global_race", kTwoWarps},
        Case{"in place after a barrier, and stored by the other warp",
             kTile + "bar.sync 0;\n@!%p2 st.global.u32 [%rd3], %r5;\n@%p2 st.global.u32 [%rd3+128], %r5;", "",
             kTwoWarps},
        Case{"two warps load what a lane stores that loads elsewhere",
             "@%p1 ld.global.u32 %r4, [%rd1];\n@!%p1 ld.global.u32 %r4, [%rd1]; @!%p1 st.global.u32 [%rd1], 3;",
             "formal global_race", kTwoWarps},
        Case{"the same, and the other warp stores what it loads",
             "@%p1 ld.global.u32 %r4, [%rd1];\n@!%p1 ld.global.u32 %r4, [%rd1]; @!%p1 st.global.u32 [%rd1], 3;\n"
             "@%p2 st.global.u32 [%rd1+64], %r4;",
             "global_race", kTwoWarps},
        Case{"two blocks load what a lane of one stores",
             "ld.global.u32 %r4, [%rd1]; or.pred %p5, %p1, %p3; @!%p5 st.global.u32 [%rd1], 3;", "global_race",
             kTwoBlocks},
        Case{"two warps load and store", "ld.global.u32 %r4, [%rd1]; @!%p4 st.global.u32 [%rd1], %r1;",
             "global_race", kTwoWarps},
        Case{"all other lanes load what one stores",
             "@%p2 bra END; @%p1 ld.global.u32 %r4, [%rd1]; @!%p1 st.global.u32 [%rd1], 3; END:", "global_race",
             kTwoWarps},
        Case{"two warps, one value", "st.shared.u32 [flag], 3;", "formal race", kTwoWarps},
        Case{"two warps, one value in global memory", "st.global.u32 [%rd1], 3;", "formal global_race",
             kTwoWarps},
        Case{"two warps, one value each", "selp.u32 %r5, 3, 4, %p2; st.shared.u32 [flag], %r5;", "race",
             kTwoWarps},
        Case{"one value, then a read of one of the writers",
             "st.shared.u32 [flag], 3; bar.warp.sync -1; ld.shared.u32 %r5, [flag];", "race", kTwoWarps},
        Case{"one value, then a barrier and a read",
             "st.shared.u32 [flag], 3; bar.sync 0; ld.shared.u32 %r5, [flag];", "formal race", kTwoWarps},
        // Loads that are not coherent.
        Case{"ld.global.nc of what was written",
             "@!%p1 st.global.u32 [%rd1], 3; bar.sync 0; ld.global.nc.u32 %r5, [%rd1];", "global_race",
             kTwoWarps},
        Case{"ld.global of what was written",
             "@!%p1 st.global.u32 [%rd1], 3; bar.sync 0; ld.global.u32 %r5, [%rd1];", "", kTwoWarps},
        Case{"ld.global.nc beside it",
             "@!%p1 st.global.u32 [%rd1], 3; bar.sync 0; ld.global.nc.u32 %r5, [%rd1+4];", "", kTwoWarps},
        Case{"a strong load of nothing",
             "@%p1 bra END; ld.volatile.shared.u32 %r3, [flag]; st.global.u32 [%rd1], %r3; END:",
             "uninitialised_read"},
        Case{"a strong store to a peer, and a cluster barrier",
             "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
             "mapa.shared::cluster.u32 %r5, flag, 1; @%p3 bra MEET; @%p1 bra MEET;\n"
             "st.relaxed.cluster.shared::cluster.u32 [%r5], 3;\n"
             "MEET: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; @!%p3 bra END;\n"
             "ld.shared.u32 %r4, [flag]; END: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;",
             "",
             {.threads = 32, .grid = {2, 1, 1}, .cluster = {2, 1, 1}}}),
    name_of);

}  // namespace
}  // namespace heddle::test
