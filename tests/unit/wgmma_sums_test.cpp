// SPDX-License-Identifier: Apache-2.0
//
// Sums in flight behind a handle, and the example that is written with them.
#include <heddle/host/tile_map.h>
#include <heddle/isa/fence.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/sim/launch.h>
#include <heddle/tile/byte_operand.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "../../examples/hopper_tiles.h"
#include "../support/tiny_kernel.h"

namespace heddle {
namespace {

using namespace hopper_tiles;
using test::is_silent;

static_assert(Payload::ATile::rows() == 64);
static_assert(std::is_same_v<decltype(std::declval<Payload::BTile>().operand<Major::kMN>()),
                             TileOperand<Payload::BTile, Major::kMN>>);
static_assert(TileOperand<Payload::BTile, Major::kMN>::rows == kK &&
              TileOperand<Payload::BTile, Major::kMN>::k == kN);
static_assert(wgmma_shape<TileOperand<Payload::ATile, Major::kK>, TileOperand<Payload::BTile, Major::kK>>() ==
              WgmmaShape{.n = kN, .a = OperandType::kBf16, .b = OperandType::kBf16});
static_assert(!std::is_copy_constructible_v<Sums> && !std::is_move_constructible_v<Sums>);

int a_value(std::uint32_t m, std::uint32_t k) { return static_cast<int>((m * 7 + k * 3 + m * k) % 5) - 2; }
int b_value(std::uint32_t n, std::uint32_t k) { return static_cast<int>((n * 5 + k * 11 + n * k) % 7) - 3; }

struct Shared {
  Payload::Storage<2> tiles;
};

// Writes both tiles of A and B, and lets the tensor cores see them.
void fill(Shared& shared) {
  for (std::uint32_t i = isa::tid_x(); i < 2 * 64 * 64; i += 128) {
    const std::uint32_t step = i / 4096;
    const std::uint32_t row = i / 64 % 64;
    const std::uint32_t k = i % 64;
    const auto number = [](int value) { return bf16::from_float(static_cast<float>(value)); };
    shared.tiles.a_tiles()[step].store(number(a_value(row, step * 64 + k)), row, k);
    shared.tiles.b_tiles()[step].store(number(b_value(row, step * 64 + k)), row, k);
  }
  isa::fence_proxy_async_shared_cta();
  isa::syncthreads();
}

TEST(TileOperand, LaterIsThatOfTheTileSoManyBytesOn) {
  constexpr std::uint32_t bytes = Payload::Storage<2>::ATileArray::tile_stride_bytes;
  std::uint32_t seen = 0;
  const auto report = test::run_kernel<Shared>({.threads = 1}, [&](Shared& shared) {
    const auto first = shared.tiles.a_tiles()[0].operand();
    const auto second = shared.tiles.a_tiles()[1].operand();
    for (std::uint32_t k = 0; k < kK; k += 16) {
      EXPECT_EQ(first.later(bytes).wgmma_descriptor(k), second.wgmma_descriptor(k));
      EXPECT_EQ(first.later(bytes / 2).later(bytes / 2).tcgen05_descriptor(k), second.tcgen05_descriptor(k));
      ++seen;
    }
  });
  EXPECT_TRUE(is_silent(report));
  EXPECT_EQ(seen, kK / 16);
}

TEST(WgmmaSums, EveryValueKnowsItsRowAndColumn) {
  for (const sim::Schedule& schedule : test::some_schedules(4)) {
    std::uint32_t wrong = 0;
    std::vector<int> seen(64 * 64);
    const auto report = test::run_kernel<Shared>({.threads = 128, .schedule = schedule}, [&](Shared& shared) {
      fill(shared);
      Sums sums;
      const auto operands = [&](std::uint32_t step) {
        return std::pair(shared.tiles.a_tiles()[step].operand(), shared.tiles.b_tiles()[step].operand());
      };
      const auto first = operands(0);
      const auto second = operands(1);
      auto pending = sums.multiply(first.first, first.second);
      pending.add(second.first, second.second);
      pending.wait_all_but<1>();
      auto& values = std::move(pending).wait();
      const auto expect = [&](int times) {
        for (std::uint32_t i = 0; i < values.count; ++i) {
          int sum = 0;
          for (std::uint32_t k = 0; k < 128; ++k) sum += a_value(values.row(i), k) * b_value(values.col(i), k);
          wrong += values[i] != static_cast<float>(times * sum);
          ++seen[values.row(i) * 64 + values.col(i)];
        }
      };
      expect(1);
      // On top of what is there.
      auto more = sums.multiply_add(first.first, first.second);
      more.add(second.first, second.second);
      std::move(more).wait();
      expect(2);
    });
    EXPECT_TRUE(is_silent(report));
    EXPECT_EQ(wrong, 0u);
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 2), 64 * 64) << "every place is some thread's";
  }
}

