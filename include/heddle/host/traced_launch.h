// SPDX-License-Identifier: Apache-2.0
//
// What a kernel built with HEDDLE_TRACE has left in the GPU's memory, and the file that keeps it.
//
//   write_traced_launches("matmul.trace", trace.take());   // trace: see host/device_trace.h
//   heddle trace -o matmul.html file matmul.trace
#pragma once

#include <heddle/host/error.h>
#include <heddle/isa/trace_record.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace heddle {

struct TracedLaunch {
  std::string kernel;
  std::uint32_t grid[3] = {1, 1, 1};
  std::uint32_t warps = 0;                 // of a CTA
  std::uint32_t ctas = 0;                  // that were recorded, from the first on
  std::uint32_t capacity = 0;              // of the ring
  std::vector<std::uint32_t> counts = {};  // by warp: records that were made for the ring
  std::vector<TraceRecord> records = {};   // by warp, kTraceKept + capacity for each

  std::size_t row() const { return std::size_t{kTraceKept} + capacity; }
};

// The bytes of a file: a line of text for each launch, then its numbers as they are in memory.
inline constexpr char kTraceFileMark[] = "heddle trace 1\n";

// Throws InputError if the file cannot be written.
inline void write_traced_launches(const std::string& path, const std::vector<TracedLaunch>& launches) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) throw InputError("trace '" + path + "': it cannot be written");
  bool is_well = std::fputs(kTraceFileMark, file) >= 0;
  for (const TracedLaunch& launch : launches) {
    is_well = is_well && std::fprintf(file, "%u %u %u %u %u %u %zu %s\n", launch.grid[0], launch.grid[1],
                                      launch.grid[2], launch.warps, launch.ctas, launch.capacity,
                                      launch.kernel.size(), launch.kernel.c_str()) > 0;
    is_well = is_well && std::fwrite(launch.counts.data(), sizeof(std::uint32_t), launch.counts.size(), file) ==
                             launch.counts.size();
    is_well = is_well && std::fwrite(launch.records.data(), sizeof(TraceRecord), launch.records.size(), file) ==
                             launch.records.size();
  }
  if ((std::fclose(file) != 0) || !is_well) {
    std::remove(path.c_str());
    throw InputError("trace '" + path + "': writing it failed");
  }
}

// Throws InputError for a file that is none, or that ends too early.
std::vector<TracedLaunch> read_traced_launches(const std::string& path);

}  // namespace heddle
