// SPDX-License-Identifier: Apache-2.0
//
// What programs that launch kernels use: devices and their memory, launches, tensor maps, errors. Kernels
// themselves need heddle/heddle.h, which leaves the standard library's strings and vectors out: they take nvcc as
// long as all of heddle does.
#pragma once

#include <heddle/host/device.h>
#include <heddle/host/device_id.h>
#include <heddle/host/error.h>
#include <heddle/host/launch.h>
#include <heddle/host/run_options.h>
#include <heddle/host/tensor_map.h>
#include <heddle/host/tile_map.h>
