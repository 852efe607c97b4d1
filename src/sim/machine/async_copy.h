// SPDX-License-Identifier: Apache-2.0
//
// Copies of a few bytes that each thread makes for itself, which are not the copy engine's.
// PTX: cp.async, cp.async.commit_group, cp.async.wait_group, cp.async.wait_all, cp.async.mbarrier.arrive.
#pragma once

#include <heddle/isa/target.h>

#include <cstdint>
#include <vector>

namespace heddle::sim::machine {

// One that has not landed.
struct AsyncCopy {
  std::uint32_t to = 0;    // a cluster shared address
  std::uint64_t from = 0;  // a global address
  std::uint32_t bytes = 0;
  std::uint32_t source_bytes = 0;  // zeros follow
  std::uint64_t number = 0;        // among those of its thread, from 1
  CallSite site = {};
};

// Of one thread, oldest first.
struct AsyncCopies {
  std::vector<AsyncCopy> pending;
  std::uint64_t issued = 0;
  std::vector<std::uint64_t>
      groups;  // for each not waited for: how many copies had been issued when it was committed
};

}  // namespace heddle::sim::machine
