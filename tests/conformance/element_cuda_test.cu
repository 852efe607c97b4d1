// SPDX-License-Identifier: Apache-2.0
//
// Element types against CUDA's own conversions. On the host: every pattern decoded, and for each type the
// midpoints between its values, all floats that differ in their upper halves, and random floats encoded. On a
// GPU, if there is one: every one of the 2^32 floats encoded and every pattern decoded, against the hardware's
// `cvt` where the GPU has it. Exits with 1 if anything differs.
#include <heddle/tile/element.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

namespace {

using namespace heddle;

// A conversion names a type, CUDA's decoder and CUDA's encoder. Patterns and floats travel as bits, so that a
// NaN arrives as it was.
__host__ __device__ float as_float(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }
__host__ __device__ std::uint32_t as_bits(float value) { return __builtin_bit_cast(std::uint32_t, value); }

struct Bf16 {
  using Ours = bf16;
  using Cuda = __nv_bfloat16;
  static constexpr const char* name = "bf16";
  static constexpr std::uint32_t patterns = 0x10000;
  __host__ __device__ static float decode(std::uint32_t p) {
    return __bfloat162float(__nv_bfloat16_raw{static_cast<unsigned short>(p)});
  }
  __host__ __device__ static std::uint32_t encode(float x) {
    return static_cast<__nv_bfloat16_raw>(__float2bfloat16_rn(x)).x;
  }
  __host__ __device__ static std::uint32_t encode_ours(float x) { return bf16::from_float(x).bits; }
};

struct Fp16 {
  using Ours = fp16;
  using Cuda = __half;
  static constexpr const char* name = "fp16";
  static constexpr std::uint32_t patterns = 0x10000;
  __host__ __device__ static float decode(std::uint32_t p) {
    return __half2float(__half_raw{static_cast<unsigned short>(p)});
  }
  __host__ __device__ static std::uint32_t encode(float x) {
    return static_cast<__half_raw>(__float2half_rn(x)).x;
  }
  __host__ __device__ static std::uint32_t encode_ours(float x) { return fp16::from_float(x).bits; }
};

template <class T, class CudaType, __nv_fp8_interpretation_t interpretation>
struct Fp8 {
  using Ours = T;
  using Cuda = CudaType;
  static constexpr const char* name = element_name<T>;
  static constexpr std::uint32_t patterns = 0x100;
  __host__ __device__ static float decode(std::uint32_t p) {
    const __half_raw half = __nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(p), interpretation);
    return __half2float(half);
  }
  __host__ __device__ static std::uint32_t encode(float x) {
    return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, interpretation);
  }
  __host__ __device__ static std::uint32_t encode_ours(float x) { return T::from_float(x).bits; }
};
using E4m3 = Fp8<e4m3, __nv_fp8_e4m3, __NV_E4M3>;
using E5m2 = Fp8<e5m2, __nv_fp8_e5m2, __NV_E5M2>;

template <class T, class CudaType, __nv_fp6_interpretation_t interpretation>
struct Fp6 {
  using Ours = T;
  using Cuda = CudaType;
  static constexpr const char* name = element_name<T>;
  static constexpr std::uint32_t patterns = 0x40;
  __host__ __device__ static float decode(std::uint32_t p) {
    return __half2float(__nv_cvt_fp6_to_halfraw(static_cast<__nv_fp6_storage_t>(p), interpretation));
  }
  __host__ __device__ static std::uint32_t encode(float x) {
    return __nv_cvt_float_to_fp6(x, interpretation, cudaRoundNearest);
  }
  __host__ __device__ static std::uint32_t encode_ours(float x) { return T::from_float(x).bits; }
};
using E2m3 = Fp6<e2m3, __nv_fp6_e2m3, __NV_E2M3>;
using E3m2 = Fp6<e3m2, __nv_fp6_e3m2, __NV_E3M2>;

struct E2m1 {
  using Ours = e2m1;
  using Cuda = __nv_fp4_e2m1;
  static constexpr const char* name = "e2m1";
  static constexpr std::uint32_t patterns = 0x10;
  __host__ __device__ static float decode(std::uint32_t p) {
    return __half2float(__nv_cvt_fp4_to_halfraw(static_cast<__nv_fp4_storage_t>(p), __NV_E2M1));
  }
  __host__ __device__ static std::uint32_t encode(float x) {
    return __nv_cvt_float_to_fp4(x, __NV_E2M1, cudaRoundNearest);
  }
  __host__ __device__ static std::uint32_t encode_ours(float x) { return e2m1::from_float(x).bits; }
};

template <Rounding rounding, cudaRoundMode cuda_rounding>
struct Ue8m0 {
  using Ours = ue8m0;
  using Cuda = __nv_fp8_e8m0;
  static constexpr const char* name = rounding == Rounding::kTowardZero ? "ue8m0.rz" : "ue8m0.rp";
  static constexpr std::uint32_t patterns = 0x100;
  __host__ __device__ static float decode(std::uint32_t p) {
    return __bfloat162float(__nv_cvt_e8m0_to_bf16raw(static_cast<__nv_fp8_storage_t>(p)));
  }
  __host__ __device__ static std::uint32_t encode(float x) {
    return __nv_cvt_float_to_e8m0(x, __NV_SATFINITE, cuda_rounding);
  }
  __host__ __device__ static std::uint32_t encode_ours(float x) { return ue8m0::from_float<rounding>(x).bits; }
};
using Ue8m0Down = Ue8m0<Rounding::kTowardZero, cudaRoundZero>;
using Ue8m0Up = Ue8m0<Rounding::kTowardPositive, cudaRoundPosInf>;

