// SPDX-License-Identifier: Apache-2.0
#include "sim/frontend/ptx/uses.h"

#include "sim/frontend/ptx/decode.h"

#include <algorithm>
#include <unordered_map>

namespace heddle::sim::ptx {

namespace {

enum class Use : std::uint8_t { kNone, kRegisters, kStored, kOther };

class Dependents {
 public:
  explicit Dependents(std::uint32_t rows) : depends_(rows) {}

  bool add(const std::vector<std::uint32_t>& rows) {
    bool is_new = false;
    for (const std::uint32_t row : rows) {
      is_new |= !depends_[row];
      depends_[row] = true;
    }
    return is_new;
  }
  bool has(std::uint32_t row) const { return row != kNone && depends_[row]; }
  bool has_any(const std::vector<std::uint32_t>& rows) const {
    return std::any_of(rows.begin(), rows.end(), [&](std::uint32_t row) { return has(row); });
  }

 private:
  std::vector<bool> depends_;
};

Use use_of(const Instruction& i, const Flow& flow, const Dependents& values) {
  const bool is_guarded_so = values.has(i.guard);
  const bool is_address = values.has_any(flow.addresses);
  const bool is_call = i.control == Control::kCall || i.control == Control::kBranchIndexed;
  if (is_call && (values.has_any(i.rows) || values.has_any(i.more))) return Use::kOther;
  if (!is_guarded_so && !is_address && !values.has_any(flow.reads)) return Use::kNone;
  if (is_address || i.takes_accumulators) return Use::kOther;
  switch (flow.kind) {
    case FlowKind::kStore: return stores_for_others(i) && !is_guarded_so ? Use::kStored : Use::kOther;
    case FlowKind::kLoad:
    case FlowKind::kControl: return Use::kOther;
    case FlowKind::kHandled: return flow.writes.empty() || is_guarded_so ? Use::kOther : Use::kRegisters;
    default: return flow.has_effect || flow.writes.empty() ? Use::kOther : Use::kRegisters;
  }
}

}  // namespace

check::LoadUses uses_of_loads(const Function& function, CallSite site) {
  check::LoadUses uses{.is_known = true, .stores = {}};
  Dependents values(function.row_count);
  for (std::size_t at = 0; at < function.code.size(); ++at) {
    const Instruction& i = function.code[at];
    const bool is_it = i.site.file == site.file && i.site.line == site.line;
    if (is_it && function.flows[at].kind == FlowKind::kLoad) values.add(function.flows[at].writes);
  }
  // Backwards, too, as loops carry values on.
  for (bool is_new = true; is_new;) {
    is_new = false;
    for (std::size_t at = 0; at < function.code.size(); ++at) {
      switch (use_of(function.code[at], function.flows[at], values)) {
        case Use::kNone: break;
        case Use::kRegisters: is_new |= values.add(function.flows[at].writes); break;
        case Use::kStored: {
          const auto is_known = [&](CallSite one) {
            return one.file == function.code[at].site.file && one.line == function.code[at].site.line;
          };
          if (std::none_of(uses.stores.begin(), uses.stores.end(), is_known)) {
            uses.stores.push_back(function.code[at].site);
          }
          break;
        }
        case Use::kOther: return {};
      }
    }
  }
  return uses;
}

namespace {

using Rows = std::vector<std::uint32_t>;

bool contains(const Rows& rows, std::uint32_t row) {
  return std::find(rows.begin(), rows.end(), row) != rows.end();
}

// Adds what is not there yet: whether there was any.
bool add_all(Rows& rows, const Rows& others) {
  const std::size_t before = rows.size();
  for (const std::uint32_t row : others) {
    if (!contains(rows, row)) rows.push_back(row);
  }
  return rows.size() != before;
}

// What may have become of a loaded value on the ways from the load to an instruction.
struct Carried {
  Rows copies;             // that hold it, on all ways
  Rows depends;            // that may depend on it
  bool is_moved = false;   // the register of its address may have changed
  bool has_acted = false;  // others may have seen something of the thread since
  bool may_poll = true;    // on some way every branch depends on it

