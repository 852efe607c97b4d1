// SPDX-License-Identifier: Apache-2.0
//
// What every matmul computes, whichever device runs it:
//
//   out[b] = activation(alpha * A[b] * B[b] + beta * out[b] + bias) + residual[b]
//
// for each of `batches` matrices, with sums in float. Everything is row-major; out and residual are [M, N], and
// bias has N elements. Operands are stored with K or with the other extent along their rows:
//
//   MatmulProblem problem{.m = 4096, .n = 4096, .k = 4096, .b_layout = OperandLayout::kMnMajor};  // B is [K, N]
//
// Not every architecture has a kernel for every problem; one that has none is refused with an InputError.
#pragma once

#include "activation.h"
#include "matmul_element.h"

#include <cstdint>
#include <string>

namespace heddle {

enum class OperandLayout : std::uint8_t {
  kKMajor,   // A is [M, K], B is [N, K]
  kMnMajor,  // A is [K, M], B is [K, N]
};

// Sizes, pitches and strides in elements. A size may be 0.
struct MatmulProblem {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batches = 1;
  MatmulElement a_type = MatmulElement::kBf16;
  MatmulElement b_type = MatmulElement::kBf16;
  MatmulElement out_type = MatmulElement::kBf16;  // of bias and residual too
  OperandLayout a_layout = OperandLayout::kKMajor;
  OperandLayout b_layout = OperandLayout::kKMajor;
  // From one row to the next; 0: rows follow one another. Blackwell takes rows that start on 16 bytes; Hopper
  // takes others, too, at the cost of a copy: see kMatmulWorkspaceBytes.
  std::int64_t a_pitch = 0;
  std::int64_t b_pitch = 0;
  std::int64_t out_pitch = 0;
  std::int64_t residual_pitch = 0;
  std::int64_t a_batch_stride = 0;  // from one matrix to the next; 0: matrices follow one another
  std::int64_t b_batch_stride = 0;
  std::int64_t out_batch_stride = 0;
  std::int64_t residual_batch_stride = 0;
  float alpha = 1;
  float beta = 0;
  Activation activation = Activation::kNone;
  std::int64_t splits = 1;   // parts of K that are added up; more than one may take a workspace
  bool is_dependent = true;  // on a GPU: may start while the kernel before it in the stream still runs
  std::string config = {};   // a name from matmul_configs(); empty: chosen
};

// All in the memory of the device, or all in the host's: see matmul().
struct MatmulTensors {
  const void* a = nullptr;
  const void* b = nullptr;
  void* out = nullptr;
  const void* bias = nullptr;         // null: none
  const void* residual = nullptr;     // null: none
  void* workspace = nullptr;          // in a stream: of the device, for partial sums and rows off 16 bytes
  std::uint64_t workspace_bytes = 0;  // of it
};

// Enough for what the library chooses where all rows begin on 16 bytes. Otherwise the workspace also has a copy
// of each operand with other rows, and for an output with other rows its sums in float.
inline constexpr std::uint64_t kMatmulWorkspaceBytes = std::uint64_t{32} << 20;

std::uint32_t element_bytes_of(MatmulElement type);
const char* name_of(MatmulElement type);
const char* name_of(OperandLayout layout);

}  // namespace heddle
