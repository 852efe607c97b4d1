// SPDX-License-Identifier: Apache-2.0
//
// Payloads: which tiles one stage of an input pipeline carries. A payload is a few pointers, made from the
// storage of its tiles; it knows the types of the tiles and the bytes that copying them signals, and nothing
// of barriers or of how many stages there are. With a k group of several tiles, tile k of a stage is tile
// stage * k_group_size + k of the storage.
//
//   using Payload = StandardTilePayload<bf16, bf16, StandardTileConfig{.a = {128, 64}, .b = {256, 64}}>;
//   const Payload payload = shared.input.payload();
//   const auto [a, b] = payload.get_tile(stage);              // two TileTensors
//   const auto a1 = payload.get_a_tile<2>(stage, 1);          // the second of a group of two
#pragma once

#include <heddle/isa/target.h>
#include <heddle/pipeline/pipeline_storage.h>
#include <heddle/tile/element.h>
#include <heddle/tile/smem_array.h>

#include <concepts>
#include <type_traits>

namespace heddle::inline HEDDLE_TARGET {

// What an input pipeline asks of a payload:
//   Storage<n>       the tiles of n stages; the payload is constructed from it
//   Tiles            an aggregate of TileTensors, one per operand
//   get_tile<g>(stage, k)  the tiles of a stage, or tile k of its group of g
//   tiles_per_stage  how many TileTensors that is
//   tx_bytes         what copying those tiles signals to the full barrier
//   stage_bytes      what they take in shared memory
template <class P>
concept TilePayload =
    std::is_trivially_copyable_v<P> && std::is_aggregate_v<typename P::Tiles> && std::constructible_from < P,
        typename P::template Storage<1>
& > &&std::constructible_from<P, typename P::template Storage<2>&>&& requires(const P& payload,
                                                                              std::uint32_t stage,
                                                                              std::uint32_t k) {
  { P::tiles_per_stage } -> std::convertible_to<std::uint32_t>;
  { P::tx_bytes } -> std::convertible_to<std::uint32_t>;
  { P::stage_bytes } -> std::convertible_to<std::uint32_t>;
  { payload.template get_tile<1>(stage, k) } -> std::same_as<typename P::Tiles>;
  { payload.template get_tile<2>(stage, k) } -> std::same_as<typename P::Tiles>;
};

// A and B.
template <Element AType, Element BType, StandardTileConfig config>
class StandardTilePayload {
 public:
  template <std::uint32_t num_stages>
  using Storage = StandardTileStorage<AType, BType, config, num_stages>;
  using ATile = typename Storage<1>::ATileArray::Tile;
  using BTile = typename Storage<1>::BTileArray::Tile;
  struct Tiles {
    ATile a;
    BTile b;
  };

  static constexpr std::uint32_t tiles_per_stage = 2;
  static constexpr std::uint32_t tx_bytes = ATile::tx_bytes() + BTile::tx_bytes();
  static constexpr std::uint32_t stage_bytes =
      Storage<1>::ATileArray::tile_stride_bytes + Storage<1>::BTileArray::tile_stride_bytes;

  template <std::uint32_t num_stages>
  HEDDLE_HOST_DEVICE explicit StandardTilePayload(StandardTileStorage<AType, BType, config, num_stages>& storage)
      : a_(storage.a_tiles().view()), b_(storage.b_tiles().view()) {}

  template <std::uint32_t k_group_size = 1>
  HEDDLE_HOST_DEVICE Tiles get_tile(std::uint32_t stage, std::uint32_t k = 0) const {
    return {get_a_tile<k_group_size>(stage, k), get_b_tile<k_group_size>(stage, k)};
  }
  template <std::uint32_t k_group_size = 1>
  HEDDLE_HOST_DEVICE ATile get_a_tile(std::uint32_t stage, std::uint32_t k = 0) const {
    return a_[stage * k_group_size + k];
  }
  template <std::uint32_t k_group_size = 1>
  HEDDLE_HOST_DEVICE BTile get_b_tile(std::uint32_t stage, std::uint32_t k = 0) const {
    return b_[stage * k_group_size + k];
  }

 private:
  typename Storage<1>::ATileArray::View a_;
  typename Storage<1>::BTileArray::View b_;
};

// A, B and the scales of both (SFA, SFB).
template <Element AType, Element BType, BlockScaledTileConfig config>
class BlockScaledTilePayload {
 public:
  template <std::uint32_t num_stages>
  using Storage = BlockScaledTileStorage<AType, BType, config, num_stages>;
  using ATile = typename Storage<1>::ATileArray::Tile;
  using BTile = typename Storage<1>::BTileArray::Tile;
  using SFATile = typename Storage<1>::SFATileArray::Tile;
  using SFBTile = typename Storage<1>::SFBTileArray::Tile;
  struct Tiles {
    ATile a;
    BTile b;
    SFATile sfa;
    SFBTile sfb;
  };

