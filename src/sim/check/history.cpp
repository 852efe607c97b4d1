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

}  // namespace

void History::Work::touch(std::uint64_t address, std::uint64_t bytes, Way way, std::uint32_t place,
                          std::uint32_t cta, std::uint32_t thread) {
  for (std::uint64_t granule = address / kGranule; granule * kGranule < address + bytes; ++granule) {
    Touched& touched = granules[granule][way];
    const std::uint16_t mask = mask_of(granule, address, bytes);
    touched = {static_cast<std::uint16_t>(touched.bytes | mask), mask, place, cta, thread};
  }
}

std::optional<History::Conflict> History::find(const Work& work, std::uint64_t address, std::uint64_t bytes,
                                               Way way) {
  for (const Range& range : work.ranges) {
    if (!clash(range.way, way)) continue;
    const std::uint64_t first = std::max(address, range.first);
    if (first - address < bytes && first - range.first < range.bytes)
      return Conflict{&work, range.way, {}, first};
  }
  std::optional<Conflict> found;
  const auto look = [&](std::uint64_t number, const Granule& granule) {
    const std::uint16_t mask = mask_of(number, address, bytes);
    for (const Way before : {kWrite, kStrongWrite, kRead, kStrongRead}) {
      const auto both = static_cast<std::uint16_t>(granule[before].bytes & mask);
      if (both == 0 || !clash(before, way)) continue;
      Touched touched = granule[before];
      touched.latest = static_cast<std::uint16_t>(touched.latest & mask);
      const std::uint64_t first = number * kGranule + static_cast<std::uint64_t>(std::countr_zero(both));
      if (!found || first < found->address) found = Conflict{&work, before, touched, first};
      return;
    }
  };
  // Whichever are fewer: the granules of the range, or those of the work.
  if (bytes / kGranule > work.granules.size()) {
    for (const auto& [number, granule] : work.granules) {
      if (number >= address / kGranule && number * kGranule < address + bytes) look(number, granule);
    }
    return found;
  }
  for (std::uint64_t number = address / kGranule; number * kGranule < address + bytes; ++number) {
    if (const auto known = work.granules.find(number); known != work.granules.end()) look(number, known->second);
  }
  return found;
}

const char* name_of(History::Way way) {
  constexpr const char* kNames[] = {"ld.global", "a strong ld.global", "st.global", "atom.global"};
  return kNames[way];
}

}  // namespace heddle::sim
