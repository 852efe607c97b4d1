// SPDX-License-Identifier: Apache-2.0
//
// Scale factors of a block-scaled matmul on their way to the tensor cores: from blocks of 512 bytes in shared
// memory, 128 rows x 4 scales each, to the columns of tensor memory that tcgen05.mma reads. One shape says how
// many there are in a stage, where each lies in both memories, and which columns and bytes a K step takes.
//
//   using Scales = TmemScales<ScaleFactorShape{.rows = 128, .scales_per_row = 4}>;     // inside a template
//   const Scales sfa = plan.region<"sfa">(stage);                                       // tile/tmem_plan.h
//   sfa.copy_from<1>(payload.get_sfa_tile(stage).data());                               // one thread
//   tcgen05_mma_block_scale<MmaKind::kMxf8f6f4, 1>(d, a, b, sfa, sfb, false, word);     // tile/tcgen05_mma.h
#pragma once

#include <heddle/isa/address.h>
#include <heddle/isa/smem_descriptor.h>
#include <heddle/isa/target.h>
#include <heddle/isa/tcgen05.h>
#include <heddle/tile/tmem_view.h>

namespace heddle::inline HEDDLE_TARGET {

// The scales of one operand in one stage. Rows are padded to 128 and scales to 4, so that blocks are whole.
struct ScaleFactorShape {
  static constexpr std::uint32_t kBlockRows = 128;
  static constexpr std::uint32_t kBlockScales = 4;
  static constexpr std::uint32_t kBlockBytes = kBlockRows * kBlockScales;
  static constexpr std::uint32_t kBlockCols = 4;

  std::uint32_t rows = 0;            // of A, or columns of B
  std::uint32_t scales_per_row = 0;  // in the stage

  HEDDLE_HOST_DEVICE constexpr std::uint32_t row_blocks() const { return (rows + kBlockRows - 1) / kBlockRows; }
  HEDDLE_HOST_DEVICE constexpr std::uint32_t k_blocks() const {
    return (scales_per_row + kBlockScales - 1) / kBlockScales;
  }
  HEDDLE_HOST_DEVICE constexpr std::uint32_t bytes() const { return row_blocks() * k_blocks() * kBlockBytes; }
  HEDDLE_HOST_DEVICE constexpr std::uint32_t cols() const { return row_blocks() * k_blocks() * kBlockCols; }

  // Where a scale lies in shared memory, and in global memory: blocks along K follow one another, then those
  // along rows.
  HEDDLE_HOST_DEVICE constexpr std::uint32_t offset_of(std::uint32_t row, std::uint32_t scale) const {
    const std::uint32_t block = row / kBlockRows * k_blocks() + scale / kBlockScales;
    return block * kBlockBytes + row % 32 * 16 + row % kBlockRows / 32 * 4 + scale % kBlockScales;
  }

  // In tensor memory all rows of four scales stand side by side, since one instruction reads them together. The
  // first column, from the stage's on, and the byte in it, of the scales that K step `step` reads, `scale_vec`
  // for each row.
  HEDDLE_HOST_DEVICE constexpr std::uint32_t col_of(std::uint32_t step, std::uint32_t scale_vec) const {
    return step * scale_vec / kBlockScales * row_blocks() * kBlockCols;
  }
  HEDDLE_HOST_DEVICE static constexpr std::uint32_t id_of(std::uint32_t step, std::uint32_t scale_vec) {
    return step * scale_vec % kBlockScales;
  }

  friend constexpr bool operator==(const ScaleFactorShape&, const ScaleFactorShape&) = default;
};

// One block of scales, as tcgen05_cp_32x128b_warpx4 takes it: 32 rows of 16 bytes, one after the other.
HEDDLE_HOST_DEVICE constexpr std::uint64_t scale_block_descriptor(std::uint32_t shared_address) {
  return tcgen05_descriptor({.start_address = shared_address, .leading_bytes = 0, .stride_bytes = 128});
}

// Copies a stage's scales to tensor memory, with cta_group 2 in both CTAs of the pair. One thread; asynchronous.
// Orders: before the multiplications that the thread issues next. A commit after them says when shared memory
// may be written again.
template <int cta_group, ScaleFactorShape shape>
HEDDLE_DEVICE void copy_scale_factors(TmemAddress to, const void* shared, CallSite site = CallSite::here()) {
  static_assert(shape.rows > 0 && shape.rows <= 256 && shape.scales_per_row > 0,
                "scale factors are of 1 to 256 rows, and at least one for each row");
  const std::uint32_t start = isa::shared_address(shared);
  HEDDLE_UNROLL
  for (std::uint32_t row_block = 0; row_block < shape.row_blocks(); ++row_block) {
    HEDDLE_UNROLL
    for (std::uint32_t k_block = 0; k_block < shape.k_blocks(); ++k_block) {
      const std::uint32_t block = row_block * shape.k_blocks() + k_block;
      const std::uint32_t column = (k_block * shape.row_blocks() + row_block) * ScaleFactorShape::kBlockCols;
      isa::tcgen05_cp_32x128b_warpx4<cta_group>(
          to.plus_cols(column).bits(), scale_block_descriptor(start + block * ScaleFactorShape::kBlockBytes),
          site);
    }
  }
}

// The scales of one stage in tensor memory.
template <ScaleFactorShape scales>
class TmemScales {
 public:
  static constexpr ScaleFactorShape shape = scales;

  HEDDLE_HOST_DEVICE explicit constexpr TmemScales(TmemAddress address) : address_(address) {}

  HEDDLE_HOST_DEVICE constexpr TmemAddress address() const { return address_; }
  HEDDLE_HOST_DEVICE static constexpr std::uint32_t cols() { return shape.cols(); }

  template <int cta_group>
  HEDDLE_DEVICE void copy_from(const void* shared, CallSite site = CallSite::here()) const {
    copy_scale_factors<cta_group, shape>(address_, shared, site);
  }

 private:
  TmemAddress address_;
};

}  // namespace heddle::inline HEDDLE_TARGET
