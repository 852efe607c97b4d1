// SPDX-License-Identifier: Apache-2.0
//
// cuda::ptx of CCCL, as far as isa/ uses it. Most of <cuda/ptx> are instructions that nothing here uses, and a
// translation unit that has them takes a second longer. CCCL promises no headers but the whole one, so those of
// single instructions are taken from versions that are known to have them.
#pragma once

#include <heddle/isa/target.h>

#if HEDDLE_ON_CUDA
#include <cuda/version>
#if CCCL_MAJOR_VERSION == 3 && CCCL_MINOR_VERSION == 0
#include <cuda/__ptx/instructions/barrier_cluster.h>
#include <cuda/__ptx/instructions/clusterlaunchcontrol.h>
#include <cuda/__ptx/instructions/cp_async_bulk.h>
#include <cuda/__ptx/instructions/cp_async_bulk_commit_group.h>
#include <cuda/__ptx/instructions/cp_async_bulk_tensor.h>
#include <cuda/__ptx/instructions/cp_async_bulk_wait_group.h>
#include <cuda/__ptx/instructions/cp_reduce_async_bulk_tensor.h>
#include <cuda/__ptx/instructions/fence.h>
#include <cuda/__ptx/instructions/get_sreg.h>
#include <cuda/__ptx/instructions/mbarrier_arrive.h>
#include <cuda/__ptx/instructions/mbarrier_expect_tx.h>
#include <cuda/__ptx/instructions/mbarrier_init.h>
#include <cuda/__ptx/instructions/mbarrier_wait.h>
#include <cuda/__ptx/instructions/tcgen05_alloc.h>
#include <cuda/__ptx/instructions/tcgen05_commit.h>
#include <cuda/__ptx/instructions/tcgen05_cp.h>
#include <cuda/__ptx/instructions/tcgen05_fence.h>
#include <cuda/__ptx/instructions/tcgen05_ld.h>
#include <cuda/__ptx/instructions/tcgen05_mma.h>
#include <cuda/__ptx/instructions/tcgen05_st.h>
#include <cuda/__ptx/instructions/tcgen05_wait.h>
#else
#include <cuda/ptx>
#endif
#endif
