// SPDX-License-Identifier: Apache-2.0
//
// Matrices between the registers of a warp and shared memory. What returns false goes on when
// the rest of the warp has come.
// PTX: stmatrix, ldmatrix.
#pragma once

#include "sim/machine/core.h"

namespace heddle::sim::machine {

class MbarrierUnit;
class WarpUnit;

class MatrixUnit {
 public:
  MatrixUnit(Core& core, WarpUnit& warps, const MbarrierUnit& mbarriers)
      : core_(core), warps_(warps), mbarriers_(mbarriers) {}

  bool stmatrix(Thread& thread, const MatrixOperands& operands, CallSite site);
  bool ldmatrix(Thread& thread, const MatrixOperands& operands, CallSite site);

 private:
  bool meet(Thread& thread, WarpOp op, const MatrixOperands& operands, CallSite site);

  Core& core_;
  WarpUnit& warps_;
  const MbarrierUnit& mbarriers_;
};

}  // namespace heddle::sim::machine
