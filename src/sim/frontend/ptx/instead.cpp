// SPDX-License-Identifier: Apache-2.0
#include "sim/frontend/ptx/instead.h"

#include <heddle/host/error.h>

#include <fmt/format.h>

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace heddle::sim {

namespace ptx {

thread_local PtxInstead* instead = nullptr;

namespace {

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                    std::free);
  return status == 0 ? text.get() : name;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// The template argument of isa::kernel_entry<...>, with the target's name and blanks left out.
std::string kernel_of(const std::string& entry) {
  constexpr std::string_view kEntry = "::kernel_entry<";
  const std::size_t begin = entry.find(kEntry);
  if (begin == std::string::npos) return {};
  int depth = 1;
  std::size_t end = begin + kEntry.size();
  for (; end < entry.size() && depth != 0; ++end) {
    if (entry[end] == '<' || entry[end] == '(') ++depth;
    if (entry[end] == '>' || entry[end] == ')') --depth;
  }
  return entry.substr(begin + kEntry.size(), end - 1 - begin - kEntry.size());
}

// Compilers differ in whether they write down the zeros that a constant ends with.
void drop_last_zeros(std::string& text) {
  for (std::size_t close = text.find('}'); close != std::string::npos;) {
    std::size_t begin = close;
    while (begin > 0 && text[begin - 1] != ',' && text[begin - 1] != '{') --begin;
    std::string_view item(text.data() + begin, close - begin);
    if (item.starts_with('(')) item.remove_prefix(std::min(item.find(')') + 1, item.size()));  // a cast
    if (item != "0" && item != "0u" && item != "0ul" && item != "false") {
      close = text.find('}', close + 1);
      continue;
    }
    if (begin > 0 && text[begin - 1] == ',') --begin;
    text.erase(begin, close - begin);
    close = begin;
  }
}

// Inline namespaces: on_sim, and on_cuda with its architectures.
void drop_targets(std::string& text) {
  for (const std::string_view name : {"on_sim", "on_cuda"}) {
    for (std::size_t begin = text.find(name); begin != std::string::npos; begin = text.find(name, begin)) {
      const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_", begin);
      if (end == std::string::npos || text.compare(end, 2, "::") != 0) {
        begin += name.size();
      } else {
        text.erase(begin, end + 2 - begin);
      }
    }
  }
}

std::string comparable(std::string text) {
  drop_targets(text);
  replace_all(text, " ", "");
  drop_last_zeros(text);
  return text;
}

}  // namespace

}  // namespace ptx

PtxInstead::PtxInstead(const PtxModule& module) : module_(&module), outer_(std::exchange(ptx::instead, this)) {}

PtxInstead::~PtxInstead() { ptx::instead = outer_; }

Report PtxInstead::launch(const LaunchOptions& options, const LaunchShape& shape, const KernelEntry& entry,
                          const void* params) {
  const std::string wanted = ptx::comparable(ptx::demangled(entry.type));
  for (const PtxEntry& candidate : module_->entries()) {
    if (ptx::comparable(ptx::kernel_of(ptx::demangled(candidate.name.c_str()))) != wanted) continue;
    ++launches_;
    return module_->launch(candidate.name, options,
                           {.grid = shape.grid,
                            .block = {entry.threads, 1, 1},
                            .cluster = shape.cluster,
                            .dynamic_shared_bytes = entry.shared_bytes,
                            .registers = entry.registers,
                            .print = {}},
                           params, candidate.parameter_bytes);
  }
  throw InputError(fmt::format("the PTX module has no entry for the kernel {}", ptx::demangled(entry.type)));
}

}  // namespace heddle::sim
