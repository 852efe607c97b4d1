// SPDX-License-Identifier: Apache-2.0
//
// Calls about graphs, most of which the runtime and the driver have alike.
#pragma once

#include "runtime/driver_call.h"

// Both calls do `expression`, which gives an Error, with `card`.
#define HEDDLE_BOTH_CALLS(runtime_name, driver_name, parameters, expression)                      \
  HEDDLE_CUDA_CALL int runtime_name parameters {                                                  \
    return call(#runtime_name, [&]([[maybe_unused]] State& card) { return (expression); });       \
  }                                                                                               \
  HEDDLE_CUDA_CALL int driver_name parameters {                                                   \
    return driver_call(#driver_name, [&]([[maybe_unused]] State& card) { return (expression); }); \
  }
