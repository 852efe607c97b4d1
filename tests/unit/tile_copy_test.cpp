// SPDX-License-Identifier: Apache-2.0
//
// The tile copy in the simulated SM: every byte of what it copies, and of what its tiles look like in shared
// memory.
#include <heddle/host/error.h>
#include <heddle/sim/schedule.h>
#include <heddle/testing/mutant.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "../support/schedule_share.h"
#include "../support/tile_copy_reference.h"
#include "tile_copy/tile_copy_host.h"

namespace heddle {
namespace {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  Bytes bytes(std::size_t count) {
    Bytes result(count);
    for (unsigned char& byte : result) byte = static_cast<unsigned char>(engine_());
    return result;
  }

 private:
  std::mt19937_64 engine_;
};

// The i-th of the 8 x 4 x 2 x 4 combinations of stages, consumers, clusters and swizzles, with a random tensor.
// Inner boxes are as wide as the swizzle, so that every byte of a tile is written.
TileCopyProblem problem_of(int i, bool image, Random& random) {
  TileCopyProblem p;
  p.stages = static_cast<std::uint32_t>(1 + i % 8);
  p.consumer_warps = static_cast<std::uint32_t>(1 + i / 8 % 4);
  p.cluster = static_cast<std::uint32_t>(1 + i / 32 % 2);
  p.swizzle_bytes = std::array<std::uint32_t, 4>{0, 32, 64, 128}[static_cast<std::size_t>(i / 64 % 4)];
  p.ctas = p.cluster * static_cast<std::uint32_t>(random.pick(1, 3));
  p.rank = static_cast<std::uint32_t>(1 + i % 5);
  p.element_bytes = 1u << random.pick(0, 3);
  p.image = image;
  const std::uint32_t row_bytes =
      p.swizzle_bytes != 0 ? p.swizzle_bytes : static_cast<std::uint32_t>(16 * random.pick(1, 8));
  std::int64_t rows_left = 24;
  for (std::uint32_t d = 0; d < p.rank; ++d) {
    if (d == 0) {
      p.box[0] = row_bytes / p.element_bytes;
    } else {
      p.box[d] =
          static_cast<std::uint32_t>(random.pick(1, std::min<std::int64_t>(rows_left, p.rank == 2 ? 24 : 4)));
      rows_left /= p.box[d];
    }
    const std::int64_t boxes = random.pick(1, p.rank <= 2 ? 5 : p.rank == 3 ? 3 : 2);
    p.dims[d] =
        static_cast<std::uint64_t>(std::max<std::int64_t>(1, boxes * p.box[d] - random.pick(0, p.box[d])));
    const std::int64_t granule = d == 0 ? 16 / p.element_bytes : 1;
    const std::int64_t lowest = image ? -static_cast<std::int64_t>(p.box[d]) - granule : 0;
    p.start[d] = static_cast<std::int32_t>(
        random.pick(lowest, std::min<std::int64_t>(p.box[d], static_cast<std::int64_t>(p.dims[d]) - 1)) /
        granule * granule);
  }
  return p;
}

std::string describe(const TileCopyProblem& p) {
  std::string text = "stages " + std::to_string(p.stages) + " consumers " + std::to_string(p.consumer_warps) +
                     " cluster " + std::to_string(p.cluster) + " of " + std::to_string(p.ctas) + " swizzle " +
                     std::to_string(p.swizzle_bytes) + " element " + std::to_string(p.element_bytes);
  for (std::uint32_t d = 0; d < p.rank; ++d) {
    text += "\n  dim " + std::to_string(p.dims[d]) + " box " + std::to_string(p.box[d]) + " from " +
            std::to_string(p.start[d]);
  }
  return text;
}

TileCopyResult run(const TileCopyProblem& problem, const Bytes& source, const std::string& schedule = "rr") {
  return tile_copy<Target::kSim>(problem, {.kernel = "tile_copy", .schedule = schedule}, source);
}

std::string schedule_of(int run_idx, int i) {
  return run_idx == 0 ? "rr" : sim::Schedule::random(static_cast<std::uint64_t>(1000 * run_idx + i)).name();
}

// How many bytes differ, where a reference says what they are.
std::size_t differing(const Bytes& actual, const Bytes& expected, const std::vector<bool>& is_known = {}) {
  EXPECT_EQ(actual.size(), expected.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < std::min(actual.size(), expected.size()); ++i) {
    count += (is_known.empty() || is_known[i]) && actual[i] != expected[i] ? 1 : 0;
  }
  return count;
}

TEST(TileCopy, CopiesEveryByteForAllStagesConsumersClustersAndSwizzles) {
  Random random(20261119);
  for (int i = 0; i < 256; ++i) {
    if (!test::is_in_share(static_cast<std::uint64_t>(i))) continue;
    const TileCopyProblem problem = problem_of(i, false, random);
    const Tensor tensor(problem);
    const Bytes source = random.bytes(tensor.bytes);
    ASSERT_EQ(plan_tile_copy(problem).tensor_bytes, tensor.bytes) << describe(problem);
    const Bytes expected = copied(tensor, source);
    for (int r = 0; r < 3; ++r) {
      const TileCopyResult result = run(problem, source, schedule_of(r, i));
      ASSERT_TRUE(result.outcome.ok()) << describe(problem) << "\n" << result.outcome.report;
      ASSERT_EQ(result.outputs.size(), problem.cluster);
      for (const Bytes& output : result.outputs) ASSERT_EQ(differing(output, expected), 0u) << describe(problem);
    }
  }
}

TEST(TileCopy, TilesLieInSharedMemoryAsTheSwizzleSaysAlsoOutOfBounds) {
  Random random(20261120);
  std::int64_t boxes = 0;
  for (int i = 0; i < 256; ++i) {
    if (!test::is_in_share(static_cast<std::uint64_t>(i))) continue;
    const TileCopyProblem problem = problem_of(i, true, random);
    const Tensor tensor(problem);
    const Bytes source = random.bytes(tensor.bytes);
    const Image expected = image_of(tensor, source);
    boxes += tensor.boxes;
    for (int r = 0; r < 3; ++r) {
      const TileCopyResult result = run(problem, source, schedule_of(r, i));
      ASSERT_TRUE(result.outcome.ok()) << describe(problem) << "\n" << result.outcome.report;
      ASSERT_EQ(result.outputs.size(), problem.cluster);
      for (const Bytes& output : result.outputs) {
        ASSERT_EQ(differing(output, expected.bytes, expected.is_written), 0u) << describe(problem);
      }
    }
  }
  if (test::is_whole()) {
    EXPECT_GT(boxes, 1000);
  }
}

TEST(TileCopy, BoxNarrowerThanItsSwizzleKeepsThePitchOfTheSpan) {
  Random random(20261121);
  for (const std::uint32_t swizzle : {32u, 64u, 128u}) {
    for (std::uint32_t row_bytes = 16; row_bytes < swizzle; row_bytes += 16) {
      TileCopyProblem problem{.rank = 2,
                              .element_bytes = 2,
                              .dims = {40, 37},
                              .box = {row_bytes / 2, 16},
                              .start = {-8, -3},
                              .swizzle_bytes = swizzle,
                              .image = true};
      const Tensor tensor(problem);
      const Bytes source = random.bytes(tensor.bytes);
      const TileCopyResult result = run(problem, source, "5eed");
      ASSERT_TRUE(result.outcome.ok()) << result.outcome.report;
      const Image expected = image_of(tensor, source);
      EXPECT_EQ(differing(result.outputs.at(0), expected.bytes, expected.is_written), 0u) << describe(problem);
      EXPECT_EQ(
          static_cast<std::size_t>(std::count(expected.is_written.begin(), expected.is_written.end(), true)),
          expected.bytes.size() * row_bytes / swizzle);
    }
  }
}

TEST(TileCopy, RowsWithGapsBetweenThemKeepThem) {
  // 10 x 6 numbers of 4 bytes, rows 64 bytes apart.
  TileCopyProblem problem{.rank = 2,
                          .element_bytes = 4,
                          .dims = {10, 6},
                          .strides = {64},
                          .box = {4, 4},
                          .swizzle_bytes = 0,
                          .ctas = 1};
  Random random(7);
  const Bytes source = random.bytes(6 * 64);
  const TileCopyResult result = run(problem, source);
  ASSERT_TRUE(result.outcome.ok()) << result.outcome.report;
  Bytes expected(6 * 64, kTileCopyPoison);
  for (std::size_t row = 0; row < 6; ++row) {
    for (std::size_t byte = 0; byte < 48; ++byte)
      expected[64 * row + byte] = byte < 40 ? source[64 * row + byte] : 0;
  }
  EXPECT_EQ(result.outputs.at(0), expected);
}

// A small problem that runs; what is changed below must be refused.
TileCopyProblem small() {
  return {.rank = 2, .element_bytes = 2, .dims = {64, 16}, .box = {16, 8}, .swizzle_bytes = 32, .ctas = 2};
}

template <class Change>
std::string refusal(const Change& change) {
  TileCopyProblem problem = small();
  change(problem);
  try {
    run(problem, Bytes(plan_tile_copy(problem).tensor_bytes));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(TileCopy, RefusesWhatCannotBeRunAndSaysWhatCan) {
  using P = TileCopyProblem;
  EXPECT_EQ(refusal([](P&) {}), "");
  EXPECT_EQ(refusal([](P& p) { p.rank = 0; }), "tile copy: rank 0; a tensor map has 1 to 5 dimensions");
  EXPECT_EQ(refusal([](P& p) { p.rank = 6; }), "tile copy: rank 6; a tensor map has 1 to 5 dimensions");
  EXPECT_EQ(refusal([](P& p) { p.element_bytes = 3; }), "tile copy: elements of 3 bytes; 1, 2, 4 or 8");
  EXPECT_EQ(refusal([](P& p) { p.swizzle_bytes = 16; }), "tile copy: a swizzle of 16 bytes; 0, 32, 64 or 128");
  EXPECT_EQ(refusal([](P& p) { p.stages = 0; }), "tile copy: 0 stages; 1 to 8");
  EXPECT_EQ(refusal([](P& p) { p.stages = 9; }), "tile copy: 9 stages; 1 to 8");
  EXPECT_EQ(refusal([](P& p) { p.consumer_warps = 0; }), "tile copy: 0 consumer warps; 1 to 4");
  EXPECT_EQ(refusal([](P& p) { p.consumer_warps = 5; }), "tile copy: 5 consumer warps; 1 to 4");
  EXPECT_EQ(refusal([](P& p) { p.cluster = 3; }), "tile copy: a cluster of 3 CTAs; 1 or 2");
  EXPECT_EQ(refusal([](P& p) { p.ctas = 0; }),
            "tile copy: 0 CTAs; a multiple of the cluster's 1 that is not zero");
  EXPECT_EQ(refusal([](P& p) { p.cluster = 2, p.ctas = 3; }),
            "tile copy: 3 CTAs; a multiple of the cluster's 2 that is not zero");
  EXPECT_EQ(refusal([](P& p) { p.dims[1] = 0; }), "tile copy: dims[1] is 0; at least 1");
  EXPECT_EQ(refusal([](P& p) { p.box[1] = 257; }), "tile copy: box[1] is 257; the copy engine takes 1 to 256");
  EXPECT_EQ(refusal([](P& p) { p.box[0] = 0; }), "tile copy: box[0] is 0; the copy engine takes 1 to 256");
  EXPECT_EQ(refusal([](P& p) { p.start[1] = 16; }), "tile copy: start[1] is 16; the tensor ends at 16");
  EXPECT_EQ(refusal([](P& p) { p.mistake = "forget"; }), "tile copy: no mistake is called 'forget'");
}

TEST(TileCopy, RefusesBoxesThatDoNotFitAStage) {
  EXPECT_EQ(refusal([](TileCopyProblem& p) { p.box[0] = 128, p.box[1] = 65, p.swizzle_bytes = 0; }),
            "tile copy: a box takes 16640 bytes of shared memory; a stage has 16384");
  // The size of this one does not fit into 32 bits.
  TileCopyProblem huge{.rank = 5, .element_bytes = 1, .dims = {1, 1, 1, 1, 1}, .box = {256, 256, 256, 256, 256}};
  try {
    plan_tile_copy(huge);
    ADD_FAILURE() << "a box of 2^40 bytes was taken";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "tile copy: a box takes 1099511627776 bytes of shared memory; a stage has 16384");
  }
}

TEST(TileCopy, RefusesWhatTheTensorMapRefuses) {
  EXPECT_EQ(
      refusal([](TileCopyProblem& p) { p.box[0] = 12; }),
      "tensor map: box[0] is 12 elements of u16, 24 bytes; the copy engine moves multiples of 16 bytes. Use 16 "
      "elements.");
  EXPECT_EQ(
      refusal([](TileCopyProblem& p) { p.box[0] = 32; }),
      "tensor map: box[0] is 32 elements of u16, 64 bytes; swizzle 32B takes at most 32 bytes. Use 16 elements, "
      "or a wider swizzle, or split the tile.");
  EXPECT_EQ(refusal([](TileCopyProblem& p) { p.strides[0] = 136; }),
            "tensor map: strides[0] is 136 bytes; the copy engine takes multiples of 16. Use 144.");
}

TEST(TileCopy, RefusesASourceOfAnotherSize) {
  try {
    run(small(), Bytes(64 * 16 * 2 - 1));
    ADD_FAILURE() << "a source that is too short was taken";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "tile copy: the source has 2047 bytes; the tensor takes 2048");
  }
}

TEST(TileCopy, StartOffSixteenBytesIsReportedByTheSimulatedSm) {
  TileCopyProblem problem = small();
  problem.image = true;
  problem.start[0] = -4;
  const TileCopyResult result = run(problem, Bytes(64 * 16 * 2));
  EXPECT_EQ(
      result.outcome.report.substr(0, result.outcome.report.find('\n')),
      "[bad_coordinates] cp.async.bulk.tensor load with first coordinate -4; a box starts on a multiple of 16 "
      "bytes, here 8 elements");
  EXPECT_TRUE(result.outputs.empty());
  problem.start[0] = -8;
  EXPECT_TRUE(run(problem, Bytes(64 * 16 * 2)).outcome.ok());
}

TEST(TileCopy, EveryPlantedMistakeIsReportedWithItsPipelineAndPlace) {
  for (const std::uint32_t cluster : {1u, 2u}) {
    for (const MistakeName& planted : kMistakes) {
      TileCopyProblem problem = small();
      problem.box[1] = 1;  // 64 boxes, so that the ring goes round
      problem.cluster = problem.ctas = cluster;
      problem.mistake = planted.name;
      for (int r = 0; r < (test::is_whole() ? 6 : 2); ++r) {
        const std::string report = run(problem, Bytes(64 * 16 * 2), schedule_of(r, 1)).outcome.report;
        // A read before the first copy into a stage was issued: nothing ties the memory to a pipeline yet.
        const bool is_before_all =
            planted.mistake == Mistake::kNoConsumerWait && report.starts_with("[uninitialised_read]");
        EXPECT_TRUE(is_before_all || report.find("input[") != std::string::npos)
            << planted.name << " is not noticed\n"
            << report;
        EXPECT_NE(report.find("tile_copy.h:"), std::string::npos) << planted.name << "\n" << report;
      }
      problem.mistake = "";
      EXPECT_TRUE(run(problem, Bytes(64 * 16 * 2)).outcome.ok());
    }
  }
}

}  // namespace
}  // namespace heddle
