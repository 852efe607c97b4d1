// SPDX-License-Identifier: Apache-2.0
//
// cudaMalloc and cudaFree as a cache in front of them would have them: freeing does not wait for the card, which
// would order streams, and does not fail on a card that a kernel broke; both may be asked for while a stream
// captures, and what is taken then stays with the graph. For PyTorch without its cache, which ends the process
// where freeing fails.
#pragma once

#include <atomic>

namespace heddle::runtime {

inline std::atomic<bool> frees_quietly = false;

}  // namespace heddle::runtime
