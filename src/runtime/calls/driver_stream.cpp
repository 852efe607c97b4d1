// SPDX-License-Identifier: Apache-2.0
//
// The driver: streams and events.
#include "runtime/driver_call.h"
#include "runtime/stream_work.h"

using namespace heddle::runtime;

HEDDLE_CUDA_CALL int cuStreamCreateWithPriority(void** stream, unsigned flags, int priority) {
  return driver_call("cuStreamCreate", [&](State& card) {
    if (stream == nullptr || flags > 1) return Error::kInvalidValue;
    *stream = card.streams.create(flags, clamped_priority(priority));
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cuStreamCreate(void** stream, unsigned flags) {
  return cuStreamCreateWithPriority(stream, flags, 0);
}

HEDDLE_CUDA_CALL int cuStreamDestroy_v2(void* stream) {
  return driver_call("cuStreamDestroy", [&](State& card) {
    card.captures.drop_stream(card.graphs, stream);
    return card.streams.destroy(stream) ? Error::kSuccess : Error::kInvalidHandle;
  });
}

HEDDLE_CUDA_CALL int cuStreamSynchronize(void* stream) {
  return driver_call_on("cuStreamSynchronize", stream,
                        [&](State& card) { return wait_for_stream(card, stream); });
}

HEDDLE_CUDA_CALL int cuStreamQuery(void* stream) { return cuStreamSynchronize(stream); }

HEDDLE_CUDA_CALL int cuStreamWaitEvent(void* stream, void* event, unsigned flags) {
  return driver_call("cuStreamWaitEvent", [&](State& card) { return wait_event(card, stream, event, flags); });
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
  bool is_captured = false;
  const int code = driver_call_on("cuLaunchHostFunc", stream, [&](State& card) {
    return add_host_work(card, stream, {function, data}, is_captured);
  });
  // Without the lock: it may wait for a thread that calls the driver.
  if (code == 0 && !is_captured) run_host_function([&] { function(data); });
  return code;
}

HEDDLE_CUDA_CALL int cuEventCreate(void** event, unsigned flags) {
  return driver_call("cuEventCreate", [&](State& card) {
    if (event == nullptr || !are_event_flags(flags)) return Error::kInvalidValue;
    *event = card.streams.create_event(flags);
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cuEventDestroy_v2(void* event) {
  return driver_call("cuEventDestroy", [&](State& card) {
    card.captures.forget(event);
    return card.streams.destroy_event(event) ? Error::kSuccess : Error::kInvalidHandle;
  });
}

HEDDLE_CUDA_CALL int cuEventRecordWithFlags(void* event, void* stream, unsigned flags) {
  return driver_call("cuEventRecord", [&](State& card) { return record_event(card, event, stream, flags); });
}

HEDDLE_CUDA_CALL int cuEventRecord(void* event, void* stream) { return cuEventRecordWithFlags(event, stream, 0); }

HEDDLE_CUDA_CALL int cuEventSynchronize(void* event) {
  return driver_call("cuEventSynchronize", [&](State& card) { return wait_for_event(card, event); });
}

HEDDLE_CUDA_CALL int cuEventQuery(void* event) { return cuEventSynchronize(event); }

HEDDLE_CUDA_CALL int cuEventElapsedTime_v2(float* milliseconds, void* begin, void* end) {
  return driver_call("cuEventElapsedTime",
                     [&](State& card) { return milliseconds_between(card, begin, end, milliseconds); });
}

HEDDLE_CUDA_CALL int cuEventElapsedTime(float* milliseconds, void* begin, void* end) {
  return cuEventElapsedTime_v2(milliseconds, begin, end);
}
