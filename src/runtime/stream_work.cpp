// SPDX-License-Identifier: Apache-2.0
#include "runtime/stream_work.h"

#include <chrono>

namespace heddle::runtime {

namespace {

constexpr unsigned kExternal = 1;

bool is_blocking(const State& card, const void* stream) {
  const Stream* found = card.streams.find(stream);
  constexpr unsigned kNonBlocking = 1;
  return found == nullptr || (found->flags & kNonBlocking) == 0;
}

}  // namespace

Error record_event(State& card, void* event, const void* stream, unsigned flags) {
  Event* found = card.streams.find_event(event);
  if (found == nullptr || !card.streams.is_known(stream)) return Error::kInvalidHandle;
  if (flags > kExternal) return Error::kInvalidValue;
  bool is_captured = false;
  if (const Error error = card.captures.admit(stream, is_captured); error != Error::kSuccess) return error;
  if (is_captured) {
    if (flags == kExternal) return card.captures.add(card.graphs, stream, RecordWork{event});
    card.captures.record(event, stream);
    return Error::kSuccess;
  }
  if (flags == kExternal) return Error::kIllegalState;
  card.captures.forget(event);
  found->recorded = std::chrono::steady_clock::now();
  card.streams.order.record(event, stream);
  return Error::kSuccess;
}

Error wait_event(State& card, const void* stream, void* event, unsigned flags) {
  const Event* found = card.streams.find_event(event);
  if (found == nullptr || !card.streams.is_known(stream)) return Error::kInvalidHandle;
  if (flags > kExternal) return Error::kInvalidValue;
  if (flags == kExternal) {
    bool is_captured = false;
    if (const Error error = card.captures.admit(stream, is_captured); error != Error::kSuccess) return error;
    return is_captured ? card.captures.add(card.graphs, stream, WaitWork{event}) : Error::kIllegalState;
  }
  Error error = Error::kSuccess;
  if (card.captures.wait(stream, is_blocking(card, stream), event, found->recorded.has_value(), error)) {
    return error;
  }
  card.streams.order.wait_event(stream, event);
  return Error::kSuccess;
}

Error add_host_work(State& card, const void* stream, const HostWork& work, bool& is_captured) {
  is_captured = false;
  if (work.function == nullptr) return Error::kInvalidValue;
  if (const Error error = card.captures.admit(stream, is_captured); error != Error::kSuccess) return error;
  return is_captured ? card.captures.add(card.graphs, stream, work) : Error::kSuccess;
}

Error wait_for_stream(State& card, const void* stream) {
  if (const Error error = card.captures.admit_wait(stream); error != Error::kSuccess) return error;
  show_printed(card);
  card.streams.order.host_waits(stream);
  return Error::kSuccess;
}

Error wait_for_event(State& card, void* event) {
  if (card.streams.find_event(event) == nullptr) return Error::kInvalidHandle;
  if (const Error error = card.captures.admit_wait_for_event(event); error != Error::kSuccess) return error;
  show_printed(card);
  card.streams.order.host_waits_event(event);
  return Error::kSuccess;
}

Error wait_for_all(State& card) {
  if (const Error error = card.captures.admit_wait_for_all(); error != Error::kSuccess) return error;
  show_printed(card);
  card.streams.order.host_waits_for_all();
  return Error::kSuccess;
}

Error milliseconds_between(State& card, void* begin, void* end, float* milliseconds) {
  if (milliseconds == nullptr) return Error::kInvalidValue;
  const Event* first = card.streams.find_event(begin);
  const Event* last = card.streams.find_event(end);
  if (first == nullptr || last == nullptr) return Error::kInvalidHandle;
  for (const void* event : {begin, end}) {
    if (const Error error = card.captures.admit_wait_for_event(event); error != Error::kSuccess) return error;
  }
  if (!first->recorded || !last->recorded) return Error::kInvalidHandle;
  if (((first->flags | last->flags) & Event::kDisableTiming) != 0) return Error::kInvalidHandle;
  *milliseconds = std::chrono::duration<float, std::milli>(*last->recorded - *first->recorded).count();
  return Error::kSuccess;
}

}  // namespace heddle::runtime
