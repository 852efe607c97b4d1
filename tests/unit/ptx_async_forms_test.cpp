// SPDX-License-Identifier: Apache-2.0
//
// Copies, reductions and stores that run on their own, as PTX has them: four rows of a tensor, reductions without
// a tensor map, multicast without one, st.async, red.async, and tensor maps that the kernel makes.
#include "../support/ptx_run.h"

#include <heddle/host/error.h>

#include <bit>

namespace heddle::test {
namespace {

const char* const kShared = ".shared .align 1024 .b8 smem[4096];\n";

// %r0: the map, %r1: the barrier, %r2: the tile, %r30: the thread, %p0: it is the first; %rd0 out, %rd1 in.
const char* const kBegin =
    "mov.u32 %r30, %tid.x; ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [in]; setp.eq.u32 %p0, %r30, 0;\n"
    "mov.u32 %r0, smem; add.u32 %r1, %r0, 128; add.u32 %r2, %r0, 1024;\n"
    "mad.lo.u32 %r3, %r30, 4, %r2; mul.wide.u32 %rd9, %r30, 4;\n"
    "@%p0 mbarrier.init.shared::cta.b64 [%r1], 1;\n"
    "@%p0 fence.mbarrier_init.release.cluster;\n"
    "bar.sync 0;\n";

const char* const kWait =
    "WAIT: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r1], 0;\n@!%p1 bra WAIT;\n";

// A map of `rows` rows of 8 words at the address in `base`, made in shared memory, copied to the start of `out`.
std::string make_map(const std::string& base, int rows, int box_rows = 1) {
  const auto replace = [](const std::string& rest) { return "@%p0 tensormap.replace.tile" + rest + ";\n"; };
  const std::string map = ".shared::cta.b1024";
  return "mad.lo.u32 %r4, %r30, 4, %r0; st.shared.b32 [%r4], 0; bar.warp.sync -1;\n" +
         replace(".global_address" + map + ".b64 [%r0], " + base) + replace(".rank" + map + ".b32 [%r0], 1") +
         replace(".elemtype" + map + ".b32 [%r0], 2") + replace(".interleave_layout" + map + ".b32 [%r0], 0") +
         replace(".swizzle_mode" + map + ".b32 [%r0], 0") + replace(".fill_mode" + map + ".b32 [%r0], 0") +
         replace(".box_dim" + map + ".b32 [%r0], 0, 8") +
         replace(".box_dim" + map + ".b32 [%r0], 1, " + std::to_string(box_rows)) +
         replace(".global_dim" + map + ".b32 [%r0], 0, 8") +
         replace(".global_dim" + map + ".b32 [%r0], 1, " + std::to_string(rows)) +
         replace(".global_stride" + map + ".b64 [%r0], 0, 32") +
         replace(".element_stride" + map + ".b32 [%r0], 0, 1") +
         replace(".element_stride" + map + ".b32 [%r0], 1, 1") +
         "bar.warp.sync -1; add.u64 %rd2, %rd0, 127; and.b64 %rd2, %rd2, -128;\n"
         "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd2], [%r0], "
         "128;\n"
         "fence.proxy.tensormap::generic.acquire.gpu [%rd2], 128;\n";
}

constexpr std::size_t kData = 128;  // words of `out` before the data

std::vector<std::uint32_t> counted(std::size_t count) {
  std::vector<std::uint32_t> words(count);
  for (std::size_t i = 0; i < count; ++i) words[i] = static_cast<std::uint32_t>(1000 + i);
  return words;
}

std::string gather(const std::string& rows, int box_rows = 1) {
  return std::string(kBegin) + make_map("%rd1", 16, box_rows) +
         "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 %rd5, [%r1], 128;\n"
         "@%p0 cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [%r2], "
         "[%rd2, {0, " +
         rows + "}], [%r1];\n" + kWait +
         "ld.shared.b32 %r5, [%r3]; add.u64 %rd3, %rd0, %rd9; st.global.b32 [%rd3+512], %r5; ret;";
}

TEST(PtxAsyncForms, FourRowsAreGatheredWithAMapThatTheKernelMakes) {
  const std::vector<std::uint32_t> in = counted(16 * 8);
  std::vector<std::uint32_t> out(kData + 32, 7);
  const sim::Report report = run_ptx(ptx_module(gather("5, 2, 20, 2"), kShared), out, in, {.arch = Arch::kSm100});
  ASSERT_TRUE(report.ok()) << report.text();
  for (std::uint32_t word = 0; word < 8; ++word) {
    EXPECT_EQ(out[kData + word], 1000 + 5 * 8 + word);
    EXPECT_EQ(out[kData + 8 + word], 1000 + 2 * 8 + word);
    EXPECT_EQ(out[kData + 16 + word], 0u) << "outside the tensor";
    EXPECT_EQ(out[kData + 24 + word], 1000 + 2 * 8 + word);
  }
}

TEST(PtxAsyncForms, FourRowsNeedABoxOfOneRowAndBlackwell) {
  const std::vector<std::uint32_t> in = counted(16 * 8);
  std::vector<std::uint32_t> out(kData + 32);
  const sim::Report wide = run_ptx(ptx_module(gather("5, 2, 3, 2", 2), kShared), out, in, {.arch = Arch::kSm100});
  ASSERT_FALSE(wide.ok());
  EXPECT_NE(wide.text().find("[bad_tensor_map]"), std::string::npos) << wide.text();
  EXPECT_NE(wide.text().find("box has 2 rows; it has 1"), std::string::npos) << wide.text();
  const sim::Report hopper = run_ptx(ptx_module(gather("5, 2, 3, 2"), kShared), out, in);
  ASSERT_FALSE(hopper.ok());
  EXPECT_NE(hopper.text().find("needs sm_100a"), std::string::npos) << hopper.text();
}

TEST(PtxAsyncForms, FourRowsAreScattered) {
  std::vector<std::uint32_t> out(kData + 16 * 8, 7);
  const sim::Report report =
      run_ptx(ptx_module(std::string(kBegin) + "add.u64 %rd4, %rd0, 512;\n" + make_map("%rd4", 16) +
                             "st.shared.b32 [%r3], %r30; fence.proxy.async.shared::cta; bar.warp.sync -1;\n"
                             "@%p0 cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%rd2, "
                             "{0, 3, 0, 9, 30}], "
                             "[%r2];\n@%p0 cp.async.bulk.commit_group;\n@%p0 cp.async.bulk.wait_group 0;\nret;",
                         kShared),
              out, {0}, {.arch = Arch::kSm100});
  ASSERT_TRUE(report.ok()) << report.text();
  for (std::uint32_t row = 0; row < 16; ++row) {
    for (std::uint32_t word = 0; word < 8; ++word) {
      const std::uint32_t expected = row == 3 ? word : row == 0 ? 8 + word : row == 9 ? 16 + word : 7;
      EXPECT_EQ(out[kData + row * 8 + word], expected) << row;
    }
  }
}

TEST(PtxAsyncForms, ATensorMapWithAMissingFieldIsRefusedWhenItIsUsed) {
  std::vector<std::uint32_t> out(kData + 32);
  std::string text = gather("5, 2, 3, 2");
  const std::string field = "@%p0 tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r0], 0, 8;\n";
  text.erase(text.find(field), field.size());
  const sim::Report report = run_ptx(ptx_module(text, kShared), out, counted(128), {.arch = Arch::kSm100});
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.text().find("[bad_tensor_map]"), std::string::npos) << report.text();
}

// Zeros are a rank of 1 in the hardware's format, so that Triton does not set it.
TEST(PtxAsyncForms, ATensorMapWithoutARankHasOneDimension) {
  std::string map = make_map("%rd1", 16);
  const std::string rank = "@%p0 tensormap.replace.tile.rank.shared::cta.b1024.b32 [%r0], 1;\n";
  map.erase(map.find(rank), rank.size());
  std::vector<std::uint32_t> out(kData + 32);
  const sim::Report report = run_ptx(
      ptx_module(
          std::string(kBegin) + map +
              "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 %rd5, [%r1], 32;\n"
              "@%p0 cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r2], "
              "[%rd2, {0}], [%r1];\n" +
              kWait +
              "setp.gt.u32 %p2, %r30, 7; @%p2 ret; ld.shared.b32 %r5, [%r3];\n"
              "add.u64 %rd3, %rd0, %rd9; st.global.b32 [%rd3+512], %r5; ret;",
          kShared),
      out, counted(128));
  ASSERT_TRUE(report.ok()) << report.text();
  for (std::uint32_t word = 0; word < 8; ++word) EXPECT_EQ(out[kData + word], 1000 + word);
}

TEST(PtxAsyncForms, ATensorMapThatTheKernelMakesNeedsItsFencesAndStaysWhileItIsRead) {
  const auto code_of = [](const std::string& text) {
    std::vector<std::uint32_t> out(kData + 32);
    const sim::Report report = run_ptx(ptx_module(text, kShared), out, counted(128), {.arch = Arch::kSm100});
    return report.ok() ? "silent" : std::string(name_of(report.diagnoses.front().code));
  };
  const auto without = [](std::string text, const std::string& part) {
    return text.erase(text.find(part), part.size());
  };
  const std::string text = gather("5, 2, 3, 2");
  const std::string acquire = "fence.proxy.tensormap::generic.acquire.gpu [%rd2], 128;\n";
  EXPECT_EQ(code_of(text), "silent");
  EXPECT_EQ(code_of(without(text, acquire)), "missing_proxy_fence");
  // The acquire may stand in other lanes, before a barrier that leads to the copy.
  std::string elsewhere = text;
  elsewhere.replace(elsewhere.find(acquire), acquire.size(), "@!%p0 " + acquire + "bar.warp.sync -1;\n");
  EXPECT_EQ(code_of(elsewhere), "silent");
  // What the copy reads is changed under it; CUTLASS waits for a bulk group before that.
  const std::string again =
      "bar.warp.sync -1;\n"
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd2], [%r0], "
      "128;\n";
  const std::string wait = "@%p0 cp.async.bulk.commit_group;\n@%p0 cp.async.bulk.wait_group.read 0;\n";
  const auto before_the_wait = [&](const std::string& part) {
    std::string changed = text;
    return changed.insert(changed.find(kWait), part);
  };
  EXPECT_EQ(code_of(before_the_wait(again)), "global_race");
  EXPECT_EQ(code_of(before_the_wait(wait + again)), "silent");
}

