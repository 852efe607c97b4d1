// SPDX-License-Identifier: Apache-2.0
//
// libcuda.so.1 has nothing of its own: the driver's calls are in the runtime, which it needs.
