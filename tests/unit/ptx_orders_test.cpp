// SPDX-License-Identifier: Apache-2.0
//
// The order of modifiers. ptxas says which orders there are: each sample is written in orders that a seed picks,
// and what ptxas assembles must be an instruction here, with the same choices as in the manual's order.
#include "sim/frontend/ptx/decode.h"

#include <gtest/gtest.h>

#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "../support/schedule_share.h"

namespace heddle::sim::ptx {
namespace {

struct Sample {
  const char* arch;
  const char* mnemonic;  // in the manual's order
  const char* operands;
};

constexpr Sample kSamples[] = {
    {"sm_90a", "ld.relaxed.gpu.global.L1::no_allocate.L2::128B.v2.u32", "{r0,r1},[d0]"},
    {"sm_90a", "ld.global.nc.L1::no_allocate.L2::cache_hint.v4.b32", "{r0,r1,r2,r3},[d0],d1"},
    {"sm_90a", "st.release.cluster.shared::cluster.u32", "[r0],r1"},
    {"sm_90a", "st.weak.global.L1::no_allocate.v4.f32", "[d0],{f0,f1,f2,f3}"},
    {"sm_90a", "atom.acq_rel.gpu.global.add.u32", "r0,[d0],r1"},
    {"sm_90a", "atom.relaxed.cta.shared::cta.cas.b32", "r0,[r1],r2,r3"},
    {"sm_90a", "red.relaxed.gpu.global.add.noftz.f16x2", "[d0],r0"},
    {"sm_90a", "red.release.gpu.global.add.u32", "[d0],r0"},
    {"sm_90a", "cp.async.cg.shared.global.L2::cache_hint.L2::128B", "[r0],[d0],16,d1"},
    {"sm_90a", "cp.async.mbarrier.arrive.noinc.shared::cta.b64", "[r0]"},
    {"sm_90a", "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint",
     "[r0],[d0],r1,[r2],d1"},
    {"sm_90a", "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint", "[d0],[r0],r1,d1"},
    {"sm_90a",
     "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
     ".L2::cache_hint",
     "[r0],[d0,{r1,r2}],[r3],h0,d1"},
    {"sm_100a",
     "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2.L2::cache_"
     "hint",
     "[r0],[d0,{r1,r2}],[r3],d1"},
    {"sm_90a", "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group", "[d0,{r1,r2}],[r0]"},
    {"sm_90a", "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group", "[d0,{r1,r2}],[r0]"},
    {"sm_90a", "cp.async.bulk.prefetch.tensor.2d.L2.global.tile", "[d0,{r1,r2}]"},
    {"sm_90a", "cp.async.bulk.prefetch.L2.global.L2::cache_hint", "[d0],r1,d1"},
    {"sm_90a", "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64", "d0,[r0],r1"},
    {"sm_90a", "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64", "p0,[r0],r1"},
    {"sm_90a", "fence.proxy.async.shared::cta", ""},
    {"sm_90a", "fence.proxy.tensormap::generic.acquire.gpu", "[d0],128"},
    {"sm_90a", "fence.mbarrier_init.release.cluster", ""},
    {"sm_90a", "fence.acq_rel.gpu", ""},
    {"sm_90a", "barrier.cluster.arrive.release.aligned", ""},
    {"sm_90a", "barrier.cta.red.popc.aligned.u32", "r0,r1,p0"},
    {"sm_90a", "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", "{f0,f1,f2,f3},d0,d1,1,1,1,0,0"},
    {"sm_90a", "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3", "{f0,f1,f2,f3},d0,d1,1,1,1"},
    {"sm_90a", "wgmma.wait_group.sync.aligned", "0"},
    {"sm_100a", "tcgen05.mma.cta_group::1.kind::f16", "[r0],d0,d1,r1,p0"},
    {"sm_100a", "tcgen05.ld.sync.aligned.32x32b.x2.b32", "{r0,r2},[r1]"},
    {"sm_100a", "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64",
     "[r0],h0"},
    {"sm_100a", "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32", "[r0],r1"},
    {"sm_100a", "tcgen05.cp.cta_group::1.32x128b.warpx4", "[r0],d0"},
    {"sm_100a", "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128", "r0,q0"},
    {"sm_90a", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
     "{f0,f1,f2,f3},{r0,r1,r2,r3},{r4,r5},{f0,f1,f2,f3}"},
    {"sm_90a", "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32",
     "{r0,r1,r2,r3},{r0,r1,r2,r3},{r4,r5},{r0,r1,r2,r3}"},
    {"sm_90a", "ldmatrix.sync.aligned.m8n8.x2.trans.shared::cta.b16", "{r0,r2},[r1]"},
    {"sm_90a", "stmatrix.sync.aligned.m8n8.x2.trans.shared::cta.b16", "[r1],{r0,r2}"},
    {"sm_90a", "shfl.sync.bfly.b32", "r0|p0,r1,r2,r3,r4"},
    {"sm_90a", "vote.sync.ballot.b32", "r0,p0,r1"},
    {"sm_90a", "match.any.sync.b32", "r0,r1,r2"},
    {"sm_90a", "redux.sync.add.u32", "r0,r1,r2"},
    {"sm_90a", "setmaxnreg.inc.sync.aligned.u32", "128"},
    {"sm_90a", "cvt.rn.relu.bf16x2.f32", "r0,f0,f1"},
    {"sm_90a", "cvt.rn.satfinite.relu.e4m3x2.f32", "h0,f0,f1"},
    {"sm_90a", "cvt.rni.ftz.sat.f32.f32", "f0,f1"},
    {"sm_90a", "cvt.rzi.ftz.s32.f32", "r0,f1"},
    {"sm_90a", "setp.lt.and.ftz.f32", "p0,f0,f1,p1"},
    {"sm_90a", "set.lt.and.ftz.u32.f32", "r0,f0,f1,p0"},
    {"sm_90a", "slct.ftz.f32.f32", "f0,f1,f2,f3"},
    {"sm_90a", "add.rn.ftz.sat.f32", "f0,f1,f2"},
    {"sm_90a", "fma.rn.ftz.relu.f16x2", "r0,r1,r2,r3"},
    {"sm_90a", "min.ftz.NaN.xorsign.abs.f32", "f0,f1,f2"},
    {"sm_90a", "div.full.ftz.f32", "f0,f1,f2"},
    {"sm_90a", "mad.lo.cc.u32", "r0,r1,r2,r3"},
    {"sm_90a", "mul.wide.u32", "d0,r1,r2"},
    {"sm_90a", "shf.l.wrap.b32", "r0,r1,r2,r3"},
    {"sm_90a", "bfind.shiftamt.u32", "r0,r1"},
    {"sm_90a", "prmt.b32.f4e", "r0,r1,r2,r3"},
    {"sm_90a", "cvta.to.global.u64", "d0,d1"},
    {"sm_90a", "mapa.shared::cluster.u32", "r0,r1,r2"},
    {"sm_90a", "createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64", "d0,0f3F800000"},
    {"sm_90a", "prefetch.global.L2", "[d0]"},
    {"sm_90a", "testp.finite.f32", "p0,f0"},
};

std::string ptxas() {
  const char* named = std::getenv("HEDDLE_TEST_PTXAS");
  const std::string path = named != nullptr ? named : "/usr/local/cuda/bin/ptxas";
  return access(path.c_str(), X_OK) == 0 ? path : std::string();
}

class Assembler {
 public:
  Assembler()
      : program_(ptxas()),
        file_(std::filesystem::temp_directory_path() / ("heddle_orders_" + std::to_string(getpid()) + ".ptx")) {}
  ~Assembler() { std::filesystem::remove(file_); }
  Assembler(const Assembler&) = delete;
  Assembler& operator=(const Assembler&) = delete;

