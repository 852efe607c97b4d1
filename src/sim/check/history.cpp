// SPDX-License-Identifier: Apache-2.0
#include <heddle/sim/history.h>

#include <algorithm>
#include <bit>

namespace heddle::sim {

namespace {

constexpr std::uint64_t kGranule = History::kGranule;

bool writes(History::Way way) { return way == History::kWrite || way == History::kStrongWrite; }
bool is_strong(History::Way way) { return way == History::kStrongRead || way == History::kStrongWrite; }

// Two accesses of which one writes; those of which both are strong may be made at the same time.
bool clash(History::Way a, History::Way b) { return (writes(a) || writes(b)) && !(is_strong(a) && is_strong(b)); }

// The bytes of a granule that a range has.
std::uint16_t mask_of(std::uint64_t granule, std::uint64_t address, std::uint64_t bytes) {
  const std::uint64_t first = std::max(address, granule * kGranule);
  const std::uint64_t end = std::min(address + bytes, (granule + 1) * kGranule);
  return static_cast<std::uint16_t>(((1u << (end - first)) - 1) << first % kGranule);
}

std::uint16_t mask_of(std::uint64_t granule, const History::Range& range) {
  if (range.rows * range.slices == 1) return mask_of(granule, range.first, range.bytes);
  std::uint16_t mask = 0;
  for (std::uint64_t i = 0; i < kGranule; ++i) {
    if (range.first_of(granule * kGranule + i, 1)) mask = static_cast<std::uint16_t>(mask | 1u << i);
  }
  return mask;
}

// Behind the last byte.
std::uint64_t end_of(const History::Range& range) {
  return range.first + (range.slices - 1) * range.slice + (range.rows - 1) * range.pitch + range.bytes;
}

std::optional<std::uint64_t> first_of_both(const History::Range& a, const History::Range& b) {
  if (b.rows * b.slices < a.rows * a.slices) return first_of_both(b, a);
  for (std::uint64_t z = 0; z < a.slices; ++z) {
    for (std::uint64_t y = 0; y < a.rows; ++y) {
      if (const auto both = b.first_of(a.first + z * a.slice + y * a.pitch, a.bytes)) return both;
    }
  }
  return std::nullopt;
}

}  // namespace

void History::Work::touch(std::uint64_t address, std::uint64_t bytes, Way way, std::uint32_t place,
                          std::uint32_t cta, std::uint32_t thread) {
  for (std::uint64_t granule = address / kGranule; granule * kGranule < address + bytes; ++granule) {
    Touched& touched = granules[granule][way];
    const std::uint16_t mask = mask_of(granule, address, bytes);
    touched = {static_cast<std::uint16_t>(touched.bytes | mask), mask, place, cta, thread};
  }
}

std::optional<std::uint64_t> History::Range::first_of(std::uint64_t address, std::uint64_t count) const {
  std::uint64_t next = first;
  if (address >= first) {
    // The last row that begins there or before.
    const std::uint64_t offset = address - first;
    const std::uint64_t z = slices == 1 ? 0 : std::min(slices - 1, offset / slice);
    const std::uint64_t in_slice = offset - z * slice;
    const std::uint64_t y = rows == 1 ? 0 : std::min(rows - 1, in_slice / pitch);
    if (in_slice - y * pitch < bytes) return address;
    if (y + 1 < rows) next = first + z * slice + (y + 1) * pitch;
    else if (z + 1 < slices) next = first + (z + 1) * slice;
    else return std::nullopt;
  }
  return next - address < count ? std::optional(next) : std::nullopt;
}

std::optional<History::Conflict> History::find(const Work& work, const Range& range) {
  for (const Range& before : work.ranges) {
    if (!clash(before.way, range.way)) continue;
    if (const auto first = first_of_both(before, range)) return Conflict{&work, before.way, {}, *first};
  }
  std::optional<Conflict> found;
  const auto look = [&](std::uint64_t number, const Granule& granule) {
    const std::uint16_t mask = mask_of(number, range);
    for (const Way before : {kWrite, kStrongWrite, kRead, kStrongRead}) {
      const auto both = static_cast<std::uint16_t>(granule[before].bytes & mask);
      if (both == 0 || !clash(before, range.way)) continue;
      Touched touched = granule[before];
      touched.latest = static_cast<std::uint16_t>(touched.latest & mask);
      const std::uint64_t first = number * kGranule + static_cast<std::uint64_t>(std::countr_zero(both));
      if (!found || first < found->address) found = Conflict{&work, before, touched, first};
      return;
    }
  };
  // Whichever are fewer: the granules of the range, or those of the work.
  const std::uint64_t end = end_of(range);
  if ((end - range.first) / kGranule > work.granules.size()) {
    for (const auto& [number, granule] : work.granules) {
      if (number >= range.first / kGranule && number * kGranule < end) look(number, granule);
    }
    return found;
  }
  for (std::uint64_t number = range.first / kGranule; number * kGranule < end; ++number) {
    if (const auto known = work.granules.find(number); known != work.granules.end()) look(number, known->second);
  }
  return found;
}

const char* name_of(History::Way way) {
  constexpr const char* kNames[] = {"ld.global", "a strong ld.global", "st.global", "atom.global"};
  return kNames[way];
}

}  // namespace heddle::sim
