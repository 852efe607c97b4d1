// SPDX-License-Identifier: Apache-2.0
//
// The words by which an MMA instruction is told about its operands and itself: constexpr builders and
// decoders, the same on both targets.
#pragma once

#include <heddle/isa/instruction_descriptor.h>
#include <heddle/isa/smem_descriptor.h>
