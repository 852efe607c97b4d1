// SPDX-License-Identifier: Apache-2.0
//
// Ordinary stores into the shared memory of another CTA of the cluster.
//
//   st_shared_cluster(mapa(&slot, peer_rank), value);
//   cluster_sync();                                     // the peer may read it
//
// The peer runs until then: a store into a CTA that has exited goes nowhere that is known.
#pragma once

#include <heddle/isa/cluster.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/target.h>

namespace heddle::inline HEDDLE_TARGET::isa {

// `peer` is an address that mapa gave. Orders: nothing; barrier_cluster_arrive and _wait follow it.
template <class T>
HEDDLE_DEVICE void st_shared_cluster(T* peer, std::type_identity_t<T> value, CallSite site = CallSite::here()) {
  st_shared(peer, value, site);
}

}  // namespace heddle::inline HEDDLE_TARGET::isa
