// SPDX-License-Identifier: Apache-2.0
//
// Ordinary loads and stores, and fences.
#include "sim/machine/machine.h"

#include <fmt/format.h>

#include <cstring>

namespace heddle::sim::machine {

std::byte* Machine::shared_bytes(const Thread& thread, SharedAddress address, std::uint32_t bytes, CallSite site,
                                 const char* instruction) const {
  const Cta& cta = cta_of(thread, address, site, instruction);
  const std::uint32_t offset = address & kOffsetMask;
  if (offset % bytes != 0) {
    fault(&thread, site, FaultCode::kMisaligned,
          fmt::format("{} of {} bytes at shared address {:#x}; the address must be a multiple of {}", instruction,
                      bytes, offset, bytes));
  }
  if (offset < kSharedBase || offset + bytes > cta.shared_end) {
    fault(&thread, site, FaultCode::kSharedOutOfBounds,
          fmt::format("{} of {} bytes at shared address {:#x}, outside of the CTA's shared memory [{:#x}, {:#x})",
                      instruction, bytes, offset, kSharedBase, cta.shared_end));
  }
  return cta.shared + offset;
}

// PTX: mbarrier: only mbarrier operations may touch an object that is initialised.
void Machine::check_not_barrier(const Thread& thread, const Cta& cta, std::uint32_t offset, std::uint32_t bytes,
                                CallSite site, const char* instruction, bool writes) const {
  if (bytes == 0) return;
  for (std::uint32_t word = offset / 8; word <= (offset + bytes - 1) / 8; ++word) {
    const std::uint32_t index = cta.barrier_at[word];
    if (index == 0 || !barriers_[index - 1].live) continue;
    fault(&thread, site, writes ? FaultCode::kBarrierOverwritten : FaultCode::kBarrierRead,
          fmt::format("{} of {} bytes at {:#x} {} {}, which is initialised", instruction, bytes, offset,
                      writes ? "writes over" : "reads", describe(barriers_[index - 1])));
  }
}

void Machine::ld_shared(Thread& thread, SharedAddress address, void* registers, std::uint32_t bytes,
                        CallSite site) {
  const std::byte* source = shared_bytes(thread, address, bytes, site, "ld.shared");
  check_not_barrier(thread, cta_of(thread, address, site, "ld.shared"), address & kOffsetMask, bytes, site,
                    "ld.shared", false);
  std::memcpy(registers, source, bytes);
  if (wants(EventKind::kSharedRead)) {
    emit({.kind = EventKind::kSharedRead,
          .cta = thread.cta->linear,
          .thread = thread.tid,
          .address = address,
          .bytes = bytes,
          .site = site});
  }
}

void Machine::st_shared(Thread& thread, SharedAddress address, const void* registers, std::uint32_t bytes,
                        CallSite site) {
  std::byte* target = shared_bytes(thread, address, bytes, site, "st.shared");
  check_not_barrier(thread, cta_of(thread, address, site, "st.shared"), address & kOffsetMask, bytes, site,
                    "st.shared");
  check_stored_value(thread, registers, bytes, site);
  const bool is_watched = wants(EventKind::kSharedWrite);
  const bool is_same = is_watched && std::memcmp(target, registers, bytes) == 0;
  std::memcpy(target, registers, bytes);
  changed();
  if (is_watched) {
    emit({.kind = EventKind::kSharedWrite,
          .cta = thread.cta->linear,
          .thread = thread.tid,
          .address = address,
          .bytes = bytes,
          .value = is_same ? 1u : 0u,
          .site = site});
  }
}

void Machine::ld_global(Thread& thread, std::uint64_t address, void* registers, std::uint32_t bytes,
                        CallSite site, bool is_coherent) {
  const GlobalMemory::Region* region = global_->find(address, bytes);
  if (region == nullptr) {
    fault(&thread, site, FaultCode::kGlobalOutOfBounds,
          fmt::format("ld.global of {} bytes at {}", bytes, global_->describe(address)));
  }
  if (address % bytes != 0) {
    fault(&thread, site, FaultCode::kMisaligned,
          fmt::format("ld.global of {} bytes at {}; the address must be a multiple of {}", bytes,
                      global_->describe(address), bytes));
  }
  std::memcpy(registers, region->host + (address - region->address), bytes);
  if (wants(EventKind::kGlobalRead)) {
    emit({.kind = EventKind::kGlobalRead,
          .cta = thread.cta->linear,
          .thread = thread.tid,
          .bytes = bytes,
          .value = is_coherent ? 0u : 1u,
          .global = address,
          .site = site});
  }
}

void Machine::st_global(Thread& thread, std::uint64_t address, const void* registers, std::uint32_t bytes,
                        CallSite site) {
  const GlobalMemory::Region* region = global_->find(address, bytes);
  if (region == nullptr) {
    fault(&thread, site, FaultCode::kGlobalOutOfBounds,
          fmt::format("st.global of {} bytes at {}", bytes, global_->describe(address)));
  }
  if (!region->writable) {
    fault(&thread, site, FaultCode::kGlobalReadOnly,
          fmt::format("st.global of {} bytes at {}, which is read-only", bytes, global_->describe(address)));
  }
  if (address % bytes != 0) {
    fault(&thread, site, FaultCode::kMisaligned,
          fmt::format("st.global of {} bytes at {}; the address must be a multiple of {}", bytes,
                      global_->describe(address), bytes));
  }
  check_stored_value(thread, registers, bytes, site);
  std::byte* target = region->host + (address - region->address);
  const bool is_watched = wants(EventKind::kGlobalWrite);
  const bool is_same = is_watched && std::memcmp(target, registers, bytes) == 0;
  std::memcpy(target, registers, bytes);
  GlobalMemory::note_written(*region, address, bytes);
  changed();
  if (is_watched) {
    emit({.kind = EventKind::kGlobalWrite,
          .cta = thread.cta->linear,
          .thread = thread.tid,
          .bytes = bytes,
          .value = is_same ? 1u : 0u,
          .global = address,
          .site = site});
  }
}

void Machine::atom_shared(Thread& thread, SharedAddress address, std::uint32_t bytes, const char* instruction,
                          const Strong& how, CallSite site, const Update& update) {
  std::byte* target = shared_bytes(thread, address, bytes, site, instruction);
  check_not_barrier(thread, cta_of(thread, address, site, instruction), address & kOffsetMask, bytes, site,
                    instruction, how.writes);
  std::array<std::byte, 16> before;
  std::memcpy(before.data(), target, bytes);
  Strong done = how;
  done.writes = update(target);
  if (std::memcmp(before.data(), target, bytes) != 0) changed();
  if (wants(EventKind::kSharedStrong)) {
    emit({.kind = EventKind::kSharedStrong,
          .strong = done,
          .cta = thread.cta->linear,
          .thread = thread.tid,
          .address = address,
          .bytes = bytes,
          .site = site});
  }
}

void Machine::atom_global(Thread& thread, std::uint64_t address, std::uint32_t bytes, const char* instruction,
                          const Strong& how, CallSite site, const Update& update) {
  const GlobalMemory::Region* region = global_->find(address, bytes);
  if (region == nullptr) {
    fault(&thread, site, FaultCode::kGlobalOutOfBounds,
          fmt::format("{} of {} bytes at {}", instruction, bytes, global_->describe(address)));
  }
  if (how.writes && !region->writable) {
    fault(
        &thread, site, FaultCode::kGlobalReadOnly,
        fmt::format("{} of {} bytes at {}, which is read-only", instruction, bytes, global_->describe(address)));
  }
  if (address % bytes != 0) {
    fault(&thread, site, FaultCode::kMisaligned,
          fmt::format("{} of {} bytes at {}; the address must be a multiple of {}", instruction, bytes,
                      global_->describe(address), bytes));
  }
  std::byte* target = region->host + (address - region->address);
  std::array<std::byte, 16> before;
  std::memcpy(before.data(), target, bytes);
  Strong done = how;
  done.writes = update(target);
  // What is built on bytes that nobody has written is no better than they.
  if (done.writes && how.old != Strong::Old::kBuiltOn) GlobalMemory::note_written(*region, address, bytes);
  if (std::memcmp(before.data(), target, bytes) != 0) changed();
  if (wants(EventKind::kGlobalStrong)) {
    emit({.kind = EventKind::kGlobalStrong,
          .strong = done,
          .cta = thread.cta->linear,
          .thread = thread.tid,
          .bytes = bytes,
          .global = address,
          .text = instruction,
          .site = site});
  }
}

void Machine::fence(Thread& thread, FenceKind kind, CallSite site) {
  if (wants(EventKind::kFence)) {
    emit({.kind = EventKind::kFence,
          .cta = thread.cta->linear,
          .thread = thread.tid,
          .value = static_cast<std::uint64_t>(kind),
          .site = site});
  }
}

}  // namespace heddle::sim::machine
