// SPDX-License-Identifier: Apache-2.0
#include "sim/frontend/ptx/decode.h"

#include "sim/frontend/ptx/lexer.h"
#include "sim/frontend/ptx/waits.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>

namespace heddle::sim::ptx {

void Build::fail(const std::string& what) const {
  refuse(module_.name, statement_.line, fmt::format("{}: '{}'", what, statement_.text));
}

void Build::unsupported(const std::string& what) const {
  refuse_unsupported(module_.name, statement_.line, fmt::format("{}: '{}'", what, statement_.text));
}

const Operand& Build::operand(std::size_t index) const {
  if (index >= statement_.operands.size()) fail(fmt::format("operand {} is missing", index + 1));
  return statement_.operands[index];
}

void Build::want(std::size_t least, std::size_t most) const {
  if (operands() >= least && operands() <= most) return;
  fail(least == most ? fmt::format("{} operands where {} are wanted", operands(), least)
                     : fmt::format("{} operands where {} to {} are wanted", operands(), least, most));
}

std::uint32_t Build::constant_row(ConstantKind kind, std::uint64_t value) {
  const auto [found, is_new] = constants_.try_emplace({kind, value}, function_.row_count);
  if (is_new) function_.constants.push_back({kind, value, function_.row_count++});
  return found->second;
}

std::uint32_t Build::immediate(std::uint64_t value) { return constant_row(ConstantKind::kImmediate, value); }

std::uint32_t Build::carry() {
  if (function_.carry_row == kNone) function_.carry_row = function_.row_count++;
  return function_.carry_row;
}

namespace {

struct SpecialName {
  const char* name;
  Special special;
};

constexpr SpecialName kSpecials[] = {
    {"%tid.x", Special::kTidX},
    {"%tid.y", Special::kTidY},
    {"%tid.z", Special::kTidZ},
    {"%ntid.x", Special::kNtidX},
    {"%ntid.y", Special::kNtidY},
    {"%ntid.z", Special::kNtidZ},
    {"%ctaid.x", Special::kCtaidX},
    {"%ctaid.y", Special::kCtaidY},
    {"%ctaid.z", Special::kCtaidZ},
    {"%nctaid.x", Special::kNctaidX},
    {"%nctaid.y", Special::kNctaidY},
    {"%nctaid.z", Special::kNctaidZ},
    {"%laneid", Special::kLaneid},
    {"%warpid", Special::kWarpid},
    {"%nwarpid", Special::kNwarpid},
    {"%smid", Special::kSmid},
    {"%nsmid", Special::kNsmid},
    {"%gridid", Special::kGridid},
    {"%clusterid.x", Special::kClusteridX},
    {"%clusterid.y", Special::kClusteridY},
    {"%clusterid.z", Special::kClusteridZ},
    {"%nclusterid.x", Special::kNclusteridX},
    {"%nclusterid.y", Special::kNclusteridY},
    {"%nclusterid.z", Special::kNclusteridZ},
    {"%cluster_ctaid.x", Special::kClusterCtaidX},
    {"%cluster_ctaid.y", Special::kClusterCtaidY},
    {"%cluster_ctaid.z", Special::kClusterCtaidZ},
    {"%cluster_nctaid.x", Special::kClusterNctaidX},
    {"%cluster_nctaid.y", Special::kClusterNctaidY},
    {"%cluster_nctaid.z", Special::kClusterNctaidZ},
    {"%cluster_ctarank", Special::kClusterCtarank},
    {"%cluster_nctarank", Special::kClusterNctarank},
    {"%is_explicit_cluster", Special::kIsExplicitCluster},
    {"%lanemask_eq", Special::kLanemaskEq},
    {"%lanemask_lt", Special::kLanemaskLt},
    {"%lanemask_le", Special::kLanemaskLe},
    {"%lanemask_gt", Special::kLanemaskGt},
    {"%lanemask_ge", Special::kLanemaskGe},
    {"%dynamic_smem_size", Special::kDynamicSmemSize},
    {"%total_smem_size", Special::kTotalSmemSize},
    {"%aggr_smem_size", Special::kAggrSmemSize},
    {"%reserved_smem_offset_begin", Special::kReservedSmemBegin},
    {"%reserved_smem_offset_end", Special::kReservedSmemEnd},
    {"%reserved_smem_offset_cap", Special::kReservedSmemEnd},
    {"WARP_SZ", Special::kWarpSize},
    {"%clock", Special::kClock},
    {"%clock64", Special::kClock},
    {"%clock_hi", Special::kGlobalTimer},
    {"%globaltimer", Special::kGlobalTimer},
    {"%globaltimer_lo", Special::kGlobalTimer},
    {"%globaltimer_hi", Special::kGlobalTimer},
    {"%envreg1", Special::kEnvreg1},
    {"%envreg2", Special::kEnvreg2},
};

// PTX: Special Registers: those that are not modelled concern the kernels that read them, not the whole module.
bool is_other_special(std::string_view name) {
  return name.starts_with("%pm") || name.starts_with("%envreg") || name.starts_with("%reserved_smem_offset_") ||
         name == "%current_graph_exec";
}

std::uint64_t float_bits(const Operand& operand, std::string_view type) {
  if (type == ".f32" && operand.kind == OperandKind::kFloat64) {
    return std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(operand.value)));
  }
  if (type == ".f64" && operand.kind == OperandKind::kFloat32) {
    return std::bit_cast<std::uint64_t>(
        static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(operand.value))));
  }
  return operand.value;
}

}  // namespace

