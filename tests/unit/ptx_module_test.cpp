// SPDX-License-Identifier: Apache-2.0
#include "../support/ptx_run.h"

#include <heddle/host/error.h>

#include <algorithm>
#include <ctime>

namespace heddle::test {
namespace {

const char* const kHeader = ".version 9.0\n.target sm_90a\n.address_size 64\n";

std::string error_of(const std::string& text) {
  try {
    sim::PtxModule::load(text, "bad.ptx");
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(PtxModule, ListsEntriesWithParametersAndBounds) {
  const sim::PtxModule module = sim::PtxModule::load(
      std::string(kHeader) +
          ".shared .align 16 .b8 tile[256];\n.extern .shared .align 1024 .b8 dynamic[];\n"
          ".visible .entry first(.param .u32 n, .param .align 64 .b8 map[128], .param .u8 last)\n"
          ".maxntid 128, 1, 1\n.minnctapersm 2\n{ .reg .b32 %r<3>; mov.u32 %r1, tile; mov.u32 %r2, dynamic; ret; "
          "}\n"
          ".entry second()\n.reqntid 64\n.explicitcluster\n.reqnctapercluster 2, 1, 1\n{ ret; }\n",
      "m.ptx");
  ASSERT_EQ(module.entries().size(), 2u);
  const sim::PtxEntry& first = module.entries()[0];
  EXPECT_EQ(first.name, "first");
  EXPECT_EQ(first.parameter_offsets, (std::vector<std::size_t>{0, 64, 192}));
  EXPECT_EQ(first.parameter_bytes, 193u);
  EXPECT_EQ(first.max_threads, 128u);
  EXPECT_EQ(first.static_shared_bytes, 1024u);  // dynamic shared memory starts on the next kilobyte
  const sim::PtxEntry& second = *module.find("second");
  EXPECT_EQ(second.required_block.x, 64u);
  EXPECT_EQ(second.required_cluster.x, 2u);
  EXPECT_EQ(module.find("third"), nullptr);
  EXPECT_EQ(module.target(), "sm_90a");
}

TEST(PtxModule, KeepsVariablesWithTheirInitialValues) {
  const sim::PtxModule module = sim::PtxModule::load(
      std::string(kHeader) +
          ".global .align 4 .u32 numbers[4] = {1, 0x10, -1};\n.const .f32 half = 0f3F000000;\n"
          ".global .align 8 .u64 pointer = numbers+4;\n.global .align 1 .b8 text[] = \"hi\";\n",
      "m.ptx");
  ASSERT_EQ(module.variables().size(), 4u);
  const auto* numbers = static_cast<const std::uint32_t*>(module.variables()[0].address);
  EXPECT_EQ(numbers[1], 16u);
  EXPECT_EQ(numbers[2], 0xffffffffu);
  EXPECT_EQ(numbers[3], 0u);
  EXPECT_TRUE(module.variables()[1].is_constant);
  EXPECT_EQ(*static_cast<const float*>(module.variables()[1].address), 0.5f);
  EXPECT_EQ(*static_cast<const std::uint32_t* const*>(module.variables()[2].address), numbers + 1);
  EXPECT_EQ(module.variables()[3].bytes, 3u);
}

TEST(PtxModule, RefusesBadTextWithItsLine) {
  EXPECT_EQ(error_of(""), "bad.ptx:1: there is no .version: this is not a PTX module");
  EXPECT_EQ(error_of("hello"), "bad.ptx:1: expected a directive, found 'hello'");
  EXPECT_EQ(error_of(".version 9.0\n.target sm_90a\n.address_size 32\n"),
            "bad.ptx:3: .address_size 32; only 64 is supported");
  EXPECT_EQ(error_of(std::string(kHeader) + "/* never ends"), "bad.ptx:4: a comment that does not end");
  EXPECT_EQ(error_of(std::string(kHeader) + ".entry k() { .reg .b32 %r<2>;\n  mov.u32 %r1 5; }"),
            "bad.ptx:5: expected ';' behind an instruction, found '5'");
  EXPECT_EQ(error_of(std::string(kHeader) + ".entry k() { .reg .b32 %r<2>;\n  mov.u32 %r1, %r7;\n}"),
            "bad.ptx:5: '%r7' is neither a register of this function nor a special register that is supported: "
            "'mov.u32 %r1, %r7;'");
  EXPECT_EQ(error_of(std::string(kHeader) + ".entry k() {\n\n  bra nowhere;\n}"),
            "bad.ptx:6: there is no label 'nowhere': 'bra nowhere;'");
  EXPECT_EQ(error_of(std::string(kHeader) + ".entry k() {\n@%p1 ret;\n}"), "bad.ptx:5: '%p1' is not a predicate");
  EXPECT_EQ(error_of(std::string(kHeader) + ".entry k() { ret;\n"), "bad.ptx:5: 'k' has no end");
  EXPECT_EQ(error_of(std::string(kHeader) + ".entry k() { .reg .b32 %r<3>; add.s32 %r1, %r2; }"),
            "bad.ptx:4: 2 operands where 3 are wanted: 'add.s32 %r1, %r2;'");
}

// What the launch of the entry k says.
std::string refusal_of(const std::string& text) {
  const sim::PtxModule module = sim::PtxModule::load(text, "bad.ptx");
  try {
    module.launch("k", {}, {}, nullptr, 0);
  } catch (const InputError& error) {
    EXPECT_EQ(module.find("k")->unsupported, error.what());
    return error.what();
  }
  return "no error";
}

TEST(PtxModule, RefusesEntriesWithUnsupportedInstructionsBeforeTheyRun) {
  EXPECT_EQ(refusal_of(std::string(kHeader) +
                       ".entry k() {\n.reg .b64 %rd<2>;\n  multimem.ld_reduce.global.add.u64 %rd0, [%rd1];\n}"),
            "bad.ptx:6: [unsupported] the instruction 'multimem.ld_reduce.global.add.u64 %rd0, [%rd1];'");
  EXPECT_EQ(refusal_of(std::string(kHeader) + ".entry k() {\n.reg .b32 %r<3>;\n  add.b32 %r0, %r1, %r2;\n}"),
            "bad.ptx:6: [unsupported] the instruction 'add.b32 %r0, %r1, %r2;'");
  EXPECT_EQ(
      refusal_of(std::string(kHeader) + ".extern .func absent(.param .b64 a);\n.entry k() { .param .b64 p;\n"
                                        "call absent, (p); }"),
      "bad.ptx:6: [unsupported] 'absent' is declared but not part of the module: 'call absent, (p);'");
}

TEST(PtxModule, UnsupportedInstructionsConcernOnlyEntriesThatReachThem) {
  const sim::PtxModule module = sim::PtxModule::load(
      std::string(kHeader) +
          ".func deep() {\n.reg .b64 %rd<2>;\n  multimem.ld_reduce.global.add.u64 %rd0, [%rd1];\n}\n"
          ".func calls() { call deep; ret; }\n.entry well() { ret; }\n.entry bad() { call calls; ret; }\n"
          ".entry late() { ret; }\n",
      "m.ptx");
  ASSERT_EQ(module.entries().size(), 3u);
  EXPECT_EQ(module.find("well")->unsupported, "");
  EXPECT_EQ(module.find("late")->unsupported, "");
  EXPECT_EQ(module.find("bad")->unsupported,
            "m.ptx:6: [unsupported] the instruction 'multimem.ld_reduce.global.add.u64 %rd0, [%rd1];'");
  EXPECT_TRUE(module.launch("well", {}, {}, nullptr, 0).ok());
  EXPECT_THROW(module.launch("bad", {}, {}, nullptr, 0), InputError);
}

TEST(PtxModule, MnemonicsWithSpacesHaveALength) {
  std::string spaced = "ld";
  for (int i = 0; i < 511; ++i) spaced += " .a";
  EXPECT_NE(refusal_of(std::string(kHeader) + ".entry k() {\n" + spaced + ";\n}").find("[unsupported]"),
            std::string::npos);
  EXPECT_EQ(error_of(std::string(kHeader) + ".entry k() {\n" + spaced + " .a;\n}"),
            "bad.ptx:5: an instruction 'ld.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a...' of more than 1024 characters");
}

TEST(PtxModule, SystemFunctionsTakeTheirParameters) {
  EXPECT_EQ(error_of(std::string(kHeader) + ".extern .func vprintf(.param .b64 a);\n.entry k() { .param .b64 p;\n"
                                            "call vprintf, (p); }"),
            "bad.ptx:6: 'vprintf' takes at least 2 parameters: 'call vprintf, (p);'");
}

TEST(PtxModule, LargeVariablesTakeNoMemoryBeforeTheirUse) {
  const sim::PtxModule module = sim::PtxModule::load(
      std::string(kHeader) +
          ".global .b8 large[2000000000];\n.shared .b8 s[2000000000];\n.shared .b8 t[2000000000];\n"
          ".shared .b8 u[294967296];\n"
          ".entry k() { .reg .b32 %r<4>; mov.u32 %r1, s; mov.u32 %r2, t; mov.u32 %r3, u; ret; }",
      "m.ptx");
  EXPECT_EQ(module.find("k")->static_shared_bytes, 4294967296u);
  EXPECT_THROW(module.launch("k", {}, {}, nullptr, 0), InputError);
}

TEST(PtxModule, RefusesLaunchesThatCannotBe) {
  const sim::PtxModule module =
      sim::PtxModule::load(std::string(kHeader) + ".entry k(.param .u64 p)\n.maxntid 64\n{ ret; }", "m.ptx");
  const std::uint64_t argument = 0;
  const auto error_of_launch = [&](const char* entry, const sim::PtxLaunch& launch,
                                   std::size_t bytes) -> std::string {
    try {
      module.launch(entry, {}, launch, &argument, bytes);
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(error_of_launch("j", {}, 8), "m.ptx has no entry 'j'; it has k");
  EXPECT_EQ(error_of_launch("k", {}, 4), "launch of k in m.ptx: 4 bytes of parameters; it takes 8");
  sim::PtxLaunch launch;
  launch.block = {128, 1, 1};
  EXPECT_EQ(error_of_launch("k", launch, 8),
            "launch of k in m.ptx: 128 threads in a CTA; the kernel's .maxntid is 64");
  launch.block = {64, 1, 1};
  launch.dynamic_shared_bytes = 300'000;
  EXPECT_EQ(error_of_launch("k", launch, 8),
            "launch of kernel: 300000 bytes of shared memory; a CTA has 232448: 67552 too many");
  launch.dynamic_shared_bytes = 0;
  EXPECT_EQ(error_of_launch("k", launch, 8), "no error");
}

// A module with something of everything, broken in many ways: an error or a module, never a crash.
TEST(PtxModule, SurvivesMutations) {
  const std::string original =
      std::string(kHeader) +
      ".file 1 \"a.cu\"\n.extern .shared .align 16 .b8 dyn[];\n.global .align 8 .u64 g[2] = {g, 7};\n"
      ".const .align 4 .f32 c = 0f3F800000;\n"
      ".func (.param .b32 r) f(.param .b32 x) { .reg .b32 %r<4>; ld.param.u32 %r1, [x]; add.s32 %r2, %r1, 1;\n"
      "st.param.b32 [r], %r2; ret; }\n"
      ".visible .entry k(.param .u64 out, .param .align 64 .b8 m[128]) .maxntid 64, 1, 1 {\n"
      ".reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .local .align 8 .b8 depot[16];\n"
      ".loc 1 3 0\nmov.u32 %r1, %tid.x; ld.param.u64 %rd1, [out]; cvta.to.global.u64 %rd2, %rd1;\n"
      "setp.lt.and.s32 %p1|%p2, %r1, 5, !%p3; @%p1 bra L1; mov.b64 %rd3, {%r1, %r2}; L1: bar.sync 0;\n"
      "{ .reg .pred P; W: mbarrier.try_wait.parity.shared::cta.b64 P, [dyn+8], %r1; @!P bra W; }\n"
      "{ .param .b32 a; .param .b32 b; st.param.b32 [a+0], %r1; call.uni (b), f, (a); ld.param.b32 %r4, [b+0]; "
      "}\n"
      "T: .branchtargets L1, L2;\nbrx.idx %r1, T; L2: fma.rn.f32 %f1, %f2, 0f40000000, %f3;\n"
      "ld.global.v4.u32 {%r1, %r2, %r3, _}, [%rd2+16]; atom.global.add.u32 %r1, [%rd2], 1; mov.u64 %rd4, depot;\n"
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, "
      "%r3}], [%r4];\n"
      "shfl.sync.idx.b32 %r1|%p1, %r2, 0, 31, -1; ret; }\n";
  ASSERT_NO_THROW(sim::PtxModule::load(original, "m.ptx"));
  OperandSource random(7);
  const std::string alphabet = "{}[]()<>,;:+-=|!@%._$ \n0129azrx\"/\\*\x01\xff";
  std::size_t refused = 0;
  constexpr int kRounds = 20'000;
  for (int round = 0; round < kRounds; ++round) {
    std::string text = original;
    for (std::uint64_t changes = 1 + random.next() % 3; changes > 0 && !text.empty(); --changes) {
      const std::size_t at = random.next() % text.size();
      const std::size_t length = 1 + random.next() % 12;
      switch (random.next() % 6) {
        case 0: text[at] = alphabet[random.next() % alphabet.size()]; break;
        case 1: text.insert(at, 1, alphabet[random.next() % alphabet.size()]); break;
        case 2: text.erase(at, length); break;
        case 3: text.insert(at, text.substr(random.next() % text.size(), length)); break;
        case 4: text.resize(at + 1); break;
        default: std::swap(text[at], text[random.next() % text.size()]); break;
      }
    }
    try {
      sim::PtxModule::load(text, "m.ptx");
    } catch (const InputError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, static_cast<std::size_t>(kRounds) / 2);
}

double seconds_to_load(const std::string& text) {
  const std::clock_t begin = std::clock();  // of this process, whatever else the machine does
  sim::PtxModule::load(text, "m.ptx");
  return static_cast<double>(std::clock() - begin + 1) / CLOCKS_PER_SEC;
}

// How much longer it takes to load sixteen times as many: 16 if it is in proportion, 256 if it is in proportion
// to the square.
template <class Make>
double growth(const Make& make, int few) {
  const std::string small = make(few);
  const std::string large = make(16 * few);
  double best_small = seconds_to_load(small);
  for (int i = 0; i < 3; ++i) best_small = std::min(best_small, seconds_to_load(small));
  return seconds_to_load(large) / best_small;
}

TEST(PtxModule, LoadsInTimeThatIsInProportionToItsEntries) {
  const auto make = [](int entries) {
    std::string text = kHeader;
    for (int e = 0; e < entries; ++e) text += ".global .b32 v" + std::to_string(e) + ";\n";
    for (int e = 0; e < entries; ++e) text += ".entry e" + std::to_string(e) + "() { ret; }\n";
    return text;
  };
  EXPECT_LT(growth(make, 500), 100);
}

TEST(PtxModule, LoadsInTimeThatIsInProportionToItsIndirectCalls) {
  const auto make = [](int entries) {
    std::string text = kHeader;
    for (int e = 0; e < entries; ++e) text += ".func f" + std::to_string(e) + "() { ret; }\n";
    for (int e = 0; e < entries; ++e) {
      text += ".entry e" + std::to_string(e) +
              "() { .reg .b64 %rd<2>; mov.u64 %rd1, f0;\n"
              "P0: .callprototype _ ();\ncall %rd1, P0; ret; }\n";
    }
    return text;
  };
  EXPECT_LT(growth(make, 200), 100);
}

TEST(PtxModule, QuotesNoMoreThanAReaderWants) {
  const std::string error = error_of(std::string(kHeader) + std::string(1'000'000, 'a'));
  EXPECT_LT(error.size(), 600u);
  EXPECT_NE(error.find("characters in all"), std::string::npos) << error;
}

TEST(PtxModule, RefusesBranchTablesWhoseUsesAreTooMany) {
  std::string labels = "L0";
  for (int l = 1; l < 4096; ++l) labels += ", L0";
  const auto text = [&](int uses) {
    std::string body = "T: .branchtargets " + labels + ";\n";
    for (int u = 0; u < uses; ++u) body += "brx.idx %r1, T;\n";
    return std::string(kHeader) + ".entry e() { .reg .b32 %r<2>; mov.u32 %r1, 0;\n" + body + "L0: ret; }\n";
  };
  EXPECT_NE(error_of(text(300)).find("more than 1048576 labels"), std::string::npos);
  EXPECT_EQ(error_of(text(100)), "no error");
}

TEST(PtxModule, RefusesALaunchWhoseRegistersNoMachineHolds) {
  const sim::PtxModule module = sim::PtxModule::load(
      std::string(kHeader) + ".entry e(.param .u32 n) { .reg .b64 %rd<1000000>; ret; }\n", "m.ptx");
  const std::uint32_t n = 0;
  const auto launch = [&](std::uint32_t threads, const void* parameters) -> std::string {
    try {
      module.launch("e", {.sms = 16}, {.grid = {64}, .block = {threads}}, parameters, sizeof(n));
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(launch(1024, &n).find("1000000 virtual registers in 512 warps at once take 131"), std::string::npos);
  EXPECT_NE(launch(32, nullptr).find("4 bytes of parameters at a null pointer"), std::string::npos);
}

TEST(PtxModule, SpacesMayStandBeforeModifiers) {
  std::vector<std::uint32_t> out(1);
  const sim::Report report =
      run_ptx(ptx_module("ld .param.u64 %rd1, [out]; mov.b32 %r1, 0x04030201; prmt  .b32 .b4e %r2, %r1, %r1, 0;\n"
                         "add\t.u32 %r2, %r2, 1; st .global .b32 [%rd1], %r2; ret;"),
              out, {0}, {.threads = 1});
  ASSERT_TRUE(report.ok()) << report.text();
  EXPECT_EQ(out[0], 0x02030402u);
}

// As numba's conversions of bfloat16 have them.
TEST(PtxModule, DirectivesMayStandTogether) {
  std::vector<std::uint32_t> out(1);
  const sim::Report report = run_ptx(
      ptx_module("{ .reg.b8 a; .reg.v2.b32 v; ld.param.u64 %rd1, [out]; mov.u32 %r1, 0x12c; cvt.u8.u32 a, %r1;\n"
                 "cvt.u16.u8 %h1, a; cvt.u32.u16 v.x, %h1; .shared.align 8 .b8 tile[8]; st.global.u32 [%rd1], "
                 "v.x; ret; }"),
      out, {0}, {.threads = 1});
  ASSERT_TRUE(report.ok()) << report.text();
  EXPECT_EQ(out[0], 0x2cu);
}

TEST(PtxModule, RegistersMayBeVectors) {
  std::vector<std::uint32_t> out(4);
  const sim::Report report = run_ptx(
      ptx_module("{ .reg .v2 .b32 a, b; .reg .v4 .u32 c; ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [in];\n"
                 "ld.global.v2.b32 a, [%rd2]; mov.b64 %rd3, {a.x, a.y}; mov.b64 {b.r, b.g}, %rd3;\n"
                 "mov.u32 c.x, a.y; mov.u32 c.y, b.x; add.u32 c.z, c.x, c.y; mov.u32 c.a, 9;\n"
                 "st.global.v4.u32 [%rd1], c; ret; }"),
      out, {5, 7}, {.threads = 1});
  ASSERT_TRUE(report.ok()) << report.text();
  EXPECT_EQ(out, (std::vector<std::uint32_t>{7, 5, 12, 9}));
  EXPECT_THROW(sim::PtxModule::load(ptx_module("{ .reg .v2 .b32 a; mov.u32 a.z, 0; ret; }"), "bad.ptx"),
               InputError);
}

}  // namespace
}  // namespace heddle::test
