// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/mbarrier.h"

#include <gtest/gtest.h>

#include <random>

namespace heddle::sim::machine {
namespace {

constexpr std::uint32_t kMax = (1u << 20) - 1;

Mbarrier fresh(std::uint32_t count) {
  Mbarrier barrier;
  EXPECT_EQ(barrier.init(count), MbarrierFault::kNone);
  return barrier;
}

TEST(Mbarrier, StartsInPhaseZeroWithAllArrivalsPending) {
  const Mbarrier barrier = fresh(7);
  EXPECT_EQ(barrier.phase, 0u);
  EXPECT_EQ(barrier.expected, 7u);
  EXPECT_EQ(barrier.pending, 7u);
  EXPECT_EQ(barrier.tx, 0);
  EXPECT_FALSE(barrier.parity_is_over(0));
  EXPECT_TRUE(barrier.parity_is_over(1)) << "the phase before the first counts as over";
}

TEST(Mbarrier, PhaseEndsWithTheLastArrivalAndTheNextBegins) {
  Mbarrier barrier = fresh(3);
  EXPECT_EQ(barrier.arrive(2), MbarrierFault::kNone);
  EXPECT_FALSE(barrier.settle());
  EXPECT_EQ(barrier.arrive(1), MbarrierFault::kNone);
  EXPECT_TRUE(barrier.settle());
  EXPECT_EQ(barrier.phase, 1u);
  EXPECT_EQ(barrier.pending, 3u);
  EXPECT_TRUE(barrier.parity_is_over(0));
  EXPECT_FALSE(barrier.parity_is_over(1));
}

TEST(Mbarrier, PhaseOutlastsItsArrivalsWhileBytesAreOutstanding) {
  Mbarrier barrier = fresh(1);
  EXPECT_EQ(barrier.expect_tx(64), MbarrierFault::kNone);
  EXPECT_EQ(barrier.arrive(1), MbarrierFault::kNone);
  EXPECT_FALSE(barrier.settle());
  EXPECT_EQ(barrier.complete_tx(48), MbarrierFault::kNone);
  EXPECT_FALSE(barrier.settle());
  EXPECT_EQ(barrier.complete_tx(16), MbarrierFault::kNone);
  EXPECT_TRUE(barrier.settle());
  EXPECT_EQ(barrier.tx, 0);
}

TEST(Mbarrier, NegativeTransactionCountHoldsThePhaseUntilTheBytesAreExpected) {
  Mbarrier barrier = fresh(1);
  EXPECT_EQ(barrier.complete_tx(64), MbarrierFault::kNone);
  EXPECT_EQ(barrier.tx, -64);
  EXPECT_EQ(barrier.arrive(1), MbarrierFault::kNone);
  EXPECT_FALSE(barrier.settle()) << "a phase ends at 0 bytes, not below";
  EXPECT_EQ(barrier.expect_tx(64), MbarrierFault::kNone);
  EXPECT_TRUE(barrier.settle());
}

TEST(Mbarrier, ArriveDropLowersTheCountOfLaterPhases) {
  Mbarrier barrier = fresh(3);
  EXPECT_EQ(barrier.arrive_drop(2), MbarrierFault::kNone);
  EXPECT_EQ(barrier.pending, 1u);
  EXPECT_EQ(barrier.arrive(1), MbarrierFault::kNone);
  EXPECT_TRUE(barrier.settle());
  EXPECT_EQ(barrier.pending, 1u);
  EXPECT_EQ(barrier.arrive(1), MbarrierFault::kNone);
  EXPECT_TRUE(barrier.settle());
}

TEST(Mbarrier, CountsGoFromOneToTwoToTheTwentyLessOne) {
  Mbarrier barrier;
  EXPECT_EQ(barrier.init(0), MbarrierFault::kCountRange);
  EXPECT_EQ(barrier.init(kMax + 1), MbarrierFault::kCountRange);
  EXPECT_EQ(barrier.init(kMax), MbarrierFault::kNone);
  EXPECT_EQ(barrier.arrive(0), MbarrierFault::kCountRange);
  EXPECT_EQ(barrier.arrive(kMax + 1), MbarrierFault::kCountRange);
  EXPECT_EQ(barrier.arrive(kMax), MbarrierFault::kNone);
  EXPECT_TRUE(barrier.settle());
}

TEST(Mbarrier, RefusedOperationChangesNothing) {
  Mbarrier barrier = fresh(2);
  EXPECT_EQ(barrier.arrive(3), MbarrierFault::kOverArrival);
  EXPECT_EQ(barrier.arrive_drop(3), MbarrierFault::kOverArrival);
  EXPECT_EQ(barrier.expect_tx(kMax + 1), MbarrierFault::kTxRange);
  EXPECT_EQ(barrier.complete_tx(kMax + 1), MbarrierFault::kTxRange);
  EXPECT_EQ(barrier.pending, 2u);
  EXPECT_EQ(barrier.expected, 2u);
  EXPECT_EQ(barrier.tx, 0);
}

TEST(Mbarrier, TransactionCountReachesBothLimitsAndGoesNoFurther) {
  Mbarrier barrier = fresh(1);
  EXPECT_EQ(barrier.expect_tx(kMax), MbarrierFault::kNone);
  EXPECT_EQ(barrier.expect_tx(1), MbarrierFault::kTxRange);
  EXPECT_EQ(barrier.complete_tx(2 * kMax), MbarrierFault::kNone);
  EXPECT_EQ(barrier.tx, -static_cast<std::int32_t>(kMax));
  EXPECT_EQ(barrier.complete_tx(1), MbarrierFault::kTxRange);
  EXPECT_EQ(barrier.expect_tx(0xffffffffu), MbarrierFault::kTxRange);
}

TEST(Mbarrier, AwaitedPhaseIsTheCurrentOneOrTheOneBefore) {
  Mbarrier barrier = fresh(1);
  EXPECT_EQ(barrier.awaited(0), 0u);
  for (std::uint64_t phase = 0; phase < 5; ++phase) {
    EXPECT_EQ(barrier.awaited(phase % 2), phase);
    EXPECT_FALSE(barrier.is_over(phase));
    EXPECT_EQ(barrier.arrive(1), MbarrierFault::kNone);
    EXPECT_TRUE(barrier.settle());
    EXPECT_EQ(barrier.awaited(phase % 2), phase);
    EXPECT_TRUE(barrier.is_over(phase));
  }
}

// The table of operations, word for word, in wide integers.
struct TableRow {
  std::int64_t phase = 0, expected = 0, pending = 0, tx = 0;

