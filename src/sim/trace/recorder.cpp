// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <utility>

namespace heddle::sim::trace {

namespace {

constexpr std::uint64_t key_of(std::uint32_t high, std::uint32_t low) { return std::uint64_t{high} << 32 | low; }

constexpr std::uint32_t bit_of(std::uint32_t thread) { return 1u << thread % 32; }

}  // namespace

Recorder::Recorder(const machine::Machine& machine, const LaunchOptions& options, Timeline& timeline)
    : machine_(machine),
      timeline_(timeline),
      timing_(timeline.timing ? *timeline.timing : timing_of(options.arch)) {
  records_.kernel = options.kernel;
  records_.grid = machine.grid();
  records_.timing = timeline.timing ? &*timeline.timing : &timing_of(options.arch);
  records_.sms = options.sms;
  const double ctas = static_cast<double>(records_.grid.x) * records_.grid.y * records_.grid.z;
  ctas_at_once_ = std::min<double>(ctas, options.sms);
  const std::lock_guard lock(timeline.mutex);
  room_ = timeline.is_full() ? 0 : timeline.max_spans - timeline.spans;
  is_cut_ = room_ == 0;
}

bool Recorder::has_room() {
  if (recorded_ < room_) return true;
  is_cut_ = true;
  return false;
}

void Recorder::on(const event::CtaExit& event) {
  const CtaRecord& cta = cta_of(event.cta);
  ClusterRecord& cluster = clusters_[cta.cluster];
  for (std::uint32_t w = 0; w < cta.warps; ++w) {
    cluster.end = std::max(cluster.end, std::ranges::max(records_.warps[cta.first_warp + w].now));
  }
  if (--cluster.ctas == 0) free_since_.push_back(cluster.end);
}

void Recorder::on(const event::ThreadExit& event) {
  records_.warps[warp_index(event)].live &= ~bit_of(event.thread);
}

void Recorder::on(const event::Role& event) { records_.warps[warp_index(event)].role = event.name; }

void Recorder::on(const event::TileBegin& event) { note_tile(event, event.m, event.n); }

void Recorder::on(const event::TileEnd& event) { note_tile(event, kNoIndex, kNoIndex); }

void Recorder::note_tile(Who who, std::uint32_t m, std::uint32_t n) {
  WarpRecord& warp = records_.warps[warp_index(who)];
  const std::uint32_t lane = who.thread % 32;
  const bool is_new = has_room() && warp.begin_tile(lane, warp.now[lane], m, n);
  if (is_new && lane == warp.leader) ++recorded_;  // the work is cut there
}

void Recorder::on(const event::BarrierInit& event) {
  step(event);
  if (records_.barriers.size() <= event.barrier) records_.barriers.resize(event.barrier + 1);
  records_.barriers[event.barrier] = {.cta = cta_index_[event.cta],
                                      .offset = event.address & machine::kOffsetMask,
                                      .phases = {PhaseRecord{.is_over = true}}};
}

void Recorder::on(const event::BarrierExpect& event) {
  const Time now = records_.warps[warp_index(event)].now[event.thread % 32];
  contribute(event.barrier, now, here(event));
}

void Recorder::on(const event::BarrierComplete& event) {
  const auto copy = copies_.find(event.copy);
  if (event.copy == 0) {
    const Time now = step(event);
    return contribute(event.barrier, now, here(event));
  }
  if (copy == copies_.end()) return;
  AsyncRecord& operation = records_.operations[copy->second];
  operation.phase = event.phase;
  if (const auto load = loads_.find(event.copy); load != loads_.end()) operation.done = land(load->second);
  contribute(event.barrier, operation.done, {Cause::Kind::kAsync, copy->second, operation.done});
}

void Recorder::on(const event::CopyDone& event) {
  if (const auto copy = copies_.find(event.copy); copy != copies_.end()) {
    ++records_.operations[copy->second].finished;
  }
  loads_.erase(event.copy);
}

void Recorder::on(const event::GroupCommit& event) {
  step(event);
  thread_record(event).groups.emplace_back();
}

void Recorder::on(const event::MmaCommit& event) {
  step(event);
  Queue& queue = queues_[key_of(event.cta, event.thread / kWarpgroupThreads)];
  if (queue.leader == warp_index(event)) queue.open = kNoIndex;
}

void Recorder::on(const event::MmaPass& event) {
  if (const auto mma = mmas_.find(event.operation); mma != mmas_.end()) {
    wait_as_warp(event, event.site, {.kind = Awaited::Kind::kWgmma}, mma->second.done,
                 {Cause::Kind::kAsync, mma->second.operation, mma->second.done});
  }
}

void Recorder::on(const event::MmaTell& event) {
  const Time now = step(event);
  const std::uint64_t queue = key_of(event.cta, event.thread) | std::uint64_t{1} << 63;
  queues_[queue].open = kNoIndex;
  commits_[event.commit] = {queue, {Cause::Kind::kWarp, warp_index(event), now}};
}

void Recorder::on(const event::TmemIssue& event) {
  const std::uint32_t warp = warp_index(event);
  tmem_[key_of(warp, event.is_store ? 1 : 0)] = step(event) + timing_.tensor_memory;
}

void Recorder::on(const event::TmemPass& event) {
  const auto transfer = tmem_.find(key_of(warp_index(event), event.is_store ? 1 : 0));
  if (transfer == tmem_.end()) return;
  wait_as_warp(event, event.site,
               {.kind = event.is_store ? Awaited::Kind::kTmemStores : Awaited::Kind::kTmemLoads},
               transfer->second, {});
}

void Recorder::on(const event::AsyncIssue& event) {
  thread_record(event).async_copies.push_back(step(event) + timing_.memory_latency);
}

void Recorder::on(const event::AsyncPass& event) {
  const std::vector<Time>& copies = thread_record(event).async_copies;
  const std::size_t over = std::min<std::size_t>(event.over, copies.size());
  if (over != 0)
    wait(event, event.site, {.kind = Awaited::Kind::kAsyncCopies}, copies[over - 1], {}, timing_.issue);
}

void Recorder::on(const event::CtaStart& event) {
  const auto cluster_id = static_cast<std::uint32_t>(event.cluster);
  // A cluster takes the SMs that one has left before it.
  const auto [started, is_first] = started_.try_emplace(cluster_id, 0);
  if (is_first && !free_since_.empty()) {
    const auto earliest = std::ranges::min_element(free_since_);
    started->second = *earliest;
    free_since_.erase(earliest);
  }
  ++clusters_[cluster_id].ctas;
  if (cta_index_.size() <= event.cta) cta_index_.resize(event.cta + 1, kNoIndex);
  cta_index_[event.cta] = static_cast<std::uint32_t>(records_.ctas.size());
  const std::uint32_t warps = (event.threads + 31) / 32;
  records_.ctas.push_back({.linear = event.cta,
                           .rank = event.rank,
                           .cluster = cluster_id,
                           .first_warp = static_cast<std::uint32_t>(records_.warps.size()),
                           .warps = warps,
                           .named = {}});
  for (std::uint32_t w = 0; w < warps; ++w) {
    WarpRecord& warp = records_.warps.emplace_back();
    warp.cta = cta_index_[event.cta];
    warp.warp = w;
    warp.begin = started->second;
    const std::uint32_t lanes = std::min(32u, event.threads - 32 * w);
    warp.live = lanes == 32 ? ~0u : (1u << lanes) - 1;
    warp.now.fill(started->second);
  }
  units_.emplace_back();
  recorded_ += warps;
}

Recorder::ThreadRecord& Recorder::thread_record(Who who) { return threads_[key_of(who.cta, who.thread)]; }

Time Recorder::step(Who who, Time cycles) {
  WarpRecord& warp = records_.warps[warp_index(who)];
  const std::uint32_t lane = who.thread % 32;
  const std::uint32_t done = ++warp.steps[lane];
  const std::uint32_t most = warp.steps[warp.leader];
  if (done > most || (done == most && lane < warp.leader)) warp.leader = lane;
  return warp.now[lane] += cycles;
}

Cause Recorder::here(Who who) {
  const std::uint32_t warp = warp_index(who);
  return {Cause::Kind::kWarp, warp, records_.warps[warp].now[who.thread % 32]};
}

void Recorder::wait(Who who, CallSite site, const Awaited& on, Time end, const Cause& cause, Time least) {
  WarpRecord& warp = records_.warps[warp_index(who)];
  const std::uint32_t lane = who.thread % 32;
  const Time begin = warp.now[lane];
  warp.now[lane] = std::max(begin + least, end);
  if (begin + least < end) keep(warp, lane, {on, begin, end, cause, site, false, warp.tile_of(lane)});
}

// The event is told for lane 0 alone.
void Recorder::wait_as_warp(Who who, CallSite site, const Awaited& on, Time end, const Cause& cause) {
  const std::uint32_t first = who.thread / 32 * 32;
  const std::uint32_t live = records_.warps[warp_index(who)].live;
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    if ((live >> lane & 1) != 0) wait({who.cta, first + lane}, site, on, end, cause, timing_.issue);
  }
}

