// SPDX-License-Identifier: Apache-2.0
//
// random_calls SEED COUNT: a random sequence of calls (call_sequence.h). Now and then all is destroyed, and a
// kernel must run.
#include "call_sequence.h"
#include "expect.h"

#include <random>

namespace {

class RandomChoices : public call_sequence::Choices {
 public:
  explicit RandomChoices(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t count) override { return engine_() % count; }
  std::uint64_t bits() override { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

__global__ void add(int* data, int value) { data[threadIdx.x] += value; }
__device__ int variable[16];

}  // namespace

int main(int argc, char** argv) {
  RandomChoices choices(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1);
  call_sequence::choices = &choices;
  call_sequence::kernel = reinterpret_cast<const void*>(add);
  call_sequence::variable = &variable;
  const int count = argc > 2 ? std::atoi(argv[2]) : 1000;
  int succeeded = 0;
  for (int i = 0; i < count; ++i) {
    const size_t which = call_sequence::below(call_sequence::calls.size());
    const cudaError_t code = call_sequence::calls[which]();
    succeeded += code == cudaSuccess;
    if (cudaGetErrorName(code) == nullptr || cudaGetErrorName(code)[0] != 'c') {
      std::printf("call %d, which is %zu, gave %d\n", i, which, static_cast<int>(code));
      ++failures;
    }
    if (i % 500 == 499 && !call_sequence::still_works()) {
      std::printf("the card does not work after call %d\n", i);
      return 1;
    }
  }
  EXPECT(succeeded > count / 4);
  return result();
}
