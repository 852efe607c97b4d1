// SPDX-License-Identifier: Apache-2.0
//
// What things are called in reports, and what a warp works on. None of these is an instruction: on the GPU they
// vanish or are traced (isa/trace.h), in the simulated SM they give roles and barriers the names that diagnoses
// and traces use.
#pragma once

#include <heddle/isa/mbarrier.h>
#include <heddle/isa/target.h>
#include <heddle/isa/trace.h>

namespace heddle::inline HEDDLE_TARGET::isa {

// Which side of a stage's hand-off a barrier stands for.
enum class BarrierRole : std::uint8_t { kFull, kEmpty, kOther };

#if HEDDLE_ON_CUDA

HEDDLE_DEVICE void annotate_role(Name) {}
HEDDLE_DEVICE void annotate_barriers(MbarPtr first, std::uint32_t count, Name pipeline, BarrierRole role) {
  trace_barriers(first, count, pipeline, static_cast<std::uint32_t>(role));
}
HEDDLE_DEVICE void annotate_named_barriers(std::uint32_t, std::uint32_t, Name) {}
HEDDLE_DEVICE void annotate_tile(std::uint32_t m, std::uint32_t n) { trace_tile(m, n); }
HEDDLE_DEVICE void annotate_tile_end() { trace_tile_end(); }

#else

// From here on this thread acts as `role`.
void annotate_role(Name role);

// `count` barriers from `first` on are the `role` barriers of stages 0, 1, ... of `pipeline`.
void annotate_barriers(MbarPtr first, std::uint32_t count, Name pipeline, BarrierRole role);

// The CTA's `count` named barriers from number `first` on are for `use`.
void annotate_named_barriers(std::uint32_t first, std::uint32_t count, Name use);

// From here on, until the end or the next one, this thread works for the tile of the output in row `m` and column
// `n` of tiles. The schedulers of kernel/ say so for whoever walks their tiles. Outside of a launch: nothing.
void annotate_tile(std::uint32_t m, std::uint32_t n);
void annotate_tile_end();

#endif

}  // namespace heddle::inline HEDDLE_TARGET::isa
