// SPDX-License-Identifier: Apache-2.0
//
// Reads of tensor memory that nobody has written since its allocation, on every path: loads, accumulators, A and
// scale factors; by cell. Every fault has a twin that differs in what was written and must stay silent.
#include "../support/tiny_kernel.h"

#include <heddle/isa/address.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/tcgen05.h>
#include <heddle/isa/tmem.h>
#include <heddle/isa/warp.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace heddle {
namespace {

using test::first_line;
using test::is_silent;

constexpr std::uint32_t kOperandBytes = 128 * 32;

struct Shared {
  alignas(128) isa::Bytes16 operand[kOperandBytes / 16];
  SharedMemBarrier done;
  std::uint32_t base;
};

// What 128 threads do with 64 columns: lambdas that every thread runs.
class Tmem {
 public:
  Tmem(Shared& shared, std::uint32_t base) : shared_(shared), base_(base) {}

  std::uint32_t at(std::uint32_t column) const { return base_ + column + (32 * isa::warp_idx() << 16); }
  std::uint32_t cell(std::uint32_t column) const { return base_ + column; }
  std::uint64_t operand(std::uint32_t rows = 128) const {
    return tcgen05_descriptor(
        {.start_address = isa::shared_address(shared_.operand), .leading_bytes = rows * 16, .stride_bytes = 128});
  }

  template <std::uint32_t cols>
  void store(std::uint32_t column) const {
    std::uint32_t r[cols] = {};
    isa::tcgen05_st_32x32b(at(column), r);
    settle_store();
  }
  // Lanes 0 to 15 of each 32.
  template <std::uint32_t cols>
  void store_half_the_lanes(std::uint32_t column) const {
    std::uint32_t r[cols / 2] = {};
    isa::tcgen05_st_16x64b(at(column), r);
    settle_store();
  }
  template <std::uint32_t cols>
  void load(std::uint32_t column) const {
    std::uint32_t r[cols];
    isa::tcgen05_ld_32x32b(r, at(column));
    isa::tcgen05_wait_ld();
  }

  // One thread issues; all wait until it is done.
  template <class Issue>
  void tensor_core(const Issue& issue) {
    if (isa::warp_idx() == 0 && isa::elect_sync()) {
      isa::tcgen05_fence_after_thread_sync();
      issue();
      isa::tcgen05_commit<1>(&shared_.done);
    }
    test::wait_parity(&shared_.done, parity_);
    parity_ ^= 1;
    isa::syncthreads();  // nobody is a phase behind
    isa::tcgen05_fence_after_thread_sync();
  }
  void multiply(std::uint32_t column, std::uint32_t m, std::uint32_t n, bool accumulate) {
    tensor_core([&] {
      isa::tcgen05_mma<MmaKind::kF16, 1>(cell(column), operand(), operand(), instruction(m, n), accumulate);
    });
  }

  static std::uint32_t instruction(std::uint32_t m, std::uint32_t n) {
    return instruction_descriptor(
        InstructionDescriptor{.m = m, .n = n, .a_type = OperandType::kBf16, .b_type = OperandType::kBf16});
  }

 private:
  static void settle_store() {
    isa::tcgen05_wait_st();
    isa::tcgen05_fence_before_thread_sync();
    isa::syncthreads();
    isa::tcgen05_fence_after_thread_sync();
  }

