# SPDX-License-Identifier: Apache-2.0
"""ptx_survey.py [--ptxas PTXAS] [--list] [REGEX]: how many forms that ptxas takes are refused here.

Forms are written out from the grammar below, which is the manual's and wider: ptxas says which of them there are for
each architecture. `--list` names those that are refused. The module heddle must be there, as it is with
PYTHONPATH=build/sim-gcc/lib/heddle/python. Nothing is run."""

import argparse
import collections
import itertools
import os
import re
import subprocess
import tempfile

# A form is `words ; operands`. In words, {a|b|} is a choice; {A} a set that is named below. In operands, a letter and a
# number are a register (h 16 bits, r 32, f 32, d 64, q 128, p a predicate), and @N one of the size of the last type.
SETS = {
    "ORDER": ".relaxed.gpu|.acquire.cta|.release.cluster|.acq_rel.sys|.sys|.relaxed|",
    "SCOPE": ".cta|.cluster|.gpu|.sys|",
    "RND": ".rn|.rz|.rm|.rp|",
    "RND4": ".rn|.rz|.rm|.rp",
    "FTZ": ".ftz|",
    "SAT": ".sat|",
    "CMP": ".eq|.ne|.lt|.le|.gt|.ge|.lo|.ls|.hi|.hs|.equ|.neu|.ltu|.leu|.gtu|.geu|.num|.nan",
    "INT": ".u16|.u32|.u64|.s16|.s32|.s64",
    "BITS": ".b16|.b32|.b64",
    "HALF": ".f16|.f16x2|.bf16|.bf16x2",
    "ALL": ".u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64|.f16|.f32|.f64|.bf16",
    "HINT": ".L2::cache_hint|",
    "GSP": ".global|.shared::cta|.shared::cluster|",
    "GROUP": ".cta_group::1|.cta_group::2",
    "F8": ".e4m3|.e5m2",
    "F8SUB": ".e4m3|.e5m2|.e3m2|.e2m3|.e2m1",
    "LAYOUT": ".row|.col",
    "MULTIOP": ".add|.min|.max|.and|.or|.xor",
}

