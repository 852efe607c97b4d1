// SPDX-License-Identifier: Apache-2.0
//
// OutputTilePipeline under many schedules, right and with one mistake in it: one thread multiplies into the ring of
// accumulators, four warps read every one of them; on one SM, and on two that pair up.
#include <heddle/isa/cluster.h>
#include <heddle/isa/fence.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/tcgen05.h>
#include <heddle/isa/tma.h>
#include <heddle/isa/warp.h>
#include <heddle/pipeline/output_tile_pipeline.h>
#include <heddle/sim/global_memory.h>

#include <gtest/gtest.h>

#include <bit>
#include <memory>
#include <utility>

#include "../support/planted_mistakes.h"
#include "../support/ring_schedules.h"
#include "../support/tiny_kernel.h"

namespace heddle {
namespace {

constexpr std::uint32_t kTurns = 6;
constexpr std::uint32_t kRows = 128;  // of a CTA
constexpr std::uint32_t kColumns = 8;  // that a CTA contributes
constexpr std::uint32_t kDepth = 16;

int a_value(std::uint32_t m, std::uint32_t k) { return static_cast<int>((m * 7 + k * 3 + m * k) % 5) - 2; }
int b_value(std::uint32_t turn, std::uint32_t n, std::uint32_t k) {
  return static_cast<int>((n * 5 + k * 11 + turn * (n + 3) * (k + 1)) % 7) - 3;
}

// The operands of all turns, as they lie in a CTA's shared memory.
struct Operands {
  SMemTileArray2D<bf16, TileShape{kRows, kDepth}, 1, Swizzle::k32B> a;
  SMemTileArray2D<bf16, TileShape{kColumns, kDepth}, kTurns, Swizzle::k32B> b;
};

// What the two CTAs multiply, and what must come out.
struct Problem {
  Problem() {
    for (std::uint32_t cta = 0; cta < 2; ++cta) {
      for (std::uint32_t k = 0; k < kDepth; ++k) {
        for (std::uint32_t m = 0; m < kRows; ++m) {
          *operands[cta].a[0].pointer(m, k) = bf16::from_float(static_cast<float>(a_value(cta * kRows + m, k)));
        }
        for (std::uint32_t turn = 0; turn < kTurns; ++turn) {
          for (std::uint32_t n = 0; n < kColumns; ++n) {
            *operands[cta].b[turn].pointer(n, k) =
                bf16::from_float(static_cast<float>(b_value(turn, cta * kColumns + n, k)));
          }
        }
      }
    }
    for (std::uint32_t turn = 0; turn < kTurns; ++turn) {
      for (std::uint32_t m = 0; m < 2 * kRows; ++m) {
        for (std::uint32_t n = 0; n < 2 * kColumns; ++n) {
          int sum = 0;
          for (std::uint32_t k = 0; k < kDepth; ++k) sum += a_value(m, k) * b_value(turn, n, k);
          expected[turn][m][n] = static_cast<float>(sum);
        }
      }
    }
    memory.add("operands", operands, sizeof(operands));
  }

  Operands operands[2];
  float expected[kTurns][2 * kRows][2 * kColumns];
  sim::GlobalMemory memory;
};

template <std::uint32_t stages, std::uint32_t cta_group>
constexpr OutputPipelineConfig kConfig{
    .num_stages = stages, .stage_stride_cols = kColumns* cta_group, .cta_group = cta_group};

template <std::uint32_t stages, std::uint32_t cta_group,
          PipelineBackend Backend = typename TmemHome<kConfig<stages, cta_group>>::Backend>
struct Ring {
  static constexpr OutputPipelineConfig config = kConfig<stages, cta_group>;
  static constexpr std::uint32_t columns = cta_group * kColumns;
  static constexpr std::uint32_t tmem_cols = stages * columns <= 32 ? 32 : 64;
  using Output = OutputTilePipeline<config, TmemHome<config>, Backend>;
  using Tmem = TmemAllocation<cta_group>;
  struct Shared {
    Operands operands;
    BarrierPair<stages> output;
    SharedMemBarrier loaded;
    std::uint32_t address;
  };

