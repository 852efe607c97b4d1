// SPDX-License-Identifier: Apache-2.0
//
// A matmul of random data on a device, every element compared with a sum in double.
#include "commands.h"

#include "matmul.h"
#include "matmul/reference/matmul_scaled_reference.h"
#include "matmul_grouped.h"
#include "matmul_traced.h"
#include "trial.h"

#include <heddle/host/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <map>

namespace heddle::tool {

namespace {

using reference::MatmulCase;
using reference::MatmulData;
using reference::MatmulScaledCase;
using reference::MatmulVerdict;

// Beyond so many multiply-adds only a part of the output's rows is compared.
constexpr double kMostMacs = 4e9;

const std::map<std::string, MatmulElement> kTypes = {
    {"bf16", MatmulElement::kBf16}, {"fp16", MatmulElement::kFp16}, {"fp32", MatmulElement::kFp32},
    {"tf32", MatmulElement::kTf32}, {"e4m3", MatmulElement::kE4m3}, {"e5m2", MatmulElement::kE5m2}};
const std::map<std::string, Activation> kActivations = {{"none", Activation::kNone},
                                                        {"relu", Activation::kRelu},
                                                        {"gelu", Activation::kGelu},
                                                        {"silu", Activation::kSilu}};
const std::map<std::string, ScaledFormat> kFormats = {{"mxfp8", ScaledFormat::kMxfp8E4m3},
                                                      {"mxfp8_e5m2", ScaledFormat::kMxfp8E5m2},
                                                      {"mxfp8_e4m3_e5m2", ScaledFormat::kMxfp8E4m3E5m2},
                                                      {"mxfp8_e5m2_e4m3", ScaledFormat::kMxfp8E5m2E4m3},
                                                      {"mxfp4", ScaledFormat::kMxfp4},
                                                      {"nvfp4", ScaledFormat::kNvfp4},
                                                      {"blockwise", ScaledFormat::kBlockwiseE4m3},
                                                      {"blockwise_e5m2", ScaledFormat::kBlockwiseE5m2}};

template <class Value>
Value named(const char* option, const std::map<std::string, Value>& known, const std::string& name) {
  const auto found = known.find(name);
  if (found != known.end()) return found->second;
  std::string names;
  for (const auto& [one, value] : known) names += fmt::format("{}{}", names.empty() ? "" : ", ", one);
  throw InputError(fmt::format("{} is '{}'; there are {}", option, name, names));
}

OperandLayout layout_of(const char* option, const std::string& text, const char* k_major, const char* mn_major) {
  if (text == k_major) return OperandLayout::kKMajor;
  if (text == mn_major) return OperandLayout::kMnMajor;
  throw InputError(fmt::format("{} is '{}'; there are {} and {}", option, text, k_major, mn_major));
}

// What a command for plain matmuls and for those with scales need of either.
struct Plain {
  MatmulCase matmul;
  std::vector<TracedLaunch>* traced = nullptr;

  std::vector<std::string> configs(const DeviceId& device) {
    return matmul_configs(matmul.problem, extras(), device);
  }
  std::string choice(const DeviceId& device) { return matmul_choice(matmul.problem, extras(), device); }
  RunOutcome run(const DeviceId& device, const RunOptions& options) {
    if (device.is_gpu() && traced != nullptr) {
      return traced_matmul(matmul.problem, matmul.tensors(), device.ordinal, *traced);
    }
    return heddle::matmul(matmul.problem, matmul.tensors(), device, options);
  }
  double host_bytes() const {
    const MatmulProblem& p = matmul.problem;
    const double outputs = 2.0 + (matmul.has_residual ? 1 : 0);
    return static_cast<double>(p.batches) *
               (area(p.m, p.k) * element_bytes_of(p.a_type) + area(p.n, p.k) * element_bytes_of(p.b_type) +
                outputs * area(p.m, p.n) * element_bytes_of(p.out_type)) +
           8 * area(p.n, p.k);
  }
  std::string types() const {
    const MatmulProblem& p = matmul.problem;
    return fmt::format("{} times {} to {}", name_of(p.a_type), name_of(p.b_type), name_of(p.out_type));
  }
  bool is_exact() const { return matmul.is_exact(); }

 private:
  static double area(std::int64_t rows, std::int64_t cols) {
    return static_cast<double>(rows) * static_cast<double>(cols);
  }
  // The tensors that matter before there are any.
  MatmulTensors extras() const {
    return {.bias = matmul.has_bias ? this : nullptr, .residual = matmul.has_residual ? this : nullptr};
  }
};

struct Scaled {
  MatmulScaledCase matmul;

