// SPDX-License-Identifier: Apache-2.0
//
// Records of what warps do on the GPU, for timelines. A build with HEDDLE_TRACE set to 1 writes one where a wait
// begins and ends, a barrier is arrived on, a group of wgmma is committed, a tile is begun or done with, and a
// role or a ring gets its name; the memory is that of a DeviceTrace (host/device_trace.h). Otherwise everything
// here is empty. The simulated SM needs none: it sees what instructions do.
//
//   const TracedWait traced(bar, parity);
//   while (!mbarrier_try_wait_parity(bar, parity)) {}
#pragma once

#include <heddle/isa/target.h>
#include <heddle/isa/trace_record.h>

#if HEDDLE_ON_CUDA && HEDDLE_TRACE
#include <cuda/ptx>
#endif

namespace heddle::inline HEDDLE_TARGET::isa {

#if HEDDLE_ON_CUDA && HEDDLE_TRACE

// Where the records of a launch go. Null: nowhere.
struct TraceTarget {
  TraceRecord* records;
  std::uint32_t* counts;
  std::uint32_t capacity;
  std::uint32_t ctas;
  std::uint32_t shared_offset;  // of the first warp's buffer in the dynamic shared memory
};

// In constant memory, so that a kernel has the same arguments with and without. launch() sets it.
static __constant__ TraceTarget trace_target;

// What a warp has of its row in shared memory, after that of the kernel: records on their way, and how far it has
// come. A store to global memory makes the next release of an mbarrier wait until it is done, so they go out
// together.
struct alignas(16) TraceBuffer {
  static constexpr std::uint32_t kRecords = 8;

  TraceRecord records[kRecords];
  TraceRecord* row;  // null: the CTA is not recorded
  std::uint32_t events;
  std::uint32_t kept;
};

HEDDLE_HOST_DEVICE constexpr std::uint32_t trace_shared_bytes(std::uint32_t threads) {
  return threads / 32 * static_cast<std::uint32_t>(sizeof(TraceBuffer));
}

namespace detail {

HEDDLE_DEVICE std::uint32_t trace_warp() { return threadIdx.x / 32; }

HEDDLE_DEVICE std::uint32_t trace_cta() { return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z); }

HEDDLE_DEVICE TraceBuffer& trace_buffer() {
  extern __shared__ __align__(1024) unsigned char dynamic_shared[];
  return reinterpret_cast<TraceBuffer*>(dynamic_shared + trace_target.shared_offset)[trace_warp()];
}

HEDDLE_DEVICE std::uint64_t trace_clock() {
  std::uint64_t clock;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(clock)::"memory");
  return clock;
}

// One thread of those that come here together writes for all.
HEDDLE_DEVICE bool trace_writes() {
  if (trace_target.records == nullptr) return false;
  const std::uint32_t active = __activemask();
  return cuda::ptx::get_sreg_laneid() == static_cast<std::uint32_t>(__ffs(static_cast<int>(active)) - 1);
}

HEDDLE_DEVICE void trace_write(TraceRecord* to, std::uint64_t clock, std::uint32_t what, std::uint32_t value) {
  const auto low = static_cast<std::uint32_t>(clock);
  const auto high = static_cast<std::uint32_t>(clock >> 32);
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)), "r"(low),
               "r"(high), "r"(what), "r"(value)
               : "memory");
}

// Records that have not gone out yet, of the `events` so far.
HEDDLE_DEVICE void trace_flush(const TraceBuffer& buffer, std::uint32_t events) {
  const std::uint32_t first = (events - 1) / TraceBuffer::kRecords * TraceBuffer::kRecords;
  TraceRecord* const to = buffer.row + kTraceKept + first % trace_target.capacity;
  for (std::uint32_t i = 0; i < events - first; ++i) {
    const TraceRecord& record = buffer.records[i];
    trace_write(to + i, record.clock, record.what, record.value);
  }
}

// Threads of a warp that went different ways may come here at once; the later one's record then takes the place
// of the other's. An atomic counter would take as long as all the rest.
HEDDLE_DEVICE void trace_event(std::uint32_t what, std::uint32_t value, std::uint64_t clock = trace_clock()) {
  if (!trace_writes()) return;
  TraceBuffer& buffer = trace_buffer();
  if (buffer.row == nullptr) return;
  const std::uint32_t slot = buffer.events;
  buffer.events = slot + 1;
  buffer.records[slot % TraceBuffer::kRecords] = {clock, what, value};
  if (slot % TraceBuffer::kRecords == TraceBuffer::kRecords - 1) trace_flush(buffer, slot + 1);
}

HEDDLE_DEVICE void trace_keep(std::uint64_t clock, std::uint32_t what, std::uint32_t value) {
  TraceBuffer& buffer = trace_buffer();
  if (buffer.row == nullptr || buffer.kept >= kTraceKept) return;
  trace_write(buffer.row + buffer.kept++, clock, what, value);
}

HEDDLE_DEVICE void trace_keep_text(const char* text, std::uint32_t letters) {
  for (std::uint32_t first = 0; first < letters; first += 8) {
    std::uint64_t word = 0;
    for (std::uint32_t i = 0; i < 8 && first + i < letters; ++i) {
      word |= std::uint64_t{static_cast<unsigned char>(text[first + i])} << 8 * i;
    }
    trace_keep(word, pack_record(TraceEvent::kText, 0), 0);
  }
}

HEDDLE_DEVICE std::uint32_t trace_letters(const char* text) {
  std::uint32_t letters = 0;
  while (letters < kTraceLetters && text[letters] != '\0') ++letters;
  return letters;
}

HEDDLE_DEVICE std::uint32_t trace_offset(const void* bar) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(bar)) & 0xffffffu;
}

