// SPDX-License-Identifier: Apache-2.0
#include <heddle/host/error.h>
#include <heddle/isa/atomic.h>
#include <heddle/isa/cluster.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/warp.h>
#include <heddle/sim/global_memory.h>

#include <gtest/gtest.h>

#include <cstddef>

#include <thread>

#include <array>
#include <cstring>

#include "../support/tiny_kernel.h"

namespace heddle::test {
namespace {

using isa::Bytes16;

struct Shared {
  unsigned char bytes[256];
};

template <class T>
T* at(Shared& shared, std::ptrdiff_t offset) {
  return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(&shared) + offset);  // also where there is nothing
}

void clear(Shared& shared) {
  for (std::ptrdiff_t offset = 0; offset < 256; offset += 16) isa::st_shared(at<Bytes16>(shared, offset), {});
}

// One thread reads or writes a T at `offset` of its 256 bytes of shared memory.
template <class T>
sim::Report load_at(std::ptrdiff_t offset) {
  return run_kernel<Shared>({.threads = 1}, [=](Shared& shared) {
    clear(shared);
    (void)isa::ld_shared(at<T>(shared, offset));
  });
}

template <class T>
sim::Report store_at(std::ptrdiff_t offset) {
  return run_kernel<Shared>({.threads = 1}, [=](Shared& shared) { isa::st_shared(at<T>(shared, offset), T{}); });
}

TEST(SharedMemory, KeepsWhatIsStoredAtEveryWidth) {
  Bytes16 back{};
  EXPECT_TRUE(is_silent(run_kernel<Shared>({.threads = 1}, [&](Shared& shared) {
    isa::st_shared(at<std::uint64_t>(shared, 16), 0x1122334455667788u);
    isa::st_shared(at<std::uint32_t>(shared, 24), 0x99aabbccu);
    isa::st_shared(at<std::uint16_t>(shared, 28), 0xddeeu);
    isa::st_shared(at<std::uint8_t>(shared, 30), 0xffu);
    isa::st_shared(at<std::uint8_t>(shared, 31), 0x42u);
    back = isa::ld_shared(at<Bytes16>(shared, 16));
  })));
  EXPECT_EQ(back, (Bytes16{{0x55667788, 0x11223344, 0x99aabbcc, 0x42ffddee}}));
}

TEST(SharedMemory, IsNotZeroBeforeItIsWritten) {
  std::uint64_t word = 0;
  EXPECT_TRUE(is_silent(run_kernel<Shared>({.threads = 1, .check_races = false}, [&](Shared& shared) {
    word = isa::ld_shared(at<std::uint64_t>(shared, 128));
  })));
  EXPECT_EQ(word, 0xa5a5a5a5a5a5a5a5u);
}

TEST(SharedMemory, IsFreshForEveryCta) {
  // One SM, so the second CTA gets the first one's place.
  std::array<std::uint32_t, 2> found{};
  EXPECT_TRUE(is_silent(
      run_kernel<Shared>({.threads = 1, .grid = {2}, .sms = 1, .check_races = false}, [&](Shared& shared) {
        found[isa::ctaid().x] = isa::ld_shared(at<std::uint32_t>(shared, 0));
        isa::st_shared(at<std::uint32_t>(shared, 0), 1);
      })));
  EXPECT_EQ(found[1], found[0]);
}

TEST(SharedMemory, EndsWithItsLastByte) {
  EXPECT_TRUE(
      faults_with(load_at<std::uint8_t>(256), "shared_out_of_bounds",
                  "[shared_out_of_bounds] ld.shared of 1 bytes at shared address 0x500, outside of the CTA's "
                  "shared memory [0x400, 0x500)"));
  EXPECT_TRUE(is_silent(load_at<std::uint8_t>(255)));
  EXPECT_TRUE(
      faults_with(store_at<Bytes16>(256), "shared_out_of_bounds",
                  "[shared_out_of_bounds] st.shared of 16 bytes at shared address 0x500, outside of the CTA's "
                  "shared memory [0x400, 0x500)"));
  EXPECT_TRUE(is_silent(store_at<Bytes16>(240)));
}

TEST(SharedMemory, BeginsBehindWhatTheSystemKeeps) {
  EXPECT_TRUE(
      faults_with(load_at<std::uint32_t>(-4), "shared_out_of_bounds",
                  "[shared_out_of_bounds] ld.shared of 4 bytes at shared address 0x3fc, outside of the CTA's "
                  "shared memory [0x400, 0x500)"));
  EXPECT_TRUE(is_silent(load_at<std::uint32_t>(0)));
}

TEST(SharedMemory, AccessThatIsNotAlignedToItsWidthIsReported) {
  EXPECT_TRUE(
      faults_with(load_at<std::uint64_t>(12), "misaligned",
                  "[misaligned] ld.shared of 8 bytes at shared address 0x40c; the address must be a multiple "
                  "of 8"));
  EXPECT_TRUE(is_silent(load_at<std::uint32_t>(12)));
  EXPECT_TRUE(
      faults_with(store_at<Bytes16>(8), "misaligned",
                  "[misaligned] st.shared of 16 bytes at shared address 0x408; the address must be a multiple "
                  "of 16"));
  EXPECT_TRUE(is_silent(store_at<std::uint64_t>(8)));
}

TEST(SharedMemory, PointerThatLeadsElsewhereIsReported) {
  static std::uint32_t outside = 0;
  enum class To { kShared, kHost, kNowhere };
  const auto load = [](To to) {
    return run_kernel<Shared>({.threads = 1}, [=](Shared& shared) {
      clear(shared);
      (void)isa::ld_shared(to == To::kShared ? at<std::uint32_t>(shared, 0)
                           : to == To::kHost ? &outside
                                             : nullptr);
    });
  };
  EXPECT_TRUE(faults_with(load(To::kHost), "not_shared",
                          "[not_shared] a pointer where shared memory was expected, which does not point there"));
  EXPECT_TRUE(faults_with(load(To::kNowhere), "not_shared",
                          "[not_shared] a null pointer where shared memory was expected"));
  EXPECT_TRUE(is_silent(load(To::kShared)));
}

// Two arrays with a gap between them, of which only the first may be written.
class GlobalMemoryTest : public ::testing::Test {
 protected:
  GlobalMemoryTest() {
    memory_.add("output", bytes_ + 64, 64);
    memory_.add_read_only("input", bytes_ + 192, 64);
  }

