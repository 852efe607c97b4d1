// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the race checker share: run a kernel under many schedules, and say what was found.
#pragma once

#include "../support/schedule_share.h"

#include <heddle/host/tensor_map.h>
#include <heddle/isa/annotate.h>
#include <heddle/isa/cluster.h>
#include <heddle/isa/fence.h>
#include <heddle/isa/mbarrier.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/tma.h>
#include <heddle/isa/warp.h>
#include <heddle/sim/launch.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace heddle::race_test {

// How many random schedules a test runs beside round robin: all, or the share that this run takes.
inline int share_of(int seeds) {
  return static_cast<int>(test::schedule_share(static_cast<std::uint64_t>(seeds)));
}
inline const int kSeeds = share_of(50);

inline void wait(MbarPtr bar, std::uint32_t parity, CallSite site = CallSite::here()) {
  while (!isa::mbarrier_try_wait_parity(bar, parity, site)) {
  }
}

inline void wait_cluster(MbarPtr bar, std::uint32_t parity, CallSite site = CallSite::here()) {
  while (!isa::mbarrier_try_wait_parity_cluster(bar, parity, site)) {
  }
}

// A matrix of 32 columns of 32-bit numbers, and what else a kernel needs of global memory.
class Host {
 public:
  static constexpr std::uint32_t kColumns = 32;
  static constexpr std::uint32_t kTileRows = 32;
  static constexpr std::uint32_t kTileBytes = kTileRows * kColumns * 4;

  explicit Host(std::uint32_t tiles = 16)
      : source(tiles * kTileBytes / 4), output(tiles * kTileBytes / 4), words(4096) {
    std::iota(source.begin(), source.end(), 1u);
    memory.add("source", source.data(), source.size() * 4);
    memory.add("output", output.data(), output.size() * 4);
    memory.add("words", words.data(), words.size() * 4);
  }

  isa::TensorMap source_map() { return map_of(source); }
  isa::TensorMap output_map() { return map_of(output); }

  static isa::TensorMap map_of(std::vector<std::uint32_t>& data) {
    return make_tensor_map({.type = TensorType::kU32,
                            .rank = 2,
                            .address = data.data(),
                            .dims = {kColumns, data.size() / kColumns},
                            .strides = {kColumns * 4},
                            .box = {kColumns, kTileRows}});
  }

  std::vector<std::uint32_t> source, output, words;
  sim::GlobalMemory memory;
};

// Round robin, then random schedules with seeds 0, 1, ...
template <class K>
std::map<std::string, int> codes(Host& host, const LaunchShape& shape, const typename K::Params& params) {
  std::map<std::string, int> found;
  for (int seed = -1; seed < kSeeds; ++seed) {
    const sim::LaunchOptions options{.memory = &host.memory,
                                     .schedule = seed < 0
                                                     ? sim::Schedule::round_robin()
                                                     : sim::Schedule::random(static_cast<std::uint64_t>(seed))};
    const sim::Report report = sim::launch<K>(options, shape, params);
    ++found[report.ok() ? "silent" : std::string(name_of(report.diagnoses.front().code))];
  }
  return found;
}

// Every schedule gives one of these codes. Where the machine itself can trip over the same mistake first, its
// code is named as well.
template <class K>
void expect_found(Host& host, const LaunchShape& shape, const typename K::Params& params,
                  const std::vector<std::string>& expected) {
  int good = 0;
  std::string all;
  for (const auto& [code, count] : codes<K>(host, shape, params)) {
    all += " " + code + ":" + std::to_string(count);
    for (const std::string& wanted : expected) good += code == wanted ? count : 0;
  }
  EXPECT_EQ(good, kSeeds + 1) << "found:" << all;
}

template <class K>
void expect_silent(Host& host, const LaunchShape& shape, const typename K::Params& params, int seeds = 50) {
  for (int seed = -1; seed < share_of(seeds); ++seed) {
    const sim::LaunchOptions options{.memory = &host.memory,
                                     .schedule = seed < 0
                                                     ? sim::Schedule::round_robin()
                                                     : sim::Schedule::random(static_cast<std::uint64_t>(seed))};
    const sim::Report report = sim::launch<K>(options, shape, params);
    ASSERT_TRUE(report.ok()) << report.text();
  }
}

// Every schedule ends well, and is told of this.
template <class K>
void expect_formal(Host& host, const LaunchShape& shape, const typename K::Params& params,
                   const std::string& code) {
  for (int seed = -1; seed < kSeeds; ++seed) {
    const sim::LaunchOptions options{.memory = &host.memory,
                                     .schedule = seed < 0
                                                     ? sim::Schedule::round_robin()
                                                     : sim::Schedule::random(static_cast<std::uint64_t>(seed))};
    const sim::Report report = sim::launch<K>(options, shape, params);
    ASSERT_TRUE(report.ok()) << report.text();
    ASSERT_TRUE(std::any_of(report.formal.begin(), report.formal.end(), [&](const sim::Diagnosis& told) {
      return told.code == code;
    })) << report.remarks();
  }
}

// Nor is any told of anything.
template <class K>
void expect_nothing_formal(Host& host, const LaunchShape& shape, const typename K::Params& params) {
  for (int seed = -1; seed < kSeeds; ++seed) {
    const sim::LaunchOptions options{.memory = &host.memory,
                                     .schedule = seed < 0
                                                     ? sim::Schedule::round_robin()
                                                     : sim::Schedule::random(static_cast<std::uint64_t>(seed))};
    const sim::Report report = sim::launch<K>(options, shape, params);
    ASSERT_TRUE(report.ok() && report.formal.empty()) << report.text() << report.remarks();
  }
}

template <class K>
std::string first_line(Host& host, const LaunchShape& shape, const typename K::Params& params) {
  const sim::Report report = sim::launch<K>({.memory = &host.memory}, shape, params);
  const std::string text = report.text();
  return text.substr(0, text.find('\n'));
}

template <class K>
std::string whole_text(Host& host, const LaunchShape& shape, const typename K::Params& params) {
  return sim::launch<K>({.memory = &host.memory}, shape, params).text();
}

}  // namespace heddle::race_test