  static constexpr std::uint32_t tiles_per_stage = 4;
  static constexpr std::uint32_t tx_bytes =
      ATile::tx_bytes() + BTile::tx_bytes() + SFATile::tx_bytes() + SFBTile::tx_bytes();
  static constexpr std::uint32_t stage_bytes =
      Storage<1>::ATileArray::tile_stride_bytes + Storage<1>::BTileArray::tile_stride_bytes +
      Storage<1>::SFATileArray::tile_stride_bytes + Storage<1>::SFBTileArray::tile_stride_bytes;

  template <std::uint32_t num_stages>
  HEDDLE_HOST_DEVICE explicit BlockScaledTilePayload(
      BlockScaledTileStorage<AType, BType, config, num_stages>& storage)
      : a_(storage.a_tiles().view()),
        b_(storage.b_tiles().view()),
        sfa_(storage.sfa_tiles().view()),
        sfb_(storage.sfb_tiles().view()) {}

  template <std::uint32_t k_group_size = 1>
  HEDDLE_HOST_DEVICE Tiles get_tile(std::uint32_t stage, std::uint32_t k = 0) const {
    return {get_a_tile<k_group_size>(stage, k), get_b_tile<k_group_size>(stage, k),
            get_sfa_tile<k_group_size>(stage, k), get_sfb_tile<k_group_size>(stage, k)};
  }
  template <std::uint32_t k_group_size = 1>
  HEDDLE_HOST_DEVICE ATile get_a_tile(std::uint32_t stage, std::uint32_t k = 0) const {
    return a_[stage * k_group_size + k];
  }
  template <std::uint32_t k_group_size = 1>
  HEDDLE_HOST_DEVICE BTile get_b_tile(std::uint32_t stage, std::uint32_t k = 0) const {
    return b_[stage * k_group_size + k];
  }
  template <std::uint32_t k_group_size = 1>
  HEDDLE_HOST_DEVICE SFATile get_sfa_tile(std::uint32_t stage, std::uint32_t k = 0) const {
    return sfa_[stage * k_group_size + k];
  }
  template <std::uint32_t k_group_size = 1>
  HEDDLE_HOST_DEVICE SFBTile get_sfb_tile(std::uint32_t stage, std::uint32_t k = 0) const {
    return sfb_[stage * k_group_size + k];
  }

 private:
  typename Storage<1>::ATileArray::View a_;
  typename Storage<1>::BTileArray::View b_;
  typename Storage<1>::SFATileArray::View sfa_;
  typename Storage<1>::SFBTileArray::View sfb_;
};

// A, B and the scales of A. The scales of B are read from global memory.
template <Element AType, Element BType, BlockwiseFP8TileConfig config, Element AScalesType = float>
class BlockwiseFP8TilePayload {
 public:
  template <std::uint32_t num_stages>
  using Storage = BlockwiseFP8TileStorage<AType, BType, config, num_stages, AScalesType>;
  using ATile = typename Storage<1>::ATileArray::Tile;
  using BTile = typename Storage<1>::BTileArray::Tile;
  using AScalesTile = typename Storage<1>::AScalesTileArray::Tile;
  struct Tiles {
    ATile a;
    BTile b;
    AScalesTile a_scales;
  };

  static constexpr std::uint32_t tiles_per_stage = 3;
  static constexpr std::uint32_t tx_bytes = ATile::tx_bytes() + BTile::tx_bytes() + AScalesTile::tx_bytes();
  static constexpr std::uint32_t stage_bytes = Storage<1>::ATileArray::tile_stride_bytes +
                                               Storage<1>::BTileArray::tile_stride_bytes +
                                               Storage<1>::AScalesTileArray::tile_stride_bytes;

  template <std::uint32_t num_stages>
  HEDDLE_HOST_DEVICE explicit BlockwiseFP8TilePayload(
      BlockwiseFP8TileStorage<AType, BType, config, num_stages, AScalesType>& storage)
      : a_(storage.a_tiles().view()), b_(storage.b_tiles().view()), a_scales_(storage.a_scales_tiles().view()) {}

  template <std::uint32_t k_group_size = 1>
  HEDDLE_HOST_DEVICE Tiles get_tile(std::uint32_t stage, std::uint32_t k = 0) const {
    return {get_a_tile<k_group_size>(stage, k), get_b_tile<k_group_size>(stage, k),
            get_a_scales_tile<k_group_size>(stage, k)};
  }
  template <std::uint32_t k_group_size = 1>
  HEDDLE_HOST_DEVICE ATile get_a_tile(std::uint32_t stage, std::uint32_t k = 0) const {
    return a_[stage * k_group_size + k];
  }
  template <std::uint32_t k_group_size = 1>
  HEDDLE_HOST_DEVICE BTile get_b_tile(std::uint32_t stage, std::uint32_t k = 0) const {
    return b_[stage * k_group_size + k];
  }
  template <std::uint32_t k_group_size = 1>
  HEDDLE_HOST_DEVICE AScalesTile get_a_scales_tile(std::uint32_t stage, std::uint32_t k = 0) const {
    return a_scales_[stage * k_group_size + k];
  }

 private:
  typename Storage<1>::ATileArray::View a_;
  typename Storage<1>::BTileArray::View b_;
  typename Storage<1>::AScalesTileArray::View a_scales_;
};

}  // namespace heddle::inline HEDDLE_TARGET