  template <class T>
  sim::Report load_at(std::ptrdiff_t offset) {
    return run_kernel<NoShared>({.threads = 1, .memory = &memory_}, [=, this](NoShared&) {
      (void)isa::ld_global(reinterpret_cast<const T*>(bytes_ + 64 + offset));
    });
  }

  template <class T>
  sim::Report store_at(std::ptrdiff_t offset) {
    return run_kernel<NoShared>({.threads = 1, .memory = &memory_}, [=, this](NoShared&) {
      isa::st_global(reinterpret_cast<T*>(bytes_ + 64 + offset), T{});
    });
  }

  alignas(64) unsigned char bytes_[320] = {};
  sim::GlobalMemory memory_;
};

TEST_F(GlobalMemoryTest, KeepsWhatIsStored) {
  bytes_[192] = 77;
  std::uint32_t read = 0;
  EXPECT_TRUE(is_silent(run_kernel<NoShared>({.threads = 1, .memory = &memory_}, [&](NoShared&) {
    read = isa::ld_global(bytes_ + 192);
    isa::st_global(reinterpret_cast<std::uint32_t*>(bytes_ + 124), 0xdeadbeefu);
  })));
  EXPECT_EQ(read, 77u);
  std::uint32_t written = 0;
  std::memcpy(&written, bytes_ + 124, 4);
  EXPECT_EQ(written, 0xdeadbeefu);
}

TEST_F(GlobalMemoryTest, EndsWithTheArray) {
  EXPECT_TRUE(faults_with(load_at<std::uint32_t>(64), "global_out_of_bounds",
                          "[global_out_of_bounds] ld.global of 4 bytes at 0 bytes behind the end of output"));
  EXPECT_TRUE(is_silent(load_at<std::uint32_t>(60)));
  EXPECT_TRUE(faults_with(store_at<std::uint32_t>(96), "global_out_of_bounds",
                          "[global_out_of_bounds] st.global of 4 bytes at 32 bytes behind the end of output"));
  EXPECT_TRUE(is_silent(store_at<std::uint32_t>(60)));
}

TEST_F(GlobalMemoryTest, AccessAcrossTheEndIsReported) {
  EXPECT_TRUE(faults_with(load_at<Bytes16>(56), "global_out_of_bounds",
                          "[global_out_of_bounds] ld.global of 16 bytes at output + 56 (of 64 bytes)"));
  EXPECT_TRUE(is_silent(load_at<Bytes16>(48)));
}

TEST_F(GlobalMemoryTest, BeginsWithTheFirstArray) {
  EXPECT_TRUE(faults_with(load_at<std::uint8_t>(-3), "global_out_of_bounds",
                          "[global_out_of_bounds] ld.global of 1 bytes at 3 bytes before output"));
  EXPECT_TRUE(is_silent(load_at<std::uint8_t>(0)));
}

TEST_F(GlobalMemoryTest, StoreToReadOnlyMemoryIsReportedAndWritesNothing) {
  bytes_[192 + 8] = 9;
  EXPECT_TRUE(
      faults_with(store_at<std::uint32_t>(128 + 8), "global_read_only",
                  "[global_read_only] st.global of 4 bytes at input + 8 (of 64 bytes), which is read-only"));
  EXPECT_EQ(bytes_[192 + 8], 9);
  EXPECT_TRUE(is_silent(load_at<std::uint32_t>(128 + 8)));
}

TEST_F(GlobalMemoryTest, AccessThatIsNotAlignedToItsWidthIsReported) {
  EXPECT_TRUE(faults_with(store_at<std::uint64_t>(4), "misaligned",
                          "[misaligned] st.global of 8 bytes at output + 4 (of 64 bytes); the address must be a "
                          "multiple of 8"));
  EXPECT_TRUE(is_silent(store_at<std::uint32_t>(4)));
  EXPECT_TRUE(faults_with(load_at<Bytes16>(8), "misaligned",
                          "[misaligned] ld.global of 16 bytes at output + 8 (of 64 bytes); the address must be a "
                          "multiple of 16"));
  EXPECT_TRUE(is_silent(load_at<std::uint64_t>(8)));
}

TEST_F(GlobalMemoryTest, LaunchWithoutMemoryTouchesNone) {
  const auto load = [&](const sim::GlobalMemory* memory) {
    return run_kernel<NoShared>({.threads = 1, .memory = memory},
                                [&](NoShared&) { (void)isa::ld_global(bytes_ + 64); });
  };
  EXPECT_TRUE(
      faults_with(load(nullptr), "global_out_of_bounds",
                  "[global_out_of_bounds] ld.global of 1 bytes at an address, but the launch was given no "
                  "global memory"));
  EXPECT_TRUE(is_silent(load(&memory_)));
}

std::string refusal_of(sim::GlobalMemory& memory, const char* name, void* host, std::size_t bytes) {
  try {
    memory.add(name, host, bytes);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST_F(GlobalMemoryTest, ArraysThatOverlapAreRefused) {
  EXPECT_EQ(refusal_of(memory_, "second", bytes_ + 127, 8), "global memory: 'second' overlaps 'output'");
  EXPECT_EQ(refusal_of(memory_, "second", bytes_ + 60, 5), "global memory: 'second' overlaps 'output'");
  EXPECT_EQ(refusal_of(memory_, "second", bytes_ + 130, 63), "global memory: 'second' overlaps 'input'");
  EXPECT_EQ(refusal_of(memory_, "second", bytes_ + 128, 64), "");
}

TEST_F(GlobalMemoryTest, NullArrayIsRefusedUnlessItIsEmpty) {
  EXPECT_EQ(refusal_of(memory_, "nothing", nullptr, 16),
            "global memory: 'nothing' is a null pointer with 16 bytes");
  EXPECT_EQ(refusal_of(memory_, "nothing", nullptr, 0), "");
}

TEST_F(GlobalMemoryTest, ArrayPastTheLastAddressIsRefused) {
  EXPECT_EQ(refusal_of(memory_, "all", bytes_ + 128, ~std::size_t{0}).substr(0, 36),
            "global memory: 'all' has 18446744073");
  EXPECT_EQ(refusal_of(memory_, "second", bytes_ + 128, 64), "");
}

TEST_F(GlobalMemoryTest, WhatWasRemovedIsNamedUntilSomethingElseIsThere) {
  const auto address = reinterpret_cast<std::uint64_t>(bytes_ + 64);
  EXPECT_FALSE(memory_.remove(address + 1));
  EXPECT_TRUE(is_silent(store_at<std::uint32_t>(8)));
  EXPECT_TRUE(memory_.remove(address));
  EXPECT_FALSE(memory_.remove(address));
  EXPECT_TRUE(faults_with(store_at<std::uint32_t>(8), "global_out_of_bounds",
                          "[global_out_of_bounds] st.global of 4 bytes at byte 8 of output, which was freed"));
  EXPECT_TRUE(faults_with(load_at<std::uint32_t>(60), "global_out_of_bounds",
                          "[global_out_of_bounds] ld.global of 4 bytes at byte 60 of output, which was freed"));
  memory_.add("next", bytes_ + 64, 32);
  EXPECT_TRUE(is_silent(store_at<std::uint32_t>(8)));
  EXPECT_TRUE(faults_with(store_at<std::uint32_t>(60), "global_out_of_bounds",
                          "[global_out_of_bounds] st.global of 4 bytes at 28 bytes behind the end of next"));
}

TEST_F(GlobalMemoryTest, LayerReachesWhatIsBelowIt) {
  sim::GlobalMemory layer(&memory_);
  EXPECT_EQ(refusal_of(layer, "second", bytes_ + 100, 8), "global memory: 'second' overlaps 'output'");
  layer.add("scratch", bytes_ + 128, 32);
  const auto at = [&](std::size_t offset) {
    const sim::GlobalMemory::Region* found = layer.find(reinterpret_cast<std::uint64_t>(bytes_ + offset), 4);
    return found == nullptr ? "" : found->name;
  };
  EXPECT_EQ(at(64), "output");
  EXPECT_EQ(at(128), "scratch");
  EXPECT_EQ(at(192), "input");
  EXPECT_EQ(at(126), "");
  EXPECT_EQ(memory_.find(reinterpret_cast<std::uint64_t>(bytes_ + 128), 4), nullptr);
  EXPECT_EQ(layer.describe(reinterpret_cast<std::uint64_t>(bytes_ + 161)), "1 bytes behind the end of scratch");
}

TEST(GlobalMemory, BytesCanHaveAnAddressOfTheirOwn) {
  std::uint32_t host[4] = {1, 2, 3, 4};
  sim::GlobalMemory memory;
  memory.add_at(0x4000, "card", host, sizeof(host));
  const sim::GlobalMemory::Region* found = memory.find(0x4008, 4);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->host + (0x4008 - found->address), reinterpret_cast<std::byte*>(host + 2));
  EXPECT_EQ(memory.find(reinterpret_cast<std::uint64_t>(host), 4), nullptr);
}

TEST(GlobalMemory, RefusesBytesPastTheLastAddress) {
  std::uint32_t host[4] = {};
  sim::GlobalMemory memory;
  const std::uint64_t last = ~std::uint64_t{0} - (sizeof(host) - 1);
  EXPECT_THROW(memory.add_at(last + 1, "wraps", host, sizeof(host)), InputError);
  EXPECT_THROW(memory.add("wraps", host, ~std::size_t{0}), InputError);
  memory.add_at(last, "ends", host, sizeof(host));
  EXPECT_NE(memory.find(last, sizeof(host)), nullptr);
  EXPECT_EQ(memory.find(last + 1, sizeof(host)), nullptr);
}

// Two launches share the memory, and each remembers where the other looked last: a thread sanitizer must not
// mind.
TEST_F(GlobalMemoryTest, TwoLaunchesMayShareIt) {
  const auto work = [this] {
    for (int i = 0; i < 20; ++i) {
      EXPECT_TRUE(is_silent(load_at<std::uint32_t>(0)));
      EXPECT_TRUE(is_silent(load_at<std::uint32_t>(128)));
    }
  };
  std::thread other(work);
  work();
  other.join();
}

// Four warps leave a number each and count; what counts last adds them up.
template <class Count>
sim::Report add_up_after(const Count& count, std::uint32_t (&numbers)[6]) {
  sim::GlobalMemory memory;
  memory.add("numbers", numbers, sizeof(numbers));
  return run_kernel<NoShared>({.threads = 128, .memory = &memory}, [&](NoShared&) {
    if (isa::laneid() != 0) return;
    const std::uint32_t warp = isa::tid_x() / 32;
    isa::st_global(&numbers[warp], warp + 1);
    if (count(&numbers[4]) != 3) return;
    std::uint32_t sum = 0;
    for (std::uint32_t i = 0; i < 4; ++i) sum += isa::ld_global(&numbers[i]);
    isa::st_global(&numbers[5], sum);
  });
}

TEST(GlobalAtomics, WhoCountsLastSeesWhatTheOthersWrote) {
  std::uint32_t numbers[6] = {};
  EXPECT_TRUE(is_silent(add_up_after([](std::uint32_t* n) { return isa::atom_add_acq_rel_gpu(n, 1); }, numbers)));
  EXPECT_EQ(numbers[4], 4u);
  EXPECT_EQ(numbers[5], 1u + 2 + 3 + 4);
}

TEST(GlobalAtomics, ACountThatIsNoneIsARace) {
  std::uint32_t numbers[6] = {};
  const sim::Report report = add_up_after(
      [](std::uint32_t* n) {
        const std::uint32_t before = isa::ld_global(n);
        isa::st_global(n, before + 1);
        return before;
      },
      numbers);
  EXPECT_FALSE(report.ok());
}

}  // namespace
}  // namespace heddle::test
