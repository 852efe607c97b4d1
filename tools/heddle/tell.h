// SPDX-License-Identifier: Apache-2.0
//
// What is said beside a result, on the standard error. It may be closed, or on a full disk: then nobody wants to
// know, and the result stands.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

namespace heddle::tool {

template <class... Values>
void tell(fmt::format_string<Values...> text, Values&&... values) {
  std::fputs(fmt::format(text, std::forward<Values>(values)...).c_str(), stderr);
}

}  // namespace heddle::tool
