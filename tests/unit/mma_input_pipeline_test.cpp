// SPDX-License-Identifier: Apache-2.0
//
// InputTilePipeline as the seeds spell it: one thread copies tiles, tcgen05 multiplies them, and the release of a
// stage is a commit.
#include <heddle/host/tensor_map.h>
#include <heddle/isa/tma.h>
#include <heddle/pipeline/tile_pipeline.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "../support/output_ring.h"

namespace heddle {
namespace {

using namespace test::output_ring;
using test::is_silent;
using test::some_schedules;

using Payload = StandardTilePayload<
    bf16, bf16,
    StandardTileConfig{
        .a = {kRows, kDepth}, .b = {kColumns, kDepth}, .a_swizzle = Swizzle::k32B, .b_swizzle = Swizzle::k32B}>;
constexpr std::uint32_t kStages = 2;
using Storage = InputPipelineStorage<kStages, Payload>;
using Tmem = TmemAllocation<1>;

struct Shared {
  Storage input;
  SharedMemBarrier done;
  std::uint32_t address;
};

// A of CTA 0 as a plain matrix, for copies to several CTAs.
struct PlainA {
  PlainA() {
    for (std::uint32_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = bf16::from_float(static_cast<float>(a_value(i / kDepth, i % kDepth)));
    }
    memory.add("a", numbers.data(), numbers.size() * sizeof(bf16));
    memory.add("operands", const_cast<Operands*>(problem().operands), sizeof(problem().operands));
    map = make_tensor_map({.type = TensorType::kBF16,
                           .rank = 2,
                           .address = numbers.data(),
                           .dims = {kDepth, kRows},
                           .strides = {kDepth * sizeof(bf16)},
                           .box = {kDepth, kRows},
                           .swizzle = Swizzle::k32B});
  }
  std::vector<bf16> numbers = std::vector<bf16>(kRows * kDepth);
  sim::GlobalMemory memory;
  TensorMap map;
};

// Adds up all turns in one accumulator. By one thread; `release` ends the stage.
template <class Input, class Release>
void multiply_all(Shared& shared, Input& input, std::uint32_t d, const Release& release) {
  constexpr std::uint32_t descriptor =
      instruction_descriptor(InstructionDescriptor{.kind = MmaKind::kF16,
                                                   .m = kRows,
                                                   .n = kColumns,
                                                   .a_type = OperandType::kBf16,
                                                   .b_type = OperandType::kBf16});
  for (std::uint32_t turn = 0; turn < kTurns; ++turn) {
    auto stage = input.acquire_consumer();
    const auto [a, b] = stage.tiles();
    isa::tcgen05_mma<MmaKind::kF16, 1>(d, a.tcgen05_descriptor(), b.tcgen05_descriptor(), descriptor, turn != 0);
    release(std::move(stage));
  }
  isa::tcgen05_commit<1>(&shared.done);
}

// How many numbers of this thread's row are not the sums of all turns.
std::uint32_t wrong_sums(Shared& shared, const Tmem& tmem) {
  test::wait_parity(&shared.done, 0);
  isa::tcgen05_fence_after_thread_sync();
  std::uint32_t bits[kColumns];
  isa::tcgen05_ld_32x32b(bits, tmem.address().of_warp(isa::warp_idx()).bits());
  isa::tcgen05_wait_ld();
  std::uint32_t wrong = 0;
  for (std::uint32_t n = 0; n < kColumns; ++n) {
    float sum = 0;
    for (std::uint32_t turn = 0; turn < kTurns; ++turn) sum += problem().expected[turn][isa::tid_x()][n];
    wrong += std::bit_cast<float>(bits[n]) != sum;
  }
  return wrong;
}

// Warps 0 to 3 read the sums; one thread of warp 4 runs load(input), one of warp 5 mma(input).
template <class Input, class Load, class Mma>
sim::Report run(const sim::Schedule& schedule, const PlainA& a, std::uint32_t ctas, const Load& load,
                const Mma& mma, std::uint32_t& wrong) {
  return test::run_kernel<Shared>({.threads = 192,
                                   .grid = {ctas},
                                   .cluster = {ctas},
                                   .memory = &a.memory,
                                   .schedule = schedule,
                                   .arch = Arch::kSm100},
                                  [&](Shared& shared) {
                                    if (isa::tid_x() == 0) {
                                      const std::uint32_t empties = isa::cluster_ctarank() == 0 ? ctas : 1;
                                      Input::init_barriers(shared.input.barriers.ptr(), 1, empties);
                                      isa::mbarrier_init(&shared.done, 1);
                                      isa::fence_mbarrier_init();
                                    }
                                    if (isa::warp_idx() == 5) {
                                      static_cast<void>(Tmem::allocate(&shared.address, 32));
                                    }
                                    isa::cluster_sync();
                                    const Tmem tmem = Tmem::from_shared(&shared.address, 32);
                                    Input input(shared.input);
                                    if (isa::tid_x() == 4 * 32) load(input);
                                    if (isa::tid_x() == 5 * 32) mma(shared, input, tmem.address().bits());
                                    if (isa::warp_idx() < 4) wrong += wrong_sums(shared, tmem);
                                    isa::cluster_sync();
                                    if (isa::warp_idx() == 5) tmem.deallocate();
                                  });
}

template <class Input>
void load_all(Input& input) {
  auto producer = input.producer();
  for (std::uint32_t turn = 0; turn < kTurns; ++turn) {
    const auto tiles = producer.acquire();
    const Operands& operands = problem().operands[0];
    isa::cp_async_bulk_load(tiles.a_tile().data(), &operands.a, sizeof(operands.a), tiles.barrier());
    isa::cp_async_bulk_load(tiles.b_tile().data(), &operands.b.storage[turn * Payload::BTile::bytes()],
                            Payload::BTile::tx_bytes(), tiles.barrier());
  }
  producer.drain();
}

TEST(MmaInputPipeline, SpeltAsInTheSeedItsReleaseCommits) {
  const PlainA a;
  const auto release = [](auto stage) { std::move(stage).release(); };
  bool is_race_seen = false;
  for (const sim::Schedule& schedule : some_schedules()) {
    using Input = InputTilePipeline<Payload, kStages, 1>;
    std::uint32_t wrong = 0;
    const auto committed = run<Input>(
        schedule, a, 1, [](auto& input) { load_all(input); },
        [&](Shared& shared, auto& input, std::uint32_t d) { multiply_all(shared, input, d, release); }, wrong);
    EXPECT_TRUE(is_silent(committed));
    EXPECT_EQ(wrong, 0u);
    // The twin: a release that arrives does not wait for the tensor cores.
    using Arriving = ArrivingInputPipeline<Payload, kStages>;
    const auto arrived = run<Arriving>(
        schedule, a, 1, [](auto& input) { load_all(input); },
        [&](Shared& shared, auto& input, std::uint32_t d) { multiply_all(shared, input, d, release); }, wrong);
    ASSERT_FALSE(arrived.ok());
    EXPECT_EQ(arrived.diagnoses[0].code, "write_while_read") << arrived.text();
    is_race_seen = true;
  }
  EXPECT_TRUE(is_race_seen);
}

// CTA 0 copies A into both CTAs; the MMAs of CTA 1 say when they are done with it to CTA 0 too.
TEST(MmaInputPipeline, ReleaseToCommitsInEveryCtaOfTheMask) {
  using Input =
      InputTilePipeline<Payload, kStages, 1, MmaInputBackend<kStages, CommitConfig{.is_multicast = true}>>;
  const PlainA a;
  const auto load = [&](Input& input) {
    for (std::uint32_t turn = 0; turn < kTurns; ++turn) {
      auto tiles = input.acquire_producer();
      const Operands& operands = problem().operands[0];
      isa::cp_async_bulk_load(tiles.b_tile().data(), &operands.b.storage[turn * Payload::BTile::bytes()],
                              Payload::BTile::tx_bytes(), tiles.barrier());
      if (isa::cluster_ctarank() == 0) {
        isa::cp_async_bulk_tensor_load_multicast(tiles.a_tile().data(), &a.map, {0, 0}, tiles.barrier(), 0b11);
      }
      std::move(tiles).release();
    }
    input.drain_producer();
  };
  const auto run_with = [&](std::uint16_t mask_of_1, const sim::Schedule& schedule, std::uint32_t& wrong) {
    return run<Input>(
        schedule, a, 2, load,
        [&](Shared& shared, Input& input, std::uint32_t d) {
          const std::uint16_t mask = isa::cluster_ctarank() == 0 ? 0b01 : mask_of_1;
          multiply_all(shared, input, d, [&](auto stage) { std::move(stage).release_to(mask); });
        },
        wrong);
  };
  for (const sim::Schedule& schedule : some_schedules()) {
    std::uint32_t wrong = 0;
    EXPECT_TRUE(is_silent(run_with(0b11, schedule, wrong)));
    EXPECT_EQ(wrong, 0u);
    // The twin: CTA 0 is not told, and waits for ever.
    EXPECT_FALSE(run_with(0b10, schedule, wrong).ok());
  }
}

}  // namespace
}  // namespace heddle