  bool is_here() const { return !program_.empty(); }

  bool takes(const Sample& sample, const std::string& mnemonic) const {
    std::ofstream(file_) << ".version 9.0\n.target " << sample.arch << "\n.address_size 64\n"
                         << ".visible .entry k() {\n.reg .pred p<2>; .reg .b16 h<4>; .reg .b32 r<8>;\n"
                         << ".reg .f32 f<8>; .reg .b64 d<4>; .reg .b128 q0;\n"
                         << mnemonic << ' ' << sample.operands << ";\nret;\n}\n";
    const std::string command =
        program_ + " -arch=" + sample.arch + " " + file_.string() + " -o /dev/null >/dev/null 2>&1";
    return std::system(command.c_str()) == 0;
  }

 private:
  std::string program_;
  std::filesystem::path file_;
};

std::vector<std::string> words_of(std::string_view mnemonic) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < mnemonic.size();) {
    const std::size_t end = std::min(mnemonic.find('.', begin + 1), mnemonic.size());
    words.emplace_back(mnemonic.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

TEST(PtxOrders, WhatPtxasTakesIsTakenInEveryOrder) {
  const Assembler assembler;
  if (!assembler.is_here()) GTEST_SKIP() << "ptxas is not installed";
  const int orders = test::is_whole() ? 6 : 1;
  std::mt19937 random(15);
  int taken = 0;
  std::vector<std::string_view> chosen;
  for (const Sample& sample : kSamples) {
    ASSERT_TRUE(assembler.takes(sample, sample.mnemonic)) << sample.mnemonic;
    const Form* form = FormTable::get().find(sample.mnemonic, chosen);
    ASSERT_NE(form, nullptr) << sample.mnemonic;
    const std::vector<std::string> canonical(chosen.begin(), chosen.end());
    for (int order = 0; order < orders; ++order) {
      std::vector<std::string> words = words_of(sample.mnemonic);
      // Half of the orders leave the name alone, which ptxas wants at the front.
      const std::size_t front = order % 2 == 0 ? form->name_words : 1;
      std::shuffle(words.begin() + static_cast<std::ptrdiff_t>(front), words.end(), random);
      std::string mnemonic;
      for (const std::string& word : words) mnemonic += word;
      if (!assembler.takes(sample, mnemonic)) continue;
      ++taken;
      const Form* found = FormTable::get().find(mnemonic, chosen);
      EXPECT_EQ(found, form) << mnemonic;
      if (found == nullptr) continue;
      EXPECT_EQ(std::vector<std::string>(chosen.begin(), chosen.end()), canonical) << mnemonic;
    }
  }
  EXPECT_GT(taken, 17 * orders);
}

struct Order {
  const char* given;
  const char* same_as;  // nullptr: no instruction
};

// Without ptxas: orders that were tried with that of CUDA 13.0.
TEST(PtxOrders, ModifiersMayStandAnywhereAndTypesMayNot) {
  constexpr Order kOrders[] = {
      {"add.f32.sat.rn", "add.rn.sat.f32"},
      {"ld.global.u32.relaxed.gpu", "ld.relaxed.gpu.global.u32"},
      {"atom.add.acq_rel.gpu.global.u32", "atom.acq_rel.gpu.global.add.u32"},
      {"fence.proxy.shared::cta.async", "fence.proxy.async.shared::cta"},
      {"shfl.b32.bfly.sync", "shfl.sync.bfly.b32"},
      {"prmt.f4e.b32", "prmt.b32.f4e"},
      {"mbarrier.try_wait.parity.shared::cta.b64.acquire.cta",
       "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64"},
      {"cvt.f32.f16.ftz", "cvt.ftz.f32.f16"},
      {"cvt.rn.f16.f32", "cvt.rn.f16.f32"},
      {"wgmma.mma_async.sync.aligned.m64n8k16.f16.f32.f16", nullptr},
      {"cp.async.bulk.tensor.2d.global.shared::cluster.tile.mbarrier::complete_tx::bytes", nullptr},
      {"mul.u32.wide", nullptr},
      {"cp.bulk.async.commit_group", nullptr},
      {"add.f32.f32", nullptr},
      {"add.sat.sat.f32", nullptr},
  };
  for (const Order& order : kOrders) {
    std::vector<std::string_view> given;
    std::vector<std::string_view> expected;
    const Form* found = FormTable::get().find(order.given, given);
    if (order.same_as == nullptr) {
      EXPECT_EQ(found, nullptr) << order.given;
      continue;
    }
    ASSERT_NE(found, nullptr) << order.given;
    EXPECT_EQ(found, FormTable::get().find(order.same_as, expected)) << order.given;
    EXPECT_EQ(given, expected) << order.given;
  }
}

}  // namespace
}  // namespace heddle::sim::ptx
