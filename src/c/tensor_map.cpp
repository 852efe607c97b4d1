// SPDX-License-Identifier: Apache-2.0
#include "c/error.h"

#include <heddle/c_api.h>
#include <heddle/host/tensor_map.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace {

// In the order of TensorType, and of Swizzle.
constexpr std::array<std::string_view, 13> kTypes = {"u8",  "u16", "u32",  "i32",     "u64",  "i64",     "f16",
                                                     "f32", "f64", "bf16", "f32_ftz", "tf32", "tf32_ftz"};
constexpr std::array<std::string_view, 4> kSwizzles = {"none", "32B", "64B", "128B"};

template <class Value, std::size_t count>
Value value_called(const char* name, const std::array<std::string_view, count>& names, const char* what) {
  const auto found = std::find(names.begin(), names.end(), name == nullptr ? std::string_view() : name);
  if (found == names.end()) {
    throw heddle::InputError(
        fmt::format("tensor map: {} '{}'; {}", what, name == nullptr ? "" : name, fmt::join(names, ", ")));
  }
  return static_cast<Value>(found - names.begin());
}

}  // namespace

HEDDLE_C_CALL int heddle_tensor_map(const heddle_tensor* tensor, void* map) {
  return heddle::c::guarded(1, [&] {
    heddle::TensorMapSpec spec;
    spec.type = value_called<heddle::TensorType>(tensor->type, kTypes, "type");
    spec.rank = tensor->rank;
    spec.address = tensor->address;
    std::copy(std::begin(tensor->dims), std::end(tensor->dims), spec.dims);
    std::copy(std::begin(tensor->strides), std::end(tensor->strides), spec.strides);
    std::copy(std::begin(tensor->box), std::end(tensor->box), spec.box);
    spec.swizzle = value_called<heddle::Swizzle>(tensor->swizzle, kSwizzles, "swizzle");
    const heddle::TensorMap made = heddle::make_tensor_map(spec);
    std::memcpy(map, &made, sizeof(made));
    return 0;
  });
}
