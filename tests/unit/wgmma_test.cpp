// SPDX-License-Identifier: Apache-2.0
//
// wgmma in the simulated SM: what it computes, from which bytes, when, and which mistakes it reports.
#include "wgmma_tiles.h"

#include "sim/machine/machine.h"

#include <heddle/isa/warp.h>
#include <heddle/sim/event.h>
#include <heddle/sim/launch.h>
#include <heddle/tile/element.h>

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace heddle {
namespace {

using wgmma_test::MultiplyTile;
using wgmma_test::place_of;
using wgmma_test::prepare;
using wgmma_test::Prepared;
using wgmma_test::Problem;
using wgmma_test::TileParams;

std::uint32_t bits_of(OperandType type, float value) {
  switch (type) {
    case OperandType::kBf16: return bf16::from_float(value).bits;
    case OperandType::kF16: return fp16::from_float(value).bits;
    case OperandType::kTf32: return tf32::from_float(value).bits;
    case OperandType::kE4m3: return e4m3::from_float(value).bits;
    default: return e5m2::from_float(value).bits;
  }
}

// Integers from -2 to 2, different in every row and column.
int a_value(std::uint32_t row, std::uint32_t k) { return static_cast<int>((row * 7 + k * 3 + row * k) % 5) - 2; }
int b_value(std::uint32_t column, std::uint32_t k) {
  return static_cast<int>((column * 5 + k * 11 + column * column * k) % 5) - 2;
}
int d_value(std::uint32_t row, std::uint32_t column) {
  return static_cast<int>((row * 13 + column * 29) % 64) - 32;
}

void fill_with_integers(Problem& problem, bool has_d) {
  const WgmmaShape& shape = problem.shape;
  for (std::uint32_t row = 0; row < 64; ++row) {
    for (std::uint32_t k = 0; k < problem.depth(); ++k) {
      problem.a.push_back(bits_of(shape.a, static_cast<float>(a_value(row, k))));
    }
  }
  for (std::uint32_t column = 0; column < shape.n; ++column) {
    for (std::uint32_t k = 0; k < problem.depth(); ++k) {
      problem.b.push_back(bits_of(shape.b, static_cast<float>(b_value(column, k))));
    }
  }
  if (!has_d) return;
  const bool is_f16 = shape.d == AccumulatorType::kF16;
  for (std::uint32_t thread = 0; thread < kWarpgroupThreads; ++thread) {
    for (std::uint32_t i = 0; i < shape.d_registers(); ++i) {
      const auto value = [&](std::uint32_t element) {
        const wgmma_test::Place at = place_of(thread, element);
        return static_cast<float>(d_value(at.row, at.column));
      };
      problem.d_in.push_back(is_f16 ? bits_of(OperandType::kF16, value(2 * i)) |
                                          bits_of(OperandType::kF16, value(2 * i + 1)) << 16
                                    : std::bit_cast<std::uint32_t>(value(i)));
    }
  }
}

double expected(const Problem& problem, std::uint32_t row, std::uint32_t column) {
  double sum = 0;
  for (std::uint32_t k = 0; k < problem.depth(); ++k) sum += a_value(row, k) * b_value(column, k);
  if (problem.shape.negate_a != problem.shape.negate_b) sum = -sum;
  return problem.d_in.empty() ? sum : sum + d_value(row, column);
}

template <WgmmaShape shape, bool a_in_registers>
std::vector<std::uint32_t> run_on_sim(const Problem& problem, sim::Schedule schedule = {}) {
  const Prepared prepared = prepare(problem);
  std::vector<std::uint32_t> d(kWarpgroupThreads * shape.d_registers());
  std::vector<isa::Bytes16> image((prepared.image.size() + 15) / 16);
  std::memcpy(image.data(), prepared.image.data(), prepared.image.size());
  TileParams params = params_of(prepared, problem.steps);
  params.image = image.data();
  params.fragments = prepared.fragments.data();
  params.d_in = problem.d_in.empty() ? nullptr : problem.d_in.data();
  params.d_out = d.data();
  sim::GlobalMemory memory;
  memory.add_read_only("image", image.data(), 16 * image.size());
  if (!prepared.fragments.empty()) {
    memory.add_read_only("fragments", prepared.fragments.data(), 4 * prepared.fragments.size());
  }
  if (!problem.d_in.empty()) memory.add_read_only("d_in", problem.d_in.data(), 4 * problem.d_in.size());
  memory.add("d_out", d.data(), 4 * d.size());
  const sim::Report report =
      sim::launch<MultiplyTile<shape, a_in_registers>>({.memory = &memory, .schedule = schedule}, {}, params);
  EXPECT_TRUE(report.ok()) << report.text();
  return d;
}

template <WgmmaShape shape, bool a_in_registers = false>
void expect_exact(Problem problem, bool has_d, sim::Schedule schedule = {}) {
  problem.shape = shape;
  problem.a_in_registers = a_in_registers;
  fill_with_integers(problem, has_d);
  const std::vector<std::uint32_t> d = run_on_sim<shape, a_in_registers>(problem, schedule);
  const bool is_f16 = shape.d == AccumulatorType::kF16;
  for (std::uint32_t thread = 0; thread < kWarpgroupThreads; ++thread) {
    for (std::uint32_t i = 0; i < shape.n / 2; ++i) {
      const wgmma_test::Place at = place_of(thread, i);
      const std::uint32_t word = d[thread * shape.d_registers() + (is_f16 ? i / 2 : i)];
      const float value =
          is_f16 ? fp16{static_cast<std::uint16_t>(word >> 16 * (i % 2))}.to_float() : std::bit_cast<float>(word);
      ASSERT_EQ(value, expected(problem, at.row, at.column))
          << "row " << at.row << ", column " << at.column << ", N " << shape.n;
    }
  }
}

template <std::size_t... i>
void expect_every_n(std::index_sequence<i...>) {
  (expect_exact<WgmmaShape{.n = 8 * (static_cast<std::uint32_t>(i) + 1)}>({.steps = 2}, i % 2 == 0), ...);
}

TEST(Wgmma, MultipliesIntegersExactlyForEveryN) { expect_every_n(std::make_index_sequence<32>()); }

template <OperandType a, OperandType b, AccumulatorType d>
void expect_types() {
  constexpr WgmmaShape shape{.n = 24, .a = a, .b = b, .d = d};
  for (const bool has_d : {false, true}) {
    SCOPED_TRACE(testing::Message() << static_cast<int>(a) << " x " << static_cast<int>(b) << ", D " << has_d);
    expect_exact<shape, false>({.steps = 4}, has_d);
    expect_exact<shape, true>({.steps = 4}, has_d);
  }
}

TEST(Wgmma, MultipliesEveryCombinationOfTypesFromSharedMemoryAndFromRegisters) {
  expect_types<OperandType::kBf16, OperandType::kBf16, AccumulatorType::kF32>();
  expect_types<OperandType::kF16, OperandType::kF16, AccumulatorType::kF32>();
  expect_types<OperandType::kF16, OperandType::kF16, AccumulatorType::kF16>();
  expect_types<OperandType::kTf32, OperandType::kTf32, AccumulatorType::kF32>();
  expect_types<OperandType::kE4m3, OperandType::kE4m3, AccumulatorType::kF32>();
  expect_types<OperandType::kE4m3, OperandType::kE5m2, AccumulatorType::kF32>();
  expect_types<OperandType::kE5m2, OperandType::kE4m3, AccumulatorType::kF32>();
  expect_types<OperandType::kE5m2, OperandType::kE5m2, AccumulatorType::kF32>();
  expect_types<OperandType::kE4m3, OperandType::kE4m3, AccumulatorType::kF16>();
  expect_types<OperandType::kE4m3, OperandType::kE5m2, AccumulatorType::kF16>();
  expect_types<OperandType::kE5m2, OperandType::kE4m3, AccumulatorType::kF16>();
  expect_types<OperandType::kE5m2, OperandType::kE5m2, AccumulatorType::kF16>();
}

constexpr Swizzle kSwizzles[] = {Swizzle::kNone, Swizzle::k32B, Swizzle::k64B, Swizzle::k128B};

template <OperandType type, Major a_major, Major b_major, std::uint32_t n>
void expect_layouts() {
  for (const Swizzle a_swizzle : kSwizzles) {
    for (const Swizzle b_swizzle : kSwizzles) {
      // As many steps along K as both rows hold.
      const auto steps_in = [](Major major, Swizzle swizzle) {
        return major == Major::kK && swizzle != Swizzle::kNone ? span_bytes(swizzle) / 32 : 3u;
      };
      const std::uint32_t steps = std::min(steps_in(a_major, a_swizzle), steps_in(b_major, b_swizzle));
      SCOPED_TRACE(testing::Message() << "swizzles " << static_cast<int>(a_swizzle) << " and "
                                      << static_cast<int>(b_swizzle) << ", majors " << static_cast<int>(a_major)
                                      << " and " << static_cast<int>(b_major));
      expect_exact<WgmmaShape{.n = n, .a = type, .b = type, .a_major = a_major, .b_major = b_major}>(
          {.a_swizzle = a_swizzle, .b_swizzle = b_swizzle, .steps = steps, .gap = 1024}, false);
    }
  }
}

TEST(Wgmma, ReadsBothMajorsOf16BitTypesInEverySwizzle) {
  expect_layouts<OperandType::kBf16, Major::kK, Major::kK, 136>();
  expect_layouts<OperandType::kBf16, Major::kK, Major::kMN, 136>();
  expect_layouts<OperandType::kF16, Major::kMN, Major::kK, 136>();
  expect_layouts<OperandType::kBf16, Major::kMN, Major::kMN, 136>();
}

TEST(Wgmma, ReadsKMajorOperandsOf8And32BitsInEverySwizzle) {
  expect_layouts<OperandType::kE4m3, Major::kK, Major::kK, 40>();
  expect_layouts<OperandType::kTf32, Major::kK, Major::kK, 40>();
}

TEST(Wgmma, ReadsBMNMajorWithAInRegisters) {
  expect_exact<WgmmaShape{.n = 72, .b_major = Major::kMN}, true>({.steps = 2, .gap = 1024}, true);
}

TEST(Wgmma, NegatesOperands) {
  expect_exact<WgmmaShape{.n = 16, .negate_a = true}>({}, true);
  expect_exact<WgmmaShape{.n = 16, .negate_b = true}>({}, true);
  expect_exact<WgmmaShape{.n = 16, .negate_a = true, .negate_b = true}, true>({}, true);
}

TEST(Wgmma, GivesTheSameResultUnderEverySchedule) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    expect_exact<WgmmaShape{.n = 16}>({.steps = 4}, true, sim::Schedule::random(seed));
  }
}

