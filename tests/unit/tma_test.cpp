// SPDX-License-Identifier: Apache-2.0
//
// Bulk copies as a kernel sees them: issued by a thread, landed by the engine, waited for on barriers and in
// groups. What a box does to bytes is in tensor_copy_test.cpp; the reference here is the same. What is refused is
// in tma_fault_test.cpp, groups in bulk_group_test.cpp.
#include <heddle/host/tensor_map.h>
#include <heddle/isa/cluster.h>
#include <heddle/isa/fence.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/tma.h>
#include <heddle/sim/event.h>

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "../support/tiny_kernel.h"
#include "tensor_copy_reference.h"

namespace heddle::test {
namespace {

using sim::machine::Bytes;
using sim::machine::Case;
using sim::machine::kMargin;
using sim::machine::Random;
using sim::machine::same;

constexpr std::uint32_t kTileBytes = 52 * 1024;
constexpr std::uint32_t kSharedBase = 1024;  // where a kernel's shared memory begins

struct Shared {
  alignas(1024) unsigned char tile[kTileBytes];
  SharedMemBarrier bar;
};

void read_out(const unsigned char* shared, std::byte* out, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += 16) {
    const auto part = isa::ld_shared(reinterpret_cast<const isa::Bytes16*>(shared + at));
    std::memcpy(out + at, &part, 16);
  }
}

void write_in(unsigned char* shared, const std::byte* in, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += 16) {
    isa::Bytes16 part;
    std::memcpy(&part, in + at, 16);
    isa::st_shared(reinterpret_cast<isa::Bytes16*>(shared + at), part);
  }
  isa::fence_proxy_async_shared_cta();
}

// Calls issue with the coordinates as an array of the case's rank.
template <class Issue>
void at_rank(const Case& test, const Issue& issue) {
  const auto with = [&]<int rank>() {
    std::int32_t coords[rank];
    for (int d = 0; d < rank; ++d) coords[d] = test.coords[static_cast<std::size_t>(d)];
    issue(coords);
  };
  switch (test.map.rank) {
    case 1: return with.template operator()<1>();
    case 2: return with.template operator()<2>();
    case 3: return with.template operator()<3>();
    case 4: return with.template operator()<4>();
    default: return with.template operator()<5>();
  }
}

// A random box, its tensor in `content`, and its tile `offset` bytes into the kernel's shared memory.
struct Box {
  Box(Random& random, TensorType type, sim::machine::Reach reach)
      : test(random_case(random, type, reach)), content(random.bytes(test.memory_bytes)) {
    offset = test.shared_address;
    test.shared_address += kSharedBase;
    test.map.address = content.data() + kMargin;
    map = make_tensor_map(test.map);
    memory.add("tensor", content.data(), content.size());
  }
  unsigned char* tile(Shared& shared) const { return shared.tile + offset; }

  Case test;
  Bytes content;
  std::uint32_t offset = 0;
  TensorMap map;
  sim::GlobalMemory memory;
};

sim::Schedule schedule_of(int i) {
  return i % 4 == 0 ? sim::Schedule::round_robin() : sim::Schedule::random(static_cast<std::uint64_t>(i));
}

TEST(Tma, LoadsBoxesOfEveryRankAndTouchesNothingElse) {
  Random random(20261117);
  std::array<int, 6> ranks{};
  CaseShare share(10);
  for (int i = 0; i < 400; ++i) {
    Box box(random, sim::machine::kByteTypes[i % 13], sim::machine::Reach::kAnywhere);
    ++ranks[box.test.map.rank];
    if (!share.takes_next()) continue;
    const Bytes before = random.bytes(kTileBytes);
    Bytes expected(kSharedBase);
    expected.insert(expected.end(), before.begin(), before.end());
    load_by_hand(box.test, box.content, expected);
    Bytes loaded(kTileBytes);
    const auto tx_bytes = static_cast<std::uint32_t>(box.test.copy().bytes());
    const sim::Report report = run_kernel<Shared>(
        {.threads = 1, .memory = &box.memory, .schedule = schedule_of(i), .arch = Arch::kSm100},
        [&](Shared& shared) {
          init_barrier(&shared.bar, 1);
          write_in(shared.tile, before.data(), kTileBytes);
          isa::mbarrier_arrive_expect_tx(&shared.bar, tx_bytes);
          at_rank(box.test, [&](const auto& coords) {
            isa::cp_async_bulk_tensor_load(box.tile(shared), &box.map, coords, &shared.bar);
          });
          wait_parity(&shared.bar, 0);
          read_out(shared.tile, loaded.data(), kTileBytes);
        });
    ASSERT_TRUE(is_silent(report)) << box.test;
    ASSERT_TRUE(same(loaded, {expected.begin() + kSharedBase, expected.end()})) << box.test;
    ASSERT_EQ(report.stats.copy_bytes, tx_bytes);
  }
  for (int rank = 1; rank <= 5; ++rank) EXPECT_GT(ranks[static_cast<std::size_t>(rank)], 40) << "rank " << rank;
}

