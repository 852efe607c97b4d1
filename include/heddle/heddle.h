// SPDX-License-Identifier: Apache-2.0
//
// All that kernels use, in reading order; what launches them is in heddle/host.h. What is for the simulated SM
// alone is in heddle/sim/, and ready-made kernels with their host functions are in heddle/kernels/ (the library
// heddle::kernels).
#pragma once

#include <heddle/linear.h>
#include <heddle/version.h>

#include <heddle/pipeline/epilogue_load.h>
#include <heddle/pipeline/input_tile_pipeline.h>
#include <heddle/pipeline/output_tile_pipeline.h>
#include <heddle/pipeline/parted_pipeline.h>
#include <heddle/pipeline/payload.h>
#include <heddle/pipeline/per_k.h>
#include <heddle/pipeline/pipeline.h>
#include <heddle/pipeline/pipeline_bundle.h>
#include <heddle/pipeline/pipeline_storage.h>
#include <heddle/pipeline/store_tile_pipeline.h>
#include <heddle/pipeline/tile_pipeline.h>
#include <heddle/pipeline/wgmma_backend.h>

#include <heddle/kernel/barriers.h>
#include <heddle/kernel/clc_scheduler.h>
#include <heddle/kernel/context.h>
#include <heddle/kernel/cta_life.h>
#include <heddle/kernel/named_barriers.h>
#include <heddle/kernel/roles.h>
#include <heddle/kernel/scheduler.h>
#include <heddle/kernel/shared_memory.h>
#include <heddle/kernel/turns.h>
#include <heddle/kernel/warp_context.h>

#include <heddle/tile/byte_operand.h>
#include <heddle/tile/convert.h>
#include <heddle/tile/early_rows.h>
#include <heddle/tile/edge_load.h>
#include <heddle/tile/element.h>
#include <heddle/tile/epilogue.h>
#include <heddle/tile/fill_tile.h>
#include <heddle/tile/layout.h>
#include <heddle/tile/load_tile.h>
#include <heddle/tile/online_softmax.h>
#include <heddle/tile/operand.h>
#include <heddle/tile/panel_store.h>
#include <heddle/tile/row_softmax.h>
#include <heddle/tile/row_writer.h>
#include <heddle/tile/scale_factors.h>
#include <heddle/tile/smem_array.h>
#include <heddle/tile/store_to.h>
#include <heddle/tile/swizzle.h>
#include <heddle/tile/tcgen05_mma.h>
#include <heddle/tile/tile_tensor.h>
#include <heddle/tile/tmem_plan.h>
#include <heddle/tile/tmem_rows.h>
#include <heddle/tile/tmem_view.h>
#include <heddle/tile/wgmma_sums.h>

#include <heddle/isa/atomic.h>
#include <heddle/isa/clc.h>
#include <heddle/isa/cluster.h>
#include <heddle/isa/entry.h>
#include <heddle/isa/fence.h>
#include <heddle/isa/grid_dependency.h>
#include <heddle/isa/mbarrier.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/registers.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>
#include <heddle/isa/tcgen05.h>
#include <heddle/isa/tma.h>
#include <heddle/isa/tmem.h>
#include <heddle/isa/warp.h>
#include <heddle/isa/wgmma.h>
