// SPDX-License-Identifier: Apache-2.0
//
// What a program that knows heddle may ask of the card, beyond CUDA's calls. heddle's Python module does, in a
// program that `heddle exec` runs: it finds these functions by their names, or not at all beside a real card.
#include "c/report.h"
#include "runtime/host_work.h"
#include "runtime/kept_ptx.h"
#include "runtime/quiet_free.h"
#include "runtime/state.h"

#include <cstdint>
#include <set>
#include <string>

#include <unistd.h>

using namespace heddle::runtime;

// Where the bytes of device memory are in this process. Whoever asks in order to write says so, because reading
// what nobody wrote is a mistake. The code of cudaErrorInvalidValue for memory that is not the card's; what a
// broken card says.
HEDDLE_CUDA_CALL int heddle_exec_host_bytes(const void* begin, std::size_t bytes, int writes, void** host) {
  return static_cast<int>(guarded("heddle_exec_host_bytes", [&](State& card) {
    if (!all_set(host)) return Error::kInvalidValue;
    *host = nullptr;
    const Allocation* found = card.memory.find(begin);
    if (found == nullptr) return Error::kInvalidValue;
    const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(begin) - found->begin);
    if (bytes > found->bytes - offset) return Error::kInvalidValue;
    *host = found->host.get() + offset;
    if (writes != 0) {
      const auto address = reinterpret_cast<std::uintptr_t>(begin);
      const heddle::sim::GlobalMemory::Region* region = card.memory.global().find(address, bytes);
      if (region != nullptr) heddle::sim::GlobalMemory::note_written(*region, address, bytes);
    }
    return Error::kSuccess;
  }));
}

// An operator that runs on the host in the place of a kernel, as work of a stream: the bytes that it is about to
// read or write must be ordered with what other streams do.
HEDDLE_CUDA_CALL int heddle_exec_order(const char* name, const void* stream, const void* begin, std::size_t bytes,
                                       int writes) {
  return static_cast<int>(guarded("heddle_exec_order", [&](State& card) {
    static auto* names = new std::set<std::string>;  // the card keeps a pointer to that of its last call
    if (name != nullptr) card.call = names->emplace(name).first->c_str();
    return on_stream(card, stream, [&](State&) {
      const Box box = {.begin = const_cast<void*>(begin)};
      return writes != 0 ? order_host_work(card, box, {}, {.width = bytes})
                         : order_host_work(card, {}, box, {.width = bytes});
    });
  }));
}

// From now on cudaFree neither waits nor fails: see quiet_free.h.
HEDDLE_CUDA_CALL void heddle_exec_free_quietly() { frees_quietly = true; }

// From now on reports are kept for heddle_exec_take_report, and not printed.
HEDDLE_CUDA_CALL void heddle_exec_keep_reports() {
  guard("heddle_exec_keep_reports", [](State& card) { card.reports_kept_by = getpid(); });
}

// The oldest report of a launch with findings, for heddle_report_free; null if there is none.
HEDDLE_CUDA_CALL heddle_report* heddle_exec_take_report() {
  heddle_report* oldest = nullptr;
  guard("heddle_exec_take_report", [&](State& card) {
    if (card.reports.empty()) return;
    oldest = card.reports.front().release();
    card.reports.pop_front();
  });
  return oldest;
}

// The PTX of machine code that will be loaded: see kept_ptx.h.
HEDDLE_CUDA_CALL void heddle_exec_keep_ptx(const char* text) {
  guard("heddle_exec_keep_ptx", [&](State&) {
    if (text != nullptr) keep_ptx(text);
  });
}

// An operator that runs on the host in the place of a kernel has failed where no call waits for it: the card is
// broken as by an assertion of a kernel.
HEDDLE_CUDA_CALL void heddle_exec_fail() {
  guarded<true>("heddle_exec_fail", [](State& card) { return card.failed = Error::kAssert; });
}

// A card that a kernel broke works again, and its memory stays as it is: no hardware does that. For what tests
// many kernels in one process.
HEDDLE_CUDA_CALL void heddle_exec_mend() {
  guard("heddle_exec_mend", [](State& card) { card.failed = Error::kSuccess; });
  take_last_error();
}
