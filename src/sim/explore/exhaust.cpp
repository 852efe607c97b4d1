// SPDX-License-Identifier: Apache-2.0
#include "sim/explore/exhaust.h"

#include "sim/explore/footprint.h"
#include "sim/explore/strategy.h"
#include "sim/explore/turns.h"
#include "sim/machine/machine.h"

#include <heddle/host/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <utility>
#include <vector>

namespace heddle::sim::explore {

namespace {

// An actor that does the same so often, or goes on for so long, may poll for what another does. Others go first,
// then; which of the orders is run first makes no difference to the search.
constexpr std::uint32_t kPatience = 16;
constexpr std::uint32_t kLongPatience = 1'000;

struct Sleeper {
  Actor actor;
  Footprint next;  // what its next step touches
};

// Where the search stands before a step, and the step that was taken from there.
struct State {
  std::vector<Actor> enabled;
  std::vector<Sleeper> sleeping;  // their next steps have been seen from a state above
  std::vector<Sleeper> done;      // and these from here
  std::vector<Actor> wanted;      // still to be tried
  Actor chosen = 0;
  Footprint step;
  std::vector<std::uint64_t> issued;  // copies that the step has begun
};

bool has(const std::vector<Actor>& list, Actor actor) {
  return std::find(list.begin(), list.end(), actor) != list.end();
}

bool has(const std::vector<Sleeper>& list, Actor actor) {
  return std::any_of(list.begin(), list.end(), [&](const Sleeper& one) { return one.actor == actor; });
}

// One path after the other.
class Search final : public Strategy {
 public:
  Search(Actors actors, bool has_data) : actors_(actors), candidates_(actors), recorder_(has_data) {}

  FootprintRecorder& recorder() { return recorder_; }

  void begin() {
    recorder_.forget_all();
    candidates_.begin();
    turns_.begin();
    depth_ = 0;
    is_cut_ = false;
    turn_ = 0;
    alone_ = 0;
    same_ = 0;
  }

  Choice choose(const machine::Machine& machine) override {
    if (const std::optional<Choice> lane = candidates_.unfinished(machine)) return *lane;
    candidates_.list(machine);
    end_step();
    if (!is_cut_ && depth_ == path_.size()) push_state();
    if (is_cut_) return any();
    const auto chosen = candidates_.choices().find(path_[depth_].chosen);
    if (chosen == candidates_.choices().end()) {
      is_cut_ = is_other_ = true;
      return any();
    }
    turns_.went(candidates_, chosen->first);
    candidates_.go(machine, chosen->second);
    ++depth_;
    return chosen->second;
  }
  bool preempts() override { return true; }
  bool wakes_early() override { return false; }

  // After a run. Finds out what else must be tried.
  void end() {
    end_step();
    if (path_.size() > depth_) path_.resize(depth_);
    look_for_swaps();
  }
  std::size_t depth() const { return depth_; }
  Schedule schedule() const { return Schedule::by_turns(actors_, turns_.turns()); }
  bool is_cut() const { return is_cut_; }
  bool is_other() const { return is_other_; }  // the launch did not do what it had done before

  // Goes to the next path; false if there is none.
  bool advance() {
    while (!path_.empty()) {
      State& last = path_.back();
      last.done.push_back({last.chosen, std::move(last.step)});
      last.step.clear();
      last.issued.clear();
      while (!last.wanted.empty()) {
        const Actor next = last.wanted.back();
        last.wanted.pop_back();
        if (has(last.done, next) || has(last.sleeping, next)) continue;
        last.chosen = next;
        return true;
      }
      path_.pop_back();
    }
    return false;
  }

 private:
  // The end of a run that has been seen: everybody in turn.
  Choice any() {
    const auto& choices = candidates_.choices();
    return std::next(choices.begin(), static_cast<std::ptrdiff_t>(turn_++ % choices.size()))->second;
  }

  // What has happened since the last choice belongs to the step that was chosen.
  void end_step() {
    if (depth_ == 0 || is_cut_) {
      recorder_.take();
      recorder_.take_issued();
      return;
    }
    State& last = path_[depth_ - 1];
    last.step = recorder_.take();
    last.issued = recorder_.take_issued();
    const bool goes_on = depth_ > 1 && path_[depth_ - 2].chosen == last.chosen;
    alone_ = goes_on ? alone_ + 1 : 0;
    same_ = goes_on && path_[depth_ - 2].step == last.step ? same_ + 1 : 0;
  }

