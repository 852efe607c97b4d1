// SPDX-License-Identifier: Apache-2.0
//
// What may not be done with a stream that captures, and the codes that say so. The same program runs on a card,
// where the codes are from.
#include "expect.h"

#include <thread>

namespace {

__global__ void set(int* data) { *data = 1; }

struct Fixture {
  int* data = nullptr;
  cudaStream_t stream = nullptr, other = nullptr, blocking = nullptr;
  cudaEvent_t event = nullptr, before = nullptr;

  Fixture() {
    EXPECT_OK(cudaMalloc(&data, 1024));
    EXPECT_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    EXPECT_OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    EXPECT_OK(cudaStreamCreate(&blocking));
    EXPECT_OK(cudaEventCreate(&event));
    EXPECT_OK(cudaEventCreate(&before));
    EXPECT_OK(cudaEventRecord(before, other));
    EXPECT_OK(cudaDeviceSynchronize());
  }

  void begin(cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal) {
    EXPECT_OK(cudaStreamBeginCapture(stream, mode));
    set<<<1, 1, 0, stream>>>(data);
  }

  cudaError_t end(cudaStream_t which) {
    cudaGraph_t graph = nullptr;
    const cudaError_t code = cudaStreamEndCapture(which, &graph);
    EXPECT((graph != nullptr) == (code == cudaSuccess));
    if (graph != nullptr) EXPECT_OK(cudaGraphDestroy(graph));
    cudaGetLastError();
    return code;
  }
  cudaError_t end() { return end(stream); }
};

}  // namespace

int main() {
  Fixture f;
  const cudaError_t invalid = cudaErrorStreamCaptureInvalidated;

  // Nothing wrong.
  f.begin();
  EXPECT_OK(f.end());

  EXPECT_CODE(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);
  EXPECT_CODE(f.end(), cudaErrorIllegalState);

  // The host cannot wait for what does not run.
  f.begin();
  EXPECT_CODE(cudaStreamBeginCapture(f.stream, cudaStreamCaptureModeGlobal), cudaErrorIllegalState);
  EXPECT_OK(f.end());
  f.begin();
  EXPECT_CODE(cudaStreamSynchronize(f.stream), cudaErrorStreamCaptureUnsupported);
  set<<<1, 1, 0, f.stream>>>(f.data);
  EXPECT_CODE(cudaGetLastError(), cudaErrorStreamCaptureInvalidated);
  EXPECT_CODE(f.end(), invalid);
  f.begin();
  EXPECT_CODE(cudaStreamQuery(f.stream), cudaErrorStreamCaptureUnsupported);
  EXPECT_CODE(f.end(), invalid);
  f.begin();
  EXPECT_CODE(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
  EXPECT_CODE(f.end(), invalid);
  f.begin();
  EXPECT_OK(cudaEventRecord(f.event, f.stream));
  EXPECT_CODE(cudaEventSynchronize(f.event), cudaErrorCapturedEvent);
  EXPECT_CODE(f.end(), invalid);
  f.begin();
  EXPECT_OK(cudaEventRecord(f.event, f.stream));
  EXPECT_CODE(cudaEventQuery(f.event), cudaErrorCapturedEvent);
  EXPECT_CODE(f.end(), invalid);

  // Calls that may wait for the card.
  int* memory = nullptr;
  f.begin();
  EXPECT_CODE(cudaMalloc(&memory, 1024), cudaErrorStreamCaptureUnsupported);
  EXPECT_CODE(f.end(), invalid);
  f.begin(cudaStreamCaptureModeThreadLocal);
  EXPECT_CODE(cudaMalloc(&memory, 1024), cudaErrorStreamCaptureUnsupported);
  EXPECT_CODE(f.end(), invalid);
  f.begin(cudaStreamCaptureModeRelaxed);
  EXPECT_OK(cudaMalloc(&memory, 1024));
  EXPECT_OK(f.end());
  f.begin();
  std::thread([&] { EXPECT_CODE(cudaMalloc(&memory, 1024), cudaErrorStreamCaptureUnsupported); }).join();
  EXPECT_CODE(f.end(), invalid);
  f.begin(cudaStreamCaptureModeThreadLocal);
  std::thread([&] { EXPECT_OK(cudaMalloc(&memory, 1024)); }).join();
  EXPECT_OK(f.end());
  f.begin();
  EXPECT_CODE(cudaFree(memory), cudaErrorStreamCaptureUnsupported);
  EXPECT_CODE(f.end(), invalid);

  // The default stream waits for blocking ones.
  EXPECT_OK(cudaStreamBeginCapture(f.blocking, cudaStreamCaptureModeGlobal));
  set<<<1, 1>>>(f.data);
  EXPECT_CODE(cudaGetLastError(), cudaErrorStreamCaptureImplicit);
  EXPECT_CODE(f.end(f.blocking), invalid);
  EXPECT_OK(cudaStreamBeginCapture(f.blocking, cudaStreamCaptureModeRelaxed));
  EXPECT_CODE(cudaMemset(f.data, 0, 4), cudaErrorStreamCaptureImplicit);
  EXPECT_CODE(f.end(f.blocking), invalid);
  f.begin(cudaStreamCaptureModeRelaxed);
  set<<<1, 1>>>(f.data);
  EXPECT_OK(cudaGetLastError());
  EXPECT_OK(f.end());
  EXPECT_OK(cudaDeviceSynchronize());

  // Events between what is captured and what is not.
  f.begin();
  EXPECT_CODE(cudaStreamWaitEvent(f.stream, f.before, 0), cudaErrorStreamCaptureIsolation);
  EXPECT_CODE(f.end(), invalid);
  f.begin();
  EXPECT_OK(cudaStreamBeginCapture(f.other, cudaStreamCaptureModeGlobal));
  EXPECT_OK(cudaEventRecord(f.event, f.other));
  EXPECT_CODE(cudaStreamWaitEvent(f.stream, f.event, 0), cudaErrorStreamCaptureMerge);
  EXPECT_CODE(f.end(), invalid);
  EXPECT_CODE(f.end(f.other), invalid);

  // Streams that were forked from the first one are joined to it, and end with it.
  f.begin();
  EXPECT_OK(cudaEventRecord(f.event, f.stream));
  EXPECT_OK(cudaStreamWaitEvent(f.other, f.event, 0));
  set<<<1, 1, 0, f.other>>>(f.data);
  EXPECT_CODE(f.end(f.other), cudaErrorStreamCaptureUnmatched);
  EXPECT_CODE(f.end(), invalid);
  f.begin();
  EXPECT_OK(cudaEventRecord(f.event, f.stream));
  EXPECT_OK(cudaStreamWaitEvent(f.other, f.event, 0));
  set<<<1, 1, 0, f.other>>>(f.data);
  EXPECT_CODE(f.end(), cudaErrorStreamCaptureUnjoined);
  set<<<1, 1, 0, f.other>>>(f.data);
  EXPECT_OK(cudaStreamSynchronize(f.other));

  // Another thread.
  f.begin();
  std::thread([&] { EXPECT_CODE(f.end(), cudaErrorStreamCaptureWrongThread); }).join();
  EXPECT_CODE(f.end(), cudaErrorIllegalState);

  // Nothing of it stays.
  EXPECT_OK(cudaDeviceSynchronize());
  EXPECT_OK(cudaGetLastError());
  EXPECT_OK(cudaMalloc(&memory, 1024));
  return result();
}
