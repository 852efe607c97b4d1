// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/mbarrier.h"

namespace heddle::sim::machine {

MbarrierFault Mbarrier::init(std::uint32_t count) {
  if (count == 0 || count > kMaxCount) return MbarrierFault::kCountRange;
  *this = {.phase = 0, .expected = count, .pending = count, .tx = 0};
  return MbarrierFault::kNone;
}

MbarrierFault Mbarrier::arrive(std::uint32_t count) {
  if (count == 0 || count > kMaxCount) return MbarrierFault::kCountRange;
  if (count > pending) return MbarrierFault::kOverArrival;
  pending -= count;
  return MbarrierFault::kNone;
}

MbarrierFault Mbarrier::arrive_drop(std::uint32_t count) {
  if (count > expected) return MbarrierFault::kOverArrival;
  const MbarrierFault fault = arrive(count);
  if (fault == MbarrierFault::kNone) expected -= count;
  return fault;
}

MbarrierFault Mbarrier::expect_tx(std::uint32_t bytes) {
  const std::int64_t next = std::int64_t{tx} + bytes;
  if (next > std::int64_t{kMaxCount}) return MbarrierFault::kTxRange;
  tx = static_cast<std::int32_t>(next);
  return MbarrierFault::kNone;
}

MbarrierFault Mbarrier::complete_tx(std::uint32_t bytes) {
  const std::int64_t next = std::int64_t{tx} - bytes;
  if (next < -std::int64_t{kMaxCount}) return MbarrierFault::kTxRange;
  tx = static_cast<std::int32_t>(next);
  return MbarrierFault::kNone;
}

bool Mbarrier::settle() {
  if (pending != 0 || tx != 0) return false;
  ++phase;
  pending = expected;
  return true;
}

}  // namespace heddle::sim::machine
