// SPDX-License-Identifier: Apache-2.0
//
// ProducerConsumerPipeline under many schedules, right and with one mistake in it: a thread copies words into the
// ring, two warps read them.
#include <heddle/isa/fence.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/tma.h>
#include <heddle/pipeline/pipeline.h>
#include <heddle/sim/global_memory.h>

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "../support/planted_mistakes.h"
#include "../support/ring_schedules.h"
#include "../support/tiny_kernel.h"

namespace heddle {
namespace {

constexpr std::uint32_t kWords = 64;

struct Source {
  Source() {
    for (std::uint32_t i = 0; i < words.size(); ++i) words[i] = 0x9E3779B9u * (i + 1);
    memory.add("source", words.data(), words.size() * sizeof(std::uint32_t));
  }
  std::vector<std::uint32_t> words = std::vector<std::uint32_t>(6 * kWords);
  sim::GlobalMemory memory;
};

template <std::uint32_t stages, PipelineBackend Backend = MbarrierBackend<stages>>
sim::Report run_ring(const Source& source, std::uint32_t turns, const sim::Schedule& schedule,
                     std::uint32_t& wrong) {
  struct Ring {
    alignas(16) std::uint32_t words[stages][kWords];
    SharedMemBarrier barriers[2 * stages];
  };
  return test::run_kernel<Ring>({.threads = 96, .memory = &source.memory, .schedule = schedule}, [&](Ring& ring) {
    ProducerConsumerPipeline<stages, Backend> pipeline(ring.barriers, "input");
    if (isa::tid_x() == 0) {
      pipeline.init_mbars(1, 2);
      isa::fence_mbarrier_init();
    }
    isa::syncthreads();
    for (std::uint32_t turn = 0; turn < turns && isa::tid_x() == 0; ++turn) {
      auto stage = pipeline.acquire_producer();
      stage.expect_bytes(sizeof(ring.words[0]));
      isa::cp_async_bulk_load(ring.words[stage.index()], &source.words[turn * kWords], sizeof(ring.words[0]),
                              stage.mbar());
      std::move(stage).release();
    }
    for (std::uint32_t turn = 0; turn < turns && isa::tid_x() >= 32; ++turn) {
      const std::uint32_t word = isa::tid_x() - 32;
      auto stage = pipeline.acquire_consumer();
      wrong += isa::ld_shared(&ring.words[stage.index()][word]) != source.words[turn * kWords + word];
      std::move(stage).release_elected();
    }
  });
}

TEST(ProducerConsumerPipelineSchedules, HandOverEveryWord) {
  const Source source;
  test::for_every_ring_and_schedule(
      [&]<std::uint32_t stages>(std::uint32_t turns, const sim::Schedule& schedule) {
        std::uint32_t wrong = 0;
        EXPECT_TRUE(test::is_silent(run_ring<stages>(source, turns, schedule, wrong)));
        EXPECT_EQ(wrong, 0u);
      });
}

TEST(ProducerConsumerPipelineSchedules, EveryPlantedMistakeIsReported) {
  const Source source;
  test::expect_every_mistake_reported<MbarrierBackend<2>>([&]<class Backend>(const sim::Schedule& schedule) {
    std::uint32_t wrong = 0;
    return run_ring<2, Backend>(source, 6, schedule, wrong);
  });
}

}  // namespace
}  // namespace heddle
