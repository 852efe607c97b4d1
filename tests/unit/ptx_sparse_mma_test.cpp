// SPDX-License-Identifier: Apache-2.0
//
// wgmma and tcgen05.mma with a sparse A, against products of whole matrices; and the forms of tcgen05.mma that
// place or keep D otherwise.
#include "../support/ptx_run.h"

#include <heddle/tile/element.h>

#include <bit>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace heddle::test {
namespace {

constexpr std::uint32_t kNoMetadata = 0xdeadbeef;  // in words that nobody may look at

// Small whole numbers in elements of 1 (integers), 2 (f16) or 4 bytes (tf32): rows of A take 32 bytes, of B 64.
struct Sparse {
  std::uint32_t bytes, m, n, k, chunk;
  std::vector<int> a, b;              // dense, m x k and n x k
  std::vector<std::uint32_t> chosen;  // four bits for each chunk of A
  std::vector<std::uint8_t> image;    // A without its zeros, then B

  Sparse(std::uint32_t element, std::uint32_t rows, std::uint32_t columns)
      : bytes(element), m(rows), n(columns), k(64 / element), chunk(element == 4 ? 2 : 4), a(m * k), b(n * k) {
    std::mt19937 random(element);
    std::vector<int> kept;
    for (std::uint32_t c = 0; c < m * k / chunk; ++c) {
      // Two of four in order, or one of two.
      constexpr std::uint32_t kPairs[] = {0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110};
      chosen.push_back(bytes == 4 ? (random() % 2 == 0 ? 0b0100 : 0b1110) : kPairs[random() % 6]);
      for (std::uint32_t i = 0; i < chunk / 2; ++i) {
        const std::uint32_t at = bytes == 4 ? chosen.back() >> 3 : chosen.back() >> 2 * i & 3;
        kept.push_back(static_cast<int>(random() % 7) - 3);
        a[c * chunk + at] = kept.back();
      }
    }
    for (int& x : b) x = static_cast<int>(random() % 7) - 3;
    place(kept, k / 2);
    place(b, k);
  }

  // Pieces of 8 rows x 16 bytes, those of 8 rows side by side.
  void place(const std::vector<int>& matrix, std::uint32_t depth) {
    const std::uint32_t in_piece = 16 / bytes;
    for (std::uint32_t block = 0; block < matrix.size() / depth / 8; ++block) {
      for (std::uint32_t piece = 0; piece < depth / in_piece; ++piece) {
        for (std::uint32_t row = 0; row < 8; ++row) {
          for (std::uint32_t e = 0; e < in_piece; ++e) {
            const int x = matrix[(block * 8 + row) * depth + piece * in_piece + e];
            const std::uint32_t word = bytes == 1   ? static_cast<std::uint32_t>(x)
                                       : bytes == 2 ? fp16::from_float(static_cast<float>(x)).bits
                                                    : std::bit_cast<std::uint32_t>(static_cast<float>(x));
            for (std::uint32_t byte = 0; byte < bytes; ++byte) {
              image.push_back(static_cast<std::uint8_t>(word >> 8 * byte));
            }
          }
        }
      }
    }
  }

  std::uint32_t chunks(std::uint32_t row, std::uint32_t first, std::uint32_t count) const {
    std::uint32_t word = 0;
    for (std::uint32_t c = 0; c < count; ++c) word |= chosen[row * (k / chunk) + first + c] << 4 * c;
    return word;
  }

  std::uint32_t product(std::uint32_t row, std::uint32_t column) const {
    int sum = 0;
    for (std::uint32_t i = 0; i < k; ++i) sum += a[row * k + i] * b[column * k + i];
    return bytes == 1 ? static_cast<std::uint32_t>(sum) : std::bit_cast<std::uint32_t>(static_cast<float>(sum));
  }

