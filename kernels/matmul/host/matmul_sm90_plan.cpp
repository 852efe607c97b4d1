// SPDX-License-Identifier: Apache-2.0
#include "matmul_sm90_plan.h"

#include "matmul/device/matmul_sm90_instances.h"
#include "matmul_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>

namespace heddle {

using namespace matmul_checks;

namespace {

bool has_types(MatmulElement a, MatmulElement b) {
  return a == b && (a == MatmulElement::kBf16 || a == MatmulElement::kFp16);
}

constexpr MatmulRules kRules{.arch = "sm90",
                             .max_extent = 1 << 30,
                             .has_empty_k = false,
                             .has_batches = false,
                             .max_splits = 1024,
                             .has_beta = true,
                             .has_mn_major_a = false,
                             .has_mn_major_b = true,
                             .has_any_rows = true,
                             .has_types = has_types,
                             .types = "bf16 times bf16 or fp16 times fp16"};

const char* name_of(MatmulForm form) {
  return form == MatmulForm::kCooperative ? "coop" : form == MatmulForm::kPingpong ? "pingpong" : "single";
}

const std::string& instance_name(std::uint32_t instance) {
  static const auto names = [] {
    std::array<std::string, kMatmulSm90InstanceCount> all;
    for (std::uint32_t i = 0; i < kMatmulSm90InstanceCount; ++i) {
      const MatmulSm90Config& c = kMatmulSm90Instances[i].config;
      all[i] = fmt::format("{}x{}x{}_{}_{}x{}_{}{}{}{}", c.output_tile_m(), c.output_tile_n(), c.tile_k, c.stages,
                           c.is_swapped ? c.cluster_n : c.cluster_m, c.is_swapped ? c.cluster_m : c.cluster_n,
                           name_of(c.form), c.is_swapped ? "_swapped" : "", c.b_major == Major::kMN ? "_kn" : "",
                           has_fused_epilogue(kMatmulSm90Instances[i]) ? "_fused" : "");
    }
    return all;
  }();
  return names[instance];
}

// How many letters must be put in, taken out or changed.
std::size_t distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t changed = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::uint32_t instance_called(std::string_view name, const MatmulProblem& problem, const MatmulSm90Needs& needs) {
  for (std::uint32_t i = 0; i < kMatmulSm90InstanceCount; ++i) {
    if (instance_name(i) == name) return i;
  }
  std::uint32_t nearest = 0;
  for (std::uint32_t i = 0; i < kMatmulSm90InstanceCount; ++i) {
    if (can_run(i, problem, needs, 1) &&
        (!can_run(nearest, problem, needs, 1) ||
         distance(name, instance_name(i)) < distance(name, instance_name(nearest)))) {
      nearest = i;
    }
  }
  throw InputError(
      fmt::format("matmul: no configuration is called '{}'; the nearest is '{}'", name, instance_name(nearest)));
}

bool begins_on_16(std::uint64_t pitch, MatmulElement type) { return pitch * element_bytes_of(type) % 16 == 0; }

// Whether the copy engine cannot store the output.
bool has_odd_output(const MatmulProblem& p) {
  return !begins_on_16(static_cast<std::uint64_t>(pitches_of(p)[2]), p.out_type);
}

// What the copy engine needs of an operand, behind what else is in the workspace.
MatmulRowCopy row_copy(std::uint64_t pitch, MatmulElement type, std::int64_t rows, std::int64_t cols,
                       MatmulPlan& plan) {
  if (begins_on_16(pitch, type)) return {};
  constexpr std::uint64_t kStep = 256;  // where an allocation could begin
  const std::uint64_t elems = 16 / element_bytes_of(type);
  MatmulRowCopy copy{.rows = static_cast<std::uint64_t>(rows),
                     .cols = static_cast<std::uint64_t>(cols),
                     .pitch = (static_cast<std::uint64_t>(cols) + elems - 1) / elems * elems,
                     .offset = (plan.workspace_bytes() + kStep - 1) / kStep * kStep};
  plan.copied_bytes = copy.offset - plan.partial_bytes + copy.rows * copy.pitch * element_bytes_of(type);
  return copy;
}

// Puts in what the copy engine cannot read where it is.
void add_row_copies(const MatmulProblem& p, MatmulPlan& plan) {
  const bool is_kn = p.b_layout == OperandLayout::kMnMajor;
  plan.a_copy = row_copy(plan.a_pitch, p.a_type, p.m, p.k, plan);
  plan.b_copy = row_copy(plan.b_pitch, p.b_type, is_kn ? p.k : p.n, is_kn ? p.n : p.k, plan);
}

// The copy engine stores multiples of 16 bytes.
bool is_ragged(const MatmulProblem& p) { return p.n * element_bytes_of(p.out_type) % 16 != 0; }

std::uint32_t tiles_along(std::int64_t elems, std::uint32_t tile) {
  return static_cast<std::uint32_t>((elems + tile - 1) / tile);
}

bool read_count(std::string_view digits, std::uint32_t& count) {
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  return error == std::errc() && end == digits.data() + digits.size() && count >= 1;
}

constexpr std::string_view kAlone = ":alone";

// The rows and columns of partial sums are whole boxes of the copy engine.
std::uint64_t partial_rows(const MatmulProblem& p) { return static_cast<std::uint64_t>(p.m + 15) / 16 * 16; }
std::uint64_t partial_pitch(const MatmulProblem& p) { return static_cast<std::uint64_t>(p.n + 3) / 4 * 4; }

}  // namespace

std::array<std::int64_t, 3> pitches_of(const MatmulProblem& p) {
  const std::int64_t b_cols = p.b_layout == OperandLayout::kMnMajor ? p.n : p.k;
  return {p.a_pitch == 0 ? p.k : p.a_pitch, p.b_pitch == 0 ? b_cols : p.b_pitch,
          p.out_pitch == 0 ? p.n : p.out_pitch};
}

std::array<std::int64_t, 3> row_steps_of(const MatmulProblem& p) {
  const std::array<std::int64_t, 3> pitches = pitches_of(p);
  const std::array<std::int64_t, 3> rows = {p.m, p.b_layout == OperandLayout::kMnMajor ? p.k : p.n, p.m};
  const std::array<MatmulElement, 3> types = {p.a_type, p.b_type, p.out_type};
  std::array<std::int64_t, 3> steps{};
  for (std::size_t i = 0; i < 3; ++i) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(pitches[i]) * element_bytes_of(types[i]);
    steps[i] = bytes % 16 != 0 ? 1 : rows[i] == 1 || bytes % 128 == 0 ? 128 : 16;
  }
  return steps;
}