// A pattern at every base offset: the tile starts inside of the swizzle's period, and the descriptor says so.
TEST(Wgmma, TakesTheSwizzlePatternFromTheBaseOffset) {
  constexpr WgmmaShape shape{.n = 8};
  Problem problem{.shape = shape, .steps = 1};
  fill_with_integers(problem, false);
  Prepared prepared = prepare(problem);
  // B moves by one line without being swizzled anew.
  std::vector<std::byte> moved(prepared.b_start + prepared.b.total_bytes + 1024);
  std::copy(prepared.image.begin(), prepared.image.begin() + prepared.b_start, moved.begin());
  std::copy(prepared.image.begin() + prepared.b_start, prepared.image.end(),
            moved.begin() + prepared.b_start + 128);
  SmemDescriptor b = prepared.b.descriptor(prepared.b_start + 128);
  b.base_offset = 1;
  std::vector<std::uint32_t> d(kWarpgroupThreads * shape.d_registers());
  std::vector<isa::Bytes16> image(moved.size() / 16);
  std::memcpy(image.data(), moved.data(), moved.size());
  TileParams params = params_of(prepared, 1);
  params.image = image.data();
  params.image_bytes = static_cast<std::uint32_t>(moved.size());
  params.b_descriptor = wgmma_descriptor(b);
  params.d_out = d.data();
  sim::GlobalMemory memory;
  memory.add_read_only("image", image.data(), 16 * image.size());
  memory.add("d_out", d.data(), 4 * d.size());
  const sim::Report report = sim::launch<MultiplyTile<shape, false>>({.memory = &memory}, {}, params);
  ASSERT_TRUE(report.ok()) << report.text();
  for (std::uint32_t thread = 0; thread < kWarpgroupThreads; ++thread) {
    for (std::uint32_t i = 0; i < 4; ++i) {
      const wgmma_test::Place at = place_of(thread, i);
      ASSERT_EQ(std::bit_cast<float>(d[thread * 4 + i]), expected(problem, at.row, at.column));
    }
  }
}

