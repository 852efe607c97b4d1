// SPDX-License-Identifier: Apache-2.0
//
// The kinds of mistake that the simulated SM knows, each with a section of its name in docs/diagnostics.md, and
// what it says of the program.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string_view>

namespace heddle::sim {

enum class Verdict : std::uint8_t {
  kWrong,   // some execution that the chip allows gives other data, hangs or traps: the launch is stopped
  kFormal,  // the manual asks for it, and every chip and published compiler is known to grant it: told, no more
  kUnsupported  // the model does not know: the launch is stopped
};

enum class FaultCode : std::uint8_t {
  kAccumulatorInFlight,
  kAssert,
  kBadBranch,
  kBadCoordinates,
  kBadCopy,
  kBadCtaGroup,
  kBadDescriptor,
  kBadParity,
  kBadRank,
  kBadShape,
  kBadTensorMap,
  kBarrierCount,
  kBarrierInUse,
  kBarrierOverwritten,
  kBarrierRead,
  kBarrierReinitialised,
  kBudget,
  kClcAfterFailure,
  kClcBadResponse,
  kClcNoCluster,
  kClusterBarrier,
  kDeadlock,
  kDivergence,
  kException,
  kExitInFlight,
  kExitedCta,
  kGlobalOutOfBounds,
  kGlobalRace,
  kGlobalReadOnly,
  kInitNotVisible,
  kLocalOutOfBounds,
  kLostPhase,
  kMisaligned,
  kMissingInitFence,
  kMissingProxyFence,
  kMissingTcgen05Fence,
  kMissingTmemWait,
  kMissingWgmmaFence,
  kNamedBarrier,
  kNarrowScope,
  kNotShared,
  kOverArrival,
  kParamOutOfBounds,
  kPeerNotStarted,
  kRace,
  kReadBeforeFull,
  kRegisterBudget,
  kRemoteWait,
  kScaleCopies,
  kScheduleDependence,
  kSharedOutOfBounds,
  kStackOverflow,
  kStageDropped,
  kStageUsedAfterRelease,
  kTmemAlloc,
  kTmemDealloc,
  kTmemLane,
  kTmemLeak,
  kTmemOutOfBounds,
  kTmemOverlap,
  kTransactionRange,
  kTrap,
  kUninitialisedBarrier,
  kUninitialisedRead,
  kUnsupported,
  kWriteWhileRead,
};

struct FaultRule {
  FaultCode code;
  std::string_view name;
  Verdict verdict;     // of a finding that says nothing else
  bool is_acceptable;  // the run can go on as if it had been right
};

// In the order of FaultCode.
inline constexpr std::array kFaultRules = {
    FaultRule{FaultCode::kAccumulatorInFlight, "accumulator_in_flight", Verdict::kWrong, false},
    FaultRule{FaultCode::kAssert, "assert", Verdict::kWrong, false},
    FaultRule{FaultCode::kBadBranch, "bad_branch", Verdict::kWrong, false},
    FaultRule{FaultCode::kBadCoordinates, "bad_coordinates", Verdict::kWrong, false},
    FaultRule{FaultCode::kBadCopy, "bad_copy", Verdict::kWrong, false},
    FaultRule{FaultCode::kBadCtaGroup, "bad_cta_group", Verdict::kWrong, false},
    FaultRule{FaultCode::kBadDescriptor, "bad_descriptor", Verdict::kWrong, false},
    FaultRule{FaultCode::kBadParity, "bad_parity", Verdict::kWrong, false},
    FaultRule{FaultCode::kBadRank, "bad_rank", Verdict::kWrong, false},
    FaultRule{FaultCode::kBadShape, "bad_shape", Verdict::kWrong, false},
    FaultRule{FaultCode::kBadTensorMap, "bad_tensor_map", Verdict::kWrong, false},
    FaultRule{FaultCode::kBarrierCount, "barrier_count", Verdict::kWrong, false},
    FaultRule{FaultCode::kBarrierInUse, "barrier_in_use", Verdict::kWrong, false},
    FaultRule{FaultCode::kBarrierOverwritten, "barrier_overwritten", Verdict::kWrong, false},
    FaultRule{FaultCode::kBarrierRead, "barrier_read", Verdict::kWrong, false},
    FaultRule{FaultCode::kBarrierReinitialised, "barrier_reinitialised", Verdict::kWrong, false},
    FaultRule{FaultCode::kBudget, "budget", Verdict::kWrong, false},
    FaultRule{FaultCode::kClcAfterFailure, "clc_after_failure", Verdict::kWrong, false},
    FaultRule{FaultCode::kClcBadResponse, "clc_bad_response", Verdict::kWrong, false},
    FaultRule{FaultCode::kClcNoCluster, "clc_no_cluster", Verdict::kWrong, false},
    FaultRule{FaultCode::kClusterBarrier, "cluster_barrier", Verdict::kWrong, false},
    FaultRule{FaultCode::kDeadlock, "deadlock", Verdict::kWrong, false},
    FaultRule{FaultCode::kDivergence, "divergence", Verdict::kWrong, false},
    FaultRule{FaultCode::kException, "exception", Verdict::kWrong, false},
    FaultRule{FaultCode::kExitInFlight, "exit_in_flight", Verdict::kWrong, true},
    FaultRule{FaultCode::kExitedCta, "exited_cta", Verdict::kWrong, false},
    FaultRule{FaultCode::kGlobalOutOfBounds, "global_out_of_bounds", Verdict::kWrong, false},
    FaultRule{FaultCode::kGlobalRace, "global_race", Verdict::kWrong, true},
    FaultRule{FaultCode::kGlobalReadOnly, "global_read_only", Verdict::kWrong, false},
    FaultRule{FaultCode::kInitNotVisible, "init_not_visible", Verdict::kWrong, true},
    FaultRule{FaultCode::kLocalOutOfBounds, "local_out_of_bounds", Verdict::kWrong, false},
    FaultRule{FaultCode::kLostPhase, "lost_phase", Verdict::kWrong, true},
    FaultRule{FaultCode::kMisaligned, "misaligned", Verdict::kWrong, false},
    FaultRule{FaultCode::kMissingInitFence, "missing_init_fence", Verdict::kFormal, true},
    FaultRule{FaultCode::kMissingProxyFence, "missing_proxy_fence", Verdict::kWrong, true},
    FaultRule{FaultCode::kMissingTcgen05Fence, "missing_tcgen05_fence", Verdict::kFormal, true},
    FaultRule{FaultCode::kMissingTmemWait, "missing_tmem_wait", Verdict::kWrong, true},
    FaultRule{FaultCode::kMissingWgmmaFence, "missing_wgmma_fence", Verdict::kWrong, false},
    FaultRule{FaultCode::kNamedBarrier, "named_barrier", Verdict::kWrong, false},
    FaultRule{FaultCode::kNarrowScope, "narrow_scope", Verdict::kFormal, true},
    FaultRule{FaultCode::kNotShared, "not_shared", Verdict::kWrong, false},
    FaultRule{FaultCode::kOverArrival, "over_arrival", Verdict::kWrong, false},
    FaultRule{FaultCode::kParamOutOfBounds, "param_out_of_bounds", Verdict::kWrong, false},
    FaultRule{FaultCode::kPeerNotStarted, "peer_not_started", Verdict::kWrong, true},
    FaultRule{FaultCode::kRace, "race", Verdict::kWrong, true},
    FaultRule{FaultCode::kReadBeforeFull, "read_before_full", Verdict::kWrong, true},
    FaultRule{FaultCode::kRegisterBudget, "register_budget", Verdict::kWrong, false},
    FaultRule{FaultCode::kRemoteWait, "remote_wait", Verdict::kWrong, false},
    FaultRule{FaultCode::kScaleCopies, "scale_copies", Verdict::kWrong, false},
    FaultRule{FaultCode::kScheduleDependence, "schedule_dependence", Verdict::kWrong, true},
    FaultRule{FaultCode::kSharedOutOfBounds, "shared_out_of_bounds", Verdict::kWrong, false},
    FaultRule{FaultCode::kStackOverflow, "stack_overflow", Verdict::kWrong, false},
    FaultRule{FaultCode::kStageDropped, "stage_dropped", Verdict::kWrong, false},
    FaultRule{FaultCode::kStageUsedAfterRelease, "stage_used_after_release", Verdict::kWrong, false},
    FaultRule{FaultCode::kTmemAlloc, "tmem_alloc", Verdict::kWrong, false},
    FaultRule{FaultCode::kTmemDealloc, "tmem_dealloc", Verdict::kWrong, true},
    FaultRule{FaultCode::kTmemLane, "tmem_lane", Verdict::kWrong, false},
    FaultRule{FaultCode::kTmemLeak, "tmem_leak", Verdict::kWrong, false},
    FaultRule{FaultCode::kTmemOutOfBounds, "tmem_out_of_bounds", Verdict::kWrong, false},
    FaultRule{FaultCode::kTmemOverlap, "tmem_overlap", Verdict::kWrong, false},
    FaultRule{FaultCode::kTransactionRange, "transaction_range", Verdict::kWrong, false},
    FaultRule{FaultCode::kTrap, "trap", Verdict::kWrong, false},
    FaultRule{FaultCode::kUninitialisedBarrier, "uninitialised_barrier", Verdict::kWrong, false},
    FaultRule{FaultCode::kUninitialisedRead, "uninitialised_read", Verdict::kWrong, true},
    FaultRule{FaultCode::kUnsupported, "unsupported", Verdict::kUnsupported, false},
    FaultRule{FaultCode::kWriteWhileRead, "write_while_read", Verdict::kWrong, true},
};

constexpr const FaultRule& rule_of(FaultCode code) { return kFaultRules[static_cast<std::size_t>(code)]; }
constexpr std::string_view name_of(FaultCode code) { return rule_of(code).name; }

constexpr std::string_view name_of(Verdict verdict) {
  constexpr std::array<std::string_view, 3> kNames = {"wrong", "formal", "unsupported"};
  return kNames[static_cast<std::size_t>(verdict)];
}

constexpr std::optional<FaultCode> find_fault_code(std::string_view name) {
  for (const FaultRule& rule : kFaultRules) {
    if (rule.name == name) return rule.code;
  }
  return std::nullopt;
}

constexpr bool operator==(FaultCode code, std::string_view name) { return name_of(code) == name; }

inline std::ostream& operator<<(std::ostream& out, FaultCode code) { return out << name_of(code); }

namespace detail {

constexpr bool fault_rules_are_in_order() {
  for (std::size_t i = 0; i < kFaultRules.size(); ++i) {
    if (kFaultRules[i].code != static_cast<FaultCode>(i)) return false;
  }
  return true;
}

static_assert(fault_rules_are_in_order());

}  // namespace detail

}  // namespace heddle::sim
