// SPDX-License-Identifier: Apache-2.0
//
// wgmma: the asynchronous matrix multiply of sm_90a. The four warps of a warpgroup together multiply a 64 x K
// tile of A with a K x N tile of B and add the product to accumulators in their registers. B lies in shared
// memory, A there or in registers; descriptors (isa/smem_descriptor.h) say where and how.
//
// All 128 threads of the warpgroup execute each of these functions, with the same operands. Between
// wgmma_mma_async and the wgmma_wait_group that covers it, the accumulators hold nothing that can be read, and
// the operands in shared memory must stay as they are. The simulated SM keeps NaNs in accumulators until then.
//
//   constexpr WgmmaShape shape{.n = 256, .a = OperandType::kBf16, .b = OperandType::kBf16};
//   WgmmaAccumulators<shape> d;
//   wgmma_fence();
//   for (std::uint32_t k = 0; k < 64 / shape.k(); ++k) {
//     wgmma_mma_async<shape>(d, advanced_descriptor(a, 32 * k), advanced_descriptor(b, 32 * k), k != 0);
//   }
//   wgmma_commit_group();
//   wgmma_wait_group<0>();
//
// A function that is instantiated for another architecture than sm_90a does not assemble.
#pragma once

#include <heddle/isa/instruction_descriptor.h>
#include <heddle/isa/smem_descriptor.h>
#include <heddle/isa/target.h>
#include <heddle/isa/trace.h>

#include <type_traits>

#if HEDDLE_ON_CUDA
#include <heddle/isa/generated/wgmma_registers.h>
#include <utility>
#endif

namespace heddle::inline HEDDLE_TARGET {

// What a wgmma.mma_async multiplies. M is always 64, and K as much as fits 32 bytes.
struct WgmmaShape {
  std::uint32_t n = 0;  // 8 to 256, a multiple of 8
  OperandType a = OperandType::kBf16;
  OperandType b = OperandType::kBf16;
  AccumulatorType d = AccumulatorType::kF32;
  Major a_major = Major::kK;  // the manual's transpose immediates: MN-major is for 16-bit types only
  Major b_major = Major::kK;
  bool negate_a = false;
  bool negate_b = false;

  HEDDLE_HOST_DEVICE constexpr std::uint32_t k() const;

  // 32-bit registers of each thread that hold D.
  HEDDLE_HOST_DEVICE constexpr std::uint32_t d_registers() const {
    return d == AccumulatorType::kF16 ? n / 4 : n / 2;
  }

  friend constexpr bool operator==(const WgmmaShape&, const WgmmaShape&) = default;
};

inline constexpr std::uint32_t kWgmmaM = 64;
inline constexpr std::uint32_t kWarpgroupThreads = 128;

// D in the registers of one thread: floats, or pairs of f16 with the lower column in the lower half. Thread t
// of the warpgroup, in lane l of its warp w, has in element i
//   row 16 * w + l / 4 + 8 * (i / 2 % 2), column 8 * (i / 4) + 2 * (l % 4) + i % 2.
// PTX: Register Fragments for wgmma.mma_async.
template <WgmmaShape shape>
using WgmmaAccumulators =
    std::conditional_t<shape.d == AccumulatorType::kF16, std::uint32_t, float>[shape.d_registers()];

// A in the registers of one thread: a row's neighbours along K in the lower bits.
using WgmmaFragment = std::uint32_t[4];

// Which rule of the instruction a shape breaks.
enum class WgmmaShapeFault : std::uint8_t { kNone, kN, kOperandTypes, kAccumulatorType, kMajor };

HEDDLE_HOST_DEVICE constexpr WgmmaShapeFault check(const WgmmaShape& shape);

namespace isa {

namespace detail {

template <WgmmaShape shape>
HEDDLE_HOST_DEVICE constexpr void require_wgmma_shape() {
  constexpr WgmmaShapeFault fault = check(shape);
  static_assert(fault != WgmmaShapeFault::kN, "wgmma: N is 8 to 256, a multiple of 8");
  static_assert(fault != WgmmaShapeFault::kOperandTypes,
                "wgmma: A and B are both bf16, both fp16, both tf32, or any mix of e4m3 and e5m2");
  static_assert(fault != WgmmaShapeFault::kAccumulatorType,
                "wgmma: D is f32; for fp16, e4m3 and e5m2 operands it may be f16");
  static_assert(fault != WgmmaShapeFault::kMajor, "wgmma: operands are K-major unless they are bf16 or fp16");
}

}  // namespace detail

#if HEDDLE_ON_CUDA

// Orders: this warp's accesses of accumulator and fragment registers before, against its wgmmas after. Needed
// before the first wgmma, and whenever other code has touched those registers; not between wgmmas of one shape
// that add to the same accumulators.
HEDDLE_DEVICE void wgmma_fence(CallSite = CallSite::here()) {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

// Closes all wgmmas since the last call into one group.
HEDDLE_DEVICE void wgmma_commit_group(CallSite = CallSite::here()) {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  trace_multiply();
}

// Waits until at most `pending` of the newest groups are under way.
// Orders: accumulators of the older groups can be read, and the shared memory that they read can be written.
template <std::uint32_t pending>
HEDDLE_DEVICE void wgmma_wait_group(CallSite = CallSite::here()) {
  const TracedWait traced(WaitedFor::kWgmma, pending);
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

// Keeps the compiler from moving copies of accumulators past this point, where they would come between wgmmas
// and make ptxas run them one at a time (its warnings C7510 to C7519). Before wgmma_fence and after
// wgmma_wait_group is where it helps. Not an instruction.
template <class T, std::size_t count>
HEDDLE_DEVICE void wgmma_fence_operands(T (&d)[count]) {
#pragma unroll
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<T, float>) {
      asm volatile("" : "+f"(d[i])::"memory");
    } else {
      asm volatile("" : "+r"(d[i])::"memory");
    }
  }
}

namespace detail {

struct WgmmaBuffer {
  char text[80] = {};
  std::size_t size = 0;

