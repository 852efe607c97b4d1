// SPDX-License-Identifier: Apache-2.0
//
// Accesses to shared memory that conflict: pipelines with one hand-off broken, and plain stores and loads.
// Every fault has a twin that differs in one line and must stay silent.
#include "race_kernels.h"

#include <algorithm>

namespace heddle::race_test {
namespace {

enum class Flaw : std::uint8_t {
  kNone,
  kNoFullWait,
  kLateFullWait,
  kNoEmptyWait,
  kParityNeverFlips,
  kEarlyRelease,
  kNoSyncwarp,
  kVoteForSyncwarp,
  kShuffleForSyncwarp
};

// Warp 0 loads tiles through a ring, the other warps each read their share of every tile. `held` stages are
// kept by a consumer before it releases the oldest.
template <int stages, int consumers, int held = 1>
struct Ring {
  struct Params {
    isa::TensorMap map;
    std::uint32_t* out;
    int tiles;
    Flaw flaw = Flaw::kNone;
    bool copy_first = false;  // the copy is issued before its bytes are expected
    bool waits_for_taken = false;
  };
  struct Shared {
    alignas(1024) std::uint32_t tile[stages][Host::kTileBytes / 4];
    SharedMemBarrier full[stages], empty[stages], taken[stages];
  };
  static constexpr std::uint32_t kThreads = 32 * (1 + consumers);

  static void run(const Params& p, Shared& s) {
    if (isa::tid_x() == 0) {
      isa::annotate_barriers(s.full, stages, "input", isa::BarrierRole::kFull);
      isa::annotate_barriers(s.empty, stages, "input", isa::BarrierRole::kEmpty);
      for (int i = 0; i < stages; ++i) {
        isa::mbarrier_init(&s.full[i], 1);
        isa::mbarrier_init(&s.empty[i], consumers);
        isa::mbarrier_init(&s.taken[i], 32 * consumers);
      }
      isa::fence_mbarrier_init();
    }
    isa::syncthreads();
    if (isa::warp_idx() == 0) {
      isa::annotate_role("load");
      if (isa::elect_sync()) load(p, s);
    } else {
      isa::annotate_role("sum");
      consume(p, s);
    }
  }

  static void load(const Params& p, Shared& s) {
    for (int k = 0; k < p.tiles; ++k) {
      const int stage = k % stages;
      const auto parity = static_cast<std::uint32_t>((k / stages + 1) & 1);
      // That the last fill was taken says nothing about whether it has been read.
      if (p.waits_for_taken) wait(&s.taken[stage], parity);
      if (p.flaw != Flaw::kNoEmptyWait) wait(&s.empty[stage], parity);
      if (!p.copy_first) isa::mbarrier_arrive_expect_tx(&s.full[stage], Host::kTileBytes);
      isa::cp_async_bulk_tensor_load(s.tile[stage], &p.map, {0, k * 32}, &s.full[stage]);
      if (p.copy_first) isa::mbarrier_arrive_expect_tx(&s.full[stage], Host::kTileBytes);
    }
    for (int k = p.tiles < stages ? 0 : p.tiles - stages; k < p.tiles; ++k) {
      wait(&s.full[k % stages], static_cast<std::uint32_t>((k / stages) & 1));
    }
  }

  static void release(const Params& p, Shared& s, int k) {
    switch (p.flaw) {
      case Flaw::kNoSyncwarp: break;
      case Flaw::kVoteForSyncwarp: isa::vote_sync_ballot(true); break;
      case Flaw::kShuffleForSyncwarp: isa::shfl_sync_idx(0, 0); break;
      default: isa::syncwarp();
    }
    if (isa::elect_sync()) isa::mbarrier_arrive(&s.empty[k % stages]);
  }

