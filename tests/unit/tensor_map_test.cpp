// SPDX-License-Identifier: Apache-2.0
#include <heddle/host/tensor_map.h>
#include <heddle/host/tensor_map_encode.h>
#include <heddle/isa/tensor_map.h>

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <random>
#include <string>
#include <vector>

namespace heddle {
namespace {

using Rule = TensorMapRule;

alignas(128) std::byte g_tensor[256];

// A map that keeps every rule, of rank 3 so that most fields can be bent.
TensorMapSpec good() {
  return {.type = TensorType::kBF16,
          .rank = 3,
          .address = g_tensor,
          .dims = {640, 48, 7},
          .strides = {1280, 61440},
          .box = {64, 16, 2},
          .swizzle = Swizzle::k128B};
}

// A type of four bits in 16-byte slots, sm_100 only.
TensorMapSpec padded() {
  TensorMapSpec spec = good();
  spec.type = TensorType::kU4x16Align16B;
  spec.box[0] = 128;
  return spec;
}

TensorMapSpec interleaved() {
  TensorMapSpec spec = good();
  spec.interleave = Interleave::k32B;
  spec.swizzle = Swizzle::k32B;
  return spec;
}

template <class Enum>
Enum number(int value) {
  return static_cast<Enum>(value);
}

// Both sides of one limit: `passes` and `fails` bend the same field of `base`.
struct Limit {
  const char* name;
  TensorMapSpec base;
  std::function<void(TensorMapSpec&)> passes;
  std::function<void(TensorMapSpec&)> fails;
  Rule rule;
  int dimension;
  std::uint64_t value;
  std::uint64_t limit;
  std::uint64_t nearest;
  std::string text;
  std::uint32_t sm = 100;

