// SPDX-License-Identifier: Apache-2.0
#include "sim/frontend/ptx/uses.h"

#include "sim/frontend/ptx/decode.h"

#include <algorithm>

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

}  // namespace heddle::sim::ptx
