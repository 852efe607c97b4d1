// SPDX-License-Identifier: Apache-2.0
//
// Runs a kernel that must trap on a GPU, after one that must not.
#pragma once

#include <heddle/host/device.h>
#include <heddle/host/gpu_list.h>

#include <cstdio>

namespace heddle::inline HEDDLE_TARGET::test {

// The exit status of a test: 0 if the first launch ends well and the second with a report, 77 without a GPU. What
// the kernel prints is compared by the test's PASS_REGULAR_EXPRESSION.
template <class Well, class Broken>
int expect_trap(const typename Well::Params& well, const typename Broken::Params& broken) {
  const GpuList list = find_gpus();
  if (list.gpus.empty()) {
    std::printf("skipped: %s\n", list.why.c_str());
    return 77;
  }
  Device device({.kernel = "ring"});
  const RunOutcome first = device.launch<Well>({.grid = {1}}, well);
  std::printf("without the mistake: %s\n", first.ok() ? "ended well" : first.report.c_str());
  const RunOutcome second = device.launch<Broken>({.grid = {1}}, broken);
  std::printf("with the mistake: %s\n", second.ok() ? "ended well" : second.report.c_str());
  return first.ok() && !second.ok() ? 0 : 1;
}

}  // namespace heddle::inline HEDDLE_TARGET::test