// CUDA has no type for ue4m3: it is e4m3 whose sign is dropped.
struct Ue4m3 {
  using Ours = ue4m3;
  using Cuda = __nv_fp8_e4m3;
  static constexpr const char* name = "ue4m3";
  static constexpr std::uint32_t patterns = 0x100;
  __host__ __device__ static float decode(std::uint32_t p) { return E4m3::decode(p & 0x7FU); }
  __host__ __device__ static std::uint32_t encode(float x) {
    return E4m3::encode(as_float(as_bits(x) & 0x7FFF'FFFFU)) & 0x7FU;
  }
  __host__ __device__ static std::uint32_t encode_ours(float x) { return ue4m3::from_float(x).bits; }
};

template <class Conversion>
__host__ __device__ float decode_ours(std::uint32_t pattern) {
  using T = typename Conversion::Ours;
  return T{static_cast<decltype(T::bits)>(pattern)}.to_float();
}

// Bit for bit, but for the NaN of ue8m0: CUDA decodes to bf16, whose NaN becomes the float 0x7FFF0000, while
// to_float() gives 0x7FFFFFFF as it does for the other formats that have one NaN.
template <class Conversion>
__host__ __device__ bool is_same_float(float ours, float cuda) {
  const bool both_are_nan = ours != ours && cuda != cuda;
  return as_bits(ours) == as_bits(cuda) ||
         (both_are_nan && sizeof(typename Conversion::Cuda) == 1 && Conversion::Ours::format.exponent_bits == 8);
}

std::uint64_t differences = 0;

void report(const char* name, const char* what, std::uint32_t input, std::uint32_t ours, std::uint32_t cuda) {
  if (differences++ < 20) {
    std::printf("%s: %s of 0x%08X gives 0x%08X, CUDA gives 0x%08X\n", name, what, input, ours, cuda);
  }
}

std::vector<float> common_floats() {
  std::vector<float> floats;
  for (std::uint32_t upper = 0; upper < 0x10000; ++upper) {
    for (const std::uint32_t lower : {0U, 1U, 0x7FFFU, 0x8000U, 0x8001U, 0xFFFFU}) {
      floats.push_back(as_float(upper << 16 | lower));
    }
  }
  std::mt19937 random(20240612);
  std::uniform_real_distribution<float> near_one(-512.0f, 512.0f);
  for (int i = 0; i < 1'000'000; ++i) {
    floats.push_back(as_float(static_cast<std::uint32_t>(random())));
    floats.push_back(near_one(random));
  }
  return floats;
}

template <class Conversion>
void compare_on_host(const std::vector<float>& floats) {
  static_assert(sizeof(typename Conversion::Ours) == sizeof(typename Conversion::Cuda));
  static_assert(alignof(typename Conversion::Ours) == alignof(typename Conversion::Cuda));
  for (std::uint32_t pattern = 0; pattern < Conversion::patterns; ++pattern) {
    const float ours = decode_ours<Conversion>(pattern);
    const float cuda = Conversion::decode(pattern);
    if (!is_same_float<Conversion>(ours, cuda)) {
      report(Conversion::name, "decoding", pattern, as_bits(ours), as_bits(cuda));
    }
  }

  std::uint64_t encoded = 0;
  const auto compare = [&encoded](float x) {
    const std::uint32_t ours = Conversion::encode_ours(x);
    const std::uint32_t cuda = Conversion::encode(x);
    ++encoded;
    if (ours != cuda) {
      report(Conversion::name, "encoding", as_bits(x), ours, cuda);
    }
  };
  for (const float x : floats) {
    compare(x);
  }
  // Neighbouring patterns have neighbouring values, so this meets every midpoint, and where overflow begins.
  for (std::uint32_t pattern = 0; pattern < Conversion::patterns; ++pattern) {
    const double value = Conversion::decode(pattern);
    const double next = Conversion::decode((pattern + 1) % Conversion::patterns);
    const double previous = Conversion::decode((pattern + Conversion::patterns - 1) % Conversion::patterns);
    for (const double x : {value, (value + next) / 2, value + (value - previous) / 2}) {
      const float middle = static_cast<float>(x);
      compare(middle);
      compare(std::nextafterf(middle, -INFINITY));
      compare(std::nextafterf(middle, INFINITY));
    }
  }
  std::printf("host   %-9s %6u patterns decoded, %8llu floats encoded\n", Conversion::name, Conversion::patterns,
              static_cast<unsigned long long>(encoded));
}

struct DeviceDifferences {
  unsigned long long count;
  std::uint32_t input;
  std::uint32_t ours;
  std::uint32_t cuda;
};

__device__ void note(DeviceDifferences* found, std::uint32_t input, std::uint32_t ours, std::uint32_t cuda) {
  if (atomicAdd(&found->count, 1ULL) == 0) {
    found->input = input;
    found->ours = ours;
    found->cuda = cuda;
  }
}

template <class Conversion>
__global__ void encode_every_float(DeviceDifferences* found) {
  const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i >> 32 == 0; i += threads) {
    const float x = as_float(static_cast<std::uint32_t>(i));
    const std::uint32_t ours = Conversion::encode_ours(x);
    const std::uint32_t cuda = Conversion::encode(x);
    if (ours != cuda) {
      note(found, static_cast<std::uint32_t>(i), ours, cuda);
    }
  }
}

template <class Conversion>
__global__ void decode_every_pattern(DeviceDifferences* found) {
  const std::uint32_t threads = gridDim.x * blockDim.x;
  for (std::uint32_t p = blockIdx.x * blockDim.x + threadIdx.x; p < Conversion::patterns; p += threads) {
    const float ours = decode_ours<Conversion>(p);
    const float cuda = Conversion::decode(p);
    if (!is_same_float<Conversion>(ours, cuda)) {
      note(found, p, as_bits(ours), as_bits(cuda));
    }
  }
}

// tf32 exists on the device only.
template <Rounding rounding>
struct Tf32 {
  static constexpr const char* name = rounding == Rounding::kNearestEven   ? "tf32.rn"
                                      : rounding == Rounding::kNearestAway ? "tf32.rna"
                                                                           : "tf32.rz";
  __device__ static std::uint32_t encode(float x) {
    std::uint32_t bits;
    if constexpr (rounding == Rounding::kNearestEven) {
      asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    } else if constexpr (rounding == Rounding::kNearestAway) {
      asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    } else {
      asm("cvt.rz.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    }
    return bits;
  }
  __device__ static std::uint32_t encode_ours(float x) { return tf32::from_float<rounding>(x).bits; }
};

void fail_on(cudaError_t error) {
  if (error != cudaSuccess) {
    std::printf("device: %s\n", cudaGetErrorString(error));
    std::exit(1);
  }
}

template <class Kernel>
void run_on_device(const char* name, const char* what, const char* how_many, Kernel kernel) {
  DeviceDifferences* on_device = nullptr;
  DeviceDifferences found{};
  fail_on(cudaMalloc(&on_device, sizeof found));
  fail_on(cudaMemset(on_device, 0, sizeof found));
  kernel<<<1056, 256>>>(on_device);
  fail_on(cudaGetLastError());
  fail_on(cudaMemcpy(&found, on_device, sizeof found, cudaMemcpyDeviceToHost));
  fail_on(cudaFree(on_device));
  if (found.count != 0) {
    report(name, what, found.input, found.ours, found.cuda);
    differences += found.count - 1;
  }
  std::printf("device %-9s %s, %s, %llu differ\n", name, what, how_many, found.count);
}

template <class Conversion>
void compare_on_device() {
  run_on_device(Conversion::name, "encoding", "all 2^32 floats", encode_every_float<Conversion>);
  if constexpr (requires { Conversion::patterns; }) {
    run_on_device(Conversion::name, "decoding", "all patterns", decode_every_pattern<Conversion>);
  }
}

template <class... Conversion>
void compare_all_on_host() {
  const std::vector<float> floats = common_floats();
  (compare_on_host<Conversion>(floats), ...);
}

void compare_pairs_on_host() {
  for (std::uint32_t low = 0; low < 16; ++low) {
    for (std::uint32_t high = 0; high < 16; ++high) {
      const float x = E2m1::decode(low);
      const float y = E2m1::decode(high);
      const std::uint32_t ours = e2m1x2::from_floats(x, y).bits;
      const std::uint32_t cuda = __nv_cvt_float2_to_fp4x2(float2{x, y}, __NV_E2M1, cudaRoundNearest);
      if (ours != cuda) {
        report("e2m1x2", "packing", high << 4 | low, ours, cuda);
      }
    }
  }
  std::printf("host   e2m1x2       256 pairs packed\n");
}

}  // namespace

int main() {
  compare_all_on_host<Bf16, Fp16, E4m3, E5m2, E2m3, E3m2, E2m1, Ue8m0Down, Ue8m0Up, Ue4m3>();
  compare_pairs_on_host();

  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("device part skipped: no GPU\n");
  } else {
    compare_on_device<Bf16>();
    compare_on_device<Fp16>();
    compare_on_device<E4m3>();
    compare_on_device<E5m2>();
    compare_on_device<E2m3>();
    compare_on_device<E3m2>();
    compare_on_device<E2m1>();
    compare_on_device<Ue8m0Down>();
    compare_on_device<Ue8m0Up>();
    compare_on_device<Ue4m3>();
    compare_on_device<Tf32<Rounding::kNearestEven>>();
    compare_on_device<Tf32<Rounding::kNearestAway>>();
    compare_on_device<Tf32<Rounding::kTowardZero>>();
  }
  std::printf("%llu differences\n", static_cast<unsigned long long>(differences));
  return differences == 0 ? 0 : 1;
}