// 128 rows in two blocks: both tiles of A under one another, times the first of B.
TEST(WgmmaSums, BlocksOfRowsAreMultipliedTogether) {
  using Both = TileTensor<bf16, k_major_tile<bf16>(128, 64, Swizzle::k128B)>;
  std::uint32_t wrong = 0;
  std::vector<int> seen(128 * 64);
  const auto report = test::run_kernel<Shared>({.threads = 128}, [&](Shared& shared) {
    fill(shared);
    WgmmaSums<WgmmaShape{.n = kN}, 2> sums;
    const Both both(shared.tiles.a_tiles()[0].data());
    auto pending = sums.multiply(both.operand(), shared.tiles.b_tiles()[0].operand());
    pending.add(both.operand(), shared.tiles.b_tiles()[0].operand());
    auto& values = std::move(pending).wait();
    for (std::uint32_t i = 0; i < values.count; ++i) {
      const std::uint32_t row = values.row(i);
      int sum = 0;
      for (std::uint32_t k = 0; k < 64; ++k) {
        sum += 2 * a_value(row % 64, row / 64 * 64 + k) * b_value(values.col(i), k);
      }
      wrong += values[i] != static_cast<float>(sum);
      wrong += values.block(i / 32)[i % 32] != values[i];
      ++seen[row * 64 + values.col(i)];
    }
  });
  EXPECT_TRUE(is_silent(report));
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), 128 * 64) << "every place is some thread's";
}

// Waiting for all but one product frees the tiles of the older ones only.
TEST(WgmmaSums, TilesAreFreeWhenTheirProductHasBeenWaitedFor) {
  for (const std::uint32_t overwritten : {0u, 1u}) {
    const auto report = test::run_kernel<Shared>({.threads = 128}, [&](Shared& shared) {
      fill(shared);
      Sums sums;
      auto pending = sums.multiply(shared.tiles.a_tiles()[0].operand(), shared.tiles.b_tiles()[0].operand());
      pending.add(shared.tiles.a_tiles()[1].operand(), shared.tiles.b_tiles()[1].operand());
      pending.wait_all_but<1>();
      isa::syncthreads();
      if (isa::tid_x() == 0) shared.tiles.a_tiles()[overwritten].store(bf16{}, 0, 0);
      std::move(pending).wait();
    });
    EXPECT_EQ(report.ok(), overwritten == 0) << report.text();
  }
}

// Sums are there while a product of others, which was started later, is under way; not while their own is.
TEST(WgmmaSums, CanBeReadWhileNewerProductsOfOthersAreUnderWay) {
  std::uint32_t wrong = 0;
  std::uint32_t early = 0;
  const auto report = test::run_kernel<Shared>({.threads = 128}, [&](Shared& shared) {
    fill(shared);
    Sums sums;
    Sums others;
    const auto start = [&](Sums& s) {
      return s.multiply(shared.tiles.a_tiles()[0].operand(), shared.tiles.b_tiles()[0].operand());
    };
    const auto count_wrong = [](const auto& values) {
      std::uint32_t count = 0;
      for (std::uint32_t i = 0; i < values.count; ++i) {
        int sum = 0;
        for (std::uint32_t k = 0; k < 64; ++k) sum += a_value(values.row(i), k) * b_value(values.col(i), k);
        count += values[i] != static_cast<float>(sum);
      }
      return count;
    };
    auto pending = start(sums);
    auto newer = start(others);
    auto& values = std::move(pending).wait<1>();
    wrong += count_wrong(values);
    wrong += count_wrong(std::move(newer).wait());
    auto again = start(sums);
    early += count_wrong(std::move(again).wait<1>());
    isa::wgmma_wait_group<0>();
  });
  EXPECT_TRUE(is_silent(report));
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(early, 0u) << "what is under way can be read";
}

TEST(WgmmaSums, FillSetsEveryValueForWhatIsAdded) {
  std::uint32_t wrong = 0;
  const auto report = test::run_kernel<Shared>({.threads = 128}, [&](Shared& shared) {
    fill(shared);
    struct Registers {
      Sums sums;
      std::uint32_t next = 77;
    };
    Registers registers;
    Sums& sums = registers.sums;
    auto& values = sums.fill(5.0f);
    for (std::uint32_t i = 0; i < values.count; ++i) wrong += values[i] != 5.0f;
    wrong += registers.next != 77;
    auto pending = sums.multiply_add(shared.tiles.a_tiles()[0].operand(), shared.tiles.b_tiles()[0].operand());
    std::move(pending).wait();
    for (std::uint32_t i = 0; i < values.count; ++i) {
      int sum = 5;
      for (std::uint32_t k = 0; k < 64; ++k) sum += a_value(values.row(i), k) * b_value(values.col(i), k);
      wrong += values[i] != static_cast<float>(sum);
    }
  });
  EXPECT_TRUE(is_silent(report));
  EXPECT_EQ(wrong, 0u);
}

