// SPDX-License-Identifier: Apache-2.0
// Six stages do not fit: the error states what is asked for, what there is, and what each member takes.
// expect: larger than the architecture allows
// expect: BytesAskedFor<313344
// expect: BytesAvailable<232448
// expect: BytesOfPadding<964
// expect: [.:]input[)]*}, 295936[U>]
// expect: [.:]output_tiles[)]*}, 16384[U>]
// expect: [.:]output[)]*}, 32[U>]
// expect: [.:]barriers[)]*}, 24[U>]
// expect: [.:]flag[)]*}, 4[U>]
#include <heddle/kernel/shared_memory.h>
#include <heddle/pipeline/payload.h>

using namespace heddle;

using Payload = StandardTilePayload<bf16, bf16, StandardTileConfig{.a = {128, 64}, .b = {256, 64}}>;

#ifdef MISUSE
constexpr std::uint32_t kStages = 6;
#else
constexpr std::uint32_t kStages = 4;
#endif

struct Shared {
  InputPipelineStorage<kStages, Payload> input;
  OutputTileStorage<bf16, k_major_tile<bf16>(128, 64, Swizzle::k128B), 1> output_tiles;
  OutputPipelineStorage<2> output;
  SharedMemBarrier barriers[3];
  std::uint32_t flag;
};
static_assert(check_shared_memory<Shared, Arch::kSm90>());