struct FlatReduction {
  const char* modifiers;
  std::uint32_t old, given, expected;
};

TEST(PtxAsyncForms, FlatReductionsCombineWithGlobalMemory) {
  const auto f = [](float value) { return std::bit_cast<std::uint32_t>(value); };
  for (const FlatReduction& one :
       {FlatReduction{".add.u32", 5, 7, 12}, FlatReduction{".add.f32", f(1.5f), f(2.25f), f(3.75f)},
        FlatReduction{".min.s32", 3, 0xffffffff, 0xffffffff},
        FlatReduction{".max.u32", 3, 0xffffffff, 0xffffffff}, FlatReduction{".inc.u32", 4, 4, 0},
        FlatReduction{".xor.b32", 0xf0, 0xff, 0x0f},
        FlatReduction{".add.noftz.bf16", 0x3f803f80, 0x40003f80, 0x40404000}}) {
    std::vector<std::uint32_t> out(32, one.old);
    const sim::Report report = run_ptx(
        ptx_module(
            std::string(kBegin) + "mov.u32 %r5, " + std::to_string(one.given) +
                "; st.shared.b32 [%r3], %r5; fence.proxy.async.shared::cta; bar.warp.sync -1;\n"
                "@%p0 cp.reduce.async.bulk.global.shared::cta.bulk_group" +
                one.modifiers +
                " [%rd0], [%r2], 128;\n@%p0 cp.async.bulk.commit_group;\n@%p0 cp.async.bulk.wait_group 0;\nret;",
            kShared),
        out);
    ASSERT_TRUE(report.ok()) << report.text();
    for (const std::uint32_t word : out) EXPECT_EQ(word, one.expected) << one.modifiers;
  }
  const std::string refused =
      ptx_module("cp.reduce.async.bulk.global.shared::cta.bulk_group.min.f32 [%rd0], [%r2], 128; ret;");
  EXPECT_THROW(sim::PtxModule::load(refused, "test.ptx"), InputError);
}

