// SPDX-License-Identifier: Apache-2.0
//
// Modules that the build has made of this repository's kernels.
#pragma once

#include <heddle/sim/ptx.h>

#include <fstream>
#include <sstream>
#include <string>

namespace heddle::test {

inline std::string text_of(const std::string& name, const std::string& arch) {
  std::ifstream file(std::string(HEDDLE_PTX_DIR) + "/" + name + "." + arch + ".ptx");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline sim::PtxModule load(const std::string& name, const std::string& arch) {
  return sim::PtxModule::load(text_of(name, arch), name + ".ptx");
}

}  // namespace heddle::test
