// SPDX-License-Identifier: Apache-2.0
//
// The main job of heddle without its other commands, whose matmuls take minutes to compile.
#include "commands.h"

#include <heddle/host/error.h>

#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
  try {
    return argc > 1 ? heddle::tool::main_job(argv[1]) : heddle::tool::main_job();
  } catch (const heddle::InputError& error) {
    std::fprintf(stderr, "heddle: %s\n", error.what());
    return heddle::tool::kBadUsage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "heddle: %s\n", error.what());
    return heddle::tool::kFailed;
  }
}
