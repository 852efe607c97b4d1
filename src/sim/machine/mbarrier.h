// SPDX-License-Identifier: Apache-2.0
//
// The state of one mbarrier and what each operation does to it.
// PTX: Parallel Synchronization and Communication Instructions: mbarrier.
#pragma once

#include <cstdint>

namespace heddle::sim::machine {

enum class MbarrierFault : std::uint8_t {
  kNone,
  kCountRange,   // a count of 0, or above 2^20 - 1
  kOverArrival,  // more arrivals than are pending
  kTxRange       // the transaction count would leave -(2^20 - 1) .. 2^20 - 1
};

struct Mbarrier {
  static constexpr std::uint32_t kMaxCount = (1u << 20) - 1;

  std::uint64_t phase = 0;  // only its parity can be observed by a kernel
  std::uint32_t expected = 0;
  std::uint32_t pending = 0;
  std::int32_t tx = 0;  // bytes that are expected and have not landed; negative if they landed first

  [[nodiscard]] MbarrierFault init(std::uint32_t count);
  [[nodiscard]] MbarrierFault arrive(std::uint32_t count);
  [[nodiscard]] MbarrierFault arrive_drop(std::uint32_t count);
  [[nodiscard]] MbarrierFault expect_tx(std::uint32_t bytes);
  [[nodiscard]] MbarrierFault complete_tx(std::uint32_t bytes);

  // The completion check. True if it ended the current phase.
  bool settle();

  bool is_over(std::uint64_t awaited_phase) const { return phase > awaited_phase; }

  // The phase that a wait for `parity` means: the current one, or the one just before it.
  std::uint64_t awaited(std::uint32_t parity) const { return (phase & 1) == parity ? phase : phase - 1; }
  bool parity_is_over(std::uint32_t parity) const { return (phase & 1) != parity; }
};

}  // namespace heddle::sim::machine