std::uint32_t Build::variable_row(const Operand& operand) {
  if (operand.is_module) {
    const Variable& variable = module_.variables[operand.id];
    std::vector<std::uint32_t>& named = function_.module_variables;
    if (std::find(named.begin(), named.end(), operand.id) == named.end()) named.push_back(operand.id);
    if (variable.space == Space::kParam || variable.space == Space::kLocal) {
      fail(fmt::format("'{}' is a variable of a module in a space where there is none", variable.name));
    }
    return constant_row(ConstantKind::kModule, operand.id);
  }
  const Variable& variable = function_.text->variables[operand.id];
  switch (variable.space) {
    case Space::kShared: {
      std::vector<std::uint32_t>& named = function_.shared_variables;
      if (std::find(named.begin(), named.end(), operand.id) == named.end()) named.push_back(operand.id);
      return constant_row(ConstantKind::kShared, operand.id);
    }
    case Space::kLocal: return constant_row(ConstantKind::kLocal, operand.id);
    case Space::kParam:
      if (function_.text->is_entry) {
        for (const Parameter& parameter : function_.text->parameters) {
          if (parameter.variable == operand.id) return constant_row(ConstantKind::kParam, parameter.offset);
        }
      }
      return constant_row(ConstantKind::kLocal, operand.id);
    default: break;
  }
  fail(
      fmt::format("'{}' is declared in a function, in a space where only modules have variables", variable.name));
}

std::uint32_t Build::source(const Operand& operand, std::string_view type) {
  switch (operand.kind) {
    case OperandKind::kRegister:
      if (operand.negated) fail("'!' where no predicate can be negated");
      if (!operand.part.empty()) fail(fmt::format("'{}' where no part of a register can be taken", operand.name));
      note(flow_.reads, operand.id);
      return operand.id;
    case OperandKind::kInteger: return immediate(operand.value);
    case OperandKind::kFloat32:
    case OperandKind::kFloat64: return immediate(float_bits(operand, type));
    case OperandKind::kSpecial:
      for (const SpecialName& known : kSpecials) {
        if (operand.name == known.name) {
          return constant_row(ConstantKind::kSpecial, static_cast<std::uint64_t>(known.special));
        }
      }
      if (is_other_special(operand.name)) unsupported(fmt::format("the special register '{}'", operand.name));
      fail(fmt::format("'{}' is neither a register of this function nor a special register that is supported",
                       operand.name));
    case OperandKind::kVariable:
      if (operand.value != 0) fail("an offset from a variable outside of brackets");
      return variable_row(operand);
    case OperandKind::kName: {
      const auto found = module_.function_ids.find(operand.name);
      if (found != module_.function_ids.end()) {
        function_.calls_indirectly = true;
        return immediate(kCodeWindow | found->second);
      }
      fail(fmt::format("'{}' is not declared", operand.name));
    }
    default: fail("an operand of another kind is wanted here");
  }
}

