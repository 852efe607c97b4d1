// SPDX-License-Identifier: Apache-2.0
//
// A product of two matrices, and attention, on the simulated Hopper and the simulated Blackwell.
#include <heddle/heddle.h>
#include <heddle/host.h>
#include <heddle/kernels/attention/attention.h>
#include <heddle/kernels/matmul.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

// [multiply]
// A is 100 x 64, B is 72 x 64, out is 100 x 72. The device is "sim:sm90", "sim:sm100", "cuda:0" or "auto".
heddle::RunOutcome multiply(const std::vector<heddle::bf16>& a, const std::vector<heddle::bf16>& b,
                            std::vector<float>& out, const char* device) {
  const heddle::MatmulProblem problem{.m = 100, .n = 72, .k = 64, .out_type = heddle::MatmulElement::kFp32};
  return heddle::matmul(problem, {.a = a.data(), .b = b.data(), .out = out.data()}, heddle::find_device(device));
}
// [multiply]

// [attend]
// Two heads of 16 queries share one of 32 keys and values; each query sees the keys up to its own.
heddle::RunOutcome attend(const std::vector<heddle::bf16>& q, const std::vector<heddle::bf16>& k,
                          const std::vector<heddle::bf16>& v, std::vector<heddle::bf16>& o, const char* device) {
  const heddle::AttentionProblem problem{
      .heads = 2, .key_heads = 1, .queries = 16, .keys = 32, .head_dim = 64, .is_causal = true};
  return heddle::attention(problem, {.q = q.data(), .k = k.data(), .v = v.data(), .o = o.data()},
                           heddle::find_device(device));
}
// [attend]

// Row i is i % period everywhere.
std::vector<heddle::bf16> matrix(int rows, int period) {
  std::vector<heddle::bf16> elements;
  for (int i = 0; i < rows * 64; ++i)
    elements.push_back(heddle::bf16::from_float(static_cast<float>(i / 64 % period)));
  return elements;
}

bool is_right_on(const char* device) {
  std::vector<float> out(100 * 72);
  const heddle::RunOutcome outcome = multiply(matrix(100, 4), matrix(72, 3), out, device);
  if (!outcome.ok()) {
    std::fputs(outcome.report.c_str(), stderr);
    return false;
  }
  for (int i = 0; i < 100 * 72; ++i) {
    const auto expected = static_cast<float>(64 * (i / 72 % 4) * (i % 72 % 3));
    const float is = out[static_cast<std::size_t>(i)];
    if (is == expected) continue;
    std::fprintf(stderr, "%s: element %d is %f, must be %f\n", device, i, static_cast<double>(is),
                 static_cast<double>(expected));
    return false;
  }
  std::printf("%s: %zu elements are right\n", device, out.size());
  return true;
}

// Equal scores, so that values that are equal, too, are the output.
bool attends_on(const char* device) {
  const std::vector<heddle::bf16> zeros(32 * 64);
  const std::vector<heddle::bf16> threes(32 * 64, heddle::bf16::from_float(3));
  std::vector<heddle::bf16> o(2 * 16 * 64);
  const heddle::RunOutcome outcome = attend(threes, zeros, threes, o, device);
  if (!outcome.ok()) std::fputs(outcome.report.c_str(), stderr);
  return outcome.ok() && std::all_of(o.begin(), o.end(), [](heddle::bf16 x) { return x.to_float() == 3; });
}

}  // namespace

int main() {
  if (!is_right_on("sim:sm90") || !is_right_on("sim:sm100")) return 1;
  if (!attends_on("sim:sm90") || !attends_on("sim:sm100")) {
    std::fputs("the attention is not right\n", stderr);
    return 1;
  }
  try {
    heddle::matmul({.m = 8, .n = 8, .k = 7}, {}, heddle::find_device("sim:sm100"));
  } catch (const heddle::InputError& error) {
    std::printf("refused: %s\n", error.what());
    return 0;
  }
  std::fputs("rows of 14 bytes were not refused\n", stderr);
  return 1;
}