  static void consume(const Params& p, Shared& s) {
    constexpr int rows = 32 / consumers;
    const std::uint32_t warp = isa::warp_idx() - 1;
    std::uint32_t sum = 0;
    for (int k = 0; k < p.tiles; ++k) {
      const int stage = k % stages;
      const auto parity = p.flaw == Flaw::kParityNeverFlips ? 0u : static_cast<std::uint32_t>((k / stages) & 1);
      if (p.flaw != Flaw::kNoFullWait && p.flaw != Flaw::kLateFullWait) wait(&s.full[stage], parity);
      if (p.waits_for_taken) isa::mbarrier_arrive(&s.taken[stage]);
      for (int i = 0; i < rows; ++i) {
        if (p.flaw == Flaw::kEarlyRelease && i == rows - 1) release(p, s, k);
        sum += isa::ld_shared(&s.tile[stage][(warp * rows + static_cast<std::uint32_t>(i)) * 32 + isa::laneid()]);
      }
      if (p.flaw == Flaw::kLateFullWait) wait(&s.full[stage], parity);
      if (p.flaw != Flaw::kEarlyRelease && k >= held - 1) release(p, s, k - (held - 1));
    }
    isa::st_global(&p.out[warp * 32 + isa::laneid()], sum);
  }
};

template <class R>
void expect_ring(Flaw flaw, const std::vector<std::string>& codes, int tiles = 6) {
  Host host;
  typename R::Params params{host.source_map(), host.words.data(), tiles, Flaw::kNone};
  // Without a wait for empty the machine's count of arrivals would break before anything is overwritten.
  params.waits_for_taken = flaw == Flaw::kNoEmptyWait;
  expect_silent<R>(host, {.grid = {1}}, params);
  params.flaw = flaw;
  expect_found<R>(host, {.grid = {1}}, params, codes);
}

// A consumer that does not wait may be through before the first copy is issued, which then waits for ever.
TEST(RaceChecker, FindsReadOfStageWithoutWaitForFull) {
  expect_ring<Ring<2, 2>>(Flaw::kNoFullWait, {"read_before_full", "uninitialised_read"});
}

TEST(RaceChecker, FindsWaitForFullAfterTheRead) {
  expect_ring<Ring<2, 2>>(Flaw::kLateFullWait, {"read_before_full"});
}

TEST(RaceChecker, FindsOverwriteWithoutWaitForEmpty) {
  expect_ring<Ring<2, 2>>(Flaw::kNoEmptyWait, {"write_while_read"});
  expect_ring<Ring<1, 3>>(Flaw::kNoEmptyWait, {"write_while_read"});
}

TEST(RaceChecker, FindsWaitForTheSamePhaseTwice) {
  expect_ring<Ring<1, 1>>(Flaw::kParityNeverFlips, {"read_before_full", "lost_phase"}, 2);
}

TEST(RaceChecker, FindsReleaseBeforeTheLastRead) {
  expect_ring<Ring<2, 2>>(Flaw::kEarlyRelease, {"write_while_read"});
  expect_ring<Ring<1, 1>>(Flaw::kEarlyRelease, {"write_while_read"});
}

TEST(RaceChecker, FindsElectedArriveWithoutSyncwarp) {
  expect_ring<Ring<2, 2>>(Flaw::kNoSyncwarp, {"write_while_read"});
}

TEST(RaceChecker, DoesNotTakeVotesOrShufflesForSyncwarp) {
  expect_ring<Ring<2, 1>>(Flaw::kVoteForSyncwarp, {"write_while_read"});
  expect_ring<Ring<2, 1>>(Flaw::kShuffleForSyncwarp, {"write_while_read"});
}

TEST(RaceChecker, NamesSyncwarpAsTheLikelyCause) {
  using R = Ring<1, 1>;
  Host host;
  const R::Params params{host.source_map(), host.words.data(), 4, Flaw::kNoSyncwarp};
  EXPECT_NE(whole_text<R>(host, {.grid = {1}}, params).find("likely: lane 0 arrived for its warp"),
            std::string::npos);
}

TEST(RaceChecker, SaysWhoDidWhatToWhichStage) {
  using R = Ring<1, 1>;
  Host host;
  R::Params params{host.source_map(), host.words.data(), 4, Flaw::kNoFullWait};
  const std::string early = whole_text<R>(host, {.grid = {1}}, params);
  EXPECT_EQ(
      early.find("[read_before_full] input[0] is read before the copy that fills it is known to be complete\n"),
      0u)
      << early;
  EXPECT_NE(early.find("sum, warp 1, lane 11: ld.shared of 4 bytes"), std::string::npos) << early;
  EXPECT_NE(early.find("load, warp 0, lane 0: bulk load of 4096 bytes"), std::string::npos) << early;
  EXPECT_NE(early.find("race_test.cpp:"), std::string::npos) << early;
  EXPECT_NE(early.find("likely: no wait for full of input[0]"), std::string::npos) << early;
  EXPECT_NE(early.find("again: kernel with schedule rr\n"), std::string::npos) << early;
  params.flaw = Flaw::kNoEmptyWait;
  params.waits_for_taken = true;
  EXPECT_EQ(first_line<R>(host, {.grid = {1}}, params),
            "[write_while_read] a copy overwrites input[0] while it may still be read");
}

TEST(RaceChecker, SameSeedGivesTheSameReport) {
  using R = Ring<2, 2>;
  Host host;
  const R::Params params{host.source_map(), host.words.data(), 6, Flaw::kEarlyRelease};
  const auto text = [&] {
    return sim::launch<R>({.memory = &host.memory, .schedule = sim::Schedule::random(7)}, {.grid = {1}}, params)
        .text();
  };
  EXPECT_EQ(text(), text());
}

TEST(RaceChecker, IsSilentWhenSwitchedOff) {
  using R = Ring<2, 2>;
  Host host;
  const R::Params params{host.source_map(), host.words.data(), 6, Flaw::kNoSyncwarp};
  const sim::Report report =
      sim::launch<R>({.memory = &host.memory, .check_races = false}, {.grid = {1}}, params);
  EXPECT_TRUE(report.ok()) << report.text();
}

TEST(RaceChecker, AcceptsBytesThatLandBeforeTheyAreExpected) {
  using R = Ring<2, 2>;
  Host host;
  R::Params params{host.source_map(), host.words.data(), 8};
  params.copy_first = true;
  expect_silent<R>(host, {.grid = {1}}, params);
}

template <class R>
void expect_clean(int seeds = 200) {
  Host host;
  expect_silent<R>(host, {.grid = {1}}, {host.source_map(), host.words.data(), 9}, seeds);
}

TEST(RaceChecker, IsSilentOnRingsOfOneToFourStages) {
  expect_clean<Ring<1, 2>>();
  expect_clean<Ring<2, 2>>();
  expect_clean<Ring<3, 2>>();
  expect_clean<Ring<4, 2>>();
}

TEST(RaceChecker, IsSilentWithOneToFourConsumerWarps) {
  expect_clean<Ring<3, 1>>();
  expect_clean<Ring<2, 4>>();
  expect_clean<Ring<4, 4>>();
}

TEST(RaceChecker, IsSilentWithSeveralStagesHeld) {
  expect_clean<Ring<3, 2, 2>>();
  expect_clean<Ring<4, 1, 3>>();
}

TEST(RaceChecker, FindsTwoCtasThatWriteTheSameSums) {
  using R = Ring<2, 1>;
  Host host;
  expect_silent<R>(host, {.grid = {1}}, {host.source_map(), host.words.data(), 3});
  // They agree on the values, so that it does no harm.
  const sim::Report report =
      sim::launch<R>({.memory = &host.memory}, {.grid = {2}}, {host.source_map(), host.words.data(), 3});
  ASSERT_TRUE(report.ok()) << report.text();
  EXPECT_TRUE(std::any_of(report.formal.begin(), report.formal.end(), [](const sim::Diagnosis& one) {
    return one.code == sim::FaultCode::kGlobalRace;
  })) << report.remarks();
}

// Two warps and one word, with whatever stands between them.
struct TwoWarps {
  enum class Between : std::uint8_t { kNothing, kBarSync, kBarArrive, kMbarrier, kExpectOnly, kOtherBarrier };
  struct Params {
    Between between;
    bool reads = false;       // the second warp reads; otherwise it writes, too
    bool other_word = false;  // in the same 16 bytes
  };
  struct Shared {
    alignas(16) std::uint32_t word[4];
    SharedMemBarrier handed_over;
  };
  static constexpr std::uint32_t kThreads = 64;

