// SPDX-License-Identifier: Apache-2.0
#include "sim/check/clocks.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace heddle::sim::check {

namespace {

constexpr std::size_t kLanes = 4;

// Epochs stay below 2^31, and signed numbers are what every x86-64 compares four at a time.
Epoch later(Epoch a, Epoch b) { return static_cast<std::int32_t>(a) > static_cast<std::int32_t>(b) ? a : b; }

// `size` is a multiple of kLanes.
void raise(Epoch* __restrict to, const Epoch* __restrict from, std::size_t size) {
  for (std::size_t i = 0; i < size; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) to[i + lane] = later(to[i + lane], from[i + lane]);
  }
}

// Whether `a` knows all that `b` does.
bool covers(const Epoch* a, const Epoch* b, std::size_t size) {
  Epoch missing = 0;
  for (std::size_t i = 0; i < size; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) missing |= later(a[i + lane], b[i + lane]) ^ a[i + lane];
  }
  return missing == 0;
}

}  // namespace

ClockPool::~ClockPool() {
  joined_a_ = joined_b_ = joined_ = {};
  for (const auto& blocks : free_) {
    for (Dense::Block* block : blocks) ::operator delete (block, std::align_val_t{alignof(Dense::Block)});
  }
}

Dense::Block* ClockPool::make(std::uint32_t size) {
  const std::uint32_t steps = (size + kStep - 1) / kStep;
  if (free_.size() <= steps) free_.resize(steps + 1);
  if (!free_[steps].empty()) {
    Dense::Block* block = free_[steps].back();
    free_[steps].pop_back();
    block->references = 1;
    block->mark = 0;
    return block;
  }
  void* memory = ::operator new (sizeof(Dense::Block) + std::size_t{steps} * kStep * sizeof(Epoch),
                                 std::align_val_t{alignof(Dense::Block)});
  return new (memory) Dense::Block{.pool = this, .mark = 0, .references = 1, .size = steps * kStep, .fenced = {}};
}

Dense ClockPool::part(const Dense& clock, std::size_t kind) const {
  Dense::Block* part = clock.is_null() ? nullptr : clock.block_->fenced[kind];
  if (part != nullptr) ++part->references;
  return Dense(part);
}

void ClockPool::set_part(Dense::Block& block, std::size_t kind, Dense part) {
  block.fenced[kind] = std::exchange(part.block_, nullptr);
}

Dense ClockPool::join(const Dense& a, const Dense& b) {
  if (a.is_same(b) || b.is_null()) return a;
  if (a.is_null()) return b;
  const Dense& longer = a.block_->size >= b.block_->size ? a : b;
  const Dense& shorter = &longer == &a ? b : a;
  const std::size_t common = shorter.block_->size;
  std::array<Dense, kFencedKinds> parts;
  bool longer_has_parts = true, shorter_has_parts = true;
  for (std::size_t kind = 0; kind < kFencedKinds; ++kind) {
    parts[kind] = join(part(longer, kind), part(shorter, kind));
    longer_has_parts &= parts[kind].block_ == longer.block_->fenced[kind];
    shorter_has_parts &= parts[kind].block_ == shorter.block_->fenced[kind];
  }
  if (longer_has_parts && covers(longer.block_->epochs(), shorter.block_->epochs(), common)) return longer;
  if (shorter_has_parts && longer.block_->size == common &&
      covers(shorter.block_->epochs(), longer.block_->epochs(), common)) {
    return shorter;
  }
  Dense::Block* block = make(longer.block_->size);
  std::memcpy(block->epochs(), longer.block_->epochs(), block->size * sizeof(Epoch));
  raise(block->epochs(), shorter.block_->epochs(), common);
  for (std::size_t kind = 0; kind < kFencedKinds; ++kind) set_part(*block, kind, std::move(parts[kind]));
  return Dense(block);
}

Dense::Block* ClockPool::copy(const Dense& clock) {
  Dense::Block* block = make(clock.block_->size);
  std::memcpy(block->epochs(), clock.block_->epochs(), block->size * sizeof(Epoch));
  return block;
}