TEST(Tma, StoresBoxesOfEveryRankAndTouchesNothingElse) {
  Random random(20261118);
  CaseShare share(10);
  for (int i = 0; i < 400; ++i) {
    Box box(random, sim::machine::kByteTypes[i % 13], sim::machine::Reach::kNotNegative);
    if (!share.takes_next()) continue;
    const Bytes tile = random.bytes(kTileBytes);
    Bytes shared_image(kSharedBase);
    shared_image.insert(shared_image.end(), tile.begin(), tile.end());
    Bytes expected = box.content;
    store_by_hand(box.test, shared_image, expected);
    const sim::Report report = run_kernel<Shared>(
        {.threads = 1, .memory = &box.memory, .schedule = schedule_of(i), .arch = Arch::kSm100},
        [&](Shared& shared) {
          write_in(shared.tile, tile.data(), kTileBytes);
          at_rank(box.test, [&](const auto& coords) {
            isa::cp_async_bulk_tensor_store(&box.map, coords, box.tile(shared));
          });
          isa::cp_async_bulk_commit_group();
          isa::cp_async_bulk_wait_group<0>();
        });
    ASSERT_TRUE(is_silent(report)) << box.test;
    ASSERT_TRUE(same(box.content, expected)) << box.test;
  }
}

// A matrix of 8 x 16 numbers, of which a kernel copies 4 x 8.
struct Matrix {
  Matrix() {
    std::iota(&numbers[0][0], &numbers[0][0] + 128, 1u);
    memory.add("matrix", numbers, sizeof numbers);
    map = make_tensor_map({.type = TensorType::kU32,
                           .rank = 2,
                           .address = numbers,
                           .dims = {16, 8},
                           .strides = {64},
                           .box = {8, 4}});
  }

  alignas(128) std::uint32_t numbers[8][16] = {};
  TensorMap map;
  sim::GlobalMemory memory;
};

constexpr std::uint32_t kBoxBytes = 8 * 4 * 4;

TEST(Tma, ReductionCombinesWithWhatIsThere) {
  for (const sim::Schedule& schedule : some_schedules(4)) {
    Matrix matrix;
    std::uint32_t add[32];
    std::fill(std::begin(add), std::end(add), 1000u);
    // Three CTAs add at the same place; one takes the minimum elsewhere, one flips bits.
    const sim::Report report = run_kernel<Shared>(
        {.threads = 1, .grid = {5}, .memory = &matrix.memory, .schedule = schedule}, [&](Shared& shared) {
          write_in(shared.tile, reinterpret_cast<const std::byte*>(add), sizeof add);
          switch (isa::ctaid().x) {
            case 3:
              isa::cp_reduce_async_bulk_tensor<isa::ReduceOp::kMin>(&matrix.map, {8, 0}, shared.tile);
              break;
            case 4:
              isa::cp_reduce_async_bulk_tensor<isa::ReduceOp::kXor>(&matrix.map, {8, 4}, shared.tile);
              break;
            default: isa::cp_reduce_async_bulk_tensor<isa::ReduceOp::kAdd>(&matrix.map, {0, 2}, shared.tile);
          }
          isa::cp_async_bulk_commit_group();
          isa::cp_async_bulk_wait_group<0>();
        });
    EXPECT_TRUE(is_silent(report));
    for (std::uint32_t row = 0; row < 8; ++row) {
      for (std::uint32_t col = 0; col < 16; ++col) {
        const std::uint32_t before = 1 + 16 * row + col;
        const bool is_added = col < 8 && row >= 2 && row < 6;
        const bool is_flipped = col >= 8 && row >= 4;
        EXPECT_EQ(matrix.numbers[row][col], is_added ? before + 3000 : is_flipped ? (before ^ 1000u) : before);
      }
    }
  }
}

