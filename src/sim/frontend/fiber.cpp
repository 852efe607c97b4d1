// SPDX-License-Identifier: Apache-2.0
#include "sim/frontend/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace heddle::sim::frontend {

namespace context = boost::context::detail;

namespace {

// Kernel code keeps its state in registers and shared memory; what is left fits easily. Sanitizers put red
// zones between locals and need more.
#if defined(HEDDLE_ASAN) || defined(HEDDLE_TSAN)
constexpr std::size_t kStackBytes = 512 * 1024;
#else
constexpr std::size_t kStackBytes = 128 * 1024;
#endif

// Stacks lie a fixed distance apart, so without this the hot end of every stack would fall into the same few
// sets of the processor's caches.
constexpr std::size_t kColours = 61;
constexpr std::size_t kColourBytes = 320;

}  // namespace

StackPool& StackPool::of_this_thread() {
  thread_local StackPool pool;
  return pool;
}

StackPool::~StackPool() {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (const Stack& stack : free_) munmap(static_cast<std::byte*>(stack.bottom) - page, kStackBytes + page);
}

Stack StackPool::take() {
  if (!free_.empty()) {
    const Stack stack = free_.back();
    free_.pop_back();
    SanitizerStack::reuse(stack.bottom, stack.bytes);
    return stack;
  }
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t colour = made_++ % kColours * kColourBytes;
  void* memory = mmap(nullptr, kStackBytes + page, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  mprotect(memory, page, PROT_NONE);
  return {static_cast<std::byte*>(memory) + page, kStackBytes - colour};
}

Fiber::~Fiber() {
  if (stack_.bottom == nullptr || !owns_stack_) return;
  sanitizer_.destroy();
  StackPool::of_this_thread().give(stack_);
}

void Fiber::prepare(Entry entry, void* argument) {
  if (stack_.bottom == nullptr) {
    stack_ = StackPool::of_this_thread().take();
  } else {
    SanitizerStack::reuse(stack_.bottom, stack_.bytes);  // the last thread on it never returned
  }
  sanitizer_.destroy();
  sanitizer_.create();
  entry_ = entry;
  argument_ = argument;
  context_ = context::make_fcontext(static_cast<std::byte*>(stack_.bottom) + stack_.bytes, stack_.bytes, trampoline);
}

void Fiber::trampoline(context::transfer_t transfer) {
  Fiber* self = static_cast<Passage*>(transfer.data)->to;
  arrived(transfer);
  self->entry_(self->argument_);
}

}  // namespace heddle::sim::frontend
