// SPDX-License-Identifier: Apache-2.0
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/sreg.h>
#include <heddle/sim/event.h>
#include <heddle/sim/launch.h>
#include <heddle/tile/smem_array.h>
#include <heddle/tile/tile_tensor.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using namespace heddle;

// Where the tile would start in shared memory: aligned for every swizzle, and not zero, so that a forgotten
// address shows.
constexpr std::uint32_t kAddress = 0x8000;

// Memory that a tile can be placed in.
template <class Tile>
struct Placed {
  alignas(1024) unsigned char memory[Tile::bytes()];
  Tile tile{reinterpret_cast<typename Tile::value_type*>(memory)};

  std::uint32_t offset_of(const void* pointer) const {
    return static_cast<std::uint32_t>(static_cast<const unsigned char*>(pointer) - memory);
  }
};

template <class Tile>
void expect_every_element_has_its_own_place() {
  static Placed<Tile> placed;
  std::set<std::uint32_t> offsets;
  for (std::uint32_t i = 0; i < Tile::rows(); ++i) {
    for (std::uint32_t j = 0; j < Tile::cols(); ++j) {
      const std::uint32_t offset = placed.offset_of(placed.tile.pointer(i, j));
      EXPECT_LE(offset + sizeof(typename Tile::value_type), Tile::bytes());
      EXPECT_EQ(offset % sizeof(typename Tile::value_type), 0U);
      EXPECT_TRUE(offsets.insert(offset).second) << "(" << i << ", " << j << ") shares offset " << offset;
    }
  }
  EXPECT_EQ(offsets.size() * sizeof(typename Tile::value_type), Tile::tx_bytes());
}

// The address at which the tensor cores look for (row, k), by the descriptor that starts at (first_row,
// first_k), is the address at which indexing puts the element.
template <class Tile, Major major>
void expect_descriptor_reads_what_indexing_writes(std::uint32_t first_row, std::uint32_t first_k,
                                                  std::uint32_t num_rows, std::uint32_t num_k) {
  static Placed<Tile> placed;
  const SmemDescriptor fields = Tile::template smem_descriptor<major>(kAddress, first_row, first_k);
  const SmemDescriptor wgmma =
      Tile::swizzle == Swizzle::k128BAtom32B ? fields : decode_wgmma_descriptor(wgmma_descriptor(fields)).fields;
  const SmemDescriptor tcgen05 = decode_tcgen05_descriptor(tcgen05_descriptor(fields)).fields;
  const std::uint32_t bits = 8 * sizeof(typename Tile::value_type);
  for (std::uint32_t row = 0; row < num_rows; ++row) {
    for (std::uint32_t k = 0; k < num_k; ++k) {
      const std::uint32_t i = major == Major::kK ? first_row + row : first_k + k;
      const std::uint32_t j = major == Major::kK ? first_k + k : first_row + row;
      const std::uint32_t expected = kAddress + placed.offset_of(placed.tile.pointer(i, j));
      ASSERT_EQ(operand_address(wgmma, major, bits, row, k), expected) << "row " << row << ", k " << k;
      ASSERT_EQ(operand_address(tcgen05, major, bits, row, k), expected) << "row " << row << ", k " << k;
    }
  }
}

using Bf16Tile = TileTensor<bf16, k_major_tile<bf16>(128, 64, Swizzle::k128B)>;
using WideTile = TileTensor<bf16, k_major_tile<bf16>(128, 128, Swizzle::k128B)>;

static_assert(std::is_trivially_copyable_v<Bf16Tile> && sizeof(Bf16Tile) == sizeof(void*));
static_assert(Bf16Tile::rows() == 128 && Bf16Tile::cols() == 64);
static_assert(Bf16Tile::bytes() == 16384 && Bf16Tile::tx_bytes() == 16384);
static_assert(Bf16Tile::swizzle == Swizzle::k128B);
static_assert(Bf16Tile::box() == TmaBox{.rank = 2, .dims = {64, 128}});

