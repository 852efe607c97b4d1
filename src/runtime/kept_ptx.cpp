// SPDX-License-Identifier: Apache-2.0
#include "runtime/kept_ptx.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace heddle::runtime {

namespace {

// Kernels have one text each, the newest: an older one can be loaded no more.
struct Kept {
  std::mutex mutex;
  std::unordered_map<std::string, std::shared_ptr<const std::string>> by_kernel;
};

Kept& kept() {
  static auto* all = new Kept;  // as long as the process
  return *all;
}

std::set<std::string> entries_of(std::string_view text) {
  constexpr std::string_view kEntry = ".entry";
  constexpr std::string_view kSpace = " \t\r\n";
  std::set<std::string> names;
  for (std::size_t at = text.find(kEntry); at != text.npos; at = text.find(kEntry, at + 1)) {
    const std::size_t begin = std::min(text.find_first_not_of(kSpace, at + kEntry.size()), text.size());
    const std::size_t end = std::min(text.find_first_of(" \t\r\n(", begin), text.size());
    names.emplace(text.substr(begin, end - begin));
  }
  return names;
}

}  // namespace

void keep_ptx(std::string text) {
  const auto shared = std::make_shared<const std::string>(std::move(text));
  Kept& all = kept();
  const std::lock_guard lock(all.mutex);
  for (const std::string& name : entries_of(*shared)) all.by_kernel[name] = shared;
}

std::string kept_ptx(std::span<const std::string> kernels) {
  Kept& all = kept();
  const std::lock_guard lock(all.mutex);
  const std::string* found = nullptr;
  for (const std::string& name : kernels) {
    const auto one = all.by_kernel.find(name);
    if (one == all.by_kernel.end() || (found != nullptr && found != one->second.get())) return {};
    found = one->second.get();
  }
  return found != nullptr ? *found : std::string();
}

}  // namespace heddle::runtime
