// SPDX-License-Identifier: Apache-2.0
//
// cp.async counts as a write from its issue until it was waited for, whatever the schedule makes of it.
#include "../support/ptx_run.h"

#include <string>
#include <vector>

namespace heddle::test {
namespace {

const char* const kShared = ".extern .shared .align 16 .b8 dyn[];";

// 64 threads. %r2: the place of a thread's own 16 bytes; %r3: of the 16 bytes of the thread 32 before or after
// it.
const char* const kStart =
    "ld.param.u64 %rd1, [in];\nmov.u32 %r1, %tid.x; shl.b32 %r4, %r1, 4; mov.u32 %r5, dyn; add.u32 %r2, %r5, "
    "%r4;\n"
    "xor.b32 %r6, %r4, 512; add.u32 %r3, %r5, %r6; cvt.u64.u32 %rd2, %r4; add.s64 %rd1, %rd1, %rd2;\n";
const char* const kCopy = "cp.async.cg.shared.global [%r2], [%rd1], 16;\n";

// The code that every schedule gives, or "mixed".
std::string code_of(const std::string& body) {
  std::string found;
  for (const char* schedule : {"rr", "1", "2", "3", "4", "5", "6", "7"}) {
    std::vector<std::uint32_t> out(64, 0);
    const sim::Report report =
        run_ptx(ptx_module(kStart + body + "ret;", kShared), out, std::vector<std::uint32_t>(256),
                {.threads = 64, .shared_bytes = 2048, .schedule = sim::Schedule::parse(schedule)});
    std::string code = "silent";
    if (!report.ok()) {
      const std::string text = report.text();
      code = text.substr(1, text.find(']') - 1);
    }
    if (!found.empty() && found != code) return "mixed: " + found + ", " + code;
    found = code;
  }
  return found;
}

const std::string kInit =
    "setp.ne.u32 %p1, %r1, 0; @%p1 bra INITED;\nmbarrier.init.shared::cta.b64 [dyn+1024], 64;\n"
    "mbarrier.init.shared::cta.b64 [dyn+1032], 64;\nINITED: bar.sync 0;\n";
const std::string kWait = "SPIN: mbarrier.try_wait.parity.shared::cta.b64 %p2, [dyn+1024], 0;\n@!%p2 bra SPIN;\n";
const std::string kRead = "ld.shared.u32 %r7, [%r3];\n";

TEST(AsyncCopy, IsReadByItsThreadAfterAWait) {
  const std::string read = "ld.shared.u32 %r7, [%r2];\n";
  EXPECT_EQ(code_of(kCopy + read), "read_before_full");
  EXPECT_EQ(code_of(std::string(kCopy) + "cp.async.wait_group 0;\n" + read), "read_before_full");
  EXPECT_EQ(code_of(std::string(kCopy) + "cp.async.commit_group;\ncp.async.wait_group 1;\n" + read),
            "read_before_full");
  EXPECT_EQ(code_of(std::string(kCopy) + "cp.async.commit_group;\ncp.async.wait_group 0;\n" + read), "silent");
  EXPECT_EQ(code_of(std::string(kCopy) + "cp.async.wait_all;\n" + read), "silent");
  // A second copy after wait_all is not covered by it.
  EXPECT_EQ(code_of(std::string(kCopy) + "cp.async.wait_all;\n" + kCopy + read), "read_before_full");
}

TEST(AsyncCopy, IsReadByOthersAfterAWaitAndABarrier) {
  EXPECT_EQ(code_of(std::string(kCopy) + "cp.async.wait_all;\nbar.sync 0;\n" + kRead), "silent");
  EXPECT_EQ(code_of(std::string(kCopy) + "bar.sync 0;\n" + kRead + "cp.async.wait_all;\n"), "read_before_full");
  EXPECT_EQ(code_of(std::string(kCopy) + "bar.sync 0;\ncp.async.wait_all;\n" + kRead), "read_before_full");
  EXPECT_EQ(code_of(std::string(kCopy) + "cp.async.wait_all;\n" + kRead + "bar.sync 0;\n"), "race");
}

TEST(AsyncCopy, DoesNotOverlapAnotherIntoTheSameBytes) {
  EXPECT_EQ(code_of(std::string(kCopy) + kCopy + "cp.async.wait_all;\n"), "race");
  EXPECT_EQ(code_of(std::string(kCopy) + "cp.async.commit_group;\n" + kCopy + "cp.async.wait_all;\n"), "race");
  EXPECT_EQ(code_of(std::string(kCopy) + "cp.async.wait_all;\n" + kCopy + "cp.async.wait_all;\n"), "silent");
  EXPECT_EQ(code_of(std::string(kCopy) + "st.shared.u32 [%r2], 1;\ncp.async.wait_all;\n"), "race");
  EXPECT_EQ(code_of(std::string(kCopy) + "cp.async.wait_all;\nst.shared.u32 [%r2], 1;\n"), "silent");
}

TEST(AsyncCopy, IsOverWhereABarrierThatTracksItIsWaitedFor) {
  const std::string arrive = "mbarrier.arrive.shared::cta.b64 %rd3, [dyn+1024];\n";
  const std::string noinc = "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [dyn+1024];\n";
  const std::string inc = "cp.async.mbarrier.arrive.shared::cta.b64 [dyn+1024];\n";
  EXPECT_EQ(code_of(kInit + kCopy + noinc + kWait + kRead), "silent");
  EXPECT_EQ(code_of(kInit + kCopy + inc + arrive + kWait + kRead), "silent");
  EXPECT_EQ(code_of(kInit + kCopy + arrive + kWait + kRead), "read_before_full");
  EXPECT_EQ(code_of(kInit + kCopy + "cp.async.wait_all;\n" + arrive + kWait + kRead), "silent");
  // Issued after the barrier began to track.
  EXPECT_EQ(code_of(kInit + noinc + kCopy + kWait + kRead), "race");
  // The arrival is the copies' and hands over nothing that the thread stored besides.
  EXPECT_EQ(code_of(kInit + "st.shared.u32 [%r2], 1;\n" + noinc + kWait + kRead), "race");
}

TEST(AsyncCopy, NeedsAProxyFenceBeforeTheAsyncProxyReads) {
  const std::string store =
      "bar.sync 0;\nld.param.u64 %rd4, [out];\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 ret;\n"
      "cp.async.bulk.global.shared::cta.bulk_group [%rd4], [dyn], 128;\ncp.async.bulk.commit_group;\n"
      "cp.async.bulk.wait_group 0;\n";
  const std::string fence = "fence.proxy.async.shared::cta;\n";
  EXPECT_EQ(code_of(std::string(kCopy) + "cp.async.wait_all;\n" + fence + store), "silent");
  EXPECT_EQ(code_of(std::string(kCopy) + "cp.async.wait_all;\n" + store), "missing_proxy_fence");
  EXPECT_EQ(code_of(std::string(kCopy) + fence + "cp.async.wait_all;\n" + store), "missing_proxy_fence");
}

TEST(AsyncCopy, IsNamed) {
  std::vector<std::uint32_t> out(64, 0);
  const sim::Report report =
      run_ptx(ptx_module(std::string(kStart) + kCopy + "ld.shared.u32 %r7, [%r2];\nret;", kShared), out,
              std::vector<std::uint32_t>(256), {.threads = 64, .shared_bytes = 2048});
  EXPECT_EQ(
      report.text().find("[read_before_full] bytes 0 to 3 of the shared memory are read before the cp.async that "
                         "fills them is known to be complete\n"),
      0u)
      << report.text();
  EXPECT_NE(report.text().find("warp 0, lane 0: cp.async of 16 bytes"), std::string::npos) << report.text();
}

}  // namespace
}  // namespace heddle::test
