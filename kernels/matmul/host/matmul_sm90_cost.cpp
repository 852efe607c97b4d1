// SPDX-License-Identifier: Apache-2.0
#include "matmul_sm90_cost.h"

#include "generated/matmul_sm90_model.h"
#include "matmul/device/matmul_sm90_instances.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <numeric>
#include <vector>

namespace heddle {

namespace {

double up(double elems, double step) { return std::ceil(elems / step); }

double norm(double p, std::initializer_list<double> terms) {
  const double most = std::max(terms);
  double sum = 0;
  for (const double term : terms) sum += term == most ? 1 : std::pow(term / most, p);
  return most * std::pow(sum, 1 / p);
}

// The same with p = 8.
double firm_norm(std::initializer_list<double> terms) {
  const double most = std::max(terms);
  double sum = 0;
  for (const double term : terms) {
    const double squared = (term / most) * (term / most);
    sum += squared * squared * squared * squared;
  }
  return most * std::sqrt(std::sqrt(std::sqrt(sum)));
}

// What follows from a problem and a tile.
struct Work {
  double tiles;  // those that clusters add at the edges included
  double busy;   // and not
  bool is_joined;
  double sms;
  double rounds;  // of tiles over the SMs
  double blocks;  // along K
  double copied;  // rows of A and B in a stage, at most
  double copied_b;
  int alignment;  // of rows of K: 0 for 128 bytes, 1 for 32, 2 for less
};

Work work_of(const MatmulProblem& p, const MatmulSm90Config& c, std::uint32_t splits) {
  const auto m = static_cast<double>(c.is_swapped ? p.n : p.m);
  const auto n = static_cast<double>(c.is_swapped ? p.m : p.n);
  const double tile_m = c.tile_m;
  const double tile_n = c.tile_n;
  Work w{};
  w.tiles = up(m, tile_m * c.cluster_m) * c.cluster_m * up(n, tile_n * c.cluster_n) * c.cluster_n * splits;
  w.busy = up(m, tile_m) * up(n, tile_n) * splits;
  w.is_joined = splits > 1 && c.joins(splits);
  w.sms = kMatmulSm90SmsOfClusters[w.is_joined ? splits : c.cluster()];
  w.rounds = std::ceil(w.tiles / w.sms);
  w.blocks = up(up(static_cast<double>(p.k), c.tile_k), splits);
  w.copied = std::min(tile_m, up(m, 8) * 8);
  w.copied_b = std::min(tile_n, up(n, 8) * 8);
  w.alignment = p.k % 64 == 0 ? 0 : p.k % 16 == 0 ? 1 : 2;
  return w;
}

double formula(const MatmulProblem& p, std::uint32_t splits, bool is_alone, const MatmulSm90InstanceCosts& own) {
  constexpr double kCyclesPerUs = 1980;
  constexpr const MatmulSm90Costs& all = kMatmulSm90Costs;
  const MatmulSm90Config& c = own.config;
  const Work w = work_of(p, c, splits);
  const auto m = static_cast<double>(p.m);
  const auto n = static_cast<double>(p.n);
  const auto k = static_cast<double>(p.k);
  const bool is_scattered = !is_alone && c.cluster() == 1 && !w.is_joined;
  const double again = (w.alignment == 0   ? 1
                        : w.alignment == 1 ? all.rows_off_128
                                           : all.rows_off_32) *
                       (is_scattered ? all.scattered : 1);

  const double memory_bytes = 2 * (m * k + n * k + m * n);
  const double l2_bytes = w.busy * w.blocks * 2 * c.tile_k * (w.copied / c.cluster_n + w.copied_b / c.cluster_m);
  const double math = double(c.tile_m) * c.tile_n * c.tile_k / 2048 / kCyclesPerUs;
  const double latency = all.latency_us + all.memory_latency_us * std::min(1.0, memory_bytes / l2_bytes);
  const double block =
      firm_norm({math / own.efficiency, again * 2 * c.tile_k * (w.copied + w.copied_b) / all.sm_bytes_per_us,
                 latency / c.stages});
  const double sm = w.rounds * w.blocks * block + (c.form == MatmulForm::kPingpong ? 1 : w.rounds) * own.store_us;
  const double l2 = again * l2_bytes / all.l2_bytes_per_us;
  const double flops = 2 * w.busy * w.blocks * c.tile_m * c.tile_n * c.tile_k;
  const double run = norm(all.sharpness, {sm, memory_bytes / all.memory_bytes_per_us, l2,
                                          flops / all.flops_per_us + all.l2_bytes_of_power * l2}) *
                     (w.tiles > w.busy ? 1 + all.idle_cluster : 1);
  const double sent = 4.0 * c.tile_m * c.tile_n * (splits - 1) / splits;
  const double added = splits == 1   ? 0
                       : w.is_joined ? all.join_us + sent / all.joined_bytes_per_us
                                     : all.add_us + 4.0 * splits * m * n / all.added_bytes_per_us;
  const double setup = own.setup_us;
  if (is_alone) return own.fixed_us + setup + run + all.alone_us + added;
  const double in_flight = std::max(1.0, std::floor(w.sms / w.tiles));
  return firm_norm({own.fixed_us + run, all.launch_us + setup, (own.fixed_us + setup + run) / in_flight}) + added;
}

// Where a problem lies for an instance: near ones are alike.
using Place = std::array<float, std::size(kMatmulSm90PlaceScales)>;

Place place_of(const MatmulProblem& p, const MatmulSm90Config& c, std::uint32_t splits, bool is_alone) {
  const Work w = work_of(p, c, splits);
  const double log_m = std::log2(static_cast<double>(p.m));
  const double log_n = std::log2(static_cast<double>(p.n));
  const double log_k = std::log2(static_cast<double>(p.k));
  const double wave = std::min(w.tiles / w.sms / w.rounds, 1.0);
  const double at[] = {log_m,
                       log_n,
                       log_k,
                       std::log2(w.tiles),
                       wave,
                       double(w.alignment),
                       std::min(log_m, 6.0),
                       std::log2(double(splits)),
                       is_alone ? 1.0 : 0.0};
  static_assert(std::size(at) == std::size(kMatmulSm90PlaceScales));
  Place place;
  for (std::size_t i = 0; i < place.size(); ++i) place[i] = static_cast<float>(kMatmulSm90PlaceScales[i] * at[i]);
  return place;
}

// Some that were timed, coordinate by coordinate: a choice looks at thousands, and instructions do it for several
// at once.
struct TimedPlaces {
  static constexpr std::size_t kCount = 8;
  static constexpr float kNowhere = 1e9f;  // far from all, where there are fewer