  bool may(int operation, std::int64_t n) const {
    if (operation <= 1) return n >= 1 && n <= pending && (operation == 0 || n <= expected);
    return operation == 2 ? tx + n <= kMax : tx - n >= -std::int64_t{kMax};
  }
  void apply(int operation, std::int64_t n) {
    if (operation == 1) expected -= n;
    if (operation <= 1) pending -= n;
    if (operation == 2) tx += n;
    if (operation == 3) tx -= n;
    if (pending == 0 && tx == 0) {
      ++phase;
      pending = expected;
    }
  }
};

TEST(Mbarrier, FollowsTheTableInRandomSequences) {
  std::mt19937_64 random(20261115);
  std::uint64_t phases = 0;
  int refused = 0;
  for (int sequence = 0; sequence < 10000; ++sequence) {
    const auto count = static_cast<std::uint32_t>(1 + random() % 6);
    Mbarrier barrier = fresh(count);
    TableRow table{0, count, count, 0};
    for (int step = 0; step < 20 && table.expected > 0; ++step) {
      const int operation = static_cast<int>(random() % 4);
      const bool is_large = operation >= 2 && random() % 8 == 0;
      const auto n =
          static_cast<std::uint32_t>(operation < 2 ? random() % 4 : (random() % 3) * (is_large ? kMax : 16));
      MbarrierFault fault = MbarrierFault::kNone;
      switch (operation) {
        case 0: fault = barrier.arrive(n); break;
        case 1: fault = barrier.arrive_drop(n); break;
        case 2: fault = barrier.expect_tx(n); break;
        default: fault = barrier.complete_tx(n); break;
      }
      ASSERT_EQ(fault == MbarrierFault::kNone, table.may(operation, n))
          << "sequence " << sequence << " step " << step;
      if (fault != MbarrierFault::kNone) {
        ++refused;
        continue;
      }
      barrier.settle();
      table.apply(operation, n);
      ASSERT_EQ(barrier.phase, static_cast<std::uint64_t>(table.phase))
          << "sequence " << sequence << " step " << step;
      ASSERT_EQ(barrier.pending, table.pending);
      ASSERT_EQ(barrier.expected, table.expected);
      ASSERT_EQ(barrier.tx, table.tx);
    }
    phases += barrier.phase;
  }
  EXPECT_GT(phases, 5000u);
  EXPECT_GT(refused, 10000);
}

}  // namespace
}  // namespace heddle::sim::machine
