// SPDX-License-Identifier: Apache-2.0
//
// Fences between the proxies, and the hand-over of shared memory to and from copies that read it. Every fault
// has a twin that differs in one line and must stay silent.
#include "race_kernels.h"

namespace heddle::race_test {
namespace {

// Two warps fill a tile with ordinary stores, and one thread stores it to global memory; twice, so that the
// tile is written again after it was read.
struct StoreTile {
  enum class Flaw : std::uint8_t {
    kNone,
    kNoFence,
    kFenceBeforeWrites,
    kFenceInIssuerOnly,
    kFenceInBystander,
    kFenceBeforeBarrier,
    kFenceOfOneWriter,
    kGlobalFence,
    kNoBarrier,
    kNoReadWait,
    kNoCommit,
    kWaitInOtherThread,
    kWaitAllowsOne,
    kWaitAfterHandOver,
    kMissingRow
  };
  struct Params {
    isa::TensorMap map;
    Flaw flaw = Flaw::kNone;
    bool wide_fence = false;
    bool waits_for_all = false;  // not only until the tile was read
  };
  struct Shared {
    alignas(1024) std::uint32_t tile[32][32];
  };
  static constexpr std::uint32_t kThreads = 64;

  static void fence(const Params& p) {
    if (p.wide_fence) isa::fence_proxy_async();
    else isa::fence_proxy_async_shared_cta();
  }

  static void run(const Params& p, Shared& s) {
    isa::annotate_role(isa::warp_idx() == 0 ? "store" : "help");
    const bool issues = isa::warp_idx() == 0 && isa::elect_sync();
    for (int turn = 0; turn < 2; ++turn) {
      if (p.flaw == Flaw::kFenceBeforeWrites) fence(p);
      for (std::uint32_t i = 0; i < 16; ++i) {
        const std::uint32_t row = isa::warp_idx() * 16 + i;
        if (p.flaw == Flaw::kMissingRow && row == 20) continue;
        isa::st_shared(&s.tile[row][isa::laneid()], row);
      }
      switch (p.flaw) {
        case Flaw::kNoFence:
        case Flaw::kFenceBeforeWrites:
        case Flaw::kFenceInIssuerOnly:
        case Flaw::kFenceInBystander: break;
        case Flaw::kFenceBeforeBarrier:  // in the thread that issues, which does not know the other warp's writes
                                         // yet
          if (issues) fence(p);
          break;
        case Flaw::kFenceOfOneWriter:
          if (isa::warp_idx() == 1) fence(p);
          break;
        case Flaw::kGlobalFence: isa::fence_proxy_async_global(); break;
        default: fence(p);
      }
      if (p.flaw != Flaw::kNoBarrier) isa::bar_sync(1, 64);
      if (p.flaw == Flaw::kFenceInBystander && isa::tid_x() == 33) fence(p);
      if (issues) {
        if (p.flaw == Flaw::kFenceInIssuerOnly) fence(p);
        isa::cp_async_bulk_tensor_store(&p.map, {0, turn * 32}, s.tile);
        if (p.flaw != Flaw::kNoCommit) isa::cp_async_bulk_commit_group();
      }
      wait_for_read(p, issues);
      isa::bar_sync(2, 64);
      if (p.flaw == Flaw::kWaitAfterHandOver && issues) isa::cp_async_bulk_wait_group_read<0>();
    }
    // Whatever the flaw, the copies are over before the CTA ends.
    if (issues) {
      isa::cp_async_bulk_commit_group();
      isa::cp_async_bulk_wait_group<0>();
    }
  }

