// SPDX-License-Identifier: Apache-2.0
#pragma once

// In a translation unit of its own, with device code of its own.
int other_unit(int* unused);
