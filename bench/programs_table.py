# SPDX-License-Identifier: Apache-2.0
"""programs_table.py HEDDLE [--only REGEX] [--write docs/programs.md]: programs of others on the simulated card.

Their code is not here: it is looked for in folders that are given, each a checkout or what was built of one.
  --triton FOLDER    python/tutorials of Triton's repository, whose python/triton must be taken away (pytest would import it);
                     its examples and tests are used as well. And --triton-python, an interpreter with Triton, PyTorch,
                     SciPy and pytest
  --cute FOLDER      examples/python/CuTeDSL/cute of CUTLASS's, and --tools-python, one with CuTe DSL, CuPy and the like
  --cutlass FOLDER   CUTLASS's examples, built: a program for each number, and for each of CuTe's tutorials
                     (docs/exec.md has nvcc's options)
  --cub PROGRAM      bench/exec_cub.cu, built
  --samples FOLDER   NVIDIA's cuda-samples (those that need no graphics): a folder for each, with its data and the
                     program, built by its CMakeLists.txt or by hand with PTX for compute_90a
  --deepgemm FOLDER  programs that call a kernel of DeepGEMM each and compare: dg_90 (sm90_bf16_gemm), dg_98 (sm90_fp8_gemm_1d2d),
                     dg_100 (sm100_bf16_gemm) and dg_108 (sm100_fp8_fp4_gemm_1d1d, e4m3), each with _1 or _2 for its cluster
  --kittens FOLDER   ThunderKittens' kernels/gemm/educational_h100 and educational_b200: tk_h100_08, its level_08.cu with a main of
                     its own that calls run_benchmark with 256, and tk_b200_09, likewise with 512
What is not there is left out; rows that the file has of programs which were not run stay. A verdict is the program's own: its comparison, by its status."""

import argparse
import datetime
import os
import re
import resource
import shlex
import subprocess

TOOLS = "{tools} {here}/../tests/python/tools_test.py"
CUTE_ONCE = "--warmup_iterations 0 --iterations 1"

# Gluon's tutorials are test files. Of those with large matrices, the tests with the smallest: (file, architectures, tests).
GLUON = [
    ("01-intro", "sm90 sm100", "test"),
    ("02-layouts", "sm90 sm100", "1d or inout"),
    ("03-async-copy", "sm90", "1d_cpasync or (pipelined and 4000)"),
    ("04-tma", "sm90 sm100", "message or 1d_tma or (pipelined and 4000)"),
    ("05-wgmma", "sm90", "small_mma or (208 and 64-64-64)"),
    ("06-tcgen05", "sm100", "tmem_example or small_mma or (208 and 64-64-64)"),
    ("07-persistence", "sm90 sm100", "pipelined and 208 and 64-64-64"),
    ("08-warp-specialization", "sm90 sm100", "(elementwise and 4000) or (matmul and 208)"),
    ("09-tma-gather-scatter", "sm100", "(gather or scatter) and not matmul and 8-16"),
    ("10-tcgen05-copy", "sm100", "nvmma_shared and 32"),
    ("11-tcgen05-mma-scaled", "sm100", "scaled_pipelined and 128-128 and 128-1"),
    ("12-cluster-launch-control", "sm100", "1000"),
    ("13-conv-im2col", "sm90 sm100", "im2col and not conv2d"),
    ("14-multicta", "sm90 sm100", "64-64 or two_cta or multicast or tma_tcgen05"),
]

# Triton's tutorials that compare large matrices: the function that does so, with small ones.
TRITON_CALLS = [
    ("09-persistent-matmul, fp16", "sm90 sm100", "m['validate'](256, 256, 128, torch.float16)"),
    ("09-persistent-matmul, fp8", "sm90 sm100", "m['validate'](256, 256, 128, torch.float8_e4m3fn)"),
    *((f"10-block-scaled-matmul, {kind}", "sm100", f"m['validate_block_scaled'](256, 256, 512, '{kind}')")
      for kind in ("nvfp4", "mxfp8", "mxfp4", "mixed")),
]

