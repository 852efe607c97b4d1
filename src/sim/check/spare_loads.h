// SPDX-License-Identifier: Apache-2.0
//
// Loads of global memory whose values come to nothing. Compilers let all warps of a CTA load a tile that is
// smaller than the CTA, and guard what is stored of it, so that of the loads of one place one counts. One that
// another warp's store overtakes does no harm then; whether that is so, the front end knows of the program, and
// what the warp stores shows.
#pragma once

#include "sim/check/by_cta.h"
#include "sim/check/finding_sink.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace heddle::sim::check {

// What becomes of the values that a load gets. If it is known, they go to registers of the same warp and, by
// these instructions alone, to memory, with a guard and an address that do not depend on them.
struct LoadUses {
  bool is_known = false;
  std::vector<CallSite> stores;
};

class SpareLoads {
 public:
  void follow(std::function<LoadUses(CallSite load)> uses) { uses_of_ = std::move(uses); }
  bool is_on() const { return uses_of_ != nullptr; }

  // A thread of this warp (its index in the cluster) stores by the instruction. What comes of a load that was
  // taken for a spare one, if that is shown now: valid until the next call.
  const Finding* store(std::uint32_t cta, std::uint32_t warp, std::uint16_t site) {
    if (last_.cta == cta && last_.warp == warp && last_.site == site) return nullptr;
    last_ = {cta, warp, site};
    Cta& here = of(cta);
    if (here.stored.size() <= warp) here.stored.resize(warp + 1);
    if (has(here.stored[warp], site)) return nullptr;
    here.stored[warp].push_back(site);
    for (const Loaded& load : here.loads) {
      if (load.warp == warp && has(uses_.at(load.site).stores, site)) return &load.finding;
    }
    return nullptr;
  }

  // Whether nothing has come of what the warp has loaded by this instruction, or will load. `words` makes what is
  // to be said if something does.
  template <class Number, class Words>
  bool is_spare(std::uint32_t cta, std::uint32_t warp, std::uint16_t site, CallSite load, const Number& number,
                const Words& words) {
    Cta& here = of(cta);
    const auto is_it = [&](const Loaded& one) { return one.warp == warp && one.site == site; };
    if (std::any_of(here.loads.begin(), here.loads.end(), is_it)) return true;
    const Uses& uses = uses_of(site, load, number);
    if (!uses.is_known) return false;
    if (warp < here.stored.size()) {
      for (const std::uint16_t stored : here.stored[warp]) {
        if (has(uses.stores, stored)) return false;
      }
    }
    here.loads.push_back({warp, site, words()});
    return true;
  }

  void forget(std::uint32_t cta) { ctas_.erase(cta); }

 private:
  struct Uses {
    bool is_known = false;
    std::vector<std::uint16_t> stores;
  };
  struct Loaded {
    std::uint32_t warp;
    std::uint16_t site;
    Finding finding;
  };
  struct Cta {
    std::vector<std::vector<std::uint16_t>> stored;  // by warp
    std::vector<Loaded> loads;                       // that were taken for spare ones
  };
  struct Last {
    std::uint32_t cta = ~std::uint32_t{0}, warp = 0;
    std::uint16_t site = 0;
  };

  static bool has(const std::vector<std::uint16_t>& sites, std::uint16_t site) {
    return std::find(sites.begin(), sites.end(), site) != sites.end();
  }
  Cta& of(std::uint32_t cta) {
    if (!ctas_.has(cta)) ctas_.set(cta, std::make_unique<Cta>());
    return *ctas_[cta];
  }
  template <class Number>
  const Uses& uses_of(std::uint16_t site, CallSite load, const Number& number) {
    const auto [found, is_new] = uses_.try_emplace(site);
    if (is_new) {
      const LoadUses uses = uses_of_(load);
      found->second.is_known = uses.is_known;
      for (const CallSite store : uses.stores) found->second.stores.push_back(number(store));
    }
    return found->second;
  }

  std::function<LoadUses(CallSite)> uses_of_;
  std::unordered_map<std::uint16_t, Uses> uses_;  // by load
  ByCta<std::unique_ptr<Cta>> ctas_;
  Last last_;
};

}  // namespace heddle::sim::check
