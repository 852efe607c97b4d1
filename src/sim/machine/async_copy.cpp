// SPDX-License-Identifier: Apache-2.0
//
// Model: a cp.async lands where it was issued or where it was waited for, as the schedule says, and nowhere
// between; it is judged as a write that may happen at any time from one to the other. It is part of the generic
// proxy.
#include "sim/machine/async_copy_unit.h"

#include "sim/machine/mbarrier_unit.h"
#include "sim/machine/memory_unit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace heddle::sim::machine {

namespace {

constexpr const char* kInstruction = "cp.async";
constexpr std::uint32_t kMaxBytes = 16;

// Whether nobody has written any of where the copy comes from.
bool brings_unwritten(const GlobalMemory& memory, const AsyncCopy& copy) {
  if (!memory.has_unwritten() || copy.source_bytes != copy.bytes) return false;
  const GlobalMemory::Region* region = memory.find(copy.from, copy.bytes);
  return region != nullptr && GlobalMemory::unwritten(*region, copy.from, copy.bytes) == (1u << copy.bytes) - 1;
}

}  // namespace

void AsyncCopyUnit::copy(Thread& thread, const AsyncCopy& operands, bool lands_now, CallSite site) {
  if (operands.source_bytes > operands.bytes) {
    core_.fault(&thread, site, FaultCode::kBadCopy,
                fmt::format("cp.async reads {} bytes, but writes {}; at most as many", operands.source_bytes,
                            operands.bytes));
  }
  core_.shared_bytes(thread, operands.to, operands.bytes, site, kInstruction);
  mbarriers_.check_none_in(thread, core_.cta_of(thread, operands.to, site, kInstruction),
                           operands.to & kOffsetMask, operands.bytes, site, kInstruction);
  std::array<std::byte, kMaxBytes> bytes;
  if (operands.source_bytes == operands.bytes) {
    memory_.ld_global(thread, operands.from, bytes.data(), operands.bytes, site);
  } else {
    for (std::uint32_t b = 0; b < operands.source_bytes; ++b)
      memory_.ld_global(thread, operands.from + b, bytes.data(), 1, site);
  }
  AsyncCopy copy = operands;
  copy.number = ++thread.copies.issued;
  copy.site = site;
  if (core_.wants<event::AsyncIssue>()) {
    core_.emit(event::AsyncIssue{.cta = thread.cta->linear,
                                 .thread = thread.tid,
                                 .address = copy.to,
                                 .bytes = copy.bytes,
                                 .number = copy.number,
                                 .brings_unwritten = brings_unwritten(core_.global(), copy),
                                 .site = site});
  }
  if (lands_now) {
    land(thread, copy);
  } else {
    thread.copies.pending.push_back(copy);
  }
}

void AsyncCopyUnit::land(Thread& thread, const AsyncCopy& copy) {
  std::byte* target = core_.shared_bytes(thread, copy.to, copy.bytes, copy.site, kInstruction);
  std::memset(target, 0, copy.bytes);
  if (copy.source_bytes != 0) {
    const GlobalMemory::Region* region = core_.global().find(copy.from, copy.source_bytes);
    if (region == nullptr) {
      core_.fault(
          &thread, copy.site, FaultCode::kGlobalOutOfBounds,
          fmt::format("cp.async of {} bytes at {}", copy.source_bytes, core_.global().describe(copy.from)));
    }
    std::memcpy(target, region->host + (copy.from - region->address), copy.source_bytes);
  }
  core_.changed();
}

void AsyncCopyUnit::land_until(Thread& thread, std::uint64_t number) {
  std::vector<AsyncCopy>& pending = thread.copies.pending;
  const auto is_over = [&](const AsyncCopy& copy) { return copy.number <= number; };
  for (const AsyncCopy& copy : pending) {
    if (is_over(copy)) land(thread, copy);
  }
  std::erase_if(pending, is_over);
}

void AsyncCopyUnit::thread_exit(Thread& thread) { land_until(thread, thread.copies.issued); }

void AsyncCopyUnit::commit_group(Thread& thread) { thread.copies.groups.push_back(thread.copies.issued); }

void AsyncCopyUnit::wait_group(Thread& thread, std::uint32_t pending, CallSite site) {
  std::vector<std::uint64_t>& groups = thread.copies.groups;
  if (groups.size() <= pending) return;
  const auto last = groups.end() - 1 - pending;
  const std::uint64_t over = *last;
  groups.erase(groups.begin(), last + 1);
  land_until(thread, over);
  core_.emit(event::AsyncPass{.cta = thread.cta->linear, .thread = thread.tid, .over = over, .site = site});
}

// PTX: cp.async.mbarrier.arrive: the barrier tracks all copies of the thread so far, and one arrival follows when
// they are complete. Without .noinc the barrier counts one arrival more before that, so that nothing is left of
// it.
void AsyncCopyUnit::mbarrier_arrive(Thread& thread, SharedAddress address, bool noinc, CallSite site) {
  Barrier& barrier = mbarriers_.own(thread, address, site, "cp.async.mbarrier.arrive");
  land_until(thread, thread.copies.issued);
  core_.emit(event::AsyncArrive{.cta = thread.cta->linear,
                                .thread = thread.tid,
                                .barrier = barrier.id,
                                .phase = barrier.state.phase,
                                .issued = thread.copies.issued,
                                .site = site});
  // What the thread itself has done is not part of it.
  if (noinc) mbarriers_.arrive(thread, address, 1, EventScope::kRelaxed, site);
}

}  // namespace heddle::sim::machine
