// SPDX-License-Identifier: Apache-2.0
//
// One launch under many schedules, each from the same memory.
#include "sim/explore/repeat.h"

#include <heddle/isa/memory.h>
#include <heddle/isa/sreg.h>
#include <heddle/sim/global_memory.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "../support/ptx_run.h"
#include "../support/tiny_kernel.h"
#include "../support/visible_store.h"

namespace heddle::test {
namespace {

using sim::explore::Repetition;

struct Data {
  Data() { memory.add("words", words.data(), sizeof(words)); }
  std::array<std::uint32_t, 2048> words = {};
  sim::GlobalMemory memory;
};

// Blocks of one thread that find the words by their address, as a kernel does: each run has its own bytes there.
template <class Body>
sim::explore::RunOnce blocks(std::uint32_t count, const Body& body) {
  return [=](const sim::LaunchOptions& options, bool) {
    const sim::KernelEntry entry{
        .threads = 1, .shared_bytes = 0, .shared_alignment = 1, .run = [](const void* params, void*) {
          (*static_cast<const Body*>(params))();
        }};
    return sim::launch_entry(options, {.grid = {count}}, entry, &body);
  };
}

sim::LaunchOptions options_for(const Data& data) {
  return {.memory = &data.memory, .kernel = "blocks", .check_races = false};
}

TEST(Repeat, EachRunBeginsFromTheSameMemoryAndTheFirstOneStays) {
  Data data;
  data.words[1500] = 41;
  const auto add_one = blocks(4, [&] {
    std::uint32_t* word = &data.words[1500 + isa::ctaid().x];
    visible_store(word, isa::ld_global(word) + 1);
  });
  const sim::Report report = sim::explore::repeat(options_for(data), {.schedules = 50}, add_one);
  EXPECT_TRUE(is_silent(report));
  EXPECT_EQ(data.words[1500], 42u);
  EXPECT_EQ(data.words[1503], 1u);
}

const auto last_one_wins = [](Data& data) {
  return blocks(4, [&] {
    visible_store(&data.words[7], 16 + isa::ctaid().x);
    visible_store(&data.words[1024 + isa::ctaid().x], 5u);
  });
};

TEST(Repeat, OtherBytesUnderAnotherScheduleAreReported) {
  Data data;
  const sim::Report report = sim::explore::repeat(options_for(data), {.schedules = 50}, last_one_wins(data));
  ASSERT_TRUE(report.has("schedule_dependence")) << report.text();
  EXPECT_EQ(first_line(report).substr(0, 62), "[schedule_dependence] words + 28 (of 8192 bytes) is 0x12 under");
  EXPECT_NE(report.text().find("  rr: block 2, warp 0, lane 0: st.global"), std::string::npos) << report.text();
  EXPECT_NE(
      report.text().find("one byte differs\n  again: blocks with schedule rr\n  and:   blocks with schedule "),
      std::string::npos)
      << report.text();
  EXPECT_EQ(data.words[7], 18u);
}

TEST(Repeat, TheReportIsTheSameOnAnyNumberOfCores) {
  Data data;
  const auto text = [&](std::uint32_t workers) {
    return sim::explore::repeat(options_for(data), {.schedules = 50, .workers = workers}, last_one_wins(data))
        .text();
  };
  const std::string one = text(1);
  EXPECT_FALSE(one.empty());
  for (const std::uint32_t workers : {2u, 5u}) EXPECT_EQ(text(workers), one);
}

TEST(Repeat, ADifferenceCanBeAccepted) {
  Data data;
  sim::LaunchOptions options = options_for(data);
  options.accepted = {"schedule_dependence@repeat_test.cpp"};
  const sim::Report report = sim::explore::repeat(options, {.schedules = 50}, last_one_wins(data));
  EXPECT_TRUE(is_silent(report));
  ASSERT_EQ(report.accepted.size(), 1u);
  EXPECT_EQ(report.accepted[0].accepted_by, "schedule_dependence@repeat_test.cpp");
}

// Wrong only if block 0 is late: it then stores past the end.
TEST(Repeat, OfTheSchedulesThatStopTheShortestIsKept) {
  Data data;
  const auto stops_sometimes = blocks(2, [&] {
    if (isa::ctaid().x == 1) return visible_store(&data.words[0], 1u);
    for (int turn = 0; turn < 4; ++turn) visible_store(&data.words[1], 1u);
    if (isa::ld_global(&data.words[0]) != 0) visible_store(data.words.data() + data.words.size(), 1u);
    visible_store(&data.words[0], 1u);
  });
  const Repetition how{.schedules = 100, .seed = 5};
  const sim::Report report = sim::explore::repeat(options_for(data), how, stops_sometimes);
  ASSERT_TRUE(report.has("global_out_of_bounds")) << report.text();

  std::uint64_t fewest = ~std::uint64_t{0};
  std::uint64_t most = 0;
  std::string shortest;
  std::uint32_t stopped = 0;
  for (std::uint64_t number = 0; number < how.schedules; ++number) {
    sim::LaunchOptions options = options_for(data);
    options.schedule = sim::explore::schedule_of(how, number, 1);
    data.words.fill(0);
    const sim::Report one = stops_sometimes(options, true);
    if (one.ok()) continue;
    ++stopped;
    most = std::max(most, one.stats.thread_switches);
    if (one.stats.thread_switches >= fewest) continue;
    fewest = one.stats.thread_switches;
    shortest = options.schedule.name();
  }
  EXPECT_LT(fewest, most);
  EXPECT_EQ(report.schedule, shortest);
  EXPECT_NE(report.text().find("  " + std::to_string(stopped) +
                               " of 100 other schedules end with a report; this one has the fewest switches of "
                               "threads, " +
                               std::to_string(fewest) + "\n"),
            std::string::npos)
      << report.text();
}

// A block reads a word, and another one writes it: who is first decides whether the value means anything.
TEST(Repeat, WhatIsNotWrittenIsSoUnderEverySchedule) {
  const auto run = [](const std::string& condition, std::uint64_t written, std::uint32_t schedules) {
    const sim::PtxModule module = sim::PtxModule::load(
        ptx_module("ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [in]; mov.u32 %r1, %ctaid.x;\n"
                   "setp.eq.u32 %p1, %r1, 0; " +
                   condition +
                   " st.relaxed.gpu.global.u32 [%rd2], 3;\n"
                   "ld.relaxed.gpu.global.u32 %r2, [%rd2]; @%p1 st.global.u32 [%rd1], %r2; ret;"),
        "test.ptx");
    std::array<std::uint32_t, 4> out = {};
    std::array<std::uint32_t, 4> in = {3, 3, 3, 3};
    const auto address = reinterpret_cast<std::uint64_t>(in.data());
    sim::GlobalMemory memory;
    memory.add("out", out.data(), sizeof(out));
    memory.add_unwritten(address, "in", in.data(), sizeof(in));
    if (written != 0) sim::GlobalMemory::note_written(*memory.find(address, written), address, written);
    sim::PtxArguments arguments;
    arguments.add(out.data());
    arguments.add(in.data());
    return sim::explore::repeat({.memory = &memory, .schedule = sim::Schedule::parse("w0.1"), .kernel = "k"},
                                {.schedules = schedules}, [&](const sim::LaunchOptions& options, bool) {
                                  return module.launch("k", options,
                                                       {.grid = {2, 1, 1},
                                                        .block = {1, 1, 1},
                                                        .cluster = {0, 0, 0},
                                                        .dynamic_shared_bytes = 0,
                                                        .registers = 0,
                                                        .print = {}},
                                                       arguments);
                                });
  };
  const std::string other_block = "@!%p1";
  EXPECT_TRUE(is_silent(run(other_block, 0, 0)));  // the writer is first
  const sim::Report late = run(other_block, 0, 20);
  EXPECT_TRUE(late.has("uninitialised_read")) << late.text();
  EXPECT_TRUE(is_silent(run(other_block, 4, 20)));  // it was written before
  EXPECT_TRUE(is_silent(run("", 0, 20)));           // or each block writes it
}

TEST(Search, EveryOrderIsComparedWithTheFirstRun) {
  Data data;
  sim::explore::SearchedLaunch searched;
  const sim::Report report =
      sim::explore::search(options_for(data), sim::Actors::kThreads, {}, last_one_wins(data), searched);
  ASSERT_TRUE(report.has("schedule_dependence")) << report.text();
  EXPECT_TRUE(searched.counts.is_complete);
  EXPECT_EQ(searched.counts.executions, 24u);  // orders of four stores to one word
  EXPECT_EQ(searched.counts.failed, 0u);
  EXPECT_NE(report.text().find("  18 of 24 executions write other bytes"), std::string::npos) << report.text();
  EXPECT_NE(report.text().find("  and:   blocks with schedule t"), std::string::npos) << report.text();
  EXPECT_EQ(data.words[7], 18u);

  // The schedule that it names shows it.
  sim::LaunchOptions again = options_for(data);
  again.schedule = sim::Schedule::parse(report.schedule);
  EXPECT_TRUE(is_silent(last_one_wins(data)(again, true)));
  EXPECT_NE(data.words[7], 18u);
}

TEST(Search, ALaunchThatWritesTheSameIsSilentAndCounted) {
  Data data;
  sim::explore::SearchedLaunch searched;
  const auto same = blocks(3, [&] { visible_store(&data.words[7], 5u); });
  EXPECT_TRUE(is_silent(sim::explore::search(options_for(data), sim::Actors::kThreads, {}, same, searched)));
  EXPECT_TRUE(searched.counts.is_complete);
  EXPECT_EQ(searched.counts.executions, 6u);
  EXPECT_GE(searched.counts.depth, 3u);
}

TEST(Search, LimitsAreKept) {
  Data data;
  sim::explore::SearchedLaunch searched;
  const auto same = blocks(3, [&] { visible_store(&data.words[7], 5u); });
  EXPECT_TRUE(is_silent(
      sim::explore::search(options_for(data), sim::Actors::kThreads, {.executions = 4}, same, searched)));
  EXPECT_FALSE(searched.counts.is_complete);
  EXPECT_EQ(searched.counts.executions + searched.counts.cut, 4u);
  searched = {};
  EXPECT_TRUE(
      is_silent(sim::explore::search(options_for(data), sim::Actors::kThreads, {.steps = 1}, same, searched)));
  EXPECT_TRUE(searched.is_too_long);
  EXPECT_EQ(searched.counts.executions, 0u);
}

TEST(Repeat, PrioritiesAreForTheStepsOfTheFirstRun) {
  EXPECT_EQ(sim::explore::schedule_of({.schedules = 9, .seed = 0x10, .depth = 3}, 2, 77).name(), "pct3.77.12");
  EXPECT_EQ(sim::explore::schedule_of({.schedules = 9, .seed = 0x10}, 2, 77).name(), "12");
}

}  // namespace
}  // namespace heddle::test
