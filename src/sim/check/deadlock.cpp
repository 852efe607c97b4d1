// SPDX-License-Identifier: Apache-2.0
#include "sim/check/deadlock.h"

#include "sim/machine/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <tuple>

namespace heddle::sim::check {

using machine::Barrier;
using machine::BarrierName;
using machine::Cta;
using machine::Machine;
using machine::NamedRange;
using machine::place;
using machine::Thread;
using machine::ThreadState;
using machine::Wait;
using machine::WaitKind;

namespace {

constexpr std::size_t kMostGroups = 12;

// "0, 2-5"
std::string ranges(const std::set<std::uint32_t>& numbers) {
  std::string text;
  for (auto it = numbers.begin(); it != numbers.end();) {
    const std::uint32_t first = *it;
    std::uint32_t last = first;
    while (++it != numbers.end() && *it == last + 1) ++last;
    if (!text.empty()) text += ", ";
    text += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
  }
  return text;
}

std::string warps(const std::set<std::uint32_t>& numbers) {
  return fmt::format("{} {}", numbers.size() == 1 ? "warp" : "warps", ranges(numbers));
}

// Threads of one role and one CTA that wait for the same thing at the same place.
struct Group {
  const Thread* first = nullptr;
  std::set<std::uint32_t> warps;
  std::size_t threads = 0;
  std::string role;

  const Wait& wait() const { return first->wait; }
  bool polls() const { return first->state == ThreadState::kReady; }
};

class Explainer {
 public:
  // `knows_places`: threads that run say where they are, as if they waited there.
  Explainer(Machine& machine, const BarrierHistory& history, bool knows_places = false,
            const PollWatch* polls = nullptr)
      : machine_(machine), history_(history), knows_places_(knows_places), polls_(polls) {
    collect();
  }

  std::size_t roles() const {
    std::set<std::string> names;
    for (const Group& group : groups_) names.insert(group.role);
    return names.size();
  }

  bool has_roles() const {
    return std::all_of(groups_.begin(), groups_.end(), [](const Group& group) { return !group.role.empty(); });
  }

  std::size_t threads() const {
    std::size_t count = 0;
    for (const Group& group : groups_) count += group.threads;
    return count;
  }

  std::vector<std::string> lines() const {
    std::vector<std::string> text;
    for (std::size_t g = 0; g < std::min(groups_.size(), kMostGroups); ++g) {
      const Group& group = groups_[g];
      const PollWatch::Poll* poll = poll_of(*group.first);
      text.push_back(fmt::format("{:<62} {}", fmt::format("{}: {}", who(group), waits_for(group)),
                                 poll != nullptr                   ? place(poll->site)
                                 : group.polls() && !knows_places_ ? std::string()
                                                                   : place(group.wait().site)));
      if (group.wait().kind == WaitKind::kMbarrier) text.push_back("  " + present(*group.wait().barrier));
      if (group.wait().kind == WaitKind::kNamedBarrier) text.push_back("  " + present(group));
      if (group.wait().kind == WaitKind::kWarp) text.push_back("  " + present_lanes(group));
      if (group.wait().kind == WaitKind::kTmemColumns) text.push_back("  " + present_columns(*group.first->cta));
    }
    if (groups_.size() > kMostGroups) text.push_back(fmt::format("and {} more", groups_.size() - kMostGroups));
    for (std::string& line : left_named_barriers()) text.push_back(std::move(line));
    if (const std::string gone = exited(); !gone.empty()) text.push_back("exited: " + gone);
    if (const std::uint64_t waiting = not_started(); waiting != 0) {
      text.push_back(fmt::format("{} of {} CTAs have not started; each waits for an SM", waiting, volume()));
    }
    if (const std::string cause = known_cause(); !cause.empty()) text.push_back(cause);
    return text;
  }

 private:
  std::uint64_t volume() const {
    const isa::Dim3 grid = machine_.grid();
    return std::uint64_t{grid.x} * grid.y * grid.z;
  }