TEST(WgmmaSums, RowsAreReducedOverAllTheirColumns) {
  std::uint32_t wrong = 0;
  const auto report = test::run_kernel<Shared>({.threads = 128}, [&](Shared& shared) {
    fill(shared);
    Sums sums;
    auto pending = sums.multiply(shared.tiles.a_tiles()[0].operand(), shared.tiles.b_tiles()[0].operand());
    auto& values = std::move(pending).wait();
    const RowPair largest = row_max(values);
    const RowPair sum = row_sum(values);
    for (const std::uint32_t i : {0u, 2u}) {
      int expected_sum = 0;
      int expected_max = -100000;
      for (std::uint32_t n = 0; n < 64; ++n) {
        int number = 0;
        for (std::uint32_t k = 0; k < 64; ++k) number += a_value(values.row(i), k) * b_value(n, k);
        expected_sum += number;
        expected_max = std::max(expected_max, number);
      }
      wrong += largest[values.row_of_pair(i)] != static_cast<float>(expected_max);
      wrong += sum[values.row_of_pair(i)] != static_cast<float>(expected_sum);
    }
  });
  EXPECT_TRUE(is_silent(report));
  EXPECT_EQ(wrong, 0u);
}

// The sums of one product, rounded, are A of the next: whole numbers that bf16 and fp16 have.
template <Element T>
std::uint32_t wrong_after_two_products(sim::Report& report) {
  std::uint32_t wrong = 0;
  using Two = StandardTilePayload<T, T, StandardTileConfig{.a = {64, 64}, .b = {64, 64}}>;
  using Storage = typename Two::template Storage<2>;
  report = test::run_kernel<Storage>({.threads = 128}, [&](Storage& tiles) {
    const auto number = [](int value) { return T::from_float(static_cast<float>(value)); };
    // A has one number other than 0 in a row, so that sums stay small.
    for (std::uint32_t i = isa::tid_x(); i < 64 * 64; i += 128) {
      tiles.a_tiles()[0].store(number(i % 64 == i / 64 * 5 % 64 ? 2 : 0), i / 64, i % 64);
      tiles.b_tiles()[0].store(number(b_value(i / 64, i % 64)), i / 64, i % 64);
      tiles.b_tiles()[1].store(number(a_value(i / 64, i % 64)), i / 64, i % 64);
    }
    isa::fence_proxy_async_shared_cta();
    isa::syncthreads();
    using Tile = typename Two::BTile;
    WgmmaSumsOf<Tile, Tile> sums;
    auto pending = sums.multiply(tiles.a_tiles()[0].operand(), tiles.b_tiles()[0].operand());
    const auto a = to_operand<T>(std::move(pending).wait());
    WgmmaSumsOf<Tile, Tile, Major::kK, Major::kMN> products;
    auto next = products.multiply(a, tiles.b_tiles()[1].template operand<Major::kMN>());
    auto& values = std::move(next).wait();
    for (std::uint32_t i = 0; i < values.count; ++i) {
      int sum = 0;
      for (std::uint32_t k = 0; k < 64; ++k) {
        sum += 2 * b_value(k, values.row(i) * 5 % 64) * a_value(k, values.col(i));
      }
      wrong += values[i] != static_cast<float>(sum);
    }
  });
  return wrong;
}

TEST(WgmmaSums, BecomeAnOperandOfTheNextProduct) {
  sim::Report report;
  EXPECT_EQ(wrong_after_two_products<bf16>(report), 0u);
  EXPECT_TRUE(is_silent(report));
  EXPECT_EQ(wrong_after_two_products<fp16>(report), 0u);
  EXPECT_TRUE(is_silent(report));
}

// The compiler's own analysis does not follow members, so this builds and the simulated SM has the word.
TEST(WgmmaSums, ProductThatNobodyWaitsForIsReported) {
  const auto report = test::run_kernel<Shared>({.threads = 128}, [&](Shared& shared) {
    fill(shared);
    Sums sums;
    struct Forgetful {
      decltype(sums.multiply(shared.tiles.a_tiles()[0].operand(), shared.tiles.b_tiles()[0].operand())) pending;
    };
    Forgetful keeps{sums.multiply(shared.tiles.a_tiles()[0].operand(), shared.tiles.b_tiles()[0].operand())};
    static_cast<void>(keeps);
  });
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.diagnoses[0].code, "stage_dropped") << report.text();
}

