// SPDX-License-Identifier: Apache-2.0
//
// Launches that a host function makes on its own, decided by a search.
#pragma once

#include <heddle/sim/launch.h>
#include <heddle/sim/report.h>

#include <functional>
#include <utility>

namespace heddle::sim::explore {

// While it lives, launches of this thread that Device asks for have the strategy and the observers of these
// options, and are strict if they are; `see` gets what each reports.
class Guided {
 public:
  using See = std::function<void(const Report&)>;

  explicit Guided(const LaunchOptions& options, See see = {})
      : options_(options), see_(std::move(see)), outer_(current_) {
    current_ = this;
  }
  ~Guided() { current_ = outer_; }
  Guided(const Guided&) = delete;
  Guided& operator=(const Guided&) = delete;

  static void guide(LaunchOptions& options) {
    if (current_ == nullptr) return;
    options.strategy = current_->options_.strategy;
    options.observers = current_->options_.observers;
    options.strict |= current_->options_.strict;
  }

  static void show(const Report& report) {
    if (current_ != nullptr && current_->see_) current_->see_(report);
  }

 private:
  static inline thread_local const Guided* current_ = nullptr;

  const LaunchOptions& options_;
  const See see_;
  const Guided* outer_;
};

}  // namespace heddle::sim::explore
