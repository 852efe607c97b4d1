// SPDX-License-Identifier: Apache-2.0
#include "runtime/report_code.h"

#include <array>

namespace heddle::runtime {

namespace {

using sim::FaultCode;

struct Pair {
  FaultCode code;
  Error error;
};

// What is not here is a launch failure: a card says no more of a trap, and nothing of a race.
constexpr std::array kPairs = {
    Pair{FaultCode::kGlobalOutOfBounds, Error::kIllegalAddress},
    Pair{FaultCode::kGlobalReadOnly, Error::kIllegalAddress},
    Pair{FaultCode::kSharedOutOfBounds, Error::kIllegalAddress},
    Pair{FaultCode::kLocalOutOfBounds, Error::kIllegalAddress},
    Pair{FaultCode::kParamOutOfBounds, Error::kIllegalAddress},
    Pair{FaultCode::kNotShared, Error::kIllegalAddress},
    Pair{FaultCode::kStackOverflow, Error::kIllegalAddress},
    // Model: a card lets a bulk copy of 24 bytes pass; the manual asks for a multiple of 16, and it is refused
    // here.
    Pair{FaultCode::kMisaligned, Error::kMisalignedAddress},
    // An H200 calls what its copy engine, a CTA's number or a jump cannot be an illegal instruction.
    Pair{FaultCode::kBadRank, Error::kIllegalInstruction},
    Pair{FaultCode::kBadTensorMap, Error::kIllegalInstruction},
    Pair{FaultCode::kBadCoordinates, Error::kIllegalInstruction},
    Pair{FaultCode::kBadBranch, Error::kIllegalInstruction},
    Pair{FaultCode::kAssert, Error::kAssert},
    Pair{FaultCode::kBudget, Error::kLaunchTimeout},
    Pair{FaultCode::kDeadlock, Error::kLaunchTimeout},
    Pair{FaultCode::kUnsupported, Error::kNotSupported},
};

}  // namespace

Error code_of(const sim::Report& report) {
  const FaultCode code = report.diagnoses.front().code;
  for (const Pair& pair : kPairs) {
    if (pair.code == code) return pair.error;
  }
  return Error::kLaunchFailure;
}

}  // namespace heddle::runtime
