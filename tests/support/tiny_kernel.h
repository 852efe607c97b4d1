// SPDX-License-Identifier: Apache-2.0
//
// Kernels of a few lines, for tests: a lambda that every thread runs in the simulated SM, and the questions that
// tests ask of the report. What a lambda captures by reference stands for registers that the test looks at;
// memory that threads share goes through isa/, as in any kernel.
//
//   const sim::Report report = run_kernel<Shared>({.threads = 64}, [&](Shared& shared) { ... });
//   EXPECT_TRUE(is_silent(report));
//   EXPECT_TRUE(faults_with(report, "bad_parity", "[bad_parity] a wait for parity 2 on ..."));
#pragma once

#include <heddle/isa/arch.h>
#include <heddle/isa/entry.h>
#include <heddle/isa/fence.h>
#include <heddle/isa/mbarrier.h>
#include <heddle/sim/launch.h>
#include <heddle/sim/report.h>
#include <heddle/sim/schedule.h>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "schedule_share.h"

namespace heddle::test {

struct TinyLaunch {
  std::uint32_t threads = 32;
  isa::Dim3 grid = {};
  isa::Dim3 cluster = {};
  const sim::GlobalMemory* memory = nullptr;
  sim::Schedule schedule = {};
  Arch arch = Arch::kSm90;
  std::uint32_t sms = 4;
  std::uint64_t max_steps = std::uint64_t{1} << 40;
  bool check_races = true;
  std::vector<sim::Observer*> observers = {};
};

// For kernels without shared memory.
struct NoShared {};

template <class Shared, class Body>
sim::Report run_kernel(const TinyLaunch& launch, const Body& body) {
  const sim::LaunchOptions options{.memory = launch.memory,
                                   .schedule = launch.schedule,
                                   .arch = launch.arch,
                                   .sms = launch.sms,
                                   .kernel = "tiny",
                                   .max_steps = launch.max_steps,
                                   .check_races = launch.check_races,
                                   .observers = launch.observers};
  const sim::KernelEntry entry{.threads = launch.threads,
                               .shared_bytes = sizeof(Shared),
                               .shared_alignment = alignof(Shared),
                               .run = [](const void* params, void* shared) {
                                 (*static_cast<const Body*>(params))(*static_cast<Shared*>(shared));
                               }};
  return sim::launch_entry(options, {.grid = launch.grid, .cluster = launch.cluster}, entry, &body);
}

// Round robin, and seeds that give copies and threads different speeds: so many, or the share that this run
// takes.
inline std::vector<sim::Schedule> some_schedules(std::uint64_t seeds = 8) {
  std::vector<sim::Schedule> schedules = {sim::Schedule::round_robin()};
  for (std::uint64_t seed = 1; seed <= schedule_share(seeds); ++seed)
    schedules.push_back(sim::Schedule::random(seed));
  return schedules;
}

inline std::string first_line(const sim::Report& report) {
  const std::string text = report.text();
  return text.substr(0, text.find('\n'));
}

inline ::testing::AssertionResult is_silent(const sim::Report& report) {
  if (report.ok()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "schedule " << report.schedule << " reports\n" << report.text();
}

inline ::testing::AssertionResult faults_with(const sim::Report& report, const std::string& code,
                                              const std::string& line) {
  if (report.diagnoses.size() == 1 && report.diagnoses[0].code == code && first_line(report) == line) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << "expected " << code << "\n"
                                       << line << "\n"
                                       << "and schedule " << report.schedule << " gives "
                                       << (report.ok() ? "no report" : name_of(report.diagnoses[0].code)) << "\n"
                                       << report.text();
}

// A line of a report that says who does what, and where.
inline std::string line_at(const std::string& what, const std::string& file, std::uint32_t line) {
  return "  " + what + std::string(what.size() < 62 ? 62 - what.size() : 0, ' ') + " " + file + ":" +
         std::to_string(line) + "\n";
}

// Loops as every wait must: a try may fail though the phase is over soon.
inline void wait_parity(MbarPtr bar, std::uint32_t parity, CallSite site = CallSite::here()) {
  while (!isa::mbarrier_try_wait_parity(bar, parity, site)) {
  }
}

inline void wait_parity_cluster(MbarPtr bar, std::uint32_t parity, CallSite site = CallSite::here()) {
  while (!isa::mbarrier_try_wait_parity_cluster(bar, parity, site)) {
  }
}

// By the one thread that initialises; a barrier of all threads that use it must follow.
inline void init_barrier(MbarPtr bar, std::uint32_t count, CallSite site = CallSite::here()) {
  isa::mbarrier_init(bar, count, site);
  isa::fence_mbarrier_init(site);
}

}  // namespace heddle::test
