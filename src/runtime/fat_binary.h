// SPDX-License-Identifier: Apache-2.0
//
// Fat binaries: what nvcc puts into a program for each translation unit with device code. A fat binary is a
// header and a row of images, each PTX text or machine code for one architecture, stored as it is or compressed.
// The format is not documented; what is read here was derived from what nvcc 13.0 writes under each
// --compress-mode. All numbers are little-endian.
//
//   container   0 magic  4 version (16 bits)  6 size of this header (16 bits)  8 bytes that follow it (64 bits)
//   image       0 kind (16 bits)  4 size of this header  8 bytes that follow it, padding included (64 bits)
//               16 bytes when compressed, 0 if it is not  28 architecture, such as 90  40 flags (64 bits)
//               56 bytes when unpacked (64 bits)
//
// PTX ends with zeros where it was padded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace heddle::runtime {

struct FatImage {
  enum class Kind : std::uint8_t { kPtx, kMachineCode, kOther };
  enum class Packing : std::uint8_t { kNone, kLz4, kZstd };

  Kind kind = Kind::kOther;
  Packing packing = Packing::kNone;
  std::uint32_t arch = 0;  // 90 for sm_90 and sm_90a alike
  std::uint64_t unpacked_bytes = 0;
  std::span<const std::byte> stored = {};  // inside the fat binary
};

// The images in their order. Throws InputError for bytes that are no fat binary.
std::vector<FatImage> read_fat_binary(std::span<const std::byte> bytes);

bool is_fat_binary(std::span<const std::byte> bytes);

// The whole length of a fat binary, as its header says, which may be more than there is; 0 if it is none.
std::uint64_t fat_binary_bytes(std::span<const std::byte> bytes);

// The bytes of an image. Throws InputError if it cannot be unpacked.
std::string unpack(const FatImage& image);

// The text of a PTX image. Throws InputError if it cannot be unpacked.
std::string unpack_ptx(const FatImage& image);

// What PTX says that it was compiled for: sm_90a is {90, 'a'}.
struct PtxTarget {
  std::uint32_t arch = 0;  // 0: it does not say
  char variant = 0;        // 'a': this architecture alone, 'f': its family, 0: this one and all later ones

  std::string name() const;
};
PtxTarget ptx_target(const std::string& text);

// Whether a card of architecture `arch` (90 or 100) runs it.
bool can_run(const PtxTarget& target, std::uint32_t arch);

// Which of two that can run is the better choice.
bool is_better(const PtxTarget& one, const PtxTarget& other);

}  // namespace heddle::runtime
