// SPDX-License-Identifier: Apache-2.0
//
// Every form of the instructions on tensor memory and its tensor core, in kernels of one CTA and of a pair.
#include <heddle/isa/address.h>
#include <heddle/isa/cluster.h>
#include <heddle/isa/entry.h>
#include <heddle/isa/fence.h>
#include <heddle/isa/mbarrier.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/tcgen05.h>
#include <heddle/isa/warp.h>
#include <heddle/tile/tmem_view.h>

namespace heddle::inline HEDDLE_TARGET {

struct FormsParams {
  std::uint32_t* out;
  std::uint64_t a_descriptor;
  std::uint64_t b_descriptor;
};

struct FormsShared {
  SharedMemBarrier done;
  std::uint32_t base;
};

HEDDLE_DEVICE void wait_done(FormsShared& shared, std::uint32_t parity) {
  while (!isa::mbarrier_try_wait_parity(&shared.done, parity)) {
  }
}

template <std::uint32_t count>
HEDDLE_DEVICE std::uint32_t sum_of(const std::uint32_t (&r)[count]) {
  std::uint32_t sum = 0;
  for (std::uint32_t i = 0; i < count; ++i) sum += r[i];
  return sum;
}

// Multiplications of all plain kinds, then an epilogue through a view.
template <int cta_group>
struct MmaForms {
  using Params = FormsParams;
  using Shared = FormsShared;
  static constexpr std::uint32_t kThreads = 128;
  static constexpr std::uint32_t kM = 128 * cta_group;
  static constexpr AccumulatorShape kShape{.m = kM, .n = 256, .cta_group = cta_group};

  HEDDLE_DEVICE static void run(const Params& params, Shared& shared) {
    if (isa::tid_x() == 0) {
      isa::mbarrier_init(&shared.done, 1);
      isa::fence_mbarrier_init();
    }
    isa::cluster_sync();
    if (isa::warp_idx() == 0) TmemAllocation<cta_group>::allocate(&shared.base, 256);
    isa::cluster_sync();
    const auto tmem = TmemAllocation<cta_group>::from_shared(&shared.base, 256);
    if (isa::warp_idx() == 0 && isa::elect_sync()) issue(params, shared, tmem.address());
    wait_done(shared, 0);
    isa::tcgen05_fence_after_thread_sync();
    const TmemTensor<float, kShape> d(tmem.address());
    for (std::uint32_t column = 0; column < 256; column += 32) {
      TmemFragment<float, 32> r;
      d.load(r, column);
      isa::tcgen05_wait_ld();
      for (std::uint32_t i = 0; i < 32; ++i) {
        isa::st_global(&params.out[d.row() * 256 + d.column(column) + i],
                       __builtin_bit_cast(std::uint32_t, r[i]));
      }
    }
    isa::tcgen05_fence_before_thread_sync();
    isa::cluster_sync();
    if (isa::warp_idx() == 0) {
      TmemAllocation<cta_group>::relinquish();
      tmem.deallocate();
    }
    isa::cluster_sync();
  }

  HEDDLE_DEVICE static void issue(const Params& params, Shared& shared, TmemAddress d) {
    constexpr std::uint32_t kBf16 = instruction_descriptor(
        InstructionDescriptor{.m = kM, .n = 256, .a_type = OperandType::kBf16, .b_type = OperandType::kBf16});
    constexpr std::uint32_t kTf32 = instruction_descriptor(InstructionDescriptor{
        .kind = MmaKind::kTf32, .m = kM, .n = 256, .a_type = OperandType::kTf32, .b_type = OperandType::kTf32});
    constexpr std::uint32_t kFp8 = instruction_descriptor(InstructionDescriptor{
        .kind = MmaKind::kF8f6f4, .m = kM, .n = 256, .a_type = OperandType::kE4m3, .b_type = OperandType::kE4m3});
    const std::uint64_t a = params.a_descriptor;
    const std::uint64_t b = params.b_descriptor;
    isa::tcgen05_mma<MmaKind::kF16, cta_group>(d.bits(), a, b, kBf16, false);
    isa::tcgen05_mma<MmaKind::kTf32, cta_group>(d.bits(), a, b, kTf32, true);
    isa::tcgen05_mma<MmaKind::kF8f6f4, cta_group>(d.bits(), a, b, kFp8, true);
    isa::tcgen05_mma_tmem_a<MmaKind::kF16, cta_group>(d.bits(), d.plus_cols(8).bits(), b, kBf16, true);
    isa::tcgen05_mma_tmem_a<MmaKind::kTf32, cta_group>(d.bits(), d.plus_cols(8).bits(), b, kTf32, true);
    isa::tcgen05_mma_tmem_a<MmaKind::kF8f6f4, cta_group>(d.bits(), d.plus_cols(8).bits(), b, kFp8, true);
    issue_scaled(a, b, d);
    if constexpr (cta_group == 2) {
      isa::tcgen05_commit_multicast<2>(&shared.done, 0b11);
    } else {
      isa::tcgen05_commit<1>(&shared.done);
    }
  }