# A file, and a call with its names as m.
RUN_WITH = (
    "{{triton_python}} -c \"import os, runpy, sys, torch; sys.path.insert(0, os.path.dirname(sys.argv[1])); "
    "m = runpy.run_path(sys.argv[1]); {call}\" {file}"
)

GEMM = "--m=256 --n=256 --k=256 --iterations=0"
GROUPS = "--m=256 --n=128 --k=128 --groups=2 --iterations=0"
CONV = "--n=2 --d=1 --h=8 --w=8 --c=64 --k=64 --t=1 --r=3 --s=3 --pad_d=0 --iterations=0"
FMHA = "--b=1 --h=2 --q=256 --k=256 --verify --iterations=1"

# (program of CUTLASS, architecture, arguments)
CUTLASS = [
    ("48", "sm90", "--m=256 --n=256 --k=128 --iterations=0"),
    ("49", "sm90", "--m=256 --n=256 --k=128"),
    ("50", "sm90", GEMM),
    ("51", "sm90", "--modeC=m,n,l --modeA=m,k,l --modeB=k,n,l --extents=m:256,n:256,k:128"),
    ("53", "sm90", "--m=256 --n=256 --k=128 --batch_size=1 --iterations=0"),
    ("54", "sm90", "--m=256 --n=256 --k=128 --iterations=0"),
    ("55", "sm90", "--m=128 --n=128 --k=192 --g=128 --mode=2 --iterations=0"),
    ("55i4bf16", "sm90", "--m=128 --n=128 --k=256 --g=128 --mode=1 --iterations=0"),
    ("55i4fp8", "sm90", "--m=128 --n=128 --k=256 --g=128 --mode=1 --iterations=0"),
    ("56", "sm90", "--m=256 --n=256 --k=128 --l=2 --iterations=0"),
    ("57", "sm90", GROUPS),
    ("61", "sm90", "--m=256 --n=8 --k=128 --iterations=0"),
    ("62", "sm90", GEMM),
    ("63", "sm90", "--m=256 --n=64 --k=256 --iterations=0"),
    ("67", "sm90", GEMM),
    ("67group", "sm90", GEMM),
    ("68", "sm90", "--m=256 --n=128 --k=256 --groups=2 --iterations=0"),
    ("69", "sm90", "--m=256 --n=128 --k=256 --groups=2 --mode=1 --iterations=0"),
    ("70fp16", "sm100", "--m=512 --n=512 --k=128 --iterations=0"),
    ("70fp8", "sm100", "--m=512 --n=512 --k=128 --iterations=0"),
    ("71", "sm100", "--m=256 --n=256 --k=128"),
    ("72a", "sm100", "--m=512 --n=512 --k=256 --iterations=0"),
    ("72b", "sm100", "--m=512 --n=512 --k=256 --iterations=0"),
    ("72c", "sm100", "--m=512 --n=512 --k=256 --iterations=0"),
    ("73", "sm100", GEMM),
    ("74", "sm100", GEMM),
    ("75", "sm100", GROUPS),
    ("75bs", "sm100", "--m=256 --n=128 --k=256 --groups=2 --iterations=0"),
    ("76fprop", "sm100", CONV),
    ("76dgrad", "sm100", CONV),
    ("76wgrad", "sm100", CONV),
    ("77fmha16", "sm100", FMHA + " --d=128"),
    ("77gen16", "sm100", "--b=1 --h=2 --k=256 --verify --iterations=1"),
    ("77bwd16", "sm100", FMHA + " --d=128"),
    ("77mla16", "sm100", "--b=1 --k=256 --verify --iterations=1"),
    ("77mlafwd16", "sm100", FMHA),
    ("78", "sm100", GEMM),
    ("81block", "sm100", GEMM),
    ("81group", "sm100", GEMM),
    ("81gblock", "sm100", "--m=256 --n=128 --k=256 --groups=2 --iterations=0"),
    ("81ggroup", "sm100", "--m=256 --n=128 --k=256 --groups=2 --iterations=0"),
    ("83", "sm100", GEMM),
    ("84a", "sm100", "--m=256 --n=256 --k=512 --iterations=0"),
    ("84b", "sm100", "--m=256 --n=256 --k=512 --iterations=0"),
    # Its comparison alone takes minutes: 256 CTAs of 1,024 threads with as many barriers each, for each kernel and output.
    ("88", "sm90", "--b=1 --h=1 --q=128 --k=128 --verify --iterations=1 --d=128"),
    ("88fp8", "sm90", "--b=1 --h=1 --q=128 --k=128 --verify --iterations=1 --d=128"),
    ("111", "sm90", ""),
    ("112", "sm100", ""),
    ("113", "sm90", GEMM),
    ("14", "sm90", "--m=256 --n=256 --k=128"),
    ("15", "sm90", ""),
    ("16", "sm90", "--n=1 --h=8 --w=8 --c=32 --k=32 --r=3 --s=3 --ref-check --iterations=1"),
    ("24", "sm90", "--m=256 --n=128 --k=128 --groups=2 --iterations=0"),
    ("35", "sm90", "--m=128 --n=128 --k=64 --iterations=1"),
    ("47", "sm90", "--m=256 --n=256 --k=256 --iterations=0"),
]

