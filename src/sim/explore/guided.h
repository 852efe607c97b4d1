// SPDX-License-Identifier: Apache-2.0
//
// Launches that a host function makes on its own, decided by a search.
#pragma once

#include <heddle/sim/launch.h>

namespace heddle::sim::explore {

// While it lives, launches of this thread that Device asks for have the strategy and the observers of these
// options, and are strict if they are.
class Guided {
 public:
  explicit Guided(const LaunchOptions& options) : options_(options), outer_(current_) { current_ = this; }
  ~Guided() { current_ = outer_; }
  Guided(const Guided&) = delete;
  Guided& operator=(const Guided&) = delete;

  static void guide(LaunchOptions& options) {
    if (current_ == nullptr) return;
    options.strategy = current_->options_.strategy;
    options.observers = current_->options_.observers;
    options.strict |= current_->options_.strict;
  }

 private:
  static inline thread_local const Guided* current_ = nullptr;

  const LaunchOptions& options_;
  const Guided* outer_;
};

}  // namespace heddle::sim::explore
