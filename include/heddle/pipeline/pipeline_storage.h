// SPDX-License-Identifier: Apache-2.0
//
// What pipelines keep in shared memory: tiles and barriers. A kernel composes its shared memory, one plain
// struct, from these types.
//
// The stage count is the one source of truth: it fixes how many tiles and how many barriers there are, and a
// pipeline takes its number of stages from the storage. Tile types are written once, in the tile storage, and
// everything else asks for them. Tiles are TileTensors throughout. Where nothing here fits, SMemArray and
// RawBarrierStorage give plain memory and plain barriers.
//
//   using Payload = StandardTilePayload<bf16, bf16, StandardTileConfig{.a = {128, 64}, .b = {256, 64}}>;
//   struct Shared {
//     InputPipelineStorage<4, Payload> input;                    // tiles and barriers
//     OutputTileStorage<bf16, c_layout, 2> output_tiles;
//     OutputPipelineStorage<2> output;                           // barriers alone
//   };
//   static_assert(check_shared_memory<Shared, Arch::kSm90>());   // heddle/kernel/shared_memory.h
//
//   auto input = shared.input.pipeline("input");                 // ProducerConsumerPipeline<4>
//   const Payload payload = shared.input.payload();
#pragma once

#include <heddle/isa/annotate.h>
#include <heddle/isa/mbarrier.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/target.h>
#include <heddle/pipeline/pipeline.h>
#include <heddle/tile/element.h>
#include <heddle/tile/layout.h>
#include <heddle/tile/smem_array.h>
#include <heddle/tile/swizzle.h>

#include <type_traits>

namespace heddle::inline HEDDLE_TARGET {

// The tiles of a plain matmul, as they lie in shared memory: {M or N, K} where K is contiguous, {K, M or N}
// where it is not.
struct StandardTileConfig {
  TileShape a;
  TileShape b;
  Swizzle a_swizzle = Swizzle::k128B;
  Swizzle b_swizzle = Swizzle::k128B;

  bool operator==(const StandardTileConfig&) const = default;
};

template <Element AType, Element BType, StandardTileConfig config, std::uint32_t stage_count>
struct StandardTileStorage {
  using ATileArray = SMemTileArray2D<AType, config.a, stage_count, config.a_swizzle>;
  using BTileArray = SMemTileArray2D<BType, config.b, stage_count, config.b_swizzle>;
  static constexpr std::uint32_t num_stages = stage_count;

  HEDDLE_HOST_DEVICE ATileArray& a_tiles() { return a_tiles_storage; }
  HEDDLE_HOST_DEVICE BTileArray& b_tiles() { return b_tiles_storage; }

  ATileArray a_tiles_storage;
  BTileArray b_tiles_storage;
};

enum class ScaleFormat : std::uint8_t { kUe8m0, kUe4m3 };

// The tiles of a block-scaled matmul (MXFP8, MXFP4, NVFP4): {M, K} and {N, K}, K contiguous, and the scales of
// both. Each scale is for `scale_vector_elems` numbers along K.
struct BlockScaledTileConfig {
  TileShape a;
  TileShape b;
  Swizzle a_swizzle = Swizzle::k128B;
  Swizzle b_swizzle = Swizzle::k128B;
  ScaleFormat scale_format = ScaleFormat::kUe8m0;
  std::uint32_t scale_vector_elems = 32;
  std::uint32_t sfb_rows = 0;  // whose scales a stage has; 0: those of b. In a pair, of both CTAs' columns

  bool operator==(const BlockScaledTileConfig&) const = default;
};

// Scales lie in blocks of 512 bytes, each 128 rows x 4 scales: byte (row % 32) * 16 + (row / 32) * 4 + scale.
// Blocks along K follow one another, then those along M or N. This is the order from which tcgen05.cp fills
// tensor memory.
template <Element T, Element ScaleType>
HEDDLE_HOST_DEVICE constexpr Layout scale_tile(TileShape tile, std::uint32_t scale_vector_elems);

template <Element AType, Element BType, BlockScaledTileConfig config, std::uint32_t stage_count>
struct BlockScaledTileStorage {
  static_assert(config.scale_vector_elems == 16 || config.scale_vector_elems == 32,
                "the tensor cores take one scale per 16 or per 32 numbers: set scale_vector_elems to 16 or 32");
  static_assert(
      config.a.cols * element_bytes<AType> * 8 / element_bits<AType> ==
          config.b.cols * element_bytes<BType> * 8 / element_bits<BType>,
      "the tiles of A and B differ in K: give both the same number of columns (a byte of e2m1x2 is two)");