  std::vector<std::string> configs(const DeviceId& device) {
    return matmul_scaled_configs(matmul.problem, device);
  }
  std::string choice(const DeviceId& device) { return matmul_scaled_choice(matmul.problem, device); }
  RunOutcome run(const DeviceId& device, const RunOptions& options) {
    return matmul_scaled(matmul.problem, matmul.tensors(), device, options);
  }
  double host_bytes() const {
    const MatmulScaledProblem& p = matmul.problem;
    const auto m = static_cast<double>(p.m);
    const auto n = static_cast<double>(p.n);
    const auto k = static_cast<double>(p.k);
    return (m + static_cast<double>(p.groups) * n) * k * 1.25 + 2 * m * n * element_bytes_of(p.out_type) +
           8 * n * k;
  }
  std::string types() const {
    const MatmulScaledProblem& p = matmul.problem;
    std::string text = fmt::format("{} to {}", name_of(p.format), name_of(p.out_type));
    if (p.rows != GroupRows::kAll) text += fmt::format(", {} groups", p.groups);
    return text;
  }
  bool is_exact() const { return matmul.data == MatmulData::kIntegers; }
};

Plain plain_of(const MatmulOptions& o) {
  Plain plain;
  MatmulProblem& p = plain.matmul.problem;
  p.m = o.m;
  p.n = o.n;
  p.k = o.k;
  p.batches = o.batches;
  p.a_type = named("--a-type", kTypes, o.a_type);
  p.b_type = o.b_type.empty() ? p.a_type : named("--b-type", kTypes, o.b_type);
  p.out_type = named("--out-type", kTypes, o.out_type);
  p.a_layout = layout_of("--a-layout", o.a_layout, "mk", "km");
  p.b_layout = layout_of("--b-layout", o.b_layout, "nk", "kn");
  p.alpha = o.alpha;
  p.beta = o.beta;
  p.activation = named("--activation", kActivations, o.activation);
  p.splits = o.splits;
  p.config = o.config;
  plain.matmul.has_bias = o.bias;
  plain.matmul.has_residual = o.residual;
  plain.matmul.is_packed = o.packed;
  if (o.packed) return plain;
  // Rows that the copy engine can reach, whatever the sizes are.
  const auto pitch = [](std::int64_t cols, MatmulElement type) {
    const std::int64_t step = 16 / element_bytes_of(type);
    return cols < 0 || cols > std::int64_t{1} << 40 ? 0 : (cols + step - 1) / step * step;
  };
  p.a_pitch = pitch(p.a_layout == OperandLayout::kKMajor ? p.k : p.m, p.a_type);
  p.b_pitch = pitch(p.b_layout == OperandLayout::kKMajor ? p.k : p.n, p.b_type);
  p.out_pitch = pitch(p.n, p.out_type);
  p.residual_pitch = p.out_pitch;
  plain.traced = o.traced;
  return plain;
}

Scaled scaled_of(const MatmulOptions& o) {
  const MatmulOptions plain;
  const auto only = [](bool is_default, const char* option) {
    if (!is_default) throw InputError(fmt::format("{} does not go with --scaled", option));
  };
  only(o.batches == plain.batches, "--batches");
  only(o.splits == plain.splits, "--splits");
  only(o.a_type == plain.a_type && o.b_type == plain.b_type, "--a-type or --b-type");
  only(o.a_layout == plain.a_layout && o.b_layout == plain.b_layout, "--a-layout or --b-layout");
  only(o.beta == plain.beta && o.activation == plain.activation, "--beta or --activation");
  only(o.bias == plain.bias && o.residual == plain.residual, "--bias or --residual");
  only(o.traced == nullptr, "a trace of a GPU");
  only(!o.packed, "--packed");
  Scaled scaled;
  MatmulScaledProblem& p = scaled.matmul.problem;
  p.m = o.m;
  p.n = o.n;
  p.k = o.k;
  p.format = named("--scaled", kFormats, o.scaled);
  p.rows = group_rows_of(o);
  if (p.rows != GroupRows::kAll) {
    scaled.matmul.numbers = group_numbers_of(o);
    p.groups = static_cast<std::int64_t>(scaled.matmul.numbers.size());
  }
  p.out_type = named("--out-type", kTypes, o.out_type);
  p.alpha = o.alpha;
  p.config = o.config;
  const std::int64_t step = 128 / bits_of_element(p.format);
  if (p.k >= 0 && p.k < std::int64_t{1} << 40) p.a_pitch = (p.k + step - 1) / step * step;
  p.b_pitch = p.a_pitch;
  const std::int64_t out_step = 16 / element_bytes_of(p.out_type);
  if (p.n >= 0 && p.n < std::int64_t{1} << 40) p.out_pitch = (p.n + out_step - 1) / out_step * out_step;
  return scaled;
}

// "auto" without a GPU is the first simulated SM that can run the problem.
template <class Kind>
DeviceId device_for(Kind& kind, const std::string& name) {
  const DeviceId device = find_device(name);
  if (name != "auto" || device.is_gpu()) return device;
  try {
    kind.choice(device);
  } catch (const InputError&) {
    const DeviceId other{.arch = Arch::kSm100};
    kind.choice(other);
    return other;
  }
  return device;
}

std::string again_of(const MatmulOptions& o, const DeviceId& device) {
  const MatmulOptions plain;
  Again again(fmt::format("heddle matmul --m {} --n {} --k {} --device {}", o.m, o.n, o.k, device.name()));
  again.add("--scaled", o.scaled, plain.scaled);
  again.add("--group-rows", fmt::format("{}", fmt::join(o.group_rows, ",")), std::string());
  again.flag("--places", o.places);
  again.add("--scales", o.scales, plain.scales);
  again.flag("--exact", o.exact);
  again.flag("--packed", o.packed);
  again.add("--a-type", o.a_type, plain.a_type);
  again.add("--b-type", o.b_type, plain.b_type);
  again.add("--out-type", o.out_type, plain.out_type);
  again.add("--a-layout", o.a_layout, plain.a_layout);
  again.add("--b-layout", o.b_layout, plain.b_layout);
  again.add("--batches", o.batches, plain.batches);
  again.add("--splits", o.splits, plain.splits);
  again.add("--alpha", o.alpha, plain.alpha);
  again.add("--beta", o.beta, plain.beta);
  again.add("--activation", o.activation, plain.activation);
  again.flag("--bias", o.bias);
  again.flag("--residual", o.residual);
  again.flag("--integers", o.integers);
  again.add("--config", o.config, plain.config);
  return again.with(o);
}

// A kind of matmul, as run_all() takes it.
template <class Kind>
struct Trial {
  Kind& kind;