TEST(TileTensor, SwizzledBytesLieWhereTheSwizzleTableSays) {
  using Tile = TileTensor<std::uint8_t, k_major_tile<std::uint8_t>(16, 128, Swizzle::k128B)>;
  static Placed<Tile> placed;
  const auto physical = [](std::uint32_t linear) {
    return placed.offset_of(placed.tile.pointer(linear / 128, linear % 128));
  };
  EXPECT_EQ(physical(0x000), 0x000U);
  EXPECT_EQ(physical(0x080), 0x090U);
  EXPECT_EQ(physical(0x100), 0x120U);
  EXPECT_EQ(physical(0x3F0), 0x380U);
  EXPECT_EQ(physical(0x430), 0x430U);
}

TEST(TileTensor, NarrowSwizzlesMoveBytesWithinTheirSpan) {
  // Two rows of 64 bytes, or four of 32, share a line of 128 bytes.
  using Tile64 = TileTensor<std::uint8_t, k_major_tile<std::uint8_t>(16, 64, Swizzle::k64B)>;
  static Placed<Tile64> placed64;
  EXPECT_EQ(placed64.offset_of(placed64.tile.pointer(1, 0)), 64U);
  EXPECT_EQ(placed64.offset_of(placed64.tile.pointer(2, 0)), 128U + 16);
  EXPECT_EQ(placed64.offset_of(placed64.tile.pointer(6, 16)), 384U + 32);
  EXPECT_EQ(placed64.offset_of(placed64.tile.pointer(8, 0)), 512U);
  using Tile32 = TileTensor<std::uint8_t, k_major_tile<std::uint8_t>(16, 32, Swizzle::k32B)>;
  static Placed<Tile32> placed32;
  EXPECT_EQ(placed32.offset_of(placed32.tile.pointer(3, 16)), 112U);
  EXPECT_EQ(placed32.offset_of(placed32.tile.pointer(4, 0)), 128U + 16);
  EXPECT_EQ(placed32.offset_of(placed32.tile.pointer(8, 0)), 256U);
}

TEST(TileTensor, ElementOfTheWorkedExampleLiesAtItsAddress) {
  static Placed<Bf16Tile> placed;
  EXPECT_EQ(kAddress + placed.offset_of(placed.tile.pointer(9, 20)), 0x84B8U);
}

TEST(TileTensor, EveryElementHasItsOwnPlaceForEverySwizzle) {
  expect_every_element_has_its_own_place<Bf16Tile>();
  expect_every_element_has_its_own_place<WideTile>();
  expect_every_element_has_its_own_place<TileTensor<bf16, k_major_tile<bf16>(64, 32, Swizzle::k64B)>>();
  expect_every_element_has_its_own_place<TileTensor<bf16, k_major_tile<bf16>(64, 16, Swizzle::k32B)>>();
  expect_every_element_has_its_own_place<TileTensor<e4m3, k_major_tile<e4m3>(64, 256, Swizzle::k128B)>>();
  expect_every_element_has_its_own_place<TileTensor<float, k_major_tile<float>(64, 64, Swizzle::k128BAtom32B)>>();
  expect_every_element_has_its_own_place<TileTensor<float, k_major_tile<float>(9, 20, Swizzle::kNone)>>();
  expect_every_element_has_its_own_place<TileTensor<bf16, core_matrix_tile<bf16>(64, 64)>>();
}

TEST(TileTensor, PanelsFollowOneAnother) {
  static Placed<WideTile> placed;
  EXPECT_EQ(WideTile::panels(), 2U);
  EXPECT_EQ(WideTile::box(), (TmaBox{.rank = 2, .dims = {64, 128}}));
  EXPECT_EQ(placed.offset_of(placed.tile.panel_data(1)), 16384U);
  EXPECT_EQ(placed.tile.panel_data(1), placed.tile.pointer(0, 64));
}

TEST(TileTensor, TilesOfAnyRankAreIndexed) {
  using Tile = TileTensor<ue8m0, row_major<ue8m0>(2, 3, 32, 16)>;
  static Placed<Tile> placed;
  EXPECT_EQ(placed.offset_of(placed.tile.pointer(1, 2, 31, 15)), Tile::bytes() - 1);
  EXPECT_EQ(placed.offset_of(placed.tile.pointer(0, 1, 2, 3)), 512U + 2 * 16 + 3);
}