  static void run(const Params& p, Shared& s) {
    if (isa::tid_x() == 0) isa::mbarrier_init(&s.handed_over, 1);
    if (isa::tid_x() == 0) isa::st_shared(&s.word[1], 7u);
    isa::syncthreads();
    const bool is_first = isa::warp_idx() == 0;
    isa::annotate_role(is_first ? "first" : "second");
    const bool acts = isa::laneid() == 0;
    if (is_first) {
      if (acts) isa::st_shared(&s.word[0], 1u);
      isa::syncwarp();
    }
    switch (p.between) {
      case Between::kNothing: break;
      case Between::kBarSync: isa::bar_sync(1, 64); break;
      case Between::kBarArrive: is_first ? isa::bar_arrive(2, 64) : isa::bar_sync(2, 64); break;
      case Between::kOtherBarrier: isa::bar_sync(is_first ? 3 : 4, 32); break;
      case Between::kMbarrier:
        if (is_first && acts) isa::mbarrier_arrive(&s.handed_over);
        if (!is_first) wait(&s.handed_over, 0);
        break;
      // Relaxed: orders nothing.
      case Between::kExpectOnly:
        if (acts) isa::mbarrier_expect_tx(&s.handed_over, 16);
        break;
    }
    if (!is_first && acts) {
      std::uint32_t* word = &s.word[p.other_word ? 1 : 0];
      p.reads ? static_cast<void>(isa::ld_shared(word)) : isa::st_shared(word, 2u);
    }
  }
};

TEST(RaceChecker, FindsUnorderedWritesOfTwoWarps) {
  using Between = TwoWarps::Between;
  Host host;
  for (const bool reads : {false, true}) {
    expect_found<TwoWarps>(host, {.grid = {1}}, {Between::kNothing, reads}, {"race", "uninitialised_read"});
    expect_found<TwoWarps>(host, {.grid = {1}}, {Between::kExpectOnly, reads}, {"race", "uninitialised_read"});
    expect_found<TwoWarps>(host, {.grid = {1}}, {Between::kOtherBarrier, reads}, {"race", "uninitialised_read"});
    expect_silent<TwoWarps>(host, {.grid = {1}}, {Between::kBarSync, reads});
    expect_silent<TwoWarps>(host, {.grid = {1}}, {Between::kBarArrive, reads});
    expect_silent<TwoWarps>(host, {.grid = {1}}, {Between::kMbarrier, reads});
    expect_silent<TwoWarps>(host, {.grid = {1}}, {Between::kNothing, reads, true});
  }
  EXPECT_EQ(
      first_line<TwoWarps>(host, {.grid = {1}}, {Between::kNothing, true}),
      "[race] an st.shared of 4 bytes and an ld.shared of 4 bytes touch bytes 0 to 3 of the shared memory, and "
      "nothing orders them");
}

// Each lane writes a word of its own, and reads its neighbour's.
struct Neighbours {
  struct Params {
    bool syncs;
    bool own = false;       // its own word instead
    bool rewrites = false;  // and writes it again
  };
  struct Shared {
    alignas(16) std::uint32_t word[32];
  };
  static constexpr std::uint32_t kThreads = 32;