// Lanes of a warp may go different ways; which of them is drawn is known at the end.
void Recorder::keep(WarpRecord& warp, std::uint32_t lane, WaitRecord record) {
  if (record.begin >= record.end || !has_room()) return;
  if (lane == warp.leader) recorded_ += 2;  // and the work before it
  warp.waits[lane].push_back(record);
}

// Its name is taken where it is first used, while its CTA is there.
BarrierRecord& Recorder::barrier(std::uint32_t id) {
  BarrierRecord& record = records_.barriers[id];
  if (record.name.empty()) {
    const machine::Barrier& named = machine_.mbarriers.all()[id];
    name(record, named);
  }
  return record;
}

void Recorder::name(BarrierRecord& record, const machine::Barrier& barrier) {
  record.parts = machine_.name_of(*barrier.cta, barrier.offset);
  record.name =
      *record.parts.pipeline == '\0' ? fmt::format("mbarrier {:#x}", barrier.offset) : machine_.describe(barrier);
}

void Recorder::contribute(std::uint32_t id, Time time, const Cause& cause) {
  BarrierRecord& record = barrier(id);
  if (time < record.latest) return;
  record.latest = time;
  record.latest_cause = cause;
}

void Recorder::on(const event::BarrierPhase& event) {
  BarrierRecord& record = barrier(event.barrier);
  record.phases.resize(event.phase + 2);
  PhaseRecord& phase = record.phases.back();
  phase.is_over = true;
  phase.end = record.latest;
  phase.cause = record.latest_cause;
  if (has_room()) recorded_ += 2;
}

