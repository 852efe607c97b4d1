// SPDX-License-Identifier: Apache-2.0
//
// Vector clocks: what somebody knows to have happened. Time is counted in epochs, by component: one for each
// thread, and one for each barrier and each thread's bulk copies, which complete on their own.
//
// A clock has two parts. The dense one counts the components of the cluster that it belongs to; the other, which
// is empty until somebody has synchronised with another cluster, holds a dense one for every cluster that is
// known of. Neither ever changes once it is made, and both are shared by all who know the same. The 32 lanes of a
// warp nearly always do, so that a barrier costs one pass over a vector for a warp and not for a lane.
//
// A clock also says what of it has passed a proxy fence: on the way from whoever did it to whoever knows it, some
// thread that knew it executed the fence. That goes wherever the clock goes. So does what is met: what has
// happened for all who know the clock, but through relaxed arrivals, narrower scopes or exits, which order no
// memory.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

namespace heddle::sim::check {

using Component = std::uint32_t;
using Epoch = std::uint32_t;

class ClockPool;

// What a clock says of its components besides: known through a proxy fence for shared or for global memory; met;
// known through a fence of memory at the scope of the GPU; or known through fence.proxy.tensormap that releases,
// and then through one that acquires.
enum class Fenced : std::uint8_t { kShared, kGlobal, kMet, kMemory, kMapReleased, kMapAcquired };
inline constexpr std::size_t kFencedKinds = 6;

// Null knows nothing. Must not outlive its pool.
class Dense {
 public:
  Dense() = default;
  Dense(const Dense& other) : block_(other.block_) {
    if (block_ != nullptr) ++block_->references;
  }
  Dense(Dense&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Dense& operator=(Dense other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Dense() {
    if (block_ != nullptr && --block_->references == 0) give_back();
  }

  // The last epoch of the component that is known; 0: none.
  Epoch operator[](Component component) const {
    return block_ != nullptr && component < block_->size ? block_->epochs()[component] : 0;
  }

  // Of 32 components that follow one another, those of these lanes that are not known up to the epoch.
  std::uint32_t behind(Component first, std::uint32_t lanes, Epoch epoch) const {
    if (epoch == 0) return 0;
    if (block_ == nullptr || first + 32 > block_->size) return behind_at_end(first, lanes, epoch);
    const Epoch* epochs = block_->epochs() + first;
    std::uint32_t found = 0;
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
      const auto lane = static_cast<std::uint32_t>(std::countr_zero(left));
      if (epochs[lane] < epoch) found |= 1u << lane;
    }
    return found;
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

  bool is_same(const Dense& other) const { return block_ == other.block_; }
  bool is_null() const { return block_ == nullptr; }

 private:
  friend class ClockPool;
  friend class Gather;

  struct alignas(16) Block {
    ClockPool* pool;
    std::uint64_t mark;  // of the last Gather that has it
    std::uint32_t references;
    std::uint32_t size;                       // components, a multiple of kStep
    std::array<Block*, kFencedKinds> fenced;  // what has passed a fence; these have no such parts themselves

    Epoch* epochs() { return reinterpret_cast<Epoch*>(this + 1); }
  };

  explicit Dense(Block* block) : block_(block) {}
  void give_back();
  std::uint32_t behind_at_end(Component first, std::uint32_t lanes, Epoch epoch) const;

  Block* block_ = nullptr;
};

// What is known of each cluster of the launch. A tree over the clusters' numbers whose nodes are shared: to add
// one cluster copies the path to it, and what two trees have in common is not looked at when they are joined.
// That keeps a counter that every cluster of a large grid updates cheap.
class World {
 public:
  World() = default;
  World(const World& other) : root_(other.root_) {
    if (root_ != nullptr) ++root_->references;
  }
  World(World&& other) noexcept : root_(std::exchange(other.root_, nullptr)) {}
  World& operator=(World other) noexcept {
    std::swap(root_, other.root_);
    return *this;
  }
  ~World() {
    if (root_ != nullptr) drop(root_);
  }

  bool is_same(const World& other) const { return root_ == other.root_; }
  bool is_null() const { return root_ == nullptr; }

  // What is known of the cluster.
  const Dense& of(std::uint64_t cluster) const;

 private:
  friend class ClockPool;

  static constexpr std::uint32_t kBits = 5;
  static constexpr std::uint32_t kWidth = 1u << kBits;

  struct Node {
    std::uint32_t references = 1;
    std::uint32_t level = 0;  // 0: holds clocks
    std::array<Node*, kWidth> nodes = {};
    std::array<Dense, kWidth>* clocks = nullptr;
  };

  explicit World(Node* root) : root_(root) {}
  static void drop(Node* node);
  static Node* hold(Node* node) {
    if (node != nullptr) ++node->references;
    return node;
  }

  Node* root_ = nullptr;
};

// Of somebody in a cluster.
struct Clock {
  Dense own;
  World world;
  World fenced_world;  // what of it has passed a proxy fence for global memory in another cluster than its own
  World seen;          // what relaxed reads have observed, for a fence to acquire
  World mapped;        // what of the world has passed a fence.proxy.tensormap that acquires

  Epoch operator[](Component component) const { return own[component]; }
  Epoch fenced(Fenced kind, Component component) const { return own.fenced(kind, component); }
  Epoch met(Component component) const { return own.met(component); }
  bool is_same(const Clock& other) const {
    return own.is_same(other.own) && world.is_same(other.world) && fenced_world.is_same(other.fenced_world) &&
           seen.is_same(other.seen) && mapped.is_same(other.mapped);
  }
  bool is_null() const { return own.is_null() && world.is_null() && seen.is_null(); }
};

// Makes clocks, and keeps their memory for the next ones.
class ClockPool {
 public:
  ClockPool() = default;
  ~ClockPool();
  ClockPool(const ClockPool&) = delete;
  ClockPool& operator=(const ClockPool&) = delete;

  // What either of the two knows.
  Dense join(const Dense& a, const Dense& b);
  World join(const World& a, const World& b);
  Clock join(const Clock& a, const Clock& b) {
    return {join(a.own, b.own), join(a.world, b.world), join(a.fenced_world, b.fenced_world),
            join(a.seen, b.seen), join(a.mapped, b.mapped)};
  }
  // The same, all of it known through a proxy fence.
  Clock fence(const Clock& clock, bool shared, bool global) {
    return {fence(clock.own, bit(Fenced::kShared, shared) | bit(Fenced::kGlobal, global)), clock.world,
            global ? clock.world : clock.fenced_world, clock.seen, clock.mapped};
  }
  // The same for tensor maps: a fence that releases, and one that acquires what such a fence has released.
  Clock release_maps(const Clock& clock) {
    return {fence(clock.own, bit(Fenced::kMapReleased)), clock.world, clock.fenced_world, clock.seen,
            clock.mapped};
  }
  Clock acquire_maps(const Clock& clock) {
    return {acquire_maps(clock.own), clock.world, clock.fenced_world, clock.seen, clock.world};
  }

  // The same, all of it known through a fence of memory at the scope of the GPU; and what of a clock is.
  Clock fence_memory(const Clock& clock) {
    return {fence(clock.own, bit(Fenced::kMemory)), clock.world, clock.fenced_world, {}, clock.mapped};
  }
  Clock fenced_memory(const Clock& clock) const {
    return {part(clock.own, static_cast<std::size_t>(Fenced::kMemory)), {}, {}, {}, {}};
  }

  // What somebody of the cluster knows, for others to know.
  World tell(std::uint64_t cluster, const Clock& clock);

 private:
  friend class Dense;
  friend class Gather;

  static constexpr std::uint32_t kStep = 64;  // components by which sizes grow

  static std::uint32_t bit(Fenced kind, bool is_set = true) {
    return is_set ? 1u << static_cast<unsigned>(kind) : 0;
  }
  Dense fence(const Dense& clock, std::uint32_t kinds);
  Dense acquire_maps(const Dense& clock);
  Dense::Block* copy(const Dense& clock);  // of the epochs alone
  Dense::Block* make(std::uint32_t size);
  World::Node* join(World::Node* a, World::Node* b);
  World::Node* raise_to(World::Node* node, std::uint32_t level);
  Dense part(const Dense& clock, std::size_t kind) const;
  static void set_part(Dense::Block& block, std::size_t kind, Dense part);

  std::vector<std::vector<Dense::Block*>> free_;  // by size / kStep
  std::uint64_t marks_ = 0;
  World joined_a_, joined_b_, joined_;  // the last join of two worlds: those who pass a barrier make the same
};

inline void Dense::give_back() {
  for (Block*& part : block_->fenced) {
    if (part != nullptr) Dense(std::exchange(part, nullptr));
  }
  try {
    block_->pool->free_[block_->size / ClockPool::kStep].push_back(block_);
  } catch (const std::bad_alloc&) {  // no place in the pool's list
    ::operator delete (block_, std::align_val_t{alignof(Block)});
  }
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
    if (!clock.own.is_null() && (met_.empty() || !met_.back().is_same(clock.own))) met_.push_back(clock.own);
  }
  void add_met(Component component, Epoch epoch) { add_fenced(Fenced::kMet, component, epoch); }

  bool is_empty() const {
    return clocks_.empty() && times_.empty() && met_.empty() && world_.is_null() && seen_.is_null() &&
           !has_fenced_times();
  }
  void clear();

  // All of it in one clock; nothing is left to gather.
  Clock finish(ClockPool& pool);

 private:
  struct Time {
    Component component;
    Epoch epoch;
  };

  bool has_fenced_times() const {
    return std::any_of(fenced_times_.begin(), fenced_times_.end(),
                       [](const auto& times) { return !times.empty(); });
  }
  static void put(Dense::Block& block, const Dense* clocks, std::size_t count, const std::vector<Time>& times);
  Dense finish_fenced(ClockPool& pool, std::size_t kind) const;

  std::uint64_t mark_ = 0;
  std::vector<Dense> clocks_;  // each once, as far as that is cheap to know
  std::vector<Time> times_;
  std::array<std::vector<Time>, kFencedKinds> fenced_times_;
  std::vector<Dense> met_;
  World world_, fenced_world_, seen_, mapped_;
};

}  // namespace heddle::sim::check
