// SPDX-License-Identifier: Apache-2.0
//
// What every family of matmuls gives in the simulated SM, bit for bit: digests of outputs, on integers and on
// random numbers, at ragged edges, in kernel_bits.inc. A change of one is a finding: it is explained in the
// commit that changes the line. Those marked kSinceBeforeTheFrame have been the same since the kernels of
// 419dc83, which had neither the frame nor the classes of today.
#include "../support/matmul_cases.h"
#include "../support/schedule_share.h"
#include "matmul/host/matmul_grouped_plan.h"
#include "matmul/host/quantise_plan.h"
#include "matmul/reference/matmul_grouped_reference.h"

#include <heddle/tile/element.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace heddle {
namespace {

using reference::MatmulGroupedCase;
using test::MatmulCase;
using test::MatmulData;
using test::MatmulScaledCase;

struct Row {
  std::uint64_t digest;
  bool is_since_before_the_frame;
};

const std::map<std::string, Row>& rows() {
  constexpr bool kSinceBeforeTheFrame = true;
  constexpr bool kSinceItIsThere = false;
  static const std::map<std::string, Row> all = {
#include "kernel_bits.inc"
  };
  return all;
}

// FNV-1a.
std::uint64_t digest_of(const void* data, std::size_t bytes, std::uint64_t digest = 0xcbf29ce484222325u) {
  const auto* byte = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < bytes; ++i) digest = (digest ^ byte[i]) * 0x100000001b3u;
  return digest;
}

class KernelBits : public ::testing::Test {
 protected:
  // Compares one output with its row; the whole run also asks for every row that begins with the same word.
  void expect_digest(const std::string& name, const RunOutcome& outcome, std::uint64_t digest) {
    ASSERT_EQ(outcome.report, "") << name;
    ASSERT_TRUE(asked_.insert(name).second) << name << " names two cases";
    const auto row = rows().find(name);
    if (row == rows().end()) {
      ADD_FAILURE() << "no row; of this run: {\"" << name << "\", {" << fmt::format("{:#018x}", digest)
                    << ", ...}},";
      return;
    }
    EXPECT_EQ(fmt::format("{:#018x}", digest), fmt::format("{:#018x}", row->second.digest)) << name;
  }

  template <class Case, class Run>
  void expect_bits(const std::string& name, const Case& of, const Run& run, std::uint32_t sms = 4) {
    for (const MatmulData data : {MatmulData::kIntegers, MatmulData::kRandom}) {
      if (!share_.takes_next()) continue;
      Case c = of;
      c.data = data;
      c.prepare();
      const RunOutcome outcome = run(c.problem, c.tensors(), RunOptions{.kernel = "matmul", .sms = sms});
      expect_digest(fmt::format("{} {}", name, data == MatmulData::kRandom ? "random" : "integers"), outcome,
                    digest_of(c.out.bytes.data(), c.out.bytes.size()));
    }
  }

  void TearDown() override {
    if (!test::is_whole() || asked_.empty()) return;
    const std::string family = asked_.begin()->substr(0, asked_.begin()->find(' ') + 1);
    for (const auto& [name, row] : rows()) {
      EXPECT_TRUE(!name.starts_with(family) || asked_.contains(name)) << "nothing asks for the row " << name;
    }
  }

 private:
  test::CaseShare share_{9};
  std::set<std::string> asked_;
};

// What a fused epilogue does, by turns.
void add_terms(MatmulCase& c, std::uint64_t turn) {
  constexpr Activation kActivations[] = {Activation::kNone, Activation::kRelu, Activation::kGelu,
                                         Activation::kSilu};
  c.problem.alpha = turn % 3 == 1 ? 0.7f : 1.0f;  // whose products are rounded
  c.problem.beta = turn % 3 == 2 ? -1.3f : 0.0f;
  c.problem.activation = kActivations[turn % 4];
  c.has_bias = turn % 2 == 0;
  c.has_residual = turn % 3 != 0;
}

std::string terms_of(const MatmulCase& c) {
  constexpr const char* kNames[] = {"", "+relu", "+gelu", "+silu"};
  return fmt::format("{}{}{}{}{}", c.problem.alpha != 1 ? "+alpha" : "", c.problem.beta != 0 ? "+beta" : "",
                     c.has_bias ? "+bias" : "", kNames[static_cast<int>(c.problem.activation)],
                     c.has_residual ? "+residual" : "");
}

std::string types_of(const MatmulCase& c) {
  return fmt::format("{}>{}", name_of(c.problem.a_type), name_of(c.problem.out_type));
}