  Shared& shared_;
  std::uint32_t base_;
  std::uint32_t parity_ = 0;
};

// Allocates, runs the body and frees; all of it `times` over.
template <class Body>
sim::Report run(const Body& body, int times = 1, sim::Schedule schedule = {}) {
  return test::run_kernel<Shared>({.threads = 128, .schedule = schedule, .arch = Arch::kSm100},
                                  [&](Shared& shared) {
                                    if (isa::tid_x() == 0) test::init_barrier(&shared.done, 1);
                                    for (std::uint32_t i = isa::tid_x(); i < kOperandBytes / 16; i += 128)
                                      isa::st_shared(&shared.operand[i], {});
                                    isa::fence_proxy_async_shared_cta();
                                    for (int turn = 0; turn < times; ++turn) {
                                      if (isa::warp_idx() == 0) isa::tcgen05_alloc<1>(&shared.base, 64);
                                      isa::syncthreads();
                                      Tmem tmem(shared, isa::ld_shared(&shared.base));
                                      body(tmem, turn);
                                      isa::tcgen05_fence_before_thread_sync();
                                      isa::syncthreads();
                                      if (isa::warp_idx() == 0) isa::tcgen05_dealloc<1>(tmem.cell(0), 64);
                                      isa::syncthreads();
                                    }
                                  });
}

std::string unwritten(const std::string& who, std::uint32_t lane, std::uint32_t column) {
  return "[uninitialised_read] a " + who + "lane " + std::to_string(lane) + ", column " + std::to_string(column) +
         " of the tensor memory, which nobody has written since its allocation";
}

constexpr const char* kLoad = "tcgen05.ld reads ";

TEST(TmemUnwritten, LoadsAreReportedByColumn) {
  EXPECT_EQ(first_line(run([](Tmem& tmem, int) { tmem.load<8>(4); })), unwritten(kLoad, 0, 4));
  EXPECT_EQ(first_line(run([](Tmem& tmem, int) {
              tmem.store<4>(0);
              tmem.load<8>(0);
            })),
            unwritten(kLoad, 0, 4));
  EXPECT_TRUE(is_silent(run([](Tmem& tmem, int) {
    tmem.store<8>(0);
    tmem.load<8>(0);
  })));
}

TEST(TmemUnwritten, LoadsAreReportedByLane) {
  EXPECT_EQ(first_line(run([](Tmem& tmem, int) {
              tmem.store_half_the_lanes<4>(0);
              tmem.load<4>(0);
            })),
            unwritten(kLoad, 16, 0));
  EXPECT_TRUE(is_silent(run([](Tmem& tmem, int) {
    tmem.store_half_the_lanes<4>(0);
    std::uint32_t r[2];
    isa::tcgen05_ld_16x64b(r, tmem.at(0));
    isa::tcgen05_wait_ld();
  })));
}

TEST(TmemUnwritten, LoadsAreReportedUnderEverySchedule) {
  for (const sim::Schedule& schedule : test::some_schedules(20)) {
    const auto report = run([](Tmem& tmem, int) { tmem.load<2>(1); }, 1, schedule);
    ASSERT_EQ(report.diagnoses.size(), 1u);
    EXPECT_EQ(report.diagnoses[0].code, "uninitialised_read");
  }
}

TEST(TmemUnwritten, SaysWhoReadAndWhoAllocated) {
  const std::string text = run([](Tmem& tmem, int) { tmem.load<1>(0); }).text();
  EXPECT_NE(text.find("tcgen05.ld   "), std::string::npos) << text;
  EXPECT_NE(text.find("tcgen05.alloc of columns 0 to 63"), std::string::npos) << text;
  EXPECT_NE(text.find("likely: nothing was multiplied or stored here"), std::string::npos) << text;
}

TEST(TmemUnwritten, ANewAllocationOfTheSameColumnsIsUnwrittenAgain) {
  EXPECT_EQ(first_line(run(
                [](Tmem& tmem, int turn) {
                  if (turn == 0) tmem.store<8>(0);
                  tmem.load<8>(0);
                },
                2)),
            unwritten(kLoad, 0, 0));
  EXPECT_TRUE(is_silent(run(
      [](Tmem& tmem, int) {
        tmem.store<8>(0);
        tmem.load<8>(0);
      },
      2)));
}

TEST(TmemUnwritten, AMultiplicationWritesNColumnsInTheLanesOfItsRows) {
  EXPECT_EQ(first_line(run([](Tmem& tmem, int) {
              tmem.multiply(0, 128, 16, false);
              tmem.load<32>(0);
            })),
            unwritten(kLoad, 0, 16));
  EXPECT_EQ(first_line(run([](Tmem& tmem, int) {
              tmem.multiply(0, 64, 16, false);
              tmem.load<16>(0);
            })),
            unwritten(kLoad, 16, 0));
  EXPECT_TRUE(is_silent(run([](Tmem& tmem, int) {
    tmem.multiply(0, 128, 16, false);
    tmem.multiply(0, 128, 16, true);
    tmem.load<16>(0);
  })));
}

TEST(TmemUnwritten, AnAccumulatorIsReportedAtOnce) {
  EXPECT_EQ(first_line(run([](Tmem& tmem, int) { tmem.multiply(8, 128, 16, true); })),
            unwritten("tcgen05.mma reads its accumulator from ", 0, 8));
  // Half of it is written.
  EXPECT_EQ(first_line(run([](Tmem& tmem, int) {
              tmem.multiply(0, 64, 16, false);
              tmem.multiply(0, 128, 16, true);
            })),
            unwritten("tcgen05.mma reads its accumulator from ", 16, 0));
}

TEST(TmemUnwritten, AInTensorMemoryIsWrittenBeforeItIsMultiplied) {
  const auto multiply = [](Tmem& tmem) {
    tmem.tensor_core([&] {
      isa::tcgen05_mma_tmem_a<MmaKind::kF16, 1>(tmem.cell(32), tmem.cell(0), tmem.operand(),
                                                Tmem::instruction(128, 16), false);
    });
  };
  EXPECT_EQ(first_line(run([&](Tmem& tmem, int) {
              tmem.store<4>(0);
              multiply(tmem);
            })),
            unwritten("tcgen05.mma reads A from ", 0, 4));
  EXPECT_TRUE(is_silent(run([&](Tmem& tmem, int) {
    tmem.store<8>(0);
    multiply(tmem);
  })));
}

// 24 columns of B have scales in lanes 0 to 23 of each quarter, 16 in lanes 0 to 15.
TEST(TmemUnwritten, ScalesAreWrittenBeforeTheyAreUsed) {
  const auto multiply = [](Tmem& tmem, std::uint32_t n) {
    const std::uint32_t word =
        instruction_descriptor(BlockScaledInstructionDescriptor{.kind = MmaKind::kMxf8f6f4, .m = 128, .n = n});
    tmem.tensor_core([&] {
      isa::tcgen05_mma_block_scale<MmaKind::kMxf8f6f4, 1>(tmem.cell(32), tmem.operand(), tmem.operand(), word,
                                                          tmem.cell(0), tmem.cell(4), false);
    });
  };
  EXPECT_EQ(first_line(run([&](Tmem& tmem, int) {
              tmem.store<2>(0);
              multiply(tmem, 16);
            })),
            unwritten("tcgen05.mma reads scales of A from ", 0, 2));
  EXPECT_EQ(first_line(run([&](Tmem& tmem, int) {
              tmem.store<4>(0);
              tmem.store_half_the_lanes<2>(4);
              multiply(tmem, 24);
            })),
            unwritten("tcgen05.mma reads scales of B from ", 16, 4));
  EXPECT_TRUE(is_silent(run([&](Tmem& tmem, int) {
    tmem.store<4>(0);
    tmem.store_half_the_lanes<2>(4);
    multiply(tmem, 16);
  })));
}

TEST(TmemUnwritten, ACopyWritesTheLanesOfItsShape) {
  const auto load_after = [](auto copy) {
    return run([&](Tmem& tmem, int) {
      tmem.tensor_core([&] { copy(tmem); });
      tmem.load<4>(0);
    });
  };
  EXPECT_EQ(first_line(load_after([](Tmem& tmem) { isa::tcgen05_cp_4x256b<1>(tmem.cell(0), tmem.operand(4)); })),
            unwritten(kLoad, 1, 0));
  EXPECT_TRUE(is_silent(
      load_after([](Tmem& tmem) { isa::tcgen05_cp_32x128b_warpx4<1>(tmem.cell(0), tmem.operand(32)); })));
  EXPECT_TRUE(
      is_silent(load_after([](Tmem& tmem) { isa::tcgen05_cp_128x128b<1>(tmem.cell(0), tmem.operand(128)); })));
}

}  // namespace
}  // namespace heddle
