// SPDX-License-Identifier: Apache-2.0
#include "runtime/device_properties.h"

#include "runtime/device.h"

#include <cstdint>
#include <cstring>

namespace heddle::runtime {

namespace {

// Most fields repeat an attribute of the device.
struct Field {
  int attribute;
  int offset12;  // -1: not in that version
  int offset13;
  bool is_wide;  // 64 bits
};

constexpr Field kFields[] = {
    {8, 296, 296, true},     // sharedMemPerBlock
    {12, 304, 304, false},   // regsPerBlock
    {10, 308, 308, false},   // warpSize
    {11, 312, 312, true},    // memPitch
    {1, 320, 320, false},    // maxThreadsPerBlock
    {2, 324, 324, false},    // maxThreadsDim[0]
    {3, 328, 328, false},    // maxThreadsDim[1]
    {4, 332, 332, false},    // maxThreadsDim[2]
    {5, 336, 336, false},    // maxGridSize[0]
    {6, 340, 340, false},    // maxGridSize[1]
    {7, 344, 344, false},    // maxGridSize[2]
    {13, 348, -1, false},    // clockRate
    {9, 352, 352, true},     // totalConstMem
    {75, 360, 360, false},   // major
    {76, 364, 364, false},   // minor
    {14, 368, 368, true},    // textureAlignment
    {51, 376, 376, true},    // texturePitchAlignment
    {15, 384, -1, false},    // deviceOverlap
    {16, 388, 384, false},   // multiProcessorCount
    {18, 396, 388, false},   // integrated
    {19, 400, 392, false},   // canMapHostMemory
    {20, 404, -1, false},    // computeMode
    {30, 568, 552, true},    // surfaceAlignment
    {31, 576, 560, false},   // concurrentKernels
    {32, 580, 564, false},   // ECCEnabled
    {40, 600, 584, false},   // asyncEngineCount
    {41, 604, 588, false},   // unifiedAddressing
    {36, 608, -1, false},    // memoryClockRate
    {37, 612, 592, false},   // memoryBusWidth
    {38, 616, 596, false},   // l2CacheSize
    {108, 620, 600, false},  // persistingL2CacheMaxSize
    {39, 624, 604, false},   // maxThreadsPerMultiProcessor
    {78, 628, 608, false},   // streamPrioritiesSupported
    {79, 632, 612, false},   // globalL1CacheSupported
    {80, 636, 616, false},   // localL1CacheSupported
    {81, 640, 624, true},    // sharedMemPerMultiprocessor
    {82, 648, 632, false},   // regsPerMultiprocessor
    {83, 652, 636, false},   // managedMemory
    {87, 668, -1, false},    // singleToDoublePrecisionPerfRatio
    {89, 676, 656, false},   // concurrentManagedAccess
    {90, 680, 660, false},   // computePreemptionSupported
    {95, 688, 668, false},   // cooperativeLaunch
    {97, 696, 672, true},    // sharedMemPerBlockOptin
    {106, 712, 688, false},  // maxBlocksPerMultiProcessor
    {109, 716, 692, false},  // accessPolicyMaxWindowSize
    {111, 720, 696, true},   // reservedSharedMemPerBlock
    {99, 728, 704, false},   // hostRegisterSupported
    {115, 744, 720, false},  // memoryPoolsSupported
    {120, 772, 748, false},  // clusterLaunch
    {130, -1, 756, false},   // deviceNumaConfig
    {131, -1, 760, false},   // deviceNumaId
    {134, -1, 768, false},   // hostNumaId
};

constexpr std::size_t kNameBytes = 256;
constexpr std::size_t kUuidOffset = 256;
constexpr std::size_t kMemoryOffset = 288;

}  // namespace

void write_properties(void* properties, int version, std::size_t memory_bytes) {
  auto* bytes = static_cast<std::byte*>(properties);
  std::memset(bytes, 0, version == 12 ? kPropertyBytes12 : kPropertyBytes13);
  std::strncpy(static_cast<char*>(properties), device_name(), kNameBytes - 1);
  std::memcpy(bytes + kUuidOffset, "heddle simulated", 16);
  const std::uint64_t memory = memory_bytes;
  std::memcpy(bytes + kMemoryOffset, &memory, sizeof(memory));
  for (const Field& field : kFields) {
    const int offset = version == 12 ? field.offset12 : field.offset13;
    int value = 0;
    if (offset < 0 || !device_attribute(field.attribute, value)) continue;
    const auto wide = static_cast<std::uint64_t>(value);
    if (field.is_wide) {
      std::memcpy(bytes + offset, &wide, sizeof(wide));
    } else {
      std::memcpy(bytes + offset, &value, sizeof(value));
    }
  }
}

}  // namespace heddle::runtime
