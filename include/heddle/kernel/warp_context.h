// SPDX-License-Identifier: Apache-2.0
//
// What the MMA warp and the epilogue warps of a Blackwell kernel do around their loops: tensor memory is
// allocated by the MMA warp, its address goes to the epilogue, and it is freed when the last reader is done.
// These contexts own that hand-shake, whether there are tiles or not, and the output pipeline between the two.
//
//   using Context = WarpContext<WarpContextConfig{.output = opc}>;
//
//   // MMA warp: a linear handle
//   auto mma = Context::MmaHandle::create(shared.tmem, shared.output, ctx.mma_complete_mask());
//   if (ctx.elect_one_thread()) {
//     for (...) {
//       auto stage = mma.acquire_k_stage_linear();
//       ...
//       std::move(stage).release();
//     }
//   }
//   std::move(mma).release();   // waits for the epilogue, frees
//
//   // epilogue warps: a scope
//   Context::EpilogueContext epilogue(shared.tmem, shared.output, ctx.mma_complete_mask());
//   for (...) {
//     auto stage = epilogue.output().consumer();
//     write_output(stage.tmem());
//   }
#pragma once

#include <heddle/isa/annotate.h>
#include <heddle/isa/cluster.h>
#include <heddle/isa/mbarrier.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>
#include <heddle/isa/tcgen05.h>
#include <heddle/isa/tmem.h>
#include <heddle/isa/warp.h>
#include <heddle/isa/watchdog.h>
#include <heddle/linear.h>
#include <heddle/pipeline/output_tile_pipeline.h>
#include <heddle/pipeline/pipeline_storage.h>
#include <heddle/tile/tmem_view.h>

#include <utility>

namespace heddle::inline HEDDLE_TARGET {

struct WarpContextConfig {
  OutputPipelineConfig output = {};
  std::uint32_t tmem_cols = 0;  // to allocate; 0: what the accumulators need
  std::uint32_t epilogue_threads = 128;
  std::uint32_t address_barrier = 1;  // the named barrier on which the address is handed over

  HEDDLE_HOST_DEVICE constexpr std::uint32_t allocated_cols() const {
    return tmem_alloc_cols(tmem_cols != 0 ? tmem_cols : output.num_stages * output.stage_stride_cols);
  }
  bool operator==(const WarpContextConfig&) const = default;
};

template <WarpContextConfig config>
struct WarpContext {
  static_assert(TmemColumns<config.allocated_cols(), kTmemCols>::kFits);
  // The accumulators fit into what is allocated.
  static_assert(
      TmemColumns<config.output.num_stages * config.output.stage_stride_cols, config.allocated_cols()>::kFits);
  static constexpr OutputPipelineConfig output_config = config.output;
  static constexpr std::uint32_t handshake_threads = isa::kWarpThreads + config.epilogue_threads;
  using Tmem = TmemAllocation<static_cast<int>(config.output.cta_group)>;
  using Output = OutputTilePipeline<config.output>;
  using OutputStorage = OutputPipelineStorage<config.output.num_stages>;

  template <class Handle>
  class Scope;

  // The MMA warp's hold of tensor memory. Linear, and it stays where it is. All threads of the warp create and
  // release it; the stages in between belong to the one thread that issues MMAs. In a pair both CTAs' MMA warps
  // create one, and the leader's alone uses stages.
  class HEDDLE_LINEAR MmaHandle {
   public:
    // Allocates, and hands the address to the epilogue.
    [[nodiscard]] HEDDLE_DEVICE static MmaHandle create(TmemDeallocStorage& tmem, OutputStorage& output,
                                                        std::uint16_t mma_complete_mask = 1,
                                                        CallSite site = HEDDLE_HERE) {
      return MmaHandle(tmem, output, mma_complete_mask, site);
    }
    MmaHandle(const MmaHandle&) = delete;
    MmaHandle& operator=(const MmaHandle&) = delete;
    HEDDLE_ONLY_WHEN_ENDED HEDDLE_DEVICE ~MmaHandle() {}

    // The accumulator for the next tile, or for the next step of K in kernels that hand over each.
    [[nodiscard]] HEDDLE_USES HEDDLE_DEVICE typename Output::MmaHandle acquire_k_stage_linear(
        SuspendHint hint = {}, CallSite site = HEDDLE_HERE) & {
      obligation_.require(site);
      return output_.acquire_mma_linear(hint, site);
    }
    HEDDLE_USES HEDDLE_DEVICE Output& output(CallSite site = HEDDLE_HERE) & {
      obligation_.require(site);
      return output_;
    }
    HEDDLE_USES HEDDLE_DEVICE Tmem tmem(CallSite site = HEDDLE_HERE) const& {
      obligation_.require(site);
      return tmem_;
    }