  static void wait_for_read(const Params& p, bool issues) {
    switch (p.flaw) {
      case Flaw::kNoReadWait:
      case Flaw::kWaitAfterHandOver: break;
      case Flaw::kWaitInOtherThread:
        if (isa::tid_x() == 32) isa::cp_async_bulk_wait_group_read<0>();
        break;
      case Flaw::kWaitAllowsOne:
        if (issues) isa::cp_async_bulk_wait_group_read<1>();
        break;
      default:
        if (!issues) break;
        if (p.waits_for_all) isa::cp_async_bulk_wait_group<0>();
        else isa::cp_async_bulk_wait_group_read<0>();
    }
  }
};

void expect_store(StoreTile::Flaw flaw, const std::string& code) {
  Host host;
  expect_found<StoreTile>(host, {.grid = {1}}, {host.output_map(), flaw}, {code});
}

TEST(RaceChecker, IsSilentOnFencedStores) {
  Host host;
  StoreTile::Params params{host.output_map()};
  expect_silent<StoreTile>(host, {.grid = {1}}, params, 200);
  params.wide_fence = true;
  expect_silent<StoreTile>(host, {.grid = {1}}, params);
  params.waits_for_all = true;
  expect_silent<StoreTile>(host, {.grid = {1}}, params);
}

TEST(RaceChecker, FindsMissingProxyFenceBeforeStore) {
  expect_store(StoreTile::Flaw::kNoFence, "missing_proxy_fence");
  expect_store(StoreTile::Flaw::kFenceBeforeWrites, "missing_proxy_fence");
}

TEST(RaceChecker, TakesAProxyFenceInTheReader) {
  Host host;
  expect_silent<StoreTile>(host, {.grid = {1}}, {host.output_map(), StoreTile::Flaw::kFenceInIssuerOnly});
}

TEST(RaceChecker, FindsProxyFenceOffThePathOfOrder) {
  expect_store(StoreTile::Flaw::kFenceInBystander, "missing_proxy_fence");
  expect_store(StoreTile::Flaw::kFenceBeforeBarrier, "missing_proxy_fence");
  expect_store(StoreTile::Flaw::kFenceOfOneWriter, "missing_proxy_fence");
}

TEST(RaceChecker, DoesNotTakeTheGlobalProxyFenceForTheSharedOne) {
  expect_store(StoreTile::Flaw::kGlobalFence, "missing_proxy_fence");
}

// A tile goes from the warp that writes it through a warp that only hands it on to the warp that stores it.
struct FenceBetween {
  enum class Fence : std::uint8_t { kNone, kBetween, kBetweenTooEarly, kBetweenTooLate };
  struct Params {
    std::uint32_t* out;
    Fence fence;
  };
  struct Shared {
    alignas(128) isa::Bytes16 tile[32];
    SharedMemBarrier written, passed;
  };
  static constexpr std::uint32_t kThreads = 96;

