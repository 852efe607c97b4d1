// SPDX-License-Identifier: Apache-2.0
//
// PTX: ld, ld.global.nc, ldu, st, prefetch, applypriority, discard, createpolicy.
#include "sim/frontend/ptx/decode.h"
#include "sim/frontend/ptx/interpreter.h"
#include "sim/frontend/ptx/uses.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace heddle::sim::ptx {

Space resolve(Space space, std::uint64_t& address) {
  if (space != Space::kGeneric) return space;
  switch (address & kWindowMask) {
    case kSharedWindow: address &= ~kWindowMask; return Space::kShared;
    case kLocalWindow: address &= ~kWindowMask; return Space::kLocal;
    case kParamWindow: return Space::kParam;
    default: return Space::kGlobal;
  }
}

machine::SharedAddress shared_address(Warp& warp, std::uint32_t lane, std::uint64_t address, bool is_generic,
                                      const Instruction& instruction) {
  if (is_generic && (address & kWindowMask) != kSharedWindow) {
    warp.machine->fault(&warp.thread(lane), instruction.site, FaultCode::kNotShared,
                        fmt::format("a generic address, {:#x}, where shared memory was expected, which does not "
                                    "point there",
                                    address));
  }
  return static_cast<machine::SharedAddress>(address);
}

namespace {

const char* name_of(Space space) {
  constexpr const char* kNames[] = {"generic", "global", "const", "shared", "local", "param"};
  return kNames[static_cast<std::size_t>(space)];
}

// Local memory, and parameters of a call, which lie in it.
std::byte* local_at(Warp& warp, std::uint32_t lane, std::uint64_t address, std::uint32_t bytes,
                    const Instruction& i) {
  address &= 0xffffffffu;
  if (address + bytes > warp.local_limit) {
    warp.machine->fault(&warp.thread(lane), i.site, FaultCode::kLocalOutOfBounds,
                        fmt::format("an access of {} bytes at local address {:#x}; the thread has {} bytes of "
                                    "local memory",
                                    bytes, address, warp.local_limit));
  }
  if (address % bytes != 0) {
    warp.machine->fault(
        &warp.thread(lane), i.site, FaultCode::kMisaligned,
        fmt::format("an access of {} bytes at local address {:#x}; the address must be a multiple "
                    "of {}",
                    bytes, address, bytes));
  }
  return warp.local_bytes(lane, address);
}

const std::byte* param_at(Warp& warp, std::uint32_t lane, std::uint64_t address, std::uint32_t bytes,
                          const Instruction& i) {
  if ((address & kWindowMask) != kParamWindow) return local_at(warp, lane, address, bytes, i);
  const std::uint64_t offset = address & ~kWindowMask;
  if (offset + bytes > warp.interpreter->param_bytes()) {
    warp.machine->fault(&warp.thread(lane), i.site, FaultCode::kParamOutOfBounds,
                        fmt::format("a load of {} bytes at offset {} of the parameters, which have {} bytes",
                                    bytes, offset, warp.interpreter->param_bytes()));
  }
  return warp.interpreter->params() + offset;
}

constexpr std::uint32_t kMachineBytes = 16;  // the widest access that the machine takes

}  // namespace

void load_bytes(Warp& warp, std::uint32_t lane, Space space, std::uint64_t address, void* to, std::uint32_t bytes,
                const Instruction& i, const Strong* strong, bool is_coherent) {
  machine::Machine& m = *warp.machine;
  machine::Thread& thread = warp.thread(lane);
  space = resolve(space, address);
  auto* out = static_cast<std::byte*>(to);
  switch (space) {
    case Space::kShared:
      if (strong != nullptr) {
        const auto load = [&](std::byte* at) {
          std::memcpy(out, at, bytes);
          return false;
        };
        m.memory.atom_shared(thread, static_cast<machine::SharedAddress>(address), bytes, "ld.shared", *strong,
                             i.site, load);
      } else {
        m.memory.ld_shared(thread, static_cast<machine::SharedAddress>(address), out, bytes, i.site);
      }
      return;
    case Space::kLocal: std::memcpy(out, local_at(warp, lane, address, bytes, i), bytes); return;
    case Space::kParam: std::memcpy(out, param_at(warp, lane, address, bytes, i), bytes); return;
    case Space::kConst: {
      const GlobalMemory::Region* region = m.global().find(address, bytes);
      if (region == nullptr) {
        m.fault(&thread, i.site, FaultCode::kGlobalOutOfBounds,
                fmt::format("ld.const of {} bytes at {}", bytes, m.global().describe(address)));
      }
      std::memcpy(out, region->host + (address - region->address), bytes);
      return;
    }
    default: break;
  }
  for (std::uint32_t done = 0; done < bytes; done += kMachineBytes) {
    const std::uint32_t now = std::min(bytes - done, kMachineBytes);
    if (strong != nullptr) {
      m.memory.atom_global(thread, address + done, now, "ld.global", *strong, i.site, [&](std::byte* at) {
        std::memcpy(out + done, at, now);
        return false;
      });
    } else {
      m.memory.ld_global(thread, address + done, out + done, now, i.site, is_coherent);
    }
  }
}

