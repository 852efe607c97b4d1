// SPDX-License-Identifier: Apache-2.0
//
// Running the Blackwell matmul from a host program:
//
//   out[b] = activation(alpha * A[b] * B[b]^T + bias) + residual[b]
//
// A is [M, K], B is [N, K], out and residual are [M, N], row-major, for each of `batches` matrices; bias has N
// elements. bias and residual have the type of out, and are left out where their pointers are null.
//
//   MatmulSm100Problem problem{.m = 1024, .n = 1024, .k = 1024};
//   const RunOutcome outcome = matmul_sm100<Target::kSim>(problem, {.a = a, .b = b, .out = out}, {.sms = 8});
//
// The tensors are in host memory. A problem that cannot be run is refused with an InputError, and a run that ends
// with a report gives no result: in both cases nothing has been written.
#pragma once

#include "matmul.h"
#include "matmul_element.h"

#include <heddle/host/run_options.h>
#include <heddle/isa/target.h>

#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

std::uint32_t element_bytes_of(MatmulElement type);
const char* name_of(MatmulElement type);

// Sizes and pitches in elements. A size may be 0: no output, or with k = 0 an output of zeros.
struct MatmulSm100Problem {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batches = 1;
  MatmulElement input = MatmulElement::kBf16;
  MatmulElement output = MatmulElement::kBf16;
  std::int64_t a_pitch = 0;  // from one row to the next; 0: rows follow one another. Rows start on 16 bytes
  std::int64_t b_pitch = 0;
  std::int64_t out_pitch = 0;
  std::int64_t a_batch_stride = 0;  // from one matrix to the next; 0: matrices follow one another
  std::int64_t b_batch_stride = 0;
  std::int64_t out_batch_stride = 0;
  std::int64_t residual_pitch = 0;
  std::int64_t residual_batch_stride = 0;
  float alpha = 1;
  Activation activation = Activation::kNone;
  std::int64_t splits =
      1;  // work items that share the K of a tile; more than one takes a workspace and a second kernel
  std::string config = {};  // a name from matmul_sm100_configs(); empty: chosen
};

template <Target target>
RunOutcome matmul_sm100(const MatmulSm100Problem& problem, const MatmulTensors& tensors,
                        const RunOptions& options);

// The configurations, by name, and the one that is taken where a problem names none. Those whose names end in
// "_fused" can do more to the sums than store them.
std::vector<std::string> matmul_sm100_configs();
std::string matmul_sm100_choice(const MatmulSm100Problem& problem, bool is_fused);

// Everything that follows from a problem. Throws InputError for one that cannot be run.
struct MatmulSm100Plan {
  std::uint32_t config = 0;  // index in kMatmulSm100Configs
  std::uint64_t a_pitch = 0;
  std::uint64_t b_pitch = 0;
  std::uint64_t out_pitch = 0;
  std::uint64_t a_batch_stride = 0;
  std::uint64_t b_batch_stride = 0;
  std::uint64_t out_batch_stride = 0;
  std::uint64_t residual_pitch = 0;
  std::uint64_t residual_batch_stride = 0;
  std::size_t bias_bytes = 0;  // 0: there is none
  std::size_t residual_bytes = 0;
  std::uint64_t partial_pitch = 0;  // of the workspace, in floats
  std::size_t partial_bytes = 0;    // 0: K is not split
  std::size_t a_bytes = 0;
  std::size_t b_bytes = 0;
  std::size_t out_bytes = 0;
  bool is_ragged = false;  // rows of the output do not end on a multiple of 16 bytes
};
MatmulSm100Plan plan_matmul_sm100(const MatmulSm100Problem& problem, const MatmulTensors& tensors);

template <>
RunOutcome matmul_sm100<Target::kSim>(const MatmulSm100Problem&, const MatmulTensors&, const RunOptions&);
template <>
RunOutcome matmul_sm100<Target::kCuda>(const MatmulSm100Problem&, const MatmulTensors&, const RunOptions&);

}  // namespace heddle
