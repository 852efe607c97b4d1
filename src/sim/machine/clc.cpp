// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/clc.h"

#include "sim/machine/clc_refusal.h"
#include "sim/machine/core.h"
#include "sim/machine/mbarrier_unit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace heddle::sim::machine {

namespace {

constexpr const char* kTryCancel = "clusterlaunchcontrol.try_cancel";
constexpr const char* kQuery = "clusterlaunchcontrol.query_cancel";

constexpr std::uint32_t kRefused = 0x2c4c4300;
constexpr std::uint32_t kCanceled = 0x2c4c4301;
constexpr std::uint32_t kNoCta = 0xdeadc7a5;

// One request in so many is refused though clusters wait, where the schedule has luck to give.
constexpr std::uint64_t kRefusals = 16;

}  // namespace

void refuse_ctaid(const Core& core, const Thread& thread, CallSite site, std::vector<std::string> details) {
  if (!thread.cta->has_seen_clc_failure) details.push_back("likely: no look at query_cancel.is_canceled before");
  core.fault(&thread, site, FaultCode::kClcNoCluster,
             fmt::format("{}.get_first_ctaid of a request that failed, which names no cluster", kQuery),
             std::move(details));
}

void PendingClusters::fill() {
  while (window_.size() < kWindow && next_ < count_) window_.push_back(next_++);
}

std::uint64_t PendingClusters::take(std::size_t index) {
  fill();
  const std::uint64_t taken = window_[index];
  window_.erase(window_.begin() + static_cast<std::ptrdiff_t>(index));
  return taken;
}

std::uint64_t PendingClusters::cancel(std::uint64_t entropy) {
  fill();
  return take(entropy % window_.size());
}

isa::Bytes16 encode_clc_response(const std::optional<isa::Dim3>& first_ctaid) {
  if (!first_ctaid) return {{kRefused, kNoCta, kNoCta, kNoCta}};
  return {{kCanceled, first_ctaid->x, first_ctaid->y, first_ctaid->z}};
}

ClcResponse decode_clc_response(const isa::Bytes16& bytes) {
  if (bytes.word[0] == kCanceled) {
    return {ClcResponseState::kCanceled, {bytes.word[1], bytes.word[2], bytes.word[3]}};
  }
  return {bytes.word[0] == kRefused ? ClcResponseState::kRefused : ClcResponseState::kNotAResponse, {}};
}

void ClcUnit::issue(std::unique_ptr<ClcRequest> request) {
  request->id = core_.take_copy_id();
  const Cta& cta = *request->issuer->cta;
  request->cta_linear = cta.linear;
  if (core_.wants<event::CopyIssue>()) {
    const Barrier* barrier = mbarriers_.find(cta, request->barrier);
    core_.emit(event::CopyIssue{.cta = request->cta_linear,
                                .thread = request->issuer->tid,
                                .copy = request->id,
                                .kind = CopyKind::kClcResponse,
                                .address = request->response | cta.rank << kRankShift,
                                .bytes = isa::kClcResponseBytes,
                                .barrier = barrier == nullptr ? 0 : barrier->id,
                                .site = request->site});
  }
  requests_.push_back(std::move(request));
}

// Model: a request may be refused though clusters wait, as the manual allows.
void ClcUnit::step(std::size_t index, std::uint64_t entropy) {
  ClcRequest& request = *requests_[index];
  if (!request.answer) {
    const bool is_lucky = entropy % kRefusals != kRefusals - 1;
    const std::optional<isa::Dim3> first = is_lucky ? core_.cancel_cluster(entropy / kRefusals) : std::nullopt;
    request.answer = encode_clc_response(first);
    core_.emit(event::ClusterCancel{.cta = request.cta_linear,
                                    .request = request.id,
                                    .first_cta = first ? core_.linear_of(*first) : ~std::uint64_t{0},
                                    .site = request.site});
    return;
  }
  const auto which = request.targets.begin() + static_cast<std::ptrdiff_t>(entropy % request.targets.size());
  Cta& target = **which;
  request.targets.erase(which);
  answer(request, target);
  if (!request.targets.empty()) return;
  const std::unique_ptr<ClcRequest> done = std::move(requests_[index]);
  requests_.erase(requests_.begin() + static_cast<std::ptrdiff_t>(index));
  core_.emit(event::CopyDone{.cta = done->cta_linear, .copy = done->id, .site = done->site});
}

void ClcUnit::answer(ClcRequest& request, Cta& target) {
  std::memcpy(target.shared + request.response, &*request.answer, isa::kClcResponseBytes);
  const Barrier* barrier = mbarriers_.find(target, request.barrier);
  if (core_.wants<event::CopyWriteShared>() && barrier != nullptr) {
    core_.emit(event::CopyWriteShared{.cta = target.linear,
                                      .copy = request.id,
                                      .address = request.response | target.rank << kRankShift,
                                      .bytes = isa::kClcResponseBytes,
                                      .barrier = barrier->id,
                                      .site = request.site});
  }
  mbarriers_.complete_tx(target, request.barrier, isa::kClcResponseBytes, request.id, request.site);
}