# (tutorial of CuTe, architecture, arguments)
CUTE_TUTORIALS = [
    ("sgemm_1", "sm90", "256 256 64"),
    ("sgemm_2", "sm90", "256 256 64"),
    ("sgemm_sm70", "sm90", "256 256 64"),
    ("sgemm_sm80", "sm90", "256 256 64"),
    ("tiled_copy", "sm90", ""),
    ("tiled_copy_if", "sm90", ""),
    ("wgmma", "sm90", "256 256 128"),
    ("wgmma_tma", "sm90", "256 256 256"),
    # Two tiles along K where its ring has three stages: it loads a third that nobody waits for.
    ("wgmma_tma", "sm90", "256 256 128"),
    ("c01", "sm100", "256 256 128"),
    ("c02", "sm100", "256 256 128"),
    ("c03", "sm100", "512 512 128"),
    ("c04", "sm100", "512 512 128"),
    ("c05", "sm100", ""),
]

# (what, architectures, example of CuTe DSL, arguments)
CUTE_DSL = [
    ("elementwise_add", "sm90 sm100", "ampere/kernel/elementwise/elementwise_add", "--M 128 --N 128"),
    ("Ampere sgemm", "sm90", "ampere/kernel/dense_gemm/sgemm", f"--mnk 128,128,64 {CUTE_ONCE}"),
    ("Ampere tensorop_gemm", "sm90 sm100", "ampere/kernel/dense_gemm/tensorop_gemm", f"--mnkl 128,128,64,1 {CUTE_ONCE}"),
    ("Ampere flash_attention_v2", "sm90 sm100", "ampere/kernel/attention/flash_attention_v2",
     f"--batch_size 1 --seqlen_q 128 --seqlen_k 128 --num_head 1 --head_dim 64 --is_causal {CUTE_ONCE}"),
    ("Hopper dense_gemm", "sm90", "hopper/kernel/dense_gemm/dense_gemm",
     f"--mnkl 128,128,64,1 --tile_shape_mn 128,128 {CUTE_ONCE}"),
    ("Hopper dense_gemm_persistent", "sm90", "hopper/kernel/dense_gemm/dense_gemm_persistent",
     f"--mnkl 256,256,128,1 {CUTE_ONCE}"),
    ("Hopper dense_gemm_fp8_2xacc", "sm90", "hopper/kernel/dense_gemm/dense_gemm_fp8_2xacc",
     f"--mnkl 128,128,128,1 {CUTE_ONCE}"),
    # Its benchmark keeps addresses of tensors that it has given up.
    ("Hopper grouped_gemm", "sm90", "hopper/kernel/grouped_gemm/grouped_gemm",
     "--num_groups 2 --problem_sizes_mnkl (128,128,128,1),(128,128,64,1) --iterations 0"),
    ("Hopper cta_norm", "sm90", "hopper/kernel/cta_norm/cta_norm", f"--M 8 --N 1024 {CUTE_ONCE}"),
    ("Hopper fmha", "sm90", "hopper/kernel/attention/fmha",
     f"--q_shape 1,128,1,64 --k_shape 1,128,1,64 {CUTE_ONCE}"),
    *((f"Blackwell fp16_gemm_{number}", "sm100", f"blackwell/tutorial/tutorial_gemm/fp16_gemm_{number}",
       "--mnk 256,256,128") for number in ("0", "1", "2", "3", "4", "5", "6")),
    ("Blackwell tma_v0", "sm100", "blackwell/tutorial/tutorial_tma/tma_v0", "--M 256 --N 256 --num_warmup 0 --num_iters 1"),
    ("Blackwell rmsnorm", "sm100", "blackwell/kernel/rmsnorm/rmsnorm", f"--M 8 --N 1024 {CUTE_ONCE}"),
    ("Blackwell dense_gemm", "sm100", "blackwell/kernel/dense_gemm/dense_gemm", f"--mnkl 128,128,128,1 {CUTE_ONCE}"),
    ("Blackwell dense_gemm_persistent", "sm100", "blackwell/kernel/dense_gemm/dense_gemm_persistent",
     f"--mnkl 256,256,128,1 {CUTE_ONCE}"),
    ("Blackwell dense_gemm_persistent_dynamic", "sm100", "blackwell/kernel/dense_gemm/dense_gemm_persistent_dynamic",
     f"--mnkl 256,256,128,1 {CUTE_ONCE}"),
    ("Blackwell dense_blockscaled_gemm_persistent", "sm100",
     "blackwell/kernel/blockscaled_gemm/dense_blockscaled_gemm_persistent", f"--mnkl 256,256,256,1 {CUTE_ONCE}"),
    ("Blackwell mixed_input_gemm", "sm100", "blackwell/kernel/mixed_input_gemm/mixed_input_gemm",
     f"--mnkl 128,128,256,1 {CUTE_ONCE}"),
    ("Blackwell blockwise_gemm", "sm100", "blackwell/kernel/blockwise_gemm/blockwise_gemm", f"--mnkl 256,256,256,1 {CUTE_ONCE}"),
    ("Blackwell grouped_gemm", "sm100", "blackwell/kernel/grouped_gemm/grouped_gemm",
     f"--num_groups 2 --problem_sizes_mnkl (128,128,128,1),(128,128,64,1) {CUTE_ONCE}"),
    ("Blackwell fmha", "sm100", "blackwell/kernel/attention/fmha/fmha",
     f"--q_shape 1,256,1,64 --k_shape 1,256,1,64 {CUTE_ONCE}"),
    ("Blackwell mla_decode_fp16", "sm100", "blackwell/kernel/attention/mla/mla_decode_fp16",
     f"--batch_size 1 --seq_len_k 128 --page_size 128 {CUTE_ONCE}"),
]

