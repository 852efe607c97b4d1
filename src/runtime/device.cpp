// SPDX-License-Identifier: Apache-2.0
#include "runtime/device.h"

#include "runtime/options.h"

#include <algorithm>
#include <iterator>

namespace heddle::runtime {

namespace {

// Unverified: what differs between the two columns, beside the compute capability, has not been read from a card.
struct Attribute {
  int number;
  int sm90;   // of an H200
  int sm100;  // of a B200
};

constexpr int both(std::size_t value) { return static_cast<int>(value); }

// By number. Those of what the card cannot do are 0; so are the sizes of textures and surfaces, which have not
// been read from a card.
constexpr Attribute kAttributes[] = {
    {1, both(kMaxThreads), both(kMaxThreads)},
    {2, both(kMaxBlockXY), both(kMaxBlockXY)},
    {3, both(kMaxBlockXY), both(kMaxBlockXY)},
    {4, both(kMaxBlockZ), both(kMaxBlockZ)},
    {5, both(kMaxGridX), both(kMaxGridX)},
    {6, both(kMaxGridYZ), both(kMaxGridYZ)},
    {7, both(kMaxGridYZ), both(kMaxGridYZ)},
    {8, both(kDefaultShared), both(kDefaultShared)},
    {9, 65536, 65536},               // constant memory
    {10, 32, 32},                    // threads of a warp
    {11, 0x7FFF'FFFF, 0x7FFF'FFFF},  // pitch
    {12, 65536, 65536},              // registers of a CTA
    {13, 1'980'000, 1'965'000},      // clock in kHz
    {14, 512, 512},                  // texture alignment
    {15, 1, 1},                      // copies beside kernels
    {18, 0, 0},                      // integrated
    {19, 1, 1},                      // maps host memory
    {20, 0, 0},                      // compute mode
    {30, 512, 512},                  // surface alignment
    {31, 1, 1},                      // concurrent kernels
    {32, 1, 1},                      // ECC
    {36, 3'201'000, 3'996'000},      // memory clock in kHz
    {37, 6144, 8192},                // memory bus in bits
    {38, 62'914'560, 132'644'864},   // L2
    {39, both(kMaxThreadsPerSm), both(kMaxThreadsPerSm)},
    {40, 3, 3},    // copy engines
    {41, 1, 1},    // one address space with the host
    {51, 32, 32},  // texture pitch alignment
    {75, 9, 10},
    {76, 0, 0},
    {78, 1, 1},  // stream priorities
    {79, 1, 1},  // globals in L1
    {80, 1, 1},  // locals in L1
    {81, both(kSharedPerSm), both(kSharedPerSm)},
    {82, 65536, 65536},  // registers of an SM
    {83, 1, 1},          // managed memory
    {87, 2, 2},          // float to double
    {89, 1, 1},          // managed memory at the same time as the host
    {90, 1, 1},          // preemption
    {95, 1, 1},          // cooperative launches
    {97, both(max_shared_bytes(Arch::kSm90)), both(max_shared_bytes(Arch::kSm100))},
    {99, 1, 1},  // host memory can be registered
    {106, both(kMaxCtasPerSm), both(kMaxCtasPerSm)},
    {108, 39'321'600, 82'903'040},    // persisting L2
    {109, 134'213'632, 134'213'632},  // access policy window
    {111, both(kReservedShared), both(kReservedShared)},
    {115, 1, 1},  // memory pools
    {120, 1, 1},  // clusters
    {126, 4, 4},  // memory synchronisation domains
    {130, 0, 0},
    {131, -1, -1},  // NUMA node
    {134, -1, -1},
};

constexpr int kMultiprocessors = 16;
constexpr int kLastAttribute = 147;

}  // namespace

bool device_attribute(int attribute, int& value) {
  if (attribute < 1 || attribute > kLastAttribute) return false;
  value = 0;
  if (attribute == kMultiprocessors) {
    value = static_cast<int>(options().sms);
    return true;
  }
  const Attribute* end = std::end(kAttributes);
  const Attribute* found = std::lower_bound(std::begin(kAttributes), end, attribute,
                                            [](const Attribute& a, int n) { return a.number < n; });
  if (found != end && found->number == attribute)
    value = options().arch == Arch::kSm90 ? found->sm90 : found->sm100;
  return true;
}

const char* device_name() {
  return options().arch == Arch::kSm90 ? "heddle simulated sm_90" : "heddle simulated sm_100";
}

}  // namespace heddle::runtime
