// SPDX-License-Identifier: Apache-2.0
#include "sim/explore/turns.h"

#include "sim/machine/machine.h"

#include <heddle/host/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace heddle::sim::explore {

void Candidates::list(const machine::Machine& machine) {
  choices_.clear();
  const std::vector<machine::Thread*>& ready = machine.ready();
  for (std::size_t r = 0; r < ready.size(); ++r) {
    const machine::Thread& thread = *ready[r];
    const std::uint32_t tid = actors_ == Actors::kThreads ? thread.tid : thread.warp();
    choices_.try_emplace(std::uint64_t{thread.cta->linear} << 10 | tid, Choice{false, r, 0});
  }
  // Copies have numbers; what else is in flight goes by its place, and in that order.
  const auto& copies = machine.tma.copies();
  for (std::size_t c = 0; c < copies.size(); ++c) {
    choices_.try_emplace(kCopy | copies[c]->id, Choice{true, c, 0});
  }
  if (machine.in_flight() > copies.size()) {
    choices_.try_emplace(kCopy, Choice{true, copies.size(), 0});
  }
}

std::optional<Choice> Candidates::unfinished(const machine::Machine& machine) {
  while (!following_.empty()) {
    const auto found = std::find(machine.ready().begin(), machine.ready().end(), following_.back());
    following_.pop_back();
    if (found == machine.ready().end()) continue;
    return Choice{false, static_cast<std::size_t>(found - machine.ready().begin()), 0};
  }
  return std::nullopt;
}

void Candidates::go(const machine::Machine& machine, const Choice& choice) {
  following_.clear();
  if (actors_ != Actors::kLockstep || choice.is_copy) return;
  const machine::Thread* first = machine.ready()[choice.index];
  for (const machine::Thread* thread : machine.ready()) {
    if (thread != first && thread->cta == first->cta && thread->warp() == first->warp()) {
      following_.push_back(thread);
    }
  }
  std::sort(following_.begin(), following_.end(),
            [](const machine::Thread* a, const machine::Thread* b) { return a->tid > b->tid; });
}

void TurnRecorder::went(const Candidates& candidates, Actor actor) {
  if (actor == candidates.by_rule(last_)) {
    ++decisions_;
  } else {
    const auto& choices = candidates.choices();
    const auto number = std::distance(choices.begin(), choices.find(actor));
    turns_.push_back({decisions_, static_cast<std::uint32_t>(number)});
    decisions_ = 0;
  }
  last_ = actor;
}

namespace {

// Takes the turns that were written down.
class Turns final : public Strategy {
 public:
  explicit Turns(const Schedule& schedule) : schedule_(schedule), candidates_(schedule.actors) {}

  Choice choose(const machine::Machine& machine) override {
    if (const std::optional<Choice> lane = candidates_.unfinished(machine)) return *lane;
    candidates_.list(machine);
    const auto& choices = candidates_.choices();
    auto chosen = choices.find(candidates_.by_rule(last_));
    if (next_ < schedule_.turns.size() && schedule_.turns[next_].after == decisions_) {
      const std::uint32_t number = schedule_.turns[next_].actor;
      if (number >= choices.size()) {
        throw InputError(
            fmt::format("schedule {}: its turn {} is of number {} among those that can go, and there are {}; it "
                        "is of another "
                        "launch",
                        schedule_.name(), next_ + 1, number, choices.size()));
      }
      chosen = std::next(choices.begin(), static_cast<std::ptrdiff_t>(number));
      ++next_;
      decisions_ = 0;
    } else {
      ++decisions_;
    }
    last_ = chosen->first;
    candidates_.go(machine, chosen->second);
    return chosen->second;
  }
  bool preempts() override { return true; }
  bool wakes_early() override { return false; }

 private:
  Schedule schedule_;
  Candidates candidates_;
  std::size_t next_ = 0;         // of the turns
  std::uint64_t decisions_ = 0;  // since the last of them
  Actor last_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_turns(const Schedule& schedule) { return std::make_unique<Turns>(schedule); }

}  // namespace heddle::sim::explore