# Gluon's examples, with small problems: (example, what it does, with m as its names).
GLUON_EXAMPLES = [
    ("01-attention-forward", "fp16", "m['test_op'](1, 1, 256, 64, False, torch.float16, False, ())"),
    ("01-attention-forward", "fp16, causal, pairs of CTAs",
     "m['test_op'](1, 1, 512, 64, True, torch.float16, False, ((1, 0),))"),
    ("01-attention-forward", "e5m2", "m['test_op'](1, 1, 256, 64, False, torch.float8_e5m2, False, ())"),
    *((f"02-conv-{which}", "3x3", f"m['test_op'](m['conv2d_{which}_fixed'], 1, 64, 8, 8, 64, 3, 3, 1, 1)")
      for which in ("fprop", "dgrad", "wgrad")),
    *(("03-matmul-multicta", f"{2 ** len(layout)} CTAs",
       f"m['test_matmul_matches_torch'](100, 200, 200, 128, 128, 64, 0, 8, {layout}, 2, 2, 32, 4)")
      for layout in ((), ((1, 0),), ((1, 0), (2, 0)))),
    ("06-overlapping-accumulator", "each format",
     "[torch.testing.assert_close(p[4], m['mma_scaled_warp_specialized'](*p[:4], use_overlap=True).float(), atol=2e-3,"
     " rtol=1e-3) for p in (m['make_problem'](256, 256, 512, *f) for f in m['FORMATS'])]"),
]

