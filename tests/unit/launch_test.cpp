// SPDX-License-Identifier: Apache-2.0
#include <heddle/host/error.h>
#include <heddle/isa/annotate.h>
#include <heddle/isa/cluster.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/warp.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "../support/tiny_kernel.h"

namespace heddle::test {
namespace {

using isa::Dim3;

// What the launcher says to a kernel of these needs that must not start.
std::string refusal(const LaunchShape& shape, const sim::KernelEntry& needs = {32, 0, 1, nullptr},
                    std::uint32_t sms = 4) {
  static bool started;
  started = false;
  sim::KernelEntry entry = needs;
  entry.run = [](const void*, void*) { started = true; };
  try {
    sim::launch_entry({.sms = sms, .kernel = "copy"}, shape, entry, nullptr);
  } catch (const InputError& error) {
    EXPECT_FALSE(started);
    return error.what();
  }
  EXPECT_TRUE(started);
  return "";
}

TEST(Launch, RefusesEmptyGridsAndClusters) {
  EXPECT_EQ(refusal({.grid = {0, 1, 1}}), "launch of copy: a grid of 0x1x1 CTAs; each extent is at least 1");
  EXPECT_EQ(refusal({.grid = {1, 2, 0}}), "launch of copy: a grid of 1x2x0 CTAs; each extent is at least 1");
  EXPECT_EQ(refusal({.cluster = {1, 0, 1}}),
            "launch of copy: a cluster of 1x0x1 CTAs; each extent is at least 1");
  EXPECT_EQ(refusal({.grid = {1, 2, 1}}), "");
}

TEST(Launch, ReportsAnExceptionOfTheKernel) {
  const sim::Report thrown = run_kernel<NoShared>({.threads = 32}, [](NoShared&) {
    if (isa::tid_x() == 7) throw std::runtime_error("no such tile");
  });
  EXPECT_TRUE(faults_with(thrown, "exception",
                          "[exception] the kernel threw an exception, which no GPU has: no such tile"));
  EXPECT_TRUE(faults_with(run_kernel<NoShared>({.threads = 32}, [](NoShared&) { throw 3; }), "exception",
                          "[exception] the kernel threw an exception, which no GPU has: not a std::exception"));
  EXPECT_TRUE(is_silent(run_kernel<NoShared>({.threads = 32}, [](NoShared&) {
    try {
      throw std::runtime_error("caught");
    } catch (const std::exception&) {
    }
  })));
}

// As much as a kernel on the CPU keeps on its stack when it should not.
[[gnu::noinline]] unsigned char fill_local(std::size_t bytes) {
  auto* local = static_cast<volatile unsigned char*>(__builtin_alloca(bytes));
  for (std::size_t i = 0; i < bytes; i += 64) local[i] = static_cast<unsigned char>(i);
  return local[bytes / 2];
}

sim::Report run_with_stack(std::size_t stack_bytes, std::size_t local) {
  static std::size_t wanted;
  wanted = local;
  const sim::KernelEntry entry{32, 0, 1, [](const void*, void*) { static_cast<void>(fill_local(wanted)); }};
  return sim::launch_entry({.kernel = "copy", .stack_bytes = stack_bytes}, {}, entry, nullptr);
}

TEST(Launch, SaysThatAStackHasOverflowed) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(run_with_stack(0, 900'000), "stack_overflow.*stack_bytes");
  EXPECT_TRUE(is_silent(run_with_stack(std::size_t{2} << 20, 900'000)));
  EXPECT_TRUE(is_silent(run_with_stack(0, 50'000)));
}

TEST(Launch, RefusesStacksThatAreTooSmall) { EXPECT_THROW(run_with_stack(4096, 64), InputError); }

TEST(Launch, RefusesGridsThatClustersDoNotDivide) {
  EXPECT_EQ(refusal({.grid = {4, 3, 1}, .cluster = {2, 2, 1}}),
            "launch of copy: a grid of 4x3x1 CTAs does not divide into clusters of 2x2x1");
  EXPECT_EQ(refusal({.grid = {4, 4, 1}, .cluster = {2, 2, 1}}), "");
}

TEST(Launch, RefusesClustersOfMoreThanSixteen) {
  EXPECT_EQ(refusal({.grid = {17}, .cluster = {17}}),
            "launch of copy: a cluster of 17 CTAs; at most 16 (8 on every card)");
  EXPECT_EQ(refusal({.grid = {4, 4, 1}, .cluster = {4, 4, 1}}), "");
}

TEST(Launch, RefusesGridsLargerThanAnyGpuTakes) {
  EXPECT_EQ(refusal({.grid = {1, 65536, 1}}),
            "launch of copy: a grid of 1x65536x1 CTAs; at most 2147483647x65535x65535");
  constexpr std::uint32_t kHuge = 1u << 22;
  EXPECT_EQ(refusal({.grid = {kHuge, kHuge, kHuge}, .cluster = {kHuge, kHuge, kHuge}}),
            "launch of copy: a grid of 4194304x4194304x4194304 CTAs; at most 2147483647x65535x65535");
  EXPECT_EQ(refusal({.grid = {1, 2, 2}}), "");
}

TEST(Launch, RefusesMoreThreadsThanTheKernelIsMadeFor) {
  EXPECT_EQ(refusal({}, {64, 0, 1, nullptr, 0, 32}),
            "launch of copy: 64 threads in a CTA; the kernel's kThreads is 32");
  EXPECT_EQ(refusal({}, {32, 0, 1, nullptr, 0, 32}), "");
}

TEST(Launch, RefusesCtasOfNoneOrTooManyThreads) {
  EXPECT_EQ(refusal({}, {0, 0, 1, nullptr}), "launch of copy: 0 threads in a CTA; 1 to 1024");
  EXPECT_EQ(refusal({}, {1025, 0, 1, nullptr}), "launch of copy: 1025 threads in a CTA; 1 to 1024");
  EXPECT_EQ(refusal({}, {1, 0, 1, nullptr}), "");
  EXPECT_EQ(refusal({}, {1024, 0, 1, nullptr}), "");
}

TEST(Launch, RefusesMoreSharedMemoryThanACtaHas) {
  EXPECT_EQ(refusal({}, {32, 232'449, 1, nullptr}),
            "launch of copy: 232449 bytes of shared memory; a CTA has 232448: 1 too many");
  EXPECT_EQ(refusal({}, {32, 232'448, 1, nullptr}), "");
}

TEST(Launch, RefusesSharedMemoryOfWiderAlignmentThanItHas) {
  EXPECT_EQ(refusal({}, {32, 4096, 2048, nullptr}),
            "launch of copy: shared memory aligned to 2048 bytes; at most 1024");
  EXPECT_EQ(refusal({}, {32, 4096, 1024, nullptr}), "");
}

TEST(Launch, RefusesToRunWithoutAnSm) {
  EXPECT_EQ(refusal({}, {32, 0, 1, nullptr}, 0), "launch of copy: no SM to run on; sms is at least 1");
  EXPECT_EQ(refusal({}, {32, 0, 1, nullptr}, 1), "");
}

// The kernel form that users write.
struct CountThreads {
  struct Params {
    std::uint32_t* count;
  };
  struct Shared {
    alignas(512) std::uint32_t word;
  };
  static constexpr std::uint32_t kThreads = 96;
  static void run(const Params& params, Shared& shared) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&shared) % 512, 0u);
    EXPECT_EQ(isa::ntid_x(), 96u);
    ++*params.count;
  }
};

TEST(Launch, RunsAKernelOnceInEveryThread) {
  std::uint32_t count = 0;
  const sim::Report report = sim::launch<CountThreads>({}, {.grid = {3, 2, 1}}, {&count});
  EXPECT_TRUE(is_silent(report));
  EXPECT_EQ(count, 6 * 96u);
  EXPECT_EQ(report.stats.ctas, 6u);
  EXPECT_EQ(report.stats.threads, 576u);
  EXPECT_EQ(report.schedule, "rr");
}

TEST(Launch, RunsManyCtasOnFewSms) {
  for (const std::uint32_t sms : {1u, 3u, 64u}) {
    for (const sim::Schedule& schedule : some_schedules(3)) {
      std::set<std::uint32_t> ctas;
      std::uint32_t highest_sm = 0;
      std::uint32_t running = 0;
      std::uint32_t most_running = 0;
      const sim::Report report =
          run_kernel<NoShared>({.threads = 64, .grid = {40}, .schedule = schedule, .sms = sms}, [&](NoShared&) {
            if (isa::tid_x() == 0) most_running = std::max(most_running, ++running);
            isa::syncthreads();
            ctas.insert(isa::ctaid().x);
            highest_sm = std::max(highest_sm, isa::smid());
            isa::syncthreads();
            if (isa::tid_x() == 0) --running;
          });
      EXPECT_TRUE(is_silent(report));
      EXPECT_EQ(ctas.size(), 40u);
      EXPECT_LT(highest_sm, std::min(sms, 40u));
      EXPECT_LE(most_running, sms);
      EXPECT_EQ(report.stats.ctas, 40u);
    }
  }
}

TEST(Launch, RunsClustersAsAWholeEvenWhereSmsAreFewer) {
  for (const std::uint32_t sms : {1u, 5u, 16u}) {
    for (const sim::Schedule& schedule : some_schedules(3)) {
      std::uint32_t met = 0;
      const sim::Report report = run_kernel<NoShared>(
          {.threads = 32, .grid = {4, 4, 2}, .cluster = {2, 2, 1}, .schedule = schedule, .sms = sms},
          [&](NoShared&) {
            isa::cluster_sync();  // would hang if a CTA of the cluster had not started
            ++met;
          });
      EXPECT_TRUE(is_silent(report)) << sms << " SMs";
      EXPECT_EQ(met, 32 * 32u);
    }
  }
}

TEST(Launch, LaunchesCanBeNested) {
  std::uint32_t inner = 0;
  EXPECT_TRUE(is_silent(run_kernel<NoShared>({.threads = 2}, [&](NoShared&) {
    EXPECT_TRUE(is_silent(run_kernel<NoShared>({.threads = 3}, [&](NoShared&) { ++inner; })));
    EXPECT_EQ(isa::ntid_x(), 2u) << "the outer kernel goes on where it was";
  })));
  EXPECT_EQ(inner, 6u);
}

struct Shared {
  SharedMemBarrier bar[2];
  std::uint32_t flag;
};

TEST(Launch, KernelThatPollsABarrierForEverIsADeadlock) {
  const auto poll_parity = [](std::uint32_t parity) {
    return run_kernel<Shared>({.threads = 32}, [=](Shared& shared) {
      isa::annotate_role("poll");
      if (isa::tid_x() == 0) init_barrier(shared.bar, 1);
      isa::syncwarp();
      while (!isa::mbarrier_test_wait_parity(shared.bar, parity)) {
      }
    });
  };
  const sim::Report report = poll_parity(0);
  EXPECT_EQ(report.text(),
            "[deadlock] 1 role is blocked and nothing in flight can wake them\n"
            "  poll, warp 0: runs, but nothing it looks at changes\n"
            "  again: tiny with schedule rr\n");
  EXPECT_TRUE(is_silent(poll_parity(1)));
}

TEST(Launch, RunBeyondItsBudgetIsStoppedWithAReport) {
  std::uint32_t line = 0;
  const auto with_budget = [&](std::uint64_t steps) {
    return run_kernel<Shared>({.threads = 1, .max_steps = steps}, [&](Shared& shared) {
      for (std::uint32_t i = 0; i < 100; ++i) {
        line = __LINE__ + 1;
        isa::st_shared(&shared.flag, i);
      }
    });
  };
  const sim::Report report = with_budget(99);
  EXPECT_EQ(first_line(report), "[budget] stopped after 99 instructions, at launch_test.cpp:" +
                                    std::to_string(line) + "; this is where each warp is");
  EXPECT_TRUE(report.has("budget"));
  EXPECT_TRUE(is_silent(with_budget(100)));
}

TEST(Launch, ReportSaysHowToSeeTheRunAgain) {
  const auto run = [](std::string again) {
    return sim::launch_entry(
        {.schedule = sim::Schedule::random(0x7f3a), .kernel = "copy", .again = std::move(again)}, {},
        {1, 8, 8, [](const void*, void* shared) { isa::mbarrier_arrive(static_cast<MbarPtr>(shared), 1, {}); }},
        nullptr);
  };
  EXPECT_NE(run("").text().find("\n  again: copy with schedule 7f3a\n"), std::string::npos);
  EXPECT_NE(run("heddle check copy").text().find("\n  again: heddle check copy --schedule 7f3a\n"),
            std::string::npos);
}

TEST(Launch, StopsAtTheFirstMistakeAndCanRunAgain) {
  std::uint32_t after = 0;
  const auto run = [&](std::uint32_t count) {
    return run_kernel<Shared>({.threads = 32}, [&, count](Shared& shared) {
      if (isa::tid_x() == 0) isa::mbarrier_init(shared.bar, count);
      isa::syncwarp();
      ++after;
    });
  };
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(run(0).diagnoses.size(), 1u);
    EXPECT_EQ(after, 0u);
  }
  EXPECT_TRUE(is_silent(run(1)));
  EXPECT_EQ(after, 32u);
}

}  // namespace
}  // namespace heddle::test