TEST(TileTensor, SliceIsTheSameElementsInTheSamePlaces) {
  static Placed<WideTile> placed;
  for (std::uint32_t row_slice = 0; row_slice < 2; ++row_slice) {
    for (std::uint32_t col_slice = 0; col_slice < 2; ++col_slice) {
      const auto slice = placed.tile.slice<64, 64>(row_slice, col_slice);
      static_assert(decltype(slice)::rows() == 64 && decltype(slice)::cols() == 64);
      static_assert(decltype(slice)::tx_bytes() == 64 * 64 * 2 && decltype(slice)::bytes() == 64 * 64 * 2);
      EXPECT_EQ(placed.offset_of(slice.data()) % 1024, 0U);
      for (std::uint32_t i = 0; i < 64; ++i) {
        for (std::uint32_t j = 0; j < 64; ++j) {
          ASSERT_EQ(slice.pointer(i, j), placed.tile.pointer(64 * row_slice + i, 64 * col_slice + j));
        }
      }
    }
  }
}

// A slice of one panel ends with its rows; one of several goes on to its last panel.
TEST(TileTensor, SliceTakesWhatItsRowsTake) {
  using Tile = TileTensor<bf16, k_major_tile<bf16>(128, 128, Swizzle::k128B)>;
  using Narrow = decltype(std::declval<Tile>().slice<64, 64>());
  using Wide = decltype(std::declval<Tile>().slice<64, 128>());
  EXPECT_EQ(Narrow::bytes(), 64u * 128);
  EXPECT_EQ(Narrow::layout.panel_stride_bytes, 64u * 128);
  EXPECT_EQ(Wide::layout.panel_stride_bytes, 128u * 128);
  EXPECT_EQ(Wide::tx_bytes(), 64u * 256);
}

TEST(TileTensor, RowSliceOfAWideTileKeepsItsPanelsApart) {
  static Placed<WideTile> placed;
  const auto slice = placed.tile.slice<8, 128>(3);
  static_assert(decltype(slice)::panels() == 2);
  EXPECT_EQ(slice.pointer(7, 127), placed.tile.pointer(31, 127));
  EXPECT_EQ(placed.offset_of(slice.panel_data(1)), 16384U + 3 * 1024);
}

TEST(TileTensor, DescriptorsOfTheTablesOfOtherLibrariesAreReproduced) {
  EXPECT_EQ(tcgen05_descriptor(Bf16Tile::smem_descriptor(0)), 0x4000404000010000U);
  EXPECT_EQ(tcgen05_descriptor(Bf16Tile::smem_descriptor(kAddress, 0, 48)), 0x4000404000010806U);
  using Fp8 = TileTensor<e4m3, k_major_tile<e4m3>(128, 128, Swizzle::k128B)>;
  EXPECT_EQ(tcgen05_descriptor(Fp8::smem_descriptor(0)), 0x4000404000010000U);
  using Swizzle64 = TileTensor<bf16, k_major_tile<bf16>(128, 32, Swizzle::k64B)>;
  EXPECT_EQ(tcgen05_descriptor(Swizzle64::smem_descriptor(0)), 0x8000402000010000U);
  using Swizzle32 = TileTensor<bf16, k_major_tile<bf16>(128, 16, Swizzle::k32B)>;
  EXPECT_EQ(tcgen05_descriptor(Swizzle32::smem_descriptor(0)), 0xC000401000010000U);
  using Cores = TileTensor<bf16, core_matrix_tile<bf16>(128, 16)>;
  EXPECT_EQ(tcgen05_descriptor(Cores::smem_descriptor(0)), 0x0000400800800000U);
  using MnMajor = TileTensor<bf16, k_major_tile<bf16>(64, 128, Swizzle::k128B)>;
  EXPECT_EQ(tcgen05_descriptor(MnMajor::smem_descriptor<Major::kMN>(0)), 0x4000404002000000U);
  EXPECT_EQ(wgmma_descriptor(MnMajor::smem_descriptor<Major::kMN>(0)), 0x4000004002000000U);
  EXPECT_EQ(wgmma_descriptor(Bf16Tile::smem_descriptor(kAddress)), 0x4000004000010800U);
}