void store_bytes(Warp& warp, std::uint32_t lane, Space space, std::uint64_t address, const void* from,
                 std::uint32_t bytes, const Instruction& i, const Strong* strong) {
  machine::Machine& m = *warp.machine;
  machine::Thread& thread = warp.thread(lane);
  space = resolve(space, address);
  const auto* in = static_cast<const std::byte*>(from);
  switch (space) {
    case Space::kShared:
      if (strong != nullptr) {
        const auto store = [&](std::byte* at) {
          std::memcpy(at, in, bytes);
          return true;
        };
        m.memory.atom_shared(thread, static_cast<machine::SharedAddress>(address), bytes, "st.shared", *strong,
                             i.site, store);
      } else {
        m.memory.st_shared(thread, static_cast<machine::SharedAddress>(address), in, bytes, i.site);
      }
      return;
    case Space::kLocal: std::memcpy(local_at(warp, lane, address, bytes, i), in, bytes); return;
    case Space::kParam:
      if ((address & kWindowMask) != kParamWindow) {
        std::memcpy(local_at(warp, lane, address, bytes, i), in, bytes);
        return;
      }
      [[fallthrough]];
    case Space::kConst:
      m.fault(&thread, i.site, FaultCode::kGlobalReadOnly,
              fmt::format("st of {} bytes to {} memory, which is read-only", bytes, name_of(space)));
    default: break;
  }
  for (std::uint32_t done = 0; done < bytes; done += kMachineBytes) {
    const std::uint32_t now = std::min(bytes - done, kMachineBytes);
    if (strong != nullptr) {
      m.memory.atom_global(thread, address + done, now, "st.global", *strong, i.site, [&](std::byte* at) {
        std::memcpy(at, in + done, now);
        return true;
      });
    } else {
      m.memory.st_global(thread, address + done, in + done, now, i.site);
    }
  }
}

// PTX: volatile and mmio are relaxed at the scope of the system; an atom or red without a scope has that of the
// GPU.
std::uint32_t strong_flags(std::string_view semantics, std::string_view scope) {
  const MemoryScope where = scope == ".cta"       ? MemoryScope::kCta
                            : scope == ".cluster" ? MemoryScope::kCluster
                            : scope == ".sys" || semantics == ".volatile" || semantics == ".mmio"
                                ? MemoryScope::kSys
                                : MemoryScope::kGpu;
  const bool is_both = semantics == ".acq_rel";
  return (is_both || semantics == ".acquire" ? kAcquires : 0) |
         (is_both || semantics == ".release" ? kReleases : 0) | static_cast<std::uint32_t>(where) << kScopeShift;
}

Strong strong_of(std::uint32_t flags, bool reads, bool writes) {
  return {.scope = static_cast<MemoryScope>(flags >> kScopeShift & 3),
          .old = reads ? Strong::Old::kTaken : Strong::Old::kIgnored,
          .reads = reads,
          .writes = writes,
          .acquires = (flags & kAcquires) != 0,
          .releases = (flags & kReleases) != 0};
}

namespace {

// flags of loads and stores.
constexpr std::uint32_t kSpaceMask = 7;
constexpr std::uint32_t kBytesShift = 3;  // of an element: 1 to 16
constexpr std::uint32_t kBytesMask = 31;
constexpr std::uint32_t kSigned = 1u << 8;
constexpr std::uint32_t kStrong = 1u << 9;
constexpr std::uint32_t kNonCoherent = 1u << 10;
constexpr std::uint32_t kStrongShift = 11;
constexpr std::uint32_t kHint = 1u << (kStrongShift + kStrongBits);
constexpr std::uint32_t kFinal = kHint << 1;

std::uint64_t extend(std::uint64_t word, std::uint32_t bytes, bool is_signed) {
  if (!is_signed || bytes == 8) return word;
  const std::uint32_t shift = 64 - 8 * bytes;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(word << shift) >> shift);
}

