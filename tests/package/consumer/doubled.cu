// SPDX-License-Identifier: Apache-2.0
//
// A kernel in a file of the user's: the same source for the simulated SM and for a GPU.
#include <heddle/host/device.h>
#include <heddle/host/gpu_list.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/sreg.h>

#include <cstdio>
#include <vector>

using namespace heddle;

struct Doubled {
  static constexpr std::uint32_t kThreads = 64;
  struct Params {
    std::uint32_t* numbers;
  };
  struct Shared {};

  HEDDLE_DEVICE static void run(const Params& params, Shared&) {
    std::uint32_t* const number = params.numbers + isa::tid_x();
    isa::st_global(number, 2 * isa::ld_global(number));
  }
};

int main() {
  if (!kIsSimulated && find_gpus().gpus.empty()) {
    std::printf("skipped: there is no GPU\n");
    return 0;
  }
  Device device({.kernel = "doubled"});
  std::vector<std::uint32_t> numbers(Doubled::kThreads);
  for (std::uint32_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
  DeviceBuffer buffer(device, "numbers", numbers.size() * sizeof(std::uint32_t));
  buffer.upload(numbers.data());
  const RunOutcome outcome =
      device.launch<Doubled>({.grid = {1}}, {.numbers = static_cast<std::uint32_t*>(buffer.data())});
  buffer.download(numbers.data());
  for (std::uint32_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] != 2 * i || !outcome.ok()) {
      std::printf("%snumber %u is %u\n", outcome.report.c_str(), i, numbers[i]);
      return 1;
    }
  }
  std::printf("doubled\n");
}