void Build::note(std::vector<std::uint32_t>& rows, std::uint32_t row) {
  rows.push_back(row);
  const auto upper = function_.wide_rows.find(row);
  if (upper != function_.wide_rows.end()) rows.push_back(upper->second);
}

std::uint32_t Build::target(const Operand& operand) {
  if (operand.kind == OperandKind::kSink) return scratch();
  if (operand.kind != OperandKind::kRegister || operand.negated || !operand.part.empty()) {
    fail("a register is wanted as destination");
  }
  note(flow_.writes, operand.id);
  if (operand.second != kNone) note(flow_.writes, operand.second);
  return operand.id;
}

std::uint32_t Build::predicate(std::size_t index, bool& negated) {
  Operand plain = operand(index);
  negated = plain.negated;
  plain.negated = false;
  return source(plain);
}

std::uint64_t Build::constant(std::size_t index) const {
  if (operand(index).kind != OperandKind::kInteger) fail(fmt::format("operand {} must be a number", index + 1));
  return operand(index).value;
}

std::uint32_t Build::label(std::string_view name) const {
  for (std::uint32_t scope = statement_.scope; scope != kNone; scope = function_.text->scopes[scope].parent) {
    const auto& labels = function_.text->scopes[scope].labels;
    if (const auto found = labels.find(name); found != labels.end()) return found->second;
  }
  fail(fmt::format("there is no label '{}'", name));
}

std::vector<std::uint32_t> Build::labels(std::string_view name) const {
  for (std::uint32_t scope = statement_.scope; scope != kNone; scope = function_.text->scopes[scope].parent) {
    const auto& lists = function_.text->scopes[scope].label_lists;
    const auto found = lists.find(name);
    if (found == lists.end()) continue;
    // Each use has labels of its own, so that many uses of a large table take their product.
    constexpr std::size_t kMostLabels = std::size_t{1} << 20;
    function_.branch_labels += found->second.size();
    if (function_.branch_labels > kMostLabels) {
      fail(fmt::format("the uses of .branchtargets have more than {} labels in this function", kMostLabels));
    }
    std::vector<std::uint32_t> targets;
    for (const std::string_view one : found->second) targets.push_back(label(one));
    return targets;
  }
  fail(fmt::format("there are no .branchtargets '{}'", name));
}

std::uint32_t Build::address_row(const Operand& operand, std::uint64_t& offset) {
  if (operand.kind != OperandKind::kAddress || operand.list.empty()) fail("an address in brackets is wanted");
  Operand base = operand.list.front();
  offset = 0;
  if (base.kind == OperandKind::kRegister || base.kind == OperandKind::kVariable) {
    offset = base.value;
    base.value = 0;
  }
  if (base.kind == OperandKind::kRegister) flow_.addresses.push_back(base.id);
  return source(base);
}

std::vector<std::uint32_t> Build::sources(const Operand& vector, std::string_view type) {
  std::vector<std::uint32_t> rows;
  if (vector.kind == OperandKind::kVector || vector.kind == OperandKind::kTuple) {
    for (const Operand& one : vector.list) rows.push_back(source(one, type));
  } else {
    rows.push_back(source(vector, type));
  }
  return rows;
}

std::vector<std::uint32_t> Build::targets(const Operand& vector) {
  std::vector<std::uint32_t> rows;
  if (vector.kind == OperandKind::kVector || vector.kind == OperandKind::kTuple) {
    for (const Operand& one : vector.list) rows.push_back(target(one));
  } else {
    rows.push_back(target(vector));
  }
  return rows;
}

void Build::simple(std::size_t sources_wanted, std::string_view type, Handler handler) {
  want(sources_wanted + 1);
  out_.d = target(0);
  if (sources_wanted > 0) out_.a = source(1, type);
  if (sources_wanted > 1) out_.b = source(2, type);
  if (sources_wanted > 2) out_.c = source(3, type);
  if (sources_wanted > 3) out_.e = source(4, type);
  scalar(handler);
}

