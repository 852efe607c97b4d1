// SPDX-License-Identifier: Apache-2.0
//
// A launch that is under way: the machine, the checkers that watch it, and the schedule that says who goes
// next. What a thread does in its turn is the business of the front end that derives from it.
#pragma once

#include "sim/check/barrier_history.h"
#include "sim/check/overlap.h"
#include "sim/check/poll_watch.h"
#include "sim/check/race.h"
#include "sim/explore/strategy.h"
#include "sim/machine/floating_point.h"
#include "sim/machine/machine.h"

#include <heddle/sim/launch.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace heddle::sim {

// Throws InputError for a launch that no GPU of the architecture would take.
void check_launch(const LaunchOptions& options, const LaunchShape& shape, const KernelEntry& entry);

}  // namespace heddle::sim

namespace heddle::sim::trace {
class Recorder;
}

namespace heddle::sim::frontend {

class Run {
 protected:
  Run(const LaunchOptions& options, const LaunchShape& shape, std::uint32_t threads, std::size_t shared_bytes,
      std::uint32_t registers);
  ~Run();

  machine::Thread* next_thread();  // lets copies move until it is a thread's turn; null at the end of the run
  bool step_copy(const explore::Choice& choice);  // false if it found a mistake
  // True if an observer has found a mistake, which is then the run's diagnosis.
  bool take_finding();
  bool take_last_finding();                                       // when nothing more can happen
  void explain_stop();                                            // nothing can go on
  void explain_budget(CallSite site, bool knows_places = false);  // as check::explain_budget
  void record(const machine::Fault& fault);
  void finish_copies();
  Report make_report();
  // Before an instruction that others can see: whether the thread gives way.
  bool preempts() {
    ++machine_.stats().steps;
    return strategy_->preempts();
  }

  const machine::DefaultFloatingPoint floating_point_;  // before all others, and after them
  const LaunchOptions& options_;
  machine::Machine machine_;
  check::BarrierHistory history_;
  std::optional<check::RaceChecker> races_;
  std::optional<check::Overlap> overlap_;
  std::unique_ptr<trace::Recorder> recorder_;        // if anybody wants a trace
  std::optional<check::PollWatch> polls_;            // once nothing changes any more
  std::unique_ptr<explore::Strategy> own_strategy_;  // of the schedule, unless the launch brings one
  explore::Strategy* strategy_;
  machine::Thread* running_ = nullptr;
  std::uint64_t quiet_ = 0;  // decisions since the state last changed
  std::uint64_t last_change_ = 0;
  std::optional<Diagnosis> diagnosis_;
};

}  // namespace heddle::sim::frontend
