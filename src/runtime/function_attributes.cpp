// SPDX-License-Identifier: Apache-2.0
#include "runtime/function_attributes.h"

#include "runtime/device.h"
#include "runtime/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>

namespace heddle::runtime {

namespace {

// As CUDA's headers number them.
enum Attribute : int {
  kMaxDynamicShared = 8,
  kCarveout = 9,
  kMustSetCluster = 10,
  kClusterWidth = 11,
  kClusterHeight = 12,
  kClusterDepth = 13,
  kNonPortableCluster = 14,
  kClusterScheduling = 15,
};

// PTX has no registers to count; what a kernel of this many threads may have at most, so that it fits.
int registers(std::uint64_t threads) {
  const std::uint64_t each = 65536 / (threads == 0 ? 256 : threads);
  return static_cast<int>(each < 255 ? each / 8 * 8 : 255);
}

// 90 of sm_90a: what the code was compiled for. CUB picks among what it was compiled for by it.
int version_of(const std::string& target) {
  int version = 0;
  std::from_chars(target.data() + std::min<std::size_t>(3, target.size()), target.data() + target.size(),
                  version);
  return version;
}

}  // namespace

Error get_attributes(State& card, const Kernel& kernel, FunctionAttributes& attributes) {
  Error error = Error::kSuccess;
  const sim::PtxEntry* entry = load_entry(card, kernel, error);
  if (entry == nullptr) return error;
  const auto sm = static_cast<int>(options().sm());
  attributes = {};
  attributes.static_shared = entry->static_shared_bytes;
  attributes.local_bytes = entry->local_bytes;
  attributes.max_threads = static_cast<int>(entry->max_threads != 0 ? entry->max_threads : kMaxThreads);
  attributes.registers = registers(entry->max_threads);
  attributes.ptx_version = version_of(kernel.module->ptx()->target());
  attributes.binary_version = sm;
  attributes.max_dynamic_shared = static_cast<int>(max_dynamic_shared(kernel, *entry));
  attributes.carveout = kernel.carveout;
  attributes.must_set_cluster = kernel.must_set_cluster ? 1 : 0;
  attributes.cluster[0] = static_cast<int>(entry->required_cluster.x);
  attributes.cluster[1] = static_cast<int>(entry->required_cluster.y);
  attributes.cluster[2] = static_cast<int>(entry->required_cluster.z);
  attributes.allows_nonportable_cluster = kernel.allows_nonportable_cluster ? 1 : 0;
  return Error::kSuccess;
}

Error set_attribute(State& card, Kernel& kernel, int attribute, int value) {
  Error error = Error::kSuccess;
  const sim::PtxEntry* entry = load_entry(card, kernel, error);
  if (entry == nullptr) return error;
  switch (attribute) {
    case kMaxDynamicShared: {
      const std::size_t most = max_shared_bytes(options().arch) - entry->static_shared_bytes;
      if (value < 0 || static_cast<std::size_t>(value) > most) {
        say(fmt::format(
            "cudaFuncSetAttribute for {}: {} bytes of dynamic shared memory; at most {} beside {} static ones",
            readable(kernel.name), value, most, entry->static_shared_bytes));
        return Error::kInvalidValue;
      }
      kernel.max_dynamic_shared = static_cast<std::size_t>(value);
      return Error::kSuccess;
    }
    case kCarveout:
      if (value < -1 || value > 100) return Error::kInvalidValue;
      kernel.carveout = value;
      return Error::kSuccess;
    case kNonPortableCluster: kernel.allows_nonportable_cluster = value != 0; return Error::kSuccess;
    case kMustSetCluster: kernel.must_set_cluster = value != 0; return Error::kSuccess;
    case kClusterScheduling: return Error::kSuccess;
    case kClusterWidth:
    case kClusterHeight:
    case kClusterDepth:
      say("cudaFuncSetAttribute: a required cluster is not there; give the cluster at the launch");
      return Error::kNotSupported;
    default: return Error::kInvalidValue;
  }
}

}  // namespace heddle::runtime
