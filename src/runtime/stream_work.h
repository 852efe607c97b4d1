// SPDX-License-Identifier: Apache-2.0
//
// What the runtime and the driver ask of streams and events, captured or not.
#pragma once

#include "runtime/state.h"

namespace heddle::runtime {

// `flags`: 1 makes it a node of its own in a capture, for events from outside of it.
Error record_event(State& card, void* event, const void* stream, unsigned flags);
Error wait_event(State& card, const void* stream, void* event, unsigned flags);

// A function of the host in the stream. It is to be called, without the lock, unless it was captured.
Error add_host_work(State& card, const void* stream, const HostWork& work, bool& is_captured);

// The host waits, or asks whether it would have to.
Error wait_for_stream(State& card, const void* stream);
Error wait_for_event(State& card, void* event);
Error wait_for_all(State& card);

Error milliseconds_between(State& card, void* begin, void* end, float* milliseconds);

}  // namespace heddle::runtime
