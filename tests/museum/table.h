// SPDX-License-Identifier: Apache-2.0
//
// The museum's catalogue: every bug with its twin, and every legal program. Tests, the table in docs/promises.md
// and the program for the card read it; the kernels are in the .cu files beside it.
#pragma once

#include <string_view>

namespace heddle::museum {

struct Shape {
  unsigned blocks = 1;
  unsigned threads = 32;
  unsigned cluster = 1;
  unsigned registers = 0;  // of each thread at the start, for setmaxnreg
  const char* first = "";  // a kernel that is launched before, and may overlap it
};

// A bug: the kernels are `<name>_wrong` and `<name>_mended`.
struct Exhibit {
  const char* name;
  const char* file;  // the .cu file without its ending
  Shape shape;
  const char* code;  // of the report that the wrong one must give
  const char* cause;
  const char* source;        // a public thread where the bug was, or what it is an instance of
  const char* missed = "";   // why the wrong one is not found yet; empty: it is
  const char* alarmed = "";  // why the mended one is reported all the same; empty: it is not
};

struct Legal {
  const char* name;
  const char* file;
  Shape shape;
  const char* idiom;
  const char* alarmed = "";  // why it is reported all the same; empty: it is not
};

inline constexpr Exhibit kExhibits[] = {
#include "exhibits.inc"
#include "fifth.inc"
#include "fourth.inc"
#include "held_out.inc"
#include "seventh.inc"
#include "sixth.inc"
#include "third.inc"
#include "unseen.inc"
};

inline constexpr Legal kLegal[] = {
#include "fifth_legal.inc"
#include "fourth_legal.inc"
#include "held_out_legal.inc"
#include "legal.inc"
#include "seventh_legal.inc"
#include "sixth_legal.inc"
#include "third_legal.inc"
#include "unseen_legal.inc"
};

// Files whose instructions only Blackwell has.
constexpr bool is_blackwell(std::string_view file) {
  return file == "tcgen05" || file == "clc" || file == "held_out_sm100" || file == "unseen_sm100" ||
         file == "third_sm100" || file == "fourth_sm100" || file == "fifth_sm100" || file == "sixth_sm100" ||
         file == "seventh_sm100";
}

}  // namespace heddle::museum
