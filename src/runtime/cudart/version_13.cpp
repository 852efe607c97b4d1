// SPDX-License-Identifier: Apache-2.0
#include "runtime/version.h"

int heddle::runtime::cudart_major() { return 13; }