# Triton's own tests: (file, architectures), of which one case of each test runs.
TRITON_TESTS = [
    *((f"unit/language/test_{name}", "sm90") for name in (
        "core", "standard", "random", "libdevice", "tensor_descriptor", "matmul", "pipeliner")),
    *((f"unit/language/test_{name}", "sm100") for name in ("mxfp", "warp_specialization", "matmul")),
    ("gluon/test_core", "sm90 sm100"),
    ("gluon/test_lowerings", "sm90"),
]

# (sample of NVIDIA, arguments)
SAMPLES = [
    ("asyncAPI", ""), ("binaryPartitionCG", ""), ("globalToShmemAsyncCopy", ""), ("clock", ""), ("clock_nvrtc", ""), ("cudaOpenMP", ""), ("fp16ScalarProduct", ""),
    ("inlinePTX", ""), ("matrixMulDrv", ""), ("matrixMulDynlinkJIT", ""), ("MC_EstimatePiInlineP", ""),
    ("MC_EstimatePiInlineQ", ""), ("reduction", "--n=65536"), ("scalarProd", ""), ("simpleAssert", ""),
    ("simpleAtomicIntrinsics", ""), ("simpleAttributes", ""), ("simpleAWBarrier", ""), ("simpleCallback", ""),
    ("simpleCooperativeGroups", ""), ("simpleDrvRuntime", ""), ("simpleHyperQ", ""), ("simpleMultiGPU", ""),
    ("simpleOccupancy", ""), ("simplePrintf", ""), ("simpleTemplates", ""), ("simpleTexture", ""),
    ("simpleSurfaceWrite", ""), ("simpleLayeredTexture", ""), ("simpleCubemapTexture", ""), ("simplePitchLinearTexture", ""),
    ("simpleCudaGraphs", ""), ("graphMemoryNodes", ""), ("newdelete", ""), ("scan", ""), ("shfl_scan", ""), ("sortingNetworks", ""),
    ("warpAggregatedAtomicsCG", ""), ("StreamPriorities", ""), ("dct8x8", ""), ("alignedTypes", ""), ("transpose", ""),
    ("simpleVoteIntrinsics", ""), ("simpleZeroCopy", ""), ("streamOrderedAllocation", ""), ("systemWideAtomics", ""),
    ("threadFenceReduction", "--n=65536"), ("vectorAdd", ""), ("vectorAddDrv", ""),
]

