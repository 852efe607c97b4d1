// SPDX-License-Identifier: Apache-2.0
//
// Runs the steps of blackwell_steps.h: one tile, and a shape that tiles do not divide.
#include "blackwell_steps.h"
#include "run_steps.h"

using namespace heddle;
using namespace heddle::blackwell_steps;

// Templates, for nvcc's sake: see heddle/host/tile_map.h.
template <class Step>
static int run_one(const run_steps::Extents& e) {
  return run_steps::run<Step>(
      "one tile", Arch::kSm100, e,
      [&](const TiledMatrix& a, const TiledMatrix& b, const TiledMatrix& c) -> typename Step::Params {
        return {.a = tensor_map_for<typename Step::ATile>(a),
                .b = tensor_map_for<typename Step::BTile>(b),
                .c = static_cast<float*>(const_cast<void*>(c.address)),
                .k_steps = e.k / kK};
      },
      [](Device&, const typename Step::Params&) { return LaunchShape{.grid = {1}}; });
}

template <class Step>
static int run_all(const run_steps::Extents& e) {
  return run_steps::run<Step>(
      "all tiles", Arch::kSm100, e,
      [&](const TiledMatrix& a, const TiledMatrix& b, TiledMatrix c) -> typename Step::Params {
        c.batches = 1;
        typename Step::Params params{};
        params.a = tensor_map_for<typename Step::ATile>(a);
        params.b = tensor_map_for<typename Step::BTile>(b);
        params.c.map = tensor_map_for<typename Step::CTile>(c);
        params.c.m = e.m;
        params.c.n = e.n;
        params.k_steps = (e.k + kK - 1) / kK;
        params.scheduler =
            make_tile_scheduler_params<Step::kScheduler>({(e.m + kM - 1) / kM, (e.n + kN - 1) / kN});
        return params;
      },
      [](Device&, const typename Step::Params& params) {
        return clc_launch_shape<Step::kScheduler>(params.scheduler);
      });
}

int main() {
  if (!run_steps::has_device(10)) {
    std::printf("skipped: it needs a GPU of compute capability 10.0\n");
    return 77;
  }
  return run_one<OneTile>({kM, kN, 6 * kK}) | run_all<AllTiles>({200, 104, 192});
}
