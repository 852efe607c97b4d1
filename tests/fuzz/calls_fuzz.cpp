// SPDX-License-Identifier: Apache-2.0
//
// Sequences of CUDA calls, as the bytes choose them: each comes back with a code that has a name. The card is
// linked in.
#include "exec/call_sequence.h"

#include <cstddef>
#include <cstdint>

namespace {

constexpr char kModule[] = R"(.version 8.0
.target sm_90
.address_size 64
.visible .global .align 4 .b8 variable[64];
.visible .entry add(.param .u64 data, .param .u32 value)
{
  .reg .b32 %r<5>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [data];
  ld.param.u32 %r1, [value];
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd2, %r2, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r3, [%rd3];
  add.s32 %r4, %r3, %r1;
  st.global.u32 [%rd3], %r4;
  ret;
}
)";

// One byte for most choices; past the end the first of all.
class ChosenBytes : public call_sequence::Choices {
 public:
  ChosenBytes(const std::uint8_t* data, std::size_t size) : next_(data), left_(size) {}

  bool is_empty() const { return left_ == 0; }
  std::uint64_t below(std::uint64_t count) override {
    return take(count <= 256 ? 1 : count <= 65536 ? 2 : 8) % count;
  }
  std::uint64_t bits() override { return take(8); }

 private:
  std::uint64_t take(int bytes) {
    std::uint64_t value = 0;
    for (; bytes > 0 && left_ != 0; --bytes, --left_) value = value << 8 | *next_++;
    return value;
  }

  const std::uint8_t* next_;
  std::size_t left_;
};

// Modules go with a reset.
void load_kernel() {
  cudaLibrary_t library = nullptr;
  cudaKernel_t kernel = nullptr;
  if (cudaLibraryLoadData(&library, kModule, nullptr, nullptr, 0, nullptr, nullptr, 0) != cudaSuccess ||
      cudaLibraryGetKernel(&kernel, library, "add") != cudaSuccess) {
    __builtin_trap();
  }
  call_sequence::kernel = kernel;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace call_sequence;
  static const bool is_ready = (host.resize(5000), load_kernel(), true);
  (void)is_ready;
  ChosenBytes bytes(data, size);
  choices = &bytes;
  for (int made = 0; made < 48 && !bytes.is_empty(); ++made) {
    const cudaError_t code = calls[below(calls.size())]();
    if (cudaGetErrorName(code) == nullptr || cudaGetErrorName(code)[0] != 'c') __builtin_trap();
  }
  if (!still_works()) __builtin_trap();
  cudaDeviceReset();
  return 0;
}
