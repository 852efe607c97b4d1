// SPDX-License-Identifier: Apache-2.0
#include "runtime/stream_order.h"

#include "runtime/stream.h"

#include <algorithm>

namespace heddle::runtime {

namespace {

constexpr std::size_t kMaxWorks = 64;

}  // namespace

StreamOrder::Handle StreamOrder::handle_of(const void* stream) {
  return is_default_stream(stream) ? 0 : reinterpret_cast<Handle>(stream);
}

StreamOrder::Stream& StreamOrder::stream_of(const void* handle) { return streams_[handle_of(handle)]; }

std::uint64_t StreamOrder::Counts::of(Handle stream) const {
  const auto found = std::ranges::lower_bound(counts_, stream, {}, &std::pair<Handle, std::uint64_t>::first);
  return found == counts_.end() || found->first != stream ? 0 : found->second;
}

void StreamOrder::Counts::set(Handle stream, std::uint64_t count) {
  const auto found = std::ranges::lower_bound(counts_, stream, {}, &std::pair<Handle, std::uint64_t>::first);
  if (found != counts_.end() && found->first == stream) {
    found->second = count;
  } else {
    counts_.insert(found, {stream, count});
  }
}

void StreamOrder::Counts::join(const Counts& other) {
  if (other.counts_.empty()) return;
  std::vector<std::pair<Handle, std::uint64_t>> all;
  all.reserve(counts_.size() + other.counts_.size());
  auto mine = counts_.begin();
  for (const auto& one : other.counts_) {
    while (mine != counts_.end() && mine->first < one.first) all.push_back(*mine++);
    const bool is_both = mine != counts_.end() && mine->first == one.first;
    all.emplace_back(one.first, is_both ? std::max(one.second, (mine++)->second) : one.second);
  }
  all.insert(all.end(), mine, counts_.end());
  counts_ = std::move(all);
}

void StreamOrder::Counts::keep(const std::set<Handle>& streams) {
  std::erase_if(counts_, [&](const auto& one) { return !streams.contains(one.first); });
}

void StreamOrder::join(Clock& clock, const Clock& other) {
  clock.of.join(other.of);
  clock.all = std::max(clock.all, other.all);
}

// As join(), for a clock that is kept.
void StreamOrder::learn(Clock& clock, const Clock& other) const {
  join(clock, other);
  trim(clock);
}

// Only work that is kept is ever compared, so that a clock need not count the streams that have none. Without
// this, clocks of ten thousand streams that wait for one another would name each of them.
void StreamOrder::trim(Clock& clock) const {
  if (clock.of.size() <= 2 * kMaxWorks) return;
  std::set<Handle> kept;
  for (const sim::History::Work& work : history_.works) {
    if (const auto node = nodes_.find(work.number); node != nodes_.end()) kept.insert(node->second.stream);
  }
  clock.of.keep(kept);
}

bool StreamOrder::covers(const Clock& clock, const Node& node) {
  return node.number <= clock.all || clock.of.of(node.stream) >= node.count;
}

void StreamOrder::create(const void* stream, bool is_blocking) {
  streams_[handle_of(stream)] = {.is_blocking = is_blocking, .known = {.all = count_, .of = {}}};
}

// What it was asked for goes on; nothing more comes.
void StreamOrder::destroy(const void* stream) {
  const auto found = streams_.find(handle_of(stream));
  if (found == streams_.end() || found->first == 0) return;
  streams_.erase(found);
  ++gone_;
  forget();
  forget_streams();
}

void StreamOrder::begin_branch(const void* branch, Clock clock) {
  streams_[handle_of(branch)] = {.is_blocking = false, .known = std::move(clock)};
}

void StreamOrder::end_branch(const void* branch) { destroy(branch); }

// Clocks count the work of streams that are gone, until none of it is kept; now and then, since it looks at all.
void StreamOrder::forget_streams() {
  if (gone_ < 2 * streams_.size() + 16) return;
  gone_ = 0;
  std::set<Handle> kept;
  for (const auto& [handle, stream] : streams_) kept.insert(handle);
  for (const auto& [number, node] : nodes_) kept.insert(node.stream);
  host_.of.keep(kept);
  for (auto& [handle, stream] : streams_) stream.known.of.keep(kept);
  for (auto& [event, clock] : events_) clock.of.keep(kept);
  for (auto& [number, node] : nodes_) node.start.of.keep(kept);
}

// CUDA: the default stream and the blocking ones wait for one another.
StreamOrder::Clock StreamOrder::clock_for(Handle handle) {
  Clock clock = streams_[handle].known;
  join(clock, host_);
  if (handle != 0) {
    if (streams_[handle].is_blocking) learn(clock, streams_[0].known);
    return clock;
  }
  for (const auto& [other, stream] : streams_) {
    if (stream.is_blocking) learn(clock, stream.known);
  }
  return clock;
}

void StreamOrder::record(const void* event, const void* stream) { events_[event] = clock_for(handle_of(stream)); }

void StreamOrder::wait_event(const void* stream, const void* event) {
  if (const auto found = events_.find(event); found != events_.end())
    learn(stream_of(stream).known, found->second);
  forget();
}

void StreamOrder::host_waits(const void* stream) {
  learn(host_, clock_for(handle_of(stream)));
  forget();
}

void StreamOrder::host_waits_event(const void* event) {
  if (const auto found = events_.find(event); found != events_.end()) learn(host_, found->second);
  forget();
}

void StreamOrder::host_waits_for_all() {
  host_ = {.all = count_, .of = {}};
  history_.works.clear();
  nodes_.clear();
  for (auto& [handle, stream] : streams_) stream.last = 0;
}

sim::History& StreamOrder::begin(const void* stream, bool is_programmatic) {
  const Handle handle = handle_of(stream);
  Stream& own = streams_[handle];
  now_ = {.stream = handle, .count = ++own.count, .start = clock_for(handle)};
  after_wait_ = now_.start;
  const auto last = nodes_.find(own.last);
  const bool is_early = is_programmatic && last != nodes_.end() && last->second.launches_dependents;
  if (is_early) {
    now_.start = last->second.start;
    join(now_.start, host_);
  }
  drop_unfinished();
  for (sim::History::Work& work : history_.works) {
    const Node& node = nodes_.at(work.number);
    work.relation = covers(now_.start, node)                    ? sim::History::Relation::kBefore
                    : is_early && is_behind(node, last->second) ? sim::History::Relation::kBehind
                    : covers(after_wait_, node)                 ? sim::History::Relation::kUntilWait
                                                                : sim::History::Relation::kBeside;
  }
  return history_;
}

// What needs memory comes first: without it nothing has changed, and the work is dropped when the next begins.
void StreamOrder::end() {
  Stream& own = streams_[now_.stream];
  const bool has_work = !history_.works.empty() && history_.works.back().number == 0;
  now_.launches_dependents = has_work && history_.works.back().launches_dependents;
  now_.has_waited = has_work && history_.works.back().has_waited;
  Clock known = after_wait_;
  trim(known);  // this work is not yet kept, so that its count comes after
  known.of.set(now_.stream, now_.count);
  now_.number = count_ + 1;
  nodes_[now_.number] = now_;
  const std::uint64_t number = ++count_;
  if (has_work) history_.works.back().number = number;
  own.known = std::move(known);
  own.last = number;
  while (history_.works.size() > kMaxWorks) history_.works.pop_front();
  forget();
}

// Launches that came to no end.
void StreamOrder::drop_unfinished() {
  std::erase_if(history_.works, [&](const sim::History::Work& work) { return !nodes_.contains(work.number); });
}

// PTX: griddepcontrol.wait is for the prerequisite grids. One that has not waited itself may be over before those
// that let it begin. Model: of a chain the launch before the last is looked at, and none before that.
bool StreamOrder::is_behind(const Node& node, const Node& last) {
  return node.stream == last.stream && node.number != last.number && !last.has_waited &&
         !covers(last.start, node);
}

// By everybody who can ask for more. The default stream waits for all that are blocking, so it comes last.
bool StreamOrder::is_known(const Node& node) const {
  if (covers(host_, node)) return true;
  const Stream& usual = streams_.at(0);
  const bool is_known_to_usual = covers(usual.known, node);
  bool is_known_to_blocking = false;
  for (const auto& [handle, stream] : streams_) {
    const bool knows = covers(stream.known, node);
    is_known_to_blocking |= knows && stream.is_blocking;
    if (handle != 0 && !knows && !(stream.is_blocking && is_known_to_usual)) return false;
  }
  return is_known_to_usual || is_known_to_blocking;
}

bool StreamOrder::is_last(const Node& node) const {
  const auto own = streams_.find(node.stream);
  return own != streams_.end() && own->second.last == node.number;
}

// The next launch of its stream may begin when the last one lets it, which need not have waited for this work.
bool StreamOrder::may_run_beside_next(const Node& node) const {
  const auto own = streams_.find(node.stream);
  if (own == streams_.end() || covers(host_, node)) return false;
  const auto last = nodes_.find(own->second.last);
  return last != nodes_.end() && last->second.launches_dependents && !covers(last->second.start, node);
}

// Work that everybody knows to be complete, but for what a dependent launch of the stream may still run beside.
void StreamOrder::forget() {
  drop_unfinished();
  if (++since_ < streams_.size() / kMaxWorks) return forget_nodes();
  since_ = 0;
  std::erase_if(history_.works, [&](const sim::History::Work& work) {
    const Node& node = nodes_.at(work.number);
    return is_known(node) && !may_run_beside_next(node);
  });
  forget_nodes();
}

// Now and then, since it looks at all.
void StreamOrder::forget_nodes() {
  if (nodes_.size() < 2 * (streams_.size() + kMaxWorks)) return;
  std::set<std::uint64_t> kept;
  for (const sim::History::Work& work : history_.works) kept.insert(work.number);
  std::erase_if(nodes_, [&](const auto& one) { return !is_last(one.second) && !kept.contains(one.first); });
}

}  // namespace heddle::runtime
