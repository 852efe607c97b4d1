// SPDX-License-Identifier: Apache-2.0
//
// One warp loads tiles with TMA, one warp adds them up: the smallest pipeline. The same file is a program for
// the simulated SM and, compiled by nvcc, for a GPU.
#include <heddle/host/device.h>
#include <heddle/host/gpu_list.h>
#include <heddle/host/tensor_map.h>
#include <heddle/isa/fence.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/tma.h>
#include <heddle/isa/warp.h>
#include <heddle/pipeline/pipeline.h>
#include <heddle/pipeline/pipeline_storage.h>
#include <heddle/tile/smem_array.h>

#include <cstdio>
#include <vector>

using namespace heddle;

struct Sum {
  struct Params {
    isa::TensorMap source;  // tiles of 32 x 32 words
    std::uint32_t* sums;    // one for each thread
    std::int32_t tiles;
  };
  struct Shared {
    SMemTileArray2DRowMajor<std::uint32_t, TileShape{32, 32}, 4> tiles;
    BarrierPair<4> barriers;
  };
  static constexpr std::uint32_t kThreads = 64;

  HEDDLE_DEVICE static void run(const Params& params, Shared& shared) {
    ProducerConsumerPipeline<4> pipeline(shared.barriers.ptr(), "input");
    if (isa::tid_x() == 0) {
      pipeline.init_mbars(1, 32);  // one thread loads, 32 threads read
      isa::fence_mbarrier_init();
    }
    isa::syncthreads();
    if (isa::warp_idx() == 0) {
      if (isa::elect_sync()) load(params, shared, pipeline);
    } else {
      add(params, shared, pipeline);
    }
  }

  // [roles]
  HEDDLE_DEVICE static void load(const Params& params, Shared& shared, ProducerConsumerPipeline<4>& pipeline) {
    for (std::int32_t tile = 0; tile < params.tiles; ++tile) {
      auto stage = pipeline.acquire_producer();
      stage.expect_bytes(sizeof(std::uint32_t) * 32 * 32);
      isa::cp_async_bulk_tensor_load(shared.tiles[stage.index()].data(), &params.source, {0, tile * 32},
                                     stage.mbar());
      std::move(stage).release();
    }
  }

  HEDDLE_DEVICE static void add(const Params& params, Shared& shared, ProducerConsumerPipeline<4>& pipeline) {
    std::uint32_t sum = 0;
    for (std::int32_t tile = 0; tile < params.tiles; ++tile) {
      auto stage = pipeline.acquire_consumer();
      for (std::uint32_t row = 0; row < 32; ++row) sum += shared.tiles[stage.index()].load(row, isa::laneid());
      std::move(stage).release();  // without this line it does not build
    }
    isa::st_global(&params.sums[isa::laneid()], sum);
  }
  // [roles]
};

int main() {
  if (!kIsSimulated && find_gpus().gpus.empty()) {
    std::printf("skipped: %s\n", find_gpus().why.c_str());
    return 77;
  }
  constexpr std::uint32_t kTiles = 16;
  std::vector<std::uint32_t> source(kTiles * 32 * 32);
  std::vector<std::uint32_t> expected(32);
  for (std::uint32_t i = 0; i < source.size(); ++i) {
    source[i] = i * i;
    expected[i % 32] += source[i];
  }

  Device device({.kernel = "sum"});
  DeviceBuffer input(device, "source", source.size() * sizeof(std::uint32_t));
  DeviceBuffer output(device, "sums", expected.size() * sizeof(std::uint32_t));
  input.upload(source.data());
  output.fill(0xEE);
  const Sum::Params params{.source = make_tensor_map({.type = TensorType::kU32,
                                                      .rank = 2,
                                                      .address = input.data(),
                                                      .dims = {32, kTiles * 32},
                                                      .strides = {32 * sizeof(std::uint32_t)},
                                                      .box = {32, 32}}),
                           .sums = static_cast<std::uint32_t*>(output.data()),
                           .tiles = kTiles};
  const RunOutcome outcome = device.launch<Sum>({.grid = {1}}, params);
  std::vector<std::uint32_t> sums(32);
  output.download(sums.data());
  std::printf("%s%s\n", outcome.report.c_str(), sums == expected ? "the sums are right" : "the sums are wrong");
  return outcome.ok() && sums == expected ? 0 : 1;
}
