// SPDX-License-Identifier: Apache-2.0
//
// Scale factors: tcgen05.cp from shared to tensor memory in every shape, and block-scaled multiplications of one
// CTA and of a pair, with the scales where the manual puts them.
#include "tcgen05_tiles.h"

#include <heddle/tile/scale_factors.h>
#include <heddle/tile/tcgen05_mma.h>

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <string>
#include <vector>

namespace heddle {
namespace {

using tcgen05_test::a_value;
using tcgen05_test::b_value;
using tcgen05_test::Layout;
using test::is_silent;
using test::run_kernel;

// tcgen05.cp.

struct CopyShared {
  alignas(1024) isa::Bytes16 image[1024];
  SharedMemBarrier done;
  std::uint32_t base;
};

constexpr std::uint32_t kNothing = 0xFFFF'FFFF;

// Copies with a shape from an image of words that say where they are, and returns the lanes of 8 columns.
template <class Copy>
std::vector<std::array<std::uint32_t, 8>> copied(const SmemDescriptor& from, const Copy& copy) {
  std::vector<std::array<std::uint32_t, 8>> seen(128);
  const sim::Report report = run_kernel<CopyShared>(
      {.threads = 128, .schedule = sim::Schedule::random(3), .arch = Arch::kSm100}, [&](CopyShared& shared) {
        for (std::uint32_t i = isa::tid_x(); i < 1024; i += 128) {
          isa::st_shared(&shared.image[i], isa::Bytes16{{4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3}});
        }
        isa::fence_proxy_async_shared_cta();
        if (isa::tid_x() == 0) test::init_barrier(&shared.done, 1);
        if (isa::warp_idx() == 0) isa::tcgen05_alloc<1>(&shared.base, 32);
        isa::syncthreads();
        const std::uint32_t base = isa::ld_shared(&shared.base) + 5;
        const std::uint32_t own = base + (32 * isa::warp_idx() << 16);
        std::uint32_t r[8];
        std::fill_n(r, 8, kNothing);
        isa::tcgen05_st_32x32b(own, r);
        isa::tcgen05_wait_st();
        isa::tcgen05_fence_before_thread_sync();
        isa::syncthreads();
        if (isa::tid_x() == 0) {
          isa::tcgen05_fence_after_thread_sync();
          SmemDescriptor fields = from;
          fields.start_address += isa::shared_address(shared.image);
          copy(base, tcgen05_descriptor(fields));
          isa::tcgen05_commit<1>(&shared.done);
        }
        test::wait_parity(&shared.done, 0);
        isa::tcgen05_fence_after_thread_sync();
        isa::tcgen05_ld_32x32b(r, own);
        isa::tcgen05_wait_ld();
        std::copy_n(r, 8, seen[isa::tid_x()].begin());
        isa::syncthreads();
        if (isa::warp_idx() == 0) isa::tcgen05_dealloc<1>(base - 5, 32);
      });
  EXPECT_TRUE(is_silent(report));
  return seen;
}

// Row r, word w of the source: groups of 8 rows are `stride` apart, and the second 16 bytes `leading`.
std::uint32_t word_at(std::uint32_t r, std::uint32_t w, std::uint32_t leading, std::uint32_t stride) {
  return (r / 8 * stride + r % 8 * 16 + w / 4 * leading) / 4 + w % 4;
}

TEST(Tcgen05Copy, PutsRowsIntoTheLanesOfItsShape) {
  const SmemDescriptor from{.start_address = 256, .leading_bytes = 4096, .stride_bytes = 144};
  const auto expect = [&](const std::vector<std::array<std::uint32_t, 8>>& seen, std::uint32_t words,
                          auto&& row_of) {
    for (std::uint32_t lane = 0; lane < 128; ++lane) {
      for (std::uint32_t w = 0; w < 8; ++w) {
        const int row = row_of(lane);
        const std::uint32_t expected =
            w < words && row >= 0 ? 64 + word_at(static_cast<std::uint32_t>(row), w, 4096, 144) : kNothing;
        ASSERT_EQ(seen[lane][w], expected) << "lane " << lane << ", column " << w;
      }
    }
  };
  const auto own = [](std::uint32_t lane) { return static_cast<int>(lane); };
  expect(copied(from, [](auto t, auto d) { isa::tcgen05_cp_128x256b<1>(t, d); }), 8, own);
  expect(copied(from, [](auto t, auto d) { isa::tcgen05_cp_128x128b<1>(t, d); }), 4, own);
  expect(copied(from, [](auto t, auto d) { isa::tcgen05_cp_64x128b_warpx2_02_13<1>(t, d); }), 4,
         [](std::uint32_t lane) { return static_cast<int>(lane % 64); });
  expect(copied(from, [](auto t, auto d) { isa::tcgen05_cp_64x128b_warpx2_01_23<1>(t, d); }), 4,
         [](std::uint32_t lane) { return static_cast<int>(lane % 32 + 32 * (lane / 64)); });
  expect(copied(from, [](auto t, auto d) { isa::tcgen05_cp_32x128b_warpx4<1>(t, d); }), 4,
         [](std::uint32_t lane) { return static_cast<int>(lane % 32); });
  expect(copied(from, [](auto t, auto d) { isa::tcgen05_cp_4x256b<1>(t + (7 << 16), d); }), 8,
         [](std::uint32_t lane) { return lane % 32 == 7 ? static_cast<int>(lane / 32) : -1; });
}

TEST(Tcgen05Copy, RefusesWhatItCannotCopy) {
  const auto line = [](const SmemDescriptor& from, std::uint32_t lane) {
    return test::first_line(
        run_kernel<CopyShared>({.threads = 32, .arch = Arch::kSm100}, [&](CopyShared& shared) {
          isa::tcgen05_alloc<1>(&shared.base, 32);
          SmemDescriptor fields = from;
          fields.start_address += isa::shared_address(shared.image);
          if (isa::elect_sync()) isa::tcgen05_cp_32x128b_warpx4<1>(lane << 16, tcgen05_descriptor(fields));
        }));
  };
  EXPECT_EQ(line({.stride_bytes = 128}, 32),
            "[tmem_lane] tcgen05.cp.32x128b.warpx4 at 0x00200000: the lane is 32; it is 0");
  EXPECT_EQ(line({.stride_bytes = 8192}, 0).substr(0, 16), "[bad_descriptor]");
  // The base offset moves a swizzle pattern.
  const SmemDescriptor shifted{.stride_bytes = 1024, .swizzle = Swizzle::k128B, .base_offset = 1};
  EXPECT_EQ(line(shifted, 0).substr(0, 13), "[unsupported]");
}

// Block-scaled multiplications.

struct Case {
  BlockScaledInstructionDescriptor fields;
  int scale_vec = 1;
  std::uint32_t steps = 1;  // K steps of one stage; their scales lie in one block of columns

