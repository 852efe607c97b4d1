// SPDX-License-Identifier: Apache-2.0
//
// About how long what a kernel does takes on a card, in cycles of an SM's clock. Beside the machine, which knows
// what happens and in which order, but no time: a trace (heddle/sim/trace.h) gives every thread a clock and moves
// it by these numbers. Those of Hopper are measured by bench/sm90_costs.cu on an H200; docs/timing.md says how
// they were made into these, what is left out, and how far predictions are off.
//
//   sim::Timing timing = sim::timing_of(Arch::kSm90);
//   timing.memory_share = 0.25;                       // a quarter of what loads bring is not in L2
//   sim::Trace trace(500'000, timing);
#pragma once

#include <heddle/isa/arch.h>

#include <cstdint>

namespace heddle::sim {

struct Timing {
  const char* card = "";
  bool is_measured = false;  // on that card; otherwise published figures, and guesses from the other one
  double clock_ghz = 0;
  std::uint32_t sms = 0;
  double launch_us = 0;  // from the end of one launch to the next one's first instruction

  // What a thread takes to issue something, before it goes on. Arithmetic takes nothing.
  std::uint32_t issue = 0;          // commits, arrivals, meetings of a warp, accesses of global memory
  std::uint32_t shared_access = 0;  // of shared memory
  std::uint32_t fence = 0;
  std::uint32_t copy_issue = 0;
  std::uint32_t passing_wait = 0;  // for a barrier whose phase is over

  // From what ends a wait to the instruction after it.
  std::uint32_t wake = 0;
  std::uint32_t wake_by_peer = 0;  // by an arrival of another CTA
  std::uint32_t named_barrier = 0;
  std::uint32_t cluster_barrier = 0;

  // Copies. An SM takes them in one after another; what it may have of L2 and of memory is its share of the card.
  std::uint32_t l2_latency = 0;
  std::uint32_t memory_latency = 0;
  std::uint32_t store_read = 0;  // from a store to its source being free, and to its end
  std::uint32_t store_latency = 0;
  double sm_bytes = 0;        // per cycle, into one SM
  double sm_store_bytes = 0;  // out of it
  double peer_bytes = 0;      // out of it, by threads that write to shared memory of a peer
  double l2_bytes = 0;        // of the card, where about a dozen CTAs load the same
  double memory_bytes = 0;    // of the card
  double memory_share = -1;   // of what is loaded; below 0: bytes that the launch has not loaded before

  // Tensor cores, one multiplication after another: the longer of multiplying and of reading shared memory.
  double products = 0;  // rows x columns x bytes of K, per cycle
  double operand_bytes = 0;
  std::uint32_t multiply_latency = 0;
  std::uint32_t tensor_memory = 0;  // tcgen05.ld and tcgen05.st

  double us(double cycles) const { return cycles / clock_ghz / 1e3; }
};

// Of an H200 for sm_90, of a B200 for sm_100.
const Timing& timing_of(Arch arch);

}  // namespace heddle::sim