TEST_F(KernelBits, OfHoppersMatmul) {
  const auto run = [](const auto&... args) { return matmul_sm90<Target::kSim>(args...); };
  std::uint64_t turn = 0;
  for (const std::string config :
       {"128x24x64_3_2x1_coop_fused", "64x40x64_2_1x2_pingpong_fused", "64x80x64_3_2x2_pingpong_fused",
        "64x16x128_2_1x1_single_fused", "64x64x64_3_1x1_pingpong_kn_fused", "128x256x64_4_2x1_coop",
        "128x128x64_6_1x1_pingpong", "64x112x64_9_2x1_single", "128x256x64_4_2x1_coop_kn",
        "24x128x64_3_1x1_coop_swapped", "72x64x64_3_1x1_pingpong_swapped", "40x192x64_2_1x1_single_swapped",
        "24x64x64_2_2x1_single_swapped", "72x64x64_3_1x1_pingpong_swapped@m2/2"}) {
    const bool is_kn = config.find("_kn") != std::string::npos;
    for (int i = 0; i < 4; ++i, ++turn) {
      MatmulCase c{.problem = {.m = i % 2 == 0 ? 150 : 77,
                               .n = i % 2 == 0 ? 92 : 184,
                               .k = i % 2 == 0 ? 200 : 392,
                               .a_type = test::kInputs[turn % 2],
                               .b_type = test::kInputs[turn % 2],
                               .out_type = test::kOutputs[turn % 3],
                               .b_layout = is_kn ? OperandLayout::kMnMajor : OperandLayout::kKMajor,
                               .config = config},
                   .seed = turn + 1,
                   .more = 8};
      if (!config.ends_with("_fused") || is_kn) c.problem.n = i % 2 == 0 ? 96 : 184;  // rows end on 16 bytes
      if (config.ends_with("_fused")) add_terms(c, turn);
      expect_bits(fmt::format("sm90 {} {}x{}x{} {}{}", config, c.problem.m, c.problem.n, c.problem.k, types_of(c),
                              terms_of(c)),
                  c, run);
    }
  }
}

TEST_F(KernelBits, OfHoppersPartsOfK) {
  const auto run = [](const auto&... args) { return matmul_sm90<Target::kSim>(args...); };
  const MatmulCase c{
      .problem = {.m = 70, .n = 96, .k = 520, .splits = 3, .config = "64x16x128_2_1x1_single_fused"},
      .seed = 3,
      .more = 8,
      .has_bias = true};
  expect_bits("sm90-parts of K", c, run);
}

TEST_F(KernelBits, OfHoppersRowsThatBeginAnywhere) {
  const auto run = [](const auto&... args) { return matmul_sm90<Target::kSim>(args...); };
  const MatmulCase c{.problem = {.m = 70, .n = 93, .k = 131, .config = "64x16x128_2_1x1_single_fused"},
                     .seed = 4,
                     .is_packed = true};
  expect_bits("sm90-rows anywhere", c, run);
}

TEST_F(KernelBits, OfBlackwellsMatmul) {
  const auto run = [](const auto&... args) { return matmul_sm100<Target::kSim>(args...); };
  for (const std::string config : {"1sm_128x64_1x1", "1sm_64x64_1x1", "1sm_128x32_2x2_static", "2sm_256x256_2x1",
                                   "2sm_256x64_4x2", "1sm_128x64_1x1_fused", "2sm_256x128_2x1_fused"}) {
    for (std::uint64_t turn = 0; turn < 7; ++turn) {
      MatmulCase c = test::some_tiles(config, turn + (turn >= 5 ? 5 : 0));
      if (config.ends_with("_fused")) add_terms(c, turn);
      expect_bits(fmt::format("sm100 {} {}{} {}", config, types_of(c), terms_of(c), turn), c, run, 8);
    }
  }
}

TEST_F(KernelBits, OfBlackwellsLayouts) {
  const auto run = [](const auto&... args) { return matmul_sm100<Target::kSim>(args...); };
  for (const std::string& config : test::kConfigsWithLayouts) {
    for (const test::OperandLayouts& layouts : test::kOtherLayouts) {
      for (std::uint64_t turn = 0; turn < 3; ++turn) {
        MatmulCase c = test::in_layouts(test::some_tiles(config, turn), layouts, turn);
        expect_bits(fmt::format("sm100-layouts {} {} {}{}", config, layouts.name, types_of(c), terms_of(c)), c,
                    run, 8);
      }
    }
  }
}

TEST_F(KernelBits, OfBlackwellsScaledMatmuls) {
  const auto run = [](const auto&... args) { return matmul_scaled_sm100<Target::kSim>(args...); };
  std::uint64_t turn = 0;
  for (const ScaledFormat format : test::kScaledFormats) {
    for (const std::string& config : matmul_scaled_sm100_configs(format)) {
      const MatmulScaledCase c = test::some_scaled_tiles(format, config, turn++);
      expect_bits(fmt::format("sm100-scaled {} {} >{}", name_of(format), config, name_of(c.problem.out_type)), c,
                  run, 8);
    }
  }
}