  // CTAs that wait for a place on an SM.
  std::uint64_t not_started() const {
    if (groups_.empty()) return 0;
    const std::uint64_t cluster = groups_.front().first->cta->cluster->ctas.size();
    const std::uint64_t started = machine_.stats().ctas + machine_.stats().cancelled_clusters * cluster;
    return machine_.all_done() || started >= volume() ? 0 : volume() - started;
  }

  // Named barriers on which some have arrived, and for which nobody waits: often the wrong one of two.
  std::vector<std::string> left_named_barriers() const {
    constexpr std::size_t kMost = 4;
    std::vector<std::string> text;
    std::set<std::uint32_t> seen;
    for (const Group& group : groups_) {
      const Cta& cta = *group.first->cta;
      if (!seen.insert(cta.linear).second) continue;
      for (std::uint32_t id = 0; id < cta.named.size() && text.size() < kMost; ++id) {
        const bool is_awaited = std::any_of(groups_.begin(), groups_.end(), [&](const Group& other) {
          return other.first->cta == &cta && other.wait().kind == WaitKind::kNamedBarrier &&
                 other.wait().id == id;
        });
        if (cta.named[id].arrived == 0 || is_awaited) continue;
        text.push_back(fmt::format("{}{}: {}, and nobody waits for it", machine_.describe_named(cta, id),
                                   machine_.has_one_cta() ? std::string() : " of " + machine_.describe(cta),
                                   present(cta.named[id])));
      }
    }
    return text;
  }

  // Roles, or warps without one, that are done in CTAs where others wait.
  std::string exited() const {
    std::map<std::pair<std::uint32_t, std::string>, std::set<std::uint32_t>> gone;
    std::map<std::uint32_t, const Cta*> ctas;  // in an order that does not depend on where they lie in memory
    for (const Group& group : groups_) ctas[group.first->cta->linear] = group.first->cta;
    for (const auto& [linear, cta] : ctas) {
      for (std::uint32_t w = 0; w < cta->warps.size(); ++w) {
        if (cta->warps[w].live == 0) gone[{linear, cta->threads[32 * w].role}].insert(w);
      }
    }
    std::string text;
    for (const auto& [key, numbers] : gone) {
      const auto& [linear, role] = key;
      if (!text.empty()) text += "; ";
      if (!machine_.has_one_cta()) text += machine_.describe(*ctas[linear]) + ", ";
      text += role.empty() ? warps(numbers) : role + ", " + warps(numbers);
    }
    return text;
  }

  const PollWatch::Poll* poll_of(const Thread& thread) const {
    if (polls_ == nullptr || thread.state != ThreadState::kReady) return nullptr;
    return polls_->of(thread.cta->linear, thread.tid);
  }

  void collect() {
    using Key = std::tuple<std::uint32_t, std::string, int, const Barrier*, std::uint64_t, std::uint32_t,
                           std::string, std::uint32_t>;
    std::map<Key, std::size_t> index;
    for (const Thread* thread : machine_.resident_threads()) {
      // Mostly, a thread that runs keeps the place of its last wait, which says nothing.
      Wait wait = thread->state == ThreadState::kBlocked || knows_places_ ? thread->wait : Wait{};
      if (const PollWatch::Poll* poll = poll_of(*thread)) wait = {.phase = poll->address, .site = poll->site};
      const Key key{thread->cta->linear, thread->role,  static_cast<int>(wait.kind),
                    wait.barrier,        wait.phase,    wait.id,
                    wait.site.file,      wait.site.line};
      const auto [it, is_new] = index.try_emplace(key, groups_.size());
      if (is_new) groups_.emplace_back();
      Group& group = groups_[it->second];
      if (is_new) {
        group.first = thread;
        group.role = thread->role;
      }
      group.warps.insert(thread->warp());
      ++group.threads;
    }
  }

  std::string who(const Group& group) const {
    std::string text = machine_.has_one_cta() ? std::string() : machine_.describe(*group.first->cta) + ", ";
    if (!group.role.empty()) text += group.role + ", ";
    text += warps(group.warps);
    if (group.threads == 1) text += fmt::format(", lane {}", group.first->lane());
    return text;
  }