  // Whether anything is new by another way to the same place.
  bool join(const Carried& other) {
    const auto is_gone = [&](std::uint32_t row) { return !contains(other.copies, row); };
    bool is_new = std::erase_if(copies, is_gone) != 0;
    is_new |= add_all(depends, other.depends);
    is_new |= (other.is_moved && !is_moved) || (other.has_acted && !has_acted) || (other.may_poll && !may_poll);
    is_moved |= other.is_moved;
    has_acted |= other.has_acted;
    may_poll |= other.may_poll;
    return is_new;
  }
};

// Notes what the instruction does to it; false if it goes elsewhere than to registers and branches.
bool carry(const Instruction& i, const Flow& flow, std::uint32_t address, Carried& value) {
  const auto depends = [&](std::uint32_t row) { return contains(value.depends, row); };
  const auto any_of = [&](const Rows& rows) { return std::any_of(rows.begin(), rows.end(), depends); };
  const bool is_guarded = i.guard != kNone;
  const bool is_decided = is_guarded && depends(i.guard);
  const bool is_use = is_decided || any_of(flow.reads) || any_of(flow.addresses);
  switch (i.control) {
    case Control::kBranch: value.may_poll = value.may_poll && (!is_guarded || is_decided); return true;
    case Control::kReturn:
    case Control::kExit: return true;
    case Control::kBranchIndexed: return false;
    case Control::kCall: value.has_acted = true; return !is_use && !any_of(i.rows) && !any_of(i.more);
    case Control::kScalar:
    case Control::kMachine: break;
  }
  const bool is_memory = flow.kind == FlowKind::kLoad || flow.kind == FlowKind::kStore ||
                         flow.kind == FlowKind::kControl || flow.kind == FlowKind::kHandled;
  if (is_use && (is_memory || i.control == Control::kMachine)) return false;
  value.has_acted |= flow.has_effect || i.control == Control::kMachine;
  value.is_moved |= contains(flow.writes, address);
  const bool is_copy = flow.kind == FlowKind::kCopy && !is_guarded && flow.reads.size() == 1 &&
                       flow.writes.size() == 1 && contains(value.copies, flow.reads[0]);
  for (const std::uint32_t row : flow.writes) {
    std::erase(value.copies, row);
    if (!is_guarded) std::erase(value.depends, row);
  }
  if (is_copy) value.copies.push_back(flow.writes[0]);
  if (is_use) add_all(value.depends, flow.writes);
  return true;
}

}  // namespace

// All ways are followed from the load until an atom.cas has compared what it gave. A way that never comes to one
// may end, or go on to other things, but not back to the load by nothing but what the load gave: that waits for
// another thread.
bool is_only_compared(const Function& function, std::size_t load_at) {
  constexpr std::size_t kMostSteps = 4000;  // what is not found by then is as if nothing compared it
  const Instruction& load = function.code[load_at];
  if (contains(load.rows, load.a)) return false;
  std::unordered_map<std::size_t, Carried> before;
  std::vector<std::size_t> work;
  const auto go_to = [&](std::size_t at, const Carried& value) {
    const auto [found, is_new] = before.try_emplace(at, value);
    if (is_new || found->second.join(value)) work.push_back(at);
  };
  go_to(load_at + 1, {.copies = load.rows, .depends = load.rows});
  bool is_checked = false;
  for (std::size_t steps = 0; !work.empty(); ++steps) {
    const std::size_t at = work.back();
    work.pop_back();
    Carried value = before.at(at);
    if (steps == kMostSteps || (at == load_at && value.may_poll)) return false;
    if (at == load_at) continue;
    const Instruction& i = function.code[at];
    const bool is_guarded = i.guard != kNone;
    if (i.compares && !is_guarded && i.a == load.a && i.value == load.value && contains(value.copies, i.b)) {
      if (value.is_moved || value.has_acted) return false;
      is_checked = true;
      continue;
    }
    if (!carry(i, function.flows[at], load.a, value)) return false;
    if (value.depends.empty()) continue;
    if (i.control == Control::kBranch) go_to(i.target, value);
    const bool is_end =
        i.control == Control::kBranch || i.control == Control::kReturn || i.control == Control::kExit;
    if (!is_end || is_guarded) go_to(at + 1, value);
  }
  return is_checked;
}

}  // namespace heddle::sim::ptx
