// SPDX-License-Identifier: Apache-2.0
// A CTA has 512 columns of tensor memory.
// expect: more tensor-memory columns than a CTA has
// expect: TmemColumns.*768.*512
#include <heddle/tile/tmem_view.h>

using namespace heddle;

#ifdef MISUSE
constexpr std::uint32_t kStages = 3;
#else
constexpr std::uint32_t kStages = 2;
#endif
static_assert(check_tmem_stages<kStages, 256, 256>());
