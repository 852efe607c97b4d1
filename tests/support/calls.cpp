// SPDX-License-Identifier: Apache-2.0
//
// Notes which functions a test calls, where the compiler says so at the start of each (-finstrument-functions).
// With HEDDLE_CALLS naming a file, every test adds a line to it: its name, and the functions, as distances from
// __executable_start. tests/docs/check_calls.py reads them.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" {
extern const char __executable_start;
void __cyg_profile_func_enter(void* function, void* call);
void __cyg_profile_func_exit(void* function, void* call);
}

namespace {

// Functions of one test; more than there is room for end the program, so that none is lost.
constexpr std::size_t kPlaces = std::size_t{1} << 15;
std::atomic<void*> called[kPlaces];
bool is_noting = false;

void note(void* function) {
  std::size_t place = reinterpret_cast<std::uintptr_t>(function) * 0x9E3779B97F4A7C15u >> 49;
  for (std::size_t tries = 0; tries < kPlaces; ++tries, place = (place + 1) % kPlaces) {
    void* there = called[place].load(std::memory_order_relaxed);
    if (there == function) return;
    if (there == nullptr && called[place].compare_exchange_strong(there, function)) return;
    if (there == function) return;
  }
  std::abort();
}

class Calls : public testing::EmptyTestEventListener {
 public:
  explicit Calls(const char* file) : out_(std::fopen(file, "w")) {
    if (out_ == nullptr) std::abort();
  }
  ~Calls() override { std::fclose(out_); }

  void OnTestStart(const testing::TestInfo&) override {
    for (auto& place : called) place = nullptr;
    is_noting = true;
  }
  void OnTestEnd(const testing::TestInfo& test) override {
    is_noting = false;
    std::fprintf(out_, "%s.%s", test.test_suite_name(), test.name());
    for (const auto& place : called) {
      if (place == nullptr) continue;
      std::fprintf(out_, " %zx",
                   static_cast<std::size_t>(static_cast<const char*>(place.load()) - &__executable_start));
    }
    std::fputc('\n', out_);
  }

 private:
  std::FILE* out_;
};

const bool listens = [] {
  const char* const file = std::getenv("HEDDLE_CALLS");
  if (file != nullptr) testing::UnitTest::GetInstance()->listeners().Append(new Calls(file));
  return file != nullptr;
}();

}  // namespace

void __cyg_profile_func_enter(void* function, void*) {
  if (is_noting) note(function);
}
void __cyg_profile_func_exit(void*, void*) {}
