// SPDX-License-Identifier: Apache-2.0
//
// Operands of wgmma in shared memory: read through the async proxy, and later than the instruction. Every fault
// has a twin that differs in one line and must stay silent.
#include "race_kernels.h"

#include <heddle/isa/address.h>
#include <heddle/isa/wgmma.h>

namespace heddle::race_test {
namespace {

constexpr WgmmaShape kShape{.n = 8};
constexpr std::uint32_t kABytes = 64 * 32;
constexpr std::uint32_t kBBytes = 8 * 32;

struct Operands {
  alignas(128) isa::Bytes16 a[kABytes / 16];
  alignas(128) isa::Bytes16 b[kBBytes / 16];
};

// 8 x 16-byte cores: rows of a core side by side, then the next 8 rows, then the other half of K.
void multiply(Operands& operands, WgmmaAccumulators<kShape>& d, CallSite site = CallSite::here()) {
  const std::uint64_t a = wgmma_descriptor(
      {.start_address = isa::shared_address(operands.a), .leading_bytes = kABytes / 2, .stride_bytes = 128});
  const std::uint64_t b = wgmma_descriptor(
      {.start_address = isa::shared_address(operands.b), .leading_bytes = kBBytes / 2, .stride_bytes = 128});
  isa::wgmma_fence();
  isa::wgmma_mma_async<kShape>(d, a, b, false, site);
  isa::wgmma_commit_group();
}

// A warpgroup writes operands, multiplies, and writes the next ones to the same place.
struct WriteAndMultiply {
  enum class Flaw : std::uint8_t { kNone, kNoFence, kNoBarrier, kNoWait, kWaitAllowsOne };
  struct Params {
    Flaw flaw = Flaw::kNone;
  };
  using Shared = Operands;
  static constexpr std::uint32_t kThreads = 128;

  static void run(const Params& p, Shared& s) {
    const std::uint32_t thread = isa::tid_x();
    WgmmaAccumulators<kShape> d;
    for (int turn = 0; turn < 2; ++turn) {
      isa::st_shared(&s.a[thread], isa::Bytes16{});
      if (thread < 16) isa::st_shared(&s.b[thread], isa::Bytes16{});
      if (p.flaw != Flaw::kNoFence) isa::fence_proxy_async_shared_cta();
      if (p.flaw != Flaw::kNoBarrier) isa::syncthreads();
      multiply(s, d);
      if (p.flaw == Flaw::kWaitAllowsOne) isa::wgmma_wait_group<1>();
      if (p.flaw != Flaw::kNoWait && p.flaw != Flaw::kWaitAllowsOne) isa::wgmma_wait_group<0>();
      isa::syncthreads();
    }
    isa::wgmma_wait_group<0>();
    isa::syncthreads();
  }
};

TEST(RaceChecker, FollowsOperandsThatThreadsWrite) {
  using Flaw = WriteAndMultiply::Flaw;
  Host host;
  expect_silent<WriteAndMultiply>(host, {.grid = {1}}, {}, 100);
  expect_found<WriteAndMultiply>(host, {.grid = {1}}, {Flaw::kNoFence}, {"missing_proxy_fence"});
  expect_found<WriteAndMultiply>(host, {.grid = {1}}, {Flaw::kNoBarrier}, {"race"});
  expect_found<WriteAndMultiply>(host, {.grid = {1}}, {Flaw::kNoWait}, {"write_while_read"});
  expect_found<WriteAndMultiply>(host, {.grid = {1}}, {Flaw::kWaitAllowsOne}, {"write_while_read"});
}

// A warp loads operands, a warpgroup multiplies them and gives the stage back.
struct LoadAndMultiply {
  enum class Flaw : std::uint8_t { kNone, kNoFullWait, kOneWarpWaits, kOneWarpDoesNot, kReleaseBeforeWait };
  struct Params {
    const std::uint32_t* source;
    int tiles;
    Flaw flaw = Flaw::kNone;
  };
  struct Shared {
    Operands operands;
    SharedMemBarrier full, empty;
  };
  static constexpr std::uint32_t kThreads = 160;

