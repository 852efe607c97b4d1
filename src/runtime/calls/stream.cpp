// SPDX-License-Identifier: Apache-2.0
#include "runtime/stream_work.h"

#include <algorithm>
#include <array>

using namespace heddle::runtime;

namespace {

int wait(const char* name, void* stream) {
  return call_on(name, stream, [&](State& card) { return wait_for_stream(card, stream); });
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

// As an H200 has it: of what can be asked of a stream, its flags and number are not there while it captures, and
// asking spoils the capture.
int refuse_captured(const char* name, void* stream) {
  return call(name, [&](State& card) {
    if (!card.captures.is_captured(stream)) return Error::kSuccess;
    card.captures.invalidate(stream);
    return Error::kStreamCaptureUnsupported;
  });
}

}  // namespace

HEDDLE_CUDA_CALL int cudaStreamCreateWithPriority(void** stream, unsigned flags, int priority) {
  return call("cudaStreamCreate", [&](State& card) {
    if (stream == nullptr || flags > 1) return Error::kInvalidValue;
    *stream = card.streams.create(flags, clamped_priority(priority));
    return Error::kSuccess;
  });
}

HEDDLE_CUDA_CALL int cudaStreamCreate(void** stream) { return cudaStreamCreateWithPriority(stream, 0, 0); }

HEDDLE_CUDA_CALL int cudaStreamCreateWithFlags(void** stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}

HEDDLE_CUDA_CALL int cudaStreamDestroy(void* stream) {
  return call("cudaStreamDestroy", [&](State& card) {
    card.captures.drop_stream(card.graphs, stream);
    return card.streams.destroy(stream) ? Error::kSuccess : Error::kInvalidHandle;
  });
}

HEDDLE_CUDA_CALL int cudaStreamSynchronize(void* stream) { return wait("cudaStreamSynchronize", stream); }

HEDDLE_CUDA_CALL int cudaStreamQuery(void* stream) { return wait("cudaStreamQuery", stream); }

HEDDLE_CUDA_CALL int cudaStreamGetFlags(void* stream, unsigned* flags) {
  if (const int code = refuse_captured("cudaStreamGetFlags", stream); code != 0) return code;
  return ask("cudaStreamGetFlags", stream, flags, 0u, [](const Stream& one) { return one.flags; });
}

HEDDLE_CUDA_CALL int cudaStreamGetPriority(void* stream, int* priority) {
  return ask("cudaStreamGetPriority", stream, priority, 0, [](const Stream& one) { return one.priority; });
}

HEDDLE_CUDA_CALL int cudaStreamGetId(void* stream, unsigned long long* id) {
  if (const int code = refuse_captured("cudaStreamGetId", stream); code != 0) return code;
  const auto usual = static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(stream));
  return ask("cudaStreamGetId", stream, id, usual, [](const Stream& one) { return one.id; });
}

HEDDLE_CUDA_CALL int cudaStreamGetDevice(void* stream, int* device) {
  return ask("cudaStreamGetDevice", stream, device, 0, [](const Stream&) { return 0; });
}

HEDDLE_CUDA_CALL int cudaStreamWaitEvent(void* stream, void* event, unsigned flags) {
  return call("cudaStreamWaitEvent", [&](State& card) { return wait_event(card, stream, event, flags); });
}

HEDDLE_CUDA_CALL int cudaStreamSetAttribute(void* stream, int attribute, const void* value) {
  return call_on("cudaStreamSetAttribute", stream, [&](State&) {
    // Access policy, synchronisation policy, priority, and two about domains of memory.
    constexpr std::array kKnown = {1, 3, 8, 9, 10};
    const bool is_known = std::find(kKnown.begin(), kKnown.end(), attribute) != kKnown.end();
    return is_known && value != nullptr ? Error::kSuccess : Error::kInvalidValue;
  });
}

HEDDLE_CUDA_CALL int cudaStreamCopyAttributes(void* to, void* from) {
  return call("cudaStreamCopyAttributes", [&](State& card) {
    return card.streams.is_known(to) && card.streams.is_known(from) ? Error::kSuccess : Error::kInvalidHandle;
  });
}

// CUDA: of managed memory, all of an allocation; to all streams, the host or one stream.
HEDDLE_CUDA_CALL int cudaStreamAttachMemAsync(void* stream, void* begin, std::size_t bytes, unsigned flags) {
  return call_on("cudaStreamAttachMemAsync", stream, [&](State& card) {
    const Allocation* found = card.memory.find(begin);
    const bool is_managed = found != nullptr && found->kind == MemoryKind::kManaged && found->begin == begin;
    const bool has_flag = flags == 1 || flags == 2 || flags == 4;
    return is_managed && has_flag && (bytes == 0 || bytes == found->bytes) ? Error::kSuccess
                                                                           : Error::kInvalidValue;
  });
}

// Host functions run when the work before them is over, which it is, and without the lock: they may wait for a
// thread that calls the runtime.
HEDDLE_CUDA_CALL int cudaLaunchHostFunc(void* stream, void (*function)(void*), void* data) {
  bool is_captured = false;
  const int code = call_on("cudaLaunchHostFunc", stream, [&](State& card) {
    return add_host_work(card, stream, {function, data}, is_captured);
  });
  if (code == 0 && !is_captured) run_host_function([&] { function(data); });
  return code;
}

HEDDLE_CUDA_CALL int cudaStreamAddCallback(void* stream, void (*function)(void*, int, void*), void* data,
                                           unsigned flags) {
  const int code = call_on("cudaStreamAddCallback", stream, [&](State& card) {
    if (function == nullptr || flags != 0) return Error::kInvalidValue;
    return card.captures.admit_wait(stream);  // it cannot be captured
  });
  if (code == 0) run_host_function([&] { function(stream, 0, data); });
  return code;
}