GRAMMAR = r"""
{add|sub|mul.lo|mul.hi|div|rem|min|max|sad}{INT} ; @0,@1,@2
{add|sub|min|max}{.sat|.relu}{.s16|.s32|.s16x2|.u16x2} ; @0,@1,@2
{add|sub|min|max}{.relu|}{.u16x2|.s16x2|.u8x4|.s8x4} ; r0,r1,r2
mul.wide{.u16|.s16} ; r0,h1,h2
mul.wide{.u32|.s32} ; d0,r1,r2
mul24{.hi|.lo}{.u32|.s32} ; r0,r1,r2
mad24{.hi|.lo|.hi.sat}{.u32|.s32} ; r0,r1,r2,r3
mad{.hi|.lo}{INT} ; @0,@1,@2,@3
mad.hi.sat.s32 ; r0,r1,r2,r3
mad.wide{.u16|.s16} ; r0,h1,h2,r3
mad.wide{.u32|.s32} ; d0,r1,r2,d3
sad{INT} ; @0,@1,@2,@3
{abs|neg}{.s16|.s32|.s64|.s16x2} ; @0,@1
{popc|clz|brev|bfind|bfind.shiftamt}{.b32|.u32|.s32} ; r0,r1
{popc|clz|bfind|bfind.shiftamt}{.b64|.u64|.s64} ; r0,d1
brev.b64 ; d0,d1
fns.b32 ; r0,r1,r2,r3
bfe{.u32|.s32|.u64|.s64} ; @0,@1,r2,r3
bfi{.b32|.b64} ; @0,@1,@2,r2,r3
szext{.clamp|.wrap}{.u32|.s32} ; r0,r1,r2
bmsk{.clamp|.wrap}.b32 ; r0,r1,r2
dp4a{.u32|.s32}{.u32|.s32} ; r0,r1,r2,r3
dp2a{.lo|.hi}{.u32|.s32}{.u32|.s32} ; r0,r1,r2,r3
{add|addc|sub|subc}{.cc|}{.u32|.s32|.u64|.s64} ; @0,@1,@2
{mad|madc}{.lo|.hi}{.cc|}{.u32|.s32|.u64|.s64} ; @0,@1,@2,@3
testp{.finite|.infinite|.number|.notanumber|.normal|.subnormal}{.f32|.f64} ; p0,@1
copysign{.f32|.f64} ; @0,@1,@2
{add|sub|mul}{RND}{FTZ}{SAT}.f32 ; f0,f1,f2
{add|sub|mul}{RND}.f64 ; d0,d1,d2
{add|sub|mul}{RND}{FTZ}.f32x2 ; d0,d1,d2
{add|sub|mul}{.rn|.rz|}{FTZ}{SAT}{HALF} ; @0,@1,@2
{add|sub}{RND}{SAT}{.f32.f16|.f32.bf16} ; f0,h1,f2
fma{RND}{FTZ}{SAT}.f32 ; f0,f1,f2,f3
mad{RND}{FTZ}{SAT}.f32 ; f0,f1,f2,f3
{fma|mad}{RND}.f64 ; d0,d1,d2,d3
fma{RND}{FTZ}.f32x2 ; d0,d1,d2,d3
fma{.rn|.rz|}{FTZ}{SAT}{.relu|}{HALF} ; @0,@1,@2,@3
fma.rn.oob{.relu|}{HALF} ; @0,@1,@2,@3
fma{RND}{SAT}{.f32.f16|.f32.bf16} ; f0,h1,h2,f3
div{.approx|.full|.rn|.rz|.rm|.rp}{FTZ}.f32 ; f0,f1,f2
div{RND4}.f64 ; d0,d1,d2
{abs|neg}{FTZ}{.f32|.f64|.f16|.f16x2|.bf16|.bf16x2} ; @0,@1
{min|max}{FTZ}{.NaN|}{.xorsign.abs|.abs|}{.f32|.f64|.f16|.f16x2|.bf16|.bf16x2} ; @0,@1,@2
{min|max}{FTZ}{.NaN|}{.abs|}{.f32} ; f0,f1,f2,f3
{rcp|sqrt}{.approx|.rn|.rz|.rm|.rp}{FTZ}{.f32|.f64} ; @0,@1
rsqrt.approx{FTZ}{.f32|.f64} ; @0,@1
{sin|cos|lg2|ex2|tanh}.approx{FTZ}{.f32|.f16|.f16x2|.bf16|.bf16x2} ; @0,@1
set{CMP}{FTZ}{.u32|.s32|.f32}{.u16|.u32|.s64|.b32|.f32|.f64|.f16|.bf16} ; r0,@1,@2
set{CMP}{.and|.or|.xor}{FTZ}{.u32|.s32|.f32}{.u16|.u32|.s64|.b32|.f32|.f64|.f16|.bf16} ; r0,@1,@2,p1
set{CMP}{FTZ}{.f16|.bf16|.u16|.s16}{.f16|.bf16} ; h0,h1,h2
set{CMP}{FTZ}{.f16x2|.bf16x2|.u32|.s32}{.f16x2|.bf16x2} ; r0,r1,r2
setp{CMP}{FTZ}{.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64|.f16|.bf16} ; p0,@1,@2
setp{CMP}{.and|.or|.xor}{FTZ}{.b32|.u32|.s64|.f32|.f64|.f16|.bf16} ; p0|p1,@1,@2,p2
setp{CMP}{FTZ}{.f16x2|.bf16x2} ; p0|p1,r1,r2
setp{CMP}{.and|.or|.xor}{FTZ}{.f16x2|.bf16x2} ; p0|p1,r1,r2,!p2
selp{.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64|.f16|.bf16|.f16x2} ; @0,@1,@2,p0
slct{FTZ}{.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64}{.s32|.f32} ; @0,@1,@2,r3
{and|or|xor}{.pred} ; p0,p1,p2
{and|or|xor}{BITS} ; @0,@1,@2
not.pred ; p0,p1
{not|cnot}{BITS} ; @0,@1
lop3.b32 ; r0,r1,r2,r3,0x1b
lop3{.or|.and}.b32 ; r0|p0,r1,r2,r3,0x1b,p1
shf{.l|.r}{.wrap|.clamp}.b32 ; r0,r1,r2,r3
shl{BITS} ; @0,@1,r2
shr{.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64} ; @0,@1,r2
shfl{.sync|}{.up|.down|.bfly|.idx}.b32 ; r0|p0,r1,r2,r3,r4
shfl{.up|.down|.bfly|.idx}.b32 ; r0|p0,r1,r2,r3
prmt.b32{|.f4e|.b4e|.rc8|.ecl|.ecr|.rc16} ; r0,r1,r2,r3
mov{.pred} ; p0,p1
mov{.b16|.b32|.b64|.b128|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64} ; @0,@1
mov.b128 ; q0,{d0,d1}
mov.b64 ; {h0,h1,h2,h3},d0
mov.b64 ; {r0,_},d0
mov.b32 ; {h0,_},r0
ld{.weak|.volatile|.relaxed|.acquire|.mmio.relaxed|}{SCOPE}{.global|.shared::cta|.shared::cluster|.local|.const|.param|}{.u8|.b32|.b128} ; @0,[d4]
ld{.global|.shared|.local|}{.ca|.cg|.cs|.lu|.cv|}{|.v2|.v4|.v8}{.b8|.b16|.b32|.b64|.f32} ; %V,[d4]
ld.global{.L1::evict_normal|.L1::evict_unchanged|.L1::evict_first|.L1::evict_last|.L1::no_allocate}{.L2::evict_normal|.L2::evict_first|.L2::evict_last|}{.L2::64B|.L2::128B|.L2::256B|}{|.v4|.v8}{.b32|.u64} ; %V,[d4]
ld.global{.nc|.ca.nc|.cg.nc|.cs.nc|.L1::no_allocate.nc|.nc.L1::no_allocate.L2::256B}{|.v2|.v4|.v8}{.b8|.b16|.b32|.b64|.f64|.b128} ; %V,[d4]
ld.global{|.nc}{|.L1::evict_last}.L2::cache_hint{|.v2|.v4}{.u32|.f64} ; %V,[d4],d5
ldu{.global|}{|.v2|.v4}{.u8|.b32|.f64|.b128} ; %V,[d4]
st{.weak|.volatile|.relaxed|.release|.mmio.relaxed|}{SCOPE}{.global|.shared::cta|.shared::cluster|.local|.param::func|}{.u8|.b32|.b128} ; [d4],@0
st{.global|.shared|.local|}{.wb|.cg|.cs|.wt|}{|.v2|.v4|.v8}{.b8|.b16|.b32|.b64|.f32} ; [d4],%V
st.global{.L1::evict_normal|.L1::evict_unchanged|.L1::evict_first|.L1::evict_last|.L1::no_allocate}{.L2::evict_normal|.L2::evict_first|.L2::evict_last|}{|.v4|.v8}{.b32|.u64} ; [d4],%V
st.global{|.L1::evict_last}.L2::cache_hint{|.v2|.v4}{.u32|.f64} ; [d4],%V,d5
st.async{.weak|}{.shared::cluster|}.mbarrier::complete_tx::bytes{|.v2|.v4}{.b32|.b64|.u32|.s64|.f32|.f64} ; [r8],%V,[r9]
st.async{.mmio|}.release{.gpu|.sys}.global{.b8|.b16|.b32|.b64|.u32|.f32|.f64} ; [d4],@0
st.bulk{.weak|}{.shared::cta|} ; [d4],d5,0
multimem.ld_reduce{.weak|.relaxed.gpu|.acquire.sys|}.global{MULTIOP}{|.v2|.v4}{|.acc::f32|.acc::f16}{.b32|.u32|.s32|.u64|.s64|.b64|.f16|.f16x2|.bf16|.bf16x2|.f32|.f64|.e4m3x4|.e5m2x4} ; %V,[d4]
multimem.st{.weak|.relaxed.gpu|.release.sys|}.global{|.v2|.v4}{.b32|.u64|.f32|.f16x2|.bf16x2} ; [d4],%V
multimem.red{.relaxed.gpu|.release.sys|}.global{MULTIOP}{|.v2|.v4}{.b32|.u32|.s32|.u64|.s64|.b64|.f16x2|.bf16x2|.f32|.f64} ; [d4],%V
multimem.cp.async.bulk.global.shared::cta{.bulk_group} ; [d4],[r0],r1
multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group{.add|.min|.max|.and}{.u32|.s64|.b32} ; [d4],[r0],r1
prefetch{.global|.local|}{.L1|.L2} ; [d4]
prefetch.global{.L2::evict_last|.L2::evict_normal} ; [d4]
prefetch{|.const|.param}.tensormap ; [d4]
prefetchu.L1 ; [d4]
applypriority{.global|}.L2::evict_normal ; [d4],128
discard{.global|}.L2 ; [d4],128
createpolicy.fractional{.L2::evict_last|.L2::evict_normal|.L2::evict_first|.L2::evict_unchanged}{|.L2::evict_first|.L2::evict_unchanged}.b64 ; d0,0f3F000000
createpolicy.fractional{.L2::evict_last|.L2::evict_normal|.L2::evict_first|.L2::evict_unchanged}.b64 ; d0
createpolicy.range{.global|}{.L2::evict_last|.L2::evict_normal|.L2::evict_first|.L2::evict_unchanged}{|.L2::evict_first|.L2::evict_unchanged}.b64 ; d0,[d4],r0,r1
createpolicy.cvt.L2.b64 ; d0,d1
isspacep{.const|.global|.local|.shared|.shared::cta|.shared::cluster|.param|.param::entry} ; p0,d0
cvta{.const|.global|.local|.shared|.shared::cta|.shared::cluster|.param|.param::entry}.u64 ; d0,d1
cvta.to{.const|.global|.local|.shared|.shared::cta|.shared::cluster|.param|.param::entry}.u64 ; d0,d1
cvt{|.rni|.rzi|.rmi|.rpi}{FTZ}{SAT}{ALL}{.f16|.f32|.f64|.bf16} ; %cvt
cvt{SAT}{.u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64}{.u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64} ; %cvt
cvt{RND}{FTZ}{SAT}{.f16|.f32|.f64|.bf16}{ALL} ; %cvt
cvt{.rn|.rz|.rna}{.relu|}{.satfinite|}{.f16x2.f32|.bf16x2.f32} ; r0,f1,f2
cvt{.rn|.rz|.rna}{.relu|}{.satfinite|}{.f16.f32|.bf16.f32} ; h0,f1
cvt{.rn|.rz|.rna}{.relu|}{.satfinite|}.tf32.f32 ; r0,f1
cvt.rs{.relu|}{.satfinite|}{.f16x2.f32|.bf16x2.f32} ; r0,f1,f2,r3
cvt.rs{.relu|}{.satfinite|}{.e4m3x4.f32|.e5m2x4.f32|.e2m3x4.f32|.e3m2x4.f32} ; r0,{f0,f1,f2,f3},r3
cvt.rs{.relu|}{.satfinite|}.e2m1x4.f32 ; h0,{f0,f1,f2,f3},r3
cvt.rn.satfinite{.relu|}{.e4m3x2.f32|.e5m2x2.f32|.e2m3x2.f32|.e3m2x2.f32} ; h0,f1,f2
cvt.rn.satfinite{.relu|}{.e4m3x2.f16x2|.e5m2x2.f16x2|.e2m3x2.f16x2|.e3m2x2.f16x2|.e4m3x2.bf16x2|.e5m2x2.bf16x2} ; h0,r1
cvt.rn{.relu|}{.f16x2.e4m3x2|.f16x2.e5m2x2|.f16x2.e2m3x2|.f16x2.e3m2x2|.bf16x2.e4m3x2|.bf16x2.e5m2x2} ; r0,h1
cvt.rn.satfinite{.relu|}.e2m1x2{.f32} ; b0,f1,f2
cvt.rn.satfinite{.relu|}.e2m1x2{.f16x2|.bf16x2} ; b0,r1
cvt.rn{.relu|}{.f16x2.e2m1x2|.bf16x2.e2m1x2} ; r0,b0
cvt{.rz|.rp}{.satfinite|}.ue8m0x2.f32 ; h0,f1,f2
cvt{.rz|.rp}{.satfinite|}.ue8m0x2.bf16x2 ; h0,r1
cvt.rn.bf16x2.ue8m0x2 ; r0,h1
cvt.pack.sat{.u16|.s16}.s32 ; r0,r1,r2
cvt.pack.sat{.u2|.s2|.u4|.s4|.u8|.s8}.s32.b32 ; r0,r1,r2,r3
mapa{.shared::cluster|}{.u32|.u64} ; @0,@1,r2
getctarank{.shared::cluster|}{.u32|.u64} ; r0,@1
cp.async{.ca|.cg}.shared{|::cta}.global{HINT}{|.L2::64B|.L2::128B|.L2::256B} ; [r0],[d0],16%H
cp.async.ca.shared.global ; [r0],[d0],4,p0
cp.async.ca.shared.global ; [r0],[d0],4,r1
cp.async.commit_group ;
cp.async.wait_group ; 2
cp.async.wait_all ;
cp.async.mbarrier.arrive{.noinc|}{.shared|.shared::cta|}.b64 ; [d0]
cp.async.bulk{.shared::cluster|.shared::cta}.global.mbarrier::complete_tx::bytes{|.multicast::cluster}{HINT} ; [r0],[d0],r1,[r2]%M%H
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob{HINT} ; [r0],[d0],r1,r3,r4,[r2]%H
cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes ; [r0],[r1],r2,[r3]
cp.async.bulk.global.shared::cta.bulk_group{HINT}{|.cp_mask} ; [d0],[r0],r1%H%K
cp.async.bulk.prefetch.L2.global{HINT} ; [d0],r1%H
cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes{.and|.or|.xor|.add|.inc|.dec|.min|.max}{.s32|.u32|.s64|.u64|.b32|.b64} ; [r0],[r1],r2,[r3]
cp.reduce.async.bulk.global.shared::cta.bulk_group{HINT}{.and|.or|.xor|.add|.inc|.dec|.min|.max}{.s32|.u32|.s64|.u64|.b32|.b64|.f16|.bf16|.f32|.f64} ; [d0],[r0],r1%H
cp.reduce.async.bulk.global.shared::cta.bulk_group{HINT}{.add|.min|.max}.noftz{.f16|.bf16} ; [d0],[r0],r1%H
cp.async.bulk.commit_group ;
cp.async.bulk.wait_group{.read|} ; 1
cp.async.bulk.tensor{.1d|.2d|.3d|.4d|.5d}{.shared::cluster|.shared::cta}.global{|.tile}.mbarrier::complete_tx::bytes{|.multicast::cluster}{|.cta_group::1|.cta_group::2}{HINT} ; [r0],[d0,%X],[r2]%M%H
cp.async.bulk.tensor{.3d|.4d|.5d}{.shared::cluster|.shared::cta}.global.im2col.mbarrier::complete_tx::bytes{|.multicast::cluster}{|.cta_group::2}{HINT} ; [r0],[d0,%X],[r2],%I%M%H
cp.async.bulk.tensor{.3d|.4d|.5d}{.shared::cluster|.shared::cta}.global{.im2col::w|.im2col::w::128}.mbarrier::complete_tx::bytes{|.multicast::cluster}{|.cta_group::2}{HINT} ; [r0],[d0,%X],[r2],{h0,h1}%M%H
cp.async.bulk.tensor.2d{.shared::cluster|.shared::cta}.global.tile::gather4.mbarrier::complete_tx::bytes{|.multicast::cluster}{|.cta_group::2}{HINT} ; [r0],[d0,{r0,r1,r2,r3,r4}],[r2]%M%H
cp.async.bulk.tensor{.1d|.2d|.3d|.4d|.5d}.global.shared::cta{|.tile}.bulk_group{HINT} ; [d0,%X],[r0]%H
cp.async.bulk.tensor{.3d|.4d|.5d}.global.shared::cta.im2col_no_offs.bulk_group{HINT} ; [d0,%X],[r0]%H
cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group{HINT} ; [d0,{r0,r1,r2,r3,r4}],[r0]%H
cp.reduce.async.bulk.tensor{.1d|.2d|.3d|.4d|.5d}.global.shared::cta{.add|.min|.max|.inc|.dec|.and|.or|.xor}{|.tile}.bulk_group{HINT} ; [d0,%X],[r0]%H
cp.reduce.async.bulk.tensor{.3d|.4d|.5d}.global.shared::cta{.add|.min|.max}.im2col_no_offs.bulk_group{HINT} ; [d0,%X],[r0]%H
cp.async.bulk.prefetch.tensor{.1d|.2d|.3d|.4d|.5d}.L2.global{|.tile}{HINT} ; [d0,%X]%H
cp.async.bulk.prefetch.tensor{.3d|.4d|.5d}.L2.global.im2col{HINT} ; [d0,%X],%I%H
cp.async.bulk.prefetch.tensor{.3d|.4d|.5d}.L2.global{.im2col::w|.im2col::w::128}{HINT} ; [d0,%X],{h0,h1}%H
cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4{HINT} ; [d0,{r0,r1,r2,r3,r4}]%H
tensormap.replace.tile{.global_address}{|.global|.shared::cta}.b1024.b64 ; [d0],d1
tensormap.replace.tile{.rank}{|.global|.shared::cta}.b1024.b32 ; [d0],r1
tensormap.replace.tile{.box_dim|.global_dim|.element_stride}{|.global|.shared::cta}.b1024.b32 ; [d0],1,r1
tensormap.replace.tile.global_stride{|.global|.shared::cta}.b1024.b64 ; [d0],1,d1
tensormap.replace.tile{.elemtype|.interleave_layout|.swizzle_mode|.swizzle_atomicity|.fill_mode}{|.global|.shared::cta}.b1024.b32 ; [d0],1
tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release{.cta|.cluster|.gpu|.sys}.sync.aligned ; [d0],[d1],128
tex{|.level}{.1d|.2d|.3d}.v4{.s32|.u32|.f32}{.s32|.f32} ; {r0,r1,r2,r3},[d0,%T]%E
tld4{.r|.g|.b|.a}.2d.v4{.s32|.u32|.f32}.f32 ; {r0,r1,r2,r3},[d0,{f0,f1}]
txq{.width|.height}.b32 ; r0,[d0]
suld.b{.1d|.2d|.3d}{|.v2|.v4}{.b8|.b16|.b32|.b64}{.trap|.clamp|.zero} ; %V,[d0,%T]
sust.b{.1d|.2d|.3d}{|.v2|.v4}{.b8|.b16|.b32|.b64}{.trap|.clamp|.zero} ; [d0,%T],%V
bar{|.cta}.sync ; 0
{bar|barrier}{.cta|}{.sync|.arrive}{.aligned|} ; 1,64
{bar|barrier}{.cta|}.red.popc{.aligned|}.u32 ; r0,1,64,p0
{bar|barrier}{.cta|}.red{.and|.or}{.aligned|}.pred ; p0,1,64,p1
bar.warp.sync ; r0
barrier.cluster.arrive{.release|.relaxed|}{.aligned|} ;
barrier.cluster.wait{.acquire|}{.aligned|} ;
membar{.cta|.gl|.sys} ;
membar.proxy{.alias|.async|.async.global|.async.shared::cta|.async.shared::cluster} ;
fence{.sc|.acq_rel|.acquire|.release|}{.cta|.cluster|.gpu|.sys} ;
fence.acquire.sync_restrict::shared::cluster.cluster ;
fence.release.sync_restrict::shared::cta.cluster ;
fence.mbarrier_init.release.cluster ;
fence.proxy{.alias|.async|.async.global|.async.shared::cta|.async.shared::cluster} ;
fence.proxy.tensormap::generic.release{.cta|.cluster|.gpu|.sys} ;
fence.proxy.tensormap::generic.acquire{.cta|.cluster|.gpu|.sys} ; [d0],128
fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster ;
fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster ;
atom{ORDER}{GSP}{.and|.or|.xor|.exch}{.b32|.b64|.b128} ; @0,[d4],@1
atom{ORDER}{GSP}{.cas}{.b16|.b32|.b64|.b128} ; @0,[d4],@1,@2
atom{ORDER}{GSP}{.add|.min|.max|.inc|.dec}{.u32|.s32|.u64|.s64|.f32|.f64} ; @0,[d4],@1
atom{ORDER}{GSP}{.add|.min|.max}.noftz{.f16|.f16x2|.bf16|.bf16x2} ; @0,[d4],@1
atom{|.relaxed.gpu|.acq_rel.sys}.global{.add|.min|.max}{|.noftz}{|.L2::cache_hint}{.v2|.v4|.v8}{.f16|.bf16|.f16x2|.bf16x2|.f32} ; %V,[d4],%W%H
atom{|.relaxed.gpu}.global{.exch|.add|.min}.L2::cache_hint{.u32|.b32|.b64|.f32} ; @0,[d4],@1,d5
red{ORDER}{GSP}{.and|.or|.xor}{.b32|.b64} ; [d4],@1
red{ORDER}{GSP}{.add|.min|.max|.inc|.dec}{.u32|.s32|.u64|.s64|.f32|.f64} ; [d4],@1
red{ORDER}{GSP}{.add|.min|.max}.noftz{.f16|.f16x2|.bf16|.bf16x2} ; [d4],@1
red{|.relaxed.gpu|.release.sys}.global{.add|.min|.max}{|.noftz}{|.L2::cache_hint}{.v2|.v4|.v8}{.f16|.bf16|.f16x2|.bf16x2|.f32} ; [d4],%V%H
red.async{.relaxed|}{.cluster|}{.shared::cluster|}.mbarrier::complete_tx::bytes{.inc|.dec|.min|.max|.and|.or|.xor|.add}{.u32|.s32|.b32|.u64|.s64} ; [r8],@0,[r9]
red.async{.mmio|}.release{.gpu|.sys}.global.add{.u32|.s32|.u64|.s64} ; [d4],@0
vote{.sync|}{.all|.any|.uni}.pred ; p0,p1,r0
vote.sync.ballot.b32 ; r0,p1,r1
match.any.sync{.b32|.b64} ; r0,@1,r2
match.all.sync{.b32|.b64} ; r0|p0,@1,r2
activemask.b32 ; r0
redux.sync{.add|.min|.max}{.u32|.s32} ; r0,r1,r2
redux.sync{.and|.or|.xor}.b32 ; r0,r1,r2
redux.sync{.min|.max}{.abs|}{.NaN|}.f32 ; f0,f1,r2
griddepcontrol{.launch_dependents|.wait} ;
elect.sync ; r0|p0,r1
elect.sync ; _|p0,r1
mbarrier.init{.shared|.shared::cta|}.b64 ; [d0],r0
mbarrier.inval{.shared|.shared::cta|}.b64 ; [d0]
mbarrier{.expect_tx|.complete_tx}{.relaxed}{.cta|.cluster}{.shared::cta|.shared::cluster|}.b64 ; [d0],r0
mbarrier{.arrive|.arrive_drop}{.release|.relaxed|}{.cta|.cluster|}{.shared|.shared::cta|}.b64 ; d0,[d1]
mbarrier{.arrive|.arrive_drop}{.release|.relaxed|}{.cta|.cluster|}{.shared|.shared::cta|}.b64 ; d0,[d1],r1
mbarrier{.arrive|.arrive_drop}{.release|.relaxed|}{.cta|.cluster|}.shared::cluster.b64 ; _,[d1],r1
mbarrier{.arrive|.arrive_drop}.expect_tx{.release|.relaxed|}{.cta|.cluster|}{.shared|.shared::cta|}.b64 ; d0,[d1],r1
mbarrier{.arrive|.arrive_drop}.expect_tx{.release|.relaxed|}{.cta|.cluster|}.shared::cluster.b64 ; _,[d1],r1
mbarrier{.arrive|.arrive_drop}.noComplete{.release|.relaxed|}{.cta|}{.shared|.shared::cta|}.b64 ; d0,[d1],r1
mbarrier{.test_wait|.try_wait}{.acquire|.relaxed|}{.cta|.cluster|}{.shared|.shared::cta|}.b64 ; p0,[d1],d2
mbarrier{.test_wait|.try_wait}.parity{.acquire|.relaxed|}{.cta|.cluster|}{.shared|.shared::cta|}.b64 ; p0,[d1],r2
mbarrier.try_wait{|.parity}{.acquire|.relaxed|}{.cta|.cluster|}{.shared|.shared::cta|}.b64 ; p0,[d1],%P,r3
mbarrier.pending_count.b64 ; r0,d0
clusterlaunchcontrol.try_cancel.async{.shared::cta|}.mbarrier::complete_tx::bytes{|.multicast::cluster::all}.b128 ; [r0],[r1]
clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 ; p0,q0
clusterlaunchcontrol.query_cancel.get_first_ctaid{::x|::y|::z}.b32.b128 ; r0,q0
clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 ; {r0,r1,r2,r3},q0
wmma.load{.a|.b}.sync.aligned{LAYOUT}{.m16n16k16|.m8n32k16|.m32n8k16|.m16n16k8|.m8n8k4|.m8n8k32|.m8n8k128}{.global|.shared|}{.f16|.bf16|.tf32|.s8|.u8|.s4|.u4|.b1|.f64} ; %any,[d4],r9
wmma.load.c.sync.aligned{LAYOUT}{.m16n16k16|.m8n32k16|.m32n8k16|.m16n16k8|.m8n8k4|.m8n8k32|.m8n8k128}{.f16|.f32|.s32|.f64} ; %any,[d4],r9
wmma.store.d.sync.aligned{LAYOUT}{.m16n16k16|.m8n32k16|.m32n8k16|.m16n16k8|.m8n8k4|.m8n8k32|.m8n8k128}{.f16|.f32|.s32|.f64} ; [d4],%any,r9
mma.sync.aligned.m8n8k4{LAYOUT}{LAYOUT}{.f32.f16.f16.f32|.f16.f16.f16.f16|.f32.f16.f16.f16} ; %quad
mma.sync.aligned{.m8n8k4|.m16n8k4|.m16n8k8|.m16n8k16}.row.col{RND}.f64.f64.f64.f64 ; %mma
mma.sync.aligned{.m16n8k8|.m16n8k16}.row.col{.f32.f16.f16.f32|.f32.bf16.bf16.f32|.f16.f16.f16.f16|.f32.f16.f16.f16} ; %mma
mma.sync.aligned{.m16n8k4|.m16n8k8}.row.col.f32.tf32.tf32.f32 ; %mma
mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 ; %mma
mma.sync.aligned{.m8n8k16|.m16n8k16|.m16n8k32}.row.col{.satfinite|}.s32{.u8|.s8}{.u8|.s8}.s32 ; %mma
mma.sync.aligned{.m8n8k32|.m16n8k32|.m16n8k64}.row.col{.satfinite|}.s32{.u4|.s4}{.u4|.s4}.s32 ; %mma
mma.sync.aligned{.m8n8k128|.m16n8k128|.m16n8k256}.row.col.s32.b1.b1.s32{.xor.popc|.and.popc} ; %mma
mma.sync.aligned{.m16n8k16|.m16n8k32}.row.col{|.kind::f8f6f4}{.f16|.f32}{F8SUB}{F8SUB}{.f16|.f32} ; %mma
mma.sp{|::ordered_metadata}.sync.aligned{.m16n8k16|.m16n8k32}.row.col{.f32.f16.f16.f32|.f32.bf16.bf16.f32|.f16.f16.f16.f16} ; %mma,r9,0
mma.sp{|::ordered_metadata}.sync.aligned{.m16n8k8|.m16n8k16}.row.col.f32.tf32.tf32.f32 ; %mma,r9,0
mma.sp{|::ordered_metadata}.sync.aligned{.m16n8k32|.m16n8k64}.row.col{.satfinite|}.s32{.u8|.s8}{.u8|.s8}.s32 ; %mma,r9,0
mma.sp{|::ordered_metadata}.sync.aligned{.m16n8k64|.m16n8k128}.row.col{.satfinite|}.s32{.u4|.s4}{.u4|.s4}.s32 ; %mma,r9,0
mma.sp{|::ordered_metadata}.sync.aligned.m16n8k64.row.col{|.kind::f8f6f4}{.f16|.f32}{F8}{F8}{.f16|.f32} ; %mma,r9,0
wmma.mma.sync.aligned{LAYOUT}{LAYOUT}{.m16n16k16|.m8n32k16|.m32n8k16}{.f16.f16|.f32.f16|.f16.f32|.f32.f32} ; %wmma_f16
wmma.mma.sync.aligned.row.col.m16n16k16{RND}{.satfinite|}{.f16.f16|.f32.f32} ; %wmma_f16
ldmatrix.sync.aligned.m8n8{.x1|.x2|.x4}{.trans|}{.shared|.shared::cta|}.b16 ; %x,[d4]
ldmatrix.sync.aligned.m16n16{.x1|.x2}.trans{.shared|}{.b8|.b8x16.b6x16_p32|.b8x16.b4x16_p64} ; %y,[d4]
ldmatrix.sync.aligned.m8n16{.x1|.x2|.x4}{.shared|}{.b8x16.b6x16_p32|.b8x16.b4x16_p64} ; %x,[d4]
stmatrix.sync.aligned.m8n8{.x1|.x2|.x4}{.trans|}{.shared|.shared::cta|}.b16 ; [d4],%x
stmatrix.sync.aligned.m16n8{.x1|.x2|.x4}.trans{.shared|}.b8 ; [d4],%x
movmatrix.sync.aligned.m8n8.trans.b16 ; r0,r1
wgmma.mma_async{|.sp}.sync.aligned.m64n8{k16|k32}{.f32.bf16.bf16|.f32.f16.f16} ; %acc,d0,d1%z,p0,1,1,0,0
wgmma.mma_async{|.sp}.sync.aligned.m64n8{k16|k32}{.f16.f16.f16} ; %acc,d0,d1%z,p0,1,1,0,0
wgmma.mma_async{|.sp}.sync.aligned.m64n8{k8|k16}.f32.tf32.tf32 ; %acc,d0,d1%z,p0,1,1
wgmma.mma_async{|.sp}.sync.aligned.m64n8{k32|k64}{.f16|.f32}{F8}{F8} ; %acc,d0,d1%z,p0,1,1
wgmma.mma_async{|.sp}.sync.aligned.m64n8{k32|k64}{.satfinite|}.s32{.u8|.s8}{.u8|.s8} ; %acc,d0,d1%z,p0
wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc ; %acc,d0,d1,p0
wgmma{.fence|.commit_group}.sync.aligned ;
wgmma.wait_group.sync.aligned ; 1
tcgen05.alloc{GROUP}.sync.aligned{.shared::cta|}.b32 ; [d4],r1
tcgen05.dealloc{GROUP}.sync.aligned.b32 ; r0,r1
tcgen05.relinquish_alloc_permit{GROUP}.sync.aligned ;
tcgen05.ld.sync.aligned{.16x64b|.16x128b|.16x256b|.32x32b}{.x1|.x2|.x4}{|.pack::16b}.b32 ; %L,[r9]
tcgen05.ld.sync.aligned.16x32bx2{.x1|.x2|.x4}{|.pack::16b}.b32 ; %L,[r9],8
tcgen05.ld.red.sync.aligned{.32x32b}{.x2|.x4}{.min|.max}{|.abs}{|.NaN}{.f32|.u32|.s32} ; %L,r8,[r9]
tcgen05.st.sync.aligned{.16x64b|.16x128b|.16x256b|.32x32b}{.x1|.x2|.x4}{|.unpack::16b}.b32 ; [r9],%L
tcgen05.st.sync.aligned.16x32bx2{.x1|.x2|.x4}{|.unpack::16b}.b32 ; [r9],8,%L
tcgen05.wait{::ld|::st}.sync.aligned ;
tcgen05.cp{GROUP}{.128x256b|.4x256b|.128x128b|.64x128b.warpx2::02_13|.64x128b.warpx2::01_23|.32x128b.warpx4}{|.b8x16.b6x16_p32|.b8x16.b4x16_p64} ; [r0],d0
tcgen05.shift{GROUP}.down ; [r0]
tcgen05.mma{GROUP}{.kind::f16|.kind::tf32|.kind::f8f6f4|.kind::i8}{|.collector::a::fill|.collector::a::use|.collector::a::lastuse|.collector::a::discard}{|.ashift} ; [r0],d0,d1,r1,p0
tcgen05.mma{GROUP}{.kind::f16|.kind::tf32|.kind::f8f6f4|.kind::i8}{|.collector::a::fill|.collector::a::use|.collector::a::lastuse|.collector::a::discard}{|.ashift} ; [r0],[r2],d1,r1,p0
tcgen05.mma{GROUP}{.kind::f16|.kind::tf32|.kind::f8f6f4|.kind::i8} ; [r0],d0,d1,r1,%Q,p0
tcgen05.mma{GROUP}{.kind::f16|.kind::tf32} ; [r0],d0,d1,r1,p0,3
tcgen05.mma{GROUP}{.kind::mxf8f6f4|.kind::mxf4|.kind::mxf4nvf4}.block_scale{|.scale_vec::1X|.scale_vec::2X|.scale_vec::4X|.block16|.block32}{|.collector::a::use} ; [r0],d0,d1,r1,[r2],[r3],p0
tcgen05.mma.sp{GROUP}{.kind::f16|.kind::tf32|.kind::f8f6f4|.kind::i8}{|.collector::a::use}{|.ashift} ; [r0],d0,d1,[r4],r1,p0
tcgen05.mma.sp{GROUP}{.kind::mxf8f6f4|.kind::mxf4|.kind::mxf4nvf4}.block_scale{|.scale_vec::1X|.scale_vec::2X|.scale_vec::4X|.block16|.block32} ; [r0],d0,d1,[r4],r1,[r2],[r3],p0
tcgen05.mma.ws.cta_group::1{.kind::f16|.kind::tf32|.kind::f8f6f4|.kind::i8}{|.collector::b0::fill|.collector::b1::use|.collector::b2::lastuse|.collector::b3::discard} ; [r0],d0,d1,r1,p0
tcgen05.mma.ws.cta_group::1{.kind::f16|.kind::tf32|.kind::f8f6f4|.kind::i8} ; [r0],d0,d1,r1,p0,d2
tcgen05.mma.ws.sp.cta_group::1{.kind::f16|.kind::tf32|.kind::f8f6f4|.kind::i8}{|.collector::b0::fill} ; [r0],d0,d1,[r4],r1,p0
tcgen05.commit{GROUP}.mbarrier::arrive::one{.shared::cluster|}{|.multicast::cluster}.b64 ; [d4]%m
tcgen05.fence{::before_thread_sync|::after_thread_sync} ;
stacksave{.u32|.u64} ; @0
stackrestore{.u32|.u64} ; @0
alloca{.u32|.u64} ; @0,@1
v{add|sub|absdiff|min|max}{.u32|.s32}{.u32|.s32}{.u32|.s32}{SAT} ; r0,r1,r2
v{add|sub|absdiff|min|max}.u32{.u32|.s32}.u32{SAT}{.add|.min|.max} ; r0,r1.b0,r2.h1,r3
v{shl|shr}{.u32|.s32}{.u32|.s32}.u32{SAT}{.clamp|.wrap} ; r0,r1,r2
vmad{.u32|.s32}{.u32|.s32}{.u32|.s32}{SAT}{|.shr7|.shr15} ; r0,r1,r2,r3
vset{.u32|.s32}{.u32|.s32}{.eq|.ne|.lt|.le|.gt|.ge} ; r0,r1,r2
v{add|sub|avrg|absdiff|min|max}{2|4}{.u32|.s32}{.u32|.s32}{.u32|.s32}{SAT} ; r0,r1,r2,r3
v{add|sub|avrg|absdiff|min|max}{2|4}{.u32|.s32}{.u32|.s32}{.u32|.s32}.add ; r0,r1,r2,r3
vset{2|4}{.u32|.s32}{.u32|.s32}{.eq|.ne|.lt|.le|.gt|.ge}{.add|} ; r0,r1,r2,r3
brkpt ;
nanosleep.u32 ; r0
pmevent ; 3
pmevent.mask ; 3
trap ;
exit ;
setmaxnreg{.inc|.dec}.sync.aligned.u32 ; 64
"""


