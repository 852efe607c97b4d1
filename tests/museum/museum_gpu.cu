// SPDX-License-Identifier: Apache-2.0
//
// museum_gpu FOLDER [--tool TOOL] [--twins] [--jobs N] [--timeout SECONDS] [NAME...]: the museum's Hopper
// exhibits on a card, each in a process of its own: ran right, wrong result, hang, error; or, with a tool of
// compute-sanitizer, what the tool said. FOLDER holds the .cubin files. One line for each, and a summary.
//
//   museum_gpu FOLDER --one NAME wrong|mended TIMES   is what such a process runs.
#include "table.h"

#include <cudaTypedefs.h>
#include <cuda_runtime.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace {

using namespace heddle::museum;
using u32 = unsigned;
constexpr int kWrongResult = 10;
constexpr int kError = 11;
constexpr int kToolFound = 99;
constexpr std::size_t kBytes = 64 * 64 * 4;

// The process of one exhibit

void need(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::printf("%s: %s\n", what, cudaGetErrorName(error));
  std::exit(kError);
}

CUtensorMap map_of(void* matrix) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
  need(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found),
       "cuTensorMapEncodeTiled");
  CUtensorMap map;
  const cuuint64_t dims[] = {64, 64}, strides[] = {256};
  const cuuint32_t box[] = {16, 16}, steps[] = {1, 1};
  const CUresult code = reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function)(
      &map, CU_TENSOR_MAP_DATA_TYPE_UINT32, 2, matrix, dims, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
      CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (code != CUDA_SUCCESS) std::exit(kError);
  return map;
}

struct Card {
  void *out, *in, *scratch, *raw;
  cudaLibrary_t library;
  CUtensorMap load, store;

