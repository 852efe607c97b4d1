// SPDX-License-Identifier: Apache-2.0
//
// The fastest configuration of a shape, and the times of the others, in little time: every candidate is timed
// briefly, unless no card could run it as fast as one that was timed already; those that are near the fastest are
// timed again, and then the nearest of these.
#pragma once

#include "matmul_session.h"

namespace heddle::bench {

struct SearchOptions {
  int rounds = 3;           // bursts of those that are nearest
  std::size_t ordered = 2;  // how many configurations are tried in other orders of tiles
  std::vector<int> groups = {2, 8, 32};
  bool is_dependent = true;
  bool is_by_model = false;             // leave out what the cost model puts far behind
  bool is_whole = false;                // leave out nothing, not even what no card could run fast
  std::vector<std::string> tiles = {};  // only these, by the beginnings of their names; none: all
};

struct Timed {
  std::string name;  // with its order of tiles
  double us = 0;
  std::size_t bursts = 0;
};

struct SearchResult {
  std::vector<Timed> configs;  // in the library's order of tiles, the fastest first
  std::vector<Timed> orders;   // those and some in others, the fastest first
  std::vector<std::string> hopeless;
};

// Throws std::runtime_error where nothing can run.
SearchResult search(Session& session, const SearchOptions& options);

struct Candidate {
  std::string name;
  double least_us = 0;  // no card is faster
  double formula_us = 0;
};

// Every configuration, whole and with K in parts where that fills the SMs better; by least time.
std::vector<Candidate> candidates(const Shape& shape);

}  // namespace heddle::bench
