// SPDX-License-Identifier: Apache-2.0
//
// Who touched memory last: for every 16 bytes the accesses that a later one might conflict with. An access
// that a later one by somebody who knows it has covered is forgotten: whoever is ordered after the later one
// is ordered after both. Strong accesses are kept apart: they need not be ordered among themselves, so that none
// of them stands for those before it.
#pragma once

#include "sim/check/order.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace heddle::sim::check {

inline constexpr std::uint32_t kGranule = 16;

// kAsyncCopy: a cp.async, which is its lane's, but may happen at any time until it was waited for.
// kAlloc: the word that a tcgen05.alloc writes for its thread, through no proxy that would need a fence.
enum class By : std::uint8_t { kThread, kCopy, kMma, kAsyncCopy, kAlloc };

// std::has_single_bit() counts them all.
constexpr bool is_one(std::uint32_t lanes) { return lanes != 0 && (lanes & (lanes - 1)) == 0; }

// One access, or those of several lanes of a warp at one epoch.
struct Access {
  Epoch epoch = 0;
  std::uint32_t lanes = 0;    // threads and cp.async: which lanes; kAlloc: the thread's component; otherwise the
                              // number of the copy or the MMA
  std::uint32_t who = 0;      // threads: the warp's index; cp.async: the component that counts those of lane 0;
                              // otherwise the component that counts its completion
  std::uint32_t cluster = 0;  // in whose time this is
  std::uint16_t bytes = 0;    // which of the 16; 0: no access
  std::uint16_t site = 0;
  std::uint16_t read_by =
      0;                   // a write to global memory: where its lanes had read the bytes before, if they all had
  std::int8_t first = 0;   // width not 0: byte b was touched by lane first + b / width alone
  std::uint8_t width = 0;  // 0: every lane touched all of the bytes
  By by = By::kThread;
  bool is_write = false;
  bool is_read = false;  // strong: beside a write, of an atomic operation
  bool is_strong = false;
  bool returns = false;                   // strong: the thread gets what was there
  bool keeps_value = false;               // it wrote what was there
  bool rounds_value = false;              // or floats that are nearly that
  bool is_map = false;                    // a copy reads its tensor map
  bool is_hint = false;                   // strong: by its cache operator alone
  MemoryScope scope = MemoryScope::kCta;  // strong

  bool is_async() const { return by != By::kThread; }
  // The bytes of one lane.
  std::uint32_t size() const { return width != 0 ? width : static_cast<std::uint32_t>(std::popcount(bytes)); }
  bool is_of_lanes() const { return by == By::kThread || by == By::kAsyncCopy; }
  // That of lane 0, from which the others follow.
  Component first_component() const { return by == By::kThread ? 32 * who : who; }

  static Access of(const ThreadOrder& thread, std::uint32_t offset, std::uint32_t bytes, bool is_write,
                   std::uint16_t site) {
    const std::uint32_t at = offset % kGranule;
    const bool is_whole = bytes == kGranule;
    return {.epoch = thread.warp->now,
            .lanes = 1u << thread.lane,
            .who = thread.warp->index,
            .cluster = thread.warp->cluster,
            .bytes = static_cast<std::uint16_t>(((1u << bytes) - 1) << at),
            .site = site,
            .first = is_whole ? std::int8_t{0}
                              : static_cast<std::int8_t>(thread.lane - (at >> std::countr_zero(bytes))),
            .width = static_cast<std::uint8_t>(is_whole ? 0 : bytes),
            .by = By::kThread,
            .is_write = is_write};
  }

  // The lanes that touched some of these bytes.
  std::uint32_t lanes_at(std::uint16_t some) const {
    if (width == 0) return lanes;
    std::uint32_t found = 0;
    const std::uint32_t touched = bytes & some;
    for (std::uint32_t b = 0; b < kGranule; b += width) {
      if ((touched >> b & ((1u << width) - 1)) != 0) found |= 1u << (first + static_cast<int>(b / width));
    }
    return found;
  }

  // One of them; 0 if it is no thread.
  std::uint32_t a_lane_at(std::uint16_t some) const {
    if (!is_of_lanes()) return 0;
    if (width == 0) return static_cast<std::uint32_t>(std::countr_zero(lanes));
    const auto byte = static_cast<int>(std::countr_zero(static_cast<std::uint16_t>(bytes & some)));
    return static_cast<std::uint32_t>(first + byte / width);
  }

