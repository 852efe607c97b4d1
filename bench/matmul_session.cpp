// SPDX-License-Identifier: Apache-2.0
#include "matmul_session.h"

#include "matmul/host/matmul_families.h"
#include "matmul_bench_kernels.h"

#include <heddle/host/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <stdexcept>
#include <thread>

namespace heddle::bench {

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw std::runtime_error(fmt::format("{}: {}", what, cudaGetErrorString(error)));
}

std::string Shape::text() const { return fmt::format("{},{},{}", m, n, k); }

Shape parse_shape(const std::string& text) {
  Shape shape;
  const char* at = text.data();
  const char* const end = at + text.size();
  bool is_shape = true;
  for (std::uint32_t* extent : {&shape.m, &shape.n, &shape.k}) {
    const auto [behind, error] = std::from_chars(at, end, *extent);
    const bool is_last = extent == &shape.k;
    is_shape = is_shape && error == std::errc() && *extent >= 1 &&
               (is_last ? behind == end : behind != end && *behind == ',');
    at = is_shape && !is_last ? behind + 1 : end;
  }
  if (!is_shape)
    throw InputError(fmt::format("bench: shape '{}'; three numbers M,N,K from 1 on, as in 4096,4096,4096", text));
  return shape;
}

Memory::~Memory() {
  cudaFree(inputs_);
  cudaFree(outputs_);
  cudaFree(workspace_);
}

namespace {

void make_larger(char*& memory, std::uint64_t& bytes, std::uint64_t wanted) {
  cudaFree(memory);
  memory = nullptr;
  bytes = 0;
  void* made = nullptr;
  if (const cudaError_t error = cudaMalloc(&made, wanted); error != cudaSuccess) {
    std::size_t free = 0;
    std::size_t total = 0;
    (void)cudaMemGetInfo(&free, &total);
    throw std::runtime_error(fmt::format("the matrices take {} bytes; the GPU has {} free: {}", wanted, free,
                                         cudaGetErrorString(error)));
  }
  memory = static_cast<char*>(made);
  bytes = wanted;
}

}  // namespace

void Memory::grow(std::uint64_t input_bytes, std::uint64_t output_bytes) {
  if (workspace_ == nullptr) make_larger(workspace_, workspace_bytes_, CublasLt::kWorkspaceBytes);
  if (output_bytes > output_bytes_) make_larger(outputs_, output_bytes_, output_bytes);
  if (input_bytes <= input_bytes_) return;
  make_larger(inputs_, input_bytes_, input_bytes);
  if (numbers_ == Numbers::kNormal) {
    fill_normal(inputs_, input_bytes / 2, 1, nullptr);
  } else {
    fill_integers(inputs_, input_bytes / 2, 1, nullptr);
  }
  check(cudaDeviceSynchronize(), "filling the matrices");
}

Buffers::Buffers(const Shape& shape, Memory& memory) : shape_(shape), memory_(memory) {
  constexpr std::uint64_t kRotatedBytes = std::uint64_t{330} << 20;
  count_ = static_cast<std::size_t>(kRotatedBytes / shape.bytes()) + 2;
  memory.grow(count_ * input_bytes(), count_ * padded(2ull * shape.m * shape.n));
}

double Contender::median_ms() const { return burst_ms.empty() ? 1e9 : median(burst_ms); }

Stopwatch::Stopwatch(const Launch& launch, const SessionOptions& options)
    : options_(options), random_(7), sets_(launch.sets) {
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  check(cudaEventCreate(&begin_), "cudaEventCreate");
  check(cudaEventCreate(&end_), "cudaEventCreate");
  // The next burst must not find in L2 what this one left there.
  constexpr double kBurstBytes = 128 << 20;
  const double most = std::max(options.burst_ms / launch.guess_ms, kBurstBytes / launch.bytes);
  launches_ = static_cast<std::size_t>(std::clamp(most, 1.0, 800.0));
}

Stopwatch::~Stopwatch() {
  cudaEventDestroy(begin_);
  cudaEventDestroy(end_);
  cudaStreamDestroy(stream_);
}

Session::Session(const Shape& shape, CublasLt* cublas, Memory& memory, const SessionOptions& options)
    : Buffers(shape, memory),
      Stopwatch(
          {.sets = Buffers::count(),
           .guess_ms = std::max(shape.flops() / 700e12, static_cast<double>(shape.bytes()) / 4e12) * 1e3 + 0.002,
           .bytes = static_cast<double>(shape.bytes())},
          options),
      shape_(shape),
      cublas_(cublas),
      memory_(memory) {
  if (cublas_ != nullptr) problem_ = cublas_->make_problem(shape.m, shape.n, shape.k, 32);
}

Contender Session::heddle(const std::string& config, bool is_dependent) {
  MatmulProblem problem{
      .m = shape_.m, .n = shape_.n, .k = shape_.k, .is_dependent = is_dependent, .config = config};
  return Contender(config, [this, problem](std::size_t set, cudaStream_t stream) {
    enqueue_matmul_sm90<Target::kCuda>(problem,
                                       {.a = buffers().a(set),
                                        .b = buffers().b(set),
                                        .out = buffers().out(set),
                                        .workspace = memory_.workspace(),
                                        .workspace_bytes = CublasLt::kWorkspaceBytes},
                                       stream);
  });
}

