// SPDX-License-Identifier: Apache-2.0
// A stage of 128 columns needs a stride of at least 128.
// expect: the stages overlap
// expect: TmemStageStride.*96.*128
#include <heddle/tile/tmem_view.h>

using namespace heddle;

#ifdef MISUSE
constexpr std::uint32_t kStride = 96;
#else
constexpr std::uint32_t kStride = 128;
#endif
static_assert(check_tmem_stages<2, kStride, 128>());
