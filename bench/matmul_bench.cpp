// SPDX-License-Identifier: Apache-2.0
#include "matmul_bench.h"

#include "attention_suites.h"
#include "matmul/host/matmul_families.h"
#include "matmul/host/matmul_sm90_plan.h"
#include "matmul/host/matmul_tune_file.h"
#include "matmul_search.h"
#include "matmul_session.h"
#include "scaled_suites.h"

#include <heddle/host/error.h>

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace heddle::bench {
namespace {

std::FILE* table = stdout;  // where tables go; with JSON on the standard output, elsewhere

const std::vector<Shape> kShapes = {{512, 512, 512},     {1024, 1024, 1024},  {2048, 2048, 2048},
                                    {4096, 4096, 4096},  {8192, 8192, 8192},  {16384, 16384, 16384},
                                    {4096, 14336, 4096}, {4096, 4096, 14336}, {8192, 8192, 1024},
                                    {64, 8192, 8192},    {16, 4096, 14336},   {128, 7168, 16384}};

// The layers of Llama 3 with 8 and 70 billion parameters, the latter over four GPUs: queries, keys and values;
// output; gate and up; down. Decoding some sequences, and reading prompts.
std::vector<Shape> llm_shapes() {
  constexpr std::pair<std::uint32_t, std::uint32_t> kLayers[] = {{6144, 4096},  {4096, 4096}, {28672, 4096},
                                                                 {4096, 14336}, {2560, 8192}, {8192, 2048},
                                                                 {14336, 8192}, {8192, 7168}};
  std::vector<Shape> shapes;
  for (const std::uint32_t m : {1u, 32u, 128u, 1024u, 4096u}) {
    for (const auto& [n, k] : kLayers) shapes.push_back({m, n, k});
  }
  return shapes;
}

std::vector<Shape> suite_called(const std::string& name) {
  if (name == "results") return kShapes;
  if (name == "llm") return llm_shapes();
  throw InputError(fmt::format("bench: suite '{}'; known are results, llm, fp8, moe, attention, decode", name));
}

using Options = MatmulBenchOptions;

// A shape in each line.
void read_shapes(const std::string& path, std::vector<Shape>& shapes) {
  std::ifstream file(path);
  if (!file) throw InputError(fmt::format("bench: the file of shapes '{}' cannot be read", path));
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    try {
      if (!line.empty() && line[0] != '#') shapes.push_back(parse_shape(line));
    } catch (const InputError& error) {
      throw InputError(fmt::format("{} ('{}', line {})", error.what(), path, number));
    }
  }
}

// The fastest configuration and order of tiles, and a report.
nlohmann::json tune(const Shape& shape, CublasLt* cublas, Memory& memory, const Options& options) {
  Session session(shape, cublas, memory, {.rest = options.search_rest, .table = table});
  const auto print = [&](const char* what, const std::vector<Timed>& all, std::size_t most) {
    for (std::size_t i = 0; i < all.size() && i < most; ++i) {
      fmt::print(table, "{:<18} {:<10} {:<36} {:8.2f} TFLOP/s {:9.2f} us\n", shape.text(), what, all[i].name,
                 tflops(shape, all[i].us / 1e3), all[i].us);
    }
  };
  SearchOptions how{
      .rounds = options.search_rounds, .ordered = 3, .groups = options.groups, .is_dependent = !options.is_alone};
  const SearchResult found = search(session, how);
  for (const Timed& one : found.configs) {
    Contender again = session.heddle(one.name, false);
    session.verify(again);
  }
  print("config", found.configs, 14);
  print("order", found.orders, 8);
  nlohmann::json report = {{"m", shape.m},
                           {"n", shape.n},
                           {"k", shape.k},
                           {"config", found.orders[0].name},
                           {"burst_us", found.orders[0].us},
                           {"burst_tflops", tflops(shape, found.orders[0].us / 1e3)}};
  if (cublas != nullptr) {
    std::vector<Contender> theirs;
    for (std::size_t i = 0; i < session.algorithms(); ++i) theirs.push_back(session.cublas(i));
    const std::size_t best = fastest(session, theirs, options.search_rounds);
    print("cublasLt",
          {{theirs[0].name, 1e3 * theirs[0].median_ms(), 0},
           {theirs[best].name, 1e3 * theirs[best].median_ms(), 0}},
          2);
    report["cublaslt_best_us"] = 1e3 * theirs[best].median_ms();
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

nlohmann::json compare_shape(const Shape& shape, CublasLt* cublas, const std::string& gpu, Memory& memory,
                             const Options& options, const GpuSensors& sensors) {
  Session session(shape, cublas, memory, {.table = table});
  const auto choice = [&](bool is_dependent) {
    if (!options.config.empty()) return options.config;
    return matmul_sm90_choice({.m = shape.m, .n = shape.n, .k = shape.k, .is_dependent = is_dependent}, false,
                              false, CublasLt::kWorkspaceBytes, gpu);
  };
  const std::string config = choice(!options.is_alone);
  Contender ours = session.heddle(config, !options.is_alone);
  Contender alone = session.heddle(choice(false), false);
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
  nlohmann::json report = {{"m", shape.m},
                           {"n", shape.n},
                           {"k", shape.k},
                           {"heddle", report_of(shape, ours)},
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
    fmt::print(table, "{:<18} {:<34} {:7.1f} {:7.1f} {:7.1f} {:7.1f} {:6.3f} {:6.3f} {:6.3f} {:6.3f}\n",
               shape.text(), config, tflops(shape, us), tflops(shape, median(alone.burst_ms)),
               tflops(shape, median(first.burst_ms)), tflops(shape, median(best.burst_ms)),
               median(first.burst_ms) / us, median(best.burst_ms) / us,
               median(best.burst_ms) / median(alone.burst_ms), report["sustained_ratio_to_best"].get<double>());
  } else {
    fmt::print(table, "{:<18} {:<34} {:7.1f} {:7.1f}\n", shape.text(), config, tflops(shape, us),
               tflops(shape, median(alone.burst_ms)));
  }
  std::fflush(stdout);
  for (Contender* one : all) session.finish(*one);
  return report;
}

// How long the library takes to choose, in microseconds: for shapes that it sees for the first time, and again.
nlohmann::json choosing_us(const std::vector<Shape>& shapes, const std::string& gpu) {
  nlohmann::json report;
  const auto choose_all = [&](int times) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i) {
      for (const Shape& shape : shapes) {
        (void)choose_matmul_sm90({.m = shape.m, .n = shape.n, .k = shape.k},
                                 {.workspace_bytes = CublasLt::kWorkspaceBytes, .gpu = gpu});
      }
    }
    const std::chrono::duration<double, std::micro> all = std::chrono::steady_clock::now() - start;
    return all.count() / times / static_cast<double>(shapes.size());
  };
  // A thread that has seen none.
  std::thread([&] {
    report["first"] = choose_all(1);
    report["again"] = choose_all(100);
  }).join();
  fmt::print(table, "choosing takes {:.2f} us, and {:.3f} us for a shape seen before\n",
             report["first"].get<double>(), report["again"].get<double>());
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

// Every configuration is exact on integers, with ragged edges, few rows and K in parts. Returns their names.
std::vector<std::string> check_configs() {
  std::vector<std::string> names;
  Memory integers(Numbers::kIntegers);
  for (const Shape& shape : {Shape{333, 1048, 1032}, Shape{5, 1048, 1032}}) {
    Session session(shape, nullptr, integers, {.table = table});
    for (const unsigned splits : {1u, 2u, 3u}) {
      for (const std::string& name :
           matmul_sm90_configs({.m = shape.m, .n = shape.n, .k = shape.k, .splits = splits}, false, false)) {
        Contender one = session.heddle(splits == 1 ? name : fmt::format("{}/{}", name, splits), false);
        session.verify_exact(one);
        names.push_back(fmt::format("{} {}", shape.text(), one.name));
      }
    }
  }
  return names;
}

nlohmann::json times_of(const std::vector<Timed>& all) {
  nlohmann::json times = nlohmann::json::object();
  for (const Timed& one : all) times[one.name] = std::round(1e4 * one.us) / 1e4;
  return times;
}

// The library's, without its order of tiles.
std::string chosen_instance(const Shape& shape) {
  const std::string name =
      matmul_sm90_choice({.m = shape.m, .n = shape.n, .k = shape.k}, false, false, CublasLt::kWorkspaceBytes, {});
  return name.substr(0, name.find('@'));
}

// Times of all configurations, briefly.
nlohmann::json sweep_shape(const Shape& shape, CublasLt* cublas, Memory& memory, const Options& options) {
  Session session(shape, cublas, memory, {.burst_ms = 0.3, .rest = 1, .table = table});
  std::vector<std::string> tiles = options.tiles;
  // Beside what is there: a sweep of a few tiles says how they stand to it.
  if (!tiles.empty()) tiles.push_back(chosen_instance(shape));
  const SearchResult found = search(session, {.rounds = options.search_rounds,
                                              .ordered = !options.tiles.empty() ? std::size_t{0}
                                                         : options.is_by_model  ? std::size_t{1}
                                                                                : std::size_t{2},
                                              .is_dependent = !options.is_alone,
                                              .is_by_model = options.is_by_model,
                                              .is_whole = options.is_whole,
                                              .tiles = tiles});
  nlohmann::json report = {{"m", shape.m},
                           {"n", shape.n},
                           {"k", shape.k},
                           {"configs", times_of(found.configs)},
                           {"orders", times_of(found.orders)},
                           {"hopeless", found.hopeless.size()}};
  if (cublas != nullptr) {
    std::vector<Contender> theirs;
    for (std::size_t i = 0; i < session.algorithms(); ++i) theirs.push_back(session.cublas(i));
    const std::size_t best = fastest(session, theirs, options.search_rounds);
    report["cublaslt_first_us"] = 1e3 * theirs[0].median_ms();
    report["cublaslt_best_us"] = 1e3 * theirs[best].median_ms();
    report["cublaslt_best"] = theirs[best].name;
    for (Contender& one : theirs) session.finish(one);
  }
  return report;
}

// Of a run over many shapes; 0 seconds: none.
class TimeLimit {
 public:
  explicit TimeLimit(double seconds) : seconds_(seconds) {}
  double elapsed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  bool is_over() const { return seconds_ > 0 && elapsed() > seconds_; }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double seconds_;
};

// As many shapes as there is time for.
void sweep(const std::vector<Shape>& shapes, CublasLt* cublas, const Options& options, nlohmann::json& report) {
  const TimeLimit limit(options.seconds);
  report["exact"] = check_configs();
  fmt::print(table, "{} runs are exact, after {:.1f} s\n", report["exact"].size(), limit.elapsed());
  Memory memory;
  for (const Shape& shape : shapes) {
    if (limit.is_over()) break;
    report["shapes"].push_back(sweep_shape(shape, cublas, memory, options));
  }
  report["seconds"] = limit.elapsed();
  fmt::print(table, "{} of {} shapes in {:.1f} s\n", report["shapes"].size(), shapes.size(), limit.elapsed());
}

// A single launch, for a profiler.
int run_once(const Options& options, CublasLt* cublas) {
  Memory memory;
  Session session(parse_shape(options.once), cublas, memory, {.table = table});
  std::size_t algorithm = 0;
  const bool is_cublas = std::sscanf(options.config.c_str(), "cublasLt:%zu", &algorithm) == 1;
  if (is_cublas && algorithm >= session.algorithms()) {
    throw InputError(fmt::format("bench: cublasLt has {} choices for {}; 'cublasLt:0' is the first",
                                 session.algorithms(), session.shape().text()));
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
  if (!options.shape_file.empty()) read_shapes(options.shape_file, shapes);
  if (!is_scaled_suite(options.suite) && !is_attention_suite(options.suite) &&
      (!options.suite.empty() || shapes.empty())) {
    const std::vector<Shape> suite = suite_called(options.suite.empty() ? "results" : options.suite);
    shapes.insert(shapes.end(), suite.begin(), suite.end());
  }
  const GpuList list = matmul_gpus<Target::kCuda>();
  if (list.gpus.empty()) throw NoGpu(fmt::format("bench: there is no GPU to measure on: {}", list.why));
  if (list.gpus[0].major != 9) {
    throw NoGpu(fmt::format("bench: {} has compute capability {}.{}; the matmul that is measured is for 9.0",
                            list.gpus[0].name, list.gpus[0].major, list.gpus[0].minor));
  }
  const std::unique_ptr<CublasLt> cublas = CublasLt::load();
  if (cublas == nullptr)
    fmt::print(table, "cublasLt cannot be loaded, heddle is measured alone: {}\n", dlerror());
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
  fmt::print(table, "{}, {}, CUDA {}, cublasLt {}\n", list.gpus[0].name, date(), runtime,
             cublas == nullptr ? 0 : cublas->version());
  if (is_scaled_suite(options.suite)) {
    report["shapes"] = run_scaled_suite(options.suite, cublas.get(), options.rounds, table);
    return finish(report, options);
  }
  if (is_attention_suite(options.suite)) {
    report["shapes"] = run_attention_suite(options.suite, options.rounds, table);
    return finish(report, options);
  }
  if (options.is_sweeping) {
    sweep(shapes, cublas.get(), options, report);
    return finish(report, options);
  }
  Memory memory;
  if (options.is_tuning) {
    for (const Shape& shape : shapes) {
      report["shapes"].push_back(tune(shape, cublas.get(), memory, options));
      if (options.write.empty()) continue;
      add_to_matmul_tune_file(options.write,
                              {{list.gpus[0].name,
                                {.m = shape.m,
                                 .n = shape.n,
                                 .k = shape.k,
                                 .config = report["shapes"].back()["config"].get<std::string>()}}});
    }
    return finish(report, options);
  }
  fmt::print(table, "{:<18} {:<34} {:>7} {:>7} {:>7} {:>7} {:>6} {:>6} {:>6} {:>6}\n", "M,N,K", "configuration",
             "heddle", "alone", "first", "best", "/first", "/best", "alone", "sust.");
  report["choosing_us"] = choosing_us(shapes, list.gpus[0].name);
  const GpuSensors sensors(0);
  double logs[4] = {};
  const TimeLimit limit(options.seconds);
  for (const Shape& shape : shapes) {
    if (limit.is_over()) break;
    report["shapes"].push_back(compare_shape(shape, cublas.get(), list.gpus[0].name, memory, options, sensors));
    if (cublas == nullptr) continue;
    const nlohmann::json& last = report["shapes"].back();
    logs[0] += std::log(last["ratio_to_first"].get<double>());
    logs[1] += std::log(last["ratio_to_best"].get<double>());
    logs[2] += std::log(last["ratio_alone_to_best"].get<double>());
    logs[3] += std::log(last["sustained_ratio_to_best"].get<double>());
  }
  if (cublas != nullptr) {
    const auto count = static_cast<double>(report["shapes"].size());
    report["geometric_mean"] = {{"ratio_to_first", std::exp(logs[0] / count)},
                                {"ratio_to_best", std::exp(logs[1] / count)},
                                {"ratio_alone_to_best", std::exp(logs[2] / count)},
                                {"sustained_ratio_to_best", std::exp(logs[3] / count)}};
    fmt::print(table, "geometric mean of the ratios {:58.3f} {:6.3f} {:6.3f} {:6.3f}\n",
               std::exp(logs[0] / count), std::exp(logs[1] / count), std::exp(logs[2] / count),
               std::exp(logs[3] / count));
  }
  report["seconds"] = limit.elapsed();
  fmt::print(table, "{} of {} shapes in {:.1f} s\n", report["shapes"].size(), shapes.size(), limit.elapsed());
  return finish(report, options);
}

}  // namespace heddle::bench
