// SPDX-License-Identifier: Apache-2.0
#include <heddle/sim/timing.h>

namespace heddle::sim {

namespace {

// docs/results/sm90_costs.json, one run on an H200 at 1.98 GHz; bench/timing_constants.py has the rules.
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
    .wake_by_peer = 561,  // likewise
    .named_barrier = 40,
    .cluster_barrier = 443,
    .l2_latency = 170,      // of 16 bytes, less what issue and wake take
    .memory_latency = 572,  // likewise
    .store_read = 1,
    .store_latency = 32,   // store_2k_done less store_2k_read
    .sm_bytes = 106,       // what 32 KB take more than 16 bytes, from L2
    .sm_store_bytes = 30,  // of "stmatrix, fence, store" by four warps
    .peer_bytes = 18.8,
    .l2_bytes = 5367,  // 132 CTAs, 12 parts
    .memory_bytes = 2390,
    .products = 4096,
    .operand_bytes = 128,
    .multiply_latency = 62,  // of one alone, less its cycles
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
