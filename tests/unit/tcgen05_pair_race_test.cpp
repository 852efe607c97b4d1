// SPDX-License-Identifier: Apache-2.0
//
// Hand-overs within a pair of CTAs: both load their halves and tell the even CTA's barrier, its MMA warp
// multiplies for both and tells both, and both epilogues release the accumulator to it. Every fault has a twin
// that differs in one line and must stay silent.
#include "race_kernels.h"

#include <heddle/isa/address.h>
#include <heddle/isa/tcgen05.h>

#include <string>

namespace heddle::race_test {
namespace {

constexpr std::uint32_t kN = 32;
constexpr std::uint32_t kInstruction = instruction_descriptor(
    InstructionDescriptor{.m = 256, .n = kN, .a_type = OperandType::kBf16, .b_type = OperandType::kBf16});

enum class Flaw : std::uint8_t {
  kNone,
  kPeerDoesNotWaitForEmpty,  // before it loads the next stage
  kCommitToOneCta,
  kPeerReadsBeforeCommit,
  kPeerHasNoFenceAfter,
  kPeerHasNoFenceBefore,
  kPeerWaitsTooLate,  // for its load, behind the arrival
  kPeerFreesAlone
};

struct PairMatmul {
  struct Params {
    isa::TensorMap map;
    std::uint32_t* output;
    int tiles;
    Flaw flaw = Flaw::kNone;
  };
  struct Shared {
    alignas(128) isa::Bytes16 a[Host::kTileBytes / 16];  // 128 rows x 16
    alignas(128) isa::Bytes16 b[Host::kTileBytes / 16];  // the first 16 rows x 16 of it
    SharedMemBarrier full, empty, accumulated, released;
    std::uint32_t base;
  };
  static constexpr std::uint32_t kThreads = 192;

  static void run(const Params& p, Shared& s) {
    if (isa::tid_x() == 0) {
      isa::mbarrier_init(&s.full, 1);
      isa::mbarrier_init(&s.empty, 1);
      isa::mbarrier_init(&s.accumulated, 1);
      isa::mbarrier_init(&s.released, 256);
      isa::fence_mbarrier_init();
    }
    isa::cluster_sync();
    const std::uint32_t warp = isa::warp_idx();
    const bool is_leader = isa::cluster_ctarank() == 0;
    if (warp == 4) isa::tcgen05_alloc<2>(&s.base, 32);
    isa::cluster_sync();
    const std::uint32_t base = isa::ld_shared(&s.base);
    if (warp == 5) {
      isa::annotate_role("load");
      if (isa::elect_sync()) load(p, s, is_leader);
    } else if (warp == 4 && is_leader) {
      isa::annotate_role("mma");
      if (isa::elect_sync()) multiply(p, s, base);
    } else if (warp < 4) {
      isa::annotate_role("epilogue");
      store(p, s, base, is_leader);
    }
    isa::syncwarp();
    const bool frees_alone = p.flaw == Flaw::kPeerFreesAlone && !is_leader;
    if (!frees_alone) isa::cluster_sync();
    if (warp == 4) isa::tcgen05_dealloc<2>(base, 32);
    if (frees_alone) isa::cluster_sync();
    isa::cluster_sync();
  }

  static void load(const Params& p, Shared& s, bool is_leader) {
    const MbarPtr full = isa::mapa(&s.full, 0);
    for (int k = 0; k < p.tiles; ++k) {
      const bool skips = p.flaw == Flaw::kPeerDoesNotWaitForEmpty && !is_leader;
      if (!skips) wait(&s.empty, static_cast<std::uint32_t>((k + 1) & 1));
      if (is_leader) isa::mbarrier_arrive_expect_tx(&s.full, 4 * Host::kTileBytes);
      isa::cp_async_bulk_tensor_load_cta_group_2(s.a, &p.map, {0, 0}, full);
      isa::cp_async_bulk_tensor_load_cta_group_2(s.b, &p.map, {0, 32}, full);
    }
    if (p.flaw != Flaw::kPeerDoesNotWaitForEmpty) wait(&s.empty, static_cast<std::uint32_t>((p.tiles + 1) & 1));
  }

  static void multiply(const Params& p, Shared& s, std::uint32_t base) {
    const std::uint64_t a = tcgen05_descriptor(
        {.start_address = isa::shared_address(s.a), .leading_bytes = 2048, .stride_bytes = 128});
    const std::uint64_t b = tcgen05_descriptor(
        {.start_address = isa::shared_address(s.b), .leading_bytes = 256, .stride_bytes = 128});
    const std::uint16_t both = p.flaw == Flaw::kCommitToOneCta ? 0b01 : 0b11;
    for (int k = 0; k < p.tiles; ++k) {
      const auto parity = static_cast<std::uint32_t>(k & 1);
      while (!isa::mbarrier_try_wait_parity_cluster(&s.released, parity ^ 1)) {  // the peer arrives there, too
      }
      isa::tcgen05_fence_after_thread_sync();
      wait(&s.full, parity);
      isa::tcgen05_mma<MmaKind::kF16, 2>(base, a, b, kInstruction, false);
      isa::tcgen05_commit_multicast<2>(&s.empty, 0b11);
      isa::tcgen05_commit_multicast<2>(&s.accumulated, both);
    }
  }

