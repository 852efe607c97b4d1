// SPDX-License-Identifier: Apache-2.0
//
// What long work shows on a terminal. Nothing where standard error is none.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace heddle::tool {

// How much is done, at most ten times a second.
class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::int64_t done, std::int64_t all);

 private:
  std::string what_;
  std::int64_t last_ms_;
  bool is_shown_ = false;
};

// That something goes on, and for how long, for work that cannot say how much is done.
class Ticker {
 public:
  explicit Ticker(std::string what);
  ~Ticker();
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable ends_;
  bool has_ended_ = false;
  std::thread thread_;
};

}  // namespace heddle::tool
