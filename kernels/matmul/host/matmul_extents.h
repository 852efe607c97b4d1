// SPDX-License-Identifier: Apache-2.0
//
// The checks that every matmul goes through, and the sizes that come of them. An architecture states what its
// kernels can do as MatmulRules; everything else is the same for all.
#pragma once

#include "matmul/api/matmul_problem.h"

#include <heddle/host/gpu_list.h>

#include <cstddef>
#include <cstdint>

namespace heddle {

// What the kernels of an architecture can do.
struct MatmulRules {
  const char* arch;  // as messages name it
  std::int64_t max_extent;
  bool has_empty_k;  // k = 0, which leaves the epilogue
  bool has_batches;
  std::int64_t max_splits;
  bool has_beta;
  bool has_mn_major_a;
  bool has_mn_major_b;
  bool has_any_rows;  // rows that begin anywhere are copied to where they begin on 16 bytes
  bool (*has_types)(MatmulElement a, MatmulElement b);
  const char* types;  // those, in words
};

// Where everything is: what follows from a problem before a configuration is chosen.
struct MatmulExtents {
  std::uint64_t a_pitch = 0;
  std::uint64_t b_pitch = 0;
  std::uint64_t out_pitch = 0;
  std::uint64_t residual_pitch = 0;
  std::uint64_t a_batch_stride = 0;
  std::uint64_t b_batch_stride = 0;
  std::uint64_t out_batch_stride = 0;
  std::uint64_t residual_batch_stride = 0;
  std::size_t a_bytes = 0;
  std::size_t b_bytes = 0;
  std::size_t out_bytes = 0;       // 0: there is nothing to do
  std::size_t bias_bytes = 0;      // 0: there is none
  std::size_t residual_bytes = 0;  // 0: there is none
  bool is_fused = false;           // has more of an epilogue than storing the sums
  bool is_ragged = false;          // rows of the output do not end on a multiple of 16 bytes
};

// Throws InputError for a problem that cannot be run.
MatmulExtents check_matmul(const MatmulProblem& problem, const MatmulTensors& tensors, const MatmulRules& rules);

// Throws DriverError where there is no such GPU, and InputError where it is none that the kernels are for.
void check_matmul_gpu(const GpuList& list, int ordinal, int major);

// Throws InputError for a stream of another GPU than the current one.
void check_matmul_stream(int stream_device, int current_device);

// Of the workspace that a caller has given; 0 where it is null, whatever its size is said to be.
std::uint64_t workspace_bytes_of(const MatmulTensors& tensors);

// Throws InputError where K in so many parts takes more; and where copies of rows that do not begin on 16 bytes,
// and sums for such rows of the output, do.
void check_workspace(const MatmulTensors& tensors, std::int64_t splits, std::uint64_t partial_bytes);
void check_workspace_of_rows(const MatmulTensors& tensors, std::uint64_t bytes);

// Beyond that, for tensors that the device reads where they are.
void check_alignment(const MatmulProblem& problem, const MatmulTensors& tensors);

}  // namespace heddle
