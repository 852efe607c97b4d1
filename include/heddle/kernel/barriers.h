// SPDX-License-Identifier: Apache-2.0
//
// How many arrivals each barrier waits for, and how barriers come to life. ArrivalCounts are those of a
// warp-specialised matmul on Blackwell, RingCounts those of any ring between two roles: both are derived from the
// roles, the cluster and the CTA group. KernelScope is the life of a CTA between set-up and
// exit: its constructor initialises all barriers and lets everyone see them, its destructor keeps a CTA from
// leaving while its peers can still reach it. Neither half can be left out.
//
//   using Counts = ArrivalCounts<cluster, Roles>;
//   auto input = shared.input.pipeline("input");
//   auto output = shared.output.pipeline("output");
//   const KernelScope<cluster> scope([&] {
//     input.init_mbars(Counts::input_full, Counts::input_empty);
//     output.init_mbars(Counts::output_full, Counts::output_empty);
//   });
//   if (Roles::enter<Load>()) ...
#pragma once

#include <heddle/isa/cluster.h>
#include <heddle/isa/fence.h>
#include <heddle/isa/grid_dependency.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>
#include <heddle/isa/warp.h>
#include <heddle/kernel/cluster_shape.h>
#include <heddle/kernel/roles.h>
#include <heddle/pipeline/backend.h>

#include <string_view>

namespace heddle::inline HEDDLE_TARGET {

namespace detail {

// Reached while a constant is computed, this stops the compiler with its name.
inline void the_kernel_has_no_role_of_this_name() {}

template <class Roles>
consteval std::uint32_t threads_of(std::string_view role) {
  const std::uint32_t threads = Roles::threads_named(role);
  if (threads == 0) the_kernel_has_no_role_of_this_name();
  return threads;
}

}  // namespace detail

// Roles are known by their names: load, mma, epilogue, scheduler, epilogue_load. A count of the arrivals of a
// role that the kernel does not have does not compile.
template <ClusterConfig config, class Roles>
struct ArrivalCounts {
  static_assert(check_cluster<config>());

  static constexpr std::uint32_t load_threads = detail::threads_of<Roles>("load");
  static constexpr std::uint32_t epilogue_threads = detail::threads_of<Roles>("epilogue");
  static constexpr std::uint32_t scheduler_threads = detail::threads_of<Roles>("scheduler");

  // Input ring. Full: whoever arms it with the bytes; in a pair only the leader does. Empty: the MMAs that have
  // read this CTA's copies, those of its row and of its column.
  static constexpr std::uint32_t input_full = 1;
  static constexpr std::uint32_t input_empty = config.cluster.m / config.cta_group + config.cluster.n - 1;
  // Where every epilogue warp reads scales out of the stage, too.
  static constexpr std::uint32_t input_empty_blockwise = input_empty + epilogue_threads / isa::kWarpThreads;

  // Accumulators. Full: the commit. Empty, on the leader's barrier: the epilogue threads of its CTA group.
  static constexpr std::uint32_t output_full = 1;
  static constexpr std::uint32_t output_empty = config.cta_group * epilogue_threads;

  // Cluster launch control. Full, in every CTA: the scheduler arms it. Empty, in the first CTA: every thread that
  // has read the response, the scheduler's own among them.
  static constexpr std::uint32_t clc_full = 1;
  static constexpr std::uint32_t clc_consumer_threads =
      Roles::threads_named("load") + Roles::threads_named("mma") + Roles::threads_named("epilogue") +
      Roles::threads_named("epilogue_load");
  static constexpr std::uint32_t clc_empty = scheduler_threads + config.size() * clc_consumer_threads;

  // Throttle, in the first CTA: the load warp gives leave to fetch, the scheduler warp takes it.
  static constexpr std::uint32_t clc_throttle_full = load_threads;
  static constexpr std::uint32_t clc_throttle_empty = scheduler_threads;

  // Tiles of C that the epilogue reads.
  static constexpr std::uint32_t epilogue_load_full = 1;
  static constexpr std::uint32_t epilogue_load_empty = epilogue_threads;