  friend void PrintTo(const Limit& self, std::ostream* out) { *out << self.name; }
};

const std::vector<Limit>& limits() {
  using Spec = TensorMapSpec;
  static const std::vector<Limit> all = {
      {"TypeIsKnown", good(), [](Spec& s) { s.type = TensorType::kF16; },
       [](Spec& s) { s.type = number<TensorType>(16); }, Rule::kType, -1, 16, 15, 15,
       "type is number 16; the copy engine knows 0 to 15. Use one of the enumerators."},
      {"SubByteTypeNeedsSm100", good(), [](Spec& s) { s.type = TensorType::kU8; },
       [](Spec& s) { s.type = TensorType::kU4x16Align8B; }, Rule::kTypeNeedsSm100, -1, 13, 100, 0,
       "type u4x16 exists from sm_100 on, not on this device. Pack the elements yourself and use u8.", 90},
      {"RankAtLeast1", good(), [](Spec& s) { s.rank = 1; }, [](Spec& s) { s.rank = 0; }, Rule::kRank, -1, 0, 5, 1,
       "rank is 0; a tensor map has 1 to 5 dimensions. Use 1."},
      {"RankAtMost5", good(),
       [](Spec& s) {
         s.rank = 5;
         s.dims[3] = s.dims[4] = 2;
         s.strides[2] = s.strides[3] = 430080;
         s.box[3] = s.box[4] = 1;
       },
       [](Spec& s) { s.rank = 6; }, Rule::kRank, -1, 6, 5, 5,
       "rank is 6; a tensor map has 1 to 5 dimensions. Use 5 and fold the others into them."},
      {"InterleaveIsKnown", interleaved(), [](Spec&) {}, [](Spec& s) { s.interleave = number<Interleave>(3); },
       Rule::kInterleave, -1, 3, 2, 2,
       "interleave is number 3; the copy engine knows 0 to 2. Use one of the enumerators."},
      {"InterleaveNeedsRank3", interleaved(), [](Spec& s) { s.rank = 3; }, [](Spec& s) { s.rank = 2; },
       Rule::kInterleaveRank, -1, 2, 3, 3,
       "rank is 2; an interleaved tensor has at least 3 dimensions. Use 3 or interleave none."},
      {"SwizzleIsKnown", good(), [](Spec& s) { s.swizzle = Swizzle::k128BAtom32B; },
       [](Spec& s) { s.swizzle = number<Swizzle>(5); }, Rule::kSwizzle, -1, 5, 4, 4,
       "swizzle is number 5; the copy engine knows 0 to 4. Use one of the enumerators."},
      {"Atom32BSwizzleNeedsSm100", good(), [](Spec& s) { s.swizzle = Swizzle::k128B; },
       [](Spec& s) { s.swizzle = Swizzle::k128BAtom32B; }, Rule::kSwizzleNeedsSm100, -1, 4, 100, 3,
       "swizzle 128B with 32-byte atoms exists from sm_100 on, not on this device. Use 128B.", 90},
      {"SixBitTypeIsNotInterleaved", padded(), [](Spec& s) { s.type = TensorType::kU6x16Align16B; },
       [](Spec& s) {
         s.type = TensorType::kU6x16Align16B;
         s.interleave = Interleave::k16B;
       },
       Rule::kPackedInterleave, -1, 1, 0, 0,
       "interleave is 16B; type u6x16_p32 cannot be interleaved. Use none."},
      {"PaddedTypeTakesWideSwizzle", padded(), [](Spec& s) { s.swizzle = Swizzle::kNone; },
       [](Spec& s) { s.swizzle = Swizzle::k64B; }, Rule::kPackedSwizzle, -1, 2, 128, 3,
       "swizzle is 64B; type u4x16_p64 takes none or one of 128 bytes. Use 128B."},
      {"L2PromotionIsKnown", good(), [](Spec& s) { s.l2_promotion = L2Promotion::k256B; },
       [](Spec& s) { s.l2_promotion = number<L2Promotion>(4); }, Rule::kL2Promotion, -1, 4, 3, 3,
       "l2_promotion is number 4; the copy engine knows 0 to 3. Use one of the enumerators."},
      {"FillIsKnown", good(), [](Spec& s) { s.fill = OobFill::kNan; },
       [](Spec& s) { s.fill = number<OobFill>(2); }, Rule::kFill, -1, 2, 1, 1,
       "fill is number 2; the copy engine knows 0 to 1. Use one of the enumerators."},
      {"NanFillNeedsFloatingType", good(), [](Spec& s) { s.fill = OobFill::kNan; },
       [](Spec& s) {
         s.fill = OobFill::kNan;
         s.type = TensorType::kU16;
       },
       Rule::kFillType, -1, 1, 0, 0,
       "fill is NaN and the type is u16; NaN fills floating-point types only. Use zeros."},
      {"AddressIsNotNull", good(), [](Spec& s) { s.address = g_tensor; }, [](Spec& s) { s.address = nullptr; },
       Rule::kNullAddress, -1, 0, 0, 0, "address is null. Give the address of the tensor in global memory."},
      {"AddressIsMultipleOf16", good(), [](Spec& s) { s.address = reinterpret_cast<const void*>(0x7f0010); },
       [](Spec& s) { s.address = reinterpret_cast<const void*>(0x7f0018); }, Rule::kAddressAlignment, -1,
       0x7f0018, 16, 0x7f0010,
       "address is 0x7f0018, 8 bytes past a multiple of 16; the copy engine takes multiples of 16. 0x7f0010 "
       "would "
       "pass."},
      {"AddressIsMultipleOf32WithInterleave32B", interleaved(),
       [](Spec& s) { s.address = reinterpret_cast<const void*>(0x7f0020); },
       [](Spec& s) { s.address = reinterpret_cast<const void*>(0x7f0010); }, Rule::kAddressAlignment, -1,
       0x7f0010, 32, 0x7f0000,
       "address is 0x7f0010, 16 bytes past a multiple of 32; the copy engine takes multiples of 32 with "
       "interleave "
       "32B. 0x7f0000 would pass."},
      {"AddressIsMultipleOf32ForPaddedType", padded(),
       [](Spec& s) { s.address = reinterpret_cast<const void*>(0x7f0020); },
       [](Spec& s) { s.address = reinterpret_cast<const void*>(0x7f0010); }, Rule::kAddressAlignment, -1,
       0x7f0010, 32, 0x7f0000,
       "address is 0x7f0010, 16 bytes past a multiple of 32; the copy engine takes multiples of 32 for "
       "u4x16_p64. "
       "0x7f0000 would pass."},
      {"DimAtLeast1", good(), [](Spec& s) { s.dims[1] = 1; }, [](Spec& s) { s.dims[1] = 0; }, Rule::kDim, 1, 0,
       4294967296, 1, "dims[1] is 0 elements; the copy engine takes 1 to 4294967296. Use 1."},
      {"DimAtMost2To32", good(), [](Spec& s) { s.dims[2] = 4294967296; }, [](Spec& s) { s.dims[2] = 4294967297; },
       Rule::kDim, 2, 4294967297, 4294967296, 4294967296,
       "dims[2] is 4294967297 elements; the copy engine takes 1 to 4294967296. Use 4294967296."},
      {"InnerDimOfFourBitTypeIsEven", good(),
       [](Spec& s) {
         s.type = TensorType::kU4x16Align8B;
         s.dims[0] = 642;
       },
       [](Spec& s) {
         s.type = TensorType::kU4x16Align8B;
         s.dims[0] = 641;
       },
       Rule::kDimMultiple, 0, 641, 2, 642, "dims[0] is 641 elements; type u4x16 takes multiples of 2. Use 642."},
      {"InnerDimOfPaddedTypeIsMultipleOf128", padded(), [](Spec& s) { s.dims[0] = 768; },
       [](Spec& s) { s.dims[0] = 700; }, Rule::kDimMultiple, 0, 700, 128, 768,
       "dims[0] is 700 elements; type u4x16_p64 takes multiples of 128. Use 768."},
      {"InnerDimOfPaddedTypeIsNotZero", padded(), [](Spec& s) { s.dims[0] = 128; },
       [](Spec& s) { s.dims[0] = 0; }, Rule::kDim, 0, 0, 4294967296, 128,
       "dims[0] is 0 elements; the copy engine takes 1 to 4294967296. Use 128."},
      {"StrideBelow2To40", good(), [](Spec& s) { s.strides[1] = (1ull << 40) - 16; },
       [](Spec& s) { s.strides[1] = 1ull << 40; }, Rule::kStrideRange, 2, 1ull << 40, 1ull << 40,
       (1ull << 40) - 16,
       "strides[1] is 1099511627776 bytes; the copy engine takes less than 1099511627776. Use 1099511627760 at "
       "most."},
      {"StrideIsMultipleOf16", good(), [](Spec& s) { s.strides[0] = 1296; }, [](Spec& s) { s.strides[0] = 1282; },
       Rule::kStrideAlignment, 1, 1282, 16, 1296,
       "strides[0] is 1282 bytes; the copy engine takes multiples of 16. Use 1296."},
      {"StrideJustBelow2To40IsRoundedDown", good(), [](Spec& s) { s.strides[0] = (1ull << 40) - 16; },
       [](Spec& s) { s.strides[0] = (1ull << 40) - 1; }, Rule::kStrideAlignment, 1, (1ull << 40) - 1, 16,
       (1ull << 40) - 16,
       "strides[0] is 1099511627775 bytes; the copy engine takes multiples of 16. Use 1099511627760."},
      {"StrideIsMultipleOf32WithInterleave32B", interleaved(), [](Spec& s) { s.strides[0] = 1312; },
       [](Spec& s) { s.strides[0] = 1296; }, Rule::kStrideAlignment, 1, 1296, 32, 1312,
       "strides[0] is 1296 bytes; the copy engine takes multiples of 32 with interleave 32B. Use 1312."},
      {"StrideIsMultipleOf32ForPaddedType", padded(), [](Spec& s) { s.strides[1] = 61472; },
       [](Spec& s) { s.strides[1] = 61456; }, Rule::kStrideAlignment, 2, 61456, 32, 61472,
       "strides[1] is 61456 bytes; the copy engine takes multiples of 32 for u4x16_p64. Use 61472."},
      {"BoxAtLeast1", good(), [](Spec& s) { s.box[2] = 1; }, [](Spec& s) { s.box[2] = 0; }, Rule::kBox, 2, 0, 256,
       1, "box[2] is 0 elements; the copy engine takes 1 to 256. Use 1."},
      {"BoxAtMost256", good(), [](Spec& s) { s.box[1] = 256; }, [](Spec& s) { s.box[1] = 300; }, Rule::kBox, 1,
       300, 256, 256, "box[1] is 300 elements; the copy engine takes 1 to 256. Use 256 or split the tile."},
      {"InnerBoxAtMost256", good(),
       [](Spec& s) {
         s.swizzle = Swizzle::kNone;
         s.box[0] = 256;
       },
       [](Spec& s) {
         s.swizzle = Swizzle::kNone;
         s.box[0] = 257;
       },
       Rule::kBox, 0, 257, 256, 256,
       "box[0] is 257 elements; the copy engine takes 1 to 256. Use 256 or split the tile."},
      {"InnerBoxOfZeroIsSentToTheSmallest", good(), [](Spec& s) { s.box[0] = 8; }, [](Spec& s) { s.box[0] = 0; },
       Rule::kBox, 0, 0, 256, 8, "box[0] is 0 elements; the copy engine takes 1 to 256. Use 8."},
      {"InnerBoxOfPaddedTypeIs128", padded(), [](Spec& s) { s.box[0] = 128; }, [](Spec& s) { s.box[0] = 64; },
       Rule::kPackedBox, 0, 64, 128, 128, "box[0] is 64 elements; type u4x16_p64 takes 128. Use 128."},
      {"InnerBoxIsMultipleOf16Bytes", good(), [](Spec& s) { s.box[0] = 24; }, [](Spec& s) { s.box[0] = 20; },
       Rule::kInnerBoxMultiple, 0, 20, 16, 24,
       "box[0] is 20 elements of bf16, 40 bytes; the copy engine moves multiples of 16 bytes. Use 24 elements."},
      {"OddInnerBoxAboveTheSpanIsSentBackToIt", good(), [](Spec& s) { s.box[0] = 64; },
       [](Spec& s) { s.box[0] = 65; }, Rule::kInnerBoxMultiple, 0, 65, 16, 64,
       "box[0] is 65 elements of bf16, 130 bytes; the copy engine moves multiples of 16 bytes. Use 64 elements."},
      {"InnerBoxFitsSwizzle128B", good(), [](Spec& s) { s.box[0] = 64; }, [](Spec& s) { s.box[0] = 72; },
       Rule::kInnerBoxSwizzle, 0, 72, 128, 64,
       "box[0] is 72 elements of bf16, 144 bytes; swizzle 128B takes at most 128 bytes. Use 64 elements, or a "
       "wider "
       "swizzle, or split the tile."},
      {"InnerBoxFitsSwizzle64B", good(),
       [](Spec& s) {
         s.swizzle = Swizzle::k64B;
         s.box[0] = 32;
       },
       [](Spec& s) {
         s.swizzle = Swizzle::k64B;
         s.box[0] = 40;
       },
       Rule::kInnerBoxSwizzle, 0, 40, 64, 32,
       "box[0] is 40 elements of bf16, 80 bytes; swizzle 64B takes at most 64 bytes. Use 32 elements, or a wider "
       "swizzle, or split the tile."},
      {"InnerBoxFitsSwizzle32B", good(),
       [](Spec& s) {
         s.swizzle = Swizzle::k32B;
         s.box[0] = 16;
       },
       [](Spec& s) {
         s.swizzle = Swizzle::k32B;
         s.box[0] = 24;
       },
       Rule::kInnerBoxSwizzle, 0, 24, 32, 16,
       "box[0] is 24 elements of bf16, 48 bytes; swizzle 32B takes at most 32 bytes. Use 16 elements, or a wider "
       "swizzle, or split the tile."},
      {"InnerBoxFitsSwizzle128BWith32ByteAtoms", good(), [](Spec& s) { s.swizzle = Swizzle::k128BAtom32B; },
       [](Spec& s) {
         s.swizzle = Swizzle::k128BAtom32B;
         s.box[0] = 72;
       },
       Rule::kInnerBoxSwizzle, 0, 72, 128, 64,
       "box[0] is 72 elements of bf16, 144 bytes; swizzle 128B with 32-byte atoms takes at most 128 bytes. Use "
       "64 "
       "elements, or a wider swizzle, or split the tile."},
      {"ElementStrideAtLeast1", good(), [](Spec& s) { s.element_strides[1] = 1; },
       [](Spec& s) { s.element_strides[1] = 0; }, Rule::kElementStride, 1, 0, 8, 1,
       "element_strides[1] is 0; the copy engine takes 1 to 8. Use 1."},
      {"ElementStrideAtMost8", good(), [](Spec& s) { s.element_strides[2] = 8; },
       [](Spec& s) { s.element_strides[2] = 9; }, Rule::kElementStride, 2, 9, 8, 8,
       "element_strides[2] is 9; the copy engine takes 1 to 8. Use 8."},
      {"BoxFitsTheSharedMemoryOfAnSm", good(),
       [](Spec& s) {
         s.box[0] = 64;
         s.box[1] = 228;
         s.box[2] = 8;
       },
       [](Spec& s) {
         s.box[0] = 64;
         s.box[1] = 229;
         s.box[2] = 8;
       },
       Rule::kBoxBytes, -1, 234496, 233472, 233472,
       "the box has 234496 bytes; a box has at most 233472, the shared memory of an SM. Split the tile."},
  };
  return all;
}

class TensorMapLimit : public testing::TestWithParam<Limit> {};

TEST_P(TensorMapLimit, HasTwoSidesAndSaysSo) {
  const Limit& limit = GetParam();
  TensorMapSpec passing = limit.base;
  limit.passes(passing);
  EXPECT_EQ(check(passing, limit.sm).rule, Rule::kNone) << message(check(passing, limit.sm), passing);

  TensorMapSpec failing = limit.base;
  limit.fails(failing);
  const TensorMapFault fault = check(failing, limit.sm);
  EXPECT_EQ(fault.rule, limit.rule);
  EXPECT_EQ(fault.dimension, limit.dimension);
  EXPECT_EQ(fault.value, limit.value);
  EXPECT_EQ(fault.limit, limit.limit);
  EXPECT_EQ(fault.nearest, limit.nearest);
  EXPECT_EQ(message(fault, failing), "tensor map: " + limit.text);
}

INSTANTIATE_TEST_SUITE_P(Rules, TensorMapLimit, testing::ValuesIn(limits()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(TensorMapRules, EachIsCoveredByALimit) {
  std::vector<bool> seen(static_cast<std::size_t>(Rule::kBoxBytes) + 1);
  seen[0] = true;
  for (const Limit& limit : limits()) seen[static_cast<std::size_t>(limit.rule)] = true;
  for (std::size_t rule = 0; rule < seen.size(); ++rule) EXPECT_TRUE(seen[rule]) << "rule " << rule;
}

// Puts the nearest value of a fault into the field that the fault is about.
void repair(TensorMapSpec& spec, const TensorMapFault& fault) {
  const auto d = static_cast<std::size_t>(fault.dimension);
  switch (fault.rule) {
    case Rule::kRank:
    case Rule::kInterleaveRank: spec.rank = static_cast<std::uint32_t>(fault.nearest); break;
    case Rule::kTypeNeedsSm100: spec.type = static_cast<TensorType>(fault.nearest); break;
    case Rule::kSwizzleNeedsSm100:
    case Rule::kPackedSwizzle: spec.swizzle = static_cast<Swizzle>(fault.nearest); break;
    case Rule::kPackedInterleave: spec.interleave = static_cast<Interleave>(fault.nearest); break;
    case Rule::kFillType: spec.fill = static_cast<OobFill>(fault.nearest); break;
    case Rule::kAddressAlignment:
      spec.address = reinterpret_cast<const void*>(static_cast<std::uintptr_t>(fault.nearest));
      break;
    case Rule::kDim:
    case Rule::kDimMultiple: spec.dims[d] = fault.nearest; break;
    case Rule::kStrideRange:
    case Rule::kStrideAlignment: spec.strides[d - 1] = fault.nearest; break;
    case Rule::kBox:
    case Rule::kPackedBox:
    case Rule::kInnerBoxMultiple:
    case Rule::kInnerBoxSwizzle: spec.box[d] = static_cast<std::uint32_t>(fault.nearest); break;
    case Rule::kElementStride: spec.element_strides[d] = static_cast<std::uint32_t>(fault.nearest); break;
    case Rule::kBoxBytes:
      for (std::uint32_t outer = 1; outer < spec.rank; ++outer) spec.box[outer] = 1;
      break;
    default: FAIL() << "rule " << static_cast<int>(fault.rule) << " has no number to repair";
  }
}

TEST(TensorMapFault, NearestValueRepairsTheField) {
  std::mt19937_64 random(2027);
  const auto pick = [&](std::uint64_t low, std::uint64_t high) { return low + random() % (high - low + 1); };
  int repaired = 0;
  for (int i = 0; i < 20000; ++i) {
    TensorMapSpec spec{.type = static_cast<TensorType>(pick(0, 15)),
                       .rank = static_cast<std::uint32_t>(pick(0, 6)),
                       .address = reinterpret_cast<const void*>(static_cast<std::uintptr_t>(pick(64, 256))),
                       .interleave = static_cast<Interleave>(pick(0, 2)),
                       .swizzle = static_cast<Swizzle>(pick(0, 4)),
                       .fill = static_cast<OobFill>(pick(0, 1))};
    for (auto& dim : spec.dims) dim = pick(0, 1) != 0 ? pick(0, 300) : pick((1ull << 32) - 2, (1ull << 32) + 2);
    for (auto& stride : spec.strides)
      stride = pick(0, 1) != 0 ? pick(0, 300) : pick((1ull << 40) - 40, 1ull << 40);
    for (auto& box : spec.box) box = static_cast<std::uint32_t>(pick(0, 300));
    for (auto& stride : spec.element_strides) stride = static_cast<std::uint32_t>(pick(0, 10));
    // Each repair settles its rule for good, so a map is mended in as many steps as it has broken fields.
    int steps = 0;
    for (TensorMapFault fault = check(spec, 90); fault; fault = check(spec, 90)) {
      repair(spec, fault);
      ASSERT_LT(++steps, 40) << message(fault, spec);
      ASSERT_FALSE(testing::Test::HasFatalFailure());
    }
    repaired += steps;
  }
  EXPECT_GT(repaired, 20000);
}

TEST(TensorMapSpec, IsCheckedAtCompileTime) {
  constexpr TensorMapSpec spec{.type = TensorType::kBF16,
                               .rank = 2,
                               .dims = {4096, 1024},
                               .strides = {8192},
                               .box = {64, 128},
                               .swizzle = Swizzle::k128B};
  static_assert(!check_shape(spec));
  static_assert(check(spec).rule == Rule::kNullAddress);
  constexpr TensorMapSpec wide{
      .type = TensorType::kBF16, .rank = 1, .dims = {4096}, .box = {72}, .swizzle = Swizzle::k128B};
  static_assert(check_shape(wide).rule == Rule::kInnerBoxSwizzle && check_shape(wide).nearest == 64);
}

TEST(TensorMapSpec, KnowsTheSizeOfEveryType) {
  const std::uint32_t bits[] = {8, 16, 32, 32, 64, 64, 16, 32, 64, 16, 32, 32, 32, 4, 4, 6};
  for (int type = 0; type < 16; ++type) EXPECT_EQ(bits_per_element(number<TensorType>(type)), bits[type]) << type;
  EXPECT_EQ(bits_per_element(number<TensorType>(16)), 0u);
}

TEST(TensorMapSpec, TakesNanFillForFloatingTypesAlone) {
  for (int type = 0; type < 13; ++type) {
    const TensorMapSpec spec{.type = number<TensorType>(type),
                             .rank = 1,
                             .address = g_tensor,
                             .dims = {16},
                             .box = {16},
                             .fill = OobFill::kNan};
    EXPECT_EQ(check(spec).rule, type < 6 ? Rule::kFillType : Rule::kNone) << type;
  }
}

TEST(MakeTensorMap, RefusesABrokenRuleAsInputError) {
  TensorMapSpec spec = good();
  spec.box[1] = 300;
  try {
    make_tensor_map(spec);
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_STREQ(
        error.what(),
        "tensor map: box[1] is 300 elements; the copy engine takes 1 to 256. Use 256 or split the tile.");
  }
  spec.box[1] = 256;
  EXPECT_NO_THROW(make_tensor_map(spec));
}

TEST(MakeTensorMap, GivesAMapThatDecodesToTheSpec) {
  std::mt19937_64 random(7);
  const auto pick = [&](std::uint64_t low, std::uint64_t high) { return low + random() % (high - low + 1); };
  int made = 0;
  for (int i = 0; i < 20000; ++i) {
    TensorMapSpec spec{.type = static_cast<TensorType>(pick(0, 12)),
                       .rank = static_cast<std::uint32_t>(pick(1, 5)),
                       .address = reinterpret_cast<const void*>(static_cast<std::uintptr_t>(random() / 16 * 16)),
                       .interleave = static_cast<Interleave>(pick(0, 2)),
                       .swizzle = static_cast<Swizzle>(pick(0, 4)),
                       .l2_promotion = static_cast<L2Promotion>(pick(0, 3)),
                       .fill = static_cast<OobFill>(pick(0, 1))};
    for (std::uint32_t d = 0; d < spec.rank; ++d) {
      spec.dims[d] = pick(1, 1ull << (8 * pick(0, 4)));
      spec.box[d] = static_cast<std::uint32_t>(d == 0 ? 16 * pick(1, 16) : pick(1, d == 1 ? 256 : 4));
      spec.element_strides[d] = static_cast<std::uint32_t>(pick(1, 8));
      if (d > 0) spec.strides[d - 1] = pick(0, (1ull << 36) - 1) * 16;
    }
    if (check(spec)) continue;
    const isa::DecodedTensorMap decoded = isa::tensor_map_decode(make_tensor_map(spec));
    ASSERT_EQ(decoded.state, isa::TensorMapState::kFine);
    ASSERT_EQ(decoded.spec, spec);
    ++made;
  }
  EXPECT_GT(made, 3000);
}

TEST(MakeTensorMap, KeepsTheLargestDims) {
  TensorMapSpec spec = good();
  for (int d = 0; d < 3; ++d) spec.dims[d] = 1ull << 32;
  EXPECT_EQ(isa::tensor_map_decode(make_tensor_map(spec)).spec, spec);
}

TEST(TensorMap, TellsEveryFlippedBit) {
  const TensorMap map = make_tensor_map(good());
  for (int bit = 0; bit < 1024; ++bit) {
    TensorMap bent = map;
    bent.opaque[bit / 64] ^= 1ull << bit % 64;
    const auto expected = bit < 64   ? isa::TensorMapState::kNotATensorMap
                          : bit < 80 ? isa::TensorMapState::kOtherVersion
                                     : isa::TensorMapState::kDamaged;
    EXPECT_EQ(isa::tensor_map_decode(bent).state, expected) << "bit " << bit;
  }
}

TEST(TensorMap, IsNotSeenInOtherMemory) {
  EXPECT_EQ(isa::tensor_map_decode(TensorMap{}).state, isa::TensorMapState::kNotATensorMap);
  std::mt19937_64 random(11);
  TensorMap noise;
  for (auto& word : noise.opaque) word = random();
  EXPECT_EQ(isa::tensor_map_decode(noise).state, isa::TensorMapState::kNotATensorMap);
}

TEST(TensorMap2d, DescribesARowMajorMatrix) {
  const MatrixMapSpec matrix{.type = tensor_type<bf16>,
                             .address = g_tensor,
                             .rows = 1024,
                             .cols = 4096,
                             .box_rows = 128,
                             .box_cols = 64,
                             .swizzle = Swizzle::k128B};
  const TensorMapSpec expected{.type = TensorType::kBF16,
                               .rank = 2,
                               .address = g_tensor,
                               .dims = {4096, 1024},
                               .strides = {8192},
                               .box = {64, 128},
                               .swizzle = Swizzle::k128B,
                               .l2_promotion = L2Promotion::k128B};
  EXPECT_EQ(isa::tensor_map_decode(tensor_map_2d(matrix)).spec, expected);
  MatrixMapSpec pitched = matrix;
  pitched.row_bytes = 8208;
  EXPECT_EQ(tensor_map_spec(pitched).strides[0], 8208u);
  pitched.row_bytes = 8200;
  EXPECT_THROW(tensor_map_2d(pitched), InputError);
}

TEST(TensorType, FollowsTheElementType) {
  EXPECT_EQ(tensor_type<bf16>, TensorType::kBF16);
  EXPECT_EQ(tensor_type<fp16>, TensorType::kF16);
  EXPECT_EQ(tensor_type<float>, TensorType::kF32);
  EXPECT_EQ(tensor_type<tf32>, TensorType::kTF32);
  EXPECT_EQ(tensor_type<double>, TensorType::kF64);
  EXPECT_EQ(tensor_type<e4m3>, TensorType::kU8);
  EXPECT_EQ(tensor_type<std::uint16_t>, TensorType::kU16);
  EXPECT_EQ(tensor_type<std::int32_t>, TensorType::kI32);
  EXPECT_EQ(tensor_type<std::uint64_t>, TensorType::kU64);
}

}  // namespace
}  // namespace heddle
