// SPDX-License-Identifier: Apache-2.0
//
// The race checker against a naive one that keeps a full clock for each thread and every access ever made:
// random kernels of loads, stores and barriers, and the same verdict at the same instruction.
#include "../support/schedule_share.h"
#include "race_kernels.h"

#include <heddle/sim/event.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>

namespace heddle::race_test {
namespace {

constexpr std::uint32_t kThreads = 64;
constexpr std::uint32_t kBytes = 64;
constexpr std::uint32_t kBarriers = 2;

enum class Op : std::uint8_t { kLoad, kStore, kSyncwarp, kVote, kBarSync, kArriveSync, kHandOver };

struct Step {
  Op op = Op::kLoad;
  std::uint64_t threads = 0;  // loads, stores, and who waits in a hand-over
  std::uint32_t offset = 0;
  std::uint32_t bytes = 4;
  bool by_lane = false;  // each lane has an offset of its own
  std::uint32_t by = 0;  // the thread that hands over
};

struct Interpreter {
  struct Params {
    const Step* steps;
    std::uint32_t count;
  };
  struct Shared {
    alignas(16) unsigned char memory[kBytes];
    SharedMemBarrier barrier[kBarriers];
  };
  static constexpr std::uint32_t kThreads = race_test::kThreads;

  static void run(const Params& p, Shared& s) {
    const std::uint32_t thread = isa::tid_x();
    if (thread < kBarriers) isa::mbarrier_init(&s.barrier[thread], 1);
    isa::st_shared(&s.memory[thread % kBytes], static_cast<unsigned char>(0));
    isa::syncthreads();
    std::uint32_t hand_overs = 0;
    for (std::uint32_t i = 0; i < p.count; ++i) {
      // Every step has a named barrier of its own, since those who only arrive do not wait for the others.
      execute(p.steps[i], s, thread, 1 + i, hand_overs);
    }
  }

  static void execute(const Step& step, Shared& s, std::uint32_t thread, std::uint32_t named,
                      std::uint32_t& hand_overs) {
    const bool takes_part = (step.threads >> thread & 1) != 0;
    switch (step.op) {
      case Op::kLoad:
      case Op::kStore:
        if (takes_part) {
          const std::uint32_t shift = step.by_lane ? thread % 32 * step.bytes : 0;
          touch(&s.memory[(step.offset + shift) % kBytes], step.bytes, step.op == Op::kStore);
        }
        break;
      case Op::kSyncwarp: isa::syncwarp(); break;
      case Op::kVote: isa::vote_sync_ballot(true); break;
      case Op::kBarSync: isa::bar_sync(named, kThreads); break;
      case Op::kArriveSync:
        if (thread / 32 == step.by % 2) isa::bar_arrive(named, kThreads);
        else isa::bar_sync(named, kThreads);
        break;
      case Op::kHandOver: {
        // Each barrier is used once in a turn, and everyone meets before it is used again.
        const std::uint32_t index = hand_overs % kBarriers;
        const std::uint32_t parity = hand_overs / kBarriers & 1;
        ++hand_overs;
        if (thread == step.by) isa::mbarrier_arrive(&s.barrier[index]);
        if (takes_part) wait(&s.barrier[index], parity);
        if (index == kBarriers - 1) isa::syncthreads();
        break;
      }
    }
  }

  static void touch(unsigned char* at, std::uint32_t bytes, bool writes) {
    switch (bytes) {
      case 1: access(reinterpret_cast<std::uint8_t*>(at), writes); break;
      case 2: access(reinterpret_cast<std::uint16_t*>(at), writes); break;
      case 4: access(reinterpret_cast<std::uint32_t*>(at), writes); break;
      case 8: access(reinterpret_cast<std::uint64_t*>(at), writes); break;
      default: access(reinterpret_cast<isa::Bytes16*>(at), writes); break;
    }
  }

  template <class T>
  static void access(T* at, bool writes) {
    // A value of its own for each thread: writes of one value are no race.
    T value;
    std::memset(&value, static_cast<int>(1 + isa::tid_x()), sizeof(T));
    if (writes) isa::st_shared(at, value);
    else isa::ld_shared(at);
  }
};

// By the book: T knows A if T's clock has A's thread at A's time or later.
class Reference final : public sim::Watcher<Reference> {
 public:
  Reference() {
    for (std::uint32_t t = 0; t < kThreads; ++t) tick(t);
  }

