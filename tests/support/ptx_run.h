// SPDX-License-Identifier: Apache-2.0
//
// Short PTX kernels for tests.
#pragma once

#include "ptx_forms.h"

#include <heddle/sim/ptx.h>

#include <gtest/gtest.h>

#include <array>

#include <string>
#include <vector>

namespace heddle::test {

// The body of an entry `k(.param .u64 out, .param .u64 in)` with registers of all kinds.
inline std::string ptx_module(const std::string& body, const std::string& before = "") {
  return ".version 9.0\n.target sm_90a\n.address_size 64\n" + before +
         "\n.visible .entry k(.param .u64 out, .param .u64 in)\n{\n"
         ".reg .pred %p<10>; .reg .b16 %h<10>; .reg .b32 %r<40>; .reg .b64 %rd<40>; .reg .f32 %f<20>; .reg .f64 "
         "%fd<10>;\n" +
         body + "\n}\n";
}

struct PtxRun {
  std::uint32_t threads = 32;
  isa::Dim3 grid = {};
  isa::Dim3 cluster = {0, 0, 0};
  std::size_t shared_bytes = 0;
  sim::Schedule schedule = {};
  std::uint64_t max_steps = std::uint64_t{1} << 34;
  bool check_races = true;
  Arch arch = Arch::kSm90;
  std::vector<std::string> accepted = {};
  std::string printed = {};
};

// Runs k with `out` and `in` as global memory.
inline sim::Report run_ptx(const std::string& text, std::vector<std::uint32_t>& out,
                           const std::vector<std::uint32_t>& in = {0}, PtxRun run = {},
                           std::string* printed = nullptr) {
  const sim::PtxModule module = sim::PtxModule::load(text, "test.ptx");
  sim::GlobalMemory memory;
  memory.add("out", out.data(), 4 * out.size());
  memory.add_read_only("in", in.data(), 4 * in.size());
  sim::PtxArguments arguments;
  arguments.add(out.data());
  arguments.add(in.data());
  sim::PtxLaunch launch{.grid = run.grid,
                        .block = {run.threads, 1, 1},
                        .cluster = run.cluster,
                        .dynamic_shared_bytes = run.shared_bytes,
                        .registers = 0,
                        .print = {}};
  if (printed != nullptr) launch.print = [printed](std::string_view part) { *printed += part; };
  return module.launch("k",
                       {.memory = &memory,
                        .schedule = run.schedule,
                        .arch = run.arch,
                        .kernel = "k",
                        .max_steps = run.max_steps,
                        .check_races = run.check_races,
                        .accepted = run.accepted},
                       launch, arguments);
}

// One scalar instruction on many sets of operands.
inline std::vector<std::uint64_t> apply_form(const ScalarForm& form,
                                             const std::vector<std::array<std::uint64_t, 4>>& operands) {
  std::vector<std::uint64_t> out(operands.size(), 0xdeadbeef);
  const sim::PtxModule module = sim::PtxModule::load(scalar_kernel(form), "form.ptx");
  sim::GlobalMemory memory;
  memory.add("out", out.data(), 8 * out.size());
  memory.add_read_only("in", operands.data(), 32 * operands.size());
  sim::PtxArguments arguments;
  arguments.add(out.data());
  arguments.add(operands.data());
  arguments.add(static_cast<std::uint32_t>(operands.size()));
  const auto blocks = static_cast<std::uint32_t>((operands.size() + 127) / 128);
  const sim::Report report = module.launch("apply", {.memory = &memory, .kernel = "apply", .check_races = false},
                                           {.grid = {blocks, 1, 1},
                                            .block = {128, 1, 1},
                                            .cluster = {0, 0, 0},
                                            .dynamic_shared_bytes = 0,
                                            .registers = 0,
                                            .print = {}},
                                           arguments);
  EXPECT_TRUE(report.ok()) << form.text << "\n" << report.text();
  return out;
}

inline std::uint64_t apply_one(const std::string& text, std::uint32_t d_bits, std::vector<std::uint32_t> bits,
                               std::array<std::uint64_t, 4> operands) {
  return apply_form({text, d_bits, std::move(bits)}, {operands})[0];
}

}  // namespace heddle::test
