// SPDX-License-Identifier: Apache-2.0
//
// The CTAs of a cluster as a small matrix: cluster.m of them along M, cluster.n along N. Ranks count along M
// first, which is the hardware's order for a launch with cluster dimensions {m, n, 1}. With cta_group 2 the CTAs
// 2i and 2i + 1 are a pair, which lies along M; the even one leads.
//
//        n = 0   n = 1
//  m = 0   0       2         cluster 2 x 2: CTA 0 shares its rows of A with CTA 2,
//  m = 1   1       3         and its columns of B with CTA 1
#pragma once

#include <heddle/isa/cluster.h>
#include <heddle/isa/target.h>

namespace heddle::inline HEDDLE_TARGET {

struct ClusterShape {
  std::uint32_t m = 1;
  std::uint32_t n = 1;

  HEDDLE_HOST_DEVICE constexpr std::uint32_t size() const { return m * n; }
  bool operator==(const ClusterShape&) const = default;
};

struct ClusterCoordinates {
  std::uint32_t m;
  std::uint32_t n;
};

template <ClusterShape cluster>
HEDDLE_HOST_DEVICE constexpr ClusterCoordinates coordinates_of(std::uint32_t cta_rank) {
  return {cta_rank % cluster.m, cta_rank / cluster.m};
}

// How CTAs work together: the shape of their cluster, and how many of them one MMA spans.
struct ClusterConfig {
  ClusterShape cluster = {};
  std::uint32_t cta_group = 1;

  HEDDLE_HOST_DEVICE constexpr std::uint32_t size() const { return cluster.size(); }
  bool operator==(const ClusterConfig&) const = default;
};

// These appear in the compile error.
template <std::uint32_t ctas>
struct CtasAlongM {};
template <std::uint32_t ctas>
struct CtasAlongN {};
template <std::uint32_t ctas>
struct CtaGroup {};

// True, or a compile error that names the numbers.
template <ClusterConfig config>
constexpr bool check_cluster();

// CTAs that hold the same tile of A: those of the same row. Bit i is CTA i of the cluster.
template <ClusterConfig config>
HEDDLE_HOST_DEVICE constexpr std::uint16_t a_multicast_mask(std::uint32_t cta_rank) {
  std::uint32_t mask = 0;
  for (std::uint32_t n = 0; n < config.cluster.n; ++n) mask |= 1u << n * config.cluster.m;
  return static_cast<std::uint16_t>(mask << cta_rank % config.cluster.m);
}

// CTAs that hold the same part of a tile of B: those of the same column, and in pairs, whose CTAs hold half a
// tile each, those with the same place in the pair.
template <ClusterConfig config>
HEDDLE_HOST_DEVICE constexpr std::uint16_t b_multicast_mask(std::uint32_t cta_rank) {
  std::uint32_t mask = 0;
  for (std::uint32_t m = 0; m < config.cluster.m; m += config.cta_group) mask |= 1u << m;
  const std::uint32_t first = cta_rank / config.cluster.m * config.cluster.m + cta_rank % config.cta_group;
  return static_cast<std::uint16_t>(mask << first);
}

// CTAs that one MMA concerns: itself, and with cta_group 2 its peer.
template <ClusterConfig config>
HEDDLE_HOST_DEVICE constexpr std::uint16_t mma_complete_mask(std::uint32_t cta_rank) {
  const std::uint32_t all = (1u << config.cta_group) - 1;
  return static_cast<std::uint16_t>(all << cta_rank / config.cta_group * config.cta_group);
}

// CTAs whose copies an MMA issued by this CTA has read, directly or as a part of what a multicast brought: those
// of its rows (of both rows of a pair) and of its column. They are told when the MMA is done with its input.
template <ClusterConfig config>
HEDDLE_HOST_DEVICE constexpr std::uint16_t input_release_mask(std::uint32_t cta_rank) {
  const std::uint32_t column = ((1u << config.cluster.m) - 1) << cta_rank / config.cluster.m * config.cluster.m;
  std::uint32_t mask = column;
  const std::uint32_t leader = cta_rank / config.cta_group * config.cta_group;
  for (std::uint32_t i = 0; i < config.cta_group; ++i) mask |= a_multicast_mask<config>(leader + i);
  return static_cast<std::uint16_t>(mask);
}

namespace detail {

HEDDLE_HOST_DEVICE constexpr std::uint32_t ceil_div(std::uint32_t a, std::uint32_t b) {
  return a / b + (a % b == 0 ? 0 : 1);
}

template <bool divides, bool is_small_enough, class... Numbers>
struct CheckedCluster {
  static_assert(divides,
                "the cluster does not consist of CTA groups: CheckedCluster lists the CTAs along M and N and the "
                "CTA group. Make CTAs along M a multiple of the CTA group, which is 1 or 2");
  static_assert(
      is_small_enough,
      "a cluster has 1 to 16 CTAs, at most 8 of them without a special launch attribute: CheckedCluster "
      "lists the CTAs along M and N. Make their product smaller, and neither of them 0");
  static constexpr bool kIsChecked = true;
};

}  // namespace detail

template <ClusterConfig config>
constexpr bool check_cluster() {
  constexpr bool is_group = config.cta_group == 1 || config.cta_group == 2;
  constexpr std::uint32_t size = config.cluster.size();
  return detail::CheckedCluster < is_group && config.cluster.m % (is_group ? config.cta_group : 1) == 0,
         (size > 0 && size <= isa::kMaxCluster), CtasAlongM<config.cluster.m>, CtasAlongN<config.cluster.n>,
         CtaGroup < config.cta_group >> ::kIsChecked;
}

}  // namespace heddle::inline HEDDLE_TARGET