  static void run(const Params& p, Shared& s) {
    if (isa::tid_x() == 0) {
      isa::mbarrier_init(&s.written, 32);
      isa::mbarrier_init(&s.passed, 1);
      isa::fence_mbarrier_init();
    }
    isa::syncthreads();
    if (isa::warp_idx() == 0) {
      isa::st_shared(&s.tile[isa::laneid()], isa::Bytes16{});
      isa::mbarrier_arrive(&s.written);
    } else if (isa::tid_x() == 32) {
      if (p.fence == Fence::kBetweenTooEarly) isa::fence_proxy_async_shared_cta();
      wait(&s.written, 0);
      if (p.fence == Fence::kBetween) isa::fence_proxy_async_shared_cta();
      isa::mbarrier_arrive(&s.passed);
      if (p.fence == Fence::kBetweenTooLate) isa::fence_proxy_async_shared_cta();
    } else if (isa::tid_x() == 64) {
      wait(&s.passed, 0);
      isa::cp_async_bulk_store(p.out, s.tile, sizeof(s.tile));
      isa::cp_async_bulk_commit_group();
      isa::cp_async_bulk_wait_group<0>();
    }
  }
};

TEST(RaceChecker, TakesAProxyFenceInAThreadBetween) {
  using Fence = FenceBetween::Fence;
  Host host;
  expect_silent<FenceBetween>(host, {.grid = {1}}, {host.words.data(), Fence::kBetween});
  for (const Fence fence : {Fence::kNone, Fence::kBetweenTooEarly, Fence::kBetweenTooLate}) {
    expect_found<FenceBetween>(host, {.grid = {1}}, {host.words.data(), fence}, {"missing_proxy_fence"});
  }
}

TEST(RaceChecker, FindsMissingBarrierBeforeStore) { expect_store(StoreTile::Flaw::kNoBarrier, "race"); }

TEST(RaceChecker, FindsSourceOverwrittenBeforeItWasRead) {
  expect_store(StoreTile::Flaw::kNoReadWait, "write_while_read");
  expect_store(StoreTile::Flaw::kWaitAllowsOne, "write_while_read");
}

TEST(RaceChecker, FindsWaitWithoutCommit) { expect_store(StoreTile::Flaw::kNoCommit, "write_while_read"); }

TEST(RaceChecker, FindsWaitInAnotherThreadThanTheIssuer) {
  expect_store(StoreTile::Flaw::kWaitInOtherThread, "write_while_read");
}

TEST(RaceChecker, FindsWaitAfterTheTileWasHandedOver) {
  expect_store(StoreTile::Flaw::kWaitAfterHandOver, "write_while_read");
}

TEST(RaceChecker, FindsStoreOfRowThatNobodyWrote) {
  expect_store(StoreTile::Flaw::kMissingRow, "uninitialised_read");
}

TEST(RaceChecker, NamesBothSidesOfAMissingProxyFence) {
  Host host;
  const std::string text =
      whole_text<StoreTile>(host, {.grid = {1}}, {host.output_map(), StoreTile::Flaw::kFenceInBystander});
  EXPECT_EQ(
      text.find("[missing_proxy_fence] a bulk store reads bytes 0 to 15 of the shared memory after an st.shared, "
                "without fence.proxy.async between the two\n"),
      0u)
      << text;
  EXPECT_NE(text.find("store, warp 0, lane 0: st.shared of 4 bytes"), std::string::npos) << text;
  EXPECT_NE(text.find("store, warp 0, lane 0: bulk store of 4096 bytes"), std::string::npos) << text;
  EXPECT_NE(text.find("likely: fence_proxy_async_shared_cta() is missing"), std::string::npos) << text;
}

// One thread stores from two buffers in turn, and keeps one store under way.
struct TwoBuffers {
  struct Params {
    std::uint32_t* out;
    std::uint32_t rewrites;  // which buffer, while the second store may be under way
  };
  struct Shared {
    alignas(128) isa::Bytes16 buffer[2];
  };
  static constexpr std::uint32_t kThreads = 32;

  static void run(const Params& p, Shared& s) {
    if (isa::tid_x() != 0) return;
    for (std::uint32_t i = 0; i < 2; ++i) {
      isa::st_shared(&s.buffer[i], isa::Bytes16{});
      isa::fence_proxy_async_shared_cta();
      isa::cp_async_bulk_store(p.out + 4 * i, &s.buffer[i], 16);
      isa::cp_async_bulk_commit_group();
    }
    isa::cp_async_bulk_wait_group_read<1>();
    isa::st_shared(&s.buffer[p.rewrites], isa::Bytes16{});
    isa::cp_async_bulk_wait_group_read<0>();
  }
};

TEST(RaceChecker, CountsTheGroupsThatMayStayPending) {
  Host host;
  expect_silent<TwoBuffers>(host, {.grid = {1}}, {host.words.data(), 0});
  expect_found<TwoBuffers>(host, {.grid = {1}}, {host.words.data(), 1}, {"write_while_read"});
}

// A thread writes a word and then issues a copy; another waits for the copy and reads the word.
struct WordBesideCopy {
  struct Params {
    const std::uint32_t* source;
    bool issuer_arrives;
  };
  struct Shared {
    alignas(128) isa::Bytes16 tile;
    std::uint32_t word;
    SharedMemBarrier full;
  };
  static constexpr std::uint32_t kThreads = 64;

