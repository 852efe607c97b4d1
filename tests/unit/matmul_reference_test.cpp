// SPDX-License-Identifier: Apache-2.0
//
// The reference that matmuls are judged by: its formats against the library's, and what it calls wrong.
#include "matmul/reference/matmul_scaled_reference.h"

#include <heddle/tile/element.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>

namespace heddle {
namespace {

using reference::decode;
using reference::format_of;
using reference::MatmulCase;
using reference::MatmulData;
using reference::MatmulScaledCase;

template <class T>
void expect_same_values(MatmulElement type) {
  using Bits = decltype(T::bits);
  for (std::uint32_t bits = 0; bits < 1u << 8 * sizeof(T); ++bits) {
    const auto theirs = static_cast<double>(T{static_cast<Bits>(bits)}.to_float());
    const double ours = decode(format_of(type), bits);
    ASSERT_TRUE(ours == theirs || (std::isnan(ours) && std::isnan(theirs))) << name_of(type) << " " << bits;
    if (!std::isfinite(ours)) continue;
    ASSERT_EQ(reference::encode(format_of(type), ours), bits) << name_of(type);
  }
}

TEST(FloatFormat, HasTheValuesOfTheElementTypes) {
  expect_same_values<bf16>(MatmulElement::kBf16);
  expect_same_values<fp16>(MatmulElement::kFp16);
  expect_same_values<e4m3>(MatmulElement::kE4m3);
  expect_same_values<e5m2>(MatmulElement::kE5m2);
}

TEST(FloatFormat, RoundsToNearestEven) {
  const auto bf16_of = [](double value) { return reference::rounded(format_of(MatmulElement::kBf16), value); };
  EXPECT_EQ(bf16_of(257.0), 256.0);
  EXPECT_EQ(bf16_of(259.0), 260.0);
  EXPECT_EQ(bf16_of(-258.5), -258.0);
}

// Fills the output element by element, by definition.
void multiply(MatmulCase& matmul) {
  const MatmulProblem& p = matmul.problem;
  for (std::int64_t b = 0; b < p.batches; ++b) {
    for (std::int64_t m = 0; m < p.m; ++m) {
      for (std::int64_t n = 0; n < p.n; ++n) {
        double sum = 0;
        for (std::int64_t k = 0; k < p.k; ++k) {
          const double a = p.a_layout == OperandLayout::kKMajor ? matmul.a.get(b, m, k) : matmul.a.get(b, k, m);
          const double c = p.b_layout == OperandLayout::kKMajor ? matmul.b.get(b, n, k) : matmul.b.get(b, k, n);
          sum += a * c;
        }
        sum = static_cast<double>(p.alpha) * sum;
        if (p.beta != 0) sum += static_cast<double>(p.beta) * matmul.out.get(b, m, n);
        if (matmul.has_bias) sum += matmul.bias.get(0, 0, n);
        if (p.activation == Activation::kRelu && sum < 0) sum = 0;
        if (matmul.has_residual) sum += matmul.residual.get(b, m, n);
        matmul.out.set(b, m, n, sum);
      }
    }
  }
}

MatmulCase some_case() {
  return {.problem = {.m = 5,
                      .n = 7,
                      .k = 11,
                      .batches = 2,
                      .a_type = MatmulElement::kE4m3,
                      .b_type = MatmulElement::kTf32,
                      .out_type = MatmulElement::kFp16,
                      .a_layout = OperandLayout::kMnMajor,
                      .alpha = 2,
                      .beta = -1,
                      .activation = Activation::kRelu},
          .more = 1,
          .has_bias = true,
          .has_residual = true};
}

TEST(MatmulReference, AcceptsWhatTheDefinitionGives) {
  for (const MatmulData data : {MatmulData::kIntegers, MatmulData::kRandom}) {
    MatmulCase matmul = some_case();
    matmul.data = data;
    matmul.prepare();
    multiply(matmul);
    const reference::MatmulVerdict verdict = matmul.verify();
    EXPECT_EQ(verdict.wrong, "");
    EXPECT_EQ(verdict.checked, 70);
    EXPECT_LE(verdict.error, verdict.bound);
  }
}

TEST(MatmulReference, FindsOneWrongElement) {
  MatmulCase matmul = some_case();
  matmul.prepare();
  multiply(matmul);
  matmul.out.set(1, 3, 6, matmul.out.get(1, 3, 6) + 1);
  EXPECT_EQ(matmul.verify().wrong.substr(0, 12), "out[1][3][6]");
}

TEST(MatmulReference, FindsAnErrorBeyondTheBoundAndNoneBelowIt) {
  MatmulCase matmul{.problem = {.m = 4, .n = 8, .k = 64, .out_type = MatmulElement::kFp32},
                    .data = MatmulData::kRandom};
  matmul.prepare();
  multiply(matmul);
  ASSERT_EQ(matmul.verify().wrong, "");
  double magnitude = 0;
  for (std::int64_t k = 0; k < 64; ++k) magnitude += std::fabs(matmul.a.get(0, 2, k) * matmul.b.get(0, 5, k));
  const double right = matmul.out.get(0, 2, 5);
  const double bound = matmul.error_bound(right, magnitude);
  matmul.out.set(0, 2, 5, right + 0.9 * bound);
  EXPECT_EQ(matmul.verify().wrong, "");
  matmul.out.set(0, 2, 5, right + 1.2 * bound);
  EXPECT_EQ(matmul.verify().wrong.substr(0, 12), "out[0][2][5]");
}

TEST(MatmulReference, FindsWhatIsNoNumberAndWhatWasNotWritten) {
  MatmulCase matmul{.problem = {.m = 4, .n = 8, .k = 8}, .data = MatmulData::kRandom};
  matmul.prepare();
  EXPECT_FALSE(matmul.verify().ok());
  multiply(matmul);
  ASSERT_TRUE(matmul.verify().ok());
  matmul.out.bytes[0] = 0xc0;
  matmul.out.bytes[1] = 0x7f;
  EXPECT_EQ(matmul.verify().wrong.substr(0, 12), "out[0][0][0]");
}

TEST(MatmulReference, FindsBytesWrittenBetweenRows) {
  MatmulCase matmul = some_case();
  matmul.prepare();
  multiply(matmul);
  matmul.out.bytes[matmul.out.offset(1, 2, 7)] ^= 1;
  EXPECT_EQ(matmul.verify().wrong, "bytes between the rows of the output were written");
}

TEST(MatmulReference, ComparesSomeRowsWhereThereAreTooMany) {
  MatmulCase matmul{.problem = {.m = 100, .n = 8, .k = 8}};
  matmul.prepare();
  multiply(matmul);
  const reference::MatmulVerdict verdict = matmul.verify(640);
  EXPECT_TRUE(verdict.ok());
  EXPECT_EQ(verdict.checked, 80);
}

// One number in each operand, with its scale: 1.5 * 2^1 times 3 * 2^-1, or the like.
TEST(MatmulScaledReference, AcceptsAProductWorkedOutByHand) {
  MatmulScaledCase matmul{
      .problem = {.m = 1, .n = 1, .k = 16, .format = ScaledFormat::kNvfp4, .out_type = MatmulElement::kFp32}};
  matmul.prepare();
  matmul.a.assign(matmul.a.size(), 0);
  matmul.b.assign(matmul.b.size(), 0);
  matmul.a[1] = 0x50;         // number 3 is 3
  matmul.b[1] = 0xb0;         // number 3 is -1.5
  matmul.a_scales[0] = 0x40;  // 2
  matmul.b_scales[0] = 0x34;  // 0.75
  matmul.out.set(0, 0, 0, -6.75);
  EXPECT_EQ(matmul.verify().wrong, "");
  matmul.out.set(0, 0, 0, 6.75);
  EXPECT_EQ(matmul.verify().wrong.substr(0, 12), "out[0][0][0]");
}

}  // namespace
}  // namespace heddle
