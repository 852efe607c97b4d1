// SPDX-License-Identifier: Apache-2.0
#include <heddle/pipeline/payload.h>
#include <heddle/pipeline/pipeline_storage.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace {

using namespace heddle;

constexpr StandardTileConfig kConfig{.a = {128, 64}, .b = {256, 64}};
using Payload = StandardTilePayload<bf16, bf16, kConfig>;
constexpr std::uint32_t kTileBytes = (128 + 256) * 64 * 2;

static_assert(std::is_trivially_default_constructible_v<InputPipelineStorage<4, Payload>>);
static_assert(std::is_trivially_default_constructible_v<ClcPipelineStorage<3>>);
static_assert(std::is_trivially_default_constructible_v<TmemDeallocStorage>);

// The pipeline takes its number of stages from the storage.
static_assert(
    std::is_same_v<decltype(std::declval<BarrierPair<4>&>().pipeline("ring")), ProducerConsumerPipeline<4>>);
static_assert(std::is_same_v<decltype(std::declval<InputPipelineStorage<3, Payload, 2>&>().pipeline("input")),
                             ProducerConsumerPipeline<3>>);
static_assert(std::is_same_v<decltype(std::declval<OutputPipelineStorage<2>&>().pipeline("output")),
                             ProducerConsumerPipeline<2>>);
static_assert(std::is_same_v<decltype(std::declval<ClcPipelineStorage<3>&>().pipeline("clc")),
                             ProducerConsumerPipeline<3, MbarrierBackend<3, PipelineScope::kCluster>>>);

TEST(BarrierPair, StageCountDeterminesBarrierCount) {
  EXPECT_EQ(BarrierPair<1>::num_barriers, 2U);
  EXPECT_EQ(BarrierPair<7>::num_barriers, 14U);
  EXPECT_EQ(sizeof(BarrierPair<7>), 14 * sizeof(SharedMemBarrier));
  EXPECT_EQ(sizeof(BarrierPair<7>), ProducerConsumerPipeline<7>::smem_bytes());
  EXPECT_EQ(alignof(BarrierPair<7>), 8U);
}

TEST(BarrierPair, FullBarriersComeBeforeEmptyOnesAsThePipelineReadsThem) {
  BarrierPair<3> barriers;
  const MbarrierBackend<3> backend(barriers.ptr());
  for (std::uint32_t stage = 0; stage < 3; ++stage) {
    EXPECT_EQ(barriers.full(stage), barriers.ptr() + stage);
    EXPECT_EQ(barriers.empty(stage), barriers.ptr() + 3 + stage);
    EXPECT_EQ(barriers.full(stage), backend.full_mbar(stage));
    EXPECT_EQ(barriers.empty(stage), backend.empty_mbar(stage));
  }
}

TEST(InputPipelineStorage, OwnsThePayloadsTilesAndTheBarriersOfItsStages) {
  using Storage = InputPipelineStorage<4, Payload>;
  static Storage storage;
  EXPECT_EQ(sizeof(storage.tiles), 4 * kTileBytes);
  EXPECT_EQ(sizeof(storage.barriers), 4U * 2 * 8);
  EXPECT_EQ(alignof(Storage), 1024U);
  EXPECT_EQ(sizeof(Storage), 4 * kTileBytes + 1024);
  EXPECT_EQ(Storage::tx_bytes, kTileBytes);
  EXPECT_EQ(storage.payload().get_b_tile(2).data(), storage.tiles.b_tiles()[2].data());
}

TEST(InputPipelineStorage, TilesOfAGroupShareOneBarrierPair) {
  using Storage = InputPipelineStorage<2, Payload, 2>;
  EXPECT_EQ(sizeof(Storage::tiles), 4 * kTileBytes);
  EXPECT_EQ(sizeof(Storage::barriers), 2U * 2 * 8);
  EXPECT_EQ(Storage::tx_bytes, 2 * kTileBytes);
}

TEST(InputPipelineStorage, HoldsBarriersAloneWithoutAPayload) {
  EXPECT_EQ(sizeof(InputPipelineStorage<4>), 64U);
  EXPECT_EQ(InputPipelineStorage<4>::num_stages, 4U);
}

TEST(OutputPipelineStorage, PipelineHasTheScopeThatOneAsksFor) {
  using Storage = OutputPipelineStorage<2>;
  using Own = decltype(std::declval<Storage&>().pipeline("output"));
  using OfCluster = decltype(std::declval<Storage&>().pipeline<PipelineScope::kCluster>("output"));
  EXPECT_TRUE((std::is_same_v<Own, ProducerConsumerPipeline<2>>));
  EXPECT_TRUE(
      (std::is_same_v<OfCluster, ProducerConsumerPipeline<2, MbarrierBackend<2, PipelineScope::kCluster>>>));
}