TEST(WgmmaSums, ProductsThatWereWaitedForTakeNoMore) {
  const auto stops = [](const auto& use) {
    const auto report = test::run_kernel<Shared>({.threads = 128}, [&](Shared& shared) {
      fill(shared);
      Sums sums;
      const auto a = shared.tiles.a_tiles()[0].operand();
      const auto b = shared.tiles.b_tiles()[0].operand();
      struct Held {
        decltype(sums.multiply(a, b)) pending;
      };
      Held held{sums.multiply(a, b)};
      static_cast<void>(std::move(held.pending).wait());
      use(held.pending, a, b);
    });
    return report.has("stage_used_after_release");
  };
  EXPECT_TRUE(stops([](auto& pending, const auto& a, const auto& b) { pending.add(a, b); }));
  EXPECT_TRUE(stops([](auto& pending, const auto&, const auto&) { pending.template wait_all_but<0>(); }));
}

// PTX: Register Fragments for wgmma.mma_async, of 8 bits: register r of a lane has four neighbours of a row.
template <class T>
void expect_bytes_of_operand() {
  std::uint32_t wrong = 0;
  const auto report = test::run_kernel<test::NoShared>({.threads = 128}, [&](test::NoShared&) {
    WgmmaSums<WgmmaShape{.n = 64}> sums;
    auto& values = sums.fill(0.0f);
    const auto number_at = [](std::uint32_t row, std::uint32_t col) {
      return static_cast<float>((row * 3 + col * 5) % 15) - 7.0f;
    };
    for (std::uint32_t i = 0; i < values.count; ++i) values[i] = number_at(values.row(i), values.col(i));
    const auto operand = to_byte_operand<T>(values);
    const std::uint32_t lane = isa::laneid();
    for (std::uint32_t k = 0; k < 64; k += 32) {
      for (std::uint32_t r = 0; r < 4; ++r) {
        for (std::uint32_t byte = 0; byte < 4; ++byte) {
          const float expected =
              number_at(isa::warp_idx() * 16 + lane / 4 + r % 2 * 8, k + r / 2 * 16 + lane % 4 * 4 + byte);
          wrong += element_of<T>(operand.fragment(k)[r], byte) != expected;
        }
      }
    }
  });
  EXPECT_TRUE(is_silent(report));
  EXPECT_EQ(wrong, 0u);
}

TEST(WgmmaSums, BecomeAnOperandOfEightBits) {
  expect_bytes_of_operand<e4m3>();
  expect_bytes_of_operand<e5m2>();
}

void run_matmul(std::uint32_t m, std::uint32_t n, std::uint32_t k_steps, std::uint32_t ctas,
                const sim::Schedule& schedule) {
  const std::uint32_t depth = k_steps * kK;
  std::vector<bf16> a(m * depth);
  std::vector<bf16> b(n * depth);
  std::vector<float> c(m * n, -77.0f);
  for (std::uint32_t i = 0; i < a.size(); ++i) {
    a[i] = bf16::from_float(static_cast<float>(a_value(i / depth, i % depth)));
  }
  for (std::uint32_t i = 0; i < b.size(); ++i) {
    b[i] = bf16::from_float(static_cast<float>(b_value(i / depth, i % depth)));
  }
  sim::GlobalMemory memory;
  memory.add("a", a.data(), a.size() * sizeof(bf16));
  memory.add("b", b.data(), b.size() * sizeof(bf16));
  memory.add("c", c.data(), c.size() * sizeof(float));
  const Matmul::Params params{
      .a = tensor_map_for<Payload::ATile>({.address = a.data(), .rows = m, .cols = depth}),
      .b = tensor_map_for<Payload::BTile>({.address = b.data(), .rows = n, .cols = depth}),
      .c = tensor_map_for<CTiles::Tile>({.address = c.data(), .rows = m, .cols = n}),
      .k_steps = k_steps,
      .scheduler = make_tile_scheduler_params<kScheduler>({(m + kM - 1) / kM, (n + kN - 1) / kN})};
  const sim::Report report =
      sim::launch<Matmul>({.memory = &memory, .schedule = schedule, .kernel = "hopper tiles"},
                          persistent_launch_shape<kScheduler>(params.scheduler, ctas), params);
  ASSERT_TRUE(is_silent(report));
  for (std::uint32_t i = 0; i < c.size(); ++i) {
    int sum = 0;
    for (std::uint32_t k = 0; k < depth; ++k) sum += a_value(i / n, k) * b_value(i % n, k);
    ASSERT_EQ(c[i], static_cast<float>(sum)) << "row " << i / n << ", column " << i % n;
  }
}

TEST(HopperTiles, MultipliesUnderManySchedules) {
  for (const sim::Schedule& schedule : test::some_schedules(6)) {
    run_matmul(200, 136, 3, 1, schedule);
    run_matmul(130, 72, 5, 2, schedule);
    run_matmul(8, 8, 1, 1, schedule);
  }
}

}  // namespace
}  // namespace heddle
