// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills that the host asks for, as work of a stream: what they touch must be ordered with what
// launches and other copies touch.
#pragma once

#include "runtime/state.h"
#include "runtime/work.h"

namespace heddle::runtime {

// Before the bytes move. Null: nothing is written, or read. An error if work that may still run touches the same
// bytes; the report has been shown then, and the card says so from now on.
Error order_host_work(State& card, const Box& written, const Box& read, const Extent& extent);

// Memory that is taken or given back in a stream (cudaMallocAsync, cudaFreeAsync): what other streams do with it
// is ordered after the one and before the other. A call of no stream waits for all work where it gives memory
// back, but, as CUDA says of cudaFree, not where that was taken in the order of a stream.
Error order_allocation(State& card, const void* begin);
Error order_release(State& card, const void* begin);

}  // namespace heddle::runtime
