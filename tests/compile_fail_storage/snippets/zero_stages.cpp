// SPDX-License-Identifier: Apache-2.0
// A ring of no stages hands nothing over.
// expect: number of stages 1 or more
#include <heddle/pipeline/pipeline_storage.h>

using namespace heddle;

#ifdef MISUSE
constexpr std::uint32_t kStages = 0;
#else
constexpr std::uint32_t kStages = 1;
#endif
static_assert(sizeof(OutputPipelineStorage<kStages>) > 0);
