// SPDX-License-Identifier: Apache-2.0
#include "matmul_search.h"

#include "matmul/host/matmul_sm90_cost.h"
#include "matmul/host/matmul_sm90_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace heddle::bench {

namespace {

struct Tile {
  unsigned m = 0, n = 0, k = 0, stages = 0, cluster_m = 0, cluster_n = 0;
  bool is_swapped = false;
};

Tile tile_of(const std::string& name) {
  Tile t;
  if (std::sscanf(name.c_str(), "%ux%ux%u_%u_%ux%u", &t.m, &t.n, &t.k, &t.stages, &t.cluster_m, &t.cluster_n) !=
      6) {
    throw std::runtime_error(fmt::format("the configuration '{}' does not begin with its tile", name));
  }
  t.is_swapped = name.find("_swapped") != std::string::npos;
  return t;
}

unsigned along(unsigned elems, unsigned tile) { return (elems + tile - 1) / tile; }

constexpr double kSms = 132;

double tiles_of(const Shape& shape, const Tile& t) {
  return static_cast<double>(along(shape.m, t.m * t.cluster_m) * t.cluster_m) *
         (along(shape.n, t.n * t.cluster_n) * t.cluster_n);
}

// What an H200 cannot pass at its highest clock: the tensor cores' rate, and what shared memory, L2 and memory
// deliver.
double least_us(const Shape& shape, const Tile& t, unsigned splits) {
  constexpr double kCyclesPerUs = 1980;
  constexpr double kSmemBytesPerCycle = 128;
  constexpr double kL2BytesPerCycle = 9300;
  constexpr double kMemoryBytesPerUs = 4.7e6;
  const double tiles = tiles_of(shape, t) * splits;
  const double blocks = along(along(shape.k, t.k), splits);
  const double rows = std::min(t.m, along(shape.m, 8) * 8);
  const double math = t.m * t.n * t.k / 2048.0;
  const double operands =
      (t.is_swapped ? t.n / 64.0 * (64 + t.m) : t.m / 64.0 * (64 + t.n)) * t.k * 2 / kSmemBytesPerCycle;
  const double filled = (rows + t.n) * t.k * 2 / kSmemBytesPerCycle;
  const double l2 =
      (rows / t.cluster_n + double(t.n) / t.cluster_m) * t.k * 2 * std::min(tiles, kSms) / kL2BytesPerCycle;
  const double cycles = std::ceil(tiles / kSms) * blocks * std::max({math, operands, filled, l2});
  const double added = splits == 1 ? 0 : 0.3;
  return std::max(cycles / kCyclesPerUs, static_cast<double>(shape.bytes()) / kMemoryBytesPerUs) + added;
}

// The full name: with the order of tiles that the library takes.
std::string ordered_name(const Shape& shape, const std::string& name) {
  return name_of(read_matmul_sm90_choice({.m = shape.m, .n = shape.n, .k = shape.k}, {}, name));
}

double formula_us(const Shape& shape, const std::string& name) {
  const MatmulProblem problem{.m = shape.m, .n = shape.n, .k = shape.k};
  const MatmulSm90Choice choice = read_matmul_sm90_choice(problem, {}, name);
  return matmul_sm90_formula_us(problem, {choice.instance, choice.splits});
}

// "NAME@m8/4:alone" in another order.
std::string in_order(const std::string& name, char way, int group) {
  const std::size_t behind = std::min(name.find_first_of("/:"), name.size());
  return fmt::format("{}@{}{}{}", name.substr(0, name.find('@')), way, group, name.substr(behind));
}

bool is_faster(const Contender* x, const Contender* y) { return x->median_ms() < y->median_ms(); }

// Those within `share` of the fastest, `most` of them.
std::vector<Contender*> nearest(std::vector<Contender*> all, double share, std::size_t most) {
  std::sort(all.begin(), all.end(), is_faster);
  const double limit = share * all[0]->median_ms();
  std::size_t count = 0;
  while (count < std::min(most, all.size()) && all[count]->median_ms() <= limit) ++count;
  all.resize(count);
  return all;
}

// The first time of a contender. The launches before it are those that load its code and its operands' pages.
void time_briefly(Session& session, Contender& one) {
  constexpr double kLongMs = 1;
  double ms = session.time_once(one);
  session.rest(one);
  if (ms < kLongMs) {
    ms = std::min(ms, session.time_once(one));
    session.rest(one);
  }
  one.burst_ms = {ms};
}

void time_again(Session& session, const std::vector<Contender*>& all, int rounds) {
  if (all.size() > 1) session.bursts(all, rounds);
}

// Those that could be the fastest if they waited for the kernel ahead. CTAs that share nothing in clusters may
// lose by an overlap what they had of neighbours' loads; the others gain by it.
std::vector<const Contender*> worth_alone(const std::vector<Contender*>& timed) {
  constexpr double kNear = 1.12;
  constexpr double kMostGain = 1.4;
  const double least = (*std::min_element(timed.begin(), timed.end(), is_faster))->median_ms();
  std::vector<const Contender*> worth;
  for (const Contender* one : timed) {
    const Tile t = tile_of(one->name);
    const bool may_lose = t.cluster_m * t.cluster_n == 1 && one->name.find('/') == std::string::npos;
    if (one->median_ms() <= (may_lose ? kMostGain : kNear) * least) worth.push_back(one);
  }
  return worth;
}

std::vector<Timed> report(std::vector<Contender*> all) {
  std::sort(all.begin(), all.end(), is_faster);
  std::vector<Timed> timed;
  for (const Contender* one : all) timed.push_back({one->name, 1e3 * one->median_ms(), one->burst_ms.size()});
  return timed;
}

}  // namespace