  static void run(const Params& p, Shared& s) {
    if (isa::tid_x() == 0) {
      isa::mbarrier_init(&s.full, 1);
      isa::fence_mbarrier_init();
    }
    isa::syncthreads();
    if (isa::tid_x() == 0) {
      isa::st_shared(&s.word, 1u);
      if (p.issuer_arrives) isa::mbarrier_arrive_expect_tx(&s.full, 16);
      isa::cp_async_bulk_load(&s.tile, p.source, 16, &s.full);
    }
    if (isa::tid_x() == 32) {
      if (!p.issuer_arrives) isa::mbarrier_arrive_expect_tx(&s.full, 16);
      wait(&s.full, 0);
      isa::ld_shared(&s.tile);
      isa::ld_shared(&s.word);
    }
  }
};

TEST(RaceChecker, LetsACopyReleaseItsOwnBytesOnly) {
  Host host;
  expect_silent<WordBesideCopy>(host, {.grid = {1}}, {host.source.data(), true});
  expect_found<WordBesideCopy>(host, {.grid = {1}}, {host.source.data(), false}, {"race"});
}

// A tile is used by ordinary accesses first, and then filled by a copy.
struct ReuseForLoad {
  struct Params {
    isa::TensorMap map;
    bool writes;
    bool fences;
    bool syncs = true;
  };
  struct Shared {
    alignas(1024) std::uint32_t tile[32][32];
    SharedMemBarrier full;
  };
  static constexpr std::uint32_t kThreads = 32;

  static void run(const Params& p, Shared& s) {
    const std::uint32_t lane = isa::laneid();
    if (isa::elect_sync()) {
      isa::mbarrier_init(&s.full, 1);
      isa::fence_mbarrier_init();
    }
    isa::syncwarp();
    // Filled once by a copy, so that there is something to read.
    load(p, s, 0);
    if (p.writes) isa::st_shared(&s.tile[3][lane], lane);
    else isa::ld_shared(&s.tile[3][lane]);
    if (p.fences) isa::fence_proxy_async_shared_cta();
    if (p.syncs) isa::syncwarp();
    load(p, s, 1);
    isa::ld_shared(&s.tile[3][lane]);
  }

  static void load(const Params& p, Shared& s, std::uint32_t parity) {
    if (isa::elect_sync()) {
      isa::mbarrier_arrive_expect_tx(&s.full, Host::kTileBytes);
      isa::cp_async_bulk_tensor_load(s.tile, &p.map, {0, 0}, &s.full);
    }
    wait(&s.full, parity);
  }
};

TEST(RaceChecker, AsksForProxyFenceBetweenWriteAndLoadIntoTheSameBytes) {
  Host host;
  expect_found<ReuseForLoad>(host, {.grid = {1}}, {host.source_map(), true, false}, {"missing_proxy_fence"});
  expect_silent<ReuseForLoad>(host, {.grid = {1}}, {host.source_map(), true, true});
  expect_found<ReuseForLoad>(host, {.grid = {1}}, {host.source_map(), true, true, false}, {"race"});
}

TEST(RaceChecker, AProxyFenceBetweenReadAndLoadIsFormal) {
  Host host;
  expect_formal<ReuseForLoad>(host, {.grid = {1}}, {host.source_map(), false, false}, "missing_proxy_fence");
  expect_nothing_formal<ReuseForLoad>(host, {.grid = {1}}, {host.source_map(), false, true});
  expect_found<ReuseForLoad>(host, {.grid = {1}}, {host.source_map(), false, false, false}, {"write_while_read"});
}

// A tile goes in by one copy and out by another; no thread touches it.
struct PassThrough {
  struct Params {
    isa::TensorMap in, out;
    bool waits_for_load = true;
    bool waits_for_store = true;
  };
  struct Shared {
    alignas(1024) std::uint32_t tile[32][32];
    SharedMemBarrier full;
  };
  static constexpr std::uint32_t kThreads = 32;

