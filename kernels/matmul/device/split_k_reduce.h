// SPDX-License-Identifier: Apache-2.0
//
// The second half of a matmul whose K was split: adds up the partial sums of each element, in the order of K,
// does what the epilogue's policy says, and stores. Partial sums are float, [batch][split][row][column], rows
// padded to 16 bytes, and as many rows as partial_rows says, m or more.
//
// Each architecture has its own: a kernel that two files compile for different ones would be one to the linker,
// which keeps either of them.
#pragma once

#include "matmul/api/matmul_element.h"
#include "matmul_epilogue.h"

#include <heddle/isa/arch.h>
#include <heddle/isa/entry.h>
#include <heddle/isa/grid_dependency.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>
#include <heddle/tile/convert.h>

namespace heddle::inline HEDDLE_TARGET {

template <Arch arch>
struct SplitKReduce {
  struct Params {
    const float* partial;
    std::uint64_t partial_pitch;
    std::uint32_t partial_rows;
    void* out;
    MatmulElement output;
    std::uint64_t out_pitch;
    std::uint64_t out_batch_stride;
    std::uint64_t residual_batch_stride;
    std::uint32_t m;
    std::uint32_t n;
    std::uint32_t batches;
    std::uint32_t splits;
    FusedEpilogue::Params epilogue;
  };
  struct Shared {};
  static constexpr std::uint32_t kThreads = 128;

  // How many columns a CTA has at a time, of one row: each thread four.
  static constexpr std::uint32_t kCols = kThreads * 4;

  HEDDLE_DEVICE static void run(const Params& params, Shared&) {
    isa::griddepcontrol_launch_dependents();
    isa::griddepcontrol_wait();
    for (std::uint32_t row = isa::ctaid().x; row < params.m; row += isa::nctaid().x) {
      for (std::uint32_t batch = isa::ctaid().y; batch < params.batches; batch += isa::nctaid().y) {
        for (std::uint32_t col = isa::ctaid().z * kCols + isa::tid_x() * 4; col < params.n;
             col += isa::nctaid().z * kCols) {
          with_output_type(params.output, [&]<class Out>() { finish<Out>(params, batch, row, col); });
        }
      }
    }
  }

 private:
  template <Element Out>
  HEDDLE_DEVICE static void finish(const Params& params, std::uint32_t batch, std::uint32_t row,
                                   std::uint32_t col) {
    float sums[4] = {};
    for (std::uint32_t split = 0; split < params.splits; ++split) {
      const std::uint64_t at =
          ((std::uint64_t{batch} * params.splits + split) * params.partial_rows + row) * params.partial_pitch +
          col;
      const isa::Bytes16 part = isa::ld_global(reinterpret_cast<const isa::Bytes16*>(params.partial + at));
      HEDDLE_UNROLL
      for (std::uint32_t i = 0; i < 4; ++i) sums[i] += __builtin_bit_cast(float, part.word[i]);
    }
    FusedEpilogue::Params epilogue = params.epilogue;
    if (epilogue.residual != nullptr) {
      epilogue.residual = static_cast<const Out*>(epilogue.residual) + batch * params.residual_batch_stride;
    }
    if (epilogue.c != nullptr) {
      epilogue.c = static_cast<const Out*>(epilogue.c) + batch * params.out_batch_stride;
    }
    Out* const to = static_cast<Out*>(params.out) + batch * params.out_batch_stride + row * params.out_pitch;
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < 4; i += 2) {
      float value[2] = {sums[i], sums[i + 1]};
      RowPart<2> pair(value, row, col + i, params.m, params.n);
      FusedEpilogue::apply<Out>(epilogue, pair);
      if (pair.has(0)) isa::st_global(to + pair.col(0), as_element<Out>(value[0]));
      if (pair.has_next(0)) isa::st_global(to + pair.col(1), as_element<Out>(value[1]));
    }
  }
};

}  // namespace heddle::inline HEDDLE_TARGET
