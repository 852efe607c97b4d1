// SPDX-License-Identifier: Apache-2.0
//
// The library's matmul for Blackwell with the epilogue of own_epilogue.h.
#include "matmul/device/matmul_sm100_params.h"
#include "own_epilogue.h"

using namespace heddle;
using namespace heddle::own_epilogue;

// A template, for nvcc's sake: see heddle/host/tile_map.h.
template <class Mine>
static RunOutcome run(Device& device, void* a, void* b, void* out, const typename Mine::Params& epilogue) {
  using Matmul = MatmulSm100<MatmulSm100Config{.tile_n = 128, .stages = 4}, MmaKind::kF16, OperandMajors{}, Mine>;
  auto params = matmul_sm100_params<Matmul>({.m = kM,
                                             .n = kN,
                                             .k = kK,
                                             .a = {a, kM, kK},
                                             .b = {b, kN, kK},
                                             .out = {MatmulElement::kBf16, out, kM, kN}});
  params.epilogue = epilogue;
  return launch_matmul<Matmul>(device, params);
}

int main() {
  if (!has_device(10)) {
    std::printf("skipped: it needs a GPU of compute capability 10.0\n");
    return 77;
  }
  Device device({.kernel = "matmul with an epilogue of one's own", .arch = Arch::kSm100});
  return check(device, run<Epilogue>);
}
