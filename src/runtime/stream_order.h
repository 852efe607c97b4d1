// SPDX-License-Identifier: Apache-2.0
//
// Which work of the card may run beside which: launches, copies and fills, as streams, events and waits of the
// host order them. All of it runs when it is asked for, in one order of those that streams allow; what two pieces
// of work touch is judged by whether anything orders them.
//
// Model: a stream begins with all that was asked for before it was created. Work is forgotten once every stream
// and the host know that it is complete, which is looked at less often the more streams there are; of work that
// stays the newest kMaxWorks are kept. A default stream for each thread counts as the default stream of all.
#pragma once

#include <heddle/sim/history.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace heddle::runtime {

class StreamOrder {
 public:
  using Handle = std::uintptr_t;  // of a stream; 0: the default one

  // A number for some streams, in the order of their handles. Clocks are copied with each piece of work: what
  // they have lies side by side, wherever the heap has been in between.
  class Counts {
   public:
    std::uint64_t of(Handle stream) const;  // 0: none
    void set(Handle stream, std::uint64_t count);
    void join(const Counts& other);  // the larger of both
    void keep(const std::set<Handle>& streams);
    std::size_t size() const { return counts_.size(); }

   private:
    std::vector<std::pair<Handle, std::uint64_t>> counts_;
  };

  // What is complete.
  struct Clock {
    std::uint64_t all = 0;  // so many pieces of work, of all that were ever asked for
    Counts of;              // so many of each stream
  };

  void create(const void* stream, bool is_blocking);
  void destroy(const void* stream);
  void record(const void* event, const void* stream);
  void destroy_event(const void* event) { events_.erase(event); }
  void wait_event(const void* stream, const void* event);
  void host_waits(const void* stream);
  void host_waits_event(const void* event);
  void host_waits_for_all();

  // Branches of a graph: each is a stream for as long as the graph runs, and begins with what `clock` says.
  void begin_branch(const void* branch, Clock clock);
  void end_branch(const void* branch);
  Clock when_next(const void* stream) { return clock_for(handle_of(stream)); }  // its next work begins
  Clock when_done(const void* stream) const {
    return streams_.at(handle_of(stream)).known;
  }  // its last work is over
  void wait_for(const void* stream, const Clock& clock) { learn(stream_of(stream).known, clock); }

  // Whether anything can overlap, so that what work touches must be kept.
  bool can_overlap(bool launches_dependents) const {
    return streams_.size() > 1 || launches_dependents || !history_.works.empty();
  }

  // Before work in the stream: relates what is kept to it. `is_programmatic`: it may begin when the work before
  // it in the stream lets it.
  sim::History& begin(const void* stream, bool is_programmatic);
  // After it. What the history has got since then is this work.
  void end();

 private:
  struct Node {
    Handle stream = 0;
    std::uint64_t count = 0;   // in its stream
    std::uint64_t number = 0;  // among all; 0: not yet known
    Clock start;               // what is complete when it begins
    bool launches_dependents = false;
    bool has_waited = false;  // for those that let it begin
  };
  struct Stream {
    bool is_blocking = true;  // waits for the default stream, which waits for it
    Clock known;              // what is complete when its next work begins
    std::uint64_t count = 0;
    std::uint64_t last = 0;  // number of its last work; 0: none
  };

  Stream& stream_of(const void* handle);
  static Handle handle_of(const void* stream);
  Clock clock_for(Handle handle);
  static void join(Clock& clock, const Clock& other);
  void learn(Clock& clock, const Clock& other) const;
  void trim(Clock& clock) const;
  static bool covers(const Clock& clock, const Node& node);
  bool is_known(const Node& node) const;
  bool is_last(const Node& node) const;
  bool may_run_beside_next(const Node& node) const;
  // Work before the last of the stream, which did not wait for it and has let the next begin.
  static bool is_behind(const Node& node, const Node& last);
  void drop_unfinished();
  void forget();
  void forget_nodes();
  void forget_streams();

  std::map<Handle, Stream> streams_ = {{0, {}}};
  std::map<const void*, Clock> events_;
  Clock host_;
  std::map<std::uint64_t, Node> nodes_;  // by number: those of the history, and the last of each stream
  sim::History history_;
  std::uint64_t count_ = 0;
  std::size_t gone_ = 0;   // streams that clocks may still name
  std::size_t since_ = 0;  // so many pieces of work ago all streams were asked what they know
  Node now_;               // between begin() and end()
  Clock after_wait_;       // what is complete for those who wait in it
};

}  // namespace heddle::runtime
