// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/hardware_tensor_map.h"
#include "sim/machine/im2col.h"

#include <heddle/host/tensor_map.h>

#include <gtest/gtest.h>

namespace heddle::sim::machine {
namespace {

// What cuTensorMapEncodeTiled wrote on an H200: bf16, 1024 x 512, a pitch of 2048 bytes, boxes of 64 x 64 with
// the swizzle of 128 bytes.
TensorMap measured() {
  TensorMap map = {};
  map.opaque[0] = 0x7F00'0000'0000;
  map.opaque[1] = 0x0000'0080'0000'6510;
  map.opaque[4] = 0x0000'01FF'0000'03FF;
  map.opaque[6] = 0x3F00'0000'0000'0000;
  map.opaque[7] = 0x3F;
  map.opaque[8] = 0x2000;
  map.opaque[9] = 0x400;
  return map;
}

TEST(HardwareTensorMap, MeasuredMapIsRead) {
  const std::optional<TensorMapSpec> spec = read_hardware_map(measured());
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->type, TensorType::kBF16);
  EXPECT_EQ(spec->rank, 2);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(spec->address), 0x7F00'0000'0000);
  EXPECT_EQ(spec->dims[0], 1024);
  EXPECT_EQ(spec->dims[1], 512);
  EXPECT_EQ(spec->strides[0], 2048);
  EXPECT_EQ(spec->box[0], 64);
  EXPECT_EQ(spec->box[1], 64);
  EXPECT_EQ(spec->element_strides[0], 1);
  EXPECT_EQ(spec->swizzle, Swizzle::k128B);
  EXPECT_EQ(spec->interleave, Interleave::kNone);
  EXPECT_EQ(spec->fill, OobFill::kZeros);
}

// CuTe DSL's of a matmul: another number for the mode, and nothing written from word 8 on.
TEST(HardwareTensorMap, MapOfCuteIsRead) {
  TensorMap map = {};
  map.opaque[0] = 0x3000'0000'0000;
  map.opaque[1] = 0x0000'0008'0004'6322;
  map.opaque[2] = 0x400;
  map.opaque[4] = 0x0000'007F'0000'003F;
  map.opaque[6] = 0x3F00'0000'0000'0000;
  map.opaque[7] = 0x7F;
  for (int word = 8; word < 16; ++word) map.opaque[word] = 0x5555'5EB2'C500;
  const std::optional<TensorMapSpec> spec = read_hardware_map(map);
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->type, TensorType::kF16);
  EXPECT_EQ(spec->rank, 3);
  EXPECT_EQ(spec->dims[0], 64);
  EXPECT_EQ(spec->dims[1], 128);
  EXPECT_EQ(spec->dims[2], 1);
  EXPECT_EQ(spec->strides[0], 128);
  EXPECT_EQ(spec->strides[1], 128 * 128);
  EXPECT_EQ(spec->box[1], 128);
  EXPECT_EQ(spec->swizzle, Swizzle::k128B);
  EXPECT_EQ(spec->l2_promotion, L2Promotion::k128B);
  EXPECT_FALSE(decode_im2col(map));  // whose words are among those
}

// CuTe DSL's of NVFP4: 256 numbers in a pitch of 128 bytes.
TEST(HardwareTensorMap, PackedNumbersOfFourBitsAreRead) {
  TensorMap map = {};
  map.opaque[0] = 0x3000'0000'0000;
  map.opaque[1] = 0x0000'0008'0004'65A2;
  map.opaque[2] = 0x800;
  map.opaque[4] = 0x0000'00FF'0000'00FF;
  map.opaque[6] = 0xFF00'0000'0000'0000;
  map.opaque[7] = 0x7F;
  const std::optional<TensorMapSpec> spec = read_hardware_map(map);
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->type, TensorType::kU4x16Align8B);
  EXPECT_EQ(spec->dims[0], 256);
  EXPECT_EQ(spec->strides[0], 128);
  EXPECT_EQ(spec->strides[1], 256 * 128);
  EXPECT_EQ(spec->box[0], 256);
  EXPECT_EQ(spec->swizzle, Swizzle::k128B);
  EXPECT_FALSE(check(*spec, 100));
  EXPECT_TRUE(check(*spec, 90)) << "sm_90 has no such numbers";
}

// CuTe DSL sets bit 21 in the map of a persistent matmul's store.
TEST(HardwareTensorMap, BitsWithoutEffectAreIgnored) {
  for (unsigned bit = 19; bit < 24; ++bit) {
    TensorMap map = measured();
    map.opaque[1] |= std::uint64_t{1} << bit;
    EXPECT_EQ(read_hardware_map(map), read_hardware_map(measured())) << bit;
  }
}

TEST(HardwareTensorMap, StridesHaveFourMoreBits) {
  TensorMap map = measured();
  map.opaque[3] |= std::uint64_t{0xA} << 32;
  EXPECT_EQ(read_hardware_map(map)->strides[0], (std::uint64_t{0xA} << 36) + 2048);
}

TEST(HardwareTensorMap, BothFormatsAreDecoded) {
  EXPECT_EQ(decode_tensor_map(measured()).state, isa::TensorMapState::kFine);
  TensorMapSpec spec = *read_hardware_map(measured());
  TensorMap own;
  isa::tensor_map_encode_tiled(own, spec);
  EXPECT_EQ(decode_tensor_map(own).spec, spec);
}

TEST(HardwareTensorMap, OtherBytesAreNone) {
  EXPECT_FALSE(read_hardware_map(TensorMap{}));
  for (const auto& [word, bit] : {std::pair{1, 0}, {1, 2}, {1, 24}, {1, 31}}) {
    TensorMap map = measured();
    map.opaque[word] ^= std::uint64_t{1} << bit;
    EXPECT_FALSE(read_hardware_map(map)) << word << ' ' << bit;
  }
  // Types that are not known.
  for (std::uint64_t type = 12; type < 16; ++type) {
    TensorMap map = measured();
    map.opaque[1] = (map.opaque[1] & ~(std::uint64_t{15} << 7)) | type << 7;
    EXPECT_FALSE(read_hardware_map(map)) << type;
  }
}

// One that was overwritten in part is told as such, not taken for one of the hardware.
TEST(HardwareTensorMap, DamagedMapIsNotTakenForOne) {
  TensorMap own;
  isa::tensor_map_encode_tiled(own, *read_hardware_map(measured()));
  own.opaque[4] ^= 1;
  EXPECT_EQ(decode_tensor_map(own).state, isa::TensorMapState::kDamaged);
}

}  // namespace
}  // namespace heddle::sim::machine
