// SPDX-License-Identifier: Apache-2.0
//
// A file in memory with the bytes of an input, for readers that take a path.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace heddle::fuzz {

class FileOfBytes {
 public:
  FileOfBytes() : file_(memfd_create("fuzz", 0)) {
    if (file_ < 0) __builtin_trap();
  }
  ~FileOfBytes() { close(file_); }
  FileOfBytes(const FileOfBytes&) = delete;
  FileOfBytes& operator=(const FileOfBytes&) = delete;

  void write(const std::uint8_t* data, std::size_t size) {
    if (ftruncate(file_, 0) != 0 || pwrite(file_, data, size, 0) != static_cast<ssize_t>(size)) __builtin_trap();
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_;
};

}  // namespace heddle::fuzz
