// SPDX-License-Identifier: Apache-2.0
//
// Independent pieces of work on several cores.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace heddle::sim::explore {

// Those that this process may run on.
inline std::uint32_t cores() { return std::max(1u, std::thread::hardware_concurrency()); }

// Calls work(worker, item) for each of `items`, from `workers` threads, this one among them. The first exception
// is thrown once all have ended; what was not begun then is left out.
template <class Work>
void on_cores(std::uint32_t workers, std::uint64_t items, const Work& work) {
  std::atomic<std::uint64_t> next = 0;
  std::mutex mutex;
  std::exception_ptr thrown;
  const auto take = [&](std::uint32_t worker) {
    try {
      for (std::uint64_t item = next++; item < items; item = next++) work(worker, item);
    } catch (...) {
      next = items;
      const std::lock_guard lock(mutex);
      if (!thrown) thrown = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::uint32_t w = 1; w < workers && w < items; ++w) others.emplace_back(take, w);
    take(0);
  }
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace heddle::sim::explore
