// SPDX-License-Identifier: Apache-2.0
//
// The driver: streams and events.
#include "runtime/driver_call.h"

#include <chrono>

using namespace heddle::runtime;

HEDDLE_CUDA_CALL int cuStreamCreateWithPriority(void** stream, unsigned flags, int priority) {
  return driver_call("cuStreamCreate", [&](State& card) {
    if (stream == nullptr || flags > 1) return Error::kInvalidValue;
    *stream = card.streams.create(flags, priority);
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cuStreamCreate(void** stream, unsigned flags) {
  return cuStreamCreateWithPriority(stream, flags, 0);
}

HEDDLE_CUDA_CALL int cuStreamDestroy_v2(void* stream) {
  return driver_call("cuStreamDestroy", [&](State& card) {
    return card.streams.destroy(stream) ? Error::kSuccess : Error::kInvalidHandle;
  });
}

HEDDLE_CUDA_CALL int cuStreamSynchronize(void* stream) {
  return driver_call_on("cuStreamSynchronize", stream, [&](State& card) {
    show_printed(card);
    card.streams.order.host_waits(stream);
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cuStreamQuery(void* stream) { return cuStreamSynchronize(stream); }

HEDDLE_CUDA_CALL int cuStreamWaitEvent(void* stream, void* event, unsigned) {
  return driver_call_on("cuStreamWaitEvent", stream, [&](State& card) {
    if (card.streams.find_event(event) == nullptr) return Error::kInvalidHandle;
    card.streams.order.wait_event(stream, event);
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cuStreamIsCapturing(void* stream, int* status) {
  return driver_call_on("cuStreamIsCapturing", stream, [&](State&) {
    if (status == nullptr) return Error::kInvalidValue;
    *status = 0;
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cuStreamGetPriority(void* stream, int* priority) {
  return driver_call_on("cuStreamGetPriority", stream, [&](State& card) {
    if (priority == nullptr) return Error::kInvalidValue;
    const Stream* found = card.streams.find(stream);
    *priority = found == nullptr ? 0 : found->priority;
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cuLaunchHostFunc(void* stream, void (*function)(void*), void* data) {
  const int code = driver_call_on("cuLaunchHostFunc", stream, [&](State&) {
    return function == nullptr ? Error::kInvalidValue : Error::kSuccess;
  });
  if (code == 0) function(data);  // without the lock: it may wait for a thread that calls the driver
  return code;
}

HEDDLE_CUDA_CALL int cuEventCreate(void** event, unsigned flags) {
  return driver_call("cuEventCreate", [&](State& card) {
    if (event == nullptr || flags > 7) return Error::kInvalidValue;
    *event = card.streams.create_event(flags);
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cuEventDestroy_v2(void* event) {
  return driver_call("cuEventDestroy", [&](State& card) {
    return card.streams.destroy_event(event) ? Error::kSuccess : Error::kInvalidHandle;
  });
}

HEDDLE_CUDA_CALL int cuEventRecord(void* event, void* stream) {
  return driver_call_on("cuEventRecord", stream, [&](State& card) {
    Event* found = card.streams.find_event(event);
    if (found == nullptr) return Error::kInvalidHandle;
    found->recorded = std::chrono::steady_clock::now();
    card.streams.order.record(event, stream);
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cuEventSynchronize(void* event) {
  return driver_call("cuEventSynchronize", [&](State& card) {
    show_printed(card);
    card.streams.order.host_waits_event(event);
    return card.streams.find_event(event) != nullptr ? Error::kSuccess : Error::kInvalidHandle;
  });
}

HEDDLE_CUDA_CALL int cuEventQuery(void* event) { return cuEventSynchronize(event); }

HEDDLE_CUDA_CALL int cuEventElapsedTime_v2(float* milliseconds, void* begin, void* end) {
  return driver_call("cuEventElapsedTime", [&](State& card) {
    if (milliseconds == nullptr) return Error::kInvalidValue;
    const Event* first = card.streams.find_event(begin);
    const Event* last = card.streams.find_event(end);
    if (first == nullptr || last == nullptr || !first->recorded || !last->recorded) return Error::kInvalidHandle;
    *milliseconds = std::chrono::duration<float, std::milli>(*last->recorded - *first->recorded).count();
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cuEventElapsedTime(float* milliseconds, void* begin, void* end) {
  return cuEventElapsedTime_v2(milliseconds, begin, end);
}