  std::string waits_for(const Group& group) const {
    const Wait& wait = group.wait();
    switch (wait.kind) {
      case WaitKind::kMbarrier:
        return fmt::format("waits for {}, phase {}", machine_.describe(*wait.barrier), wait.phase & 1);
      case WaitKind::kNamedBarrier: return "waits on " + machine_.describe_named(*group.first->cta, wait.id);
      case WaitKind::kClusterBarrier: return "waits on the cluster barrier";
      case WaitKind::kWarp: return fmt::format("waits for the other lanes of mask {:#010x}", wait.mask);
      case WaitKind::kBulkGroup: return "waits for its bulk copies";
      case WaitKind::kWgmmaGroup: return "waits for wgmmas that not all warps of the warpgroup have issued";
      case WaitKind::kRegisters: return "waits for registers";
      case WaitKind::kTmemColumns: return fmt::format("waits for {} columns of tensor memory", wait.groups);
      case WaitKind::kTmemPeer: return "waits for the other CTA of the pair to free the same columns";
      case WaitKind::kTmemLoads: return "waits for its tcgen05.ld";
      case WaitKind::kTmemStores: return "waits for its tcgen05.st";
      case WaitKind::kNone: break;
    }
    if (const PollWatch::Poll* poll = poll_of(*group.first)) {
      return "polls " +
             (poll->is_global ? machine_.global().describe(poll->address) : shared_word(poll->address));
    }
    return knows_places_ ? "runs" : "runs, but nothing it looks at changes";
  }

  std::string shared_word(std::uint64_t address) const {
    const auto offset = static_cast<std::uint32_t>(address) & machine::kOffsetMask;
    return fmt::format("byte {} of the shared memory", offset - machine::kSharedBase);
  }

  std::string present(const Barrier& barrier) const {
    const BarrierRecord& record = history_.of(barrier.id);
    const machine::Mbarrier& state = barrier.state;
    std::string text = fmt::format("arrivals {} of {}", state.expected - state.pending, state.expected);
    if (record.bytes_expected != 0 || record.bytes_landed != 0) {
      text += fmt::format(", bytes {} of {}", record.bytes_landed, record.bytes_expected);
    }
    if (state.pending != 0) {
      if (const std::vector<Actor> missing = missing_warps(barrier); !missing.empty()) {
        text += "; not yet: " + list(missing, *barrier.cta);
      }
    }
    return text;
  }

  std::string present(const Group& group) const { return present(group.first->cta->named[group.wait().id]); }

  std::string present(const machine::NamedBarrier& barrier) const {
    std::set<std::uint32_t> here;
    for (std::uint32_t w = 0; w < barrier.lanes.size(); ++w) {
      if (barrier.lanes[w] != 0) here.insert(w);
    }
    return fmt::format("{} of {} threads are here: {}", barrier.arrived, barrier.threads, warps(here));
  }

  std::string present_lanes(const Group& group) const {
    const machine::Warp& warp = group.first->cta->warps[group.first->warp()];
    for (const machine::Rendezvous& meeting : warp.meetings) {
      if (meeting.mask == group.wait().mask) {
        return fmt::format("{}: lanes {:#010x} are here, {:#010x} are not", machine::name_of(meeting.op),
                           meeting.arrived, meeting.mask & ~meeting.arrived);
      }
    }
    return {};
  }

  std::string present_columns(const Cta& cta) const {
    const Cta* peer = cta.tmem.cta_group == 2 ? cta.cluster->ctas[cta.rank ^ 1] : nullptr;
    if (peer != nullptr && std::none_of(peer->tmem.requests.begin(), peer->tmem.requests.end(),
                                        [](const machine::TmemRequest& asked) { return asked.is_alloc; })) {
      return fmt::format("{}, the other CTA of the pair, has not asked for any", machine_.describe(*peer));
    }
    std::string text = fmt::format("{} of {} are free", cta.tmem.free_cols(), kTmemCols);
    for (const machine::TmemAllocation& taken : cta.tmem.allocations) {
      text += fmt::format("; {} to {} are allocated at {}", taken.column, taken.column + taken.cols - 1,
                          place(taken.site));
    }
    return text;
  }

