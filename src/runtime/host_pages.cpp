// SPDX-License-Identifier: Apache-2.0
#include "runtime/host_pages.h"

#include <fmt/format.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <memory>

namespace heddle::runtime {

namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

std::size_t readable_bytes(const void* begin) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen("/proc/self/maps", "re"));
  if (file == nullptr) return 0;
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  std::uintptr_t end = address;
  char line[4096];
  while (std::fgets(line, sizeof(line), file.get()) != nullptr) {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    char readable = '-';
    if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %c", &first, &last, &readable) != 3) continue;
    if (last <= end) continue;
    if (first > end || readable != 'r') break;
    end = last;
  }
  return end - address;
}

Error register_host(State& card, void* begin, std::size_t bytes, unsigned flags) {
  constexpr unsigned kAllFlags = 0x0F;
  if (begin == nullptr || bytes == 0 || (flags & ~kAllFlags) != 0) return Error::kInvalidValue;
  if (const std::size_t there = readable_bytes(begin); there < bytes) {
    say(fmt::format("cudaHostRegister of {} bytes at {}: the program has {} there", bytes, begin, there));
    return Error::kInvalidValue;
  }
  return card.memory.register_host(begin, bytes) ? Error::kSuccess : Error::kHostMemoryAlreadyRegistered;
}

}  // namespace heddle::runtime