bool is_joined(std::uint32_t instance, const MatmulProblem& problem, const MatmulSm90Needs& needs,
               std::uint32_t splits) {
  const MatmulSm90Instance& of = kMatmulSm90Instances[instance];
  return splits > 1 && of.config.joins(splits) && !has_odd_output(problem) &&
         can_run(instance, problem, needs, 1);
}

bool can_run(std::uint32_t instance, const MatmulProblem& problem, const MatmulSm90Needs& needs,
             std::uint32_t splits) {
  const MatmulSm90Instance& of = kMatmulSm90Instances[instance];
  const bool is_kn = of.config.b_major == Major::kMN;
  if (is_kn != (problem.b_layout == OperandLayout::kMnMajor) || !is_compiled(of, needs.is_simulated))
    return false;
  // Where another kernel adds parts of K up, the epilogue and the rows' ends are its business. Transposed tiles
  // are stored in boxes of more rows than a part has behind its end.
  if (splits > 1 || has_odd_output(problem))
    return is_joined(instance, problem, needs, splits) || !of.config.is_swapped;
  return has_fused_epilogue(of) || (!needs.is_fused && !is_ragged(problem));
}

std::uint32_t possible_splits(std::uint32_t instance, const MatmulProblem& problem, std::uint32_t wanted) {
  const std::uint32_t k_blocks = tiles_along(problem.k, kMatmulSm90Instances[instance].config.tile_k);
  return tiles_along(k_blocks, tiles_along(k_blocks, std::min(wanted, k_blocks)));
}

std::uint64_t workspace_of(const MatmulProblem& problem, const MatmulSm90Needs& needs,
                           const MatmulSm90Choice& choice) {
  const bool adds_up = has_odd_output(problem) ||
                       (choice.splits > 1 && !is_joined(choice.instance, problem, needs, choice.splits));
  if (!adds_up) return 0;
  return choice.splits * partial_rows(problem) * partial_pitch(problem) * sizeof(float);
}

bool fits_workspace(const MatmulProblem& problem, const MatmulSm90Needs& needs, const MatmulSm90Choice& choice) {
  MatmulPlan plan;
  plan.partial_bytes = workspace_of(problem, needs, choice);
  if (plan.partial_bytes == 0) return true;  // the copies are there whatever is chosen
  const std::array<std::int64_t, 3> pitches = pitches_of(problem);
  plan.a_pitch = static_cast<std::uint64_t>(pitches[0]);
  plan.b_pitch = static_cast<std::uint64_t>(pitches[1]);
  add_row_copies(problem, plan);
  return plan.workspace_bytes() <= needs.workspace_bytes;
}

std::string name_of(const MatmulSm90Choice& choice) {
  return fmt::format("{}@{}{}{}{}", instance_name(choice.instance), choice.bands_along_m ? 'm' : 'n',
                     choice.group, choice.splits == 1 ? "" : fmt::format("/{}", choice.splits),
                     choice.is_alone ? kAlone : "");
}

