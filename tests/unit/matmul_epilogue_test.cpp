// SPDX-License-Identifier: Apache-2.0
//
// Epilogues that are composed of types, in matmuls of both architectures: the same functors on wgmma's registers
// and on rows out of tensor memory.
#include "matmul/device/matmul_sm100_params.h"
#include "matmul/device/matmul_sm90_params.h"

#include <heddle/host/device.h>
#include <heddle/tile/epilogue.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <vector>

namespace heddle {
namespace {

constexpr MatmulSm90Config kHopper{.tile_m = 64, .tile_n = 128, .stages = 2, .form = MatmulForm::kSingle};
constexpr MatmulSm90Config kHopperPair{.tile_m = 128, .tile_n = 128, .stages = 2, .cluster_m = 2};
constexpr MatmulSm100Config kBlackwell{.tile_n = 128, .stages = 2, .clc_stages = 0};
constexpr MatmulSm100Config kBlackwell64{.tile_m = 64, .tile_n = 128, .stages = 2, .clc_stages = 0};

constexpr std::uint32_t kM = 200;
constexpr std::uint32_t kN = 208;  // tiles do not divide it, nor M
constexpr std::uint32_t kK = 96;
constexpr std::uint32_t kBlocks = (kN + 127) / 128;  // of columns that share a scale

// Small integers, so that sums are exact.
std::vector<bf16> numbers(std::size_t count, std::uint32_t step) {
  std::vector<bf16> all(count);
  for (std::size_t i = 0; i < count; ++i) {
    all[i] = bf16::from_float(static_cast<float>((i * step + i / 7) % 5) - 2.0f);
  }
  return all;
}

struct Problem {
  std::vector<bf16> a = numbers(kM * kK, 7);
  std::vector<bf16> b = numbers(kN * kK, 3);

