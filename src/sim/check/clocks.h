// SPDX-License-Identifier: Apache-2.0
//
// Vector clocks: what somebody knows to have happened. Time is counted in epochs, by component: one for each
// thread, and one for each barrier and each thread's bulk copies, which complete on their own.
//
// A clock never changes once it is made, and is shared by all who know the same. The 32 lanes of a warp
// nearly always do, so that a barrier costs one pass over a vector for a warp and not for a lane.
//
// A clock also says what of it has passed a proxy fence: on the way from whoever did it to whoever knows it, some
// thread that knew it executed the fence. That goes wherever the clock goes. So does what is met: what has happened
// for all who know the clock, but through relaxed arrivals, narrower scopes or exits, which order no memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace heddle::sim::check {

using Component = std::uint32_t;
using Epoch = std::uint32_t;

class ClockPool;

// What a clock says of its components besides: known through a proxy fence for shared or for global memory; or met.
enum class Fenced : std::uint8_t { kShared, kGlobal, kMet };
inline constexpr std::size_t kFencedKinds = 3;

// Null knows nothing. Must not outlive its pool.
class Clock {
 public:
  Clock() = default;
  Clock(const Clock& other) : block_(other.block_) {
    if (block_ != nullptr) ++block_->references;
  }
  Clock(Clock&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Clock& operator=(Clock other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Clock() {
    if (block_ != nullptr && --block_->references == 0) give_back();
  }

  // The last epoch of the component that is known; 0: none.
  Epoch operator[](Component component) const {
    return block_ != nullptr && component < block_->size ? block_->epochs()[component] : 0;
  }

  // The last epoch that is known through a proxy fence.
  Epoch fenced(Fenced kind, Component component) const {
    if (block_ == nullptr) return 0;
    Block* part = block_->fenced[static_cast<std::size_t>(kind)];
    return part != nullptr && component < part->size ? part->epochs()[component] : 0;
  }

  // The last epoch that is over, whether or not memory is ordered after it.
  Epoch met(Component component) const {
    const Epoch known = (*this)[component];
    const Epoch met = fenced(Fenced::kMet, component);
    return known > met ? known : met;
  }

  bool is_same(const Clock& other) const { return block_ == other.block_; }
  bool is_null() const { return block_ == nullptr; }

 private:
  friend class ClockPool;
  friend class Gather;

  struct alignas(16) Block {
    ClockPool* pool;
    std::uint64_t mark;  // of the last Gather that has it
    std::uint32_t references;
    std::uint32_t size;  // components, a multiple of kStep
    std::array<Block*, kFencedKinds> fenced;  // what has passed a fence; these have no such parts themselves

    Epoch* epochs() { return reinterpret_cast<Epoch*>(this + 1); }
  };

  explicit Clock(Block* block) : block_(block) {}
  void give_back();

  Block* block_ = nullptr;
};

// Makes clocks, and keeps their memory for the next ones.
class ClockPool {
 public:
  ClockPool() = default;
  ~ClockPool();
  ClockPool(const ClockPool&) = delete;
  ClockPool& operator=(const ClockPool&) = delete;

  // What either of the two knows.
  Clock join(const Clock& a, const Clock& b);
  // The same, all of it known through a proxy fence.
  Clock fence(const Clock& clock, bool shared, bool global);

 private:
  friend class Clock;
  friend class Gather;

  static constexpr std::uint32_t kStep = 64;  // components by which sizes grow

  Clock::Block* make(std::uint32_t size);
  Clock part(const Clock& clock, std::size_t kind) const;
  static void set_part(Clock::Block& block, std::size_t kind, Clock part);

  std::vector<std::vector<Clock::Block*>> free_;  // by size / kStep
  std::uint64_t marks_ = 0;
};

inline void Clock::give_back() {
  for (Block*& part : block_->fenced) {
    if (part != nullptr) Clock(std::exchange(part, nullptr));
  }
  block_->pool->free_[block_->size / ClockPool::kStep].push_back(block_);
}

// What several threads release at one place, to be known by all who pass it.
class Gather {
 public:
  void add(ClockPool& pool, const Clock& clock);
  void add(Component component, Epoch epoch) { times_.push_back({component, epoch}); }
  void add_fenced(Fenced kind, Component component, Epoch epoch) {
    fenced_times_[static_cast<std::size_t>(kind)].push_back({component, epoch});
  }

  void add_met(const Clock& clock) {
    if (!clock.is_null() && (met_.empty() || !met_.back().is_same(clock))) met_.push_back(clock);
  }
  void add_met(Component component, Epoch epoch) { add_fenced(Fenced::kMet, component, epoch); }

  bool is_empty() const { return clocks_.empty() && times_.empty() && met_.empty(); }  // what is fenced comes beside a time
  void clear();

  // All of it in one clock; nothing is left to gather.
  Clock finish(ClockPool& pool);

 private:
  struct Time {
    Component component;
    Epoch epoch;
  };

  static void put(Clock::Block& block, const Clock* clocks, std::size_t count, const std::vector<Time>& times);
  Clock finish_fenced(ClockPool& pool, std::size_t kind) const;

  std::uint64_t mark_ = 0;
  std::vector<Clock> clocks_;  // each once, as far as that is cheap to know
  std::vector<Time> times_;
  std::array<std::vector<Time>, kFencedKinds> fenced_times_;
  std::vector<Clock> met_;
};

}  // namespace heddle::sim::check
