// SPDX-License-Identifier: Apache-2.0
//
// A kernel in C++ whose machine gets no memory for one thing after the other: the launch throws std::bad_alloc or
// ends with a report, and the next one is well.
#include <heddle/isa/cluster.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/tma.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <vector>

#include "../support/tiny_kernel.h"

namespace {

long allocations_left = -1;  // until one fails; -1: none does
bool has_failed = false;

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (allocations_left >= 0 && allocations_left-- == 0) {
    has_failed = true;
    throw std::bad_alloc();
  }
  void* memory = alignment == 0 ? std::malloc(bytes + (bytes == 0))
                                : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes, 0); }
void* operator new[](std::size_t bytes) { return allocate(bytes, 0); }
void* operator new(std::size_t bytes, std::align_val_t align) {
  return allocate(bytes, static_cast<std::size_t>(align));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace heddle::test {
namespace {

struct Shared {
  alignas(128) std::uint32_t tile[32];
  SharedMemBarrier bar;
};

// A barrier, a copy each way, a barrier of the cluster, and words of global memory.
sim::Report run(std::vector<std::uint32_t>& data, const sim::Schedule& schedule) {
  sim::GlobalMemory memory;
  memory.add("data", data.data(), data.size() * sizeof(data[0]));
  return run_kernel<Shared>({.threads = 32, .grid = {2}, .cluster = {2}, .memory = &memory, .schedule = schedule},
                            [&](Shared& shared) {
                              const std::uint32_t bytes = sizeof(shared.tile);
                              std::uint32_t* own = data.data() + 32 * isa::ctaid().x;
                              if (isa::tid_x() == 0) {
                                init_barrier(&shared.bar, 1);
                                isa::mbarrier_arrive_expect_tx(&shared.bar, bytes);
                                isa::cp_async_bulk_load(shared.tile, own, bytes, &shared.bar);
                              }
                              isa::bar_sync(1, 32);
                              wait_parity(&shared.bar, 0);
                              const std::uint32_t value = isa::ld_shared(&shared.tile[isa::tid_x()]);
                              isa::st_shared(&shared.tile[isa::tid_x()], value + 1);
                              isa::fence_proxy_async_shared_cta();
                              isa::barrier_cluster_arrive();
                              isa::barrier_cluster_wait();
                              if (isa::tid_x() == 0) {
                                isa::cp_async_bulk_store(own, shared.tile, bytes);
                                isa::cp_async_bulk_commit_group();
                                isa::cp_async_bulk_wait_group<0>();
                              }
                            });
}

TEST(NoMemory, EachAllocationOfALaunchMayFail) {
  for (const sim::Schedule& schedule : {sim::Schedule::round_robin(), sim::Schedule::random(3)}) {
    long failed = 0;
    for (long after = 0;; ++after) {
      std::vector<std::uint32_t> data(64, 5);
      has_failed = false;
      allocations_left = after;
      bool is_well = false;
      try {
        is_well = run(data, schedule).ok();
      } catch (const std::bad_alloc&) {
      }
      allocations_left = -1;
      if (!has_failed) {
        EXPECT_TRUE(is_well);
        EXPECT_EQ(data, std::vector<std::uint32_t>(64, 6));
        break;
      }
      // A launch may do without it, and is right then.
      if (is_well) {
        EXPECT_EQ(data, std::vector<std::uint32_t>(64, 6)) << "after " << after;
      }
      ++failed;
    }
    EXPECT_GT(failed, 50);
  }
}

}  // namespace
}  // namespace heddle::test
