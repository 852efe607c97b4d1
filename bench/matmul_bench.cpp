// SPDX-License-Identifier: Apache-2.0
//
// heddle's matmul against cublasLt on one GPU, in one process: cublasLt's first choice, and the best of all that
// its heuristic returns. Two regimes. Burst: about two milliseconds of work, then six times as long without, the
// kernels in random order, medians. Sustained: each kernel alone for a while, at the power limit. Launches are in
// CUDA graphs, buffers are rotated so that nothing stays in L2, data are normal, and every output is checked.
//
//   matmul_bench                                          the shapes of docs/results
//   matmul_bench --shape 4096,4096,4096 --json out.json
//   matmul_bench --tune 4096,4096,4096                    every configuration and several orders of tiles
//   matmul_bench --once 8192,8192,8192 --config NAME      a single launch, for a profiler (or cublasLt:0)
#include "cublaslt.h"
#include "gpu_sensors.h"
#include "matmul_families.h"
#include "matmul_bench_kernels.h"
#include "matmul_sm90_plan.h"

#include <CLI/CLI.hpp>
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace heddle::bench {
namespace {

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw std::runtime_error(fmt::format("{}: {}", what, cudaGetErrorString(error)));
}

struct Shape {
  std::uint32_t m = 0;
  std::uint32_t n = 0;
  std::uint32_t k = 0;

  double flops() const { return 2.0 * m * n * k; }
  std::uint64_t bytes() const { return 2 * (std::uint64_t{m} * k + std::uint64_t{n} * k + std::uint64_t{m} * n); }
  std::string text() const { return fmt::format("{},{},{}", m, n, k); }
};

const std::vector<Shape> kShapes = {{512, 512, 512},      {1024, 1024, 1024},   {2048, 2048, 2048},   {4096, 4096, 4096},
                                    {8192, 8192, 8192},   {16384, 16384, 16384}, {4096, 14336, 4096}, {4096, 4096, 14336},
                                    {8192, 8192, 1024},   {64, 8192, 8192},     {16, 4096, 14336},    {128, 7168, 16384}};

Shape parse_shape(const std::string& text) {
  Shape shape;
  if (std::sscanf(text.c_str(), "%u,%u,%u", &shape.m, &shape.n, &shape.k) != 3) {
    throw std::runtime_error(fmt::format("shape '{}'; three numbers M,N,K", text));
  }
  return shape;
}

// So many sets of matrices that each set has left the caches before it is used again.
class Buffers {
 public:
  explicit Buffers(const Shape& shape) : shape_(shape) {
    constexpr std::uint64_t kRotatedBytes = std::uint64_t{330} << 20;
    count_ = static_cast<std::size_t>(kRotatedBytes / shape.bytes()) + 2;
    check(cudaMalloc(&memory_, count_ * set_bytes()), "cudaMalloc");
    for (std::size_t i = 0; i < count_; ++i) {
      fill_normal(a(i), std::uint64_t{shape.m} * shape.k, 2 * i + 1, nullptr);
      fill_normal(b(i), std::uint64_t{shape.n} * shape.k, 2 * i + 2, nullptr);
    }
    check(cudaDeviceSynchronize(), "fill_normal");
  }
  ~Buffers() { cudaFree(memory_); }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  std::size_t count() const { return count_; }
  void* a(std::size_t set) const { return static_cast<char*>(memory_) + set * set_bytes(); }
  void* b(std::size_t set) const { return static_cast<char*>(a(set)) + padded(2ull * shape_.m * shape_.k); }
  void* out(std::size_t set) const { return static_cast<char*>(b(set)) + padded(2ull * shape_.n * shape_.k); }

 private:
  static std::uint64_t padded(std::uint64_t bytes) { return (bytes + 1023) / 1024 * 1024; }
  std::uint64_t set_bytes() const {
    return padded(2ull * shape_.m * shape_.k) + padded(2ull * shape_.n * shape_.k) + padded(2ull * shape_.m * shape_.n);
  }

  Shape shape_;
  std::size_t count_ = 0;
  void* memory_ = nullptr;
};

// A way to compute the product of one set.
struct Contender {
  using Enqueue = std::function<void(std::size_t set, cudaStream_t stream)>;

  Contender() = default;
  Contender(std::string of_name, Enqueue how) : name(std::move(of_name)), enqueue(std::move(how)) {}

  std::string name;
  Enqueue enqueue;
  cudaGraphExec_t graph = nullptr;
  std::vector<double> burst_ms;  // of one launch
  double last_ms = 0;
  double sustained_ms = 0;
  SensorReading sustained_sensors;
  double error = 0;  // against the reference
};

class Session {
 public:
  Session(const Shape& shape, CublasLt* cublas) : shape_(shape), cublas_(cublas), buffers_(shape), random_(7) {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaEventCreate(&begin_), "cudaEventCreate");
    check(cudaEventCreate(&end_), "cudaEventCreate");
    check(cudaMalloc(&workspace_, CublasLt::kWorkspaceBytes), "cudaMalloc");
    if (cublas_ != nullptr) problem_ = cublas_->make_problem(shape.m, shape.n, shape.k, 32);
    const double guess_ms = std::max(shape.flops() / 700e12, static_cast<double>(shape.bytes()) / 4e12) * 1e3 + 0.002;
    launches_ = static_cast<std::size_t>(std::clamp(2.0 / guess_ms, 1.0, 800.0));
  }
  ~Session() {
    cudaFree(workspace_);
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
    cudaStreamDestroy(stream_);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Shape& shape() const { return shape_; }
  std::size_t algorithms() const { return problem_.algorithms.size(); }

  Contender heddle(const std::string& config, bool is_dependent) {
    MatmulProblem problem{.m = shape_.m, .n = shape_.n, .k = shape_.k, .is_dependent = is_dependent, .config = config};
    return Contender(config, [this, problem](std::size_t set, cudaStream_t stream) {
      enqueue_matmul_sm90<Target::kCuda>(problem, {.a = buffers_.a(set), .b = buffers_.b(set), .out = buffers_.out(set)}, stream);
    });
  }
  Contender cublas(std::size_t algorithm) {
    return Contender(fmt::format("cublasLt {}", algorithm), [this, algorithm](std::size_t set, cudaStream_t stream) {
      cublas_->run(problem_, algorithm, buffers_.a(set), buffers_.b(set), buffers_.out(set), workspace_, stream);
    });
  }

  // Captures the launches of a burst. False if the kernel cannot run.
  bool prepare(Contender& one) {
    try {
      one.enqueue(0, stream_);
      check(cudaStreamSynchronize(stream_), one.name.c_str());
      check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
      for (std::size_t i = 0; i < launches_; ++i) one.enqueue(i % buffers_.count(), stream_);
      cudaGraph_t graph = nullptr;
      check(cudaStreamEndCapture(stream_, &graph), "cudaStreamEndCapture");
      check(cudaGraphInstantiate(&one.graph, graph, 0), "cudaGraphInstantiate");
      check(cudaGraphDestroy(graph), "cudaGraphDestroy");
      check(cudaGraphUpload(one.graph, stream_), "cudaGraphUpload");
    } catch (const std::exception& error) {
      fmt::print("{}: {}\n", one.name, error.what());
      return false;
    }
    return true;
  }
  void finish(Contender& one) {
    if (one.graph != nullptr) cudaGraphExecDestroy(one.graph);
    one.graph = nullptr;
  }

  // Poisons the output, computes it once, and compares rows of it with the reference.
  void verify(Contender& one) {
    check(cudaMemsetAsync(buffers_.out(0), 0xFF, 2ull * shape_.m * shape_.n, stream_), "cudaMemsetAsync");
    one.enqueue(0, stream_);
    check(cudaStreamSynchronize(stream_), one.name.c_str());
    one.error = check_rows(buffers_.a(0), buffers_.b(0), buffers_.out(0), shape_.m, shape_.n, shape_.k, 64).largest_error;
    constexpr double kLargestError = 0.03;  // of the root mean square; half a unit of bf16 is 0.004 of the value
    if (!(one.error < kLargestError)) {
      throw std::runtime_error(fmt::format("{} is wrong for {}: error {}", one.name, shape_.text(), one.error));
    }
  }

  // Six times as long as its last burst.
  void rest(const Contender& one) const {
    const double ms = one.last_ms * static_cast<double>(launches_);
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(6 * ms));
  }

  // Milliseconds of one launch.
  double time_once(Contender& one) {
    check(cudaEventRecord(begin_, stream_), "cudaEventRecord");
    check(cudaGraphLaunch(one.graph, stream_), "cudaGraphLaunch");
    check(cudaEventRecord(end_, stream_), "cudaEventRecord");
    check(cudaEventSynchronize(end_), one.name.c_str());
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin_, end_), "cudaEventElapsedTime");
    one.last_ms = static_cast<double>(ms) / static_cast<double>(launches_);
    return one.last_ms;
  }

  void bursts(std::vector<Contender*> all, int rounds) {
    for (Contender* one : all) time_once(*one);
    for (int round = 0; round < rounds; ++round) {
      std::shuffle(all.begin(), all.end(), random_);
      for (Contender* one : all) {
        one->burst_ms.push_back(time_once(*one));
        rest(*one);
      }
    }
  }

  void sustain(Contender& one, double seconds, const GpuSensors& sensors) {
    const auto start = std::chrono::steady_clock::now();
    const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
    std::vector<double> times;
    while (elapsed() < seconds) {
      for (int i = 0; i < 4; ++i) check(cudaGraphLaunch(one.graph, stream_), "cudaGraphLaunch");
      const double ms = time_once(one);
      if (elapsed() > seconds / 2) times.push_back(ms);
      one.sustained_sensors = sensors.read();
    }
    std::sort(times.begin(), times.end());
    one.sustained_ms = times[times.size() / 2];
  }

 private:
  Shape shape_;
  CublasLt* cublas_;
  Buffers buffers_;
  std::mt19937_64 random_;
  CublasLt::Problem problem_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
  void* workspace_ = nullptr;
  std::size_t launches_ = 1;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Options {
  std::vector<std::string> shapes;
  std::vector<std::string> tune;
  std::string once;
  std::string config;
  std::string json;
  int rounds = 21;
  int search_rounds = 3;
  double sustained_s = 0.5;
  bool is_dependent = true;
};