  using ScaleType = std::conditional_t<config.scale_format == ScaleFormat::kUe8m0, ue8m0, ue4m3>;
  using ATileArray = SMemTileArray2D<AType, config.a, stage_count, config.a_swizzle>;
  using BTileArray = SMemTileArray2D<BType, config.b, stage_count, config.b_swizzle>;
  using SFATileArray =
      SMemTileArrayWithLayout<ScaleType, scale_tile<AType, ScaleType>(config.a, config.scale_vector_elems),
                              stage_count>;
  using SFBTileArray =
      SMemTileArrayWithLayout<ScaleType,
                              scale_tile<BType, ScaleType>(
                                  TileShape{config.sfb_rows == 0 ? config.b.rows : config.sfb_rows,
                                            config.b.cols},
                                  config.scale_vector_elems),
                              stage_count>;
  static constexpr std::uint32_t num_stages = stage_count;

  HEDDLE_HOST_DEVICE ATileArray& a_tiles() { return a_tiles_storage; }
  HEDDLE_HOST_DEVICE BTileArray& b_tiles() { return b_tiles_storage; }
  HEDDLE_HOST_DEVICE SFATileArray& sfa_tiles() { return sfa_tiles_storage; }
  HEDDLE_HOST_DEVICE SFBTileArray& sfb_tiles() { return sfb_tiles_storage; }

  ATileArray a_tiles_storage;
  BTileArray b_tiles_storage;
  SFATileArray sfa_tiles_storage;
  SFBTileArray sfb_tiles_storage;
};

// The tiles of a matmul with FP8 blocks of 128 along K: {M, K} and {N, K}, K contiguous, and one scale for each
// row of A and block of K, {K / 128, M}. The scales of B come from global memory.
struct BlockwiseFP8TileConfig {
  TileShape a;
  TileShape b;
  Swizzle a_swizzle = Swizzle::k128B;
  Swizzle b_swizzle = Swizzle::k128B;

  static constexpr std::uint32_t scale_block_k = 128;

  bool operator==(const BlockwiseFP8TileConfig&) const = default;
};

template <Element AType, Element BType, BlockwiseFP8TileConfig config, std::uint32_t stage_count,
          Element AScalesElement = float>
struct BlockwiseFP8TileStorage {
  static_assert(sizeof(AType) == 1 && sizeof(BType) == 1, "blockwise FP8 multiplies e4m3 and e5m2 only");
  static_assert(config.a.cols == config.b.cols, "the tiles of A and B differ in K: give both the same columns");
  static_assert(config.a.cols % BlockwiseFP8TileConfig::scale_block_k == 0,
                "a stage holds whole scale blocks: make the columns of A and B a multiple of 128");

  using AScalesType = AScalesElement;
  using ATileArray = SMemTileArray2D<AType, config.a, stage_count, config.a_swizzle>;
  using BTileArray = SMemTileArray2D<BType, config.b, stage_count, config.b_swizzle>;
  using AScalesTileArray = SMemTileArray2DRowMajor<
      AScalesType, TileShape{config.a.cols / BlockwiseFP8TileConfig::scale_block_k, config.a.rows}, stage_count>;
  static constexpr std::uint32_t num_stages = stage_count;

  HEDDLE_HOST_DEVICE ATileArray& a_tiles() { return a_tiles_storage; }
  HEDDLE_HOST_DEVICE BTileArray& b_tiles() { return b_tiles_storage; }
  HEDDLE_HOST_DEVICE AScalesTileArray& a_scales_tiles() { return a_scales_tiles_storage; }

