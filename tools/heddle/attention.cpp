// SPDX-License-Identifier: Apache-2.0
//
// Attention of random data on a device, outputs and log-sum-exps compared with double.
#include "commands.h"

#include "attention/attention.h"
#include "attention/attention_case.h"
#include "trial.h"

#include <heddle/host/error.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

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

std::string again_of(const AttentionOptions& o, const DeviceId& device) {
  const AttentionOptions plain;
  Again again(fmt::format("heddle attention --queries {} --device {}", o.queries, device.name()));
  again.add("--keys", o.keys, plain.keys);
  again.add("--batches", o.batches, plain.batches);
  again.add("--heads", o.heads, plain.heads);
  again.add("--key-heads", o.key_heads, plain.key_heads);
  again.add("--head-dim", o.head_dim, plain.head_dim);
  again.add("--value-dim", o.value_dim, plain.value_dim);
  again.add("--type", o.type, plain.type);
  again.flag("--causal", o.causal);
  again.add("--window", o.window, plain.window);
  again.add("--soft-cap", o.soft_cap, plain.soft_cap);
  again.add("--scale", o.scale, plain.scale);
  again.flag("--sinks", o.sinks);
  again.flag("--ragged", o.ragged);
  again.flag("--decode", o.decode);
  again.add("--page-size", o.page_size, plain.page_size);
  return again.with(o);
}

// The case, as run_all() takes it.
struct Trial {
  AttentionCase& one;

  void reset_output() { one.reset_output(); }
  RunOutcome run(const DeviceId& device, const RunOptions& options) {
    return one.is_decode ? attention_decode(one.decode_problem(), one.decode_tensors(), device, options)
                         : heddle::attention(one.problem, one.tensors(), device, options);
  }
  AttentionVerdict verify() { return one.verify(kMostMacs); }
};

// "batches 2, heads 8 over 2, queries 64, keys 100, head 128".
std::string shape_of(const AttentionProblem& p) {
  const std::int64_t key_heads = p.key_heads == 0 ? p.heads : p.key_heads;
  const std::int64_t value_dim = p.value_dim == 0 ? p.head_dim : p.value_dim;
  return fmt::format("batches {}, heads {}{}, queries {}, keys {}, head {}{}", p.batches, p.heads,
                     key_heads == p.heads ? "" : fmt::format(" over {}", key_heads), p.queries, p.keys,
                     p.head_dim, value_dim == p.head_dim ? "" : fmt::format(" and {}", value_dim));
}

void print(const Tally<AttentionVerdict>& tally, const AttentionOptions& o, AttentionCase& one,
           const DeviceId& device) {
  const auto elements = static_cast<std::int64_t>(one.o.size());
  if (o.json) {
    nlohmann::json json = json_of(tally, o, device);
    json.update({{"batches", one.problem.batches},
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
                 {"elements", elements},
                 {"lse_error", tally.verdict.lse_error}});
    fmt::print("{}\n", json.dump(2));
    return;
  }
  print_first(tally);
  fmt::print("{} of {}, {}{}, on {}\n", o.decode ? "decoding attention" : "attention", shape_of(one.problem),
             o.type, o.causal ? ", causal" : "", device.name());
  print_runs(tally);
  if (tally.verdict.checked > 0) {
    fmt::print("  compared        {} of {} elements with sums in double\n", tally.verdict.checked, elements);
    fmt::print("  largest error   {:.3g}, bound {:.3g}, where it comes nearest to it; log-sum-exp {:.2g}\n",
               tally.verdict.error, tally.verdict.bound, tally.verdict.lse_error);
  }
  print_time(tally, device, o.causal || o.ragged ? 0 : 2 * one.macs());
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
  add_trial_options(*command, o);
  command->footer(
      "Examples:\n"
      "  heddle attention --queries 200 --keys 300 --heads 4 --key-heads 2 --causal --device sim:sm90\n"
      "  heddle attention --queries 1 --keys 500 --heads 8 --key-heads 1 --decode --page-size 16 --ragged");
  return command;
}

int attention(const AttentionOptions& options) {
  const DeviceId device = find_device(options.device);
  AttentionCase one = case_of(options);
  check_memory("tensors", one.host_bytes());
  one.prepare();
  Trial trial{one};
  const auto tally = run_all(trial, device, options, {.kernel = "attention", .again = again_of(options, device)});
  print(tally, options, one, device);
  return tally.status();
}

}  // namespace heddle::tool
