// SPDX-License-Identifier: Apache-2.0
//
// PTX: barrier.cluster.
#include "sim/machine/cluster_barrier_unit.h"

namespace heddle::sim::machine {

void ClusterBarrierUnit::arrive(Thread& thread, bool releases, CallSite site) {
  if (thread.cluster_arrivals != thread.cluster_waits) {
    core_.fault(
        &thread, site, FaultCode::kClusterBarrier,
        "barrier.cluster.arrive twice without barrier.cluster.wait between; each thread arrives once in a round");
  }
  Cluster& cluster = *thread.cta->cluster;
  thread.cluster_arrivals = cluster.round + 1;
  ++cluster.arrived;
  core_.changed();
  core_.emit(
      event::ClusterArrive{.cta = thread.cta->linear, .thread = thread.tid, .releases = releases, .site = site});
  if (cluster.arrived == cluster.threads) finish_round(cluster);
}

void ClusterBarrierUnit::finish_round(Cluster& cluster) {
  ++cluster.round;
  cluster.arrived = 0;
  for (Cta* cta : cluster.ctas) {
    for (std::uint32_t t = 0; t < core_.threads_per_cta(); ++t) {
      Thread& waiter = cta->threads[t];
      if (waiter.state == ThreadState::kBlocked && waiter.wait.kind == WaitKind::kClusterBarrier)
        core_.make_ready(waiter);
    }
  }
}

// `thread` no longer counts in its cluster, nor does its arrival.
void ClusterBarrierUnit::thread_exit(const Thread& thread) {
  Cluster& cluster = *thread.cta->cluster;
  if (thread.cluster_arrivals > thread.cluster_waits && thread.cluster_arrivals == cluster.round + 1) {
    --cluster.arrived;
  }
  if (cluster.threads > 0 && cluster.arrived == cluster.threads) finish_round(cluster);
}

bool ClusterBarrierUnit::wait(Thread& thread, CallSite site) {
  if (thread.cluster_arrivals == thread.cluster_waits) {
    core_.fault(&thread, site, FaultCode::kClusterBarrier,
                "barrier.cluster.wait without barrier.cluster.arrive before it");
  }
  Cluster& cluster = *thread.cta->cluster;
  if (cluster.round < thread.cluster_arrivals) {
    core_.block(thread, {.kind = WaitKind::kClusterBarrier, .phase = cluster.round, .site = site});
    return false;
  }
  thread.cluster_waits = thread.cluster_arrivals;
  core_.emit(event::ClusterPass{.cta = thread.cta->linear, .thread = thread.tid, .site = site});
  return true;
}

}  // namespace heddle::sim::machine
