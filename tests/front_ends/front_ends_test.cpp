// SPDX-License-Identifier: Apache-2.0
//
// A mistake is the same mistake whether a kernel runs as C++ or as the PTX that nvcc makes of it: code, verdict
// and line. Every code is either tried here or named with the reason why it is not.
#include "faults_sm100.h"

#include <heddle/host/tensor_map.h>
#include <heddle/sim/launch.h>
#include <heddle/sim/ptx.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {
namespace {

struct Case {
  Arch arch;
  std::string name, code, verdict;
  std::uint32_t ctas, cluster;
  sim::Report (*launch)(bool is_wrong, const sim::LaunchOptions&, const LaunchShape&, const faults::Params&);
};

#define HEDDLE_FAULT_CASE(arch, name, code, verdict, ctas, cluster)                           \
  Case{arch,                                                                                  \
       #name,                                                                                 \
       code,                                                                                  \
       verdict,                                                                               \
       ctas,                                                                                  \
       cluster,                                                                               \
       [](bool is_wrong, const sim::LaunchOptions& options, const LaunchShape& shape,         \
          const faults::Params& params) {                                                     \
         return is_wrong ? sim::launch<faults::Kernel_##name<true>>(options, shape, params)   \
                         : sim::launch<faults::Kernel_##name<false>>(options, shape, params); \
       }},
#define HEDDLE_FAULT_SM90(...) HEDDLE_FAULT_CASE(Arch::kSm90, __VA_ARGS__)
#define HEDDLE_FAULT_SM100(...) HEDDLE_FAULT_CASE(Arch::kSm100, __VA_ARGS__)

const Case kCases[] = {HEDDLE_FAULTS(HEDDLE_FAULT_SM90) HEDDLE_FAULTS_SM100(HEDDLE_FAULT_SM100)};

// Codes that one front end alone can raise.
struct OneSided {
  sim::FaultCode code;
  std::string_view why;
};

using enum sim::FaultCode;

constexpr OneSided kCppOnly[] = {
    {kException, "nothing is thrown in PTX"},
    {kNotShared, "a pointer past the CTA's memory, for which PTX has shared_out_of_bounds"},
    {kStackOverflow, "fibers have stacks; PTX has .local, which has bounds of its own"},
    {kStageDropped, "handles are gone when nvcc has compiled them"},
    {kStageUsedAfterRelease, "likewise"},
};
constexpr OneSided kPtxOnly[] = {
    {kAccumulatorInFlight, "registers can be followed; in C++ the landing of a wgmma looks at them"},
    {kAssert, "assert() calls __assertfail; in C++ the host's ends the process"},
    {kBadCopy, "cp.async, which isa/ does not have"},
    {kBadBranch, "brx.idx and call through a table"},
    {kLocalOutOfBounds, ".local memory"},
    {kParamOutOfBounds, ".param memory"},
    {kTrap, "the instruction; a C++ kernel throws"},
};
// Raised by both, and tried elsewhere with each.
constexpr OneSided kElsewhere[] = {
    {kBadDescriptor, "wgmma and tcgen05: tests/unit, tests/museum/wgmma.cu"},
    {kMissingWgmmaFence, "likewise"},
    {kBadShape, "multiplications: tests/unit/tcgen05*_test.cpp, tests/museum/tcgen05.cu"},
    {kMissingTcgen05Fence, "likewise"},
    {kScaleCopies, "likewise"},
    {kTmemOverlap, "likewise"},
    {kRegisterBudget, "tests/unit/registers_test.cpp, tests/unit/ptx_registers_test.cpp"},
    {kBudget, "a limit of the launch, not a mistake of one line"},
    {kScheduleDependence, "needs many schedules: tests/unit/repeat_test.cpp, tests/exec"},
    {kUnsupported, "what the model does not know"},
};

const sim::PtxModule& module(Arch arch) {
  const auto load = [](const char* path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return sim::PtxModule::load(text.str(), "faults.ptx");
  };
  static const sim::PtxModule sm90 = load(HEDDLE_FAULTS_PTX), sm100 = load(HEDDLE_FAULTS_SM100_PTX);
  return arch == Arch::kSm90 ? sm90 : sm100;
}

sim::Report run(const Case& one, bool is_wrong, bool is_ptx) {
  alignas(128) std::array<std::uint32_t, 64> words = {};
  alignas(128) std::array<std::uint32_t, 64> source = {};
  sim::GlobalMemory memory;
  memory.add("words", words.data(), sizeof(words));
  memory.add_read_only("source", source.data(), sizeof(source));
  const sim::LaunchOptions options{.memory = &memory, .arch = one.arch, .kernel = one.name};
  const LaunchShape shape{.grid = {one.ctas}, .cluster = {one.cluster}};
  const faults::Params params{.words = words.data(),
                              .source = source.data(),
                              .map = make_tensor_map({.type = TensorType::kU32,
                                                      .rank = 2,
                                                      .address = source.data(),
                                                      .dims = {16, 4},
                                                      .strides = {64},
                                                      .box = {4, 1}}),
                              .no_map = {}};
  if (!is_ptx) return one.launch(is_wrong, options, shape, params);
  const sim::PtxInstead instead(module(one.arch));
  sim::Report report = one.launch(is_wrong, options, shape, params);
  EXPECT_EQ(instead.launches(), 1u);
  return report;
}

// What it says, and at which lines of the source.
struct Found {
  std::string code, verdict;
  std::vector<std::string> lines;