  // What a kernel is given: the image, then a word or two of metadata for each thread.
  std::vector<std::uint32_t> input(const std::vector<std::uint32_t>& metadata) const {
    std::vector<std::uint32_t> words(image.size() / 4);
    std::memcpy(words.data(), image.data(), image.size());
    words.insert(words.end(), metadata.begin(), metadata.end());
    return words;
  }
};

// %r0: the thread; %rd0: out; %rd10 and %rd11: descriptors of A and B; %r15 and %r16: this thread's metadata.
std::string fill(const Sparse& s, std::uint32_t metadata_words) {
  const auto words = static_cast<std::uint32_t>(s.image.size() / 4);
  return "mov.u32 %r0, %tid.x; ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [in]; mov.u32 %r1, smem;\n"
         "mov.u32 %r2, %r0;\n"
         "FILL: mul.wide.u32 %rd2, %r2, 4; add.u64 %rd3, %rd1, %rd2; ld.global.b32 %r3, [%rd3];\n"
         "mad.lo.u32 %r4, %r2, 4, %r1; st.shared.b32 [%r4], %r3; add.u32 %r2, %r2, 128;\n"
         "setp.lt.u32 %p0, %r2, " +
         std::to_string(words) +
         "; @%p0 bra FILL;\n"
         "fence.proxy.async.shared::cta; bar.sync 0;\n"
         "mad.lo.u32 %r2, %r0, " +
         std::to_string(4 * metadata_words) + ", " + std::to_string(4 * words) +
         "; cvt.u64.u32 %rd2, %r2; add.u64 %rd3, %rd1, %rd2; ld.global.b32 %r15, [%rd3];\n" +
         (metadata_words == 2 ? "ld.global.b32 %r16, [%rd3+4];\n" : "") +
         // 128 bytes from one piece to the next; 8 rows of A take 256, and of B 512
         "shr.u32 %r5, %r1, 4; and.b32 %r5, %r5, 0x3fff; cvt.u64.u32 %rd12, %r5;\n"
         "or.b64 %rd10, %rd12, 0x1000080000; or.b64 %rd11, %rd12, 0x2000080000; add.u64 %rd11, %rd11, " +
         std::to_string(s.m * 2) + ";\n";
}

const char* const kShared = ".shared .align 1024 .b8 smem[8192];\n";

void check_wgmma(const std::string& form, const std::string& end, std::uint32_t bytes, std::uint32_t selector) {
  const Sparse s(bytes, 64, 8);
  std::vector<std::uint32_t> metadata(128, kNoMetadata);
  for (std::uint32_t t = 0; t < 128; ++t) {
    const std::uint32_t row = t / 32 * 16 + t % 32 / 4;
    if (bytes == 1) {
      metadata[t] = s.chunks(row + 8 * (t % 2), 8 * (t % 4 / 2), 8);
    } else if (t % 4 / 2 == selector) {
      metadata[t] = s.chunks(row, 4 * (t % 2), 4) | s.chunks(row + 8, 4 * (t % 2), 4) << 16;
    }
  }
  const std::string body = fill(s, 1) +
                           "mov.b32 %r10, 0; mov.b32 %r11, 0; mov.b32 %r12, 0; mov.b32 %r13, 0;\n"
                           "wgmma.fence.sync.aligned; setp.ne.u32 %p1, %r1, %r1;\n"
                           "wgmma.mma_async.sp.sync.aligned." +
                           form + " {%r10, %r11, %r12, %r13}, %rd10, %rd11, %r15, " + std::to_string(selector) +
                           ", %p1" + end +
                           ";\n"
                           "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n"
                           "mul.wide.u32 %rd2, %r0, 16; add.u64 %rd3, %rd0, %rd2;\n"
                           "st.global.v4.b32 [%rd3], {%r10, %r11, %r12, %r13}; ret;";
  std::vector<std::uint32_t> out(128 * 4);
  const sim::Report report = run_ptx(ptx_module(body, kShared), out, s.input(metadata), {.threads = 128});
  ASSERT_TRUE(report.ok()) << report.text();
  for (std::uint32_t t = 0; t < 128; ++t) {
    for (std::uint32_t e = 0; e < 4; ++e) {
      const std::uint32_t row = 16 * (t / 32) + t % 32 / 4 + 8 * (e / 2);
      EXPECT_EQ(out[4 * t + e], s.product(row, 2 * (t % 4) + e % 2)) << form;
    }
  }
}

TEST(PtxSparseMma, WgmmaTakesItsMetadataFromTheSelectedLanes) {
  check_wgmma("m64n8k64.s32.s8.s8", "", 1, 0);
  for (const std::uint32_t selector : {0u, 1u}) {
    check_wgmma("m64n8k32.f32.f16.f16", ", 1, 1, 0, 0", 2, selector);
    check_wgmma("m64n8k16.f32.tf32.tf32", ", 1, 1", 4, selector);
  }
}

// One multiplication into 16 columns of all lanes, which hold `old` before; out gets lane by lane. %r8: D, %r20:
// the metadata, in the two columns behind D.
sim::Report run_tcgen05(const Sparse& s, const std::vector<std::uint32_t>& metadata, const std::string& mma,
                        std::uint32_t old, std::vector<std::uint32_t>& out) {
  std::string registers, olds, stores;
  for (int r = 0; r < 16; ++r) {
    registers += (r == 0 ? "%r" : ", %r") + std::to_string(24 + r);
    olds += "mov.b32 %r" + std::to_string(24 + r) + ", " + std::to_string(old) + ";\n";
    stores += "st.global.b32 [%rd3+" + std::to_string(4 * r) + "], %r" + std::to_string(24 + r) + ";\n";
  }
  const std::string body =
      fill(s, 2) +
      "or.b64 %rd10, %rd10, 0x400000000000; or.b64 %rd11, %rd11, 0x400000000000;\n"
      "setp.lt.u32 %p2, %r0, 32; setp.eq.u32 %p3, %r0, 0; add.u32 %r6, %r1, 8000; add.u32 %r7, %r1, 8016;\n"
      "@%p2 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r6], 32;\n"
      "@%p2 tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n"
      "@%p3 mbarrier.init.shared::cta.b64 [%r7], 1;\n@%p3 fence.mbarrier_init.release.cluster;\n"
      "tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;\n"
      "ld.shared.b32 %r8, [%r6]; add.u32 %r20, %r8, 16;\n"
      "and.b32 %r9, %r0, 96; shl.b32 %r9, %r9, 16; add.u32 %r9, %r9, %r8;\n" +
      olds + "tcgen05.st.sync.aligned.32x32b.x16.b32 [%r9], {" + registers +
      "};\n"
      "tcgen05.st.sync.aligned.32x32b.x2.b32 [%r9+16], {%r15, %r16}; tcgen05.wait::st.sync.aligned;\n"
      "tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;\n"
      "setp.ne.u32 %p4, %r1, %r1; setp.eq.u32 %p5, %r1, %r1; mov.b32 %r21, 0; mov.b32 %r22, 0xffffffff;\n"
      "@%p3 " +
      mma +
      ";\n"
      "@%p3 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r7];\n"
      "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r7], 0;\n@!%p1 bra WAIT;\n"
      "tcgen05.fence::after_thread_sync;\n"
      "tcgen05.ld.sync.aligned.32x32b.x16.b32 {" +
      registers +
      "}, [%r9]; tcgen05.wait::ld.sync.aligned;\nmul.wide.u32 %rd2, %r0, 64; add.u64 %rd3, %rd0, %rd2;\n" +
      stores +
      "tcgen05.fence::before_thread_sync; bar.sync 0;\n"
      "@%p2 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r8, 32; ret;";
  return run_ptx(ptx_module(body, kShared), out, s.input(metadata), {.threads = 128, .arch = Arch::kSm100});
}

// Sparse, D f32 or s32, A and B of a type, N = 16, M = 128.
std::uint32_t descriptor_of(std::uint32_t bytes, std::uint32_t selector) {
  const std::uint32_t types = bytes == 1   ? 2u << 4 | 1u << 7 | 1u << 10
                              : bytes == 2 ? 1u << 4
                                           : 1u << 4 | 2u << 7 | 2u << 10;
  return selector | 1u << 2 | types | 2u << 17 | 8u << 24;
}

void check_tcgen05(const std::string& kind, std::uint32_t bytes, std::uint32_t selector) {
  const Sparse s(bytes, 128, 16);
  std::vector<std::uint32_t> metadata(256, kNoMetadata);
  for (std::uint32_t lane = 0; lane < 128; ++lane) {
    const std::uint32_t row = lane / 16 * 16 + lane % 8;
    const std::uint32_t first = 4 * (lane % 16 / 8);
    if (bytes == 1) {
      metadata[2 * lane] = s.chunks(lane, 0, 8);
      metadata[2 * lane + 1] = s.chunks(lane, 8, 8);
    } else {
      metadata[2 * lane + selector] = s.chunks(row, first, 4) | s.chunks(row + 8, first, 4) << 16;
    }
  }
  std::vector<std::uint32_t> out(128 * 16);
  const sim::Report report =
      run_tcgen05(s, metadata,
                  "tcgen05.mma.sp.cta_group::1.kind::" + kind + " [%r8], %rd10, %rd11, [%r20], " +
                      std::to_string(descriptor_of(bytes, selector)) + ", %p4",
                  77, out);
  ASSERT_TRUE(report.ok()) << report.text();
  for (std::uint32_t at = 0; at < out.size(); ++at) EXPECT_EQ(out[at], s.product(at / 16, at % 16)) << kind;
}

TEST(PtxSparseMma, Tcgen05TakesItsMetadataFromTensorMemory) {
  check_tcgen05("i8", 1, 0);
  for (const std::uint32_t selector : {0u, 1u}) {
    check_tcgen05("f16", 2, selector);
    check_tcgen05("tf32", 4, selector);
  }
}

TEST(PtxSparseMma, TheDescriptorAndTheInstructionAgree) {
  const Sparse s(1, 128, 16);
  const std::vector<std::uint32_t> metadata(256);
  std::vector<std::uint32_t> out(128 * 16);
  const sim::Report dense = run_tcgen05(
      s, metadata,
      "tcgen05.mma.cta_group::1.kind::i8 [%r8], %rd10, %rd11, " + std::to_string(descriptor_of(1, 0)) + ", %p4",
      0, out);
  EXPECT_TRUE(dense.has("bad_descriptor")) << dense.text();
  const sim::Report selected = run_tcgen05(s, metadata,
                                           "tcgen05.mma.sp.cta_group::1.kind::i8 [%r8], %rd10, %rd11, [%r20], " +
                                               std::to_string(descriptor_of(1, 1)) + ", %p4",
                                           0, out);
  EXPECT_TRUE(selected.has("unsupported")) << selected.text();
}

// What these multiply is A as it lies in memory, 32 bytes of a row, and the first 32 bytes of B's rows.
float dense_product(const Sparse& s, std::uint32_t row, std::uint32_t column) {
  float sum = 0;
  const std::uint32_t depth = s.k / 2;
  for (std::uint32_t i = 0; i < depth; ++i) {
    const std::uint32_t in_piece = 16 / s.bytes;
    const std::size_t at = ((row / 8 * 2 + i / in_piece) * 8 + row % 8) * 16 + i % in_piece * s.bytes;
    const fp16 x{static_cast<std::uint16_t>(s.image[at] | s.image[at + 1] << 8)};
    sum += x.to_float() * static_cast<float>(s.b[column * s.k + i]);
  }
  return sum;
}

std::string stationary(std::uint32_t m, std::uint32_t n) {
  return "tcgen05.mma.ws.cta_group::1.kind::f16.collector::b1::fill [%r8], %rd10, %rd11, " +
         std::to_string(1u << 4 | n / 8 << 17 | m / 16 << 24) + ", %p4, 0";
}

TEST(PtxTcgen05Forms, WeightStationaryPlacesColumnsBehindRows) {
  const Sparse s(2, 32, 64);
  std::vector<std::uint32_t> out(128 * 16);
  const sim::Report report = run_tcgen05(s, std::vector<std::uint32_t>(256), stationary(32, 64), 77, out);
  ASSERT_TRUE(report.ok()) << report.text();
  for (std::uint32_t lane = 0; lane < 128; ++lane) {
    for (std::uint32_t c = 0; c < 16; ++c) {
      EXPECT_EQ(std::bit_cast<float>(out[16 * lane + c]), dense_product(s, lane % 32, lane / 32 * 16 + c));
    }
  }
  const sim::Report narrow = run_tcgen05(s, std::vector<std::uint32_t>(256), stationary(64, 32), 77, out);
  EXPECT_TRUE(narrow.has("bad_shape")) << narrow.text();
}

TEST(PtxTcgen05Forms, LanesOfDAreKeptAndDIsScaled) {
  const Sparse s(2, 128, 16);
  const std::uint32_t old = std::bit_cast<std::uint32_t>(12.0f);
  std::vector<std::uint32_t> out(128 * 16);
  const sim::Report report =
      run_tcgen05(s, std::vector<std::uint32_t>(256),
                  "tcgen05.mma.cta_group::1.kind::f16 [%r8], %rd10, %rd11, " +
                      std::to_string(1u << 4 | 2u << 17 | 8u << 24) + ", {%r21, %r22, %r21, %r21}, %p5, 2",
                  old, out);
  ASSERT_TRUE(report.ok()) << report.text();
  for (std::uint32_t at = 0; at < out.size(); ++at) {
    const bool is_kept = at / 16 / 32 == 1;
    EXPECT_EQ(std::bit_cast<float>(out[at]), is_kept ? 12.0f : 3.0f + dense_product(s, at / 16, at % 16));
  }
}

}  // namespace
}  // namespace heddle::test
