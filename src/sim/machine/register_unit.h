// SPDX-License-Identifier: Apache-2.0
//
// The pool of registers of a CTA.
// PTX: setmaxnreg.
#pragma once

#include "sim/machine/core.h"

namespace heddle::sim::machine {

class WarpUnit;

class RegisterUnit {
 public:
  RegisterUnit(Core& core, WarpUnit& warps) : core_(core), warps_(warps) {}

  // The warp meets, then each of its threads waits, again if it was blocked.
  bool setmaxnreg(Thread& thread, bool increases, std::uint32_t count, CallSite site);
  bool setmaxnreg_wait(Thread& thread, CallSite site);

  // When nothing can go on: faults if a thread waits for registers.
  void check_waits() const;
  void cta_exit(const Cta& cta) const;

 private:
  Core& core_;
  WarpUnit& warps_;
};

}  // namespace heddle::sim::machine
