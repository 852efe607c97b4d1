// SPDX-License-Identifier: Apache-2.0
//
// Memory pools that a program has made, and the one that is always there.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>

namespace heddle::runtime {

struct Pool {
  std::array<int, 3> flags = {1, 1, 1};  // about what may be used again
  std::uint64_t threshold = 0;
};

class Pools {
 public:
  void* usual() const { return &usual_; }

  void* create(void* handle) {
    made_.emplace(handle, Pool{});
    return handle;
  }

  // Null if there is none.
  Pool* find(const void* handle) {
    if (handle == &usual_) return &usual_;
    const auto found = made_.find(handle);
    return found == made_.end() ? nullptr : &found->second;
  }

  bool destroy(const void* handle) {
    if (made_.erase(handle) == 0) return false;
    if (current == handle) current = usual();
    return true;
  }

  void clear() {
    made_.clear();
    usual_ = {};
    current = usual();
  }

 private:
  // Its own address is its handle, so that a program's first call finds it.
  static inline Pool usual_;
  std::unordered_map<const void*, Pool> made_;

 public:
  void* current = &usual_;  // of the device
};

}  // namespace heddle::runtime