# (what, architectures, command)
PROGRAMS = [
    *((f"Triton tutorial {name}", "sm90 sm100", f"{{triton_python}} {{triton}}/{name}.py") for name in [
        "01-vector-add", "02-fused-softmax", "03-matrix-multiplication", "04-low-memory-dropout", "05-layer-norm",
        "07-extern-functions", "08-grouped-gemm", "11-programmatic-dependent-launch"]),
    ("Triton tutorial 06-fused-attention", "sm90 sm100",
     "{triton_python} -m pytest -q -p no:cacheprovider {triton}/06-fused-attention.py -k 64-128-2-1"),
    *((f"Triton tutorial {name}", architectures, RUN_WITH.format(call=call, file=f"{{triton}}/{name.split(',')[0]}.py"))
      for name, architectures, call in TRITON_CALLS),
    *((f"{name}: vector add and another", "sm90 sm100", f"{TOOLS} {tool}") for name, tool in [
        ("numba-cuda", "numba"), ("CuPy", "cupy"), ("cuda.core", "cuda.core"), ("Warp", "warp"), ("CuTe DSL", "cutlass"), ("TileLang", "tilelang")]),
    *((what, "sm90 sm100", f"{{triton_python}} {{here}}/libraries.py {name}") for what, name in [
        ("Liger-Kernel: norms, with gradients", "liger_norms"), ("Liger-Kernel: losses, with gradients", "liger_losses"),
        ("Liger-Kernel: activations, softmax, rope", "liger_rest"),
        ("flash-linear-attention: linear attention, retention, attention", "fla"),
        ("torch.compile: a perceptron and an encoder layer, with gradients", "compile")]),
    *((f"CuTe DSL {name}", architectures, f"{{tools}} {{cute}}/{path}.py {arguments}".strip())
      for name, architectures, path, arguments in CUTE_DSL),
    *((f"Gluon tutorial {name}", architectures,
       f"{{triton_python}} -m pytest -q -p no:cacheprovider {{triton}}/gluon/{name}.py -k '{tests}'")
      for name, architectures, tests in GLUON),
    *((f"Gluon example {name}, {what}", "sm100", RUN_WITH.format(call=call, file=f"{{triton}}/../examples/gluon/{name}.py"))
      for name, what, call in GLUON_EXAMPLES),
    *((f"Triton's {name}, one case of each test", architectures,
       f"{{triton_python}} -m pytest -q -p no:cacheprovider -p sample_tests {{triton}}/../test/{name}.py")
      for name, architectures in TRITON_TESTS),
    *((f"CUB and Thrust: {part}", "sm90 sm100", f"{{cub}} {part}") for part in [
        "sort", "scan", "reduce", "select", "histogram", "runs", "block", "thrust"]),
    *((f"CUDA sample {name} {arguments}".strip(), "sm90", f"{{samples}}/{name}/{name} {arguments}") for name, arguments in SAMPLES),
    *((f"DeepGEMM {kernel}, clusters of {ctas}", arch, f"{{deepgemm}}/dg_{number}_{ctas}")
      for kernel, arch, number in (("sm90_bf16_gemm", "sm90", 90), ("sm90_fp8_gemm_1d2d", "sm90", 98),
                                   ("sm100_bf16_gemm", "sm100", 100), ("sm100_fp8_fp4_gemm_1d1d", "sm100", 108))
      for ctas in (1, 2)),
    ("ThunderKittens educational_h100, level 8", "sm90", "{kittens}/tk_h100_08"),
    ("ThunderKittens educational_b200, level 9", "sm100", "{kittens}/tk_b200_09"),
    *((f"CUTLASS {program}", architecture, f"{{cutlass}}/{program} {arguments}")
      for program, architecture, arguments in CUTLASS),
    *((f"CuTe tutorial {program} {arguments}".strip(), architecture, f"{{cutlass}}/{program} {arguments}")
      for program, architecture, arguments in CUTE_TUTORIALS),
]

