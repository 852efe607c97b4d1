// SPDX-License-Identifier: Apache-2.0
#include <heddle/sim/event.h>
#include <heddle/sim/schedule.h>

#include <heddle/host/error.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/tma.h>
#include <heddle/isa/warp.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <type_traits>

#include "../support/tiny_kernel.h"

namespace heddle::test {
namespace {

using sim::Schedule;

TEST(Schedule, NameAndParseAreInverses) {
  EXPECT_EQ(Schedule::round_robin().name(), "rr");
  EXPECT_EQ(Schedule::parse("rr"), Schedule::round_robin());
  for (const std::uint64_t seed : {0ull, 1ull, 0x7f3a91c4ull, 0xffffffffffffffffull}) {
    EXPECT_EQ(Schedule::parse(Schedule::random(seed).name()), Schedule::random(seed));
  }
  EXPECT_EQ(Schedule::random(0x7f3a91c4).name(), "7f3a91c4");
  EXPECT_EQ(Schedule::random(0).name(), "0");
  EXPECT_EQ(Schedule::parse("7F3A").seed, 0x7f3au);
  EXPECT_NE(Schedule::parse("0"), Schedule::round_robin());
}

TEST(Schedule, AnythingElseIsRefused) {
  for (const char* text : {"", "rr ", "RR", "round robin", "0x7f", "-1", "7g", " 7", "10000000000000000"}) {
    try {
      (void)Schedule::parse(text);
      ADD_FAILURE() << "'" << text << "' was taken";
    } catch (const InputError& error) {
      EXPECT_EQ(error.what(), std::string("schedule '") + text +
                                  "': expected 'rr', a seed of 1 to 16 hexadecimal digits, such as 7f3a91c4, a "
                                  "depth, steps and a seed, such as pct3.1000.7f, or turns, such as w12.3-5.0");
    }
  }
}

TEST(Schedule, PrioritiesHaveANameToo) {
  EXPECT_EQ(Schedule::pct(3, 1000, 0x7f).name(), "pct3.1000.7f");
  EXPECT_EQ(Schedule::parse("pct3.1000.7f"), Schedule::pct(3, 1000, 0x7f));
  for (const char* text :
       {"pct", "pct3", "pct3.1000", "pct0.10.1", "pct65.10.1", "pct3.0.1", "pct3.10.", "pct3.10.g"}) {
    try {
      (void)Schedule::parse(text);
      ADD_FAILURE() << "'" << text << "' was taken";
    } catch (const InputError& error) {
      EXPECT_EQ(error.what(),
                std::string("schedule '") + text +
                    "': expected pct with a depth of 1 to 64, steps and a seed, such as pct3.1000.7f");
    }
  }
  EXPECT_DOUBLE_EQ(sim::pct_bound(4, 10, 3), 1.0 / 400);
}

TEST(Schedule, TurnsHaveANameToo) {
  const Schedule turns = Schedule::by_turns(sim::Actors::kWarps, {{12, 3}, {5, 0}});
  EXPECT_EQ(turns.name(), "w12.3-5.0");
  EXPECT_EQ(Schedule::parse("w12.3-5.0"), turns);
  EXPECT_EQ(Schedule::parse("t0.1"), Schedule::by_turns(sim::Actors::kThreads, {{0, 1}}));
  EXPECT_EQ(Schedule::parse("w").name(), "w");
  for (const char* text : {"w1", "w1.", "w.1", "w1.2-", "w1.2--3.4", "wx.1", "w1.2.3", "w-1.2", "tt"}) {
    EXPECT_THROW((void)Schedule::parse(text), InputError) << text;
  }
}

TEST(ReplayToken, TextAndParseAreInverses) {
  for (const char* text : {"rr", "7f3a", "7f3a@mistakes", "pct3.1000.7f@mistakes#12", "rr@a#b#2"}) {
    EXPECT_EQ(sim::ReplayToken::parse(text).text(), text);
  }
  EXPECT_EQ(sim::ReplayToken::parse("7f@mistakes#3"),
            (sim::ReplayToken{.schedule = Schedule::random(0x7f), .program = "mistakes", .launch = 3}));
  EXPECT_EQ(sim::ReplayToken::parse("7f", "mistakes").schedule, Schedule::random(0x7f));
  EXPECT_EQ(sim::ReplayToken::parse("7f@mistakes", "mistakes").schedule, Schedule::random(0x7f));
}

TEST(ReplayToken, OneOfAnotherProgramIsRefusedByName) {
  const auto refusal = [](const char* text) -> std::string {
    try {
      (void)sim::ReplayToken::parse(text, "mistakes");
    } catch (const InputError& error) {
      return error.what();
    }
    return "taken";
  };
  EXPECT_EQ(refusal("7f@matmul#3"), "schedule '7f@matmul#3' is of the program 'matmul', and this is 'mistakes'");
  EXPECT_EQ(refusal("7f@"), "schedule '7f@': after '@' comes the name of a program");
  EXPECT_EQ(refusal("7f@mistakes#0"),
            "schedule '7f@mistakes#0': after '#' comes the number of a launch, 1 or more");
  EXPECT_EQ(refusal("7g@mistakes").substr(0, 14), "schedule '7g':");
}

// Every event, as bytes.
struct Recorder : sim::Observer {
  void on_event(const sim::Event& event) override {
    ++events;
    put(event.index());
    std::visit([this](const auto& kind) { put_fields(kind); }, event);
  }

