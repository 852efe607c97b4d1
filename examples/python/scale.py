# SPDX-License-Identifier: Apache-2.0
"""PTX on an array, in the simulated SM: right with x[i], and out of bounds without the test of the end."""
import array

import heddle

PTX = """
.version 8.7
.target sm_90
.address_size 64
.visible .entry scale(.param .u64 x, .param .f32 factor, .param .u32 count)
{
  .reg .pred %outside;
  .reg .b32 %i, %cta, %size, %end;
  .reg .b64 %base, %at;
  .reg .f32 %factor, %value;
  mov.u32 %i, %tid.x;
  mov.u32 %cta, %ctaid.x;
  mov.u32 %size, %ntid.x;
  mad.lo.u32 %i, %cta, %size, %i;
  ld.param.u32 %end, [count];
  setp.ge.u32 %outside, %i, %end;
  @%outside bra DONE;
  ld.param.u64 %base, [x];
  ld.param.f32 %factor, [factor];
  mad.wide.u32 %at, %i, 4, %base;
  ld.global.f32 %value, [%at];
  mul.f32 %value, %value, %factor;
  st.global.f32 [%at], %value;
DONE:
  ret;
}
"""

x = array.array("f", range(1000))
heddle.load(PTX)["scale"][(8,), (128,)](x, 2.0, len(x))
assert list(x) == [2.0 * i for i in range(1000)]
print("1000 numbers are right")

try:
    heddle.load(PTX.replace("@%outside bra DONE;", ""))["scale"][(8,), (128,)](x, 2.0, len(x))
except heddle.KernelError as error:
    print(error)