// Small kernels. Each is a body that every thread runs on shared memory whose tiles hold A(r, k) = 1 and
// B(n, k) = 1 for 64 x 16 and 8 x 16 elements of bf16, without a swizzle.

constexpr WgmmaShape kSmall{.n = 8};
using SmallD = WgmmaAccumulators<kSmall>;

struct SmallShared {
  alignas(1024) std::uint16_t a[64 * 16];
  alignas(1024) std::uint16_t b[8 * 32];  // twice what is needed, for wider layouts
  std::uint32_t spare[1024];
};

std::uint64_t small_a(const SmallShared& shared) {
  return wgmma_descriptor(
      {.start_address = isa::shared_address(shared.a), .leading_bytes = 1024, .stride_bytes = 128});
}

std::uint64_t small_b(const SmallShared& shared) {
  return wgmma_descriptor(
      {.start_address = isa::shared_address(shared.b), .leading_bytes = 128, .stride_bytes = 128});
}

void fill_tiles(SmallShared& shared) {
  const std::uint16_t one = bf16::from_float(1).bits;
  const std::uint32_t threads = isa::ntid_x();
  for (std::uint32_t i = isa::tid_x(); i < 64 * 16; i += threads) isa::st_shared(&shared.a[i], one);
  for (std::uint32_t i = isa::tid_x(); i < 8 * 32; i += threads) isa::st_shared(&shared.b[i], one);
  isa::fence_proxy_async_shared_cta();
  isa::syncthreads();
}

