// SPDX-License-Identifier: Apache-2.0
//
// Every instruction that takes an address is given some that nobody has: each ends the launch with a report, and
// never the process.
#include "../support/ptx_run.h"

#include <string>
#include <vector>

namespace heddle::test {
namespace {

// %r2: the wild shared address, %rd2: the wild generic one; %rd1: `out`.
std::string kernel(const std::string& shared, const std::string& generic, const std::string& instruction) {
  return ptx_module(
      "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r9, %laneid;\n"
      "mov.u32 %r2, " +
          shared + "; mov.u64 %rd2, " + generic +
          ";\n"
          ".reg .b128 %q<4>; mov.b128 %q1, {%rd1, %rd1};\n" +
          instruction + "\nret;",
      ".extern .shared .align 128 .b8 dyn[];");
}

void expect_report(const std::string& shared, const std::string& generic, const std::string& instruction,
                   bool check_races = true) {
  std::vector<std::uint32_t> out(64, 0);
  const sim::Report report = run_ptx(kernel(shared, generic, instruction), out, {0},
                                     {.threads = 32, .shared_bytes = 1024, .check_races = check_races});
  EXPECT_FALSE(report.ok()) << instruction << " at " << shared << " and " << generic;
}

// Below it, above it, in other CTAs, across its end, and the last byte of all.
const char* const kShared[] = {"0",         "16",         "0x10000",    "0x800000",  "0x1000400",
                               "0x5000400", "0x7ffffff0", "0xffffff00", "0xffffffff"};
// Null, the end, no address of the hardware, and the window of shared memory beyond the CTA's.
const char* const kGeneric[] = {
    "0", "64", "0xfffffffffffffff0", "0xffffffffffffffff", "0x0123456789abcd00", "0x8000000000000000"};

TEST(PtxWildAddress, OfSharedMemory) {
  for (const char* instruction :
       {"ld.shared.u8 %r3, [%r2];",
        "ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%r2];",
        "st.shared.u64 [%r2], %rd1;",
        "st.shared::cluster.u32 [%r2], %r1;",
        "atom.shared.add.u32 %r3, [%r2], 1;",
        "atom.shared::cluster.cas.b64 %rd3, [%r2], %rd1, %rd1;",
        "atom.shared.exch.b128 %q2, [%r2], %q1;",
        "red.shared.add.f32 [%r2], 0f3f800000;",
        "atom.shared.cas.b16 %h1, [%r2], %h2, %h2;",
        "mbarrier.init.shared.b64 [%r2], 1;",
        "mbarrier.inval.shared.b64 [%r2];",
        "mbarrier.arrive.shared.b64 %rd3, [%r2];",
        "mbarrier.arrive.shared::cluster.b64 _, [%r2];",
        "mbarrier.try_wait.parity.shared.b64 %p1, [%r2], 0;",
        "mbarrier.test_wait.shared.b64 %p1, [%r2], %rd1;",
        "mbarrier.arrive.expect_tx.shared.b64 %rd3, [%r2], 64;",
        "cp.async.mbarrier.arrive.shared.b64 [%r2];",
        "cp.async.ca.shared.global [%r2], [%rd1], 16;",
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r2], %r1, [%r2];",
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r3, %r4, %r5, %r6}, [%r2];",
        "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r2], {%r3};",
        "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17}, "
        "[%r2];",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1], 64, [%r2];",
        "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 64;",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r2], 64;",
        "mapa.shared::cluster.u32 %r3, %r2, 99;"}) {
    for (const char* address : kShared) expect_report(address, "0", instruction);
    expect_report("0x5000400", "0", instruction, false);
  }
}

TEST(PtxWildAddress, OfAnySpace) {
  for (const char* instruction :
       {"ld.u32 %r3, [%rd2];",
        "ld.global.v2.u64 {%rd3, %rd4}, [%rd2];",
        "ld.const.u32 %r3, [%rd2];",
        "ld.local.u32 %r3, [%rd2];",
        "st.u8 [%rd2], %r1;",
        "st.local.u64 [%rd2], %rd1;",
        "st.global.u32 [%rd2], %r1;",
        "atom.add.u32 %r3, [%rd2], 1;",
        "atom.cas.b64 %rd3, [%rd2], %rd1, %rd1;",
        "atom.global.exch.b128 %q2, [%rd2], %q1;",
        "red.add.f64 [%rd2], 0d3ff0000000000000;",
        "atom.global.v2.f32.add {%f1, %f2}, [%rd2], {%f3, %f4};",
        "ld.volatile.u32 %r3, [%rd2];",
        "ld.acquire.gpu.u32 %r3, [%rd2];",
        "st.release.sys.u32 [%rd2], %r1;",
        "mbarrier.init.b64 [%rd2], 1;",
        "cp.async.ca.shared.global [dyn], [%rd2], 16;",
        "cp.async.bulk.global.shared::cta.bulk_group [%rd2], [dyn], 64;",
        "wmma.load.c.sync.aligned.row.m16n16k16.f32 {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}, [%rd2];",
        "cvta.to.shared.u64 %rd3, %rd2; atom.shared.add.u32 %r3, [%rd3], 1;"}) {
    for (const char* address : kGeneric) expect_report("0", address, instruction);
    expect_report("0", "0x0123456789abcd00", instruction, false);
  }
}

}  // namespace
}  // namespace heddle::test