TEST(TileTensor, KMajorDescriptorsReadWhatIndexingWrites) {
  for (std::uint32_t row = 0; row < 128; row += 64) {
    for (std::uint32_t k = 0; k < 128; k += 16) {
      expect_descriptor_reads_what_indexing_writes<WideTile, Major::kK>(row, k, 64, 16);
    }
  }
  using Swizzle64 = TileTensor<e4m3, k_major_tile<e4m3>(64, 128, Swizzle::k64B)>;
  for (std::uint32_t k = 0; k < 128; k += 32) {
    expect_descriptor_reads_what_indexing_writes<Swizzle64, Major::kK>(0, k, 64, 32);
  }
  using Swizzle32 = TileTensor<tf32, k_major_tile<tf32>(64, 16, Swizzle::k32B)>;
  for (std::uint32_t k = 0; k < 16; k += 8) {
    expect_descriptor_reads_what_indexing_writes<Swizzle32, Major::kK>(0, k, 64, 8);
  }
  using Cores = TileTensor<bf16, core_matrix_tile<bf16>(128, 64)>;
  for (std::uint32_t k = 0; k < 64; k += 16) {
    expect_descriptor_reads_what_indexing_writes<Cores, Major::kK>(64, k, 64, 16);
  }
}

TEST(TileTensor, MnMajorDescriptorsReadWhatIndexingWrites) {
  using Swizzle128 = TileTensor<bf16, k_major_tile<bf16>(64, 128, Swizzle::k128B)>;
  for (std::uint32_t k = 0; k < 64; k += 16) {
    expect_descriptor_reads_what_indexing_writes<Swizzle128, Major::kMN>(0, k, 128, 16);
    expect_descriptor_reads_what_indexing_writes<Swizzle128, Major::kMN>(64, k, 64, 16);
  }
  using Swizzle32 = TileTensor<bf16, k_major_tile<bf16>(32, 64, Swizzle::k32B)>;
  expect_descriptor_reads_what_indexing_writes<Swizzle32, Major::kMN>(0, 16, 64, 16);
  using Atoms32 = TileTensor<tf32, k_major_tile<tf32>(16, 64, Swizzle::k128BAtom32B)>;
  expect_descriptor_reads_what_indexing_writes<Atoms32, Major::kMN>(0, 8, 64, 8);
  using Cores = TileTensor<bf16, core_matrix_tile<bf16>(64, 128)>;
  expect_descriptor_reads_what_indexing_writes<Cores, Major::kMN>(0, 16, 128, 16);
}

// Every thread writes a row by index, and reads the row of its neighbour in another way: through operator(),
// or sixteen bytes at once.
template <bool by_sixteen_bytes>
struct RowExchange {
  static constexpr std::uint32_t kThreads = 32;
  static constexpr std::uint32_t kCols = 128;

  struct Params {
    std::uint16_t* out;  // kThreads x kCols
    std::uint64_t* descriptors;
  };
  struct Shared {
    SMemArray<std::uint32_t, 1> something_before;
    SMemTileArray2D<bf16, TileShape{kThreads, kCols}, 2, Swizzle::k128B> tiles;
  };

  static void run(const Params& params, Shared& shared) {
    const auto tile = shared.tiles[1];
    const std::uint32_t row = isa::tid_x();
    for (std::uint32_t col = 0; col < kCols; ++col) {
      tile.store({static_cast<std::uint16_t>(row * kCols + col)}, row, col);
    }
    isa::syncthreads();
    const std::uint32_t from = (row + 1) % kThreads;
    if constexpr (by_sixteen_bytes) {
      for (std::uint32_t col = 0; col < kCols; col += 8) {
        const isa::Bytes16 bytes = tile.load_bytes16(from, col);
        for (std::uint32_t i = 0; i < 8; ++i) {
          const std::uint32_t value = bytes.word[i / 2] >> (16 * (i % 2));
          isa::st_global(params.out + row * kCols + col + i, static_cast<std::uint16_t>(value));
        }
      }
    } else {
      for (std::uint32_t col = 0; col < kCols; ++col) {
        const bf16 value = tile(from, col);
        isa::st_global(params.out + row * kCols + col, value.bits);
      }
    }
    if (row == 0) {
      isa::st_global(params.descriptors, tile.wgmma_descriptor());
      isa::st_global(params.descriptors + 1, tile.template tcgen05_descriptor<Major::kMN>(64, 8));
    }
  }
};

