// SPDX-License-Identifier: Apache-2.0
//
// What the host checks before a matmul runs. Each function throws an InputError that names the rule, the value
// and, where there is one, the nearest value that passes.
#pragma once

#include "matmul_extents.h"

#include <heddle/host/error.h>

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

namespace heddle::matmul_checks {

inline constexpr std::int64_t kMaxExtent = std::int64_t{1} << 31;
inline constexpr std::uint64_t kMaxTensorBytes = std::uint64_t{1} << 40;

inline void require(bool holds, const std::string& message) {
  if (!holds) throw InputError("matmul: " + message);
}

// The text is made where it is needed: a launch passes thirty of these.
template <class... Values>
void require(bool holds, fmt::format_string<const Values&...> text, const Values&... values) {
  if (!holds) throw InputError("matmul: " + fmt::format(text, values...));
}

inline void check_extent(const char* what, std::int64_t value, std::int64_t most = kMaxExtent - 1) {
  require(value >= 0 && value <= most, "{} is {}; 0 to {}", what, value, most);
}

// Values of an enumeration come from callers, too, who can make any number one. `last` is its last enumerator.
template <class Enum>
void check_enumerator(const char* what, Enum value, Enum last) {
  require(value <= last, "{} is {}; its enumerators are 0 to {}", what, static_cast<unsigned>(value),
          static_cast<unsigned>(last));
}

// Factors are numbers: what NaN and infinities would do to the output is nowhere the same.
inline void check_factor(const char* what, float value) {
  require(std::isfinite(value), "{} is {}; finite numbers pass", what, value);
}

// What matmuls can store.
inline void check_output_type(const char* from, MatmulElement out) {
  require(out == MatmulElement::kBf16 || out == MatmulElement::kFp16 || out == MatmulElement::kFp32,
          "{} to {} is not a supported pair of types; the output is bf16, fp16 or fp32", from, name_of(out));
}

inline std::uint64_t checked_pitch(const char* what, std::int64_t pitch, std::int64_t cols,
                                   std::uint32_t element_bytes, bool is_any = false) {
  const std::int64_t taken = pitch == 0 ? cols : pitch;
  require(taken >= cols, "{}_pitch is {} elements, less than the {} of a row", what, taken, cols);
  require(taken < kMaxExtent, "{}_pitch is {} elements; at most {}", what, taken, kMaxExtent - 1);
  const std::int64_t step = 16 / element_bytes;
  require(is_any || taken % step == 0,
          "rows of {} are {} elements apart, {} bytes; the copy engine takes multiples of 16 bytes. A pitch "
          "of {} would pass",
          what, taken, taken * element_bytes, (taken + step - 1) / step * step);
  return static_cast<std::uint64_t>(taken);
}

inline std::uint64_t checked_batch_stride(const char* what, std::int64_t stride, std::uint64_t pitch,
                                          std::int64_t rows, std::int64_t batches, std::uint32_t element_bytes,
                                          const char* kind = "batch") {
  const std::uint64_t least = pitch * static_cast<std::uint64_t>(rows);
  if (stride == 0 || batches <= 1) return least;
  require(stride > 0 && static_cast<std::uint64_t>(stride) >= least,
          "{}_{}_stride is {} elements, less than the {} of a matrix", what, kind, stride, least);
  require(static_cast<std::uint64_t>(stride) <= kMaxTensorBytes, "{}_{}_stride is {} elements; at most {}", what,
          kind, stride, kMaxTensorBytes);
  require(stride * element_bytes % 16 == 0,
          "matrices of {} are {} elements apart, {} bytes; the copy engine takes multiples of 16 bytes", what,
          stride, stride * element_bytes);
  return static_cast<std::uint64_t>(stride);
}

// From the first element to behind the last.
inline std::size_t checked_bytes(const char* what, std::int64_t rows, std::int64_t cols, std::uint64_t pitch,
                                 std::uint64_t batch_stride, std::int64_t batches, std::uint32_t element_bytes) {
  if (rows == 0 || cols == 0 || batches == 0) return 0;
  const auto elems = static_cast<double>(batch_stride) * static_cast<double>(batches);
  require(elems * element_bytes <= static_cast<double>(kMaxTensorBytes), "{} takes {:.3g} bytes; at most {}",
          what, elems * element_bytes, kMaxTensorBytes);
  const std::uint64_t last = batch_stride * static_cast<std::uint64_t>(batches - 1) +
                             pitch * static_cast<std::uint64_t>(rows - 1) + static_cast<std::uint64_t>(cols);
  return last * element_bytes;
}

inline void check_address(const char* what, const void* address, std::size_t bytes) {
  require(bytes == 0 || address != nullptr, "{} is null and has {} bytes", what, bytes);
}

inline void check_apart(const char* what, const void* in, std::size_t in_bytes, const void* out,
                        std::size_t out_bytes) {
  if (in == nullptr || in_bytes == 0 || out_bytes == 0) return;
  const auto in_first = reinterpret_cast<std::uintptr_t>(in);
  const auto out_first = reinterpret_cast<std::uintptr_t>(out);
  require(in_first + in_bytes <= out_first || out_first + out_bytes <= in_first,
          "out overlaps {}: out is 0x{:x} to 0x{:x}, {} is 0x{:x} to 0x{:x}; they must be apart", what, out_first,
          out_first + out_bytes, what, in_first, in_first + in_bytes);
}

// Whether a problem has more of an epilogue than storing the sums.
inline bool is_fused(const MatmulProblem& p, const MatmulTensors& tensors) {
  return p.alpha != 1 || p.beta != 0 || p.activation != Activation::kNone || tensors.bias != nullptr ||
         tensors.residual != nullptr;
}

}  // namespace heddle::matmul_checks