  static void run(const Params& p, Shared& s) {
    if (!isa::elect_sync()) return;
    isa::annotate_barriers(&s.full, 1, "tile", isa::BarrierRole::kFull);
    isa::mbarrier_init(&s.full, 1);
    isa::fence_mbarrier_init();
    for (int k = 0; k < 3; ++k) {
      isa::mbarrier_arrive_expect_tx(&s.full, Host::kTileBytes);
      isa::cp_async_bulk_tensor_load(s.tile, &p.in, {0, k * 32}, &s.full);
      const auto parity = static_cast<std::uint32_t>(k & 1);
      if (p.waits_for_load) wait(&s.full, parity);
      isa::cp_async_bulk_tensor_store(&p.out, {0, k * 32}, s.tile);
      isa::cp_async_bulk_commit_group();
      if (p.waits_for_store) isa::cp_async_bulk_wait_group_read<0>();
      if (!p.waits_for_load) wait(&s.full, parity);
    }
    isa::cp_async_bulk_wait_group_read<0>();
  }
};

TEST(RaceChecker, OrdersLoadsAndStoresOfTheSameTile) {
  Host host;
  expect_silent<PassThrough>(host, {.grid = {1}}, {host.source_map(), host.output_map()});
  expect_found<PassThrough>(host, {.grid = {1}}, {host.source_map(), host.output_map(), false},
                            {"read_before_full"});
  expect_found<PassThrough>(host, {.grid = {1}}, {host.source_map(), host.output_map(), true, false},
                            {"write_while_read"});
}

// Boxes that use less of shared memory than they span: rows narrower than the swizzle, and rows that a store
// clips because they lie outside the tensor.
struct NarrowRows {
  struct Params {
    isa::TensorMap map;
    std::uint32_t rows;         // that are written
    std::uint32_t first_chunk;  // of each row, before the swizzle
    std::uint32_t last_chunk;
  };
  struct Shared {
    alignas(1024) std::uint32_t tile[8][32];
  };
  static constexpr std::uint32_t kThreads = 32;

  static void run(const Params& p, Shared& s) {
    if (!isa::elect_sync()) return;
    for (std::uint32_t row = 0; row < p.rows; ++row) {
      for (std::uint32_t chunk = p.first_chunk; chunk < p.last_chunk; ++chunk) {
        isa::st_shared(reinterpret_cast<isa::Bytes16*>(&s.tile[row][(chunk ^ row) * 4]), isa::Bytes16{});
      }
    }
    isa::fence_proxy_async_shared_cta();
    isa::cp_async_bulk_tensor_store(&p.map, {0, 0}, s.tile);
    isa::cp_async_bulk_commit_group();
    isa::cp_async_bulk_wait_group_read<0>();
  }
};

TEST(RaceChecker, AsksOnlyForBytesThatAStoreSends) {
  Host host;
  const auto map = [&](std::uint64_t rows, std::uint32_t columns) {
    return make_tensor_map({.type = TensorType::kU32,
                            .rank = 2,
                            .address = host.output.data(),
                            .dims = {32, rows},
                            .strides = {128},
                            .box = {columns, 8},
                            .swizzle = Swizzle::k128B});
  };
  expect_silent<NarrowRows>(host, {.grid = {1}}, {map(8, 32), 8, 0, 8});
  expect_found<NarrowRows>(host, {.grid = {1}}, {map(8, 32), 7, 0, 8}, {"uninitialised_read"});
  expect_found<NarrowRows>(host, {.grid = {1}}, {map(8, 32), 8, 0, 7}, {"uninitialised_read"});
  expect_silent<NarrowRows>(host, {.grid = {1}}, {map(5, 32), 5, 0, 8});
  expect_found<NarrowRows>(host, {.grid = {1}}, {map(5, 32), 4, 0, 8}, {"uninitialised_read"});
  expect_silent<NarrowRows>(host, {.grid = {1}}, {map(8, 16), 8, 0, 4});
  expect_found<NarrowRows>(host, {.grid = {1}}, {map(8, 16), 8, 1, 5}, {"uninitialised_read"});
}

// Reads a tile with the gaps between its rows, and some rows more.
struct ReadsGaps {
  struct Params {
    isa::TensorMap map;
    std::uint32_t tx_bytes;
    std::uint32_t rows;
  };
  struct Shared {
    alignas(1024) std::uint32_t tile[16][32];
    SharedMemBarrier full;
  };
  static constexpr std::uint32_t kThreads = 32;

