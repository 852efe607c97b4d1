// SPDX-License-Identifier: Apache-2.0
//
// PTX: barrier.cluster.
#include "sim/machine/machine.h"

namespace heddle::sim::machine {

void Machine::cluster_arrive(Thread& thread, bool releases, CallSite site) {
  if (thread.cluster_arrivals != thread.cluster_waits) {
    fault(
        &thread, site, FaultCode::kClusterBarrier,
        "barrier.cluster.arrive twice without barrier.cluster.wait between; each thread arrives once in a round");
  }
  Cluster& cluster = *thread.cta->cluster;
  thread.cluster_arrivals = cluster.round + 1;
  ++cluster.arrived;
  changed();
  if (wants(EventKind::kClusterArrive)) {
    emit({.kind = EventKind::kClusterArrive,
          .cta = thread.cta->linear,
          .thread = thread.tid,
          .value = releases ? 1u : 0u,
          .site = site});
  }
  if (cluster.arrived == cluster.threads) finish_cluster_round(cluster);
}

void Machine::finish_cluster_round(Cluster& cluster) {
  ++cluster.round;
  cluster.arrived = 0;
  for (Cta* cta : cluster.ctas) {
    for (std::uint32_t t = 0; t < threads_per_cta_; ++t) {
      Thread& waiter = cta->threads[t];
      if (waiter.state == ThreadState::kBlocked && waiter.wait.kind == WaitKind::kClusterBarrier)
        make_ready(waiter);
    }
  }
}

bool Machine::cluster_wait(Thread& thread, CallSite site) {
  if (thread.cluster_arrivals == thread.cluster_waits) {
    fault(&thread, site, FaultCode::kClusterBarrier,
          "barrier.cluster.wait without barrier.cluster.arrive before it");
  }
  Cluster& cluster = *thread.cta->cluster;
  if (cluster.round < thread.cluster_arrivals) {
    block(thread, {.kind = WaitKind::kClusterBarrier, .phase = cluster.round, .site = site});
    return false;
  }
  thread.cluster_waits = thread.cluster_arrivals;
  if (wants(EventKind::kClusterPass)) {
    emit({.kind = EventKind::kClusterPass, .cta = thread.cta->linear, .thread = thread.tid, .site = site});
  }
  return true;
}

}  // namespace heddle::sim::machine