TEST(Tma, MulticastReachesTheMaskedCtasAndNoOther) {
  Matrix matrix;
  for (const std::uint32_t mask : {0xfu, 0x6u, 0x1u, 0x8u}) {
    for (const sim::Schedule& schedule : some_schedules(3)) {
      const Bytes before(kBoxBytes, std::byte{0x5a});
      std::array<Bytes, 4> tiles;
      for (Bytes& tile : tiles) tile.resize(kBoxBytes);
      const sim::Report report = run_kernel<Shared>(
          {.threads = 1, .grid = {4}, .cluster = {4}, .memory = &matrix.memory, .schedule = schedule},
          [&](Shared& shared) {
            const std::uint32_t rank = isa::cluster_ctarank();
            init_barrier(&shared.bar, 1);
            write_in(shared.tile, before.data(), kBoxBytes);
            isa::cluster_sync();
            if (rank == 0) {
              isa::cp_async_bulk_tensor_load_multicast(shared.tile, &matrix.map, {8, 4}, &shared.bar,
                                                       static_cast<std::uint16_t>(mask));
            }
            if ((mask >> rank & 1) != 0) {
              isa::mbarrier_arrive_expect_tx(&shared.bar, kBoxBytes);
              wait_parity_cluster(&shared.bar, 0);
            }
            read_out(shared.tile, tiles[rank].data(), kBoxBytes);
            isa::cluster_sync();
          });
      EXPECT_TRUE(is_silent(report)) << "mask " << mask;
      for (std::uint32_t rank = 0; rank < 4; ++rank) {
        Bytes expected = before;
        for (std::uint32_t row = 0; row < 4 && (mask >> rank & 1) != 0; ++row) {
          std::memcpy(expected.data() + 32 * row, &matrix.numbers[4 + row][8], 32);
        }
        EXPECT_TRUE(same(tiles[rank], expected)) << "mask " << mask << " rank " << rank;
      }
    }
  }
}

TEST(Tma, TilesOfAPairCountOnTheLeadersBarrier) {
  Matrix matrix;
  for (const bool multicast : {false, true}) {
    for (const sim::Schedule& schedule : some_schedules(6)) {
      std::array<Bytes, 4> tiles;
      for (Bytes& tile : tiles) tile.resize(kBoxBytes);
      const sim::Report report = run_kernel<Shared>(
          {.threads = 1,
           .grid = {4},
           .cluster = {4},
           .memory = &matrix.memory,
           .schedule = schedule,
           .arch = Arch::kSm100},
          [&](Shared& shared) {
            const std::uint32_t rank = isa::cluster_ctarank();
            init_barrier(&shared.bar, 1);
            isa::cluster_sync();
            MbarPtr leaders = isa::mapa(&shared.bar, rank & ~1u);
            if (!multicast) {
              isa::cp_async_bulk_tensor_load_cta_group_2(shared.tile, &matrix.map, {8, 4}, leaders);
            } else if (rank == 1) {
              isa::cp_async_bulk_tensor_load_multicast_cta_group_2(shared.tile, &matrix.map, {8, 4}, leaders,
                                                                   0xf);
            }
            if (rank % 2 == 0) {
              isa::mbarrier_arrive_expect_tx(&shared.bar, 2 * kBoxBytes);
              wait_parity_cluster(&shared.bar, 0);
            }
            isa::cluster_sync();
            read_out(shared.tile, tiles[rank].data(), kBoxBytes);
          });
      EXPECT_TRUE(is_silent(report));
      Bytes expected(kBoxBytes);
      for (std::uint32_t row = 0; row < 4; ++row) {
        std::memcpy(expected.data() + 32 * row, &matrix.numbers[4 + row][8], 32);
      }
      for (const Bytes& tile : tiles) EXPECT_TRUE(same(tile, expected));
    }
  }
}

TEST(Tma, LoadCanGoToAPeerWithoutAMask) {
  Matrix matrix;
  for (const sim::Schedule& schedule : some_schedules(3)) {
    Bytes tile(kBoxBytes);
    const sim::Report report = run_kernel<Shared>(
        {.threads = 1, .grid = {2}, .cluster = {2}, .memory = &matrix.memory, .schedule = schedule},
        [&](Shared& shared) {
          init_barrier(&shared.bar, 1);
          isa::cluster_sync();
          if (isa::cluster_ctarank() == 0) {
            isa::cp_async_bulk_tensor_load(isa::mapa(shared.tile + 0, 1), &matrix.map, {0, 0},
                                           isa::mapa(&shared.bar, 1));
          } else {
            isa::mbarrier_arrive_expect_tx(&shared.bar, kBoxBytes);
            wait_parity_cluster(&shared.bar, 0);
            read_out(shared.tile, tile.data(), kBoxBytes);
          }
          isa::cluster_sync();
        });
    EXPECT_TRUE(is_silent(report));
    for (std::size_t row = 0; row < 4; ++row) {
      EXPECT_EQ(std::memcmp(tile.data() + 32 * row, matrix.numbers[row], 32), 0);
    }
  }
}

