// SPDX-License-Identifier: Apache-2.0
//
// What sanitizers must be told when the processor moves from one stack to another. Empty without them.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define HEDDLE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEDDLE_ASAN 1
#endif
#endif

#if defined(__SANITIZE_THREAD__)
#define HEDDLE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HEDDLE_TSAN 1
#endif
#endif

#if defined(HEDDLE_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(HEDDLE_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace heddle::sim::frontend {

// One stack's record with the sanitizers.
class SanitizerStack {
 public:
#if defined(HEDDLE_TSAN)
  void create() { fiber_ = __tsan_create_fiber(0); }
  void destroy() {
    if (fiber_ != nullptr) __tsan_destroy_fiber(fiber_);
    fiber_ = nullptr;
  }
  void adopt_current() { fiber_ = __tsan_get_current_fiber(); }
#else
  void create() {}
  void destroy() {}
  void adopt_current() {}
#endif

  // Called on the stack that is left, for the stack `to` that is entered.
  void leave_for([[maybe_unused]] SanitizerStack& to, [[maybe_unused]] const void* bottom,
                 [[maybe_unused]] std::size_t bytes) {
#if defined(HEDDLE_ASAN)
    __sanitizer_start_switch_fiber(&fake_stack_, bottom, bytes);
#endif
#if defined(HEDDLE_TSAN)
    __tsan_switch_to_fiber(to.fiber_, 0);
#endif
  }

  // Called on this stack when it has been entered. Says where the stack that was left lies.
  void entered([[maybe_unused]] const void** left_bottom, [[maybe_unused]] std::size_t* left_bytes) {
#if defined(HEDDLE_ASAN)
    __sanitizer_finish_switch_fiber(fake_stack_, left_bottom, left_bytes);
#endif
  }

  // The memory of a stack that was abandoned is used again.
  static void reuse([[maybe_unused]] void* bottom, [[maybe_unused]] std::size_t bytes) {
#if defined(HEDDLE_ASAN)
    __asan_unpoison_memory_region(bottom, bytes);
#endif
  }

 private:
#if defined(HEDDLE_ASAN)
  void* fake_stack_ = nullptr;
#endif
#if defined(HEDDLE_TSAN)
  void* fiber_ = nullptr;
#endif
};

}  // namespace heddle::sim::frontend
