// SPDX-License-Identifier: Apache-2.0
#include "runtime/stream.h"

namespace heddle::runtime {

bool is_default_stream(const void* handle) { return reinterpret_cast<std::uintptr_t>(handle) <= 2; }

Stream* Streams::create(unsigned flags, int priority) {
  return *streams_.insert(new Stream{.flags = flags, .priority = priority, .id = 16 + count_++}).first;
}

bool Streams::destroy(void* handle) {
  auto* stream = static_cast<Stream*>(handle);
  if (streams_.erase(stream) == 0) return false;
  delete stream;
  return true;
}

const Stream* Streams::find(const void* handle) const {
  const auto found = streams_.find(const_cast<Stream*>(static_cast<const Stream*>(handle)));
  return found == streams_.end() ? nullptr : *found;
}

bool Streams::is_known(const void* handle) const { return is_default_stream(handle) || find(handle) != nullptr; }

Event* Streams::create_event(unsigned flags) { return *events_.insert(new Event{.flags = flags}).first; }

bool Streams::destroy_event(void* handle) {
  auto* event = static_cast<Event*>(handle);
  if (events_.erase(event) == 0) return false;
  delete event;
  return true;
}

Event* Streams::find_event(void* handle) const {
  const auto found = events_.find(static_cast<Event*>(handle));
  return found == events_.end() ? nullptr : *found;
}

}  // namespace heddle::runtime