struct SharedWrites : sim::Watcher<SharedWrites> {
  void on(const sim::event::SharedWrite& event) {
    EXPECT_EQ(event.bytes, sizeof(bf16));
    EXPECT_TRUE(addresses.insert(event.address).second) << "written twice: " << event.address;
  }
  std::set<std::uint32_t> addresses;
};

template <bool by_sixteen_bytes>
void expect_rows_are_exchanged() {
  using Kernel = RowExchange<by_sixteen_bytes>;
  std::vector<std::uint16_t> out(Kernel::kThreads * Kernel::kCols);
  std::vector<std::uint64_t> descriptors(2);
  sim::GlobalMemory memory;
  memory.add("out", out.data(), out.size() * sizeof(out[0]));
  memory.add("descriptors", descriptors.data(), descriptors.size() * sizeof(descriptors[0]));
  SharedWrites writes;
  const sim::Report report = sim::launch<Kernel>({.memory = &memory, .observers = {&writes}}, {},
                                                 {.out = out.data(), .descriptors = descriptors.data()});
  ASSERT_TRUE(report.ok()) << report.text();
  for (std::uint32_t row = 0; row < Kernel::kThreads; ++row) {
    for (std::uint32_t col = 0; col < Kernel::kCols; ++col) {
      ASSERT_EQ(out[row * Kernel::kCols + col], (row + 1) % Kernel::kThreads * Kernel::kCols + col);
    }
  }

  // The simulated SM sees each store where the layout puts the element, in the second tile.
  constexpr std::uint32_t tile_bytes = Kernel::kThreads * Kernel::kCols * sizeof(bf16);
  ASSERT_EQ(writes.addresses.size(), Kernel::kThreads * Kernel::kCols);
  const std::uint32_t tile_address = *writes.addresses.begin();
  EXPECT_EQ(tile_address % 1024, 0U);
  EXPECT_EQ(*writes.addresses.rbegin(), tile_address + tile_bytes - sizeof(bf16));

  const SmemDescriptor wgmma = decode_wgmma_descriptor(descriptors[0]).fields;
  EXPECT_EQ(wgmma.start_address, tile_address);
  EXPECT_EQ(wgmma.stride_bytes, 1024U);
  const SmemDescriptor tcgen05 = decode_tcgen05_descriptor(descriptors[1]).fields;
  EXPECT_EQ(tcgen05.start_address, tile_address + Kernel::kThreads * 128 + 8 * 128);
  EXPECT_EQ(tcgen05.leading_bytes, Kernel::kThreads * 128);
}

TEST(TileTensor, LoadsAndStoresGoThroughTheSimulatedSm) { expect_rows_are_exchanged<false>(); }

TEST(TileTensor, SixteenBytesAreReadAsTheyWereWrittenOneByOne) { expect_rows_are_exchanged<true>(); }

struct ElementCopy {
  static constexpr std::uint32_t kThreads = 32;
  struct Params {
    std::uint32_t* out;
  };
  struct Shared {
    SMemTileArray2DRowMajor<std::uint32_t, TileShape{1, 32}, 1> tiles;
  };

  static void run(const Params& params, Shared& shared) {
    const auto tile = shared.tiles[0];
    if (isa::tid_x() != 0) return;
    tile(0, 3) = 42U;
    tile(0, 5) = tile(0, 3);
    isa::st_global(params.out, tile.load({0, 5}));
  }
};

TEST(TileTensor, AssigningOneElementToAnotherCopiesTheValue) {
  std::uint32_t out = 0;
  sim::GlobalMemory memory;
  memory.add("out", &out, sizeof(out));
  const sim::Report report = sim::launch<ElementCopy>({.memory = &memory}, {}, {.out = &out});
  ASSERT_TRUE(report.ok()) << report.text();
  EXPECT_EQ(out, 42U);
}

}  // namespace
