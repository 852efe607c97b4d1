// SPDX-License-Identifier: Apache-2.0
#include "matmul_checks.h"

namespace heddle {

using namespace matmul_checks;

namespace {

// The extents of an operand as it is stored.
struct Stored {
  std::int64_t rows;
  std::int64_t cols;
};

Stored stored(OperandLayout layout, std::int64_t outer, std::int64_t k) {
  return layout == OperandLayout::kKMajor ? Stored{outer, k} : Stored{k, outer};
}

void check_sizes(const MatmulProblem& p, const MatmulRules& rules) {
  check_extent("m", p.m, rules.max_extent);
  check_extent("n", p.n, rules.max_extent);
  check_extent("k", p.k, rules.max_extent);
  check_extent("batches", p.batches);
  require(p.k > 0 || rules.has_empty_k, "k is 0; {} takes 1 and more", rules.arch);
  require(p.batches <= 1 || rules.has_batches, "batches is {}; {} has no batches, and 1 would pass", p.batches,
          rules.arch);
  const bool is_split_well = p.splits >= 1 && p.splits <= rules.max_splits;
  require(is_split_well || rules.max_splits != 1, "splits is {}; {} does not split K, and 1 would pass", p.splits,
          rules.arch);
  require(is_split_well, "splits is {}; 1 to {}", p.splits, rules.max_splits);
}

void check_kinds(const MatmulProblem& p, const MatmulRules& rules) {
  check_enumerator("a_type", p.a_type, MatmulElement::kE5m2);
  check_enumerator("b_type", p.b_type, MatmulElement::kE5m2);
  check_enumerator("out_type", p.out_type, MatmulElement::kE5m2);
  check_enumerator("a_layout", p.a_layout, OperandLayout::kMnMajor);
  check_enumerator("b_layout", p.b_layout, OperandLayout::kMnMajor);
  check_enumerator("activation", p.activation, Activation::kSilu);
  check_factor("alpha", p.alpha);
  check_factor("beta", p.beta);
  require(rules.has_types(p.a_type, p.b_type),
          "{} times {} is not a supported pair of types on {}; {} would pass", name_of(p.a_type),
          name_of(p.b_type), rules.arch, rules.types);
  check_output_type(name_of(p.a_type), p.out_type);
  require(p.a_layout == OperandLayout::kKMajor || rules.has_mn_major_a,
          "a_layout is {}: A is [K, M]; {} takes [M, K]", name_of(p.a_layout), rules.arch);
  require(p.b_layout == OperandLayout::kKMajor || rules.has_mn_major_b,
          "b_layout is {}: B is [K, N]; {} takes [N, K]", name_of(p.b_layout), rules.arch);
  require(p.beta == 0 || rules.has_beta, "beta is {}; {} does not read the output, and 0 would pass", p.beta,
          rules.arch);
}

void check_aligned(const char* what, const void* address, std::uintptr_t step) {
  const auto value = reinterpret_cast<std::uintptr_t>(address);
  require(value % step == 0, "{} is at 0x{:x}; addresses are multiples of {}, and 0x{:x} would pass", what, value,
          step, value / step * step);
}

}  // namespace

MatmulExtents check_matmul(const MatmulProblem& p, const MatmulTensors& tensors, const MatmulRules& rules) {
  check_sizes(p, rules);
  check_kinds(p, rules);
  const Stored a = stored(p.a_layout, p.m, p.k);
  const Stored b = stored(p.b_layout, p.n, p.k);
  const std::uint32_t a_elem = element_bytes_of(p.a_type);
  const std::uint32_t b_elem = element_bytes_of(p.b_type);
  const std::uint32_t out_elem = element_bytes_of(p.out_type);
  MatmulExtents e;
  e.a_pitch = checked_pitch("a", p.a_pitch, a.cols, a_elem, rules.has_any_rows);
  e.b_pitch = checked_pitch("b", p.b_pitch, b.cols, b_elem, rules.has_any_rows);
  e.out_pitch = checked_pitch("out", p.out_pitch, p.n, out_elem, rules.has_any_rows);
  e.a_batch_stride = checked_batch_stride("a", p.a_batch_stride, e.a_pitch, a.rows, p.batches, a_elem);
  e.b_batch_stride = checked_batch_stride("b", p.b_batch_stride, e.b_pitch, b.rows, p.batches, b_elem);
  e.out_batch_stride = checked_batch_stride("out", p.out_batch_stride, e.out_pitch, p.m, p.batches, out_elem);
  e.a_bytes = checked_bytes("a", a.rows, a.cols, e.a_pitch, e.a_batch_stride, p.batches, a_elem);
  e.b_bytes = checked_bytes("b", b.rows, b.cols, e.b_pitch, e.b_batch_stride, p.batches, b_elem);
  e.out_bytes = checked_bytes("out", p.m, p.n, e.out_pitch, e.out_batch_stride, p.batches, out_elem);
  if (tensors.bias != nullptr) e.bias_bytes = static_cast<std::size_t>(p.n) * out_elem;
  if (tensors.residual != nullptr) {
    e.residual_pitch = checked_pitch("residual", p.residual_pitch, p.n, out_elem, rules.has_any_rows);
    e.residual_batch_stride =
        checked_batch_stride("residual", p.residual_batch_stride, e.residual_pitch, p.m, p.batches, out_elem);
    e.residual_bytes =
        checked_bytes("residual", p.m, p.n, e.residual_pitch, e.residual_batch_stride, p.batches, out_elem);
  }
  if (e.out_bytes != 0) {
    check_address("a", tensors.a, e.a_bytes);
    check_address("b", tensors.b, e.b_bytes);
    check_address("out", tensors.out, e.out_bytes);
    check_apart("a", tensors.a, e.a_bytes, tensors.out, e.out_bytes);
    check_apart("b", tensors.b, e.b_bytes, tensors.out, e.out_bytes);
    check_apart("bias", tensors.bias, e.bias_bytes, tensors.out, e.out_bytes);
    check_apart("residual", tensors.residual, e.residual_bytes, tensors.out, e.out_bytes);
  }
  e.is_fused = is_fused(p, tensors);
  e.is_ragged = p.splits == 1 && p.n * out_elem % 16 != 0;
  return e;
}

void check_matmul_gpu(const GpuList& list, int ordinal, int major) {
  if (list.gpus.empty()) throw DriverError("matmul: there is no GPU: " + list.why, 0);
  for (const GpuDescription& gpu : list.gpus) {
    if (gpu.ordinal != ordinal) continue;
    require(gpu.major == major, "GPU {} ({}) has compute capability {}.{}; these kernels are for {}.0", ordinal,
            gpu.name, gpu.major, gpu.minor, major);
    return;
  }
  throw DriverError(fmt::format("matmul: there is no GPU {}; 0 to {}", ordinal, list.gpus.size() - 1), 0);
}

void check_matmul_stream(int stream_device, int current_device) {
  require(stream_device == current_device,
          "the stream belongs to GPU {}, and GPU {} is the current one; cudaSetDevice({}) would pass",
          stream_device, current_device, stream_device);
}

std::uint64_t workspace_bytes_of(const MatmulTensors& tensors) {
  return tensors.workspace == nullptr ? 0 : tensors.workspace_bytes;
}

void check_workspace(const MatmulTensors& tensors, std::int64_t splits, std::uint64_t partial_bytes) {
  const std::uint64_t bytes = workspace_bytes_of(tensors);
  require(bytes >= partial_bytes, "the workspace has {} bytes; K in {} parts takes {}", bytes, splits,
          partial_bytes);
}

void check_workspace_of_rows(const MatmulTensors& tensors, std::uint64_t needed) {
  const std::uint64_t bytes = workspace_bytes_of(tensors);
  require(bytes >= needed,
          fmt::format("the workspace has {} bytes; rows that do not begin on multiples of 16 bytes take {}",
                      bytes, needed));
}

void check_alignment(const MatmulProblem& problem, const MatmulTensors& tensors) {
  check_aligned("a", tensors.a, 16);
  check_aligned("b", tensors.b, 16);
  check_aligned("out", tensors.out, 16);
  check_aligned("bias", tensors.bias, element_bytes_of(problem.out_type));
  check_aligned("residual", tensors.residual, 16);
  check_aligned("workspace", tensors.workspace, 16);
}

std::uint32_t element_bytes_of(MatmulElement type) {
  switch (type) {
    case MatmulElement::kBf16:
    case MatmulElement::kFp16: return 2;
    case MatmulElement::kFp32:
    case MatmulElement::kTf32: return 4;
    case MatmulElement::kE4m3:
    case MatmulElement::kE5m2: return 1;
  }
  return 0;
}

const char* name_of(MatmulElement type) {
  switch (type) {
    case MatmulElement::kBf16: return "bf16";
    case MatmulElement::kFp16: return "fp16";
    case MatmulElement::kFp32: return "fp32";
    case MatmulElement::kTf32: return "tf32";
    case MatmulElement::kE4m3: return "e4m3";
    case MatmulElement::kE5m2: return "e5m2";
  }
  return "unknown";
}

const char* name_of(OperandLayout layout) { return layout == OperandLayout::kKMajor ? "k-major" : "mn-major"; }

}  // namespace heddle
