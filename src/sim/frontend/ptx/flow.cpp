// SPDX-License-Identifier: Apache-2.0
#include "sim/frontend/ptx/flow.h"

#include "sim/frontend/ptx/program.h"

#include <algorithm>
#include <initializer_list>

namespace heddle::sim::ptx {

namespace {

bool has(std::string_view mnemonic, std::string_view part) {
  return mnemonic.find(part) != std::string_view::npos;
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// How many bits an integer type has, or 0 if it is none.
std::uint32_t integer_bits(std::string_view type) {
  if (type.size() < 2 || (type[0] != 'u' && type[0] != 's')) return 0;
  return type == "u8" || type == "s8" ? 8 : type.ends_with("16") ? 16 : type.ends_with("32") ? 32 : 64;
}

// How many bits are compared by a comparison that asks for nothing but equality, or 0.
std::uint32_t equality_bits(std::string_view mnemonic) {
  const bool is_equality = has(mnemonic, ".eq.") || has(mnemonic, ".ne.");
  if (!is_equality || has(mnemonic, ".and.") || has(mnemonic, ".or.") || has(mnemonic, ".xor.")) return 0;
  const std::string_view type = mnemonic.substr(mnemonic.rfind('.') + 1);
  if (type[0] != 'b' || type[1] == 'f') return integer_bits(type);
  return type == "b16" ? 16 : type == "b32" ? 32 : 64;
}

void convert(std::string_view mnemonic, Flow& flow) {
  const std::size_t last = mnemonic.rfind('.');
  const std::string_view from = mnemonic.substr(last + 1);
  const std::size_t before = mnemonic.rfind('.', last - 1);
  const std::string_view to = mnemonic.substr(before + 1, last - before - 1);
  const std::uint32_t from_bits = integer_bits(from);
  const std::uint32_t to_bits = integer_bits(to);
  if (from_bits != 0 && to_bits != 0 && !has(mnemonic, ".sat")) {
    flow.kind = from[0] == 's' && to_bits > from_bits ? FlowKind::kExtendSign : FlowKind::kTruncate;
    flow.table = static_cast<std::uint8_t>(from_bits);
  } else if (is_one_of(to, {"f16x2", "bf16x2"}) && from == "f32" && !has(mnemonic, ".rs.")) {
    flow.kind = FlowKind::kJoinHalves;
  }
}

FlowKind move_kind(const Instruction& i) {
  if (i.is_copy) return FlowKind::kCopy;
  if (i.rows.size() < 2 || i.flags == 0) return FlowKind::kCompute;
  return i.d != kNone ? FlowKind::kPack : FlowKind::kUnpack;
}

}  // namespace

void classify(std::string_view mnemonic, const Function& function, const Instruction& i, Flow& flow) {
  const std::string_view opcode = mnemonic.substr(0, mnemonic.find('.'));
  if (is_one_of(opcode, {"addc", "subc", "madc"})) flow.reads.push_back(function.carry_row);
  if (has(mnemonic, ".cc")) flow.writes.push_back(function.carry_row);
  flow.has_effect = i.control != Control::kScalar;
  if (opcode == "mov") {
    flow.kind = move_kind(i);
  } else if (opcode == "setp" && equality_bits(mnemonic) != 0) {
    flow.kind = FlowKind::kEqual;
    flow.table = static_cast<std::uint8_t>(equality_bits(mnemonic));
  } else if (opcode == "selp") {
    flow.kind = FlowKind::kSelect;
  } else if (is_one_of(opcode, {"and", "or", "xor", "not"}) || mnemonic == "lop3.b32") {
    flow.kind = FlowKind::kLogic;
    flow.table = opcode == "and"   ? 0xC0
                 : opcode == "or"  ? 0xFC
                 : opcode == "xor" ? 0x3C
                 : opcode == "not" ? 0x0F
                                   : static_cast<std::uint8_t>(i.flags);
  } else if (opcode == "shl") {
    flow.kind = FlowKind::kShiftLeft;
  } else if (opcode == "shr") {
    flow.kind = has(mnemonic, ".s") ? FlowKind::kShiftSigned : FlowKind::kShiftRight;
  } else if (mnemonic == "prmt.b32") {
    flow.kind = FlowKind::kPermute;
  } else if (opcode == "cvt") {
    convert(mnemonic, flow);
  } else if (opcode == "bfe") {
    flow.kind = FlowKind::kField;
    flow.table = has(mnemonic, ".s") ? 1 : 0;
  } else if (is_one_of(opcode, {"ld", "ldu"})) {
    flow.kind = FlowKind::kLoad;
  } else if (opcode == "st") {
    flow.kind = FlowKind::kStore;
    flow.has_effect = !has(mnemonic, ".local") && !has(mnemonic, ".param");
  } else if (is_one_of(opcode, {"atom", "red"})) {
    flow.kind = FlowKind::kLoad;
  } else if (is_one_of(opcode,
                       {"shfl", "vote", "match", "redux", "ldmatrix", "stmatrix", "mma", "wgmma", "movmatrix"})) {
    flow.kind = FlowKind::kHandled;
    flow.has_effect = opcode == "stmatrix";
    // Those of other shapes pass on what the lane itself has.
    const bool is_small = has(mnemonic, ".m8n8") && !has(mnemonic, ".f16.f16");
    const bool is_other = has(mnemonic, ".f64") || is_small || has(mnemonic, "4.s32") || has(mnemonic, ".b1");
    if (opcode == "mma" && is_other && !has(mnemonic, ".sp")) flow.kind = FlowKind::kCompute;
  } else if (is_one_of(opcode, {"tex", "tld4", "suld"})) {
    flow.kind = FlowKind::kHandled;
  } else if (opcode == "sust") {
    flow.kind = FlowKind::kControl;
    flow.has_effect = true;
  } else if (opcode == "clusterlaunchcontrol" && has(mnemonic, ".get_first_ctaid")) {
    flow.kind = FlowKind::kHandled;
  } else if (opcode == "wmma") {
    flow.kind = FlowKind::kHandled;
    flow.has_effect = has(mnemonic, ".store");
  } else if (opcode == "tcgen05") {
    flow.kind = has(mnemonic, ".ld") || has(mnemonic, ".st") ? FlowKind::kHandled : FlowKind::kControl;
  } else if (has(mnemonic, ".f16x2") || has(mnemonic, ".bf16x2")) {
    flow.kind = opcode == "set" || opcode == "setp" ? FlowKind::kCompute : FlowKind::kHalves;
  } else if (has(mnemonic, ".f32x2")) {
    flow.kind = FlowKind::kWords;
  } else if (is_one_of(opcode, {"mbarrier", "cp", "setmaxnreg", "elect", "clusterlaunchcontrol", "barrier", "bar",
                                "brx", "tensormap"})) {
    flow.kind = has(mnemonic, ".red") && opcode.starts_with("bar") ? FlowKind::kCompute : FlowKind::kControl;
    flow.has_effect = true;
  }
}

}  // namespace heddle::sim::ptx