  // The users of tensor memory, of both CTAs of a pair.
  static constexpr std::uint32_t tmem_dealloc = config.cta_group * epilogue_threads;
};

// Who signals the barriers of a ring, as its releases do: each thread of a role (release), each of its warps
// (release_elected, or a backend whose signal is a warp's), or one thread (copies, whose bytes it announces;
// commits). Where the role's warps take the stages in turn, in `groups` equal groups, a stage is one group's.
template <class R, std::uint32_t groups = 1>
struct EachThread {
  static_assert(R::warps % groups == 0, "groups of a role's warps are equal: make its warps a multiple of them");
  using Role = R;
  static constexpr Signaller signaller = Signaller::kEachThread;
  static constexpr std::uint32_t arrivals = R::threads / groups;
};
template <class R, std::uint32_t groups = 1>
struct EachWarp {
  static_assert(R::warps % groups == 0, "groups of a role's warps are equal: make its warps a multiple of them");
  using Role = R;
  static constexpr Signaller signaller = Signaller::kEachWarp;
  static constexpr std::uint32_t arrivals = R::warps / groups;
};
template <class R>
struct OneThread {
  using Role = R;
  static constexpr Signaller signaller = Signaller::kOneThread;
  static constexpr std::uint32_t arrivals = 1;
};

// How many arrivals fill and empty a stage of a ring between two roles; init_mbars and init_barriers take them,
// and compare who empties with what a release of the pipeline is. With a cluster, copies go to several of its
// CTAs, and each of those says that it has read them.
//
//   using Counts = RingCounts<Roles, OneThread<Load>, EachWarp<Math>>;
//   Input::init_barriers<Counts>(shared.input.barriers.ptr());
template <class Roles, class Fills, class Empties, ClusterConfig config = ClusterConfig{}>
struct RingCounts {
  static_assert(Roles::template has<typename Fills::Role> && Roles::template has<typename Empties::Role>,
                "a ring leads from one role of the kernel to another: list both in WarpRoles");
  static_assert(check_cluster<config>());

  static constexpr Signaller empties = Empties::signaller;
  static constexpr std::uint32_t full = Fills::arrivals;
  static constexpr std::uint32_t empty =
      Empties::arrivals * (config.cluster.m / config.cta_group + config.cluster.n - 1);
};

// How a CTA leaves while its peers may still signal its barriers.
enum class AtExit : std::uint8_t {
  kClusterBarrier,  // after all of the cluster
  kNothing,         // its roles have drained what peers signal
};

// Stands in a kernel from set-up to its end, in a scope that all threads of the cluster enter and leave. Early
// returns are fine: leaving the scope is what counts.
template <ClusterConfig config, AtExit at_exit = AtExit::kClusterBarrier>
class [[nodiscard]] KernelScope {
  static_assert(check_cluster<config>());

 public:
  // One thread calls `init`, which initialises all barriers.
  // Orders: the initialisation before everything that any thread of the cluster, or a copy, does afterwards.
  template <class Init>
  HEDDLE_DEVICE explicit KernelScope(const Init& init, CallSite site = CallSite::here())
      : KernelScope(
            init, [] {}, site) {}

  // The same, and all threads call `prepare` before anyone goes on: to set shared memory up.
  template <class Init, class Prepare>
  HEDDLE_DEVICE KernelScope(const Init& init, const Prepare& prepare, CallSite site = CallSite::here())
      : site_(site) {
    if (isa::tid_x() == 0) {
      init();
      isa::fence_mbarrier_init(site);
    }
    prepare();
    sync(site);
  }

  // Orders: what all threads of the cluster did before, ahead of the exit of any.
  HEDDLE_DEVICE ~KernelScope() {
    if constexpr (config.size() > 1 && at_exit == AtExit::kClusterBarrier) isa::cluster_sync(site_);
  }

  KernelScope(const KernelScope&) = delete;
  KernelScope& operator=(const KernelScope&) = delete;

  // The kernel after this one in the stream may start; what the one ahead of it wrote can be read from here on.
  HEDDLE_DEVICE void wait_for_kernel_ahead(CallSite site = CallSite::here()) const {
    wait_for_kernel_ahead([] {}, site);
  }

  // The same, and all threads call `meanwhile` while they would wait. It must not depend on that kernel.
  template <class Meanwhile>
  HEDDLE_DEVICE void wait_for_kernel_ahead(const Meanwhile& meanwhile, CallSite site = CallSite::here()) const {
    isa::griddepcontrol_launch_dependents(site);
    meanwhile();
    isa::griddepcontrol_wait(site);
  }

 private:
  HEDDLE_DEVICE static void sync(CallSite site) {
    if constexpr (config.size() > 1) {
      isa::cluster_sync(site);
    } else {
      isa::syncthreads(site);
    }
  }

  CallSite site_;
};

}  // namespace heddle::inline HEDDLE_TARGET