void load(Warp& warp, const Instruction& i, std::uint32_t mask) {
  const auto space = static_cast<Space>(i.flags & kSpaceMask);
  const std::uint32_t bytes = i.flags >> kBytesShift & kBytesMask;
  const auto count = static_cast<std::uint32_t>(i.rows.size());
  const Row& a = warp.rows[i.a];
  Strong strong = strong_of(i.flags >> kStrongShift, true, false);
  strong.is_hint = (i.flags & kHint) != 0;
  strong.is_final = (i.flags & kFinal) != 0;
  const bool is_strong = (i.flags & kStrong) != 0;
  const bool is_written =
      space == Space::kConst || (space == Space::kGlobal && !warp.machine->global().has_unwritten());
  const bool follows = !is_written && (warp.interpreter->follows_values() || !warp.local_undefined.empty());
  for_lanes(mask, [&](std::uint32_t l) {
    alignas(32) std::array<std::byte, 32> buffer;
    const std::uint64_t address = a[l] + i.value;
    load_bytes(warp, l, space, address, buffer.data(), bytes * count, i, is_strong ? &strong : nullptr,
               (i.flags & kNonCoherent) == 0);
    for (std::uint32_t e = 0; e < count; ++e) {
      std::uint64_t word = 0;
      std::memcpy(&word, buffer.data() + std::size_t{e} * bytes, bytes);
      warp.rows[i.rows[e]][l] = extend(word, bytes, (i.flags & kSigned) != 0);
    }
    if (follows) load_undefined(warp, l, space, address, bytes, (i.flags & kSigned) != 0, i);
  });
}

void store(Warp& warp, const Instruction& i, std::uint32_t mask) {
  const auto space = static_cast<Space>(i.flags & kSpaceMask);
  const std::uint32_t bytes = i.flags >> kBytesShift & kBytesMask;
  const auto count = static_cast<std::uint32_t>(i.rows.size());
  const Row& a = warp.rows[i.a];
  Strong strong = strong_of(i.flags >> kStrongShift, false, true);
  strong.is_hint = (i.flags & kHint) != 0;
  const bool is_strong = (i.flags & kStrong) != 0;
  for_lanes(mask, [&](std::uint32_t l) {
    alignas(32) std::array<std::byte, 32> buffer;
    for (std::uint32_t e = 0; e < count; ++e) {
      std::memcpy(buffer.data() + std::size_t{e} * bytes, &warp.rows[i.rows[e]][l], bytes);
    }
    store_bytes(warp, l, space, a[l] + i.value, buffer.data(), bytes * count, i, is_strong ? &strong : nullptr);
    if ((warp.undefined_rows != 0) | !warp.local_undefined.empty()) [[unlikely]] {
      store_undefined(warp, l, space, a[l] + i.value, bytes, i);
    }
  });
}

// Accesses that others may make at the same time can be told from outside when they happen. A load of that kind
// is mostly one of a loop that waits: others get a turn before it is repeated.
std::uint32_t load_strong(Warp& warp, const Instruction& i, std::uint32_t mask) {
  load(warp, i, mask);
  warp.gives_way = true;
  return mask;
}

std::uint32_t store_strong(Warp& warp, const Instruction& i, std::uint32_t mask) {
  store(warp, i, mask);
  return mask;
}

