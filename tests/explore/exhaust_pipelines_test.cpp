// SPDX-License-Identifier: Apache-2.0
//
// Small pipelines under every order that can matter: 96 of them, each with the number of its executions. The
// number is a property of the pipeline, the machine and the search; one that changes is a finding.
#include "sim/explore/exhaust.h"

#include <heddle/isa/fence.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/tma.h>
#include <heddle/pipeline/pipeline.h>
#include <heddle/sim/event.h>
#include <heddle/sim/global_memory.h>

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

#include "../support/planted_mistakes.h"
#include "../support/schedule_share.h"
#include "../support/tiny_kernel.h"

namespace heddle {
namespace {

using sim::explore::Actors;
using sim::explore::Exhausted;

// How a stage is taken and given back, and what fills it: stores of the producers, or copies.
enum class Form : std::uint8_t { kHandles, kScopes, kTries, kCopies };

struct Size {
  std::uint32_t producers;
  std::uint32_t consumers;
  std::uint32_t tiles;
  Form form;
};

constexpr std::uint32_t kMaxProducers = 2;
constexpr std::uint32_t kMaxTiles = 4;
constexpr std::uint32_t kPart = 4;  // words that a producer puts into a stage: the smallest copy

// Every producer fills its part of each stage, and every consumer reads all of them. A thread is a producer or a
// consumer.
template <std::uint32_t stages, PipelineBackend Backend, class Use>
void with_ring(const Size& size, const Use& use) {
  struct Ring {
    alignas(16) std::uint32_t words[stages][kMaxProducers * kPart];
    SharedMemBarrier barriers[2 * stages];
  };
  alignas(16) std::uint32_t source[kMaxTiles][kMaxProducers * kPart];
  for (std::uint32_t tile = 0; tile < kMaxTiles; ++tile) {
    for (std::uint32_t i = 0; i < kMaxProducers * kPart; ++i) source[tile][i] = 100 * tile + i + 1;
  }
  sim::GlobalMemory memory;
  memory.add_read_only("source", source, sizeof source);
  std::uint32_t wrong = 0;
  const auto kernel = [&](Ring& ring) {
    ProducerConsumerPipeline<stages, Backend> pipeline(ring.barriers, "input");
    const std::uint32_t me = isa::tid_x();
    if (me == 0) {
      pipeline.init_mbars(size.producers, size.consumers);
      isa::fence_mbarrier_init();
    }
    isa::syncthreads();
    const auto fill = [&](const auto& stage, std::uint32_t tile) {
      isa::st_shared(&ring.words[stage.index()][me * kPart], source[tile][me * kPart]);
    };
    const auto check = [&](const auto& stage, std::uint32_t tile) {
      for (std::uint32_t p = 0; p < size.producers; ++p) {
        wrong += isa::ld_shared(&ring.words[stage.index()][p * kPart]) != source[tile][p * kPart];
      }
    };
    for (std::uint32_t tile = 0; tile < size.tiles && me < size.producers; ++tile) {
      if (size.form == Form::kScopes) {
        auto stage = pipeline.produce();
        fill(stage, tile);
        continue;
      }
      auto stage = [&] {
        if (size.form == Form::kTries) return pipeline.acquire_producer(pipeline.try_wait_consumer());
        return pipeline.acquire_producer();
      }();
      if (size.form == Form::kCopies) {
        stage.expect_bytes(kPart * sizeof(std::uint32_t));
        isa::cp_async_bulk_load(&ring.words[stage.index()][me * kPart], &source[tile][me * kPart],
                                kPart * sizeof(std::uint32_t), stage.mbar());
      } else {
        fill(stage, tile);
      }
      std::move(stage).release();
    }
    for (std::uint32_t tile = 0; tile < size.tiles && me >= size.producers; ++tile) {
      if (size.form == Form::kScopes) {
        auto stage = pipeline.consume();
        check(stage, tile);
        continue;
      }
      auto stage = [&] {
        if (size.form == Form::kTries) return pipeline.acquire_consumer(pipeline.try_wait_producer());
        return pipeline.acquire_consumer();
      }();
      check(stage, tile);
      std::move(stage).release();
    }
  };
  using Kernel = decltype(kernel);
  const sim::KernelEntry entry{.threads = size.producers + size.consumers,
                               .shared_bytes = sizeof(Ring),
                               .shared_alignment = alignof(Ring),
                               .run = [](const void* params, void* shared) {
                                 (*static_cast<const Kernel*>(params))(*static_cast<Ring*>(shared));
                               }};
  use(sim::LaunchOptions{.memory = &memory, .kernel = "ring"},
      [&](const sim::LaunchOptions& options) { return sim::launch_entry(options, {}, entry, &kernel); });
  if constexpr (std::is_same_v<Backend, MbarrierBackend<stages>>) {
    EXPECT_EQ(wrong, 0u);
  }
}

template <std::uint32_t stages, PipelineBackend Backend = MbarrierBackend<stages>>
Exhausted exhaust(const Size& size) {
  constexpr std::uint64_t kMost = 100'000;
  Exhausted result;
  with_ring<stages, Backend>(size, [&](const sim::LaunchOptions& options, const auto& run) {
    result = sim::explore::exhaust(options, Actors::kThreads, kMost, run);
  });
  return result;
}

struct Pinned {
  Form form;
  std::uint32_t producers;
  std::uint32_t consumers;
  std::array<std::array<std::uint64_t, 3>, kMaxTiles> executions;  // by tiles and stages; 0: not run
};

// What a wait has seen of the signals of its phase tells executions apart. One stage makes the waits of each tile
// a matter of their own: a consumer has seen the producer's signal or not, 2; of two producers none, either or
// both, 4; two consumers of two producers, 14, since they cannot have seen the two in different orders. So a
// producer and two consumers with two tiles make 2^2 * 4 * 2^2 = 64, and two of each 14^3. With as many stages as
// tiles producers never wait.
constexpr Pinned kPinned[] = {
    {Form::kHandles, 1, 1, {{{2, 2, 2}, {8, 4, 4}}}},
    {Form::kHandles, 1, 2, {{{4, 4, 4}, {64, 16, 16}}}},
    {Form::kHandles, 2, 1, {{{4, 4, 4}, {64, 14, 14}}}},
    {Form::kHandles, 2, 2, {{{14, 14, 14}, {2744, 186, 186}}}},
    {Form::kScopes, 1, 1, {{{2, 2, 2}, {8, 4, 4}}}},
    {Form::kScopes, 1, 2, {{{4, 4, 4}, {64, 16, 16}}}},
    {Form::kScopes, 2, 1, {{{4, 4, 4}, {64, 14, 14}}}},
    {Form::kScopes, 2, 2, {{{14, 14, 14}, {2744, 186, 186}}}},
    {Form::kTries, 1, 1, {{{2, 2, 2}, {8, 4, 4}}}},
    {Form::kTries, 1, 2, {{{4, 4, 4}, {64, 16, 16}}}},
    {Form::kTries, 2, 1, {{{4, 4, 4}, {64, 14, 14}}}},
    {Form::kTries, 2, 2, {{{14, 14, 14}, {2744, 186, 186}}}},
    {Form::kCopies, 1, 1, {{{4, 4, 4}, {32, 14, 14}, {256, 66, 46}, {2048, 330, 186}}}},
    {Form::kCopies, 1, 2, {{{14, 14, 14}, {784, 186, 186}}}},
    {Form::kCopies, 2, 1, {{{16, 16, 16}, {1024, 138, 138}}}},
};

const char* name_of(Form form) {
  constexpr const char* kNames[] = {"handles", "scopes", "tries", "copies"};
  return kNames[static_cast<int>(form)];
}

TEST(ExhaustedPipelines, EveryOrderEndsWellAndTheirNumberIsKnown) {
  std::uint32_t configurations = 0;
  for (const Pinned& pinned : kPinned) {
    for (std::uint32_t tiles = 1; tiles <= kMaxTiles; ++tiles) {
      for (std::uint32_t stages = 1; stages <= 3; ++stages) {
        const std::uint64_t executions = pinned.executions[tiles - 1][stages - 1];
        if (executions == 0) continue;
        ++configurations;
        if (executions > 1000 && !test::is_whole()) continue;
        const Size size{pinned.producers, pinned.consumers, tiles, pinned.form};
        const Exhausted result = stages == 1   ? exhaust<1>(size)
                                 : stages == 2 ? exhaust<2>(size)
                                               : exhaust<3>(size);
        const auto which = [&] {
          return ::testing::Message() << name_of(pinned.form) << ", " << pinned.producers << " producers, "
                                      << pinned.consumers << " consumers, " << stages << " stages, " << tiles
                                      << " tiles";
        };
        EXPECT_TRUE(result.is_complete) << which();
        EXPECT_EQ(result.failed, 0u) << which() << "\n" << (result.shortest ? result.shortest->text() : "");
        EXPECT_EQ(result.executions, executions) << which();
      }
    }
  }
  EXPECT_EQ(configurations, 96u);
}

// Which waits of each thread slept, in order: what tells the executions of a right pipeline apart.
struct Sleeps final : sim::Watcher<Sleeps> {
  void on(const sim::event::BarrierBlock& event) { waits[event.thread] += 's'; }
  void on(const sim::event::BarrierPass& event) { waits[event.thread] += 'p'; }
  std::array<std::string, 4> waits;
};

// No schedule shows what the search has not seen.
TEST(ExhaustedPipelines, TheSearchSeesWhatSchedulesShow) {
  for (const Size& size : {Size{2, 2, 2, Form::kHandles}, Size{1, 2, 2, Form::kCopies}}) {
    with_ring<1, MbarrierBackend<1>>(size, [&](const sim::LaunchOptions& options, const auto& run) {
      const auto run_watched = [&](const sim::LaunchOptions& with, std::set<std::array<std::string, 4>>& seen) {
        Sleeps sleeps;
        sim::LaunchOptions watched = with;
        watched.observers.push_back(&sleeps);
        sim::Report report = run(watched);
        seen.insert(sleeps.waits);
        return report;
      };
      std::set<std::array<std::string, 4>> searched;
      sim::explore::exhaust(options, Actors::kThreads, 100'000,
                            [&](const sim::LaunchOptions& with) { return run_watched(with, searched); });
      std::set<std::array<std::string, 4>> scheduled;
      for (std::uint64_t seed = 0; seed < test::schedule_share(500); ++seed) {
        sim::LaunchOptions with = options;
        with.schedule = sim::Schedule::random(seed);
        run_watched(with, scheduled);
        with.schedule = sim::Schedule::pct(1 + seed % 4, 60, seed);
        run_watched(with, scheduled);
      }
      EXPECT_GT(scheduled.size(), test::is_whole() ? 20u : 2u);
      for (const auto& waits : scheduled) {
        EXPECT_TRUE(searched.contains(waits))
            << waits[0] << " " << waits[1] << " " << waits[2] << " " << waits[3];
      }
    });
  }
}

// A dropped or doubled release shows later than in four tiles.
TEST(ExhaustedPipelines, MistakesFailInEveryOrder) {
  for (const char* mistake : {"drop_arrive", "short_expect", "long_expect", "wrong_phase", "large_count",
                              "swap_consumer", "swap_producer", "no_consumer_wait", "no_producer_wait"}) {
    Exhausted result;
    ASSERT_TRUE(with_mistake<MbarrierBackend<2>>(mistake, [&]<class Mutant>() {
      result = exhaust<2, Mutant>({1, 1, 4, Form::kCopies});
    }));
    EXPECT_TRUE(result.is_complete) << mistake;
    EXPECT_GE(result.executions, 1u) << mistake;
    EXPECT_EQ(result.failed, result.executions) << mistake;
  }
}

}  // namespace
}  // namespace heddle
