// SPDX-License-Identifier: Apache-2.0
//
// Grouped matmuls behind functions that Python's ctypes can call: matmul_suites.py measures them beside torch.
#include "matmul/host/matmul_grouped_plan.h"

#include <heddle/host/error.h>

#include <exception>
#include <string>

// Tensors on the current GPU, without gaps: a [m, k], b [groups, n, k], group_rows [groups], out [m, n]; an empty
// name of a configuration for the library's choice. Null if it was started, otherwise why not, until the next
// call of this thread.
extern "C" const char* heddle_matmul_grouped(const void* a, const void* b, const std::int32_t* group_rows,
                                             void* out, int groups, int m, int n, int k, int are_counts,
                                             int expected_rows, const char* config, void* stream) {
  thread_local std::string error;
  try {
    heddle::enqueue_matmul_grouped_sm90<heddle::Target::kCuda>(
        {.groups = groups,
         .m = m,
         .n = n,
         .k = k,
         .rows = are_counts != 0 ? heddle::GroupRows::kCounts : heddle::GroupRows::kEnds,
         .expected_rows = expected_rows,
         .config = config},
        {.a = a, .b = b, .group_rows = group_rows, .out = out}, stream);
    return nullptr;
  } catch (const std::exception& refused) {
    error = refused.what();
    return error.c_str();
  }
}

// The names of all configurations, separated by commas.
extern "C" const char* heddle_matmul_grouped_configs() {
  static const std::string names = [] {
    std::string joined;
    for (const std::string& name : heddle::matmul_grouped_sm90_configs(false)) {
      joined += (joined.empty() ? "" : ",") + name;
    }
    return joined;
  }();
  return names.c_str();
}
