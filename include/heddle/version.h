// SPDX-License-Identifier: Apache-2.0
//
// The version of heddle, written here and nowhere else: the build reads it from this file. Before 1.0 a
// new minor version may change the interface; a new patch version may not.
#pragma once

#define HEDDLE_VERSION_MAJOR 0
#define HEDDLE_VERSION_MINOR 1
#define HEDDLE_VERSION_PATCH 0
