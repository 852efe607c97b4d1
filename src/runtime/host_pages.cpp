// SPDX-License-Identifier: Apache-2.0
#include "runtime/host_pages.h"

#include <fmt/format.h>

#include <sys/uio.h>
#include <unistd.h>

#include <array>
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

namespace {

// Without files, by asking for one byte of each page: up to `kMost` bytes.
std::size_t probed_bytes(const void* begin) {
  constexpr std::size_t kPage = 4096;
  constexpr std::size_t kMost = std::size_t{1} << 28;
  constexpr std::size_t kAtOnce = 512;
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  std::size_t found = 0;
  while (found < kMost) {
    std::array<char, kAtOnce> bytes;
    std::array<iovec, kAtOnce> pages;
    std::uintptr_t next = address + found;
    for (iovec& page : pages) {
      page = {reinterpret_cast<void*>(next), 1};
      next = (next / kPage + 1) * kPage;
    }
    const iovec here = {bytes.data(), bytes.size()};
    const ssize_t got = process_vm_readv(getpid(), &here, 1, pages.data(), pages.size(), 0);
    if (got <= 0) break;
    found = (address + found) / kPage * kPage + static_cast<std::size_t>(got) * kPage - address;
    if (static_cast<std::size_t>(got) < kAtOnce) break;
  }
  return found;
}

std::size_t mapped_bytes(const void* begin, bool must_be_writable) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen("/proc/self/maps", "re"));
  // No file can be opened, or there is no /proc.
  if (file == nullptr) return probed_bytes(begin);
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  std::uintptr_t end = address;
  char line[4096];
  while (std::fgets(line, sizeof(line), file.get()) != nullptr) {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    char readable = '-';
    char writable = '-';
    if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %c%c", &first, &last, &readable, &writable) != 4) continue;
    if (last <= end) continue;
    if (first > end || readable != 'r' || (must_be_writable && writable != 'w')) break;
    end = last;
  }
  return end - address;
}

}  // namespace

std::size_t readable_bytes(const void* begin) { return mapped_bytes(begin, false); }

Error register_host(State& card, void* begin, std::size_t bytes, unsigned flags) {
  constexpr unsigned kAllFlags = 0x0F;
  constexpr unsigned kReadOnly = 0x08;
  const bool is_writable = (flags & kReadOnly) == 0;
  if (begin == nullptr || bytes == 0 || (flags & ~kAllFlags) != 0) return Error::kInvalidValue;
  if (const std::size_t there = mapped_bytes(begin, is_writable); there < bytes) {
    say(fmt::format("cudaHostRegister of {} bytes at {}: the program has {}{} there", bytes, begin, there,
                    is_writable ? " that can be written" : ""));
    return Error::kInvalidValue;
  }
  card.memory.drop_unmapped();
  return card.memory.register_host(begin, bytes, is_writable) ? Error::kSuccess
                                                              : Error::kHostMemoryAlreadyRegistered;
}

}  // namespace heddle::runtime