  // A lane that touched some of these bytes without `view` knowing (0 if it is no thread), if there is one.
  std::optional<std::uint32_t> unknown_to(const View& view, std::uint16_t some) const {
    if (cluster != view.cluster && epoch != 0 && view.known->world.is_null()) return a_lane_at(some);
    if (!is_of_lanes()) return view.knows(cluster, who, epoch) ? std::nullopt : std::optional<std::uint32_t>(0);
    return view.first_unknown(cluster, first_component(), lanes_at(some), epoch);
  }

  // Takes in another access, if one record can stand for both exactly.
  bool merge(const Access& other) {
    if (who != other.who || epoch != other.epoch || is_write != other.is_write) return false;
    if (by != other.by || !is_of_lanes() || cluster != other.cluster) return false;
    if (is_strong != other.is_strong || is_read != other.is_read || returns != other.returns ||
        scope != other.scope || is_hint != other.is_hint)
      return false;
    if (width == other.width && first == other.first && width != 0) {
      bytes |= other.bytes;
      lanes |= other.lanes;
    } else if (bytes == other.bytes && (width == 0 || is_one(lanes)) &&
               (other.width == 0 || is_one(other.lanes))) {
      width = 0;
      lanes |= other.lanes;
    } else {
      return false;
    }
    site = other.site;
    if (read_by != other.read_by) read_by = 0;
    keeps_value = other.keeps_value;
    rounds_value = other.rounds_value;
    return true;
  }

  // Whether it includes all of `other`, so that recording the other changes nothing.
  bool includes(const Access& other) const {
    return who == other.who && epoch == other.epoch && cluster == other.cluster && !is_async() &&
           !other.is_async() && (bytes & other.bytes) == other.bytes &&
           (width == 0 ? (lanes & other.lanes) == other.lanes : width == other.width && first == other.first);
  }
};

struct Granule {
  Access write;  // the newest
  Access read;
  std::uint32_t more = 0;            // 1 + the place of further accesses
  std::uint32_t strong = 0;          // 1 + the place of strong ones
  std::uint16_t written = 0;         // bytes that somebody has written
  std::uint16_t read_unwritten = 0;  // bytes that were read before
  std::uint16_t brought = 0;         // bytes that a copy has brought from memory that nobody had written
  // Bytes that nobody writes and so many have read that a further reader makes no difference, if it is of none of
  // the clusters that `crowd` has a bit for (by number, modulo 16): what is_nothing_new() has found.
  std::uint16_t crowded = 0;
  std::uint16_t crowd = 0;

  // Of a reader who knows nothing of other clusters.
  bool is_crowded(std::uint16_t bytes, std::uint32_t cluster) const {
    return (bytes & ~crowded) == 0 && (crowd >> cluster % 16 & 1) == 0;
  }
};

// The strong accesses to a granule that no weak write has covered, in the order in which they came.
struct StrongAccesses {
  struct Place {
    std::uint16_t bytes;
    Released released;
    Signal signal = {};
  };

  std::vector<Access> accesses;
  std::vector<Access> hints;  // those of them that are hints, which the others are compared with
  std::vector<Place> places;
  // Looking for accesses to forget each time would cost the square of their number.
  std::size_t trim_at = 16, trim_hints_at = 16;
  // Of all that were ever here: what is needed to see at once that none is out of the scope of another.
  MemoryScope narrowest = MemoryScope::kSys;
  std::uint32_t cta = 0, cluster = 0;
  bool has_several_ctas = false, has_several_clusters = false;
  std::uint32_t sizes = 0;  // one of them or several, added up

  // Whether each of them and an access of this thread at this scope include one another in their scopes.
  bool all_include(const ThreadOrder& thread, MemoryScope scope) const;
  // In the order of its bytes, the operation that the view knows comes after this one.
  bool is_observed(std::size_t index, std::uint16_t bytes, const View& view) const;
  void add(const Access& access, const ThreadOrder& thread, const View& view);
};

// The shared memory of one CTA, or a page of global memory.
class Shadow {
 public:
  explicit Shadow(std::uint32_t bytes) : granules_((bytes + kGranule - 1) / kGranule) {}

  Granule& at(std::uint32_t offset) { return granules_[offset / kGranule]; }
  std::vector<Access>* more(const Granule& granule) {
    return granule.more == 0 ? nullptr : &more_[granule.more - 1];
  }

