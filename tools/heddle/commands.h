// SPDX-License-Identifier: Apache-2.0
//
// The commands of the program. Each returns its exit status: 0 well, 1 a check or comparison failed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace heddle {
struct TracedLaunch;
}

namespace heddle::bench {
struct MatmulBenchOptions;
}

namespace heddle::tool {

inline constexpr int kWell = 0;
inline constexpr int kFailed = 1;
inline constexpr int kBadUsage = 2;

// What runs when the program is called without arguments. Its pictures go to the folder.
int main_job(const std::string& folder = "heddle_tour");

// The script that completes commands in a shell (bash, zsh, fish), or the manual page (man).
std::string completion(const CLI::App& app, const std::string& kind);

struct InfoOptions {
  bool json = false;
};
int info(const InfoOptions& options);

// Which schedules `check` and `exec` run.
struct ScheduleOptions {
  std::string schedule;          // a token; empty: round robin and then `schedules` more
  std::uint32_t schedules = 0;   // of which each begins from the same memory
  std::uint64_t seed = 1;        // of the first of them
  std::uint32_t depth = 0;       // they are those of PCT; 0: random
  bool exhaust = false;          // every order that can matter instead,
  std::uint64_t limit = 10'000;  // up to so many executions of a launch
};
// Counts are checked before anything runs.
void add_schedule_options(CLI::App& command, ScheduleOptions& options);

struct CheckOptions : ScheduleOptions {
  CheckOptions() { schedules = 100; }

  std::string kernel = "tile_copy";
  std::string device = "sim:sm90";
  std::string mistake;
  std::uint32_t tiles = 0;  // 0: those of a tensor of 200 x 300 elements, 40
  std::uint32_t stages = 4;
  std::uint32_t consumer_warps = 4;
  std::uint32_t cluster = 1;
  bool strict = false;
  std::vector<std::string> accept;
  bool json = false;
};
void add_check_options(CLI::App& command, CheckOptions& options);
int check(const CheckOptions& options);

// Of a kernel that is run on random data: see trial.h.
struct TrialOptions {
  std::string device = "auto";
  std::uint64_t seed = 1;
  std::uint32_t schedules = 0;  // random ones, after round robin
  std::string schedule;         // one only
  std::uint32_t sms = 8;
  bool no_races = false;
  bool strict = false;
  std::vector<std::string> accept;
  bool json = false;
};

struct MatmulOptions : TrialOptions {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batches = 1;
  std::int64_t splits = 1;
  std::string a_type = "bf16";
  std::string b_type;  // empty: as a_type
  std::string out_type = "bf16";
  std::string a_layout = "mk";
  std::string b_layout = "nk";
  std::string scaled;                    // empty: no scales
  std::vector<std::int64_t> group_rows;  // empty: no groups
  bool places = false;                   // groups have places of equal size
  std::string scales;                    // of FP8 on Hopper; empty: none
  bool exact = false;                    // of FP8: added up in float
  bool packed = false;                   // rows begin anywhere
  float alpha = 1;
  float beta = 0;
  bool bias = false;
  std::string activation = "none";
  bool residual = false;
  std::string config;  // empty: chosen
  bool list_configs = false;
  bool integers = false;
  // On a GPU: run a build that records, and add what it did. Null: do not.
  std::vector<TracedLaunch>* traced = nullptr;
};
CLI::App* add_matmul(CLI::App& app, MatmulOptions& options);
void add_matmul_options(CLI::App& command, MatmulOptions& options);
int matmul(const MatmulOptions& options);

struct AttentionOptions : TrialOptions {
  std::int64_t batches = 1;
  std::int64_t heads = 1;
  std::int64_t key_heads = 0;  // 0: as heads
  std::int64_t queries = 0;
  std::int64_t keys = 0;  // 0: as queries
  std::int64_t head_dim = 128;
  std::int64_t value_dim = 0;  // 0: as head_dim
  std::string type = "bf16";
  bool causal = false;
  std::int64_t window = 0;
  float soft_cap = 0;
  float scale = 0;
  bool sinks = false;
  bool ragged = false;
  bool decode = false;
  std::int64_t page_size = 0;
};
CLI::App* add_attention(CLI::App& app, AttentionOptions& options);
int attention(const AttentionOptions& options);

struct TraceOptions {
  std::string out = "trace.html";
  std::uint64_t events = 500'000;
  std::string file;  // of what happened on a GPU
  CheckOptions check;
  MatmulOptions matmul;
};
CLI::App* add_trace(CLI::App& app, TraceOptions& options);
int trace(const TraceOptions& options, const CLI::App& command);

CLI::App* add_bench(CLI::App& app, bench::MatmulBenchOptions& options);
// Throws InputError where there is no GPU, or no part of the program for one.
int bench(const bench::MatmulBenchOptions& options);

struct ExecOptions : ScheduleOptions {
  std::string arch = "sm90";
  std::uint32_t sms = 16;
  std::uint64_t budget = 0;  // instructions of a launch; 0: as many as it takes
  bool no_races = false;
  bool strict = false;                    // formal findings end a launch
  std::vector<std::string> accept;        // mistakes that do not end a launch, as sim::AcceptRule has them
  std::vector<std::string> suppressions;  // files of them
  bool stats = false;
  std::string json;   // a file for what is found; empty: none
  std::string trace;  // a file for the timeline; empty: none
  std::uint64_t trace_events = 500'000;
  std::vector<std::string> command;  // the program and its arguments
};
CLI::App* add_exec(CLI::App& app, ExecOptions& options);
// Ends with the program's own status.
int exec(const ExecOptions& options);
// Where its options ask for findings in a file: why they cannot be what they are.
void tell_refused_exec(const CLI::App& command, const char* what);

}  // namespace heddle::tool
