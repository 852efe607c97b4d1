// SPDX-License-Identifier: Apache-2.0
#include "elf_program.h"

#include <heddle/host/error.h>

#include <gtest/gtest.h>

#include <elf.h>

#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../support/schedule_share.h"

namespace heddle::tool {
namespace {

std::string first_bytes(const std::string& path, std::size_t most) {
  std::string bytes(most, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), static_cast<std::streamsize>(most));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

TEST(ElfProgram, NamesTheLibrariesThatItWants) {
  const ElfProgram program = read_elf("/proc/self/exe");
  EXPECT_TRUE(program.is_elf);
  EXPECT_TRUE(program.library("libstdc++.so").starts_with("libstdc++.so."));
  EXPECT_EQ(program.library("libcudart.so"), "");
}

TEST(ElfProgram, OtherFilesAreNone) {
  const std::string path = testing::TempDir() + "heddle_not_elf";
  write_file(path, "#!/bin/sh\n");
  EXPECT_FALSE(read_elf(path).is_elf);
  write_file(path, "");
  EXPECT_FALSE(read_elf(path).is_elf);
  EXPECT_THROW(read_elf("/no/such/file"), InputError);
}

// 65,535 tables of symbols, each of them the whole file, would be looked through for hours.
TEST(ElfProgram, TablesThatAreTheWholeFileAreLookedThroughOnce) {
  std::vector<char> bytes(std::size_t{16} << 20);
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_phoff = header.e_shoff = sizeof(header);
  header.e_phnum = header.e_shnum = 0xFFFF;
  std::memcpy(bytes.data(), &header, sizeof(header));
  Elf64_Shdr section = {};
  section.sh_type = SHT_SYMTAB;
  section.sh_size = bytes.size();
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    std::memcpy(bytes.data() + header.e_shoff + i * sizeof(section), &section, sizeof(section));
  }
  EXPECT_FALSE(parse_elf(std::move(bytes)).has_runtime_12);
}

TEST(ElfProgram, DamagedHeadersGiveNoCrash) {
  // The headers and what they lead to are at the ends of the file.
  const std::string whole = first_bytes("/proc/self/exe", 65536);
  std::mt19937 random(1);
  int recognised = 0;
  const int rounds = test::is_whole() ? 500 : 50;
  for (int round = 0; round < rounds; ++round) {
    std::vector<char> bytes(whole.begin(), whole.end());
    for (int c = 0; c < 8; ++c) bytes[4 + random() % 1020] = static_cast<char>(random());
    recognised += parse_elf(std::move(bytes)).is_elf ? 1 : 0;
  }
  EXPECT_GT(recognised, rounds / 5);
}

}  // namespace
}  // namespace heddle::tool
