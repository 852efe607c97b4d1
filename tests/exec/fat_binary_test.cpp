// SPDX-License-Identifier: Apache-2.0
#include "runtime/fat_binary.h"

#include <heddle/host/error.h>

#include <gtest/gtest.h>
#include <lz4.h>
#include <zstd.h>

#include <cstring>
#include <random>

namespace heddle::runtime {
namespace {

using Bytes = std::vector<std::byte>;

template <class T>
void put(Bytes& bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(value));
}

std::string text_for(const std::string& target) {
  std::string text = ".version 9.0\n.target " + target + "\n.address_size 64\n";
  for (int i = 0; i < 50; ++i) text += "// a line that repeats and so compresses well\n";
  return text;
}

// An image as nvcc lays it out: a header of 80 bytes, and the text padded to a multiple of 8.
Bytes image_of(const std::string& text, std::uint32_t arch, FatImage::Packing packing, std::uint16_t kind = 1) {
  std::string stored = text;
  std::uint64_t flags = 0x11;
  if (packing == FatImage::Packing::kLz4) {
    stored.resize(static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(text.size()))));
    const int bytes = LZ4_compress_default(text.data(), stored.data(), static_cast<int>(text.size()),
                                           static_cast<int>(stored.size()));
    stored.resize(static_cast<std::size_t>(bytes));
    flags |= 0x2000;
  } else if (packing == FatImage::Packing::kZstd) {
    stored.resize(ZSTD_compressBound(text.size()));
    stored.resize(ZSTD_compress(stored.data(), stored.size(), text.data(), text.size(), 3));
    flags |= 0x8000;
  }
  const std::size_t padded = (stored.size() + 7) / 8 * 8;
  Bytes image(80 + padded);
  put<std::uint16_t>(image, 0, kind);
  put<std::uint32_t>(image, 4, 80);
  put<std::uint64_t>(image, 8, padded);
  if (packing != FatImage::Packing::kNone) {
    put(image, 16, static_cast<std::uint32_t>(stored.size()));
    put<std::uint64_t>(image, 56, text.size());
  }
  put(image, 28, arch);
  put(image, 40, flags);
  std::memcpy(image.data() + 80, stored.data(), stored.size());
  return image;
}

Bytes binary_of(const std::vector<Bytes>& images) {
  Bytes binary(16);
  for (const Bytes& image : images) binary.insert(binary.end(), image.begin(), image.end());
  put<std::uint32_t>(binary, 0, 0xBA55ED50);
  put<std::uint16_t>(binary, 4, 1);
  put<std::uint16_t>(binary, 6, 16);
  put<std::uint64_t>(binary, 8, binary.size() - 16);
  return binary;
}

TEST(FatBinary, ReadsImagesStoredInEveryWay) {
  const Bytes binary = binary_of({image_of(text_for("sm_90a"), 90, FatImage::Packing::kNone),
                                  image_of("machine code", 90, FatImage::Packing::kNone, 2),
                                  image_of(text_for("sm_100f"), 100, FatImage::Packing::kLz4),
                                  image_of(text_for("sm_80"), 80, FatImage::Packing::kZstd)});
  const std::vector<FatImage> images = read_fat_binary(binary);
  ASSERT_EQ(images.size(), 4u);
  EXPECT_EQ(images[0].kind, FatImage::Kind::kPtx);
  EXPECT_EQ(images[1].kind, FatImage::Kind::kMachineCode);
  EXPECT_EQ(unpack_ptx(images[0]), text_for("sm_90a"));
  EXPECT_EQ(unpack_ptx(images[2]), text_for("sm_100f"));
  EXPECT_EQ(unpack_ptx(images[3]), text_for("sm_80"));
  EXPECT_EQ(images[3].arch, 80u);
  EXPECT_EQ(fat_binary_bytes(binary), binary.size());
}

TEST(FatBinary, RefusesWhatIsNone) {
  EXPECT_THROW(read_fat_binary(Bytes(8)), InputError);
  EXPECT_THROW(read_fat_binary(Bytes(64)), InputError);
  EXPECT_EQ(fat_binary_bytes(Bytes(16)), 0u);
}

TEST(FatBinary, DamagedBytesGiveAnErrorAndNoCrash) {
  const Bytes whole = binary_of({image_of(text_for("sm_90a"), 90, FatImage::Packing::kLz4),
                                 image_of(text_for("sm_100a"), 100, FatImage::Packing::kZstd)});
  std::mt19937 random(1);
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    Bytes bytes = whole;
    const int changes = 1 + static_cast<int>(random() % 4);
    for (int c = 0; c < changes; ++c) {
      // Mostly the headers, where the lengths are.
      const std::size_t at = random() % 2 == 0 ? random() % 96 : random() % bytes.size();
      bytes[at] = static_cast<std::byte>(random());
    }
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    try {
      for (const FatImage& image : read_fat_binary(bytes)) {
        if (image.kind == FatImage::Kind::kPtx && image.unpacked_bytes < (1u << 24))
          ptx_target(unpack_ptx(image));
      }
    } catch (const InputError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 5000);
}

TEST(PtxTarget, IsReadFromTheText) {
  EXPECT_EQ(ptx_target(text_for("sm_90a")).name(), "sm_90a");
  EXPECT_EQ(ptx_target(text_for("sm_100f, debug")).name(), "sm_100f");
  EXPECT_EQ(ptx_target(text_for("sm_75")).name(), "sm_75");
  EXPECT_EQ(ptx_target("no target at all").arch, 0u);
  EXPECT_EQ(ptx_target(".target texmode\nsm_90").arch, 0u);
}

TEST(PtxTarget, VariantsRunOnTheirOwnArchitectureAlone) {
  EXPECT_TRUE(can_run({90, 'a'}, 90));
  EXPECT_FALSE(can_run({90, 'a'}, 100));
  EXPECT_TRUE(can_run({90, 0}, 100));
  EXPECT_FALSE(can_run({100, 0}, 90));
  EXPECT_TRUE(can_run({100, 'f'}, 100));
  EXPECT_FALSE(can_run({103, 'f'}, 100));
  EXPECT_FALSE(can_run({0, 0}, 90));
}

TEST(PtxTarget, TheNearestAndMostSpecialIsChosen) {
  EXPECT_TRUE(is_better({100, 0}, {90, 0}));
  EXPECT_TRUE(is_better({100, 'a'}, {100, 'f'}));
  EXPECT_TRUE(is_better({100, 'f'}, {100, 0}));
  EXPECT_FALSE(is_better({90, 'a'}, {90, 'a'}));
}

}  // namespace
}  // namespace heddle::runtime