struct SmallLaunch {
  std::uint32_t threads = 128;
  sim::Schedule schedule = {};
  Arch arch = Arch::kSm90;
  bool check_races = true;
  std::vector<sim::Observer*> observers = {};
};

// What a body captures by reference stands for registers that the test looks at.
template <class Body>
sim::Report run_small(const SmallLaunch& launch, const Body& body) {
  const sim::KernelEntry entry{.threads = launch.threads,
                               .shared_bytes = sizeof(SmallShared),
                               .shared_alignment = alignof(SmallShared),
                               .run = [](const void* params, void* shared) {
                                 fill_tiles(*static_cast<SmallShared*>(shared));
                                 (*static_cast<const Body*>(params))(*static_cast<SmallShared*>(shared));
                               }};
  return sim::launch_entry({.schedule = launch.schedule,
                            .arch = launch.arch,
                            .check_races = launch.check_races,
                            .observers = launch.observers},
                           {}, entry, &body);
}

template <class Body>
sim::Report run_small(const Body& body) {
  return run_small({}, body);
}

std::vector<sim::Schedule> schedules(std::uint64_t seeds) {
  std::vector<sim::Schedule> all = {sim::Schedule::round_robin()};
  for (std::uint64_t seed = 0; seed < seeds; ++seed) all.push_back(sim::Schedule::random(seed));
  return all;
}

// One value of each thread.
using Values = std::array<float, 128>;

std::string first_line(const sim::Report& report) { return report.text().substr(0, report.text().find('\n')); }

void multiply_and_wait(SmallD& d, std::uint64_t a, std::uint64_t b, bool scale_d = false) {
  isa::wgmma_fence();
  isa::wgmma_mma_async<kSmall>(d, a, b, scale_d);
  isa::wgmma_commit_group();
  isa::wgmma_wait_group<0>();
}

TEST(Wgmma, HoldsNansInAccumulatorsUntilTheWait) {
  std::array<std::uint32_t, 128> before;
  Values after;
  const sim::Report report = run_small([&](SmallShared& shared) {
    SmallD d = {1, 2, 3, 4};
    isa::wgmma_fence();
    isa::wgmma_mma_async<kSmall>(d, small_a(shared), small_b(shared), true);
    before[isa::tid_x()] = std::bit_cast<std::uint32_t>(d[3]);
    isa::wgmma_commit_group();
    isa::wgmma_wait_group<0>();
    after[isa::tid_x()] = d[3];
  });
  ASSERT_TRUE(report.ok()) << report.text();
  for (const std::uint32_t bits : before) EXPECT_EQ(bits, 0x7FFF'FFFFu);
  for (const float value : after) EXPECT_EQ(value, 20.0f);
}

TEST(Wgmma, KeepsAccumulatorsOfTheNewestGroupsInFlight) {
  Values first, second, third;
  const sim::Report report = run_small([&](SmallShared& shared) {
    SmallD old = {}, both = {};
    isa::wgmma_fence();
    isa::wgmma_mma_async<kSmall>(old, small_a(shared), small_b(shared), false);
    isa::wgmma_mma_async<kSmall>(both, small_a(shared), small_b(shared), false);
    isa::wgmma_commit_group();
    isa::wgmma_mma_async<kSmall>(both, small_a(shared), small_b(shared), true);
    isa::wgmma_commit_group();
    isa::wgmma_wait_group<1>();
    first[isa::tid_x()] = old[0];
    second[isa::tid_x()] = both[0];
    isa::wgmma_wait_group<0>();
    third[isa::tid_x()] = both[0];
  });
  ASSERT_TRUE(report.ok()) << report.text();
  for (const float value : first) EXPECT_EQ(value, 16.0f);
  for (const float value : second) EXPECT_TRUE(std::isnan(value));
  for (const float value : third) EXPECT_EQ(value, 32.0f);
}

// The result of a wgmma whose B loses an element behind it, after the wait or before.
sim::Report overwrite_operand(bool waits_first, sim::Schedule schedule, float& result) {
  return run_small({.schedule = schedule, .check_races = waits_first}, [&](SmallShared& shared) {
    SmallD d = {};
    isa::wgmma_fence();
    isa::wgmma_mma_async<kSmall>(d, small_a(shared), small_b(shared), false);
    isa::wgmma_commit_group();
    if (waits_first) isa::wgmma_wait_group<0>();
    if (isa::tid_x() == 0) isa::st_shared(&shared.b[0], std::uint16_t{0});
    if (!waits_first) isa::wgmma_wait_group<0>();
    if (isa::tid_x() == 0) result = d[0];
  });
}

TEST(Wgmma, ReadsItsOperandsAtAnyTimeBeforeTheWait) {
  std::set<float> results;
  for (const sim::Schedule& schedule : schedules(20)) {
    float result = 0;
    overwrite_operand(false, schedule, result);
    results.insert(result);
  }
  EXPECT_EQ(results, (std::set<float>{15, 16}));
}

TEST(Wgmma, HasReadItsOperandsAfterTheWait) {
  for (const sim::Schedule& schedule : schedules(20)) {
    float result = 0;
    const sim::Report report = overwrite_operand(true, schedule, result);
    ASSERT_TRUE(report.ok()) << report.text();
    ASSERT_EQ(result, 16.0f);
  }
}

TEST(Wgmma, LetsAWarpRunAheadOfItsWarpgroup) {
  Values values;
  const sim::Report report = run_small([&](SmallShared& shared) {
    SmallD d = {};
    isa::wgmma_fence();
    // The other warps come only when warp 0 has passed its own.
    if (isa::tid_x() >= 32) isa::bar_sync(1, 128);
    isa::wgmma_mma_async<kSmall>(d, small_a(shared), small_b(shared), false);
    if (isa::tid_x() < 32) isa::bar_sync(1, 128);
    isa::wgmma_commit_group();
    isa::wgmma_wait_group<0>();
    values[isa::tid_x()] = d[0];
  });
  ASSERT_TRUE(report.ok()) << report.text();
  for (const float value : values) EXPECT_EQ(value, 16.0f);
}

TEST(Wgmma, KeepsTwoWarpgroupsApart) {
  std::array<float, 256> values;
  const sim::Report report = run_small({.threads = 256}, [&](SmallShared& shared) {
    SmallD d = {};
    multiply_and_wait(d, small_a(shared), small_b(shared));
    if (isa::tid_x() >= 128) multiply_and_wait(d, small_a(shared), small_b(shared), true);
    values[isa::tid_x()] = d[0];
  });
  ASSERT_TRUE(report.ok()) << report.text();
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], i < 128 ? 16.0f : 32.0f);
}

