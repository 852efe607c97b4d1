// SPDX-License-Identifier: Apache-2.0
#include "progress.h"

#include "tell.h"

#include <unistd.h>

#include <chrono>
#include <utility>

namespace heddle::tool {

namespace {

bool is_terminal() { return isatty(STDERR_FILENO) != 0; }

std::int64_t now_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

void erase_line() { tell("\r\033[K"); }

}  // namespace

Progress::Progress(std::string what) : what_(std::move(what)), last_ms_(now_ms()) {}

Progress::~Progress() {
  if (is_shown_) erase_line();
}

void Progress::show(std::int64_t done, std::int64_t all) {
  if (now_ms() - last_ms_ < 100 || !is_terminal()) return;
  last_ms_ = now_ms();
  is_shown_ = true;
  tell("\r{} of {} {}", done, all, what_);
}

Ticker::Ticker(std::string what) {
  if (!is_terminal()) return;
  thread_ = std::thread([this, what = std::move(what)] {
    std::unique_lock lock(mutex_);
    for (int seconds = 1; !ends_.wait_for(lock, std::chrono::seconds(1), [this] { return has_ended_; });
         ++seconds) {
      tell("\r{}, {} s", what, seconds);
    }
    erase_line();
  });
}

Ticker::~Ticker() {
  if (!thread_.joinable()) return;
  {
    const std::scoped_lock lock(mutex_);
    has_ended_ = true;
  }
  ends_.notify_one();
  thread_.join();
}

}  // namespace heddle::tool
