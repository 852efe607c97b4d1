// SPDX-License-Identifier: Apache-2.0
//
// Which registers an instruction reads and writes, and how what it writes depends on what it reads. The decoder
// notes it beside each instruction; undefined.h and the rules about registers in flight live on it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace heddle::sim::ptx {

struct Instruction;
struct Function;

enum class FlowKind : std::uint8_t {
  kCompute,  // every bit of the results depends on every bit that is read
  kCopy,
  kSelect,  // d = p ? a : b
  kLogic,   // bit by bit, as a table of lop3 says
  kShiftLeft,
  kShiftRight,  // zeros follow
  kShiftSigned,
  kTruncate,  // an integer of so many bits, zeros on top
  kExtendSign,
  kField,    // bfe; with a sign if the table is not 0
  kEqual,    // setp.eq, setp.ne of integers of so many bits
  kPermute,  // prmt
  kPack,
  kUnpack,
  kHalves,      // 16 bits by 16 bits
  kWords,       // 32 bits by 32 bits
  kJoinHalves,  // the upper half from a, the lower from b
  kLoad,        // memory says what is defined
  kStore,       // memory takes it over
  kControl,     // all that is read decides what other threads see
  kHandled      // its handler does it
};

struct Flow {
  FlowKind kind = FlowKind::kCompute;
  std::uint8_t table = 0;   // kLogic; kTruncate, kExtendSign and kEqual: the bits that are read
  bool has_effect = false;  // others can see whether it is executed
  std::vector<std::uint32_t> reads, writes;
  std::vector<std::uint32_t> addresses;  // of those that it reads, parts of an address
};

// The kind, once the rows are known.
void classify(std::string_view mnemonic, const Function& function, const Instruction& instruction, Flow& flow);

}  // namespace heddle::sim::ptx
