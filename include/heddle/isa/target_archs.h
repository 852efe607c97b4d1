// SPDX-License-Identifier: Apache-2.0
//
// HEDDLE_ON_CUDA_OF(900, 1000) is on_cuda_900_1000: the name of the namespace for code of these architectures, of
// which nvcc has a list, __CUDA_ARCH_LIST__. Of more than three it is the first, and others. Used by target.h
// alone.
#pragma once

#if defined(HEDDLE_TRACE) && HEDDLE_TRACE
#define HEDDLE_ON_CUDA_AS(archs) on_cuda_traced_##archs
#else
#define HEDDLE_ON_CUDA_AS(archs) on_cuda_##archs
#endif

#define HEDDLE_ON_CUDA_1(a) HEDDLE_ON_CUDA_AS(a)
#define HEDDLE_ON_CUDA_2(a, b) HEDDLE_ON_CUDA_AS(a##_##b)
#define HEDDLE_ON_CUDA_3(a, b, c) HEDDLE_ON_CUDA_AS(a##_##b##_##c)
#define HEDDLE_ON_CUDA_MANY(a, ...) HEDDLE_ON_CUDA_AS(a##_and_others)

// The eleventh of its arguments: which of the above takes as many as there are.
#define HEDDLE_ON_CUDA_BY_COUNT(a, b, c, d, e, f, g, h, i, j, name, ...) name
#define HEDDLE_ON_CUDA_OF(...)                                                                                \
  HEDDLE_ON_CUDA_BY_COUNT(__VA_ARGS__, HEDDLE_ON_CUDA_MANY, HEDDLE_ON_CUDA_MANY, HEDDLE_ON_CUDA_MANY,         \
                          HEDDLE_ON_CUDA_MANY, HEDDLE_ON_CUDA_MANY, HEDDLE_ON_CUDA_MANY, HEDDLE_ON_CUDA_MANY, \
                          HEDDLE_ON_CUDA_3, HEDDLE_ON_CUDA_2, HEDDLE_ON_CUDA_1, )                             \
  (__VA_ARGS__)
