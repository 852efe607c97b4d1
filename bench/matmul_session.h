// SPDX-License-Identifier: Apache-2.0
//
// Timing one shape on a GPU: contenders that compute the same product, each captured as a CUDA graph of many
// launches over buffers that are used in turn, so that nothing stays in L2.
//
//   Memory memory;
//   Session session(shape, cublas, memory, {});
//   Contender one = session.heddle("128x256x64_4_2x1_coop@n8", true);
//   if (session.prepare(one)) session.bursts({&one}, 21);
#pragma once

#include "cublaslt.h"
#include "gpu_sensors.h"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace heddle::bench {

// Throws std::runtime_error.
void check(cudaError_t error, const char* what);

struct Shape {
  std::uint32_t m = 0;
  std::uint32_t n = 0;
  std::uint32_t k = 0;

  double flops() const { return 2.0 * m * n * k; }
  std::uint64_t bytes() const { return 2 * (std::uint64_t{m} * k + std::uint64_t{n} * k + std::uint64_t{m} * n); }
  std::string text() const;
};

// Throws InputError.
Shape parse_shape(const std::string& text);

enum class Numbers : std::uint8_t {
  kNormal,
  kIntegers,  // -1, 0 and 1: sums of a few thousand products are exact in bf16
};

// The matrices of all sessions, of which there is one at a time: numbers to multiply, and room for products.
class Memory {
 public:
  explicit Memory(Numbers numbers = Numbers::kNormal) : numbers_(numbers) {}
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Makes room. Throws std::runtime_error where the GPU has none.
  void grow(std::uint64_t input_bytes, std::uint64_t output_bytes);
  char* inputs() const { return inputs_; }
  char* outputs() const { return outputs_; }
  char* workspace() const { return workspace_; }  // of CublasLt::kWorkspaceBytes

 private:
  Numbers numbers_;
  char* inputs_ = nullptr;
  char* outputs_ = nullptr;
  char* workspace_ = nullptr;
  std::uint64_t input_bytes_ = 0;
  std::uint64_t output_bytes_ = 0;
  std::uint64_t workspace_bytes_ = 0;
};

// So many sets of matrices that each set has left the caches before it is used again.
class Buffers {
 public:
  Buffers(const Shape& shape, Memory& memory);

  std::size_t count() const { return count_; }
  void* a(std::size_t set) const { return memory_.inputs() + set * input_bytes(); }
  void* b(std::size_t set) const { return static_cast<char*>(a(set)) + padded(2ull * shape_.m * shape_.k); }
  void* out(std::size_t set) const { return memory_.outputs() + set * padded(2ull * shape_.m * shape_.n); }

 private:
  static std::uint64_t padded(std::uint64_t bytes) { return (bytes + 1023) / 1024 * 1024; }
  std::uint64_t input_bytes() const {
    return padded(2ull * shape_.m * shape_.k) + padded(2ull * shape_.n * shape_.k);
  }

  Shape shape_;
  const Memory& memory_;
  std::size_t count_ = 0;
};

// A way to compute the product of one set.
struct Contender {
  using Enqueue = std::function<void(std::size_t set, cudaStream_t stream)>;

  Contender() = default;
  Contender(std::string of_name, Enqueue how) : name(std::move(of_name)), enqueue(std::move(how)) {}

  double median_ms() const;  // of a launch in a burst; a very long time where it was never timed

  std::string name;
  Enqueue enqueue;
  cudaGraphExec_t graph = nullptr;
  std::vector<double> burst_ms;  // of one launch
  double last_ms = 0;
  double sustained_ms = 0;
  SensorReading sustained_sensors;
  double error = 0;  // against the reference
};

struct SessionOptions {
  double burst_ms = 2;
  double rest = 6;            // idle time after a burst, in times of the burst
  std::FILE* table = stdout;  // where a contender that cannot run is reported
};

// Times contenders, whatever they compute: a stream, and so many launches in each burst.
class Stopwatch {
 public:
  // Buffers that are used in turn, and what a launch takes about and moves.
  struct Launch {
    std::size_t sets = 1;
    double guess_ms = 0;
    double bytes = 0;
  };

  Stopwatch(const Launch& launch, const SessionOptions& options);
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  cudaStream_t stream() const { return stream_; }
  const SessionOptions& options() const { return options_; }

  // Captures the launches of a burst. False if the kernel cannot run.
  bool prepare(Contender& one);
  void finish(Contender& one);

  // So many times as long as its last burst.
  void rest(const Contender& one) const;

  // Milliseconds of one launch.
  double time_once(Contender& one);

  // In random order, after one that does not count.
  void bursts(std::vector<Contender*> all, int rounds);

  void sustain(Contender& one, double seconds, const GpuSensors& sensors);

 private:
  SessionOptions options_;
  std::mt19937_64 random_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
  std::size_t sets_ = 1;
  std::size_t launches_ = 1;
  std::size_t next_set_ = 0;
};

// The contenders for one shape of bf16.
class Session : private Buffers, public Stopwatch {
 public:
  Session(const Shape& shape, CublasLt* cublas, Memory& memory, const SessionOptions& options);

  const Shape& shape() const { return shape_; }
  std::size_t algorithms() const { return problem_.algorithms.size(); }

  Contender heddle(const std::string& config, bool is_dependent);
  Contender cublas(std::size_t algorithm);

  // Poisons the output, computes it once, and compares rows of it with the reference. Throws std::runtime_error
  // where they differ by more than rounding.
  void verify(Contender& one);

  // The same with every row, which must be as in the reference.
  void verify_exact(Contender& one);

 private:
  void compute_and_compare(Contender& one, std::uint32_t rows);
  const Buffers& buffers() const { return *this; }

  Shape shape_;
  CublasLt* cublas_;
  Memory& memory_;
  CublasLt::Problem problem_;
};

double median(std::vector<double> values);

double tflops(const Shape& shape, double ms);

// The fastest of many, by a few bursts each. Throws std::runtime_error where none can run.
std::size_t fastest(Stopwatch& watch, std::vector<Contender>& all, int rounds);

}  // namespace heddle::bench