  // Calls found(access) for every recorded access that touches the bytes, until it returns true. Reads come
  // first: of a stage that is overwritten, a report names the reader rather than the fill before.
  template <class Found>
  bool find(const Granule& granule, std::uint16_t bytes, bool writes_only, const Found& found) {
    if (!writes_only && (granule.read.bytes & bytes) != 0 && found(granule.read)) return true;
    if (granule.more != 0) {
      for (const Access& access : more_[granule.more - 1]) {
        if ((access.bytes & bytes) != 0 && (access.is_write || !writes_only) && found(access)) return true;
      }
    }
    return (granule.write.bytes & bytes) != 0 && found(granule.write);
  }

  // Whether a record stands for the read, so that nothing is new about it: what was written since has taken the
  // bytes out of the record.
  bool has_read(const Granule& granule, const Access& access) const {
    if (granule.read.includes(access)) return true;
    if (granule.more == 0) return false;
    for (const Access& old : more_[granule.more - 1]) {
      if (!old.is_write && old.includes(access)) return true;
    }
    return false;
  }

  // The same of a thread that knows so much, or that nobody has written the bytes, and so many others have read
  // them that one more makes no difference: record_read() would not keep it.
  bool is_nothing_new(Granule& granule, const Access& access, const Clock& known, std::size_t most) const;

  StrongAccesses* strong(const Granule& granule) {
    return granule.strong == 0 ? nullptr : &strong_[granule.strong - 1];
  }
  StrongAccesses& strong_of(Granule& granule);

  // After the access was compared with those before it. `view` is of who makes it.
  void record_read(Granule& granule, const Access& access, const View& view, std::size_t most = SIZE_MAX);
  void record_write(Granule& granule, const Access& access);
  // Beside others that it is not ordered with.
  void record_write_beside(Granule& granule, const Access& access);

 private:
  std::vector<Access>& more_of(Granule& granule);
  void give_back(Granule& granule);

  std::vector<Granule> granules_;
  std::vector<std::vector<Access>> more_;
  std::vector<std::uint32_t> free_;
  std::deque<StrongAccesses> strong_;
  std::vector<std::uint32_t> free_strong_;
};

// What copies do to a line of global memory. They move whole rows, so that a range stands for all of its bytes.
struct CopySpan {
  Access access;                    // without its bytes
  std::uint8_t begin = 0, end = 0;  // in the line
  bool is_reduction = false;
  // Of a tensor map: it has been read, too, when its issuer has waited for this group, with .read or without.
  Component group_of = 0;
  Epoch group = 0;

  bool is_known_to(const View& view) const {
    return view.knows(access.cluster, access.who, access.epoch) ||
           (group_of != 0 && view.knows(access.cluster, group_of, group));
  }
  // Those of the 16 bytes at this offset of the line.
  std::uint16_t bytes_in(std::uint32_t offset) const;
  Access in(std::uint32_t offset) const {
    Access part = access;
    part.bytes = bytes_in(offset);
    return part;
  }
};

// A page of global memory, as copies touch it.
class CopyLines {
 public:
  static constexpr std::uint32_t kLine = 128;

  explicit CopyLines(std::uint32_t bytes) : lines_(bytes / kLine) {}

  const std::vector<CopySpan>& at(std::uint32_t offset) const { return lines_[offset / kLine]; }
  // After the span was compared with those before it. `view` is of who makes it.
  void record(std::uint32_t offset, const CopySpan& span, const View& view);

 private:
  std::vector<std::vector<CopySpan>> lines_;
};

// Global memory, as far as it was touched.
class GlobalShadow {
 public:
  static constexpr std::uint64_t kPage = 4096;

  struct Page {
    std::unique_ptr<Shadow> threads;
    std::unique_ptr<CopyLines> copies;
  };

  Page& page_of(std::uint64_t address);

 private:
  // The rows of a tensor are spread over pages, but mostly near one another.
  static constexpr std::uint64_t kPages = 512;
  using Block = std::array<Page, kPages>;

  std::unordered_map<std::uint64_t, std::unique_ptr<Block>> blocks_;
  std::uint64_t last_number_ = ~std::uint64_t{0};
  Block* last_ = nullptr;
};

}  // namespace heddle::sim::check
