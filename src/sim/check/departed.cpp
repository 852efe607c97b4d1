// SPDX-License-Identifier: Apache-2.0
#include "sim/check/departed.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace heddle::sim::check {

std::size_t DepartedClusters::shape_of(std::vector<Departed> warps) {
  // Most are like the last one.
  const auto known = std::find(shapes_.rbegin(), shapes_.rend(), warps);
  if (known != shapes_.rend()) return static_cast<std::size_t>(std::distance(known, shapes_.rend())) - 1;
  shapes_.push_back(std::move(warps));
  return shapes_.size() - 1;
}

void DepartedClusters::add(std::uint64_t cluster, std::vector<Departed> warps) {
  if (warps.empty()) return;
  const std::uint32_t cta = warps.front().cta;
  for (Departed& warp : warps) warp.cta -= cta;
  const std::size_t shape = shape_of(std::move(warps));
  const auto next = runs_.upper_bound(cluster);
  if (next != runs_.begin()) {
    auto& [first, run] = *std::prev(next);
    const std::uint64_t at = cluster - first;
    if (at == run.count && run.shape == shape) {
      if (run.count == 1) run.step = cta - run.first_cta;
      if (cta == run.first_cta + static_cast<std::uint32_t>(at) * run.step) {
        ++run.count;
        if (next == runs_.end() || next->first != cluster + 1 || next->second.shape != shape) return;
        // This one lay between two.
        const Run& later = next->second;
        const bool goes_on = later.first_cta == cta + run.step && (later.count == 1 || later.step == run.step);
        if (!goes_on) return;
        run.count += later.count;
        runs_.erase(next);
        return;
      }
    }
  }
  if (next != runs_.end() && next->first == cluster + 1 && next->second.shape == shape) {
    Run run = next->second;
    const std::uint32_t step = run.first_cta - cta;
    if (run.count == 1 || run.step == step) {
      runs_.erase(next);
      runs_[cluster] = {run.count + 1, cta, step, shape};
      return;
    }
  }
  runs_[cluster] = {1, cta, 0, shape};
}

Departed DepartedClusters::find(std::uint64_t cluster, std::uint32_t warp) const {
  const auto& [first, run] = *std::prev(runs_.upper_bound(cluster));
  Departed found = shapes_[run.shape][warp];
  found.cta += run.first_cta + static_cast<std::uint32_t>(cluster - first) * run.step;
  return found;
}

}  // namespace heddle::sim::check
