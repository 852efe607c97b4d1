// SPDX-License-Identifier: Apache-2.0
#include "runtime/host_pages.h"

#include <fmt/format.h>

#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
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

namespace {

// One byte at each end, through the system, which says what cannot be reached instead of ending the program.
using Ends = std::array<char, 2>;

std::array<iovec, 2> ends_of(const void* begin, std::size_t bytes) {
  auto* first = static_cast<char*>(const_cast<void*>(begin));
  return {iovec{first, 1}, iovec{first + bytes - 1, 1}};
}

template <class Move>
bool can_move(Ends& ends, const void* begin, std::size_t bytes, Move&& move) {
  const iovec here = {ends.data(), ends.size()};
  const std::array<iovec, 2> there = ends_of(begin, bytes);
  const ssize_t moved = move(getpid(), &here, 1, there.data(), there.size(), 0);
  return moved == static_cast<ssize_t>(ends.size()) || (moved < 0 && errno != EFAULT);
}

}  // namespace

bool ends_are_readable(const void* begin, std::size_t bytes) {
  Ends ends = {};
  return bytes == 0 || can_move(ends, begin, bytes, process_vm_readv);
}

bool ends_are_writable(void* begin, std::size_t bytes) {
  Ends ends = {};
  if (bytes == 0) return true;
  const iovec here = {ends.data(), ends.size()};
  const std::array<iovec, 2> there = ends_of(begin, bytes);
  if (process_vm_readv(getpid(), &here, 1, there.data(), there.size(), 0) != static_cast<ssize_t>(ends.size()))
    return can_move(ends, begin, bytes, process_vm_readv);
  return can_move(ends, begin, bytes, process_vm_writev);
}

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
  const Allocation* there = card.memory.find(begin);
  if (there != nullptr && there->kind != MemoryKind::kRegistered) return Error::kInvalidValue;  // it is pinned
  return card.memory.register_host(begin, bytes, is_writable) ? Error::kSuccess
                                                              : Error::kHostMemoryAlreadyRegistered;
}

Error unregister_host(State& card, const void* begin) {
  if (begin == nullptr) return Error::kInvalidValue;
  if (card.memory.unregister_host(begin)) return Error::kSuccess;
  // As an H200 has it: what is pinned in another way, or from another address on, is no registered memory.
  return card.memory.find(begin) == nullptr ? Error::kHostMemoryNotRegistered : Error::kInvalidValue;
}

}  // namespace heddle::runtime
