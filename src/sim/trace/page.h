// SPDX-License-Identifier: Apache-2.0
//
// The files of page/, as the build puts them into the library.
#pragma once

#include <string_view>

namespace heddle::sim::trace {

extern const std::string_view kPageHtml;
extern const std::string_view kPageCss;
extern const std::string_view kPageJs;

}  // namespace heddle::sim::trace