  static void run(const Params& p, Shared& s) {
    const std::uint32_t lane = isa::laneid();
    isa::st_shared(&s.word[lane], lane);
    if (p.syncs) isa::syncwarp();
    else isa::elect_sync();
    isa::ld_shared(&s.word[p.own ? lane : lane ^ 1]);
    if (p.rewrites) isa::st_shared(&s.word[lane], lane);
  }
};

TEST(RaceChecker, FindsLanesThatExchangeWithoutSyncwarp) {
  Host host;
  expect_found<Neighbours>(host, {.grid = {1}}, {false}, {"race"});
  expect_silent<Neighbours>(host, {.grid = {1}}, {true});
}

TEST(RaceChecker, KeepsLanesApartThatShareSixteenBytes) {
  Host host;
  expect_silent<Neighbours>(host, {.grid = {1}}, {false, true});
  expect_silent<Neighbours>(host, {.grid = {1}}, {false, true, true});
  expect_found<Neighbours>(host, {.grid = {1}}, {true, false, true}, {"race"});
}

// All threads read one word, and then one of them writes it.
struct Broadcast {
  struct Params {
    bool syncs;
  };
  struct Shared {
    std::uint32_t word;
  };
  static constexpr std::uint32_t kThreads = 96;

  static void run(const Params& p, Shared& s) {
    if (isa::tid_x() == 0) isa::st_shared(&s.word, 1u);
    isa::syncthreads();
    isa::ld_shared(&s.word);
    if (p.syncs) isa::syncthreads();
    if (isa::tid_x() == 70) isa::st_shared(&s.word, 2u);
  }
};

TEST(RaceChecker, RemembersEveryReaderOfAWord) {
  Host host;
  expect_found<Broadcast>(host, {.grid = {1}}, {false}, {"race"});
  expect_silent<Broadcast>(host, {.grid = {1}}, {true});
}

// Narrow and wide accesses to the same 16 bytes.
struct Widths {
  struct Params {
    std::uint32_t byte;  // that the second warp writes
    bool syncs = false;
  };
  struct Shared {
    alignas(16) unsigned char bytes[16];
  };
  static constexpr std::uint32_t kThreads = 64;

