// SPDX-License-Identifier: Apache-2.0
#include <heddle/host/error.h>
#include <heddle/sim/schedule.h>

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace heddle::sim {

namespace {

template <class T>
bool read(std::string_view text, T& number, int base) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return !text.empty() && error == std::errc{} && end == text.data() + text.size();
}

// "3.1000.7f"
bool read_pct(std::string_view text, Schedule& schedule) {
  const std::size_t first = text.find('.');
  const std::size_t second = first == std::string_view::npos ? first : text.find('.', first + 1);
  if (second == std::string_view::npos) return false;
  schedule.kind = Schedule::Kind::kPct;
  return read(text.substr(0, first), schedule.depth, 10) &&
         read(text.substr(first + 1, second - first - 1), schedule.steps, 10) &&
         read(text.substr(second + 1), schedule.seed, 16) && schedule.depth >= 1 &&
         schedule.depth <= Schedule::kMaxDepth && schedule.steps >= 1;
}

// "w12.3-5.0"; "w" alone: no turn is out of order.
bool read_turns(std::string_view text, Schedule& schedule) {
  schedule.kind = Schedule::Kind::kTurns;
  schedule.actors = text.front() == 'w'   ? Actors::kWarps
                    : text.front() == 'l' ? Actors::kLockstep
                                          : Actors::kThreads;
  text.remove_prefix(1);
  while (!text.empty()) {
    const std::size_t end = text.find('-');
    const std::string_view one = text.substr(0, end);
    const std::size_t dot = one.find('.');
    Turn turn{};
    if (dot == std::string_view::npos || !read(one.substr(0, dot), turn.after, 10) ||
        !read(one.substr(dot + 1), turn.actor, 10)) {
      return false;
    }
    schedule.turns.push_back(turn);
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
    if (text.empty()) return false;
  }
  return true;
}

}  // namespace

Schedule Schedule::parse(std::string_view text) {
  if (text == "rr") return round_robin();
  Schedule schedule;
  if (text.starts_with("pct")) {
    if (read_pct(text.substr(3), schedule)) return schedule;
    throw InputError(fmt::format(
        "schedule '{:.80}': expected pct with a depth of 1 to {}, steps and a seed, such as pct3.1000.7f", text,
        kMaxDepth));
  }
  if (text.starts_with('w') || text.starts_with('t') || text.starts_with('l')) {
    if (read_turns(text, schedule)) return schedule;
    throw InputError(fmt::format(
        "schedule '{:.80}': expected w, t or l, and for each turn of a warp or thread how many decisions "
        "come before it and its number, such as w12.3-5.0",
        text));
  }
  if (!read(text, schedule.seed, 16)) {
    throw InputError(
        fmt::format("schedule '{:.80}': expected 'rr', a seed of 1 to 16 hexadecimal digits, such as "
                    "7f3a91c4, a depth, steps and a seed, such as pct3.1000.7f, or turns, such as w12.3-5.0",
                    text));
  }
  schedule.kind = Kind::kRandom;
  return schedule;
}

std::string Schedule::name() const {
  switch (kind) {
    case Kind::kRoundRobin: return "rr";
    case Kind::kRandom: return fmt::format("{:x}", seed);
    case Kind::kPct: return fmt::format("pct{}.{}.{:x}", depth, steps, seed);
    case Kind::kTurns: break;
  }
  std::string text = actors == Actors::kWarps ? "w" : actors == Actors::kLockstep ? "l" : "t";
  for (std::size_t i = 0; i < turns.size(); ++i) {
    text += fmt::format("{}{}.{}", i == 0 ? "" : "-", turns[i].after, turns[i].actor);
  }
  return text;
}

double pct_bound(std::uint64_t actors, std::uint64_t steps, std::uint32_t depth) {
  return 1 / (static_cast<double>(actors) * std::pow(static_cast<double>(steps), static_cast<double>(depth) - 1));
}

ReplayToken ReplayToken::parse(std::string_view text) {
  const std::size_t at = text.find('@');
  ReplayToken token{.schedule = Schedule::parse(text.substr(0, at))};
  if (at == std::string_view::npos) return token;
  std::string_view program = text.substr(at + 1);
  if (const std::size_t hash = program.rfind('#'); hash != std::string_view::npos) {
    if (!read(program.substr(hash + 1), token.launch, 10) || token.launch == 0) {
      throw InputError(fmt::format("schedule '{:.80}': after '#' comes the number of a launch, 1 or more", text));
    }
    program = program.substr(0, hash);
  }
  if (program.empty()) {
    throw InputError(fmt::format("schedule '{:.80}': after '@' comes the name of a program", text));
  }
  token.program = program;
  return token;
}

ReplayToken ReplayToken::parse(std::string_view text, std::string_view program) {
  ReplayToken token = parse(text);
  if (!token.program.empty() && token.program != program) {
    throw InputError(
        fmt::format("schedule '{:.80}' is of the program '{}', and this is '{}'", text, token.program, program));
  }
  return token;
}

std::string ReplayToken::text() const {
  std::string text = schedule.name();
  if (!program.empty()) text += '@' + program;
  if (launch != 0) text += fmt::format("#{}", launch);
  return text;
}

}  // namespace heddle::sim
