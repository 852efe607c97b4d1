// SPDX-License-Identifier: Apache-2.0
//
// Memory that was taken while a stream captured, by a program that stands in for a cache (quiet_free.h): it stays
// as long as the graph, or anything made of it, whatever the program gives back. A cache keeps such memory apart
// for the graph as well, because its kernels have the addresses.
#pragma once

#include "runtime/memory.h"

#include <memory>
#include <unordered_map>
#include <vector>

namespace heddle::runtime {

class GraphMemory {
 public:
  explicit GraphMemory(Memory& memory) : memory_(&memory) {}
  ~GraphMemory() {
    for (const void* begin : given_back_) memory_->free(begin, MemoryKind::kDevice);
  }
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;

  void give_back(const void* begin) { given_back_.push_back(begin); }

 private:
  Memory* memory_;
  std::vector<const void*> given_back_;  // by the program
};

// Whose each allocation is.
class GraphMemories {
 public:
  void take(const void* begin, const std::shared_ptr<GraphMemory>& of) { owners_[begin] = of; }
  // False: it is of no graph that is still there.
  bool give_back(const void* begin) {
    const auto found = owners_.find(begin);
    if (found == owners_.end()) return false;
    const std::shared_ptr<GraphMemory> owner = found->second.lock();
    owners_.erase(found);
    if (owner != nullptr) owner->give_back(begin);
    return owner != nullptr;
  }

 private:
  std::unordered_map<const void*, std::weak_ptr<GraphMemory>> owners_;
};

}  // namespace heddle::runtime