void Recorder::on(const event::BarrierArrive& event) {
  const std::uint32_t warp = warp_index(event);
  Time time = 0;
  Cause cause;
  if (event.commit != 0) {  // a commit, which comes after all multiplications of its queue
    const Commit& commit = commits_[event.commit];
    const Queue& queue = queues_[commit.queue];
    time = std::max(commit.cause.time, queue.done);
    cause = queue.last != kNoIndex && queue.done >= commit.cause.time
                ? Cause{Cause::Kind::kAsync, queue.last, time}
                : commit.cause;
  } else {
    time = step(event);
    cause = here(event);
  }
  const bool is_of_peer = barrier(event.barrier).cta != records_.warps[warp].cta;
  contribute(event.barrier, time + (is_of_peer ? timing_.wake_by_peer - timing_.wake : 0), cause);
  extend_hold(records_.warps[warp], barrier(event.barrier), time);
}

void Recorder::on(const event::BarrierPass& event) {
  BarrierRecord& record = barrier(event.barrier);
  // The phase before the first is over from the start; the machine calls it ~0.
  const std::uint64_t index = event.phase + 1;
  if (record.phases.size() <= index) record.phases.resize(index + 1);
  const Cause cause = record.phases[index].cause;
  const Time end = cause.kind == Cause::Kind::kNone ? 0 : record.phases[index].end + timing_.wake;
  wait(event, event.site, {.kind = Awaited::Kind::kBarrier, .id = event.barrier, .phase = event.phase}, end,
       cause, timing_.passing_wait);
  const std::uint32_t warp = warp_index(event);
  const Time now = records_.warps[warp].now[event.thread % 32];
  PhaseRecord& phase = record.phases[index];
  if (phase.passed_by == kNoIndex || now < phase.first_pass) {
    phase.first_pass = now;
    phase.passed_by = warp;
  }
  if (record.parts.role != isa::BarrierRole::kOther)
    open_hold(records_.warps[warp], {event.barrier, event.phase, now, 0, tile_of(event).number});
}

