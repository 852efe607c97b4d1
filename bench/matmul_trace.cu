// SPDX-License-Identifier: Apache-2.0
//
// The Hopper matmul, built with and without HEDDLE_TRACE: how long it takes, and with it what its warps did.
//
//   matmul_trace M N K INSTANCE [FILE.trace]
//
// Prints the median of launches that follow one another, each with operands that are not in L2, and the SM's
// clock.
#include "matmul/device/matmul_sm90_launch.h"

#include <heddle/host/device.h>
#include <heddle/host/traced_launch.h>

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

namespace heddle {

namespace {

__global__ void fill(__nv_bfloat16* data, std::size_t count, std::uint32_t seed) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * blockDim.x) {
    std::uint64_t bits = (i + 1) * 0x9e3779b97f4a7c15ull + seed;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ull;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebull;
    data[i] = __float2bfloat16(static_cast<float>(static_cast<std::int64_t>(bits >> 44)) * 0x1p-19f - 1.0f);
  }
}

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "matmul_trace: %s\n", cudaGetErrorString(error));
  std::exit(1);
}

template <std::uint32_t... instance>
constexpr MatmulLaunch find(std::uint32_t wanted) {
  MatmulLaunch found = nullptr;
  ((wanted == instance ? (void)(found = detail::launch_instance<instance, bf16>) : (void)0), ...);
  return found;
}

int run(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr,
                 "matmul_trace M N K INSTANCE [FILE.trace]; instances: 0 128x256 coop, 6 128x128 pingpong\n");
    return 2;
  }
  const MatmulProblem problem{
      .m = std::atoll(argv[1]), .n = std::atoll(argv[2]), .k = std::atoll(argv[3]), .is_dependent = false};
  const auto instance = static_cast<std::uint32_t>(std::atoi(argv[4]));
  const MatmulLaunch launch = find<0, 6>(instance);
  if (launch == nullptr) {
    std::fprintf(stderr, "matmul_trace: instance %u is not built here; 0 and 6 are\n", instance);
    return 2;
  }
  const auto m = static_cast<std::size_t>(problem.m);
  const auto n = static_cast<std::size_t>(problem.n);
  const auto k = static_cast<std::size_t>(problem.k);
  const std::size_t set = m * k + n * k + m * n;
  const std::size_t sets = std::max<std::size_t>(1, (std::size_t{1} << 28) / set);
  __nv_bfloat16* data = nullptr;
  check(cudaMalloc(&data, sets * set * 2));
  fill<<<1024, 256>>>(data, sets * set, 7);
  check(cudaDeviceSynchronize());
  Device device({.kernel = "matmul"});
  MatmulPlan plan;
  plan.choice.instance = instance;
  plan.has_order = true;
  plan.a_pitch = plan.b_pitch = k;
  plan.out_pitch = n;
  const auto once = [&](std::size_t i) {
    __nv_bfloat16* at = data + i % sets * set;
    const MatmulTensors tensors{.a = at, .b = at + m * k, .out = at + m * k + n * k};
    const RunOutcome outcome = launch(device, {.problem = problem, .tensors = tensors, .plan = plan});
    if (!outcome.ok()) {
      std::fprintf(stderr, "%s", outcome.report.c_str());
      std::exit(1);
    }
  };
  const auto timed = [&](bool is_traced) {
    std::vector<float> times;
    cudaEvent_t begin, end;
    check(cudaEventCreate(&begin));
    check(cudaEventCreate(&end));
#if HEDDLE_TRACE
    std::optional<DeviceTrace> trace;
    if (is_traced) trace.emplace("matmul");
#else
    (void)is_traced;
#endif
    for (std::size_t i = 0; i < 22; ++i) {
      check(cudaDeviceSynchronize());
      once(i);  // fills the queue, so that the timed one does not wait for the host
      check(cudaEventRecord(begin));
      once(i + 1);
      check(cudaEventRecord(end));
      check(cudaDeviceSynchronize());
      float ms = 0;
      check(cudaEventElapsedTime(&ms, begin, end));
      if (i != 0) times.push_back(1000 * ms);  // the first one asks for memory
#if HEDDLE_TRACE
      if (!is_traced) continue;
      std::vector<TracedLaunch> launches = trace->take();
      launches.erase(launches.begin());
      if (i == 21 && argc > 5) write_traced_launches(argv[5], launches);
#endif
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  };
  std::printf("%lld,%lld,%lld instance %u, HEDDLE_TRACE %d: %.2f us", static_cast<long long>(problem.m),
              static_cast<long long>(problem.n), static_cast<long long>(problem.k), instance, HEDDLE_TRACE,
              timed(false));
  if (HEDDLE_TRACE != 0) std::printf(", recording %.2f us", timed(true));
  std::printf("\n");
  return 0;
}

}  // namespace

}  // namespace heddle

int main(int argc, char** argv) { return heddle::run(argc, argv); }