  // By one thread of the leading CTA.
  static void multiply(Shared& shared, Output& output, std::uint32_t turns) {
    constexpr std::uint32_t descriptor = instruction_descriptor(InstructionDescriptor{.kind = MmaKind::kF16,
                                                                                      .m = cta_group * kRows,
                                                                                      .n = columns,
                                                                                      .a_type = OperandType::kBf16,
                                                                                      .b_type = OperandType::kBf16});
    for (std::uint32_t turn = 0; turn < turns; ++turn) {
      auto stage = output.acquire_mma_linear();
      isa::tcgen05_mma<MmaKind::kF16, static_cast<int>(cta_group)>(
          stage.tmem_offset(), shared.operands.a[0].tcgen05_descriptor(),
          shared.operands.b[turn].tcgen05_descriptor(), descriptor, false);
      std::move(stage).release();
    }
    output.drain_mma();
  }

  static std::uint32_t wrong_numbers(const Problem& problem, Output& output, std::uint32_t turns) {
    const std::uint32_t row = isa::cluster_ctarank() * kRows + isa::tid_x();
    std::uint32_t wrong = 0;
    for (std::uint32_t turn = 0; turn < turns; ++turn) {
      auto stage = output.consumer();
      std::uint32_t bits[columns];
      isa::tcgen05_ld_32x32b(bits, stage.tmem().address().plus_lanes(isa::warp_idx() * 32).bits());
      isa::tcgen05_wait_ld();
      for (std::uint32_t n = 0; n < columns; ++n) wrong += std::bit_cast<float>(bits[n]) != problem.expected[turn][row][n];
    }
    return wrong;
  }

  static sim::Report run(const Problem& problem, std::uint32_t turns, const sim::Schedule& schedule,
                         std::uint32_t& wrong) {
    return test::run_kernel<Shared>(
        {.threads = 160,
         .grid = {cta_group},
         .cluster = {cta_group},
         .memory = &problem.memory,
         .schedule = schedule,
         .arch = Arch::kSm100},
        [&](Shared& shared) {
          const bool is_mma = isa::warp_idx() == 4;
          if (isa::tid_x() == 0) {
            Output::init_barriers(shared.output.ptr(), 1, cta_group * 128);
            isa::mbarrier_init(&shared.loaded, 1);
            isa::fence_mbarrier_init();
            isa::mbarrier_arrive_expect_tx(&shared.loaded, sizeof(Operands));
            isa::cp_async_bulk_load(&shared.operands, &problem.operands[isa::cluster_ctarank()], sizeof(Operands),
                                    &shared.loaded);
            test::wait_parity(&shared.loaded, 0);
          }
          isa::cluster_sync();
          if (is_mma) static_cast<void>(Tmem::allocate(&shared.address, tmem_cols));
          isa::cluster_sync();
          const Tmem tmem = Tmem::from_shared(&shared.address, tmem_cols);
          {
            Output output(shared.output.ptr(), tmem, static_cast<std::uint16_t>((1u << cta_group) - 1));
            if (is_mma && isa::cluster_ctarank() == 0 && isa::laneid() == 0) multiply(shared, output, turns);
            if (!is_mma) wrong += wrong_numbers(problem, output, turns);
          }
          isa::cluster_sync();
          if (is_mma) {
            tmem.relinquish();
            tmem.deallocate();
          }
          isa::cluster_sync();
        });
  }
};

const Problem& problem() {
  static const auto made = std::make_unique<Problem>();
  return *made;
}

template <std::uint32_t cta_group>
void survives_every_schedule() {
  test::for_every_ring_and_schedule([&]<std::uint32_t stages>(std::uint32_t turns, const sim::Schedule& schedule) {
    std::uint32_t wrong = 0;
    EXPECT_TRUE(test::is_silent(Ring<stages, cta_group>::run(problem(), turns, schedule, wrong)));
    EXPECT_EQ(wrong, 0u);
  });
}

TEST(OutputTilePipeline, HandsOverEveryAccumulatorUnderManySchedules) { survives_every_schedule<1>(); }
TEST(OutputTilePipeline, HandsOverEveryAccumulatorOfAPairUnderManySchedules) { survives_every_schedule<2>(); }

template <std::uint32_t cta_group>
void reports_every_mistake() {
  using Backend = typename TmemHome<kConfig<2, cta_group>>::Backend;
  test::expect_every_mistake_reported<Backend>([&]<class Mutant>(const sim::Schedule& schedule) {
    std::uint32_t wrong = 0;
    return Ring<2, cta_group, Mutant>::run(problem(), kTurns, schedule, wrong);
  }, test::Filling::kMmas);
}

TEST(OutputTilePipeline, ReportsEveryPlantedMistake) { reports_every_mistake<1>(); }
TEST(OutputTilePipeline, ReportsEveryPlantedMistakeOfAPair) { reports_every_mistake<2>(); }

}  // namespace
}  // namespace heddle
