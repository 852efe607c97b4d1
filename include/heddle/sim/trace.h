// SPDX-License-Identifier: Apache-2.0
//
// What the warps, copies and multiplications of launches did, as a picture: who waits for which barrier, who
// holds which stage, what is in flight, and which of them ended a wait.
//
//   sim::Trace trace;
//   sim::launch<Copy>({.memory = &memory, .trace = &trace}, {.grid = {4}}, params);
//   trace.write("copy.html");
//
// Time is in cycles of a card, as a simple model has them (heddle/sim/timing.h): what a thread issues, copies and
// multiplications take as many as it says, arithmetic takes none, and a wait ends when what it waited for has
// happened. It is nearly the same under all schedules that do not change what the kernel does: only who comes
// first at a unit that two warps want is theirs.
#pragma once

#include <heddle/host/traced_launch.h>
#include <heddle/sim/timing.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace heddle::sim {

namespace trace {
struct Timeline;
}

class Trace {
 public:
  // Recording stops at this many spans; the trace then says so. Without a timing, that of the launch's
  // architecture.
  explicit Trace(std::uint64_t max_spans = 500'000, std::optional<Timing> timing = std::nullopt);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // What a kernel built with HEDDLE_TRACE did on a GPU: see heddle/host/device_trace.h. Time is in cycles then.
  // Throws InputError for records that contradict one another.
  void add(TracedLaunch launch);

  // Throws InputError for a name that ends in none of .json, .html and .svg, or that cannot be written.
  static void check_path(const std::string& path);
  // As the name ends: .json, which Perfetto and chrome://tracing read; .html, a page that needs nothing else;
  // .svg, a still. The file is there as a whole or not at all; throws InputError if it cannot be.
  void write(const std::string& path) const;

  // Where the time of each role went, as a table for a terminal; of the launch that a report ended, or the
  // longest.
  std::string shares() const;
  // What the trace lacks, such as launches after the limit; empty if nothing.
  std::string remark() const;

  // How long a card would take for the launch that shares() is of, in words. Empty where a GPU ran it, or a
  // finding ended it.
  std::string prediction() const;
  double predicted_cycles() const;  // of the longest launch

  std::size_t launches() const;
  std::size_t spans() const;

  trace::Timeline& timeline() { return *timeline_; }
  const trace::Timeline& timeline() const { return *timeline_; }

 private:
  std::unique_ptr<trace::Timeline> timeline_;
};

// While it lives, launches of this thread are recorded, unless they name a trace of their own.
class Tracing {
 public:
  explicit Tracing(Trace& trace);
  ~Tracing();
  Tracing(const Tracing&) = delete;
  Tracing& operator=(const Tracing&) = delete;

  static Trace* current();

 private:
  Trace* outer_;
};

}  // namespace heddle::sim