  // The other barrier of the same stage, or null.
  const Barrier* partner(const Barrier& barrier) const {
    const BarrierName name = machine_.name_of(*barrier.cta, barrier.offset);
    if (name.role == isa::BarrierRole::kOther) return nullptr;
    for (const NamedRange& range : barrier.cta->names) {
      if (range.role != name.role && range.role != isa::BarrierRole::kOther &&
          std::strcmp(range.pipeline, name.pipeline) == 0) {
        return machine_.mbarriers.find(*barrier.cta, range.first + 8 * name.stage);
      }
    }
    return nullptr;
  }

  // Warps that are known to arrive on this barrier and have not done so in this phase: those that did in the
  // phase before, or else those that have taken the stage, which is waiting on its other barrier.
  std::vector<Actor> missing_warps(const Barrier& barrier) const {
    const BarrierRecord& record = history_.of(barrier.id);
    std::vector<Actor> expected;
    if (!record.arrived_before.empty()) {
      std::vector<Actor> before = record.arrived_before;
      std::vector<Actor> now = record.arrived;
      std::sort(before.begin(), before.end());
      std::sort(now.begin(), now.end());
      std::vector<Actor> missing;
      std::set_difference(before.begin(), before.end(), now.begin(), now.end(), std::back_inserter(missing));
      for (const Actor& thread : missing) expected.push_back({thread.cta, thread.index / 32});
    } else if (const Barrier* other = partner(barrier); other != nullptr) {
      for (const Actor& warp : history_.of(other->id).waiters) {
        const auto arrived = [&](const Actor& thread) {
          return thread.cta == warp.cta && thread.index / 32 == warp.index;
        };
        if (std::none_of(record.arrived.begin(), record.arrived.end(), arrived)) expected.push_back(warp);
      }
    }
    std::sort(expected.begin(), expected.end());
    expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
    return expected;
  }

  std::string list(const std::vector<Actor>& actors, const Cta& home) const {
    std::map<std::uint32_t, std::set<std::uint32_t>> by_cta;
    for (const Actor& actor : actors) by_cta[actor.cta].insert(actor.index);
    std::string text;
    for (const auto& [cta, numbers] : by_cta) {
      if (!text.empty()) text += "; ";
      text += cta == home.linear ? warps(numbers) : fmt::format("{} of block {}", warps(numbers), cta);
    }
    return text;
  }

  std::string role_of(const Actor& warp) const {
    for (const Thread* thread : machine_.resident_threads()) {
      if (thread->cta->linear == warp.cta && thread->warp() == warp.index && *thread->role != '\0') {
        return std::string(thread->role) + ", ";
      }
    }
    return {};
  }

  std::string stage_of(const Barrier& barrier) const {
    const BarrierName name = machine_.name_of(*barrier.cta, barrier.offset);
    return *name.pipeline == '\0' ? machine_.describe(barrier) : fmt::format("{}[{}]", name.pipeline, name.stage);
  }

  // What the state proves, the most telling of it: nothing here is a guess.
  std::string known_cause() const {
    for (auto cause : {&Explainer::bytes_differ, &Explainer::waits_on_wrong_side, &Explainer::wrong_first_phase,
                       &Explainer::phase_went_round, &Explainer::phases_were_lost, &Explainer::count_too_large,
                       &Explainer::not_released, &Explainer::not_filled}) {
      for (const Group& group : groups_) {
        if (group.wait().kind != WaitKind::kMbarrier) continue;
        if (const std::string text = (this->*cause)(group); !text.empty()) return text;
      }
    }
    for (const Group& group : groups_) {
      if (group.wait().kind != WaitKind::kTmemColumns) continue;
      return fmt::format("tcgen05_alloc of {} columns, which nobody frees; a CTA has {} in all",
                         group.wait().groups, kTmemCols);
    }
    return {};
  }

