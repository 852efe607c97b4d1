// SPDX-License-Identifier: Apache-2.0
#include "sim/frontend/fiber.h"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>
#include <new>

namespace heddle::sim::frontend {

namespace context = boost::context::detail;

namespace {

constexpr std::size_t kPage = 4096;

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
  for (const Stack& stack : free_) {
    munmap(static_cast<std::byte*>(stack.bottom) - kGuardBytes, stack.whole + kGuardBytes);
  }
}

Stack StackPool::take(std::size_t bytes) {
  // Launches with stacks of another size are rare: those they left are passed over.
  const auto fits =
      std::find_if(free_.rbegin(), free_.rend(), [&](const Stack& one) { return one.whole == bytes; });
  if (fits != free_.rend()) {
    const Stack stack = *fits;
    free_.erase(std::next(fits).base());
    SanitizerStack::reuse(stack.bottom, stack.bytes);
    return stack;
  }
  const std::size_t colour = made_++ % kColours * kColourBytes;
  void* memory = mmap(nullptr, bytes + kGuardBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  mprotect(memory, kGuardBytes, PROT_NONE);
  return {static_cast<std::byte*>(memory) + kGuardBytes, bytes - colour, bytes};
}

Fiber::~Fiber() {
  if (stack_.bottom == nullptr || !owns_stack_) return;
  sanitizer_.destroy();
  StackPool::of_this_thread().give(stack_);
}

void Fiber::prepare(Entry entry, void* argument, std::size_t stack_bytes) {
  if (stack_.bottom == nullptr) {
    stack_ = StackPool::of_this_thread().take((stack_bytes + kPage - 1) / kPage * kPage);
  } else {
    SanitizerStack::reuse(stack_.bottom, stack_.bytes);  // the last thread on it never returned
  }
  sanitizer_.destroy();
  sanitizer_.create();
  entry_ = entry;
  argument_ = argument;
  context_ =
      context::make_fcontext(static_cast<std::byte*>(stack_.bottom) + stack_.bytes, stack_.bytes, trampoline);
}

void Fiber::trampoline(context::transfer_t transfer) {
  Fiber* self = static_cast<Passage*>(transfer.data)->to;
  arrived(transfer);
  self->entry_(self->argument_);
}

}  // namespace heddle::sim::frontend
