// SPDX-License-Identifier: Apache-2.0
//
// What the runtime tells the user, on the standard error: each message once, with the name of the command.
#pragma once

#include <string>
#include <string_view>

namespace heddle::runtime {

void say(std::string_view text) noexcept;
// The same for what --json has as a finding, which is no message there.
void say_finding(std::string_view text) noexcept;
void say(const char* call, const char* what) noexcept;

// A mangled name as a reader wants it: demangled, its arguments and long template arguments left out.
std::string readable(const std::string& mangled);

}  // namespace heddle::runtime
