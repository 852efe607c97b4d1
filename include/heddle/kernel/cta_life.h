// SPDX-License-Identifier: Apache-2.0
//
// The life of a CTA whose warps have roles, on Hopper and on Blackwell: barriers come to life while tensor maps
// are fetched, the kernel ahead in the stream is waited for, registers move to the warps that need them, every
// warp does what its role says, and nobody leaves while peers can still reach it.
//
//   using Life = CtaLife<LifeConfig{.cluster = kCluster}, Roles>;
//   Life::run(
//       [&] { input.init_mbars(1, readers); },     // by one thread
//       [&] { Life::prefetch<Load>(params.a); },   // by all, before anyone goes on
//       as_role<Math>([&] { multiply(...); }),
//       as_role<Load>([&] { load(...); }));
#pragma once

#include <heddle/isa/registers.h>
#include <heddle/isa/target.h>
#include <heddle/isa/tma.h>
#include <heddle/isa/warp.h>
#include <heddle/kernel/barriers.h>
#include <heddle/kernel/roles.h>

namespace heddle::inline HEDDLE_TARGET {

// Registers of a thread where warpgroups hand them over: those of the first role that is listed, which
// multiplies, and those of all others.
struct RegisterSplit {
  std::uint32_t first = 0;  // 0: everyone keeps what the kernel began with
  std::uint32_t others = 0;

  bool operator==(const RegisterSplit&) const = default;
};

struct LifeConfig {
  ClusterConfig cluster = {};
  AtExit at_exit = AtExit::kClusterBarrier;
  RegisterSplit registers = {};

  bool operator==(const LifeConfig&) const = default;
};

// What the warps of a role do. A role that the kernel does not have does nothing.
template <class R, class Body>
struct RoleBody {
  using Role = R;
  const Body& body;
};
template <class R, class Body>
HEDDLE_DEVICE RoleBody<R, Body> as_role(const Body& body) {
  return {body};
}

template <LifeConfig config, class Roles>
class CtaLife {
 public:
  template <class Init, class Prepare, class First, class... Others>
  HEDDLE_DEVICE static void run(const Init& init, const Prepare& prepare, const First& first,
                                const Others&... others) {
    run_early(
        init, prepare, [] {}, first, others...);
  }

  // The same, and those of the first role call `early` while the kernel ahead in the stream still runs.
  template <class Init, class Prepare, class Early, class First, class... Others>
  HEDDLE_DEVICE static void run_early(const Init& init, const Prepare& prepare, const Early& early,
                                      const First& first, const Others&... others) {
    const KernelScope<config.cluster, config.at_exit> scope(init, prepare);
    scope.wait_for_kernel_ahead([&] {
      if (Roles::template is<typename First::Role>()) early();
    });
    if constexpr (config.registers.first == 0) {
      static_cast<void>(enter(first) || (enter(others) || ...));
    } else if (Roles::template enter<typename First::Role>()) {
      isa::setmaxnreg_inc<config.registers.first>();
      first.body();
    } else {
      isa::setmaxnreg_dec<config.registers.others>();
      static_cast<void>((enter(others) || ...));
    }
  }

  // By the elected thread of a role: brings tensor maps nearer, which its first copies would wait for.
  template <class R, class... Maps>
  HEDDLE_DEVICE static void prefetch(const Maps&... maps) {
    if (Roles::template is<R>() && isa::elect_sync()) (isa::prefetch_tensormap(&maps), ...);
  }

 private:
  template <class R, class Body>
  HEDDLE_DEVICE static bool enter(const RoleBody<R, Body>& role) {
    if constexpr (Roles::template has<R>) {
      if (Roles::template enter<R>()) {
        role.body();
        return true;
      }
    }
    return false;
  }
};

}  // namespace heddle::inline HEDDLE_TARGET
