// SPDX-License-Identifier: Apache-2.0
#include "sim/frontend/stack_watch.h"

#include "sim/frontend/executor.h"

#include <unistd.h>

#include <csignal>
#include <memory>
#include <mutex>

namespace heddle::sim::frontend {

namespace {

struct sigaction program_action;  // what the program does about the signal

// The stack that has overflowed cannot hold the handler.
class SignalStack {
 public:
  SignalStack() {
    stack_t old = {};
    if (sigaltstack(nullptr, &old) != 0 || (old.ss_flags & SS_DISABLE) == 0) return;  // the program has one
    memory_ = std::make_unique<char[]>(kBytes);
    const stack_t own = {.ss_sp = memory_.get(), .ss_flags = 0, .ss_size = kBytes};
    sigaltstack(&own, nullptr);
  }
  ~SignalStack() {
    if (memory_ == nullptr) return;
    const stack_t none = {.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
    sigaltstack(&none, nullptr);
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  static constexpr std::size_t kBytes = 65536;
  std::unique_ptr<char[]> memory_;
};

void on_fault(int signal, siginfo_t* info, void* context) {
  if (Executor::has_overflowed(info->si_addr)) {
    constexpr char kMessage[] =
        "heddle: [stack_overflow] a thread of a kernel has used up its stack. A local array belongs into shared "
        "memory; sim::LaunchOptions::stack_bytes gives each thread more (128 KiB unless told)\n";
    const ssize_t written = write(STDERR_FILENO, kMessage, sizeof(kMessage) - 1);
    static_cast<void>(written);
  }
  if ((program_action.sa_flags & SA_SIGINFO) != 0 && program_action.sa_sigaction != nullptr) {
    program_action.sa_sigaction(signal, info, context);
    return;
  }
  if (program_action.sa_handler != SIG_DFL && program_action.sa_handler != SIG_IGN) {
    program_action.sa_handler(signal);
    return;
  }
  // The access is tried again when this returns, and ends the process as it would have.
  std::signal(signal, SIG_DFL);
}

}  // namespace

void watch_stacks() {
  thread_local SignalStack stack;
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &program_action);
  });
}

}  // namespace heddle::sim::frontend