HEDDLE_DEVICE void trace_anchor(TraceEvent event, std::uint32_t value) {
  std::uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
  trace_keep(trace_clock(), pack_record(event, 0), value);
  trace_keep(ns, pack_record(TraceEvent::kAnchor, 0), 0);
}

}  // namespace detail

// By all threads, at the beginning of a kernel and at its end.
HEDDLE_DEVICE void trace_begin() {
  if (trace_target.records != nullptr && threadIdx.x % 32 == 0) {
    TraceBuffer& buffer = detail::trace_buffer();
    const std::uint64_t warp = std::uint64_t{detail::trace_cta()} * (blockDim.x / 32) + detail::trace_warp();
    buffer.row = detail::trace_cta() < trace_target.ctas
                     ? trace_target.records + warp * (kTraceKept + trace_target.capacity)
                     : nullptr;
    buffer.events = 0;
    buffer.kept = 0;
  }
  __syncwarp();
  if (detail::trace_writes()) detail::trace_anchor(TraceEvent::kBegin, cuda::ptx::get_sreg_smid());
}
HEDDLE_DEVICE void trace_end() {
  __syncwarp();
  if (!detail::trace_writes()) return;
  detail::trace_anchor(TraceEvent::kEnd, 0);
  const TraceBuffer& buffer = detail::trace_buffer();
  if (buffer.row == nullptr) return;
  const std::uint32_t events = buffer.events;
  if (events % TraceBuffer::kRecords != 0) detail::trace_flush(buffer, events);
  trace_target.counts[detail::trace_cta() * (blockDim.x / 32) + detail::trace_warp()] = events;
}

HEDDLE_DEVICE void trace_role(const char* name) {
  if (!detail::trace_writes()) return;
  const std::uint32_t letters = detail::trace_letters(name);
  detail::trace_keep(detail::trace_clock(), pack_record(TraceEvent::kRole, letters), 0);
  detail::trace_keep_text(name, letters);
}

HEDDLE_DEVICE void trace_barriers(const void* first, std::uint32_t count, Name ring, std::uint32_t role) {
  if (!detail::trace_writes()) return;
  const std::uint32_t letters = detail::trace_letters(ring.text);
  detail::trace_keep(detail::trace_clock(),
                     pack_record(TraceEvent::kBarriers, pack_barriers(role, count, letters)),
                     detail::trace_offset(first));
  detail::trace_keep_text(ring.text, letters);
}

HEDDLE_DEVICE void trace_arrive(const void* bar, std::uint32_t tx_bytes = 0) {
  detail::trace_event(pack_record(TraceEvent::kArrive, tx_bytes), detail::trace_offset(bar));
}
HEDDLE_DEVICE void trace_multiply() { detail::trace_event(pack_record(TraceEvent::kMultiply, 0), 0); }
HEDDLE_DEVICE void trace_tile(std::uint32_t m, std::uint32_t n) {
  detail::trace_event(pack_record(TraceEvent::kTile, n), m);
}
HEDDLE_DEVICE void trace_tile_end() { detail::trace_event(pack_record(TraceEvent::kTileEnd, 0), 0); }

// From where it is made to the end of its block the warp waits.
class TracedWait {
 public:
  HEDDLE_DEVICE TracedWait(const void* bar, std::uint32_t parity)
      : what_(pack_wait(WaitedFor::kBarrier, detail::trace_offset(bar) / 8, parity)), begin_(begin()) {}
  HEDDLE_DEVICE explicit TracedWait(WaitedFor what, std::uint32_t which = 0)
      : what_(pack_wait(what, which)), begin_(begin()) {}
  TracedWait(const TracedWait&) = delete;
  TracedWait& operator=(const TracedWait&) = delete;
  HEDDLE_DEVICE ~TracedWait() {
    const std::uint64_t now = detail::trace_clock();
    detail::trace_event(pack_record(TraceEvent::kPass, what_), static_cast<std::uint32_t>(now) - begin_, now);
  }

 private:
  HEDDLE_DEVICE static std::uint32_t begin() {
    std::uint32_t clock;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(clock)::"memory");
    return clock;
  }

  std::uint32_t what_;
  std::uint32_t begin_;
};

// A test that found the phase over.
HEDDLE_DEVICE bool trace_tested(bool is_over, const void* bar, std::uint32_t parity) {
  if (is_over) {
    const std::uint32_t which = detail::trace_offset(bar) / 8;
    detail::trace_event(pack_record(TraceEvent::kPass, pack_wait(WaitedFor::kBarrier, which, parity)), 0);
  }
  return is_over;
}

#else

HEDDLE_HOST_DEVICE constexpr std::uint32_t trace_shared_bytes(std::uint32_t) { return 0; }

HEDDLE_DEVICE void trace_begin() {}
HEDDLE_DEVICE void trace_end() {}
HEDDLE_DEVICE void trace_role(const char*) {}
HEDDLE_DEVICE void trace_barriers(const void*, std::uint32_t, Name, std::uint32_t) {}
HEDDLE_DEVICE void trace_arrive(const void*, std::uint32_t = 0) {}
HEDDLE_DEVICE void trace_multiply() {}
HEDDLE_DEVICE void trace_tile(std::uint32_t, std::uint32_t) {}
HEDDLE_DEVICE void trace_tile_end() {}
HEDDLE_DEVICE bool trace_tested(bool is_over, const void*, std::uint32_t) { return is_over; }

class TracedWait {
 public:
  HEDDLE_DEVICE TracedWait(const void*, std::uint32_t) {}
  HEDDLE_DEVICE explicit TracedWait(WaitedFor, std::uint32_t = 0) {}
  HEDDLE_DEVICE ~TracedWait() {}
};

#endif

}  // namespace heddle::inline HEDDLE_TARGET::isa