// PTX: st.bulk: a thread sets bytes of its CTA's shared memory to 0.
std::uint32_t store_zeros(Warp& warp, const Instruction& i, std::uint32_t mask) {
  constexpr std::array<std::byte, kMachineBytes> kZeros = {};
  constexpr std::uint32_t kUnit = 8;
  for_lanes(mask, [&](std::uint32_t l) {
    const std::uint64_t address = warp.rows[i.a][l] + i.value;
    const std::uint64_t bytes = warp.rows[i.b][l];
    if (bytes % kUnit != 0) {
      warp.machine->fault(&warp.thread(l), i.site, FaultCode::kBadCopy,
                          fmt::format("st.bulk of {} bytes; the size must be a multiple of {}", bytes, kUnit));
    }
    if (warp.rows[i.c][l] != 0) {
      warp.machine->fault(&warp.thread(l), i.site, FaultCode::kBadCopy,
                          fmt::format("st.bulk with the value {}; only 0 is allowed", warp.rows[i.c][l]));
    }
    for (std::uint64_t done = 0; done < bytes; done += kUnit) {
      store_bytes(warp, l, static_cast<Space>(i.flags), address + done, kZeros.data(), kUnit, i);
    }
  });
  return mask;
}

void nothing(Warp&, const Instruction&, std::uint32_t) {}

Space space_of(std::string_view modifier) {
  if (modifier.empty()) return Space::kGeneric;
  if (modifier.starts_with(".global")) return Space::kGlobal;
  if (modifier.starts_with(".const")) return Space::kConst;
  if (modifier.starts_with(".shared")) return Space::kShared;
  if (modifier.starts_with(".local")) return Space::kLocal;
  return Space::kParam;
}

std::uint32_t bytes_of(std::string_view type) {
  const std::string_view digits = type.substr(2);
  return digits == "8" ? 1 : digits == "16" ? 2 : digits == "32" ? 4 : digits == "64" ? 8 : 16;
}

// Rows of the elements: for 128 bits, the two halves.
std::vector<std::uint32_t> split_wide(Build& b, std::vector<std::uint32_t> rows) {
  std::vector<std::uint32_t> halves;
  for (const std::uint32_t row : rows) {
    const auto found = b.function().wide_rows.find(row);
    if (found == b.function().wide_rows.end()) b.fail("a 128-bit register is wanted");
    halves.push_back(row);
    halves.push_back(found->second);
  }
  return halves;
}

// PTX: Cache Operators: they do not change the memory consistency behaviour. The assembler makes a strong access
// of the scope of the system of a word that is stored with .wt or loaded with .cv all the same (sm_90a and
// sm_100a, CUDA 13.0: STG.E.STRONG.SYS), and programs hand flags over with them.
void access(Build& b, bool is_load, std::string_view semantics, std::string_view scope, std::string_view space,
            std::string_view cache, std::string_view vector, std::string_view type, bool is_coherent = true) {
  b.want(2, 3);  // a cache policy may follow
  Instruction& out = b.out();
  const Operand& value = b.operand(is_load ? 0 : 1);
  b.address(is_load ? 1 : 0);
  if (b.operand(is_load ? 1 : 0).list.size() != 1) b.fail("one address is wanted");
  out.rows = is_load ? b.targets(value) : b.sources(value, type);
  const std::size_t wanted = vector == ".v2" ? 2 : vector == ".v4" ? 4 : vector == ".v8" ? 8 : 1;
  if (out.rows.size() != wanted) b.fail(fmt::format("{} registers where {} are wanted", out.rows.size(), wanted));
  std::uint32_t bytes = bytes_of(type);
  if (bytes == 16) {
    out.rows = split_wide(b, out.rows);
    bytes = 8;
  }
  if (bytes * out.rows.size() > 32) b.fail("an access of more than 32 bytes");
  const bool is_hint = (cache == ".wt" || cache == ".cv") && out.rows.size() == 1 && bytes <= 8;
  if (is_hint) scope = ".sys";
  const bool is_strong = is_hint || semantics == ".volatile" || semantics == ".relaxed" ||
                         semantics == ".acquire" || semantics == ".release" || semantics == ".mmio";
  out.flags = static_cast<std::uint32_t>(space_of(space)) | bytes << kBytesShift |
              (type[1] == 's' ? kSigned : 0u) |
              (is_strong ? kStrong | strong_flags(semantics, scope) << kStrongShift : 0u) |
              (is_coherent ? 0u : kNonCoherent) | (is_hint ? kHint : 0u);
  if (is_strong) {
    b.machine(is_load ? load_strong : store_strong);
  } else {
    b.scalar(is_load ? load : store);
  }
}

// Policies of caches have no effect here; a register that holds one is defined.
void no_policy(Build& b) {
  b.out().d = b.target(0);
  b.out().a = b.immediate(0);
  b.scalar([](Warp& warp, const Instruction& i, std::uint32_t mask) {
    for_lanes(mask, [&](std::uint32_t l) { warp.rows[i.d][l] = 0; });
  });
}

