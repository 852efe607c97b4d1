// SPDX-License-Identifier: Apache-2.0
//
// A store that schedules can tell apart: others may come before it. Of weak stores alone a schedule knows
// nothing.
#pragma once

#include <heddle/isa/fence.h>
#include <heddle/isa/memory.h>

namespace heddle::test {

inline void visible_store(std::uint32_t* to, std::uint32_t value, CallSite site = CallSite::here()) {
  isa::fence_acq_rel_cta(site);
  isa::st_global(to, value, site);
}

}  // namespace heddle::test
