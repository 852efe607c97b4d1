// SPDX-License-Identifier: Apache-2.0
//
// Findings that a launch accepts: by code, or by code and place.
//
//   race                     everywhere
//   race@copy.cu             where one of the two accesses is in a file of this name
//   race@cute/copy.h:87      or in this line of it; the path may begin anywhere, * stands for any text
#pragma once

#include <heddle/isa/target.h>
#include <heddle/sim/fault_code.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::sim {

struct AcceptRule {
  FaultCode code;
  std::string file;        // empty: any
  std::uint32_t line = 0;  // 0: any

  // Throws InputError for a code that does not exist or cannot be accepted, and for a place that is none.
  static AcceptRule parse(std::string_view text);
  // The same for a rule that somebody gives: where its file is at hand, as far as the name says, it has the line.
  static AcceptRule check(std::string_view text);
  std::string text() const;

  bool has_place() const { return !file.empty(); }
  // One of the places that the site stands for.
  bool matches(CallSite site) const;

  friend bool operator==(const AcceptRule&, const AcceptRule&) = default;
};

// The places that a site stands for, as it was inlined, innermost first. That of a kernel in PTX names lines of
// its source, if it has them, and then of the PTX: "/home/me/copy.h:7, /home/me/saxpy.cu:41, saxpy.ptx" and a
// line.
struct Place {
  std::string_view file;
  std::uint32_t line;
};
std::vector<Place> places_of(CallSite site);
// "copy.h:7, saxpy.cu:41, saxpy.ptx:120"
std::string place_text(CallSite site);

// The rules of a suppression file, each as AcceptRule::parse() takes it: lines `code:pattern`, as sanitizers have
// them, with a pattern as above; # begins a comment. Throws InputError, with the line, for a file that cannot be
// read or is not of this form.
std::vector<std::string> read_suppressions(const std::string& path);

}  // namespace heddle::sim
