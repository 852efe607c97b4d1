// SPDX-License-Identifier: Apache-2.0
//
// What was asked of each device once, such as how many clusters of a kernel it runs at the same time.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace heddle {

// A number for each device. 0 stands for no answer and is not kept: what failed once is asked again.
class AnswerOfEachDevice {
 public:
  // ask() gives the answer of device `ordinal`. Safe from several threads, which may then ask twice.
  template <class Ask>
  std::uint32_t get(int ordinal, const Ask& ask) {
    if (ordinal < 0 || ordinal >= kDevices) return ask();
    std::atomic<std::uint32_t>& kept = answers_[static_cast<std::size_t>(ordinal)];
    std::uint32_t answer = kept.load(std::memory_order_relaxed);
    if (answer == 0) {
      answer = ask();
      kept.store(answer, std::memory_order_relaxed);
    }
    return answer;
  }

 private:
  static constexpr int kDevices = 64;
  std::array<std::atomic<std::uint32_t>, kDevices> answers_ = {};
};

}  // namespace heddle