double tflops(const Shape& shape, double ms) { return shape.flops() / ms / 1e9; }

// The fastest of many, by a few bursts each.
std::size_t fastest(Session& session, std::vector<Contender>& all, int rounds) {
  std::vector<Contender*> runnable;
  for (Contender& one : all) {
    if (session.prepare(one)) runnable.push_back(&one);
  }
  // Those that are far behind in their first run need no second.
  std::vector<double> first;
  for (Contender* one : runnable) {
    session.time_once(*one);
    session.rest(*one);
    first.push_back(session.time_once(*one));
    session.rest(*one);
  }
  const double least = *std::min_element(first.begin(), first.end());
  std::vector<Contender*> near;
  for (std::size_t i = 0; i < runnable.size(); ++i) {
    if (first[i] < 1.08 * least) near.push_back(runnable[i]);
  }
  session.bursts(near, rounds);
  for (std::size_t i = 0; i < runnable.size(); ++i) {
    if (runnable[i]->burst_ms.empty()) runnable[i]->burst_ms.push_back(first[i]);
  }
  const auto best = std::min_element(near.begin(), near.end(), [](const Contender* x, const Contender* y) {
    return median(x->burst_ms) < median(y->burst_ms);
  });
  return static_cast<std::size_t>(*best - all.data());
}