constexpr const char* kScope = "[.cta,.cluster,.gpu,.sys]";
constexpr const char* kHints =
    "[.L1::evict_normal,.L1::evict_unchanged,.L1::evict_first,.L1::evict_last,.L1::no_allocate]"
    "[.L2::evict_normal,.L2::evict_first,.L2::evict_last][.L2::cache_hint][.L2::64B,.L2::128B,.L2::256B]";
constexpr const char* kTypes =
    "[.v2,.v4,.v8]{.b8,.b16,.b32,.b64,.b128,.u8,.u16,.u32,.u64,.s8,.s16,.s32,.s64,.f32,.f64}";

}  // namespace

// CUDA: Atomic Functions: a loop around atomicCAS begins with a plain load of the word. If it gives an old value,
// the comparison fails and the loop goes on, so the load counts as one of the GPU's scope, told as formal. So
// does one that ends the loop, or goes around it, where the word has its value already.
void mark_compared_loads(Function& function) {
  const auto compares = [](const Instruction& i) { return i.compares; };
  if (std::none_of(function.code.begin(), function.code.end(), compares)) return;
  for (std::size_t at = 0; at < function.code.size(); ++at) {
    Instruction& i = function.code[at];
    const bool is_plain =
        i.control == Control::kScalar && i.run == load && i.rows.size() == 1 && (i.flags & kNonCoherent) == 0;
    if (!is_plain || !is_only_compared(function, at)) continue;
    i.flags |= kStrong | kHint | strong_flags(".relaxed", ".gpu") << kStrongShift;
    i.control = Control::kMachine;
    i.machine = load_strong;
    i.is_visible = true;
  }
}

namespace {

// For each instruction the shortest loop around it, as its first and last one; none where first is behind last.
struct Loop {
  std::size_t first = 1, last = 0;
};

std::vector<Loop> innermost_loops(const Function& function) {
  std::vector<Loop> loops;
  for (std::size_t at = 0; at < function.code.size(); ++at) {
    const Instruction& i = function.code[at];
    if (i.control == Control::kBranch && i.target <= at) loops.push_back({i.target, at});
  }
  std::sort(loops.begin(), loops.end(),
            [](const Loop& a, const Loop& b) { return a.last - a.first < b.last - b.first; });
  std::vector<Loop> around(function.code.size());
  std::vector<std::size_t> next_free(function.code.size() + 1);  // at or after each: without a loop so far
  std::iota(next_free.begin(), next_free.end(), std::size_t{0});
  const auto find_free = [&](std::size_t at) {
    while (next_free[at] != at) at = next_free[at] = next_free[next_free[at]];
    return at;
  };
  for (const Loop& loop : loops) {
    for (std::size_t at = find_free(loop.first); at <= loop.last; at = find_free(at)) {
      around[at] = loop;
      next_free[at] = at + 1;
    }
  }
  return around;
}

}  // namespace

// A loop that waits loads the same place again and again: an old value makes it wait, and no more. The compiler
// may have taken the first turn out of the loop. What a function is called for is not known, nor where an indexed
// branch goes.
void mark_final_loads(Function& function) {
  const auto is_load = [](const Instruction& i) { return i.machine == load_strong && (i.flags & kHint) == 0; };
  const auto is_indexed = [](const Instruction& i) { return i.control == Control::kBranchIndexed; };
  if (!function.text->is_entry || std::none_of(function.code.begin(), function.code.end(), is_load)) return;
  if (std::any_of(function.code.begin(), function.code.end(), is_indexed)) return;

  std::unordered_map<std::uint32_t, std::vector<std::size_t>> writers;  // of a register, in order
  for (std::size_t at = 0; at < function.code.size(); ++at) {
    for (const std::uint32_t row : function.flows[at].writes) writers[row].push_back(at);
  }
  // A longer loop writes what a shorter one in it writes.
  const std::vector<Loop> loops = innermost_loops(function);
  const auto is_repeated = [&](std::size_t at) {
    if (loops[at].first > loops[at].last) return false;
    const auto found = writers.find(function.code[at].a);
    if (found == writers.end()) return true;
    const auto write = std::lower_bound(found->second.begin(), found->second.end(), loops[at].first);
    return write == found->second.end() || *write > loops[at].last;
  };
  std::set<std::pair<std::uint32_t, std::uint64_t>> polled;  // register and offset
  for (std::size_t at = 0; at < function.code.size(); ++at) {
    const Instruction& i = function.code[at];
    if (is_load(i) && is_repeated(at)) polled.insert({i.a, i.value});
  }
  for (std::size_t at = 0; at < function.code.size(); ++at) {
    Instruction& i = function.code[at];
    if (is_load(i) && !is_only_compared(function, at) && !polled.contains({i.a, i.value})) i.flags |= kFinal;
  }
}