TEST(StandardTileStorage, HasTilesOfBothOperandsForEachStage) {
  using Storage = StandardTileStorage<bf16, e4m3, StandardTileConfig{.a = {64, 64}, .b = {32, 128}}, 3>;
  static Storage storage;
  static_assert(std::is_same_v<decltype(storage.a_tiles()[0]),
                               TileTensor<bf16, k_major_tile<bf16>(64, 64, Swizzle::k128B)>>);
  static_assert(std::is_same_v<decltype(storage.b_tiles()[0]),
                               TileTensor<e4m3, k_major_tile<e4m3>(32, 128, Swizzle::k128B)>>);
  EXPECT_EQ(sizeof(Storage), 3U * (64 * 64 * 2 + 32 * 128));
  EXPECT_EQ(&storage.a_tiles(), &storage.a_tiles_storage);
  EXPECT_EQ(&storage.b_tiles(), &storage.b_tiles_storage);
  EXPECT_EQ(reinterpret_cast<unsigned char*>(storage.b_tiles()[0].data()),
            reinterpret_cast<unsigned char*>(storage.a_tiles()[2].data()) + 64 * 64 * 2);
}

TEST(StandardTileStorage, OperandsMayHaveDifferentSwizzles) {
  constexpr StandardTileConfig config{
      .a = {64, 64}, .b = {64, 16}, .a_swizzle = Swizzle::k128B, .b_swizzle = Swizzle::k32B};
  using Storage = StandardTileStorage<bf16, bf16, config, 2>;
  EXPECT_EQ(alignof(Storage::ATileArray), 1024U);
  EXPECT_EQ(alignof(Storage::BTileArray), 256U);
  EXPECT_EQ(Storage::BTileArray::Tile::swizzle, Swizzle::k32B);
}

TEST(BlockScaledTileStorage, HasScaleBlocksForEveryRowAndScaleOfATile) {
  // MXFP8: 128 numbers along K are 4 scales a row, one block for each 128 rows.
  using Mxfp8 = BlockScaledTileStorage<e4m3, e4m3, BlockScaledTileConfig{.a = {128, 128}, .b = {256, 128}}, 2>;
  EXPECT_EQ(Mxfp8::SFATileArray::layout.bytes(), 512U);
  EXPECT_EQ(Mxfp8::SFBTileArray::layout.bytes(), 1024U);
  EXPECT_EQ(sizeof(Mxfp8), 2U * (128 * 128 + 256 * 128 + 512 + 1024));
  static_assert(std::is_same_v<Mxfp8::ScaleType, ue8m0>);
  // NVFP4: 256 numbers along K, two to a byte, are 16 scales a row.
  constexpr BlockScaledTileConfig nvfp4{
      .a = {128, 128}, .b = {64, 128}, .scale_format = ScaleFormat::kUe4m3, .scale_vector_elems = 16};
  using Nvfp4 = BlockScaledTileStorage<e2m1x2, e2m1x2, nvfp4, 1>;
  EXPECT_EQ(Nvfp4::SFATileArray::layout.bytes(), 4U * 512);
  EXPECT_EQ(Nvfp4::SFBTileArray::layout.bytes(), 4U * 512) << "64 rows still take whole blocks";
  static_assert(std::is_same_v<Nvfp4::ScaleType, ue4m3>);
}

TEST(BlockScaledTileStorage, ScaleLiesWhereTheBlockFormulaSays) {
  using Storage = BlockScaledTileStorage<e4m3, e4m3, BlockScaledTileConfig{.a = {128, 512}, .b = {256, 512}}, 1>;
  static Storage storage;
  const auto sfb = storage.sfb_tiles()[0];
  const auto offset = [&](std::uint32_t row, std::uint32_t scale) {
    const auto* place = sfb.pointer(row / 128, scale / 4, row % 32, row % 128 / 32 * 4 + scale % 4);
    return place - sfb.data();
  };
  EXPECT_EQ(offset(77, 2), 218);
  EXPECT_EQ(offset(77, 4 + 2), 512 + 218) << "blocks along K come first";
  EXPECT_EQ(offset(128 + 77, 2), 4 * 512 + 218);
}

TEST(BlockwiseFP8TileStorage, HasOneScaleForEachRowAndBlockOfK) {
  using Storage = BlockwiseFP8TileStorage<e4m3, e4m3, BlockwiseFP8TileConfig{.a = {64, 256}, .b = {128, 256}}, 3>;
  static Storage storage;
  const auto scales = storage.a_scales_tiles()[1];
  static_assert(decltype(scales)::rows() == 2 && decltype(scales)::cols() == 64);
  EXPECT_EQ(sizeof(Storage::a_scales_tiles_storage), 3U * 2 * 64 * sizeof(float));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(scales.data()) % 128, 0U);
}