  void push_state() {
    State state;
    for (const auto& [actor, choice] : candidates_.choices()) state.enabled.push_back(actor);
    Actor before = 0;
    if (!path_.empty()) {
      const State& last = path_.back();
      before = last.chosen;
      for (const auto* list : {&last.sleeping, &last.done}) {
        for (const Sleeper& one : *list) {
          if (one.actor != last.chosen && !are_dependent(one.next, last.step)) state.sleeping.push_back(one);
        }
      }
    }
    const auto is_awake = [&](Actor actor) { return !has(state.sleeping, actor); };
    const auto first_that = [&](const auto& is_wanted) {
      return std::find_if(state.enabled.begin(), state.enabled.end(), is_wanted);
    };
    // As few switches as can be.
    const bool can_go_on = !path_.empty() && has(state.enabled, before) && is_awake(before);
    const auto next = first_that([&](Actor actor) { return actor != before && is_awake(actor); });
    // It polls for what only those can do whose next steps were seen: so was whatever comes of them.
    if (can_go_on && same_ > kLongPatience && next == state.enabled.end() && state.enabled.size() > 1) {
      is_cut_ = true;
      return;
    }
    if (can_go_on && ((same_ < kPatience && alone_ < kLongPatience) || next == state.enabled.end())) {
      state.chosen = before;
    } else {
      const auto first = can_go_on ? next : first_that(is_awake);
      if (first == state.enabled.end()) {
        is_cut_ = true;
        return;
      }
      state.chosen = *first;
    }
    path_.push_back(std::move(state));
  }

  // For each step, those before it that it could also have come before, with nothing in between that forbids it.
  void look_for_swaps() {
    std::unordered_map<Actor, std::size_t> columns;
    const auto column_of = [&](Actor actor) { return columns.try_emplace(actor, columns.size()).first->second; };
    for (const State& state : path_) column_of(state.chosen);
    const std::size_t width = columns.size();
    // clocks[j][c]: so many of the first steps, up to the last of actor c among them, are before step j or it
    // itself.
    std::vector<std::vector<std::size_t>> clocks(path_.size(), std::vector<std::size_t>(width, 0));
    // repeats[j]: how often its actor had done the same in a row, step j included.
    std::vector<std::uint32_t> repeats(path_.size(), 1);
    const auto polls_before = [&](std::size_t i, Actor actor) {
      while (i-- > 0) {
        if (path_[i].chosen == actor) return repeats[i] > kPatience;
      }
      return false;
    };
    std::unordered_map<Actor, std::size_t> last_of;   // the last step of each actor
    std::unordered_map<Actor, std::size_t> began_by;  // the step that has begun a copy
    for (std::size_t j = 0; j < path_.size(); ++j) {
      const Actor actor = path_[j].chosen;
      std::vector<std::size_t>& clock = clocks[j];
      const auto join = [&](std::size_t i) {
        for (std::size_t c = 0; c < width; ++c) clock[c] = std::max(clock[c], clocks[i][c]);
      };
      if (const auto last = last_of.find(actor); last != last_of.end()) {
        if (path_[last->second].step == path_[j].step) repeats[j] = repeats[last->second] + 1;
        join(last->second);
      } else if (const auto began = began_by.find(actor); began != began_by.end()) {
        join(began->second);
      }
      for (std::size_t i = j; i-- > 0;) {
        if (clock[column_of(path_[i].chosen)] > i || !are_dependent(path_[i].step, path_[j].step)) continue;
        if (!has_woken(i, j) && !polls_before(i, actor)) want_swap(i, j, clocks, column_of);
        join(i);
      }
      clock[column_of(actor)] = j + 1;
      last_of[actor] = j;
      for (const std::uint64_t copy : path_[j].issued) began_by[kCopy | copy] = j;
    }
  }

