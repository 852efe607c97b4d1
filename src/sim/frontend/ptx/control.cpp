// SPDX-License-Identifier: Apache-2.0
//
// PTX: Control Flow Instructions, Miscellaneous Instructions.
#include "sim/frontend/ptx/decode.h"
#include "sim/frontend/ptx/interpreter.h"

#include <fmt/format.h>

namespace heddle::sim::ptx {

namespace {

void nothing(Warp&, const Instruction&, std::uint32_t) {}

void trap(Warp& warp, const Instruction& i, std::uint32_t mask) {
  const auto lane = static_cast<std::uint32_t>(std::countr_zero(mask));
  warp.machine->fault(&warp.thread(lane), i.site, FaultCode::kTrap, "the kernel has executed a trap");
}

// A thread that sleeps lets others go on.
std::uint32_t give_way(Warp&, const Instruction&, std::uint32_t mask) { return mask; }

void decode_branch(Build& b) {
  b.want(1);
  if (b.operand(0).kind != OperandKind::kName) b.fail("a label is wanted");
  b.out().control = Control::kBranch;
  b.out().target = b.label(b.operand(0).name);
}

void decode_branch_indexed(Build& b) {
  b.want(2);
  if (b.operand(1).kind != OperandKind::kName) b.fail("the name of .branchtargets is wanted");
  b.out().control = Control::kBranchIndexed;
  b.out().a = b.source(0);
  b.out().rows = b.labels(b.operand(1).name);
}

// The variables of a list in parentheses.
std::vector<std::uint32_t> param_list(Build& b, const Operand& tuple) {
  std::vector<std::uint32_t> variables;
  for (const Operand& one : tuple.list) {
    if (one.kind != OperandKind::kVariable || one.is_module ||
        b.function().text->variables[one.id].space != Space::kParam) {
      b.fail("a variable of the space .param is wanted");
    }
    variables.push_back(one.id);
  }
  return variables;
}

void check_lists(Build& b, const FunctionText& callee, const std::vector<std::uint32_t>& given,
                 const std::vector<Parameter>& wanted) {
  if (given.size() != wanted.size()) {
    b.fail(fmt::format("'{}' takes {} parameters or results here, but {} are given", callee.name, wanted.size(),
                       given.size()));
  }
  for (std::size_t p = 0; p < given.size(); ++p) {
    if (b.function().text->variables[given[p]].bytes != wanted[p].bytes) {
      b.fail(fmt::format("'{}' takes {} bytes as parameter {}, but {} are given", callee.name, wanted[p].bytes, p,
                         b.function().text->variables[given[p]].bytes));
    }
  }
}

// call (results), function, (parameters), prototype: rows are the parameters, more the results.
void decode_call(Build& b) {
  b.want(1, 4);
  Instruction& out = b.out();
  std::size_t at = 0;
  if (b.operand(at).kind == OperandKind::kTuple) out.more = param_list(b, b.operand(at++));
  const Operand& callee = b.operand(at++);
  if (at < b.operands() && b.operand(at).kind == OperandKind::kTuple) out.rows = param_list(b, b.operand(at++));
  out.control = Control::kCall;
  if (callee.kind == OperandKind::kRegister) {
    out.a = callee.id;
    b.function().calls_indirectly = true;
    return;
  }
  const auto found = b.module().function_ids.find(callee.name);
  if (callee.kind != OperandKind::kName || found == b.module().function_ids.end()) {
    b.fail("a function that is declared is wanted");
  }
  const FunctionText& text = *b.module().functions[found->second];
  if (!text.has_body && system_call(text.name) == SystemCall::kUnknown) {
    b.unsupported(fmt::format("'{}' is declared but not part of the module", text.name));
  }
  check_lists(b, text, out.rows, text.parameters);
  check_lists(b, text, out.more, text.results);
  const std::size_t least = system_call_parameters(system_call(text.name));
  if (!text.has_body && out.rows.size() < least) {
    b.fail(fmt::format("'{}' takes at least {} parameters", text.name, least));
  }
  out.target = found->second;
  out.flags = text.has_body ? 0 : static_cast<std::uint32_t>(system_call(text.name));
  b.function().callees.push_back(found->second);
}

}  // namespace

SystemCall system_call(std::string_view name) {
  if (name == "vprintf") return SystemCall::kVprintf;
  if (name == "__assertfail") return SystemCall::kAssertFail;
  if (name == "malloc") return SystemCall::kMalloc;
  if (name == "free") return SystemCall::kFree;
  return SystemCall::kUnknown;
}

std::size_t system_call_parameters(SystemCall call) {
  switch (call) {
    case SystemCall::kAssertFail: return 4;
    case SystemCall::kMalloc:
    case SystemCall::kFree: return 1;
    default: return 2;
  }
}

void add_control_forms(FormTable& table) {
  table.add("bra[.uni]", decode_branch);
  table.add("brx.idx[.uni]", decode_branch_indexed);
  table.add("call[.uni]", decode_call);
  table.add("ret[.uni]", [](Build& b) {
    b.out().control = b.function().text->is_entry ? Control::kExit : Control::kReturn;
    b.out().is_visible = b.function().text->is_entry;
  });
  table.add("exit", [](Build& b) {
    b.out().control = Control::kExit;
    b.out().is_visible = true;
  });
  table.add("trap", [](Build& b) { b.scalar(trap); });
  table.add("brkpt", [](Build& b) { b.scalar(trap); });
  table.add("nanosleep.u32", [](Build& b) {
    b.want(1);
    b.out().gives_way = true;
    b.machine(give_way);
  });
  table.add("pmevent[.mask]", [](Build& b) { b.scalar(nothing); });
}

}  // namespace heddle::sim::ptx
