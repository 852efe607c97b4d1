// SPDX-License-Identifier: Apache-2.0
//
// exec_load [LAUNCHES]: what calls of CUDA cost over a long life of a program, to be run with `heddle exec`. Each
// line has the processor time of a call in the first and in the last quarter of a run, and the memory of the
// process at both: what grows shows there. The time is that of the quickest of 64 batches, which other work on
// the machine does not disturb much. Ends with status 1 if a call fails, if memory grows where nothing is kept,
// or if calls become slower where there are enough of them to tell.
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <limits>
#include <thread>
#include <vector>

namespace {

std::atomic<int> failures = 0;

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  if (failures++ == 0) std::printf("failed: %s\n", cudaGetErrorName(error));
}

__global__ void add_one(int* to) { *to += 1; }

double resident_megabytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  long pages = 0;
  long resident = 0;
  if (file == nullptr || std::fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
  if (file != nullptr) std::fclose(file);
  return static_cast<double>(resident) * 4096 / 1e6;
}

enum class Keeps { kNothing, kSomething };

// Of all threads.
double processor_micros() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

constexpr long kBatches = 64;       // in a quarter
constexpr long kTellingCalls = 50;  // in a batch
constexpr double kSlower = 2;

// What is remembered of the last calls has its size after `warm` of them, which are not measured.
void measure(const char* what, long warm, long count, const std::function<void(long)>& call,
             Keeps keeps = Keeps::kNothing) {
  for (long i = 0; i < warm; ++i) call(i);
  double micros[4] = {};
  double megabytes[4] = {};
  long next = 0;
  for (int quarter = 0; quarter < 4; ++quarter) {
    micros[quarter] = std::numeric_limits<double>::max();
    for (long batch = 0; batch < kBatches; ++batch) {
      const long first = next;
      const long end = count * (quarter * kBatches + batch + 1) / (4 * kBatches);
      const double begin = processor_micros();
      for (; next < end; ++next) call(warm + next);
      const double took = processor_micros() - begin;
      if (next != first) micros[quarter] = std::min(micros[quarter], took / static_cast<double>(next - first));
    }
    megabytes[quarter] = resident_megabytes();
  }
  std::printf("%-44s %9ld times, %8.2f us and %6.0f MB, at the end %8.2f us and %6.0f MB\n", what, count,
              micros[0], megabytes[0], micros[3], megabytes[3]);
  std::fflush(stdout);
  if (count >= 4 * kBatches * kTellingCalls && micros[3] > kSlower * micros[0]) {
    std::printf("failed: calls become slower\n");
    ++failures;
  }
  if (keeps == Keeps::kSomething || megabytes[3] <= 1.05 * megabytes[0] + 4) return;
  std::printf("failed: memory grows\n");
  ++failures;
}

// 64 threads that do the same.
void in_threads(const std::function<void()>& body) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 64; ++t) threads.emplace_back(body);
  for (std::thread& one : threads) one.join();
}

}  // namespace

int main(int argc, char** argv) {
  const long launches = argc > 1 ? std::atol(argv[1]) : 20'000;
  int* data;
  check(cudaMalloc(&data, sizeof(int)));
  check(cudaMemset(data, 0, sizeof(int)));
  // Of those that were freed the last 65,536 have names in reports.
  measure("allocate and free", 70'000, 1'000'000, [](long) {
    void* made;
    check(cudaMalloc(&made, 256));
    check(cudaFree(made));
  });
  measure("launch", 0, launches, [&](long) {
    add_one<<<1, 1>>>(data);
    check(cudaGetLastError());
  });
  std::vector<void*> live(100'000);
  measure(
      "allocate and keep", 0, static_cast<long>(live.size()),
      [&](long i) { check(cudaMalloc(&live[static_cast<std::size_t>(i)], 256)); }, Keeps::kSomething);
  measure("launch among 100,000 allocations", 0, launches, [&](long) {
    add_one<<<1, 1>>>(data);
    check(cudaGetLastError());
  });
  for (void* one : live) check(cudaFree(one));
  std::vector<cudaStream_t> streams(10'000);
  std::vector<cudaEvent_t> events(10'000);
  measure(
      "create a stream and an event, and record", 0, static_cast<long>(streams.size()),
      [&](long i) {
        const auto at = static_cast<std::size_t>(i);
        check(cudaStreamCreateWithFlags(&streams[at], cudaStreamNonBlocking));
        check(cudaEventCreate(&events[at]));
        check(cudaEventRecord(events[at], streams[at]));
      },
      Keeps::kSomething);
  // Each waits for the one before, so that there is an order of all; each has been used twice before it is
  // measured.
  measure("launch among 10,000 streams, with events", std::min(20'000l, launches), launches, [&](long i) {
    const auto at = static_cast<std::size_t>(i) % streams.size();
    const std::size_t before = (at + streams.size() - 1) % streams.size();
    check(cudaStreamWaitEvent(streams[at], events[before]));
    add_one<<<1, 1, 0, streams[at]>>>(data);
    check(cudaGetLastError());
    check(cudaEventRecord(events[at], streams[at]));
  });
  for (const cudaStream_t one : streams) check(cudaStreamDestroy(one));
  for (const cudaEvent_t one : events) check(cudaEventDestroy(one));
  measure("64 threads that allocate, copy and free", 1, 16, [](long) {
    in_threads([] {
      for (int i = 0; i < 100; ++i) {
        int value = i;
        void* made;
        check(cudaMalloc(&made, sizeof(value)));
        check(cudaMemcpy(made, &value, sizeof(value), cudaMemcpyHostToDevice));
        check(cudaFree(made));
      }
    });
  });
  measure("64 threads that launch, each in its stream", 1, 16, [&](long) {
    in_threads([&] {
      int* own;
      int value = 0;
      cudaStream_t stream;
      check(cudaMalloc(&own, sizeof(int)));
      check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      check(cudaMemsetAsync(own, 0, sizeof(int), stream));
      const long share = launches / 16 / 64;
      for (long i = 0; i < share; ++i) add_one<<<1, 1, 0, stream>>>(own);
      check(cudaMemcpyAsync(&value, own, sizeof(int), cudaMemcpyDeviceToHost, stream));
      check(cudaStreamSynchronize(stream));
      if (value != share) ++failures;
      check(cudaStreamDestroy(stream));
      check(cudaFree(own));
    });
  });
  check(cudaDeviceSynchronize());
  return failures == 0 ? 0 : 1;
}