// Mistakes. Each has a twin that must stay silent.

sim::Report with_flipped_bits(std::uint64_t a_bits, std::uint64_t b_bits) {
  return run_small([&](SmallShared& shared) {
    SmallD d = {};
    multiply_and_wait(d, small_a(shared) ^ a_bits, small_b(shared) ^ b_bits);
  });
}

constexpr std::uint64_t bit(int number) { return std::uint64_t{1} << number; }

TEST(WgmmaDescriptor, ReservedBitsAreReported) {
  EXPECT_TRUE(with_flipped_bits(0, 0).ok());
  const sim::Report in_b = with_flipped_bits(0, bit(46));
  EXPECT_EQ(first_line(in_b),
            "[bad_descriptor] wgmma.mma_async with the descriptor 0x00004008000800c0 of B: the reserved bits "
            "0x400000000000 are set; bits 14-15, 30-31, 46-48 and 52-61 are 0");
  EXPECT_NE(in_b.text().find("likely: it is a tcgen05 descriptor"), std::string::npos) << in_b.text();
  for (const int number : {14, 15, 30, 31, 46, 47, 48, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61}) {
    EXPECT_TRUE(with_flipped_bits(bit(number), 0).has("bad_descriptor")) << number;
  }
}

TEST(WgmmaDescriptor, BaseOffsetsWithoutMeaningAreReported) {
  // Bits 49-51 are the base offset; bits 62-63 the swizzle, 2 for 64 bytes.
  const sim::Report without_swizzle = with_flipped_bits(0, bit(49));
  EXPECT_NE(first_line(without_swizzle).find("base offset 1 without a swizzle; 0 would pass"), std::string::npos)
      << without_swizzle.text();
  const sim::Report too_far = with_flipped_bits(0, bit(63) | bit(51));
  EXPECT_NE(
      first_line(too_far).find("base offset 4, but a 64-byte swizzle repeats after 4 lines; 0 to 3 would pass"),
      std::string::npos)
      << too_far.text();
  const sim::Report twin = with_flipped_bits(0, bit(63) | bit(50));
  EXPECT_TRUE(twin.ok()) << twin.text();
}

sim::Report with_a(const SmemDescriptor& fields) {
  return run_small([&](SmallShared& shared) {
    SmallD d = {};
    multiply_and_wait(d, wgmma_descriptor(fields), small_b(shared));
  });
}

