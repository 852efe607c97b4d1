// SPDX-License-Identifier: Apache-2.0
//
// What `heddle exec --json FILE` writes: a line of JSON for each finding, each message, and the end of each
// process that launched kernels. Standard output and error are the program's own. Without --json these do
// nothing.
#pragma once

#include <heddle/sim/report.h>

#include <cstdint>
#include <string_view>

namespace heddle::runtime {

// Each line is one write to the end of the file, so that processes of one program can share it.
// Launches count from 1; 0: work of the host.
void write_finding(const sim::Diagnosis& finding, bool has_stopped, std::uint64_t launch,
                   std::string_view kernel) noexcept;
void write_message(std::string_view text) noexcept;
void write_end(std::uint64_t launches, bool has_failed) noexcept;

// Whether every line could be written; the first that could not be is told on the standard error.
bool is_json_written();

}  // namespace heddle::runtime
