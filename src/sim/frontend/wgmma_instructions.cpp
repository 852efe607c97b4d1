// SPDX-License-Identifier: Apache-2.0
//
// The matrix instructions of isa/ for the simulated SM: wgmma, stmatrix and ldmatrix, setmaxnreg.
#include "sim/frontend/executor.h"

#include <heddle/isa/matrix.h>
#include <heddle/isa/registers.h>
#include <heddle/isa/wgmma.h>

#include <algorithm>

namespace heddle::inline HEDDLE_TARGET::isa {

using sim::frontend::Executor;
using sim::frontend::instruct;
using sim::machine::Machine;
using sim::machine::MatrixOperands;
using sim::machine::MatrixShape;
using sim::machine::Thread;
using sim::machine::WgmmaOperands;

// wgmma.

void wgmma_fence(CallSite site) {
  instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    if (!m.wgmma.fence(t, site)) e.suspend();
  });
}

void wgmma_commit_group(CallSite site) {
  instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    if (!m.wgmma.commit_group(t, site)) e.suspend();
  });
}

void detail::wgmma_wait_group(std::uint32_t pending, CallSite site) {
  instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    if (!m.wgmma.wait_arrive(t, pending, site)) e.suspend();
    while (!m.wgmma.wait_group(t, pending, site)) e.suspend();
  });
}

void detail::wgmma_mma_async(const WgmmaShape& shape, void* d, const std::uint64_t* a_descriptor,
                             const std::uint32_t* a, std::uint64_t b_descriptor, bool scale_d, CallSite site) {
  WgmmaOperands operands{.shape = shape,
                         .a_in_registers = a_descriptor == nullptr,
                         .scale_d = scale_d,
                         .a_descriptor = a_descriptor == nullptr ? 0 : *a_descriptor,
                         .b_descriptor = b_descriptor,
                         .d = static_cast<std::byte*>(d)};
  if (a != nullptr) std::copy_n(a, operands.a.size(), operands.a.begin());
  instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    if (!m.wgmma.mma_async(t, operands, site)) e.suspend();
  });
}

// stmatrix and ldmatrix.

namespace {

template <std::uint32_t count>
void store_matrices(void* row, const std::uint32_t (&r)[count], bool transposed, CallSite site) {
  std::uint32_t registers[count];
  std::copy_n(r, count, registers);
  instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    const MatrixOperands operands{.row = t.lane() < 8 * count ? e.address_of(row, site) : 0,
                                  .registers = registers,
                                  .count = count,
                                  .shape = transposed ? MatrixShape::k8x8Transposed : MatrixShape::k8x8};
    if (!m.matrices.stmatrix(t, operands, site)) e.suspend();
  });
}

template <std::uint32_t count>
void load_matrices(std::uint32_t (&r)[count], const void* row, bool transposed, CallSite site) {
  instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    const MatrixOperands operands{.row = t.lane() < 8 * count ? e.address_of(row, site) : 0,
                                  .registers = r,
                                  .count = count,
                                  .shape = transposed ? MatrixShape::k8x8Transposed : MatrixShape::k8x8};
    if (!m.matrices.ldmatrix(t, operands, site)) e.suspend();
  });
}

}  // namespace

void stmatrix_x1(void* row, const std::uint32_t (&r)[1], CallSite site) { store_matrices(row, r, false, site); }
void stmatrix_x2(void* row, const std::uint32_t (&r)[2], CallSite site) { store_matrices(row, r, false, site); }
void stmatrix_x4(void* row, const std::uint32_t (&r)[4], CallSite site) { store_matrices(row, r, false, site); }
void stmatrix_x1_trans(void* row, const std::uint32_t (&r)[1], CallSite site) {
  store_matrices(row, r, true, site);
}
void stmatrix_x2_trans(void* row, const std::uint32_t (&r)[2], CallSite site) {
  store_matrices(row, r, true, site);
}
void stmatrix_x4_trans(void* row, const std::uint32_t (&r)[4], CallSite site) {
  store_matrices(row, r, true, site);
}
void ldmatrix_x1(std::uint32_t (&r)[1], const void* row, CallSite site) { load_matrices(r, row, false, site); }
void ldmatrix_x2(std::uint32_t (&r)[2], const void* row, CallSite site) { load_matrices(r, row, false, site); }
void ldmatrix_x4(std::uint32_t (&r)[4], const void* row, CallSite site) { load_matrices(r, row, false, site); }
void ldmatrix_x1_trans(std::uint32_t (&r)[1], const void* row, CallSite site) {
  load_matrices(r, row, true, site);
}
void ldmatrix_x2_trans(std::uint32_t (&r)[2], const void* row, CallSite site) {
  load_matrices(r, row, true, site);
}
void ldmatrix_x4_trans(std::uint32_t (&r)[4], const void* row, CallSite site) {
  load_matrices(r, row, true, site);
}

// setmaxnreg.

void detail::setmaxnreg(bool increases, std::uint32_t count, CallSite site) {
  instruct(true, site, [&](Executor& e, Machine& m, Thread& t) {
    if (!m.registers.setmaxnreg(t, increases, count, site)) e.suspend();
    while (!m.registers.setmaxnreg_wait(t, site)) e.suspend();
  });
}

}  // namespace heddle::inline HEDDLE_TARGET::isa
