// SPDX-License-Identifier: Apache-2.0
//
// cudaFree as a cache in front of it would have it: it does not wait for the card, which would order streams, and
// does not fail on a card that a kernel broke. For PyTorch without its cache, which ends the process where
// freeing fails.
#pragma once

#include <atomic>

namespace heddle::runtime {

inline std::atomic<bool> frees_quietly = false;

}  // namespace heddle::runtime
