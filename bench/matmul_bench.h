// SPDX-License-Identifier: Apache-2.0
//
// heddle's matmul against cublasLt on one GPU, in one process: cublasLt's first choice, and the best of all that
// its heuristic returns. Two regimes. Burst: about two milliseconds of work, then six times as long without, the
// kernels in random order, medians. Sustained: each kernel alone for a while, at the power limit. Launches are in
// CUDA graphs, buffers are rotated so that nothing stays in L2, data are normal, and every output is checked.
// Where cublasLt cannot be loaded, heddle is timed alone.
#pragma once

#include <heddle/host/error.h>

#include <string>
#include <vector>

namespace heddle::bench {

struct MatmulBenchOptions {
  std::vector<std::string> shapes;  // M,N,K
  std::string shape_file;           // and those of this file, one in each line
  std::string suite;                // and those of "results" or "llm"; without any shapes, of "results". Or only
                                    // "fp8" or "moe": see scaled_suites.h; "attention" or
                                    // "decode": attention_suites.h
  bool is_tuning = false;           // search the configurations of each shape
  std::string write;                // and add what was found to this tune file
  bool is_sweeping = false;         // time every configuration of each shape, briefly
  bool is_by_model = false;         // a sweep of likely candidates
  bool is_whole = false;            // and leave out nothing
  std::vector<std::string> tiles;   // of a sweep: only these, by the beginnings of their names
  double seconds = 0;               // stop after so long; 0: never
  std::string once;                 // one launch of this shape, for a profiler
  std::string config;               // instead of the library's choice
  std::string json;                 // write the report to this file
  bool prints_json = false;
  int rounds = 21;
  int search_rounds = 3;
  double search_rest = 6;
  std::vector<int> groups = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32};
  double sustained_s = 0.5;
  bool is_alone = false;  // no kernel starts before the one ahead of it has ended
};

// Thrown where there is nothing to measure on.
class NoGpu : public InputError {
 public:
  using InputError::InputError;
};

// Throws InputError for a shape or a configuration that is none, NoGpu where there is no GPU of the right kind,
// and std::runtime_error where an output is wrong.
int run_matmul_bench(const MatmulBenchOptions& options);

}  // namespace heddle::bench
