// SPDX-License-Identifier: Apache-2.0
//
// About how long a Hopper matmul takes, in microseconds, where launches overlap, and where they do not. A
// formula:
//
//   overlapped = norm(fixed + run, launch + set-up, (fixed + set-up + run) / launches in flight) + adding up
//   alone = fixed + set-up + run + waiting for the kernel ahead + adding up parts of K
//   run = norm(tiles of an SM, memory, L2, power)
//
// where a norm lies a little over the largest of its terms. An SM works through its rounds of tiles, each block
// along K at the pace of the tensor cores, of what goes into the SM, or of a ring of stages that waits for its
// data; and stores, which the pingpong form does while it multiplies. Memory delivers every operand once, which
// decides where rows are few. L2 delivers what tiles share, less what clusters multicast. Few CTAs leave SMs to
// the launches that follow. CTAs of overlapping launches lie scattered over the SMs: neighbours then load less of
// what the other loads too, unless a cluster multicasts it.
//
// What the formula missed is known for the shapes that were timed; it is corrected by what it missed nearby: each
// time has a weight, and the sum of all weights times their nearness is the logarithm of the correction. A way of
// which little nearby was timed counts as slower, by up to a fifth: the best of many guesses is mostly a wrong
// one. All constants are made by generated/fit_matmul_sm90.py, which has the same arithmetic, from times of an
// H200.
#pragma once

#include "matmul/api/matmul_problem.h"
#include "matmul/device/matmul_sm90.h"

namespace heddle {

struct MatmulSm90Costs {
  double memory_bytes_per_us;
  double l2_bytes_per_us;
  double memory_latency_us;  // from a load to its data, more than for what is in L2
  double launch_us;
  double sm_bytes_per_us;    // into one SM
  double latency_us;         // from a load to its data in L2, under load
  double rows_off_128;       // times as much is moved, where rows of K begin inside 128 bytes
  double rows_off_32;        // and inside 32
  double flops_per_us;       // at the power limit
  double l2_bytes_of_power;  // share of L2's time
  double sharpness;          // of the norm
  double add_us;             // to add up parts of K, by another kernel
  double added_bytes_per_us;
  double join_us;              // and by the clusters themselves
  double joined_bytes_per_us;  // into one SM
  double idle_cluster;         // share lost where CTAs of a cluster have nothing to do
  double scattered;            // times as long for loads, where launches overlap and no cluster shares them
  double alone_us;             // for the kernel ahead to end
};

// Of one instance.
struct MatmulSm90InstanceCosts {
  MatmulSm90Config config;
  double efficiency;  // of the tensor cores
  double store_us;
  double fixed_us;
  double setup_us;
  double least_correction;  // of the formula, at any place that was timed
};

struct MatmulSm90TimedShape {
  std::int32_t m;
  std::int32_t n;
  std::int32_t k;
};

// The instance and the shape are indices of the tables.
struct MatmulSm90Time {
  std::uint8_t instance;
  std::uint16_t shape;
  std::uint8_t splits;
  bool is_alone;
  std::int16_t weight_4096;  // in 4096ths
};

struct MatmulSm90Sample {
  std::uint8_t instance;
  std::uint16_t shape;
  std::uint8_t splits;
  bool is_alone;
  double us;
};

// How a problem is run, without the order of tiles: an index in kMatmulSm90Instances, parts of K, and whether the
// launch waits for the kernel ahead.
struct MatmulSm90Way {
  std::uint32_t instance = 0;
  std::uint32_t splits = 1;
  bool is_alone = false;
};

// By the formula. An instance that was not timed (another layout of B, a fused epilogue) counts as the nearest
// that was.
double matmul_sm90_formula_us(const MatmulProblem& problem, const MatmulSm90Way& way);

// By how much it is corrected, the least that this was for any time, and the result.
double matmul_sm90_correction(const MatmulProblem& problem, const MatmulSm90Way& way);
double matmul_sm90_least_correction(std::uint32_t instance);
double matmul_sm90_us(const MatmulProblem& problem, const MatmulSm90Way& way);

inline constexpr double kMatmulSm90Sms = 132;

// How many SMs run clusters of so many CTAs at once, as an H200 answers.
inline constexpr double kMatmulSm90SmsOfClusters[] = {0, 132, 132, 117, 120, 110, 102, 105, 120};

}  // namespace heddle
