// SPDX-License-Identifier: Apache-2.0
//
// Fibers: stacks that one processor thread moves between.
//
// Built on Boost.Context's fcontext rather than its fiber class, because a run that has found a mistake
// abandons its fibers where they stand. The class would unwind them by an exception, which must not pass
// through destructors of kernel code, and a stage's destructor is exactly where many mistakes are found.
#pragma once

#include "sim/frontend/sanitizer.h"

#include <boost/context/detail/fcontext.hpp>

#include <cstddef>
#include <vector>

namespace heddle::sim::frontend {

// Kernel code keeps its state in registers and shared memory; what is left fits easily. Sanitizers put red
// zones between locals and need more.
#if defined(HEDDLE_ASAN) || defined(HEDDLE_TSAN)
inline constexpr std::size_t kStackBytes = 512 * 1024;
#else
inline constexpr std::size_t kStackBytes = 128 * 1024;
#endif
inline constexpr std::size_t kMinStackBytes = 64 * 1024;
inline constexpr std::size_t kMaxStackBytes = std::size_t{1} << 30;
// Below a stack lies what nobody may touch, and as much of it as a large array can step over.
inline constexpr std::size_t kGuardBytes = std::size_t{1} << 20;

struct Stack {
  void* bottom = nullptr;
  std::size_t bytes = 0;  // less than whole: tops of stacks are moved apart
  std::size_t whole = 0;
};

// Stacks with a guard each, kept for the next launch.
class StackPool {
 public:
  StackPool() = default;
  ~StackPool();
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;

  Stack take(std::size_t bytes);
  void give(Stack stack) { free_.push_back(stack); }

  static StackPool& of_this_thread();

 private:
  std::vector<Stack> free_;
  std::size_t made_ = 0;
};

class Fiber {
 public:
  using Entry = void (*)(void* argument);

  Fiber() = default;
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Prepares to run entry(argument), which must not return but switch away for good, on a stack of so many bytes.
  void prepare(Entry entry, void* argument, std::size_t stack_bytes);

  const Stack& stack() const { return stack_; }

  // Makes this the stack that the caller is already on.
  void adopt_current() { sanitizer_.adopt_current(); }

  // Leaves this fiber, which must be the running one, and goes on in `next`.
  void switch_to(Fiber& next);

 private:
  struct Passage {
    Fiber* from;
    Fiber* to;
  };

  void caller_stack(const void* bottom, std::size_t bytes) {
    stack_ = {const_cast<void*>(bottom), bytes, bytes};
    owns_stack_ = false;
  }

  static void trampoline(boost::context::detail::transfer_t transfer);
  static void arrived(boost::context::detail::transfer_t transfer);

  boost::context::detail::fcontext_t context_ = nullptr;
  Stack stack_;
  bool owns_stack_ = true;
  Entry entry_ = nullptr;
  void* argument_ = nullptr;
  SanitizerStack sanitizer_;
};

// Inlined with all its callers up to the instruction: a processor predicts returns from the calls it has seen,
// so after a switch every return on the way back to kernel code is mispredicted. There should be one.
[[gnu::always_inline]] inline void Fiber::switch_to(Fiber& next) {
  Passage passage{this, &next};
  sanitizer_.leave_for(next.sanitizer_, next.stack_.bottom, next.stack_.bytes);
  arrived(boost::context::detail::jump_fcontext(next.context_, &passage));
}

[[gnu::always_inline]] inline void Fiber::arrived(boost::context::detail::transfer_t transfer) {
  const Passage passage = *static_cast<Passage*>(transfer.data);
  passage.from->context_ = transfer.fctx;
  const void* left_bottom = nullptr;
  std::size_t left_bytes = 0;
  passage.to->sanitizer_.entered(&left_bottom, &left_bytes);
  // The stack that was not made here, the caller's, becomes known when it is left for the first time.
  if (passage.from->stack_.bottom == nullptr && left_bytes != 0) {
    passage.from->caller_stack(left_bottom, left_bytes);
  }
}

}  // namespace heddle::sim::frontend
