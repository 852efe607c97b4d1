// SPDX-License-Identifier: Apache-2.0
#include "runtime/state.h"

using namespace heddle::runtime;

namespace {

int wait(const char* name, void* stream) {
  return call_on(name, stream, [&](State& card) {
    show_printed(card);
    card.streams.order.host_waits(stream);
    return Error::kSuccess;
  });
}

// What a stream is asked; the default ones have `usual`.
template <class T, class Read>
int ask(const char* name, void* stream, T* result, T usual, Read&& read) {
  return call_on(name, stream, [&](State& card) {
    if (result == nullptr) return Error::kInvalidValue;
    const Stream* found = card.streams.find(stream);
    *result = found == nullptr ? usual : static_cast<T>(read(*found));
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
  return ask("cudaStreamGetFlags", stream, flags, 0u, [](const Stream& one) { return one.flags; });
}

HEDDLE_CUDA_CALL int cudaStreamGetPriority(void* stream, int* priority) {
  return ask("cudaStreamGetPriority", stream, priority, 0, [](const Stream& one) { return one.priority; });
}

HEDDLE_CUDA_CALL int cudaStreamGetId(void* stream, unsigned long long* id) {
  const auto usual = static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(stream));
  return ask("cudaStreamGetId", stream, id, usual, [](const Stream& one) { return one.id; });
}

HEDDLE_CUDA_CALL int cudaStreamGetDevice(void* stream, int* device) {
  return ask("cudaStreamGetDevice", stream, device, 0, [](const Stream&) { return 0; });
}

HEDDLE_CUDA_CALL int cudaStreamIsCapturing(void* stream, int* status) {
  return ask("cudaStreamIsCapturing", stream, status, 0, [](const Stream&) { return 0; });
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

HEDDLE_CUDA_CALL int cudaThreadExchangeStreamCaptureMode(int* mode) {
  return remember(mode == nullptr ? Error::kInvalidValue : Error::kSuccess);
}

HEDDLE_CUDA_CALL int cudaStreamWaitEvent(void* stream, void* event, unsigned) {
  return call_on("cudaStreamWaitEvent", stream, [&](State& card) {
    if (card.streams.find_event(event) == nullptr) return Error::kInvalidHandle;
    card.streams.order.wait_event(stream, event);
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cudaStreamSetAttribute(void* stream, int, const void*) {
  return call_on("cudaStreamSetAttribute", stream, [](State&) { return Error::kSuccess; });
}

HEDDLE_CUDA_CALL int cudaStreamCopyAttributes(void* to, void* from) {
  return call("cudaStreamCopyAttributes", [&](State& card) {
    return card.streams.is_known(to) && card.streams.is_known(from) ? Error::kSuccess : Error::kInvalidHandle;
  });
}

HEDDLE_CUDA_CALL int cudaStreamAttachMemAsync(void* stream, void*, std::size_t, unsigned) {
  return call_on("cudaStreamAttachMemAsync", stream, [](State&) { return Error::kSuccess; });
}

// Host functions run when the work before them is over, which it is, and without the lock: they may wait for a
// thread that calls the runtime.
HEDDLE_CUDA_CALL int cudaLaunchHostFunc(void* stream, void (*function)(void*), void* data) {
  const int code = call_on("cudaLaunchHostFunc", stream,
                           [&](State&) { return function == nullptr ? Error::kInvalidValue : Error::kSuccess; });
  if (code == 0) function(data);
  return code;
}

HEDDLE_CUDA_CALL int cudaStreamAddCallback(void* stream, void (*function)(void*, int, void*), void* data,
                                           unsigned flags) {
  const int code = call_on("cudaStreamAddCallback", stream, [&](State&) {
    return function == nullptr || flags != 0 ? Error::kInvalidValue : Error::kSuccess;
  });
  if (code == 0) function(stream, 0, data);
  return code;
}