std::vector<Candidate> candidates(const Shape& shape) {
  std::vector<Candidate> all;
  const auto configs = [&](unsigned splits) {
    return matmul_sm90_configs({.m = shape.m, .n = shape.n, .k = shape.k, .splits = splits}, false, false);
  };
  for (const std::string& name : configs(1)) {
    // Those with a fused epilogue are slower copies of others.
    if (name.ends_with("_fused")) continue;
    const Tile t = tile_of(name);
    const double tiles = tiles_of(shape, t);
    const unsigned blocks = along(shape.k, t.k);
    double least_rounds = 1e30;  // of whole K, in fewer parts
    for (const unsigned splits : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 10u, 12u, 16u}) {
      if (splits > 1 && (blocks / splits < 2 || along(blocks, along(blocks, splits)) != splits)) continue;
      if (splits > 1 && double(splits) * (shape.m + 15) * (shape.n + 3) * 4 > double(CublasLt::kWorkspaceBytes))
        continue;
      const double rounds = std::ceil(tiles * splits / kSms) / splits;
      if (rounds > 0.9 * least_rounds) continue;
      const std::vector<std::string> all_of = configs(splits);
      if (std::find(all_of.begin(), all_of.end(), name) == all_of.end()) continue;
      least_rounds = rounds;
      const std::string whole = splits == 1 ? name : fmt::format("{}/{}", name, splits);
      all.push_back({whole, least_us(shape, t, splits), formula_us(shape, whole)});
    }
  }
  std::sort(all.begin(), all.end(),
            [](const Candidate& x, const Candidate& y) { return x.least_us < y.least_us; });
  return all;
}

SearchResult search(Session& session, const SearchOptions& options) {
  constexpr double kHopeless = 1.15;
  constexpr double kUnlikely = 1.3;
  const Shape& shape = session.shape();
  const std::vector<Candidate> all = candidates(shape);
  double likely_us = 1e30;
  for (const Candidate& one : all) likely_us = std::min(likely_us, kUnlikely * one.formula_us);
  std::vector<Contender> contenders;
  contenders.reserve(2 * all.size());
  SearchResult result;
  std::vector<Contender*> timed;
  double least = 1e30;
  const auto is_wanted = [&](const std::string& name) {
    return options.tiles.empty() ||
           std::ranges::any_of(options.tiles, [&](const std::string& tile) { return name.starts_with(tile); });
  };
  for (const Candidate& candidate : all) {
    if (!is_wanted(candidate.name)) continue;
    const std::string name = ordered_name(shape, candidate.name);
    const bool is_hopeless = candidate.least_us > kHopeless * least && !options.is_whole;
    if (is_hopeless || (options.is_by_model && candidate.formula_us > likely_us)) {
      result.hopeless.push_back(name);
      continue;
    }
    Contender& one = contenders.emplace_back(session.heddle(name, options.is_dependent));
    if (!session.prepare(one)) continue;
    time_briefly(session, one);
    least = std::min(least, 1e3 * one.median_ms());
    timed.push_back(&one);
  }
  if (timed.empty()) throw std::runtime_error("none of the candidates can run");
  if (options.is_dependent) {
    for (const Contender* one : worth_alone(timed)) {
      Contender& other = contenders.emplace_back(session.heddle(one->name + ":alone", true));
      if (!session.prepare(other)) continue;
      time_briefly(session, other);
      timed.push_back(&other);
    }
  }
  time_again(session, nearest(timed, 1.15, 10), 2);
  time_again(session, nearest(timed, 1.05, 4), options.rounds);
  result.configs = report(timed);

  const std::vector<Contender*> best = nearest(timed, 1.04, options.ordered);
  std::vector<Contender> others;
  others.reserve(best.size() * options.groups.size() * 2);
  std::vector<Contender*> in_orders = best;
  for (const Contender* one : best) {
    const Tile t = tile_of(one->name);
    if (shape.m <= t.m * t.cluster_m || shape.n <= t.n * t.cluster_n) continue;  // every order is the same
    for (const int group : options.groups) {
      for (const char way : {'m', 'n'}) {
        const std::string name = in_order(one->name, way, group);
        if (name == one->name) continue;
        Contender& other = others.emplace_back(session.heddle(name, options.is_dependent));
        if (!session.prepare(other)) continue;
        time_briefly(session, other);
        in_orders.push_back(&other);
      }
    }
  }
  if (!others.empty()) time_again(session, nearest(in_orders, 1.03, 5), options.rounds);
  result.orders = report(in_orders);
  for (Contender& one : contenders) session.finish(one);
  for (Contender& one : others) session.finish(one);
  return result;
}

}  // namespace heddle::bench
