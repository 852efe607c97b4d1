// SPDX-License-Identifier: Apache-2.0
//
// Tune files: refused with InputError, or lines that the library can choose by.
#include "file_of_bytes.h"

#include "matmul/host/matmul_tune_file.h"

#include <heddle/host/error.h>

#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static heddle::fuzz::FileOfBytes file;
  file.write(data, size);
  try {
    heddle::matmul_use_tune_file(file.path());
    int asked = 0;
    for (const heddle::MatmulTuned& tuned : heddle::read_matmul_tune_file(file.path())) {
      if (++asked > 8) break;  // each is looked for among all
      (void)heddle::tuned_matmul_choice(tuned.problem, {.gpu = tuned.gpu});
    }
  } catch (const heddle::InputError& error) {
    if (std::string(error.what()).size() > 2000) __builtin_trap();  // nobody reads more
  }
  return 0;
}
