// SPDX-License-Identifier: Apache-2.0
//
// Copies a matrix of 16-bit numbers whose rows begin anywhere to one whose rows begin on 16 bytes, for the copy
// engine. What is left of the last 16 bytes of a row becomes zeros.
//
// Each architecture has its own, as split_k_reduce.h says.
#pragma once

#include <heddle/isa/arch.h>
#include <heddle/isa/entry.h>
#include <heddle/isa/grid_dependency.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>

namespace heddle::inline HEDDLE_TARGET {

template <Arch arch>
struct CopyRows {
  struct Params {
    const std::uint16_t* from;
    std::uint64_t from_pitch;  // elements
    isa::Bytes16* to;
    std::uint64_t to_pitch;  // in units of 16 bytes
    std::uint32_t rows;
    std::uint32_t cols;
  };
  struct Shared {};
  static constexpr std::uint32_t kThreads = 256;

  HEDDLE_DEVICE static void run(const Params& params, Shared&) {
    isa::griddepcontrol_launch_dependents();
    isa::griddepcontrol_wait();
    const auto units = static_cast<std::uint32_t>(params.to_pitch);
    for (std::uint32_t row = isa::ctaid().x; row < params.rows; row += isa::nctaid().x) {
      const std::uint16_t* const from = params.from + row * params.from_pitch;
      isa::Bytes16* const to = params.to + row * params.to_pitch;
      for (std::uint32_t unit = isa::ctaid().y * kThreads + isa::tid_x(); unit < units;
           unit += isa::nctaid().y * kThreads) {
        isa::st_global(to + unit, eight_of(from, unit * 8, params.cols));
      }
    }
  }

 private:
  HEDDLE_DEVICE static isa::Bytes16 eight_of(const std::uint16_t* from, std::uint32_t first, std::uint32_t cols) {
    isa::Bytes16 eight{};
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < 8; ++i) {
      if (first + i >= cols) continue;
      eight.word[i / 2] |= std::uint32_t{isa::ld_global(from + first + i)} << i % 2 * 16;
    }
    return eight;
  }
};

}  // namespace heddle::inline HEDDLE_TARGET