  static void run(const Params& p, Shared& s) {
    if (isa::tid_x() == 0) isa::st_shared(reinterpret_cast<isa::Bytes16*>(s.bytes), isa::Bytes16{});
    isa::syncthreads();
    if (isa::tid_x() == 0) isa::ld_shared(reinterpret_cast<std::uint64_t*>(s.bytes + 8));
    if (isa::tid_x() == 1) isa::st_shared(reinterpret_cast<std::uint16_t*>(s.bytes + 2), std::uint16_t{1});
    if (p.syncs) isa::syncthreads();
    if (isa::tid_x() == 32) isa::st_shared(&s.bytes[p.byte], static_cast<unsigned char>(2));
  }
};

TEST(RaceChecker, ComparesByteByByte) {
  Host host;
  for (std::uint32_t byte = 0; byte < 16; ++byte) {
    if (byte >= 8 || byte == 2 || byte == 3) {
      expect_found<Widths>(host, {.grid = {1}}, {byte}, {"race"});
    } else {
      expect_silent<Widths>(host, {.grid = {1}}, {byte});
    }
    expect_silent<Widths>(host, {.grid = {1}}, {byte, true}, 5);
  }
}

struct ReadsFresh {
  struct Params {
    std::uint32_t written;  // words
    bool writes_later = false;
  };
  struct Shared {
    alignas(16) std::uint32_t word[4];
  };
  static constexpr std::uint32_t kThreads = 32;