TEST(WgmmaDescriptor, AddressesOutsideOfSharedMemoryAreReported) {
  EXPECT_TRUE(with_a({.start_address = 0x400, .leading_bytes = 1024, .stride_bytes = 128}).ok());
  const sim::Report start = with_a({.start_address = 0x200, .leading_bytes = 1024, .stride_bytes = 128});
  EXPECT_NE(
      first_line(start).find("of A: the start address is 0x200; the CTA's shared memory is [0x400, 0x2000)"),
      std::string::npos)
      << start.text();
  const sim::Report end = with_a({.start_address = 0x400, .leading_bytes = 1024, .stride_bytes = 1024});
  EXPECT_NE(
      first_line(end).find("with start address 0x400, leading byte offset 1024 and stride byte offset 1024 its "
                           "64 x 16 elements reach to 0x2480"),
      std::string::npos)
      << end.text();
}

TEST(WgmmaDescriptor, AFieldThatDoesNotFitIsReported) {
  const sim::Report report = with_a({.start_address = 0x408, .leading_bytes = 1024, .stride_bytes = 128});
  EXPECT_TRUE(report.has("bad_descriptor")) << report.text();
  EXPECT_NE(report.text().find("multiples of 16 below 2^18"), std::string::npos) << report.text();
}

// Threads of [from, to) have another descriptor.
sim::Report with_another_descriptor(std::uint32_t from, std::uint32_t to) {
  return run_small([&](SmallShared& shared) {
    SmallD d = {};
    const bool is_other = isa::tid_x() >= from && isa::tid_x() < to;
    multiply_and_wait(d, is_other ? small_b(shared) : small_a(shared), small_b(shared));
  });
}

TEST(Wgmma, DifferentOperandsWithinAWarpgroupAreReported) {
  const sim::Report lane = with_another_descriptor(37, 38);
  EXPECT_NE(
      first_line(lane).find("[divergence] wgmma.mma_async differs within a warp: m64n8k16.f32.bf16.bf16 (A "),
      std::string::npos)
      << lane.text();
  const sim::Report warp = with_another_descriptor(64, 96);
  EXPECT_NE(first_line(warp).find("[divergence] wgmma.mma_async differs within a warpgroup: "), std::string::npos)
      << warp.text();
  EXPECT_TRUE(with_another_descriptor(0, 0).ok());
}

// Only warps `first` to `last` multiply.
sim::Report by_some_warps(std::uint32_t threads, std::uint32_t first, std::uint32_t last) {
  return run_small({.threads = threads}, [&](SmallShared& shared) {
    if (isa::tid_x() / 32 < first || isa::tid_x() / 32 > last) return;
    SmallD d = {};
    multiply_and_wait(d, small_a(shared), small_b(shared));
  });
}

TEST(Wgmma, AWarpgroupThatIsNotWholeIsReported) {
  EXPECT_TRUE(by_some_warps(128, 0, 2).has("divergence"));
  EXPECT_TRUE(by_some_warps(256, 2, 5).has("divergence"));
  EXPECT_TRUE(by_some_warps(256, 4, 7).ok());
  const sim::Report short_cta = by_some_warps(192, 4, 5);
  EXPECT_NE(
      first_line(short_cta).find(", whose warpgroup has 64 of 128 threads; a CTA of 256 threads would pass"),
      std::string::npos)
      << short_cta.text();
}

TEST(Wgmma, AWarpThatNeverComesIsExplained) {
  const sim::Report report = run_small([&](SmallShared& shared) {
    SmallD d = {};
    isa::wgmma_fence();
    if (isa::tid_x() < 96) {
      isa::wgmma_mma_async<kSmall>(d, small_a(shared), small_b(shared), false);
      isa::wgmma_commit_group();
      isa::wgmma_wait_group<0>();
    }
    isa::syncthreads();
  });
  EXPECT_TRUE(report.has("deadlock")) << report.text();
  EXPECT_NE(report.text().find("waits for wgmmas that not all warps of the warpgroup have issued"),
            std::string::npos)
      << report.text();
}

TEST(Wgmma, AWarpThatExitsWithoutComingIsReported) {
  const sim::Report report = run_small([&](SmallShared& shared) {
    SmallD d = {};
    isa::wgmma_fence();
    if (isa::tid_x() >= 96) {
      isa::bar_sync(1, 128);
      return;
    }
    isa::wgmma_mma_async<kSmall>(d, small_a(shared), small_b(shared), false);
    isa::bar_sync(1, 128);
    isa::wgmma_commit_group();
    isa::wgmma_wait_group<0>();
  });
  EXPECT_EQ(first_line(report),
            "[divergence] warp 3 exits without a wgmma.mma_async that warp 0 of the same warpgroup has issued");
}

sim::Report first_wgmma(bool fences) {
  return run_small([&](SmallShared& shared) {
    SmallD d = {};
    if (fences) isa::wgmma_fence();
    isa::wgmma_mma_async<kSmall>(d, small_a(shared), small_b(shared), false);
    isa::wgmma_commit_group();
    isa::wgmma_wait_group<0>();
  });
}