  std::string bytes_differ(const Group& group) const {
    const Barrier& barrier = *group.wait().barrier;
    const BarrierRecord& record = history_.of(barrier.id);
    if (barrier.state.pending == barrier.state.expected && record.bytes_landed > 0 &&
        record.bytes_expected == 0 && record.phases > 0) {
      return fmt::format(
          "an earlier phase of {} ended before its copies did; {} bytes were expected at {}, and {} "
          "more have landed since",
          machine_.describe(barrier), record.last_expect_bytes, place(record.last_expect), record.bytes_landed);
    }
    if (barrier.state.tx == 0) return {};
    return fmt::format("{} bytes are expected at {}, but the copies into {} sum to {}", record.bytes_expected,
                       place(record.last_expect), stage_of(barrier), record.bytes_landed);
  }

  // The stage's other barrier is complete and nobody has ever waited for it, while this group waits for one
  // that only a later step can complete.
  std::string waits_on_wrong_side(const Group& group) const {
    const Barrier& barrier = *group.wait().barrier;
    const Barrier* other = partner(barrier);
    if (other == nullptr) return {};
    const BarrierRecord& record = history_.of(other->id);
    const bool produced = history_.of(barrier.id).arrived.empty() && record.phases > 0 && record.waiters.empty();
    if (!produced || took(group, barrier)) return {};
    return fmt::format("{} is complete and nobody has waited for it; {} waits for {} instead",
                       machine_.describe(*other), who(group), machine_.describe(barrier));
  }

  // Whether the group has filled or taken a stage of this pipeline before.
  bool took(const Group& group, const Barrier& barrier) const {
    const Barrier* other = partner(barrier);
    const auto is_in = [&](const Actor& thread) {
      return thread.cta == group.first->cta->linear && group.warps.count(thread.index / 32) != 0;
    };
    const BarrierRecord& record = history_.of(other->id);
    return std::any_of(record.arrived.begin(), record.arrived.end(), is_in) ||
           std::any_of(record.arrived_before.begin(), record.arrived_before.end(), is_in);
  }

  std::string wrong_first_phase(const Group& group) const {
    const Barrier& barrier = *group.wait().barrier;
    const Barrier* other = partner(barrier);
    if (machine_.name_of(*barrier.cta, barrier.offset).role != isa::BarrierRole::kEmpty || other == nullptr)
      return {};
    const BarrierRecord& mine = history_.of(barrier.id);
    const BarrierRecord& record = history_.of(other->id);
    if (!mine.waiters.empty() || !mine.arrived.empty() || record.phases != 0 || !record.arrived.empty())
      return {};
    return fmt::format(
        "{} waits for phase 0 of a stage that was never filled; a producer's first wait is for "
        "phase 1, which a fresh barrier passes",
        who(group));
  }

  // A wait knows phases by their parity: if two more than it knows of are over, it waits for a third.
  std::string phase_went_round(const Group& group) const {
    const Barrier& barrier = *group.wait().barrier;
    const BarrierRecord& record = history_.of(barrier.id);
    const std::uint32_t thread = group.first->tid;
    const std::uint64_t wanted = thread < record.passed.size() ? record.passed[thread] : 0;
    if (group.wait().phase < wanted + 2) return {};
    return fmt::format(
        "the phase for which {} waits is over, and so is the one after it, whose parity differs: {} ended {} "
        "phases since the last wait; its count is {}, set at {}, and the last phase was completed by {}",
        who(group), machine_.describe(barrier), group.wait().phase - wanted, record.init_count,
        place(record.init), arrivals(record.arrived_before, *barrier.cta));
  }

  // "3 arrivals of warps 1-2"
  std::string arrivals(const std::vector<Actor>& threads, const Cta& home) const {
    std::vector<Actor> arrived;
    for (const Actor& thread : threads) arrived.push_back({thread.cta, thread.index / 32});
    return fmt::format("{} {} of {}", threads.size(), threads.size() == 1 ? "arrival" : "arrivals",
                       list(arrived, home));
  }

  // The same, noticed when a wait had passed before.
  std::string phases_were_lost(const Group& group) const {
    const Barrier& barrier = *group.wait().barrier;
    const BarrierRecord& record = history_.of(barrier.id);
    if (record.phases_lost == 0) return {};
    return fmt::format(
        "{}{} lost {} phases of {} at {}: they were over before it waited, and a parity does not tell them from "
        "the next; whoever arrives does not wait until it is done",
        role_of(record.loser), list({record.loser}, *barrier.cta), record.phases_lost, machine_.describe(barrier),
        place(record.lost_at));
  }