TEST_F(KernelBits, OfBlackwellsScaledGroups) {
  const auto run = [](const auto&... args) { return matmul_scaled_sm100<Target::kSim>(args...); };
  for (const ScaledFormat format : test::kScaledFormats) {
    if (is_blockwise(format)) continue;
    const MatmulScaledCase c{.problem = {.m = 150, .n = 40, .k = 328, .format = format, .rows = GroupRows::kEnds},
                             .seed = 5,
                             .more = 1,
                             .numbers = {20, 20, 139, 150}};
    expect_bits(fmt::format("sm100-scaled-groups {}", name_of(format)), c, run);
  }
}

// Every scaling, each with operands of the type that has it, in groups and as one.
template <class Visit>
void for_each_group(const Visit& visit) {
  for (const GroupScaling scaling :
       {GroupScaling::kNone, GroupScaling::kTensors, GroupScaling::kRows, GroupScaling::kBlocks}) {
    const MatmulElement type = scaling == GroupScaling::kNone ? MatmulElement::kBf16 : MatmulElement::kE4m3;
    for (const GroupRows grouping : {GroupRows::kEnds, GroupRows::kCounts, GroupRows::kAll}) {
      const MatmulGroupedCase c{.problem = {.m = 150,
                                            .n = 88,
                                            .k = 336,
                                            .rows = grouping,
                                            .a_type = type,
                                            .b_type = type,
                                            .scaling = scaling,
                                            .out_type = test::kOutputs[static_cast<int>(grouping)]},
                                .numbers = grouping == GroupRows::kAll ? std::vector<std::int32_t>{}
                                           : grouping == GroupRows::kCounts
                                               ? std::vector<std::int32_t>{50, 0, 37}
                                               : std::vector<std::int32_t>{20, 20, 139},
                                .seed = 6,
                                .more = 1};
      visit(fmt::format("{} {}", name_of(scaling), name_of(grouping)), c);
    }
  }
}

TEST_F(KernelBits, OfHoppersGroups) {
  const auto run = [](const auto&... args) { return matmul_grouped_sm90<Target::kSim>(args...); };
  for_each_group([&](const std::string& name, MatmulGroupedCase c) {
    for (const std::string& config : matmul_grouped_sm90_configs(c.problem, true)) {
      c.problem.config = config;
      expect_bits(fmt::format("sm90-groups {} {}", config, name), c, run);
    }
    if (c.problem.scaling != GroupScaling::kTensors && c.problem.scaling != GroupScaling::kRows) return;
    c.problem.is_exact = true;
    c.problem.config = {};
    expect_bits(fmt::format("sm90-groups exact {}", name), c, run);
  });
}

TEST_F(KernelBits, OfBlackwellsGroups) {
  const auto run = [](const auto&... args) { return matmul_grouped_sm100<Target::kSim>(args...); };
  for_each_group([&](const std::string& name, MatmulGroupedCase c) {
    for (const std::string& config : matmul_grouped_sm100_configs(c.problem)) {
      c.problem.config = config;
      expect_bits(fmt::format("sm100-groups {} {}", config, name), c, run);
    }
  });
}

TEST_F(KernelBits, OfQuantisedNumbers) {
  std::mt19937_64 engine(7);
  std::vector<bf16> in(70 * 200);
  for (bf16& number : in) {
    number =
        bf16::from_float(static_cast<float>(static_cast<std::int64_t>(engine() >> 40) - (1 << 23)) * 0x1p-16f);
  }
  for (const QuantiseBlocks blocks : {QuantiseBlocks::kRows, QuantiseBlocks::kSquares}) {
    for (const bool has_powers_of_two : {false, true}) {
      std::vector<unsigned char> out(in.size());
      std::vector<float> scales(2 * 72);
      const RunOutcome outcome = quantise_sm90<Target::kSim>(
          {.rows = 70, .cols = 200, .blocks = blocks, .has_powers_of_two = has_powers_of_two},
          {.in = in.data(), .out = out.data(), .scales = scales.data()}, {.kernel = "quantise", .sms = 4});
      expect_digest(fmt::format("quantise {}{}", blocks == QuantiseBlocks::kRows ? "rows" : "squares",
                                has_powers_of_two ? " powers-of-two" : ""),
                    outcome, digest_of(scales.data(), scales.size() * 4, digest_of(out.data(), out.size())));
    }
  }
}

}  // namespace
}  // namespace heddle