  friend bool operator==(const Found&, const Found&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Found& found) {
    out << found.code << ", " << found.verdict;
    for (const std::string& line : found.lines) out << ", " << line;
    return out;
  }
};

Found found_in(const sim::Report& report) {
  const std::vector<sim::Diagnosis>& list = report.ok() ? report.formal : report.diagnoses;
  if (list.empty()) return {};
  Found found{std::string(name_of(list[0].code)), std::string(name_of(list[0].verdict)), {}};
  for (const std::string& place : list[0].places) found.lines.push_back(place.substr(0, place.find(',')));
  // A hang has no pair of places: the first is where somebody waits.
  if (const std::size_t at = list[0].text.find("faults"); found.lines.empty() && at != std::string::npos) {
    found.lines.push_back(list[0].text.substr(at, list[0].text.find_first_of(",\n", at) - at));
  }
  std::sort(found.lines.begin(), found.lines.end());
  return found;
}

TEST(FrontEnds, AMistakeHasTheSameCodeVerdictAndLineInBoth) {
  for (const Case& one : kCases) {
    const sim::Report as_cpp = run(one, true, false);
    const sim::Report as_ptx = run(one, true, true);
    const Found found = found_in(as_cpp);
    EXPECT_EQ(found.code, one.code) << one.name << "\n" << as_cpp.text();
    EXPECT_EQ(found.verdict, one.verdict) << one.name << "\n" << as_cpp.text();
    EXPECT_FALSE(found.lines.empty()) << one.name << "\n" << as_cpp.text();
    EXPECT_EQ(found_in(as_ptx), found) << one.name << "\n" << as_cpp.text() << as_ptx.text();
  }
}

TEST(FrontEnds, WithoutTheMistakeBothAreSilent) {
  for (const Case& one : kCases) {
    for (const bool is_ptx : {false, true}) {
      const sim::Report report = run(one, false, is_ptx);
      EXPECT_TRUE(report.ok() && report.formal.empty()) << one.name << "\n" << report.text() << report.remarks();
    }
  }
}

TEST(FrontEnds, EveryCodeIsTriedOrNamed) {
  std::map<std::string_view, int> times;
  for (const Case& one : kCases) times[one.code] = 1;
  for (const OneSided& one : kCppOnly) ++times[name_of(one.code)];
  for (const OneSided& one : kPtxOnly) ++times[name_of(one.code)];
  for (const OneSided& one : kElsewhere) ++times[name_of(one.code)];
  for (const sim::FaultRule& rule : sim::kFaultRules) EXPECT_EQ(times[rule.name], 1) << rule.name;
}

}  // namespace
}  // namespace heddle