# What is known of those that do not pass.
NOTES = """\
## What does not pass, and why

- **CUTLASS 61**: its kernel computes exp(x - logsumexp), its reference exp(x - max) / sum. With 256 rows 8 of 2,048 values
  differ, each by one place of fp16: two scores that differ by 1/2048 have a probability midway between two numbers of
  fp16, as far as a float can tell, and the two formulas round it in different directions. The example's own bound, 1e-5
  of all values, does not take that in; with 16 rows there is none, and it passes. The reference's numbers were computed
  again from the same inputs outside the simulator, bit for bit.
- **CUTLASS 55, int4 and bf16, with K = 192**: its kernel that reorders B is reported to read beyond the end
  (`global_out_of_bounds`); with 256 it passes.
- **CUDA sample simpleAttributes**: its loop reads a counter in shared memory that other threads add to by `atomicAdd`, as
  ordinary memory: a compiler may keep it in a register, and the loop then does not end.
- **CUDA sample globalToShmemAsyncCopy**: its first turn loads one stage more than its ring has (`aStage <= a + aStep *
  maxPipelineStages`), over the first, which nobody has read. All its elements are equal, so that its comparison passes.
- **CUDA sample threadFenceReduction**: the last block loads what the others have left after a ticket that acquires nothing:
  `__threadfence` stands before the `atomicInc` alone, and the loads are plain ones. CUDA's guide makes them `volatile`.
- **DeepGEMM sm100, clusters of 2**: one warp allocates tensor memory, and another loads the address that it left in shared memory
  behind a cluster barrier whose arrival is relaxed, which orders nothing. DeepGEMM says so itself where it has that barrier.
- **CUDA sample newdelete**: its stack looks at its height by a plain load before it adds to it by `atomicAdd`.
- **CUDA sample graphMemoryNodes**: memory that is taken in a capture is not there.
- **CUTLASS 77, forward**: statistics are handed on through tensor memory by `tcgen05.st` and a barrier, without the
  `tcgen05.wait::st` that the manual wants between the two.
- **CUTLASS 77, backward**: the warps that compute free the tensor memory when dK and dV are there. The last multiplication, of dQ,
  is issued after those, and only the warps that reduce dQ wait for it: it may still write, and they may still read, what is freed.
- **Gluon 07**: the last loads of the pipeline are issued without the predicate that the others have, and nobody waits for
  them: a CTA that comes next may find its shared memory overwritten.
- **Gluon 11**: `tcgen05.cp` of the scales is issued where the multiplication and its commit are predicated off, so that
  nobody waits for it before the tensor memory is freed.
- **Triton's own unit/language/test_core**, one case of each of its 189 tests on sm90 (2026-11-19): 172 pass, 4 are skipped. Three
  ask for what the Triton of the repository makes and that of the wheel does not (`atomic_poll` twice, `cat`). Four copy
  `torch.empty` (`uninitialised_read`); one takes its lock with relaxed atomics, and in two both CTAs load and store one word
  (`global_race`). `histogram` asks `cuobjdump` for machine code; `load_store_same_ptr` launches two million warps a
  thousand times. `nested_while`: a lane stores a scalar that the others of its warp then load, and do nothing with.
- **Triton's own gluon/test_core and test_lowerings**, likewise, 123 tests on sm100: 96 pass, 17 are skipped. Two store to a peer
  that nothing says has begun (`peer_not_started`). In four a cluster barrier that is `.relaxed`, with proxy fences, is all
  that orders the stores of one CTA before the copies and multiplications of another (`race`). `clc_basic` stores the first
  CTA of a request that was refused; one took more than a minute, one has not been judged, and one found that loads
  of tf32 did not round, which they now do.
- **Gluon 12**: formal findings alone. Its comparison fails for both of its schedulers, of which one does without cluster launch
  control: some 200 of a million elements differ by up to 1.2e-4 from PyTorch's product, which the host works out here. Beside the
  exact product 174 of the kernel's elements are outside the tolerance and 15 of the host's, perhaps because tensor cores add with fewer bits; not looked into.
- **CuTe DSL dense_blockscaled_gemm_persistent**: the kernel runs; its reference is `torch._scaled_mm` of NVFP4, which PyTorch
  does not have for the host.
- **CuTe DSL Hopper grouped_gemm**, with `--iterations 1`: its benchmark keeps addresses of tensors that it has given up, whose
  memory PyTorch's cache would still hold.
- **Gluon example 01, pairs of CTAs**: a barrier is invalidated that another warp may still use; not judged.
- **CuTe tutorial 01**: ordinary stores, a barrier, and a multiplication by the async proxy, without its fence.
- **CuTe tutorials 02 to 05**: all four warps wait for each tile, one issues the next: a warp that is a whole tile late
  waits for a phase that has gone, and hangs. That no warp of a CTA is so late is luck, however likely.
"""

# What a report or refusal begins with; the first is the reason.
REASON = re.compile(r"^(\[[a-z_]+\](?! formal).*|heddle exec: .*(?:is not there|cannot be run|unsupported).*|\w*Error: .*)$", re.M)
# What sample_tests.py, beside this, says at the end of Triton's own tests.
COUNTS = re.compile(r"^sampled: (.*)$", re.M)
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join(filter(None, [os.path.dirname(os.path.abspath(__file__)), os.environ.get("PYTHONPATH")])),
}