  // Those that say who, when and where.
  template <class Kind>
  void put_fields(const Kind& kind) {
    put(kind.cta);
    if constexpr (requires { kind.thread; }) put(kind.thread);
    if constexpr (requires { kind.barrier; }) put(kind.barrier);
    if constexpr (requires { kind.phase; }) put(kind.phase);
    if constexpr (requires { kind.scope; }) put(kind.scope);
    if constexpr (requires { kind.count; }) put(kind.count);
    if constexpr (requires { kind.address; }) put(kind.address);
    if constexpr (requires { kind.global; }) put(kind.global);
    if constexpr (requires { kind.bytes; }) put(kind.bytes);
    if constexpr (requires { kind.copy; }) put(kind.copy);
    if constexpr (requires { kind.lanes; }) put(kind.lanes);
    if constexpr (requires { kind.pending; }) put(kind.pending);
    if constexpr (requires { kind.id; }) put(kind.id);
    if constexpr (requires { kind.kind; }) put(kind.kind);
    if constexpr (requires { kind.keeps_value; }) put(kind.keeps_value);
    if constexpr (requires { kind.operation; }) put(kind.operation);
    if constexpr (requires { kind.site; }) {
      trace += kind.site.file;
      put(kind.site.line);
    }
  }

  template <class T>
  void put(T field) {
    static_assert(std::is_trivially_copyable_v<T>);
    char bytes[sizeof field];
    std::memcpy(bytes, &field, sizeof field);
    trace.append(bytes, sizeof field);
  }