  ATileArray a_tiles_storage;
  BTileArray b_tiles_storage;
  AScalesTileArray a_scales_tiles_storage;
};

// Tiles of C on their way out, with a stage count of their own.
template <Element CType, Layout c_layout, std::uint32_t stage_count>
struct OutputTileStorage {
  using CTileArray = SMemTileArrayWithLayout<CType, c_layout, stage_count>;
  static constexpr std::uint32_t num_stages = stage_count;

  HEDDLE_HOST_DEVICE CTileArray& c_tiles() { return c_tiles_storage; }

  CTileArray c_tiles_storage;
};

// The barriers of a ring: full[0..N), then empty[0..N), as ProducerConsumerPipeline reads them.
template <std::uint32_t stage_count>
struct BarrierPair {
  static_assert(stage_count > 0, "a pipeline needs a stage to hand over: make its number of stages 1 or more");

  static constexpr std::uint32_t num_stages = stage_count;
  static constexpr std::uint32_t num_barriers = 2 * stage_count;
  using BarrierArray = SMemArray<SharedMemBarrier, num_barriers>;

  HEDDLE_HOST_DEVICE MbarPtr ptr() { return barriers.ptr(); }
  HEDDLE_HOST_DEVICE MbarPtr full(std::uint32_t stage) { return barriers.ptr(stage); }
  HEDDLE_HOST_DEVICE MbarPtr empty(std::uint32_t stage) { return barriers.ptr(stage_count + stage); }

  // The pipeline on these barriers. Scope kCluster is for rings on which other CTAs arrive.
  template <PipelineScope scope = PipelineScope::kCta>
  HEDDLE_DEVICE auto pipeline(Name name) {
    return ProducerConsumerPipeline<stage_count, MbarrierBackend<stage_count, scope>>(ptr(), name);
  }

  BarrierArray barriers;
};

// Says that an InputPipelineStorage holds barriers alone, and that its tiles are a member beside it.
struct NoTiles {};

// The input ring: barriers, and the tiles of the payload, so that the two cannot disagree. `k_group_size`
// tiles of each operand share a stage's barriers.
template <std::uint32_t stage_count, class Payload = NoTiles, std::uint32_t k_group_size = 1>
struct InputPipelineStorage {
  static_assert(k_group_size > 0, "a stage needs a tile: make k_group_size 1 or more");

  static constexpr std::uint32_t num_stages = stage_count;
  using Tiles = typename Payload::template Storage<stage_count * k_group_size>;

  HEDDLE_HOST_DEVICE Payload payload() { return Payload(tiles); }
  template <PipelineScope scope = PipelineScope::kCta>
  HEDDLE_DEVICE auto pipeline(Name name) {
    return barriers.template pipeline<scope>(name);
  }

  // What the copies into one stage signal.
  static constexpr std::uint32_t tx_bytes = k_group_size * Payload::tx_bytes;

  Tiles tiles;
  BarrierPair<stage_count> barriers;
};

template <std::uint32_t stage_count, std::uint32_t k_group_size>
struct InputPipelineStorage<stage_count, NoTiles, k_group_size> {
  static constexpr std::uint32_t num_stages = stage_count;

  template <PipelineScope scope = PipelineScope::kCta>
  HEDDLE_DEVICE auto pipeline(Name name) {
    return barriers.template pipeline<scope>(name);
  }

  BarrierPair<stage_count> barriers;
};

// The ring between MMA and epilogue. On Blackwell its stages are in tensor memory, elsewhere in an
// OutputTileStorage.
template <std::uint32_t stage_count>
struct OutputPipelineStorage {
  static constexpr std::uint32_t num_stages = stage_count;

  template <PipelineScope scope = PipelineScope::kCta>
  HEDDLE_DEVICE auto pipeline(Name name) {
    return barriers.template pipeline<scope>(name);
  }

  BarrierPair<stage_count> barriers;
};

// Cluster launch control: a ring of responses, and the throttle that keeps the scheduler from cancelling work
// far ahead of what has been loaded.
template <std::uint32_t stage_count>
struct ClcPipelineStorage {
  static constexpr std::uint32_t num_stages = stage_count;
  static constexpr std::uint32_t response_tx_bytes = 16;
  using ResponseArray = SMemArray<isa::Bytes16, stage_count>;
  static_assert(sizeof(isa::Bytes16) == response_tx_bytes && alignof(isa::Bytes16) == 16);

