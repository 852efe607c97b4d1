// SPDX-License-Identifier: Apache-2.0
//
// Cluster launch control: the clusters of the grid that have not started, and the requests of running ones to
// take over their work. A request is decided at one step and answered to each CTA at another; when that is, is
// the scheduler's decision. PTX: clusterlaunchcontrol.try_cancel, clusterlaunchcontrol.query_cancel.
#pragma once

#include "sim/machine/address.h"

#include <heddle/isa/memory.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace heddle::sim::machine {

class Core;
class MbarrierUnit;
struct Cta;
struct Thread;

// Clusters that wait for SMs, by their index in the grid.
class PendingClusters {
 public:
  explicit PendingClusters(std::uint64_t count) : count_(count) {}

  bool is_empty() const { return window_.empty() && next_ == count_; }

  // The next one starts.
  std::uint64_t launch() { return take(0); }
  // One of the next few does not.
  // Unverified: which one the hardware cancels is not documented.
  std::uint64_t cancel(std::uint64_t entropy);

 private:
  static constexpr std::size_t kWindow = 4;

  void fill();
  std::uint64_t take(std::size_t index);

  std::vector<std::uint64_t> window_;  // the next few, in order
  std::uint64_t next_ = 0;             // behind the window
  std::uint64_t count_;
};

// The 16 bytes of an answer, as this machine writes them; the hardware's are opaque.
isa::Bytes16 encode_clc_response(const std::optional<isa::Dim3>& first_ctaid);

enum class ClcResponseState : std::uint8_t { kNotAResponse, kRefused, kCanceled };

struct ClcResponse {
  ClcResponseState state;
  isa::Dim3 first_ctaid;
};

ClcResponse decode_clc_response(const isa::Bytes16& bytes);

struct ClcRequest {
  std::uint64_t id = 0;  // counted with the copies
  Thread* issuer = nullptr;
  std::uint32_t cta_linear = 0;
  CallSite site = {};
  std::uint32_t response = 0;  // offsets in each target
  std::uint32_t barrier = 0;
  std::vector<Cta*> targets;  // that have not been answered
  std::optional<isa::Bytes16> answer;
};

class ClcUnit {
 public:
  ClcUnit(Core& core, MbarrierUnit& mbarriers) : core_(core), mbarriers_(mbarriers) {}

  void try_cancel(Thread& thread, SharedAddress response, SharedAddress barrier, bool is_multicast,
                  CallSite site);
  bool is_canceled(Thread& thread, const isa::Bytes16& response, CallSite site);
  isa::Dim3 first_ctaid(const Thread& thread, const isa::Bytes16& response, CallSite site) const;

  std::size_t in_flight() const { return requests_.size(); }
  const std::vector<std::unique_ptr<ClcRequest>>& requests() const { return requests_; }
  void step(std::size_t index, std::uint64_t entropy);

  void cta_exit(const Cta& cta) const;

 private:
  void issue(std::unique_ptr<ClcRequest> request);  // whose operands have been checked
  ClcResponse response_of(const Thread& thread, const isa::Bytes16& bytes, CallSite site) const;
  // A request that still has to be answered to this CTA, or null.
  const ClcRequest* touching(const Cta& cta) const;
  void answer(ClcRequest& request, Cta& target);

  Core& core_;
  MbarrierUnit& mbarriers_;
  std::vector<std::unique_ptr<ClcRequest>> requests_;
};

}  // namespace heddle::sim::machine