  // Whether the actor of step j slept until step i.
  bool has_woken(std::size_t i, std::size_t j) const {
    return !has(path_[i].enabled, path_[j].chosen) && does_enable(path_[i].step, path_[j].step);
  }

  // Lets the search go on from before step i with what step j needs, and then with step j. Of the steps between,
  // that are those that step i is not before; any of the actors that can begin with them will do.
  template <class ColumnOf>
  void want_swap(std::size_t i, std::size_t j, const std::vector<std::vector<std::size_t>>& clocks,
                 const ColumnOf& column_of) {
    State& state = path_[i];
    const auto is_before = [&](std::size_t a, std::size_t b) {
      return clocks[b][column_of(path_[a].chosen)] > a;
    };
    std::vector<std::size_t> kept;
    std::vector<Actor> first;
    for (std::size_t k = i + 1; k <= j; ++k) {
      if (k != j && is_before(i, k)) continue;
      const bool has_earlier =
          std::any_of(kept.begin(), kept.end(), [&](std::size_t m) { return is_before(m, k); });
      kept.push_back(k);
      if (!has_earlier && has(state.enabled, path_[k].chosen)) first.push_back(path_[k].chosen);
    }
    const auto is_known = [&](Actor actor) {
      return actor == state.chosen || has(state.wanted, actor) || has(state.done, actor);
    };
    if (std::any_of(first.begin(), first.end(), is_known)) return;
    if (!first.empty()) {
      state.wanted.push_back(first.back());
      return;
    }
    for (const Actor actor : state.enabled) {
      if (!is_known(actor)) state.wanted.push_back(actor);
    }
  }

  Actors actors_;
  Candidates candidates_;
  TurnRecorder turns_;
  FootprintRecorder recorder_;
  std::vector<State> path_;
  std::size_t depth_ = 0;  // steps chosen in this run
  bool is_cut_ = false;    // all that could go next is asleep: the rest of the run has been seen
  bool is_other_ = false;
  std::size_t turn_ = 0;
  std::uint32_t alone_ = 0;  // turns of one actor in a row
  std::uint32_t same_ = 0;   // of those the last in which it did the same
};

}  // namespace

namespace {

[[noreturn]] void refuse_other(const LaunchOptions& options) {
  throw InputError(
      fmt::format("search of {}: it does not repeat itself; is its memory as it was?", options.kernel));
}

}  // namespace

Exhausted walk_orders(const LaunchOptions& options, Actors actors, std::uint64_t most,
                      const std::function<Execution(const LaunchOptions&)>& run_once,
                      const std::function<void(const Schedule&)>& ended) {
  Search search(actors, !options.check_races);
  LaunchOptions watched = options;
  watched.strategy = &search;
  watched.observers.push_back(&search.recorder());
  Exhausted result;
  std::uint64_t fewest = 0;  // switches of what failed
  do {
    if (result.executions + result.cut == most) return result;
    search.begin();
    const Execution one = run_once(watched);
    search.end();
    if (search.is_other()) refuse_other(options);
    result.depth = std::max<std::uint64_t>(result.depth, search.depth());
    if (search.is_cut()) {
      ++result.cut;
      continue;
    }
    ++result.executions;
    if (ended) ended(search.schedule());
    if (one.is_well) continue;
    if (result.failed++ == 0 || one.switches < fewest) {
      fewest = one.switches;
      result.schedule = search.schedule();
    }
  } while (search.advance());
  result.is_complete = true;
  return result;
}

Exhausted exhaust(const LaunchOptions& options, Actors actors, std::uint64_t most,
                  const std::function<Report(const LaunchOptions&)>& run_once,
                  const std::function<void(const Report&, const Schedule&)>& ended) {
  Report last;
  Exhausted result = walk_orders(
      options, actors, most,
      [&](const LaunchOptions& watched) {
        last = run_once(watched);
        return Execution{last.ok(), last.stats.thread_switches};
      },
      [&](const Schedule& schedule) {
        if (ended) ended(last, schedule);
      });
  if (!result.schedule) return result;
  LaunchOptions again = options;
  again.schedule = *result.schedule;
  result.shortest = run_once(again);
  if (result.shortest->ok()) refuse_other(options);
  return result;
}

}  // namespace heddle::sim::explore
