// SPDX-License-Identifier: Apache-2.0
//
// What the copy engine refuses, each with a neighbour that it takes.
#include <heddle/host/tensor_map.h>
#include <heddle/isa/cluster.h>
#include <heddle/isa/fence.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/tma.h>

#include <gtest/gtest.h>

#include <cstring>

#include "../support/tiny_kernel.h"

namespace heddle::test {
namespace {

struct Shared {
  alignas(1024) unsigned char tile[2048];
  SharedMemBarrier bar[2];
};

void clear(Shared& shared) {
  for (std::size_t at = 0; at < sizeof shared.tile; at += 16) {
    isa::st_shared(reinterpret_cast<isa::Bytes16*>(shared.tile + at), {});
  }
  isa::fence_proxy_async_shared_cta();
}

// 8 x 16 numbers, and a map with boxes of 4 x 8: 128 bytes.
class TmaFault : public ::testing::Test {
 protected:
  TmaFault() { memory_.add("matrix", numbers_, sizeof numbers_); }

  TensorMapSpec spec() const {
    return {.type = TensorType::kU32,
            .rank = 2,
            .address = numbers_,
            .dims = {16, 8},
            .strides = {64},
            .box = {8, 4}};
  }

  // One thread: what `issue` does, then everything that was issued ends.
  template <class Issue>
  sim::Report run(const Issue& issue, Arch arch = Arch::kSm90) const {
    return run_kernel<Shared>({.threads = 1, .memory = &memory_, .arch = arch}, [&](Shared& shared) {
      init_barrier(shared.bar, 1);
      clear(shared);
      issue(shared);
    });
  }

  template <int rank>
  sim::Report load(const TensorMap* map, const std::int32_t (&coords)[rank], std::ptrdiff_t tile = 0,
                   Arch arch = Arch::kSm90) const {
    return run(
        [&](Shared& shared) {
          isa::mbarrier_arrive_expect_tx(shared.bar, 128);
          isa::cp_async_bulk_tensor_load(shared.tile + tile, map, coords, shared.bar);
          wait_parity(shared.bar, 0);
        },
        arch);
  }

  template <int rank>
  sim::Report store(const TensorMap* map, const std::int32_t (&coords)[rank], std::ptrdiff_t tile = 0) const {
    return run([&](Shared& shared) {
      isa::cp_async_bulk_tensor_store(map, coords, shared.tile + tile);
      isa::cp_async_bulk_commit_group();
      isa::cp_async_bulk_wait_group<0>();
    });
  }

  sim::Report flat_load(const void* global, std::uint32_t bytes, std::ptrdiff_t tile) const {
    return run([=](Shared& shared) {
      isa::mbarrier_arrive_expect_tx(shared.bar, bytes);
      isa::cp_async_bulk_load(shared.tile + tile, global, bytes, shared.bar);
      wait_parity(shared.bar, 0);
    });
  }

