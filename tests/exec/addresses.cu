// SPDX-License-Identifier: Apache-2.0
//
// addresses [WHICH]: the card's addresses are its own. Without WHICH, what holds; with it, one mistake, and the
// code that the program sees of it.
#include "expect.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <functional>
#include <set>
#include <vector>

__device__ int variable = 5;

__global__ void store(int* to, int value) { *to = value; }

__global__ void add_one(int* to) { *to += 1; }

// How a child process that does `work` ends: its signal, or 0.
int signal_of(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

void host_follows_only_what_is_its_own() {
  int *device, *managed, *pinned;
  EXPECT_OK(cudaMalloc(&device, 4096));
  EXPECT_OK(cudaMallocManaged(&managed, 4096));
  EXPECT_OK(cudaMallocHost(&pinned, 4096));
  EXPECT(signal_of([&] { *static_cast<volatile int*>(device) = 1; }) == SIGSEGV);
  EXPECT(signal_of([&] { (void)*static_cast<volatile int*>(device); }) == SIGSEGV);
  EXPECT(signal_of([&] { *static_cast<volatile int*>(managed) = 1; }) == 0);
  EXPECT(signal_of([&] { *static_cast<volatile int*>(pinned) = 1; }) == 0);
  *managed = 3;
  *pinned = 4;
  add_one<<<1, 1>>>(managed);
  add_one<<<1, 1>>>(pinned);
  EXPECT_OK(cudaDeviceSynchronize());
  EXPECT(*managed == 4 && *pinned == 5);
  void* address = nullptr;
  EXPECT_OK(cudaGetSymbolAddress(&address, variable));
  EXPECT(signal_of([&] { *static_cast<volatile int*>(address) = 1; }) == SIGSEGV);
  EXPECT_OK(cudaFree(device));
  EXPECT_OK(cudaFree(managed));
  EXPECT_OK(cudaFreeHost(pinned));
}

void freed_addresses_stay_free() {
  std::set<void*> seen;
  for (int i = 0; i < 1000; ++i) {
    void* made = nullptr;
    EXPECT_OK(cudaMalloc(&made, 1000));
    EXPECT(seen.insert(made).second);
    EXPECT_OK(cudaFree(made));
    if (i == 500) EXPECT_CODE(cudaMemset(made, 0, 1), cudaErrorInvalidValue);
  }
  cudaGetLastError();
}

double microseconds_of_launch(int* data) {
  constexpr int kTimes = 300;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kTimes; ++i) add_one<<<1, 1>>>(data);
  EXPECT_OK(cudaDeviceSynchronize());
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() / kTimes;
}

void many_allocations_cost_no_more_than_one() {
  int* data;
  EXPECT_OK(cudaMalloc(&data, sizeof(int)));
  EXPECT_OK(cudaMemset(data, 0, sizeof(int)));
  const double alone = microseconds_of_launch(data);
  std::vector<int*> live(100'000);
  for (int*& one : live) EXPECT_OK(cudaMalloc(&one, 64));
  const double among_many = microseconds_of_launch(data);
  store<<<1, 1>>>(live[77'777], 42);
  int value = 0;
  EXPECT_OK(cudaMemcpy(&value, live[77'777], sizeof(value), cudaMemcpyDeviceToHost));
  EXPECT(value == 42);
  // What a launch costs must not grow with what is allocated; a factor of 20 is what the machine beside it may
  // do.
  EXPECT(among_many < 20 * alone);
  if (among_many >= 20 * alone)
    std::printf("a launch: %.0f us alone, %.0f us among 100,000\n", alone, among_many);
  for (int* one : live) EXPECT_OK(cudaFree(one));
  for (int i = 0; i < 100'000; ++i) {
    int* one;
    EXPECT_OK(cudaMalloc(&one, 64));
    EXPECT_OK(cudaFree(one));
  }
  std::vector<void*> pinned(40'000);
  for (void*& one : pinned) EXPECT_OK(cudaMallocHost(&one, 64));
  for (void* one : pinned) EXPECT_OK(cudaFreeHost(one));
  EXPECT_OK(cudaFree(data));
}

int mistake(const char* which) {
  const auto is = [&](const char* name) { return std::strcmp(which, name) == 0; };
  int *one, *other;
  EXPECT_OK(cudaMalloc(&one, 256));
  EXPECT_OK(cudaMalloc(&other, 256));
  if (is("after_free")) {
    EXPECT_OK(cudaFree(one));
    store<<<1, 1>>>(one + 4, 7);
  }
  if (is("beyond")) store<<<1, 1>>>(one + 64, 7);
  if (is("none")) store<<<1, 1>>>(one + 4, 7);
  std::printf("wait %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  return 7;
}

int main(int argc, char** argv) {
  if (argc > 1) return mistake(argv[1]);
  host_follows_only_what_is_its_own();
  freed_addresses_stay_free();
  many_allocations_cost_no_more_than_one();
  return result();
}
