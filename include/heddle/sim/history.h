// SPDX-License-Identifier: Apache-2.0
//
// What earlier work has touched in global memory, for launches that may run beside it. Launches run one after the
// other here; on a card those of different streams, and one that depends on another programmatically, may
// overlap. Two accesses of such launches race unless something orders them.
//
//   sim::History history;
//   module.launch("writes", {.memory = &memory, .history = &history}, ...);
//   for (sim::History::Work& work : history.works) work.relation = sim::History::Relation::kUntilWait;
//   module.launch("reads", {.memory = &memory, .history = &history}, ...);
#pragma once

#include <heddle/isa/target.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace heddle::sim {

class History {
 public:
  // How work that is over here stands to the launch that comes next.
  enum class Relation : std::uint8_t {
    kBefore,     // it is complete
    kUntilWait,  // it is complete for those who have waited with griddepcontrol.wait
    kBehind,     // the launch between has let the next begin, and has not waited for it
    kBeside      // nothing orders the two
  };

  static constexpr std::uint64_t kGranule = 16;

  // The ways to touch 16 bytes, the last access of each kind.
  enum Way : std::uint8_t { kRead, kStrongRead, kWrite, kStrongWrite, kWays };
  struct Touched {
    std::uint16_t bytes = 0;
    std::uint16_t latest = 0;  // those of the last access, which the rest is about
    std::uint32_t place = 0;   // in Work::places
    std::uint32_t cta = 0;
    std::uint32_t thread = 0;  // ~0: none, a copy
  };
  using Granule = std::array<Touched, kWays>;

  // What an access touches: a row of bytes, or, for a copy or fill of the host, slices of rows, none over
  // another.
  struct Range {
    std::uint64_t first;
    std::uint64_t bytes;  // of a row
    Way way;
    std::uint64_t pitch = 0;  // from row to row
    std::uint64_t rows = 1;
    std::uint64_t slice = 0;  // from slice to slice
    std::uint64_t slices = 1;

    // The first of `count` bytes that is one of the range's.
    std::optional<std::uint64_t> first_of(std::uint64_t address, std::uint64_t count) const;
  };

  struct Work {
    std::string name = {};  // of the kernel, or of the call
    Relation relation = Relation::kBefore;
    bool launches_dependents = false;  // a thread of it has executed griddepcontrol.launch_dependents
    bool has_waited = false;           // or griddepcontrol.wait
    std::unordered_map<std::uint64_t, Granule> granules = {};  // by address / kGranule
    std::vector<std::string> places = {};
    std::vector<Range> ranges = {};
    std::uint64_t number = 0;  // for whoever knows the order

    void touch(std::uint64_t address, std::uint64_t bytes, Way way, std::uint32_t place, std::uint32_t cta,
               std::uint32_t thread);
  };

  struct Conflict {
    const Work* work = nullptr;
    Way way = kRead;            // of the earlier access
    Touched touched = {};       // latest 0: the last access to the granule was to other bytes of it
    std::uint64_t address = 0;  // of the first byte that both have touched
  };
  // The first conflict of an access with one of an earlier work.
  static std::optional<Conflict> find(const Work& work, const Range& range);

  std::deque<Work> works;  // the oldest first
};

const char* name_of(History::Way way);  // "ld.global"

}  // namespace heddle::sim