Dense ClockPool::fence(const Dense& clock, std::uint32_t kinds) {
  if (clock.is_null()) return clock;
  const Dense all(copy(clock));
  Dense::Block* block = copy(clock);
  for (std::size_t kind = 0; kind < kFencedKinds; ++kind)
    set_part(*block, kind, (kinds >> kind & 1) != 0 ? all : part(clock, kind));
  return Dense(block);
}

Dense ClockPool::acquire_maps(const Dense& clock) {
  constexpr auto kReleased = static_cast<std::size_t>(Fenced::kMapReleased);
  constexpr auto kAcquired = static_cast<std::size_t>(Fenced::kMapAcquired);
  const Dense released = part(clock, kReleased);
  if (released.is_null()) return clock;
  Dense acquired(copy(clock));
  for (std::size_t kind = 0; kind < kFencedKinds; ++kind)
    set_part(*acquired.block_, kind,
             kind == kAcquired ? join(part(clock, kAcquired), released) : part(clock, kind));
  return acquired;
}

std::uint32_t Dense::behind_at_end(Component first, std::uint32_t lanes, Epoch epoch) const {
  std::uint32_t found = 0;
  for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(left));
    if ((*this)[first + lane] < epoch) found |= 1u << lane;
  }
  return found;
}

void World::drop(Node* node) {
  if (--node->references != 0) return;
  for (Node* child : node->nodes) {
    if (child != nullptr) drop(child);
  }
  delete node->clocks;
  delete node;
}

const Dense& World::of(std::uint64_t cluster) const {
  static const Dense kNothing;
  const Node* node = root_;
  if (node == nullptr || cluster >> kBits * (node->level + 1) != 0) return kNothing;
  for (; node != nullptr; node = node->nodes[cluster >> kBits * node->level & (kWidth - 1)]) {
    if (node->level == 0) return (*node->clocks)[cluster & (kWidth - 1)];
  }
  return kNothing;
}

// Takes over the reference to the node.
World::Node* ClockPool::raise_to(World::Node* node, std::uint32_t level) {
  while (node->level < level) {
    node = new World::Node{.references = 1, .level = node->level + 1, .nodes = {node}};
  }
  return node;
}

// The result is a reference of its own.
World::Node* ClockPool::join(World::Node* a, World::Node* b) {
  if (a == b || b == nullptr) return World::hold(a);
  if (a == nullptr) return World::hold(b);
  auto* made = new World::Node{.references = 1, .level = a->level};
  bool is_a = true;
  bool is_b = true;
  if (a->level == 0) {
    made->clocks = new std::array<Dense, World::kWidth>;
    for (std::uint32_t i = 0; i < World::kWidth; ++i) {
      Dense& both = (*made->clocks)[i] = join((*a->clocks)[i], (*b->clocks)[i]);
      is_a &= both.is_same((*a->clocks)[i]);
      is_b &= both.is_same((*b->clocks)[i]);
    }
  } else {
    for (std::uint32_t i = 0; i < World::kWidth; ++i) {
      made->nodes[i] = join(a->nodes[i], b->nodes[i]);
      is_a &= made->nodes[i] == a->nodes[i];
      is_b &= made->nodes[i] == b->nodes[i];
    }
  }
  if (!is_a && !is_b) return made;
  World::drop(made);
  return World::hold(is_a ? a : b);
}

World ClockPool::join(const World& a, const World& b) {
  if (a.is_same(b) || b.is_null()) return a;
  if (a.is_null()) return b;
  if (!joined_a_.is_same(a) || !joined_b_.is_same(b)) {
    const std::uint32_t level = std::max(a.root_->level, b.root_->level);
    const World high_a(raise_to(World::hold(a.root_), level));
    const World high_b(raise_to(World::hold(b.root_), level));
    joined_ = World(join(high_a.root_, high_b.root_));
    joined_a_ = a;
    joined_b_ = b;
  }
  return joined_;
}