  void reset_output() { kind.matmul.reset_output(); }
  RunOutcome run(const DeviceId& device, const RunOptions& options) { return kind.run(device, options); }
  MatmulVerdict verify() {
    Progress progress("rows compared");
    return kind.matmul.verify(kMostMacs, [&](std::int64_t done, std::int64_t all) { progress.show(done, all); });
  }
};

void print(const Tally<MatmulVerdict>& tally, const MatmulOptions& o, const std::string& types,
           const std::string& config, const DeviceId& device, bool is_exact) {
  const std::int64_t elements = o.m * o.n * o.batches;
  if (o.json) {
    nlohmann::json json = json_of(tally, o, device);
    json.update({{"m", o.m},
                 {"n", o.n},
                 {"k", o.k},
                 {"batches", o.batches},
                 {"types", types},
                 {"config", config},
                 {"elements", elements},
                 {"is_exact", is_exact}});
    fmt::print("{}\n", json.dump(2));
    return;
  }
  print_first(tally);
  fmt::print("matmul {} x {} x {}{}, {}, on {}\n", o.m, o.n, o.k,
             o.batches == 1 ? "" : fmt::format(", {} batches", o.batches), types, device.name());
  fmt::print("  configuration   {}{}\n", config, o.config.empty() ? " (chosen)" : "");
  print_runs(tally);
  if (tally.verdict.checked > 0 || elements == 0) {
    fmt::print("  compared        {} of {} elements with sums in double\n", tally.verdict.checked, elements);
    if (is_exact) {
      fmt::print("  largest error   {:.3g}, and must be 0: the data are integers\n", tally.verdict.error);
    } else {
      fmt::print("  largest error   {:.3g}, bound {:.3g}, where it comes nearest to it\n", tally.verdict.error,
                 tally.verdict.bound);
    }
  }
  print_time(tally, device, 2.0 * static_cast<double>(elements) * static_cast<double>(o.k));
}

template <class Kind>
int run(Kind kind, const MatmulOptions& options) {
  const DeviceId device = device_for(kind, options.device);
  if (options.list_configs) {
    const std::vector<std::string> names = kind.configs(device);
    if (options.json) {
      fmt::print("{}\n", nlohmann::json(names).dump(2));
    } else {
      for (const std::string& name : names) fmt::print("{}\n", name);
    }
    return kWell;
  }
  const std::string config = kind.choice(device);
  check_memory("matrices", kind.host_bytes());
  kind.matmul.data = options.integers ? MatmulData::kIntegers : MatmulData::kRandom;
  kind.matmul.seed = options.seed;
  kind.matmul.prepare();
  Trial<Kind> trial{kind};
  const auto tally = run_all(trial, device, options, {.kernel = "matmul", .again = again_of(options, device)});
  print(tally, options, kind.types(), config, device, kind.is_exact());
  return tally.status();
}

}  // namespace

#ifndef HEDDLE_WITH_TRACED_MATMUL
RunOutcome traced_matmul(const MatmulProblem&, const MatmulTensors&, int, std::vector<TracedLaunch>&) {
  throw InputError("trace: this program was built without device code for sm90; sim:sm90 would pass");
}
#endif

CLI::App* add_matmul(CLI::App& app, MatmulOptions& o) {
  CLI::App* command =
      app.add_subcommand("matmul",
                         "Multiply two matrices of random numbers and compare the output with sums in double;\n"
                         "exit status 1 on a wrong output or a report");
  add_matmul_options(*command, o);
  command->footer(
      "Examples:\n"
      "  heddle matmul --m 200 --n 100 --k 300 --device sim:sm90\n"
      "  heddle matmul --m 256 --n 256 --k 512 --scaled nvfp4 --schedules 20\n"
      "  heddle matmul --m 300 --n 64 --k 256 --group-rows 40,0,200 --a-type e4m3 --scales blocks");
  return command;
}

void add_matmul_options(CLI::App& app, MatmulOptions& o) {
  CLI::App* command = &app;
  command->add_option("--m", o.m, "Rows of the output")->required();
  command->add_option("--n", o.n, "Columns of the output")->required();
  command->add_option("--k", o.k, "Terms of each sum")->required();
  command->add_option("--a-type", o.a_type, "bf16, fp16, tf32, e4m3 or e5m2")->capture_default_str();
  command->add_option("--b-type", o.b_type, "As --a-type, which is also the default");
  command->add_option("--out-type", o.out_type, "bf16, fp16 or fp32")->capture_default_str();
  command->add_option("--a-layout", o.a_layout, "mk, or km: columns of A follow one another")
      ->capture_default_str();
  command->add_option("--b-layout", o.b_layout, "nk: columns of B follow one another, or kn")
      ->capture_default_str();
  command->add_option("--batches", o.batches, "So many independent matmuls")->capture_default_str();
  command->add_option("--splits", o.splits, "Parts of K that are added up afterwards")->capture_default_str();
  command->add_option(
      "--scaled", o.scaled,
      "Numbers with scales: mxfp8, mxfp8_e5m2, mxfp8_e4m3_e5m2, mxfp8_e5m2_e4m3, mxfp4, nvfp4, blockwise "
      "or blockwise_e5m2");
  command
      ->add_option("--group-rows", o.group_rows,
                   "The rows of each group, which has a B of its own: 40,0,100; --m is all rows of A")
      ->delimiter(',');
  command->add_flag("--places", o.places, "With --group-rows: each group has a place of M / groups rows");
  command->add_option("--scales", o.scales,
                      "FP8 with float scales of tensors, rows or blocks of 128; with --a-type e4m3");
  command->add_flag("--exact", o.exact, "Hopper, with --scales: every 128 products are added up in float");
  command->add_flag("--packed", o.packed, "Rows follow one another, wherever they begin");
  command->add_option("--alpha", o.alpha, "Factor of the product")->capture_default_str();
  command->add_option("--beta", o.beta, "Factor of what the output held before")->capture_default_str();
  command->add_flag("--bias", o.bias, "Add a row to all rows");
  command->add_option("--activation", o.activation, "none, relu, gelu or silu")->capture_default_str();
  command->add_flag("--residual", o.residual, "Add a matrix after the activation");
  command->add_option("--config", o.config, "One of --list-configs, instead of the library's choice");
  command->add_flag("--list-configs", o.list_configs, "Print the configurations that can run this, and stop");
  command->add_flag("--integers", o.integers, "Small integers, for which the output must be exact");
  add_trial_options(*command, o);
}

int matmul(const MatmulOptions& options) {
  if (is_grouped(options)) {
    const MatmulElement a_type = named("--a-type", kTypes, options.a_type);
    const MatmulElement b_type = options.b_type.empty() ? a_type : named("--b-type", kTypes, options.b_type);
    return run(grouped_of(options, a_type, b_type, named("--out-type", kTypes, options.out_type)), options);
  }
  return options.scaled.empty() ? run(plain_of(options), options) : run(scaled_of(options), options);
}

}  // namespace heddle::tool
