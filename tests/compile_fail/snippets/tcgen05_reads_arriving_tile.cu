// SPDX-License-Identifier: Apache-2.0
// tcgen05 reads a tile whose release arrives, and so does not wait for it.
// expect-nvcc: let its backend be MmaInputBackend
// expect-clang: let its backend be MmaInputBackend
#include "tile_snippet.h"

HEDDLE_DEVICE void snippet(Pipeline&, const Args& args) {
  Input input(storage_at<Input::Storage>(args.barriers), "input");
  auto tiles = input.acquire_consumer();
#ifdef MISUSE
  use(args, static_cast<std::uint32_t>(tiles.a_tile().tcgen05_descriptor(0, 16)));
#else
  use(args, static_cast<std::uint32_t>(tiles.a_tile().wgmma_descriptor(0, 16)));
#endif
  std::move(tiles).release();
}
