// SPDX-License-Identifier: Apache-2.0
//
// Accesses with a memory order, wherever they go, and all of threads in global memory.
#include "sim/check/race.h"

#include <algorithm>
#include <bit>

namespace heddle::sim::check {

RaceChecker::Spot RaceChecker::spot_of(std::uint64_t global) {
  GlobalShadow::Page& page = global_.page_of(global);
  if (page.threads == nullptr) page.threads = std::make_unique<Shadow>(GlobalShadow::kPage);
  const auto offset = static_cast<std::uint32_t>(global % GlobalShadow::kPage);
  return {*page.threads, page.threads->at(offset), offset, nullptr, nullptr, global, page.copies.get()};
}

// Two weak writes of one value: whichever comes last, the bytes are the same. What was there is what the other
// wrote, or what others wrote who agree with it.
// Model: so are the stores of one instruction that hold one sum, which each lane has added up in an order of its
// own, as lanes do that exchange their parts.
bool RaceChecker::is_same_value(const Access& before, const Access& now) {
  const bool is_same = now.keeps_value || (now.rounds_value && now.site == before.site);
  return is_same && before.is_write && !before.is_strong && before.by == By::kThread;
}

bool RaceChecker::stops_for(const Spot& spot, const Side& before, const Side& now, const View& view,
                            bool& is_beside, bool is_formal) {
  if (before.access.by == By::kCopy && are_both_reductions(before.access, now.access)) return false;
  const bool is_same = is_same_value(before.access, now.access);
  is_beside |= is_same;
  // Lanes of one instruction: whichever of them wins.
  if (is_same && before.access.who == now.access.who && before.access.cluster == now.access.cluster &&
      before.access.site == now.access.site) {
    return false;
  }
  const Places places{report_.site_of(before), report_.site_of(now)};
  if (spot.cta == nullptr) {
    const bool is_read_over = !before.access.is_write && !before.access.is_strong && !now.access.is_strong &&
                              !now.access.is_async() &&
                              signals_.is_over(before.access, before.access.bytes & now.access.bytes, view);
    const Verdict verdict = is_same || is_formal || is_read_over ? Verdict::kFormal : Verdict::kWrong;
    if (sink_.has_told(FaultCode::kGlobalRace, verdict, places)) return false;
    // What was made of values that mean nothing may well be in conflict: they are the cause.
    if (judges_uses_ && stops_for_uses()) return true;
    return sink_.stops(FaultCode::kGlobalRace, verdict, places,
                       [&] { return report_.global_conflict(before, now, view, spot.global); });
  }
  if (!is_same) return stops_for_conflict(before, now, *spot.cta, spot.offset, spot.granule, is_formal);
  return sink_.stops(FaultCode::kRace, Verdict::kFormal, places,
                     [&] { return report_.conflict(before, now, *spot.cta, spot.offset, spot.granule); });
}

namespace {

constexpr std::size_t kMostReaders = 6;  // who writes later conflicts with one of them, or knows them all

// Both are of one warp, and each byte of theirs was touched by the same lane.
bool has_same_lanes(const Access& before, const Access& now) {
  if (before.is_async() || before.cluster != now.cluster || before.who != now.who) return false;
  if (now.width == 0) return before.width == 0 && before.lanes == now.lanes && is_one(now.lanes);
  return before.width == now.width && before.first == now.first;
}

}  // namespace

// What the lanes of many warps read again and again, word by word, is passed over before it is gathered.
bool RaceChecker::is_crowded(const ThreadOrder& thread, std::uint64_t global, std::uint32_t bytes) {
  if (!has_crowds_ || !thread.known.world.is_null()) return false;
  GlobalShadow::Page& page = global_.page_of(global);
  if (page.threads == nullptr || page.copies != nullptr) return false;
  const Granule& granule = page.threads->at(static_cast<std::uint32_t>(global % GlobalShadow::kPage));
  return granule.strong == 0 &&
         granule.is_crowded(static_cast<std::uint16_t>(((1u << bytes) - 1) << global % kGranule),
                            thread.warp->cluster);
}

void RaceChecker::on(const event::GlobalRead& event) {
  const ThreadOrder& thread = order_.thread(event);
  if (has_polls_) order_.thread(event).is_polling = false;
  const std::uint16_t site = sites_.number(event.site);
  if (event.is_coherent) {
    if (!batch_.is_empty() && !batch_.takes(thread, site, false)) flush();
    if (is_crowded(thread, event.global, event.bytes)) return;
    return batch_.add(thread, event.global, event.bytes, site, false, false);
  }
  if (!batch_.is_empty()) flush();
  const LaneAccess one{.thread = &thread, .global = event.global, .bytes = event.bytes, .site = site};
  const Spot spot = spot_of(one.global);
  if (!stops_for_not_coherent(spot, {one.access(), one.thread->lane})) judge_alone(one);
}

void RaceChecker::on(const event::GlobalWrite& event) {
  const ThreadOrder& thread = order_.thread(event);
  if (has_polls_) order_.thread(event).is_polling = false;
  const std::uint16_t site = sites_.number(event.site);
  if (!batch_.is_empty() && !batch_.takes(thread, site, true)) flush();
  if (stops_for_use(thread, site)) return;
  batch_.add(thread, event.global, event.bytes, site, true, event.keeps_value);
}

// Lanes of one instruction, before anything else is looked at.
void RaceChecker::flush() {
  batch_.group();
  for (std::size_t g = 0; g < batch_.groups() && !sink_.stop(); ++g) {
    const LaneBatch::Group& group = batch_.group(g);
    if (!group.is_single() && group.is_one && judge_together(group)) continue;
    for (std::uint32_t left = group.lanes; left != 0 && !sink_.stop(); left &= left - 1)
      judge_alone(batch_.lane(static_cast<std::size_t>(std::countr_zero(left))));
  }
  batch_.clear();
}

// Whether nothing that was there is in question, for what all of the lanes know: then they are recorded as one.
// What a lane knows by itself alone, and whatever is to be reported, is for judge_alone.
bool RaceChecker::judge_together(const LaneBatch::Group& group) {
  const Spot spot = spot_of(group.granule * kGranule);
  if (spot.granule.strong != 0) return false;
  if (spot.copies != nullptr && !spot.copies->at(spot.offset).empty()) return false;
  Access access = group.access;
  const ThreadOrder& first = *batch_.lane(static_cast<std::size_t>(std::countr_zero(group.lanes))).thread;
  if (!access.is_write && spot.shadow.is_nothing_new(spot.granule, access, first.known, kMostReaders)) {
    has_crowds_ |= spot.granule.crowded != 0;
    return true;
  }
  const View view = View::of(first).without_self();
  const bool is_in_question =
      spot.shadow.find(spot.granule, access.bytes, !access.is_write, [&](const Access& before) {
        if (is_own_read(before, access)) access.read_by = before.site;
        return !has_same_lanes(before, access) && before.unknown_to(view, access.bytes).has_value();
      });
  if (is_in_question) return false;
  if (access.is_write) spot.shadow.record_write(spot.granule, access);
  else spot.shadow.record_read(spot.granule, access, view, kMostReaders);
  return true;
}

// Whether an access of threads has read the bytes that lanes of its warp write now.
bool RaceChecker::is_own_read(const Access& before, const Access& now) {
  return now.is_write && !before.is_write && !before.is_strong && !before.is_async() && !now.is_async() &&
         before.cluster == now.cluster && before.who == now.who && (before.bytes & now.bytes) == now.bytes &&
         (now.lanes & ~before.lanes_at(now.bytes)) == 0;
}

// Compilers let all lanes of a warp load what is the same for them, and one store it: of the loads of one
// instruction that one counts, and a warp that is together has made all of them. Another warp may still be about
// to.
bool RaceChecker::is_own_load(const Access& before, const Access& now) {
  const Access& read = now.is_write ? before : now;
  const Access& write = now.is_write ? now : before;
  if (read.is_write || read.is_strong || write.is_strong || before.is_async() || now.is_async()) return false;
  return write.read_by != 0 && write.read_by == read.site && before.cluster == now.cluster &&
         before.who == now.who;
}

// One lane looks at a flag or takes a ticket, and a shuffle of all lanes tells the others, who go on to what
// others had done before: a shuffle orders no memory, but a warp that is together makes no access before it. So
// do cooperative groups of several warps.
bool RaceChecker::is_heard(const Access& before, const ThreadOrder& thread, std::uint16_t bytes) {
  if (before.by != By::kThread || before.is_async() || thread.warp->exchanged_known.is_null()) return false;
  View together = View::of(thread);
  together.known = &thread.warp->exchanged_known;
  return !before.unknown_to(together, bytes);
}

// A load of another warp of the CTA, whose value comes to nothing: it does not matter which value that is.
bool RaceChecker::is_spare_load(const Side& before, const Side& now, const View& view, const WarpOrder& warp,
                                std::uint64_t global) {
  const bool reads_now = !now.access.is_write;
  const Access& read = reads_now ? now.access : before.access;
  const Access& write = reads_now ? before.access : now.access;
  if (!spare_loads_.is_on() || read.is_write || !write.is_write || read.is_strong || write.is_strong)
    return false;
  if (read.is_async() || write.is_async() || read.cluster != write.cluster || read.who == write.who) return false;
  const CtaOrder& cta = *warp.cta;
  if (cta.cluster->warps[before.access.who]->cta != &cta) return false;
  const CallSite load = report_.site_of(reads_now ? now : before);
  const auto words = [&] {
    Finding finding = report_.global_conflict(before, now, view, global);
    finding.places = {report_.site_of(before), report_.site_of(now)};
    return finding;
  };
  const auto number = [&](CallSite site) { return sites_.number(site); };
  return spare_loads_.is_spare(cta.linear, read.who, read.site, load, number, words);
}

bool RaceChecker::stops_for_use(const ThreadOrder& thread, std::uint16_t site) {
  if (!spare_loads_.is_on()) return false;
  const Finding* load = spare_loads_.store(thread.warp->cta->linear, thread.warp->index, site);
  return load != nullptr && sink_.stops(FaultCode::kGlobalRace, Verdict::kWrong, load->places, [&] {
    Finding finding = *load;
    finding.details.push_back(report_.line(thread, "stores what it has loaded", sites_.of(site)));
    return finding;
  });
}

void RaceChecker::judge_alone(const LaneAccess& one) {
  const ThreadOrder& thread = *one.thread;
  const Spot spot = spot_of(one.global);
  Access access = one.access();
  if (one.is_write) {
    spot.shadow.find(spot.granule, access.bytes, false, [&](const Access& before) {
      if (is_own_read(before, access)) access.read_by = before.site;
      return false;
    });
  }
  const Side now{access, thread.lane};
  if (!one.is_write) {
    const bool is_for_threads =
        spot.granule.strong == 0 && (spot.copies == nullptr || spot.copies->at(spot.offset).empty());
    const bool is_old = is_for_threads
                            ? spot.shadow.is_nothing_new(spot.granule, access, thread.known, kMostReaders)
                            : spot.shadow.has_read(spot.granule, access);
    if (is_old) return;
  }
  const View view = View::of(thread);
  bool is_beside = false;
  const bool stops = spot.shadow.find(spot.granule, access.bytes, !one.is_write, [&](const Access& before) {
    const std::optional<std::uint32_t> lane = before.unknown_to(view, access.bytes);
    if (!lane) return false;
    const Side side{before, *lane};
    const bool is_formal = is_own_load(before, access) || is_heard(before, thread, access.bytes) ||
                           is_spare_load(side, now, view, *thread.warp, spot.global);
    return stops_for(spot, side, now, view, is_beside, is_formal);
  });
  if (stops || stops_for_strong(spot, now, view) || stops_for_copies(spot, now, view)) return;
  if (!one.is_write) {
    spot.shadow.record_read(spot.granule, access, view, kMostReaders);
  } else if (is_beside) {
    spot.shadow.record_write_beside(spot.granule, access);
  } else {
    spot.shadow.record_write(spot.granule, access);
  }
}

// PTX: ld.global.nc: the memory must be read-only for the duration of the kernel.
bool RaceChecker::stops_for_not_coherent(const Spot& spot, const Side& now) {
  const auto stops = [&](const Access& write) {
    const bool is_thread = write.by == By::kThread;
    const Side before{
        write, is_thread ? static_cast<std::uint32_t>(std::countr_zero(write.lanes_at(now.access.bytes))) : 0};
    return sink_.stops(FaultCode::kGlobalRace, {report_.site_of(before), report_.site_of(now)},
                       [&] { return report_.not_coherent(before, now, spot.global); });
  };
  if (spot.shadow.find(spot.granule, now.access.bytes, true, stops)) return true;
  if (spot.copies != nullptr) {
    for (const CopySpan& span : spot.copies->at(spot.offset)) {
      const Access part = span.in(spot.offset % CopyLines::kLine);
      if (part.is_write && (part.bytes & now.access.bytes) != 0 && stops(part)) return true;
    }
  }
  const StrongAccesses* strong = spot.shadow.strong(spot.granule);
  if (strong == nullptr) return false;
  for (const Access& write : strong->accesses) {
    if (write.is_write && (write.bytes & now.access.bytes) != 0 && stops(write)) return true;
  }
  return false;
}

// PTX: Conflict and Data-races: a weak access conflicts with strong ones that it is not ordered with.
// Model: a weak write does not conflict with strong accesses that its thread has observed, by a load or an atomic
// whose result it gets, to the same place: every chip keeps the order of one place, and the counter that the last
// block sets back depends on that.
bool RaceChecker::stops_for_strong(const Spot& spot, const Side& now, const View& view) {
  const StrongAccesses* strong = spot.shadow.strong(spot.granule);
  if (strong == nullptr) return false;
  bool is_beside = false;
  for (std::size_t i = 0; i < strong->accesses.size(); ++i) {
    const Access& before = strong->accesses[i];
    const auto both = static_cast<std::uint16_t>(before.bytes & now.access.bytes);
    if (both == 0 || !(before.is_write || now.access.is_write)) continue;
    const std::optional<std::uint32_t> lane = before.unknown_to(view, both);
    if (!lane || (now.access.is_write && strong->is_observed(i, both, view))) continue;
    if (stops_for(spot, {before, *lane}, now, view, is_beside)) return true;
  }
  return false;
}

// PTX: Memory Consistency Model: strong accesses do not race, and order nothing but their own place either:
// without a release and an acquire, or a barrier, a load may give what was there before. A loop that waits does
// no harm by that, nor one that looks whether there is news. But who has seen a later store of the thread goes by
// this one; and lanes of one warp that exchange words go by being in step, which they need not be.
bool RaceChecker::stops_for_old_value(const Spot& spot, const Side& now, const StrongAccesses& strong,
                                      const View& view) {
  for (std::size_t i = strong.accesses.size(); i-- > 0;) {
    const Access& store = strong.accesses[i];
    const auto both = static_cast<std::uint16_t>(store.bytes & now.access.bytes);
    if (both == 0 || !store.is_write) continue;
    const std::optional<std::uint32_t> lane = store.unknown_to(view, both);
    if (!lane || store.is_read) return false;
    const bool is_of_warp = store.cluster == now.access.cluster && store.who == now.access.who;
    const auto is_counted_on = [&](const StrongAccesses::Place& place) {
      return (place.bytes & both) != 0 && place.signal.cluster == store.cluster &&
             place.signal.by == 32 * store.who + *lane &&
             signals_.is_counted_on(place.signal, spot.granule_address(), now.access.bytes, view);
    };
    bool is_beside = false;
    return (is_of_warp || std::any_of(strong.places.begin(), strong.places.end(), is_counted_on)) &&
           stops_for(spot, {store, *lane}, now, view, is_beside);
  }
  return false;
}

// PTX: Memory Consistency Model: Morally Strong Operations: they overlap completely. A load of what one thread
// has stored in two parts may give the later part beside what was there before the other.
static const Access* earlier_part(const Access& load, const StrongAccesses& strong, const ThreadOrder& thread) {
  const std::vector<Access>& all = strong.accesses;
  const View view = View::of(thread);
  const auto lanes_of = [&](const Access& store) {
    return store.lanes_at(static_cast<std::uint16_t>(store.bytes & load.bytes));
  };
  const auto is_part = [&](const Access& store) {
    return store.is_write && !store.is_read && (store.bytes & load.bytes) != 0 &&
           (load.bytes & ~store.bytes) != 0 && is_one(lanes_of(store));
  };
  const auto is_known = [&](const Access& store, std::uint16_t bytes) {
    const auto knows = [&](const Clock& clock) {
      View with = view;
      with.known = &clock;
      return !clock.is_null() && !store.unknown_to(with, bytes);
    };
    return !store.unknown_to(view, bytes) || std::any_of(thread.observed.begin(), thread.observed.end(), knows);
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto both = static_cast<std::uint16_t>(all[i].bytes & load.bytes);
    if (!is_part(all[i]) || is_known(all[i], both)) continue;
    const auto rest = all.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    const auto is_over = [&](const Access& later) { return later.is_write && (later.bytes & both) != 0; };
    const auto is_other = [&](const Access& later) {
      return is_part(later) && later.cluster == all[i].cluster && later.who == all[i].who &&
             lanes_of(later) == lanes_of(all[i]);
    };
    if (std::any_of(rest, all.end(), is_over) || std::none_of(rest, all.end(), is_other)) continue;
    return &all[i];
  }
  return nullptr;
}

// A plain load that an atom.cas checks: it is weak, and takes over nothing. Of cache operators the scope is that
// of the system.
static bool is_compared(const Strong& how) { return how.is_hint && how.scope != MemoryScope::kSys; }

// PTX: Memory Consistency Model: Morally Strong Operations; Release and Acquire Patterns.
void RaceChecker::strong_access(ThreadOrder& thread, std::uint32_t bytes, const Strong& how, CallSite site,
                                const Spot& spot) {
  Granule& granule = spot.granule;
  if (how.writes) thread.is_polling = false;
  Access access = Access::of(thread, spot.offset, bytes, how.writes, sites_.number(site));
  access.is_strong = true;
  const bool builds_on_old = how.reads || how.old == Strong::Old::kBuiltOn;
  access.is_read = builds_on_old;
  access.returns = how.reads && !is_compared(how);
  access.scope = how.scope;
  access.is_hint = how.is_hint;
  const View view = View::of(thread);
  const Side now{access, thread.lane};
  if (how.writes && stops_for_use(thread, access.site)) return;
  bool is_beside = false;
  const bool stops = spot.shadow.find(granule, access.bytes, !how.writes, [&](const Access& before) {
    const std::optional<std::uint32_t> lane = before.unknown_to(view, access.bytes);
    return lane && stops_for(spot, {before, *lane}, now, view, is_beside);
  });
  if (stops || stops_for_copies(spot, now, view)) return;
  StrongAccesses& strong = spot.shadow.strong_of(granule);
  // PTX: Memory Consistency Model: Morally Strong Operations: they overlap completely. Chips keep the order of a
  // word for all sizes.
  const bool is_mixed = !strong.accesses.empty() && strong.sizes != access.size();
  const bool is_for_all = how.is_hint || is_mixed || !strong.all_include(thread, how.scope);
  if (is_for_all || !strong.hints.empty()) {
    std::optional<std::uint16_t> told;  // the place of a formal conflict: others there are the same one
    for (const Access& before : is_for_all ? strong.accesses : strong.hints) {
      const auto both = static_cast<std::uint16_t>(before.bytes & access.bytes);
      if (both == 0 || !(before.is_write || how.writes)) continue;
      const bool includes =
          order_.include_each_other(before.cluster, before.who, before.scope, thread, how.scope);
      const bool is_alike = !before.is_hint && !how.is_hint && before.size() == access.size();
      if (includes && (is_alike || told == before.site)) continue;
      const std::optional<std::uint32_t> lane = before.unknown_to(view, both);
      if (!lane) continue;
      if (stops_for(spot, {before, *lane}, now, view, is_beside, includes)) return;
      if (includes) told = before.site;
    }
  }
  if (spot.memory != nullptr && how.old == Strong::Old::kTaken && (access.bytes & ~granule.written) != 0) {
    note_unwritten(*spot.cta, granule, spot.offset, access.bytes, now);
  } else if (spot.memory != nullptr && how.writes && (granule.read_unwritten & access.bytes) != 0) {
    settle_unwritten(*spot.cta, spot.offset / kGranule);
  }
  if (how.reads && !is_compared(how)) {
    if (how.is_final && stops_for_old_value(spot, now, strong, view)) return;
    const bool is_load = !how.writes;
    if (is_load) order_.begin_poll(thread, spot.granule_address() + spot.offset % kGranule);
    for (const StrongAccesses::Place& place : strong.places) {
      if ((place.bytes & access.bytes) == 0) continue;
      order_.observe(thread, place.released, how);
      if (place.signal.number != 0) signals_.observe(thread, place.signal, spot.granule_address(), access.bytes);
    }
    if (is_load) {
      order_.end_poll(thread);
      has_polls_ = true;
      if (const Access* part = earlier_part(access, strong, thread); part != nullptr) {
        const Side first{*part, part->a_lane_at(access.bytes)};
        if (stops_for(spot, first, now, View::of(thread), is_beside)) return;
      }
    }
  }
  strong.add(access, thread, view);
  if (!how.writes) return;
  // What is built on bytes that nobody has written is no better than they.
  if (how.old != Strong::Old::kBuiltOn) granule.written |= access.bytes;
  // Model: of stores alone; atomic operations are too many to keep what each of them knew.
  const bool signals = !how.reads && how.old == Strong::Old::kIgnored;
  StrongAccesses::Place* written = nullptr;
  for (StrongAccesses::Place& place : strong.places) {
    if (place.bytes == access.bytes) {
      written = &place;
    } else {
      place.bytes = static_cast<std::uint16_t>(place.bytes & ~access.bytes);
    }
  }
  if (written == nullptr) {
    if (!how.releases && !order_.has_fenced(thread) && !signals) return;
    written = &strong.places.emplace_back(StrongAccesses::Place{access.bytes, {}});
  }
  order_.publish(thread, written->released, how, builds_on_old);
  if (signals) written->signal = signals_.store(thread);
}

}  // namespace heddle::sim::check
