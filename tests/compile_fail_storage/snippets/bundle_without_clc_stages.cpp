// SPDX-License-Identifier: Apache-2.0
// A bundle with cluster launch control needs a stage for the responses.
// expect: a bundle with cluster launch control and no CLC stage
#include <heddle/pipeline/pipeline_bundle.h>

using namespace heddle;

#ifdef MISUSE
constexpr PipelineBundleConfig kConfig{.input_stages = 4, .output_stages = 2};
#else
constexpr PipelineBundleConfig kConfig{.input_stages = 4, .output_stages = 2, .clc_stages = 2};
#endif
static_assert(SmemPipelineBundle<kConfig>::has_clc);
