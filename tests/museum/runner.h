// SPDX-License-Identifier: Apache-2.0
//
// Runs kernels of the museum in the simulated SM, each with fresh memory.
#pragma once

#include "table.h"

#include <heddle/host/tensor_map.h>
#include <heddle/sim/history.h>
#include <heddle/sim/ptx.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace heddle::museum {

// Memory as a driver aligns it.
struct alignas(256) Matrix {
  std::array<std::uint32_t, 64 * 64> words = {};
};

struct Outcome {
  sim::Report report;
  Matrix out;

  // The first finding that stops the launch, "formal" and the first one that does not, or nothing.
  std::string code() const {
    if (!report.ok()) return std::string(sim::name_of(report.diagnoses.front().code));
    return report.formal.empty() ? "" : "formal " + std::string(sim::name_of(report.formal.front().code));
  }
};

// The modules that the build has made of the .cu files, loaded on demand.
class Museum {
 public:
  explicit Museum(std::string folder) : folder_(std::move(folder)) {}

  Outcome run(const std::string& kernel, const std::string& file, const Shape& shape,
              const sim::Schedule& schedule = {}) {
    const sim::PtxModule& module = module_of(file);
    Outcome outcome;
    Matrix in, scratch, raw;
    for (std::uint32_t i = 0; i < in.words.size(); ++i) in.words[i] = i + 1;
    sim::GlobalMemory memory;
    sim::PtxArguments arguments;
    const auto add = [&](const char* name, Matrix& matrix) {
      memory.add(name, &matrix, sizeof matrix);
      arguments.add(static_cast<void*>(&matrix));
    };
    add("out", outcome.out);
    add("in", in);
    add("scratch", scratch);
    memory.add_unwritten(reinterpret_cast<std::uint64_t>(&raw), "raw", &raw, sizeof raw);
    arguments.add(static_cast<void*>(&raw));
    // As the kernels declare it; the alignment of isa::TensorMap is larger.
    const isa::TensorMap load_map = map_of(in), store_map = map_of(outcome.out);
    arguments.add_bytes(&load_map, sizeof load_map, 64);
    arguments.add_bytes(&store_map, sizeof store_map, 64);
    // A launch that lets dependent ones begin is over for those who wait for it.
    sim::History history;
    const auto launch = [&](const std::string& entry) {
      for (sim::History::Work& work : history.works) {
        if (work.launches_dependents) work.relation = sim::History::Relation::kUntilWait;
      }
      outcome.report = module.launch(entry,
                                     {.memory = &memory,
                                      .schedule = schedule,
                                      .arch = is_blackwell(file) ? Arch::kSm100 : Arch::kSm90,
                                      .kernel = entry,
                                      .max_steps = std::uint64_t{1} << 22,
                                      .history = *shape.first == 0 ? nullptr : &history},
                                     {.grid = {shape.blocks, 1, 1},
                                      .block = {shape.threads, 1, 1},
                                      .cluster = {shape.cluster, 1, 1},
                                      .dynamic_shared_bytes = 0,
                                      .registers = shape.registers},
                                     arguments);
    };
    if (*shape.first != 0) launch(shape.first);
    if (*shape.first == 0 || outcome.report.ok()) launch(kernel);
    return outcome;
  }

 private:
  static isa::TensorMap map_of(const Matrix& matrix) {
    return tensor_map_2d(
        {.type = TensorType::kU32, .address = &matrix, .rows = 64, .cols = 64, .box_rows = 16, .box_cols = 16});
  }

  const sim::PtxModule& module_of(const std::string& file) {
    const auto known = modules_.find(file);
    if (known != modules_.end()) return known->second;
    const std::string path = folder_ + "/" + file + ".ptx";
    std::ifstream in(path);
    if (!in) throw std::runtime_error("there is no " + path);
    std::stringstream text;
    text << in.rdbuf();
    return modules_.emplace(file, sim::PtxModule::load(text.str(), file + ".ptx")).first->second;
  }

  std::string folder_;
  std::map<std::string, sim::PtxModule> modules_;
};

// Round robin, then random ones. HEDDLE_SCHEDULES says how many; 201 is what docs/promises.md counts.
inline std::uint64_t schedules(std::uint64_t otherwise) {
  const char* wanted = std::getenv("HEDDLE_SCHEDULES");
  return wanted == nullptr ? otherwise : std::strtoull(wanted, nullptr, 10);
}
inline sim::Schedule schedule_of(std::uint64_t i) {
  return i == 0 ? sim::Schedule::round_robin() : sim::Schedule::random(i);
}

}  // namespace heddle::museum
