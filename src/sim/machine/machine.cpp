// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/machine.h"

namespace heddle::sim::machine {

void Machine::thread_exit(Thread& thread) {
  wgmma.thread_exit(thread);
  tmem.thread_exit(thread);
  async_copies.thread_exit(thread);
  retire(thread);
  // Exited threads do not take part in barriers and meetings any more.
  warps.thread_exit(thread);
  named_barriers.thread_exit(thread);
  cluster_barrier.thread_exit(thread);
  if (thread.cta->live_threads == 0) cta_exit(*thread.cta);
  Cluster& cluster = *thread.cta->cluster;
  if (cluster.threads == 0) cluster.running = false;
}

void Machine::cta_exit(Cta& cta) {
  cta.exited = true;
  registers.cta_exit(cta);
  tmem.cta_exit(cta);
  tma.cta_exit(cta);
  clc.cta_exit(cta);
  tmem.finish_transfers(cta);
  mbarriers.cta_exit(cta);
  emit(event::CtaExit{.cta = cta.linear});
}

void Machine::step_copy(std::size_t index, std::uint64_t entropy) {
  changed();
  if (index < tma.in_flight()) return tma.step(index, entropy);
  index -= tma.in_flight();
  if (index < clc.in_flight()) return clc.step(index, entropy);
  index -= clc.in_flight();
  if (index < wgmma.in_flight()) return wgmma.step(index);
  index -= wgmma.in_flight();
  if (index < tcgen05.in_flight()) return tcgen05.step(index);
  tmem.step(index - tcgen05.in_flight());
}

}  // namespace heddle::sim::machine