const ClcRequest* ClcUnit::touching(const Cta& cta) const {
  for (const std::unique_ptr<ClcRequest>& request : requests_) {
    if (std::find(request->targets.begin(), request->targets.end(), &cta) != request->targets.end()) {
      return request.get();
    }
  }
  return nullptr;
}

void ClcUnit::try_cancel(Thread& thread, SharedAddress response, SharedAddress barrier, bool is_multicast,
                         CallSite site) {
  if (core_.options().arch != Arch::kSm100) {
    core_.fault(&thread, site, FaultCode::kUnsupported,
                fmt::format("{} on sm_90; cluster launch control exists from sm_100 on", kTryCancel));
  }
  const std::uint32_t offset = response & kOffsetMask;
  for (const SharedAddress address : {response, barrier}) {
    if (address >> kRankShift != thread.cta->rank) {
      core_.fault(
          &thread, site, FaultCode::kBadRank,
          fmt::format("{} with {} in rank {}; both its operands lie in the CTA's own shared memory (rank {})",
                      kTryCancel, address == response ? "a response" : "a barrier", address >> kRankShift,
                      thread.cta->rank));
    }
  }
  if (offset % isa::kClcResponseBytes != 0) {
    core_.fault(&thread, site, FaultCode::kMisaligned,
                fmt::format("{} with the response at shared address {:#x}; it must be a multiple of 16",
                            kTryCancel, offset));
  }
  if (offset < kSharedBase || offset + isa::kClcResponseBytes > thread.cta->shared_end) {
    core_.fault(
        &thread, site, FaultCode::kSharedOutOfBounds,
        fmt::format(
            "{} with the response at shared address {:#x}, outside of the CTA's shared memory [{:#x}, {:#x})",
            kTryCancel, offset, kSharedBase, thread.cta->shared_end));
  }
  if (thread.cta->has_seen_clc_failure) {
    core_.fault(&thread, site, FaultCode::kClcAfterFailure,
                fmt::format("{} after this CTA has seen a request fail, which is undefined", kTryCancel),
                {fmt::format("{:<62} {}", "it saw the failure", place(thread.cta->clc_failure_site)),
                 "likely: the loop goes on after a response that is not canceled"});
  }
  auto request = std::make_unique<ClcRequest>();
  for (Cta* cta : thread.cta->cluster->ctas) {
    if (!is_multicast && cta != thread.cta) continue;
    const std::uint32_t rank = cta->rank << kRankShift;
    core_.cta_of(thread, offset | rank, site, kTryCancel);
    mbarriers_.live(thread, (barrier & kOffsetMask) | rank, site, kTryCancel);
    request->targets.push_back(cta);
  }
  request->issuer = &thread;
  request->site = site;
  request->response = offset;
  request->barrier = barrier & kOffsetMask;
  core_.changed();
  issue(std::move(request));
}

ClcResponse ClcUnit::response_of(const Thread& thread, const isa::Bytes16& bytes, CallSite site) const {
  if (core_.options().arch != Arch::kSm100) {
    core_.fault(&thread, site, FaultCode::kUnsupported,
                fmt::format("{} on sm_90; cluster launch control exists from sm_100 on", kQuery));
  }
  const ClcResponse response = decode_clc_response(bytes);
  if (response.state == ClcResponseState::kNotAResponse) {
    core_.fault(&thread, site, FaultCode::kClcBadResponse,
                fmt::format("{} of 16 bytes that no try_cancel wrote", kQuery),
                {"likely: the response is read before its barrier says that it is there, or from another place"});
  }
  return response;
}

bool ClcUnit::is_canceled(Thread& thread, const isa::Bytes16& response, CallSite site) {
  if (response_of(thread, response, site).state == ClcResponseState::kCanceled) return true;
  if (!thread.cta->has_seen_clc_failure) thread.cta->clc_failure_site = site;
  thread.cta->has_seen_clc_failure = true;
  return false;
}

isa::Dim3 ClcUnit::first_ctaid(const Thread& thread, const isa::Bytes16& bytes, CallSite site) const {
  const ClcResponse response = response_of(thread, bytes, site);
  if (response.state == ClcResponseState::kRefused) refuse_ctaid(core_, thread, site, {});
  return response.first_ctaid;
}

void ClcUnit::cta_exit(const Cta& cta) const {
  const ClcRequest* request = touching(cta);
  if (request == nullptr) return;
  core_.fault(
      nullptr, request->site, FaultCode::kExitInFlight,
      fmt::format("{} exits while a request for a cluster is in flight, whose response goes to its shared memory",
                  core_.has_one_cta() ? std::string("the CTA") : core_.describe(cta)),
      {"likely: nobody waits for the response; a cluster that it names would never run"});
}

}  // namespace heddle::sim::machine
