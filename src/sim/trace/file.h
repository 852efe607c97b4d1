// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace heddle::sim::trace {

// Throws InputError if no file of this name can be written.
void check_writable(const std::string& path);

// Writes under another name and renames, with signals that end a process held back meanwhile: the file is there
// as a whole or not at all. Throws InputError if it cannot be written.
void write_whole(const std::string& path, std::string_view bytes);

}  // namespace heddle::sim::trace
