// SPDX-License-Identifier: Apache-2.0
#include "runtime/occupancy.h"

#include "runtime/device.h"
#include "runtime/options.h"

#include "sim/machine/volume.h"

#include <heddle/isa/cluster.h>

#include <algorithm>
#include <limits>

namespace heddle::runtime {

namespace {

using sim::volume;

// More than any block has, if there are more than can be counted.
int threads_of(const LaunchRequest& request) {
  return static_cast<int>(std::min<std::uint64_t>(volume(request.block), std::numeric_limits<int>::max()));
}

}  // namespace

Error max_active_blocks(State& card, const Kernel& kernel, int threads, std::size_t dynamic_shared, int& blocks) {
  if (threads <= 0) return Error::kInvalidValue;
  Error error = Error::kSuccess;
  const sim::PtxEntry* entry = load_entry(card, kernel, error);
  if (entry == nullptr) return error;
  const bool is_allowed = dynamic_shared <= max_dynamic_shared(kernel, *entry);
  blocks = is_allowed ? resident_ctas(*entry, static_cast<std::uint64_t>(threads), dynamic_shared) : 0;
  return Error::kSuccess;
}

Error max_active_clusters(State& card, const Kernel& kernel, const LaunchRequest& request, int& clusters) {
  int blocks = 0;
  const Error error = max_active_blocks(card, kernel, threads_of(request), request.dynamic_shared, blocks);
  if (error != Error::kSuccess) return error;
  const std::uint64_t cluster = std::max<std::uint64_t>(volume(request.cluster), 1);
  const std::uint32_t most = kernel.allows_nonportable_cluster ? isa::kMaxCluster : isa::kMaxPortableCluster;
  if (cluster > most) return Error::kInvalidClusterSize;
  // A cluster lies within a group of SMs; as many fit as do in all of them.
  clusters = static_cast<int>(static_cast<std::uint64_t>(blocks) * options().sms / cluster);
  return Error::kSuccess;
}

Error max_cluster_size(State& card, const Kernel& kernel, const LaunchRequest& request, int& size) {
  int blocks = 0;
  const Error error = max_active_blocks(card, kernel, threads_of(request), request.dynamic_shared, blocks);
  if (error != Error::kSuccess) return error;
  if (blocks == 0) return Error::kInvalidConfiguration;
  size = kernel.allows_nonportable_cluster ? isa::kMaxCluster : isa::kMaxPortableCluster;
  return Error::kSuccess;
}

Error available_dynamic_shared(State& card, const Kernel& kernel, int blocks, int threads, std::size_t& bytes) {
  int fit = 0;
  const Error error = max_active_blocks(card, kernel, threads, 0, fit);
  if (error != Error::kSuccess) return error;
  if (blocks <= 0 || blocks > fit) return Error::kInvalidValue;
  const std::size_t taken = kReservedShared + kernel.module->entry(kernel)->static_shared_bytes;
  const std::size_t each = kSharedPerSm / static_cast<std::size_t>(blocks);
  const std::size_t most = max_shared_bytes(options().arch) - kernel.module->entry(kernel)->static_shared_bytes;
  bytes = each > taken ? std::min(each - taken, most) : 0;
  return Error::kSuccess;
}

}  // namespace heddle::runtime
