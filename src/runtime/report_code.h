// SPDX-License-Identifier: Apache-2.0
//
// The code that a program sees of a report: the one that a card gives for the same mistake. One table, which
// tests/conformance/codes.cu holds against a card.
#pragma once

#include "runtime/error_code.h"

#include <heddle/sim/report.h>

namespace heddle::runtime {

Error code_of(const sim::Report& report);

}  // namespace heddle::runtime
