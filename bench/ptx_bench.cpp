// SPDX-License-Identifier: Apache-2.0
//
// How fast PTX runs in the simulated SM on this machine, in instructions of threads per second on one core. The
// checks are on unless a name says otherwise.
//
// With HEDDLE_MATMUL_PROGRAM, a CUDA program that multiplies matrices and takes --m, --n and --k, as the examples
// of CUTLASS do, also how long `heddle exec` takes for it at 512 x 512 x 512. HEDDLE_MATMUL_OPTIONS are those of
// `heddle exec`, such as --arch sm100, and HEDDLE_PROGRAM is the heddle to run it with, if that is not on PATH.
#include <heddle/sim/ptx.h>

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace {

using namespace heddle;

// 128 threads that run `body` `rounds` times.
std::string loop_kernel(const std::string& body) {
  return ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 data, .param .u32 "
         "rounds)\n{\n"
         ".reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %rd<10>; .reg .f32 %f<10>;\n.shared .align 16 .b8 "
         "tile[8192];\n"
         "ld.param.u64 %rd1, [data]; ld.param.u32 %r1, [rounds]; mov.u32 %r2, %tid.x; mul.wide.u32 %rd2, %r2, "
         "16;\n"
         "add.s64 %rd1, %rd1, %rd2; mov.u32 %r3, tile; shl.b32 %r4, %r2, 4; add.u32 %r3, %r3, %r4; mov.u32 %r5, "
         "0;\n"
         "st.shared.v4.u32 [%r3], {%r2, %r2, %r2, %r2};\n"
         "LOOP:\n" +
         body +
         "add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, %r1; @%p1 bra LOOP;\nst.global.u32 [%rd1], %r10; ret;\n}\n";
}

const char* const kIntegers =
    "mad.lo.s32 %r10, %r10, 1664525, %r5; shr.u32 %r11, %r10, 3; xor.b32 %r10, %r10, %r11; add.s32 %r12, %r11, "
    "%r2;\n"
    "and.b32 %r12, %r12, 255; setp.gt.u32 %p2, %r12, 100; selp.b32 %r13, %r12, %r11, %p2; add.s32 %r10, %r10, "
    "%r13;\n";
const char* const kFloats =
    "fma.rn.f32 %f1, %f1, 0f3F000000, %f2; add.f32 %f2, %f2, 0f3F800000; mul.f32 %f3, %f1, %f2; max.f32 %f1, "
    "%f1, %f3;\n"
    "cvt.rn.f32.u32 %f4, %r5; fma.rn.f32 %f2, %f4, %f1, %f3; sub.f32 %f3, %f2, %f1; min.f32 %f2, %f2, "
    "0f40000000;\n";
const char* const kDivergence =
    "and.b32 %r11, %r2, 3; setp.eq.u32 %p2, %r11, 0; @%p2 bra A; add.u32 %r10, %r10, 1; xor.b32 %r10, %r10, %r5; "
    "bra B;\n"
    "A: add.u32 %r10, %r10, 2; or.b32 %r10, %r10, %r5;\nB: add.u32 %r10, %r10, 3;\n";
const char* const kShared =
    "ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r3]; add.u32 %r10, %r10, %r11;\n"
    "st.shared.v4.u32 [%r3], {%r10, %r11, %r12, %r13};\n";
const char* const kGlobal =
    "ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd1]; add.u32 %r10, %r10, %r11;\n"
    "st.global.v4.u32 [%rd1], {%r10, %r11, %r12, %r13};\n";
const char* const kShuffles = "shfl.sync.bfly.b32 %r11|%p2, %r10, 1, 31, -1; add.u32 %r10, %r11, %r5;\n";

void run(benchmark::State& state, const std::string& body, bool check_races) {
  const sim::PtxModule module = sim::PtxModule::load(loop_kernel(body), "bench.ptx");
  std::vector<std::uint32_t> data(128 * 4);
  sim::GlobalMemory memory;
  memory.add("data", data.data(), 4 * data.size());
  sim::PtxArguments arguments;
  arguments.add(data.data());
  arguments.add(std::uint32_t{2000});
  sim::PtxLaunch launch;
  launch.block = {128, 1, 1};
  std::uint64_t instructions = 0;
  for (auto _ : state) {
    const sim::Report report =
        module.launch("k", {.memory = &memory, .kernel = "k", .check_races = check_races}, launch, arguments);
    if (!report.ok()) return state.SkipWithError(report.text().c_str());
    instructions += report.stats.instructions;
  }
  state.counters["instructions/s"] =
      benchmark::Counter(static_cast<double>(instructions), benchmark::Counter::kIsRate);
}

std::string variable(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

// The program's own verification counts: it ends with a status other than 0 if the result is wrong.
void run_program(benchmark::State& state, const std::string& program) {
  const std::string command = variable("HEDDLE_PROGRAM", "heddle") + " exec --stats " +
                              variable("HEDDLE_MATMUL_OPTIONS", "") + " " + program +
                              " --m=512 --n=512 --k=512 --iterations=0 1>&2";
  for (auto _ : state) {
    if (std::system(command.c_str()) != 0) return state.SkipWithError(("it failed: " + command).c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto add = [](const char* name, const char* body, bool check_races = true) {
    benchmark::RegisterBenchmark(name, [body, check_races](benchmark::State& s) {
      run(s, body, check_races);
    })->Unit(benchmark::kMillisecond);
  };
  add("ptx/integers", kIntegers);
  add("ptx/floats", kFloats);
  add("ptx/divergence", kDivergence);
  add("ptx/shared", kShared);
  add("ptx/shared/races_off", kShared, false);
  add("ptx/global", kGlobal);
  add("ptx/global/races_off", kGlobal, false);
  add("ptx/shuffles", kShuffles);
  if (const std::string program = variable("HEDDLE_MATMUL_PROGRAM", ""); !program.empty()) {
    benchmark::RegisterBenchmark("ptx/program/512x512x512",
                                 [program](benchmark::State& s) { run_program(s, program); })
        ->Unit(benchmark::kSecond)
        ->Iterations(1)
        ->UseRealTime();
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
