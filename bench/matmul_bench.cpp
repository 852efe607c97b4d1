// SPDX-License-Identifier: Apache-2.0
#include "matmul_bench.h"

#include "cublaslt.h"
#include "gpu_sensors.h"
#include "matmul_bench_kernels.h"
#include "matmul_families.h"
#include "matmul_sm90_plan.h"
#include "matmul_tune_file.h"

#include <heddle/host/error.h>

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
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

std::FILE* table = stdout;  // where tables go; with JSON on the standard output, elsewhere

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
  const char* at = text.data();
  const char* const end = at + text.size();
  bool is_shape = true;
  for (std::uint32_t* extent : {&shape.m, &shape.n, &shape.k}) {
    const auto [behind, error] = std::from_chars(at, end, *extent);
    const bool is_last = extent == &shape.k;
    is_shape = is_shape && error == std::errc() && *extent >= 1 && (is_last ? behind == end : behind != end && *behind == ',');
    at = is_shape && !is_last ? behind + 1 : end;
  }
  if (!is_shape) throw InputError(fmt::format("bench: shape '{}'; three numbers M,N,K from 1 on, as in 4096,4096,4096", text));
  // Rows of A, B and C begin on 16 bytes.
  if (shape.n % 8 != 0 || shape.k % 8 != 0) {
    const auto up = [](std::uint32_t elems) { return (elems + 7) / 8 * 8; };
    throw InputError(fmt::format("bench: shape '{}'; N and K of packed bf16 matrices are multiples of 8. {},{},{} would pass", text,
                                 shape.m, up(shape.n), up(shape.k)));
  }
  return shape;
}

