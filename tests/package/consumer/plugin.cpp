// SPDX-License-Identifier: Apache-2.0
//
// What a shared library does with the kernels: the library must be position independent for it to link.
#include <heddle/heddle.h>
#include <heddle/host.h>
#include <heddle/kernels/matmul.h>

#include <vector>

// How many elements of A times B are wrong, where A is full of ones and row n of B of n. -1: it did not run.
extern "C" int wrong_elements() {
  constexpr int m = 64;
  constexpr int n = 8;
  constexpr int k = 64;
  const std::vector<heddle::bf16> a(m * k, heddle::bf16::from_float(1));
  std::vector<heddle::bf16> b(n * k);
  for (int i = 0; i < n * k; ++i) b[i] = heddle::bf16::from_float(static_cast<float>(i / k));
  std::vector<float> out(m * n, -1);
  const heddle::MatmulProblem problem{.m = m, .n = n, .k = k, .out_type = heddle::MatmulElement::kFp32};
  const heddle::RunOutcome outcome =
      heddle::matmul(problem, {.a = a.data(), .b = b.data(), .out = out.data()}, heddle::find_device("sim:sm90"));
  if (!outcome.ok()) return -1;
  int wrong = 0;
  for (int i = 0; i < m * n; ++i) wrong += out[i] != static_cast<float>(k * (i % n));
  return wrong;
}
