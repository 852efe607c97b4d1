// SPDX-License-Identifier: Apache-2.0
#include "matmul_sm90_plan.h"

#include "matmul_sm90_instances.h"

#include <heddle/host/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>

namespace heddle {

namespace {

constexpr std::uint32_t kMaxExtent = 1u << 30;

void require(bool holds, const std::string& message) {
  if (!holds) throw InputError("matmul: " + message);
}

std::uint32_t bytes_of(MatmulType type) { return type == MatmulType::kFp32 ? 4 : 2; }

const char* name_of(MatmulType type) {
  return type == MatmulType::kBf16 ? "bf16" : type == MatmulType::kFp16 ? "fp16" : "fp32";
}

const char* name_of(MatmulForm form) {
  return form == MatmulForm::kCooperative ? "coop" : form == MatmulForm::kPingpong ? "pingpong" : "single";
}

const std::string& instance_name(std::uint32_t instance) {
  static const auto names = [] {
    std::array<std::string, kMatmulSm90InstanceCount> all;
    for (std::uint32_t i = 0; i < kMatmulSm90InstanceCount; ++i) {
      const MatmulSm90Config& c = kMatmulSm90Instances[i].config;
      all[i] = fmt::format("{}x{}x{}_{}_{}x{}_{}{}{}", c.tile_m, c.tile_n, c.tile_k, c.stages, c.cluster_m, c.cluster_n,
                           name_of(c.form), c.b_major == Major::kMN ? "_kn" : "",
                           has_fused_epilogue(kMatmulSm90Instances[i].group) ? "_fused" : "");
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
    if (can_run(i, problem, needs, false) && (!can_run(nearest, problem, needs, false) ||
                                              distance(name, instance_name(i)) < distance(name, instance_name(nearest)))) {
      nearest = i;
    }
  }
  throw InputError(
      fmt::format("matmul: no configuration is called '{}'; the nearest is '{}'", name, instance_name(nearest)));
}

// The copy engine stores multiples of 16 bytes.
bool is_ragged(const MatmulProblem& p) { return std::uint64_t{p.n} * bytes_of(p.output) % 16 != 0; }

std::uint32_t tiles_along(std::uint32_t elems, std::uint32_t tile) { return (elems + tile - 1) / tile; }

std::uint64_t checked_pitch(const char* what, std::uint64_t pitch, std::uint64_t cols, std::uint32_t element_bytes) {
  const std::uint64_t taken = pitch == 0 ? cols : pitch;
  require(taken >= cols, fmt::format("{}_pitch is {} elements, less than the {} of a row", what, taken, cols));
  const std::uint32_t step = 16 / element_bytes;
  require(taken % step == 0,
          fmt::format("rows of {} are {} elements apart, {} bytes; the copy engine takes multiples of 16 bytes. A pitch "
                      "of {} would pass",
                      what, taken, taken * element_bytes, (taken + step - 1) / step * step));
  return taken;
}

void require_address(const char* what, const void* address, std::uint32_t alignment) {
  const auto value = reinterpret_cast<std::uintptr_t>(address);
  require(value % alignment == 0, fmt::format("{} is at 0x{:x}; its address is a multiple of {}, and 0x{:x} would pass", what,
                                              value, alignment, value / alignment * alignment));
}

void require_matrix(const char* what, const void* address) {
  require(address != nullptr, fmt::format("{} is null", what));
  require_address(what, address, 16);
}

void check(const MatmulProblem& p) {
  const auto extent = [](const char* what, std::uint32_t value) {
    require(value >= 1 && value <= kMaxExtent, fmt::format("{} is {}; 1 to {}", what, value, kMaxExtent));
  };
  extent("m", p.m);
  extent("n", p.n);
  extent("k", p.k);
  require(p.input != MatmulType::kFp32, fmt::format("the input is {}; bf16 or fp16", name_of(p.input)));
}

std::uint64_t bytes_between(std::uint64_t rows, std::uint64_t cols, std::uint64_t pitch, MatmulType type) {
  return ((rows - 1) * pitch + cols) * bytes_of(type);
}

// The output is written while inputs are still read. It may be the residual itself, element for element.
void check_overlaps(const MatmulProblem& p, const MatmulTensors& tensors, const MatmulSm90Plan& plan) {
  struct Range {
    const char* what;
    const void* address;
    std::uint64_t bytes;
  };
  const bool is_nk = p.b_layout == BLayout::kNK;
  const Range out{"out", tensors.out, bytes_between(p.m, p.n, plan.out_pitch, p.output)};
  const Range workspace{"the workspace", tensors.workspace, workspace_of(p, plan.choice.splits)};
  const Range read[] = {
      {"a", tensors.a, bytes_between(p.m, p.k, plan.a_pitch, p.input)},
      {"b", tensors.b, bytes_between(is_nk ? p.n : p.k, is_nk ? p.k : p.n, plan.b_pitch, p.input)},
      {"bias", tensors.bias, std::uint64_t{p.n} * bytes_of(p.output)},
      {"residual", tensors.residual, bytes_between(p.m, p.n, plan.residual_pitch, p.output)},
  };
  const auto refuse_overlap = [](const Range& one, const Range& other) {
    if (one.address == nullptr || other.address == nullptr || one.bytes == 0) return;
    const auto first = reinterpret_cast<std::uintptr_t>(one.address);
    const auto second = reinterpret_cast<std::uintptr_t>(other.address);
    require(first + one.bytes <= second || second + other.bytes <= first,
            fmt::format("{} (0x{:x}, {} bytes) overlaps {} (0x{:x}, {} bytes); 0x{:x} would pass", one.what, first, one.bytes,
                        other.what, second, other.bytes, (second + other.bytes + 15) / 16 * 16));
  };
  for (const Range& range : read) {
    if (range.address == tensors.residual && tensors.residual == tensors.out && plan.residual_pitch == plan.out_pitch) continue;
    refuse_overlap(out, range);
  }
  for (const Range& range : read) refuse_overlap(workspace, range);
  refuse_overlap(workspace, out);
}

bool read_count(std::string_view digits, std::uint32_t& count) {
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  return error == std::errc() && end == digits.data() + digits.size() && count >= 1;
}

// The rows and columns of partial sums are whole boxes of the copy engine.
std::uint64_t partial_rows(const MatmulProblem& p) { return (std::uint64_t{p.m} + 15) / 16 * 16; }
std::uint64_t partial_pitch(const MatmulProblem& p) { return (std::uint64_t{p.n} + 3) / 4 * 4; }

}  // namespace

bool can_run(std::uint32_t instance, const MatmulProblem& problem, const MatmulSm90Needs& needs, bool is_split) {
  const MatmulSm90Instance& of = kMatmulSm90Instances[instance];
  const bool is_kn = of.config.b_major == Major::kMN;
  // With K in parts, the epilogue and the rows' ends are another kernel's business.
  const bool is_plain = is_split || (!needs.is_fused && !is_ragged(problem));
  return is_kn == (problem.b_layout == BLayout::kKN) && (is_plain || has_fused_epilogue(of.group)) &&
         is_compiled(of, needs.is_simulated);
}

std::uint32_t possible_splits(std::uint32_t instance, const MatmulProblem& problem, std::uint32_t wanted) {
  const std::uint32_t k_blocks = tiles_along(problem.k, kMatmulSm90Instances[instance].config.tile_k);
  return tiles_along(k_blocks, tiles_along(k_blocks, std::min(wanted, k_blocks)));
}

std::uint64_t workspace_of(const MatmulProblem& problem, std::uint32_t splits) {
  return splits == 1 ? 0 : splits * partial_rows(problem) * partial_pitch(problem) * sizeof(float);
}

std::string name_of(const MatmulSm90Choice& choice) {
  return fmt::format("{}@{}{}{}", instance_name(choice.instance), choice.bands_along_m ? 'm' : 'n', choice.group,
                     choice.splits == 1 ? "" : fmt::format("/{}", choice.splits));
}

MatmulSm90Choice read_matmul_sm90_choice(const MatmulProblem& problem, const MatmulSm90Needs& needs, std::string_view named) {
  MatmulSm90Choice choice;
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
  require(can_run(choice.instance, problem, needs, choice.splits > 1),
          fmt::format("configuration '{}' cannot run this problem: {}", name,
                      (instance.config.b_major == Major::kMN) != (problem.b_layout == BLayout::kKN)
                          ? "it has the other layout of B"
                      : !is_compiled(instance, needs.is_simulated)
                          ? (needs.is_simulated ? "it is for GPUs only" : "it is for the simulated SM only")
                      : needs.is_fused ? "it stores the sums as they are"
                                       : "its rows of the output end on multiples of 16 bytes"));
  const std::uint32_t possible = possible_splits(choice.instance, problem, choice.splits);
  require(possible == choice.splits,
          fmt::format("K in {} equal parts, of its {} blocks of {}: one would be empty. {} would pass", choice.splits,
                      tiles_along(problem.k, instance.config.tile_k), instance.config.tile_k, possible));
  return choice;
}

std::vector<std::string> matmul_configs(const MatmulProblem& problem, bool is_fused, bool is_simulated) {
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < kMatmulSm90InstanceCount; ++i) {
    if (can_run(i, problem, {.is_fused = is_fused, .is_simulated = is_simulated}, false)) names.push_back(instance_name(i));
  }
  return names;
}

std::string matmul_choice(const MatmulProblem& problem, bool is_fused, bool is_simulated, std::uint64_t workspace_bytes,
                          const std::string& gpu) {
  check(problem);
  return name_of(choose_matmul_sm90(problem, {.is_fused = is_fused,
                                              .is_simulated = is_simulated,
                                              .workspace_bytes = workspace_bytes,
                                              .gpu = gpu}));
}

MatmulSm90Plan plan_matmul_sm90(const MatmulProblem& problem, const MatmulTensors& tensors, const MatmulSm90Place& place) {
  check(problem);
  require_matrix("a", tensors.a);
  require_matrix("b", tensors.b);
  require_matrix("out", tensors.out);
  require_address("bias", tensors.bias, bytes_of(problem.output));
  require_address("residual", tensors.residual, bytes_of(problem.output));
  require_address("workspace", tensors.workspace, 16);
  MatmulSm90Plan plan;
  plan.is_fused = problem.alpha != 1 || problem.beta != 0 || problem.activation != Activation::kNone ||
                  tensors.bias != nullptr || tensors.residual != nullptr;
  plan.is_ragged = is_ragged(problem);
  plan.a_pitch = checked_pitch("a", problem.a_pitch, problem.k, bytes_of(problem.input));
  plan.b_pitch = checked_pitch("b", problem.b_pitch, problem.b_layout == BLayout::kNK ? problem.k : problem.n,
                               bytes_of(problem.input));
  plan.out_pitch = checked_pitch("out", problem.out_pitch, problem.n, bytes_of(problem.output));
  plan.residual_pitch = problem.residual_pitch == 0 ? problem.n : problem.residual_pitch;
  require(plan.residual_pitch >= problem.n,
          fmt::format("residual_pitch is {} elements, less than the {} of a row", plan.residual_pitch, problem.n));

  const MatmulSm90Needs needs{.is_fused = plan.is_fused,
                              .is_simulated = place.is_simulated,
                              .workspace_bytes = tensors.workspace == nullptr ? 0 : tensors.workspace_bytes,
                              .gpu = place.gpu};
  plan.choice = problem.config.empty() ? choose_matmul_sm90(problem, needs)
                                       : read_matmul_sm90_choice(problem, needs, problem.config);
  if (plan.choice.splits > 1) {
    plan.partial_rows = static_cast<std::uint32_t>(partial_rows(problem));
    plan.partial_pitch = partial_pitch(problem);
    const std::uint64_t bytes = workspace_of(problem, plan.choice.splits);
    require(needs.workspace_bytes >= bytes, fmt::format("the workspace has {} bytes; K in {} parts takes {}",
                                                        needs.workspace_bytes, plan.choice.splits, bytes));
  }
  check_overlaps(problem, tensors, plan);
  return plan;
}

void check_matmul_sm90_gpu(const GpuList& list, int ordinal) {
  if (list.gpus.empty()) throw DriverError("matmul: there is no GPU: " + list.why, 0);
  for (const GpuDescription& gpu : list.gpus) {
    if (gpu.ordinal != ordinal) continue;
    require(gpu.major == 9, fmt::format("GPU {} ({}) has compute capability {}.{}; these kernels are for 9.0", ordinal,
                                        gpu.name, gpu.major, gpu.minor));
    return;
  }
  throw DriverError(fmt::format("matmul: there is no GPU {}; 0 to {}", ordinal, list.gpus.size() - 1), 0);
}

void check_matmul_stream(int stream_device, int current_device) {
  require(stream_device == current_device,
          fmt::format("the stream belongs to GPU {}, and GPU {} is the current one; cudaSetDevice({}) would pass",
                      stream_device, current_device, stream_device));
}

void check_matmul_data(const MatmulProblem& problem, const MatmulSm90Plan& plan, const MatmulData& data) {
  const auto need = [](const char* what, std::size_t bytes, std::uint64_t least) {
    require(bytes >= least, fmt::format("{} has {} bytes; its matrix takes {}", what, bytes, least));
  };
  const bool is_nk = problem.b_layout == BLayout::kNK;
  need("a", data.a.size(), bytes_between(problem.m, problem.k, plan.a_pitch, problem.input));
  need("b", data.b.size(),
       bytes_between(is_nk ? problem.n : problem.k, is_nk ? problem.k : problem.n, plan.b_pitch, problem.input));
  need("out", data.out.size(), bytes_between(problem.m, problem.n, plan.out_pitch, problem.output));
  if (!data.bias.empty()) need("bias", data.bias.size(), bytes_between(1, problem.n, problem.n, problem.output));
  if (!data.residual.empty()) {
    need("residual", data.residual.size(), bytes_between(problem.m, problem.n, plan.residual_pitch, problem.output));
  }
}

}  // namespace heddle
