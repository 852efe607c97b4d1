// SPDX-License-Identifier: Apache-2.0
//
// Those of isa/math.h that take subnormal numbers for zeros, for files that include them by this name.
#pragma once

#include <heddle/isa/math.h>
