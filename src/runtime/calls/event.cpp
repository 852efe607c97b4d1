// SPDX-License-Identifier: Apache-2.0
#include "runtime/state.h"

#include <chrono>

using namespace heddle::runtime;

namespace {

template <class Body>
int with_event(const char* name, void* event, Body&& body) {
  return call(name, [&](State& card) {
    Event* found = card.streams.find_event(event);
    return found == nullptr ? Error::kInvalidHandle : body(card, *found);
  });
}

}  // namespace

HEDDLE_CUDA_CALL int cudaEventCreateWithFlags(void** event, unsigned flags) {
  return call("cudaEventCreate", [&](State& card) {
    if (event == nullptr || flags > 7) return Error::kInvalidValue;
    *event = card.streams.create_event(flags);
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cudaEventCreate(void** event) { return cudaEventCreateWithFlags(event, 0); }

HEDDLE_CUDA_CALL int cudaEventDestroy(void* event) {
  return call("cudaEventDestroy", [&](State& card) {
    return card.streams.destroy_event(event) ? Error::kSuccess : Error::kInvalidHandle;
  });
}

HEDDLE_CUDA_CALL int cudaEventRecord(void* event, void* stream) {
  return with_event("cudaEventRecord", event, [&](State& card, Event& found) {
    if (!card.streams.is_known(stream)) return Error::kInvalidHandle;
    found.recorded = std::chrono::steady_clock::now();
    card.streams.order.record(event, stream);
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cudaEventRecordWithFlags(void* event, void* stream, unsigned) {
  return cudaEventRecord(event, stream);
}

HEDDLE_CUDA_CALL int cudaEventSynchronize(void* event) {
  return with_event("cudaEventSynchronize", event, [&](State& card, Event&) {
    show_printed(card);
    card.streams.order.host_waits_event(event);
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cudaEventQuery(void* event) {
  return with_event("cudaEventQuery", event, [&](State& card, Event&) {
    card.streams.order.host_waits_event(event);
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cudaEventElapsedTime(float* milliseconds, void* begin, void* end) {
  return call("cudaEventElapsedTime", [&](State& card) {
    if (milliseconds == nullptr) return Error::kInvalidValue;
    const Event* first = card.streams.find_event(begin);
    const Event* last = card.streams.find_event(end);
    if (first == nullptr || last == nullptr || !first->recorded || !last->recorded) return Error::kInvalidHandle;
    if (((first->flags | last->flags) & Event::kDisableTiming) != 0) return Error::kInvalidHandle;
    *milliseconds = std::chrono::duration<float, std::milli>(*last->recorded - *first->recorded).count();
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cudaEventElapsedTime_v2(float* milliseconds, void* begin, void* end) {
  return cudaEventElapsedTime(milliseconds, begin, end);
}
