// SPDX-License-Identifier: Apache-2.0
#include <heddle/sim/timing.h>

namespace heddle::sim {

namespace {

// docs/results/sm90_costs.json, an H200 at 1.98 GHz; but five constants, marked with what the file gives for
// them, are of an earlier run that is not kept. docs/results/matmul_h200_predicted.md was made with them.
constexpr Timing kH200{
    .card = "H200",
    .is_measured = true,
    .clock_ghz = 1.98,
    .sms = 132,
    .launch_us = 0.55,
    .issue = 4,
    .shared_access = 18,  // a quarter of "stmatrix" by four warps
    .fence = 17,          // what "stmatrix, fence" takes more
    .copy_issue = 48,
    .passing_wait = 69,
    .wake = 90,           // half of a round trip less the arrival
    .wake_by_peer = 557,  // likewise; the file: 561
    .named_barrier = 40,
    .cluster_barrier = 438,  // the file: 444
    .l2_latency = 156,       // of 16 bytes, less what issue and wake take; the file: 173
    .memory_latency = 540,   // likewise; the file: 573
    .store_read = 1,
    .store_latency = 32,   // store_2k_done less store_2k_read
    .sm_bytes = 100,       // what 32 KB take more than 16 bytes, from L2; the file: 105
    .sm_store_bytes = 31,  // of "stmatrix, fence, store"
    .peer_bytes = 18.5,
    .l2_bytes = 6220,  // 132 CTAs, 12 parts
    .memory_bytes = 2386,
    .products = 4096,
    .operand_bytes = 128,
    .multiply_latency = 60,  // of one alone, less its cycles
};

// Unverified: no card confirmed any of it. Published are the clock, the SMs, the bandwidth of memory (8 TB/s) and
// the rate of the tensor cores, twice Hopper's; everything else is Hopper's.
constexpr Timing b200() {
  Timing timing = kH200;
  timing.card = "B200";
  timing.is_measured = false;
  timing.clock_ghz = 1.85;
  timing.sms = 148;
  timing.memory_bytes = 8000 / 1.85;
  timing.products = 8192;
  timing.tensor_memory = 30;
  return timing;
}
constexpr Timing kB200 = b200();

}  // namespace

const Timing& timing_of(Arch arch) { return arch == Arch::kSm90 ? kH200 : kB200; }

}  // namespace heddle::sim
