// SPDX-License-Identifier: Apache-2.0
#include "c/error.h"
#include "c/report.h"
#include "sim/explore/repeat.h"

#include <heddle/c_api.h>
#include <heddle/host/error.h>
#include <heddle/sim/ptx.h>
#include <heddle/version.h>

#include <fmt/format.h>

#include <deque>
#include <string>
#include <string_view>
#include <vector>

using heddle::InputError;
using heddle::c::guarded;
namespace sim = heddle::sim;

struct heddle_module {
  heddle_module(const char* text, const char* name)
      : module(sim::PtxModule::load(text, name, [this](sim::PtxVariable& variable) { place(variable); })),
        target(module.target()) {
    for (const sim::PtxEntry& entry : module.entries()) {
      std::vector<heddle_parameter>& of_entry = parameters.emplace_back();
      for (std::size_t p = 0; p < entry.parameter_sizes.size(); ++p) {
        of_entry.push_back({.name = entry.parameter_names[p].c_str(),
                            .bytes = entry.parameter_sizes[p],
                            .offset = entry.parameter_offsets[p],
                            .is_float = entry.parameter_is_float[p] ? 1 : 0});
      }
    }
  }

  // In memory that launches are given, so that those under other schedules get copies of it.
  void place(sim::PtxVariable& variable) {
    constexpr std::size_t kAlignment = 256;
    if (variable.align > kAlignment) {
      throw InputError(
          fmt::format("variable {} is aligned to {}; at most {}", variable.name, variable.align, kAlignment));
    }
    std::vector<Line>& bytes = storage.emplace_back((variable.bytes + sizeof(Line) - 1) / sizeof(Line));
    variable.host = reinterpret_cast<std::byte*>(bytes.data());
    variable.address = variable.host;
    if (variable.is_constant) {
      memory.add_read_only(variable.name, variable.host, variable.bytes);
    } else {
      memory.add(variable.name, variable.host, variable.bytes);
    }
  }

  struct alignas(256) Line {
    std::byte bytes[256];
  };
  std::deque<std::vector<Line>> storage;  // of the variables
  sim::GlobalMemory memory;               // that they are in
  sim::PtxModule module;
  std::string target;
  std::vector<std::vector<heddle_parameter>> parameters;  // of each entry
};

namespace {

heddle::isa::Dim3 dims(const uint32_t (&of)[3]) { return {of[0], of[1], of[2]}; }

void copy_dims(const heddle::isa::Dim3& from, uint32_t (&to)[3]) {
  to[0] = from.x;
  to[1] = from.y;
  to[2] = from.z;
}

heddle::Arch arch_of(const char* name) {
  const std::string_view text = name == nullptr ? "sm90" : name;
  if (text == "sm90") return heddle::Arch::kSm90;
  if (text == "sm100") return heddle::Arch::kSm100;
  throw InputError(fmt::format("architecture '{}': sm90 or sm100", text));
}

// As many SMs as the card of `heddle exec` has.
constexpr std::uint32_t kSms = 16;

}  // namespace

HEDDLE_C_CALL const char* heddle_version() {
  static const std::string text =
      fmt::format("{}.{}.{}", HEDDLE_VERSION_MAJOR, HEDDLE_VERSION_MINOR, HEDDLE_VERSION_PATCH);
  return text.c_str();
}

HEDDLE_C_CALL heddle_module* heddle_module_load(const char* text, const char* name) {
  return guarded<heddle_module*>(nullptr, [&] {
    if (text == nullptr || name == nullptr) throw InputError("a module needs a text and a name, not null");
    return new heddle_module(text, name);
  });
}

HEDDLE_C_CALL void heddle_module_free(heddle_module* module) { delete module; }

HEDDLE_C_CALL const char* heddle_module_target(const heddle_module* module) { return module->target.c_str(); }

HEDDLE_C_CALL size_t heddle_module_kernel_count(const heddle_module* module) {
  return module->module.entries().size();
}

HEDDLE_C_CALL int heddle_module_kernel(const heddle_module* module, size_t index, heddle_kernel* kernel) {
  return guarded(1, [&] {
    const std::vector<sim::PtxEntry>& entries = module->module.entries();
    if (index >= entries.size()) throw InputError(fmt::format("kernel {} of {}", index, entries.size()));
    const sim::PtxEntry& entry = entries[index];
    *kernel = {.name = entry.name.c_str(),
               .parameters = module->parameters[index].data(),
               .parameter_count = module->parameters[index].size(),
               .parameter_bytes = entry.parameter_bytes,
               .max_threads = entry.max_threads,
               .required_block = {},
               .required_cluster = {},
               .static_shared_bytes = entry.static_shared_bytes,
               .unsupported = entry.unsupported.c_str()};
    copy_dims(entry.required_block, kernel->required_block);
    copy_dims(entry.required_cluster, kernel->required_cluster);
    return 0;
  });
}

HEDDLE_C_CALL heddle_report* heddle_module_launch(const heddle_module* module, const heddle_launch* launch) {
  return guarded<heddle_report*>(nullptr, [&] {
    sim::GlobalMemory memory(&module->memory);
    for (size_t r = 0; r < launch->region_count; ++r) {
      const heddle_region& region = launch->regions[r];
      if (region.is_writable != 0) {
        memory.add(region.name, region.begin, region.bytes);
      } else {
        memory.add_read_only(region.name, region.begin, region.bytes);
      }
    }
    sim::LaunchOptions options;
    options.memory = &memory;
    options.arch = arch_of(launch->arch);
    options.sms = launch->sms == 0 ? kSms : launch->sms;
    options.kernel = launch->kernel;
    if (launch->schedule != nullptr) options.schedule = sim::Schedule::parse(launch->schedule);
    if (launch->budget != 0) options.max_steps = launch->budget;
    options.check_races = launch->check_races != 0;
    options.strict = launch->strict != 0;
    options.accepted.assign(launch->accepted, launch->accepted + launch->accepted_count);
    const sim::PtxLaunch shape{.grid = dims(launch->grid),
                               .block = dims(launch->block),
                               .cluster = dims(launch->cluster),
                               .dynamic_shared_bytes = launch->dynamic_shared_bytes};
    const auto run_once = [&](const sim::LaunchOptions& how, bool is_first) {
      sim::PtxLaunch one = shape;
      if (!is_first) {
        one.print = [](std::string_view) {};  // said once
      } else if (launch->print != nullptr) {
        one.print = [&](std::string_view text) {
          launch->print(launch->print_context, text.data(), text.size());
        };
      }
      return module->module.launch(launch->kernel, how, one, launch->parameters, launch->parameter_bytes);
    };
    const sim::explore::Repetition many{.schedules = launch->schedules,
                                        .seed = launch->seed == 0 ? 1 : launch->seed,
                                        .depth = launch->pct_depth,
                                        .workers = 0};
    return new heddle_report(launch->kernel, sim::explore::repeat(options, many, run_once));
  });
}
