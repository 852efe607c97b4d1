// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/tmem.h"

#include <algorithm>

namespace heddle::sim::machine {

TmemCell cell_of(TmemShape shape, std::uint32_t thread, std::uint32_t r) {
  const std::uint32_t t = thread;
  switch (shape) {
    case TmemShape::k32x32b: return {t, r, 0};
    case TmemShape::k16x64b: return {t / 4 + 8 * (t % 2), 2 * r + t / 2 % 2, 0};
    case TmemShape::k16x128b: return {t / 4 + 8 * (r % 2), 4 * (r / 2) + t % 4, 0};
    case TmemShape::k16x256b: return {t / 4 + 8 * (r / 2 % 2), 8 * (r / 4) + 2 * (t % 4) + r % 2, 0};
    case TmemShape::k16x32bx2: return {t % 16, r, t / 16};
  }
  return {};
}

bool Tmem::is_free(std::uint32_t first, std::uint32_t count) const {
  return std::none_of(allocations.begin(), allocations.end(), [&](const TmemAllocation& taken) {
    return first < taken.column + taken.cols && taken.column < first + count;
  });
}

std::uint32_t Tmem::free_cols() const {
  std::uint32_t taken = 0;
  for (const TmemAllocation& allocation : allocations) taken += allocation.cols;
  return kTmemCols - taken;
}

const TmemAllocation* Tmem::allocation_of(std::uint32_t first, std::uint32_t count) const {
  const auto found = std::find_if(allocations.begin(), allocations.end(),
                                  [&](const TmemAllocation& taken) { return taken.holds(first, count); });
  return found == allocations.end() ? nullptr : &*found;
}

// PTX: tcgen05.ld.pack::16b, tcgen05.st.unpack::16b: a register has 16 bits of each of two columns.
// Model: a store leaves zero in the upper halves; the manual does not say.
void Tmem::move(TmemTransfer& transfer) {
  if (!transfer.is_store) transfer.values.resize(std::size_t{32} * transfer.count);
  std::uint32_t* value = transfer.values.data();
  for (std::uint32_t thread = 0; thread < 32; ++thread) {
    for (std::uint32_t r = 0; r < transfer.count; ++r, ++value) {
      const TmemCell at = cell_of(transfer.shape, thread, r);
      const std::uint32_t base = transfer.taddr[at.half];
      if (transfer.has_halves) {
        std::uint32_t* pair = cell(tmem_lane(base) + at.lane, tmem_column(base) + 2 * at.column);
        if (transfer.is_store) {
          pair[0] = *value & 0xFFFF;
          pair[1] = *value >> 16;
        } else {
          *value = (pair[0] & 0xFFFF) | pair[1] << 16;
        }
        continue;
      }
      std::uint32_t& stored = *cell(tmem_lane(base) + at.lane, tmem_column(base) + at.column);
      (transfer.is_store ? stored : *value) = transfer.is_store ? *value : stored;
    }
  }
}

}  // namespace heddle::sim::machine
