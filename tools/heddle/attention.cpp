// SPDX-License-Identifier: Apache-2.0
//
// Attention of random data on a device, outputs and log-sum-exps compared with double.
#include "commands.h"

#include "attention/attention.h"
#include "attention/attention_case.h"
#include "progress.h"

#include <heddle/host/error.h>
#include <heddle/sim/schedule.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <chrono>

namespace heddle::tool {

namespace {

using reference::AttentionCase;
using reference::AttentionVerdict;

// Beyond so many multiply-adds only a part of the queries is compared.
constexpr double kMostMacs = 2e9;

AttentionElement type_of(const std::string& name) {
  if (name == "bf16") return AttentionElement::kBf16;
  if (name == "fp16") return AttentionElement::kFp16;
  throw InputError(fmt::format("--type is '{}'; there are bf16 and fp16", name));
}

AttentionCase case_of(const AttentionOptions& o) {
  if (o.page_size != 0 && !o.decode) {
    throw InputError(
        fmt::format("--page-size is {} without --decode; a cache in pages is for decoding", o.page_size));
  }
  AttentionCase one;
  one.problem = {.batches = o.batches,
                 .heads = o.heads,
                 .key_heads = o.key_heads,
                 .queries = o.queries,
                 .keys = o.keys == 0 ? o.queries : o.keys,
                 .head_dim = o.head_dim,
                 .value_dim = o.value_dim,
                 .type = type_of(o.type),
                 .is_causal = o.causal,
                 .window = o.window,
                 .soft_cap = o.soft_cap,
                 .scale = o.scale};
  one.is_decode = o.decode;
  one.page_size = o.page_size;
  one.is_ragged = o.ragged;
  one.has_sinks = o.sinks;
  one.seed = o.seed;
  return one;
}

// Before the data are made, and the machine starts to swap.
void check_memory(double bytes) {
  const double have = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (bytes > have) {
    throw InputError(
        fmt::format("the tensors and their reference take {:.3g} bytes; this machine has {:.3g}", bytes, have));
  }
}

std::vector<std::string> schedules_of(const AttentionOptions& options, const DeviceId& device) {
  if (!options.schedule.empty()) return {sim::Schedule::parse(options.schedule).name()};
  std::vector<std::string> schedules = {"rr"};
  for (std::uint32_t s = 0; !device.is_gpu() && s < options.schedules; ++s) {
    schedules.push_back(sim::Schedule::random(options.seed + s).name());
  }
  return schedules;
}

// The command without what says which schedules it runs.
std::string again_of(const AttentionOptions& o, const DeviceId& device) {
  const AttentionOptions plain;
  std::string text = fmt::format("heddle attention --queries {} --device {}", o.queries, device.name());
  const auto add = [&](const char* option, const auto& value, const auto& usual) {
    if (value != usual) text += fmt::format(" {} {}", option, value);
  };
  const auto flag = [&](const char* option, bool is_set) {
    if (is_set) text += fmt::format(" {}", option);
  };
  add("--keys", o.keys, plain.keys);
  add("--batches", o.batches, plain.batches);
  add("--heads", o.heads, plain.heads);
  add("--key-heads", o.key_heads, plain.key_heads);
  add("--head-dim", o.head_dim, plain.head_dim);
  add("--value-dim", o.value_dim, plain.value_dim);
  add("--type", o.type, plain.type);
  flag("--causal", o.causal);
  add("--window", o.window, plain.window);
  add("--soft-cap", o.soft_cap, plain.soft_cap);
  add("--scale", o.scale, plain.scale);
  flag("--sinks", o.sinks);
  flag("--ragged", o.ragged);
  flag("--decode", o.decode);
  add("--page-size", o.page_size, plain.page_size);
  add("--seed", o.seed, plain.seed);
  add("--sms", o.sms, plain.sms);
  flag("--no-races", o.no_races);
  flag("--strict", o.strict);
  for (const std::string& rule : o.accept) text += " --accept " + rule;
  return text;
}

struct Tally {
  std::uint32_t runs = 0;
  std::uint32_t reports = 0;
  std::uint32_t wrong = 0;
  std::string first;    // the first report, or what was wrong
  std::string remarks;  // of the first run
  double seconds = 0;   // of the first run: of the kernel on a GPU, otherwise by the clock on the wall
  AttentionVerdict verdict;
};

Tally run_all(AttentionCase& one, const DeviceId& device, const AttentionOptions& options) {
  const std::vector<std::string> schedules = schedules_of(options, device);
  RunOptions run{.kernel = "attention",
                 .again = again_of(options, device),
                 .sms = options.sms,
                 .check_races = !options.no_races,
                 .strict = options.strict,
                 .accepted = options.accept};
  Tally tally;
  for (const std::string& schedule : schedules) {
    run.schedule = schedule;
    one.reset_output();
    const auto start = std::chrono::steady_clock::now();
    RunOutcome outcome;
    {
      const Ticker ticker(fmt::format("schedule {} of {}", tally.runs + 1, schedules.size()));
      outcome = one.is_decode ? attention_decode(one.decode_problem(), one.decode_tensors(), device, run)
                              : heddle::attention(one.problem, one.tensors(), device, run);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (tally.runs++ == 0) tally.seconds = device.is_gpu() ? outcome.kernel_ms / 1e3 : took.count();
    if (tally.runs == 1) tally.remarks = outcome.remarks;
    if (!outcome.ok()) {
      if (tally.reports++ == 0) tally.first = outcome.report;
      continue;
    }
    const AttentionVerdict verdict = one.verify(kMostMacs);
    if (!verdict.ok() && tally.wrong++ == 0) {
      tally.verdict = verdict;
      if (tally.first.empty()) tally.first = fmt::format("with schedule {}, {}\n", schedule, verdict.wrong);
    } else if (tally.wrong == 0 && (tally.verdict.checked == 0 ||
                                    verdict.error * tally.verdict.bound > tally.verdict.error * verdict.bound)) {
      tally.verdict = verdict;
    }
  }
  return tally;
}

// "batches 2, heads 8 over 2, queries 64, keys 100, head 128".
std::string shape_of(const AttentionProblem& p) {
  const std::int64_t key_heads = p.key_heads == 0 ? p.heads : p.key_heads;
  const std::int64_t value_dim = p.value_dim == 0 ? p.head_dim : p.value_dim;
  return fmt::format("batches {}, heads {}{}, queries {}, keys {}, head {}{}", p.batches, p.heads,
                     key_heads == p.heads ? "" : fmt::format(" over {}", key_heads), p.queries, p.keys,
                     p.head_dim, value_dim == p.head_dim ? "" : fmt::format(" and {}", value_dim));
}

void print(const Tally& tally, const AttentionOptions& o, AttentionCase& one, const DeviceId& device) {
  const auto elements = static_cast<std::int64_t>(one.o.size());
  const double flops = 2 * one.macs();
  if (o.json) {
    const nlohmann::json json{{"batches", one.problem.batches},
                              {"heads", one.problem.heads},
                              {"key_heads", o.key_heads == 0 ? o.heads : o.key_heads},
                              {"queries", one.problem.queries},
                              {"keys", one.problem.keys},
                              {"head_dim", o.head_dim},
                              {"value_dim", o.value_dim == 0 ? o.head_dim : o.value_dim},
                              {"type", o.type},
                              {"is_causal", o.causal},
                              {"window", o.window},
                              {"soft_cap", o.soft_cap},
                              {"has_sinks", o.sinks},
                              {"is_ragged", o.ragged},
                              {"is_decode", o.decode},
                              {"page_size", o.page_size},
                              {"device", device.name()},
                              {"seed", o.seed},
                              {"schedules", tally.runs},
                              {"reports", tally.reports},
                              {"wrong_outputs", tally.wrong},
                              {"elements", elements},
                              {"elements_checked", tally.verdict.checked},
                              {"largest_error", tally.verdict.error},
                              {"error_bound", tally.verdict.bound},
                              {"lse_error", tally.verdict.lse_error},
                              {"seconds", tally.seconds},
                              {"seconds_are", device.is_gpu() ? "kernel" : "wall"},
                              {"first", tally.first},
                              {"remarks", tally.remarks}};
    fmt::print("{}\n", json.dump(2));
    return;
  }
  if (!tally.first.empty()) fmt::print("{}\n", tally.first);
  if (!tally.remarks.empty()) fmt::print("{}\n", tally.remarks);
  fmt::print("{} of {}, {}{}, on {}\n", o.decode ? "decoding attention" : "attention", shape_of(one.problem),
             o.type, o.causal ? ", causal" : "", device.name());
  fmt::print("  runs            {}, {} with a report, {} with a wrong output\n", tally.runs, tally.reports,
             tally.wrong);
  if (tally.verdict.checked > 0) {
    fmt::print("  compared        {} of {} elements with sums in double\n", tally.verdict.checked, elements);
    fmt::print("  largest error   {:.3g}, bound {:.3g}, where it comes nearest to it; log-sum-exp {:.2g}\n",
               tally.verdict.error, tally.verdict.bound, tally.verdict.lse_error);
  }
  if (device.is_gpu()) {
    fmt::print("  time            {:.2f} us in the kernel{}, one cold launch\n", tally.seconds * 1e6,
               o.causal || o.ragged || tally.seconds <= 0
                   ? ""
                   : fmt::format(", {:.1f} TFLOP/s", flops / tally.seconds / 1e12));
  } else {
    fmt::print("  time            {:.2f} s in the simulated SM\n", tally.seconds);
  }
}

}  // namespace

CLI::App* add_attention(CLI::App& app, AttentionOptions& o) {
  CLI::App* command =
      app.add_subcommand("attention",
                         "Attention of random queries, keys and values, outputs compared with sums in double;\n"
                         "exit status 1 on a wrong output or a report");
  command->add_option("--queries", o.queries, "Of each batch; with --ragged, at most")->required();
  command->add_option("--keys", o.keys, "Of each batch, as many as queries unless told");
  command->add_option("--batches", o.batches, "Independent sequences")->capture_default_str();
  command->add_option("--heads", o.heads, "Of queries")->capture_default_str();
  command->add_option("--key-heads", o.key_heads,
                      "Of keys and values, shared by groups of heads; as --heads unless told");
  command->add_option("--head-dim", o.head_dim, "Numbers of a query and of a key")->capture_default_str();
  command->add_option("--value-dim", o.value_dim, "Numbers of a value; as --head-dim unless told");
  command->add_option("--type", o.type, "bf16 or fp16")->capture_default_str();
  command->add_flag("--causal", o.causal, "Queries see no keys after their own; the last sees the last");
  command->add_option("--window", o.window, "With --causal: a query sees so many keys");
  command->add_option("--soft-cap", o.soft_cap, "Scores stay within it");
  command->add_option("--scale", o.scale, "Of scores; 1 / sqrt(head dim) unless told");
  command->add_flag("--sinks", o.sinks, "Each head has a score without a value");
  command->add_flag("--ragged", o.ragged, "Batches of random lengths, one after another");
  command->add_flag("--decode", o.decode, "The kernel for few queries over a long cache");
  command->add_option("--page-size", o.page_size, "With --decode: the cache lies in pages of so many keys");
  command->add_option("--device", o.device, "auto, cuda:N, sim:sm90 or sim:sm100")->capture_default_str();
  command->add_option("--seed", o.seed, "Of the data and of the first random schedule")->capture_default_str();
  command->add_option("--schedules", o.schedules, "Simulated SM: so many random schedules after round robin")
      ->capture_default_str();
  command->add_option("--schedule", o.schedule, "Simulated SM: one schedule only, rr or a seed in hexadecimal");
  command->add_option("--sms", o.sms, "Simulated SM: how many, 1 to 1024")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_flag("--no-races", o.no_races, "Simulated SM: do not look for races, which is faster");
  command->add_flag("--strict", o.strict, "Simulated SM: formal findings end the run, too");
  command->add_option("--accept", o.accept, "Simulated SM: a mistake that does not end the run, as for exec")
      ->allow_extra_args(false)
      ->type_name("CODE");
  command->add_flag("--json", o.json, "Print JSON");
  command->footer(
      "Examples:\n"
      "  heddle attention --queries 200 --keys 300 --heads 4 --key-heads 2 --causal --device sim:sm90\n"
      "  heddle attention --queries 1 --keys 500 --heads 8 --key-heads 1 --decode --page-size 16 --ragged");
  return command;
}

int attention(const AttentionOptions& options) {
  const DeviceId device = find_device(options.device);
  AttentionCase one = case_of(options);
  check_memory(one.host_bytes());
  one.prepare();
  const Tally tally = run_all(one, device, options);
  print(tally, options, one, device);
  return tally.reports == 0 && tally.wrong == 0 ? kWell : kFailed;
}

}  // namespace heddle::tool
