// SPDX-License-Identifier: Apache-2.0
//
// What the two halves of the wgmma conformance test share: the shapes, and one function for both targets that
// multiplies a tile. Plain types, the same for both.
#pragma once

#include <heddle/host/gpu_list.h>
#include <heddle/host/run_options.h>
#include <heddle/isa/target.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle {

// One instruction. Types and majors are the values of OperandType, AccumulatorType and Major.
struct WgmmaCase {
  std::uint32_t n = 0;
  std::uint8_t a = 0;
  std::uint8_t b = 0;
  std::uint8_t d = 0;
  std::uint8_t a_major = 0;
  std::uint8_t b_major = 0;
  bool negate_a = false;
  bool negate_b = false;
  bool a_in_registers = false;
};

struct WgmmaCases {
  WgmmaCase all[1024] = {};
  std::size_t count = 0;

  constexpr void add(const WgmmaCase& one) { all[count++] = one; }
};

// Every N for bf16; every combination of types, from shared memory and from registers; every pair of majors;
// negated operands. With HEDDLE_EVERY_WGMMA_SHAPE, every combination of types at every N, which takes nvcc
// minutes.
constexpr WgmmaCases make_wgmma_cases() {
  constexpr std::uint8_t kF16 = 0, kBf16 = 1, kTf32 = 2, kE4m3 = 3, kE5m2 = 4;  // OperandType
  constexpr std::uint8_t kD16 = 0, kD32 = 1;                                    // AccumulatorType
  constexpr struct {
    std::uint8_t a, b, d;
  } types[] = {{kBf16, kBf16, kD32}, {kF16, kF16, kD32},   {kF16, kF16, kD16},   {kTf32, kTf32, kD32},
               {kE4m3, kE4m3, kD32}, {kE4m3, kE5m2, kD32}, {kE5m2, kE4m3, kD32}, {kE5m2, kE5m2, kD32},
               {kE4m3, kE4m3, kD16}, {kE4m3, kE5m2, kD16}, {kE5m2, kE4m3, kD16}, {kE5m2, kE5m2, kD16}};
#if defined(HEDDLE_EVERY_WGMMA_SHAPE)
  constexpr bool every_shape = true;
#else
  constexpr bool every_shape = false;
#endif
  WgmmaCases cases;
  for (const auto& type : types) {
    for (std::uint32_t n = 8; n <= 256; n += 8) {
      const bool is_chosen = every_shape || n == 8 || n == 64 || n == 256;
      WgmmaCase one{.n = n, .a = type.a, .b = type.b, .d = type.d};
      if (is_chosen || type.a == kBf16) cases.add(one);
      one.a_in_registers = true;
      if (every_shape || n == 64) cases.add(one);
    }
  }
  for (const std::uint8_t type : {kBf16, kF16}) {
    for (const std::uint32_t n : {16u, 136u, 256u}) {
      for (const int majors : {1, 2, 3}) {
        cases.add({.n = n,
                   .a = type,
                   .b = type,
                   .d = kD32,
                   .a_major = static_cast<std::uint8_t>(majors & 1),
                   .b_major = static_cast<std::uint8_t>(majors >> 1)});
      }
    }
  }
  cases.add({.n = 24, .a = kBf16, .b = kBf16, .d = kD32, .b_major = 1, .a_in_registers = true});
  cases.add({.n = 32, .a = kBf16, .b = kBf16, .d = kD32, .negate_a = true});
  cases.add({.n = 32, .a = kE4m3, .b = kE4m3, .d = kD32, .negate_a = true, .negate_b = true});
  cases.add({.n = 32, .a = kF16, .b = kF16, .d = kD16, .negate_b = true, .a_in_registers = true});
  return cases;
}

inline constexpr WgmmaCases kWgmmaCases = make_wgmma_cases();

struct WgmmaRun {
  std::size_t case_idx = 0;
  std::vector<std::byte> image;  // shared memory, and where the operands lie in it
  std::uint64_t a_descriptor = 0;
  std::uint64_t b_descriptor = 0;
  std::uint32_t a_step_bytes = 0;
  std::uint32_t b_step_bytes = 0;
  std::uint32_t steps = 1;
  std::vector<std::uint32_t> fragments;
  std::vector<std::uint32_t> d_in;  // empty: D starts at 0
  std::size_t d_words = 0;
};

// D of all threads, register by register.
template <Target target>
RunOutcome run_wgmma(const WgmmaRun& run, std::vector<std::uint32_t>& d);

template <Target target>
GpuList wgmma_gpus();

template <>
RunOutcome run_wgmma<Target::kSim>(const WgmmaRun& run, std::vector<std::uint32_t>& d);
template <>
RunOutcome run_wgmma<Target::kCuda>(const WgmmaRun& run, std::vector<std::uint32_t>& d);
template <>
GpuList wgmma_gpus<Target::kSim>();
template <>
GpuList wgmma_gpus<Target::kCuda>();

}  // namespace heddle