void tune(const Shape& shape, CublasLt* cublas, const Options& options) {
  Session session(shape, cublas);
  const MatmulProblem problem{.m = shape.m, .n = shape.n, .k = shape.k};
  const auto search = [&](const std::vector<std::string>& names, bool is_dependent) {
    std::vector<Contender> all;
    for (const std::string& name : names) all.push_back(session.heddle(name, is_dependent));
    fastest(session, all, options.search_rounds);
    std::sort(all.begin(), all.end(), [](const Contender& x, const Contender& y) {
      return (x.burst_ms.empty() ? 1e9 : median(x.burst_ms)) < (y.burst_ms.empty() ? 1e9 : median(y.burst_ms));
    });
    for (Contender& one : all) session.finish(one);
    return all;
  };
  const auto print = [&](const char* what, const std::vector<Contender>& all, std::size_t most) {
    for (std::size_t i = 0; i < all.size() && i < most; ++i) {
      if (all[i].burst_ms.empty()) continue;
      fmt::print("{:<18} {:<10} {:<36} {:8.2f} TFLOP/s {:9.2f} us\n", shape.text(), what, all[i].name,
                 tflops(shape, median(all[i].burst_ms)), 1e3 * median(all[i].burst_ms));
    }
  };
  std::vector<Contender> configs = search(matmul_sm90_configs(problem, false, false), options.is_dependent);
  for (Contender& one : configs) session.verify(one);
  print("config", configs, 14);
  std::vector<std::string> orders;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, configs.size()); ++i) {
    for (const int group : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32}) {
      orders.push_back(fmt::format("{}@m{}", configs[i].name, group));
      orders.push_back(fmt::format("{}@n{}", configs[i].name, group));
    }
  }
  const std::vector<Contender> ordered = search(orders, options.is_dependent);
  print("order", ordered, 8);
  print("alone", search({ordered[0].name}, !options.is_dependent), 1);
  if (cublas != nullptr) {
    std::vector<Contender> theirs;
    for (std::size_t i = 0; i < session.algorithms(); ++i) theirs.push_back(session.cublas(i));
    fastest(session, theirs, options.search_rounds);
    print("cublasLt", {theirs[0]}, 1);
    std::sort(theirs.begin(), theirs.end(), [](const Contender& x, const Contender& y) {
      return (x.burst_ms.empty() ? 1e9 : median(x.burst_ms)) < (y.burst_ms.empty() ? 1e9 : median(y.burst_ms));
    });
    print("cublasLt", theirs, 1);
    for (Contender& one : theirs) session.finish(one);
  }
}

