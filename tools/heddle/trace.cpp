// SPDX-License-Identifier: Apache-2.0
//
// Runs what another command runs, once, and writes what happened as a picture; or draws what happened on a GPU.
#include "commands.h"

#include "matmul_traced.h"
#include "tell.h"

#include <heddle/host/error.h>
#include <heddle/sim/trace.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <utility>

namespace heddle::tool {

namespace {

void write(const TraceOptions& options, const sim::Trace& trace) {
  trace.write(options.out);
  const bool is_for_program = options.check.json || options.matmul.json;
  std::FILE* out = is_for_program ? stderr : stdout;
  fmt::print(out, "\nwhere the time of each role went, in cycles:\n{}", trace.shares());
  if (!trace.prediction().empty()) fmt::print(out, "predicted       {}\n", trace.prediction());
  if (!trace.remark().empty()) tell("heddle trace: {}\n", trace.remark());
  fmt::print(out, "trace           {} ({} spans)\n", options.out, trace.spans());
}

template <class Run>
int record(const TraceOptions& options, Run&& run) {
  sim::Trace::check_path(options.out);
  sim::Trace trace(options.events);
  int status = kWell;
  {
    const sim::Tracing tracing(trace);
    status = run();
  }
  if (trace.launches() == 0) {
    throw InputError("trace: nothing ran in the simulated SM; --device sim:sm90 or sim:sm100 would");
  }
  write(options, trace);
  return status;
}

// The matmul on a GPU, in a build that records.
int record_on_gpu(const TraceOptions& options) {
  if (options.matmul.packed) {
    throw InputError(
        "trace: --packed does not go with a GPU: kernels that record there take rows that begin at multiples of "
        "16 bytes; without --packed it would pass");
  }
  sim::Trace::check_path(options.out);
  std::vector<TracedLaunch> launches;
  MatmulOptions matmul_options = options.matmul;
  matmul_options.traced = &launches;
  if (matmul_options.config.empty()) matmul_options.config = kTracedConfig;
  const int status = matmul(matmul_options);
  sim::Trace trace(options.events);
  for (TracedLaunch& launch : launches) trace.add(std::move(launch));
  write(options, trace);
  return status;
}

// What a kernel left on a GPU.
int draw_file(const TraceOptions& options) {
  sim::Trace::check_path(options.out);
  sim::Trace trace(options.events);
  for (TracedLaunch& launch : read_traced_launches(options.file)) trace.add(std::move(launch));
  if (trace.launches() == 0) throw InputError(fmt::format("trace '{}': it has no launch", options.file));
  write(options, trace);
  return kWell;
}

}  // namespace

CLI::App* add_trace(CLI::App& app, TraceOptions& options) {
  CLI::App* command = app.add_subcommand(
      "trace",
      "Run a kernel once in the simulated SM and write its timeline: who waits for which barrier, who holds\n"
      "which stage, what is in flight and which of them ended a wait; exit status as the kernel's own command");
  command
      ->add_option("-o,--out", options.out,
                   "A file that ends in .html (a page), .json (Perfetto) or .svg (a still)")
      ->capture_default_str();
  command->add_option("--trace-events", options.events, "How many spans to keep")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{100'000'000}))
      ->capture_default_str();
  command->require_subcommand(1);
  options.check.schedule = "rr";
  add_check_options(*command->add_subcommand("tile_copy", "As heddle check tile_copy"), options.check);
  add_matmul_options(*command->add_subcommand("matmul", "As heddle matmul"), options.matmul);
  command->add_subcommand("file", "Draw what a kernel built with HEDDLE_TRACE did on a GPU: see docs/trace.md")
      ->add_option("FILE", options.file, "As write_traced_launches() has written it")
      ->required();
  for (CLI::App* kernel : command->get_subcommands({})) kernel->fallthrough();
  command->footer(
      "Examples:\n"
      "  heddle trace -o copy.html tile_copy\n"
      "  heddle trace -o hang.html tile_copy --mistake drop_release\n"
      "  heddle trace -o matmul.json matmul --m 256 --n 256 --k 512 --device sim:sm100\n"
      "  heddle trace -o gpu.html matmul --m 2048 --n 2048 --k 1024 --device cuda:0\n"
      "  heddle trace -o gpu.html file matmul.trace        (of a GPU)\n"
      "  heddle exec --trace program.html ./program      (CUDA programs and Triton scripts)");
  return command;
}

int trace(const TraceOptions& options, const CLI::App& command) {
  if (command.got_subcommand("file")) return draw_file(options);
  if (command.got_subcommand("matmul")) {
    if (options.matmul.list_configs) return matmul(options.matmul);  // nothing runs
    if (find_device(options.matmul.device).is_gpu()) return record_on_gpu(options);
    return record(options, [&] { return matmul(options.matmul); });
  }
  return record(options, [&] { return check(options.check); });
}

}  // namespace heddle::tool
