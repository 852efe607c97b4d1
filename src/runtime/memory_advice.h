// SPDX-License-Identifier: Apache-2.0
//
// What a program has advised about ranges of managed memory, and where it has prefetched them to. Where bytes lie
// makes no difference here; a program can ask for what it has said.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

namespace heddle::runtime {

struct Advice {
  // As cudaMemLocation: the type, and the number of a device.
  struct Location {
    int type = kNone;
    int id = kNoId;

    static constexpr int kNone = 0, kDevice = 1, kHost = 2, kHostNuma = 3;
    static constexpr int kNoId = -2, kCpu = -1;
    // The number that stands for it alone.
    int number() const { return type == kDevice ? id : type == kHost ? kCpu : kNoId; }
    friend bool operator==(const Location&, const Location&) = default;
  };

  bool is_read_mostly = false;
  bool is_accessed_by_card = false;
  Location preferred = {};
  Location prefetched = {};

  friend bool operator==(const Advice&, const Advice&) = default;
};

class AdviceMap {
 public:
  // For each byte from `begin` up to `end`.
  void change(std::uintptr_t begin, std::uintptr_t end, const std::function<void(Advice&)>& by);
  void forget(std::uintptr_t begin, std::uintptr_t end) noexcept;

  // What holds for all of the bytes.
  Advice common(std::uintptr_t begin, std::uintptr_t end) const;

 private:
  using Steps = std::map<std::uintptr_t, Advice>;
  Steps::iterator split(std::uintptr_t at);
  Advice at(std::uintptr_t address) const;

  Steps steps_;  // each holds up to the next
};

}  // namespace heddle::runtime