  float sum(std::uint32_t row, std::uint32_t col) const {
    float total = 0;
    for (std::uint32_t k = 0; k < kK; ++k) total += a[row * kK + k].to_float() * b[col * kK + k].to_float();
    return total;
  }
};

// What a kernel stored, and more memory that its epilogue takes.
template <class Out>
struct Outcome {
  std::vector<Out> out;
  std::vector<float> more;
  std::string report;
};

// `more_floats` are handed to the epilogue, and come back.
template <class Kernel, class Out, class MakeEpilogue>
Outcome<Out> run(const Problem& problem, MatmulElement type, std::vector<float> more, const MakeEpilogue& make) {
  constexpr bool is_hopper = requires { Kernel::kConfig; };
  const std::uint32_t out_cols = kN / Kernel::kFolds;
  Device device({.kernel = "epilogue", .arch = is_hopper ? Arch::kSm90 : Arch::kSm100});
  DeviceBuffer a(device, "a", problem.a.size() * sizeof(bf16));
  DeviceBuffer b(device, "b", problem.b.size() * sizeof(bf16));
  DeviceBuffer out(device, "out", std::size_t{kM} * out_cols * sizeof(Out));
  DeviceBuffer floats(device, "more", more.size() * sizeof(float));
  a.upload(problem.a.data());
  b.upload(problem.b.data());
  out.fill(0xEE);
  floats.upload(more.data());
  const MatmulOperands operands{.m = kM,
                                .n = kN,
                                .k = kK,
                                .a = {a.data(), kM, kK},
                                .b = {b.data(), kN, kK},
                                .out = {type, out.data(), kM, out_cols}};
  typename Kernel::Params params = [&] {
    if constexpr (is_hopper) {
      return matmul_sm90_params<Kernel>(operands);
    } else {
      return matmul_sm100_params<Kernel>(operands);
    }
  }();
  params.epilogue = make(static_cast<float*>(floats.data()));
  const RunOutcome outcome = device.finish([&] { return launch_matmul<Kernel>(device, params); });
  Outcome<Out> result{std::vector<Out>(std::size_t{kM} * out_cols), std::move(more), outcome.report};
  out.download(result.out.data());
  floats.download(result.more.data());
  EXPECT_TRUE(outcome.ok()) << outcome.report;
  return result;
}

// Every kernel with this epilogue.
template <class Epilogue, class Body>
void with_each_kernel(const Body& body) {
  {
    SCOPED_TRACE("Hopper, one warpgroup");
    body.template operator()<MatmulSm90<kHopper, bf16, Epilogue>>();
  }
  {
    SCOPED_TRACE("Hopper, two CTAs");
    body.template operator()<MatmulSm90<kHopperPair, bf16, Epilogue>>();
  }
  {
    SCOPED_TRACE("Blackwell");
    body.template operator()<MatmulSm100<kBlackwell, MmaKind::kF16, OperandMajors{}, Epilogue>>();
  }
}

// The row and column of every number, and whether it exists.
struct Place {
  struct Params {
    std::uint32_t m;
    std::uint32_t n;
  };
  template <class Out, class Fragment>
  HEDDLE_DEVICE static void apply(const Params& params, Fragment& f) {
    for (std::uint32_t i = 0; i < f.count; ++i) {
      EXPECT_EQ(f.has(i), f.row(i) < params.m && f.col(i) < params.n);
      EXPECT_EQ(f.row(i), f.row(f.row_of(i) * 2));
      EXPECT_EQ(f.col(i), f.col(i - i % 2) + i % 2);
      f[i] = static_cast<float>(f.row(i) * 1000 + f.col(i));
    }
  }
};

TEST(Epilogue, SeesRowsAndColumnsOfEveryNumber) {
  const Problem problem;
  const auto check = [&]<class Kernel>() {
    const auto result = run<Kernel, float>(problem, MatmulElement::kFp32, {0.0f}, [](float*) {
      return Place::Params{kM, kN};
    });
    for (std::uint32_t i = 0; i < kM * kN; ++i) {
      ASSERT_EQ(result.out[i], static_cast<float>(i / kN * 1000 + i % kN)) << i / kN << ", " << i % kN;
    }
  };
  with_each_kernel<Place>(check);
  SCOPED_TRACE("Blackwell, 64 rows");
  check.operator()<MatmulSm100<kBlackwell64, MmaKind::kF16, OperandMajors{}, Place>>();
}

TEST(Epilogue, IsComposedOfTypes) {
  using Chain = EpilogueChain<Scale, AddBias<float>, Relu, AddMatrix<float>>;
  const Problem problem;
  std::vector<float> more(kN + kM * kN);
  for (std::size_t i = 0; i < more.size(); ++i) more[i] = static_cast<float>(i % 11) - 5.0f;
  with_each_kernel<Chain>([&]<class Kernel>() {
    const auto result = run<Kernel, bf16>(problem, MatmulElement::kBf16, more, [](float* at) {
      return Chain::params(Scale::Params{0.5f}, AddBias<float>::Params{at}, Relu::Params{},
                           AddMatrix<float>::Params{at + kN, kN, 2.0f});
    });
    for (std::uint32_t i = 0; i < kM * kN; ++i) {
      const float x = 0.5f * problem.sum(i / kN, i % kN) + more[i % kN];
      const float expected = (x > 0 ? x : 0.0f) + 2.0f * more[kN + i];
      ASSERT_EQ(result.out[i].to_float(), bf16::from_float(expected).to_float()) << i / kN << ", " << i % kN;
    }
  });
}

TEST(Epilogue, HasTheActivationsOfTheHostInterface) {
  EXPECT_FALSE(std::signbit(Relu::of(-0.0f)));
  const auto activated = [](Activation activation, float x) {
    float numbers[2] = {x, x};
    RowPart<2> fragment(numbers, 0, 0, 1, 2);
    activate_all<float>(activation, fragment);
    EXPECT_EQ(numbers[0], numbers[1]);
    return numbers[1];
  };
  for (const float x : {-3.0f, -0.5f, 0.0f, 0.25f, 4.0f}) {
    EXPECT_EQ(x, activated(Activation::kNone, x));
    EXPECT_EQ(Relu::of(x), activated(Activation::kRelu, x));
    EXPECT_EQ(Gelu::of(x), activated(Activation::kGelu, x));
    EXPECT_EQ(Silu::of(x), activated(Activation::kSilu, x));
    EXPECT_NEAR(Silu::of(x), x / (1 + std::exp(-x)), 1e-6);
    EXPECT_NEAR(Gelu::of(x), 0.5 * x * (1 + std::tanh(0.7978845608 * (x + 0.044715 * x * x * x))), 1e-6);
  }
}

TEST(Epilogue, FoldsTwoAccumulatorsIntoSwiGlu) {
  using Chain = EpilogueChain<SwiGlu, Scale>;
  const Problem problem;
  constexpr std::uint32_t out_cols = kN / 2;
  with_each_kernel<Chain>([&]<class Kernel>() {
    const auto result = run<Kernel, float>(problem, MatmulElement::kFp32, {0.0f}, [](float*) {
      return Chain::params(SwiGlu::Params{}, Scale::Params{0.25f});
    });
    for (std::uint32_t i = 0; i < kM * out_cols; ++i) {
      const std::uint32_t col = i % out_cols;
      const std::uint32_t gate = col / 8 * 16 + col % 8;
      const float expected =
          0.25f * (Silu::of(problem.sum(i / out_cols, gate)) * problem.sum(i / out_cols, gate + 8));
      ASSERT_EQ(result.out[i], expected) << i / out_cols << ", " << col;
    }
  });
}

TEST(Epilogue, FoldsAsManyColumnsAsItIsAsked) {
  struct Difference {
    struct Params {};
    static float fold(const Params&, float first, float second) { return first - second; }
  };
  float from[24];
  float to[9];
  std::fill(std::begin(to), std::end(to), -1.0f);
  for (std::size_t i = 0; i < std::size(from); ++i) from[i] = static_cast<float>(i * i);
  fold_columns<Difference, 8, 2>({}, from, to);
  for (std::size_t i = 0; i < 8; ++i) {
    const std::size_t at = i / 2 * 4 + i % 2;
    EXPECT_EQ(to[i], from[at] - from[at + 2]) << i;
  }
  EXPECT_EQ(to[8], -1.0f);
}

TEST(Epilogue, ReluMakesZerosWithoutASign) {
  EXPECT_FALSE(std::signbit(Relu::of(-0.0f)));
  EXPECT_FALSE(std::signbit(Relu::of(-3.0f)));
  EXPECT_EQ(Relu::of(2.5f), 2.5f);
}

TEST(Epilogue, QuantisesRowsToEightBitsWithScales) {
  using Quantise = QuantiseRows<e4m3>;
  const Problem problem;
  with_each_kernel<Quantise>([&]<class Kernel>() {
    const auto result =
        run<Kernel, e4m3>(problem, MatmulElement::kE4m3, std::vector<float>(kM * kBlocks, -1.0f), [](float* at) {
          return Quantise::Params{at, kBlocks};
        });
    for (std::uint32_t row = 0; row < kM; ++row) {
      for (std::uint32_t block = 0; block < kBlocks; ++block) {
        const std::uint32_t end = std::min((block + 1) * 128, kN);
        float largest = 0;
        for (std::uint32_t col = block * 128; col < end; ++col) {
          largest = std::max(largest, std::fabs(problem.sum(row, col)));
        }
        const float scale = largest > 0 ? largest * (1.0f / 448.0f) : 1.0f;
        ASSERT_EQ(result.more[row * kBlocks + block], scale) << row << ", " << block;
        for (std::uint32_t col = block * 128; col < end; ++col) {
          ASSERT_EQ(result.out[row * kN + col].bits,
                    e4m3::from_float(problem.sum(row, col) * (1.0f / scale)).bits)
              << row << ", " << col;
        }
      }
    }
  });
}

TEST(Epilogue, RefusesRowsThatEndInsideOf16Bytes) {
  using Kernel = MatmulSm90<kHopper, bf16, Relu>;
  static_assert(!Kernel::kStoresRagged && MatmulSm90<kHopper, bf16, FusedEpilogue>::kStoresRagged);
  bf16 memory[16] = {};
  const auto params_of = [&](std::uint32_t n) {
    return matmul_sm90_params<Kernel>({.m = 1,
                                       .n = n,
                                       .k = 8,
                                       .a = {memory, 1, 8},
                                       .b = {memory, n, 8},
                                       .out = {MatmulElement::kBf16, memory, 1, n, 16}});
  };
  EXPECT_NO_THROW(params_of(16));
  EXPECT_THROW(params_of(15), InputError);
}

}  // namespace
}  // namespace heddle