void Recorder::open_hold(WarpRecord& warp, const HoldRecord& opened) {
  const auto open = std::ranges::find_if(
      warp.open_holds, [&](std::uint32_t hold) { return warp.holds[hold].barrier == opened.barrier; });
  if (open != warp.open_holds.end()) {
    HoldRecord& hold = warp.holds[*open];
    if (hold.phase == opened.phase) hold.begin = std::min(hold.begin, opened.begin);
    // A lane that comes after another; the phase before the first is ~0, and comes before all.
    if (hold.phase + 1 >= opened.phase + 1) return;
    warp.open_holds.erase(open);
  }
  if (!has_room()) return;
  recorded_ += 1;
  warp.open_holds.push_back(static_cast<std::uint32_t>(warp.holds.size()));
  warp.holds.push_back(opened);
}

// Whoever got a stage by one of its barriers gives it back by the other, which may be that of another CTA.
void Recorder::extend_hold(WarpRecord& warp, const BarrierRecord& signalled, Time now) {
  for (const std::uint32_t open : warp.open_holds) {
    HoldRecord& hold = warp.holds[open];
    const machine::BarrierName& got_by = records_.barriers[hold.barrier].parts;
    if (got_by.role == signalled.parts.role || got_by.stage != signalled.parts.stage ||
        got_by.pipeline != signalled.parts.pipeline) {
      continue;
    }
    hold.end = std::max({hold.end, hold.begin, now});
  }
}

void Recorder::on(const event::NamedArrive& event) {
  CtaRecord::Round& round = cta_of(event.cta).named[event.id % 16];
  // The machine lets all of a round pass before anyone arrives in the next.
  if (std::exchange(round.is_over, false)) round = {};
  const Time now = step(event);
  if (now >= round.latest) round = {now, here(event), false};
}

void Recorder::on(const event::NamedPass& event) {
  CtaRecord::Round& round = cta_of(event.cta).named[event.id % 16];
  round.is_over = true;
  wait(event, event.site, {.kind = Awaited::Kind::kNamed, .id = event.id}, round.latest + timing_.named_barrier,
       round.cause, timing_.named_barrier);
}

void Recorder::on(const event::ClusterArrive& event) {
  std::vector<CtaRecord::Round>& rounds = clusters_[cta_of(event.cta).cluster].rounds;
  const Time now = step(event);
  const std::uint32_t round = thread_record(event).cluster_arrivals++;
  if (rounds.size() <= round) rounds.resize(round + 1);
  if (now >= rounds[round].latest) rounds[round] = {now, here(event), false};
}

void Recorder::on(const event::ClusterPass& event) {
  const ThreadRecord& thread = thread_record(event);
  if (thread.cluster_arrivals == 0) return;
  const CtaRecord::Round& round = clusters_[cta_of(event.cta).cluster].rounds[thread.cluster_arrivals - 1];
  wait(event, event.site, {.kind = Awaited::Kind::kCluster, .phase = thread.cluster_arrivals},
       round.latest + timing_.cluster_barrier, round.cause, timing_.cluster_barrier);
}

