// SPDX-License-Identifier: Apache-2.0
#include "runtime/machine_code.h"

#include <fmt/format.h>

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

namespace heddle::runtime {

namespace {

constexpr std::size_t kMostKernels = 4;  // named
constexpr std::size_t kMostText = 8192;  // of a name
constexpr std::size_t kMostShown = 100;  // of it
constexpr std::string_view kCode = ".text.";

template <class T>
std::optional<T> read(std::span<const std::byte> bytes, std::uint64_t offset) {
  if (offset > bytes.size() || sizeof(T) > bytes.size() - offset) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

std::string text(std::span<const std::byte> bytes, std::uint64_t offset) {
  if (offset >= bytes.size()) return {};
  const auto* begin = reinterpret_cast<const char*>(bytes.data() + offset);
  return std::string(begin, strnlen(begin, std::min<std::uint64_t>(bytes.size() - offset, kMostText)));
}

std::span<const std::byte> part(std::span<const std::byte> bytes, std::uint64_t offset, std::uint64_t size) {
  if (offset > bytes.size()) return {};
  return bytes.subspan(offset, std::min<std::uint64_t>(size, bytes.size() - offset));
}

// A note's descriptor: six words, the third to the sixth of which are offsets into the text that follows.
void read_tool(std::span<const std::byte> note, MachineCode& code) {
  const auto header = read<Elf64_Nhdr>(note, 0);
  if (!header) return;
  const std::uint64_t names = (std::uint64_t{header->n_namesz} + 3) / 4 * 4;
  const std::span<const std::byte> words = part(note, sizeof(Elf64_Nhdr) + names, header->n_descsz);
  constexpr std::uint64_t kText = 6 * sizeof(std::uint32_t);
  const auto field = [&](unsigned word) {
    const auto offset = read<std::uint32_t>(words, word * sizeof(std::uint32_t));
    return offset ? text(words, kText + *offset) : std::string();
  };
  code.tool = field(2);
  code.version = field(3);
  code.options = field(5);
  while (code.options.ends_with(' ')) code.options.pop_back();
}

}  // namespace

bool is_elf(std::span<const std::byte> bytes) {
  return bytes.size() >= SELFMAG && std::memcmp(bytes.data(), ELFMAG, SELFMAG) == 0;
}

std::size_t elf_bytes(std::span<const std::byte> bytes) {
  const auto header = read<Elf64_Ehdr>(bytes, 0);
  if (!header) return bytes.size();
  std::uint64_t end = header->e_shoff + std::uint64_t{header->e_shnum} * sizeof(Elf64_Shdr);
  for (unsigned s = 0; s < header->e_shnum; ++s) {
    const auto section = read<Elf64_Shdr>(bytes, header->e_shoff + s * sizeof(Elf64_Shdr));
    if (section && section->sh_type != SHT_NOBITS) end = std::max(end, section->sh_offset + section->sh_size);
  }
  return std::min<std::uint64_t>(end, bytes.size());
}

MachineCode read_machine_code(std::span<const std::byte> bytes) {
  MachineCode code;
  const auto header = read<Elf64_Ehdr>(bytes, 0);
  if (!header) return code;
  const auto section_at = [&](std::uint64_t index) {
    return read<Elf64_Shdr>(bytes, header->e_shoff + index * sizeof(Elf64_Shdr));
  };
  const auto names = section_at(header->e_shstrndx);
  if (!names) return code;
  const std::span<const std::byte> all_names = part(bytes, names->sh_offset, names->sh_size);
  for (unsigned s = 0; s < header->e_shnum; ++s) {
    const auto section = section_at(s);
    if (!section) break;
    const std::string name = text(all_names, section->sh_name);
    if (name == ".note.nv.tkinfo") read_tool(part(bytes, section->sh_offset, section->sh_size), code);
    if (name.starts_with(kCode)) code.kernels.push_back(name.substr(kCode.size()));
  }
  return code;
}

std::string describe(const MachineCode& code) {
  std::string result = "machine code";
  if (!code.kernels.empty()) result += code.kernels.size() == 1 ? " of the kernel " : " of the kernels ";
  for (std::size_t k = 0; k < code.kernels.size(); ++k) {
    if (k == kMostKernels) {
      result += fmt::format(" and {} more", code.kernels.size() - k);
      break;
    }
    const std::string& name = code.kernels[k];
    result += (k == 0 ? "" : ", ") + name.substr(0, kMostShown) + (name.size() > kMostShown ? "..." : "");
  }
  if (!code.tool.empty()) result += fmt::format(" (made by {}, {}: {})", code.tool, code.version, code.options);
  return result;
}

}  // namespace heddle::runtime