def choices(pattern):
    """All words that a pattern stands for."""
    parts = []
    for plain, choice in re.findall(r"([^{}]+)|\{([^{}]*)\}", pattern):
        parts.append([plain] if plain else SETS.get(choice, choice).split("|"))
    return ("".join(one) for one in itertools.product(*parts))


TYPE = re.compile(r"\.(pred|b1|[bsuf](?:f?)(?:4|8|16|32|64|128)(?:x[24])?|tf32|e\dm\d(?:x[24])?|ue8m0x2)(?=\.|$)")


def bits(kind):
    if kind in ("f16x2", "bf16x2", "s16x2", "u16x2", "e4m3x4", "e5m2x4", "u8x4", "s8x4"):
        return 32
    if kind == "f32x2":
        return 64
    if re.match(r"u?e\d", kind):
        return 16 if kind.endswith("x2") else 8
    return int(re.search(r"\d+", kind)[0])


def register(kind, number):
    if kind == "pred":
        return f"p{number}"
    size = bits(kind)
    return f"{ {64: 'd', 32: 'r', 128: 'q'}.get(size, 'h') }{number}"


def row(count, letter="r", first=0):
    return "{" + ",".join(f"{letter}{first + number % 8}" for number in range(count)) + "}"


def mma_operands(words, types):
    """D, A, B and C of an mma: as many registers as the elements take that each of 32 threads holds."""
    m, n, k = map(int, re.search(r"\.m(\d+)n(\d+)k(\d+)", words).groups())
    d, a, b, c = types
    narrow = re.match(r"e\d", a) is not None
    size_a, size_b = (8, 8) if narrow else (19 + 13 if a == "tf32" else bits(a), 32 if b == "tf32" else bits(b))

    def held(elements, size, first):
        if size == 64:
            return row(elements // 32, "d", first)
        return row(max(elements * size // 1024, 1), "r", first)

    half = 2 if ".sp" in words else 1
    return ",".join([held(m * n, bits(d), 0), held(m * k // half, size_a, 0), held(k * n, size_b, 4), held(m * n, bits(c), 0)])


def operands(words, text):
    """The texts of operands to try, one of which has to do."""
    types = TYPE.findall(words)
    last = types[-1] if types else "b32"
    vector = int((re.search(r"\.v([248])(?=\.|$)", words) or [0, "1"])[1])
    dims = int((re.search(r"\.([1-5])d(?=\.|$)", words) or [0, "1"])[1])
    flagged = lambda word, then: then if word in words else ""
    letter = register(last, 0)[0]
    several = lambda first: row(vector, letter, first) if vector > 1 else f"{letter}{first}"
    text = re.sub(r"@(\d)", lambda at: register(last, int(at[1])), text)
    text = text.replace("%V", several(0)).replace("%W", several(0)).replace("%H", flagged(".L2::cache_hint", ",d5"))
    text = text.replace("%M", flagged(".multicast", ",h0")).replace("%m", flagged(".multicast", ",h0"))
    text = text.replace("%K", flagged(".cp_mask", ",h1")).replace("%X", row(dims)).replace("%I", row(max(dims - 2, 1), "h"))
    text = text.replace("%T", row(4 if dims == 3 else dims)).replace("%E", flagged(".level", ",f0"))
    text = text.replace("%P", "r2" if ".parity" in words else "d2").replace("%z", flagged(".sp", ",r4,0"))
    text = text.replace("%x", row(int((re.search(r"\.x(\d)", words) or [0, 1])[1])))
    text = text.replace("%y", row(2 * int((re.search(r"\.x(\d)", words) or [0, 1])[1])))
    text = text.replace("%Q", row(8 if "::2" in words else 4))
    if "%L" in text:
        each = 4 if "16x256b" in words else 2 if "16x128b" in words else 1
        text = text.replace("%L", row(each * int(re.search(r"\.x(\d)", words)[1])))
    if "%acc" in text:
        text = text.replace("%acc", row(2 if types[0] == "f16" else 4))
    if "%mma" in text:
        text = text.replace("%mma", mma_operands(words, types))
    if "%quad" in text:
        text = ",".join([row(8 if types[0] == "f32" else 4), row(2), row(2, first=4), row(8 if types[3] == "f32" else 4)])
    if "%wmma_f16" in text:
        text = ",".join([row(8 if types[0] == "f32" else 4), row(8), row(8), row(8 if types[1] == "f32" else 4)])
    if "%cvt" in text:
        text = f"{register(types[0], 0) if bits(types[0]) > 8 else 'h0'},{register(types[1], 1) if bits(types[1]) > 8 else 'h1'}"
    if "%any" in text:
        return [text.replace("%any", row(count, kind)) for kind, count in
                (("r", 1), ("r", 2), ("r", 4), ("r", 8), ("d", 1), ("d", 2))]
    return [text]


def forms():
    seen = set()
    for line in GRAMMAR.strip().split("\n"):
        pattern, _, text = line.partition(" ;")
        for words in choices(pattern):
            for filled in operands(words, text.strip()):
                if (words, filled) not in seen:
                    seen.add((words, filled))
                    yield words, filled


def module(arch, some):
    lines = [f".version 9.0", f".target {arch}", ".address_size 64"]
    for number, (words, text) in enumerate(some):
        lines.append(
            f".visible .entry k{number}() {{ .reg .pred p<4>; .reg .b8 b<2>; .reg .b16 h<10>; .reg .b32 r<10>; .reg .b64 d<10>;"
            f" .reg .b32 f<10>; .reg .b128 q<4>; {words} {text}; ret; }}"
        )
    return "\n".join(lines) + "\n"


def taken(ptxas, arch, some):
    """Those that the assembler takes. It names each line with a mistake, but stops at the first that it cannot read."""
    left = list(some)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "forms.ptx")
        while left:
            with open(path, "w", encoding="utf-8") as file:
                file.write(module(arch, left))
            done = subprocess.run([ptxas, f"-arch={arch}", "-O0", path, "-o", os.path.join(folder, "out")],
                                  capture_output=True, text=True)
            if done.returncode == 0:
                return left
            wrong = {int(line) - 4 for line in re.findall(r"line (\d+);", done.stdout + done.stderr)}
            if not wrong:
                if len(left) == 1:
                    return []
                middle = len(left) // 2
                return taken(ptxas, arch, left[:middle]) + taken(ptxas, arch, left[middle:])
            left = [one for number, one in enumerate(left) if number not in wrong]
    return []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("only", nargs="?", default="")
    parser.add_argument("--ptxas", default="/usr/local/cuda/bin/ptxas")
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args()
    import heddle

    by_name = collections.defaultdict(list)
    for form in forms():
        if re.search(given.only, form[0]):
            by_name[re.split(r"[.:]", form[0])[0]].append(form)
    print(f"{sum(map(len, by_name.values()))} forms are asked for")
    for arch in ("sm_90a", "sm_100a"):
        there, refused = 0, collections.defaultdict(list)
        for name, some in by_name.items():
            known = taken(given.ptxas, arch, some)
            if not known:
                continue
            kernels = heddle.load(module(arch, known)).kernels
            there += len(known)
            for number, (words, text) in enumerate(known):
                if kernels[f"k{number}"].unsupported:
                    refused[name].append(f"{words} {text}")
        print(f"{arch}: ptxas takes {there}, refused here are {sum(map(len, refused.values()))}")
        for name, some in refused.items():
            print(f"  {name}: {len(some)}")
            for one in some if given.list else ():
                print(f"    {one}")


if __name__ == "__main__":
    main()
