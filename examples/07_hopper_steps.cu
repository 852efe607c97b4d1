// SPDX-License-Identifier: Apache-2.0
//
// Runs the steps of hopper_steps.h: one tile, one tile with all of K, and a shape that tiles do not divide.
#include "hopper_steps.h"
#include "run_steps.h"

using namespace heddle;
using namespace heddle::hopper_steps;

// A template, for nvcc's sake: see heddle/host/tile_map.h.
template <class Step>
static int run(const char* name, const run_steps::Extents& e) {
  return run_steps::run<Step>(
      name, Arch::kSm90, e,
      [&](const TiledMatrix& a, const TiledMatrix& b, const TiledMatrix& c) -> typename Step::Params {
        return {.a = tensor_map_for<typename Step::ATile>(a),
                .b = tensor_map_for<typename Step::BTile>(b),
                .c = tensor_map_for<typename Step::CTile>(c),
                .k_steps = (e.k + kK - 1) / kK,
                .scheduler = make_tile_scheduler_params<kScheduler>({(e.m + kM - 1) / kM, (e.n + kN - 1) / kN})};
      },
      [](Device& device, const typename Step::Params& params) {
        return persistent_launch_shape<kScheduler>(params.scheduler, device.resident_clusters<Step>(1));
      });
}

int main() {
  if (!run_steps::has_device(9)) {
    std::printf("skipped: it needs a GPU of compute capability 9.0\n");
    return 77;
  }
  return run<OneTile>("one tile", {kM, kN, kK}) | run<Ring>("a ring", {kM, kN, 6 * kK}) |
         run<Persistent>("persistent", {200, 136, 192});
}
