// SPDX-License-Identifier: Apache-2.0
//
// Hand-overs of tcgen05: stages of shared memory between copies and multiplications, accumulators in tensor
// memory between multiplications and an epilogue. Every fault has a twin that differs in one line and must stay
// silent.
#include "race_kernels.h"

#include <heddle/isa/address.h>
#include <heddle/isa/tcgen05.h>

namespace heddle::race_test {
namespace {

constexpr std::uint32_t kN = 32;
constexpr std::uint32_t kABytes = 128 * 32;
constexpr std::uint32_t kBBytes = kN * 32;
constexpr std::uint32_t kInstruction = instruction_descriptor(
    InstructionDescriptor{.m = 128, .n = kN, .a_type = OperandType::kBf16, .b_type = OperandType::kBf16});

enum class Flaw : std::uint8_t {
  kNone,
  kNoFullWait,         // the multiplication does not wait for the copy
  kNoStageCommit,      // a stage is handed back by an arrival of the thread, not by a commit
  kNoAccumulatorWait,  // the epilogue does not wait for the multiplication
  kCommitTooEarly,     // the commit comes before the multiplication that it should cover
  kNoFenceAtEpilogue,
  kNoLoadWait,
  kLoadWaitTooLate,  // behind the arrival
  kNoFenceBeforeRelease,
  kNoFenceAtMma,
  kNoReleaseWait,     // the multiplication does not wait for the epilogue
  kAccumulatesFirst,  // onto cells that nobody has written
  kFreesTooEarly,
  kNoDrain
};

// Warp 5 loads operands, warp 4 multiplies them, warps 0 to 3 read the result; one stage of each.
struct Matmul {
  struct Params {
    const std::uint32_t* source;
    std::uint32_t* output;
    int tiles;
    Flaw flaw = Flaw::kNone;
  };
  struct Shared {
    alignas(128) isa::Bytes16 a[kABytes / 16];
    alignas(128) isa::Bytes16 b[kBBytes / 16];
    SharedMemBarrier full, empty, accumulated, released;
    std::uint32_t base;
  };
  static constexpr std::uint32_t kThreads = 192;

  static void run(const Params& p, Shared& s) {
    if (isa::tid_x() == 0) {
      isa::mbarrier_init(&s.full, 1);
      isa::mbarrier_init(&s.empty, 1);
      isa::mbarrier_init(&s.accumulated, 1);
      isa::mbarrier_init(&s.released, 128);
      isa::fence_mbarrier_init();
    }
    const std::uint32_t warp = isa::warp_idx();
    if (warp == 4) isa::tcgen05_alloc<1>(&s.base, 32);
    isa::syncthreads();
    const std::uint32_t base = isa::ld_shared(&s.base);
    if (warp == 5) {
      isa::annotate_role("load");
      if (isa::elect_sync()) load(p, s);
      isa::syncwarp();
    } else if (warp == 4) {
      isa::annotate_role("mma");
      if (isa::elect_sync()) multiply(p, s, base);
      isa::syncwarp();
      if (p.flaw == Flaw::kFreesTooEarly) isa::tcgen05_dealloc<1>(base, 32);
    } else {
      isa::annotate_role("epilogue");
      store(p, s, base);
    }
    isa::syncthreads();
    if (warp == 4 && p.flaw != Flaw::kFreesTooEarly) isa::tcgen05_dealloc<1>(base, 32);
  }

  static void load(const Params& p, Shared& s) {
    for (int k = 0; k < p.tiles; ++k) {
      wait(&s.empty, static_cast<std::uint32_t>((k + 1) & 1));
      isa::mbarrier_arrive_expect_tx(&s.full, kABytes + kBBytes);
      isa::cp_async_bulk_load(s.a, p.source, kABytes, &s.full);
      isa::cp_async_bulk_load(s.b, p.source, kBBytes, &s.full);
    }
    if (p.flaw != Flaw::kNoDrain) wait(&s.empty, static_cast<std::uint32_t>((p.tiles + 1) & 1));
  }