  std::string trace;
  int events = 0;
};

struct Shared {
  alignas(128) unsigned char tile[2][256];
  SharedMemBarrier full[2];
  SharedMemBarrier empty[2];
};

alignas(16) unsigned char source[8][256];

struct Traced {
  std::string trace;
  sim::Stats stats;
};

// A small pipeline by hand: a warp loads eight rows through two stages, two warps read them.
Traced run_under(const Schedule& schedule) {
  sim::GlobalMemory memory;
  memory.add_read_only("source", source, sizeof source);
  Recorder recorder;
  const sim::Report report = run_kernel<Shared>(
      {.threads = 96, .grid = {2}, .memory = &memory, .schedule = schedule, .observers = {&recorder}},
      [](Shared& shared) {
        if (isa::tid_x() == 0) {
          for (int stage = 0; stage < 2; ++stage) {
            init_barrier(shared.full + stage, 1);
            init_barrier(shared.empty + stage, 2);
          }
        }
        isa::syncthreads();
        const bool loads = isa::warp_idx() == 0;
        if (loads && !isa::elect_sync()) return;
        for (std::uint32_t row = 0; row < 8; ++row) {
          const std::uint32_t stage = row % 2;
          const std::uint32_t phase = row / 2 % 2;
          if (loads) {
            wait_parity(shared.empty + stage, 1 - phase);
            isa::mbarrier_arrive_expect_tx(shared.full + stage, 256);
            isa::cp_async_bulk_load(shared.tile[stage], source[row], 256, shared.full + stage);
          } else {
            wait_parity(shared.full + stage, phase);
            (void)isa::ld_shared(shared.tile[stage] + isa::tid_x());
            isa::syncwarp();
            if (isa::elect_sync()) isa::mbarrier_arrive(shared.empty + stage);
          }
        }
      });
  EXPECT_TRUE(is_silent(report));
  EXPECT_GT(recorder.events, 2000);
  return {std::move(recorder.trace), report.stats};
}

TEST(Schedule, SameSeedGivesTheSameTraceByteForByte) {
  for (const std::uint64_t seed : {1u, 2u, 0x7f3a91c4u}) {
    const Traced first = run_under(Schedule::random(seed));
    const Traced second = run_under(Schedule::random(seed));
    EXPECT_TRUE(first.trace == second.trace) << "seed " << seed;
    EXPECT_EQ(first.stats.instructions, second.stats.instructions);
    EXPECT_EQ(first.stats.thread_switches, second.stats.thread_switches);
  }
}

TEST(Schedule, SamePrioritiesGiveTheSameTraceByteForByte) {
  std::set<std::string> traces;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Traced first = run_under(Schedule::pct(3, 2000, seed));
    EXPECT_TRUE(first.trace == run_under(Schedule::pct(3, 2000, seed)).trace) << "seed " << seed;
    traces.insert(first.trace);
  }
  EXPECT_EQ(traces.size(), 20u);
}

TEST(Schedule, RoundRobinGivesTheSameTraceByteForByte) {
  const Traced first = run_under(Schedule::round_robin());
  const Traced second = run_under(Schedule::round_robin());
  EXPECT_TRUE(first.trace == second.trace);
  EXPECT_EQ(first.stats.thread_switches, second.stats.thread_switches);
}

TEST(Schedule, DifferentSeedsGiveDifferentTraces) {
  std::set<std::string> traces = {run_under(Schedule::round_robin()).trace};
  for (std::uint64_t seed = 0; seed < 40; ++seed) traces.insert(run_under(Schedule::random(seed)).trace);
  EXPECT_EQ(traces.size(), 41u);
}

TEST(Schedule, SeedsDifferInHowFastCopiesAre) {
  // How many of a thread's instructions pass before a copy has landed: from very few to very many.
  std::uint64_t fewest = ~std::uint64_t{0};
  std::uint64_t most = 0;
  sim::GlobalMemory memory;
  memory.add_read_only("source", source, sizeof source);
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const sim::Report report = run_kernel<Shared>(
        {.threads = 1, .memory = &memory, .schedule = Schedule::random(seed)}, [&](Shared& shared) {
          init_barrier(shared.full, 1);
          isa::mbarrier_arrive_expect_tx(shared.full, 256);
          isa::cp_async_bulk_load(shared.tile[0], source, 256, shared.full);
          while (!isa::mbarrier_test_wait_parity(shared.full, 0)) {
          }
        });
    EXPECT_TRUE(is_silent(report));
    fewest = std::min(fewest, report.stats.instructions);
    most = std::max(most, report.stats.instructions);
  }
  EXPECT_LT(fewest, 12u);
  EXPECT_GT(most, 500u);
}

TEST(Schedule, TryWaitMayFailThoughNothingKeepsItFrom) {
  // Hardware may give up a try_wait at any time, so a random schedule does so now and then; round robin never.
  const auto failures_under = [](const Schedule& schedule) {
    std::uint32_t failures = 0;
    EXPECT_TRUE(is_silent(run_kernel<Shared>({.threads = 64, .schedule = schedule}, [&](Shared& shared) {
      if (isa::tid_x() == 0) init_barrier(shared.full, 1);
      isa::syncthreads();
      if (isa::warp_idx() == 1) {
        while (!isa::mbarrier_try_wait_parity(shared.full, 0)) ++failures;
      }
      if (isa::tid_x() == 0) isa::mbarrier_arrive(shared.full);
    })));
    return failures;
  };
  EXPECT_EQ(failures_under(Schedule::round_robin()), 0u);
  std::uint32_t failures = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) failures += failures_under(Schedule::random(seed));
  EXPECT_GT(failures, 0u);
}

}  // namespace
}  // namespace heddle::test
