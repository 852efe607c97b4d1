// SPDX-License-Identifier: Apache-2.0
//
// Ordinary loads and stores, through the generic proxy. On the GPU each is a plain access; in the simulated
// SM it goes through the machine, which checks bounds and tells the checkers. Kernel code that reads or
// writes shared or global memory in any other way is not seen by them.
#pragma once

#include <heddle/isa/target.h>

#include <type_traits>

namespace heddle::inline HEDDLE_TARGET::isa {

// Sixteen bytes, the widest access of one thread.
struct alignas(16) Bytes16 {
  std::uint32_t word[4];

  friend constexpr bool operator==(const Bytes16&, const Bytes16&) = default;
};

#if HEDDLE_ON_CUDA

template <class T>
HEDDLE_DEVICE T ld_shared(const T* shared, CallSite = CallSite::here()) {
  return *shared;
}

template <class T>
HEDDLE_DEVICE void st_shared(T* shared, std::type_identity_t<T> value, CallSite = CallSite::here()) {
  *shared = value;
}

template <class T>
HEDDLE_DEVICE T ld_global(const T* global, CallSite = CallSite::here()) {
  return *global;
}

template <class T>
HEDDLE_DEVICE void st_global(T* global, std::type_identity_t<T> value, CallSite = CallSite::here()) {
  *global = value;
}

HEDDLE_DEVICE Bytes16 ld_shared(const Bytes16* shared, CallSite = CallSite::here()) {
  const uint4 v = *reinterpret_cast<const uint4*>(shared);
  return {{v.x, v.y, v.z, v.w}};
}

HEDDLE_DEVICE void st_shared(Bytes16* shared, Bytes16 v, CallSite = CallSite::here()) {
  *reinterpret_cast<uint4*>(shared) = make_uint4(v.word[0], v.word[1], v.word[2], v.word[3]);
}

HEDDLE_DEVICE Bytes16 ld_global(const Bytes16* global, CallSite = CallSite::here()) {
  const uint4 v = *reinterpret_cast<const uint4*>(global);
  return {{v.x, v.y, v.z, v.w}};
}

HEDDLE_DEVICE void st_global(Bytes16* global, Bytes16 v, CallSite = CallSite::here()) {
  *reinterpret_cast<uint4*>(global) = make_uint4(v.word[0], v.word[1], v.word[2], v.word[3]);
}

// Brings the line of an address into L2. No effect on results.
HEDDLE_DEVICE void prefetch_global_l2(const void* global, CallSite = CallSite::here()) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(global));
}

#else

void ld_shared_bytes(void* registers, const void* shared, std::uint32_t bytes, CallSite site);
void st_shared_bytes(void* shared, const void* registers, std::uint32_t bytes, CallSite site);
void ld_global_bytes(void* registers, const void* global, std::uint32_t bytes, CallSite site);
void st_global_bytes(void* global, const void* registers, std::uint32_t bytes, CallSite site);

// Model: there is no cache that a line could come nearer to.
inline void prefetch_global_l2(const void*, CallSite = CallSite::here()) {}

template <class T>
T ld_shared(const T* shared, CallSite site = CallSite::here()) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 16, "one thread loads at most 16 bytes at once");
  T value;
  ld_shared_bytes(&value, shared, sizeof(T), site);
  return value;
}

template <class T>
void st_shared(T* shared, std::type_identity_t<T> value, CallSite site = CallSite::here()) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 16, "one thread stores at most 16 bytes at once");
  st_shared_bytes(shared, &value, sizeof(T), site);
}

template <class T>
T ld_global(const T* global, CallSite site = CallSite::here()) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 16, "one thread loads at most 16 bytes at once");
  T value;
  ld_global_bytes(&value, global, sizeof(T), site);
  return value;
}

template <class T>
void st_global(T* global, std::type_identity_t<T> value, CallSite site = CallSite::here()) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 16, "one thread stores at most 16 bytes at once");
  st_global_bytes(global, &value, sizeof(T), site);
}

#endif

}  // namespace heddle::inline HEDDLE_TARGET::isa