  void on(const sim::event::SharedRead& event) { touch(event, false); }
  void on(const sim::event::SharedWrite& event) { touch(event, true); }
  void on(const sim::event::WarpMeet& event) {
    if (!event.orders) {
      ++votes_[event.thread / 32];
      return;
    }
    const std::uint32_t first = event.thread / 32 * 32;
    Clock met{};
    for (std::uint32_t l = 0; l < 32; ++l) join(met, clocks_[first + l]);
    for (std::uint32_t l = 0; l < 32; ++l) clocks_[first + l] = met;
    for (std::uint32_t l = 0; l < 32; ++l) tick(first + l);
  }
  void on(const sim::event::NamedArrive& event) {
    if (named_passed_[event.id]) named_[event.id] = {};
    named_passed_[event.id] = false;
    join(named_[event.id], clocks_[event.thread]);
    tick(event.thread);
  }
  void on(const sim::event::NamedPass& event) {
    named_passed_[event.id] = true;
    join(clocks_[event.thread], named_[event.id]);
  }
  void on(const sim::event::BarrierArrive& event) {
    join(barriers_[event.barrier], clocks_[event.thread]);
    tick(event.thread);
  }
  void on(const sim::event::BarrierPhase& event) { passed_[event.barrier] = barriers_[event.barrier]; }
  void on(const sim::event::BarrierPass& event) { join(clocks_[event.thread], passed_[event.barrier]); }

  bool found() const { return found_at_ != 0; }
  // Whether the run went on after the first conflict.
  bool went_on() const { return found_at_ != 0 && past_.size() > found_at_; }

 private:
  using Clock = std::array<std::uint32_t, kThreads>;
  struct Past {
    std::uint32_t thread, time, address, bytes, votes;
    bool writes;
  };

  static void join(Clock& to, const Clock& from) {
    for (std::uint32_t i = 0; i < kThreads; ++i) to[i] = std::max(to[i], from[i]);
  }
  void tick(std::uint32_t thread) { ++clocks_[thread][thread]; }

  template <class Kind>
  void touch(const Kind& event, bool writes) {
    const std::uint32_t t = event.thread;
    for (const Past& past : past_) {
      const bool overlaps =
          past.address < event.address + event.bytes && event.address < past.address + past.bytes;
      const bool is_known = past.thread == t || clocks_[t][past.thread] >= past.time;
      // Told as formal: what a lane loads before all lanes of its warp vote is over then.
      const bool is_over = !past.writes && past.thread / 32 == t / 32 && past.votes < votes_[t / 32];
      if (overlaps && (writes || past.writes) && !is_known && !is_over && found_at_ == 0)
        found_at_ = past_.size() + 1;
    }
    past_.push_back({t, clocks_[t][t], event.address, event.bytes, votes_[t / 32], writes});
  }

  std::array<Clock, kThreads> clocks_{};
  std::array<Clock, 16> named_{};
  std::array<bool, 16> named_passed_{};
  std::array<Clock, kBarriers> barriers_{}, passed_{};
  std::vector<Past> past_;
  std::array<std::uint32_t, kThreads / 32> votes_{};  // by warp
  std::size_t found_at_ = 0;                          // 1 + the place of the access
};

std::vector<Step> random_program(std::mt19937_64& random) {
  const auto below = [&](std::uint32_t bound) { return static_cast<std::uint32_t>(random() % bound); };
  std::vector<Step> steps(2 + below(14));
  for (Step& step : steps) {
    const std::uint32_t kind = below(20);
    step.op = kind < 7    ? Op::kLoad
              : kind < 11 ? Op::kStore
              : kind < 14 ? Op::kSyncwarp
              : kind < 15 ? Op::kVote
              : kind < 17 ? Op::kBarSync
              : kind < 18 ? Op::kArriveSync
                          : Op::kHandOver;
    step.bytes = 1u << below(5);
    step.offset = below(kBytes / step.bytes) * step.bytes;
    step.by = below(kThreads);
    step.by_lane = below(2) == 0;
    // One thread, one warp, a few, or all.
    const std::uint64_t one = std::uint64_t{1} << below(kThreads);
    const std::uint64_t warp = std::uint64_t{0xffffffff} << 32 * below(2);
    const std::uint64_t choices[] = {one, warp, one | std::uint64_t{1} << below(kThreads), random(),
                                     ~std::uint64_t{0}};
    step.threads = choices[step.op == Op::kStore && !step.by_lane ? 0 : below(5)];
  }
  return steps;
}

TEST(RaceChecker, AgreesWithFullClocksOnRandomKernels) {
  std::mt19937_64 random(20240817);
  int racy = 0;
  int clean = 0;
  const int programs = static_cast<int>(test::schedule_share(6000));
  for (int program = 0; program < programs; ++program) {
    const std::vector<Step> steps = random_program(random);
    Reference reference;
    const sim::LaunchOptions options{
        .schedule = program % 4 == 0 ? sim::Schedule::round_robin() : sim::Schedule::random(random()),
        .observers = {&reference}};
    const sim::Report report = sim::launch<Interpreter>(options, {.grid = {1}},
                                                        {steps.data(), static_cast<std::uint32_t>(steps.size())});
    ASSERT_EQ(report.has("race"), reference.found()) << "program " << program << "\n" << report.text();
    ASSERT_EQ(report.ok(), !reference.found()) << "program " << program << "\n" << report.text();
    ASSERT_FALSE(reference.went_on()) << "program " << program << ": found late\n" << report.text();
    ++(report.ok() ? clean : racy);
  }
  // Both kinds must be there, or the comparison says little.
  EXPECT_GT(racy, programs / 6);
  EXPECT_GT(clean, programs / 6);
}

}  // namespace
}  // namespace heddle::race_test
