// SPDX-License-Identifier: Apache-2.0
//
// What matmul() refuses, on each architecture: the message names the rule and the value, and the output is as it
// was. The same for matmuls with scales.
#include "device_answers.h"
#include "matmul.h"
#include "matmul/host/matmul_families.h"
#include "matmul/reference/matmul_scaled_reference.h"

#include <heddle/host/error.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <limits>
#include <new>
#include <string>
#include <vector>

namespace {

// While it is set, there is no memory with an alignment of its own: what buffers of the simulated device have.
bool has_no_room = false;

}  // namespace

void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const auto step = static_cast<std::size_t>(alignment);
  void* const memory = has_no_room ? nullptr : std::aligned_alloc(step, (bytes + step - 1) / step * step);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace heddle {
namespace {

using reference::MatmulCase;
using reference::MatmulScaledCase;
using reference::Matrices;

const DeviceId kDevices[] = {{.arch = Arch::kSm90}, {.arch = Arch::kSm100}};

struct Call {
  MatmulProblem problem;
  MatmulTensors tensors;
};

struct Refusal {
  const char* name;
  std::function<void(Call&)> spoil;
  std::string on_sm90;  // how the message begins; empty: it is not refused
  std::string on_sm100;
};

std::vector<Refusal> refusals() {
  using enum MatmulElement;
  const auto both = [](const char* name, std::function<void(Call&)> spoil, const std::string& message) {
    return Refusal{name, std::move(spoil), message, message};
  };
  const std::string big = "1099511627776";
  return {
      {"APitchIsMisaligned", [](Call& c) { c.problem.a_pitch = 65; }, "",
       "rows of a are 65 elements apart, 130 bytes; the copy engine takes multiples of 16 bytes. A pitch of "
       "72 "
       "would pass"},
      {"BPitchIsMisaligned", [](Call& c) { c.problem.b_pitch = 66; }, "",
       "rows of b are 66 elements apart, 132 bytes; the copy engine takes multiples of 16 bytes. A pitch of "
       "72 "
       "would pass"},
      {"OutPitchIsMisaligned", [](Call& c) { c.problem.out_pitch = 67; }, "",
       "rows of out are 67 elements apart, 134 bytes; the copy engine takes multiples of 16 bytes. A pitch of "
       "72 would pass"},
      {"ResidualPitchIsMisaligned",
       [](Call& c) {
         c.tensors.residual = c.tensors.a;
         c.problem.residual_pitch = 68;
       },
       "",
       "rows of residual are 68 elements apart, 136 bytes; the copy engine takes multiples of 16 bytes. A "
       "pitch "
       "of 72 would pass"},
      both(
          "PitchIsLessThanARow", [](Call& c) { c.problem.a_pitch = 56; },
          "a_pitch is 56 elements, less than the 64 of a row"),
      both(
          "PitchIsNegative", [](Call& c) { c.problem.out_pitch = -64; },
          "out_pitch is -64 elements, less than the 64 of a row"),
      both(
          "PitchIsAbsurd", [](Call& c) { c.problem.b_pitch = std::int64_t{1} << 40; },
          "b_pitch is " + big + " elements; at most 2147483647"),
      {"MIsNegative", [](Call& c) { c.problem.m = -1; }, "m is -1; 0 to 1073741824", "m is -1; 0 to 2147483647"},
      {"NIsNegative", [](Call& c) { c.problem.n = -64; }, "n is -64; 0 to 1073741824",
       "n is -64; 0 to 2147483647"},
      {"KIsAbsurd", [](Call& c) { c.problem.k = std::int64_t{1} << 40; }, "k is " + big + "; 0 to 1073741824",
       "k is " + big + "; 0 to 2147483647"},
      both(
          "TensorIsAbsurd",
          [](Call& c) {
            c.problem.m = 1 << 30;
            c.problem.k = c.problem.a_pitch = c.problem.b_pitch = 1 << 30;
          },
          "a takes 2.31e+18 bytes; at most " + big),
      both(
          "BatchesAreNegative", [](Call& c) { c.problem.batches = -2; }, "batches is -2; 0 to 2147483647"),
      both(
          "AIsNull", [](Call& c) { c.tensors.a = nullptr; }, "a is null and has 8192 bytes"),
      both(
          "BIsNull", [](Call& c) { c.tensors.b = nullptr; }, "b is null and has 8192 bytes"),
      both(
          "OutIsNull", [](Call& c) { c.tensors.out = nullptr; }, "out is null and has 8192 bytes"),
      both(
          "OutOverlapsA", [](Call& c) { c.tensors.a = static_cast<char*>(c.tensors.out) - 8176; },
          "out overlaps a: out is 0x"),
      both(
          "OutOverlapsB", [](Call& c) { c.tensors.b = static_cast<char*>(c.tensors.out) + 8176; },
          "out overlaps b: out is 0x"),
      both(
          "OutOverlapsBias", [](Call& c) { c.tensors.bias = static_cast<char*>(c.tensors.out) + 8190; },
          "out overlaps bias: out is 0x"),
      both(
          "OutIsTheResidual", [](Call& c) { c.tensors.residual = c.tensors.out; },
          "out overlaps residual: out is 0x"),
      both(
          "OutputIsFp8", [](Call& c) { c.problem.out_type = kE4m3; },
          "bf16 to e4m3 is not a supported pair of types; the output is bf16, fp16 or fp32"),
      {"InputIsFp32", [](Call& c) { c.problem.a_type = c.problem.b_type = kFp32; },
       "fp32 times fp32 is not a supported pair of types on sm90; ",
       "fp32 times fp32 is not a supported pair of types on sm100; "},
      {"ConfigurationIsUnknown", [](Call& c) { c.problem.config = "none"; }, "no configuration is called 'none'",
       "no configuration is called 'none'; there are 1sm_128x64_1x1, "},
      {"ConfigurationStoresSumsAsTheyAre",
       [](Call& c) {
         c.problem.config = "1sm_128x64_1x1";
         c.problem.alpha = 2;
       },
       "no configuration is called '1sm_128x64_1x1'",
       "configuration '1sm_128x64_1x1' stores the sums as they are; alpha, beta, activation, bias and residual "
       "take "
       "one "
       "whose name ends in '_fused'"},
      {"SplitsAreNone", [](Call& c) { c.problem.splits = 0; }, "splits is 0; ", "splits is 0; 1 to 1024"},
      {"TypesAreFp16AndBf16", [](Call& c) { c.problem.b_type = kFp16; },
       "bf16 times fp16 is not a supported pair of types on sm90; bf16 times bf16 or fp16 times fp16 would pass",
       "bf16 times fp16 is not a supported pair of types on sm100; "},
      both(
          "TypesAreNoEnumerators",
          [](Call& c) { c.problem.a_type = c.problem.b_type = static_cast<MatmulElement>(77); },
          "a_type is 77; its enumerators are 0 to 5"),
      both(
          "TypeOfBIsNoEnumerator", [](Call& c) { c.problem.b_type = static_cast<MatmulElement>(6); },
          "b_type is 6; its enumerators are 0 to 5"),
      both(
          "TypeOfOutIsNoEnumerator", [](Call& c) { c.problem.out_type = static_cast<MatmulElement>(255); },
          "out_type is 255; its enumerators are 0 to 5"),
      both(
          "LayoutOfAIsNoEnumerator", [](Call& c) { c.problem.a_layout = static_cast<OperandLayout>(2); },
          "a_layout is 2; its enumerators are 0 to 1"),
      both(
          "LayoutOfBIsNoEnumerator", [](Call& c) { c.problem.b_layout = static_cast<OperandLayout>(9); },
          "b_layout is 9; its enumerators are 0 to 1"),
      both(
          "ActivationIsNoEnumerator", [](Call& c) { c.problem.activation = static_cast<Activation>(4); },
          "activation is 4; its enumerators are 0 to 3"),
      both(
          "AlphaIsNotANumber", [](Call& c) { c.problem.alpha = std::numeric_limits<float>::quiet_NaN(); },
          "alpha is nan; finite numbers pass"),
      both(
          "AlphaIsInfinite", [](Call& c) { c.problem.alpha = -std::numeric_limits<float>::infinity(); },
          "alpha is -inf; finite numbers pass"),
      both(
          "BetaIsInfinite", [](Call& c) { c.problem.beta = std::numeric_limits<float>::infinity(); },
          "beta is inf; finite numbers pass"),
  };
}

std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "it was not refused";
}

class MatmulRefuses : public ::testing::TestWithParam<Refusal> {};

TEST_P(MatmulRefuses, WithTheRuleAndWithoutTouchingTheOutput) {
  for (const DeviceId& device : kDevices) {
    MatmulCase matmul{.problem = {.m = 64, .n = 64, .k = 64}};
    matmul.prepare();
    // The output with room before and behind it, for tensors that overlap it.
    std::vector<unsigned char> memory(3 * 8192, Matrices::kPoison);
    Call call{matmul.problem, matmul.tensors()};
    call.tensors.out = memory.data() + 8192;
    GetParam().spoil(call);
    const std::string& expected = device.arch == Arch::kSm90 ? GetParam().on_sm90 : GetParam().on_sm100;
    if (expected.empty()) continue;
    const std::string message = refusal_of([&] { heddle::matmul(call.problem, call.tensors, device); });
    EXPECT_EQ(message.substr(0, expected.size() + 8), "matmul: " + expected) << device.name() << ": " << message;
    EXPECT_EQ(memory, std::vector<unsigned char>(memory.size(), Matrices::kPoison)) << device.name();
  }
}

INSTANTIATE_TEST_SUITE_P(All, MatmulRefuses, ::testing::ValuesIn(refusals()),
                         [](const auto& refusal) { return std::string(refusal.param.name); });

struct ScaledCall {
  MatmulScaledProblem problem;
  MatmulScaledTensors tensors;
};

struct ScaledRefusal {
  const char* name;
  std::function<void(ScaledCall&)> spoil;
  std::string message;
};

std::vector<ScaledRefusal> scaled_refusals() {
  return {
      {"AScalesHaveTooFewColumns", [](ScaledCall& c) { c.tensors.a_scales.cols = 2; },
       "a_scales is 64 x 2; this problem takes 64 x 4"},
      {"BScalesHaveTooFewRows", [](ScaledCall& c) { c.tensors.b_scales.rows = 1; },
       "b_scales is 1 x 4; this problem takes 64 x 4"},
      {"ScalesAreNull", [](ScaledCall& c) { c.tensors.a_scales.data = nullptr; },
       "a_scales is null and has 256 scales"},
      {"ScalesOverlapTheOutput", [](ScaledCall& c) { c.tensors.b_scales.data = c.tensors.out; },
       "out overlaps b_scales: out is 0x"},
      {"PitchIsMisaligned", [](ScaledCall& c) { c.problem.a_pitch = 72; },
       "rows of a are 72 numbers apart, 288 bits; the copy engine takes multiples of 16 bytes. A pitch of 96 "
       "would "
       "pass"},
      {"KIsOddWithTwoNumbersToAByte", [](ScaledCall& c) { c.problem.k = 63; },
       "k is 63; two numbers of nvfp4 share a byte, so k is even. 64 would pass"},
      {"MIsNegative", [](ScaledCall& c) { c.problem.m = -5; }, "m is -5; 0 to 2147483647"},
      {"BIsNull", [](ScaledCall& c) { c.tensors.b = nullptr; }, "b is null and has 2048 bytes"},
      {"OutputIsFp8", [](ScaledCall& c) { c.problem.out_type = MatmulElement::kE5m2; },
       "nvfp4 to e5m2 is not a supported pair of types; the output is bf16, fp16 or fp32"},
      {"ConfigurationIsUnknown", [](ScaledCall& c) { c.problem.config = "none"; },
       "no configuration for nvfp4 is called 'none'; there are "},
      {"AlphaOfBlockwise",
       [](ScaledCall& c) {
         c.problem.format = ScaledFormat::kBlockwiseE4m3;
         c.problem.alpha = 2;
       },
       "alpha is 2; with blockwise_e4m3 it is 1: put it into the scales"},
      {"AlphaIsNotANumber", [](ScaledCall& c) { c.problem.alpha = std::numeric_limits<float>::quiet_NaN(); },
       "alpha is nan; finite numbers pass"},
      {"FormatIsNoEnumerator", [](ScaledCall& c) { c.problem.format = static_cast<ScaledFormat>(8); },
       "format is 8; its enumerators are 0 to 7"},
      {"TypeOfOutIsNoEnumerator", [](ScaledCall& c) { c.problem.out_type = static_cast<MatmulElement>(6); },
       "out_type is 6; its enumerators are 0 to 5"},
  };
}

class MatmulScaledRefuses : public ::testing::TestWithParam<ScaledRefusal> {};

TEST_P(MatmulScaledRefuses, WithTheRuleAndWithoutTouchingTheOutput) {
  MatmulScaledCase matmul{.problem = {.m = 64, .n = 64, .k = 64, .format = ScaledFormat::kNvfp4}};
  matmul.prepare();
  ScaledCall call{matmul.problem, matmul.tensors()};
  GetParam().spoil(call);
  const std::string message =
      refusal_of([&] { matmul_scaled(call.problem, call.tensors, {.arch = Arch::kSm100}); });
  EXPECT_EQ(message.substr(0, GetParam().message.size() + 8), "matmul: " + GetParam().message) << message;
  EXPECT_EQ(matmul.out.bytes, std::vector<unsigned char>(matmul.out.bytes.size(), Matrices::kPoison));
}

INSTANTIATE_TEST_SUITE_P(All, MatmulScaledRefuses, ::testing::ValuesIn(scaled_refusals()),
                         [](const auto& refusal) { return std::string(refusal.param.name); });

TEST(Matmul, WithoutRoomOnTheDeviceIsRefusedAndWritesNothing) {
  for (const DeviceId& device : kDevices) {
    MatmulCase matmul{.problem = {.m = 64, .n = 64, .k = 64}};
    matmul.prepare();
    has_no_room = true;
    const std::string message = refusal_of([&] { heddle::matmul(matmul.problem, matmul.tensors(), device); });
    has_no_room = false;
    EXPECT_EQ(message.substr(0, 25), "matmul: the tensors take ") << device.name() << ": " << message;
    EXPECT_NE(message.find(" bytes on the device, which has no room for them"), std::string::npos) << message;
    EXPECT_EQ(matmul.out.bytes, std::vector<unsigned char>(matmul.out.bytes.size(), Matrices::kPoison));
    EXPECT_TRUE(heddle::matmul(matmul.problem, matmul.tensors(), device).ok());  // with room again
    EXPECT_EQ(matmul.verify().wrong, "");
  }
  MatmulScaledCase scaled{.problem = {.m = 64, .n = 64, .k = 64}};
  scaled.prepare();
  has_no_room = true;
  const std::string message =
      refusal_of([&] { matmul_scaled(scaled.problem, scaled.tensors(), {.arch = Arch::kSm100}); });
  has_no_room = false;
  EXPECT_NE(message.find(" bytes on the device, which has no room for them"), std::string::npos) << message;
  EXPECT_EQ(scaled.out.bytes, std::vector<unsigned char>(scaled.out.bytes.size(), Matrices::kPoison));
}

TEST(Matmul, OfWhatOneArchitectureDoesNotHaveSaysSo) {
  const auto message = [](MatmulProblem problem, Arch arch) {
    return refusal_of([&] { (void)matmul_choice(problem, {}, {.arch = arch}); });
  };
  EXPECT_EQ(
      message({.m = 64, .n = 64, .k = 64, .a_type = MatmulElement::kE4m3, .b_type = MatmulElement::kE4m3},
              Arch::kSm90),
      "matmul: e4m3 times e4m3 is not a supported pair of types on sm90; bf16 times bf16 or fp16 times fp16 "
      "would pass");
  EXPECT_EQ(message({.m = 64, .n = 64, .k = 64, .batches = 2}, Arch::kSm90),
            "matmul: batches is 2; sm90 has no batches, and 1 would pass");
  EXPECT_EQ(
      refusal_of([] {
        MatmulScaledProblem problem{.m = 64, .n = 64, .k = 64, .format = ScaledFormat::kNvfp4};
        matmul_scaled(problem, {}, {.arch = Arch::kSm90});
      }),
      "matmul: the format is nvfp4 and the device sim:sm90; kernels with scales are for sm100, and sim:sm100 "
      "would pass");
}

TEST(Matmul, ListsConfigurationsThatRunTheProblem) {
  for (const DeviceId& device : kDevices) {
    const MatmulProblem problem{.m = 256, .n = 256, .k = 64};
    const std::vector<std::string> names = matmul_configs(problem, {}, device);
    ASSERT_GE(names.size(), 4u);
    for (const std::string& name : names) {
      MatmulProblem one = problem;
      one.config = name;
      EXPECT_EQ(matmul_choice(one, {}, device), name);
    }
    EXPECT_NE(matmul_choice(problem, {}, device), "");
  }
}

TEST(Matmul, ListsNoConfigurationsWithoutTheEpilogueThatIsAskedFor) {
  for (const DeviceId& device : kDevices) {
    const std::vector<std::string> names = matmul_configs({.m = 256, .n = 256, .k = 64, .alpha = 2}, {}, device);
    ASSERT_FALSE(names.empty());
    for (const std::string& name : names) EXPECT_TRUE(name.ends_with("_fused")) << name;
  }
}

TEST(Matmul, IsTheSameOnBothArchitectures) {
  for (const DeviceId& device : kDevices) {
    MatmulCase matmul{.problem = {.m = 100, .n = 72, .k = 136, .alpha = 2}, .more = 1, .has_bias = true};
    matmul.prepare();
    const RunOutcome outcome = heddle::matmul(matmul.problem, matmul.tensors(), device);
    EXPECT_EQ(outcome.report, "") << device.name();
    EXPECT_EQ(matmul.verify().wrong, "") << device.name();
  }
}

TEST(Matmul, InAStreamNeedsAGpu) {
  if (!gpus().gpus.empty()) GTEST_SKIP() << "there is a GPU";
  MatmulCase matmul{.problem = {.m = 64, .n = 64, .k = 64}};
  matmul.prepare();
  void* const stream = nullptr;
  EXPECT_THROW(heddle::matmul(matmul.problem, matmul.tensors(), stream), std::exception);
  EXPECT_EQ(matmul.out.bytes, std::vector<unsigned char>(matmul.out.bytes.size(), Matrices::kPoison));
}

// Only a GPU could tell whose rules hold, and this problem keeps those of one architecture.
TEST(Matmul, InAStreamIsNotRefusedByTheRulesOfAnArchitectureThatNobodyNamed) {
  if (!gpus().gpus.empty()) GTEST_SKIP() << "there is a GPU";
  const MatmulProblem problem{
      .m = 64, .n = 64, .k = 64, .batches = 2, .a_type = MatmulElement::kE4m3, .b_type = MatmulElement::kE4m3};
  void* const stream = nullptr;
  std::string message;
  try {
    heddle::matmul(problem, {}, stream);
  } catch (const std::exception& error) {
    message = error.what();
  }
  EXPECT_NE(message, "");
  EXPECT_EQ(message.find("sm90"), std::string::npos) << message;
  EXPECT_EQ(message.find("batches"), std::string::npos) << message;
}

TEST(Matmul, InAStreamHasNoWorkspaceWhereItIsNull) {
  unsigned char memory[3 * 128] = {};
  MatmulTensors tensors{.a = memory, .b = memory + 128, .out = memory + 256, .workspace_bytes = 1 << 30};
  const MatmulProblem problem{.m = 4, .n = 8, .k = 8, .splits = 2};
  EXPECT_EQ(refusal_of([&] { enqueue_matmul_sm100<Target::kSim>(problem, tensors, nullptr); }),
            "matmul: the workspace has 0 bytes; K in 2 parts takes 256");
  EXPECT_EQ(refusal_of([&] { enqueue_matmul_sm90<Target::kSim>({.m = 4, .n = 7, .k = 8}, tensors, nullptr); }),
            "matmul: the workspace has 0 bytes; rows that do not begin on multiples of 16 bytes take 512");
  tensors.workspace = memory;
  EXPECT_EQ(refusal_of([&] { enqueue_matmul_sm100<Target::kSim>(problem, tensors, nullptr); }),
            "matmul: the simulated SM has no stream; give host memory and a device");
}

TEST(AnswerOfEachDevice, IsKeptForTheDeviceThatGaveItUnlessItIsNone) {
  AnswerOfEachDevice answers;
  int asked = 0;
  const auto get = [&](int ordinal, std::uint32_t answer) {
    return answers.get(ordinal, [&] {
      ++asked;
      return answer;
    });
  };
  EXPECT_EQ(get(0, 0), 0u);
  EXPECT_EQ(get(0, 66), 66u) << "a failure is not kept";
  EXPECT_EQ(get(0, 5), 66u);
  EXPECT_EQ(get(1, 5), 5u) << "another device has its own";
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(get(1000, 7), 7u);
  EXPECT_EQ(get(1000, 8), 8u) << "beyond those that are counted";
}

// Whole numbers, so that the sums themselves do not depend on how K is cut.
TEST(Matmul, ActivationsAreTheSameHoweverManyPartsKHas) {
  for (const DeviceId& device : kDevices) {
    for (const Activation activation : {Activation::kRelu, Activation::kGelu, Activation::kSilu}) {
      std::vector<unsigned char> outputs[2];
      for (const std::int64_t splits : {1, 2}) {
        MatmulCase matmul{.problem = {.m = 64,
                                      .n = 72,
                                      .k = 256,
                                      .out_type = MatmulElement::kFp32,
                                      .alpha = 0.01f,
                                      .activation = activation,
                                      .splits = splits},
                          .data = reference::MatmulData::kIntegers,
                          .has_bias = true};
        matmul.prepare();
        EXPECT_EQ(heddle::matmul(matmul.problem, matmul.tensors(), device).report, "") << device.name();
        outputs[splits - 1] = matmul.out.bytes;
      }
      EXPECT_EQ(outputs[0], outputs[1]) << device.name() << ", activation " << static_cast<int>(activation);
    }
  }
}

TEST(Matmul, OfNothingWritesNothing) {
  for (const DeviceId& device : kDevices) {
    EXPECT_TRUE(heddle::matmul({.m = 0, .n = 64, .k = 64}, {}, device).ok());
    EXPECT_TRUE(heddle::matmul({.m = 64, .n = 0, .k = 64}, {}, device).ok());
    EXPECT_TRUE(heddle::matmul({.m = 64, .n = 64, .k = 64, .batches = 0}, {}, device).ok());
  }
}

const GpuList kTwoGpus{{{0, "Old", 8, 0}, {1, "New", 10, 0}}, ""};
const GpuList kNoGpu{{}, "there is none"};

TEST(DeviceId, NamesAreReadAndWritten) {
  EXPECT_EQ(parse_device("sim:sm90", kNoGpu), (DeviceId{.arch = Arch::kSm90}));
  EXPECT_EQ(parse_device("sim:sm100", kNoGpu), (DeviceId{.arch = Arch::kSm100}));
  EXPECT_EQ(parse_device("cuda:1", kTwoGpus),
            (DeviceId{.target = Target::kCuda, .arch = Arch::kSm100, .ordinal = 1}));
  EXPECT_EQ(parse_device("auto", kTwoGpus).name(), "cuda:1");
  EXPECT_EQ(parse_device("auto", kNoGpu).name(), "sim:sm90");
  EXPECT_EQ(parse_device("auto", kNoGpu, Arch::kSm100).name(), "sim:sm100");
}

TEST(DeviceId, WhatIsNoDeviceIsRefused) {
  const auto message = [](const char* name, const GpuList& gpus) {
    return refusal_of([&] { (void)parse_device(name, gpus); });
  };
  for (const char* name : {"", "sim", "sim:sm80", "cuda", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "CUDA:0"}) {
    EXPECT_EQ(message(name, kTwoGpus),
              "device '" + std::string(name) + "': expected auto, cuda:N, sim:sm90 or sim:sm100");
  }
  EXPECT_EQ(message("cuda:0", kNoGpu), "device 'cuda:0': there is none; sim:sm90 and sim:sm100 need no GPU");
  EXPECT_EQ(message("cuda:2", kTwoGpus), "device 'cuda:2': this machine has 2 GPUs, so cuda:0 to cuda:1");
  EXPECT_EQ(
      message("cuda:0", kTwoGpus),
      "device 'cuda:0': Old has compute capability 8.0; heddle's kernels need 9.0 (Hopper) or 10.0 (Blackwell)");
}

}  // namespace
}  // namespace heddle
