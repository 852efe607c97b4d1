// SPDX-License-Identifier: Apache-2.0
//
// What the units of a Hopper SM take, in cycles of its clock: tensor cores by shape and type, copies from L2 and
// from memory, barriers. The constants of the timing model come from it.
//
//   sm90_costs > sm90_costs.json
#include "sm90_costs.h"

#include <heddle/isa/tma.h>
#include <heddle/isa/wgmma.h>

#include <algorithm>

namespace heddle::costs {

namespace {

// K-major, 128-byte swizzle, groups of eight rows 1024 bytes apart.
__device__ std::uint64_t descriptor(const void* tile) {
  const auto address = static_cast<std::uint64_t>(__cvta_generic_to_shared(tile));
  return (address >> 4 & 0x3fff) | std::uint64_t{1} << 16 | std::uint64_t{64} << 32 | std::uint64_t{1} << 62;
}

// `groups` commits of `batch` wgmmas each, each awaited; by each warpgroup of the CTA.
template <std::uint32_t n, OperandType type, std::uint32_t batch>
__global__ void __launch_bounds__(256, 1) multiply(std::uint32_t groups, std::uint64_t* cycles, float* sink) {
  constexpr WgmmaShape shape{.n = n, .a = type, .b = type};
  Shared& shared = shared_memory();
  WgmmaAccumulators<shape> sums{};
  const std::uint64_t a = descriptor(shared.data + threadIdx.x / 128 * 8192);
  const std::uint64_t b = descriptor(shared.data + 32768);
  __syncthreads();
  const std::uint64_t begin = now();
  for (std::uint32_t g = 0; g < groups; ++g) {
    isa::wgmma_fence();
    for (std::uint32_t i = 0; i < batch; ++i)
      isa::wgmma_mma_async<shape>(sums, a + i % 4 * 2, b + i % 4 * 2, true);
    isa::wgmma_commit_group();
    isa::wgmma_wait_group<0>();
  }
  const std::uint64_t end = now();
  isa::wgmma_fence_operands(sums);
  if (threadIdx.x == 0) *cycles = end - begin;
  if (sums[0] == 12345.0f) *sink = 1;
}

// One copy at a time: from its issue to the wait that passes.
__global__ void copy_latency(const unsigned char* source, std::uint32_t bytes, std::uint64_t stride,
                             std::uint32_t copies, std::uint64_t* cycles) {
  Shared& shared = shared_memory();
  init_barriers(1);
  if (threadIdx.x != 0) return;
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < copies; ++i) {
    const std::uint64_t begin = now();
    isa::mbarrier_arrive_expect_tx(&shared.barriers[0], bytes);
    isa::cp_async_bulk_load(shared.data, source + i * stride, bytes, &shared.barriers[0]);
    while (!isa::mbarrier_try_wait_parity(&shared.barriers[0], i & 1)) {
    }
    sum += now() - begin;
  }
  *cycles = sum / copies;
}

// A ring of `stages` copies in flight in each CTA; there are `parts` of memory, CTA c reads from part c % parts,
// `laps` times.
__global__ void copy_rate(const unsigned char* source, std::uint32_t bytes, std::uint32_t stages,
                          std::uint64_t part, std::uint32_t parts, std::uint32_t laps, std::uint64_t* cycles) {
  Shared& shared = shared_memory();
  init_barriers(1);
  if (threadIdx.x != 0) return;
  const auto steps = static_cast<std::uint32_t>(part / bytes) * laps;
  const unsigned char* const first = source + blockIdx.x % parts * part;
  const unsigned char* from = first;
  std::uint32_t stage = 0;
  std::uint32_t parity = 1;  // of the phase before the one that the stage is in
  const std::uint64_t begin = now();
  for (std::uint32_t i = 0; i < steps + stages; ++i) {
    while (!isa::mbarrier_try_wait_parity(&shared.barriers[stage], parity)) {
    }
    if (i < steps) {
      isa::mbarrier_arrive_expect_tx(&shared.barriers[stage], bytes);
      isa::cp_async_bulk_load(shared.data + stage * bytes, from, bytes, &shared.barriers[stage]);
      from += bytes;
      if (from == first + part) from = first;
    }
    if (++stage == stages) {
      stage = 0;
      parity ^= 1;
    }
  }
  cycles[blockIdx.x] = now() - begin;
}

using Multiply = void (*)(std::uint32_t, std::uint64_t*, float*);

// Cycles for one wgmma where many follow one another, for one alone, and for two warpgroups together.
template <std::uint32_t n, OperandType type>
void print_wgmma(const Device& device, const char* name, bool is_last = false) {
  const auto cycles = [&](Multiply kernel, std::uint32_t threads, std::uint32_t groups) {
    for (int i = 0; i < 2; ++i) start(kernel, 1, threads, groups, device.cycles, device.sink);
    return static_cast<double>(device.get());
  };
  constexpr std::uint32_t kFew = 8;
  constexpr std::uint32_t kMany = 16;
  constexpr double kApart = 20 * (kMany - kFew);
  const Multiply few = multiply<n, type, kFew>;
  const Multiply many = multiply<n, type, kMany>;
  const double one = (cycles(many, 128, 20) - cycles(few, 128, 20)) / kApart;
  const double two = (cycles(many, 256, 20) - cycles(few, 256, 20)) / kApart;
  const double alone = cycles(multiply<n, type, 1>, 128, 64) / 64;
  std::printf(
      "    {\"type\": \"%s\", \"n\": %u, \"cycles\": %.2f, \"two_warpgroups\": %.2f, \"alone\": %.1f}%s\n", name,
      n, one, two, alone, is_last ? "" : ",");
}

int run() {
  const Device device;
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0));
  const auto sms = static_cast<std::uint32_t>(properties.multiProcessorCount);
  std::printf("{\n  \"gpu\": \"%s\",\n  \"wgmma\": [\n", properties.name);
  print_wgmma<8, OperandType::kBf16>(device, "bf16");
  print_wgmma<32, OperandType::kBf16>(device, "bf16");
  print_wgmma<64, OperandType::kBf16>(device, "bf16");
  print_wgmma<128, OperandType::kBf16>(device, "bf16");
  print_wgmma<192, OperandType::kBf16>(device, "bf16");
  print_wgmma<256, OperandType::kBf16>(device, "bf16");
  print_wgmma<128, OperandType::kE4m3>(device, "e4m3");
  print_wgmma<256, OperandType::kE4m3>(device, "e4m3", true);
  std::printf("  ],\n  \"copy_latency\": [\n");
  constexpr std::uint32_t kSizes[] = {16, 1024, 4096, 8192, 16384, 32768};
  for (const std::uint32_t bytes : kSizes) {
    // The second of two runs over the same 2 MB finds them in L2; 64 MB apart nothing does.
    for (int i = 0; i < 2; ++i) start(copy_latency, 1, 32, device.memory, bytes, 32768, 64, device.cycles);
    const auto l2 = device.get();
    start(copy_latency, 1, 32, device.memory, bytes, std::uint64_t{64} << 20, 120, device.cycles);
    std::printf("    {\"bytes\": %u, \"l2\": %llu, \"memory\": %llu}%s\n", bytes,
                static_cast<unsigned long long>(l2), static_cast<unsigned long long>(device.get()),
                bytes == 32768 ? "" : ",");
  }
  std::printf("  ],\n  \"copy_rate\": [\n");
  const auto rate = [&](const char* from, std::uint32_t ctas, std::uint32_t parts, std::uint32_t bytes,
                        std::uint64_t part, std::uint32_t laps, bool is_last = false) {
    const std::uint32_t stages = std::min<std::uint32_t>(64, kBuffers / bytes);
    if (laps > 1) start(copy_rate, ctas, 32, device.memory, bytes, stages, part, parts, 1, device.cycles);
    start(copy_rate, ctas, 32, device.memory, bytes, stages, part, parts, laps, device.cycles);
    std::uint64_t most = 0;
    for (std::uint32_t c = 0; c < ctas; ++c) most = std::max(most, device.get(c));
    std::printf(
        "    {\"from\": \"%s\", \"ctas\": %u, \"parts\": %u, \"bytes\": %u, \"bytes_per_cycle_of_a_cta\": %.2f, "
        "\"bytes_per_cycle\": %.1f}%s\n",
        from, ctas, parts, bytes, static_cast<double>(part) * laps / static_cast<double>(most),
        static_cast<double>(part) * laps * ctas / static_cast<double>(most), is_last ? "" : ",");
  };
  for (const std::uint32_t bytes : {2048u, 8192u, 16384u, 32768u}) {
    rate("l2", 1, 1, bytes, 1 << 20, 8);
    rate("l2", sms, sms, bytes, 1 << 17, 64);
    rate("l2", sms, 12, bytes, 1 << 20, 8);  // as tiles of a matmul share theirs
    rate("l2", sms, 4, bytes, 1 << 20, 8);
    rate("memory", 1, 1, bytes, 16 << 20, 1);
    rate("memory", sms, sms, bytes, 32 << 20, 1, bytes == 32768);
  }
  std::printf("  ],\n");
  print_multicast_costs(device, sms);
  print_sync_costs(device, sms);
  std::printf("}\n");
  return 0;
}

}  // namespace

}  // namespace heddle::costs

int main() { return heddle::costs::run(); }