// Both CTAs of a pair; rank in %r10. Each writes what it has got to its half of `out`.
std::string in_pair(const std::string& body) {
  return std::string(kBegin) +
         "mov.u32 %r10, %cluster_ctarank; xor.b32 %r11, %r10, 1; mapa.shared::cluster.u32 %r12, %r2, %r11;\n"
         "mapa.shared::cluster.u32 %r13, %r1, %r11; mul.wide.u32 %rd7, %r10, 128; add.u64 %rd0, %rd0, %rd7;\n"
         "st.shared.b32 [%r3], 100; fence.proxy.async.shared::cta;\n"
         "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 %rd5, [%r1], 128;\n"
         "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n" +
         body + kWait +
         "ld.shared.b32 %r5, [%r3]; add.u64 %rd3, %rd0, %rd9; st.global.b32 [%rd3], %r5;\n"
         "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; ret;";
}

const PtxRun kPair{.grid = {2, 1, 1}, .cluster = {2, 1, 1}};

TEST(PtxAsyncForms, StoresAndReductionsReachThePeer) {
  struct Case {
    const char* store;
    std::uint32_t base, step;  // lane l of rank r finds base + step * (32 * (1 - r) + l)
  };
  for (const Case& one :
       {Case{"st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r14], %r15, [%r13];\n", 0, 1},
        Case{"st.async.weak.mbarrier::complete_tx::bytes.shared::cluster.u32 [%r14], %r15, [%r13];\n", 0, 1},
        Case{"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r14], %r15, "
             "[%r13];\n",
             100, 1},
        Case{
            "red.async.mbarrier::complete_tx::bytes.relaxed.cluster.shared::cluster.max.u32 [%r14], 7, [%r13];\n",
            100, 0}}) {
    std::vector<std::uint32_t> out(64);
    const sim::Report report =
        run_ptx(ptx_module(in_pair("mad.lo.u32 %r14, %r30, 4, %r12; mad.lo.u32 %r15, %r10, 32, %r30;\n" +
                                   std::string(one.store)),
                           kShared),
                out, {0}, kPair);
    ASSERT_TRUE(report.ok()) << one.store << report.text();
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      for (std::uint32_t lane = 0; lane < 32; ++lane) {
        EXPECT_EQ(out[32 * rank + lane], one.base + one.step * (32 * (1 - rank) + lane)) << one.store;
      }
    }
  }
}