// So many sets of matrices that each set has left the caches before it is used again.
class Buffers {
 public:
  explicit Buffers(const Shape& shape) : shape_(shape) {
    constexpr std::uint64_t kRotatedBytes = std::uint64_t{330} << 20;
    count_ = static_cast<std::size_t>(kRotatedBytes / shape.bytes()) + 2;
    if (const cudaError_t error = cudaMalloc(&memory_, count_ * set_bytes()); error != cudaSuccess) {
      std::size_t free = 0;
      std::size_t total = 0;
      (void)cudaMemGetInfo(&free, &total);
      throw std::runtime_error(fmt::format("{} sets of matrices of {} take {} bytes; the GPU has {} free: {}", count_,
                                           shape.text(), count_ * set_bytes(), free, cudaGetErrorString(error)));
    }
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
  Session(const Shape& shape, CublasLt* cublas, double rest = 6)
      : shape_(shape), cublas_(cublas), rest_(rest), buffers_(shape), random_(7) {
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
      enqueue_matmul_sm90<Target::kCuda>(problem,
                                         {.a = buffers_.a(set),
                                          .b = buffers_.b(set),
                                          .out = buffers_.out(set),
                                          .workspace = workspace_,
                                          .workspace_bytes = CublasLt::kWorkspaceBytes},
                                         stream);
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
      fmt::print(table, "{}: {}\n", one.name, error.what());
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

  // So many times as long as its last burst.
  void rest(const Contender& one) const {
    const double ms = one.last_ms * static_cast<double>(launches_);
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(rest_ * ms));
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
  double rest_;
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

using Options = MatmulBenchOptions;

double tflops(const Shape& shape, double ms) { return shape.flops() / ms / 1e9; }

// The fastest of many, by a few bursts each.
std::size_t fastest(Session& session, std::vector<Contender>& all, int rounds) {
  std::vector<Contender*> runnable;
  for (Contender& one : all) {
    if (session.prepare(one)) runnable.push_back(&one);
  }
  if (runnable.empty()) throw std::runtime_error("none of the candidates can run");
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

// Every configuration that could be near the fastest, whole and with K in parts where that fills the SMs.
std::vector<std::string> candidates(const Shape& shape) {
  struct Candidate {
    std::string name;
    double cycles;
  };
  std::vector<Candidate> all;
  for (const std::string& name : matmul_sm90_configs({.m = shape.m, .n = shape.n, .k = shape.k}, false, false)) {
    unsigned tile_m = 0, tile_n = 0, tile_k = 0, stages = 0, cluster_m = 0, cluster_n = 0;
    std::sscanf(name.c_str(), "%ux%ux%u_%u_%ux%u", &tile_m, &tile_n, &tile_k, &stages, &cluster_m, &cluster_n);
    const auto along = [](unsigned elems, unsigned tile) { return (elems + tile - 1) / tile; };
    const double tiles = static_cast<double>(along(shape.m, tile_m * cluster_m) * cluster_m) *
                         (along(shape.n, tile_n * cluster_n) * cluster_n);
    const unsigned blocks = along(shape.k, tile_k);
    for (const unsigned splits : {1u, 2u, 3u, 4u, 6u, 8u, 12u, 16u}) {
      if (splits > 1 && (tiles * splits > 132 || blocks / splits < 2 || along(blocks, along(blocks, splits)) != splits)) continue;
      if (splits > 1 && double(splits) * (shape.m + 15) * (shape.n + 3) * 4 > double(CublasLt::kWorkspaceBytes)) continue;
      const double width = tile_n >= 128 ? 0.95 : tile_n >= 64 ? 0.85 : 0.5;
      const double cycles = std::ceil(tiles * splits / 132) * along(blocks, splits) * tile_m * tile_n * tile_k / 2048.0 / width;
      all.push_back({splits == 1 ? name : fmt::format("{}/{}", name, splits), cycles + 3000});
    }
  }
  double least = 1e30;
  for (const Candidate& one : all) least = std::min(least, one.cycles);
  std::vector<std::string> names;
  for (const Candidate& one : all) {
    if (one.cycles < 1.8 * least) names.push_back(one.name);
  }
  return names;
}

// "NAME/4" in an order: "NAME@m8/4".
std::string in_order(const std::string& name, char along, int group) {
  const std::size_t slash = std::min(name.find('/'), name.size());
  return fmt::format("{}@{}{}{}", name.substr(0, slash), along, group, name.substr(slash));
}

// The fastest configuration and order of tiles, and a report.
nlohmann::json tune(const Shape& shape, CublasLt* cublas, const Options& options) {
  Session session(shape, cublas, options.search_rest);
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
    if (!options.csv.empty()) {
      std::ofstream csv(options.csv, std::ios::app);
      for (const Contender& one : all) {
        if (!one.burst_ms.empty()) csv << shape.text() << " " << what << " " << one.name << " " << 1e3 * median(one.burst_ms) << "\n";
      }
    }
    for (std::size_t i = 0; i < all.size() && i < most; ++i) {
      if (all[i].burst_ms.empty()) continue;
      fmt::print(table, "{:<18} {:<10} {:<36} {:8.2f} TFLOP/s {:9.2f} us\n", shape.text(), what, all[i].name,
                 tflops(shape, median(all[i].burst_ms)), 1e3 * median(all[i].burst_ms));
    }
  };
  std::vector<Contender> configs = search(candidates(shape), !options.is_alone);
  for (Contender& one : configs) session.verify(one);
  print("config", configs, 14);
  std::vector<std::string> orders;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, configs.size()); ++i) {
    for (const int group : options.groups) {
      orders.push_back(in_order(configs[i].name, 'm', group));
      orders.push_back(in_order(configs[i].name, 'n', group));
    }
  }
  const std::vector<Contender> ordered = search(orders, !options.is_alone);
  print("order", ordered, 8);
  nlohmann::json report = {{"m", shape.m},
                           {"n", shape.n},
                           {"k", shape.k},
                           {"config", ordered[0].name},
                           {"burst_us", 1e3 * median(ordered[0].burst_ms)},
                           {"burst_tflops", tflops(shape, median(ordered[0].burst_ms))}};
  print("alone", search({ordered[0].name}, options.is_alone), 1);
  if (cublas != nullptr) {
    std::vector<Contender> theirs;
    for (std::size_t i = 0; i < session.algorithms(); ++i) theirs.push_back(session.cublas(i));
    fastest(session, theirs, options.search_rounds);
    print("cublasLt", {theirs[0]}, 1);
    std::sort(theirs.begin(), theirs.end(), [](const Contender& x, const Contender& y) {
      return (x.burst_ms.empty() ? 1e9 : median(x.burst_ms)) < (y.burst_ms.empty() ? 1e9 : median(y.burst_ms));
    });
    print("cublasLt", theirs, 1);
    report["cublaslt_best_us"] = 1e3 * median(theirs[0].burst_ms);
    for (Contender& one : theirs) session.finish(one);
  }
  return report;
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

nlohmann::json compare_shape(const Shape& shape, CublasLt* cublas, const std::string& gpu, const Options& options,
                             const GpuSensors& sensors) {
  Session session(shape, cublas);
  const std::string config =
      options.config.empty() ? matmul_sm90_choice({.m = shape.m, .n = shape.n, .k = shape.k}, false, false,
                                                  CublasLt::kWorkspaceBytes, gpu)
                             : options.config;
  Contender ours = session.heddle(config, !options.is_alone);
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
    fmt::print(table, "{:<18} {:<34} {:7.1f} {:7.1f} {:7.1f} {:7.1f} {:6.3f} {:6.3f} {:6.3f} {:6.3f}\n", shape.text(), config,
               tflops(shape, us), tflops(shape, median(alone.burst_ms)), tflops(shape, median(first.burst_ms)),
               tflops(shape, median(best.burst_ms)), median(first.burst_ms) / us, median(best.burst_ms) / us,
               median(best.burst_ms) / median(alone.burst_ms), report["sustained_ratio_to_best"].get<double>());
  } else {
    fmt::print(table, "{:<18} {:<34} {:7.1f} {:7.1f}\n", shape.text(), config, tflops(shape, us),
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

int finish(const nlohmann::json& report, const Options& options) {
  if (options.prints_json) fmt::print("{}\n", report.dump(1));
  if (options.json.empty()) return 0;
  std::ofstream file(options.json);
  file << report.dump(1) << "\n";
  file.close();
  if (!file) throw std::runtime_error(fmt::format("bench: the report '{}' cannot be written", options.json));
  return 0;
}

// A single launch, for a profiler.
int run_once(const Options& options, CublasLt* cublas) {
  Session session(parse_shape(options.once), cublas);
  std::size_t algorithm = 0;
  const bool is_cublas = std::sscanf(options.config.c_str(), "cublasLt:%zu", &algorithm) == 1;
  if (is_cublas && algorithm >= session.algorithms()) {
    throw InputError(fmt::format("bench: cublasLt has {} choices for {}; 'cublasLt:0' is the first", session.algorithms(),
                                 session.shape().text()));
  }
  Contender one = is_cublas ? session.cublas(algorithm) : session.heddle(options.config, false);
  session.verify(one);
  return 0;
}

}  // namespace

int run_matmul_bench(const Options& options) {
  if (options.prints_json) table = stderr;
  std::vector<Shape> shapes;
  for (const std::string& text : options.shapes) shapes.push_back(parse_shape(text));
  if (shapes.empty()) shapes = kShapes;
  const GpuList list = matmul_gpus<Target::kCuda>();
  if (list.gpus.empty()) throw NoGpu(fmt::format("bench: there is no GPU to measure on: {}", list.why));
  if (list.gpus[0].major != 9) {
    throw NoGpu(fmt::format("bench: {} has compute capability {}.{}; the matmul that is measured is for 9.0",
                            list.gpus[0].name, list.gpus[0].major, list.gpus[0].minor));
  }
  const std::unique_ptr<CublasLt> cublas = CublasLt::load();
  if (cublas == nullptr) fmt::print(table, "cublasLt cannot be loaded, heddle is measured alone: {}\n", dlerror());
  if (!options.once.empty()) return run_once(options, cublas.get());

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
  fmt::print(table, "{}, {}, CUDA {}, cublasLt {}\n", list.gpus[0].name, date(), runtime, cublas == nullptr ? 0 : cublas->version());
  if (options.is_tuning) {
    for (const Shape& shape : shapes) {
      report["shapes"].push_back(tune(shape, cublas.get(), options));
      if (options.write.empty()) continue;
      add_to_matmul_tune_file(options.write, {{list.gpus[0].name,
                                               {.m = shape.m,
                                                .n = shape.n,
                                                .k = shape.k,
                                                .config = report["shapes"].back()["config"].get<std::string>()}}});
    }
    return finish(report, options);
  }
  fmt::print(table, "{:<18} {:<34} {:>7} {:>7} {:>7} {:>7} {:>6} {:>6} {:>6} {:>6}\n", "M,N,K", "configuration", "heddle", "alone",
             "first", "best", "/first", "/best", "alone", "sust.");
  const GpuSensors sensors(0);
  double logs[4] = {};
  for (const Shape& shape : shapes) {
    report["shapes"].push_back(compare_shape(shape, cublas.get(), list.gpus[0].name, options, sensors));
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
    fmt::print(table, "geometric mean of the ratios {:58.3f} {:6.3f} {:6.3f} {:6.3f}\n", std::exp(logs[0] / count),
               std::exp(logs[1] / count), std::exp(logs[2] / count), std::exp(logs[3] / count));
  }
  return finish(report, options);
}

}  // namespace heddle::bench