  static void store(const Params& p, Shared& s, std::uint32_t base, bool is_leader) {
    const Flaw flaw = is_leader ? Flaw::kNone : p.flaw;
    const MbarPtr released = isa::mapa(&s.released, 0);
    for (int k = 0; k < p.tiles; ++k) {
      const auto parity = static_cast<std::uint32_t>(k & 1);
      std::uint32_t r[kN];
      if (flaw != Flaw::kPeerReadsBeforeCommit) wait(&s.accumulated, parity);
      if (flaw != Flaw::kPeerHasNoFenceAfter) isa::tcgen05_fence_after_thread_sync();
      isa::tcgen05_ld_32x32b(r, base + (32 * isa::warp_idx() << 16));
      if (flaw != Flaw::kPeerWaitsTooLate) isa::tcgen05_wait_ld();
      if (flaw != Flaw::kPeerHasNoFenceBefore) isa::tcgen05_fence_before_thread_sync();
      if (flaw == Flaw::kPeerReadsBeforeCommit) wait(&s.accumulated, parity);
      isa::mbarrier_arrive_cluster(released);
      if (flaw == Flaw::kPeerWaitsTooLate) isa::tcgen05_wait_ld();
      isa::st_global(&p.output[isa::cluster_ctarank() * 128 + isa::tid_x()], r[0]);
    }
  }
};

class Tcgen05PairRace : public testing::Test {
 protected:
  std::map<std::string, int> found(Flaw flaw, int tiles, int seeds = kSeeds) {
    std::map<std::string, int> codes;
    for (int seed = -1; seed < seeds; ++seed) {
      const sim::Report report = run(flaw, tiles, seed);
      ++codes[report.ok() ? "silent" : std::string(name_of(report.diagnoses.front().code))];
    }
    return codes;
  }

  sim::Report run(Flaw flaw, int tiles, int seed) {
    return sim::launch<PairMatmul>(
        {.memory = &host.memory,
         .schedule =
             seed < 0 ? sim::Schedule::round_robin() : sim::Schedule::random(static_cast<std::uint64_t>(seed)),
         .arch = Arch::kSm100,
         .strict = true},  // missing_tcgen05_fence is formal
        {.grid = {2}, .cluster = {2}}, {host.source_map(), host.output.data(), tiles, flaw});
  }

  void expect(Flaw flaw, const std::string& code, int tiles = 3) {
    EXPECT_EQ(found(flaw, tiles), (std::map<std::string, int>{{code, kSeeds + 1}}))
        << run(flaw, tiles, -1).text();
  }

  Host host;
};

TEST_F(Tcgen05PairRace, IsSilentWhereEveryHandOverIsMade) {
  for (const int tiles : {1, 2, 5}) {
    EXPECT_EQ(found(Flaw::kNone, tiles, share_of(60)), (std::map<std::string, int>{{"silent", share_of(60) + 1}}))
        << run(Flaw::kNone, tiles, -1).text();
  }
}

TEST_F(Tcgen05PairRace, FollowsThePeersStages) {
  const auto codes = found(Flaw::kPeerDoesNotWaitForEmpty, 3);
  EXPECT_GT(codes.count("write_while_read"), 0u);
  EXPECT_EQ(codes.count("silent"), 0u);
}

TEST_F(Tcgen05PairRace, FollowsAccumulatorsToThePeer) {
  expect(Flaw::kCommitToOneCta, "deadlock");
  expect(Flaw::kPeerReadsBeforeCommit, "read_before_full", 1);
  expect(Flaw::kPeerHasNoFenceAfter, "missing_tcgen05_fence");
}

TEST_F(Tcgen05PairRace, FollowsAccumulatorsBackToTheLeader) {
  expect(Flaw::kPeerHasNoFenceBefore, "missing_tcgen05_fence");
  expect(Flaw::kPeerWaitsTooLate, "missing_tmem_wait");
}

TEST_F(Tcgen05PairRace, ReportsAPairThatFreesBeforeBothAreDone) {
  const auto codes = found(Flaw::kPeerFreesAlone, 2);
  EXPECT_EQ(codes.count("silent"), 0u) << run(Flaw::kPeerFreesAlone, 2, -1).text();
}

}  // namespace
}  // namespace heddle::race_test
