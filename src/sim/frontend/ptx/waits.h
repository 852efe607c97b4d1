// SPDX-License-Identifier: Apache-2.0
//
// Waits whose answer nobody looks at. mbarrier.test_wait does not wait, and mbarrier.try_wait comes back when its
// time is over: only who goes by the answer comes after the phase.
#pragma once

namespace heddle::sim::ptx {

struct Function;

void mark_unanswered_waits(Function& function);

}  // namespace heddle::sim::ptx
