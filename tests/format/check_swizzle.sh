#!/usr/bin/env bash
# Swizzled addresses are tile/swizzle.h's business alone: no kernel mixes bits of an address by hand.
#
#   check_swizzle.sh ROOT
set -u
cd "$1" || exit 2
# An exclusive or, outside of comments and of the host's code.
found=$(grep -rnE '\^' kernels/attention kernels/matmul/device kernels/tile_copy --include='*.h' --include='*.cu' | grep -vE '^[^:]*:[0-9]+:[^^]*//')
if [ -n "$found" ]; then
  echo "$found"
  echo "a kernel computes with bits of addresses: ask the tile for pointer(row, col), or its operand()"
  exit 1
fi