// PTX: st.async writes as threads do: the copy engine needs a fence, and threads that wrote before do not.
TEST(PtxAsyncForms, AStoreToThePeerIsOfTheGenericProxy) {
  const auto run = [](const std::string& before_store, const std::string& before_copy) {
    std::vector<std::uint32_t> out(64);
    const std::string wait =
        "HERE: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r1], 0;\n"
        "@!%p1 bra HERE;\n";
    const std::string body =
        in_pair(before_store +
                "mad.lo.u32 %r14, %r30, 4, %r12;\n"
                "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r14], %r30, [%r13];\n" +
                wait + before_copy +
                "bar.warp.sync -1;\n"
                "@%p0 cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r2], 128;\n"
                "@%p0 cp.async.bulk.commit_group;\n@%p0 cp.async.bulk.wait_group 0;\n");
    // What the threads themselves store in the end is not wanted here.
    const std::string text = body.substr(0, body.find("WAIT:"));
    return run_ptx(
        ptx_module(text + "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; ret;", kShared), out,
        {0}, kPair);
  };
  const std::string fence = "fence.proxy.async.shared::cta;\n";
  EXPECT_TRUE(run("", fence).ok()) << run("", fence).text();
  const sim::Report report = run("", "");
  EXPECT_TRUE(report.has("missing_proxy_fence")) << report.text();
  EXPECT_NE(report.text().find("remote store"), std::string::npos) << report.text();
}