MatmulSm90Choice read_matmul_sm90_choice(const MatmulProblem& problem, const MatmulSm90Needs& needs,
                                         std::string_view named) {
  MatmulSm90Choice choice;
  choice.splits = static_cast<std::uint32_t>(problem.splits);
  choice.is_alone = named.ends_with(kAlone);
  if (choice.is_alone) named.remove_suffix(kAlone.size());
  const std::size_t slash = std::min(named.find('/'), named.size());
  const std::size_t at = std::min(named.find('@'), slash);
  const std::string_view name = named.substr(0, at);
  choice.instance = instance_called(name, problem, needs);
  choose_order(problem, choice);
  if (at < slash) {
    const std::string_view order = named.substr(at + 1, slash - at - 1);
    require((order.starts_with('m') || order.starts_with('n')) && read_count(order.substr(1), choice.group),
            fmt::format("the order '@{}' of a configuration; '@m8' and '@n8' are examples", order));
    choice.bands_along_m = order[0] == 'm';
  }
  if (slash < named.size()) {
    require(read_count(named.substr(slash + 1), choice.splits),
            fmt::format("the parts of K '{}' of a configuration; '/4' is an example", named.substr(slash)));
  }
  const MatmulSm90Instance& instance = kMatmulSm90Instances[choice.instance];
  require(can_run(choice.instance, problem, needs, choice.splits),
          fmt::format("configuration '{}' cannot run this problem: {}", name,
                      (instance.config.b_major == Major::kMN) != (problem.b_layout == OperandLayout::kMnMajor)
                          ? "it has the other layout of B"
                      : !is_compiled(instance, needs.is_simulated)
                          ? (needs.is_simulated ? "it is for GPUs only" : "it is for the simulated SM only")
                      : choice.splits > 1 && instance.config.is_swapped
                          ? "it has no room to add so many parts of K up"
                      : needs.is_fused ? "it stores the sums as they are"
                                       : "its rows of the output end on multiples of 16 bytes"));
  const std::uint32_t possible = possible_splits(choice.instance, problem, choice.splits);
  require(
      possible == choice.splits,
      fmt::format("K in {} equal parts, of its {} blocks of {}: one would be empty. {} would pass", choice.splits,
                  tiles_along(problem.k, instance.config.tile_k), instance.config.tile_k, possible));
  return choice;
}

std::vector<std::string> matmul_sm90_configs(const MatmulProblem& problem, bool is_fused, bool is_simulated) {
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < kMatmulSm90InstanceCount; ++i) {
    if (can_run(i, problem, {.is_fused = is_fused, .is_simulated = is_simulated},
                static_cast<std::uint32_t>(problem.splits))) {
      names.push_back(instance_name(i));
    }
  }
  return names;
}

std::string matmul_sm90_choice(const MatmulProblem& problem, bool is_fused, bool is_simulated,
                               std::uint64_t workspace_bytes, std::string_view gpu) {
  return name_of(choose_matmul_sm90(
      problem,
      {.is_fused = is_fused, .is_simulated = is_simulated, .workspace_bytes = workspace_bytes, .gpu = gpu}));
}

MatmulPlan plan_matmul_sm90(const MatmulProblem& problem, const MatmulTensors& tensors, bool is_simulated,
                            std::uint64_t workspace_bytes, std::string_view gpu) {
  MatmulPlan plan{check_matmul(problem, tensors, kRules), {}};
  plan.has_order = true;
  if (plan.out_bytes == 0) return plan;
  const MatmulSm90Needs needs{
      .is_fused = plan.is_fused, .is_simulated = is_simulated, .workspace_bytes = workspace_bytes, .gpu = gpu};
  plan.choice = problem.config.empty() ? choose_matmul_sm90(problem, needs)
                                       : read_matmul_sm90_choice(problem, needs, problem.config);
  plan.is_joined = is_joined(plan.choice.instance, problem, needs, plan.choice.splits);
  plan.has_odd_output = has_odd_output(problem);
  plan.is_ragged = !plan.adds_up() && is_ragged(problem);
  if (plan.adds_up()) {
    plan.partial_rows = static_cast<std::uint32_t>(partial_rows(problem));
    plan.partial_pitch = partial_pitch(problem);
    plan.partial_bytes = workspace_of(problem, needs, plan.choice);
    require(plan.partial_bytes <= kMaxTensorBytes,
            fmt::format("K in {} parts takes a workspace of {} bytes; at most {}", plan.choice.splits,
                        plan.partial_bytes, kMaxTensorBytes));
  }
  add_row_copies(problem, plan);
  return plan;
}

}  // namespace heddle
