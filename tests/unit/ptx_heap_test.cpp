// SPDX-License-Identifier: Apache-2.0
//
// malloc and free in kernels: a program's blocks live from launch to launch, and what goes wrong with them is
// told.
#include "../support/ptx_run.h"

namespace heddle::test {
namespace {

constexpr const char* kDeclared =
    ".extern .func (.param .b64 result) malloc(.param .b64 bytes);\n.extern .func free(.param .b64 address);\n";

const std::string kMalloc =
    "ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x; mul.wide.u32 %rd1, %r0, 8; add.u64 %rd0, %rd0, %rd1;\n"
    "{ .param .b64 bytes; .param .b64 result; mov.u64 %rd2, 64; st.param.b64 [bytes], %rd2;\n"
    "call.uni (result), malloc, (bytes); ld.param.b64 %rd3, [result]; }\n";
const std::string kFree = "{ .param .b64 address; st.param.b64 [address], %rd3; call.uni free, (address); }\n";

sim::Report run(const std::string& body, std::vector<std::uint32_t>& out, sim::DeviceHeap* heap = nullptr) {
  const sim::PtxModule module = sim::PtxModule::load(ptx_module(body + "ret;", kDeclared), "heap.ptx");
  sim::GlobalMemory memory;
  memory.add("out", out.data(), 4 * out.size());
  sim::PtxArguments arguments;
  arguments.add(out.data());
  arguments.add(out.data());
  sim::PtxLaunch launch{.grid = {}, .block = {32, 1, 1}, .print = {}};
  launch.heap = heap;
  return module.launch("k", {.memory = &memory, .kernel = "k"}, launch, arguments);
}

TEST(PtxHeap, EachThreadHasItsOwnBlock) {
  std::vector<std::uint32_t> out(64);
  const sim::Report report =
      run(kMalloc +
              "st.u32 [%rd3+60], %r0; ld.u32 %r1, [%rd3+60]; cvt.u64.u32 %rd4, %r1;\n"
              "and.b64 %rd5, %rd3, 15; add.u64 %rd4, %rd4, %rd5; st.global.u64 [%rd0], %rd4;\n" +
              kFree,
          out);
  ASSERT_TRUE(report.ok()) << report.text();
  for (std::uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[2 * lane], lane);
}

TEST(PtxHeap, ABlockLivesUntilItIsFreed) {
  sim::DeviceHeap heap;
  std::vector<std::uint32_t> out(64);
  ASSERT_TRUE(run(kMalloc + "st.u32 [%rd3], 7; st.global.u64 [%rd0], %rd3;\n", out, &heap).ok());
  const std::string load =
      "ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x; mul.wide.u32 %rd1, %r0, 8;\n"
      "add.u64 %rd0, %rd0, %rd1; ld.global.u64 %rd3, [%rd0];\n";
  const std::string use = "ld.u32 %r1, [%rd3]; st.global.u32 [%rd0+4], %r1;\n";
  std::vector<std::uint32_t> later = out;
  const sim::Report alive = run(load + use, later, &heap);
  EXPECT_TRUE(alive.ok()) << alive.text();
  EXPECT_EQ(later[1], 7);
  later = out;
  ASSERT_TRUE(run(load + kFree, later, &heap).ok());
  const sim::Report freed = run(load + use, later, &heap);
  ASSERT_FALSE(freed.ok());
  EXPECT_NE(freed.text().find("[global_out_of_bounds]"), std::string::npos) << freed.text();
}

TEST(PtxHeap, MistakesNameTheBlock) {
  std::vector<std::uint32_t> out(64);
  const sim::Report end = run(kMalloc + "st.u32 [%rd3+64], 1;\n" + kFree, out);
  ASSERT_FALSE(end.ok());
  EXPECT_NE(end.text().find("0 bytes behind the end of memory of 64 bytes from malloc"), std::string::npos)
      << end.text();
  const sim::Report after = run(kMalloc + kFree + "ld.u32 %r1, [%rd3];\n", out);
  ASSERT_FALSE(after.ok());
  EXPECT_NE(after.text().find("which was freed"), std::string::npos) << after.text();
  const sim::Report twice = run(kMalloc + kFree + kFree, out);
  ASSERT_FALSE(twice.ok());
  EXPECT_NE(twice.text().find("is not the beginning of memory from malloc"), std::string::npos) << twice.text();
  const sim::Report unwritten = run(kMalloc + "ld.u32 %r1, [%rd3]; st.global.u32 [%rd0], %r1;\n" + kFree, out);
  ASSERT_FALSE(unwritten.ok());
  EXPECT_NE(unwritten.text().find("[uninitialised_read]"), std::string::npos) << unwritten.text();
}

TEST(PtxHeap, AFullHeapGivesNull) {
  sim::DeviceHeap heap(64 * 3);
  std::vector<std::uint32_t> out(64);
  const sim::Report report = run(kMalloc + "st.global.u64 [%rd0], %rd3;\n" + kFree, out, &heap);
  ASSERT_TRUE(report.ok()) << report.text();
  std::size_t given = 0;
  for (std::uint32_t lane = 0; lane < 32; ++lane) given += out[2 * lane] != 0 ? 1u : 0u;
  EXPECT_EQ(given, 3);
}

}  // namespace
}  // namespace heddle::test
