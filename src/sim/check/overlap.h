// SPDX-License-Identifier: Apache-2.0
//
// Global memory that a launch shares with work before it which may still run. An access is ordered after such
// work if its thread knows of a griddepcontrol.wait, its own or one that barriers have handed on, or has acquired
// what the work released.
#pragma once

#include "sim/check/finding_sink.h"
#include "sim/check/order.h"

#include <heddle/sim/event.h>
#include <heddle/sim/history.h>

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace heddle::sim::machine {
class Machine;
}

namespace heddle::sim::check {

class Overlap final : public Watcher<Overlap> {
 public:
  // `order` is what the race checker knows, which has seen each event before.
  Overlap(const machine::Machine& machine, Order& order, machine::Findings& findings, History& history,
          std::string kernel);

  void on(const event::GlobalRead& event);
  void on(const event::GlobalWrite& event);
  void on(const event::GlobalStrong& event);
  void on(const event::CopyReadGlobal& event);
  void on(const event::CopyWriteGlobal& event);
  void on(const event::Fence& event);

  const std::optional<Finding>& finding() const { return sink_.stop(); }

  // What the launch has touched becomes part of the history.
  void finish();

 private:
  // A thread from when on earlier work is complete.
  struct Mark {
    Component component;
    Epoch epoch;
  };
  struct Before {
    const History::Work* work;
    std::unordered_map<std::uint64_t, std::vector<Mark>> marks;  // by cluster
    std::unordered_set<std::uint64_t> passed;                    // threads that know one of them
  };

  void mark(Before& before, const ThreadOrder& thread, std::uint64_t number);
  bool knows(Before& before, const View& view, std::uint64_t thread);
  // What of global memory is touched, and by whom.
  struct Access {
    std::uint64_t global;
    std::uint32_t bytes;
    std::uint32_t cta, thread;  // kNoThread: a copy
    CallSite site;
  };
  template <class By>  // a thread, or a copy
  void access(const Access& access, History::Way way, const By& by);
  std::uint32_t place_of(CallSite site);
  std::string line(const std::string& kernel, std::uint32_t cta, std::uint32_t thread, History::Way way,
                   const std::string& place, bool is_near = false) const;

  const machine::Machine& machine_;
  Order& order_;
  FindingSink sink_;
  History& history_;
  History::Work work_;
  std::vector<Before> unordered_;
  std::unordered_map<std::uint64_t, std::uint32_t> place_ids_;
  std::vector<CallSite> sites_;  // by place
};

}  // namespace heddle::sim::check
