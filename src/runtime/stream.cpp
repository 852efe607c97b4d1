// SPDX-License-Identifier: Apache-2.0
#include "runtime/stream.h"

namespace heddle::runtime {

bool is_default_stream(const void* handle) { return reinterpret_cast<std::uintptr_t>(handle) <= 2; }

void* Streams::next_handle() {
  constexpr std::uint64_t kFirst = 4096;
  constexpr std::uint64_t kStep = 16;
  return reinterpret_cast<void*>(kFirst + kStep * count_++);
}

void* Streams::create(unsigned flags, int priority) {
  void* handle = next_handle();
  streams_.emplace(handle, Stream{.flags = flags, .priority = priority, .id = 16 + count_});
  constexpr unsigned kNonBlocking = 1;
  order.create(handle, (flags & kNonBlocking) == 0);
  return handle;
}

bool Streams::destroy(void* handle) {
  if (streams_.erase(handle) == 0) return false;
  order.destroy(handle);
  return true;
}

const Stream* Streams::find(const void* handle) const {
  const auto found = streams_.find(handle);
  return found == streams_.end() ? nullptr : &found->second;
}

bool Streams::is_known(const void* handle) const { return is_default_stream(handle) || find(handle) != nullptr; }

void* Streams::create_event(unsigned flags) {
  void* handle = next_handle();
  events_.emplace(handle, Event{.flags = flags});
  return handle;
}

bool Streams::destroy_event(void* handle) {
  order.destroy_event(handle);
  return events_.erase(handle) != 0;
}

void Streams::clear() {
  streams_.clear();
  events_.clear();
  order = {};
}

Event* Streams::find_event(const void* handle) {
  const auto found = events_.find(handle);
  return found == events_.end() ? nullptr : &found->second;
}

}  // namespace heddle::runtime