  // All that have taken the stage have given it back, and still it does not become empty.
  std::string count_too_large(const Group& group) const {
    const Barrier& barrier = *group.wait().barrier;
    const BarrierRecord& record = history_.of(barrier.id);
    if (barrier.state.pending == 0 || record.arrived.empty() || !missing_warps(barrier).empty()) return {};
    return fmt::format("{} was initialised with a count of {} at {}, and has {}", machine_.describe(barrier),
                       record.init_count, place(record.init), arrivals(record.arrived, *barrier.cta));
  }

  std::string not_released(const Group& group) const {
    return missing_side(group, isa::BarrierRole::kEmpty, "released it");
  }

  std::string not_filled(const Group& group) const {
    return missing_side(group, isa::BarrierRole::kFull, "arrived on its full barrier");
  }

  std::string missing_side(const Group& group, isa::BarrierRole role, const char* duty) const {
    const Barrier& barrier = *group.wait().barrier;
    if (machine_.name_of(*barrier.cta, barrier.offset).role != role || barrier.state.pending == 0) return {};
    const std::vector<Actor> missing = missing_warps(barrier);
    if (missing.empty()) return {};
    return fmt::format("{}{} took {} and {} not {}", role_of(missing.front()), list(missing, *barrier.cta),
                       stage_of(barrier), missing.size() == 1 ? "has" : "have", duty);
  }

  Machine& machine_;
  const BarrierHistory& history_;
  bool knows_places_;
  const PollWatch* polls_;
  std::vector<Group> groups_;
};

}  // namespace

std::string again(const LaunchOptions& options) {
  const std::string schedule = options.schedule.name();
  if (const std::size_t slot = options.again.find("{}"); slot != std::string::npos) {
    return std::string(options.again).replace(slot, 2, schedule);
  }
  if (options.again.empty()) return fmt::format("{} with schedule {}", options.kernel, schedule);
  return fmt::format("{} --schedule {}", options.again, schedule);
}

Diagnosis make_diagnosis(const machine::Fault& fault, const LaunchOptions& options) {
  const Verdict verdict = fault.level();
  std::string text = fmt::format("[{}] {}{}\n", name_of(fault.code),
                                 verdict == Verdict::kFormal ? "formal: " : "", fault.headline);
  for (const std::string& line : fault.details) {
    const std::size_t end = line.find_last_not_of(' ');
    text += "  " + line.substr(0, end + 1) + "\n";
  }
  text += "  again: " + again(options) + "\n";
  Diagnosis diagnosis{.code = fault.code, .text = std::move(text), .verdict = verdict};
  for (const CallSite site : {fault.places.first, fault.places.second}) {
    if (*site.file != '\0') diagnosis.places.push_back(place(site));
  }
  return diagnosis;
}

Diagnosis explain_deadlock(Machine& machine, const BarrierHistory& history, const LaunchOptions& options,
                           const PollWatch* polls) {
  const Explainer explainer(machine, history, false, polls);
  const std::size_t roles = explainer.roles();
  const std::string subject =
      explainer.has_roles()
          ? fmt::format("{} {}", roles, roles == 1 ? "role is" : "roles are")
          : fmt::format("{} {}", explainer.threads(), explainer.threads() == 1 ? "thread is" : "threads are");
  return make_diagnosis(
      {FaultCode::kDeadlock, subject + " blocked and nothing in flight can wake them", explainer.lines()},
      options);
}

Diagnosis explain_budget(Machine& machine, const BarrierHistory& history, const LaunchOptions& options,
                         CallSite site, bool knows_places) {
  const Explainer explainer(machine, history, knows_places);
  return make_diagnosis({FaultCode::kBudget,
                         fmt::format("stopped after {} instructions, at {}; this is where each warp is",
                                     options.max_steps, place(site)),
                         explainer.lines()},
                        options);
}

}  // namespace heddle::sim::check