TEST(WgmmaFence, AFirstWgmmaWithoutOneIsReported) {
  EXPECT_EQ(
      first_line(first_wgmma(false)),
      "[missing_wgmma_fence] wgmma.mma_async in a warp that has executed no wgmma.fence; the first one comes "
      "before the first wgmma.mma_async");
  EXPECT_TRUE(first_wgmma(true).ok());
}

struct SecondWgmma {
  bool changes;  // an accumulator between the two
  bool scale_d;
  bool fences;
};

sim::Report second_wgmma(const SecondWgmma& second, float& result) {
  return run_small([&](SmallShared& shared) {
    SmallD d = {};
    multiply_and_wait(d, small_a(shared), small_b(shared));
    if (second.changes) d[2] += 1;
    if (second.fences) isa::wgmma_fence();
    isa::wgmma_mma_async<kSmall>(d, small_a(shared), small_b(shared), second.scale_d);
    isa::wgmma_commit_group();
    isa::wgmma_wait_group<0>();
    if (isa::tid_x() == 0) result = d[2];
  });
}

TEST(WgmmaFence, ChangedAccumulatorsWithoutOneAreReported) {
  float result = 0;
  EXPECT_EQ(first_line(second_wgmma({.changes = true, .scale_d = true, .fences = false}, result)),
            "[missing_wgmma_fence] wgmma.mma_async adds to accumulators, changed by other code, that "
            "wgmma.wait_group gave back, with no wgmma.fence since");
  EXPECT_TRUE(second_wgmma({.changes = true, .scale_d = true, .fences = true}, result).ok());
  EXPECT_EQ(result, 33.0f);
}

TEST(WgmmaFence, OverwrittenResultsWithoutOneAreReported) {
  float result = 0;
  EXPECT_TRUE(
      second_wgmma({.changes = false, .scale_d = false, .fences = false}, result).has("missing_wgmma_fence"));
  EXPECT_TRUE(second_wgmma({.changes = false, .scale_d = false, .fences = true}, result).ok());
  EXPECT_EQ(result, 16.0f);
}

TEST(WgmmaFence, IsNotNeededWhereTheSameAccumulatorsGoOnUntouched) {
  float result = 0;
  EXPECT_TRUE(second_wgmma({.changes = false, .scale_d = true, .fences = false}, result).ok());
  EXPECT_EQ(result, 32.0f);
}

constexpr WgmmaShape kHalves{.n = 8, .a = OperandType::kF16, .b = OperandType::kF16, .d = AccumulatorType::kF16};

sim::Report with_accumulators_of_another_shape(bool waits) {
  return run_small([&](SmallShared& shared) {
    union {
      SmallD d;
      WgmmaAccumulators<kHalves> halves;
    } registers = {};
    isa::wgmma_fence();
    isa::wgmma_mma_async<kSmall>(registers.d, small_a(shared), small_b(shared), false);
    isa::wgmma_commit_group();
    if (waits) isa::wgmma_wait_group<0>();
    isa::wgmma_fence();
    isa::wgmma_mma_async<kHalves>(registers.halves, small_a(shared), small_b(shared), false);
    isa::wgmma_commit_group();
    isa::wgmma_wait_group<0>();
  });
}

TEST(Wgmma, AccumulatorsInFlightAsAnotherShapeAreReported) {
  EXPECT_TRUE(with_accumulators_of_another_shape(false).has("accumulator_in_flight"));
  EXPECT_TRUE(with_accumulators_of_another_shape(true).ok());
}

sim::Report two_wgmmas(bool commits, bool waits, const SmallLaunch& launch = {}) {
  return run_small(launch, [&](SmallShared& shared) {
    SmallD d = {};
    isa::wgmma_fence();
    isa::wgmma_mma_async<kSmall>(d, small_a(shared), small_b(shared), false);
    isa::wgmma_mma_async<kSmall>(d, small_a(shared), small_b(shared), true);
    if (commits) isa::wgmma_commit_group();
    if (waits) isa::wgmma_wait_group<0>();
  });
}

// Nobody sees what they make: it is told, and does not end the launch.
TEST(Wgmma, AnExitWithoutWaitingIsFormal) {
  const auto told = [](const sim::Report& report) {
    EXPECT_TRUE(report.ok()) << report.text();
    return report.formal.empty() ? std::string("nothing") : report.formal[0].text;
  };
  const std::string no_wait = told(two_wgmmas(true, false));
  EXPECT_TRUE(
      no_wait.starts_with("[exit_in_flight] formal: a thread exits while 2 wgmma.mma_async of its warpgroup have "
                          "not been waited for"))
      << no_wait;
  EXPECT_NE(no_wait.find("likely: no wgmma_wait_group<0>() before the end"), std::string::npos) << no_wait;
  const std::string no_commit = told(two_wgmmas(false, true));
  EXPECT_NE(no_commit.find("likely: no wgmma_commit_group() behind them"), std::string::npos) << no_commit;
  EXPECT_EQ(told(two_wgmmas(true, true)), "nothing");
}

