/* SPDX-License-Identifier: Apache-2.0
 *
 * A user's program in C: a matmul of the kernels' shared library, in the simulated SM of Blackwell. Every sum
 * is 8. */
#include <heddle/c_api.h>

#include <stdint.h>
#include <stdio.h>

enum { M = 128, N = 64, K = 8 };

int main(void) {
  static uint16_t a[M * K], b[N * K];
  static float out[M * N];
  for (int i = 0; i < M * K; ++i) a[i] = 0x3f80; /* 1 in bf16 */
  for (int i = 0; i < N * K; ++i) b[i] = 0x3f80;
  const heddle_matmul_call call = {.m = M,
                                   .n = N,
                                   .k = K,
                                   .batches = 1,
                                   .a_type = "bf16",
                                   .b_type = "bf16",
                                   .out_type = "fp32",
                                   .alpha = 1,
                                   .a = a,
                                   .b = b,
                                   .out = out};
  if (heddle_matmul(&call, "sim:sm100") != 0) {
    fprintf(stderr, "%s\n", heddle_error());
    return 1;
  }
  for (int i = 0; i < M * N; ++i) {
    if (out[i] != K) {
      fprintf(stderr, "element %d is %g instead of %d\n", i, out[i], K);
      return 1;
    }
  }
  printf("%d sums are right\n", M * N);
  return 0;
}
