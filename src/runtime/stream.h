// SPDX-License-Identifier: Apache-2.0
//
// Streams and events. All work is done when it is asked for, in the order of the calls: that is one of the orders
// which streams allow. So a stream holds nothing, and an event that was recorded has happened. An event's time is
// the host's. Which other orders there are is in StreamOrder.
#pragma once

#include "runtime/stream_order.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <unordered_map>

namespace heddle::runtime {

struct Stream {
  unsigned flags = 0;
  int priority = 0;
  std::uint64_t id = 0;
};

struct Event {
  unsigned flags = 0;
  std::optional<std::chrono::steady_clock::time_point> recorded = {};

  static constexpr unsigned kDisableTiming = 2;
};

// What is asked for beyond the range becomes the nearest that there is.
inline constexpr int kGreatestPriority = -5;
constexpr int clamped_priority(int priority) {
  return priority > 0 ? 0 : priority < kGreatestPriority ? kGreatestPriority : priority;
}

// An event that other processes see has no time.
constexpr bool are_event_flags(unsigned flags) {
  constexpr unsigned kAllFlags = 7;
  constexpr unsigned kInterprocess = 4;
  return (flags & ~kAllFlags) == 0 && ((flags & kInterprocess) == 0 || (flags & Event::kDisableTiming) != 0);
}

// The default streams are not created: null, and two that CUDA's headers number.
bool is_default_stream(const void* handle);

class Streams {
 public:
  void* create(unsigned flags, int priority);
  bool destroy(void* handle);
  bool is_known(const void* handle) const;       // a default stream is
  const Stream* find(const void* handle) const;  // null for a default one

  void* create_event(unsigned flags);
  bool destroy_event(void* handle);
  Event* find_event(const void* handle);

  // Destroys all of them, with what orders them.
  void clear();

  // A handle is a number that is never given again, so one that was destroyed is never taken for another.
  void* next_handle();

  StreamOrder order;

 private:
  std::unordered_map<const void*, Stream> streams_;
  std::unordered_map<const void*, Event> events_;
  std::uint64_t count_ = 0;
};

}  // namespace heddle::runtime
