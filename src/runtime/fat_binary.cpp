// SPDX-License-Identifier: Apache-2.0
#include "runtime/fat_binary.h"

#include <heddle/host/error.h>

#include <fmt/format.h>
#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

namespace heddle::runtime {

namespace {

constexpr std::uint32_t kMagic = 0xBA55'ED50;
constexpr std::size_t kContainerHeader = 16;
constexpr std::size_t kImageHeader = 64;
constexpr std::uint16_t kPtx = 1;
constexpr std::uint16_t kMachineCode = 2;
constexpr std::uint64_t kIsLz4 = 0x2000;
constexpr std::uint64_t kIsZstd = 0x8000;
// PTX of a translation unit has a few megabytes; a damaged length should not take all memory.
constexpr std::uint64_t kMaxText = std::uint64_t{1} << 29;
// LZ4 cannot make more of a byte, so a longer text is a damaged length.
constexpr std::uint64_t kMaxLz4Ratio = 255;

template <class T>
T read(std::span<const std::byte> bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

[[noreturn]] void refuse(const std::string& why) { throw InputError("fat binary: " + why); }

FatImage read_image(std::span<const std::byte> image, std::size_t at, std::size_t header, std::uint64_t payload) {
  const auto kind = read<std::uint16_t>(image, 0);
  const auto compressed = read<std::uint32_t>(image, 16);
  const auto flags = read<std::uint64_t>(image, 40);
  FatImage result;
  result.kind = kind == kPtx           ? FatImage::Kind::kPtx
                : kind == kMachineCode ? FatImage::Kind::kMachineCode
                                       : FatImage::Kind::kOther;
  result.arch = read<std::uint32_t>(image, 28);
  result.packing = (flags & kIsZstd) != 0  ? FatImage::Packing::kZstd
                   : (flags & kIsLz4) != 0 ? FatImage::Packing::kLz4
                                           : FatImage::Packing::kNone;
  result.stored = image.subspan(header, payload);
  if (result.packing == FatImage::Packing::kNone) {
    result.unpacked_bytes = payload;
    return result;
  }
  if (compressed == 0 || compressed > payload) {
    refuse(fmt::format("the image at byte {} has {} compressed bytes; 1 to {} fit", at, compressed, payload));
  }
  result.stored = result.stored.first(compressed);
  result.unpacked_bytes = read<std::uint64_t>(image, 56);
  if (result.unpacked_bytes > kMaxText) {
    refuse(
        fmt::format("the image at byte {} unpacks to {} bytes; at most {}", at, result.unpacked_bytes, kMaxText));
  }
  if (result.packing == FatImage::Packing::kLz4 && result.unpacked_bytes > compressed * kMaxLz4Ratio) {
    refuse(fmt::format("the image at byte {} unpacks from {} to {} bytes; LZ4 makes at most {}", at, compressed,
                       result.unpacked_bytes, compressed * kMaxLz4Ratio));
  }
  return result;
}

}  // namespace

bool is_fat_binary(std::span<const std::byte> bytes) {
  return bytes.size() >= sizeof(kMagic) && read<std::uint32_t>(bytes, 0) == kMagic;
}

std::uint64_t fat_binary_bytes(std::span<const std::byte> bytes) {
  if (!is_fat_binary(bytes)) return 0;
  if (bytes.size() < kContainerHeader) return kContainerHeader;
  const std::uint64_t header = read<std::uint16_t>(bytes, 6);
  const auto length = read<std::uint64_t>(bytes, 8);
  return length > ~header ? ~std::uint64_t{0} : header + length;
}

std::vector<FatImage> read_fat_binary(std::span<const std::byte> bytes) {
  if (bytes.size() < kContainerHeader) refuse(fmt::format("{} bytes; its header has 16", bytes.size()));
  if (const auto magic = read<std::uint32_t>(bytes, 0); magic != kMagic) {
    refuse(fmt::format("it begins with {:#x}; a fat binary begins with {:#x}", magic, kMagic));
  }
  const std::size_t header = read<std::uint16_t>(bytes, 6);
  const auto length = read<std::uint64_t>(bytes, 8);
  if (header < kContainerHeader || header > bytes.size() || length > bytes.size() - header) {
    refuse(fmt::format("a header of {} bytes and {} more; there are {} in all", header, length, bytes.size()));
  }
  std::vector<FatImage> images;
  std::size_t at = header;
  const std::size_t end = header + length;
  while (at < end) {
    if (end - at < kImageHeader)
      refuse(fmt::format("{} bytes are left at byte {}; an image has {}", end - at, at, 64));
    const std::span<const std::byte> image = bytes.subspan(at, end - at);
    const std::size_t image_header = read<std::uint32_t>(image, 4);
    const auto payload = read<std::uint64_t>(image, 8);
    if (image_header < kImageHeader || image_header > image.size() || payload > image.size() - image_header) {
      refuse(fmt::format("the image at byte {} has a header of {} bytes and {} more; {} are left", at,
                         image_header, payload, image.size()));
    }
    images.push_back(read_image(image, at, image_header, payload));
    at += image_header + payload;
  }
  return images;
}

std::string unpack(const FatImage& image) {
  const auto* stored = reinterpret_cast<const char*>(image.stored.data());
  std::string text;
  if (image.packing == FatImage::Packing::kNone) {
    text.assign(stored, image.stored.size());
  } else {
    text.resize(image.unpacked_bytes);
    std::size_t written = 0;
    if (image.packing == FatImage::Packing::kLz4) {
      const int result = LZ4_decompress_safe(stored, text.data(), static_cast<int>(image.stored.size()),
                                             static_cast<int>(std::min<std::uint64_t>(text.size(), 0x7FFF'FFFF)));
      if (result < 0) refuse("an image of it is compressed with LZ4 and damaged");
      written = static_cast<std::size_t>(result);
    } else {
      written = ZSTD_decompress(text.data(), text.size(), stored, image.stored.size());
      if (ZSTD_isError(written) != 0) {
        refuse(fmt::format("an image of it is compressed with zstd and damaged: {}", ZSTD_getErrorName(written)));
      }
    }
    if (written != text.size()) {
      refuse(fmt::format("an image of it unpacks to {} bytes; its header says {}", written, text.size()));
    }
  }
  return text;
}

std::string unpack_ptx(const FatImage& image) {
  std::string text = unpack(image);
  text.erase(text.find_last_not_of('\0') + 1);
  return text;
}

std::string PtxTarget::name() const {
  std::string text = fmt::format("sm_{}", arch);
  if (variant != 0) text += variant;
  return text;
}

PtxTarget ptx_target(const std::string& text) {
  constexpr std::string_view kDirective = ".target";
  const std::size_t directive = text.find(kDirective);
  if (directive == std::string::npos) return {};
  const std::size_t name = text.find("sm_", directive);
  if (name == std::string::npos || name > text.find('\n', directive)) return {};
  PtxTarget target;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + name + 3, end, target.arch);
  if (error != std::errc{}) return {};
  if (rest != end && (*rest == 'a' || *rest == 'f')) target.variant = *rest;
  return target;
}

bool can_run(const PtxTarget& target, std::uint32_t arch) {
  if (target.arch == 0) return false;
  if (target.variant == 'a') return target.arch == arch;
  if (target.variant == 'f') return target.arch / 10 == arch / 10 && target.arch <= arch;
  return target.arch <= arch;
}

bool is_better(const PtxTarget& one, const PtxTarget& other) {
  if (one.arch != other.arch) return one.arch > other.arch;
  const auto rank = [](char variant) { return variant == 'a' ? 2 : variant == 'f' ? 1 : 0; };
  return rank(one.variant) > rank(other.variant);
}

}  // namespace heddle::runtime