  std::array<std::array<float, kCount>, std::tuple_size_v<Place>> at;
  std::array<float, kCount> weight;
};

// Of each fitted instance.
const std::vector<TimedPlaces>& timed_places(std::size_t fitted) {
  static const auto all = [] {
    std::array<std::vector<TimedPlaces>, std::size(kMatmulSm90InstanceCosts)> places;
    std::array<std::size_t, std::size(kMatmulSm90InstanceCosts)> counts{};
    for (const MatmulSm90Time& time : kMatmulSm90Times) {
      const MatmulSm90TimedShape& shape = kMatmulSm90TimedShapes[time.shape];
      const Place at = place_of({.m = shape.m, .n = shape.n, .k = shape.k},
                                kMatmulSm90InstanceCosts[time.instance].config, time.splits, time.is_alone);
      std::vector<TimedPlaces>& of = places[time.instance];
      const std::size_t number = counts[time.instance]++ % TimedPlaces::kCount;
      if (number == 0) {
        of.emplace_back();
        for (auto& coordinates : of.back().at) coordinates.fill(TimedPlaces::kNowhere);
        of.back().weight.fill(0);
      }
      for (std::size_t i = 0; i < at.size(); ++i) of.back().at[i][number] = at[i];
      of.back().weight[number] = static_cast<float>(time.weight_4096) / 4096;
    }
    return places;
  }();
  return all[fitted];
}

// The logarithm of the time over the formula's, by the times nearby, and by how few they are.
double missed_nearby(const MatmulProblem& p, std::size_t fitted, const MatmulSm90Way& way) {
  const Place at = place_of(p, kMatmulSm90InstanceCosts[fitted].config, way.splits, way.is_alone);
  using Floats = std::array<float, TimedPlaces::kCount>;
  Floats sums{};
  Floats counts{};  // of times, of which only the very near ones count
  for (const TimedPlaces& timed : timed_places(fitted)) {
    Floats apart{};
    for (std::size_t i = 0; i < at.size(); ++i) {
      for (std::size_t j = 0; j < apart.size(); ++j) {
        apart[j] += (at[i] - timed.at[i][j]) * (at[i] - timed.at[i][j]);
      }
    }
    // 1 at the same place. Nearly a Gaussian function, without an exponential: a power of 64.
    Floats near{};
    for (std::size_t j = 0; j < near.size(); ++j) near[j] = std::max(1 - apart[j] / 64, 0.0f);
    for (int i = 0; i < 6; ++i) {
      for (float& one : near) one *= one;
    }
    for (std::size_t j = 0; j < near.size(); ++j) {
      sums[j] += near[j] * timed.weight[j];
      counts[j] += near[j] * near[j] * (near[j] * near[j]);
    }
  }
  const float sum = std::accumulate(sums.begin(), sums.end(), 0.0f);
  const float count = std::accumulate(counts.begin(), counts.end(), 0.0f);
  return double{sum + kMatmulSm90Doubt * kMatmulSm90Few / (kMatmulSm90Few + count)};
}

double distance(const MatmulSm90Config& x, const MatmulSm90Config& y) {
  const auto apart = [](double one, double other) { return std::abs(std::log(one / other)); };
  return (x.form == y.form ? 0 : 8) + (x.is_swapped == y.is_swapped ? 0 : 1) + apart(x.tile_m, y.tile_m) +
         apart(x.tile_n, y.tile_n) + apart(x.tile_k, y.tile_k) / 4 + apart(x.stages, y.stages) / 8 +
         (x.cluster_m == y.cluster_m && x.cluster_n == y.cluster_n ? 0 : 0.01);
}

// The index of the fitted instance that an instance counts as.
std::size_t fitted_as(std::uint32_t instance) {
  static const auto all = [] {
    std::array<std::size_t, kMatmulSm90InstanceCount> fitted{};
    for (std::uint32_t i = 0; i < kMatmulSm90InstanceCount; ++i) {
      const auto* nearest =
          std::ranges::min_element(kMatmulSm90InstanceCosts, {}, [&](const MatmulSm90InstanceCosts& costs) {
            return distance(kMatmulSm90Instances[i].config, costs.config);
          });
      fitted[i] = static_cast<std::size_t>(nearest - kMatmulSm90InstanceCosts);
    }
    return fitted;
  }();
  return all[instance];
}

// The constants of the instance that is fitted, with the tile of the one that is asked about.
MatmulSm90InstanceCosts costs_of(std::uint32_t instance) {
  MatmulSm90InstanceCosts costs = kMatmulSm90InstanceCosts[fitted_as(instance)];
  costs.config = kMatmulSm90Instances[instance].config;
  return costs;
}

}  // namespace

double matmul_sm90_formula_us(const MatmulProblem& problem, const MatmulSm90Way& way) {
  return formula(problem, way.splits, way.is_alone, costs_of(way.instance));
}

double matmul_sm90_correction(const MatmulProblem& problem, const MatmulSm90Way& way) {
  // Without an overlap few ways were timed, those that looked well for it: where all are to be compared without,
  // what the formula missed with it says more.
  MatmulSm90Way timed = way;
  timed.is_alone = way.is_alone && problem.is_dependent;
  return std::exp(missed_nearby(problem, fitted_as(way.instance), timed));
}

double matmul_sm90_least_correction(std::uint32_t instance) {
  return kMatmulSm90InstanceCosts[fitted_as(instance)].least_correction;
}

double matmul_sm90_us(const MatmulProblem& problem, const MatmulSm90Way& way) {
  return matmul_sm90_formula_us(problem, way) * matmul_sm90_correction(problem, way);
}

}  // namespace heddle
