// SPDX-License-Identifier: Apache-2.0
#include "elf_program.h"

#include <heddle/host/error.h>

#include <gtest/gtest.h>

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
