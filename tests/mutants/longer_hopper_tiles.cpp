// SPDX-License-Identifier: Apache-2.0
//
// 03_hopper_tiles.cu with more tiles and a longer sum, apart from the others: see CMakeLists.txt.
#include "longer_hopper_tiles.h"
