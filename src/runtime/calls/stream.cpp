// SPDX-License-Identifier: Apache-2.0
#include "runtime/state.h"

using namespace heddle::runtime;

namespace {

template <class Body>
int with_stream(const char* name, void* stream, Body&& body) {
  return call(name, [&](State& card) {
    if (!card.streams.is_known(stream)) return Error::kInvalidHandle;
    return body(card);
  });
}

int wait(const char* name, void* stream) {
  return with_stream(name, stream, [](State& card) {
    show_printed(card);
    return Error::kSuccess;
  });
}

}  // namespace

HEDDLE_CUDA_CALL int cudaStreamCreateWithPriority(void** stream, unsigned flags, int priority) {
  return call("cudaStreamCreate", [&](State& card) {
    if (stream == nullptr || flags > 1) return Error::kInvalidValue;
    *stream = card.streams.create(flags, priority);
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cudaStreamCreate(void** stream) { return cudaStreamCreateWithPriority(stream, 0, 0); }

HEDDLE_CUDA_CALL int cudaStreamCreateWithFlags(void** stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}

HEDDLE_CUDA_CALL int cudaStreamDestroy(void* stream) {
  return call("cudaStreamDestroy", [&](State& card) {
    return card.streams.destroy(stream) ? Error::kSuccess : Error::kInvalidHandle;
  });
}

HEDDLE_CUDA_CALL int cudaStreamSynchronize(void* stream) { return wait("cudaStreamSynchronize", stream); }

HEDDLE_CUDA_CALL int cudaStreamQuery(void* stream) { return wait("cudaStreamQuery", stream); }

HEDDLE_CUDA_CALL int cudaStreamGetFlags(void* stream, unsigned* flags) {
  return with_stream("cudaStreamGetFlags", stream, [&](State& card) {
    const Stream* found = card.streams.find(stream);
    *flags = found == nullptr ? 0 : found->flags;
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cudaStreamGetPriority(void* stream, int* priority) {
  return with_stream("cudaStreamGetPriority", stream, [&](State& card) {
    const Stream* found = card.streams.find(stream);
    *priority = found == nullptr ? 0 : found->priority;
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cudaStreamGetId(void* stream, unsigned long long* id) {
  return with_stream("cudaStreamGetId", stream, [&](State& card) {
    const Stream* found = card.streams.find(stream);
    *id = found == nullptr ? reinterpret_cast<std::uintptr_t>(stream) : found->id;
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cudaStreamGetDevice(void* stream, int* device) {
  return with_stream("cudaStreamGetDevice", stream, [&](State&) {
    *device = 0;
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cudaStreamIsCapturing(void* stream, int* status) {
  return with_stream("cudaStreamIsCapturing", stream, [&](State&) {
    *status = 0;
    return Error::kSuccess;
  });
}

// No stream captures: what follows the status is not written.
HEDDLE_CUDA_CALL int cudaStreamGetCaptureInfo(void* stream, int* status) {
  return cudaStreamIsCapturing(stream, status);
}

HEDDLE_CUDA_CALL int cudaStreamGetCaptureInfo_v2(void* stream, int* status) {
  return cudaStreamIsCapturing(stream, status);
}

HEDDLE_CUDA_CALL int cudaStreamGetCaptureInfo_v3(void* stream, int* status) {
  return cudaStreamIsCapturing(stream, status);
}

HEDDLE_CUDA_CALL int cudaThreadExchangeStreamCaptureMode(int*) { return 0; }

HEDDLE_CUDA_CALL int cudaStreamWaitEvent(void* stream, void* event, unsigned) {
  return with_stream("cudaStreamWaitEvent", stream, [&](State& card) {
    return card.streams.find_event(event) != nullptr ? Error::kSuccess : Error::kInvalidHandle;
  });
}

HEDDLE_CUDA_CALL int cudaStreamSetAttribute(void* stream, int, const void*) {
  return with_stream("cudaStreamSetAttribute", stream, [](State&) { return Error::kSuccess; });
}

HEDDLE_CUDA_CALL int cudaStreamCopyAttributes(void* to, void* from) {
  return call("cudaStreamCopyAttributes", [&](State& card) {
    return card.streams.is_known(to) && card.streams.is_known(from) ? Error::kSuccess : Error::kInvalidHandle;
  });
}

HEDDLE_CUDA_CALL int cudaStreamAttachMemAsync(void* stream, void*, std::size_t, unsigned) {
  return with_stream("cudaStreamAttachMemAsync", stream, [](State&) { return Error::kSuccess; });
}

HEDDLE_CUDA_CALL int cudaLaunchHostFunc(void* stream, void (*function)(void*), void* data) {
  return with_stream("cudaLaunchHostFunc", stream, [&](State&) {
    if (function == nullptr) return Error::kInvalidValue;
    function(data);
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cudaStreamAddCallback(void* stream, void (*function)(void*, int, void*), void* data,
                                           unsigned) {
  return with_stream("cudaStreamAddCallback", stream, [&](State&) {
    if (function == nullptr) return Error::kInvalidValue;
    function(stream, 0, data);
    return Error::kSuccess;
  });
}