TEST(PtxAsyncForms, AStoreToThePeerSignalsABarrierOfThePeer) {
  std::vector<std::uint32_t> out(64);
  const sim::Report report = run_ptx(
      ptx_module(in_pair("mad.lo.u32 %r14, %r30, 4, %r12;\n"
                         "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r14], %r30, [%r1];\n"),
                 kShared),
      out, {0}, kPair);
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.text().find("[bad_rank] st.async"), std::string::npos) << report.text();
}

TEST(PtxAsyncForms, AFlatCopyIsMulticast) {
  std::vector<std::uint32_t> out(64);
  const std::vector<std::uint32_t> in = counted(32);
  const sim::Report report = run_ptx(
      ptx_module(
          in_pair(
              "setp.eq.u32 %p2, %r10, 0; and.pred %p2, %p2, %p0; mov.u16 %h0, 3;\n"
              "@%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r2], "
              "[%rd1], 128, [%r1], %h0;\n"),
          kShared),
      out, in, kPair);
  ASSERT_TRUE(report.ok()) << report.text();
  for (std::uint32_t word = 0; word < 64; ++word) EXPECT_EQ(out[word], 1000 + word % 32);
}

TEST(PtxAsyncForms, AFlatReductionReachesThePeer) {
  std::vector<std::uint32_t> out(64);
  const sim::Report report = run_ptx(
      ptx_module(
          in_pair("add.u32 %r16, %r3, 512; st.shared.b32 [%r16], %r30; fence.proxy.async.shared::cta;\n"
                  "bar.sync 0; add.u32 %r17, %r2, 512;\n"
                  "@%p0 cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 "
                  "[%r12], "
                  "[%r17], 128, [%r13];\n"),
          kShared),
      out, {0}, kPair);
  ASSERT_TRUE(report.ok()) << report.text();
  for (std::uint32_t word = 0; word < 64; ++word) EXPECT_EQ(out[word], 100 + word % 32);
}

TEST(PtxAsyncForms, ADropThatCompletesNothingLowersTheNextPhase) {
  const auto drop = [](const std::string& count) {
    return ptx_module(
        "ld.param.u64 %rd1, [out]; mov.u32 %r1, smem; mbarrier.init.shared.b64 [%r1], 3;\n"
        "mbarrier.arrive_drop.noComplete.shared.b64 %rd3, [%r1], " +
            count +
            ";\n"
            "mbarrier.arrive.shared.b64 %rd4, [%r1], 2;\n"
            "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 0; selp.b32 %r2, 1, 0, %p1;\n"
            "mbarrier.arrive.shared.b64 %rd4, [%r1], 2;\n"
            "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 1; selp.b32 %r3, 1, 0, %p1;\n"
            "st.global.v2.b32 [%rd1], {%r2, %r3}; ret;",
        ".shared .align 8 .b64 smem;");
  };
  std::vector<std::uint32_t> out(2, 7);
  const sim::Report report = run_ptx(drop("1"), out, {0}, {.threads = 1});
  EXPECT_TRUE(report.ok()) << report.text();
  EXPECT_EQ(out, (std::vector<std::uint32_t>{1, 1}));
  EXPECT_TRUE(run_ptx(drop("3"), out, {0}, {.threads = 1}).has("over_arrival"));
}

TEST(PtxAsyncForms, APrefetchOfFourRowsLooksAtItsMap) {
  std::vector<std::uint32_t> out(kData + 32);
  const auto prefetch = [&](const std::string& map) {
    return run_ptx(ptx_module(std::string(kBegin) + make_map("%rd1", 16) +
                                  "@%p0 cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4 [" + map +
                                  ", {0, 1, 2, 3, 4}];\nret;",
                              kShared),
                   out, counted(128), {.arch = Arch::kSm100});
  };
  const sim::Report report = prefetch("%rd2");
  EXPECT_TRUE(report.ok()) << report.text();
  EXPECT_FALSE(prefetch("0").ok());
}

}  // namespace
}  // namespace heddle::test
