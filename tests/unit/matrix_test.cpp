// SPDX-License-Identifier: Apache-2.0
//
// stmatrix and ldmatrix in the simulated SM.
#include "../support/tiny_kernel.h"

#include <heddle/isa/matrix.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/warp.h>
#include <heddle/sim/event.h>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>

namespace heddle {
namespace {

using test::faults_with;
using test::is_silent;
using test::run_kernel;

// Four matrices, with a row of other bytes behind each of their rows.
struct Shared {
  alignas(16) std::uint16_t row[4][8][16];
};

// What element (row, column) of matrix m holds.
std::uint32_t element(std::uint32_t m, std::uint32_t row, std::uint32_t column) {
  return 256 * m + 16 * row + column;
}

// Register m of a lane, whose halves are two neighbours of a row, or with `transposed` of a column.
std::uint32_t fragment(std::uint32_t m, std::uint32_t lane, bool transposed) {
  const std::uint32_t row = lane / 4;
  const std::uint32_t column = 2 * (lane % 4);
  return transposed ? element(m, column, row) | element(m, column + 1, row) << 16
                    : element(m, row, column) | element(m, row, column + 1) << 16;
}

std::uint16_t* my_row(Shared& shared) { return shared.row[isa::laneid() / 8][isa::laneid() % 8]; }

template <std::uint32_t count>
void store(void* row, const std::uint32_t (&r)[count], bool transposed) {
  if constexpr (count == 1) {
    transposed ? isa::stmatrix_x1_trans(row, r) : isa::stmatrix_x1(row, r);
  } else if constexpr (count == 2) {
    transposed ? isa::stmatrix_x2_trans(row, r) : isa::stmatrix_x2(row, r);
  } else {
    transposed ? isa::stmatrix_x4_trans(row, r) : isa::stmatrix_x4(row, r);
  }
}

template <std::uint32_t count>
void load(std::uint32_t (&r)[count], const void* row, bool transposed) {
  if constexpr (count == 1) {
    transposed ? isa::ldmatrix_x1_trans(r, row) : isa::ldmatrix_x1(r, row);
  } else if constexpr (count == 2) {
    transposed ? isa::ldmatrix_x2_trans(r, row) : isa::ldmatrix_x2(r, row);
  } else {
    transposed ? isa::ldmatrix_x4_trans(r, row) : isa::ldmatrix_x4(r, row);
  }
}

void clear(Shared& shared) {
  auto* words = reinterpret_cast<std::uint32_t*>(&shared);
  for (std::uint32_t i = isa::laneid(); i < sizeof(Shared) / 4; i += 32) isa::st_shared(&words[i], 0xEEEE'EEEEu);
  isa::syncwarp();
}

template <std::uint32_t count>
void expect_stores(bool transposed) {
  Shared result;
  const sim::Report report = run_kernel<Shared>({}, [&](Shared& shared) {
    clear(shared);
    std::uint32_t r[count];
    for (std::uint32_t m = 0; m < count; ++m) r[m] = fragment(m, isa::laneid(), transposed);
    // Lanes beyond the last matrix have no row.
    store(isa::laneid() < 8 * count ? my_row(shared) : nullptr, r, transposed);
    isa::syncwarp();
    for (std::uint32_t i = 0; i < 16; ++i) {
      (&result.row[0][0][0])[isa::laneid() * 16 + i] =
          isa::ld_shared(&(&shared.row[0][0][0])[isa::laneid() * 16 + i]);
    }
  });
  ASSERT_TRUE(is_silent(report));
  for (std::uint32_t m = 0; m < 4; ++m) {
    for (std::uint32_t row = 0; row < 8; ++row) {
      for (std::uint32_t column = 0; column < 16; ++column) {
        const bool is_written = m < count && column < 8;
        ASSERT_EQ(result.row[m][row][column], is_written ? element(m, row, column) : 0xEEEE)
            << "matrix " << m << ", row " << row << ", column " << column;
      }
    }
  }
}

TEST(Stmatrix, WritesRowsWhereTheLanesPoint) {
  expect_stores<1>(false);
  expect_stores<2>(false);
  expect_stores<4>(false);
}

TEST(Stmatrix, WritesColumnsAsRowsWhenTransposed) {
  expect_stores<1>(true);
  expect_stores<2>(true);
  expect_stores<4>(true);
}

// The lane that gives the address of a row has one part of it at most.
TEST(Stmatrix, TheBytesAreOfTheLanesThatHaveThem) {
  for (const bool transposed : {false, true}) {
    const auto report_of = [&](bool reads_its_row) {
      return run_kernel<Shared>({}, [&](Shared& shared) {
        clear(shared);
        store(my_row(shared), {1, 2, 3, 4}, transposed);
        const std::uint32_t lane = isa::laneid();
        const std::uint32_t row = transposed ? 2 * (lane % 4) : lane / 4;
        const std::uint32_t column = transposed ? lane / 4 : 2 * (lane % 4);
        (void)isa::ld_shared(reads_its_row ? my_row(shared) : &shared.row[0][row][column]);
      });
    };
    EXPECT_TRUE(report_of(true).has("race"));
    EXPECT_TRUE(is_silent(report_of(false)));
  }
}

TEST(Ldmatrix, TheBytesAreOfTheLanesThatGetThem) {
  for (const bool transposed : {false, true}) {
    const auto report_of = [&](bool meets) {
      return run_kernel<Shared>({}, [&](Shared& shared) {
        clear(shared);
        isa::st_shared(my_row(shared), std::uint16_t{1});
        if (meets) isa::syncwarp();
        std::uint32_t r[4];
        load(r, my_row(shared), transposed);
      });
    };
    EXPECT_TRUE(report_of(false).has("race"));
    EXPECT_TRUE(is_silent(report_of(true)));
  }
}

template <std::uint32_t count>
void expect_loads(bool transposed) {
  std::array<std::array<std::uint32_t, 4>, 32> result{};
  const sim::Report report = run_kernel<Shared>({}, [&](Shared& shared) {
    for (std::uint32_t column = 0; column < 8; ++column) {
      isa::st_shared(&my_row(shared)[column],
                     static_cast<std::uint16_t>(element(isa::laneid() / 8, isa::laneid() % 8, column)));
    }
    isa::syncwarp();
    std::uint32_t r[count];
    load(r, isa::laneid() < 8 * count ? my_row(shared) : nullptr, transposed);
    for (std::uint32_t m = 0; m < count; ++m) result[isa::laneid()][m] = r[m];
  });
  ASSERT_TRUE(is_silent(report));
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    for (std::uint32_t m = 0; m < count; ++m) {
      ASSERT_EQ(result[lane][m], fragment(m, lane, transposed)) << "lane " << lane << ", matrix " << m;
    }
  }
}

TEST(Ldmatrix, ReadsRowsWhereTheLanesPoint) {
  expect_loads<1>(false);
  expect_loads<2>(false);
  expect_loads<4>(false);
}

TEST(Ldmatrix, ReadsColumnsWhenTransposed) {
  expect_loads<1>(true);
  expect_loads<2>(true);
  expect_loads<4>(true);
}

TEST(Ldmatrix, UndoesStmatrixUnderEverySchedule) {
  for (const sim::Schedule& schedule : test::some_schedules()) {
    for (const bool transposed : {false, true}) {
      bool is_same = true;
      const sim::Report report = run_kernel<Shared>({.schedule = schedule}, [&](Shared& shared) {
        std::uint32_t out[4] = {isa::laneid(), 40 + isa::laneid(), 80 + isa::laneid() * 65537, 7};
        std::uint32_t in[4] = {};
        store(my_row(shared), out, transposed);
        isa::syncwarp();
        load(in, my_row(shared), transposed);
        for (std::uint32_t m = 0; m < 4; ++m) is_same &= in[m] == out[m];
      });
      ASSERT_TRUE(is_silent(report));
      EXPECT_TRUE(is_same);
    }
  }
}

TEST(Stmatrix, ARowThatIsNotAlignedIsReported) {
  const auto run = [](std::uint32_t offset) {
    return run_kernel<Shared>({}, [&](Shared& shared) {
      isa::stmatrix_x4(my_row(shared) + (isa::laneid() == 9 ? offset : 0), {1, 2, 3, 4});
    });
  };
  EXPECT_TRUE(
      faults_with(run(4), "misaligned",
                  "[misaligned] stmatrix of 16 bytes at shared address 0x528; the address must be a multiple "
                  "of 16"));
  EXPECT_TRUE(is_silent(run(8)));
}

TEST(Stmatrix, ARowOutsideOfSharedMemoryIsReported) {
  const sim::Report report = run_kernel<Shared>({}, [&](Shared& shared) {
    isa::stmatrix_x1(isa::laneid() == 3 ? &shared + 1 : static_cast<void*>(my_row(shared)), {1});
  });
  EXPECT_TRUE(report.has("shared_out_of_bounds")) << report.text();
}

TEST(Ldmatrix, ANullRowIsReportedOnlyWhereItIsUsed) {
  const auto run = [](std::uint32_t lanes) {
    return run_kernel<Shared>({}, [&](Shared& shared) {
      clear(shared);
      std::uint32_t r[1];
      isa::ldmatrix_x1(r, isa::laneid() < lanes ? my_row(shared) : nullptr);
    });
  };
  EXPECT_TRUE(run(7).has("not_shared"));
  EXPECT_TRUE(is_silent(run(8)));
}

TEST(Stmatrix, DifferentFormsWithinAWarpAreReported) {
  const auto run = [](bool differs) {
    return run_kernel<Shared>({}, [&](Shared& shared) {
      if (differs && isa::laneid() == 31) {
        isa::stmatrix_x4_trans(my_row(shared), {1, 2, 3, 4});
      } else {
        isa::stmatrix_x4(my_row(shared), {1, 2, 3, 4});
      }
    });
  };
  EXPECT_TRUE(run(true).has("divergence"));
  EXPECT_TRUE(is_silent(run(false)));
}

TEST(Stmatrix, ALaneThatDoesSomethingElseIsReported) {
  const sim::Report report = run_kernel<Shared>({}, [&](Shared& shared) {
    if (isa::laneid() == 4) {
      isa::syncwarp();
    } else {
      isa::stmatrix_x4(my_row(shared), {1, 2, 3, 4});
    }
  });
  EXPECT_TRUE(report.has("divergence")) << report.text();
}

TEST(Stmatrix, TellsObserversOfEachRow) {
  struct Recorder : sim::Watcher<Recorder> {
    void on(const sim::event::SharedWrite& event) { written[event.address] = event.bytes; }
    std::map<std::uint32_t, std::uint32_t> written;
  } recorder;
  const sim::Report report = run_kernel<Shared>({.observers = {&recorder}}, [&](Shared& shared) {
    isa::stmatrix_x2(my_row(shared), {1, 2});
  });
  ASSERT_TRUE(is_silent(report));
  EXPECT_EQ(recorder.written.size(), 16u);
  for (const auto& [address, bytes] : recorder.written) {
    EXPECT_EQ(address % 32, 0u);
    EXPECT_EQ(bytes, 16u);
  }
}

}  // namespace
}  // namespace heddle
