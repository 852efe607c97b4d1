// SPDX-License-Identifier: Apache-2.0
#include "sim/check/clocks.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace heddle::sim::check {

namespace {

constexpr std::size_t kLanes = 4;

// Epochs stay below 2^31, and signed numbers are what every x86-64 compares four at a time.
Epoch later(Epoch a, Epoch b) {
  return static_cast<std::int32_t>(a) > static_cast<std::int32_t>(b) ? a : b;
}

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
  for (const auto& blocks : free_) {
    for (Clock::Block* block : blocks) ::operator delete(block, std::align_val_t{alignof(Clock::Block)});
  }
}

Clock::Block* ClockPool::make(std::uint32_t size) {
  const std::uint32_t steps = (size + kStep - 1) / kStep;
  if (free_.size() <= steps) free_.resize(steps + 1);
  if (!free_[steps].empty()) {
    Clock::Block* block = free_[steps].back();
    free_[steps].pop_back();
    block->references = 1;
    block->mark = 0;
    return block;
  }
  void* memory = ::operator new(sizeof(Clock::Block) + std::size_t{steps} * kStep * sizeof(Epoch),
                                std::align_val_t{alignof(Clock::Block)});
  return new (memory) Clock::Block{.pool = this, .mark = 0, .references = 1, .size = steps * kStep, .fenced = {}};
}

Clock ClockPool::part(const Clock& clock, std::size_t kind) const {
  Clock::Block* part = clock.is_null() ? nullptr : clock.block_->fenced[kind];
  if (part != nullptr) ++part->references;
  return Clock(part);
}

void ClockPool::set_part(Clock::Block& block, std::size_t kind, Clock part) {
  block.fenced[kind] = std::exchange(part.block_, nullptr);
}

Clock ClockPool::join(const Clock& a, const Clock& b) {
  if (a.is_same(b) || b.is_null()) return a;
  if (a.is_null()) return b;
  const Clock& longer = a.block_->size >= b.block_->size ? a : b;
  const Clock& shorter = &longer == &a ? b : a;
  const std::size_t common = shorter.block_->size;
  std::array<Clock, kFencedKinds> parts;
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
  Clock::Block* block = make(longer.block_->size);
  std::memcpy(block->epochs(), longer.block_->epochs(), block->size * sizeof(Epoch));
  raise(block->epochs(), shorter.block_->epochs(), common);
  for (std::size_t kind = 0; kind < kFencedKinds; ++kind) set_part(*block, kind, std::move(parts[kind]));
  return Clock(block);
}

Clock ClockPool::fence(const Clock& clock, bool shared, bool global) {
  if (clock.is_null()) return clock;
  const auto copy = [&] {
    Clock::Block* block = make(clock.block_->size);
    std::memcpy(block->epochs(), clock.block_->epochs(), block->size * sizeof(Epoch));
    return block;
  };
  const Clock all(copy());
  Clock::Block* block = copy();
  const std::array<bool, kFencedKinds> is_fenced = {shared, global, false};
  for (std::size_t kind = 0; kind < kFencedKinds; ++kind) set_part(*block, kind, is_fenced[kind] ? all : part(clock, kind));
  return Clock(block);
}

void Gather::add(ClockPool& pool, const Clock& clock) {
  if (clock.is_null()) return;
  if (clocks_.empty()) mark_ = ++pool.marks_;
  if (clock.block_->mark == mark_) return;
  clock.block_->mark = mark_;
  clocks_.push_back(clock);
}

void Gather::clear() {
  clocks_.clear();
  times_.clear();
  for (std::vector<Time>& times : fenced_times_) times.clear();
  met_.clear();
}

void Gather::put(Clock::Block& block, const Clock* clocks, std::size_t count, const std::vector<Time>& times) {
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

Clock Gather::finish_fenced(ClockPool& pool, std::size_t kind) const {
  Clock fenced;
  for (const Clock& clock : clocks_) fenced = pool.join(fenced, pool.part(clock, kind));
  const std::vector<Time>& times = fenced_times_[kind];
  std::vector<Clock> whole;
  if (static_cast<Fenced>(kind) == Fenced::kMet) {
    whole = met_;
    for (const Clock& clock : met_) fenced = pool.join(fenced, pool.part(clock, kind));
  }
  if (times.empty() && whole.empty()) return fenced;
  if (!fenced.is_null()) whole.push_back(fenced);
  std::uint32_t size = 0;
  for (const Clock& clock : whole) size = std::max(size, clock.block_->size);
  for (const Time& time : times) size = std::max(size, time.component + 1);
  Clock::Block* block = pool.make(size);
  put(*block, whole.data(), whole.size(), times);
  return Clock(block);
}

Clock Gather::finish(ClockPool& pool) {
  if (times_.empty() && met_.empty() && clocks_.size() <= 1) {
    Clock only = clocks_.empty() ? Clock() : std::move(clocks_.front());
    clear();
    return only;
  }
  std::uint32_t size = 0;
  for (const Clock& clock : clocks_) size = std::max(size, clock.block_->size);
  for (const Time& time : times_) size = std::max(size, time.component + 1);
  Clock::Block* block = pool.make(size);
  put(*block, clocks_.data(), clocks_.size(), times_);
  for (std::size_t kind = 0; kind < kFencedKinds; ++kind) ClockPool::set_part(*block, kind, finish_fenced(pool, kind));
  clear();
  return Clock(block);
}

}  // namespace heddle::sim::check