TEST(BlockwiseFP8TileStorage, ScalesHaveTheTypeThatOneGivesThem) {
  constexpr BlockwiseFP8TileConfig config{.a = {128, 256}, .b = {128, 256}};
  using Storage = BlockwiseFP8TileStorage<e4m3, e4m3, config, 2, ue8m0>;
  static_assert(std::is_same_v<Storage::AScalesType, ue8m0>);
  static_assert(std::is_same_v<BlockwiseFP8TileStorage<e4m3, e4m3, config, 2>::AScalesType, float>);
  EXPECT_EQ(sizeof(Storage::a_scales_tiles_storage), 2U * 2 * 128);
  using Blockwise = BlockwiseFP8TilePayload<e4m3, e5m2, config, bf16>;
  static_assert(TilePayload<Blockwise>);
  static_assert(std::is_same_v<Blockwise::AScalesTile::value_type, bf16>);
  EXPECT_EQ(Blockwise::tx_bytes, 2U * 128 * 256 + 2 * 128 * 2);
  static Blockwise::Storage<2> storage;
  EXPECT_EQ(Blockwise(storage).get_a_scales_tile(1).data(), storage.a_scales_tiles()[1].data());
}

TEST(OutputTileStorage, HasItsOwnStageCount) {
  constexpr Layout layout = k_major_tile<bf16>(128, 64, Swizzle::k128B);
  using Storage = OutputTileStorage<bf16, layout, 2>;
  static Storage storage;
  EXPECT_EQ(sizeof(Storage), 2U * layout.bytes());
  EXPECT_EQ(reinterpret_cast<unsigned char*>(storage.c_tiles()[1].data()),
            reinterpret_cast<unsigned char*>(storage.c_tiles()[0].data()) + layout.bytes());
}

TEST(ClcPipelineStorage, HasFourBarriersAndOneResponsePerStage) {
  using Storage = ClcPipelineStorage<3>;
  static Storage storage;
  EXPECT_EQ(sizeof(Storage), 3U * (4 * 8 + 16));
  EXPECT_EQ(alignof(Storage), 16U);
  for (std::uint32_t stage = 0; stage < 3; ++stage) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(storage.response(stage)) % 16, 0U);
    EXPECT_EQ(storage.response(stage), storage.response(0) + stage);
  }
  EXPECT_EQ(Storage::response_tx_bytes, sizeof(*storage.response(0)));
}

TEST(TmemDeallocStorage, HasOneBarrierAndTheAddress) {
  TmemDeallocStorage storage;
  EXPECT_EQ(sizeof(storage), 16U);
  EXPECT_EQ(static_cast<void*>(storage.address_ptr()), static_cast<void*>(storage.mbar() + 1));
}

TEST(RawBarrierStorage, IsSoManyBarriers) {
  RawBarrierStorage<5> storage;
  EXPECT_EQ(sizeof(storage), 40U);
  EXPECT_EQ(storage.ptr(4), storage.ptr() + 4);
}

// The largest count whose storage fits, and the next one that does not.
template <class P, std::uint32_t budget, std::uint32_t k_group_size = 1>
void expect_exact_max_stages() {
  constexpr std::uint32_t stages = max_stages<P, budget, k_group_size>;
  EXPECT_LE(sizeof(InputPipelineStorage<stages, P, k_group_size>), budget);
  EXPECT_GT(sizeof(InputPipelineStorage<stages + 1, P, k_group_size>), budget);
}

TEST(MaxStages, IsTheLargestCountThatFitsTheBudget) {
  EXPECT_EQ((max_stages<Payload, 232448>), 4U);
  EXPECT_EQ((max_stages<Payload, 4 * kTileBytes + 1024>), 4U);
  EXPECT_EQ((max_stages<Payload, 4 * kTileBytes + 1023>), 3U) << "barriers count too";
  EXPECT_EQ((max_stages<Payload, 232448, 2>), 2U);
  expect_exact_max_stages<Payload, 232448>();
  expect_exact_max_stages<Payload, 232448, 2>();
  expect_exact_max_stages<Payload, 100000>();
  using Mixed = StandardTilePayload<
      bf16, bf16,
      StandardTileConfig{.a = {8, 16}, .b = {8, 64}, .a_swizzle = Swizzle::k32B, .b_swizzle = Swizzle::k128B}>;
  expect_exact_max_stages<Mixed, 5000>();
  expect_exact_max_stages<Mixed, 232448>();
  using Blockwise = BlockwiseFP8TilePayload<e4m3, e4m3, BlockwiseFP8TileConfig{.a = {128, 128}, .b = {128, 128}}>;
  expect_exact_max_stages<Blockwise, 232448>();
}

}  // namespace
