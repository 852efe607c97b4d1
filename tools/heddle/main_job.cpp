// SPDX-License-Identifier: Apache-2.0
//
// The tour: a Blackwell matmul in the simulated SM, every element checked, and its timeline; the same kernel with
// a mistake, explained and drawn; and what else this machine has: a Triton kernel, a Hopper GPU.
#include "commands.h"
#include "devices.h"
#include "tour_matmul.h"

#include <heddle/sim/trace.h>

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace heddle::tool {

namespace {

namespace fs = std::filesystem;

reference::MatmulCase problem(std::int64_t m, std::int64_t n) {
  reference::MatmulCase matmul{.problem = {.m = m, .n = n, .k = 512}};
  matmul.prepare();
  return matmul;
}

// Runs it, and writes what happened.
RunOutcome run_traced(reference::MatmulCase& matmul, bool forgets_b, const std::string& path, sim::Trace& trace) {
  RunOutcome outcome;
  {
    const sim::Tracing tracing(trace);
    outcome = run_tour_matmul(matmul, forgets_b);
  }
  trace.write(path);
  return outcome;
}

bool multiply(const fs::path& folder) {
  reference::MatmulCase matmul = problem(256, 256);
  const MatmulProblem& p = matmul.problem;
  fmt::print(
      "1. A Blackwell matmul, {} x {} x {} in bf16, in the simulated SM: one warp loads tiles with TMA into {}\n"
      "   stages, one drives the tensor cores, one asks for more work and four store the sums.\n\n",
      p.m, p.n, p.k, 4);
  const std::string path = (folder / "matmul.html").string();
  const auto start = std::chrono::steady_clock::now();
  sim::Trace trace;
  const RunOutcome outcome = run_traced(matmul, false, path, trace);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (!outcome.ok()) {
    fmt::print("{}\n", outcome.report);
    return false;
  }
  const reference::MatmulVerdict verdict = matmul.verify();
  fmt::print("   {} of {} elements are the exact sums, no finding ({:.1f} s)\n", verdict.checked, p.m * p.n,
             took.count());
  fmt::print("   its timeline: {}\n\n   where the time of each role went, in cycles of the timing model:\n{}\n",
             path, trace.shares());
  if (!verdict.ok()) fmt::print("   {}\n", verdict.wrong);
  return verdict.ok();
}

bool explain(const fs::path& folder) {
  fmt::print("2. The same kernel, but its load warp forgets to copy B:\n\n");
  reference::MatmulCase matmul = problem(128, 64);  // one tile, so that the report is short
  const std::string path = (folder / "hang.html").string();
  sim::Trace trace;
  const RunOutcome outcome = run_traced(matmul, true, path, trace);
  fmt::print("{}\n   drawn, with the roles that hang marked: {}\n\n", outcome.report, path);
  if (outcome.ok()) fmt::print("   the mistake was not noticed\n");
  return !outcome.ok();
}

// The program with all commands, if it was built: beside this one, or this one.
fs::path whole_program() {
  const fs::path path = fs::read_symlink("/proc/self/exe").parent_path() / "heddle";
  return access(path.c_str(), X_OK) == 0 ? path : fs::path();
}

int run_command(const std::vector<std::string>& words, bool is_silent = false) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) return 127;
  if (child == 0) {
    if (is_silent) {
      const int nowhere = open("/dev/null", O_WRONLY);
      dup2(nowhere, STDOUT_FILENO);
      dup2(nowhere, STDERR_FILENO);
    }
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    std::_Exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

// A softmax as Triton compiles it, on memory that the simulated card reaches.
constexpr const char* kTritonScript = R"py(import os
os.environ.setdefault('TRITON_DEFAULT_FP_FUSION', '1')
import torch, triton
import triton.language as tl

@triton.jit
def softmax(out, rows, n, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(rows + row * n + at, mask=at < n, other=-float('inf'))
    y = tl.exp(x - tl.max(x, axis=0))
    tl.store(out + row * n + at, y / tl.sum(y, axis=0), mask=at < n)

rows = torch.randn(16, 781).pin_memory()
out = torch.empty(16, 781, pin_memory=True)
softmax[(16,)](out, rows, 781, BLOCK=1024)
print(f'   16 rows of 781, largest error {(out - torch.softmax(rows, 1)).abs().max().item():.1e}')
)py";

bool has_triton() { return run_command({"python3", "-c", "import torch, triton"}, true) == 0; }

bool run_triton(const fs::path& heddle, const fs::path& folder) {
  if (!has_triton()) {
    fmt::print("3. A Triton kernel: skipped, python3 has no Triton and PyTorch\n");
    return true;
  }
  if (heddle.empty()) {
    fmt::print("3. A Triton kernel: skipped, `./run info` builds the program that runs it first\n");
    return true;
  }
  fmt::print("3. A softmax in Triton, against the simulated card:\n\n");
  const std::string script = (folder / "softmax.py").string();
  std::ofstream(script) << kTritonScript;
  return run_command(
             {heddle.string(), "exec", "--trace", (folder / "softmax.html").string(), "python3", script}) == 0;
}

bool run_hopper(const fs::path& heddle) {
  const DeviceId gpu = find_device("auto");
  const GpuList list = gpus();
  if (!gpu.is_gpu() || list.gpus[static_cast<std::size_t>(gpu.ordinal)].major != 9) {
    fmt::print("4. The Hopper matmul against cuBLAS: skipped, {}\n",
               list.gpus.empty() ? list.why : "no GPU is a Hopper");
    return true;
  }
  if (heddle.empty()) {
    fmt::print(
        "4. The Hopper matmul against cuBLAS: skipped, `./run info` builds the program that measures it first\n");
    return true;
  }
  fmt::print("4. The Hopper matmul against cuBLAS:\n\n");
  return run_command({heddle.string(), "bench", "4096,4096,4096"}) == 0;
}

}  // namespace

int main_job(const std::string& folder) {
  const fs::path where = fs::absolute(folder);
  std::error_code failed;
  fs::create_directories(where, failed);
  sim::Trace::check_path((where / "matmul.html").string());
  if (!multiply(where) || !explain(where)) return kFailed;
  const fs::path heddle = whole_program();
  return run_triton(heddle, where) && run_hopper(heddle) ? kWell : kFailed;
}

}  // namespace heddle::tool