  static void multiply(const Params& p, Shared& s, std::uint32_t base) {
    const std::uint64_t a = tcgen05_descriptor(
        {.start_address = isa::shared_address(s.a), .leading_bytes = kABytes / 2, .stride_bytes = 128});
    const std::uint64_t b = tcgen05_descriptor(
        {.start_address = isa::shared_address(s.b), .leading_bytes = kBBytes / 2, .stride_bytes = 128});
    for (int k = 0; k < p.tiles; ++k) {
      const auto parity = static_cast<std::uint32_t>(k & 1);
      if (p.flaw != Flaw::kNoReleaseWait) wait(&s.released, parity ^ 1);
      if (p.flaw != Flaw::kNoFenceAtMma) isa::tcgen05_fence_after_thread_sync();
      if (p.flaw != Flaw::kNoFullWait) wait(&s.full, parity);
      if (p.flaw == Flaw::kCommitTooEarly) isa::tcgen05_commit<1>(&s.accumulated);
      isa::tcgen05_mma<MmaKind::kF16, 1>(base, a, b, kInstruction, p.flaw == Flaw::kAccumulatesFirst);
      isa::tcgen05_mma<MmaKind::kF16, 1>(base, a, b, kInstruction, true);
      if (p.flaw == Flaw::kNoFullWait) wait(&s.full, parity);
      if (p.flaw == Flaw::kNoStageCommit) {
        isa::mbarrier_arrive(&s.empty);
      } else {
        isa::tcgen05_commit<1>(&s.empty);
      }
      if (p.flaw != Flaw::kCommitTooEarly) isa::tcgen05_commit<1>(&s.accumulated);
    }
  }

  static void store(const Params& p, Shared& s, std::uint32_t base) {
    for (int k = 0; k < p.tiles; ++k) {
      const auto parity = static_cast<std::uint32_t>(k & 1);
      std::uint32_t r[kN];
      if (p.flaw != Flaw::kNoAccumulatorWait) wait(&s.accumulated, parity);
      if (p.flaw != Flaw::kNoFenceAtEpilogue) isa::tcgen05_fence_after_thread_sync();
      isa::tcgen05_ld_32x32b(r, base + (32 * isa::warp_idx() << 16));
      if (p.flaw != Flaw::kNoLoadWait && p.flaw != Flaw::kLoadWaitTooLate) isa::tcgen05_wait_ld();
      if (p.flaw != Flaw::kNoFenceBeforeRelease) isa::tcgen05_fence_before_thread_sync();
      if (p.flaw == Flaw::kNoAccumulatorWait) wait(&s.accumulated, parity);
      isa::mbarrier_arrive(&s.released);
      if (p.flaw == Flaw::kLoadWaitTooLate) isa::tcgen05_wait_ld();
      if (p.flaw != Flaw::kNoLoadWait) isa::st_global(&p.output[isa::tid_x()], r[0]);
    }
    if (p.flaw == Flaw::kNoLoadWait) isa::tcgen05_wait_ld();
  }
};

class Tcgen05Race : public testing::Test {
 protected:
  static std::map<std::string, int> found(Host& host, const Matmul::Params& params, int seeds = kSeeds) {
    std::map<std::string, int> codes;
    for (int seed = -1; seed < seeds; ++seed) {
      ++codes[code_of(run(host, params, seed))];
    }
    return codes;
  }

  static sim::Report run(Host& host, const Matmul::Params& params, int seed) {
    return sim::launch<Matmul>({.memory = &host.memory,
                                .schedule = seed < 0 ? sim::Schedule::round_robin()
                                                     : sim::Schedule::random(static_cast<std::uint64_t>(seed)),
                                .arch = Arch::kSm100,
                                .strict = true},  // missing_tcgen05_fence is formal
                               {.grid = {1}}, params);
  }

  static std::string code_of(const sim::Report& report) {
    return report.ok() ? "silent" : std::string(name_of(report.diagnoses.front().code));
  }

