// SPDX-License-Identifier: Apache-2.0
//
// What happens in the simulated SM, as it happens. Every effect of every instruction passes this interface;
// checkers and traces are observers of it and never act on the machine.
//
//   struct CountCopies : sim::Watcher<CountCopies> {
//     void on(const sim::event::CopyIssue&) { ++copies; }
//     int copies = 0;
//   };
#pragma once

#include <heddle/sim/event_kinds.h>

#include <concepts>
#include <cstdint>
#include <variant>

namespace heddle::sim {

using Event = std::variant<
    event::CtaStart, event::CtaExit, event::ThreadExit, event::Role, event::TileBegin, event::TileEnd,
    event::RegisterCount, event::BarrierInit, event::BarrierInval, event::BarrierArrive, event::BarrierExpect,
    event::BarrierComplete, event::BarrierPhase, event::BarrierBlock, event::BarrierPass, event::NamedArrive,
    event::NamedPass, event::ClusterArrive, event::ClusterPass, event::WarpMeet, event::SharedRead,
    event::SharedWrite, event::GlobalRead, event::GlobalWrite, event::SharedStrong, event::GlobalStrong,
    event::Fence, event::CopyIssue, event::CopyReadShared, event::CopyWriteShared, event::CopyReadGlobal,
    event::CopyWriteGlobal, event::CopyReadMap, event::CopyDone, event::GroupCommit, event::GroupPass,
    event::ClusterCancel, event::AsyncIssue, event::AsyncPass, event::AsyncArrive, event::MmaIssue,
    event::MmaReadShared, event::MmaTouchTmem, event::MmaDone, event::MmaFence, event::MmaCommit, event::MmaPass,
    event::MmaTell, event::TmemAlloc, event::TmemDealloc, event::TmemIssue, event::TmemMove, event::TmemPass>;

// A bit for each kind of event.
using EventMask = std::uint64_t;

namespace detail {

template <class Kind, class... Kinds>
constexpr EventMask mask_in(const std::variant<Kinds...>*) {
  static_assert((std::same_as<Kind, Kinds> || ...), "not an event");
  EventMask bit = 1;
  EventMask mask = 0;
  ((mask |= std::same_as<Kind, Kinds> ? bit : 0, bit <<= 1), ...);
  return mask;
}

template <class Watching, class Kind>
concept Watches = requires(Watching& watching, const Kind& kind) {
  watching.on(kind);
};

template <class Watching, class... Kinds>
constexpr EventMask watched_in(const std::variant<Kinds...>*) {
  EventMask bit = 1;
  EventMask mask = 0;
  ((mask |= Watches<Watching, Kinds> ? bit : 0, bit <<= 1), ...);
  return mask;
}

}  // namespace detail

template <class... Kinds>
constexpr EventMask mask_of() {
  return (EventMask{0} | ... | detail::mask_in<Kinds>(static_cast<const Event*>(nullptr)));
}

// Those that it has a function on() for.
template <class Watching>
constexpr EventMask watched_by() {
  return detail::watched_in<Watching>(static_cast<const Event*>(nullptr));
}

static_assert(std::variant_size_v<Event> <= 64);
inline constexpr EventMask kAllEvents = ~EventMask{0} >> (64 - std::variant_size_v<Event>);

class Observer {
 public:
  virtual ~Observer() = default;
  virtual EventMask wants() const { return kAllEvents; }
  virtual void on_event(const Event& event) = 0;
};

// An observer with a function on() for each kind of event that it looks at.
template <class Watching>
class Watcher : public Observer {
 public:
  EventMask wants() const override { return watched_by<Watching>(); }
  void on_event(const Event& event) override {
    std::visit(
        [this]<class Kind>(const Kind& kind) {
          if constexpr (detail::Watches<Watching, Kind>) static_cast<Watching&>(*this).on(kind);
        },
        event);
  }
};

}  // namespace heddle::sim