  static void run(const Params& p, Shared& s) {
    if (!isa::elect_sync()) return;
    isa::mbarrier_init(&s.full, 1);
    isa::fence_mbarrier_init();
    isa::mbarrier_arrive_expect_tx(&s.full, p.tx_bytes);
    isa::cp_async_bulk_tensor_load(s.tile, &p.map, {0, 0}, &s.full);
    wait(&s.full, 0);
    for (std::uint32_t at = 0; at < p.rows * 32; at += 4) {
      isa::ld_shared(reinterpret_cast<isa::Bytes16*>(&s.tile[0][0] + at));
    }
  }
};

TEST(RaceChecker, TakesGapsBetweenLoadedRowsForWritten) {
  Host host;
  const isa::TensorMap map = make_tensor_map({.type = TensorType::kU32,
                                              .rank = 2,
                                              .address = host.source.data(),
                                              .dims = {32, 64},
                                              .strides = {128},
                                              .box = {12, 8},
                                              .swizzle = Swizzle::k128B});
  expect_silent<ReadsGaps>(host, {.grid = {1}}, {map, 12 * 4 * 8, 8});
  expect_found<ReadsGaps>(host, {.grid = {1}}, {map, 12 * 4 * 8, 9}, {"uninitialised_read"});
}

// Initialisation of a barrier, and its first use by a copy and by another warp.
struct InitBarrier {
  enum class Flaw : std::uint8_t { kNone, kNoInitFence, kProxyFence, kNoSync, kFenceBeforeInit };
  struct Params {
    isa::TensorMap map;
    Flaw flaw = Flaw::kNone;
  };
  struct Shared {
    alignas(1024) std::uint32_t tile[32][32];
    SharedMemBarrier full;
  };
  static constexpr std::uint32_t kThreads = 96;

  static void run(const Params& p, Shared& s) {
    if (isa::tid_x() == 0) {
      isa::annotate_barriers(&s.full, 1, "tile", isa::BarrierRole::kFull);
      if (p.flaw == Flaw::kFenceBeforeInit) isa::fence_mbarrier_init();
      isa::mbarrier_init(&s.full, 1);
      if (p.flaw == Flaw::kNone || p.flaw == Flaw::kNoSync) isa::fence_mbarrier_init();
      if (p.flaw == Flaw::kProxyFence) isa::fence_proxy_async_shared_cta();
    }
    if (p.flaw != Flaw::kNoSync) isa::syncthreads();
    if (isa::warp_idx() == 1 && isa::elect_sync()) {
      isa::mbarrier_arrive_expect_tx(&s.full, Host::kTileBytes);
      isa::cp_async_bulk_tensor_load(s.tile, &p.map, {0, 0}, &s.full);
    }
    if (isa::warp_idx() == 2) {
      wait(&s.full, 0);
      isa::ld_shared(&s.tile[0][isa::laneid()]);
    }
  }
};

TEST(RaceChecker, FindsMissingInitFenceBeforeCopy) {
  using Flaw = InitBarrier::Flaw;
  Host host;
  expect_nothing_formal<InitBarrier>(host, {.grid = {1}}, {host.source_map()});
  expect_nothing_formal<InitBarrier>(host, {.grid = {1}}, {host.source_map(), Flaw::kProxyFence});
  expect_formal<InitBarrier>(host, {.grid = {1}}, {host.source_map(), Flaw::kNoInitFence}, "missing_init_fence");
  expect_formal<InitBarrier>(host, {.grid = {1}}, {host.source_map(), Flaw::kFenceBeforeInit},
                             "missing_init_fence");
  const sim::Report report =
      sim::launch<InitBarrier>({.memory = &host.memory}, {.grid = {1}}, {host.source_map(), Flaw::kNoInitFence});
  EXPECT_EQ(report.formal.at(0).text.find(
                "[missing_init_fence] formal: a bulk load completes on full of tile[0], which was "
                "initialised without fence.mbarrier_init after it\n"),
            0u)
      << report.remarks();
}

// The machine reports a use that comes too early in this run; one that comes in time by luck is found here.
TEST(RaceChecker, FindsMissingSyncthreadsAfterInit) {
  Host host;
  const InitBarrier::Params params{host.source_map(), InitBarrier::Flaw::kNoSync};
  expect_found<InitBarrier>(host, {.grid = {1}}, params, {"init_not_visible", "uninitialised_barrier"});
  EXPECT_EQ(codes<InitBarrier>(host, {.grid = {1}}, params).count("init_not_visible"), 1u);
  EXPECT_EQ(
      first_line<InitBarrier>(host, {.grid = {1}}, params),
      "[init_not_visible] full of tile[0] is used by a thread to which its initialisation is not known to be "
      "visible");
}

}  // namespace
}  // namespace heddle::race_test
