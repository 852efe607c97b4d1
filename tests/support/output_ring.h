// SPDX-License-Identifier: Apache-2.0
//
// A ring of accumulators in tensor memory, for tests of output pipelines: the MMA thread of the leading CTA runs
// one body, the 128 threads of the epilogue another. Each turn multiplies the same A with a B of its own, so that
// an accumulator shows which turn it is of.
#pragma once

#include <heddle/isa/cluster.h>
#include <heddle/isa/fence.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/tcgen05.h>
#include <heddle/isa/tma.h>
#include <heddle/isa/warp.h>
#include <heddle/pipeline/output_tile_pipeline.h>
#include <heddle/sim/global_memory.h>

#include <bit>
#include <memory>

#include "tiny_kernel.h"

namespace heddle::test::output_ring {

constexpr std::uint32_t kTurns = 6;
constexpr std::uint32_t kRows = 128;   // of a CTA
constexpr std::uint32_t kColumns = 8;  // that a CTA contributes
constexpr std::uint32_t kDepth = 16;

inline int a_value(std::uint32_t m, std::uint32_t k) { return static_cast<int>((m * 7 + k * 3 + m * k) % 5) - 2; }
inline int b_value(std::uint32_t turn, std::uint32_t n, std::uint32_t k) {
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

inline const Problem& problem() {
  static const auto made = std::make_unique<Problem>();
  return *made;
}

template <std::uint32_t stages, std::uint32_t cta_group>
constexpr OutputPipelineConfig kConfig{
    .num_stages = stages, .stage_stride_cols = kColumns* cta_group, .cta_group = cta_group};

template <std::uint32_t stages, std::uint32_t cta_group,
          PipelineBackend Backend = typename TmemHome<kConfig<stages, cta_group>>::Backend>
struct Ring {
  static constexpr OutputPipelineConfig config = kConfig<stages, cta_group>;
  static constexpr std::uint32_t columns = cta_group * kColumns;
  static constexpr std::uint32_t tmem_cols = tmem_alloc_cols(stages * columns);
  static constexpr auto everyone = static_cast<std::uint16_t>((1u << cta_group) - 1);
  using Output = OutputTilePipeline<config, TmemHome<config>, Backend>;
  using Tmem = TmemAllocation<cta_group>;
  struct Shared {
    Operands operands;
    BarrierPair<stages> output;
    SharedMemBarrier loaded;
    std::uint32_t address;
  };

  // Multiplies the operands of a turn, by one thread of the leading CTA.
  static void multiply(Shared& shared, std::uint32_t turn, std::uint32_t d, CallSite site = CallSite::here()) {
    constexpr std::uint32_t descriptor =
        instruction_descriptor(InstructionDescriptor{.kind = MmaKind::kF16,
                                                     .m = cta_group * kRows,
                                                     .n = columns,
                                                     .a_type = OperandType::kBf16,
                                                     .b_type = OperandType::kBf16});
    isa::tcgen05_mma<MmaKind::kF16, static_cast<int>(cta_group)>(d, shared.operands.a[0].tcgen05_descriptor(),
                                                                 shared.operands.b[turn].tcgen05_descriptor(),
                                                                 descriptor, false, site);
  }

  // Starts to load this thread's row of an accumulator.
  static void load(std::uint32_t (&bits)[columns], TmemAddress accumulator, CallSite site = CallSite::here()) {
    isa::tcgen05_ld_32x32b(bits, accumulator.of_warp(isa::warp_idx()).bits(), site);
  }

  // How many of its numbers are not those of the turn.
  static std::uint32_t wrong_numbers(const std::uint32_t (&bits)[columns], std::uint32_t turn) {
    const std::uint32_t row = isa::cluster_ctarank() * kRows + isa::tid_x();
    std::uint32_t wrong = 0;
    for (std::uint32_t n = 0; n < columns; ++n) {
      wrong += std::bit_cast<float>(bits[n]) != problem().expected[turn][row][n];
    }
    return wrong;
  }

  // The MMA thread runs mma(shared, output), each thread of the epilogue epilogue(shared, output).
  template <class MmaBody, class EpilogueBody>
  static sim::Report run(const sim::Schedule& schedule, const MmaBody& mma, const EpilogueBody& epilogue,
                         std::uint32_t consumer_count = cta_group * 128) {
    const auto by_one_thread = [&](Shared& shared, Output& output) {
      if (isa::laneid() == 0) mma(shared, output);
    };
    return run_warps(schedule, by_one_thread, epilogue, consumer_count);
  }

  // The same where every thread of the MMA warp runs mma(shared, output).
  template <class MmaBody, class EpilogueBody>
  static sim::Report run_warps(const sim::Schedule& schedule, const MmaBody& mma, const EpilogueBody& epilogue,
                               std::uint32_t consumer_count) {
    return run_kernel<Shared>({.threads = 160,
                               .grid = {cta_group},
                               .cluster = {cta_group},
                               .memory = &problem().memory,
                               .schedule = schedule,
                               .arch = Arch::kSm100},
                              [&](Shared& shared) {
                                const bool is_mma = isa::warp_idx() == 4;
                                if (isa::tid_x() == 0) {
                                  Output::init_barriers(shared.output.ptr(), 1, consumer_count);
                                  isa::mbarrier_init(&shared.loaded, 1);
                                  isa::fence_mbarrier_init();
                                  isa::mbarrier_arrive_expect_tx(&shared.loaded, sizeof(Operands));
                                  isa::cp_async_bulk_load(&shared.operands,
                                                          &problem().operands[isa::cluster_ctarank()],
                                                          sizeof(Operands), &shared.loaded);
                                  wait_parity(&shared.loaded, 0);
                                }
                                isa::cluster_sync();
                                if (is_mma) static_cast<void>(Tmem::allocate(&shared.address, tmem_cols));
                                isa::cluster_sync();
                                const Tmem tmem = Tmem::from_shared(&shared.address, tmem_cols);
                                {
                                  Output output(shared.output.ptr(), tmem, everyone);
                                  if (is_mma && isa::cluster_ctarank() == 0) mma(shared, output);
                                  if (!is_mma) epilogue(shared, output);
                                }
                                isa::cluster_sync();
                                if (is_mma) {
                                  Tmem::relinquish();
                                  tmem.deallocate();
                                }
                                isa::cluster_sync();
                              });
  }
};

}  // namespace heddle::test::output_ring