void Recorder::on(const event::CopyIssue& event) {
  constexpr AsyncRecord::Kind kKinds[] = {AsyncRecord::Kind::kLoad,           AsyncRecord::Kind::kStore,
                                          AsyncRecord::Kind::kReduce,         AsyncRecord::Kind::kToPeer,
                                          AsyncRecord::Kind::kClusterRequest, AsyncRecord::Kind::kToPeer};
  static_assert(std::size(kKinds) == static_cast<std::size_t>(CopyKind::kStoreAsync) + 1);
  const Time now = step(event, timing_.copy_issue);
  const std::uint32_t warp = warp_index(event);
  records_.warps[warp].issues_copies = true;
  const AsyncRecord::Kind kind = kKinds[static_cast<std::size_t>(event.kind)];
  // What leaves the SM; a load comes when it is known where from.
  Time moved = now;
  if (kind != AsyncRecord::Kind::kLoad) {
    const double share = std::min(timing_.sm_store_bytes, timing_.l2_bytes / ctas_at_once_);
    moved = units_[cta_index_[event.cta]].out.serve(now, cycles_for(event.bytes, share));
  }
  const bool has_barrier = kind != AsyncRecord::Kind::kStore && kind != AsyncRecord::Kind::kReduce;
  const auto index = static_cast<std::uint32_t>(records_.operations.size());
  if (!has_room()) return;
  ++recorded_;
  records_.operations.push_back({.kind = kind,
                                 .warp = warp,
                                 .issued = now,
                                 .done = moved + (has_barrier ? timing_.wake_by_peer : timing_.store_latency),
                                 .count = 1,
                                 .bytes = event.bytes,
                                 .barrier = has_barrier ? event.barrier : kNoIndex,
                                 .site = event.site,
                                 .tile = tile_of(event)});
  copies_[event.copy] = index;
  if (kind == AsyncRecord::Kind::kLoad) {
    loads_[event.copy] = {.operation = index,
                          .bytes = static_cast<double>(event.bytes),
                          .targets = static_cast<double>(event.targets)};
  }
  if (has_barrier && event.barrier < records_.barriers.size()) {
    extend_hold(records_.warps[warp], barrier(event.barrier), now);
  } else if (!has_barrier) {
    Group& group = thread_record(event).groups.back();
    group.read = std::max(group.read, moved + timing_.store_read);
    group.done = std::max(group.done, records_.operations[index].done);
    group.cause = {Cause::Kind::kAsync, index, group.done};
  }
}

void Recorder::on(const event::GroupPass& event) {
  const std::vector<Group>& groups = thread_record(event).groups;
  const bool reads_only = event.read_only;
  // The last one is not committed yet.
  if (groups.size() - 1 <= event.pending) return;
  const std::size_t over = groups.size() - 1 - event.pending;
  const Group& last = groups[over - 1];
  wait(event, event.site,
       {.kind = reads_only ? Awaited::Kind::kStoreSources : Awaited::Kind::kStores, .phase = groups.size()},
       reads_only ? last.read : last.done, last.cause, timing_.issue);
}

Time Recorder::cycles_for(double bytes, double per_cycle) const {
  return static_cast<Time>(std::ceil(bytes / per_cycle));
}

// Model: a copy is in L2 or not as its first bytes are; what comes from memory is in L2 at once, and stays.
void Recorder::on(const event::CopyReadGlobal& event) {
  bool is_in_l2 = true;
  for (std::uint64_t line = event.global / 128; line <= (event.global + event.bytes - 1) / 128; ++line) {
    if (in_l2_.insert(line).second) is_in_l2 = false;
  }
  const auto load = loads_.find(event.copy);
  if (load == loads_.end() || load->second.is_known) return;
  load->second.is_known = true;
  load->second.is_in_l2 = is_in_l2;
}

// Model: of a copy to several CTAs each takes in all of it, L2 gives it once; since all of them issue such copies
// of their own, all count for who issued them.
Time Recorder::land(Load& load) {
  AsyncRecord& operation = records_.operations[load.operation];
  if (std::exchange(load.is_timed, true)) return operation.done;
  const double cold = timing_.memory_share >= 0 ? timing_.memory_share : load.is_in_l2 ? 0 : 1;
  const Time cycles = std::max({cycles_for(load.bytes * load.targets, timing_.sm_bytes),
                                cycles_for(load.bytes * ctas_at_once_, timing_.l2_bytes),
                                cycles_for(load.bytes * cold * ctas_at_once_, timing_.memory_bytes)});
  const double latency = timing_.l2_latency + cold * (timing_.memory_latency - timing_.l2_latency);
  const std::uint32_t cta = records_.warps[operation.warp].cta;
  return units_[cta].in.serve(operation.issued, cycles) + static_cast<Time>(latency);
}