  explicit Card(const std::string& cubin) {
    for (void** p : {&out, &in, &scratch, &raw}) need(cudaMalloc(p, kBytes), "cudaMalloc");
    std::vector<u32> words(64 * 64);
    for (u32 i = 0; i < words.size(); ++i) words[i] = i + 1;
    need(cudaMemcpy(in, words.data(), kBytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    need(cudaLibraryLoadFromFile(&library, cubin.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0),
         cubin.c_str());
    load = map_of(in);
    store = map_of(out);
  }

  void launch(const std::string& name, const Shape& shape, bool overlaps) {
    cudaKernel_t kernel;
    need(cudaLibraryGetKernel(&kernel, library, name.c_str()), name.c_str());
    cudaLaunchAttribute attributes[2];
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(shape.blocks);
    config.blockDim = dim3(shape.threads);
    config.attrs = attributes;
    attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
    attributes[config.numAttrs++].val.clusterDim = {shape.cluster, 1, 1};
    if (overlaps) {
      attributes[config.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
      attributes[config.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
    }
    void* arguments[] = {&out, &in, &scratch, &raw, &load, &store};
    need(cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(kernel), arguments), "launch");
  }

  std::vector<u32> run(const std::string& name, const Shape& shape) {
    need(cudaMemset(out, 0, kBytes), "cudaMemset");
    need(cudaMemset(scratch, 0, kBytes), "cudaMemset");
    if (*shape.first != 0) launch(shape.first, shape, false);
    launch(name, shape, *shape.first != 0);
    need(cudaDeviceSynchronize(), "kernel");
    std::vector<u32> words(64 * 64);
    need(cudaMemcpy(words.data(), out, kBytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return words;
  }
};

// Compares with the mended twin, unless run once: then a tool watches, and the twin would be in its way.
int run_one(const std::string& folder, const Exhibit& e, const std::string& which, int times) {
  Card card(folder + "/" + e.file + ".cubin");
  std::vector<u32> right;
  if (times > 1) right = card.run(std::string(e.name) + "_mended", e.shape);
  for (int i = 0; i < times; ++i)
    if (card.run(std::string(e.name) + "_" + which, e.shape) != right && times > 1) return kWrongResult;
  return 0;
}

// The process that starts them

struct Child {
  const Exhibit* exhibit;
  std::string which;
  pid_t pid;
  std::string log;
  std::chrono::steady_clock::time_point end;
};

struct Options {
  std::string program, folder, tool;
  bool twins = false;
  int jobs = 8, timeout = 10;
};

Child start(const Options& o, const Exhibit& e, const std::string& which) {
  const std::string file = "museum_gpu." + std::to_string(getpid()) + "." + e.name + "." + which;
  Child child{&e, which, 0, std::filesystem::temp_directory_path() / file,
              std::chrono::steady_clock::now() + std::chrono::seconds(o.timeout)};
  child.pid = fork();
  if (child.pid == 0) {
    setpgid(0, 0);
    const int log = open(child.log.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    dup2(log, 1);
    dup2(log, 2);
    const char* times = o.tool.empty() ? "50" : "1";
    std::vector<const char*> command;
    const std::string code = std::to_string(kToolFound);
    if (!o.tool.empty())
      command = {"compute-sanitizer", "--tool", o.tool.c_str(), "--error-exitcode", code.c_str()};
    for (const char* word : {o.program.c_str(), o.folder.c_str(), "--one", e.name, which.c_str(), times})
      command.push_back(word);
    command.push_back(nullptr);
    execvp(command[0], const_cast<char* const*>(command.data()));
    std::perror(command[0]);
    _exit(kError);
  }
  return child;
}

std::string first_line(const std::string& path, bool of_tool) {
  FILE* file = std::fopen(path.c_str(), "r");
  if (file == nullptr) return "";
  char line[400];
  std::string found;
  while (found.empty() && std::fgets(line, sizeof line, file) != nullptr) {
    line[std::strcspn(line, "\n")] = 0;
    if (!of_tool) found = line;
    else if (std::strncmp(line, "========= ", 10) == 0 && std::strncmp(line, "========= COMPUTE", 17) != 0)
      found = line + 10;
  }
  std::fclose(file);
  return found;
}

int run_all(const Options& o, const std::vector<std::string>& names) {
  std::vector<std::pair<const Exhibit*, std::string>> work;
  for (const Exhibit& e : kExhibits) {
    if (is_blackwell(e.file)) continue;
    bool wanted = names.empty();
    for (const std::string& name : names) wanted |= name == e.name;
    if (!wanted) continue;
    work.push_back({&e, "wrong"});
    if (o.twins) work.push_back({&e, "mended"});
  }
  std::vector<Child> running;
  std::map<std::string, int> summary;
  std::size_t next = 0;
  while (next < work.size() || !running.empty()) {
    while (next < work.size() && static_cast<int>(running.size()) < o.jobs) {
      running.push_back(start(o, *work[next].first, work[next].second));
      ++next;
    }
    usleep(5000);
    for (std::size_t i = 0; i < running.size();) {
      Child& c = running[i];
      int status = 0;
      const bool ended = waitpid(c.pid, &status, WNOHANG) == c.pid;
      const bool late = !ended && std::chrono::steady_clock::now() > c.end;
      if (!ended && !late) {
        ++i;
        continue;
      }
      std::string outcome;
      if (late) {
        kill(-c.pid, SIGKILL);
        waitpid(c.pid, &status, 0);
        outcome = "hang";
      } else {
        const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        outcome = code == 0              ? (o.tool.empty() ? "right" : "silent")
                  : code == kWrongResult ? "wrong result"
                  : code == kToolFound   ? "found"
                                         : "error";
      }
      const std::string line =
          outcome == "right" || outcome == "silent" ? "" : first_line(c.log, !o.tool.empty());
      std::printf("%s\t%s\t%s\t%s\t%s\n", o.tool.empty() ? "plain" : o.tool.c_str(), c.exhibit->name,
                  c.which.c_str(), outcome.c_str(), line.c_str());
      std::fflush(stdout);
      ++summary[c.which + " " + outcome];
      unlink(c.log.c_str());
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  for (const auto& [what, count] : summary)
    std::printf("summary\t%s\t%s\t%d\n", o.tool.empty() ? "plain" : o.tool.c_str(), what.c_str(), count);
  return 0;
}

int usage() {
  std::fprintf(stderr,
               "usage: museum_gpu FOLDER [--tool TOOL] [--twins] [--jobs N] [--timeout SECONDS] [NAME...]\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return usage();
  Options o{.program = "/proc/self/exe", .folder = argv[1], .tool = ""};
  char self[4096];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length > 0) o.program.assign(self, static_cast<std::size_t>(length));
  std::vector<std::string> names;
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--one" && i + 3 < argc) {
      for (const Exhibit& e : kExhibits)
        if (std::strcmp(e.name, argv[i + 1]) == 0)
          return run_one(o.folder, e, argv[i + 2], std::atoi(argv[i + 3]));
      return usage();
    }
    if (word == "--twins") o.twins = true;
    else if (word == "--tool" && i + 1 < argc) o.tool = argv[++i];
    else if (word == "--jobs" && i + 1 < argc) o.jobs = std::atoi(argv[++i]);
    else if (word == "--timeout" && i + 1 < argc) o.timeout = std::atoi(argv[++i]);
    else if (word.starts_with("--")) return usage();
    else names.push_back(word);
  }
  int devices = 0;
  // Asked in a process of its own, so that the starter has no context.
  const pid_t asks = fork();
  if (asks == 0) _exit(cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0 ? 0 : 1);
  int status = 0;
  waitpid(asks, &status, 0);
  if (status != 0) {
    std::puts("skipped: there is no GPU");
    return 77;
  }
  return run_all(o, names);
}