  static void run(const Params& p, Shared& s) {
    if (isa::tid_x() == 0) {
      isa::annotate_barriers(&s.full, 1, "operands", isa::BarrierRole::kFull);
      isa::annotate_barriers(&s.empty, 1, "operands", isa::BarrierRole::kEmpty);
      isa::mbarrier_init(&s.full, 1);
      isa::mbarrier_init(&s.empty, 1);
      isa::fence_mbarrier_init();
    }
    isa::syncthreads();
    if (isa::warp_idx() == 4) {
      isa::annotate_role("load");
      if (isa::elect_sync()) load(p, s);
    } else {
      isa::annotate_role("multiply");
      consume(p, s);
    }
    isa::syncthreads();
  }

  static void load(const Params& p, Shared& s) {
    for (int k = 0; k < p.tiles; ++k) {
      wait(&s.empty, static_cast<std::uint32_t>((k + 1) & 1));
      isa::mbarrier_arrive_expect_tx(&s.full, kABytes + kBBytes);
      isa::cp_async_bulk_load(s.operands.a, p.source, kABytes, &s.full);
      isa::cp_async_bulk_load(s.operands.b, p.source, kBBytes, &s.full);
    }
    wait(&s.full, static_cast<std::uint32_t>((p.tiles - 1) & 1));
  }

  static void consume(const Params& p, Shared& s) {
    WgmmaAccumulators<kShape> d;
    for (int k = 0; k < p.tiles; ++k) {
      const auto parity = static_cast<std::uint32_t>(k & 1);
      const bool waits = p.flaw == Flaw::kOneWarpWaits     ? isa::warp_idx() == 0
                         : p.flaw == Flaw::kOneWarpDoesNot ? isa::warp_idx() != 3
                                                           : p.flaw != Flaw::kNoFullWait;
      if (waits) wait(&s.full, parity);
      multiply(s.operands, d);
      if (p.flaw != Flaw::kReleaseBeforeWait) isa::wgmma_wait_group<0>();
      if (!waits) wait(&s.full, parity);
      // One thread gives the stage back for the whole warpgroup: its wait covers the operation of all four warps.
      if (isa::tid_x() == 0) isa::mbarrier_arrive(&s.empty);
      isa::wgmma_wait_group<0>();
    }
  }
};

TEST(RaceChecker, FollowsOperandsThatCopiesFill) {
  using Flaw = LoadAndMultiply::Flaw;
  Host host;
  const std::uint32_t* source = host.source.data();
  expect_silent<LoadAndMultiply>(host, {.grid = {1}}, {source, 4}, 100);
  expect_found<LoadAndMultiply>(host, {.grid = {1}}, {source, 4, Flaw::kNoFullWait}, {"read_before_full"});
  expect_found<LoadAndMultiply>(host, {.grid = {1}}, {source, 1, Flaw::kOneWarpWaits}, {"read_before_full"});
  expect_found<LoadAndMultiply>(host, {.grid = {1}}, {source, 1, Flaw::kOneWarpDoesNot}, {"read_before_full"});
  expect_found<LoadAndMultiply>(host, {.grid = {1}}, {source, 4, Flaw::kReleaseBeforeWait},
                                {"write_while_read", "lost_phase"});
  const std::string text =
      whole_text<LoadAndMultiply>(host, {.grid = {1}}, {source, 4, Flaw::kReleaseBeforeWait});
  EXPECT_EQ(text.find("[write_while_read] a copy overwrites operands[0] while it may still be read\n"), 0u)
      << text;
  EXPECT_NE(text.find("lane 0: wgmma.mma_async"), std::string::npos) << text;
  EXPECT_NE(text.find("likely: wgmma_commit_group() and a wgmma_wait_group"), std::string::npos) << text;
}

}  // namespace
}  // namespace heddle::race_test
