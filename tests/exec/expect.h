// SPDX-License-Identifier: Apache-2.0
//
// How the test programs say what went wrong: each failure on a line of its own, and exit status 1.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>

inline int failures = 0;

inline void expect(bool holds, const char* what, int line) {
  if (holds) return;
  std::printf("line %d: expected %s\n", line, what);
  ++failures;
}

inline void expect_code(cudaError_t got, cudaError_t wanted, const char* what, int line) {
  if (got == wanted) return;
  std::printf("line %d: %s gave %s, expected %s\n", line, what, cudaGetErrorName(got), cudaGetErrorName(wanted));
  ++failures;
}

#define EXPECT(condition) expect((condition), #condition, __LINE__)
#define EXPECT_CODE(call, code) expect_code((call), (code), #call, __LINE__)
#define EXPECT_OK(call) EXPECT_CODE(call, cudaSuccess)

inline int result() {
  if (failures == 0) std::puts("all is well");
  return failures == 0 ? 0 : 1;
}
