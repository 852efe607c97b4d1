// SPDX-License-Identifier: Apache-2.0
//
// The main job of heddle without its other commands, whose matmuls take minutes to compile.
#include "commands.h"

#include <fmt/format.h>

#include <exception>

int main() {
  try {
    return heddle::tool::main_job();
  } catch (const std::exception& error) {
    fmt::print(stderr, "heddle: {}\n", error.what());
    return heddle::tool::kFailed;
  }
}
