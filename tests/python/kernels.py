# SPDX-License-Identifier: Apache-2.0
"""PTX for the tests, with mistakes that can be asked for: what is wrong is one line."""

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"

# x[i] *= a for i < n.
SCALE = (
    HEAD
    + """
.visible .entry scale(.param .u64 x, .param .f32 a, .param .u32 n)
{
  .reg .pred %p; .reg .f32 %f<3>; .reg .b32 %r<6>; .reg .b64 %rd<4>;
  ld.param.u64 %rd0, [x];
  ld.param.f32 %f0, [a];
  ld.param.u32 %r0, [n];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  setp.ge.u32 %p, %r4, %r0;
  @%p bra END;
  mul.wide.u32 %rd1, %r4, 4;
  add.s64 %rd2, %rd0, %rd1;
  ld.global.f32 %f1, [%rd2];
  mul.f32 %f2, %f1, %f0;
  st.global.f32 [%rd2], %f2;
END:
  ret;
}
"""
)

# out[i] = x[i] for 32 threads.
COPY = (
    HEAD
    + """
.visible .entry copy(.param .u64 x, .param .u64 out)
{
  .reg .b32 %r<2>; .reg .b64 %rd<6>;
  ld.param.u64 %rd0, [x];
  ld.param.u64 %rd1, [out];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %rd2, %r0, 4;
  add.s64 %rd3, %rd0, %rd2;
  add.s64 %rd4, %rd1, %rd2;
  ld.global.u32 %r1, [%rd3];
  st.global.u32 [%rd4], %r1;
  ret;
}
"""
)


def tile(expected_bytes=512):
    """Copies the box of 8 rows and 16 floats at row 8, column 16 of a matrix to out, by TMA."""
    return (
        HEAD
        + f"""
.visible .entry tile(.param .align 64 .b8 map[128], .param .u64 out)
{{
  .reg .pred %p, %q; .reg .b32 %r<8>; .reg .b64 %rd<6>;
  .shared .align 128 .b8 box[512];
  .shared .align 8 .b64 bar;
  mov.b64 %rd0, map;
  cvta.param.u64 %rd1, %rd0;
  ld.param.u64 %rd2, [out];
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, box;
  mov.u32 %r2, bar;
  setp.ne.u32 %p, %r0, 0;
  @%p bra READY;
  mbarrier.init.shared::cta.b64 [%r2], 1;
  fence.mbarrier_init.release.cluster;
READY:
  bar.sync 0;
  @%p bra WAIT;
  mbarrier.arrive.expect_tx.shared::cta.b64 %rd3, [%r2], {expected_bytes};
  mov.u32 %r3, 16;
  mov.u32 %r4, 8;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, {{%r3, %r4}}], [%r2];
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %q, [%r2], 0;
  @!%q bra WAIT;
  shl.b32 %r5, %r0, 2;
  add.s32 %r6, %r1, %r5;
  ld.shared.u32 %r7, [%r6];
  mul.wide.u32 %rd4, %r0, 4;
  add.s64 %rd5, %rd2, %rd4;
  st.global.u32 [%rd5], %r7;
  ret;
}}
"""
    )


def turn(has_barrier=True):
    """Each thread gets the number of its neighbour in the next warp, through shared memory."""
    return (
        HEAD
        + f"""
.visible .entry turn(.param .u64 out)
{{
  .reg .b32 %r<6>; .reg .b64 %rd<4>;
  .shared .align 4 .b8 box[256];
  ld.param.u64 %rd0, [out];
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, box;
  shl.b32 %r2, %r0, 2;
  add.s32 %r3, %r1, %r2;
  st.shared.u32 [%r3], %r0;
  {"bar.sync 0;" if has_barrier else ""}
  xor.b32 %r2, %r2, 128;
  add.s32 %r3, %r1, %r2;
  ld.shared.u32 %r4, [%r3];
  mul.wide.u32 %rd1, %r0, 4;
  add.s64 %rd2, %rd0, %rd1;
  st.global.u32 [%rd2], %r4;
  ret;
}}
"""
    )


def handover(arrivals=1):
    """A thread waits for a barrier on which one other arrives; a count of two is never met."""
    return (
        HEAD
        + f"""
.visible .entry handover(.param .u64 out)
{{
  .reg .pred %p, %q; .reg .b32 %r<6>; .reg .b64 %rd<4>;
  .shared .align 8 .b64 bar;
  ld.param.u64 %rd0, [out];
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, bar;
  setp.ne.u32 %p, %r0, 0;
  @%p bra READY;
  mbarrier.init.shared::cta.b64 [%r1], {arrivals};
READY:
  bar.sync 0;
  setp.ne.u32 %p, %r0, 32;
  @%p bra WAIT;
  mbarrier.arrive.shared::cta.b64 %rd1, [%r1];
WAIT:
  setp.ne.u32 %p, %r0, 0;
  @%p bra END;
LOOP:
  mbarrier.try_wait.parity.shared::cta.b64 %q, [%r1], 0;
  @!%q bra LOOP;
  st.global.u32 [%rd0], 7;
END:
  ret;
}}
"""
    )
