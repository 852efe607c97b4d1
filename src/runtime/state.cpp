// SPDX-License-Identifier: Apache-2.0
#include "runtime/state.h"

#include "runtime/fork.h"
#include "runtime/json_lines.h"
#include "runtime/linked_runtime.h"
#include "runtime/options.h"
#include "runtime/trace.h"

#include <heddle/host/error.h>
#include <heddle/sim/accept.h>
#include <heddle/sim/schedule.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>

namespace heddle::runtime {

namespace {

thread_local Error last = Error::kSuccess;

void summarise(const Told& told, const char* kind, const char* hint) {
  if (told.places.empty()) return;
  std::fprintf(stderr, "heddle exec: %llu %s findings at %llu pairs of places%s\n",
               static_cast<unsigned long long>(told.times), kind,
               static_cast<unsigned long long>(told.places.size()), hint);
}

// A place that nothing was accepted at is a mistake in the command, if the program came to its end.
void check_rules(const State& card, int status) {
  bool is_unused = false;
  for (const std::string& rule : options().accepted) {
    if (!sim::AcceptRule::parse(rule).has_place() || card.used_rules.contains(rule)) continue;
    say(fmt::format("--accept {} matches nothing that was found", rule));
    is_unused = true;
  }
  if (!is_unused || status != 0) return;
  std::fflush(nullptr);
  std::_Exit(2);
}

std::uint64_t own_launches(const State& card) { return card.launches - card.launches_of_parent; }

void show_stats(const State& card) {
  std::fflush(stdout);
  const double rate = card.seconds > 0 ? static_cast<double>(card.instructions) / card.seconds / 1e6 : 0;
  std::fprintf(
      stderr,
      "heddle exec: launches %llu, instructions of threads %llu, %.2f s (%.2f of processor time), %.1f million "
      "a second\n",
      static_cast<unsigned long long>(own_launches(card)), static_cast<unsigned long long>(card.instructions),
      card.seconds, card.processor_seconds, rate);
}

bool depends_on_schedule(const State& card) {
  for (const Told* told : {&card.formal, &card.accepted}) {
    for (const auto& [code, places] : told->places) {
      if (code == sim::FaultCode::kScheduleDependence) return true;
    }
  }
  return false;
}

void show_schedules(const State& card) {
  const Options& asked = options();
  std::fprintf(stderr, "heddle exec: %llu launches, each under %u schedules, %s\n",
               static_cast<unsigned long long>(own_launches(card)), asked.schedules + 1,
               card.failed != Error::kSuccess ? "until one was stopped"
               : depends_on_schedule(card)    ? "with the differences that were told"
                                              : "with the same bytes written");
  if (card.pct.actors == 0) return;
  std::fprintf(
      stderr,
      "heddle exec: PCT: each schedule meets a mistake of depth %u with a probability of at least %.3g = "
      "1/(n k^%u), for n = %llu warps and copies and k = %llu steps\n",
      asked.depth, card.pct.bound, asked.depth - 1, static_cast<unsigned long long>(card.pct.actors),
      static_cast<unsigned long long>(card.pct.steps));
}

void show_searches(const Searches& all) {
  const Options& asked = options();
  const auto number = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
  std::fprintf(
      stderr,
      "heddle exec: %llu launches searched: %llu executions, %llu pruned, at most %llu decisions in one; "
      "%llu completely\n",
      number(all.complete + all.limited), number(all.executions), number(all.cut), number(all.depth),
      number(all.complete));
  if (all.limited != 0) {
    std::fprintf(stderr,
                 "heddle exec: %llu not completely, first %s: more than %llu executions; --limit allows more\n",
                 number(all.limited), all.first_limited.c_str(), number(asked.exhaust));
  }
  if (all.too_long != 0) {
    std::fprintf(stderr, "heddle exec: %llu ran under one schedule only, first %s, too long for a search\n",
                 number(all.too_long), all.first_too_long.c_str());
  }
}

// A launch that never came was not seen again.
void check_replay(const State& card, int status) {
  const sim::ReplayToken& replay = options().replay;
  if (replay.launch <= card.launches) return;
  say(fmt::format("--schedule {} is for launch {}, and there were {}", replay.text(), replay.launch,
                  card.launches));
  if (status != 0) return;
  std::fflush(nullptr);
  std::_Exit(2);
}

void at_exit(int status, void* /*unused*/) {
  State& card = state();
  if (card.is_lost) return;
  const std::lock_guard lock(card.mutex);
  show_printed(card);
  std::fflush(stdout);
  if (options().schedules != 0) show_schedules(card);
  if (options().exhaust != 0) show_searches(card.searches);
  summarise(card.formal, "formal", "; --strict makes them stop");
  summarise(card.accepted, "accepted", "");
  if (options().stats) show_stats(card);
  write_end(own_launches(card), card.failed != Error::kSuccess);
  if (!finish_trace() || !is_json_written()) {
    std::fflush(nullptr);
    std::_Exit(2);
  }
  check_replay(card, status);
  check_rules(card, status);
}

// A thread that is in a call has a moment to leave it. A kernel may never: the card of a process that ends does
// not wait for it either.
void before_exit(int /*unused*/, void* /*unused*/) {
  State& card = state();
  constexpr int kMost = 200;
  constexpr useconds_t kMoment = 1000;  // microseconds
  for (int i = 0; i < kMost && !card.is_lost; ++i) {
    if (card.mutex.try_lock()) {
      card.has_ended_for_others = true;
      card.ending = pthread_self();
      return card.mutex.unlock();
    }
    usleep(kMoment);
  }
  if (!card.is_lost) say("the program ends while a thread of it is in a call, which is left there");
  card.is_lost = true;
}

}  // namespace

thread_local int InHostFunction::depth_ = 0;

Error refuse_in_host_function(const char* name) {
  say(name, "called by a function of the host that a stream runs; CUDA allows no calls there");
  return Error::kNotPermitted;
}

void watch_exit() {
  // Handlers run in the opposite order: this one before those of the program's modules, which come first.
  static const int is_registered = on_exit(before_exit, nullptr);
  static_cast<void>(is_registered);
}

void PctBound::add(std::uint64_t launch_actors, std::uint64_t launch_steps, std::uint32_t depth) {
  const std::uint64_t at_least_one = std::max<std::uint64_t>(launch_steps, 1);
  const double launch_bound = sim::pct_bound(launch_actors, at_least_one, depth);
  if (launch_bound >= bound) return;
  *this = {launch_actors, at_least_one, launch_bound};
}

void Searches::add(const sim::explore::SearchedLaunch& searched, std::uint64_t launch,
                   const std::string& kernel) {
  const sim::explore::Exhausted& counts = searched.counts;
  const std::string which = fmt::format("launch {}, {}", launch, kernel);
  if (searched.is_too_long) {
    if (too_long++ == 0)
      first_too_long = fmt::format("{}: {} steps, and at most {} are searched", which, searched.steps,
                                   sim::explore::SearchLimits{}.steps);
    return;
  }
  if (!counts.is_complete && limited++ == 0) first_limited = which;
  if (counts.is_complete) ++complete;
  executions += counts.executions;
  cut += counts.cut;
  depth = std::max(depth, counts.depth);
}

namespace {

std::atomic<State*> the_card = nullptr;
std::mutex being_made;

}  // namespace

// No static of the function: the child of a program that forks while another thread makes it would wait for ever.
State& state() {
  if (State* const found = the_card.load(std::memory_order_acquire)) return *found;
  const std::lock_guard lock(being_made);
  if (State* const found = the_card.load(std::memory_order_relaxed)) return *found;
  auto* const made = new State;
  survive_forks(*made);
  the_card.store(made, std::memory_order_release);
  on_exit(at_exit, nullptr);
  return *made;
}

void make_state_anew() { new (&being_made) std::mutex; }

void show_printed(State& card) {
  if (card.printed.empty()) return;
  std::fwrite(card.printed.data(), 1, card.printed.size(), stdout);
  card.printed.clear();
  std::fflush(stdout);  // a child that the program has forked may end without its handlers
}

namespace {

// Of the thread; a function of the host has one of its own, as on a card, where another thread runs it.
Error& own_last() {
  static thread_local Error last_in_host_function = Error::kSuccess;
  return InHostFunction::is_here() ? last_in_host_function : last;
}

}  // namespace

namespace {

std::atomic<bool> has_linked_runtime = false;

}  // namespace

void note_linked_runtime() noexcept { has_linked_runtime = true; }

int& contexts_of_thread() noexcept {
  static thread_local int contexts = 0;
  if (contexts == 0 && has_linked_runtime) contexts = 1;
  return contexts;
}

Error last_error() { return own_last(); }

Error take_last_error() { return std::exchange(own_last(), Error::kSuccess); }

int remember(Error error) noexcept {
  if (error != Error::kSuccess) own_last() = error;
  return static_cast<int>(error);
}

Error code_of_exception(const char* name) noexcept {
  try {
    throw;
  } catch (const InputError& error) {
    say(name, error.what());
    return Error::kInvalidValue;
  } catch (const std::bad_alloc&) {
    return Error::kMemoryAllocation;
  } catch (const std::exception& error) {
    say(name, error.what());
  } catch (...) {
    say(name, "failed");
  }
  return Error::kUnknown;
}

}  // namespace heddle::runtime