  bool is_fp4() const { return fields.kind != MmaKind::kMxf8f6f4; }
  std::uint32_t step_depth() const { return is_fp4() ? 64 : 32; }
  std::uint32_t scales_per_step() const { return static_cast<std::uint32_t>(scale_vec); }
  std::uint32_t depth() const { return steps * step_depth(); }
};

// Scales that say where they are: of row r and scale s.
std::uint8_t scale_bits(ScaleType type, std::uint32_t r, std::uint32_t s) {
  if (type == ScaleType::kUe8m0) return static_cast<std::uint8_t>(125 + (r * 3 + s) % 5);
  return static_cast<std::uint8_t>(0x30 + (r * 5 + s * 3) % 16);  // 0.5 to 1.875
}

float scale_value(ScaleType type, std::uint8_t bits) {
  return type == ScaleType::kUe8m0 ? ue8m0{bits}.to_float() : ue4m3{bits}.to_float();
}

struct ScaledShared {
  alignas(1024) isa::Bytes16 image[6 * 1024];  // A, then B
  alignas(128) isa::Bytes16 sfa[32];           // 128 rows x 4 scales
  alignas(128) isa::Bytes16 sfb[64];           // two blocks: 256 rows
  SharedMemBarrier done;
  std::uint32_t base;
};

constexpr std::uint32_t kAColumns = 256;  // D takes the columns before
constexpr std::uint32_t kBColumns = 264;

// Where the scale of a row lies in its block of 512 bytes.
std::uint32_t scale_offset(std::uint32_t r, std::uint32_t s) {
  return r / 128 * 512 + r % 32 * 16 + r % 128 / 32 * 4 + s;
}

// With `by_tiles`, operands of 128 rows of A and 64 of B, and their scales, are multiplied as tiles, all steps in
// one call.
template <MmaKind kind, int cta_group, int scale_vec, bool by_tiles = false, class Change>
sim::Report run_scaled(const Case& c, std::vector<float>& d, sim::Schedule schedule, const Change& change) {
  const BlockScaledInstructionDescriptor& f = c.fields;
  constexpr std::uint32_t group = cta_group;
  const std::uint32_t a_rows = f.m / group;
  const std::uint32_t b_rows = f.n / group;
  const tcgen05_test::Problem shape{.steps = c.steps};
  const Layout a = tcgen05_test::make_layout(shape, Major::kK, Swizzle::k128B, OperandType::kE4m3, a_rows);
  const Layout b = tcgen05_test::make_layout(shape, Major::kK, Swizzle::k128B, OperandType::kE4m3, b_rows);
  const tcgen05_test::SmallIntegers a_integers(f.a_type);
  const tcgen05_test::SmallIntegers b_integers(f.b_type);
  std::vector<std::vector<isa::Bytes16>> images;
  std::vector<std::vector<isa::Bytes16>> scales;
  for (std::uint32_t cta = 0; cta < group; ++cta) {
    images.emplace_back(6 * 1024);
    scales.emplace_back(96);
    auto* bytes = reinterpret_cast<std::byte*>(images.back().data());
    auto* scale_bytes = reinterpret_cast<std::uint8_t*>(scales.back().data());
    for (std::uint32_t k = 0; k < c.depth(); ++k) {
      for (std::uint32_t r = 0; r < a_rows; ++r) {
        a.put(bytes, f.a_type, c.is_fp4(), r, k, a_integers.bits(a_value(cta * a_rows + r, k)));
      }
      for (std::uint32_t r = 0; r < b_rows; ++r) {
        b.put(bytes + a.total_bytes, f.b_type, c.is_fp4(), r, k, b_integers.bits(b_value(cta * b_rows + r, k)));
      }
    }
    for (std::uint32_t s = 0; s < 4; ++s) {
      for (std::uint32_t r = 0; r < a_rows; ++r) {
        scale_bytes[scale_offset(r, s)] = scale_bits(f.scale_type, cta * a_rows + r, s);
      }
      for (std::uint32_t r = 0; r < f.n; ++r)
        scale_bytes[512 + scale_offset(r, s)] = scale_bits(f.scale_type, r + 7, s);
    }
  }
  // D, and behind it 8 columns that it must not touch, if there is room.
  const bool looks_beyond = f.n + 8 <= kAColumns;
  d.assign(std::size_t{f.m} * (f.n + 8), 0);
  sim::GlobalMemory memory;
  for (const auto& image : images) memory.add_read_only("image", image.data(), 16 * image.size());
  for (const auto& block : scales) memory.add_read_only("scales", block.data(), 16 * block.size());
  memory.add("d", d.data(), 4 * d.size());
  const auto kernel = [&](ScaledShared& shared) {
    const std::uint32_t rank = cta_group == 2 ? isa::cluster_ctarank() : 0;
    for (std::size_t i = isa::tid_x(); i < 6 * 1024; i += 128) {
      isa::st_shared(&shared.image[i], isa::ld_global(&images[rank][i]));
    }
    for (std::size_t i = isa::tid_x(); i < 96; i += 128) {
      isa::st_shared(i < 32 ? &shared.sfa[i] : &shared.sfb[i - 32], isa::ld_global(&scales[rank][i]));
    }
    isa::fence_proxy_async_shared_cta();
    if (isa::tid_x() == 0) test::init_barrier(&shared.done, 1);
    isa::cluster_sync();
    if (isa::warp_idx() == 0) isa::tcgen05_alloc<cta_group>(&shared.base, 512);
    isa::cluster_sync();
    const std::uint32_t base = isa::ld_shared(&shared.base);
    const std::uint32_t own = base + (32 * isa::warp_idx() << 16);
    std::uint32_t r[8];
    std::fill_n(r, 8, 0x3F80'0000u);
    if (looks_beyond) isa::tcgen05_st_32x32b(own + f.n, r);
    isa::tcgen05_wait_st();
    isa::tcgen05_fence_before_thread_sync();
    isa::cluster_sync();
    if (rank == 0 && isa::tid_x() == 0) {
      isa::tcgen05_fence_after_thread_sync();
      const auto block = [](const isa::Bytes16* at) {
        return tcgen05_descriptor({.start_address = isa::shared_address(at), .stride_bytes = 128});
      };
      isa::tcgen05_cp_32x128b_warpx4<cta_group>(base + kAColumns, block(shared.sfa));
      isa::tcgen05_cp_32x128b_warpx4<cta_group>(base + kBColumns, block(shared.sfb));
      isa::tcgen05_cp_32x128b_warpx4<cta_group>(base + kBColumns + 4, block(shared.sfb + 32));
      const std::uint32_t start = isa::shared_address(shared.image);
      if constexpr (by_tiles) {
        using A = TileTensor<e4m3, k_major_tile<e4m3>(128, 128, Swizzle::k128B)>;
        using B = TileTensor<e4m3, k_major_tile<e4m3>(64, 128, Swizzle::k128B)>;
        using Scales = TmemScales<ScaleFactorShape{.rows = 128, .scales_per_row = 4}>;
        auto* const at = reinterpret_cast<e4m3*>(shared.image);
        tcgen05_mma_block_scale<kind, scale_vec>(
            TmemTensor<float, AccumulatorShape{.m = 128, .n = 64}>(TmemAddress(base)), A(at).operand(),
            B(at + a.total_bytes).operand(), Scales(TmemAddress(base + kAColumns)),
            Scales(TmemAddress(base + kBColumns)), false, instruction_descriptor(f));
      }
      for (std::uint32_t step = 0; !by_tiles && step < c.steps; ++step) {
        BlockScaledInstructionDescriptor now = f;
        now.sfa_id = step * c.scales_per_step();
        now.sfb_id = now.sfa_id;
        std::uint32_t word = instruction_descriptor(now);
        std::uint32_t sfa = base + kAColumns;
        std::uint32_t sfb = base + kBColumns;
        change(word, sfa, sfb);
        isa::tcgen05_mma_block_scale<kind, cta_group, scale_vec>(
            base, advanced_descriptor(tcgen05_descriptor(a.descriptor(0)), start + step * 32),
            advanced_descriptor(tcgen05_descriptor(b.descriptor(a.total_bytes)), start + step * 32), word, sfa,
            sfb, step != 0);
      }
      if constexpr (cta_group == 2) {
        isa::tcgen05_commit_multicast<2>(&shared.done, 0b11);
      } else {
        isa::tcgen05_commit<1>(&shared.done);
      }
    }
    test::wait_parity(&shared.done, 0);
    isa::tcgen05_fence_after_thread_sync();
    for (std::uint32_t column = 0; column < f.n + (looks_beyond ? 8 : 0); column += 8) {
      isa::tcgen05_ld_32x32b(r, own + column);
      isa::tcgen05_wait_ld();
      for (std::uint32_t i = 0; i < 8; ++i) {
        isa::st_global(&d[std::size_t{rank * 128 + isa::tid_x()} * (f.n + 8) + column + i],
                       std::bit_cast<float>(r[i]));
      }
    }
    isa::cluster_sync();
    if (isa::warp_idx() == 0) isa::tcgen05_dealloc<cta_group>(base, 512);
    isa::cluster_sync();
  };
  return run_kernel<ScaledShared>({.threads = 128,
                                   .grid = {group},
                                   .cluster = {group},
                                   .memory = &memory,
                                   .schedule = schedule,
                                   .arch = Arch::kSm100},
                                  kernel);
}

template <MmaKind kind, int cta_group, int scale_vec, bool by_tiles = false>
void expect_exact(Case c, sim::Schedule schedule = {}) {
  c.fields.kind = kind;
  c.scale_vec = scale_vec;
  std::vector<float> d;
  const sim::Report report =
      run_scaled<kind, cta_group, scale_vec, by_tiles>(c, d, schedule, [](auto&, auto&, auto&) {});
  ASSERT_TRUE(is_silent(report));
  // Rows of an operand with their scales: exact, for they have few bits.
  const std::uint32_t per_scale = c.step_depth() / c.scales_per_step();
  const auto scaled = [&](std::uint32_t rows, std::uint32_t first_scale, auto&& value_at) {
    std::vector<double> values;
    for (std::uint32_t r = 0; r < rows; ++r) {
      for (std::uint32_t k = 0; k < c.depth(); ++k) {
        const std::uint8_t bits = scale_bits(c.fields.scale_type, r + first_scale, k / per_scale);
        values.push_back(static_cast<double>(value_at(r, k)) * scale_value(c.fields.scale_type, bits));
      }
    }
    return values;
  };
  const std::vector<double> a = scaled(c.fields.m, 0, a_value);
  const std::vector<double> b = scaled(c.fields.n, 7, b_value);
  for (std::uint32_t m = 0; m < c.fields.m; ++m) {
    for (std::uint32_t n = 0; n < c.fields.n; ++n) {
      const double* row = a.data() + std::size_t{m} * c.depth();
      double sum = std::inner_product(row, row + c.depth(), b.data() + std::size_t{n} * c.depth(), 0.0);
      if (c.fields.negate_a) sum = -sum;
      ASSERT_EQ(d[std::size_t{m} * (c.fields.n + 8) + n], sum) << "row " << m << ", column " << n;
    }
  }
}

TEST(Tcgen05Scaled, MultipliesMxfp8WithTheScalesOfEachStep) {
  expect_exact<MmaKind::kMxf8f6f4, 1, 1>({.fields = {.m = 128, .n = 64}, .steps = 4});
  expect_exact<MmaKind::kMxf8f6f4, 1, 1>({.fields = {.m = 128, .n = 200}, .steps = 1});
  expect_exact<MmaKind::kMxf8f6f4, 2, 1>({.fields = {.m = 256, .n = 208}, .steps = 4});
  expect_exact<MmaKind::kMxf8f6f4, 1, 1>(
      {.fields =
           {.m = 128, .n = 24, .a_type = OperandType::kE5m2, .b_type = OperandType::kE2m1, .negate_a = true},
       .steps = 2});
}

TEST(Tcgen05Scaled, MultipliesTilesWithAllTheirScales) {
  expect_exact<MmaKind::kMxf8f6f4, 1, 1, true>({.fields = {.m = 128, .n = 64}, .steps = 4});
}

TEST(Tcgen05Scaled, MultipliesMxfp4AndNvfp4) {
  constexpr OperandType kFp4 = OperandType::kE2m1;
  const BlockScaledInstructionDescriptor mxfp4{
      .kind = MmaKind::kMxf4, .m = 128, .n = 72, .a_type = kFp4, .b_type = kFp4};
  expect_exact<MmaKind::kMxf4, 1, 2>({.fields = mxfp4, .steps = 2});
  expect_exact<MmaKind::kMxf4nvf4, 1, 2>({.fields = mxfp4, .steps = 2});
  BlockScaledInstructionDescriptor nvfp4 = mxfp4;
  nvfp4.scale_type = ScaleType::kUe4m3;
  expect_exact<MmaKind::kMxf4nvf4, 1, 4>({.fields = nvfp4, .steps = 1});
  expect_exact<MmaKind::kMxf4nvf4, 1, 4>({.fields = mxfp4, .steps = 1});
  nvfp4.m = 256;
  nvfp4.n = 256;
  nvfp4.negate_a = true;
  expect_exact<MmaKind::kMxf4nvf4, 2, 4>({.fields = nvfp4, .steps = 1});
}

TEST(Tcgen05Scaled, GivesTheSameResultUnderEverySchedule) {
  for (const sim::Schedule& schedule : test::some_schedules(10)) {
    expect_exact<MmaKind::kMxf8f6f4, 2, 1>({.fields = {.m = 256, .n = 16}, .steps = 2}, schedule);
  }
}

template <MmaKind kind, int scale_vec, class Change>
std::string refused(BlockScaledInstructionDescriptor fields, const Change& change) {
  fields.kind = kind;
  std::vector<float> d;
  return test::first_line(
      run_scaled<kind, 1, scale_vec>({.fields = fields, .scale_vec = scale_vec}, d, {}, change));
}

TEST(Tcgen05Scaled, RefusesOperandsThatDoNotGoTogether) {
  const BlockScaledInstructionDescriptor mxfp8{.m = 128, .n = 64};
  const BlockScaledInstructionDescriptor nvfp4{.kind = MmaKind::kMxf4nvf4,
                                               .m = 128,
                                               .n = 64,
                                               .a_type = OperandType::kE2m1,
                                               .b_type = OperandType::kE2m1,
                                               .scale_type = ScaleType::kUe4m3};
  EXPECT_EQ((refused<MmaKind::kMxf8f6f4, 1>(mxfp8, [](auto&, auto& sfa, auto&) { sfa -= kAColumns - 60; })),
            "[tmem_overlap] tcgen05.mma m128n64.f32.e4m3.e4m3: D takes columns 0 to 63, and the scales of A "
            "columns 60 to "
            "63");
  EXPECT_EQ((refused<MmaKind::kMxf8f6f4, 1>(mxfp8, [](auto&, auto&, auto& sfb) { sfb |= 16 << 16; })),
            "[tmem_lane] tcgen05.mma m128n64.f32.e4m3.e4m3 with the scales of B at 0x00100108: the lane is 16; "
            "it is 0");
  EXPECT_EQ((refused<MmaKind::kMxf8f6f4, 1>(mxfp8, [](auto&, auto&, auto& sfb) { sfb = 511; })),
            "[tmem_out_of_bounds] tcgen05.mma m128n64.f32.e4m3.e4m3, for the scales of B, touches columns 511 to "
            "512, which "
            "are not within an allocation");
  EXPECT_EQ((refused<MmaKind::kMxf8f6f4, 1>(mxfp8, [](auto&, auto&, auto& sfb) { sfb += 40; })).substr(0, 20),
            "[uninitialised_read]");
  EXPECT_EQ((refused<MmaKind::kMxf4nvf4, 4>(nvfp4, [](auto& word, auto&, auto&) { word |= 2u << 4; })),
            "[bad_descriptor] tcgen05.mma.kind::mxf4nvf4 with the instruction descriptor 0x081004a0: the scales "
            "start at "
            "byte 0 and 2; 4 scales fill a column, and start at 0");
  EXPECT_EQ((refused<MmaKind::kMxf4nvf4, 2>(nvfp4, [](auto&, auto&, auto&) {})),
            "[bad_descriptor] tcgen05.mma.kind::mxf4nvf4 with the instruction descriptor 0x08100480: "
            "scale_vec::2X with "
            "ue4m3 scales (bit 23 is 0); 2X has ue8m0, and ue4m3 is for 4X");
  EXPECT_EQ((refused<MmaKind::kMxf8f6f4, 1>(mxfp8, [](auto& word, auto&, auto&) { word ^= 3u << 27; })),
            "[bad_shape] tcgen05.mma.kind::mxf8f6f4 with cta_group::1 and M = 256; M is 128");
}

// The bits of a word, which `pick` finds, that may be flipped without a report or another result.
template <MmaKind kind, int scale_vec, class Pick>
std::string ignored(const BlockScaledInstructionDescriptor& fields, const Pick& pick) {
  const Case c{.fields = fields, .scale_vec = scale_vec};
  std::vector<float> right;
  EXPECT_TRUE(is_silent(run_scaled<kind, 1, scale_vec>(c, right, {}, [](auto&, auto&, auto&) {})));
  std::string text;
  for (int bit = 0; bit < 32; ++bit) {
    std::vector<float> d;
    const sim::Report report = run_scaled<kind, 1, scale_vec>(
        c, d, {}, [&](std::uint32_t& word, std::uint32_t& sfa, std::uint32_t& sfb) {
          *pick(&word, &sfa, &sfb) ^= 1u << bit;
        });
    if (report.ok() && d == right) text += " " + std::to_string(bit);
  }
  return text;
}

TEST(Tcgen05Scaled, EveryBitOfTheWordsMattersButTwoOfTheScaleAddresses) {
  const auto word = [](auto* w, auto*, auto*) { return w; };
  const auto sfa = [](auto*, auto* a, auto*) { return a; };
  const auto sfb = [](auto*, auto*, auto* b) { return b; };
  const BlockScaledInstructionDescriptor mxfp8{.m = 128, .n = 32};
  BlockScaledInstructionDescriptor mxfp4{
      .kind = MmaKind::kMxf4, .m = 128, .n = 32, .a_type = OperandType::kE2m1, .b_type = OperandType::kE2m1};
  EXPECT_EQ((ignored<MmaKind::kMxf8f6f4, 1>(mxfp8, word)), "");
  EXPECT_EQ((ignored<MmaKind::kMxf4, 2>(mxfp4, word)), "");
  mxfp4.kind = MmaKind::kMxf4nvf4;
  mxfp4.scale_type = ScaleType::kUe4m3;
  EXPECT_EQ((ignored<MmaKind::kMxf4nvf4, 4>(mxfp4, word)), "");
  // Libraries keep the number of the byte there, and the instruction descriptor is what counts.
  EXPECT_EQ((ignored<MmaKind::kMxf8f6f4, 1>(mxfp8, sfa)), " 30 31");
  EXPECT_EQ((ignored<MmaKind::kMxf8f6f4, 1>(mxfp8, sfb)), " 30 31");
}

TEST(Tcgen05Scaled, ReportsCopiesOfScalesThatDiffer) {
  const sim::Report report =
      run_kernel<ScaledShared>({.threads = 128, .arch = Arch::kSm100}, [](ScaledShared& shared) {
        if (isa::tid_x() == 0) test::init_barrier(&shared.done, 1);
        for (std::uint32_t i = isa::tid_x(); i < 6 * 1024; i += 128)
          isa::st_shared(&shared.image[i], isa::Bytes16{});
        isa::fence_proxy_async_shared_cta();
        if (isa::warp_idx() == 0) isa::tcgen05_alloc<1>(&shared.base, 64);
        isa::syncthreads();
        std::uint32_t r[8];
        std::fill_n(r, 8, 0x7F7F'7F7Fu + isa::warp_idx() / 3);
        isa::tcgen05_st_32x32b(32 | (32 * isa::warp_idx() << 16), r);
        isa::tcgen05_wait_st();
        isa::tcgen05_fence_before_thread_sync();
        isa::syncthreads();
        if (isa::tid_x() != 0) return;
        isa::tcgen05_fence_after_thread_sync();
        const std::uint64_t tile = tcgen05_descriptor({.start_address = isa::shared_address(shared.image),
                                                       .stride_bytes = 1024,
                                                       .swizzle = Swizzle::k128B});
        isa::tcgen05_mma_block_scale<MmaKind::kMxf8f6f4, 1>(
            0, tile, tile, instruction_descriptor(BlockScaledInstructionDescriptor{.m = 128, .n = 16}), 32, 36,
            false);
        isa::tcgen05_commit<1>(&shared.done);
        test::wait_parity(&shared.done, 0);
      });
  EXPECT_TRUE(test::faults_with(
      report, "scale_copies",
      "[scale_copies] tcgen05.mma m128n16.f32.e4m3.e4m3: the scale of row 0 of A is 0x7f in lane "
      "0 and 0x80 in lane 96 of column 32; each quarter of the lanes has a copy of all scales"));
}

}  // namespace
}  // namespace heddle