  HEDDLE_HOST_DEVICE constexpr void put(const char* more) {
    while (*more != '\0') text[size++] = *more++;
  }
  HEDDLE_HOST_DEVICE constexpr void put(std::uint32_t number) {
    if (number >= 10) put(number / 10);
    text[size++] = static_cast<char>('0' + number % 10);
  }
};

HEDDLE_HOST_DEVICE constexpr const char* wgmma_type_text(OperandType type) {
  switch (type) {
    case OperandType::kF16: return ".f16";
    case OperandType::kBf16: return ".bf16";
    case OperandType::kTf32: return ".tf32";
    case OperandType::kE4m3: return ".e4m3";
    default: return ".e5m2";
  }
}

HEDDLE_HOST_DEVICE constexpr WgmmaBuffer wgmma_opcode(const WgmmaShape& shape) {
  WgmmaBuffer buffer;
  buffer.put("wgmma.mma_async.sync.aligned.m64n");
  buffer.put(shape.n);
  buffer.put("k");
  buffer.put(shape.k());
  buffer.put(shape.d == AccumulatorType::kF16 ? ".f16" : ".f32");
  buffer.put(wgmma_type_text(shape.a));
  buffer.put(wgmma_type_text(shape.b));
  return buffer;
}

// scale-a, scale-b, and the transpose immediates of those 16-bit operands that lie in shared memory.
HEDDLE_HOST_DEVICE constexpr WgmmaBuffer wgmma_immediates(const WgmmaShape& shape, bool a_in_registers) {
  WgmmaBuffer buffer;
  buffer.put(shape.negate_a ? "-1, " : "1, ");
  buffer.put(shape.negate_b ? "-1" : "1");
  if (shape.k() == 16) {
    if (!a_in_registers) buffer.put(shape.a_major == Major::kMN ? ", 1" : ", 0");
    buffer.put(shape.b_major == Major::kMN ? ", 1" : ", 0");
  }
  return buffer;
}

// The text as an array of exactly its length, which is what asm takes.
template <WgmmaShape shape, bool a_in_registers, class = std::make_index_sequence<wgmma_opcode(shape).size>,
          class = std::make_index_sequence<wgmma_immediates(shape, a_in_registers).size>>
struct WgmmaText;

template <WgmmaShape shape, bool a_in_registers, std::size_t... i, std::size_t... j>
struct WgmmaText<shape, a_in_registers, std::index_sequence<i...>, std::index_sequence<j...>> {
  static constexpr WgmmaBuffer opcode_buffer = wgmma_opcode(shape);
  static constexpr WgmmaBuffer immediates_buffer = wgmma_immediates(shape, a_in_registers);
  static constexpr const char opcode[] = {opcode_buffer.text[i]..., '\0'};
  static constexpr const char immediates[] = {immediates_buffer.text[j]..., '\0'};
};

}  // namespace detail

// D = A * B, or D += A * B where `scale_d`. A and B are read later, and D is written later.
template <WgmmaShape shape>
HEDDLE_DEVICE void wgmma_mma_async(WgmmaAccumulators<shape>& d, std::uint64_t a_descriptor,
                                   std::uint64_t b_descriptor, bool scale_d, CallSite = CallSite::here()) {
  detail::require_wgmma_shape<shape>();
  detail::wgmma_asm<detail::WgmmaText<shape, false>>(d, a_descriptor, b_descriptor, scale_d ? 1u : 0u);
}

// A in registers, which is always K-major.
template <WgmmaShape shape>
HEDDLE_DEVICE void wgmma_mma_async(WgmmaAccumulators<shape>& d, const WgmmaFragment& a,
                                   std::uint64_t b_descriptor, bool scale_d, CallSite = CallSite::here()) {
  detail::require_wgmma_shape<shape>();
  static_assert(shape.a_major == Major::kK, "wgmma: A in registers is K-major");
  detail::wgmma_asm<detail::WgmmaText<shape, true>>(d, a, b_descriptor, scale_d ? 1u : 0u);
}

#else

namespace detail {

void wgmma_mma_async(const WgmmaShape& shape, void* d, const std::uint64_t* a_descriptor, const std::uint32_t* a,
                     std::uint64_t b_descriptor, bool scale_d, CallSite site);
void wgmma_wait_group(std::uint32_t pending, CallSite site);

}  // namespace detail

void wgmma_fence(CallSite site = CallSite::here());
void wgmma_commit_group(CallSite site = CallSite::here());

template <std::uint32_t pending>
void wgmma_wait_group(CallSite site = CallSite::here()) {
  detail::wgmma_wait_group(pending, site);
}

template <class T, std::size_t count>
void wgmma_fence_operands(T (&)[count]) {}

template <WgmmaShape shape>
void wgmma_mma_async(WgmmaAccumulators<shape>& d, std::uint64_t a_descriptor, std::uint64_t b_descriptor,
                     bool scale_d, CallSite site = CallSite::here()) {
  detail::require_wgmma_shape<shape>();
  detail::wgmma_mma_async(shape, d, &a_descriptor, nullptr, b_descriptor, scale_d, site);
}

template <WgmmaShape shape>
void wgmma_mma_async(WgmmaAccumulators<shape>& d, const WgmmaFragment& a, std::uint64_t b_descriptor,
                     bool scale_d, CallSite site = CallSite::here()) {
  detail::require_wgmma_shape<shape>();
  static_assert(shape.a_major == Major::kK, "wgmma: A in registers is K-major");
  detail::wgmma_mma_async(shape, d, nullptr, a, b_descriptor, scale_d, site);
}

#endif

}  // namespace isa

HEDDLE_HOST_DEVICE constexpr std::uint32_t WgmmaShape::k() const {
  const bool is_16_bit = a == OperandType::kF16 || a == OperandType::kBf16;
  return is_16_bit ? 16 : a == OperandType::kTf32 ? 8 : 32;
}

HEDDLE_HOST_DEVICE constexpr WgmmaShapeFault check(const WgmmaShape& shape) {
  const auto is_fp8 = [](OperandType type) { return type == OperandType::kE4m3 || type == OperandType::kE5m2; };
  const bool is_16_bit = shape.a == OperandType::kF16 || shape.a == OperandType::kBf16;
  if (shape.n < 8 || shape.n > 256 || shape.n % 8 != 0) return WgmmaShapeFault::kN;
  if (is_fp8(shape.a) ? !is_fp8(shape.b) : shape.a != shape.b || (!is_16_bit && shape.a != OperandType::kTf32)) {
    return WgmmaShapeFault::kOperandTypes;
  }
  const bool may_be_f16 = shape.a == OperandType::kF16 || is_fp8(shape.a);
  if (shape.d != AccumulatorType::kF32 && !(shape.d == AccumulatorType::kF16 && may_be_f16)) {
    return WgmmaShapeFault::kAccumulatorType;
  }
  if (!is_16_bit && (shape.a_major != Major::kK || shape.b_major != Major::kK)) return WgmmaShapeFault::kMajor;
  return WgmmaShapeFault::kNone;
}

}  // namespace heddle::inline HEDDLE_TARGET
