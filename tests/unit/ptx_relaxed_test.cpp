// SPDX-License-Identifier: Apache-2.0
//
// What mbarrier instructions say of memory order and scope means in PTX what it means in C++ kernels.
#include "../support/ptx_run.h"

namespace heddle::test {
namespace {

const char* const kShared = ".extern .shared .align 16 .b8 dyn[];";
const char* const kSchedules[] = {"rr", "1", "2", "5"};

// Thread 0 writes and arrives, thread 32 waits and reads.
sim::Report hand_over(const std::string& arrive, const std::string& wait, const char* schedule,
                      const std::string& before = "", const std::string& after = "") {
  std::vector<std::uint32_t> out(4, 0);
  const std::string body =
      "mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra MET; mbarrier.init.shared::cta.b64 [dyn], 1;\n"
      "MET: bar.sync 0; setp.eq.u32 %p2, %r1, 32; @%p2 bra READ; @%p1 ret;\n"
      "st.shared.u32 [dyn+16], 7; " +
      before + "mbarrier.arrive" + arrive +
      ".shared::cta.b64 %rd1, [dyn]; ret;\n"
      "READ: mbarrier.try_wait.parity" +
      wait + ".shared::cta.b64 %p3, [dyn], 0; @!%p3 bra READ;\n" + after +
      "ld.shared.u32 %r2, [dyn+16]; ld.param.u64 %rd1, [out]; st.global.u32 [%rd1], %r2; ret;";
  return run_ptx(ptx_module(body, kShared), out, {0},
                 {.threads = 64, .shared_bytes = 32, .schedule = sim::Schedule::parse(schedule)});
}

TEST(PtxRelaxed, RelaxedArrivesAndWaitsHandNothingOver) {
  for (const char* schedule : kSchedules) {
    for (const char* arrive : {"", ".release.cta", ".release.cluster"}) {
      for (const char* wait : {"", ".acquire.cta", ".acquire.cluster"}) {
        const sim::Report report = hand_over(arrive, wait, schedule);
        EXPECT_TRUE(report.ok()) << arrive << " " << wait << "\n" << report.text();
      }
    }
    EXPECT_TRUE(hand_over(".relaxed.cta", "", schedule).has("race"));
    EXPECT_TRUE(hand_over("", ".relaxed.cta", schedule).has("race"));
    EXPECT_TRUE(hand_over("", ".relaxed.cluster", schedule).has("race"));
  }
}

TEST(PtxRelaxed, FencesBesideThemDo) {
  const std::string fence = "fence.acq_rel.cta; ";
  for (const char* schedule : kSchedules) {
    const auto is_ordered = [&](const char* arrive, const char* wait, const std::string& before,
                                const std::string& after) {
      return hand_over(arrive, wait, schedule, before, after).ok();
    };
    EXPECT_TRUE(is_ordered(".relaxed.cta", ".relaxed.cta", fence, fence));
    EXPECT_TRUE(is_ordered(".relaxed.cta", "", fence, ""));
    EXPECT_TRUE(is_ordered("", ".relaxed.cta", "", fence));
    EXPECT_FALSE(is_ordered(".relaxed.cta", ".relaxed.cta", "", fence));
    EXPECT_FALSE(is_ordered(".relaxed.cta", ".relaxed.cta", fence, ""));
  }
}

TEST(PtxRelaxed, FencesOfOneDirectionAreOneHalf) {
  const auto fence = [](const std::string& order) { return "fence." + order + "; "; };
  for (const char* schedule : kSchedules) {
    const auto is_ordered = [&](const std::string& before, const std::string& after) {
      return hand_over(".relaxed.cta", ".relaxed.cta", schedule, fence(before), fence(after)).ok();
    };
    for (const std::string scope : {".cta", ".cluster", ".gpu", ".sys"}) {
      EXPECT_TRUE(is_ordered("release" + scope, "acquire" + scope)) << scope;
      EXPECT_TRUE(is_ordered("acq_rel" + scope, "acquire" + scope)) << scope;
      EXPECT_TRUE(is_ordered("release" + scope, "sc" + scope)) << scope;
      EXPECT_FALSE(is_ordered("acquire" + scope, "acquire" + scope)) << scope;
      EXPECT_FALSE(is_ordered("release" + scope, "release" + scope)) << scope;
    }
  }
}

// Threads 0 and 32 of one CTA write, and meet; thread 0 counts them in, which a thread of another CTA waits for.
sim::Report count_in(const std::string& writers, const std::string& counter, const std::string& reader,
                     const char* schedule) {
  std::vector<std::uint32_t> out(64, 0);
  const std::string body =
      "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; setp.ne.u32 %p1, %r2, 0;\n"
      "@%p1 bra WAIT; shl.b32 %r3, %r1, 1; cvt.u64.u32 %rd2, %r3; add.u64 %rd2, %rd1, %rd2; and.b32 %r4, %r1, "
      "31;\n"
      "setp.ne.u32 %p2, %r4, 0; @!%p2 st.global.u32 [%rd2], 7; " +
      writers + "bar.sync 0; setp.ne.u32 %p3, %r1, 0; @%p3 ret;\n" + counter +
      "red.relaxed.gpu.global.add.u32 [%rd1+16], 1; ret;\n"
      "WAIT: setp.ne.u32 %p3, %r1, 0; @%p3 ret;\n"
      "POLL: ld.relaxed.gpu.global.u32 %r5, [%rd1+16]; setp.ne.u32 %p4, %r5, 1; @%p4 bra POLL;\n" +
      reader + "ld.global.u32 %r6, [%rd1+64]; st.global.u32 [%rd1+128], %r6; ret;";
  return run_ptx(ptx_module(body, ""), out, {0},
                 {.threads = 64, .grid = {2, 1, 1}, .schedule = sim::Schedule::parse(schedule)});
}

// PTX: a fence makes a release pattern with a write of its own thread. Only fences that are sequential order what
// others wrote before a barrier.
TEST(PtxRelaxed, FencesOfOneDirectionOrderTheirOwnThreadsWrites) {
  const std::string none, release = "fence.release.gpu; ", acquire = "fence.acquire.gpu; ";
  for (const char* schedule : kSchedules) {
    EXPECT_TRUE(count_in("fence.sc.gpu; ", none, "fence.sc.gpu; ", schedule).ok());
    EXPECT_TRUE(count_in(none, release, acquire, schedule).ok());
    EXPECT_TRUE(count_in(release, release, acquire, schedule).ok());
    EXPECT_TRUE(count_in(none, acquire, acquire, schedule).has("global_race"));
    EXPECT_TRUE(count_in(none, release, release, schedule).has("global_race"));
    EXPECT_TRUE(count_in(none, "fence.release.cta; ", acquire, schedule).has("global_race"));
    EXPECT_TRUE(count_in(none, release, "fence.acquire.cluster; ", schedule).has("global_race"));
  }
}

// The peer's barrier, as an address of shared memory.
sim::Report arrive_at_peer(const std::string& arrive) {
  std::vector<std::uint32_t> out(4, 0);
  const std::string body =
      "mbarrier.init.shared::cta.b64 [dyn], 2; fence.mbarrier_init.release.cluster; "
      "barrier.cluster.arrive.aligned;\n"
      "barrier.cluster.wait.aligned; mov.u32 %r1, dyn; mov.u32 %r2, %cluster_ctarank; xor.b32 %r2, %r2, 1;\n"
      "mapa.shared::cluster.u32 %r3, %r1, %r2; " +
      arrive + "\nbarrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; ret;";
  return run_ptx(ptx_module(body, kShared), out, {0},
                 {.threads = 1, .grid = {2, 1, 1}, .cluster = {2, 1, 1}, .shared_bytes = 32});
}

TEST(PtxRelaxed, FormsOfTheOwnCtaTakeNoPeersBarrier) {
  for (const char* what : {"arrive", "arrive.expect_tx"}) {
    const std::string count = std::string(what) == "arrive" ? ";" : ", 0;";
    const std::string start = std::string("mbarrier.") + what;
    const sim::Report report = arrive_at_peer(start + ".shared::cta.b64 %rd1, [%r3]" + count);
    ASSERT_TRUE(report.has("bad_rank")) << report.text();
    EXPECT_NE(report.text().find("; this form takes a barrier of the own CTA"), std::string::npos)
        << report.text();
    EXPECT_TRUE(arrive_at_peer(start + ".shared::cluster.b64 _, [%r3]" + count).ok());
  }
  EXPECT_TRUE(arrive_at_peer("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r3], 16;").has("bad_rank"));
}

}  // namespace
}  // namespace heddle::test