Contender Session::cublas(std::size_t algorithm) {
  return Contender(cublas_->name(problem_, algorithm), [this, algorithm](std::size_t set, cudaStream_t stream) {
    cublas_->run(problem_, algorithm, buffers().a(set), buffers().b(set), buffers().out(set), memory_.workspace(),
                 stream);
  });
}

bool Stopwatch::prepare(Contender& one) {
  try {
    one.enqueue(0, stream_);
    check(cudaStreamSynchronize(stream_), one.name.c_str());
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    for (std::size_t i = 0; i < launches_; ++i) one.enqueue(next_set_++ % sets_, stream_);
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(stream_, &graph), "cudaStreamEndCapture");
    check(cudaGraphInstantiate(&one.graph, graph, 0), "cudaGraphInstantiate");
    check(cudaGraphDestroy(graph), "cudaGraphDestroy");
    check(cudaGraphUpload(one.graph, stream_), "cudaGraphUpload");
  } catch (const std::exception& error) {
    fmt::print(options_.table, "{}: {}\n", one.name, error.what());
    return false;
  }
  return true;
}

void Stopwatch::finish(Contender& one) {
  if (one.graph != nullptr) cudaGraphExecDestroy(one.graph);
  one.graph = nullptr;
}

void Session::compute_and_compare(Contender& one, std::uint32_t rows) {
  check(cudaMemsetAsync(buffers().out(0), 0xFF, 2ull * shape_.m * shape_.n, stream()), "cudaMemsetAsync");
  one.enqueue(0, stream());
  check(cudaStreamSynchronize(stream()), one.name.c_str());
  one.error = check_rows(buffers().a(0), buffers().b(0), buffers().out(0), shape_.m, shape_.n, shape_.k, rows)
                  .largest_error;
}

void Session::verify(Contender& one) {
  compute_and_compare(one, 64);
  constexpr double kLargestError = 0.03;  // of the root mean square; half a unit of bf16 is 0.004 of the value
  if (!(one.error < kLargestError)) {
    throw std::runtime_error(fmt::format("{} is wrong for {}: error {}", one.name, shape_.text(), one.error));
  }
}

void Session::verify_exact(Contender& one) {
  compute_and_compare(one, shape_.m);
  if (one.error != 0) {
    throw std::runtime_error(fmt::format("{} is not exact for {}: error {}", one.name, shape_.text(), one.error));
  }
}

void Stopwatch::rest(const Contender& one) const {
  const double ms = one.last_ms * static_cast<double>(launches_);
  std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(options_.rest * ms));
}

double Stopwatch::time_once(Contender& one) {
  check(cudaEventRecord(begin_, stream_), "cudaEventRecord");
  check(cudaGraphLaunch(one.graph, stream_), "cudaGraphLaunch");
  check(cudaEventRecord(end_, stream_), "cudaEventRecord");
  check(cudaEventSynchronize(end_), one.name.c_str());
  float ms = 0;
  check(cudaEventElapsedTime(&ms, begin_, end_), "cudaEventElapsedTime");
  one.last_ms = static_cast<double>(ms) / static_cast<double>(launches_);
  return one.last_ms;
}

void Stopwatch::bursts(std::vector<Contender*> all, int rounds) {
  for (Contender* one : all) time_once(*one);
  for (int round = 0; round < rounds; ++round) {
    std::shuffle(all.begin(), all.end(), random_);
    for (Contender* one : all) {
      one->burst_ms.push_back(time_once(*one));
      rest(*one);
    }
  }
}

void Stopwatch::sustain(Contender& one, double seconds, const GpuSensors& sensors) {
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
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

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double tflops(const Shape& shape, double ms) { return shape.flops() / ms / 1e9; }

std::size_t fastest(Stopwatch& watch, std::vector<Contender>& all, int rounds) {
  std::vector<Contender*> runnable;
  for (Contender& one : all) {
    if (watch.prepare(one)) runnable.push_back(&one);
  }
  if (runnable.empty()) throw std::runtime_error("none of the candidates can run");
  // Those that are far behind in their first run need no second.
  std::vector<double> first;
  for (Contender* one : runnable) {
    watch.time_once(*one);
    watch.rest(*one);
    first.push_back(watch.time_once(*one));
    watch.rest(*one);
  }
  const double least = *std::min_element(first.begin(), first.end());
  std::vector<Contender*> near;
  for (std::size_t i = 0; i < runnable.size(); ++i) {
    if (first[i] < 1.08 * least) near.push_back(runnable[i]);
  }
  watch.bursts(near, rounds);
  for (std::size_t i = 0; i < runnable.size(); ++i) {
    if (runnable[i]->burst_ms.empty()) runnable[i]->burst_ms.push_back(first[i]);
  }
  const auto best = std::min_element(near.begin(), near.end(), [](const Contender* x, const Contender* y) {
    return x->median_ms() < y->median_ms();
  });
  return static_cast<std::size_t>(*best - all.data());
}

}  // namespace heddle::bench
