// SPDX-License-Identifier: Apache-2.0
//
// Ordinary loads and stores, and fences.
#include "sim/machine/memory_unit.h"

#include "sim/machine/mbarrier_unit.h"
#include "sim/machine/tmem_unit.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

namespace heddle::sim::machine {

namespace {

// What most instructions move is copied without a call.
inline void copy_few(void* to, const void* from, std::uint32_t bytes) {
  switch (bytes) {
    case 2: std::memcpy(to, from, 2); return;
    case 4: std::memcpy(to, from, 4); return;
    case 8: std::memcpy(to, from, 8); return;
    case 16: std::memcpy(to, from, 16); return;
    default: std::memcpy(to, from, bytes);
  }
}

// Floats that differ by what sums of the same numbers in another order do, of a size that hardly any integer
// looks like.
template <class Float>
bool is_rounded_alike(const std::byte* a, const std::byte* b) {
  constexpr Float kLeast = 0x1p-40, kMost = 0x1p40, kPart = 0x1p-10;
  Float x = 0, y = 0;
  std::memcpy(&x, a, sizeof(x));
  std::memcpy(&y, b, sizeof(y));
  return std::abs(x) >= kLeast && std::abs(x) <= kMost && std::abs(x - y) <= kPart * std::abs(x);
}

template <class Float>
bool are_rounded_alike(const std::byte* a, const std::byte* b, std::uint32_t bytes) {
  if (bytes % sizeof(Float) != 0) return false;
  for (std::uint32_t at = 0; at < bytes; at += sizeof(Float)) {
    if (!is_rounded_alike<Float>(a + at, b + at)) return false;
  }
  return true;
}

}  // namespace

void MemoryUnit::ld_shared(Thread& thread, SharedAddress address, void* registers, std::uint32_t bytes,
                           CallSite site) {
  const std::byte* source = core_.shared_bytes(thread, address, bytes, site, "ld.shared");
  mbarriers_.check_none_in(thread, core_.cta_of(thread, address, site, "ld.shared"), address & kOffsetMask, bytes,
                           site, "ld.shared", false);
  copy_few(registers, source, bytes);
  core_.emit(event::SharedRead{
      .cta = thread.cta->linear, .thread = thread.tid, .address = address, .bytes = bytes, .site = site});
}

void MemoryUnit::st_shared(Thread& thread, SharedAddress address, const void* registers, std::uint32_t bytes,
                           CallSite site) {
  std::byte* target = core_.shared_bytes(thread, address, bytes, site, "st.shared");
  mbarriers_.check_none_in(thread, core_.cta_of(thread, address, site, "st.shared"), address & kOffsetMask, bytes,
                           site, "st.shared");
  tmem_.check_stored_value(thread, registers, bytes, site);
  const bool is_watched = core_.wants<event::SharedWrite>();
  const bool is_same = is_watched && std::memcmp(target, registers, bytes) == 0;
  const auto* value = static_cast<const std::byte*>(registers);
  const bool is_rounded =
      is_watched && !is_same &&
      (are_rounded_alike<float>(target, value, bytes) || are_rounded_alike<double>(target, value, bytes));
  std::memcpy(target, registers, bytes);
  core_.changed();
  if (is_watched) {
    core_.emit(event::SharedWrite{.cta = thread.cta->linear,
                                  .thread = thread.tid,
                                  .address = address,
                                  .bytes = bytes,
                                  .keeps_value = is_same,
                                  .rounds_value = is_rounded,
                                  .site = site});
  }
}

void MemoryUnit::ld_global(Thread& thread, std::uint64_t address, void* registers, std::uint32_t bytes,
                           CallSite site, bool is_coherent) {
  const GlobalMemory::Region* region = core_.global().find(address, bytes);
  if (region == nullptr) {
    core_.fault(&thread, site, FaultCode::kGlobalOutOfBounds,
                fmt::format("ld.global of {} bytes at {}", bytes, core_.global().describe(address)));
  }
  if (address % bytes != 0) {
    core_.fault(&thread, site, FaultCode::kMisaligned,
                fmt::format("ld.global of {} bytes at {}; the address must be a multiple of {}", bytes,
                            core_.global().describe(address), bytes));
  }
  copy_few(registers, region->host + (address - region->address), bytes);
  core_.emit(event::GlobalRead{.cta = thread.cta->linear,
                               .thread = thread.tid,
                               .global = address,
                               .bytes = bytes,
                               .is_coherent = is_coherent,
                               .site = site});
}

void MemoryUnit::st_global(Thread& thread, std::uint64_t address, const void* registers, std::uint32_t bytes,
                           CallSite site) {
  const GlobalMemory::Region* region = core_.global().find(address, bytes);
  if (region == nullptr) {
    core_.fault(&thread, site, FaultCode::kGlobalOutOfBounds,
                fmt::format("st.global of {} bytes at {}", bytes, core_.global().describe(address)));
  }
  if (!region->writable) {
    core_.fault(
        &thread, site, FaultCode::kGlobalReadOnly,
        fmt::format("st.global of {} bytes at {}, which is read-only", bytes, core_.global().describe(address)));
  }
  if (address % bytes != 0) {
    core_.fault(&thread, site, FaultCode::kMisaligned,
                fmt::format("st.global of {} bytes at {}; the address must be a multiple of {}", bytes,
                            core_.global().describe(address), bytes));
  }
  tmem_.check_stored_value(thread, registers, bytes, site);
  std::byte* target = region->host + (address - region->address);
  const bool is_watched = core_.wants<event::GlobalWrite>();
  const bool is_same = is_watched && std::memcmp(target, registers, bytes) == 0;
  std::memcpy(target, registers, bytes);
  GlobalMemory::note_written(*region, address, bytes);
  core_.changed();
  if (is_watched) {
    core_.emit(event::GlobalWrite{.cta = thread.cta->linear,
                                  .thread = thread.tid,
                                  .global = address,
                                  .bytes = bytes,
                                  .keeps_value = is_same,
                                  .site = site});
  }
}

void MemoryUnit::atom_shared(Thread& thread, SharedAddress address, std::uint32_t bytes, const char* instruction,
                             const Strong& how, CallSite site, const Update& update) {
  std::byte* target = core_.shared_bytes(thread, address, bytes, site, instruction);
  mbarriers_.check_none_in(thread, core_.cta_of(thread, address, site, instruction), address & kOffsetMask, bytes,
                           site, instruction, how.writes);
  std::array<std::byte, 16> before;
  std::memcpy(before.data(), target, bytes);
  Strong done = how;
  done.writes = update(target);
  if (std::memcmp(before.data(), target, bytes) != 0) core_.changed();
  core_.emit(event::SharedStrong{.cta = thread.cta->linear,
                                 .thread = thread.tid,
                                 .address = address,
                                 .bytes = bytes,
                                 .strong = done,
                                 .site = site});
}

void MemoryUnit::atom_global(Thread& thread, std::uint64_t address, std::uint32_t bytes, const char* instruction,
                             const Strong& how, CallSite site, const Update& update) {
  const GlobalMemory::Region* region = core_.global().find(address, bytes);
  if (region == nullptr) {
    core_.fault(&thread, site, FaultCode::kGlobalOutOfBounds,
                fmt::format("{} of {} bytes at {}", instruction, bytes, core_.global().describe(address)));
  }
  if (how.writes && !region->writable) {
    core_.fault(&thread, site, FaultCode::kGlobalReadOnly,
                fmt::format("{} of {} bytes at {}, which is read-only", instruction, bytes,
                            core_.global().describe(address)));
  }
  if (address % bytes != 0) {
    core_.fault(&thread, site, FaultCode::kMisaligned,
                fmt::format("{} of {} bytes at {}; the address must be a multiple of {}", instruction, bytes,
                            core_.global().describe(address), bytes));
  }
  std::byte* target = region->host + (address - region->address);
  std::array<std::byte, 16> before;
  std::memcpy(before.data(), target, bytes);
  Strong done = how;
  done.writes = update(target);
  // What is built on bytes that nobody has written is no better than they.
  if (done.writes && how.old != Strong::Old::kBuiltOn) GlobalMemory::note_written(*region, address, bytes);
  if (std::memcmp(before.data(), target, bytes) != 0) core_.changed();
  core_.emit(event::GlobalStrong{.cta = thread.cta->linear,
                                 .thread = thread.tid,
                                 .global = address,
                                 .bytes = bytes,
                                 .strong = done,
                                 .instruction = instruction,
                                 .site = site});
}

void MemoryUnit::fence(Thread& thread, FenceKind kind, CallSite site) {
  core_.emit(event::Fence{.cta = thread.cta->linear, .thread = thread.tid, .kind = kind, .site = site});
}

}  // namespace heddle::sim::machine
