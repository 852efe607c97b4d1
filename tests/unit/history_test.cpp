// SPDX-License-Identifier: Apache-2.0
#include <heddle/sim/history.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>

namespace heddle::test {
namespace {

using sim::History;

class Boxes {
 public:
  History::Range next() {
    History::Range box{.first = 1000 + number(0, 200), .bytes = number(1, 20), .way = History::kWrite};
    box.rows = number(1, 5);
    box.pitch = box.bytes + number(0, 20);
    box.slices = number(1, 3);
    box.slice = (box.rows - 1) * box.pitch + box.bytes + number(0, 30);
    return box;
  }

 private:
  std::uint64_t number(std::uint64_t from, std::uint64_t to) { return from + engine_() % (to - from + 1); }
  std::mt19937_64 engine_{7};
};

std::set<std::uint64_t> bytes_of(const History::Range& box) {
  std::set<std::uint64_t> bytes;
  for (std::uint64_t z = 0; z < box.slices; ++z) {
    for (std::uint64_t y = 0; y < box.rows; ++y) {
      for (std::uint64_t x = 0; x < box.bytes; ++x) bytes.insert(box.first + z * box.slice + y * box.pitch + x);
    }
  }
  return bytes;
}

// A copy of rows touches nothing of what lies between them.
TEST(History, FindsTheFirstByteThatTwoBoxesShare) {
  Boxes boxes;
  int shared = 0;
  for (int i = 0; i < 20000; ++i) {
    const History::Range before = boxes.next(), after = boxes.next();
    const std::set<std::uint64_t> wanted = bytes_of(after);
    std::uint64_t first = 0;
    History::Work copy, kernel;
    copy.ranges.push_back(before);
    for (const std::uint64_t byte : bytes_of(before)) {
      if (first == 0 && wanted.count(byte) != 0) first = byte;
      kernel.touch(byte, 1, History::kWrite, 0, 0, 0);
    }
    shared += first != 0;
    for (const History::Work* work : {&copy, &kernel}) {
      const auto found = History::find(*work, after);
      ASSERT_EQ(found ? found->address : 0, first) << "pair " << i << (work == &copy ? ", copies" : ", a kernel");
    }
  }
  EXPECT_GT(shared, 5000);
  EXPECT_LT(shared, 15000);
}

}  // namespace
}  // namespace heddle::test
