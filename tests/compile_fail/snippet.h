// SPDX-License-Identifier: Apache-2.0
//
// What every snippet starts from. A snippet is one function, compiled twice: as it stands it must build, with
// MISUSE defined it must not. The two differ in the mistake only.
#pragma once

#include <heddle/isa/memory.h>
#include <heddle/pipeline/pipeline.h>

#include <utility>

using namespace heddle;

using Pipeline = ProducerConsumerPipeline<4>;

// Values that the compiler does not know.
struct Args {
  MbarPtr barriers;
  MbarPtr more_barriers;
  std::uint32_t* out;
  std::uint32_t turns;
  std::uint32_t choice;
  bool flag;
};

HEDDLE_DEVICE void use(const Args& args, std::uint32_t value) { isa::st_global(args.out, value); }

// Stands for the copy that counts its bytes on a barrier.
HEDDLE_DEVICE void fill(const Args& args, MbarPtr bar) {
  isa::st_global(args.out, isa::ld_shared(&bar->opaque) != 0);
}

HEDDLE_DEVICE void snippet(Pipeline& pipeline, const Args& args);

// The kernel through which nvcc sees a snippet. A file of many snippets writes its own, one for each.
#if HEDDLE_ON_CUDA && !defined(MANY_SNIPPETS)
__global__ void kernel(Args args) {
  Pipeline pipeline(args.barriers, "input");
  snippet(pipeline, args);
}
#endif