    // Lets others allocate, waits until the epilogue is done with tensor memory, and frees it.
    HEDDLE_ENDS HEDDLE_DEVICE void release(CallSite site = HEDDLE_HERE) && {
      obligation_.fulfil(site);
      isa::syncwarp(isa::kFullMask, site);
      tmem_.relinquish(site);
      const isa::Watchdog watchdog;
      while (!is_unused(site)) watchdog.check("tmem dealloc", "barrier", 0, 0);
      isa::tcgen05_fence_after_thread_sync(site);
      tmem_.deallocate(site);
    }

   private:
    friend class Scope<MmaHandle>;

    HEDDLE_DEVICE MmaHandle(TmemDeallocStorage& storage, OutputStorage& output, std::uint16_t mma_complete_mask,
                            CallSite site)
        : obligation_("tensor memory", 0, site),
          storage_(storage),
          tmem_(Tmem::allocate(storage.address_ptr(), config.allocated_cols(), site)),
          output_(output.barriers.ptr(), tmem_, mma_complete_mask) {
      isa::annotate_named_barriers(config.address_barrier, 1, "tmem address");
      isa::bar_arrive(config.address_barrier, handshake_threads, site);
    }

    HEDDLE_DEVICE bool is_unused(CallSite site) const {
      if constexpr (config.output.cta_group == 1) return isa::mbarrier_try_wait_parity(storage_.mbar(), 0, site);
      return isa::mbarrier_try_wait_parity_cluster(storage_.mbar(), 0, site);
    }

    Obligation obligation_;
    TmemDeallocStorage& storage_;
    Tmem tmem_;
    Output output_;
  };

  // The epilogue's use of tensor memory, as a linear handle or as a scope. All threads of all epilogue warps have
  // one, also where there are no tiles.
  class HEDDLE_LINEAR EpilogueHandle {
   public:
    // Waits for the address.
    [[nodiscard]] HEDDLE_DEVICE static EpilogueHandle create(TmemDeallocStorage& tmem, OutputStorage& output,
                                                             std::uint16_t mma_complete_mask = 1,
                                                             CallSite site = HEDDLE_HERE) {
      return EpilogueHandle(tmem, output, mma_complete_mask, site);
    }
    EpilogueHandle(const EpilogueHandle&) = delete;
    EpilogueHandle& operator=(const EpilogueHandle&) = delete;
    HEDDLE_ONLY_WHEN_ENDED HEDDLE_DEVICE ~EpilogueHandle() {}

    HEDDLE_USES HEDDLE_DEVICE Output& output(CallSite site = HEDDLE_HERE) & {
      obligation_.require(site);
      return output_;
    }
    HEDDLE_USES HEDDLE_DEVICE Tmem tmem(CallSite site = HEDDLE_HERE) const& {
      obligation_.require(site);
      return tmem_;
    }

    // Says, to the MMA warps of the whole CTA group, that this thread is done with tensor memory. By whole warps.
    HEDDLE_ENDS HEDDLE_DEVICE void release(CallSite site = HEDDLE_HERE) && {
      obligation_.fulfil(site);
      isa::tcgen05_wait_ld(site);
      isa::tcgen05_fence_before_thread_sync(site);
      isa::mbarrier_arrive(storage_.mbar(), 1, site);
      if constexpr (config.output.cta_group == 2) {
        isa::mbarrier_arrive_cluster(isa::mapa(storage_.mbar(), isa::cluster_ctarank() ^ 1u, site), 1, site);
      }
    }

   private:
    friend class Scope<EpilogueHandle>;

    HEDDLE_DEVICE EpilogueHandle(TmemDeallocStorage& storage, OutputStorage& output,
                                 std::uint16_t mma_complete_mask, CallSite site)
        : obligation_("tensor memory", 0, site),
          storage_(storage),
          tmem_(receive(storage, site)),
          output_(output.barriers.ptr(), tmem_, mma_complete_mask) {}

    HEDDLE_DEVICE static Tmem receive(TmemDeallocStorage& storage, CallSite site) {
      isa::annotate_named_barriers(config.address_barrier, 1, "tmem address");
      isa::bar_sync(config.address_barrier, handshake_threads, site);
      return Tmem::from_shared(storage.address_ptr(), config.allocated_cols(), site);
    }

    Obligation obligation_;
    TmemDeallocStorage& storage_;
    Tmem tmem_;
    Output output_;
  };

  // A handle of either kind, released at the end of the block.
  template <class Handle>
  class [[nodiscard]] Scope {
   public:
    HEDDLE_DEVICE Scope(TmemDeallocStorage& tmem, OutputStorage& output, std::uint16_t mma_complete_mask = 1,
                        CallSite site = HEDDLE_HERE)
        : handle_(tmem, output, mma_complete_mask, site), created_(site) {}
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    HEDDLE_DEVICE ~Scope() { std::move(handle_).release(created_); }

    HEDDLE_DEVICE Output& output() { return handle_.output(); }
    HEDDLE_DEVICE Tmem tmem() const { return handle_.tmem(); }

   private:
    Handle handle_;
    CallSite created_;
  };

  using MmaContext = Scope<MmaHandle>;
  using EpilogueContext = Scope<EpilogueHandle>;
};

}  // namespace heddle::inline HEDDLE_TARGET