nlohmann::json report_of(const Shape& shape, const Contender& one) {
  std::vector<double> sorted = one.burst_ms;
  std::sort(sorted.begin(), sorted.end());
  return {{"name", one.name},
          {"burst_us", 1e3 * median(sorted)},
          {"burst_us_quartiles", {1e3 * sorted[sorted.size() / 4], 1e3 * sorted[sorted.size() * 3 / 4]}},
          {"burst_tflops", tflops(shape, median(sorted))},
          {"sustained_us", 1e3 * one.sustained_ms},
          {"sustained_tflops", tflops(shape, one.sustained_ms)},
          {"sustained_sm_mhz", one.sustained_sensors.sm_mhz},
          {"sustained_watts", one.sustained_sensors.watts},
          {"celsius", one.sustained_sensors.celsius},
          {"error", one.error}};
}

nlohmann::json compare_shape(const Shape& shape, CublasLt* cublas, const Options& options, const GpuSensors& sensors) {
  Session session(shape, cublas);
  const std::string config =
      options.config.empty() ? matmul_sm90_choice({.m = shape.m, .n = shape.n, .k = shape.k}, false, false) : options.config;
  Contender ours = session.heddle(config, options.is_dependent);
  Contender alone = session.heddle(config, false);
  alone.name += " (no overlap of launches)";
  std::vector<Contender*> all = {&ours, &alone};
  std::vector<Contender> theirs;
  Contender first;
  Contender best;
  if (cublas != nullptr) {
    for (std::size_t i = 0; i < session.algorithms(); ++i) theirs.push_back(session.cublas(i));
    best = session.cublas(fastest(session, theirs, options.search_rounds));
    for (Contender& one : theirs) session.finish(one);
    first = session.cublas(0);
    all.push_back(&first);
    all.push_back(&best);
  }
  for (Contender* one : all) {
    if (!session.prepare(*one)) throw std::runtime_error("cannot run " + one->name);
    session.verify(*one);
  }
  session.bursts(all, options.rounds);
  if (options.sustained_s > 0) {
    for (Contender* one : all) {
      session.sustain(*one, options.sustained_s, sensors);
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
  }
  nlohmann::json report = {{"m", shape.m}, {"n", shape.n}, {"k", shape.k}, {"heddle", report_of(shape, ours)},
                           {"heddle_alone", report_of(shape, alone)}};
  const double us = median(ours.burst_ms);
  if (cublas != nullptr) {
    report["cublaslt_choices"] = theirs.size();
    report["cublaslt_first"] = report_of(shape, first);
    report["cublaslt_best"] = report_of(shape, best);
    report["ratio_to_best"] = median(best.burst_ms) / us;
    report["ratio_to_first"] = median(first.burst_ms) / us;
    report["sustained_ratio_to_best"] = options.sustained_s > 0 ? best.sustained_ms / ours.sustained_ms : 1.0;
    report["ratio_alone_to_best"] = median(best.burst_ms) / median(alone.burst_ms);
    fmt::print("{:<18} {:<34} {:7.1f} {:7.1f} {:7.1f} {:7.1f} {:6.3f} {:6.3f} {:6.3f} {:6.3f}\n", shape.text(), config,
               tflops(shape, us), tflops(shape, median(alone.burst_ms)), tflops(shape, median(first.burst_ms)),
               tflops(shape, median(best.burst_ms)), median(first.burst_ms) / us, median(best.burst_ms) / us,
               median(best.burst_ms) / median(alone.burst_ms), report["sustained_ratio_to_best"].get<double>());
  } else {
    fmt::print("{:<18} {:<34} {:7.1f} {:7.1f}\n", shape.text(), config, tflops(shape, us),
               tflops(shape, median(alone.burst_ms)));
  }
  std::fflush(stdout);
  for (Contender* one : all) session.finish(*one);
  return report;
}

std::string date() {
  const std::time_t now = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

int run(const Options& options) {
  const GpuList list = matmul_gpus<Target::kCuda>();
  if (list.gpus.empty()) {
    fmt::print("skipped: {}\n", list.why);
    return 77;
  }
  const std::unique_ptr<CublasLt> cublas = CublasLt::load();
  if (cublas == nullptr) fmt::print("cublasLt cannot be loaded: {}\n", dlerror());
  if (!options.once.empty()) {
    Session session(parse_shape(options.once), cublas.get());
    std::size_t algorithm = 0;
    const bool is_cublas = std::sscanf(options.config.c_str(), "cublasLt:%zu", &algorithm) == 1;
    Contender one = is_cublas ? session.cublas(algorithm) : session.heddle(options.config, false);
    session.verify(one);
    return 0;
  }
  for (const std::string& shape : options.tune) tune(parse_shape(shape), cublas.get(), options);
  if (!options.tune.empty()) return 0;

  int driver = 0;
  int runtime = 0;
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  nlohmann::json report = {{"gpu", list.gpus[0].name},
                           {"date", date()},
                           {"driver_cuda", driver},
                           {"runtime_cuda", runtime},
                           {"cublaslt", cublas == nullptr ? 0 : cublas->version()},
                           {"rounds", options.rounds},
                           {"shapes", nlohmann::json::array()}};
  fmt::print("{}, {}, CUDA {}, cublasLt {}\n", list.gpus[0].name, date(), runtime, cublas == nullptr ? 0 : cublas->version());
  fmt::print("{:<18} {:<34} {:>7} {:>7} {:>7} {:>7} {:>6} {:>6} {:>6} {:>6}\n", "M,N,K", "configuration", "heddle", "alone",
             "first", "best", "/first", "/best", "alone", "sust.");
  const GpuSensors sensors(0);
  std::vector<Shape> shapes;
  for (const std::string& text : options.shapes) shapes.push_back(parse_shape(text));
  if (shapes.empty()) shapes = kShapes;
  double logs[4] = {};
  for (const Shape& shape : shapes) {
    report["shapes"].push_back(compare_shape(shape, cublas.get(), options, sensors));
    if (cublas == nullptr) continue;
    const nlohmann::json& last = report["shapes"].back();
    logs[0] += std::log(last["ratio_to_first"].get<double>());
    logs[1] += std::log(last["ratio_to_best"].get<double>());
    logs[2] += std::log(last["ratio_alone_to_best"].get<double>());
    logs[3] += std::log(last["sustained_ratio_to_best"].get<double>());
  }
  if (cublas != nullptr) {
    const auto count = static_cast<double>(shapes.size());
    report["geometric_mean"] = {{"ratio_to_first", std::exp(logs[0] / count)},
                                {"ratio_to_best", std::exp(logs[1] / count)},
                                {"ratio_alone_to_best", std::exp(logs[2] / count)},
                                {"sustained_ratio_to_best", std::exp(logs[3] / count)}};
    fmt::print("geometric mean of the ratios {:58.3f} {:6.3f} {:6.3f} {:6.3f}\n", std::exp(logs[0] / count),
               std::exp(logs[1] / count), std::exp(logs[2] / count), std::exp(logs[3] / count));
  }
  if (!options.json.empty()) std::ofstream(options.json) << report.dump(1) << "\n";
  return 0;
}

}  // namespace
}  // namespace heddle::bench

int main(int argc, char** argv) {
  heddle::bench::Options options;
  CLI::App app("heddle's matmul against cublasLt");
  bool is_alone = false;
  app.add_option("--shape", options.shapes, "M,N,K; may be repeated (default: the twelve of docs/results)");
  app.add_option("--tune", options.tune, "M,N,K: try every configuration");
  app.add_option("--once", options.once, "M,N,K: one launch of --config, checked");
  app.add_option("--config", options.config, "a configuration by name instead of the library's choice");
  app.add_option("--json", options.json, "write the report to this file");
  app.add_option("--rounds", options.rounds, "bursts of each kernel");
  app.add_option("--search-rounds", options.search_rounds, "bursts of each candidate in a search");
  app.add_option("--sustained", options.sustained_s, "seconds of the sustained regime for each kernel; 0: none");
  app.add_flag("--alone", is_alone, "no kernel starts before the one before it has ended");
  CLI11_PARSE(app, argc, argv);
  options.is_dependent = !is_alone;
  try {
    return heddle::bench::run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "matmul_bench: {}\n", error.what());
    return 1;
  }
}
