// SPDX-License-Identifier: Apache-2.0
//
// exec_cub [WHAT]: algorithms of CUB and Thrust against the host's, to be run with `heddle exec`. WHAT is one of
// sort, scan, reduce, select, histogram, runs, block, thrust; all of them without it. Ends with status 1 if one
// is wrong.
//
//   nvcc -O1 -std=c++17 -gencode arch=compute_90,code=compute_90 bench/exec_cub.cu -o exec_cub
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/unique.h>
#include <cub/cub.cuh>

#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr int kCount = 5000;
constexpr int kLimit = 50000;  // numbers lie in [-kLimit, kLimit)

int mistakes = 0;

void say(const char* what, bool is_right) {
  std::printf("%s: %s\n", what, is_right ? "right" : "WRONG");
  if (!is_right) ++mistakes;
}

// Memory of the card that goes back at the end.
template <class T>
class Device {
 public:
  explicit Device(std::size_t count) : count_(count) { cudaMalloc(&data_, count * sizeof(T)); }
  explicit Device(const std::vector<T>& from) : Device(from.size()) {
    cudaMemcpy(data_, from.data(), count_ * sizeof(T), cudaMemcpyHostToDevice);
  }
  ~Device() { cudaFree(data_); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  T* get() const { return data_; }
  std::vector<T> host(std::size_t count) const {
    std::vector<T> to(count);
    cudaMemcpy(to.data(), data_, count * sizeof(T), cudaMemcpyDeviceToHost);
    return to;
  }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

// CUB is called twice: for the size of what it needs, and with it.
template <class Call>
void with_storage(const Call& call) {
  std::size_t bytes = 0;
  call(nullptr, bytes);
  const Device<char> storage(bytes);
  call(storage.get(), bytes);
}

struct IsLess {
  __host__ __device__ bool operator()(int left, int right) const { return left < right; }
};

struct IsOdd {
  __host__ __device__ bool operator()(int value) const { return (value & 1) != 0; }
};

struct Numbers {
  std::vector<int> host = std::vector<int>(kCount);

  Numbers() {
    std::mt19937 random(1);
    for (int& value : host) value = static_cast<int>(random() % (2 * kLimit)) - kLimit;
  }
  std::vector<int> sorted() const {
    std::vector<int> result = host;
    std::sort(result.begin(), result.end());
    return result;
  }
};

void sort(const Numbers& numbers) {
  const Device<int> in(numbers.host), out(kCount), values(numbers.host), values_out(kCount);
  with_storage([&](void* storage, std::size_t& bytes) {
    cub::DeviceRadixSort::SortKeys(storage, bytes, in.get(), out.get(), kCount);
  });
  say("cub radix sort", out.host(kCount) == numbers.sorted());
  with_storage([&](void* storage, std::size_t& bytes) {
    cub::DeviceRadixSort::SortPairsDescending(storage, bytes, in.get(), out.get(), values.get(), values_out.get(),
                                              kCount);
  });
  std::vector<int> descending = numbers.sorted();
  std::reverse(descending.begin(), descending.end());
  say("cub radix sort of pairs", out.host(kCount) == descending && values_out.host(kCount) == descending);
  with_storage([&](void* storage, std::size_t& bytes) {
    cub::DeviceMergeSort::StableSortKeysCopy(storage, bytes, in.get(), out.get(), kCount, IsLess());
  });
  say("cub merge sort", out.host(kCount) == numbers.sorted());
}

void scan(const Numbers& numbers) {
  const Device<int> in(numbers.host), out(kCount);
  with_storage([&](void* storage, std::size_t& bytes) {
    cub::DeviceScan::InclusiveSum(storage, bytes, in.get(), out.get(), kCount);
  });
  std::vector<int> sums(kCount);
  std::partial_sum(numbers.host.begin(), numbers.host.end(), sums.begin());
  say("cub scan", out.host(kCount) == sums);
}

void reduce(const Numbers& numbers) {
  const Device<int> in(numbers.host), out(1);
  with_storage([&](void* storage, std::size_t& bytes) {
    cub::DeviceReduce::Sum(storage, bytes, in.get(), out.get(), kCount);
  });
  say("cub sum", out.host(1)[0] == std::accumulate(numbers.host.begin(), numbers.host.end(), 0));
  with_storage([&](void* storage, std::size_t& bytes) {
    cub::DeviceReduce::Max(storage, bytes, in.get(), out.get(), kCount);
  });
  say("cub maximum", out.host(1)[0] == numbers.sorted().back());
}

void select(const Numbers& numbers) {
  const Device<int> in(numbers.host), out(kCount), count(1);
  with_storage([&](void* storage, std::size_t& bytes) {
    cub::DeviceSelect::If(storage, bytes, in.get(), out.get(), count.get(), kCount, IsOdd());
  });
  std::vector<int> odd;
  std::copy_if(numbers.host.begin(), numbers.host.end(), std::back_inserter(odd), IsOdd());
  say("cub select", count.host(1)[0] == static_cast<int>(odd.size()) && out.host(odd.size()) == odd);
  with_storage([&](void* storage, std::size_t& bytes) {
    cub::DevicePartition::If(storage, bytes, in.get(), out.get(), count.get(), kCount, IsOdd());
  });
  say("cub partition", count.host(1)[0] == static_cast<int>(odd.size()) && out.host(odd.size()) == odd);
}

void histogram(const Numbers& numbers) {
  constexpr int kBins = 16;
  const Device<int> in(numbers.host), out(kBins);
  with_storage([&](void* storage, std::size_t& bytes) {
    cub::DeviceHistogram::HistogramEven(storage, bytes, in.get(), out.get(), kBins + 1, -kLimit, kLimit, kCount);
  });
  std::vector<int> bins(kBins);
  for (const int value : numbers.host) ++bins[static_cast<std::size_t>((value + kLimit) * kBins / (2 * kLimit))];
  say("cub histogram", out.host(kBins) == bins);
}

void runs(const Numbers& numbers) {
  std::vector<int> coarse = numbers.host;
  for (int& value : coarse) value /= kLimit / 3;
  const Device<int> in(coarse), unique(kCount), lengths(kCount), count(1);
  with_storage([&](void* storage, std::size_t& bytes) {
    cub::DeviceRunLengthEncode::Encode(storage, bytes, in.get(), unique.get(), lengths.get(), count.get(),
                                       kCount);
  });
  std::vector<int> values, sizes;
  for (const int value : coarse) {
    if (values.empty() || values.back() != value) {
      values.push_back(value);
      sizes.push_back(0);
    }
    ++sizes.back();
  }
  say("cub run lengths", count.host(1)[0] == static_cast<int>(values.size()) &&
                             unique.host(values.size()) == values && lengths.host(sizes.size()) == sizes);
}

constexpr int kThreads = 128;
constexpr int kItems = 4;

__global__ void sort_and_scan(const int* in, int* out) {
  using Load = cub::BlockLoad<int, kThreads, kItems, cub::BLOCK_LOAD_TRANSPOSE>;
  using Sort = cub::BlockRadixSort<int, kThreads, kItems>;
  using Scan = cub::BlockScan<int, kThreads>;
  using Store = cub::BlockStore<int, kThreads, kItems, cub::BLOCK_STORE_TRANSPOSE>;
  __shared__ union {
    Load::TempStorage load;
    Sort::TempStorage sort;
    Scan::TempStorage scan;
    Store::TempStorage store;
  } shared;
  int items[kItems];
  Load(shared.load).Load(in, items);
  __syncthreads();
  Sort(shared.sort).Sort(items);
  __syncthreads();
  Scan(shared.scan).InclusiveSum(items, items);
  __syncthreads();
  Store(shared.store).Store(out, items);
}

void block(const Numbers& numbers) {
  constexpr int kAll = kThreads * kItems;
  const Device<int> in(numbers.host), out(kAll);
  sort_and_scan<<<1, kThreads>>>(in.get(), out.get());
  std::vector<int> sums(numbers.host.begin(), numbers.host.begin() + kAll);
  std::sort(sums.begin(), sums.end());
  std::partial_sum(sums.begin(), sums.end(), sums.begin());
  say("cub block sort and scan", out.host(kAll) == sums);
}

void thrust_calls(const Numbers& numbers) {
  thrust::device_vector<int> values(numbers.host.begin(), numbers.host.end());
  thrust::device_vector<int> other(kCount);
  std::vector<int> wanted = numbers.sorted();
  const auto equals = [&](const thrust::device_vector<int>& device) {
    const thrust::host_vector<int> host = device;
    return std::equal(wanted.begin(), wanted.end(), host.begin());
  };
  thrust::sort(values.begin(), values.end());
  say("thrust sort", equals(values));
  std::partial_sum(wanted.begin(), wanted.end(), wanted.begin());
  thrust::inclusive_scan(values.begin(), values.end(), other.begin());
  say("thrust scan", equals(other));
  say("thrust reduce", thrust::reduce(values.begin(), values.end()) == wanted.back());
  const auto odd = thrust::copy_if(values.begin(), values.end(), other.begin(), IsOdd());
  say("thrust copy_if", odd - other.begin() == std::count_if(numbers.host.begin(), numbers.host.end(), IsOdd()));
  wanted = numbers.sorted();
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  const auto end = thrust::unique(values.begin(), values.end());
  say("thrust unique", end - values.begin() == static_cast<long>(wanted.size()) && equals(values));
}

}  // namespace

int main(int count, char** words) {
  struct Part {
    const char* name;
    void (*run)(const Numbers&);
  };
  constexpr Part kParts[] = {{"sort", sort},     {"scan", scan},           {"reduce", reduce},
                             {"select", select}, {"histogram", histogram}, {"runs", runs},
                             {"block", block},   {"thrust", thrust_calls}};
  const std::string wanted = count > 1 ? words[1] : "";
  const Numbers numbers;
  bool is_known = wanted.empty();
  for (const Part& part : kParts) {
    if (!wanted.empty() && wanted != part.name) continue;
    is_known = true;
    part.run(numbers);
  }
  if (!is_known) {
    std::fprintf(stderr, "exec_cub: there is no '%s'\n", wanted.c_str());
    return 2;
  }
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("failed: %s\n", cudaGetErrorName(error));
    return 1;
  }
  return mistakes == 0 ? 0 : 1;
}
