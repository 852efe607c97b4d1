// SPDX-License-Identifier: Apache-2.0
#include "elf_program.h"

#include <heddle/host/error.h>

#include <fmt/format.h>

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

namespace heddle::tool {

namespace {

// More than any program needs; a damaged one could ask for millions.
constexpr std::size_t kMostLibraries = 4096;

class Bytes {
 public:
  explicit Bytes(std::vector<char> bytes) : bytes_(std::move(bytes)) {}

  template <class T>
  std::optional<T> read(std::uint64_t offset) const {
    if (offset > bytes_.size() || sizeof(T) > bytes_.size() - offset) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }

  bool is_text(std::uint64_t offset, std::string_view wanted) const {
    return offset < bytes_.size() && wanted.size() < bytes_.size() - offset &&
           std::memcmp(bytes_.data() + offset, wanted.data(), wanted.size()) == 0 &&
           bytes_[offset + wanted.size()] == '\0';
  }

  std::string text(std::uint64_t offset) const {
    // A name in a damaged file can be the whole of it.
    constexpr std::uint64_t kMostText = 4096;
    if (offset >= bytes_.size()) return {};
    const std::uint64_t most = std::min(kMostText, bytes_.size() - offset);
    return std::string(bytes_.data() + offset, strnlen(bytes_.data() + offset, most));
  }

 private:
  std::vector<char> bytes_;
};

// Calls use(entry) for each of `count` headers that the file has from `offset` on, until it says that one was
// enough.
template <class Entry, class Use>
void for_each(const Bytes& file, std::uint64_t offset, unsigned count, const Use& use) {
  for (unsigned i = 0; i < count; ++i) {
    const auto entry = file.read<Entry>(offset + i * sizeof(Entry));
    if (!entry || use(*entry)) return;  // a damaged file may promise more than it has
  }
}

// The file offset of an address, by the segments that are loaded.
std::optional<std::uint64_t> offset_of(const Bytes& file, const Elf64_Ehdr& header, std::uint64_t address) {
  std::optional<std::uint64_t> found;
  for_each<Elf64_Phdr>(file, header.e_phoff, header.e_phnum, [&](const Elf64_Phdr& segment) {
    const bool is_there =
        segment.p_type == PT_LOAD && address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz;
    if (is_there) found = segment.p_offset + (address - segment.p_vaddr);
    return is_there;
  });
  return found;
}

void read_dynamic(const Bytes& file, const Elf64_Ehdr& header, const Elf64_Phdr& segment, ElfProgram& program) {
  std::optional<std::uint64_t> address;
  std::vector<std::uint64_t> needed;
  for (std::uint64_t at = 0; at + sizeof(Elf64_Dyn) <= segment.p_filesz; at += sizeof(Elf64_Dyn)) {
    const auto entry = file.read<Elf64_Dyn>(segment.p_offset + at);
    if (!entry || entry->d_tag == DT_NULL) break;
    if (entry->d_tag == DT_NEEDED) needed.push_back(entry->d_un.d_val);
    if (entry->d_tag == DT_STRTAB) address = entry->d_un.d_ptr;
    if (entry->d_tag == DT_RPATH) program.has_rpath = true;
  }
  const auto strings = address ? offset_of(file, header, *address) : std::nullopt;
  if (!strings) return;
  for (const std::uint64_t name : needed) {
    if (program.needed.size() == kMostLibraries) return;
    program.needed.push_back(file.text(*strings + name));
  }
}

// What version 13 has no more tells the two apart.
void read_symbols(const Bytes& file, const Elf64_Ehdr& header, const Elf64_Shdr& table, ElfProgram& program) {
  const auto names = file.read<Elf64_Shdr>(header.e_shoff + table.sh_link * sizeof(Elf64_Shdr));
  if (!names) return;
  for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size; at += sizeof(Elf64_Sym)) {
    const auto symbol = file.read<Elf64_Sym>(table.sh_offset + at);
    if (!symbol) return;
    if (symbol->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC) continue;
    if (file.is_text(names->sh_offset + symbol->st_name, "cudaGetDeviceProperties_v2"))
      program.has_runtime_12 = true;
  }
}

}  // namespace

std::string ElfProgram::library(const std::string& prefix) const {
  for (const std::string& name : needed) {
    if (name.starts_with(prefix)) return name;
  }
  return {};
}

ElfProgram read_elf(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw InputError(fmt::format("exec: '{}' cannot be read", path));
  std::vector<char> bytes;
  constexpr std::size_t kAtOnce = 1 << 20;  // a program with kernels has some hundred million bytes
  while (stream) {
    bytes.resize(bytes.size() + kAtOnce);
    stream.read(bytes.data() + bytes.size() - kAtOnce, kAtOnce);
    bytes.resize(bytes.size() - kAtOnce + static_cast<std::size_t>(stream.gcount()));
  }
  return parse_elf(std::move(bytes));
}

ElfProgram parse_elf(std::vector<char> bytes) {
  const Bytes file(std::move(bytes));
  const auto header = file.read<Elf64_Ehdr>(0);
  ElfProgram program;
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_ident[EI_DATA] != ELFDATA2LSB) {
    return program;
  }
  program.is_elf = true;
  // A program has one of each.
  for_each<Elf64_Phdr>(file, header->e_phoff, header->e_phnum, [&](const Elf64_Phdr& segment) {
    if (segment.p_type == PT_DYNAMIC) read_dynamic(file, *header, segment, program);
    return segment.p_type == PT_DYNAMIC;
  });
  for_each<Elf64_Shdr>(file, header->e_shoff, header->e_shnum, [&](const Elf64_Shdr& section) {
    if (section.sh_type == SHT_SYMTAB) read_symbols(file, *header, section, program);
    return section.sh_type == SHT_SYMTAB;
  });
  return program;
}

}  // namespace heddle::tool
