// SPDX-License-Identifier: Apache-2.0
//
// One card, many host threads: calls, launches, graphs and modules at the same time, each with its own results.
#include "sim/frontend/sanitizer.h"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

// As CUDA's headers declare them.
extern "C" {
int cudaMalloc(void**, std::size_t);
int cudaFree(void*);
int cudaMemcpyAsync(void*, const void*, std::size_t, int, void*);
int cudaMemsetAsync(void*, int, std::size_t, void*);
int cudaStreamCreateWithFlags(void**, unsigned);
int cudaStreamDestroy(void*);
int cudaStreamSynchronize(void*);
int cudaEventCreate(void**);
int cudaEventDestroy(void*);
int cudaEventRecord(void*, void*);
int cudaStreamWaitEvent(void*, void*, unsigned);
int cudaGetLastError();
int cudaDeviceSynchronize();
int cudaLaunchHostFunc(void*, void (*)(void*), void*);
int cudaStreamBeginCapture(void*, int);
int cudaStreamEndCapture(void*, void**);
int cudaGraphInstantiate(void**, void*, unsigned long long);
int cudaGraphLaunch(void*, void*);
int cudaGraphDestroy(void*);
int cudaGraphExecDestroy(void*);
int cuModuleLoadData(void**, const void*);
int cuModuleUnload(void*);
int cuModuleGetFunction(void**, void*, const char*);
int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                   void**);
}

namespace {

constexpr int kToHost = 2;
constexpr unsigned kNonBlocking = 1;
constexpr int kRelaxed = 2;

// data[thread] += value, by way of shared memory and a barrier.
constexpr char kModule[] = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry add(.param .u64 data, .param .u32 value)
{
  .reg .b32 %r<8>;
  .reg .b64 %rd<4>;
  .shared .align 4 .b8 kept[256];
  ld.param.u64 %rd1, [data];
  ld.param.u32 %r1, [value];
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd2, %r2, 4;
  add.s64 %rd3, %rd1, %rd2;
  mov.u32 %r5, kept;
  shl.b32 %r6, %r2, 2;
  add.u32 %r5, %r5, %r6;
  st.shared.u32 [%r5], %r1;
  bar.sync 0;
  ld.shared.u32 %r1, [%r5];
  ld.global.u32 %r3, [%rd3];
  add.s32 %r4, %r3, %r1;
  st.global.u32 [%rd3], %r4;
  ret;
}
)";
constexpr unsigned kThreads = 64;

void in_threads(int count, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t) threads.emplace_back(body, t);
  for (std::thread& one : threads) one.join();
}

struct Adder {
  Adder() {
    EXPECT_EQ(cudaFree(nullptr), 0);  // gives the thread the card's context
    EXPECT_EQ(cuModuleLoadData(&module, kModule), 0);
    EXPECT_EQ(cuModuleGetFunction(&kernel, module, "add"), 0);
  }
  ~Adder() { EXPECT_EQ(cuModuleUnload(module), 0); }

  int launch(void* data, unsigned value, void* stream) const {
    void* arguments[] = {&data, &value};
    return cuLaunchKernel(kernel, 1, 1, 1, kThreads, 1, 1, 0, stream, arguments, nullptr);
  }

  void* module = nullptr;
  void* kernel = nullptr;
};

// The life of a thread of a server: memory, a stream and an event of its own, a module now and then.
void work(int thread, int turns) {
  void* stream = nullptr;
  void* event = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, kNonBlocking), 0);
  ASSERT_EQ(cudaEventCreate(&event), 0);
  const Adder adder;
  for (int turn = 0; turn < turns; ++turn) {
    void* data = nullptr;
    ASSERT_EQ(cudaMalloc(&data, 4 * kThreads), 0);
    ASSERT_EQ(cudaMemsetAsync(data, 0, 4 * kThreads, stream), 0);
    ASSERT_EQ(adder.launch(data, static_cast<unsigned>(thread), stream), 0);
    ASSERT_EQ(adder.launch(data, 1000, stream), 0);
    ASSERT_EQ(cudaEventRecord(event, stream), 0);
    ASSERT_EQ(cudaStreamWaitEvent(stream, event, 0), 0);
    std::vector<int> values(kThreads);
    ASSERT_EQ(cudaMemcpyAsync(values.data(), data, 4 * kThreads, kToHost, stream), 0);
    ASSERT_EQ(cudaStreamSynchronize(stream), 0);
    EXPECT_EQ(values, std::vector<int>(kThreads, 1000 + thread));
    ASSERT_EQ(cudaFree(data), 0);
    // A mistake of this thread is seen by no other.
    EXPECT_NE(cudaFree(reinterpret_cast<void*>(0x10)), 0);
    EXPECT_NE(cudaGetLastError(), 0);
    EXPECT_EQ(cudaGetLastError(), 0);
  }
  ASSERT_EQ(cudaEventDestroy(event), 0);
  ASSERT_EQ(cudaStreamDestroy(stream), 0);
}

TEST(RuntimeThreads, SixtyFourThreadsHaveTheirOwnResults) {
  in_threads(64, [](int t) { work(t, 5); });
}

