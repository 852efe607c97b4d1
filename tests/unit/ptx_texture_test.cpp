// SPDX-License-Identifier: Apache-2.0
#include "../support/ptx_run.h"

#include <bit>
#include <cstring>
#include <string>
#include <vector>

namespace heddle::test {
namespace {

using sim::Texture;

constexpr std::uint64_t kHandle = 7;

struct Texels {
  std::vector<std::uint8_t> bytes;
  Texture texture;

  template <class T>
  static Texels of(std::array<std::uint32_t, 3> size, std::uint32_t layers, std::uint32_t channels,
                   Texture::Channel channel, const std::vector<T>& values) {
    Texels made;
    made.bytes.resize(values.size() * sizeof(T));
    std::memcpy(made.bytes.data(), values.data(), made.bytes.size());
    made.texture.size = size;
    made.texture.layers = layers;
    made.texture.channels = channels;
    made.texture.channel_bytes = sizeof(T);
    made.texture.channel = channel;
    made.texture.row_bytes = std::uint64_t{size[0]} * channels * sizeof(T);
    made.texture.slice_bytes = made.texture.row_bytes * size[1];
    return made;
  }
};

// 4 x 3 floats: 10 * y + x.
Texels plane() {
  std::vector<float> values;
  for (int y = 0; y < 3; ++y) {
    for (int x = 0; x < 4; ++x) values.push_back(static_cast<float>(10 * y + x));
  }
  return Texels::of({4, 3, 1}, 1, 1, Texture::Channel::kFloat, values);
}

// One thread runs the instructions; %rd5 is the handle, and %r20 to %r23 go to `out`.
sim::Report run(Texels& texels, const std::string& instructions, std::vector<std::uint32_t>& out,
                bool is_written = true) {
  texels.texture.address = reinterpret_cast<std::uint64_t>(texels.bytes.data());
  const sim::TextureTable table = {{kHandle, texels.texture}};
  const sim::PtxModule module = sim::PtxModule::load(
      ptx_module("ld.param.u64 %rd1, [out]; mov.u64 %rd5, " + std::to_string(kHandle) + ";\n" + instructions +
                 "\nst.global.v4.b32 [%rd1], {%r20, %r21, %r22, %r23}; ret;"),
      "test.ptx");
  sim::GlobalMemory memory;
  memory.add("out", out.data(), 4 * out.size());
  if (is_written) {
    memory.add("texels", texels.bytes.data(), texels.bytes.size());
  } else {
    memory.add_unwritten(texels.texture.address, "texels", texels.bytes.data(), texels.bytes.size());
  }
  std::uint32_t unused = 0;
  memory.add_read_only("in", &unused, sizeof(unused));
  sim::PtxArguments arguments;
  arguments.add(out.data());
  arguments.add(&unused);
  sim::PtxLaunch launch;
  launch.block = {1, 1, 1};
  launch.textures = &table;
  return module.launch("k", {.memory = &memory, .kernel = "k"}, launch, arguments);
}

std::vector<std::uint32_t> words(Texels texels, const std::string& instructions) {
  std::vector<std::uint32_t> out(4);
  const sim::Report report = run(texels, instructions, out);
  EXPECT_TRUE(report.ok()) << report.text();
  return out;
}

std::string hex(float value) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text = "0f";
  for (int digit = 7; digit >= 0; --digit) text += kDigits[std::bit_cast<std::uint32_t>(value) >> 4 * digit & 15];
  return text;
}

// The first channel at these coordinates.
float at(const Texels& texels, float x, float y) {
  const std::vector<std::uint32_t> out =
      words(texels, "tex.2d.v4.f32.f32 {%r20, %r21, %r22, %r23}, [%rd5, {" + hex(x) + ", " + hex(y) + "}];");
  return std::bit_cast<float>(out[0]);
}

TEST(PtxTexture, PointsTakeTheTexelThatTheyLieIn) {
  EXPECT_EQ(at(plane(), 0.5f, 0.5f), 0);
  EXPECT_EQ(at(plane(), 3.9f, 2.1f), 23);
  EXPECT_EQ(at(plane(), 1.0f, 1.99f), 11);
}

TEST(PtxTexture, BeyondAnEdgeIsTheLastTexelOrTheBorder) {
  EXPECT_EQ(at(plane(), -5.0f, 9.0f), 20);
  Texels bordered = plane();
  bordered.texture.beyond = {Texture::Beyond::kBorder, Texture::Beyond::kClamp, Texture::Beyond::kClamp};
  bordered.texture.border = {42, 0, 0, 0};
  EXPECT_EQ(at(bordered, -0.1f, 1.5f), 42);
  EXPECT_EQ(at(bordered, 0.1f, 7.5f), 20);
}

TEST(PtxTexture, UnitCoordinatesWrapAndMirror) {
  Texels wrapped = plane();
  wrapped.texture.beyond = {Texture::Beyond::kWrap, Texture::Beyond::kMirror, Texture::Beyond::kClamp};
  // Only coordinates from 0 to 1 do so.
  EXPECT_EQ(at(wrapped, 5.5f, 0.5f), 3);
  wrapped.texture.has_unit_coords = true;
  EXPECT_EQ(at(wrapped, 1.375f, 0.1f), 1);
  EXPECT_EQ(at(wrapped, -0.125f, 0.1f), 3);
  EXPECT_EQ(at(wrapped, 0.1f, 1.1f), 20);
  EXPECT_EQ(at(wrapped, 0.1f, 1.9f), 0);
}

TEST(PtxTexture, FilteringBlendsTheTexelsAround) {
  Texels filtered = plane();
  filtered.texture.is_filtered = true;
  EXPECT_EQ(at(filtered, 1.0f, 0.5f), 0.5f);
  EXPECT_EQ(at(filtered, 1.75f, 1.5f), 11.25f);
  EXPECT_EQ(at(filtered, 2.0f, 2.0f), 16.5f);
  EXPECT_EQ(at(filtered, 0.0f, 0.0f), 0);
  EXPECT_EQ(at(filtered, 9.0f, 9.0f), 23);
}

TEST(PtxTexture, IntegersAreWordsOrFractions) {
  Texels bytes =
      Texels::of<std::uint8_t>({2, 1, 1}, 1, 4, Texture::Channel::kUnsigned, {0, 51, 255, 128, 1, 2, 3, 4});
  EXPECT_EQ(words(bytes, "tex.2d.v4.u32.f32 {%r20, %r21, %r22, %r23}, [%rd5, {0f00000000, 0f00000000}];"),
            (std::vector<std::uint32_t>{0, 51, 255, 128}));
  bytes.texture.gives_fractions = true;
  const std::vector<std::uint32_t> fractions =
      words(bytes, "tex.2d.v4.f32.f32 {%r20, %r21, %r22, %r23}, [%rd5, {0f00000000, 0f00000000}];");
  EXPECT_EQ(std::bit_cast<float>(fractions[1]), 0.2f);
  EXPECT_EQ(std::bit_cast<float>(fractions[2]), 1.0f);
  const Texels shorts = Texels::of<std::int16_t>({2, 1, 1}, 1, 2, Texture::Channel::kSigned, {-3, 4, 5, -6});
  EXPECT_EQ(words(shorts, "tex.1d.v4.s32.s32 {%r20, %r21, %r22, %r23}, [%rd5, {1}];"),
            (std::vector<std::uint32_t>{5, 0xfffffffa, 0, 0}));
}

TEST(PtxTexture, LayersAndSlicesAreApart) {
  std::vector<float> values;
  for (int slice = 0; slice < 3; ++slice) {
    for (int texel = 0; texel < 4; ++texel) values.push_back(static_cast<float>(100 * slice + texel));
  }
  const Texels layered = Texels::of({2, 2, 1}, 3, 1, Texture::Channel::kFloat, values);
  const auto first = [](const std::vector<std::uint32_t>& out) { return std::bit_cast<float>(out[0]); };
  EXPECT_EQ(first(words(
                layered,
                "tex.a2d.v4.f32.f32 {%r20, %r21, %r22, %r23}, [%rd5, {2, 0f3fc00000, 0f3fc00000, 0f00000000}];")),
            203);
  EXPECT_EQ(first(words(
                layered,
                "tex.a2d.v4.f32.f32 {%r20, %r21, %r22, %r23}, [%rd5, {9, 0f00000000, 0f00000000, 0f00000000}];")),
            200);
  Texels volume = Texels::of({2, 2, 3}, 1, 1, Texture::Channel::kFloat, values);
  EXPECT_EQ(first(words(volume,
                        "tex.3d.v4.f32.f32 {%r20, %r21, %r22, %r23}, [%rd5, {0f3fc00000, 0f00000000, 0f3fc00000, "
                        "0f00000000}];")),
            101);
  volume.texture.is_filtered = true;
  EXPECT_EQ(first(words(volume,
                        "tex.level.3d.v4.f32.f32 {%r20, %r21, %r22, %r23}, [%rd5, {0f3f000000, 0f3f000000, "
                        "0f3f800000, 0f00000000}], 0f00000000;")),
            50);
}

TEST(PtxTexture, CubesHaveAFaceInEachDirection) {
  const Texels cube = Texels::of<float>({1, 1, 1}, 6, 1, Texture::Channel::kFloat, {0, 1, 2, 3, 4, 5});
  const char* const kDirections[] = {"0f3f800000, 0f00000000, 0f00000000", "0fbf800000, 0f00000000, 0f00000000",
                                     "0f00000000, 0f3f800000, 0f00000000", "0f00000000, 0fbf800000, 0f00000000",
                                     "0f00000000, 0f00000000, 0f3f800000", "0f00000000, 0f00000000, 0fbf800000"};
  for (std::uint32_t face = 0; face < 6; ++face) {
    const std::vector<std::uint32_t> out =
        words(cube, std::string("tex.cube.v4.f32.f32 {%r20, %r21, %r22, %r23}, [%rd5, {") + kDirections[face] +
                        ", 0f00000000}];");
    EXPECT_EQ(std::bit_cast<float>(out[0]), static_cast<float>(face));
  }
}

TEST(PtxTexture, GathersTakeTheFourTexelsAround) {
  const std::vector<std::uint32_t> out =
      words(plane(), "tld4.r.2d.v4.f32.f32 {%r20, %r21, %r22, %r23}, [%rd5, {0f40000000, 0f3f800000}];");
  const float expected[] = {11, 12, 2, 1};
  for (std::size_t r = 0; r < 4; ++r) EXPECT_EQ(std::bit_cast<float>(out[r]), expected[r]) << r;
}

TEST(PtxTexture, SizesAreAskedFor) {
  EXPECT_EQ(words(plane(),
                  "txq.width.b32 %r20, [%rd5]; txq.height.b32 %r21, [%rd5]; mov.b32 %r22, 0; mov.b32 %r23, 0;"),
            (std::vector<std::uint32_t>{4, 3, 0, 0}));
}

TEST(PtxTexture, SurfacesAreWrittenAndReadByByte) {
  Texels surface = plane();
  surface.texture.is_surface = true;
  const std::string access =
      "mov.b32 %r1, 77; sust.b.2d.b32.trap [%rd5, {8, 1}], {%r1};\n"
      "suld.b.2d.b32.trap {%r20}, [%rd5, {8, 1}]; suld.b.2d.b32.clamp {%r21}, [%rd5, {-4, 9}];\n"
      "suld.b.2d.b32.zero {%r22}, [%rd5, {16, 0}]; suld.b.2d.v2.b32.trap {%r23, %r2}, [%rd5, {0, 2}];";
  EXPECT_EQ(words(surface, access), (std::vector<std::uint32_t>{77, std::bit_cast<std::uint32_t>(20.0f), 0,
                                                                std::bit_cast<std::uint32_t>(20.0f)}));
}

TEST(PtxTexture, WhatIsNoneIsReported) {
  const std::string zeros = "mov.b32 %r20, 0; mov.b32 %r21, 0; mov.b32 %r22, 0; mov.b32 %r23, 0; ";
  std::vector<std::uint32_t> out(4);
  Texels texels = plane();
  EXPECT_TRUE(
      run(texels,
          "mov.u64 %rd5, 8; tex.2d.v4.f32.f32 {%r20, %r21, %r22, %r23}, [%rd5, {0f00000000, 0f00000000}];", out)
          .has("global_out_of_bounds"));
  // A texture is no surface, and no access may lie outside of one.
  EXPECT_FALSE(run(texels, zeros + "suld.b.2d.b32.zero {%r20}, [%rd5, {0, 0}];", out).ok());
  texels.texture.is_surface = true;
  EXPECT_TRUE(run(texels, zeros + "suld.b.2d.b32.trap {%r20}, [%rd5, {12, 2}];", out).ok());
  EXPECT_FALSE(run(texels, zeros + "suld.b.2d.b32.trap {%r20}, [%rd5, {16, 2}];", out).ok());
  EXPECT_FALSE(run(texels, zeros + "sust.b.2d.b32.trap [%rd5, {0, 3}], {%r20};", out).ok());
}

TEST(PtxTexture, TexelsThatNobodyWroteHaveNoValue) {
  const std::string access = "tex.2d.v4.f32.f32 {%r20, %r21, %r22, %r23}, [%rd5, {0f3f800000, 0f3f800000}];";
  for (const bool is_filtered : {false, true}) {
    for (const bool is_written : {false, true}) {
      Texels texels = plane();
      texels.texture.is_filtered = is_filtered;
      std::vector<std::uint32_t> out(4);
      const sim::Report report = run(texels, access, out, is_written);
      EXPECT_EQ(report.has("uninitialised_read"), !is_written) << report.text();
      // Nothing is done with it.
      EXPECT_TRUE(run(texels, access + "mov.b32 %r20, 0; mov.b32 %r21, 0; mov.b32 %r22, 0; mov.b32 %r23, 0;", out,
                      is_written)
                      .ok());
    }
  }
}

TEST(PtxTexture, SurfacesTakeAndGiveNoValuesThatNobodyWrote) {
  const std::string zeros = "mov.b32 %r20, 0; mov.b32 %r21, 0; mov.b32 %r22, 0; mov.b32 %r23, 0; ";
  const std::string load = zeros + "suld.b.2d.b32.trap {%r20}, [%rd5, {4, 1}]; ";
  const std::string copy = load + "sust.b.2d.b32.trap [%rd5, {0, 0}], {%r20}; mov.b32 %r20, 0;";
  // The texel is there, but where it comes from has no value.
  const std::string place =
      zeros +
      "sust.b.2d.b32.trap [%rd5, {12, 0}], {%r21}; suld.b.2d.b32.trap {%r1}, [%rd5, {0, 2}]; "
      "suld.b.2d.b32.clamp {%r20}, [%rd5, {%r1, 0}];";
  const std::string store = zeros + "sust.b.2d.b32.trap [%rd5, {4, 1}], {%r21}; ";
  std::vector<std::uint32_t> out(4);
  for (const bool is_written : {false, true}) {
    Texels surface = plane();
    surface.texture.is_surface = true;
    EXPECT_EQ(run(surface, load, out, is_written).has("uninitialised_read"), !is_written);
    EXPECT_EQ(run(surface, place, out, is_written).has("uninitialised_read"), !is_written);
    EXPECT_EQ(run(surface, copy, out, is_written).has("uninitialised_read"), !is_written);
    EXPECT_TRUE(run(surface, store + "suld.b.2d.b32.trap {%r20}, [%rd5, {4, 1}];", out, is_written).ok());
  }
}

TEST(PtxTexture, FacesThatAreNotThereAreReported) {
  const std::string access =
      "tex.cube.v4.f32.f32 {%r20, %r21, %r22, %r23}, "
      "[%rd5, {0f00000000, 0f00000000, 0fbf800000, 0f00000000}];";
  for (const std::uint32_t layers : {5u, 6u}) {
    Texels faces = Texels::of<float>({1, 1, 1}, 6, 1, Texture::Channel::kFloat, {0, 1, 2, 3, 4, 5});
    faces.texture.layers = layers;
    std::vector<std::uint32_t> out(4);
    const sim::Report report = run(faces, access, out);
    EXPECT_EQ(report.has("global_out_of_bounds"), layers == 5) << report.text();
  }
}

// Where a clamped access goes that fits into no row: the bytes of the next one are not it.
TEST(PtxTexture, ClampedAccessesFitIntoARow) {
  const std::string zeros = "mov.b32 %r20, 0; mov.b32 %r21, 0; mov.b32 %r22, 0; mov.b32 %r23, 0; ";
  for (const std::uint32_t width : {3u, 4u}) {
    Texels surface = Texels::of<std::uint8_t>({width, 2, 1}, 1, 1, Texture::Channel::kUnsigned,
                                              std::vector<std::uint8_t>(std::size_t{width} * 2));
    surface.texture.is_surface = true;
    std::vector<std::uint32_t> out(4);
    const sim::Report report = run(surface, zeros + "sust.b.2d.b32.clamp [%rd5, {0, 0}], {%r20};", out);
    EXPECT_EQ(report.has("global_out_of_bounds"), width == 3) << report.text();
  }
}

}  // namespace
}  // namespace heddle::test
