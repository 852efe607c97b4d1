// SPDX-License-Identifier: Apache-2.0
//
// Calls of CUDA that are not there. The build makes a function for every call of the real libraries, which says
// so; one that is there takes its place.
#pragma once

#include <string>
#include <vector>

namespace heddle::runtime {

// Says that the call is not there, and gives the code for it.
int refuse(const char* name) noexcept;

// Whether a function that programs find is one of these.
bool is_refusal(const void* function);

// A call of the real libraries.
struct KnownCall {
  const char* name;
  const void* function;
};
extern const KnownCall kKnownCalls[];
extern const unsigned kKnownCallCount;

// The function that programs find by this name; null if the real libraries have none. The driver's functions are
// found by the name that programs use, too: cuMemAlloc is cuMemAlloc_v2, for programs of a version that has it.
const void* find_call(const std::string& name, int version);

}  // namespace heddle::runtime

#define HEDDLE_REFUSAL extern "C" __attribute__((weak, visibility("default"), section("heddle_refusals")))