  alignas(128) std::uint32_t numbers_[8][16] = {};
  sim::GlobalMemory memory_;
};

TEST_F(TmaFault, NullAndMisalignedMapsAreReported) {
  alignas(128) unsigned char room[256];
  const TensorMap map = make_tensor_map(spec());
  std::memcpy(room + 32, &map, sizeof map);
  EXPECT_TRUE(faults_with(load(nullptr, {0, 0}), "bad_tensor_map",
                          "[bad_tensor_map] a copy with a null pointer instead of a tensor map"));
  EXPECT_TRUE(
      faults_with(load(reinterpret_cast<const TensorMap*>(room + 32), {0, 0}), "bad_tensor_map",
                  "[bad_tensor_map] a copy with a tensor map that is aligned to 32 bytes; it must be aligned "
                  "to 64"));
  std::memcpy(room + 128, &map, sizeof map);
  EXPECT_TRUE(is_silent(load(reinterpret_cast<const TensorMap*>(room + 128), {0, 0})));
}

TEST_F(TmaFault, BytesThatAreNoMapAreReported) {
  TensorMap map = {};
  EXPECT_TRUE(faults_with(load(&map, {0, 0}), "bad_tensor_map",
                          "[bad_tensor_map] cp.async.bulk.tensor load with a tensor map that was not made by "
                          "make_tensor_map"));
  EXPECT_TRUE(faults_with(store(&map, {0, 0}), "bad_tensor_map",
                          "[bad_tensor_map] cp.async.bulk.tensor store with a tensor map that was not made by "
                          "make_tensor_map"));
  map = make_tensor_map(spec());
  EXPECT_TRUE(is_silent(load(&map, {0, 0})));
  EXPECT_TRUE(is_silent(store(&map, {0, 0})));
}

TEST_F(TmaFault, MapWithAnyBitFlippedIsReported) {
  const TensorMap whole = make_tensor_map(spec());
  EXPECT_TRUE(is_silent(load(&whole, {0, 0})));
  for (int bit = 0; bit < 1024; bit += 7) {
    TensorMap map = whole;
    map.opaque[bit / 64] ^= std::uint64_t{1} << bit % 64;
    EXPECT_TRUE(load(&map, {0, 0}).has("bad_tensor_map")) << "bit " << bit;
  }
}

TEST_F(TmaFault, MapOfANewerArchitectureIsReported) {
  TensorMapSpec newer = spec();
  newer.swizzle = Swizzle::k128BAtom32B;
  const TensorMap map = make_tensor_map(newer);
  const sim::Report report = load(&map, {0, 0}, 0, Arch::kSm90);
  EXPECT_TRUE(report.has("bad_tensor_map"));
  EXPECT_EQ(first_line(report),
            "[bad_tensor_map] cp.async.bulk.tensor load with a tensor map that sm_90 does not take: tensor map: "
            "swizzle "
            "128B with 32-byte atoms exists from sm_100 on, not on this device. Use 128B.");
  EXPECT_TRUE(is_silent(load(&map, {0, 0}, 0, Arch::kSm100)));
}

TEST_F(TmaFault, PrefetchOfABadMapIsReported) {
  const TensorMap map = make_tensor_map(spec());
  const auto prefetch = [&](const TensorMap* which) {
    return run([=](Shared&) { isa::prefetch_tensormap(which); });
  };
  EXPECT_TRUE(faults_with(prefetch(nullptr), "bad_tensor_map",
                          "[bad_tensor_map] a copy with a null pointer instead of a tensor map"));
  EXPECT_TRUE(is_silent(prefetch(&map)));
  const auto prefetch_at = [&](std::int32_t col) {
    return run([=, &map](Shared&) { isa::cp_async_bulk_prefetch_tensor(&map, {col, 0}); });
  };
  EXPECT_TRUE(
      faults_with(prefetch_at(2), "bad_coordinates",
                  "[bad_coordinates] cp.async.bulk.prefetch.tensor with first coordinate 2; a box starts on a "
                  "multiple of 16 bytes, here 4 elements"));
  EXPECT_TRUE(is_silent(prefetch_at(4)));
}

TEST_F(TmaFault, CoordinatesOfAnotherRankAreReported) {
  const TensorMap map = make_tensor_map(spec());
  EXPECT_TRUE(
      faults_with(load(&map, {0, 0, 0}), "bad_coordinates",
                  "[bad_coordinates] cp.async.bulk.tensor load with 3 coordinates on a tensor map of rank 2"));
  EXPECT_TRUE(is_silent(load(&map, {0, 0})));
}

TEST_F(TmaFault, BoxThatStartsOffSixteenBytesIsReported) {
  const TensorMap map = make_tensor_map(spec());
  EXPECT_TRUE(
      faults_with(load(&map, {-6, 0}), "bad_coordinates",
                  "[bad_coordinates] cp.async.bulk.tensor load with first coordinate -6; a box starts on a "
                  "multiple of 16 bytes, here 4 elements"));
  EXPECT_TRUE(is_silent(load(&map, {-4, 0})));
  EXPECT_TRUE(
      faults_with(store(&map, {7, 0}), "bad_coordinates",
                  "[bad_coordinates] cp.async.bulk.tensor store with first coordinate 7; a box starts on a "
                  "multiple of 16 bytes, here 4 elements"));
  EXPECT_TRUE(is_silent(store(&map, {8, 0})));
}

TEST_F(TmaFault, StoreBelowTheTensorIsReported) {
  const TensorMap map = make_tensor_map(spec());
  EXPECT_TRUE(
      faults_with(store(&map, {0, -1}), "bad_coordinates",
                  "[bad_coordinates] cp.async.bulk.tensor store with coordinate -1 in dimension 1; stores "
                  "start at 0 or above"));
  EXPECT_TRUE(is_silent(store(&map, {0, 7}))) << "past the upper end it is clipped";
  EXPECT_TRUE(is_silent(load(&map, {0, -1}))) << "a load fills with zeros";
}

TEST_F(TmaFault, MisalignedTileIsReported) {
  const TensorMap map = make_tensor_map(spec());
  EXPECT_TRUE(
      faults_with(load(&map, {0, 0}, 64), "misaligned",
                  "[misaligned] cp.async.bulk.tensor load at shared address 0x440; a tile is aligned to 128 "
                  "bytes"));
  EXPECT_TRUE(is_silent(load(&map, {0, 0}, 128)));
  EXPECT_TRUE(
      faults_with(store(&map, {0, 0}, 16), "misaligned",
                  "[misaligned] cp.async.bulk.tensor store at shared address 0x410; a tile is aligned to 128 "
                  "bytes"));
  EXPECT_TRUE(is_silent(store(&map, {0, 0}, 256)));
}

TEST_F(TmaFault, TileThatDoesNotFitIntoSharedMemoryIsReported) {
  const TensorMap map = make_tensor_map(spec());
  EXPECT_TRUE(faults_with(load(&map, {0, 0}, 3072), "shared_out_of_bounds",
                          "[shared_out_of_bounds] cp.async.bulk.tensor load of a box that ends at shared address "
                          "0x1080, but the CTA's shared memory ends at 0x1000"));
  EXPECT_TRUE(is_silent(load(&map, {0, 0}, 1920)));
}

TEST_F(TmaFault, TensorBeyondItsAllocationIsReported) {
  TensorMapSpec tall = spec();
  tall.dims[1] = 9;
  const TensorMap map = make_tensor_map(tall);
  const sim::Report report = load(&map, {0, 5});
  EXPECT_TRUE(
      faults_with(report, "global_out_of_bounds",
                  "[global_out_of_bounds] a bulk load of 128 bytes reaches 0 bytes behind the end of matrix"));
  EXPECT_TRUE(is_silent(load(&map, {0, 4})));
  EXPECT_TRUE(
      faults_with(store(&map, {0, 5}), "global_out_of_bounds",
                  "[global_out_of_bounds] a bulk store of 128 bytes reaches 0 bytes behind the end of matrix"));
  EXPECT_TRUE(is_silent(store(&map, {0, 4})));
}

TEST_F(TmaFault, BarrierThatIsNotInitialisedIsReported) {
  const TensorMap map = make_tensor_map(spec());
  const auto load_on = [&](std::uint32_t which) {
    return run([&, which](Shared& shared) {
      isa::mbarrier_arrive_expect_tx(shared.bar, 128);
      isa::cp_async_bulk_tensor_load(shared.tile, &map, {0, 0}, shared.bar + which);
      wait_parity(shared.bar, 0);
    });
  };
  EXPECT_TRUE(
      faults_with(load_on(1), "uninitialised_barrier",
                  "[uninitialised_barrier] cp.async.bulk.tensor load on the barrier at shared address 0xc08, "
                  "which is not initialised"));
  EXPECT_TRUE(is_silent(load_on(0)));
}

TEST_F(TmaFault, WhatIsNotModelledStopsByName) {
  TensorMapSpec deep = spec();
  deep.rank = 3;
  deep.dims[2] = deep.box[2] = 1;
  deep.strides[1] = 512;
  const TensorMap plain = make_tensor_map(deep);
  deep.interleave = Interleave::k16B;
  const TensorMap interleaved = make_tensor_map(deep);
  EXPECT_TRUE(faults_with(load(&interleaved, {0, 0, 0}), "unsupported",
                          "[unsupported] cp.async.bulk.tensor load of an interleaved tensor"));
  EXPECT_TRUE(is_silent(load(&plain, {0, 0, 0})));
}

TEST_F(TmaFault, ReductionThatTheTypeDoesNotHaveIsReported) {
  TensorMapSpec floats = spec();
  floats.type = TensorType::kF32;
  const TensorMap map = make_tensor_map(floats);
  const auto reduce = [&](bool add) {
    return run([&, add](Shared& shared) {
      if (add) {
        isa::cp_reduce_async_bulk_tensor<isa::ReduceOp::kAdd>(&map, {0, 0}, shared.tile);
      } else {
        isa::cp_reduce_async_bulk_tensor<isa::ReduceOp::kXor>(&map, {0, 0}, shared.tile);
      }
      isa::cp_async_bulk_commit_group();
      isa::cp_async_bulk_wait_group<0>();
    });
  };
  EXPECT_TRUE(faults_with(reduce(false), "unsupported",
                          "[unsupported] cp.reduce.async.bulk.tensor with operation 7 on tensor type 7"));
  EXPECT_TRUE(is_silent(reduce(true)));
}

TEST_F(TmaFault, FlatCopiesOffSixteenBytesAreReported) {
  EXPECT_TRUE(faults_with(flat_load(numbers_, 24, 0), "misaligned",
                          "[misaligned] cp.async.bulk load with a size of 0x18; it must be a multiple of 16"));
  EXPECT_TRUE(
      faults_with(flat_load(numbers_, 32, 8), "misaligned",
                  "[misaligned] cp.async.bulk load with the shared address 0x408; it must be a multiple of 16"));
  const sim::Report report = flat_load(&numbers_[0][1], 32, 0);
  EXPECT_TRUE(report.has("misaligned"));
  EXPECT_EQ(first_line(report).rfind("[misaligned] cp.async.bulk load with the other address ", 0), 0u)
      << report.text();
  EXPECT_TRUE(is_silent(flat_load(&numbers_[0][4], 32, 16)));
}

TEST_F(TmaFault, FlatCopiesOutOfBoundsAreReported) {
  EXPECT_TRUE(
      faults_with(flat_load(numbers_, 512, 2576), "shared_out_of_bounds",
                  "[shared_out_of_bounds] cp.async.bulk load of 512 bytes at shared address 0xe10, outside of "
                  "the CTA's shared memory [0x400, 0x1000)"));
  EXPECT_TRUE(is_silent(flat_load(numbers_, 512, 1536)));
  EXPECT_TRUE(
      faults_with(flat_load(&numbers_[7][12], 32, 0), "global_out_of_bounds",
                  "[global_out_of_bounds] a bulk load of 32 bytes reaches 0 bytes behind the end of matrix"));
  EXPECT_TRUE(is_silent(flat_load(&numbers_[7][12], 16, 0)));
}

TEST_F(TmaFault, SizeBelowZeroIsReported) {
  const auto store_of = [&](std::int32_t bytes) {
    return run([&, bytes](Shared& shared) {
      isa::cp_async_bulk_store(numbers_, shared.tile, static_cast<std::uint32_t>(bytes));
      isa::cp_async_bulk_commit_group();
      isa::cp_async_bulk_wait_group<0>();
    });
  };
  EXPECT_TRUE(is_silent(store_of(16)));
  EXPECT_TRUE(is_silent(store_of(0)));
  EXPECT_TRUE(
      faults_with(store_of(-16), "shared_out_of_bounds",
                  "[shared_out_of_bounds] cp.async.bulk store of 4294967280 bytes at shared address 0x400, "
                  "outside of the CTA's shared memory [0x400, 0x1000)"));
}

TEST_F(TmaFault, ExitWithALoadInFlightIsReported) {
  const TensorMap map = make_tensor_map(spec());
  std::uint32_t line = 0;
  const auto run_and = [&](bool waits) {
    return run([&, waits](Shared& shared) {
      isa::mbarrier_arrive_expect_tx(shared.bar, 128);
      line = __LINE__ + 1;
      isa::cp_async_bulk_tensor_load(shared.tile, &map, {0, 0}, shared.bar);
      if (waits) wait_parity(shared.bar, 0);
    });
  };
  const sim::Report report = run_and(false);
  EXPECT_EQ(report.text(),
            "[exit_in_flight] the CTA exits while a bulk load of 128 bytes is in flight on its shared memory\n" +
                line_at("issued at", "tma_fault_test.cpp", line) +
                "  likely: nobody waits for it before the end; drain the pipeline, or wait for its full barrier\n"
                "  again: tiny with schedule rr\n");
  EXPECT_TRUE(is_silent(run_and(true)));
}

TEST_F(TmaFault, ExitBeforeAStoreHasReadItsSourceIsReported) {
  const TensorMap map = make_tensor_map(spec());
  const auto run_and = [&](bool waits) {
    return run([&, waits](Shared& shared) {
      isa::cp_async_bulk_tensor_store(&map, {0, 0}, shared.tile);
      isa::cp_async_bulk_commit_group();
      if (waits) isa::cp_async_bulk_wait_group_read<0>();
    });
  };
  const sim::Report report = run_and(false);
  ASSERT_EQ(report.formal.size(), 1u) << report.text();
  EXPECT_EQ(
      report.formal[0].text.find("[exit_in_flight] formal: the CTA exits while a bulk store of 128 bytes is in "
                                 "flight on its shared memory\n"),
      0u)
      << report.remarks();
  EXPECT_TRUE(run_and(true).formal.empty());
}

TEST_F(TmaFault, BarrierInAnotherCtaThanTheTileIsReported) {
  const TensorMap map = make_tensor_map(spec());
  const auto run_with = [&](std::uint32_t barrier_rank, std::uint16_t mask) {
    return run_kernel<Shared>({.threads = 1, .grid = {2}, .cluster = {2}, .memory = &memory_},
                              [&, barrier_rank, mask](Shared& shared) {
                                init_barrier(shared.bar, 1);
                                isa::cluster_sync();
                                if (isa::cluster_ctarank() == 0) {
                                  isa::mbarrier_arrive_expect_tx(shared.bar, 128);
                                  const MbarPtr bar = isa::mapa(shared.bar + 0, barrier_rank);
                                  isa::cp_async_bulk_tensor_load_multicast(shared.tile, &map, {0, 0}, bar, mask);
                                  wait_parity_cluster(shared.bar, 0);
                                }
                                isa::cluster_sync();
                              });
  };
  EXPECT_TRUE(
      faults_with(run_with(1, 1), "bad_rank",
                  "[bad_rank] cp.async.bulk.tensor load into rank 0 with a barrier of rank 1; the barrier lies "
                  "in the CTA that gets the tile"));
  EXPECT_TRUE(
      faults_with(run_with(0, 5), "bad_rank",
                  "[bad_rank] cp.async.bulk.tensor load multicast with mask 0x5; it names CTAs of the cluster, "
                  "which has 2"));
  EXPECT_TRUE(
      faults_with(run_with(0, 0), "bad_rank",
                  "[bad_rank] cp.async.bulk.tensor load multicast with mask 0x0; it names CTAs of the cluster, "
                  "which has 2"));
  EXPECT_TRUE(is_silent(run_with(0, 1)));
}

TEST_F(TmaFault, PairsThatTheLaunchDoesNotHaveAreReported) {
  const TensorMap map = make_tensor_map(spec());
  const auto report = [&](Arch arch, std::uint32_t cluster, std::uint32_t barrier_rank) {
    return run_kernel<Shared>({.threads = 1,
                               .grid = {cluster},
                               .cluster = {cluster},
                               .memory = &memory_,
                               .schedule = sim::Schedule::round_robin(),
                               .arch = arch},
                              [&](Shared& shared) {
                                init_barrier(shared.bar, 1);
                                isa::cluster_sync();
                                if (isa::cluster_ctarank() == 0) {
                                  MbarPtr bar = isa::mapa(&shared.bar[0], barrier_rank);
                                  isa::cp_async_bulk_tensor_load_cta_group_2(shared.tile, &map, {0, 0}, bar);
                                }
                                isa::cluster_sync();
                              });
  };
  EXPECT_TRUE(
      faults_with(report(Arch::kSm90, 2, 0), "unsupported",
                  "[unsupported] cp.async.bulk.tensor load with cta_group 2, which needs sm_100a; this run "
                  "is of sm_90a"));
  EXPECT_TRUE(
      faults_with(report(Arch::kSm100, 3, 0), "bad_rank",
                  "[bad_rank] cp.async.bulk.tensor load with cta_group 2 in a cluster of 3; CTAs pair up in "
                  "clusters of an even size"));
  EXPECT_TRUE(
      faults_with(report(Arch::kSm100, 4, 2), "bad_rank",
                  "[bad_rank] cp.async.bulk.tensor load into rank 0 with a barrier of rank 2; the barrier "
                  "lies in the CTA that gets the tile or in its peer"));
}

TEST_F(TmaFault, StoreFromAPeersSharedMemoryIsReported) {
  const TensorMap map = make_tensor_map(spec());
  const auto store_from = [&](std::uint32_t rank) {
    return run_kernel<Shared>({.threads = 1, .grid = {2}, .cluster = {2}, .memory = &memory_},
                              [&, rank](Shared& shared) {
                                clear(shared);
                                isa::cluster_sync();
                                if (isa::cluster_ctarank() == 0) {
                                  isa::cp_async_bulk_tensor_store(&map, {0, 0}, isa::mapa(shared.tile + 0, rank));
                                  isa::cp_async_bulk_commit_group();
                                  isa::cp_async_bulk_wait_group<0>();
                                }
                                isa::cluster_sync();
                              });
  };
  EXPECT_TRUE(
      faults_with(store_from(1), "bad_rank",
                  "[bad_rank] cp.async.bulk.tensor store from the shared memory of rank 1; a CTA stores from "
                  "its own (rank 0)"));
  EXPECT_TRUE(is_silent(store_from(0)));
}

}  // namespace
}  // namespace heddle::test