TEST(Wgmma, AnotherArchitectureIsUnsupported) {
  EXPECT_EQ(
      first_line(two_wgmmas(true, true, {.arch = Arch::kSm100})),
      "[unsupported] wgmma.mma_async on sm_100; the instruction exists on sm_90a only, and tcgen05.mma takes "
      "its place");
}

// What the C++ interface refuses to compile still reaches the machine from other front ends.
TEST(Wgmma, ShapesThatDoNotExistAreFaultsOfTheMachine) {
  const auto code_of = [](const WgmmaShape& shape, bool a_in_registers = false) {
    const sim::LaunchOptions options;
    sim::machine::Machine machine(options, {}, 128, 4096);
    const std::vector<sim::machine::Thread*> threads = machine.start_clusters();
    const sim::machine::WgmmaOperands operands{.shape = shape, .a_in_registers = a_in_registers};
    try {
      machine.wgmma.mma_async(*threads.front(), operands, {});
    } catch (const sim::machine::Fault& fault) {
      return std::string(sim::name_of(fault.code));
    }
    return std::string("none");
  };
  EXPECT_EQ(code_of({.n = 12}), "bad_shape");
  EXPECT_EQ(code_of({.n = 264}), "bad_shape");
  EXPECT_EQ(code_of({.n = 8, .a = OperandType::kF16}), "bad_shape");
  EXPECT_EQ(code_of({.n = 8, .d = AccumulatorType::kF16}), "bad_shape");
  EXPECT_EQ(code_of({.n = 8, .a = OperandType::kTf32, .b = OperandType::kTf32, .b_major = Major::kMN}),
            "bad_descriptor");
  EXPECT_EQ(code_of({.n = 8, .a_major = Major::kMN}, true), "bad_descriptor");
  EXPECT_EQ(code_of({.n = 8}), "none");
}

struct Recorder : sim::Watcher<Recorder> {
  void on(const sim::event::MmaIssue&) { ++issues; }
  void on(const sim::event::MmaDone&) { ++dones; }
  void on(const sim::event::MmaFence&) { ++fences; }
  void on(const sim::event::MmaCommit&) { ++commits; }
  void on(const sim::event::MmaPass&) { ++passes; }
  void on(const sim::event::MmaReadShared& event) {
    bytes += event.bytes;
    ranges.emplace_back(event.address, event.bytes);
  }
  int issues = 0, dones = 0, fences = 0, commits = 0, passes = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges;
  std::uint32_t bytes = 0;
};

TEST(Wgmma, TellsObserversWhatItReadsAndWhenItIsDone) {
  Recorder recorder;
  const sim::Report report = two_wgmmas(true, true, {.observers = {&recorder}});
  ASSERT_TRUE(report.ok()) << report.text();
  EXPECT_EQ(report.stats.mmas, 2u);
  EXPECT_EQ(recorder.issues, 2 * 4);
  EXPECT_EQ(recorder.dones, 2);
  EXPECT_EQ(recorder.fences, 4);
  EXPECT_EQ(recorder.commits, 4);
  EXPECT_EQ(recorder.passes, 2 * 4);
  EXPECT_EQ(recorder.bytes, 2 * (64 * 16 + 8 * 16) * 2u);
  // Both tiles lie densely, so each is one range.
  EXPECT_EQ(recorder.ranges, (std::vector<std::pair<std::uint32_t, std::uint32_t>>{
                                 {1024, 2048}, {3072, 256}, {1024, 2048}, {3072, 256}}));
}

TEST(Wgmma, NamesOnlyTheBytesOfItsOwnStepWithinASwizzledRow) {
  const SmemDescriptor fields{.start_address = 0x420, .stride_bytes = 1024, .swizzle = Swizzle::k128B};
  const std::vector<sim::machine::SharedRange> ranges =
      sim::machine::operand_ranges(fields, Major::kK, OperandType::kBf16, 8);
  ASSERT_EQ(ranges.size(), 8u);
  for (std::uint32_t row = 0; row < 8; ++row) {
    EXPECT_EQ(ranges[row].address, 0x400 + 128 * row + (0x20 ^ (row / 2 * 32)));
    EXPECT_EQ(ranges[row].bytes, 32u);
  }
}

}  // namespace
}  // namespace heddle
