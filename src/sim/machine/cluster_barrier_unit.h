// SPDX-License-Identifier: Apache-2.0
//
// The barrier of all threads of a cluster.
// PTX: barrier.cluster.
#pragma once

#include "sim/machine/core.h"

namespace heddle::sim::machine {

class ClusterBarrierUnit {
 public:
  explicit ClusterBarrierUnit(Core& core) : core_(core) {}

  void arrive(Thread& thread, bool releases, CallSite site);
  bool wait(Thread& thread, CallSite site);

  // The thread, which is no longer counted in its cluster, is not waited for.
  void thread_exit(const Thread& thread);

 private:
  void finish_round(Cluster& cluster);

  Core& core_;
};

}  // namespace heddle::sim::machine
