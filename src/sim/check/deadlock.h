// SPDX-License-Identifier: Apache-2.0
//
// Why nothing moves any more: who waits for what, what is present and what is missing, who could supply it.
#pragma once

#include "sim/check/barrier_history.h"
#include "sim/check/poll_watch.h"
#include "sim/machine/fault.h"

#include <heddle/sim/launch.h>
#include <heddle/sim/report.h>

#include <string>
#include <vector>

namespace heddle::sim::machine {
class Machine;
}

namespace heddle::sim::check {

// `polls`, if not null, has watched the threads that run.
Diagnosis explain_deadlock(machine::Machine& machine, const BarrierHistory& history, const LaunchOptions& options,
                           const PollWatch* polls = nullptr);

// The same picture for a run that was stopped because it took too long. With `knows_places`, the wait of a thread
// that runs says where it is.
Diagnosis explain_budget(machine::Machine& machine, const BarrierHistory& history, const LaunchOptions& options,
                         CallSite site, bool knows_places = false);

// The command, or the words, that a run is seen again by.
std::string again(const LaunchOptions& options);

// The message in its final form: code, headline, details, and how to see the run again.
Diagnosis make_diagnosis(const machine::Fault& fault, const LaunchOptions& options);

}  // namespace heddle::sim::check