  void expect(Flaw flaw, const std::string& code, int tiles = 3) {
    const auto codes = found(host, {host.source.data(), host.output.data(), tiles, flaw});
    std::string all;
    for (const auto& [name, count] : codes) all += " " + name + ":" + std::to_string(count);
    EXPECT_EQ(codes, (std::map<std::string, int>{{code, kSeeds + 1}})) << "found:" << all;
  }

  Host host;
};

TEST_F(Tcgen05Race, IsSilentWhereEveryHandOverIsMade) {
  for (const int tiles : {1, 2, 5}) {
    const auto codes = found(host, {host.source.data(), host.output.data(), tiles}, share_of(100));
    EXPECT_EQ(codes, (std::map<std::string, int>{{"silent", share_of(100) + 1}}))
        << run(host, {host.source.data(), host.output.data(), tiles}, -1).text();
  }
}

TEST_F(Tcgen05Race, FollowsStagesOfSharedMemory) {
  expect(Flaw::kNoFullWait, "read_before_full");
  expect(Flaw::kNoStageCommit, "write_while_read");
}

TEST_F(Tcgen05Race, FollowsAccumulatorsToTheEpilogue) {
  expect(Flaw::kNoAccumulatorWait, "read_before_full", 1);
  expect(Flaw::kCommitTooEarly, "read_before_full", 1);
  expect(Flaw::kNoFenceAtEpilogue, "missing_tcgen05_fence");
}

TEST_F(Tcgen05Race, FollowsAccumulatorsBackToTheMultiplication) {
  expect(Flaw::kLoadWaitTooLate, "missing_tmem_wait");
  expect(Flaw::kNoFenceBeforeRelease, "missing_tcgen05_fence");
  expect(Flaw::kNoFenceAtMma, "missing_tcgen05_fence");
  // The multiplication may get so far ahead that the barrier of the accumulator goes round.
  const auto codes = found(host, {host.source.data(), host.output.data(), 2, Flaw::kNoReleaseWait});
  EXPECT_GT(codes.count("write_while_read"), 0u);
  EXPECT_EQ(codes.count("write_while_read") + codes.count("deadlock") + codes.count("lost_phase"), codes.size());
}

TEST_F(Tcgen05Race, ReportsALoadThatIsNeverWaitedFor) { expect(Flaw::kNoLoadWait, "missing_tmem_wait"); }

TEST_F(Tcgen05Race, ReportsCellsThatNobodyHasWritten) { expect(Flaw::kAccumulatesFirst, "uninitialised_read"); }

TEST_F(Tcgen05Race, ReportsColumnsThatAreFreedWhileTheyAreInUse) {
  expect(Flaw::kFreesTooEarly, "tmem_dealloc", 1);
}

TEST_F(Tcgen05Race, ReportsACommitThatNobodyWaitsFor) {
  // Whether the commit is still under way at the end is a matter of the schedule.
  const auto codes = found(host, {host.source.data(), host.output.data(), 1, Flaw::kNoDrain});
  EXPECT_EQ(codes.count("silent") + codes.count("exit_in_flight"), codes.size());
}

TEST_F(Tcgen05Race, NamesBothSidesAndTheFence) {
  const std::string text =
      run(host, {host.source.data(), host.output.data(), 1, Flaw::kNoFenceAtEpilogue}, -1).text();
  EXPECT_EQ(text.find("[missing_tcgen05_fence] formal: a tcgen05.mma and a tcgen05.ld touch columns 0 to 31 of "
                      "the tensor memory "
                      "without tcgen05.fence::after_thread_sync behind the barrier between them\n"),
            0u)
      << text;
  EXPECT_NE(text.find("mma, warp 4, lane 0: tcgen05.mma"), std::string::npos) << text;
  EXPECT_NE(text.find("epilogue, warp 2, lane 0: tcgen05.ld"), std::string::npos) << text;
}

}  // namespace
}  // namespace heddle::race_test