TEST(Tma, FlatCopiesMoveBytesInAndOut) {
  Random random(3);
  for (const std::uint32_t bytes : {16u, 48u, 4096u, 33'280u}) {
    for (const sim::Schedule& schedule : some_schedules(2)) {
      Bytes input = random.bytes(bytes);
      Bytes output(bytes + 32);
      sim::GlobalMemory memory;
      memory.add_read_only("input", input.data(), input.size());
      memory.add("output", output.data(), output.size());
      const sim::Report report =
          run_kernel<Shared>({.threads = 1, .memory = &memory, .schedule = schedule}, [&](Shared& shared) {
            init_barrier(&shared.bar, 1);
            isa::cp_async_bulk_load(shared.tile + 16, input.data(), bytes, &shared.bar);
            isa::mbarrier_arrive_expect_tx(&shared.bar, bytes);
            wait_parity(&shared.bar, 0);
            isa::cp_async_bulk_store(output.data() + 16, shared.tile + 16, bytes);
            isa::cp_async_bulk_commit_group();
            isa::cp_async_bulk_wait_group<0>();
          });
      EXPECT_TRUE(is_silent(report));
      Bytes expected(16);
      expected.insert(expected.end(), input.begin(), input.end());
      expected.resize(bytes + 32);
      EXPECT_TRUE(same(output, expected)) << bytes << " bytes";
    }
  }
}

TEST(Tma, PeerCopyLandsInThePeerAndCompletesOnItsBarrier) {
  Random random(4);
  const Bytes sent = random.bytes(512);
  for (const sim::Schedule& schedule : some_schedules()) {
    Bytes received(512);
    const sim::Report report = run_kernel<Shared>(
        {.threads = 1, .grid = {2}, .cluster = {2}, .schedule = schedule}, [&](Shared& shared) {
          init_barrier(&shared.bar, 1);
          isa::cluster_sync();
          if (isa::cluster_ctarank() == 1) {
            write_in(shared.tile, sent.data(), sent.size());
            isa::cp_async_bulk_cluster(isa::mapa(shared.tile + 2048, 0), shared.tile, 512,
                                       isa::mapa(&shared.bar, 0));
          } else {
            isa::mbarrier_arrive_expect_tx(&shared.bar, 512);
            wait_parity_cluster(&shared.bar, 0);
            read_out(shared.tile + 2048, received.data(), 512);
          }
          isa::cluster_sync();
        });
    EXPECT_TRUE(is_silent(report));
    EXPECT_TRUE(same(received, sent));
  }
}

TEST(Tma, PrefetchesHaveNoEffect) {
  Matrix matrix;
  const sim::Report report = run_kernel<Shared>({.threads = 1, .memory = &matrix.memory}, [&](Shared&) {
    isa::prefetch_tensormap(&matrix.map);
    isa::cp_async_bulk_prefetch_tensor(&matrix.map, {8, -4});
  });
  EXPECT_TRUE(is_silent(report));
  EXPECT_EQ(report.stats.copies, 0u);
}

TEST(Tma, PiecesOfACopyLandOneByOne) {
  struct Watch : sim::Watcher<Watch> {
    void on(const sim::event::BarrierComplete& event) { landed.push_back(event.bytes); }
    std::vector<std::uint64_t> landed;
  } watch;
  Matrix matrix;
  EXPECT_TRUE(is_silent(
      run_kernel<Shared>({.threads = 1, .memory = &matrix.memory, .observers = {&watch}}, [&](Shared& shared) {
        init_barrier(&shared.bar, 1);
        isa::mbarrier_arrive_expect_tx(&shared.bar, kBoxBytes);
        isa::cp_async_bulk_tensor_load(shared.tile, &matrix.map, {0, 0}, &shared.bar);
        wait_parity(&shared.bar, 0);
      })));
  EXPECT_EQ(watch.landed, (std::vector<std::uint64_t>{32, 32, 32, 32}));
}

}  // namespace
}  // namespace heddle::test
