// SPDX-License-Identifier: Apache-2.0
#include "sim/testing/ptx_statements.h"

#include <heddle/testing/ptx_mutants.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <utility>

namespace heddle::sim {

namespace {

using testing::Statement;

// Text that takes the place of a statement; empty if the way does not fit it.
using Rewrite = std::string (*)(const Statement&);

std::string drop(const Statement& /*one*/) { return " "; }

std::string twice(const Statement& one) { return one.text() + " " + one.text(); }

// The number of the operand that is an address, from `from` on.
std::size_t address_of(const Statement& one, std::size_t from = 0) {
  for (std::size_t i = from; i < one.operands.size(); ++i) {
    if (one.operands[i].starts_with('[')) return i;
  }
  return one.operands.size();
}

// The barrier after the one that is meant.
std::string next_barrier(const Statement& one, std::size_t operand) {
  if (operand >= one.operands.size()) return "";
  std::string address = one.operands[operand];
  address.pop_back();
  return one.with(operand, address + "+8]").text();
}

std::string next_barrier(const Statement& one) { return next_barrier(one, address_of(one)); }

// A load's barrier comes after what it writes and reads.
std::string next_barrier_of_copy(const Statement& one) {
  return next_barrier(one, address_of(one, address_of(one, address_of(one) + 1) + 1));
}

// With an operand that is computed from what it was: "add.u32 mutant, {}, 1".
std::string computed(const Statement& one, std::size_t operand, const std::string& how,
                     std::string_view type = "b32") {
  if (operand >= one.operands.size()) return "";
  const std::string line = fmt::format(fmt::runtime(how), one.operands[operand]);
  return fmt::format("{{ .reg .{} mutant; {}; {} }}", type, line, one.with(operand, "mutant").text());
}

std::size_t last(const Statement& one) { return one.operands.size() - 1; }

std::string expect_alone(const Statement& one) {
  const std::size_t address = address_of(one);
  if (address + 1 >= one.operands.size()) return "";
  const bool is_cluster = one.name.find("shared::cluster") != std::string::npos;
  Statement other = one;
  other.name = is_cluster ? "mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64"
                          : "mbarrier.expect_tx.relaxed.cta.shared::cta.b64";
  other.operands = {one.operands[address], one.operands[address + 1]};
  return other.text();
}

std::string one_more_in_flight(const Statement& one) {
  std::uint32_t number = 0;
  if (one.operands.size() != 1) return "";
  const std::string& text = one.operands[0];
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return "";
  return one.with(0, std::to_string(number + 1)).text();
}

std::string relinquish_before(const Statement& one) {
  const std::string group = one.name.find("cta_group::2") != std::string::npos ? "2" : "1";
  return fmt::format("tcgen05.relinquish_alloc_permit.cta_group::{}.sync.aligned; {}", group, one.text());
}

struct Way {
  PtxMutation mutation;
  std::string_view begins;  // the names of the instructions that it is for begin so,
  std::string_view holds;   // hold this,
  std::string_view lacks;   // and, unless it is empty, do not hold this
  Rewrite rewrite;          // null: as move_up() says
  Rewrite probe = nullptr;  // see PtxMutant::probe
};

// The parity is what it would be without a flip, each time.
std::string is_always(const Statement& one, char parity) {
  if (one.operands.size() < 3) return "";
  return fmt::format("{{ .reg .pred mutant; setp.ne.u32 mutant, {}, {}; @mutant trap; }} {}", one.operands[2],
                     parity, one.text());
}

constexpr std::string_view kHandOff = "hand-off";
constexpr std::string_view kPhase = "phase";
constexpr std::string_view kCounts = "counts";
constexpr std::string_view kVisibility = "visibility";
constexpr std::string_view kAsynchrony = "asynchrony";
constexpr std::string_view kLifetime = "lifetime";

const Way kWays[] = {
    {{"drop_arrive", kHandOff, "nobody is told that a stage is free or full"},
     "mbarrier.arrive",
     "",
     "expect_tx",
     drop},
    {{"double_arrive", kHandOff, "a stage is released twice"}, "mbarrier.arrive", "", "expect_tx", twice},
    {{"early_arrive", kHandOff, "a stage is released before its last use"},
     "mbarrier.arrive",
     "",
     "expect_tx",
     nullptr},
    {{"arrive_on_next", kHandOff, "the barrier after the right one is told"},
     "mbarrier.arrive",
     "",
     "expect_tx",
     [](const Statement& one) { return next_barrier(one); }},
    {{"drop_commit", kHandOff, "the arrival of tensor cores is left out"}, "tcgen05.commit", "", "", drop},
    {{"commit_on_next", kHandOff, "tensor cores arrive on the barrier after the right one"},
     "tcgen05.commit",
     "",
     "",
     [](const Statement& one) { return next_barrier(one); }},
    {{"no_wait", kHandOff, "a phase is not waited for"},
     "mbarrier.try_wait",
     "",
     "",
     [](const Statement& one) { return fmt::format("{}mov.pred {}, 1;", one.guard, one.operands[0]); }},
    {{"wait_for_next", kHandOff, "the barrier after the right one is waited for"},
     "mbarrier.try_wait",
     "",
     "",
     [](const Statement& one) { return next_barrier(one); }},
    {{"drop_copy_commit", kHandOff, "stores belong to no group"}, "cp.async.bulk.commit_group", "", "", drop},
    {{"drop_load", kHandOff, "a tile is not copied"}, "cp.async.bulk.tensor", "mbarrier::complete_tx", "", drop},
    {{"load_to_next", kHandOff, "a copy counts its bytes on the barrier after the right one"},
     "cp.async.bulk.tensor",
     "mbarrier::complete_tx",
     "",
     next_barrier_of_copy},
    {{"drop_request", kHandOff, "no next tile is asked for"}, "clusterlaunchcontrol.try_cancel", "", "", drop},

    {{"wrong_phase", kPhase, "the other parity is waited for"},
     "mbarrier.try_wait",
     "",
     "",
     [](const Statement& one) { return computed(one, 2, "xor.b32 mutant, {}, 1"); }},
    {{"phase_stays_0", kPhase, "the parity never flips"},
     "mbarrier.try_wait",
     "",
     "",
     [](const Statement& one) { return computed(one, 2, "and.b32 mutant, {}, 0"); },
     [](const Statement& one) { return is_always(one, '0'); }},
    {{"phase_stays_1", kPhase, "the parity never flips, from 1"},
     "mbarrier.try_wait",
     "",
     "",
     [](const Statement& one) { return computed(one, 2, "or.b32 mutant, {}, 1"); },
     [](const Statement& one) { return is_always(one, '1'); }},

    {{"count_plus_1", kCounts, "a barrier waits for one arrival too many"},
     "mbarrier.init",
     "",
     "",
     [](const Statement& one) { return computed(one, last(one), "add.u32 mutant, {}, 1"); },
     drop},
    {{"count_minus_1", kCounts, "a barrier waits for one arrival too few"},
     "mbarrier.init",
     "",
     "",
     [](const Statement& one) { return computed(one, last(one), "sub.u32 mutant, {}, 1"); },
     drop},
    {{"threads_for_warps", kCounts, "32 arrivals are counted for each"},
     "mbarrier.init",
     "",
     "",
     [](const Statement& one) { return computed(one, last(one), "shl.b32 mutant, {}, 5"); },
     drop},
    {{"drop_init", kCounts, "a barrier is not initialised"}, "mbarrier.init", "", "", drop},
    {{"short_expect", kCounts, "16 bytes fewer are expected than are copied"},
     "mbarrier.arrive.expect_tx",
     "",
     "",
     [](const Statement& one) { return computed(one, last(one), "sub.u32 mutant, {}, 16"); }},
    {{"long_expect", kCounts, "16 bytes more are expected than are copied"},
     "mbarrier.arrive.expect_tx",
     "",
     "",
     [](const Statement& one) { return computed(one, last(one), "add.u32 mutant, {}, 16"); }},
    {{"expect_without_arrive", kCounts, "bytes are expected and nobody arrives"},
     "mbarrier.arrive.expect_tx",
     "",
     "",
     expect_alone},
    {{"expect_on_next", kCounts, "bytes are expected on the barrier after the right one"},
     "mbarrier.arrive.expect_tx",
     "",
     "",
     [](const Statement& one) { return next_barrier(one); }},
    {{"drop_expect", kCounts, "no bytes are expected"}, "mbarrier.arrive.expect_tx", "", "", drop},

    {{"drop_init_fence", kVisibility, "barriers are not published to copies and peers"},
     "fence.mbarrier_init",
     "",
     "",
     drop},
    {{"drop_proxy_fence", kVisibility, "the async proxy may not see what threads wrote"},
     "fence.proxy.async",
     "",
     "",
     drop},
    {{"drop_cluster_arrive", kVisibility, "a CTA does not arrive on the cluster barrier"},
     "barrier.cluster.arrive",
     "",
     "",
     drop},
    {{"drop_cluster_wait", kVisibility, "a CTA does not wait for its peers"},
     "barrier.cluster.wait",
     "",
     "",
     drop},
    {{"drop_bar_sync", kVisibility, "warps do not wait for each other"}, "bar.sync", "", "", drop},
    {{"drop_barrier_sync", kVisibility, "warps do not wait for each other"}, "barrier.sync", "", "", drop},
    {{"drop_bar_arrive", kVisibility, "a warp does not arrive on a named barrier"}, "bar.arrive", "", "", drop},
    {{"drop_syncwarp", kVisibility, "lanes do not wait for each other"}, "bar.warp.sync", "", "", drop},
    {{"drop_before_fence", kVisibility, "tensor memory is not ordered before a hand-over"},
     "tcgen05.fence::before",
     "",
     "",
     drop},
    {{"drop_after_fence", kVisibility, "tensor memory is not ordered after a hand-over"},
     "tcgen05.fence::after",
     "",
     "",
     drop},

    {{"drop_wgmma_wait", kAsynchrony, "multiplications are not waited for"}, "wgmma.wait_group", "", "", drop},
    {{"weak_wgmma_wait", kAsynchrony, "one multiplication too many may be in flight"},
     "wgmma.wait_group",
     "",
     "",
     one_more_in_flight},
    {{"drop_wgmma_fence", kAsynchrony, "registers are not ordered before multiplications"},
     "wgmma.fence",
     "",
     "",
     drop},
    {{"drop_wgmma_commit", kAsynchrony, "multiplications belong to no group"},
     "wgmma.commit_group",
     "",
     "",
     drop},
    {{"drop_store_wait", kAsynchrony, "stores are not waited for"}, "cp.async.bulk.wait_group", "", "", drop},
    {{"weak_store_wait", kAsynchrony, "one store too many may be in flight"},
     "cp.async.bulk.wait_group",
     "",
     "",
     one_more_in_flight},
    {{"drop_tmem_load_wait", kAsynchrony, "registers of tensor memory are used too early"},
     "tcgen05.wait::ld",
     "",
     "",
     drop},
    {{"drop_tmem_store_wait", kAsynchrony, "stores to tensor memory are not waited for"},
     "tcgen05.wait::st",
     "",
     "",
     drop},
    {{"wrong_multicast_bit", kAsynchrony, "a copy goes to another set of CTAs"},
     "cp.async.bulk.tensor",
     "multicast::cluster",
     "",
     [](const Statement& one) { return computed(one, 3, "xor.b16 mutant, {}, 1", "b16"); }},

    {{"leak_tmem", kLifetime, "tensor memory is not freed"}, "tcgen05.dealloc", "", "", drop},
    {{"free_tmem_twice", kLifetime, "tensor memory is freed twice"}, "tcgen05.dealloc", "", "", twice},
    {{"alloc_after_relinquish", kLifetime, "the right to allocate is given up first"},
     "tcgen05.alloc",
     "",
     "",
     relinquish_before},
};

bool fits(const Way& way, const Statement& one) {
  return one.name.starts_with(way.begins) && one.name.find(way.holds) != std::string::npos &&
         (way.lacks.empty() || one.name.find(way.lacks) == std::string::npos);
}

// Whether moving a hand-over before it makes it too early.
bool uses_stage(const Statement& one) {
  for (const std::string_view name :
       {"ld.shared", "ldmatrix", "st.shared", "stmatrix", "wgmma.wait_group", "tcgen05.wait", "tcgen05.ld",
        "cp.async.bulk.wait_group", "ld.volatile.shared"}) {
    if (one.name.starts_with(name)) return true;
  }
  return false;
}

bool defines(const Statement& one, const std::string& registers) {
  if (one.operands.empty()) return false;
  // The first operand, or each of a list of them.
  std::string_view first = one.operands[0];
  while (!first.empty()) {
    const std::size_t at = first.find_first_of("%");
    if (at == std::string_view::npos) return false;
    const std::size_t end = std::min(first.find_first_of(",}|]+ ", at), first.size());
    const std::string name = std::string(first.substr(at, end - at)) + " ";
    if (registers.find(name) != std::string::npos) return true;
    first.remove_prefix(end);
  }
  return false;
}

bool is_arithmetic(const Statement& one) {
  if (!one.guard.empty()) return false;
  for (const std::string_view name :
       {"add.", "sub.", "mul.", "mad.", "mov.", "shl.", "shr.", "and.", "or.", "selp.", "cvt"}) {
    if (one.name.starts_with(name)) return true;
  }
  return false;
}

// The registers that a text mentions, each followed by a space.
std::string registers_in(std::string_view text) {
  std::string registers;
  for (std::size_t i = text.find('%'); i != std::string_view::npos; i = text.find('%', i + 1)) {
    registers += std::string(text.substr(i, text.find_first_of(",;]+ )}", i) - i)) + " ";
  }
  return registers;
}

// An arrival moved up within its block, past something that uses the stage, together with the arithmetic that its
// address is computed by.
struct Earlier {
  std::size_t before = 0;  // the number of a statement; that of the arrival itself if there is no such place
  std::string text;
};

Earlier move_up(const std::vector<Statement>& all, std::size_t at) {
  Earlier best{at, ""};
  std::string slice = all[at].text() + " ";
  std::string registers = registers_in(slice);
  bool is_past_use = false;
  int depth = 0;
  for (std::size_t i = at; i-- > 0;) {
    const Statement& one = all[i];
    if (one.is_label || one.name.starts_with("bra") || one.name == "ret" || one.name.starts_with("mbarrier"))
      break;
    if (one.is_brace) {
      depth += one.by_brace;
      if (depth < 0) break;
    } else if (defines(one, registers)) {
      if (!is_arithmetic(one)) break;
      slice = one.text() + " " + slice;
      registers += registers_in(one.text());
    } else {
      is_past_use = is_past_use || uses_stage(one);
    }
    if (depth == 0 && is_past_use) best = {i, slice};
  }
  return best;
}

constexpr std::string_view kClusterWait = "barrier.cluster.wait";

// What hands nothing over, and touches no memory that another thread sees.
bool touches_nothing(const Statement& one) {
  constexpr std::string_view kNames[] = {"abs",
                                         "activemask",
                                         "add",
                                         "and",
                                         "bfe",
                                         "bfi",
                                         "bra",
                                         "cvt",
                                         "div",
                                         "elect.sync",
                                         "exit",
                                         "fence",
                                         "ld.param",
                                         "lop3",
                                         "mad",
                                         "mapa",
                                         "max",
                                         "mbarrier.test_wait",
                                         "mbarrier.try_wait",
                                         "min",
                                         "mov",
                                         "mul",
                                         "nanosleep",
                                         "neg",
                                         "not",
                                         "or",
                                         "prmt",
                                         "rem",
                                         "ret",
                                         "selp",
                                         "set",
                                         "shf",
                                         "shl",
                                         "shr",
                                         "sub",
                                         "vote",
                                         "xor"};
  return std::any_of(std::begin(kNames), std::end(kNames), [&](std::string_view name) {
    return one.name.starts_with(name) && !one.name.starts_with("setmaxnreg");
  });
}

}  // namespace

std::vector<std::size_t> cluster_waits_in(std::string_view text, std::string_view entry) {
  std::vector<std::size_t> waits;
  for (const Statement& one : testing::read_statements(text, entry)) {
    if (one.is_in_entry && one.name.starts_with(kClusterWait)) waits.push_back(one.begin);
  }
  return waits;
}

std::string with_traps_after(std::string_view text, std::string_view entry, std::size_t wait,
                             std::span<const std::size_t> last) {
  std::vector<std::pair<std::size_t, std::string>> inserted;  // where, in the order of the text, and what
  const std::vector<std::size_t> cluster_waits = cluster_waits_in(text, entry);
  const auto is_last_barrier = [&](const Statement& one) {
    if (!one.name.starts_with("barrier.cluster")) return false;
    const auto waits = std::lower_bound(cluster_waits.begin(), cluster_waits.end(), one.begin);
    return waits != cluster_waits.end() && std::find(last.begin(), last.end(), *waits) != last.end();
  };
  bool is_found = false;
  for (const Statement& one : testing::read_statements(text, entry)) {
    if (!one.is_in_entry || one.name.empty() || one.name.starts_with('.')) continue;
    if (inserted.empty()) {
      inserted.emplace_back(one.begin, ".reg .pred mutant_after; setp.ne.u32 mutant_after, 0, 0; ");
    }
    if (one.begin == wait) {
      if (!one.name.starts_with("mbarrier.try_wait") && !one.name.starts_with(kClusterWait)) return "";
      inserted.emplace_back(one.begin, one.guard + "setp.eq.u32 mutant_after, 0, 0; ");
      is_found = true;
    } else if (!touches_nothing(one) && !is_last_barrier(one)) {
      inserted.emplace_back(one.begin, "@mutant_after trap; ");
    }
  }
  if (!is_found) return "";
  std::string changed;
  std::size_t at = 0;
  for (const auto& [where, what] : inserted) {
    changed.append(text.substr(at, where - at)).append(what);
    at = where;
  }
  return changed.append(text.substr(at));
}

std::span<const PtxMutation> ptx_mutations() {
  static const std::vector<PtxMutation> all = [] {
    std::vector<PtxMutation> list;
    for (const Way& way : kWays) list.push_back(way.mutation);
    return list;
  }();
  return all;
}

std::string PtxMutant::name() const {
  return fmt::format("{}@{}{}", mutation, place, number == 1 ? "" : fmt::format("#{}", number));
}

std::string PtxMutant::apply(std::string_view text) const {
  std::string changed(text);
  changed.replace(begin, end - begin, by);
  if (also_at != 0) changed.insert(also_at, also);
  return changed;
}

std::vector<PtxMutant> ptx_mutants(std::string_view text, std::string_view entry) {
  const std::vector<Statement> all = testing::read_statements(text, entry);
  std::vector<PtxMutant> mutants;
  std::map<std::pair<std::string_view, std::string>, std::uint32_t> numbers;
  for (std::size_t s = 0; s < all.size(); ++s) {
    const Statement& one = all[s];
    if (!one.is_in_entry || one.name.empty()) continue;
    for (const Way& way : kWays) {
      if (!fits(way, one)) continue;
      PtxMutant mutant{.mutation = way.mutation.name,
                       .family = way.mutation.family,
                       .place = one.place.empty() ? fmt::format("ptx:{}", one.line) : one.place,
                       .line = one.line,
                       .instruction = one.text(),
                       .begin = one.begin,
                       .end = one.end};
      if (way.probe != nullptr) mutant.probe = way.probe(one);
      if (way.rewrite != nullptr) {
        mutant.by = way.rewrite(one);
        if (mutant.by.empty()) continue;
      } else {
        const Earlier earlier = move_up(all, s);
        if (earlier.before == s) continue;
        mutant.by = " ";
        mutant.also_at = all[earlier.before].begin;
        mutant.also = earlier.text;
      }
      mutant.number = ++numbers[{mutant.mutation, mutant.place}];
      mutants.push_back(std::move(mutant));
    }
  }
  return mutants;
}

}  // namespace heddle::sim