// In a process of its own: options are read once.
TEST(RuntimeThreads, EveryLaunchRunsUnderAllSchedules) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        setenv("HEDDLE_EXEC_SCHEDULES", "6", 1);
        in_threads(4, [](int t) { work(t, 2); });
        std::exit(HasFailure() ? 1 : 0);
      },
      testing::ExitedWithCode(0), "16 launches, each under 7 schedules, with the same bytes written");
}

TEST(RuntimeThreads, GraphsAreCapturedAndLaunchedSideBySide) {
  in_threads(8, [](int t) {
    const Adder adder;
    void* stream = nullptr;
    void* data = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, kNonBlocking), 0);
    ASSERT_EQ(cudaMalloc(&data, 4 * kThreads), 0);
    ASSERT_EQ(cudaMemsetAsync(data, 0, 4 * kThreads, stream), 0);
    void* graph = nullptr;
    void* exec = nullptr;
    ASSERT_EQ(cudaStreamBeginCapture(stream, kRelaxed), 0);
    ASSERT_EQ(adder.launch(data, static_cast<unsigned>(t), stream), 0);
    ASSERT_EQ(adder.launch(data, 1, stream), 0);
    ASSERT_EQ(cudaStreamEndCapture(stream, &graph), 0);
    ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), 0);
    for (int i = 0; i < 5; ++i) ASSERT_EQ(cudaGraphLaunch(exec, stream), 0);
    std::vector<int> values(kThreads);
    ASSERT_EQ(cudaMemcpyAsync(values.data(), data, 4 * kThreads, kToHost, stream), 0);
    ASSERT_EQ(cudaStreamSynchronize(stream), 0);
    EXPECT_EQ(values, std::vector<int>(kThreads, 5 * (t + 1)));
    EXPECT_EQ(cudaGraphExecDestroy(exec), 0);
    EXPECT_EQ(cudaGraphDestroy(graph), 0);
    EXPECT_EQ(cudaFree(data), 0);
    EXPECT_EQ(cudaStreamDestroy(stream), 0);
  });
}

// What another thread has begun is never over in a child: its calls say so, and never wait.
TEST(RuntimeThreads, ChildrenOfABusyProgramGetACode) {
#ifdef HEDDLE_TSAN
  GTEST_SKIP() << "skipped: the thread sanitizer does not follow forks of programs with threads";
#endif
  std::atomic<bool> is_over = false;
  std::thread busy([&] {
    while (!is_over) work(1, 1);
  });
  int refused = 0;
  for (int i = 0; i < 40; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      void* data = nullptr;
      const int code = cudaMalloc(&data, 64);
      _exit(code == 0 ? cudaFree(data) : code);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
    constexpr int kNotInitialised = 3;
    if (WEXITSTATUS(status) != 0) {
      EXPECT_EQ(WEXITSTATUS(status), kNotInitialised);
      ++refused;
    }
  }
  is_over = true;
  busy.join();
  EXPECT_GT(refused, 0);
}

// The first call of all makes the card. Each turn is a program of its own, which forks a little later in that
// call.
TEST(RuntimeThreads, ChildrenMayBeForkedWhileTheCardIsMade) {
#ifdef HEDDLE_TSAN
  GTEST_SKIP() << "skipped: the thread sanitizer does not follow forks of programs with threads";
#endif
  const auto call = [] {
    void* data = nullptr;
    return cudaMalloc(&data, 64);
  };
  for (int turn = 0; turn < 60; ++turn) {
    const pid_t program = fork();
    if (program == 0) {
      std::atomic<bool> has_begun = false;
      std::thread first([&] {
        has_begun = true;
        call();
      });
      while (!has_begun) std::this_thread::yield();
      const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(5 * turn);
      while (std::chrono::steady_clock::now() < until) continue;
      const pid_t child = fork();
      if (child == 0) {
        alarm(10);
        call();
        _exit(0);
      }
      int status = 0;
      waitpid(child, &status, 0);
      first.join();
      _exit(WIFEXITED(status) ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(program, &status, 0), program);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "in turn " << turn;
  }
}

// A callback may wait for another thread that calls CUDA: no lock is held meanwhile.
TEST(RuntimeThreads, CallbacksMayWaitForCallsOfOthers) {
  struct Both {
    std::atomic<bool> has_begun = false;
    std::atomic<bool> may_end = false;
  } both;
  std::thread other([&] {
    while (!both.has_begun) std::this_thread::yield();
    void* data = nullptr;
    EXPECT_EQ(cudaMalloc(&data, 64), 0);
    EXPECT_EQ(cudaFree(data), 0);
    both.may_end = true;
  });
  EXPECT_EQ(cudaLaunchHostFunc(
                nullptr,
                [](void* of) {
                  auto& two = *static_cast<Both*>(of);
                  two.has_begun = true;
                  while (!two.may_end) std::this_thread::yield();
                },
                &both),
            0);
  EXPECT_EQ(cudaDeviceSynchronize(), 0);
  other.join();
  EXPECT_TRUE(both.may_end);
}

}  // namespace