World ClockPool::tell(std::uint64_t cluster, const Clock& clock) {
  auto* leaf = new World::Node{.clocks = new std::array<Dense, World::kWidth>};
  (*leaf->clocks)[cluster & (World::kWidth - 1)] = clock.own;
  World::Node* root = leaf;
  while (cluster >> World::kBits * (root->level + 1) != 0) {
    auto* above = new World::Node{.references = 1, .level = root->level + 1};
    above->nodes[cluster >> World::kBits * above->level & (World::kWidth - 1)] = root;
    root = above;
  }
  return join(clock.world, World(root));
}

void Gather::add(ClockPool& pool, const Clock& clock) {
  if (!clock.world.is_null()) world_ = pool.join(world_, clock.world);
  if (!clock.seen.is_null()) seen_ = pool.join(seen_, clock.seen);
  if (!clock.fenced_world.is_null()) fenced_world_ = pool.join(fenced_world_, clock.fenced_world);
  if (!clock.mapped.is_null()) mapped_ = pool.join(mapped_, clock.mapped);
  Dense::Block* block = clock.own.block_;
  if (block == nullptr) return;
  if (clocks_.empty()) mark_ = ++pool.marks_;
  if (block->mark == mark_) return;
  block->mark = mark_;
  clocks_.push_back(clock.own);
}

void Gather::clear() {
  clocks_.clear();
  times_.clear();
  for (std::vector<Time>& times : fenced_times_) times.clear();
  met_.clear();
  world_ = fenced_world_ = seen_ = mapped_ = {};
}

void Gather::put(Dense::Block& block, const Dense* clocks, std::size_t count, const std::vector<Time>& times) {
  Epoch* epochs = block.epochs();
  std::size_t filled = 0;
  if (count != 0) {
    filled = clocks->block_->size;
    std::memcpy(epochs, clocks->block_->epochs(), filled * sizeof(Epoch));
  }
  std::fill(epochs + filled, epochs + block.size, 0);
  for (std::size_t i = 1; i < count; ++i) raise(epochs, clocks[i].block_->epochs(), clocks[i].block_->size);
  for (const Time& time : times) epochs[time.component] = later(epochs[time.component], time.epoch);
}

Dense Gather::finish_fenced(ClockPool& pool, std::size_t kind) const {
  Dense fenced;
  for (const Dense& clock : clocks_) fenced = pool.join(fenced, pool.part(clock, kind));
  const std::vector<Time>& times = fenced_times_[kind];
  std::vector<Dense> whole;
  if (static_cast<Fenced>(kind) == Fenced::kMet) {
    whole = met_;
    for (const Dense& clock : met_) fenced = pool.join(fenced, pool.part(clock, kind));
  }
  if (times.empty() && whole.empty()) return fenced;
  if (!fenced.is_null()) whole.push_back(fenced);
  std::uint32_t size = 0;
  for (const Dense& clock : whole) size = std::max(size, clock.block_->size);
  for (const Time& time : times) size = std::max(size, time.component + 1);
  Dense::Block* block = pool.make(size);
  put(*block, whole.data(), whole.size(), times);
  return Dense(block);
}

Clock Gather::finish(ClockPool& pool) {
  if (times_.empty() && met_.empty() && !has_fenced_times() && clocks_.size() <= 1) {
    Clock only{clocks_.empty() ? Dense() : std::move(clocks_.front()), std::move(world_),
               std::move(fenced_world_), std::move(seen_), std::move(mapped_)};
    clear();
    return only;
  }
  std::uint32_t size = 0;
  for (const Dense& clock : clocks_) size = std::max(size, clock.block_->size);
  for (const Time& time : times_) size = std::max(size, time.component + 1);
  Dense gathered(pool.make(size));
  put(*gathered.block_, clocks_.data(), clocks_.size(), times_);
  for (std::size_t kind = 0; kind < kFencedKinds; ++kind)
    ClockPool::set_part(*gathered.block_, kind, finish_fenced(pool, kind));
  Clock all{std::move(gathered), std::move(world_), std::move(fenced_world_), std::move(seen_),
            std::move(mapped_)};
  clear();
  return all;
}

}  // namespace heddle::sim::check
