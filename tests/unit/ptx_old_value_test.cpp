// SPDX-License-Identifier: Apache-2.0
//
// Loads with a memory order: such accesses do not race, but what nothing orders may be seen as it was before.
// What a poll takes over is what the value that ends it hands on.
#include "../support/ptx_run.h"

namespace heddle::test {
namespace {

const char* const kSchedules[] = {"rr", "1", "2", "3"};

// One thread for each of the bodies, in a block of its own.
sim::Report blocks(const std::vector<std::string>& bodies, const char* schedule) {
  std::vector<std::uint32_t> out(64, 0);
  std::string text = "ld.param.u64 %rd1, [out]; mov.u32 %r1, %ctaid.x;\n";
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    text += "setp.ne.u32 %p1, %r1, " + std::to_string(i) + "; @%p1 bra NOT" + std::to_string(i) + ";\n" +
            bodies[i] + " ret;\nNOT" + std::to_string(i) + ":\n";
  }
  return run_ptx(ptx_module(text + "ret;"), out, {0},
                 {.threads = 1,
                  .grid = {static_cast<std::uint32_t>(bodies.size()), 1, 1},
                  .schedule = sim::Schedule::parse(schedule)});
}

void expect(bool is_silent, const std::vector<std::string>& bodies) {
  for (const char* schedule : kSchedules) {
    const sim::Report report = blocks(bodies, schedule);
    EXPECT_EQ(report.ok(), is_silent) << bodies[0] << "\n" << bodies.back() << "\n" << report.text();
    EXPECT_EQ(report.has("global_race"), !is_silent) << report.text();
  }
}

const std::string kFence = "fence.acq_rel.gpu; ";
const std::string kData = "st.volatile.global.u32 [%rd1], 7; ";
const std::string kFlag = "st.volatile.global.u32 [%rd1+64], 1; ";
const std::string kLoad = "ld.volatile.global.u32 %r3, [%rd1]; st.global.u32 [%rd1+128], %r3; ";

std::string poll(const std::string& how, const std::string& place, const std::string& until) {
  const std::string label = "POLL" + place + "_" + until;
  return label + ": ld." + how + ".global.u32 %r2, [%rd1+" + place + "]; setp.ne.u32 %p2, %r2, " + until +
         "; @%p2 bra " + label + ";\n";
}

TEST(PtxOldValue, AFlagDoesNotOrderDataThatIsStrong) {
  const std::string wait = poll("volatile", "64", "1");
  expect(false, {kData + kFlag, wait + kLoad});
  expect(false, {kData + kFence + kFlag, wait + kLoad});
  expect(false, {kData + kFlag, wait + kFence + kLoad});
  expect(true, {kData + kFence + kFlag, wait + kFence + kLoad});
  expect(true, {kData + "st.release.gpu.global.u32 [%rd1+64], 1;", poll("acquire.gpu", "64", "1") + kLoad});
}

TEST(PtxOldValue, WhoWaitsForTheDataMaySeeItLate) {
  expect(true, {kData + kFlag, poll("volatile", "64", "1") + poll("volatile", "0", "7")});
  // The compiler has taken the first turn out of the loop.
  expect(true,
         {kData + kFlag, poll("volatile", "64", "1") +
                             "ld.volatile.global.u32 %r2, [%rd1]; setp.eq.u32 %p2, %r2, 7; @%p2 bra SEEN;\n" +
                             poll("volatile", "0", "7") + "SEEN:"});
}

TEST(PtxOldValue, WhatWasStoredAfterTheFlagIsNotCountedOn) {
  expect(true, {kFlag + kData, poll("volatile", "64", "1") + kLoad});
}

TEST(PtxOldValue, PartsOfOneStoreAreSeenApart) {
  const std::string store = "mov.u64 %rd2, 0x100000007; st.relaxed.gpu.global.u64 [%rd1], %rd2; ";
  const std::string wait = poll("relaxed.gpu", "4", "1");
  expect(false, {store, wait + "ld.relaxed.gpu.global.u32 %r3, [%rd1]; st.global.u32 [%rd1+128], %r3;"});
  // The same part once more, which cannot go back.
  expect(true, {store, wait + "ld.relaxed.gpu.global.u32 %r3, [%rd1+4]; st.global.u32 [%rd1+128], %r3;"});
}

TEST(PtxOldValue, WordsStoredInPartsAndLoadedAsOne) {
  const std::string data = "st.relaxed.gpu.global.u32 [%rd1], 7; ";
  const std::string flag = "st.relaxed.gpu.global.u32 [%rd1+4], 1; ";
  const std::string line =
      "LINE: ld.relaxed.gpu.global.u64 %rd2, [%rd1]; shr.u64 %rd3, %rd2, 32; cvt.u32.u64 %r2, %rd3;\n"
      "setp.ne.u32 %p2, %r2, 1; @%p2 bra LINE; cvt.u32.u64 %r3, %rd2; st.global.u32 [%rd1+128], %r3;";
  expect(false, {data + flag, line});
  expect(true, {data + kFence + flag, line});
  expect(true, {data + "st.release.gpu.global.u32 [%rd1+4], 1;", line});
  expect(true, {"mov.u64 %rd2, 0x100000007; st.relaxed.gpu.global.u64 [%rd1], %rd2;", line});
  // Each part of a thread of its own.
  const std::string both =
      "BOTH: ld.relaxed.gpu.global.u64 %rd2, [%rd1]; setp.ne.u64 %p2, %rd2, 0x100000007; @%p2 bra BOTH;";
  expect(true, {data, flag, both});
}

TEST(PtxOldValue, AtomicsOfTwoSizesAreFormal) {
  const std::string narrow = "red.relaxed.gpu.global.add.u32 [%rd1], 1;";
  for (const char* schedule : kSchedules) {
    const sim::Report mixed = blocks({"red.relaxed.gpu.global.add.u64 [%rd1], 1;", narrow}, schedule);
    EXPECT_TRUE(mixed.ok()) << mixed.text();
    ASSERT_EQ(mixed.formal.size(), 1u);
    EXPECT_NE(mixed.formal[0].text.find("they do not overlap completely"), std::string::npos)
        << mixed.formal[0].text;
    const sim::Report alike = blocks({narrow, narrow}, schedule);
    EXPECT_TRUE(alike.ok() && alike.formal.empty()) << alike.text();
  }
}

// Lanes store words of their own and load those of their neighbours.
sim::Report exchange(const std::string& between, const char* schedule) {
  std::vector<std::uint32_t> out(32, 0);
  return run_ptx(
      ptx_module("mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; mov.u32 %r3, dyn; add.u32 %r4, %r3, %r2;\n"
                 "xor.b32 %r5, %r4, 4; st.volatile.shared.u32 [%r4], %r1; " +
                     between +
                     "ld.volatile.shared.u32 %r6, [%r5]; ld.param.u64 %rd1, [out];\n"
                     "cvt.u64.u32 %rd2, %r2; add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r6; ret;",
                 ".extern .shared .align 128 .b8 dyn[];"),
      out, {0}, {.shared_bytes = 128, .schedule = sim::Schedule::parse(schedule)});
}

TEST(PtxOldValue, LanesAreNotInStep) {
  for (const char* schedule : kSchedules) {
    const sim::Report report = exchange("", schedule);
    EXPECT_TRUE(report.has("race")) << report.text();
    EXPECT_TRUE(exchange("bar.warp.sync 0xffffffff; ", schedule).ok());
    EXPECT_TRUE(exchange("bar.sync 0; ", schedule).ok());
  }
}

TEST(PtxPoll, TakesOverFromTheValueThatEndsIt) {
  const std::string data = "st.global.u32 [%rd1], 7; st.release.gpu.global.u32 [%rd1+64], 1;";
  const std::string use = "ld.global.u32 %r3, [%rd1]; st.global.u32 [%rd1+128], %r3;";
  const std::string relay = poll("relaxed.gpu", "64", "1");
  const std::string wait = poll("acquire.gpu", "64", "2");
  expect(false, {data, relay + "st.relaxed.gpu.global.u32 [%rd1+64], 2;", wait + use});
  expect(true, {data, relay + "red.relaxed.gpu.global.add.u32 [%rd1+64], 1;", wait + use});
}

TEST(PtxPoll, KeepsWhatOthersHaveEnded) {
  const auto data = [](const std::string& place, const std::string& flag) {
    return "st.global.u32 [%rd1+" + place + "], 7; st.release.gpu.global.u32 [%rd1+" + flag + "], 1;";
  };
  const std::string use = "ld.global.u32 %r3, [%rd1]; ld.global.u32 %r4, [%rd1+16];";
  expect(true, {data("0", "64"), data("16", "68"),
                poll("acquire.gpu", "64", "1") + poll("acquire.gpu", "68", "1") + use});
  // One word, waited for twice.
  expect(true, {data("0", "64") + "st.global.u32 [%rd1+16], 8; st.release.gpu.global.u32 [%rd1+64], 2;",
                "LEAST: ld.acquire.gpu.global.u32 %r2, [%rd1+64]; setp.eq.u32 %p2, %r2, 0; @%p2 bra LEAST;\n"
                "ld.global.u32 %r3, [%rd1];" +
                    poll("acquire.gpu", "64", "2") + use});
}

}  // namespace
}  // namespace heddle::test
