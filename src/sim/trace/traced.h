// SPDX-License-Identifier: Apache-2.0
//
// From what a kernel has left on a GPU to what is known of its launch.
#pragma once

#include "sim/trace/records.h"

#include <heddle/host/traced_launch.h>

#include <deque>
#include <string>

namespace heddle::sim::trace {

struct TracedRecords {
  Records records;
  std::deque<std::string> names;  // that the records point to
  std::uint64_t lost = 0;         // of the records that were made, those that newer ones have overwritten
  std::uint64_t loads = 0;
  std::uint64_t multiplications = 0;
};

// Throws InputError where the records contradict one another: a file that is none of heddle's, or damaged.
TracedRecords read_traced(const TracedLaunch& launch);

}  // namespace heddle::sim::trace
