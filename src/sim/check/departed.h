// SPDX-License-Identifier: Apache-2.0
//
// Who is left of clusters that have ended: what reports need. Clusters that follow one another and are alike, as
// those of a row of a grid are, take one entry together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace heddle::sim::check {

struct Departed {
  std::uint32_t cta;
  std::uint32_t first_thread;
  const char* role;  // of its first lane

  bool operator==(const Departed&) const = default;
};

class DepartedClusters {
 public:
  // `warps`: those of the cluster, by their number in it.
  void add(std::uint64_t cluster, std::vector<Departed> warps);
  Departed find(std::uint64_t cluster, std::uint32_t warp) const;

  std::size_t entries() const { return runs_.size(); }

 private:
  struct Run {
    std::uint64_t count;      // of clusters
    std::uint32_t first_cta;  // of the first one
    std::uint32_t step;       // from one's first CTA to the next one's
    std::size_t shape;
  };
  std::size_t shape_of(std::vector<Departed> warps);

  std::vector<std::vector<Departed>> shapes_;  // with CTAs counted from the cluster's first
  std::map<std::uint64_t, Run> runs_;          // by their first cluster
};

}  // namespace heddle::sim::check