namespace {

std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

const char* kept(Strings& strings, const std::string& text) {
  std::unique_ptr<std::string>& place = strings[text];
  if (place == nullptr) place = std::make_unique<std::string>(text);
  return place->c_str();
}

// The places that a line was inlined through, innermost first, but for those in somebody's include folder:
// "copy.h:7, saxpy.cu:41, ". If all are there, the innermost.
std::string reader_places(const ModuleText& module, const FunctionText& text, std::uint32_t index) {
  constexpr std::size_t kMostPlaces = 4;
  std::string innermost;
  std::string places;
  std::size_t count = 0;
  std::uint32_t steps = 0;
  for (std::uint32_t at = index; at != kNone && steps < 1000; at = text.locations[at].outer, ++steps) {
    const Location& here = text.locations[at];
    const auto file = module.files.find(here.file);
    if (file == module.files.end() || here.line == 0) continue;
    const std::string place = fmt::format("{}:{}, ", file->second, here.line);
    if (places.ends_with(place)) continue;  // several columns of one line, as macros have them
    if (innermost.empty()) innermost = place;
    if (file->second.find("/include/") == std::string::npos && count++ < kMostPlaces) places += place;
  }
  return places.empty() ? innermost : places;
}

}  // namespace

void decode_function(const ModuleText& module, const FunctionText& text, Function& function, Strings& strings) {
  function.name = text.name;
  function.text = &text;
  function.row_count = static_cast<std::uint32_t>(text.register_bits.size());
  for (std::uint32_t id = 0; id < text.register_bits.size(); ++id) {
    if (text.register_bits[id] == 128) function.wide_rows[id] = function.row_count++;
  }
  for (std::uint32_t id = 0; id < text.variables.size(); ++id) {
    // The parameters of an entry come first, and are not the thread's own.
    const Variable& variable = text.variables[id];
    const bool is_formal = text.is_entry && id < text.parameters.size();
    const bool is_local = variable.space == Space::kLocal || (variable.space == Space::kParam && !is_formal);
    if (!is_local) {
      function.local_offsets.push_back(0);
      continue;
    }
    function.local_bytes = (function.local_bytes + variable.align - 1) / variable.align * variable.align;
    function.local_offsets.push_back(function.local_bytes);
    function.local_bytes += variable.bytes;
  }
  function.local_end = function.local_bytes;
  function.local_bytes = (function.local_bytes + 127) / 128 * 128;
  constexpr std::uint64_t kMaxLocalBytes = 512 * 1024;
  if (function.local_bytes > kMaxLocalBytes) {
    refuse(module.name, text.line,
           fmt::format("'{}' has {} bytes of local memory; a thread has {}", text.name, function.local_bytes,
                       kMaxLocalBytes));
  }
  std::map<std::tuple<ConstantKind, std::uint64_t>, std::uint32_t> constants;
  std::vector<std::string_view> chosen;
  function.code.reserve(text.statements.size() + 1);
  const std::string ptx_name(base_name(module.name));
  std::string places;
  std::uint32_t last_index = kNone;
  for (const Statement& statement : text.statements) {
    Instruction& out = function.code.emplace_back();
    Flow& flow = function.flows.emplace_back();
    out.line = statement.line;
    if (statement.location != last_index) {
      last_index = statement.location;
      places = reader_places(module, text, last_index);
    }
    out.site.line = statement.line;
    out.site.file = kept(strings, places + ptx_name);
    out.guard = statement.guard;
    out.guard_negated = statement.guard_negated;
    const Form* form = FormTable::get().find(statement.mnemonic, chosen);
    if (form == nullptr) {
      refuse_unsupported(module.name, statement.line, fmt::format("the instruction '{}'", statement.text));
    }
    Build build(module, function, statement, chosen, out, flow, constants);
    form->decode(build);
    classify(statement.mnemonic, function, out, flow);
  }
  function.flows.emplace_back();
  Instruction& end = function.code.emplace_back();
  end.control = text.is_entry ? Control::kExit : Control::kReturn;
  end.is_visible = text.is_entry;
  end.line = text.statements.empty() ? text.line : text.statements.back().line;
  end.site = {kept(strings, ptx_name), end.line};
  mark_wgmma_operands(function);
  mark_unanswered_waits(function);
  mark_compared_loads(function);
  mark_final_loads(function);
}

}  // namespace heddle::sim::ptx