  static void run(const Params& p, Shared& s) {
    if (isa::tid_x() != 0) return;
    for (std::uint32_t i = 0; i < p.written; ++i) isa::st_shared(&s.word[i], i);
    isa::ld_shared(reinterpret_cast<isa::Bytes16*>(s.word));
    if (p.writes_later) isa::st_shared(&s.word[3], 3u);
  }
};

TEST(RaceChecker, FindsReadsOfBytesThatNobodyWrote) {
  Host host;
  expect_silent<ReadsFresh>(host, {.grid = {1}}, {4});
  expect_found<ReadsFresh>(host, {.grid = {1}}, {3}, {"uninitialised_read"});
  expect_found<ReadsFresh>(host, {.grid = {1}}, {3, true}, {"uninitialised_read"});
  EXPECT_EQ(
      first_line<ReadsFresh>(host, {.grid = {1}}, {3}),
      "[uninitialised_read] an ld.shared of 16 bytes reads bytes 12 to 15 of the shared memory, which nobody has "
      "written");
}

// What a CTA wrote is gone when the next one starts on the same SM.
struct EveryOther {
  struct Params {
    std::uint32_t writers;
  };
  struct Shared {
    std::uint32_t word;
  };
  static constexpr std::uint32_t kThreads = 32;

  static void run(const Params& p, Shared& s) {
    if (isa::tid_x() == 0 && isa::ctaid().x < p.writers) isa::st_shared(&s.word, 1u);
    if (isa::tid_x() == 0) isa::ld_shared(&s.word);
  }
};

TEST(RaceChecker, StartsEveryCtaWithFreshMemory) {
  Host host;
  expect_silent<EveryOther>(host, {.grid = {12}}, {12});
  expect_found<EveryOther>(host, {.grid = {12}}, {11}, {"uninitialised_read"});
}

// Threads of one or two CTAs and a word of global memory.
struct Globals {
  struct Params {
    std::uint32_t* word;
    enum class Does : std::uint8_t { kAllRead, kOwnWords, kAllWrite, kPassOn, kPassOnUnordered } does;
  };
  struct Shared {
    std::uint32_t unused;
  };
  static constexpr std::uint32_t kThreads = 64;

  static void run(const Params& p, Shared&) {
    using Does = Params::Does;
    const std::uint32_t index = isa::ctaid().x * 64 + isa::tid_x();
    switch (p.does) {
      case Does::kAllRead: isa::ld_global(p.word); break;
      case Does::kOwnWords: isa::st_global(&p.word[index], index); break;
      case Does::kAllWrite:
        if (isa::tid_x() == 0) isa::st_global(p.word, index);
        break;
      case Does::kPassOn:
      case Does::kPassOnUnordered:
        isa::st_global(&p.word[index], index);
        if (p.does == Does::kPassOn) isa::syncthreads();
        isa::ld_global(&p.word[index ^ 32]);
        break;
    }
  }
};

TEST(RaceChecker, FindsConflictsInGlobalMemory) {
  using Does = Globals::Params::Does;
  Host host;
  std::uint32_t* word = host.words.data();
  expect_silent<Globals>(host, {.grid = {9}}, {word, Does::kAllRead}, 10);
  expect_silent<Globals>(host, {.grid = {9}}, {word + 1, Does::kOwnWords}, 10);
  expect_silent<Globals>(host, {.grid = {1}}, {word, Does::kAllWrite});
  expect_found<Globals>(host, {.grid = {2}}, {word, Does::kAllWrite}, {"global_race"});
  expect_found<Globals>(host, {.grid = {9}}, {word, Does::kAllWrite}, {"global_race"});
  expect_silent<Globals>(host, {.grid = {3}}, {word, Does::kPassOn});
  expect_found<Globals>(host, {.grid = {1}}, {word, Does::kPassOnUnordered}, {"global_race"});
  EXPECT_EQ(
      first_line<Globals>(host, {.grid = {2}}, {word, Does::kAllWrite}),
      "[global_race] an st.global and an st.global touch words + 0 (of 16384 bytes), and nothing orders them");
}

}  // namespace
}  // namespace heddle::race_test
