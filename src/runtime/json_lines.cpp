// SPDX-License-Identifier: Apache-2.0
#include "runtime/json_lines.h"

#include "runtime/options.h"
#include "sim/trace/json.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace heddle::runtime {

namespace {

// The bytes of the character that the text begins with, if they are UTF-8 (RFC 3629, section 4); else 0.
std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t count = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  for (std::size_t i = 1; i < count; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Neither a longer form than needed, nor half of a pair of UTF-16, nor beyond the last character.
  const unsigned second = byte(1);
  const bool is_outside = (first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) ||
                          (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90);
  return is_outside ? 0 : count;
}

// JSON is UTF-8, and names of files and what a program says are any bytes: the others become U+FFFD.
std::string quoted(std::string_view text) {
  std::string valid;
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    valid += bytes == 0 ? std::string_view("\xef\xbf\xbd") : text.substr(0, bytes);
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return sim::trace::quoted(valid);
}

std::atomic<bool> has_failed_to_write = false;

// Opened for each: a program may close descriptors that it did not open.
void write_line(std::string line) {
  line += '\n';
  const int file = open(options().json.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  const ssize_t written = file < 0 ? -1 : write(file, line.data(), line.size());
  const int error = written < 0 ? errno : ENOSPC;
  if (file >= 0) close(file);
  if (written == static_cast<ssize_t>(line.size()) || has_failed_to_write.exchange(true)) return;
  std::fprintf(stderr, "heddle exec: '%s' cannot be written: %s\n", options().json.c_str(), std::strerror(error));
}

// Nothing of this may stop the program.
template <class Write>
void if_asked(const Write& write) noexcept {
  try {
    if (!options().json.empty()) write();
  } catch (...) {
    has_failed_to_write = true;
  }
}

std::string json_of(const sim::Diagnosis& one, bool has_stopped, std::uint64_t launch, std::string_view kernel) {
  std::string places;
  for (const std::string& place : one.places) places += (places.empty() ? "" : ", ") + quoted(place);
  return fmt::format(
      R"({{"finding": {}, "verdict": {}, "has_stopped": {}, "launch": {}, "kernel": {}, "times": {}, )"
      R"("places": [{}], "accepted_by": {}, "text": {}}})",
      quoted(name_of(one.code)), quoted(name_of(one.verdict)), has_stopped, launch, quoted(kernel), one.times,
      places, quoted(one.accepted_by), quoted(one.text));
}

}  // namespace

void write_finding(const sim::Diagnosis& finding, bool has_stopped, std::uint64_t launch,
                   std::string_view kernel) noexcept {
  if_asked([&] { write_line(json_of(finding, has_stopped, launch, kernel)); });
}

void write_message(std::string_view text) noexcept {
  if_asked([&] { write_line(fmt::format(R"({{"message": {}}})", quoted(text))); });
}

void write_end(std::uint64_t launches, bool has_failed) noexcept {
  if_asked([&] {
    if (launches != 0) write_line(fmt::format(R"({{"launches": {}, "has_stopped": {}}})", launches, has_failed));
  });
}

bool is_json_written() { return !has_failed_to_write; }

}  // namespace heddle::runtime