bool stores_for_others(const Instruction& i) {
  const auto space = static_cast<Space>(i.flags & kSpaceMask);
  const bool is_store = i.control == Control::kScalar ? i.run == store : i.machine == store_strong;
  return is_store && (space == Space::kGlobal || space == Space::kShared);
}

void add_memory_forms(FormTable& table) {
  table.add(std::string("ld[.weak,.volatile,.relaxed,.acquire,.mmio]") + kScope +
                "[.const,.global,.local,.param,.param::entry,.param::func,.shared,.shared::cta,.shared::cluster]"
                "[.nc][.ca,.cg,.cs,.lu,.cv]" +
                kHints + kTypes,
            [](Build& b) {
              // Model: what the first level does not keep comes from the second, which is coherent: DeepEP loads
              // what others have sent in this way, after it has acquired it.
              const bool is_coherent = b.mod(3).empty() || b.mod(5) == ".L1::no_allocate";
              access(b, true, b.mod(0), b.mod(1), b.mod(2), b.mod(4), b.mod(9), b.mod(10), is_coherent);
            });
  table.add(std::string("st[.weak,.volatile,.relaxed,.release,.mmio]") + kScope +
                "[.global,.local,.param,.param::func,.shared,.shared::cta,.shared::cluster]"
                "[.wb,.cg,.cs,.wt]" +
                kHints + kTypes,
            [](Build& b) { access(b, false, b.mod(0), b.mod(1), b.mod(2), b.mod(3), b.mod(8), b.mod(9)); });
  table.add(std::string("ld.mmio.relaxed.sys[.global]") + kTypes,
            [](Build& b) { access(b, true, ".mmio", ".sys", b.mod(0), {}, b.mod(1), b.mod(2)); });
  table.add(std::string("st.mmio.relaxed.sys[.global]") + kTypes,
            [](Build& b) { access(b, false, ".mmio", ".sys", b.mod(0), {}, b.mod(1), b.mod(2)); });
  table.add(std::string("ldu[.global]") + kTypes,
            [](Build& b) { access(b, true, {}, {}, b.mod(0), {}, b.mod(1), b.mod(2), false); });
  table.add("st.bulk[.weak][.shared::cta]", [](Build& b) {
    b.want(3);
    b.address(0);
    b.out().b = b.source(1);
    b.out().c = b.source(2);
    b.out().flags = static_cast<std::uint32_t>(b.has(1) ? Space::kShared : Space::kGeneric);
    b.machine(store_zeros);
  });
  table.add("prefetch[.global,.local]{.L1,.L2,.L2::evict_last,.L2::evict_normal}",
            [](Build& b) { b.scalar(nothing); });
  table.add("prefetchu.L1", [](Build& b) { b.scalar(nothing); });
  table.add("applypriority[.global].L2::evict_normal", [](Build& b) { b.scalar(nothing); });
  table.add("discard[.global].L2", [](Build& b) { b.scalar(nothing); });
  table.add(
      "createpolicy.fractional{.L2::evict_last,.L2::evict_normal,.L2::evict_first,.L2::evict_unchanged}"
      "[.L2::evict_first,.L2::evict_unchanged].b64",
      [](Build& b) {
        b.want(1, 2);
        no_policy(b);
      });
  table.add(
      "createpolicy.range[.global]{.L2::evict_last,.L2::evict_normal,.L2::evict_first,.L2::evict_unchanged}"
      "[.L2::evict_first,.L2::evict_unchanged].b64",
      [](Build& b) {
        b.want(4);
        no_policy(b);
      });
  table.add("createpolicy.cvt.L2.b64", [](Build& b) {
    b.want(2);
    no_policy(b);
  });
}

}  // namespace heddle::sim::ptx