  // Cluster scope: consumers in every CTA arrive on the empty barriers of the first.
  HEDDLE_DEVICE auto pipeline(Name name) { return barriers.template pipeline<PipelineScope::kCluster>(name); }
  HEDDLE_DEVICE auto throttle_pipeline(Name name) { return throttle.pipeline(name); }
  HEDDLE_HOST_DEVICE isa::Bytes16* response(std::uint32_t stage) { return responses.ptr(stage); }

  ResponseArray responses;
  BarrierPair<stage_count> barriers;
  BarrierPair<stage_count> throttle;
};

// Where tensor memory begins, written by tcgen05.alloc, and the barrier on which its users arrive before it
// is freed: used once, parity 0.
struct TmemDeallocStorage {
  // By the one thread that initialises barriers; `count` users arrive: ArrivalCounts::tmem_dealloc.
  HEDDLE_DEVICE void init(std::uint32_t count, CallSite site = CallSite::here()) {
    isa::annotate_barriers(mbar(), 1, "tmem dealloc", isa::BarrierRole::kOther);
    isa::mbarrier_init(mbar(), count, site);
  }
  HEDDLE_HOST_DEVICE MbarPtr mbar() { return barrier.ptr(); }
  HEDDLE_HOST_DEVICE std::uint32_t* address_ptr() { return address.ptr(); }

  SMemArray<SharedMemBarrier, 1> barrier;
  SMemArray<std::uint32_t, 1> address;
};

// Barriers in an arrangement of your own.
template <std::uint32_t barrier_count>
struct RawBarrierStorage {
  static_assert(barrier_count > 0, "barrier storage needs a barrier: make its count 1 or more");
  static constexpr std::uint32_t num_barriers = barrier_count;

  HEDDLE_HOST_DEVICE MbarPtr ptr(std::uint32_t barrier_idx = 0) { return barriers.ptr(barrier_idx); }

  SMemArray<SharedMemBarrier, barrier_count> barriers;
};

namespace detail {

// The size of the storage itself decides, so padding counts too.
template <class Payload, std::uint32_t budget_bytes, std::uint32_t k_group_size, std::uint32_t stages>
constexpr std::uint32_t largest_fitting() {
  if constexpr (stages == 0) {
    return 0;
  } else if constexpr (sizeof(InputPipelineStorage<stages, Payload, k_group_size>) <= budget_bytes) {
    return stages;
  } else {
    return largest_fitting<Payload, budget_bytes, k_group_size, stages - 1>();
  }
}

template <class Payload, std::uint32_t budget_bytes, std::uint32_t k_group_size, std::uint32_t stage_bytes>
struct StageBudget {
  static constexpr std::uint32_t value =
      largest_fitting<Payload, budget_bytes, k_group_size, budget_bytes / stage_bytes>();
  static_assert(
      value > 0,
      "not one stage fits the budget: StageBudget lists the payload, the budget in bytes, k_group_size and "
      "the bytes of a stage's tiles. Make the tiles smaller or the budget larger");
};

}  // namespace detail

// The most stages for which InputPipelineStorage<stages, Payload, k_group_size> takes no more than the budget.
template <class Payload, std::uint32_t budget_bytes, std::uint32_t k_group_size = 1>
inline constexpr std::uint32_t max_stages =
    detail::StageBudget<Payload, budget_bytes, k_group_size, k_group_size * Payload::stage_bytes>::value;

template <Element T, Element ScaleType>
HEDDLE_HOST_DEVICE constexpr Layout scale_tile(TileShape tile, std::uint32_t scale_vector_elems) {
  constexpr std::uint32_t block_rows = 128;
  constexpr std::uint32_t block_scales = 4;
  constexpr std::uint32_t numbers_per_element = 8 * element_bytes<T> / element_bits<T>;
  const std::uint32_t row_blocks = (tile.rows + block_rows - 1) / block_rows;
  const std::uint32_t scales = tile.cols * numbers_per_element / scale_vector_elems;
  return row_major<ScaleType>(row_blocks, (scales + block_scales - 1) / block_scales, 32U, 16U);
}

}  // namespace heddle::inline HEDDLE_TARGET