  HEDDLE_DEVICE static void issue_scaled(std::uint64_t a, std::uint64_t b, TmemAddress d) {
    constexpr std::uint32_t kMxfp8 =
        instruction_descriptor(BlockScaledInstructionDescriptor{.kind = MmaKind::kMxf8f6f4, .m = kM, .n = 128});
    constexpr std::uint32_t kMxfp4 = instruction_descriptor(BlockScaledInstructionDescriptor{
        .kind = MmaKind::kMxf4, .m = kM, .n = 128, .a_type = OperandType::kE2m1, .b_type = OperandType::kE2m1});
    constexpr std::uint32_t kNvfp4 =
        instruction_descriptor(BlockScaledInstructionDescriptor{.kind = MmaKind::kMxf4nvf4,
                                                                .m = kM,
                                                                .n = 128,
                                                                .a_type = OperandType::kE2m1,
                                                                .b_type = OperandType::kE2m1,
                                                                .scale_type = ScaleType::kUe4m3});
    const std::uint32_t sfa = d.plus_cols(128).bits();
    const std::uint32_t sfb = d.plus_cols(132).bits();
    isa::tcgen05_cp_32x128b_warpx4<cta_group>(sfa, a);
    isa::tcgen05_cp_128x256b<cta_group>(sfb, b);
    isa::tcgen05_cp_128x128b<cta_group>(sfb, b);
    isa::tcgen05_cp_64x128b_warpx2_02_13<cta_group>(sfb, b);
    isa::tcgen05_cp_64x128b_warpx2_01_23<cta_group>(sfb, b);
    isa::tcgen05_cp_4x256b<cta_group>(sfb, b);
    isa::tcgen05_mma_block_scale<MmaKind::kMxf8f6f4, cta_group>(d.bits(), a, b, kMxfp8, sfa, sfb, false);
    isa::tcgen05_mma_block_scale<MmaKind::kMxf4, cta_group>(d.bits(), a, b, kMxfp4, sfa, sfb, true);
    isa::tcgen05_mma_block_scale<MmaKind::kMxf4nvf4, cta_group, 4>(d.bits(), a, b, kNvfp4, sfa, sfb, true);
  }
};

// Loads and stores of every shape, small and large.
struct TransferForms {
  using Params = FormsParams;
  using Shared = FormsShared;
  static constexpr std::uint32_t kThreads = 128;

  HEDDLE_DEVICE static void run(const Params& params, Shared& shared) {
    if (isa::warp_idx() == 0) isa::tcgen05_alloc<1>(&shared.base, 512);
    isa::syncthreads();
    const std::uint32_t base = TmemAddress(isa::ld_shared(&shared.base)).of_warp(isa::warp_idx()).bits();
    std::uint32_t r[32];
    for (std::uint32_t i = 0; i < 32; ++i) r[i] = i;
    isa::tcgen05_st_32x32b(base, r);
    isa::tcgen05_st_16x64b(base + 64, r);
    isa::tcgen05_st_16x128b(base + 128, r);
    isa::tcgen05_st_16x256b(base + 192, r);
    isa::tcgen05_st_16x32bx2<32>(base + 256, r);
    isa::tcgen05_wait_st();
    std::uint32_t large[128];
    std::uint32_t small[4];
    isa::tcgen05_ld_32x32b(large, base);
    isa::tcgen05_wait_ld();
    std::uint32_t sum = sum_of(large);
    isa::tcgen05_ld_16x64b(r, base);
    isa::tcgen05_ld_16x128b(small, base);
    isa::tcgen05_wait_ld();
    sum += sum_of(r) + sum_of(small);
    isa::tcgen05_ld_16x256b(r, base);
    isa::tcgen05_ld_16x32bx2<4>(small, base);
    isa::tcgen05_wait_ld();
    isa::st_global(&params.out[isa::tid_x()], sum + sum_of(r) + sum_of(small));
    isa::syncthreads();
    if (isa::warp_idx() == 0) isa::tcgen05_dealloc<1>(isa::ld_shared(&shared.base), 512);
  }
};

#if HEDDLE_ON_CUDA
template __global__ void isa::kernel_entry<MmaForms<1>>(const __grid_constant__ FormsParams params);
template __global__ void isa::kernel_entry<MmaForms<2>>(const __grid_constant__ FormsParams params);
template __global__ void isa::kernel_entry<TransferForms>(const __grid_constant__ FormsParams params);
#else
static_assert(Kernel<MmaForms<1>> && Kernel<MmaForms<2>> && Kernel<TransferForms>);
#endif

}  // namespace heddle::inline HEDDLE_TARGET