def run(command, folder):
    """(verdict, processor seconds)"""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=600, cwd=folder, env=ENVIRONMENT
        )
        status, said = done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired:
        status, said = None, ""
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if status is None:
        return "more than 600 s", seconds
    if counts := COUNTS.search(said):
        return counts[1], seconds
    if status == 0:
        return "passes, formal findings" if "] formal: " in said else "passes", seconds
    reason = REASON.search(said)
    return f"status {status}: {reason[0][:160] if reason else 'no reason given'}", seconds


def versions(python):
    names = ["torch", "triton", "numba-cuda", "cupy-cuda13x", "cuda-core", "warp-lang", "nvidia-cutlass-dsl", "tilelang",
             "liger-kernel", "flash-linear-attention"]
    code = (
        "import importlib.metadata as m\n"
        f"for n in {names!r}:\n"
        "    try: print(n, m.version(n))\n"
        "    except m.PackageNotFoundError: pass\n"
    )
    return subprocess.run([python, "-c", code], capture_output=True, text=True).stdout.split("\n")[:-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("heddle")
    parser.add_argument("--only", default="")
    parser.add_argument("--write")
    for name in ("triton", "triton-python", "cute", "tools-python", "cutlass", "cub", "samples", "deepgemm", "kittens"):
        parser.add_argument(f"--{name}", default="")
    given = parser.parse_args()
    places = {
        "here": os.path.dirname(os.path.abspath(__file__)),
        "triton": given.triton,
        "triton_python": given.triton_python,
        "cute": given.cute,
        "tools": given.tools_python,
        "cutlass": given.cutlass,
        "cub": given.cub,
        "samples": given.samples,
        "deepgemm": given.deepgemm,
        "kittens": given.kittens,
    }
    rows = read_rows(given.write)
    for what, architectures, command in PROGRAMS:
        needs = re.findall(r"\{(\w+)\}", command)
        if not re.search(given.only, what) or not all(places[one] for one in needs):
            continue
        for arch in architectures.split():
            words = shlex.split(command.format(**places))
            if not all(os.path.exists(word) for word in words if word.startswith("/")):
                continue
            # Samples look for their data beside themselves.
            folder = os.path.dirname(words[0]) if command.startswith("{samples}") else None
            verdict, seconds = run([given.heddle, "exec", "--arch", arch, *words], folder)
            rows[what, arch] = f"| {verdict.replace('|', '/')} | {seconds:.1f} s | {datetime.date.today()} |"
            print(f"| {what} | {arch} {rows[what, arch]}", flush=True)
            if given.write:
                write(given.write, rows, [one for one in (given.triton_python, given.tools_python) if one])


def read_rows(path):
    """What is behind program and architecture in each row of the table."""
    rows = {}
    if path and os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for line in file:
                row = re.match(r"\| (.+?) \| (sm\d+) (\| .* \|)$", line)
                if row:
                    rows[row[1], row[2]] = row[3]
    return rows


def read_packages(path):
    """What the table was made with before, where no Python is given."""
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as file:
        return next((line.rstrip() for line in file if line.startswith("With ")), "")


def write(path, rows, pythons):
    used = sorted({version for python in pythons for version in versions(python)})
    packages = f"With {', '.join(used)}." if used else read_packages(path)
    order = {what: number for number, (what, _, _) in enumerate(PROGRAMS)}
    text = [
        "# Programs of others on the simulated card",
        "",
        "Made by `bench/programs_table.py`, which says where each is from; run with no option but `--arch`. The seconds are",
        "those of the processor for the whole program, with other work beside it. A program passes by its own comparison.",
        packages,
        "",
        "| program | architecture | verdict | time | date |",
        "| --- | --- | --- | --- | --- |",
        *(f"| {what} | {arch} {row}" for (what, arch), row in sorted(rows.items(), key=lambda one: order.get(one[0][0], 0))
          if what in order),
        "",
        NOTES,
    ]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(text))


if __name__ == "__main__":
    main()
