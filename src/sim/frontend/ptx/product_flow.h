// SPDX-License-Identifier: Apache-2.0
//
// What of a product of matrices is undefined: a row of it with a row of A, a column with a column of B, an
// element with that of C.
#pragma once

#include "sim/frontend/ptx/undefined.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::sim::ptx {

struct ProductFlow {
  std::vector<Undefined> rows, columns;
  std::vector<Undefined> elements;  // of C, row by row

  ProductFlow(std::uint32_t m, std::uint32_t n) : rows(m), columns(n), elements(std::size_t{m} * n) {}

  Undefined& c(std::uint32_t row, std::uint32_t column) { return elements[row * columns.size() + column]; }
  // No bits if the element is defined.
  const Undefined& of(std::uint32_t row, std::uint32_t column) {
    if (rows[row].bits != 0) return rows[row];
    return columns[column].bits != 0 ? columns[column] : c(row, column);
  }
};

}  // namespace heddle::sim::ptx
