// SPDX-License-Identifier: Apache-2.0
//
// Model: a cp.async lands where it was issued or where it was waited for, as the schedule says, and nowhere
// between; it is judged as a write that may happen at any time from one to the other. It is part of the generic
// proxy.
#include "sim/machine/async_copy.h"

#include "sim/machine/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace heddle::sim::machine {

namespace {

constexpr const char* kInstruction = "cp.async";
constexpr std::uint32_t kMaxBytes = 16;

}  // namespace

void Machine::cp_async(Thread& thread, const AsyncCopy& operands, bool lands_now, CallSite site) {
  if (operands.source_bytes > operands.bytes) {
    fault(&thread, site, FaultCode::kBadCopy,
          fmt::format("cp.async reads {} bytes, but writes {}; at most as many", operands.source_bytes,
                      operands.bytes));
  }
  shared_bytes(thread, operands.to, operands.bytes, site, kInstruction);
  check_not_barrier(thread, cta_of(thread, operands.to, site, kInstruction), operands.to & kOffsetMask,
                    operands.bytes, site, kInstruction);
  std::array<std::byte, kMaxBytes> bytes;
  if (operands.source_bytes == operands.bytes) {
    ld_global(thread, operands.from, bytes.data(), operands.bytes, site);
  } else {
    for (std::uint32_t b = 0; b < operands.source_bytes; ++b)
      ld_global(thread, operands.from + b, bytes.data(), 1, site);
  }
  AsyncCopy copy = operands;
  copy.number = ++thread.copies.issued;
  copy.site = site;
  if (wants(EventKind::kAsyncCopy)) {
    emit({.kind = EventKind::kAsyncCopy,
          .cta = thread.cta->linear,
          .thread = thread.tid,
          .address = copy.to,
          .bytes = copy.bytes,
          .copy = copy.number,
          .site = site});
  }
  if (lands_now) {
    land(thread, copy);
  } else {
    thread.copies.pending.push_back(copy);
  }
}

void Machine::land(Thread& thread, const AsyncCopy& copy) {
  std::byte* target = shared_bytes(thread, copy.to, copy.bytes, copy.site, kInstruction);
  std::memset(target, 0, copy.bytes);
  if (copy.source_bytes != 0) {
    const GlobalMemory::Region* region = global_->find(copy.from, copy.source_bytes);
    if (region == nullptr) {
      fault(&thread, copy.site, FaultCode::kGlobalOutOfBounds,
            fmt::format("cp.async of {} bytes at {}", copy.source_bytes, global_->describe(copy.from)));
    }
    std::memcpy(target, region->host + (copy.from - region->address), copy.source_bytes);
  }
  changed();
}

void Machine::land_until(Thread& thread, std::uint64_t number) {
  std::vector<AsyncCopy>& pending = thread.copies.pending;
  const auto is_over = [&](const AsyncCopy& copy) { return copy.number <= number; };
  for (const AsyncCopy& copy : pending) {
    if (is_over(copy)) land(thread, copy);
  }
  std::erase_if(pending, is_over);
}

void Machine::cp_async_commit_group(Thread& thread) { thread.copies.groups.push_back(thread.copies.issued); }

void Machine::cp_async_wait_group(Thread& thread, std::uint32_t pending, CallSite site) {
  std::vector<std::uint64_t>& groups = thread.copies.groups;
  if (groups.size() <= pending) return;
  const auto last = groups.end() - 1 - pending;
  const std::uint64_t over = *last;
  groups.erase(groups.begin(), last + 1);
  land_until(thread, over);
  if (wants(EventKind::kAsyncPass)) {
    emit({.kind = EventKind::kAsyncPass,
          .cta = thread.cta->linear,
          .thread = thread.tid,
          .copy = over,
          .site = site});
  }
}

// PTX: cp.async.mbarrier.arrive: the barrier tracks all copies of the thread so far, and one arrival follows when
// they are complete. Without .noinc the barrier counts one arrival more before that, so that nothing is left of
// it.
void Machine::cp_async_mbarrier_arrive(Thread& thread, SharedAddress address, bool noinc, CallSite site) {
  Barrier& barrier = own_barrier(thread, address, site, "cp.async.mbarrier.arrive");
  land_until(thread, thread.copies.issued);
  if (wants(EventKind::kAsyncArrive)) {
    emit({.kind = EventKind::kAsyncArrive,
          .cta = thread.cta->linear,
          .thread = thread.tid,
          .barrier = barrier.id,
          .address = barrier.offset | barrier.cta->rank << kRankShift,
          .phase = barrier.state.phase,
          .copy = thread.copies.issued,
          .site = site});
  }
  // What the thread itself has done is not part of it.
  if (noinc) mbarrier_arrive(thread, address, 1, EventScope::kRelaxed, site);
}

}  // namespace heddle::sim::machine
