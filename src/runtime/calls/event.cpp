// SPDX-License-Identifier: Apache-2.0
#include "runtime/stream_work.h"

using namespace heddle::runtime;

HEDDLE_CUDA_CALL int cudaEventCreateWithFlags(void** event, unsigned flags) {
  return call("cudaEventCreate", [&](State& card) {
    if (event == nullptr || !are_event_flags(flags)) return Error::kInvalidValue;
    *event = card.streams.create_event(flags);
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cudaEventCreate(void** event) { return cudaEventCreateWithFlags(event, 0); }

HEDDLE_CUDA_CALL int cudaEventDestroy(void* event) {
  return call("cudaEventDestroy", [&](State& card) {
    card.captures.forget(event);
    return card.streams.destroy_event(event) ? Error::kSuccess : Error::kInvalidHandle;
  });
}

HEDDLE_CUDA_CALL int cudaEventRecordWithFlags(void* event, void* stream, unsigned flags) {
  return call("cudaEventRecord", [&](State& card) { return record_event(card, event, stream, flags); });
}

HEDDLE_CUDA_CALL int cudaEventRecord(void* event, void* stream) {
  return cudaEventRecordWithFlags(event, stream, 0);
}

HEDDLE_CUDA_CALL int cudaEventSynchronize(void* event) {
  return call("cudaEventSynchronize", [&](State& card) { return wait_for_event(card, event); });
}

HEDDLE_CUDA_CALL int cudaEventQuery(void* event) {
  return call("cudaEventQuery", [&](State& card) { return wait_for_event(card, event); });
}

HEDDLE_CUDA_CALL int cudaEventElapsedTime(float* milliseconds, void* begin, void* end) {
  return call("cudaEventElapsedTime",
              [&](State& card) { return milliseconds_between(card, begin, end, milliseconds); });
}

HEDDLE_CUDA_CALL int cudaEventElapsedTime_v2(float* milliseconds, void* begin, void* end) {
  return cudaEventElapsedTime(milliseconds, begin, end);
}
