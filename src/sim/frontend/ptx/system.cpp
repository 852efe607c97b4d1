// SPDX-License-Identifier: Apache-2.0
//
// Functions of the system that device code calls: printf, assert, malloc and free.
#include "sim/frontend/ptx/interpreter.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>

namespace heddle::sim::ptx {

namespace {

constexpr std::size_t kMaxText = 1 << 16;

class CallReader {
 public:
  CallReader(Warp& warp, const Instruction& i, std::uint32_t lane) : warp_(warp), i_(i), lane_(lane) {}

  // The value of a parameter of the call.
  std::uint64_t parameter(std::size_t index) {
    const Frame& frame = *warp_.frame;
    const Variable& variable = frame.function->text->variables[i_.rows[index]];
    std::uint64_t word = 0;
    std::memcpy(&word, warp_.local_bytes(lane_, frame.local_base + frame.function->local_offsets[i_.rows[index]]),
                std::min<std::uint64_t>(variable.bytes, sizeof(word)));
    return word;
  }

  std::string text(std::uint64_t address) {
    if (address == 0) return "(null)";
    std::string result;
    for (char c = '\0'; result.size() < kMaxText; result.push_back(c), ++address) {
      load_bytes(warp_, lane_, Space::kGeneric, address, &c, 1, i_);
      if (c == '\0') break;
    }
    return result;
  }

  std::uint64_t argument(std::uint64_t& at, std::uint32_t bytes) {
    at = (at + bytes - 1) / bytes * bytes;
    std::uint64_t word = 0;
    load_bytes(warp_, lane_, Space::kGeneric, at, &word, bytes, i_);
    at += bytes;
    return word;
  }

  void result(std::uint64_t value) {
    if (i_.more.empty()) return;
    const Frame& frame = *warp_.frame;
    const Variable& variable = frame.function->text->variables[i_.more[0]];
    std::memcpy(warp_.local_bytes(lane_, frame.local_base + frame.function->local_offsets[i_.more[0]]), &value,
                std::min<std::uint64_t>(variable.bytes, sizeof(value)));
  }

  [[noreturn]] void refuse(const std::string& why) {
    warp_.machine->fault(&warp_.thread(lane_), i_.site, FaultCode::kUnsupported, why);
  }

 private:
  Warp& warp_;
  const Instruction& i_;
  std::uint32_t lane_;
};

// Model: a width or precision, such as %999999999d, of no more than the longest text that is printed.
void check_numbers(CallReader& reader, const std::string& specifier) {
  const char* const end = specifier.data() + specifier.size();
  for (const char* at = specifier.data(); at < end; ++at) {
    std::uint64_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc::invalid_argument && (error != std::errc{} || number > kMaxText)) {
      reader.refuse(fmt::format("printf of '{}': a width or precision of at most {}", specifier, kMaxText));
    }
    if (next > at) at = next - 1;
  }
}

template <class T>
std::string formatted(const std::string& specifier, T value) {
  std::array<char, 512> few;
  const auto length =
      static_cast<std::size_t>(std::max(std::snprintf(few.data(), few.size(), specifier.c_str(), value), 0));
  if (length < few.size()) return {few.data(), length};
  std::string many(length, '\0');
  std::snprintf(many.data(), length + 1, specifier.c_str(), value);
  return many;
}

// The arguments lie one behind the other, each aligned to its size, as a C compiler promotes them.
std::string format_text(CallReader& reader, const std::string& format, std::uint64_t arguments) {
  std::string text;
  for (std::size_t at = 0; at < format.size(); ++at) {
    if (format[at] != '%') {
      text.push_back(format[at]);
      continue;
    }
    std::string specifier = "%";
    bool is_long = false;
    for (++at; at < format.size(); ++at) {
      const char c = format[at];
      if (c == 'l' || c == 'z' || c == 'j' || c == 't') {
        is_long = true;
      } else if (c == '*') {
        specifier += fmt::format("{}", static_cast<std::int32_t>(reader.argument(arguments, 4)));
      } else if (std::strchr("0123456789.+- #", c) != nullptr && specifier.size() < 32) {
        specifier.push_back(c);
      } else if (c != 'h') {
        break;
      }
    }
    check_numbers(reader, specifier);
    const char kind = at < format.size() ? format[at] : '%';
    switch (kind) {
      case '%': text.push_back('%'); break;
      case 'd':
      case 'i': {
        const std::uint64_t word = reader.argument(arguments, is_long ? 8 : 4);
        const auto value = is_long ? static_cast<long long>(word) : static_cast<std::int32_t>(word);
        text += formatted(specifier + "lld", static_cast<long long>(value));
        break;
      }
      case 'u':
      case 'x':
      case 'X':
      case 'o':
        text += formatted(specifier + "ll" + kind,
                          static_cast<unsigned long long>(reader.argument(arguments, is_long ? 8 : 4)));
        break;
      case 'c': text += formatted(specifier + "c", static_cast<int>(reader.argument(arguments, 4))); break;
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
      case 'a':
      case 'A': text += formatted(specifier + kind, std::bit_cast<double>(reader.argument(arguments, 8))); break;
      case 'p': text += fmt::format("{:#x}", reader.argument(arguments, 8)); break;
      case 's': text += formatted(specifier + "s", reader.text(reader.argument(arguments, 8)).c_str()); break;
      default: text += specifier + kind; break;
    }
  }
  return text;
}

}  // namespace

// CUDA: Dynamic Global Memory Allocation. Each thread has its own blocks; malloc gives null where the heap is
// full, and free takes null.
void Interpreter::take_from_heap(Warp& warp, const Instruction& i, std::uint32_t mask, bool gives_back) {
  DeviceHeap& heap = *launch_.heap;
  for_lanes(mask, [&](std::uint32_t l) {
    CallReader reader(warp, i, l);
    const std::uint64_t value = reader.parameter(0);
    if (!gives_back) {
      std::string name = fmt::format("memory of {} bytes from malloc at {}", value, machine::place(i.site));
      return reader.result(heap.allocate(value, std::move(name), memory_));
    }
    if (value == 0 || heap.release(value, memory_)) return;
    machine_.fault(&warp.thread(l), i.site, FaultCode::kGlobalOutOfBounds,
                   fmt::format("free of {:#x}, which is not the beginning of memory from malloc: {}", value,
                               memory_.describe(value)));
  });
}

void Interpreter::system(Warp& warp, const Instruction& i, std::uint32_t mask, SystemCall which) {
  if (which == SystemCall::kMalloc || which == SystemCall::kFree) {
    return take_from_heap(warp, i, mask, which == SystemCall::kFree);
  }
  for_lanes(mask, [&](std::uint32_t l) {
    CallReader reader(warp, i, l);
    if (which == SystemCall::kAssertFail) {
      const std::string what = reader.text(reader.parameter(0));
      const std::string file = reader.text(reader.parameter(1));
      const auto line = static_cast<std::uint32_t>(reader.parameter(2));
      machine_.fault(&warp.thread(l), i.site, FaultCode::kAssert, fmt::format("assertion `{}' failed", what),
                     {fmt::format("{}:{}, in {}", file, line, reader.text(reader.parameter(3)))});
    }
    const std::string text = format_text(reader, reader.text(reader.parameter(0)), reader.parameter(1));
    print(text);
    reader.result(static_cast<std::uint32_t>(text.size()));
  });
}

}  // namespace heddle::sim::ptx