void Recorder::on(const event::MmaIssue& event) {
  const Time now = step(event);
  const std::uint32_t warp = warp_index(event);
  records_.warps[warp].issues_mmas = true;
  // Each of the four warps of a wgmma tells of it.
  if (const auto known = mmas_.find(event.operation); known != mmas_.end()) {
    known->second.issued = std::max(known->second.issued, now);
    return;
  }
  const std::uint64_t key = event.is_tcgen05 ? key_of(event.cta, event.thread) | std::uint64_t{1} << 63
                                             : key_of(event.cta, event.thread / kWarpgroupThreads);
  const char* text = event.is_tcgen05 ? event.name : "wgmma";
  Queue& queue = queues_[key];
  queue.leader = warp;
  if (queue.open == kNoIndex || records_.operations[queue.open].text != text) {
    if (!has_room()) return;
    ++recorded_;
    queue.open = static_cast<std::uint32_t>(records_.operations.size());
    records_.operations.push_back({.kind = AsyncRecord::Kind::kMultiply,
                                   .warp = warp,
                                   .issued = now,
                                   .done = now,
                                   .text = text,
                                   .site = event.site,
                                   .tile = tile_of(event)});
  }
  ++records_.operations[queue.open].count;
  const double products = 32.0 * event.m * event.n;
  const Time cycles =
      std::max(cycles_for(products, timing_.products), cycles_for(event.operand_bytes, timing_.operand_bytes));
  queue.pending.push_back(event.operation);
  mmas_[event.operation] = {.queue = key, .operation = queue.open, .issued = now, .cycles = cycles};
}

void Recorder::on(const event::MmaDone& event) {
  const auto known = mmas_.find(event.operation);
  if (known == mmas_.end()) return;
  Multiplication& mma = known->second;
  Queue& queue = queues_[mma.queue];
  AsyncRecord& operation = records_.operations[mma.operation];
  const std::uint32_t cta = records_.warps[operation.warp].cta;
  const Time end = units_[cta].tensor.serve(std::max(mma.issued, queue.free), mma.cycles);
  if (!queue.pending.empty()) queue.pending.pop_front();
  // Warpgroups take turns, one multiplication each.
  queue.free = end + others_waiting(cta, queue, end) * mma.cycles;
  mma.done = end + timing_.multiply_latency;
  queue.done = mma.done;
  queue.last = mma.operation;
  operation.done = std::max(operation.done, mma.done);
  ++operation.finished;
}

Time Recorder::others_waiting(std::uint32_t cta, const Queue& queue, Time at) {
  Time count = 0;
  const CtaRecord& record = records_.ctas[cta];
  for (std::uint32_t group = 0; group * 4 < record.warps; ++group) {
    const auto other = queues_.find(key_of(record.linear, group));
    if (other == queues_.end() || &other->second == &queue || other->second.pending.empty()) continue;
    const Multiplication& next = mmas_[other->second.pending.front()];
    if (std::max(next.issued, other->second.free) <= at) ++count;
  }
  return count;
}

void Recorder::on(const event::WarpMeet& event) {
  WarpRecord& warp = records_.warps[warp_index(event)];
  Time latest = 0;
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    if ((event.lanes >> lane & 1) != 0) latest = std::max(latest, warp.now[lane]);
  }
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    if ((event.lanes >> lane & 1) != 0) warp.now[lane] = latest + timing_.issue;
  }
}

void Recorder::on(const event::SharedRead& event) { step(event, timing_.shared_access); }

// Model: what a thread writes to a peer holds it up until it is on its way, as a full queue would.
void Recorder::on(const event::SharedWrite& event) {
  const Time now = step(event, timing_.shared_access);
  const std::uint32_t cta = cta_index_[event.cta];
  if (event.address >> machine::kRankShift == records_.ctas[cta].rank) return;
  Time& at = records_.warps[warp_index(event)].now[event.thread % 32];
  at = units_[cta].to_peers.serve(now, cycles_for(event.bytes, timing_.peer_bytes));
}

void Recorder::on(const event::SharedStrong& event) {
  strong(event, key_of(event.cta, event.address) | std::uint64_t{1} << 63, event.strong, event.site);
}

void Recorder::on(const event::GlobalStrong& event) { strong(event, event.global, event.strong, event.site); }

// A thread that looks at a flag again and again waits for who wrote it, and looks once.
void Recorder::strong(Who who, std::uint64_t place, const Strong& how, CallSite site) {
  const auto known = written_.find(place);
  if (how.reads && known != written_.end()) {
    const Written& last = known->second;
    if (last.cause.index != warp_index(who)) {
      wait(who, site, {.kind = Awaited::Kind::kFlag, .phase = place}, last.time + timing_.wake, last.cause, 0);
    }
  }
  if (!how.writes) return;
  const Time now = step(who);
  written_[place] = {now, here(who)};
}

}  // namespace heddle::sim::trace
